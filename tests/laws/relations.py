"""Relations by brute force, and random layouts: what the laws are tested against and with.

`relation` enumerates the definition of a layout, element by element and digit by digit, in plain Python. It shares no
code with the library: it reads only the public fields.
"""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import strategies as st

from layoutalg.core import Factor, Layout

Point = frozenset[tuple[str, int]]


def point(coordinates: dict[str, int]) -> Point:
    """A point of a space of named coordinates; one that is not named is 0."""
    return frozenset((name, value) for name, value in coordinates.items() if value)


def relation(layout: Layout) -> set[tuple[Point, Point]]:
    pairs: set[tuple[Point, Point]] = set()
    sizes = [prod(f.extent for f in factors) for factors in layout.dims]
    for x in product(*(range(size) for size in sizes)):
        place = dict(layout.offsets)
        for value, factors in zip(x, layout.dims, strict=True):
            rest = value
            for f in reversed(factors):
                digit, rest = rest % f.extent, rest // f.extent
                if f.axis is not None:
                    place[f.axis] = place.get(f.axis, 0) + digit * f.stride
        at = {n: o + v for n, o, v in zip(layout.names, layout.origins, x, strict=True)}
        for digits in product(*(range(f.extent) for f in layout.replicas)):
            copy = dict(place)
            for f, digit in zip(layout.replicas, digits, strict=True):
                copy[f.axis] = copy.get(f.axis, 0) + digit * f.stride
            pairs.add((point(at), point(copy)))
    return pairs


def composed(outer: set[tuple[Point, Point]], inner: set[tuple[Point, Point]]) -> set[tuple[Point, Point]]:
    by_start: dict[Point, list[Point]] = {}
    for y, z in outer:
        by_start.setdefault(y, []).append(z)
    return {(x, z) for x, y in inner for z in by_start.get(y, [])}


@st.composite
def covering_layouts(
    draw: st.DrawFn,
    extents: tuple[int, ...] = (2, 3, 5, 7),
    axes: tuple[str, ...] = ("sg", "lane", "reg"),
    most: int = 420,
    offsets: bool = True,
    rank: int | None = None,
) -> Layout:
    """A layout whose axes count without gaps: digits dealt out to dimensions and axes at random, some to neither side."""
    rank = draw(st.integers(1, 3)) if rank is None else rank
    digits: list[tuple[int, int | None, str | None]] = []
    size = 1
    for _ in range(draw(st.integers(0, 6))):
        extent = draw(st.sampled_from(extents))
        if size * extent > most:
            continue
        size *= extent
        dim = draw(st.sampled_from([*range(rank), *range(rank), None]))
        axis = draw(st.sampled_from(axes if dim is None else [*axes, *axes, None]))
        digits.append((extent, dim, axis))
    factors: list[Factor] = []
    for position in draw(st.permutations(range(len(digits)))):
        extent, _, axis = digits[position]
        place = prod(f.extent for f in factors if f.axis == axis)
        factors.append(Factor(extent, place, axis) if axis else Factor(extent))
        digits[position] = (extent, digits[position][1], str(len(factors) - 1))
    dims: list[list[Factor]] = [[] for _ in range(rank)]
    replicas: list[Factor] = []
    for _, dim, where in digits:
        (replicas if dim is None else dims[dim]).append(factors[int(where or 0)])
    starts = {axis: draw(st.integers(-9, 70)) for axis in axes if offsets and draw(st.booleans())}
    return Layout(dims, replicas, starts)


@st.composite
def strided_layouts(draw: st.DrawFn, axes: tuple[str, ...] = ("sg", "lane"), most: int = 200) -> Layout:
    """A layout with any strides at all: gaps, overlaps, equal strides, extents of 1."""
    size = 1
    dims: list[list[Factor]] = []
    replicas: list[Factor] = []
    for target in [*[dims] * draw(st.integers(1, 2)), replicas]:
        row: list[Factor] = []
        for _ in range(draw(st.integers(0, 3))):
            extent = draw(st.sampled_from((1, 2, 2, 3, 4, 5, 6)))
            if size * extent <= most:
                size *= extent
                axis = draw(st.sampled_from(axes if target is replicas else [*axes, None]))
                row.append(
                    Factor(extent, draw(st.sampled_from((1, 1, 2, 3, 4, 6, 8, 12))), axis) if axis else Factor(extent)
                )
        target.append(row) if target is dims else replicas.extend(row)
    return Layout(dims, replicas, {axes[0]: draw(st.integers(0, 3))})
