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

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.compare.owners import Owner, Places
from layoutalg.core.errors import ConversionError, LayoutError, SizeError
from layoutalg.core.fragments import every_place
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_SLOTS
from layoutalg.core.messages import shown

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
_NEAR = 2**61
_Codes = NDArray[np.int64]
"""Places as numbers, `[elements, places]`, ascending; -1 fills rows with fewer places."""


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
    kinds: NDArray[np.int8]
    first: _Codes
    second: _Codes

    @property
    def counts(self) -> dict[str, int]:
        """How many elements there are of each kind that occurs, in the order of `KINDS`."""
        found = np.bincount(self.kinds, minlength=len(KINDS)).tolist()
        return {kind: count for kind, count in zip(KINDS, found, strict=True) if count}

    def element(self, number: int) -> tuple[int, ...]:
        """The coordinates of an element by its row-major number."""
        at = np.unravel_index(number, self.shape) if self.shape else ()
        return tuple(int(x) + start for x, start in zip(at, self.origins, strict=True))

    def number_of(self, element: Sequence[int]) -> int:
        """The row-major number of an element.

        Raises `LayoutError` for coordinates that no element has.
        """
        at = [x - start for x, start in zip(element, self.origins, strict=False)]
        if len(element) != len(self.shape) or not all(0 <= x < n for x, n in zip(at, self.shape, strict=True)):
            raise LayoutError(f"start {shown(element)}: expected an element of {'x'.join(map(str, self.shape))}")
        return int(np.ravel_multi_index(at, self.shape)) if at else 0

    def places(self, number: int) -> tuple[list[Owner], list[Owner]]:
        """Where an element is in the first and in the second, one coordinate per axis of `axes`, ascending."""
        return self._owners(self.first[number]), self._owners(self.second[number])

    def _owners(self, codes: NDArray[np.int64]) -> list[Owner]:
        kept = codes[codes >= 0]
        at = np.unravel_index(kept, self.sizes)
        return list(zip(*[(one + start).tolist() for one, start in zip(at, self.starts, strict=True)], strict=True))


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
    held = [_held(side, axes) for side in (one, other)]
    every = np.concatenate([places[places[..., 0] > _NOBODY] for places in held])
    starts = every.min(0) if len(every) else np.zeros(len(axes), np.int64)
    sizes = tuple((every.max(0) - starts + 1).tolist()) if len(every) else (1,) * len(axes)
    if prod(sizes) >= 2**62:
        raise SizeError(f"places up to {'x'.join(map(str, sizes))}: over the limit of a picture")
    shape = tuple(max(pair) for pair in zip(*shapes, strict=True))
    if prod(shape) * max(places.shape[1] for places in held) > MOST_SLOTS:
        raise SizeError(f"{prod(shape)} elements with their copies: a difference is drawn of at most 2^20 places")
    first, second = (
        _spread(_codes(places, starts, sizes), own, shape) for places, own in zip(held, shapes, strict=True)
    )
    names = next((side.names for side in (one, other) if isinstance(side, Layout)), None)
    told = tuple(names) if names is not None else tuple(f"d{d}" for d in range(len(shape)))
    return Difference(
        shape, origins[0], told, axes, tuple(starts.tolist()), sizes, _kinds(first, second), first, second
    )


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


def _held(side: Any, axes: tuple[str, ...]) -> NDArray[np.int64]:
    """The places of each element, `[elements, places, axes]`; `_NOBODY` fills the rest."""
    count = prod(side.shape)
    if isinstance(side, Layout):
        if not all(type(n) is int for n in side.shape):
            raise ConversionError(f"{side} is symbolic: a difference is drawn of numbers")
        far = any(reach > _NEAR for reach in (*side.spans().values(), *side.offsets.values()))
        if far or count * prod(int(one.extent) for one in side.replicas) > MOST_SLOTS:
            raise SizeError(f"{side}: over 2^20 places, or over 2^61, the limit of a difference that is drawn")
        found = every_place(side)
        nowhere = np.zeros((count, 1), np.int64)
        return np.stack(np.broadcast_arrays(*[found.get(axis, nowhere) for axis in axes]), -1)
    if not isinstance(side, Places):
        return np.asarray(side, np.int64).reshape(-1, 1, 1)
    if side.rows.dtype == object:
        raise SizeError("places over 2^61, the limit of a difference that is drawn")
    rank = len(side.shape)
    numbers: Any = (
        np.ravel_multi_index(tuple(side.rows[:, :rank].T), side.shape) if rank else np.zeros(len(side.rows), int)
    )
    order = np.argsort(numbers, kind="stable")
    many = np.bincount(numbers, minlength=count)
    if count * int(many.max()) > MOST_SLOTS:
        raise SizeError(
            f"{count} elements with up to {many.max()} copies: a difference is drawn of at most 2^20 places"
        )
    held = np.full((count, max(int(many.max()), 1), len(axes)), _NOBODY, np.int64)
    place = np.arange(len(numbers)) - np.repeat(np.cumsum(many) - many, many)
    wanted = [rank + MACHINE.index(axis) for axis in axes]
    held[numbers[order], place] = side.rows[order][:, wanted]
    return held


def _codes(places: NDArray[np.int64], starts: NDArray[np.int64], sizes: tuple[int, ...]) -> _Codes:
    """Each place as one number; each once, ascending."""
    there = places[..., 0] > _NOBODY
    moved = np.where(there[..., None], places - starts, 0)
    codes = np.where(there, np.ravel_multi_index(tuple(np.moveaxis(moved, -1, 0)), sizes), -1)
    codes.sort(axis=1)
    codes[:, 1:][codes[:, 1:] == codes[:, :-1]] = -1
    codes.sort(axis=1)
    return codes


def _spread(codes: _Codes, own: tuple[int, ...], shape: tuple[int, ...]) -> _Codes:
    """The places of the elements of a larger tensor: nobody has those that the layout lacks."""
    if own == shape:
        return codes
    found = np.full((*shape, codes.shape[1]), -1, np.int64)
    found[tuple(slice(n) for n in own)] = codes.reshape(*own, -1)
    return found.reshape(prod(shape), -1)


def _kinds(first: _Codes, second: _Codes) -> NDArray[np.int8]:
    """What becomes of each element: whether each side's places are all there in the other."""
    inside, covered = _within(first, second), _within(second, first)
    some, others = (first >= 0).any(1), (second >= 0).any(1)
    kinds = np.select(
        [~some & ~others, ~others, ~some, inside & covered, covered, inside], [6, 4, 5, 0, 2, 3], default=1
    )
    return kinds.astype(np.int8)


def _within(some: _Codes, others: _Codes) -> NDArray[np.bool_]:
    """Whether all places of an element in `some` are among those in `others`."""
    numbers: Any = np.arange(len(some), dtype=np.int64)[:, None]
    values, at = np.unique(np.concatenate([some.reshape(-1), others.reshape(-1)]), return_inverse=True)
    keys = [
        (numbers * len(values) + part.reshape(one.shape))
        for part, one in zip(np.split(at, [some.size]), (some, others), strict=True)
    ]
    found: Any = np.isin(keys[0], keys[1]) | (some < 0)
    return found.all(1)
