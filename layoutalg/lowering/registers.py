"""Which register of a work-item has an element: tables of layouts, and renaming of registers between two of them.

Of a 4x2 tile that each of 2 lanes holds half of, row by row, the transposed tile's registers are these:

>>> from layoutalg.core.layout import Layout
>>> tile, turned = Layout.parse("d0 = 4@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 4@reg")
>>> transpose = Layout.parse("d0 = 2@d1, d1 = 4@d0")
>>> positions(tile, turned, transpose)
(0, 1, 2, 3)

Where some work-item lacks an element, or has it in another register than the others have theirs, there is no renaming, and
elements must be exchanged:

>>> positions(tile, Layout.parse("d0 = 4@lane:1, d1 = 2@reg")) is None
True
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.layout import Layout

__all__ = ["Term", "coordinates", "positions", "positions_where", "sizes_of", "sources", "terms"]

Term = tuple[str, int, int, int]
"""(axis, divisor, extent, stride): `(number of the lane or subgroup // divisor) % extent * stride`."""
_CACHED = 1 << 10


@lru_cache(maxsize=_CACHED)
def coordinates(layout: Layout) -> NDArray[np.int64]:
    """The element in each register of each work-item: `[subgroup, lane, register, dimension]`.

    >>> coordinates(Layout.parse("d0 = 2@reg, d1 = 2@lane"))[0, 1].tolist()
    [[0, 1], [1, 1]]
    """
    found = _with_machine(layout).fragment_map().astype(np.int64, copy=False)
    found.flags.writeable = False
    return found


def _with_machine(layout: Layout) -> Layout:
    """The layout with the axes sg, lane and reg, in this order, also where it does not use one."""
    return Layout.of_parts(
        layout.dims, layout.replicas, tuple(layout.offsets.items()), layout.names, layout.origins, ("sg", "lane", "reg")
    )


def sizes_of(layout: Layout) -> tuple[int, ...]:
    """The shape of the tensor, in numbers."""
    return tuple(int(cast("int", extent)) for extent in layout.shape)


@lru_cache(maxsize=_CACHED)
def terms(layout: Layout) -> tuple[dict[str, tuple[Term, ...]], ...]:
    """What the numbers of subgroup and lane add to each coordinate, by axis.

    >>> terms(Layout.parse("d0 = 2@sg:2 4@reg, d1 = 2@sg 16@lane"))[1]
    {'sg': (('sg', 1, 2, 16),), 'lane': (('lane', 1, 16, 1),)}
    """
    inverse = layout.inverse()
    found: tuple[dict[str, tuple[Term, ...]], ...] = tuple({"sg": (), "lane": ()} for _ in layout.dims)
    for axis, factors in zip(inverse.names, inverse.dims, strict=True):
        if axis not in ("sg", "lane"):
            continue
        divisor = 1
        for factor in reversed(factors):
            if factor.axis is not None and factor.extent != 1:
                term = (axis, divisor, cast("int", factor.extent), cast("int", factor.stride))
                own = found[layout.names.index(factor.axis)]
                own[axis] = (*own[axis], term)
            divisor *= cast("int", factor.extent)
    return found


@lru_cache(maxsize=_CACHED)
def sources(result: Layout, relation: Layout | None) -> NDArray[np.int64]:
    """The element of the operand that each register of the result is made of: `[subgroup, lane, register, dimension]`.

    >>> sources(Layout.parse("d0 = 2@lane, d1 = 2@reg"), Layout.parse("d0 = 2@d1, d1 = 2@d0"))[0, 1].tolist()
    [[0, 1], [1, 1]]
    """
    here = coordinates(result)
    if relation is None:
        return here
    # An axis of one element may have a factor and yet not be among the axes.
    factors_of = (*relation.dims, relation.replicas)
    named = {*relation.axes, *relation.offsets, *(one.axis for factors in factors_of for one in factors if one.axis)}
    rank = max([0, *(1 + int(axis[1:]) for axis in named)])
    found = np.zeros((*here.shape[:3], rank), np.int64)
    for axis, start in relation.offsets.items():
        found[..., int(axis[1:])] += start
    for dim, factors in enumerate(relation.dims):
        rest = here[..., dim] - relation.origins[dim]
        divisor = prod(cast("int", factor.extent) for factor in factors)
        for factor in factors:
            divisor //= cast("int", factor.extent)
            if factor.axis is not None:
                found[..., int(factor.axis[1:])] += (
                    rest // divisor % cast("int", factor.extent) * cast("int", factor.stride)
                )
    found.flags.writeable = False
    return found


@lru_cache(maxsize=_CACHED)
def positions(operand: Layout, result: Layout, relation: Layout | None = None) -> tuple[int, ...] | None:
    """For each register of the result the operand's register that has its element, the same in all work-items; else None.

    `relation` has the result's dimensions, and the operand's as axes (see `relations`); without it they are one tensor.

    >>> positions(Layout.parse("d0 = 4@reg, d1 = 2@lane"), Layout.parse("d0 = 2@reg 2@reg:2, d1 = 2@lane"))
    (0, 2, 1, 3)
    """
    have, want = coordinates(operand), sources(result, relation)
    if have.shape[:2] != want.shape[:2]:
        return None
    shape: Any = sizes_of(operand)
    want = want[..., : len(shape)] if want.shape[-1] >= len(shape) else _padded(want, len(shape))
    if (want >= np.array(shape)).any():
        return None
    there, wanted = _numbers(have, shape), _numbers(want, shape)
    order: NDArray[np.int64] = np.argsort(there[0, 0], kind="stable")
    first = there[0, 0][order]
    at = np.asarray(np.searchsorted(first, wanted[0, 0]), np.int64)
    if bool(np.any(at >= len(first))):
        return None
    found = order[at]
    if not np.array_equal(there[:, :, found], wanted):
        return None
    return tuple(found.tolist())


def _padded(coordinates: NDArray[np.int64], rank: int) -> NDArray[np.int64]:
    missing = rank - coordinates.shape[-1]
    return np.concatenate([coordinates, np.zeros((*coordinates.shape[:-1], missing), np.int64)], axis=-1)


def _numbers(coordinates: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Row-major numbers of elements."""
    found = np.zeros(coordinates.shape[:-1], np.int64)
    for dim, extent in enumerate(shape):
        found = found * extent + coordinates[..., dim]
    return found


def positions_where(
    operand: Layout, result: Layout, relation: Layout, mask: NDArray[np.bool_]
) -> tuple[int, ...] | None:
    """As `positions`, for the work-items and registers `[subgroup, lane, register]` of a mask alone; -1 where there are none.

    >>> relation, half = Layout.parse("d0 = 2@d0"), np.array([[[True, False]]])
    >>> positions_where(Layout.parse("d0 = 2@reg"), Layout.parse("d0 = 2@reg"), relation, half)
    (0, -1)
    """
    shape = sizes_of(operand)
    have, want = _numbers(coordinates(operand), shape), sources(result, relation)
    if have.shape[:2] != want.shape[:2]:
        return None
    wanted = _numbers(want[..., : len(shape)], shape)
    items, registers = have.shape[0] * have.shape[1], wanted.shape[2]
    there, needs, where = have.reshape(items, -1), wanted.reshape(items, registers), mask.reshape(items, registers)
    found: list[int] = []
    for register in range(registers):
        chosen = np.flatnonzero(where[:, register])
        if not len(chosen):
            found.append(-1)
            continue
        at = np.flatnonzero((there[chosen] == needs[chosen, register][:, None]).all(axis=0))
        if not len(at):
            return None
        found.append(int(at[0]))
    return tuple(found)
