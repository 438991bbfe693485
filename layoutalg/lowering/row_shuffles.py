"""`vector.shuffle` of spread values: rows of two operands, chosen by number.

Rows are slices of the first dimension. Where a work-item holds the rows that its result needs, registers get other names:

>>> four = Layout.parse("d0 = 4@reg, d1 = 16@lane")
>>> rows_taken((0, 4, 1, 5), Layout.parse("d0 = 4@reg, d1 = 16@lane"), 4, four, 0)[0, 0].tolist()
[0, -1, 1, -1]

Otherwise the operand is exchanged first, so that whoever needs one of its rows has all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import relation_of, settled
from layoutalg.lowering.assembling import assembled, over
from layoutalg.lowering.fragments import Fragment, picked
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.registers import coordinates, sizes_of
from layoutalg.lowering.rules import Kernel, lowers, registers_of

__all__ = ["rows_taken"]

_MOST_REGISTERS = 512
"""More registers of all rows than these are refused."""


@lowers("vector.shuffle")
def shuffle(op: Any, kernel: Kernel) -> None:
    """Two operands taken in turns are assembled as an interleave is; other rows are looked up."""
    result = op.results[0]
    relation = relation_of(op)
    if not kernel.is_spread(result) or not all(kernel.is_spread(value) for value in op.operands):
        refuse(op, "operation", f"takes {op.operands[0].type} to {result.type}, which is not lowered")
    if relation is not None and any(tie.covered is not None for tie in relation.ties):
        assembled(op, kernel)
        return
    mask = tuple(int(entry) for entry in op.mask.get_values())
    layout = kernel.layout(op, result)
    rows = sizes_of(kernel.fragment(op.operands[0]).layout)[0]
    values: list[Value | None] = [None] * registers_of(layout)
    for number in (0, 1):
        of_this = [entry >= 0 and int(entry >= rows) == number for entry in mask]
        if not any(of_this):
            continue
        where = np.array(of_this)[coordinates(layout)[..., 0]]
        for register, value in enumerate(_taken(op, number, mask, rows, layout, kernel)):
            values[register] = over(kernel, values[register], value, where[:, :, register])
    known = next((value for value in values if value is not None), None)
    if known is None:
        refuse(op, "poison", "has no entry but -1: its value is not defined")
    whole = [known if value is None else value for value in values]  # an entry of -1 may be anything
    kernel.give(result, layout, picked(kernel.writer, whole, range(len(whole)), kernel.sizes(result, layout)))


def rows_taken(mask: tuple[int, ...], result: Layout, rows: int, operand: Layout, number: int) -> NDArray[np.int64]:
    """The operand's register for each of the result: -1 where it gives none, -2 where it lacks it.

    As `[subgroup, lane, register]`. `rows` are those of the first operand, `number` which operand is meant.
    """
    here, there = coordinates(result), coordinates(operand)
    entries = np.array(mask, np.int64)[here[..., 0]]
    mine = (entries >= 0) & ((entries >= rows) == bool(number))
    shape = sizes_of(operand)
    wanted = np.concatenate([(entries - (rows if number else 0))[..., None], here[..., 1:]], axis=-1)
    weights = np.cumprod((1, *shape[:0:-1]))[::-1]
    needs, has = (wanted * weights).sum(axis=-1), (there * weights).sum(axis=-1)
    found = np.where(mine, -2, -1)
    for register in range(has.shape[2]):
        found[mine & (needs == has[:, :, register : register + 1])] = register
    return found


def _taken(
    op: Any, number: int, mask: tuple[int, ...], rows: int, layout: Layout, kernel: Kernel
) -> list[Value | None]:
    """The operand's value for each register of the result, None where it gives none."""
    fragment = kernel.fragment(op.operands[number])
    found = _in_one_place(rows_taken(mask, layout, rows, fragment.layout, number))
    if found is None:
        size = sizes_of(fragment.layout)[0]
        copies = [factor for factor in layout.dims[0] if factor.axis in ("sg", "lane")]
        whole = settled(Layout([[Factor(size, 0, None)], *layout.dims[1:]], [*layout.replicas, *copies]))
        if registers_of(whole) > _MOST_REGISTERS:
            refuse(
                op, "part", f"takes rows that other lanes have; {registers_of(whole)} registers would hold all of them"
            )
        fragment = Fragment(whole, tuple(kernel.moved(op, fragment, whole, number=number)))
        table = rows_taken(mask, layout, rows, whole, number)
        found = _in_one_place(table)
        if found is None:
            return _selected(table, fragment, kernel)
    used = [place for place in found if place >= 0]
    values = iter(picked(kernel.writer, fragment.pieces, used, (1,) * len(used)))
    return [next(values) if place >= 0 else None for place in found]


def _in_one_place(table: NDArray[np.int64]) -> list[int] | None:
    """The operand's register for each of the result, where it is the same for all that need it."""
    found: list[int] = []
    for register in range(table.shape[2]):
        places = {int(place) for place in np.unique(table[:, :, register])} - {-1}
        if len(places) > 1 or -2 in places:
            return None
        found.append(places.pop() if places else -1)
    return found


def _selected(table: NDArray[np.int64], fragment: Fragment, kernel: Kernel) -> list[Value | None]:
    """Each register of the result, chosen among those of the operand by the work-item's number."""
    elements = picked(kernel.writer, fragment.pieces, range(fragment.count), (1,) * fragment.count)
    values: list[Value | None] = []
    for register in range(table.shape[2]):
        value: Value | None = None
        here = table[:, :, register]
        for place in sorted({int(one) for one in np.unique(here)} - {-1}):
            value = over(kernel, value, elements[place], here == place)
        values.append(value)
    return values
