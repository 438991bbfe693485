"""What the colours of a picture say: the subgroup and lane of a cell, its lane, its register, its tile; of memory the bank.

Lanes have hues of their own in the colouring "lane", the default where one subgroup is alone. Memory is coloured by bank: a
rainbow of addresses would hide a swizzle, and lanes that meet in a bank are what it is for. Of AMX tiles, a hue is a word of 4
bytes.

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

__all__ = ["OWN", "colourings", "counted_by", "legend", "paint", "preferred"]

OWN = "own axes"
"""The colouring of grids that share none, such as registers beside memory: each by the first of its own."""

_AXES = {"subgroup": "sg", "lane": "lane", "register": "reg"}
_BANKS, _WORD_BITS = 32, 32
"""The common banks of shared memory, a word wide (`layoutalg.memory.conflicts` has the sources)."""
_ALONE = (-0.2, 1.1)
"""How pale and how strong the lanes of a single subgroup get: its hue has no neighbour."""


def colourings(grid: Grid) -> tuple[str, ...]:
    """What a grid can be coloured by."""
    if grid.of_machine:
        return (*_AXES, "tile")
    words = ("bank",) if grid.axes == ("addr",) else ("word",) if grid.bits is not None else ()
    return (*words, *grid.axes, *(("tile",) if grid.tile_known else ()))


def preferred(grids: Sequence[Grid], names: Sequence[str]) -> str:
    """Of some colourings the one that says most: subgroups if there are several, else lanes, else registers.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> tile = tensor_grid(Operand("B", Layout.parse("d0 = 4@reg, d1 = 8@lane")))
    >>> preferred([tile], colourings(tile))
    'lane'
    """
    several = (name for name, axis in _AXES.items() if name in names and any(grid.span(axis) > 1 for grid in grids))
    return next(several, names[0])


def paint(grid: Grid, by: str) -> Colours:
    """The colour of every drawn cell, `[drawn row, drawn column, 3]`, by one of the grid's `colourings`.

    Raises `LayoutError` for another one.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> paint(tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr"))), "lane")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: colour 'lane': memory can be coloured by bank, addr
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
    if by in ("lane", "word"):
        low, high = _reach(grid, by)
        return _hues(counted_by(grid, by) - low, high - low + 1)
    low, high = _reach(grid, by)
    return ramp((counted_by(grid, by) - low) / max(high - low, 1))


def _hues(numbers: Any, count: int) -> Colours:
    """A hue for each number, by turns of eight; each turn is stronger than the one before."""
    turns = -(-count // len(HUES))
    strength = (numbers // len(HUES)) / (turns - 1) if turns > 1 else np.full(np.shape(numbers), LEGEND)
    return shades(hue_of(numbers), strength)


def counted_by(grid: Grid, by: str) -> NDArray[np.int64]:
    """The numbers that a colouring shows: of an axis, of words along the last one, of banks."""
    if by not in ("bank", "word"):
        return _numbers(grid, _AXES.get(by, by) if grid.of_machine else by)
    words = _word(grid, _numbers(grid, grid.axes[-1]))
    return words % _BANKS if by == "bank" else words


def _reach(grid: Grid, by: str) -> tuple[int, int]:
    """The lowest and the highest number that a colouring may show."""
    if by == "bank":
        return 0, _BANKS - 1
    low, high = grid.scale.get(_AXES.get(by, by) if grid.of_machine else grid.axes[-1] if by == "word" else by, (0, 0))
    return (_word(grid, low), _word(grid, high)) if by == "word" else (low, high)


def _word(grid: Grid, places: Any) -> Any:
    """The word of 4 bytes that places lie in."""
    return places * (grid.bits or _WORD_BITS) // _WORD_BITS


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
    low, high = _reach(first, by)
    if by in ("lane", "word"):
        shown = [*range(low, min(high + 1, low + MOST_SWATCHES))]
        colours = hexes(_hues(np.array(shown) - low, high - low + 1))
        rest = [(f"to {high}: the same hues, stronger", None)] * (high - low >= MOST_SWATCHES)
        unit: list[tuple[str, str | None]] = [("a word is 4 bytes", None)] * (by == "word")
        return (*_swatches(by, shown, colours), *rest, *unit)
    if by != "subgroup":
        stops = sorted({round(i * (high - low) / (MOST_SWATCHES - 1)) for i in range(MOST_SWATCHES)})
        colours = hexes(ramp(np.array(stops) / max(high - low, 1)))
        unit = [(f"{_BANKS} banks of 4 bytes, elements of {(first.bits or _WORD_BITS) / 8:g}", None)] * (by == "bank")
        return (*_swatches(by, [low + stop for stop in stops], colours), *unit)
    values = sorted({int(value) for grid in grids for value in np.unique(_numbers(grid, "sg"))})
    entries = _swatches("subgroup", values, hexes(shades(hue_of(values), np.full(len(values), LEGEND))))
    low, high = first.scale.get("lane", (0, 0))
    if high > low:
        entries.append((f"pale to strong: lanes {low} to {high}", None))
    if first.span("sg") > len(HUES):
        entries.append((f"hues repeat after {len(HUES)}", None))
    return tuple(entries)


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
