"""What callers give: layouts, values of any notation or their texts, sizes and numbers, checked.

Two values that are to speak of one tensor on one machine become two layouts. The first one here uses 8 of 16 lanes, so the
other 8 hold copies:

>>> few = "#xegpu.layout<lane_layout = [8], lane_data = [1]>"
>>> [str(one) for one in distributions((few, "d0 = 8@lane 2@reg"), (16,), la.Machine(lanes=16), "counting accesses")]
['d0 = 2@reg 8@lane | replicas 2@lane:8', 'd0 = 8@lane 2@reg']

(A layout says itself how many lanes it has: nothing is added to it.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from layoutalg.core.agreement import AgreedValue, agree
from layoutalg.core.errors import ConversionError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, as_sizes
from layoutalg.notations import has_value, value_of

__all__ = ["ELEMENT_BITS", "distributions", "element_size"]

ELEMENT_BITS = (8, 16, 32, 64)
"""The sizes of elements that are moved and counted, in bits."""


def element_size(bits: object) -> int:
    """The bits of an element, after a check.

    Raises `ConversionError` for a size that is not 8, 16, 32 or 64.

    >>> element_size(12)
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: element_bits=12: expected 8, 16, 32 or 64
    """
    if type(bits) is not int or bits not in ELEMENT_BITS:
        raise ConversionError(f"element_bits={shown(bits)}: expected 8, 16, 32 or 64")
    return bits


def distributions(
    values: Sequence[Distributed | str],
    shape: Sequence[int] | None,
    machine: Machine | None,
    task: str,
    *,
    symbols: bool = False,
) -> list[Layout]:
    """The layouts of several values for one tensor on one machine; `task` is what an error says they are needed for.

    With `symbols` extents may be symbols.

    Raises `ConversionError` for what is not a layout of numbers, `DistributionError` where no value says the shape.

    >>> distributions(("d0 = M@lane",), None, None, "counting accesses")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: d0 = M@lane has symbols; put numbers for them with substitute() before counting
    accesses
    """
    if machine is not None and not isinstance(machine, Machine):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"machine {shown(machine)}: expected a Machine, such as Machine(lanes=16, subgroups=8)")
    sizes = None if shape is None else _sizes(shape)
    for size in sizes or ():
        if type(size) is not int or not 1 <= size <= MAX_EXTENT:
            raise ConversionError(
                f"a size of {shown(size)} in the shape: expected whole numbers from 1 to {MAX_EXTENT}"
            )
    return [_layout(asked, task, symbols) for asked in agree([_value(value) for value in values], sizes, machine)]


def _sizes(shape: object) -> tuple[object, ...]:
    if isinstance(shape, Iterable):
        try:
            return as_sizes(cast("object", shape))
        except TypeError:  # an array of rank 0 is an Iterable
            pass
    raise ConversionError(f"shape {shown(cast('object', shape))}: expected sizes, such as (32, 64)")


def _value(value: object) -> Distributed:
    if has_value(value):
        return value_of(value)
    example = "Layout.parse('d0 = 16@reg, d1 = 32@lane')"
    raise ConversionError(f"{shown(value)}: expected a Layout such as {example}, a value of a notation, or its text")


def _layout(asked: AgreedValue, task: str, symbols: bool) -> Layout:
    operand = asked.operand
    if operand is None:
        operand = asked.value.operands(asked.shape, asked.machine)[0]  # raises, and says why there is no layout
    layout = operand.layout
    if not symbols and any(
        type(n) is not int for factors in (*layout.dims, layout.replicas) for one in factors for n in one[:2]
    ):
        raise ConversionError(f"{layout} has symbols; put numbers for them with substitute() before {task}")
    return layout
