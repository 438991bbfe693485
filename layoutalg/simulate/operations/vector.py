"""The vector dialect: elements move inside the vector that a value holds, and vectors are reduced and multiplied.

At lane level a vector is the fragment of a lane, at subgroup and workgroup level the whole tensor; what an operation does
is the same. Reductions, contractions and outer products accumulate one element after the other, as LLVM's lowering does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.conversions import converted
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.operations.declared import element_of, pointwise, undefined, whole_numbers
from layoutalg.simulate.values import vectors
from layoutalg.simulate.values.elements import as_signed

__all__: list[str] = []

_ITEMS = (slice(None),) * vectors.ITEMS


@compiled_by("vector.broadcast", "vector.splat")
def broadcast(op: Operation, compiling: Compiling) -> Step:
    """New leading axes, and axes of 1 stretched."""
    shape = value_shape(op.results[0].type)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value = vectors.spread(values[0], len(shape))
        return (np.broadcast_to(value, (*value.shape[: vectors.ITEMS], *shape)),)

    return step


class Position:
    """The place of an element or a slice in a vector: known numbers, and values of the work-items."""

    def __init__(self, op: Operation, whole: Any, name: str = "static_position") -> None:
        self.op = op
        self.whole = whole
        self.numbers = whole_numbers(op, name) if name in op.properties else (DYNAMIC_INDEX,)
        self.extents = value_shape(whole)
        self.known = DYNAMIC_INDEX not in self.numbers
        if len(self.numbers) > len(self.extents):
            fail(op, f"{len(self.numbers)} positions in {whole}")
        for number, extent in zip(self.numbers, self.extents, strict=False):
            if number != DYNAMIC_INDEX and not 0 <= number < extent:
                fail(op, f"position {number} of {whole}: expected 0 to {extent - 1}")

    def flat(self, run: Run, dynamic: list[Any]) -> Array:
        """The number of the slice among those of these leading axes, in row-major order, for each work-item."""
        remaining = iter(dynamic)
        found: Array = np.zeros((1, 1, 1), np.int64)
        for number, extent in zip(self.numbers, self.extents, strict=False):
            if number == DYNAMIC_INDEX:
                place = as_signed(next(remaining))
                beyond = (place < 0) | (place >= extent)
                problem = f"position {{}} of {self.whole}: expected 0 to {extent - 1}"
                undefined(run, self.op, np.asarray(beyond), problem, place)
                place = np.where(beyond, 0, place)
            else:
                place = np.asarray(number)
            found = found * extent + place
        return found

    @property
    def index(self) -> tuple[Any, ...]:
        """The position as an index of an array, where it is known."""
        return (*_ITEMS, *self.numbers)

    def split(self, value: Array) -> Array:
        """[workgroup, subgroup, lane, slice, ..]: the leading axes as one."""
        rest = self.extents[len(self.numbers) :]
        return value.reshape(*value.shape[: vectors.ITEMS], -1, *rest)


@compiled_by("vector.extract", "vector.extractelement")
def extract(op: Operation, compiling: Compiling) -> Step:
    """An element or a slice; each work-item may have its own position."""
    place = Position(op, op.operands[0].type)
    if place.known:
        return pointwise(lambda value: value[place.index])

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        parts, number = place.split(values[0]), place.flat(run, values[1:])
        items = np.broadcast_shapes(parts.shape[: vectors.ITEMS], number.shape)
        parts = np.broadcast_to(parts, (*items, *parts.shape[vectors.ITEMS :]))
        number = np.broadcast_to(number, items).reshape(*items, *(1,) * (parts.ndim - vectors.ITEMS))
        return (np.take_along_axis(parts, number, axis=vectors.ITEMS)[:, :, :, 0],)

    return step


@compiled_by("vector.insert", "vector.insertelement")
def insert(op: Operation, compiling: Compiling) -> Step:
    """A copy of the vector with an element or a slice replaced; each work-item may have its own position."""
    place = Position(op, op.operands[1].type)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value, into = values[0], values[1]
        items = np.broadcast_shapes(value.shape[: vectors.ITEMS], into.shape[: vectors.ITEMS])
        if place.known:
            result = np.broadcast_to(into, items + into.shape[vectors.ITEMS :]).copy()
            result[place.index] = value
            return (result,)
        number = place.flat(run, values[2:])
        items = np.broadcast_shapes(items, number.shape)
        parts = place.split(np.broadcast_to(into, items + into.shape[vectors.ITEMS :]))
        here = np.asarray(np.arange(parts.shape[vectors.ITEMS], dtype=np.int64) == number[..., None])
        here = here.reshape(*here.shape, *(1,) * (parts.ndim - here.ndim))
        result = np.where(here, value[:, :, :, None], parts)
        return (result.reshape(*items, *place.extents),)

    return step


@compiled_by("vector.extract_strided_slice")
def extract_strided_slice(op: Operation, compiling: Compiling) -> Step:
    """A box of the leading dimensions."""
    whole = value_shape(op.operands[0].type)
    cut = vectors.box(*(whole_numbers(op, name) for name in ("offsets", "sizes", "strides")))
    _check_box(op, cut, whole)
    return pointwise(lambda value: value[(*_ITEMS, *cut)])


@compiled_by("vector.insert_strided_slice")
def insert_strided_slice(op: Operation, compiling: Compiling) -> Step:
    """A copy of the vector with a box of its last dimensions replaced."""
    part, whole = (value_shape(operand.type) for operand in op.operands)
    offsets, strides = whole_numbers(op, "offsets"), whole_numbers(op, "strides")
    leading = len(whole) - len(part)
    if len(offsets) != len(whole) or len(strides) != len(part):
        fail(op, f"{len(offsets)} offsets and {len(strides)} strides for {len(part)} dimensions in {len(whole)}")
    cut = vectors.box(offsets, (1,) * leading + part, (1,) * leading + strides)
    _check_box(op, cut, whole)

    def compute(value: Array, into: Array) -> Array:
        items = np.broadcast_shapes(value.shape[: vectors.ITEMS], into.shape[: vectors.ITEMS])
        result = np.broadcast_to(into, items + into.shape[vectors.ITEMS :]).copy()
        result[(*_ITEMS, *cut)] = vectors.spread(value, len(whole))
        return result

    return pointwise(compute)


def _check_box(op: Operation, cut: tuple[slice, ...], whole: tuple[int, ...]) -> None:
    for dimension, (part, extent) in enumerate(zip(cut, whole, strict=False)):
        if not (0 <= part.start < part.stop <= extent and part.step > 0):
            fail(op, f"dimension {dimension}: elements {part.start} to {part.stop - 1} of {extent}")


@compiled_by("vector.shape_cast")
def shape_cast(op: Operation, compiling: Compiling) -> Step:
    """The same elements, in row-major order, in another shape."""
    shape = value_shape(op.results[0].type)
    return pointwise(lambda value: value.reshape(*value.shape[: vectors.ITEMS], *shape))


@compiled_by("builtin.unrealized_conversion_cast")
def conversion_cast(op: Operation, compiling: Compiling) -> Step:
    """Left over by a pass: one vector in another shape; anything else isn't a value that can be run."""
    if len(op.operands) != 1 or len(op.results) != 1:
        fail(op, "a cast of one value to one other is simulated")
    source, target = op.operands[0].type, op.results[0].type
    if source == target:
        return lambda run, values: (values[0],)
    if element_of(source) != element_of(target) or np.prod(value_shape(source)) != np.prod(value_shape(target)):
        fail(op, f"{source} to {target}: the elements aren't the same")
    return shape_cast(op, compiling)


@compiled_by("vector.bitcast")
def bitcast(op: Operation, compiling: Compiling) -> Step:
    """The same bits in elements of another width, little endian."""
    source, kind = element_of(op.operands[0]), element_of(op.results[0])
    shape = value_shape(op.results[0].type)

    def compute(value: Array) -> Array:
        result = vectors.bitcast(value, source, kind)
        return result.reshape(*result.shape[: vectors.ITEMS], *shape)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value: Array = values[0]
        return (converted(run, value, ("bitcast", source.name, kind.name), lambda: compute(value)),)

    return step


@compiled_by("vector.transpose")
def transpose(op: Operation, compiling: Compiling) -> Step:
    """Dimension i of the result is dimension permutation[i] of the operand."""
    order = whole_numbers(op, "permutation")
    if sorted(order) != list(range(len(value_shape(op.operands[0].type)))):
        fail(op, f"{list(order)} is not a permutation of the dimensions of {op.operands[0].type}")
    axes = (0, 1, 2, *(vectors.ITEMS + axis for axis in order))
    return pointwise(lambda value: np.transpose(value, axes))


@compiled_by("vector.step")
def step_vector(op: Operation, compiling: Compiling) -> Step:
    """0, 1, 2, ... as indices."""
    (count,) = value_shape(op.results[0].type)
    compiling.is_same_for_all(op)
    numbers = np.arange(count, dtype=np.int64).reshape(1, 1, 1, -1)
    return lambda run, values: (numbers,)


@compiled_by("vector.create_mask")
def create_mask(op: Operation, compiling: Compiling) -> Step:
    """Set where every coordinate is below its bound; bounds may be negative or too large."""
    shape = value_shape(op.results[0].type)
    return lambda run, values: (vectors.mask_of(values, shape),)


@compiled_by("vector.constant_mask")
def constant_mask(op: Operation, compiling: Compiling) -> Step:
    """Set where every coordinate is below its known bound."""
    shape, bounds = value_shape(op.results[0].type), whole_numbers(op, "mask_dim_sizes")
    if len(bounds) != len(shape):
        fail(op, f"{len(bounds)} sizes for {len(shape)} dimensions")
    compiling.is_same_for_all(op)
    made = vectors.mask_of([np.full((1, 1, 1), bound) for bound in bounds], shape)
    return lambda run, values: (made,)


@compiled_by("vector.interleave")
def interleave(op: Operation, compiling: Compiling) -> Step:
    """The elements of two vectors by turns, along the last dimension."""
    shape = value_shape(op.results[0].type)

    def compute(left: Array, right: Array) -> Array:
        pair = np.stack(np.broadcast_arrays(left, right), axis=-1)
        return pair.reshape(*pair.shape[: vectors.ITEMS], *shape)

    return pointwise(compute)


@compiled_by("vector.deinterleave")
def deinterleave(op: Operation, compiling: Compiling) -> Step:
    """The elements at even places, and those at odd ones."""
    return lambda run, values: (values[0][..., 0::2], values[0][..., 1::2])


@compiled_by("vector.shuffle")
def shuffle(op: Operation, compiling: Compiling) -> Step:
    """Slices of the first dimension of two vectors, chosen by number; a poison entry (-1) is slice 0 here."""
    chosen = np.array(whole_numbers(op, "mask"), np.int64)
    total = sum((value_shape(operand.type) or (1,))[0] for operand in op.operands)
    if chosen.size and not -1 <= chosen.min() <= chosen.max() < total:
        fail(op, f"mask {chosen.tolist()}: expected numbers below {total}")
    chosen = np.maximum(chosen, 0)
    run_of = _run(chosen.tolist(), (value_shape(op.operands[0].type) or (1,))[0])
    if run_of is not None:
        # Neighbours of one operand, as the pieces of a large load are: a view.
        operand, part = run_of
        return lambda run, values: (vectors.spread(values[operand], max(1, values[operand].ndim - 3))[:, :, :, part],)

    def compute(left: Array, right: Array) -> Array:
        items = np.broadcast_shapes(left.shape[: vectors.ITEMS], right.shape[: vectors.ITEMS])
        parts = [
            np.broadcast_to(part, items + part.shape[vectors.ITEMS :])
            for part in (vectors.spread(one, max(1, one.ndim - vectors.ITEMS)) for one in (left, right))
        ]
        return np.take(np.concatenate(parts, axis=vectors.ITEMS), chosen, axis=vectors.ITEMS)

    return pointwise(compute)


def _run(chosen: list[int], split: int) -> tuple[int, slice] | None:
    """The operand and its slices, where they are neighbours in one operand; the first one has `split` slices."""
    if not chosen or chosen != list(range(chosen[0], chosen[0] + len(chosen))):
        return None
    first = chosen[0]
    if chosen[-1] < split:
        return 0, slice(first, chosen[-1] + 1)
    return (1, slice(first - split, chosen[-1] + 1 - split)) if first >= split else None


@compiled_by("vector.from_elements")
def from_elements(op: Operation, compiling: Compiling) -> Step:
    """A vector of scalars, in row-major order."""
    shape, kind = value_shape(op.results[0].type), element_of(op.results[0])

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        items = np.broadcast_shapes(*(value.shape for value in values))
        result = np.empty((*items, len(values)), kind.dtype)
        for number, value in enumerate(values):
            result[..., number] = value
        return (result.reshape(*items, *shape),)

    return step


@compiled_by("vector.to_elements")
def to_elements(op: Operation, compiling: Compiling) -> Step:
    """The scalars of a vector, in row-major order."""
    count = len(op.results)

    def step(run: Run, values: list[Any]) -> list[Array]:
        flat = values[0].reshape(*values[0].shape[: vectors.ITEMS], count)
        return [flat[..., number] for number in range(count)]

    return step


@compiled_by("vector.print")
def ignore(op: Operation, compiling: Compiling) -> Step:
    """`vector.print` is for people; a launch is silent."""
    return lambda run, values: ()
