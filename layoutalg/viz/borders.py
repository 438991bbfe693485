"""The lines of a grid: between subgroups, instruction tiles and words, and around the cells of one lane.

>>> from dataclasses import replace
>>> scene = replace(Layout.parse("d0 = 4@reg, d1 = 2@sg 2@lane").picture(), example=False).scene()
>>> [(line.x == line.to_x, line.width) for line in scene.lines]          # between the two subgroups, a line on a wider pale one
[(True, 4.4), (True, 2.2)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from layoutalg.viz.colouring import colourings, number_by
from layoutalg.viz.grid import Grid
from layoutalg.viz.shapes import PAPER, Frame, Line

__all__ = ["borders", "cased", "has_narrow_elements", "outlines", "rims"]

_WIDE, _THIN = 2.2, 1.2


def borders(frame: Frame) -> Iterator[Line]:
    """Lines between subgroups (wide) and between tiles, blocks or words (thin), where neighbouring cells touch."""
    grid = frame.grid
    if grid.shows == "blocks":
        return
    if grid.tensor and grid.tile_known:
        tiles = [(grid.element[name].rows, size) for name, size in zip(grid.element, grid.tile, strict=True)]
        for line in _between(frame, _joined([[[x // n for x in row] for row in rows] for rows, n in tiles]), _THIN):
            yield from cased(line)
    if "word" in colourings(grid):
        words = [[number_by(grid, "word", at) for at in row] for row in grid.owner[grid.axes[-1]].rows]
        yield from _between(frame, _joined([*(grid.owner[axis].rows for axis in grid.axes[:-1]), words]), _THIN)
    if has_narrow_elements(grid):
        words = [[number_by(grid, "word", at) for at in row] for row in grid.owner["addr"].rows]
        for line in _between(frame, words, _THIN, down=False):
            yield from cased(line)
    if "sg" in grid.owner:
        for line in _between(frame, grid.owner["sg"].rows, _WIDE):
            yield from cased(line)


def _joined(facts: Sequence[Sequence[Sequence[int]]]) -> list[list[tuple[int, ...]]]:
    """Several facts of each cell as one."""
    return [[*zip(*rows, strict=True)] for rows in zip(*facts, strict=True)]


def has_narrow_elements(grid: Grid) -> bool:
    """Whether several elements of memory share a word of a bank.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> has_narrow_elements(tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr"), bits=16)))
    True
    """
    return grid.tensor and "bank" in colourings(grid) and number_by(grid, "word", 1) == 0


def _between(frame: Frame, facts: Sequence[Sequence[object]], width: float, *, down: bool = True) -> Iterator[Line]:
    """Lines where neighbouring cells that touch differ in a fact: beside each other, and `down` below each other."""
    for number, strip in enumerate(frame.strips):
        xs, ys = frame.columns[strip.columns], [y + number * frame.drop for y in frame.rows]
        here = [row[strip.columns] for row in facts]
        for j in range(1, len(xs)):
            if xs[j] - xs[j - 1] <= frame.width + 0.5:
                differ = [row[j - 1] != row[j] for row in here]
                yield from _segments(differ, xs[j], ys, frame.height, width, upright=True)
        for i in range(1, len(ys) if down else 0):
            if ys[i] - ys[i - 1] <= frame.height + 0.5:
                differ = [a != b for a, b in zip(here[i - 1], here[i], strict=True)]
                yield from _segments(differ, ys[i], xs, frame.width, width, upright=False)


def _segments(
    differ: Sequence[bool], at: float, along: Sequence[float], size: float, width: float, *, upright: bool
) -> Iterator[Line]:
    """The runs of a border, one line each."""
    start: float | None = None
    end = 0.0
    for there, position in zip((*differ, False), (*along, 0.0), strict=True):
        if start is not None and not there:
            ends = (at, start, at, end) if upright else (start, at, end, at)
            yield Line(*ends, width, over=True)
            start = None
        if there and start is None:
            start = position
        end = position + size


def cased(line: Line) -> tuple[Line, Line]:
    """A line on a wider one of the paper's colour, which parts it from dark cells."""
    return replace(line, width=2 * line.width, fill=PAPER), line


def rims(corners: Iterable[tuple[float, float]], wide: float, high: float, width: float = _WIDE) -> Iterator[Line]:
    """A black line on a white one around cells of one size, given by their corners; none between neighbours.

    >>> lines = [*rims([(0, 0), (0, 20)], 40, 20)]
    >>> len(lines), max(line.to_y for line in lines)
    (12, 40)
    """
    marked = {(round(x, 2), round(y, 2)): (x, y) for x, y in corners}
    for x, y in sorted(marked.values()):
        for dx, dy, ends in (
            (-wide, 0, (x, y, x, y + high)),
            (wide, 0, (x + wide, y, x + wide, y + high)),
            (0, -high, (x, y, x + wide, y)),
            (0, high, (x, y + high, x + wide, y + high)),
        ):
            if (round(x + dx, 2), round(y + dy, 2)) not in marked:
                yield from cased(Line(*ends, width, over=True))


def outlines(frames: Sequence[Frame], cells: Sequence[Sequence[int]]) -> Iterator[Line]:
    """The rims of some cells of each grid (by their number, row by row)."""
    for frame, chosen in zip(frames, cells, strict=True):
        corners = [*frame.places()]
        yield from rims([corners[cell] for cell in chosen], frame.width, frame.height)
