"""Operations whose result is made of several operands: of inserts, interleaves and the like, each gives some elements.

Rows 4 to 7 of 16 are inserted into a tensor whose rows are registers: registers 4 to 7 are the first operand's, the others the
second's, and nothing is computed. Where the rows are lanes, a work-item has a register of each operand, and selects by its
number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import CompositionError
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import Tie, needed, relation_of
from layoutalg.lowering.block_descriptors import mixed
from layoutalg.lowering.fragments import Fragment, picked
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.registers import coordinates, positions_where, sizes_of
from layoutalg.lowering.rules import Kernel, lowers, registers_of

__all__ = ["assembled", "covered_by", "over"]

_Mask = NDArray[np.bool_]
"""Of each register of each work-item: `[subgroup, lane, register]`."""


@lru_cache(maxsize=1 << 8)
def covered_by(result: Layout, relation: Layout) -> _Mask:
    """Which elements of a result a relation says something about: those of its dimensions, from their origins on.

    >>> part = Layout.parse("d0 = 2@d0 | origin 1@d0")
    >>> covered_by(Layout.parse("d0 = 4@reg"), part)[0, 0].tolist()
    [False, True, True, False]
    """
    here = coordinates(result)
    start, size = np.array(relation.origins), np.array(sizes_of(relation))
    inside: _Mask = np.all((here >= start) & (here < start + size), axis=-1)
    return inside


@lru_cache(maxsize=1 << 8)
def _listed_in(result: Layout, part: Layout) -> _Mask:
    """Which elements of a result are an image of `part`, whose axes are the result's dimensions."""
    shape = sizes_of(result)
    inside = np.zeros(shape, np.bool_)
    found = np.indices(sizes_of(part)).reshape(len(part.dims), -1) if part.dims else np.zeros((0, 1), np.int64)
    places = np.zeros((len(shape), found.shape[1]), np.int64)
    for axis, start in part.offsets.items():
        places[int(axis[1:])] += start
    for dim, factors in enumerate(part.dims):
        divisor = sizes_of(part)[dim]
        for factor in factors:
            divisor //= int(factor.extent)
            if factor.axis is not None:
                places[int(factor.axis[1:])] += found[dim] // divisor % int(factor.extent) * int(factor.stride)
    inside[tuple(places)] = True
    here = coordinates(result)
    return inside[tuple(here[..., dim] for dim in range(len(shape)))]


@lowers("vector.insert_strided_slice", "vector.insert", "vector.interleave")
def assembled(op: Any, kernel: Kernel) -> None:
    """Each operand gives its part; where a register is of several operands, the work-item's number selects.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.lowering.rules import bare_kernel
    >>> assembled(read_module('%b = "test.op"() : () -> f32').body.block.first_op, bare_kernel())
    Traceback (most recent call last):
    layoutalg.lowering.kernels.Refused: text:1:6: error: 'test.op' op has no known relation between its operands and its result
    [layoutalg: lower.operation]
    """
    result = op.results[0]
    relation = relation_of(op)
    if relation is None or not kernel.is_spread(result):
        refuse(op, "operation", "has no known relation between its operands and its result")
    layout = kernel.layout(op, result)
    count = registers_of(layout)
    values: list[Value | None] = [None] * count
    for tie in sorted(relation.ties, key=lambda one: -one.number):  # the destination first, then what goes over it
        mask = covered_by(layout, tie.relation)
        if tie.covered is not None:
            mask = mask & ~_listed_in(layout, tie.covered)
        for register, value in enumerate(_part(op, tie, layout, mask, kernel)):
            values[register] = over(kernel, values[register], value, mask[:, :, register])
    if op.name == "vector.insert" and not kernel.is_spread(op.operands[0]):
        _insert_element(op, layout, values, kernel)
    whole = [value for value in values if value is not None]
    if len(whole) != count:
        refuse(op, "part", "has elements that come from no operand that is spread")
    kernel.give(result, layout, picked(kernel.writer, whole, range(count), kernel.sizes(result, layout)))


def _part(op: Any, tie: Tie, layout: Layout, mask: _Mask, kernel: Kernel) -> list[Value | None]:
    """The operand's register for each of the result where it gives one."""
    operand: SSAValue = tie.operand
    if not kernel.is_spread(operand):
        value = kernel.scalar(operand)
        return [value if mask[:, :, register].any() else None for register in range(mask.shape[2])]
    fragment = kernel.fragment(operand)
    found = positions_where(fragment.layout, layout, tie.relation, mask)
    if found is None:
        try:
            wanted = needed(tie.relation, layout)
        except CompositionError as problem:
            refuse(op, "relation", f"operand {tie.number} in {fragment.layout}: {problem}")
        if sizes_of(wanted) != sizes_of(fragment.layout) or any(wanted.origins) or any(wanted.offsets.values()):
            refuse(
                op,
                "part",
                f"has elements of operand {tie.number} in other work-items than hold them, which is not lowered for a part",
                f"operand {tie.number} is held as {fragment.layout}",
                f"the result as {layout}",
            )
        fragment = Fragment(wanted, tuple(kernel.moved(op, fragment, wanted, number=tie.number)))
        found = positions_where(wanted, layout, tie.relation, mask)
    if found is None:
        refuse(op, "relation", f"operand {tie.number} in {fragment.layout} does not give {layout}")
    used = [place for place in found if place >= 0]
    values = iter(picked(kernel.writer, fragment.pieces, used, (1,) * len(used)))
    return [next(values) if place >= 0 else None for place in found]


def _insert_element(op: Any, layout: Layout, values: list[Value | None], kernel: Kernel) -> None:
    """Put a number into the register of whoever has its place; the place may be known only when the program runs."""
    number = kernel.scalar(op.operands[0])
    places = mixed(op.static_position, [kernel.number(value) for value in op.operands[2:]])
    if all(isinstance(place, int) for place in places):
        mask: _Mask = np.all(coordinates(layout) == np.array(places, np.int64), axis=-1)
        for register in range(mask.shape[2]):
            if mask[:, :, register].any():
                values[register] = over(kernel, values[register], number, mask[:, :, register])
        return
    for register, own in enumerate(kernel.places(layout)):
        here: Value | None = None
        for coordinate, place in zip(own, places, strict=True):
            same = kernel.compared("eq", kernel.indices.index(coordinate), kernel.indices.index(place))
            here = same if here is None else kernel.both(here, same)
        below = values[register]
        values[register] = number if here is None or below is None else kernel.indices.selected(here, number, below)


def over(kernel: Kernel, below: Value | None, value: Value | None, mask: NDArray[np.bool_]) -> Value | None:
    """The register `below`, with `value` instead in the work-items of the mask."""
    if value is None or below is None or bool(mask.all()):
        return below if value is None else value
    masks = [sum(1 << lane for lane in np.flatnonzero(row).tolist()) for row in mask]
    if len(masks) == 1:
        masks *= kernel.subgroups
    where = kernel.indices.active(tuple(masks))
    return value if where is None else kernel.indices.selected(where, value, below)
