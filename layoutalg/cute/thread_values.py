"""Threads and values: which column-major index of a tile each register of each thread holds, as factors.

A layout on the machine is taken apart by lane, subgroup and register factors, least significant first; each moves so many
elements in the tile, where column-major means `row + rows * column`. Replicas move none. An 8 x 16 tile with a column per
lane has 16 lanes that move 8 elements apiece, and 8 registers that move one:

>>> tile = Layout.parse("d0 = 8@reg, d1 = 16@lane")
>>> thread_values(tile)
Leaves(lane=[(16, 8)], sg=[], reg=[(8, 1)])
>>> from_thread_values([(16, 8)], [(8, 1)], (8, 16)) == tile
True
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import itemgetter, mul
from typing import NamedTuple, NoReturn, TypeAlias

from layoutalg.core.errors import ConversionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.messages import number_text
from layoutalg.core.work_items import machine_factors

__all__ = ["Leaf", "Leaves", "from_thread_values", "thread_values"]

Leaf: TypeAlias = tuple[int, int]
"""One factor: its extent, and how far it moves."""


class Leaves(NamedTuple):
    """The factors of lanes, subgroups and registers, least significant first."""

    lane: list[Leaf]
    sg: list[Leaf]
    reg: list[Leaf]


def thread_values(layout: Layout) -> Leaves:
    """The factors of a layout on the machine, in elements of the column-major tile.

    Raises `ConversionError` for a factor that is not along sg, lane or reg, and for an axis with a gap or an overlap.
    """
    factors = machine_factors(layout, "a thread-value layout", ("sg", "lane", "reg"))
    columns = [1, *accumulate(layout.shape, mul)]
    lane, sg, reg = (
        [(extent, place * columns[d] if d >= 0 else 0) for _, extent, place, d in factors[axis]]
        for axis in ("lane", "sg", "reg")
    )
    return Leaves(lane, sg, reg)


def from_thread_values(
    threads: Sequence[Leaf], values: Sequence[Leaf], tile: tuple[int, ...], subgroup_size: int | None = None
) -> Layout:
    """The layout of a tile whose threads and values have these factors; a factor that moves nothing is a replica.

    The first `subgroup_size` threads are the lanes of subgroup 0, and so on; unless given, all are.

    Raises `ConversionError` where a factor does not split at a subgroup or at a dimension of the tile, and where an element
    belongs to nobody or to several places.

    >>> print(from_thread_values([(32, 4)], [(4, 1)], (4, 32), subgroup_size=16))
    d0 = 4@reg, d1 = 2@sg 16@lane
    >>> from_thread_values([(6, 1)], [(4, 6)], (4, 6))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: lane factor 6:1 does not split at dimension 0 of the tile [4, 6]
    """
    count = prod([n for n, _ in threads])
    lanes = count if subgroup_size is None else subgroup_size
    if lanes < 1 or count % lanes:
        raise ConversionError(f"{number_text(count)} threads are not a whole number of subgroups of {lanes}")
    places = [1]
    for size in tile:
        places.append(places[-1] * size)
    columns: list[list[tuple[int, Factor]]] = [[] for _ in tile]
    replicas: list[Factor] = []

    def deal_out(extent: int, stride: int, axis: str, step: int) -> None:
        """One factor, cut where it runs from one dimension of the tile into the next."""
        if stride == 0:
            replicas.append(Factor(extent, step, axis))
            return
        while extent > 1:
            d = bisect_right(places, stride) - 1
            place = places[d]
            if d == len(tile) or stride % place:
                what = "reaches outside" if d == len(tile) else "moves along several dimensions of"
                raise ConversionError(f"{axis} factor {extent}:{stride} {what} the tile {list(tile)}")
            part = extent
            if (extent - 1) * stride >= places[d + 1]:
                part, rest = divmod(places[d + 1], stride)
                if rest or extent % part:
                    _refuse_split(f"{axis} factor {extent}:{stride}", f"dimension {d} of the tile {list(tile)}")
            columns[d].append((stride // place, Factor(part, step, axis)))
            extent, stride, step = extent // part, places[d + 1], step * part

    place = 1
    for extent, stride in threads:
        if place >= lanes:
            deal_out(extent, stride, "sg", place // lanes)
        elif place * extent <= lanes:
            deal_out(extent, stride, "lane", place)
        else:
            low, rest = divmod(lanes, place)
            if rest or extent % low:
                _refuse_split(f"thread factor {extent}:{stride}", f"a subgroup of {lanes} threads")
            deal_out(low, stride, "lane", place)
            deal_out(extent // low, stride * low, "sg", 1)
        place *= extent
    place = 1
    for extent, stride in values:
        deal_out(extent, stride, "reg", place)
        place *= extent
    dims = tuple([_dimension(column, d, tile) for d, column in enumerate(columns)])
    return Layout.trusted(dims, tuple(replicas)).canonical()


def _dimension(column: list[tuple[int, Factor]], d: int, tile: tuple[int, ...]) -> tuple[Factor, ...]:
    """The factors of one dimension, major to minor; together they must count its elements, each once."""
    column.sort(key=itemgetter(0))
    place = 1
    for step, factor in column:
        if step != place:
            what = "an element of it belongs to nobody" if step > place else "two places hold one element of it"
            raise ConversionError(f"dimension {d} of the tile {list(tile)} at {factor}: {what}")
        place *= factor.extent
    if place != tile[d]:
        raise ConversionError(f"dimension {d} of the tile {list(tile)}: only {place} of its elements are covered")
    return tuple([factor for _, factor in reversed(column)])


def _refuse_split(factor: str, where: str) -> NoReturn:
    raise ConversionError(f"{factor} does not split at {where}")
