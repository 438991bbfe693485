"""The rows or the columns of a grid, and the runs that they are folded by.

Along a run every number of the picture changes by one step: owner, element, address, and the tile that a cell lies in. The
factors of a dimension are such runs; they are cut where a tile ends. Bits that are XORed do not fold:

>>> tile = Layout.parse("d0 = 8@addr:64, d1 = 64@addr")
>>> side_runs(tile, slice(1, None))
[ExtentRun(extent=64, repeats=False, solid=False)]
>>> swizzled = la.swizzled(tile, la.Swizzle(3, 3, 3))
>>> [(run.extent, run.solid) for run in side_runs(swizzled, slice(1, None))]
[(2, True), (2, True), (2, True), (8, False)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from layoutalg.core.factors import XorFactor
from layoutalg.core.layout import Layout
from layoutalg.viz.folding import Band, ExtentRun

__all__ = ["Side", "side_runs", "span"]


@dataclass(frozen=True, eq=False)
class Side:
    """The rows or columns of a grid: dimensions of the domain, flattened row by row, and the bands drawn."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    origins: tuple[int, ...]
    folded: tuple[Band, ...] | None
    """The bands; None where every index is one."""
    runs: tuple[ExtentRun, ...] = ()
    """What it was folded by."""

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """The rows or columns as they stand beside each other, gaps included."""
        return tuple(map(Band, range(self.size))) if self.folded is None else self.folded

    @cached_property
    def starts(self) -> Sequence[int]:
        """The first index of each drawn band."""
        return range(self.size) if self.folded is None else [band.start for band in self.folded if not band.gap]

    @property
    def drawn(self) -> tuple[Band, ...]:
        """The bands that are drawn: all but the gaps."""
        return tuple(band for band in self.bands if not band.gap)

    def at(self, indices: Sequence[int]) -> list[list[int]]:
        """The coordinates of some indices: a list per dimension.

        >>> Side(("d0", "d1"), (2, 4), (0, 8), ()).at([0, 5])
        [[0, 1], [8, 9]]
        """
        found: list[list[int]] = []
        below = self.size
        for size, origin in zip(self.shape, self.origins, strict=True):
            below //= size
            found.append([index // below % size + origin for index in indices])
        return found

    @cached_property
    def first(self) -> list[list[int]]:
        """The coordinates of each drawn band's first index: a list per dimension."""
        return self.at(self.starts)

    def headers(self) -> list[str]:
        """What stands over each band: its coordinates, those of dimensions that have only one left out.

        >>> from layoutalg.viz.folding import fold
        >>> Side(("sg", "lane"), (2, 2), (0, 0), fold([ExtentRun(4)], 8)).headers()
        ['0/0', '0/1', '1/0', '1/1']
        """
        if not self.shape:
            return [""] * len(self.bands)
        wide = self.wide
        starts, ends = (self.at(i) for i in ([b.start for b in self.bands], [b.start + b.size - 1 for b in self.bands]))
        return [
            str(band) if band.gap else self.sign.join(span(starts[d][i], ends[d][i]) for d in wide)
            for i, band in enumerate(self.bands)
        ]

    @property
    def sign(self) -> str:
        """What stands between the numbers of several dimensions: lane 3 of subgroup 1 is 1/3, as in a cell."""
        return "/" if "sg" in self.names else ","

    @property
    def wide(self) -> list[int]:
        """The dimensions that the numbers name: those that have more than one index, else the last."""
        return [d for d, n in enumerate(self.shape) if n > 1] or [*range(len(self.shape))][-1:]

    @property
    def count(self) -> int:
        """How many bands there are, drawn or left out."""
        last = self.bands[-1]
        return (last.start + last.size) // self.bands[0].size

    @property
    def size(self) -> int:
        """How many indices there are."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of a factor: its extent, where it stands in its dimension, and its stride along an axis."""

    extent: int
    place: int
    stride: int
    axis: str | None
    solid: bool


def side_runs(
    layout: Layout,
    dims: slice,
    *,
    tiles: Mapping[str, int] | None = None,
    repeats: Sequence[str | None] = (),
) -> list[ExtentRun]:
    """The runs of some dimensions of a layout, major to minor.

    `tiles` has the size of a tile, by the name of a dimension or of an axis. Factors along an axis of `repeats` change
    nothing that is drawn.
    """
    found: list[ExtentRun] = []
    form = layout.canonical()
    cuts = dict(tiles or {})
    for d in range(form.rank)[dims]:
        pieces = [
            _Piece(2, 1, 0, None, solid=True)  # what flips places is not folded
            if isinstance(f, XorFactor)
            else _Piece(int(f.extent), 1, int(f.stride), f.axis, solid=False)
            for f in form.dims[d]
        ]
        pieces = _placed(pieces)
        name = form.names[d]
        if name in cuts:
            pieces = _cut(pieces, (cuts[name],), None)
        for axis, size in cuts.items():
            pieces = _cut(pieces, (size,), axis)
        found += [ExtentRun(one.extent, one.axis in repeats and not one.solid, one.solid) for one in pieces]
    return found


def _placed(pieces: Sequence[_Piece]) -> list[_Piece]:
    found: list[_Piece] = []
    place = 1
    for one in reversed(pieces):
        found.append(_Piece(one.extent, place, one.stride, one.axis, one.solid))
        place *= one.extent
    return found[::-1]


def _cut(pieces: Sequence[_Piece], sizes: Sequence[int], axis: str | None) -> list[_Piece]:
    """Cut pieces at some sizes, of indices of the dimension (axis None) or along an axis; solid where they do not divide."""
    for size in sizes:
        found: list[_Piece] = []
        for one in pieces:
            step = one.place if axis is None else one.stride
            if (axis is not None and one.axis != axis) or not step < size < step * one.extent:
                found.append(one)
            elif size % step or one.extent % (size // step):
                found.append(_Piece(one.extent, one.place, one.stride, one.axis, solid=True))
            else:
                inner = size // step
                found += [
                    _Piece(one.extent // inner, one.place * inner, one.stride * inner, one.axis, one.solid),
                    _Piece(inner, one.place, one.stride, one.axis, one.solid),
                ]
        pieces = found
    return [*pieces]


def span(low: int, high: int) -> str:
    """A range of numbers as text.

    >>> span(3, 3), span(0, 15), span(-4, -1)
    ('3', '0-15', '-4..-1')
    """
    if low == high:
        return str(low)
    return f"{low}-{high}" if low >= 0 else f"{low}..{high}"
