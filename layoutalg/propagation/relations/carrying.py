"""Carrying a layout across an operation: what its operand must be spread like, or what its result then is.

How an operation's operand and result are related is itself a `Layout`: its dimensions are those of the result, its axes are
those of the operand. A broadcast of 16 elements to 8 rows, a transpose of 16x8, and a sum over the columns of 16x16:

>>> broadcast = Layout.parse("d0 = 8@_, d1 = 16@d0")
>>> transpose = Layout.parse("d0 = 8@d1, d1 = 16@d0")
>>> total = Layout.parse("d0 = 16@d0 | replicas 16@d1")

If the result of the transpose is spread like this, its operand is needed like that, and the other way round:

>>> result = Layout.parse("d0 = 8@reg, d1 = 16@lane")
>>> print(needed(transpose, result))
d0 = 16@lane, d1 = 8@reg
>>> print(given(transpose, needed(transpose, result)))
d0 = 8@reg, d1 = 16@lane

Both are compositions, after which registers are settled. Of several copies in one work-item one is kept, and where a
work-item needs all elements of a digit, they become registers:

>>> print(needed(broadcast, result))
d0 = 16@lane
>>> print(given(broadcast, Layout.parse("d0 = 16@lane")))
d0 = 8@reg, d1 = 16@lane
>>> print(given(total, Layout.parse("d0 = 16@reg, d1 = 16@lane")))
d0 = 16@reg | replicas 16@lane
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from layoutalg.core.algebra import compose
from layoutalg.core.extents import Extent, multiply
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout

__all__ = ["REGISTERS", "given", "needed", "settled", "without"]

REGISTERS = "reg"


def needed(relation: Layout, result: Layout) -> Layout:
    """How the operand must be spread, for every work-item to have what its elements of the result are made of.

    The layout covers the elements that are needed alone: of an operand of which a slice is taken, the slice.

    Raises `CompositionError` where that has no closed form (`layoutalg.core.table` has it written out).

    >>> rows_4_to_7 = Layout.parse("d0 = 4@d0, d1 = 16@d1 | offset 4@d0")
    >>> print(needed(rows_4_to_7, Layout.parse("d0 = 4@reg, d1 = 16@lane")))
    d0 = 4@reg, d1 = 16@lane | origin 4@d0
    """
    return settled(compose(result, relation.inverse()))


def given(relation: Layout, operand: Layout) -> Layout:
    """How the result is spread when every work-item works on what it has of the operand.

    Where several elements make one of the result (a reduction), it is where any of them is.

    Raises `CompositionError` where that has no closed form.

    >>> print(given(Layout.parse("d0 = 8@d0, d1 = 16@d1 2@_"), Layout.parse("d0 = 8@reg, d1 = 16@lane")))
    d0 = 8@reg:2, d1 = 16@lane 2@reg
    """
    return settled(compose(operand, relation))


def settled(layout: Layout) -> Layout:
    """Registers counted without gaps and copies; digits that belong to no axis are registers, in row-major order.

    >>> print(settled(Layout.parse("d0 = 4@reg:8 3@_ | replicas 2@reg:4 2@lane")))
    d0 = 4@reg:3 3@reg | replicas 2@lane
    """
    places = [
        (dim, number, factor)
        for dim, factors in enumerate(layout.dims)
        for number, factor in enumerate(factors)
        if factor.extent != 1 and factor.axis in (REGISTERS, None)
    ]
    # Minor to major. What is new in a register goes where row-major order has it: just above what follows it there.
    order = sorted((place for place in places if place[2].axis is not None), key=_stride)
    for place in reversed(places):
        if place[2].axis is None:
            later = [at for at, other in enumerate(order) if other[:2] > place[:2]]
            order.insert(max(later, default=-1) + 1, place)
    strides: dict[tuple[int, int], Extent] = {}
    size: Extent = 1
    for dim, number, factor in order:
        strides[dim, number] = size
        size = multiply(size, factor.extent)

    def counted(dim: int, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
        return tuple(
            Factor(factor.extent, strides[dim, number], REGISTERS) if (dim, number) in strides else factor
            for number, factor in enumerate(factors)
        )

    return Layout(
        [counted(dim, factors) for dim, factors in enumerate(layout.dims)],
        [factor for factor in layout.replicas if factor.axis != REGISTERS],
        {axis: start for axis, start in layout.offsets.items() if axis != REGISTERS},
        names=layout.names,
        origins=layout.origins,
    )


def without(layout: Layout, axes: Iterable[str]) -> Layout:
    """The layout with these axes forgotten: who holds what, counted on the others alone.

    >>> print(without(Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane | replicas 2@lane:16"), ["reg", "lane"]))
    d0 = 2@sg 8@_, d1 = 16@_
    """
    gone = frozenset(axes)

    def kept(factors: tuple[Factor, ...]) -> list[Factor]:
        return [Factor(factor.extent, 0, None) if factor.axis in gone else factor for factor in factors]

    return Layout(
        [kept(factors) for factors in layout.dims],
        [factor for factor in layout.replicas if factor.axis not in gone],
        {axis: start for axis, start in layout.offsets.items() if axis not in gone},
        names=layout.names,
        origins=layout.origins,
    )


def _stride(place: tuple[int, int, Factor]) -> Any:
    """What registers are sorted by; symbolic strides come after numbers, in the order in which they are written."""
    stride = place[2].stride
    return (0, stride, ()) if isinstance(stride, int) else (1, 0, tuple(-at for at in place[:2]))
