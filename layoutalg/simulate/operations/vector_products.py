"""Reductions, contractions and outer products of vectors, and the masks around them.

The order of accumulation is that of LLVM's lowering: the accumulator first, then the elements one after the other, those of
several dimensions in row-major order. A contraction adds rounded products and the accumulator last; an outer product with an
accumulator is a fused multiply-add (`vector.outerproduct` becomes `vector.fma`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr

from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.operations.declared import (
    element_of,
    pointwise,
    property_of,
    whole_numbers,
    word,
)
from layoutalg.simulate.values import floats, reductions, vectors
from layoutalg.simulate.values.elements import Element, as_signed, settle

__all__: list[str] = []

_KINDS = tuple(reductions.KINDS)
_WHOLE = vectors.ITEMS


@compiled_by("vector.reduction")
def reduction(op: Operation, compiling: Compiling) -> Step:
    """One vector to one element; sums and products of floats begin with the accumulator, or with 0 and 1."""
    name, kind = word(op, "kind", _KINDS), element_of(op.results[0])
    start = reductions.neutral(name, kind)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        return (reductions.reduce(name, values[0], kind, values[1] if len(values) > 1 else start),)

    return step


@compiled_by("vector.multi_reduction")
def multi_reduction(op: Operation, compiling: Compiling) -> Step:
    """Some dimensions reduced: the accumulator first, then their elements in row-major order."""
    name, kind = word(op, "kind", _KINDS), element_of(op.results[0])
    reduced = tuple(sorted(whole_numbers(op, "reduction_dims")))
    extents = value_shape(op.operands[0].type)
    if any(not 0 <= dimension < len(extents) for dimension in reduced):
        fail(op, f"dimensions {list(reduced)} of {op.operands[0].type}")
    compiling.costs(op, prod(extents))
    last = tuple(range(-len(reduced), 0))

    def compute(value: Array, accumulator: Array) -> Array:
        moved = np.moveaxis(value, [_WHOLE + dimension for dimension in reduced], last) if reduced else value
        shape = moved.shape[: moved.ndim - len(reduced)]
        return reductions.reduce(name, moved.reshape(*shape, -1), kind, accumulator)

    return pointwise(compute)


@compiled_by("vector.outerproduct")
def outer_product(op: Operation, compiling: Compiling) -> Step:
    """Every element of one vector with every element of another, combined with an accumulator where there is one."""
    name, kind = word(op, "kind", _KINDS) if property_of(op, "kind") else "add", element_of(op.results[0])
    scaled = not value_shape(op.operands[1].type)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        left, right, *accumulator = values
        left = left[..., None] if not scaled else left
        right = right[..., None, :] if not scaled else right[..., None]
        if kind.is_float and name == "add" and accumulator:
            return (floats.fused(left, right, accumulator[0], kind),)
        product = _product(left, right, kind)
        return (reductions.combine(name, product, accumulator[0], kind) if accumulator else product,)

    return step


def _product(left: Array, right: Array, kind: Element) -> Array:
    if kind.is_float:
        return floats.quiet(np.multiply, left, right)
    return settle(as_signed(left) * as_signed(right), kind)


@compiled_by("vector.contract")
def contract(op: Operation, compiling: Compiling) -> Step:
    """`vector.contract`: products combined over the loops of kind reduction, one after the other, then with the accumulator."""
    maps = _maps(op)
    loops = max(position for part in maps for position in part) + 1
    kind, name = element_of(op.results[0]), word(op, "kind", _KINDS) if property_of(op, "kind") else "add"
    extents = [1] * loops
    for operand, part in zip(op.operands, maps, strict=False):
        for extent, position in zip(value_shape(operand.type), part, strict=True):
            extents[position] = extent
    summed = [position for position in range(loops) if position not in maps[2]]
    compiling.costs(op, prod(extents))

    def compute(left: Array, right: Array, accumulator: Array) -> Array:
        parts = [_along(value, part, loops) for value, part in ((left, maps[0]), (right, maps[1]))]
        total = reductions.neutral(name, kind)
        for place in np.ndindex(*(extents[position] for position in summed)):
            # One step of the loops that are summed: an axis of 1 stays where the operand doesn't depend on it.
            chosen = [_at(part, summed, place) for part in parts]
            product = _product(_widened(chosen[0], kind), _widened(chosen[1], kind), kind)
            shape = product.shape[:_WHOLE] + tuple(product.shape[_WHOLE + position] for position in maps[2])
            order = [*range(_WHOLE), *(_WHOLE + position for position in maps[2])]
            product = product.transpose(order + [_WHOLE + position for position in summed]).reshape(shape)
            total = product if total is None else reductions.combine(name, total, product, kind)
        return accumulator if total is None else reductions.combine(name, total, accumulator, kind)

    return pointwise(compute)


def _widened(value: Array, kind: Element) -> Array:
    return floats.round_to(value, kind) if kind.is_float else value


def _along(value: Array, part: Sequence[int], loops: int) -> Array:
    """An operand with one axis for every loop, of extent 1 where it doesn't depend on the loop."""
    order = sorted(range(len(part)), key=lambda axis: part[axis])
    moved = value.transpose([*range(_WHOLE), *(_WHOLE + axis for axis in order)])
    extents = dict(zip(sorted(part), moved.shape[_WHOLE:], strict=True))
    return moved.reshape(*value.shape[:_WHOLE], *(extents.get(loop, 1) for loop in range(loops)))


def _at(value: Array, summed: Sequence[int], place: Sequence[int]) -> Array:
    index: list[Any] = [slice(None)] * value.ndim
    for position, number in zip(summed, place, strict=True):
        axis = _WHOLE + position
        index[axis] = slice(number, number + 1) if value.shape[axis] > 1 else slice(None)
    return value[tuple(index)]


def _maps(op: Operation) -> list[tuple[int, ...]]:
    """The loops of each operand's dimensions."""
    written: Any = property_of(op, "indexing_maps")
    maps: tuple[Any, ...] = getattr(written, "data", ())
    if len(maps) != 3:
        fail(op, "three indexing maps are needed")
    found: list[tuple[int, ...]] = []
    for entry in maps:
        results = entry.data.results if isinstance(entry, AffineMapAttr) else ()
        loops = [expression.position for expression in results if isinstance(expression, AffineDimExpr)]
        if len(loops) != len(results):
            fail(op, f"{entry}: each dimension of an operand is one loop")
        found.append(tuple(loops))
    return found


def _neutral(name: str, kind: Element) -> Array:
    """The element that changes nothing, which stands for those that a mask excludes."""
    if kind.is_float:
        numbers = {
            "add": -0.0,
            "mul": 1.0,
            "minimumf": np.inf,
            "maximumf": -np.inf,
            "minnumf": np.nan,
            "maxnumf": np.nan,
        }
        return np.array(numbers[name]).astype(kind.dtype)
    largest = -kind.smallest - 1
    integers = {"mul": 1, "and": -1, "minui": -1, "minsi": largest, "maxsi": kind.smallest}
    return settle(np.array(integers.get(name, 0), np.int64), kind)


_REDUCTIONS = ("vector.reduction", "vector.multi_reduction")


@compiled_by("vector.mask")
def mask(op: Operation, compiling: Compiling) -> Step:
    """One operation on the elements that a mask includes; the others give the value of `passthru`, or have no defined one."""
    block = op.regions[0].block
    inner = [inside for inside in block.ops if inside.name != "vector.yield"]
    if len(inner) != 1:
        fail(op, f"{len(inner)} operations under one mask")
    (masked,) = inner
    compiled = compiling.step(masked)
    numbers = [compiling.slot(operand) for operand in masked.operands]
    reduces = masked.name in _REDUCTIONS
    if not reduces and masked.name.partition(".")[0] not in ("arith", "math"):
        fail(op, f"a masked {masked.name} is not simulated; reductions and operations on each element are")
    name = word(masked, "kind", _KINDS) if reduces else ""
    excluded = _neutral(name, element_of(masked.operands[0])) if reduces else None

    def step(run: Run, values: list[Any]) -> Sequence[Any]:
        operands = [run.slots[number] for number in numbers]
        included = values[0]
        if excluded is not None:
            operands[0] = np.where(included, operands[0], excluded)
            return compiled(run, operands)
        results = compiled(run, operands)
        rest = values[1] if len(values) > 1 else np.zeros((), results[0].dtype)
        return [np.where(included, result, rest) for result in results]

    return step


@compiled_by("vector.scan")
def scan(op: Operation, compiling: Compiling) -> Step:
    """Partial results along a dimension, with or without the element at the place, beginning with `initial_value`."""
    name, kind = word(op, "kind", _KINDS), element_of(op.results[0])
    axis = _WHOLE + int(str(property_of(op, "reduction_dim")).partition(" ")[0])
    inclusive = "true" in str(property_of(op, "inclusive")) or str(property_of(op, "inclusive")).startswith("1")
    count = value_shape(op.operands[0].type)[axis - _WHOLE]

    def step(run: Run, values: list[Any]) -> tuple[Array, Array]:
        source, total = values
        kept: list[Array] = []
        for number in range(count):
            part = np.take(source, number, axis=axis)
            if number == 0:
                # LLVM's lowering gives the first element as it is, and the initial value only where that is left out.
                total = part if inclusive else total
            elif inclusive:
                total = reductions.combine(name, total, part, kind)
            else:
                total = reductions.combine(name, total, np.take(source, number - 1, axis=axis), kind)
            kept.append(np.broadcast_to(total, part.shape))
        return np.stack(kept, axis=axis), total

    return step
