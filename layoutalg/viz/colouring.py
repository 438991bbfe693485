"""What the colours of a picture say: the subgroup and lane of a cell, its lane, its register, or its tile.

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> grid = tensor_grid(Operand("C", Layout.parse("d0 = 2@sg 2@reg, d1 = 2@lane")))
>>> colourings(grid)
('subgroup', 'lane', 'register', 'tile')
>>> found = hexes(paint(grid, "subgroup"))
>>> found[:2], found[4:6]                            # subgroup 0 is blue, subgroup 1 vermillion
(['#afadff', '#4b47ff'], ['#f7b8a4', '#ed6032'])
>>> [text for text, _ in legend([grid], "subgroup")]
['subgroup 0', '1', 'pale to strong: lanes 0 to 1']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_SWATCHES
from layoutalg.viz.colours import HUES, LEGEND, Colours, hexes, hue_of, ramp, shades
from layoutalg.viz.grid import Grid

__all__ = ["OWN", "colourings", "legend", "paint"]

OWN = "own axes"
"""The colouring of grids that share none, such as registers beside memory: each by the first of its own."""

_AXES = {"subgroup": "sg", "lane": "lane", "register": "reg"}
_ALONE = (-0.2, 1.3)
"""How pale and how strong the lanes of a single subgroup get: its hue has no neighbour."""


def colourings(grid: Grid) -> tuple[str, ...]:
    """What a grid can be coloured by."""
    if grid.of_machine:
        return (*_AXES, "tile")
    return (*grid.axes, *(("tile",) if grid.tile_known else ()))


def paint(grid: Grid, by: str) -> Colours:
    """The colour of every drawn cell, `[drawn row, drawn column, 3]`, by one of the grid's `colourings`.

    Raises `LayoutError` for another one.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> paint(tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr"))), "lane")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: colour 'lane': memory can be coloured by addr
    """
    by = colourings(grid)[0] if by == OWN else by
    if by not in colourings(grid):
        raise LayoutError(f"colour {by!r}: {grid.title} can be coloured by {', '.join(colourings(grid))}")
    if by == "subgroup":
        groups, lanes = _numbers(grid, "sg"), _numbers(grid, "lane") - grid.scale.get("lane", (0, 0))[0]
        many = grid.span("lane")
        low, high = (0.0, 1.0) if grid.span("sg") > 1 else _ALONE
        return shades(
            hue_of(groups), low + (high - low) * lanes / (many - 1) if many > 1 else np.full(lanes.shape, 0.5)
        )
    if by == "tile":
        count: Any = np.zeros(grid.shape, np.int64)
        for name, size in zip(grid.element, grid.tile, strict=True):
            count = count * 3 + grid.element[name] // size
        return shades(hue_of(count % len(HUES)), np.full(grid.shape, 0.6))
    axis = _axis(grid, by)
    low, high = grid.scale.get(axis, (0, 0))
    return ramp((_numbers(grid, axis) - low) / max(high - low, 1))


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
        colours = hexes(ramp(np.array(stops) / max(high - low, 1)))
        return tuple(_swatches(by, [low + stop for stop in stops], colours))
    values = sorted({int(value) for grid in grids for value in np.unique(_numbers(grid, "sg"))})
    entries = _swatches("subgroup", values, hexes(shades(hue_of(values), np.full(len(values), LEGEND))))
    low, high = first.scale.get("lane", (0, 0))
    if high > low:
        entries.append((f"pale to strong: lanes {low} to {high}", None))
    if first.span("sg") > len(HUES):
        entries.append((f"hues repeat after {len(HUES)}", None))
    return tuple(entries)


def _axis(grid: Grid, by: str) -> str:
    return _AXES.get(by, by) if grid.of_machine else by


def _numbers(grid: Grid, axis: str) -> NDArray[np.int64]:
    found = grid.owner.get(axis)
    return np.full(grid.shape, grid.scale.get(axis, (0, 0))[0], np.int64) if found is None else found


def _swatches(name: str, values: list[int], colours: list[str]) -> list[tuple[str, str | None]]:
    """Swatches with their numbers, the first with its name; of many, the first ones, dots, and the last."""
    found: list[tuple[str, str | None]] = [(str(value), colour) for value, colour in zip(values, colours, strict=True)]
    found[0] = (f"{name} {found[0][0]}", found[0][1])
    if len(found) > MOST_SWATCHES:
        found = [*found[: MOST_SWATCHES - 1], ("\N{MIDLINE HORIZONTAL ELLIPSIS}", None), found[-1]]
    return found
