"""IREE's rules of matrix products on fragments: `iree_gpu.multi_mma` of IREE 3.2, and its successor `iree_codegen.inner_tiled`.

    %0 = iree_gpu.multi_mma %a, %b, %c #trait : vector<2x3x4xf16>, vector<4x5x4xf16> into vector<2x5x4xf32>

is refused with "rhs shape does not match iteration bounds": the outer dimensions are 2 by 3 and 4 by 5. The inner dimensions of
each operand are one fragment of the intrinsic (of a thread), or one whole tile (of the subgroup).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from xdsl.ir import Attribute

from layoutalg.ir.verify.registry import Subject, rule
from layoutalg.ir.verify.shapes import element_of, shape_of
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
    if known is None or len(_types(subject)) != len(_OPERANDS) or "opaque = true" in semantics:
        return None
    elements, held, tiles = known
    for number, (given, inner) in enumerate(zip(_types(subject), _inner(subject), strict=True)):
        wanted = (held[number],) if "distributed = true" in semantics else tiles[number]
        if inner != wanted or str(element_of(given)) != elements[number]:
            tile = "x".join(map(str, inner))
            expected = "x".join(map(str, wanted))
            return (
                f"operand #{number} inner tile 'tensor<{tile}x{element_of(given)}>' is incompatible with expected MMA tile "
                f"type 'vector<{expected}x{elements[number]}>'"
            )
    return None
