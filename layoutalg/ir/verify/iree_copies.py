"""IREE's rules of copies into shared memory and of scans over lanes.

    iree_gpu.async_dma %a[%i] to %b[%j, %j], vector<8x64xf32> : memref<4x64xf32>, memref<8x64xf32>

is refused with "expected 2 source indices (source rank), got 1". Rules come in IREE's order; the first that is broken is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr, BoolAttr
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr, AffineMap

from layoutalg.ir.assembly import entries_of
from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, is_memref, is_tensor, is_vector, shape_of
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []

_SCAN = "iree_gpu.subgroup_scan"


def _number(subject: Subject, name: str) -> int | None:
    found: Any = subject.attribute(name)
    return None if found is None or found.name != "integer" else int(found.value.data)


def _power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@rule("iree.subgroup_scan", _SCAN)
def _scan(subject: Subject) -> str | None:
    for name in ("cluster_size", "cluster_stride"):
        number = _number(subject, name)
        if number is not None and not _power_of_two(number):
            return f"{name} must be a power of 2"
    identity = subject.type("identity")
    if identity is None:
        return None if subject.attribute("inclusive") is not None else "exclusive scan requires an identity operand"
    return None if identity == subject.type("value") else "identity type must match value type"


@rule("iree.subgroup_scan.combiner", _SCAN)
def _combiner(subject: Subject) -> str | None:
    regions = subject.operation.regions
    if not regions or not regions[0].blocks:
        return None
    block, kind = regions[0].blocks[0], subject.type("value")
    if len(block.args) != 2:
        return "combiner region must have exactly 2 arguments"
    if any(argument.type != kind for argument in block.args):
        return "combiner argument type must match value type"
    last = block.last_op
    yielded = list(last.operand_types) if last is not None and last.name == "iree_gpu.yield" else []
    return None if yielded == [kind] else "combiner must yield one value of the value type"


def _not_flags(subject: Subject) -> bool:
    """Whether `in_bounds` has an entry that is not true or false."""
    return any(str(getattr(flag, "type", "")) != "i1" for flag in entries_of(subject.attribute("in_bounds")))


_BOOLS = "attribute 'in_bounds' failed to satisfy constraint: 1-bit boolean array attribute"


def _flags(subject: Subject) -> Sequence[bool] | None:
    found: Any = subject.attribute("in_bounds")
    if found is None or found.name != "array":
        return None
    return [flag == BoolAttr.from_bool(True) for flag in entries_of(found)]


@rule("iree.gather_dma", "iree_gpu.coalesced_gather_dma")
def _gather(subject: Subject) -> str | None:
    return next(_gather_problems(subject), None)


def _gather_problems(subject: Subject) -> Iterator[str]:
    if _not_flags(subject):
        yield _BOOLS
    source, init = subject.type("source"), subject.type("init")
    indices = [value.type for value in subject.values("indices")]
    taken, made, flags = shape_of(source), shape_of(init), _flags(subject)
    for check, name in ((is_tensor, "tensor"), (is_memref, "memref")):
        if check(init) and not check(source):
            yield f"source must be {name} when init is {name}"
    for what, shape in (("destination", made), ("source", taken)):
        if len(indices) > len(shape):
            yield f"number of indices ({len(indices)}) cannot exceed {what} rank ({len(shape)})"
    for number, kind in enumerate(indices):
        if any(size < 0 for size in shape_of(kind)):
            yield f"expected index {number} to have static shape"
    yield from _batch_problems([shape_of(kind) for kind in indices], made)
    for dim, size in enumerate(made):
        if dim >= len(taken):
            yield f"expected source to have at least {dim + 1} dimensions when destination has rank {len(made)}"
            return
        skipped = dim < len(indices) or (flags is not None and dim < len(flags) and not flags[dim])
        if not skipped and taken[dim] != size:
            yield (
                f"expected unindexed dimension {dim} to have same length in source ({taken[dim]}) and destination ({size})"
            )
    if flags is not None and len(flags) != len(made):
        yield f"in_bounds array size ({len(flags)}) must match init rank ({len(made)})"


def _batch_problems(indices: Sequence[Sequence[int]], made: Sequence[int]) -> Iterator[str]:
    """All index vectors have one dimension, as long as the first one of what is written."""
    for number, shape in enumerate(indices):
        if len(shape) != 1:
            yield f"expected index {number} to be a 1-D tensor or vector"
            return
        if shape[0] != indices[0][0]:
            yield (
                f"expected all index vectors to have the same length; index {number} has length {shape[0]} but expected "
                f"{indices[0][0]}"
            )
    if indices and made and indices[0][0] != made[0]:
        yield (
            f"expected batch size (length of index vectors: {indices[0][0]}) to match first destination dimension ({made[0]})"
        )


@rule("iree.async_dma", "iree_gpu.async_dma")
def _async(subject: Subject) -> str | None:
    return next(_async_problems(subject), None)


def _async_problems(subject: Subject) -> Iterator[str]:
    if _not_flags(subject):
        yield _BOOLS
    source, dest = subject.type("source"), subject.type("dest")
    ranks = len(shape_of(source)), len(shape_of(dest))
    indices = [value.type for value in subject.values("source_indices")]
    for what, given, rank in (
        ("source", len(indices), ranks[0]),
        ("dest", len(subject.values("dest_indices")), ranks[1]),
    ):
        if given != rank:
            yield f"expected {rank} {what} indices ({what} rank), got {given}"
    for number, kind in enumerate(indices):
        if is_vector(kind) and len(shape_of(kind)) != 1:
            yield f"source index #{number} must be index or vector<Nxindex>, got '{kind}'"
    result = subject.type("result")
    if is_tensor(source) and is_tensor(dest):
        if result is None:
            yield "expected result for tensor operand"
        elif result != dest:
            yield "result type must match dest type"
    elif result is not None:
        yield "unexpected result for memref operand"
    if element_of(source) != element_of(dest):
        yield "expected source and dest to have the same element type"
    yield from _transfer_problems(subject, indices, ranks)


def _transfer_problems(subject: Subject, indices: Sequence[Attribute], ranks: tuple[int, int]) -> Iterator[str]:
    """What is moved at once, and which dimension of the source becomes which of what is written."""
    moved, source = subject.attribute("transfer_type"), subject.type("source")
    if not is_vector(moved):
        yield "transfer_type must be a VectorType"
        return
    shape, (read, written) = shape_of(moved), ranks
    if element_of(moved) != element_of(source):
        yield (
            f"transfer_type element type ('{element_of(moved)}') must match source/dest element type "
            f"('{element_of(source)}')"
        )
    if len(shape) != written:
        yield f"transfer_type rank ({len(shape)}) must match dest rank ({written})"
    flags = _flags(subject)
    if flags is not None and len(flags) != written:
        yield f"in_bounds array size ({len(flags)}) must match dest rank ({written})"
    given = subject.attribute("permutation_map")
    if isinstance(given, AffineMapAttr):
        yield from _map_problems(given.data, read, written)
    elif read != written:
        yield f"permutation_map is required when source rank ({read}) differs from dest rank ({written})"
    places = [*range(read)]
    if isinstance(given, AffineMapAttr):
        places = [one.position for one in given.data.results if isinstance(one, AffineDimExpr)]
    for number, kind in enumerate(indices):
        if not is_vector(kind):
            continue
        if number not in places:
            yield f"source dimension {number} has a gather index but is not mapped by permutation_map"
            return
        at = places.index(number)
        if shape_of(kind)[0] != shape[at]:
            yield (
                f"gather index size ({shape_of(kind)[0]}) for source dimension {number} must match transfer_type size "
                f"({shape[at]}) in dest dimension {at}"
            )


def _map_problems(given: AffineMap, read: int, written: int) -> Iterator[str]:
    if given.num_dims != read:
        yield f"permutation_map num dims ({given.num_dims}) must match source rank ({read})"
    if len(given.results) != written:
        yield f"permutation_map num results ({len(given.results)}) must match dest rank ({written})"
    places = [one.position for one in given.results if isinstance(one, AffineDimExpr)]
    if len(places) < len(given.results) or len(set(places)) < len(places) or given.num_symbols:
        yield "permutation_map must be a projected permutation"
