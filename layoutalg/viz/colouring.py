"""What the colours of a picture say: the subgroup and lane of a cell, its lane, its register, or its tile.

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> grid = tensor_grid(Operand("C", Layout.parse("d0 = 2@sg 2@reg, d1 = 2@lane")))
>>> colourings(grid)
('subgroup', 'lane', 'register', 'tile')
>>> found = paint(grid, "subgroup")
>>> found[0], found[2]                               # subgroup 0 is blue, subgroup 1 vermillion
(['#b8d8e9', '#3891c3'], ['#f3d2b8', '#de8138'])
>>> [text for text, _ in legend([grid], "subgroup")]
['subgroup 0', '1', 'pale to strong: lanes 0 to 1']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_SWATCHES
from layoutalg.core.moves import Plane
from layoutalg.viz.colours import HUES, hue_of, ramp, shade
from layoutalg.viz.grid import Grid

__all__ = ["OWN", "Scheme", "colourings", "legend", "paint", "scheme"]

OWN = "own axes"
"""The colouring of grids that share none, such as registers beside memory: each by the first of its own."""

_AXES = {"subgroup": "sg", "lane": "lane", "register": "reg"}
_MIDDLE = 0.6
"""How strong a hue is that stands for all its lanes."""
_ALONE = (-0.2, 1.3)
"""How pale and how strong the lanes of a single subgroup get: its hue has no neighbour."""


def colourings(grid: Grid) -> tuple[str, ...]:
    """What a grid can be coloured by."""
    if grid.of_machine:
        return (*_AXES, "tile")
    return (*grid.axes, *(("tile",) if grid.tile_known else ()))


class Scheme(NamedTuple):
    """How cells get their colours: numbers of a cell make one number below `many`, or one of several hues' `many`.

    `number` takes numbers or arrays of them.
    """

    planes: tuple[Plane, ...]
    number: Callable[..., Any]
    many: int
    colour: Callable[[int], str]


def scheme(grid: Grid, by: str) -> Scheme:
    """The colours of a grid by one of its `colourings`.

    Raises `LayoutError` for another one.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> scheme(tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr"))), "lane")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: colour 'lane': memory can be coloured by addr
    """
    by = colourings(grid)[0] if by == OWN else by
    if by not in colourings(grid):
        raise LayoutError(f"colour {by!r}: {grid.title} can be coloured by {', '.join(colourings(grid))}")
    if by == "subgroup":
        first, many = grid.scale.get("lane", (0, 0))[0], grid.span("lane")
        low, high = (0.0, 1.0) if grid.span("sg") > 1 else _ALONE

        def lane_shade(number: int) -> str:
            hue, lane = divmod(number, many)
            return shade(hue, low + (high - low) * lane / (many - 1) if many > 1 else 0.5)

        def lane_number(group: Any, lane: Any) -> Any:
            return hue_of(group) * many + (lane - first)

        return Scheme((_numbers(grid, "sg"), _numbers(grid, "lane")), lane_number, many, lane_shade)
    if by == "tile":
        sizes = grid.tile

        def tile_number(*element: Any) -> Any:
            count = 0
            for at, size in zip(element, sizes, strict=True):
                count = count * 3 + at // size
            return count % len(HUES)

        return Scheme(tuple(grid.element.values()), tile_number, 1, _middle_shade)
    axis = _axis(grid, by)
    start, end = grid.scale.get(axis, (0, 0))

    def number_from_start(number: Any) -> Any:
        return number - start

    def along_ramp(number: int) -> str:
        return ramp(number / max(end - start, 1))

    return Scheme((_numbers(grid, axis),), number_from_start, end - start + 1, along_ramp)


def _middle_shade(number: int) -> str:
    return shade(hue_of(number), _MIDDLE)


def paint(grid: Grid, by: str) -> list[list[str]]:
    """The colour of every drawn cell, `[drawn row][drawn column]`, by one of the grid's `colourings`.

    Raises `LayoutError` for another one.
    """
    planes, number, _, colour = scheme(grid, by)
    rows = [plane.rows for plane in planes]
    known: dict[tuple[int, ...], str] = {}
    found: list[list[str]] = []
    for i in range(grid.shape[0]):
        cells = [*zip(*(row[i] for row in rows), strict=True)] if rows else [()] * grid.shape[1]
        for cell in {*cells}.difference(known):
            known[cell] = colour(number(*cell))
        found.append([known[cell] for cell in cells])
    return found


def legend(grids: Sequence[Grid], by: str) -> tuple[tuple[str, str | None], ...]:
    """What the colours of some grids of one picture mean: texts, each with its colour or None."""
    if by == OWN:
        names = dict.fromkeys(colourings(grid)[0] for grid in grids)
        alike = [[grid for grid in grids if colourings(grid)[0] == name] for name in names]
        return tuple([entry for some, name in zip(alike, names, strict=True) for entry in legend(some, name)])
    first = grids[0]
    if by == "tile":
        found = dict.fromkeys(
            f"{'instruction tile' if grid.tile_known else 'tile that the lanes span'}: {'x'.join(map(str, grid.tile)) or 1}"
            for grid in grids
        )
        return tuple((text, None) for text in found)
    if by != "subgroup":
        low, high = first.scale.get(_axis(first, by), (0, 0))
        stops = sorted({round(i * (high - low) / (MOST_SWATCHES - 1)) for i in range(MOST_SWATCHES)})
        colours = [ramp(stop / max(high - low, 1)) for stop in stops]
        return tuple(_swatches(by, [low + stop for stop in stops], colours))
    values = sorted({value for grid in grids for value in _numbers(grid, "sg").cells})
    entries = _swatches("subgroup", values, [*map(_middle_shade, values)])
    low, high = first.scale.get("lane", (0, 0))
    if high > low:
        entries.append((f"pale to strong: lanes {low} to {high}", None))
    if first.span("sg") > len(HUES):
        entries.append((f"hues repeat after {len(HUES)}", None))
    return tuple(entries)


def _axis(grid: Grid, by: str) -> str:
    return _AXES.get(by, by) if grid.of_machine else by


def _numbers(grid: Grid, axis: str) -> Plane:
    rows, columns = grid.shape
    start = grid.scale.get(axis, (0, 0))[0]
    return grid.owner.get(axis) or Plane((start,) * rows, (0,) * columns)


def _swatches(name: str, values: list[int], colours: list[str]) -> list[tuple[str, str | None]]:
    """Swatches with their numbers, the first with its name; of many, the first ones, dots, and the last."""
    found: list[tuple[str, str | None]] = [(str(value), colour) for value, colour in zip(values, colours, strict=True)]
    found[0] = (f"{name} {found[0][0]}", found[0][1])
    if len(found) > MOST_SWATCHES:
        found = [*found[: MOST_SWATCHES - 1], ("\N{MIDLINE HORIZONTAL ELLIPSIS}", None), found[-1]]
    return found
