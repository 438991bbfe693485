"""The exact layout of a nested layout: its factors of the thread id, dealt out to subgroups and lanes, and its registers.

Everything is a factor of the flat thread id `tid = lane + subgroup_size * subgroup`: subgroup tiles count whole subgroups,
thread tiles may reach from the lanes into them. What no tile uses is idle, and holds copies:

>>> from layoutalg.nested.tiles import NestedTiles
>>> attr = NestedTiles((1,), (2,), (1,), (32,), (1,), (0,), (2,))
>>> print(exact_layout(attr, subgroup_size=16, threads=128))
d0 = 2@reg 4@sg 8@lane:2 | replicas 2@lane 2@sg:4
"""

from __future__ import annotations

from typing import TypeAlias

from layoutalg.core.errors import DistributionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import as_whole
from layoutalg.core.work_items import level_steps
from layoutalg.nested.tiles import NestedTiles

__all__ = ["exact_layout"]

_Used: TypeAlias = tuple[int, int, str, int]
"""A factor of the thread id: its place, its extent, the level and the dimension that use it."""


def exact_layout(attr: NestedTiles, subgroup_size: int, threads: int) -> Layout:
    """The relation from the tensor to subgroups, lanes and registers, in canonical form.

    Raises `DistributionError` where no exact layout exists (see `NestedLayoutAttr.layout`).
    """
    subgroup_size, threads = as_whole(subgroup_size, "subgroup_size"), as_whole(threads, "workgroup_size")
    if threads % subgroup_size:
        raise DistributionError(f"workgroup_size = {threads} is not a multiple of subgroup_size = {subgroup_size}")
    rank = len(attr.batch_tile)
    elements, outers, batches = level_steps(attr.element_tile, attr.outer_tile, attr.batch_tile)
    used: list[_Used] = []
    dims: list[tuple[Factor, ...]] = []
    for d in range(rank):
        row: list[Factor] = []
        n, stride = attr.subgroup_tile[d], attr.subgroup_strides[d]
        if n > 1:
            used.append((stride * subgroup_size, n, "subgroup", d))
            row.append(Factor(n, stride, "sg"))
        if attr.batch_tile[d] > 1:
            row.append(Factor(attr.batch_tile[d], batches[d], "reg"))
        if attr.outer_tile[d] > 1:
            _append(row, attr.outer_tile[d], outers[d], "reg")
        n, stride = attr.thread_tile[d], attr.thread_strides[d]
        if n > 1:
            used.append((stride, n, "thread", d))
            if n * stride <= subgroup_size:
                row.append(Factor(n, stride, "lane"))
            else:
                for extent, place, axis in _split(attr, n, stride, subgroup_size):
                    _append(row, extent, place, axis)
        if attr.element_tile[d] > 1:
            _append(row, attr.element_tile[d], elements[d], "reg")
        dims.append(tuple(row))
    idle = [
        Factor(extent, place, axis)
        for n, stride in _idle_factors(attr, used, threads)
        for extent, place, axis in _split(attr, n, stride, subgroup_size)
    ]
    if len(idle) > 1:
        idle.sort(key=lambda factor: (str(factor.axis), -factor.stride))
    return Layout.trusted(tuple(dims), tuple(idle), merged=True)


def _append(row: list[Factor], extent: int, stride: int, axis: str) -> None:
    """Add a factor at the minor end, merged with the one before where both count as one."""
    if row:
        above, step, along = row[-1]
        if along == axis and step == extent * stride:
            row[-1] = Factor(above * extent, stride, axis)
            return
    row.append(Factor(extent, stride, axis))


def _split(attr: NestedTiles, n: int, stride: int, size: int) -> tuple[tuple[int, int, str], ...]:
    """A factor of the thread id as factors of the subgroup and of the lane, major to minor."""
    if n * stride <= size:
        return ((n, stride, "lane"),)
    if stride >= size:
        whole, rest = divmod(stride, size)
        if not rest:
            return ((n, whole, "sg"),)
    else:
        within, rest = divmod(size, stride)
        if not rest and n % within == 0:
            return ((n // within, 1, "sg"), (within, stride, "lane"))
    raise _none(attr, f"its thread factors do not split at a subgroup of {size}")


def _idle_factors(attr: NestedTiles, used: list[_Used], threads: int) -> list[tuple[int, int]]:
    """The factors (extent, place) of the thread id that no tile uses; the used ones, by rising place, must nest."""
    idle: list[tuple[int, int]] = []
    end = 1
    used.sort()
    for place, n, level, d in used:
        if not place:
            raise _none(attr, f"{level}_tile[{d}] = {n} with stride 0: only its first tile belongs to anybody")
        if place % end:
            raise _none(
                attr,
                f"{level}_tile[{d}]: its stride {place} is not a multiple of the {end} threads of the factors below it",
            )
        if place > end:
            idle.append((place // end, end))
        end = place * n
        if end > threads:
            raise _none(
                attr,
                f"{level}_tile[{d}] reaches {end} threads, and there are {threads}: its last tiles belong to nobody",
            )
    if threads % end:
        raise _none(attr, f"{threads} threads are not a multiple of the {end} that its tiles use")
    if threads > end:
        idle.append((threads // end, end))
    return idle


def _none(attr: NestedTiles, problem: str) -> DistributionError:
    return DistributionError(f"no exact layout: {problem} (in {attr})")
