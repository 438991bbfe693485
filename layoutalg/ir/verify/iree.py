"""IREE's rules of matrix products on fragments: `iree_gpu.multi_mma` of IREE 3.2, and its successor `iree_codegen.inner_tiled`.

    %0 = iree_gpu.multi_mma %a, %b, %c #trait : vector<2x3x4xf16>, vector<4x5x4xf16> into vector<2x5x4xf32>

is refused with "rhs shape does not match iteration bounds": the outer dimensions are 2 by 3 and 4 by 5. The inner dimensions of
each operand are one fragment of the intrinsic (of a thread), or one whole tile (of the subgroup).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, ShapedType, i1, i32
from xdsl.ir import Attribute, Operation

from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, shape_of
from layoutalg.ir.verify.signatures import Subject, name_of
from layoutalg.nested.gpu import parse_gpu

__all__: list[str] = []

_MULTI, _INNER = "iree_gpu.multi_mma", "iree_codegen.inner_tiled"
_BOTH = (_MULTI, _INNER)
_OPERANDS = ("lhs", "rhs", "accumulator")


def _maps(subject: Subject) -> list[Any]:
    found: Any = subject.attribute("indexing_maps")
    return [one.data for one in found.data if one.name == "affine_map"] if found is not None else []


def _types(subject: Subject) -> list[Attribute]:
    return list(subject.operation.operand_types)


def _inner(subject: Subject) -> list[tuple[int, ...]]:
    """The inner dimensions of each operand, which the indexing maps leave out."""
    pairs = zip(_types(subject), _maps(subject), strict=True)
    return [shape_of(kind)[len(one.results) :] for kind, one in pairs]


@rule("iree.inner_tiled.counts", _INNER)
def _counts(subject: Subject) -> str | None:
    kind = subject.attribute("kind")
    if kind is None or _intrinsic(kind) is None:
        return None
    for what, given, wanted in (
        ("inputs", len(subject.values("inputs")), 2),
        ("outputs", len(subject.values("outputs")), 1),
    ):
        if given != wanted:
            return f"number of {what} ({given}) doesn't match expected number from kind ({wanted})"
    return None


@rule("iree.maps", *_BOTH)
def _indexing_maps(subject: Subject) -> str | None:
    maps, kinds = _maps(subject), _types(subject)
    iterators: Any = subject.attribute("iterator_types")
    count = len(iterators.data) if iterators is not None else 0
    if len(maps) != len(kinds):
        return "expected an indexing map for each operand"
    multi = subject.name == _MULTI
    for number, (one, kind) in enumerate(zip(maps, kinds, strict=True)):
        if one.num_dims != count:
            return f"expected indexing map {number} to have {count} {'number of inputs' if multi else 'input dims'}"
        rank = len(shape_of(kind))
        if len(one.results) >= rank:
            what = "number of outputs" if multi else "results"
            return f"expected indexing map {number} to have fewer than {rank} {what}"
        places = [getattr(result, "position", None) for result in one.results]
        if None in places or len(set(places)) < len(places):
            return f"expected indexing map {number} to be a projected permutation{' of its inputs' if multi else ''}"
    return None


@rule("iree.bounds", *_BOTH)
def _bounds(subject: Subject) -> str | None:
    """Sizes of the outer dimensions: those of the accumulator come first, then those of the left operand."""
    kinds, maps = _types(subject), _maps(subject)
    bounds: dict[int, int] = {}
    if len(kinds) != len(_OPERANDS):
        return None  # products of scaled matrices have more operands; their bounds are not judged
    order = [len(kinds) - 1, *range(len(kinds) - 1)]
    for number in order:
        for size, result in zip(shape_of(kinds[number]), maps[number].results, strict=False):
            if bounds.setdefault(result.position, size) == size or size < 0 or bounds[result.position] < 0:
                continue
            if subject.name == _INNER:
                return "shape does not match iteration bounds"
            return f"{_OPERANDS[number]} shape does not match iteration bounds"
    return None


@lru_cache(maxsize=256)
def _intrinsic(kind: Attribute) -> tuple[tuple[str, ...], tuple[int, ...], tuple[tuple[int, ...], ...]] | None:
    """Element types of A, B and C, elements of a thread's fragments, whole tiles; None for kinds that are not one intrinsic."""
    if kind.name != "iree_gpu.mma_layout":
        return None
    value: Any = parse_gpu(str(kind))
    operands = value.operands()
    if len(operands) != len(_OPERANDS):
        return None
    one = value.intrinsic
    return (
        (one.a_type, one.b_type, one.c_type),
        tuple(prod(operand.layout.fragment_shape) for operand in operands),
        tuple(tuple(operand.layout.shape) for operand in operands),
    )


@rule("iree.multi_mma.elements", _MULTI)
def _elements(subject: Subject) -> str | None:
    kind = subject.attribute("kind")
    known = None if kind is None else _intrinsic(kind)
    for what, given, wanted in zip(_OPERANDS, _types(subject), known[0] if known else (), strict=False):
        if str(element_of(given)) != wanted:
            return f"{what} element type '{element_of(given)}' does not match expected element type '{wanted}' for intrinsic"
    return None


@rule("iree.multi_mma.semantics", _MULTI)
def _semantics(subject: Subject) -> str | None:
    kind = subject.attribute("kind")
    known = None if kind is None else _intrinsic(kind)
    inner = _inner(subject)
    if known is None or len(inner) != len(_OPERANDS) or any(size < 0 for shape in inner for size in shape):
        return None
    _, held, tiles = known
    of_thread = tuple(map(prod, inner)) == held
    if not of_thread and tuple(map(prod, inner)) != tuple(map(prod, tiles)):
        return "operation parallel semantics can't be inferred as either thread or subgroup"
    if of_thread and any(subject.attribute(f"{name}_permutation") is not None for name in ("lhs", "rhs", "acc")):
        return "permutations require subgroup semantics"
    return None


@rule("iree.inner_tiled.tiles", _INNER)
def _tiles(subject: Subject) -> str | None:
    kind, semantics = subject.attribute("kind"), str(subject.attribute("semantics"))
    known = None if kind is None else _intrinsic(kind)
    if known is None or len(_types(subject)) != len(_OPERANDS):
        return None
    elements, held, tiles = known
    opaque = "opaque = true" in semantics
    for number, (given, inner) in enumerate(zip(_types(subject), _inner(subject), strict=True)):
        wanted = (held[number],) if "distributed = true" in semantics else tiles[number]
        if opaque:
            fits = all(size >= 0 for size in inner) and prod(inner) == prod(wanted)
        else:
            wanted = _permuted(subject, number, wanted)
            fits = _without_units(inner) == _without_units(wanted)
        if not fits or str(element_of(given)) != elements[number]:
            tile = "x".join(map(str, inner))
            expected = "x".join(map(str, wanted))
            return (
                f"operand #{number} inner tile 'tensor<{tile}x{element_of(given)}>' is incompatible with expected MMA tile "
                f"type 'vector<{expected}x{elements[number]}>'"
            )
    return None


def _permuted(subject: Subject, number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A tile in the order of dimensions that `permutations` gives an operand."""
    listed: Any = subject.attribute("permutations")
    if listed is None or number >= len(listed.data):
        return shape
    order = static_numbers(listed.data[number])
    return tuple(shape[place] for place in order) if sorted(order) == [*range(len(shape))] else shape


def _without_units(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


# Barriers, and values with a layout


@rule("iree.same_types", "iree_gpu.value_barrier", "util.assume.int", "util.optimization_barrier")
def _results_of_operands(subject: Subject) -> str | None:
    if tuple(subject.operation.operand_types) == tuple(subject.operation.result_types):
        return None
    names = "inputs" if subject.name == "iree_gpu.value_barrier" else "operands"
    return f"failed to verify that all of {{{names}, results}} have same type"


@rule("iree.value_barrier.types", "iree_gpu.value_barrier")
def _value_barrier(subject: Subject) -> str | None:
    names = {kind.name for kind in subject.operation.operand_types}
    if not names:
        return "Atleast one input required"
    return "All inputs should be either of tensor or vector type" if len(names) > 1 else None


@rule("iree.barrier_region.types", "iree_gpu.barrier_region")
def _barrier_region(subject: Subject) -> str | None:
    operation = subject.operation
    blocks = operation.regions[0].blocks if operation.regions else ()
    if not blocks:
        return None
    last = blocks[0].last_op
    yielded = last.operand_types if last is not None and last.name == "iree_gpu.yield" else ()
    if len(yielded) != len(operation.results):
        return "expected body to yield same number of values as results"
    taken = [argument.type for argument in blocks[0].args]
    if len(taken) != len(operation.operands):
        return "expected the block argument count to match operand count"
    if taken != list(operation.operand_types):
        return "expected block argument types to match operand types"
    if tuple(yielded) != tuple(operation.result_types):
        return "expected yielded value types to match result types"
    return None


_PARENTS = {
    "iree_gpu.yield": ("iree_gpu.barrier_region", "iree_gpu.subgroup_scan"),
    "hal.executable.constant.block": ("hal.executable.source", "hal.executable.variant"),
    "pcf.br.cond_return": ("pcf.generic",),
}


@rule("iree.parent", *_PARENTS)
def _in_a_region(subject: Subject) -> str | None:
    parent, expected = subject.operation.parent_op(), _PARENTS[subject.name]
    if parent is None or name_of(parent) in (*expected, "layoutalg.unread"):
        return None
    if len(expected) == 1:
        return f"expects parent op '{expected[0]}'"
    return f"expects parent op to be one of '{', '.join(expected)}'"


_DEVICE = "!hal.device"


def _taken(operation: Operation) -> list[str]:
    """The types of a region's arguments."""
    blocks = operation.regions[0].blocks
    return [str(argument.type) for argument in blocks[0].args] if blocks else []


@rule("iree.condition", "hal.executable.condition")
def _condition(subject: Subject) -> str | None:
    taken = _taken(subject.operation)
    if len(taken) != 1:
        return "entry block must have 1 arguments to match function signature"
    if taken[0] == _DEVICE:
        return None
    must = f"must match the type of the corresponding argument in function signature('{_DEVICE}')"
    return f"type of entry block argument #0('{taken[0]}') {must}"


@rule("iree.constant_block", "hal.executable.constant.block")
def _constant_block(subject: Subject) -> str | None:
    signature = subject.attribute("function_type")
    keys: Any = subject.attribute("keys")
    if not isinstance(signature, FunctionType) or keys is None:
        return None
    if [str(kind) for kind in signature.inputs] not in ([], [_DEVICE]):
        return f"initializer must take a {_DEVICE} or nothing"
    for number, kind in enumerate(signature.outputs):
        if kind != i32:
            return f"initializer must return only i32 values (result {number} is '{kind}')"
    return None if len(keys.data) == len(signature.outputs) else "must have one key for every result"


@rule("iree.host_return", "hal.return")
def _host_return(subject: Subject) -> str | None:
    """What a condition and a block of constants give; counts of workgroups are not judged."""
    parent, given = subject.operation.parent_op(), list(subject.operation.operand_types)
    if parent is None:
        return None
    if name_of(parent) == "hal.executable.condition":
        return None if given == [i1] else "target condition region must return a single i1 result"
    signature = parent.properties.get("function_type")
    if name_of(parent) != "hal.executable.constant.block" or not isinstance(signature, FunctionType):
        return None
    wanted = list(signature.outputs)
    if len(given) != len(wanted):
        have = f"(have {len(given)}, expected {len(wanted)})"
        return f"return must have the same number of operands as the parent result signature {have}"
    for number, (one, other) in enumerate(zip(given, wanted, strict=True)):
        if one != other:
            return f"parent expected result {number} to be '{other}' but returning '{one}'"
    return None


@rule("iree.to_layout.shape", "iree_vector_ext.to_layout")
def _to_layout(subject: Subject) -> str | None:
    """A vector, or a memref, has the shape of its layout; a tensor has its rank."""
    if not subject.operation.operands:
        return None
    kind, stated = subject.operation.operand_types[0], subject.attribute("layout")
    if not isinstance(kind, ShapedType) or stated is None or stated.name != "iree_vector_ext.nested_layout":
        return None
    value: Any = cast("Any", stated).value
    shape, wanted = shape_of(kind), tuple(value.tensor_shape())
    if len(shape) != len(wanted):
        return f"Rank of vector ({len(shape)}) does not match rank of layout ({len(wanted)})."
    if kind.name == "tensor":
        return None
    for dimension, (actual, expected) in enumerate(zip(shape, wanted, strict=True)):
        if actual != expected:
            return (
                f"Vector shape: {list(shape)} does not match the layout ({str(stated).removeprefix('#iree_vector_ext.')}) "
                f"at dim {dimension}. Dimension expected by layout: {expected} actual: {actual}"
            )
    return None


@rule("iree.to_simt.elements", "iree_vector_ext.to_simt", "iree_vector_ext.to_simd")
def _same_elements(subject: Subject) -> str | None:
    kinds = [*subject.operation.operand_types, *subject.operation.result_types]
    if len({element_of(kind) for kind in kinds}) > 1:
        return "requires the same element type for all operands and results"
    return None
