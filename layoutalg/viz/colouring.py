"""What the colours of a picture say: the subgroup and lane of a cell, its lane, its register, or its tile.

>>> from layoutalg.core import Layout
>>> from layoutalg.core.drawing import Part
>>> from layoutalg.viz.grid import tensor_grid
>>> grid = tensor_grid(Part("C", Layout.parse("d0 = 2@sg 2@reg, d1 = 2@lane")))
>>> colourings(grid)
('subgroup', 'lane', 'register', 'tile')
>>> found = paint(grid, "subgroup")
>>> hexes(found.colours)[:2], hexes(found.colours)[4:6]          # subgroup 0 is blue, subgroup 1 red
(['#b8d8e9', '#3891c3'], ['#f3d2b8', '#de8138'])
>>> [text for text, _ in found.legend]
['subgroup 0', '1', 'pale to strong: lanes 0 to 1']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.viz.colours import HUES, hexes, hue_of, ramp, shades
from layoutalg.viz.grid import Grid

__all__ = ["Paint", "colourings", "paint"]

_AXES = {"subgroup": "sg", "lane": "lane", "register": "reg"}
_MOST_SWATCHES = 8
_ALONE = (-0.2, 1.3)
"""How pale and how strong the lanes of a single subgroup get: its hue has no neighbour to be told from."""


@dataclass(frozen=True, slots=True, eq=False)
class Paint:
    """The colour of every drawn cell, `[drawn row, drawn column, 3]`, and the legend: texts, each with its colour or None.

    >>> Paint(np.zeros((1, 1, 3), np.uint8), ()).legend
    ()
    """

    colours: NDArray[np.uint8]
    legend: tuple[tuple[str, str | None], ...]


def colourings(grid: Grid) -> tuple[str, ...]:
    """What a grid can be coloured by.

    >>> from layoutalg.core import Layout
    >>> from layoutalg.core.drawing import Part
    >>> from layoutalg.viz.grid import tensor_grid
    >>> colourings(tensor_grid(Part("memory", Layout.parse("d0 = 8@row, d1 = 4@col"))))
    ('col', 'row')
    """
    if grid.of_machine:
        return (*_AXES, "tile")
    return (*grid.axes, *(("tile",) if grid.tile_known else ()))


def paint(grid: Grid, by: str) -> Paint:
    """The colours of a grid by one of its `colourings`.

    Raises `LayoutError` for another one.

    >>> from layoutalg.core import Layout
    >>> from layoutalg.core.drawing import Part
    >>> from layoutalg.viz.grid import tensor_grid
    >>> paint(tensor_grid(Part("memory", Layout.parse("d0 = 8@addr"))), "lane")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: colour 'lane': memory can be coloured by addr
    """
    if by not in colourings(grid):
        raise LayoutError(f"colour {by!r}: {grid.title} can be coloured by {', '.join(colourings(grid))}")
    if by == "subgroup":
        return _by_subgroup(grid)
    if by == "tile":
        return _by_tile(grid)
    axis = _AXES.get(by, by) if grid.of_machine else by
    last = grid.spans.get(axis, 1) - 1
    values = _fact(grid, axis)
    low = min(grid.starts.get(axis, 0), int(values.min(initial=0)))
    stops = sorted({round(i * last / (_MOST_SWATCHES - 1)) for i in range(_MOST_SWATCHES)})
    legend = _texts(by, [low + stop for stop in stops], hexes(ramp(np.array(stops) / max(last, 1))))
    return Paint(ramp(np.clip((values - low) / max(last, 1), 0, 1)), tuple(legend))


def _fact(grid: Grid, axis: str) -> NDArray[np.int64]:
    found = grid.facts.get(axis)
    return np.zeros(grid.shape, np.int64) if found is None else found


def _by_subgroup(grid: Grid) -> Paint:
    groups, lanes = _fact(grid, "sg"), _fact(grid, "lane") - grid.starts.get("lane", 0)
    many = grid.spans.get("lane", 1)
    low, high = (0.0, 1.0) if grid.spans.get("sg", 1) > 1 else _ALONE
    colours = shades(hue_of(groups), low + (high - low) * lanes / (many - 1) if many > 1 else np.full(lanes.shape, 0.5))
    values = np.unique(groups)
    legend = _texts("subgroup", values.tolist(), hexes(shades(hue_of(values), np.full(values.shape, 0.6))))
    first = grid.starts.get("lane", 0)
    if many > 1:
        legend.append((f"pale to strong: lanes {first} to {first + many - 1}", None))
    if grid.spans.get("sg", 1) > len(HUES):
        legend.append(("hues repeat after 8; the label says which subgroup", None))
    return Paint(colours, tuple(legend))


def _by_tile(grid: Grid) -> Paint:
    count: Any = np.zeros(grid.shape, np.int64)
    for name, size in zip(grid.elements, grid.tile, strict=True):
        count = count * 3 + _fact(grid, name) // size
    what = "instruction tile" if grid.tile_known else "tile that the lanes span"
    sizes = "x".join(map(str, grid.tile)) or "1"
    return Paint(shades(hue_of(count % len(HUES)), np.full(grid.shape, 0.6)), ((f"{what}: {sizes}", None),))


def _texts(name: str, values: list[int], colours: list[str]) -> list[tuple[str, str | None]]:
    """Swatches with their numbers, the first with its name; of many, the first ones and the last."""
    pairs = list(zip(values, colours, strict=True))
    if len(pairs) > _MOST_SWATCHES:
        pairs = [*pairs[: _MOST_SWATCHES - 1], pairs[-1]]
    return [(f"{name} {value}" if i == 0 else str(value), colour) for i, (value, colour) in enumerate(pairs)]
