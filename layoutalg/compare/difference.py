"""The difference of two layouts, element by element: the same places, other places, more or fewer copies, nobody.

Four elements in four lanes, and in two lanes of two registers: elements 1, 2 and 3 move.

>>> found = difference_of(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 2@lane 2@reg"))
>>> found.counts
{'same': 1, 'moved': 3}
>>> [found.places(number) for number in range(2)]
[([(0, 0)], [(0, 0)]), ([(1, 0)], [(0, 1)])]

`SAME.picture()` draws it (compare.picture): a window of cells around the first element that moves, and a map of the whole.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from math import prod
from typing import Any, TypeAlias

from layoutalg.compare.owners import Owner, Places, copies_of
from layoutalg.core.errors import ConversionError, LayoutError, SizeError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_SLOTS
from layoutalg.core.messages import shown
from layoutalg.core.xor.lowest import flipped_copies
from layoutalg.viz.grid import owner_planes

__all__ = ["KINDS", "Difference", "difference_of"]

KINDS: tuple[str, ...] = (
    "same",
    "moved",
    "fewer copies",
    "more copies",
    "only in the first",
    "only in the second",
    "in neither",
)
"""What becomes of an element, seen from the first layout."""

_NOBODY = -1
_Column: TypeAlias = "array[int]"
"""For each element, in row-major order, the number of one of its places; `_NOBODY` where it has none."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The places of the elements: those of every column, each moved by each of `copies`."""

    columns: tuple[_Column, ...]
    copies: tuple[int, ...] = (0,)

    def places(self, at: Sequence[int]) -> frozenset[int]:
        """The places of an element with these numbers in the columns."""
        return frozenset(place + copy for place in at if place != _NOBODY for copy in self.copies)


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What becomes of every element of the smallest tensor that has both layouts' elements.

    `kinds` has the number in `KINDS` of each element, row-major; `sizes` the extent along each of `axes`.
    """

    shape: tuple[int, ...]
    origins: tuple[int, ...]
    names: tuple[str, ...]
    axes: tuple[str, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    kinds: bytes
    first: _Held
    second: _Held

    @property
    def counts(self) -> dict[str, int]:
        """How many elements there are of each kind that occurs, in the order of `KINDS`."""
        return {kind: count for number, kind in enumerate(KINDS) if (count := self.kinds.count(number))}

    def element(self, number: int) -> tuple[int, ...]:
        """The coordinates of an element by its row-major number."""
        return _place(number, self.shape, self.origins)

    def number_of(self, element: Sequence[int]) -> int:
        """The row-major number of an element.

        Raises `LayoutError` for coordinates that no element has.
        """
        at = [x - start for x, start in zip(element, self.origins, strict=False)]
        if len(element) != len(self.shape) or not all(0 <= x < n for x, n in zip(at, self.shape, strict=True)):
            raise LayoutError(f"start {shown(element)}: expected an element of {'x'.join(map(str, self.shape))}")
        return _number(at, self.shape)

    def places(self, number: int) -> tuple[list[Owner], list[Owner]]:
        """Where an element is in the first and in the second, one coordinate per axis of `axes`, ascending."""
        first, second = (
            [
                _place(code, self.sizes, self.starts)
                for code in sorted(side.places([one[number] for one in side.columns]))
            ]
            for side in (self.first, self.second)
        )
        return first, second


def difference_of(one: Any, other: Any) -> Difference:
    """The difference of two layouts, of relations written out (`Places`), or of tables of addresses.

    Raises `ConversionError` where the ranks differ or a size is a symbol, `SizeError` above 2^20 places on a side.
    """
    shapes = [tuple(side.shape) for side in (one, other)]
    if len(shapes[0]) != len(shapes[1]):
        raise ConversionError(f"shapes {list(shapes[0])} and {list(shapes[1])}: a difference is drawn of equal ranks")
    axes = _axes(one, other)
    origins = [side.origins if isinstance(side, Layout) else (0,) * len(side.shape) for side in (one, other)]
    if origins[0] != origins[1]:
        raise ConversionError(
            f"elements from {origins[0]} and from {origins[1]}: a difference is drawn of equal starts"
        )
    shape = tuple(max(pair) for pair in zip(*shapes, strict=True))
    if prod(shape) * max(map(_copies, (one, other))) > MOST_SLOTS:
        raise SizeError(f"{prod(shape)} elements with their copies: a difference is drawn of at most 2^20 places")
    ends = [_ends(side, axes) for side in (one, other)]
    starts = tuple(min(pair) for pair in zip(*(low for low, _ in ends), strict=True))
    sizes = tuple(max(pair) - low for low, *pair in zip(starts, *(high for _, high in ends), strict=True))
    if prod(sizes) >= 2**62:
        raise SizeError(f"places up to {'x'.join(map(str, sizes))}: over the limit of a picture")
    first, second = (_held(side, axes, starts, sizes, shape) for side in (one, other))
    names = next((side.names for side in (one, other) if isinstance(side, Layout)), None)
    told = tuple(names) if names is not None else tuple(f"d{d}" for d in range(len(shape)))
    return Difference(shape, origins[0], told, axes, starts, sizes, _kinds(first, second), first, second)


def _axes(one: Any, other: Any) -> tuple[str, ...]:
    """The axes that either side has places on; that of a table of addresses is the other side's, or `addr`."""
    used: set[str] = set()
    for side in (one, other):
        used |= (
            {*side.axes, *side.offsets}
            if isinstance(side, Layout)
            else set(MACHINE)
            if isinstance(side, Places)
            else set()
        )
    if not used:
        used = {"reg"} if isinstance(one, Layout) else {"addr"}
    return tuple([axis for axis in MACHINE if axis in used] + sorted(used.difference(MACHINE)))


def _copies(side: Any) -> int:
    """How many places an element has, at the most."""
    if isinstance(side, Layout):
        if not all(type(n) is int for n in (*side.shape, *side.spans().values())):
            raise ConversionError(f"{side} is symbolic: a difference is drawn of numbers")
        return prod(one.extent for one in side.replicas)
    if not isinstance(side, Places):
        return 1
    elements: list[list[int]] = side.rows[:, : len(side.shape)].tolist()
    return max(Counter(map(tuple, elements)).values(), default=1)


def _ends(side: Any, axes: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """The lowest place along each axis, and the end of the places."""
    if isinstance(side, Layout):
        spans: dict[str, Any] = side.spans()
        low = [side.offsets.get(axis, 0) for axis in axes]
        return low, [start + spans.get(axis, 1) for start, axis in zip(low, axes, strict=True)]
    if not isinstance(side, Places):
        return [int(side.min())], [int(side.max()) + 1]
    if not len(side.rows):
        return [0] * len(axes), [1] * len(axes)
    columns = [side.rows[:, len(side.shape) + MACHINE.index(axis)] for axis in axes]
    return [int(one.min()) for one in columns], [int(one.max()) + 1 for one in columns]


def _held(
    side: Any, axes: tuple[str, ...], starts: tuple[int, ...], sizes: tuple[int, ...], shape: tuple[int, ...]
) -> _Held:
    """The places of each element of `shape`, numbered: nobody has those that the side lacks."""
    own: tuple[int, ...] = tuple(side.shape)
    if isinstance(side, Layout):
        weights = [prod(sizes[i + 1 :]) for i in range(len(axes))]
        forms = [side] if side.flips is None else flipped_copies(side)
        columns = [_column(form, axes, starts, weights) for form in forms]
        copies = {
            sum(x * weight for x, weight in zip(copy, weights, strict=True)) for copy in copies_of(forms[0], axes)
        }
        return _Held(tuple(_spread(one, own, shape) for one in columns), tuple(copies))
    if not isinstance(side, Places):
        return _Held((_spread(array("q", [x - starts[0] for x in side.reshape(-1).tolist()]), own, shape),))
    held: list[list[int]] = [[] for _ in range(prod(own))]
    wanted = [len(own) + MACHINE.index(axis) for axis in axes]
    for row in side.rows.tolist():
        held[_number(row[: len(own)], own)].append(
            _number([row[i] - start for i, start in zip(wanted, starts, strict=True)], sizes)
        )
    columns = [*zip_longest(*held, fillvalue=_NOBODY)] or [(_NOBODY,) * len(held)]
    return _Held(tuple(_spread(array("q", one), own, shape) for one in columns))


def _column(layout: Layout, axes: Sequence[str], starts: Sequence[int], weights: Sequence[int]) -> _Column:
    """The lowest place of each element, numbered."""
    split = max(layout.rank - 1, 0)
    ranges: list[Any] = [range(origin, origin + n) for origin, n in zip(layout.origins, layout.shape, strict=True)]
    down = [*zip(*product(*ranges[:split]), strict=True)]
    planes = owner_planes(layout, down, ranges[split:])
    found = array("q", [0]) * prod(map(len, ranges))
    for axis, start, weight in zip(axes, starts, weights, strict=True):
        if axis in planes:
            found = array("q", [x + (at - start) * weight for x, at in zip(found, planes[axis].cells, strict=True)])
        elif start:
            found = array("q", [x - start * weight for x in found])
    return found


def _spread(column: _Column, own: tuple[int, ...], shape: tuple[int, ...]) -> _Column:
    """A column of the elements of a larger tensor."""
    if own == shape:
        return column
    found = array("q", [_NOBODY]) * prod(shape)
    for row, at in enumerate(product(*map(range, own[:-1]))):
        begin = _number((*at, 0), shape)
        found[begin : begin + own[-1]] = column[row * own[-1] : (row + 1) * own[-1]]
    return found


def _kinds(first: _Held, second: _Held) -> bytes:
    """What becomes of each element. Elements whose places lie alike, from the first of them on, are of one kind."""
    split = len(first.columns)
    known: dict[tuple[bool, tuple[int, ...]], int] = {}
    found = bytearray()
    for at in zip(*first.columns, *second.columns, strict=True):
        gaps = _NOBODY in at
        key = gaps, at if gaps else tuple([place - at[0] for place in at])
        kind = known.get(key)
        if kind is None:
            kind = known[key] = _kind(first.places(at[:split]), second.places(at[split:]))
        found.append(kind)
    return bytes(found)


def _kind(first: frozenset[int], second: frozenset[int]) -> int:
    """The number in `KINDS` of an element that has these places in each."""
    if not first or not second:
        return 4 if first else 5 if second else 6
    return 0 if first == second else 2 if second < first else 3 if first < second else 1


def _number(at: Sequence[int], sizes: Sequence[int]) -> int:
    """The row-major number of a place that counts from 0."""
    found = 0
    for x, size in zip(at, sizes, strict=True):
        found = found * size + x
    return found


def _place(number: int, sizes: Sequence[int], starts: Sequence[int]) -> tuple[int, ...]:
    """The place with a row-major number."""
    found: list[int] = []
    for size, start in zip(reversed(sizes), reversed(starts), strict=True):
        number, x = divmod(number, size)
        found.append(x + start)
    return tuple(reversed(found))
