"""What the colours of a picture say: the subgroup and lane of a cell, its lane, its register, its tile; of memory the bank.

Lanes have hues of their own in the colouring "lane", the default where one subgroup is alone. Memory is coloured by bank: a
rainbow of addresses would hide a swizzle, and lanes that meet in a bank are what it is for. Of AMX tiles, a hue is a word of 4
bytes; in a product it is a word of k, so that words of A and of B meet where their hues are the same.

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> grid = tensor_grid(Operand("C", Layout.parse("d0 = 2@sg 2@reg, d1 = 2@lane")))
>>> colourings(grid)
('subgroup', 'lane', 'register', 'tile')
>>> found = paint(grid, "subgroup")
>>> found[0], found[2]                               # subgroup 0 is navy, subgroup 1 green
(['#5866bc', '#051a9b'], ['#c6f7c3', '#2be11f'])
>>> [text for text, _ in legend([grid], "subgroup")]
['subgroup 0', '1', 'pale to strong: lanes 0 to 1']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_SWATCHES
from layoutalg.core.moves import Plane
from layoutalg.core.plurals import spoken
from layoutalg.viz.colours import HUES, LEGEND, PALE, hue_of, ramp, shade
from layoutalg.viz.folding import DOTS
from layoutalg.viz.grid import Grid

__all__ = [
    "OWN",
    "WORDS_OF_K",
    "Scheme",
    "colourings",
    "lane_colours",
    "lane_legend",
    "legend",
    "number_by",
    "paint",
    "preferred",
    "scheme",
]

OWN = "own axes"
"""The colouring of grids that share none, such as registers beside memory: each by the first of its own."""

WORDS_OF_K = "k"
"""The colouring of a product of tiles by words of k: which words of A meet which of B."""
_K_AXES = {"A": ("col", BANK_BYTES), "B": ("row", 1)}
"""Where the number of a word of k stands in a tile, and how many steps of the axis it has: A's along a row, B's is the row."""

_AXES = {"subgroup": "sg", "lane": "lane", "register": "reg"}
_WORD_BITS = BANK_BYTES * 8
_ALONE = (-1.2, 1.0)
"""How pale and how strong the lanes of a single subgroup get: its hue has no neighbour."""
_MOST_NAMED = 32
"""Lanes that the legend of a conversion names one by one."""


def colourings(grid: Grid) -> tuple[str, ...]:
    """What a grid can be coloured by."""
    if grid.of_machine:
        return (*_AXES, "tile")
    words = ("bank",) if grid.axes == ("addr",) else ("word",) if grid.bits is not None else ()
    if grid.bits is not None and grid.role in ("A", "B", "C") and {"row", "col"} <= {*grid.axes}:
        words = (WORDS_OF_K, *words)
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
    layoutalg.core.errors.LayoutError: colour 'lane': memory can be coloured by bank, addr
    """
    by = colourings(grid)[0] if by == OWN else by
    if by not in colourings(grid):
        raise LayoutError(f"colour {by!r}: {grid.title} can be coloured by {', '.join(colourings(grid))}")
    if grid.shows == "blocks":
        return Scheme((_numbers(grid, "sg"),), hue_of, 1, _middle_shade if by == "subgroup" else _neutral)
    if by == "subgroup":
        first, many = grid.scale.get("lane", (0, 0))[0], grid.span("lane")
        low, high = (0.0, 1.0) if grid.span("sg") > 1 and grid.shows != "block" else _ALONE

        def lane_shade(number: int) -> str:
            hue, lane = divmod(number, many)
            return _lane_shade(hue, lane, many, low, high)

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
    if by == WORDS_OF_K:
        count = _words_of_k([grid])
        if grid.role == "C":
            return Scheme((_numbers(grid, "row"),), _no_number, 1, _neutral)
        axis, step = _K_AXES[str(grid.role)]

        def word_of_k(at: Any) -> Any:
            return at // step

        return Scheme((_numbers(grid, axis),), word_of_k, count, partial(_hue, count=count))
    start, end = _reach(grid, by)

    def number_from_start(at: Any) -> Any:
        return number_by(grid, by, at) - start

    def of_number(number: int) -> str:
        return _hue(number, end - start + 1) if by in ("lane", "word") else ramp(number / max(end - start, 1))

    return Scheme((_numbers(grid, _axis(grid, by)),), number_from_start, end - start + 1, of_number)


def number_by(grid: Grid, by: str, at: Any) -> Any:
    """The number that a colouring shows for a place on its axis: of the place, of its word, of its bank.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> half = tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr"), bits=16))
    >>> number_by(half, "bank", 5), number_by(half, "bank", 64), number_by(half, "addr", 5)
    (2, 0, 5)
    """
    if by not in ("bank", "word"):
        return at
    word = at * (grid.bits or _WORD_BITS) // _WORD_BITS
    return word % BANKS if by == "bank" else word


def _reach(grid: Grid, by: str) -> tuple[int, int]:
    """The lowest and the highest number that a colouring may show."""
    low, high = (number_by(grid, by, at) for at in grid.scale.get(_axis(grid, by), (0, 0)))
    return (0, BANKS - 1) if by == "bank" else (low, high)


def _hue(number: int, count: int) -> str:
    """The colour of one of so many numbers: eight hues by turns, each turn stronger than the one before."""
    turns = -(-count // len(HUES))
    return shade(hue_of(number), number // len(HUES) / (turns - 1) if turns > 1 else LEGEND)


def _lane_shade(hue: int, lane: int, many: int, low: float = 0.0, high: float = 1.0) -> str:
    """The colour of one of so many lanes of a subgroup that has a hue: from pale to strong."""
    return shade(hue, low + (high - low) * lane / (many - 1) if many > 1 else 0.5)


def lane_colours(lanes: int, subgroups: int = 1) -> list[list[str]]:
    """The colour of each lane of each subgroup where no grid is drawn, `[subgroup][lane]`: those that grids have.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> paint(tensor_grid(Operand("C", Layout.parse("d0 = 4@lane"))), "lane")[0] == lane_colours(4)[0]
    True
    """
    if subgroups == 1:
        return [[_hue(lane, lanes) for lane in range(lanes)]]
    return [[_lane_shade(hue_of(sg), lane, lanes) for lane in range(lanes)] for sg in range(subgroups)]


def lane_legend(lanes: int, subgroups: int = 1) -> Sequence[tuple[str, str | None]]:
    """What the colours of `lane_colours` mean: texts, each with its colour or None.

    >>> [text for text, _ in lane_legend(3)], [text for text, _ in lane_legend(16)][-2:]
    (['lane 0', '1', '2'], ['15', 'every 8 lanes a tone stronger'])
    """
    if subgroups > 1:
        found = _swatches("subgroup", [*range(subgroups)], [*map(_middle_shade, range(subgroups))])
        found += [(f"pale to strong: lanes 0 to {lanes - 1}", None)] * (lanes > 1)
        return found + [(_again(subgroups), None)] * (subgroups > len(HUES))
    (colours,) = lane_colours(lanes)
    if lanes <= _MOST_NAMED:
        found = [(f"{'lane ' * (lane == 0)}{lane}", colour) for lane, colour in enumerate(colours)]
    else:
        found = _swatches("lane", [*range(lanes)], colours)
    return found + [(_tones("lane"), None)] * (lanes > len(HUES))


def _middle_shade(number: int) -> str:
    return shade(hue_of(number), LEGEND)


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
        entries = [legend(some, name) for some, name in zip(alike, names, strict=True)]
        if len(entries) > 1:
            roles = [", ".join(grid.role for grid in some if grid.role) for some in alike]
            entries = [
                ((f"{role}: {one[0][0]}", one[0][1]), *one[1:]) for role, one in zip(roles, entries, strict=True)
            ]
        return tuple(chain.from_iterable(entries))
    named = any(grid.shows == "blocks" for grid in grids)  # each block says which subgroup
    grids = [grid for grid in grids if grid.shows != "blocks"]
    first = grids[0]
    if by == "tile":
        found = dict.fromkeys(
            f"{grid.tile_name if grid.tile_known else 'tile that the lanes span'}: {'x'.join(map(str, grid.tile)) or 1}"
            for grid in grids
        )
        return tuple((text, None) for text in found)
    if by == WORDS_OF_K:
        count, shown = _words_of_k(grids), set[int]()
        for grid in grids:
            if grid.role in _K_AXES:
                axis, step = _K_AXES[grid.role]
                shown |= {at // step for at in _numbers(grid, axis).cells}
        found = _swatches("word of K:", sorted(shown), [_hue(number, count) for number in sorted(shown)])
        return (*found, ("the same colour in A and B: multiplied with one another", None))
    low, high = _reach(first, by)
    if by in ("lane", "word"):
        shown = sorted({number_by(grid, by, at) for grid in grids for at in _numbers(grid, _axis(grid, by)).cells})
        many = high - low + 1
        entries = _swatches(by, shown, [_hue(number - low, many) for number in shown])
        if len({hue_of(number - low) for number in shown}) < len(shown):
            entries.append((_tones(by), None))
        return (*entries, *[("a word is 4 bytes", None)] * (by == "word"))
    if by != "subgroup":
        stops = sorted({round(i * (high - low) / (MOST_SWATCHES - 1)) for i in range(MOST_SWATCHES)})
        entries = _swatches(
            spoken(by),
            [low + stop for stop in stops],
            [ramp(stop / max(high - low, 1)) for stop in stops],
            sampled=True,
        )
        size = (first.bits or _WORD_BITS) / 8
        each = f"{BANKS} banks of {BANK_BYTES} bytes; an element has {size:g} byte{'s' * (size != 1)}"
        return (*entries, *[(each, None)] * (by == "bank"))
    values = sorted({value for grid in grids for value in _numbers(grid, "sg").cells})
    entries = [] if named else _swatches("subgroup", values, [*map(_middle_shade, values)])
    low, high = first.scale.get("lane", (0, 0))
    if high > low:
        entries.append((f"pale to strong: lanes {low} to {high}", None))
    if first.span("sg") > len(HUES) and not named:
        entries.append((_again(first.span("sg")) + ": read the cell's number", None))
    return tuple(entries)


def _again(subgroups: int) -> str:
    return f"{len(HUES)} hues for {subgroups} subgroups, so hues repeat"


def _tones(what: str) -> str:
    return f"every {len(HUES)} {what}s a tone stronger"


def _no_number(at: Any) -> Any:
    return at * 0


def _neutral(number: int) -> str:
    return PALE


def _words_of_k(grids: Sequence[Grid]) -> int:
    """Words of k at most: of a row of A, or rows of B."""
    reach = (grid.scale.get(axis, (0, 0))[1] // step for grid in grids for axis, step in _K_AXES.values())
    return 1 + max(reach)


def _axis(grid: Grid, by: str) -> str:
    """The axis that a colouring is about."""
    return _AXES.get(by, by) if grid.of_machine else grid.axes[-1] if by in ("bank", "word") else by


def _numbers(grid: Grid, axis: str) -> Plane:
    rows, columns = grid.shape
    start = grid.scale.get(axis, (0, 0))[0]
    return grid.owner.get(axis) or Plane((start,) * rows, (0,) * columns)


def _swatches(
    name: str, values: list[int], colours: list[str], *, sampled: bool = False
) -> list[tuple[str, str | None]]:
    """Swatches with their numbers, the first with its name; of many, the first ones and the last; dots before it."""
    found: list[tuple[str, str | None]] = [(str(value), colour) for value, colour in zip(values, colours, strict=True)]
    found[0] = (f"{name} {found[0][0]}", found[0][1])
    if len(found) > MOST_SWATCHES or (not sampled and values[-1] - values[-2:][0] > 1):
        found = [*found[: MOST_SWATCHES - 1][: len(found) - 1], (DOTS, None), found[-1]]
    return found
