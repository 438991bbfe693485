"""IREE's rules of gathers and scatters, of tensors in buffers, and of values that are given a layout.

    %v = iree_vector_ext.transfer_gather %m[%i, %j] [%rows : vector<15xindex>], %p <{indexing_maps = [
           affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>]}> : memref<64x64xf16>, vector<4x64xf16>

is refused with "mismatched vector shape for index vec at position 0. Expected: [4], got: [15]".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap, AffineSymExpr

from layoutalg.ir.assembly import entries_of
from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, is_tensor, shape_of, typed
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []

_GATHER, _SCATTER = "iree_vector_ext.transfer_gather", "iree_vector_ext.transfer_scatter"


@rule("iree.buffer.shapes", "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer")
def _compatible(subject: Subject) -> str | None:
    tensor, buffer = subject.type("tensor"), subject.type("buffer")
    pairs = list(zip(shape_of(tensor), shape_of(buffer), strict=False))
    fits = all(one == other or one < 0 or other < 0 for one, other in pairs)
    alike = len(shape_of(tensor)) == len(shape_of(buffer)) and element_of(tensor) == element_of(buffer)
    if fits and alike:
        return None
    first = "buffer and tensor" if subject.name.endswith("load_from_buffer") else "tensor and buffer"
    return f"{first} shapes must be compatible and element types must match"


@rule("iree.inner_tiled.types", "iree_codegen.inner_tiled")
def _inferred(subject: Subject) -> str | None:
    given = [value.type for value in subject.values("outputs")]
    made = list(subject.operation.result_types)
    if given != made:
        expected, found = (", ".join(typed(kind) for kind in kinds) for kinds in (given, made))
        return f"inferred type(s) {expected} are incompatible with return type(s) of operation {found}"
    if subject.attribute("semantics") is None:
        return "requires attribute 'semantics'"
    if any(one.name != "affine_map" for one in entries_of(subject.attribute("indexing_maps"))):
        return "attribute 'indexing_maps' failed to satisfy constraint: indexing affine maps"
    if any(kind.name != "linalg.iterator_type" for kind in entries_of(subject.attribute("iterator_types"))):
        return "attribute 'iterator_types' failed to satisfy constraint: Iterator type should be an enum."
    return None


@rule("iree.transfer.indices", _GATHER, _SCATTER)
def _transfer(subject: Subject) -> str | None:
    return next(_transfer_problems(subject), None)


def _transfer_problems(subject: Subject) -> Iterator[str]:
    base, vector = subject.type("base"), subject.type("vector")
    if subject.name == _GATHER and subject.type("padding") != element_of(base):
        yield "failed to verify that padding type must match source element type"
    if subject.name == _SCATTER and element_of(base) != element_of(vector):
        yield "failed to verify that all of {base, vector} have same element type"
    listed = subject.attribute("indexing_maps")
    if listed is None or listed.name != "array":
        if subject.attribute("indexed") is None and subject.attribute("indexed_maps") is None:
            yield "requires attribute 'indexing_maps'"
        return  # an older form, which has other attributes
    entries = entries_of(listed)
    if any(one.name != "affine_map" for one in entries):
        yield "attribute 'indexing_maps' failed to satisfy constraint: AffineMap array attribute"
        return
    maps: list[AffineMap] = [one.data for one in entries]
    indices = [value.type for value in subject.values("index_vecs")]
    mask = subject.type("mask")
    expected = 1 + len(indices) + (mask is not None)
    if len(maps) != expected:
        yield f"expected {expected} indexing maps, got: {len(maps)}"
        return
    yield from _map_problems(maps, shape_of(vector), len(indices))
    for number, (one, kind) in enumerate(zip(maps[1:], indices, strict=False)):
        wanted = _shape(one, shape_of(vector))
        if wanted is None:
            yield "expected index vec indexing maps to only have dim exprs"
        elif isinstance(kind, IndexType):
            if wanted:
                yield f"expected empty indexing map for scalar index vec at position {number}"
        elif wanted != shape_of(kind):
            expected_sizes, sizes = (", ".join(map(str, shape)) for shape in (wanted, shape_of(kind)))
            yield (
                f"mismatched vector shape for index vec at position {number}. Expected: [{expected_sizes}], got: [{sizes}]"
            )
    if mask is not None:
        wanted = _shape(maps[-1], shape_of(vector))
        if wanted is None:
            yield "expected mask indexing map to only have dim exprs"
        elif wanted != shape_of(mask):
            expected_sizes, sizes = (", ".join(map(str, shape)) for shape in (wanted, shape_of(mask)))
            yield f"mismatched mask shape. Expected: [{expected_sizes}], got: [{sizes}]"
    if subject.name == _SCATTER:
        result = subject.type("result")
        if not is_tensor(base):
            if result is not None:
                yield "unexpected result for memref operand"
        elif result is None:
            yield "expected result for tensor operand"
        elif result != base:
            yield "result type must match base type"


def _map_problems(maps: Sequence[AffineMap], vector: Sequence[int], symbols: int) -> Iterator[str]:
    beginning = "expected all indexing maps to have number of"
    for one in maps:
        if one.num_dims != len(vector):
            yield f"{beginning} dims equal to vector rank. expected: {len(vector)}, got: {one.num_dims} dims"
            return
        if one.num_symbols != symbols:
            yield (
                f"{beginning} symbols equal to number of index vecs. expected: {symbols}, got: {one.num_symbols} syms"
            )
            return
        for result in one.results:
            if isinstance(result, AffineConstantExpr):
                if result.value:
                    yield f"expected constant 0 in indexing map, got: {result.value}"
            elif not isinstance(result, AffineDimExpr | AffineSymExpr):
                yield "expected indexing map results to only be a dim, symbol, or 0"


def _shape(given: AffineMap, vector: Sequence[int]) -> tuple[int, ...] | None:
    """The sizes of the dimensions that a map names; None where it names something else."""
    places = [result.position for result in given.results if isinstance(result, AffineDimExpr)]
    return tuple(vector[place] for place in places) if len(places) == len(given.results) else None
