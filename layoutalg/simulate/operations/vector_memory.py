"""Vector operations on memory: every work-item moves a vector between its registers and a memref.

`vector.load` and `vector.store` move neighbours along the last dimension; the masked ones leave elements out;
`vector.gather` and `vector.scatter` take an index for every element, counted along the last dimension; transfers have a map
from the memref's dimensions to the vector's, and padding outside the memref.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import property_of
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.memory.views import View, dtype_of, kept_as
from layoutalg.simulate.operations.memref import check_window, memref_type

__all__: list[str] = []


def _dtype(kind: Attribute) -> np.dtype[Any]:
    return dtype_of(kind)


def _aligned(op: Operation) -> int:
    """The bytes that the operation promises its first address to be a multiple of."""
    given: Any = property_of(op, "alignment")
    bytes_ = 1 if given is None else int(given.value.data)
    if bytes_ < 1 or bytes_ & (bytes_ - 1):
        fail(op, f"alignment = {bytes_}: expected a power of two")
    return bytes_


def _check_alignment(run: Run, op: Operation, first: Array, wanted: int) -> None:
    wrong = run.where(first % wanted != 0) if wanted > 1 else np.False_
    if wrong.any():
        at = run.memory.describe(int(np.broadcast_to(first, wrong.shape)[wrong][0]))
        run.report(op, "run.misaligned", f"{at} is not a multiple of {wanted}, as the operation promises")


def _neighbours(op: Operation, memory: SSAValue, shape: tuple[int, ...]) -> Any:
    """A function from a view and indices to the places of a vector of neighbours."""
    aligned = _aligned(op)
    rank = len(memref_type(op, memory.type).get_shape())
    if len(shape) > rank:
        fail(op, f"a vector of {len(shape)} dimensions, and a memref of {rank}")
    steps = np.indices(shape) if shape else np.zeros((0,), np.int64)

    def places(run: Run, view: View, indices: Sequence[Array], mask: Array | None) -> tuple[Array, Array | None]:
        _check_alignment(run, op, view.elements(indices)[0], aligned)
        wide = [index.reshape(*index.shape, *(1,) * len(shape)) for index in indices]
        for dimension in range(len(shape)):
            wide[rank - len(shape) + dimension] = wide[rank - len(shape) + dimension] + steps[dimension]
        spread = view.spread(len(shape))
        addresses, inside = spread.elements(wide)
        return _wanted(run, op, spread, wide, addresses, inside, mask)

    return places


def _wanted(
    run: Run, op: Operation, view: View, wide: list[Array], addresses: Array, inside: Array, mask: Array | None
) -> tuple[Array, Array | None]:
    """The elements that are asked for and exist; those that are asked for and don't are reported."""
    if mask is None:
        return addresses, check_window(run, op, np.broadcast_to(inside, addresses.shape), view, wide)
    asked = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, addresses.shape))
    check_window(run, op, np.asarray(inside | ~asked), view, wide)
    return np.broadcast_to(addresses, asked.shape), np.asarray(asked & inside)


@compiled_by("vector.load")
def load(op: Any, compiling: Compiling) -> Step:
    """`vector.load`: neighbours along the last dimensions."""
    memory, result = op.operands[0], op.results[0].type
    places, dtype = _neighbours(op, memory, value_shape(result)), _dtype(result)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        addresses, wanted = places(run, values[0], values[1:], None)
        return (run.memory.read(run, op, addresses, wanted, dtype),)

    return step


@compiled_by("vector.store")
def store(op: Any, compiling: Compiling) -> Step:
    """`vector.store`: neighbours along the last dimensions."""
    value, memory = op.operands[0].type, op.operands[1]
    places, dtype = _neighbours(op, memory, value_shape(value)), _dtype(value)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        addresses, wanted = places(run, values[1], values[2:], None)
        run.memory.write(run, op, addresses, wanted, kept_as(values[0], dtype))
        return ()

    return step


def _indexed(op: Operation, memory: SSAValue, shape: tuple[int, ...]) -> Any:
    rank = len(memref_type(op, memory.type).get_shape())

    def places(run: Run, view: View, offsets: Sequence[Array], mask: Array) -> tuple[Array, Array | None]:
        *starts, indices = offsets
        wide = [start.reshape(*start.shape, *(1,) * len(shape)) for start in starts]
        wide[rank - 1] = wide[rank - 1] + indices
        spread = view.spread(len(shape))
        addresses, inside = spread.elements(wide)
        return _wanted(run, op, spread, wide, addresses, inside, mask)

    return places


_PLACES = {
    "vector.maskedload": _neighbours,
    "vector.maskedstore": _neighbours,
    "vector.gather": _indexed,
    "vector.scatter": _indexed,
}
"""Whether the elements are neighbours, or each has an index."""


@compiled_by("vector.maskedload", "vector.gather")
def masked_load(op: Any, compiling: Compiling) -> Step:
    """Elements of memory where the mask is set, another vector's elements elsewhere."""
    memory, result = op.operands[0], op.results[0].type
    places, dtype = _PLACES[op.name](op, memory, value_shape(result)), _dtype(result)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        mask, other = values[-2:]
        addresses, wanted = places(run, values[0], values[1:-2], mask)
        return (np.where(mask, run.memory.read(run, op, addresses, wanted, dtype), other),)

    return step


@compiled_by("vector.maskedstore", "vector.scatter")
def masked_store(op: Any, compiling: Compiling) -> Step:
    """Elements go to memory where the mask is set."""
    memory, value = op.operands[0], op.operands[-1].type
    places, dtype = _PLACES[op.name](op, memory, value_shape(value)), _dtype(value)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        mask, stored = values[-2:]
        addresses, wanted = places(run, values[0], values[1:-2], mask)
        run.memory.write(run, op, addresses, wanted, kept_as(stored, dtype))
        return ()

    return step


def _transfer(op: Any, memory: SSAValue, vector: Attribute) -> Any:
    """A function to the places of a transfer: which memref dimension each dimension of the vector runs along."""
    shape = value_shape(vector)
    rank = len(memref_type(op, memory.type).get_shape())
    given = property_of(op, "permutation_map")
    results = given.data.results if isinstance(given, AffineMapAttr) else ()
    along: list[int | None] = []
    for result in results:
        if isinstance(result, AffineDimExpr):
            along.append(result.position)
        elif isinstance(result, AffineConstantExpr) and result.value == 0:
            along.append(None)
        else:
            fail(op, f"a permutation_map with {result} is not simulated")
    if not isinstance(given, AffineMapAttr):
        along = list(range(rank - len(shape), rank))
    if len(along) != len(shape):
        fail(op, f"a permutation_map of {len(along)} results for {vector}")
    bounds = property_of(op, "in_bounds")
    sure = [False] * len(shape)
    if isa(bounds, ArrayAttr[IntegerAttr]):
        sure = [bool(bound.value.data) for bound in bounds]
    steps = np.indices(shape) if shape else np.zeros((0,), np.int64)
    used = [dimension for dimension in along if dimension is not None]
    order = [along.index(dimension) for dimension in sorted(used)]

    def places(run: Run, view: View, indices: Sequence[Array], mask: Array | None) -> tuple[Array, Array]:
        wide = [index.reshape(*index.shape, *(1,) * len(shape)) for index in indices]
        for axis, dimension in enumerate(along):
            if dimension is not None:
                wide[dimension] = wide[dimension] + steps[axis]
        spread = view.spread(len(shape))
        addresses, inside = spread.elements(wide)
        wanted = np.broadcast_to(inside, np.broadcast_shapes(inside.shape, addresses.shape))
        if mask is not None:
            wanted = wanted & _masked(mask, order, len(shape))
        # A dimension that is promised to be in bounds must be.
        promised: Any = np.True_
        for dimension, index in enumerate(wide):
            if dimension not in used or sure[along.index(dimension)]:
                promised = promised & (index >= 0) & (index < spread.sizes[dimension])
        asked = wanted | ~np.broadcast_to(promised, wanted.shape)
        if mask is not None:
            asked = asked & _masked(mask, order, len(shape))
        check_window(run, op, np.asarray(wanted | ~asked), spread, wide)
        return np.broadcast_to(addresses, wanted.shape), np.asarray(wanted)

    return places


def _masked(mask: Array, order: list[int], rank: int) -> Array:
    """A mask, whose axes are in the order of the memref's dimensions, with the axes of the vector."""
    extents = [1] * rank
    for axis, place in enumerate(order):
        extents[place] = mask.shape[3 + axis]
    moved = np.transpose(mask, (0, 1, 2, *(3 + n for n in np.argsort(order))))
    return moved.reshape(*mask.shape[:3], *extents)


@compiled_by("vector.transfer_read")
def transfer_read(op: Any, compiling: Compiling) -> Step:
    """`vector.transfer_read`: what is outside or masked reads as the padding."""
    result = op.results[0].type
    places, dtype = _transfer(op, op.operands[0], result), _dtype(result)
    rank = len(memref_type(op, op.operands[0].type).get_shape())
    axes = len(value_shape(result))

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        view, indices, padding, *mask = values[0], values[1 : 1 + rank], values[1 + rank], *values[2 + rank :]
        addresses, wanted = places(run, view, indices, mask[0] if mask else None)
        found = run.memory.read(run, op, addresses, wanted, dtype)
        return (np.where(wanted, found, padding.reshape(*padding.shape, *(1,) * axes)),)

    return step


@compiled_by("vector.transfer_write")
def transfer_write(op: Any, compiling: Compiling) -> Step:
    """`vector.transfer_write`: what is outside or masked is not written."""
    value = op.operands[0].type
    if not isa(value, VectorType[Attribute]) or op.results:
        fail(op, "a transfer of a vector to a memref is simulated")
    places, dtype = _transfer(op, op.operands[1], value), _dtype(value)
    rank = len(memref_type(op, op.operands[1].type).get_shape())

    def step(run: Run, values: list[Any]) -> tuple[()]:
        view, indices, mask = values[1], values[2 : 2 + rank], values[2 + rank :]
        addresses, wanted = places(run, view, indices, mask[0] if mask else None)
        run.memory.write(run, op, addresses, wanted, kept_as(values[0], dtype))
        return ()

    return step
