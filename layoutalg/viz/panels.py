"""Panels side by side: the pictures of plans, which draw blocks and loops instead of single elements.

A panel is cells, words and lines with its own origin; `beside` puts panels in a row, under a title. Long rows of cells are cut:

>>> [number for number, _ in Axis.of(16, 20).places()]
[0, 1, 2, 3, 4, None, 14, 15]

`product_panel` is the panel of a product: A left, B above, C in the corner.

>>> look = {(0, 0): Look("#eeeeee", "0", "the only block")}
>>> one = Axis.of(1, 20)
>>> panel = product_panel("blocks", ["1 of them"], one, one, one, dict.fromkeys("ABC", look), Headings(str, str, str))
>>> [cell.label for cell in panel.cells], [words.text for words in panel.words]
(['0', '0', '0'], ['blocks', '1 of them', 'A', 'B', 'C', 'rows', 'columns', '0', '0', '0'])
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from math import hypot

from layoutalg.viz.colours import PALE, ink
from layoutalg.viz.scene import CELL_HEIGHT, CHARACTER
from layoutalg.viz.shapes import Cell, Legend, Line, Scene, Swatch, Words

__all__ = [
    "DARK",
    "INNER",
    "LETTER",
    "MARKED",
    "NARROW",
    "PALE",
    "Axis",
    "Headings",
    "Look",
    "Panel",
    "arrow_down",
    "beside",
    "cell_of",
    "facts_panel",
    "headed",
    "in_a_row",
    "key_of",
    "placed",
    "product_panel",
    "stacked",
    "table_panel",
    "told_panel",
]

_FIRST, _LAST = 5, 2
"""Cells that are drawn of a long row: at its beginning and at its end."""
_MARGIN, _SPACE, _ROWS_APART = 12, 40, 28
NARROW = 620.0
"""How wide a row of panels may be: on a phone of 400 pixels, letters of 11 pixels are still 7 pixels high."""
INNER = NARROW - 2 * _MARGIN
"""How wide a panel may be."""
LETTER = 0.62
"""The width of a character of the font, for each pixel of its size."""
_LEGIBLE = 440.0
"""How wide the words over a narrow drawing are."""
_HEADING = "#555555"
MARKED, DARK = "#f5cf94", "#b8d8e9"
"""The colours of the cells that the next panel is about, and of those that belong to them; all others are `PALE`."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A row of cells: their numbers where each is drawn (None: the gap), and the width of each."""

    numbers: tuple[int | None, ...]
    step: float

    @classmethod
    def of(cls, count: int, step: float, first: int = _FIRST, last: int = _LAST) -> Axis:
        """The first numbers below `count`, a gap, and the last ones; all of them where the gap would hide one alone."""
        if count <= first + last + 1:
            return cls(tuple(range(count)), step)
        return cls((*range(first), None, *range(count - last, count)), step)

    @classmethod
    def within(cls, count: int, step: float, room: float, last: int = 1) -> Axis:
        """As many of the first numbers as there is room for, a gap, and the last ones.

        >>> Axis.within(16, 50, 320).numbers
        (0, 1, 2, 3, None, 15)
        """
        most = int(room / step)
        return cls.of(count, step, max(most - last - 1, 1), last) if count > most else cls(tuple(range(count)), step)

    @property
    def length(self) -> float:
        """The width of the row."""
        return self.step * len(self.numbers)

    @property
    def drawn(self) -> tuple[int, ...]:
        """The numbers that are drawn."""
        return tuple(number for number in self.numbers if number is not None)

    def places(self) -> Iterator[tuple[int | None, float]]:
        """Each number, and where its cell begins."""
        for place, number in enumerate(self.numbers):
            yield number, place * self.step


@dataclass(frozen=True, slots=True)
class Look:
    """What a cell looks like: its colour, its label, and the sentence about it.

    `below` is a second line of its label, `edge` the colour of a frame.
    """

    fill: str
    label: str
    sentence: str
    below: str = ""
    edge: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """Cells, words and lines in pixels from the panel's own corner, and its size; the squares of a legend of its own."""

    cells: tuple[Cell, ...]
    words: tuple[Words, ...]
    lines: tuple[Line, ...]
    width: float
    height: float
    swatches: tuple[Swatch, ...] = ()

    @property
    def title(self) -> str:
        """The first words in bold."""
        return next((one.text for one in self.words if one.bold), "")

    def untitled(self) -> Panel:
        """The panel without its title, where that stands above it already."""
        rest = replace(self, words=tuple([one for one in self.words if one.text != self.title or not one.bold]))
        return replace(_moved(rest, 0, -14), width=self.width)


def cell_of(x: float, y: float, width: float, height: float, look: Look) -> Cell:
    """A cell at a place; its text is black or white, whichever is easier to read on its colour."""
    return Cell(x, y, width, height, look.fill, ink(look.fill), look.label, look.sentence)


def arrow(x: float, y: float, to_x: float, to_y: float, *, heavy: bool = False) -> tuple[Line, Line, Line]:
    """An arrow from one point to another.

    >>> [(line.x, line.y) for line in arrow(0, 0, 20, 0)]
    [(0, 0), (15.0, -3.0), (15.0, 3.0)]
    """
    back, aside, width = (7, 5, 1.6) if heavy else (5, 3, 1.2)
    long = hypot(to_x - x, to_y - y) or 1
    right, down = (to_x - x) / long, (to_y - y) / long
    foot = to_x - back * right, to_y - back * down
    ends = [(foot[0] - side * down, foot[1] + side * right) for side in (-aside, aside)]
    return (Line(x, y, to_x, to_y, width), *(Line(*end, to_x, to_y, width) for end in ends))  # pyright: ignore[reportReturnType]


def placed(x: float, y: float, width: float, height: float, look: Look) -> tuple[Cell, list[Words], list[Line]]:
    """A cell at a place, the words in it where its label has two lines, and its frame.

    >>> cell, words, lines = placed(0, 0, 20, 30, Look(PALE, "a", "", "b", MARKED))
    >>> cell.label, [one.text for one in words], len(lines)
    ('', ['a', 'b'], 4)
    """
    cell = cell_of(x, y, width, height, look)
    words: list[Words] = []
    if look.below:
        cell = replace(cell, label="")
        words = [
            Words(x + width / 2, y + height / 2 + at, text, 11, "middle", fill=cell.ink, over=True)
            for text, at in ((look.label, -3.5), (look.below, 10.5))
        ]
    corners = [
        (x + 1.2, y + 1.2),
        (x + width - 1.2, y + 1.2),
        (x + width - 1.2, y + height - 1.2),
        (x + 1.2, y + height - 1.2),
    ]
    around = zip(corners, [*corners[1:], corners[0]], strict=True) if look.edge else ()
    return cell, words, [Line(*one, *other, 1.8, look.edge, over=True) for one, other in around]


@dataclass(frozen=True, slots=True)
class Headings:
    """What stands beside the rows of a product, at each part of its depth, and over its columns, by their numbers.

    `names` is what rows, depth and columns are called.
    """

    rows: Callable[[int], str]
    deep: Callable[[int], str]
    columns: Callable[[int], str]
    names: tuple[str, str, str] = ("rows", "k", "columns")


def product_panel(
    title: str,
    notes: Sequence[str],
    down: Axis,
    deep: Axis,
    across: Axis,
    looks: Mapping[str, Mapping[tuple[int, int], Look]],
    headings: Headings,
    names: tuple[str, str, str] = ("A", "B", "C"),
    key: Sequence[tuple[str, str]] = (),
) -> Panel:
    """A left of C, B above it: axes of rows, of depth and of columns. `looks` are those of A, B and C by cell.

    `names` is what the three are called, `key` what the colours mean. Above stand the title, `notes` and the key.
    """
    cells: list[Cell] = []
    words: list[Words] = []
    beside = _widest([*map(headings.rows, down.drawn), headings.names[0]]) + 6
    within = _widest([*map(headings.deep, deep.drawn), f"{names[1]}  {headings.names[2]}"]) + 6
    left = max(beside + deep.length + 14, within)
    top = len(deep.numbers) * CELL_HEIGHT + 51
    tall = Axis(deep.numbers, CELL_HEIGHT)
    of_a = left - 14 - deep.length
    for name, rows, columns, x, y in (
        ("A", down, deep, of_a, top),
        ("B", tall, across, left, 16.0),
        ("C", down, across, left, top),
    ):
        for row, to_y in rows.places():
            for column, to_x in columns.places():
                place = (x + to_x, y + to_y)
                if row is not None and column is not None:
                    cells.append(cell_of(*place, columns.step, rows.step, looks[name][row, column]))
                elif not (row is None and column is None):
                    dots = "\N{VERTICAL ELLIPSIS}" if row is None else "\N{MIDLINE HORIZONTAL ELLIPSIS}"
                    words.append(Words(place[0] + columns.step / 2, place[1] + rows.step / 2 + 4, dots, 11, "middle"))
    words += [
        Words(of_a, top - 4, names[0], 11),
        Words(left - within, 10, names[1], 11),
        Words(left, top - 4, names[2], 11),
        Words(of_a - 5, top - 4, headings.names[0], 11, "end", fill=_HEADING),
        Words(left - 5, 10, headings.names[2], 11, "end", fill=_HEADING),
    ]
    for axis, name, y in ((down, headings.rows, top), (tall, headings.deep, 16.0)):
        x = (of_a if axis is down else left) - 5
        middle = axis.step / 2 + 4
        words += [Words(x, y + to + middle, name(n), 11, "end") for n, to in axis.places() if n is not None]
    middle = left + across.step / 2
    words += [Words(middle + to, 10, headings.columns(n), 11, "middle") for n, to in across.places() if n is not None]
    walk: tuple[Line, ...] = ()
    if len(deep.numbers) > 1:
        words.append(Words(of_a - 5, top - 17, headings.names[1], 11, "end", fill=_HEADING))
        walk = arrow(of_a, top - 20, of_a + deep.length, top - 20)
    drawn = Panel(tuple(cells), tuple(words), walk, left + across.length, top + down.length)
    return headed(title, notes, key, drawn)


def _widest(texts: Iterable[str]) -> float:
    return max(map(len, texts), default=0) * CHARACTER


def table_panel(
    title: str,
    across: Sequence[str],
    down: Sequence[str],
    looks: Sequence[Sequence[Look | None]],
    size: tuple[float, float],
    ruled: tuple[Sequence[int], Sequence[int]] = ((), ()),
    corner: str = "",
    named: str = "",
) -> Panel:
    """Rows and columns of cells of one size, with words over the columns and beside the rows.

    Where a look is None, cells are left out, and dots stand there. `ruled` has the rows and the columns before which a line is
    drawn; `corner` says what the rows are, or the columns, `named` what the columns are where the corner has the rows.

    >>> panel = table_panel("t", ["0", "1"], ["0"], [[Look(PALE, "a", ""), Look(PALE, "b", "", "c")]], (40, 32))
    >>> [cell.label for cell in panel.cells], [words.text for words in panel.words]
    (['a', ''], ['t', '0', '1', '0', 'b', 'c'])
    """
    width, height = size
    left = max(map(len, (*down, corner)), default=0) * CHARACTER + 8 * any((*down, corner))
    top = 18.0 * bool(title) + 13 * bool(named) + 16 * any(across)
    words = [Words(0, 11, title, 12, bold=True)] if title else []
    words += [Words(left - 5, top - 5, corner, 11, "end")] if corner else []
    words += [Words(left, top - 18, named, 11)] if named else []
    words += [Words(left + (i + 0.5) * width, top - 5, name, 11, "middle") for i, name in enumerate(across) if name]
    words += [Words(left - 5, top + (i + 0.5) * height + 4, name, 11, "end") for i, name in enumerate(down) if name]
    cells: list[Cell] = []
    framed: list[Line] = []
    for row, line in enumerate(looks):
        for column, look in enumerate(line):
            x, y = left + column * width, top + row * height
            if look is None:
                words.append(Words(x + width / 2, y + height / 2 + 4, "\N{MIDLINE HORIZONTAL ELLIPSIS}", 11, "middle"))
                continue
            cell, inside, frame = placed(x, y, width, height, look)
            cells.append(cell)
            words += inside
            framed += frame
    right, bottom = left + max(map(len, looks), default=0) * width, top + len(looks) * height
    lines = [Line(left, top + row * height, right, top + row * height, 1.6) for row in ruled[0]]
    lines += [Line(left + column * width, top, left + column * width, bottom, 1.6) for column in ruled[1]]
    return Panel(tuple(cells), tuple(words), (*lines, *framed), max(right, len(title) * 12 * LETTER), bottom)


def told_panel(title: str, notes: Sequence[str], within: float = INNER) -> Panel:
    """A heading and lines of text, wrapped to a width.

    >>> [words.text for words in told_panel("t", ["a", "b"]).words]
    ['t', 'a', 'b']
    """
    words: list[Words] = []
    y = width = 0.0
    for text, size, bold in ((title, 12, True), *((note, 11, False) for note in notes)):
        for line in textwrap.wrap(text.replace(" %", "\N{NO-BREAK SPACE}%"), int(within / (size * LETTER))):
            line = line.replace("\N{NO-BREAK SPACE}", " ")
            y += size + 3
            words.append(Words(0, y - 4, line, size, bold=bold))
            width = max(width, size * LETTER * len(line))
    return Panel((), tuple(words), (), width, y + 1)


def headed(title: str, notes: Sequence[str], key: Sequence[tuple[str, str]], drawn: Panel) -> Panel:
    """A panel under its title, lines of text, and a legend of its own.

    >>> one = headed("t", ["a note"], [("same", PALE)], Panel((), (), (), 0, 0))
    >>> [words.text for words in one.words], len(one.swatches)
    (['t', 'a note', 'same'], 1)
    """
    within = min(max(drawn.width, _LEGIBLE, len(title) * 12 * LETTER), INNER)
    above = [told_panel(title, notes, within)]
    if key:
        legend, y = key_of(key, -8, within + 14, 0)
        width = max(one.x + len(one.text) * CHARACTER for one in legend.words)
        above.append(Panel((), legend.words, (), width, y + 4, legend.swatches))
    return stacked([stacked(above, 4), drawn], 8)


def facts_panel(facts: Sequence[tuple[str, str]]) -> Panel:
    """A small table: what is said, and beside it what it is, wrapped.

    >>> [words.text for words in facts_panel([("grid", "8x8"), ("steps", "16")]).words]
    ['grid', '8x8', 'steps', '16']
    """
    left = _widest(name for name, _ in facts) + 14
    rows: list[Panel] = []
    for name, told in facts:
        told = _moved(told_panel("", [told], INNER - left), left, 0)
        rows.append(replace(told, words=(Words(0, 10, name, 11, fill=_HEADING), *told.words)))
    return stacked(rows, 1)


def stacked(panels: Sequence[Panel], apart: float = 10.0) -> Panel:
    """Panels one below the other, as one.

    >>> stacked([told_panel("a", []), told_panel("b", [])]).height
    42.0
    """
    places = accumulate([panel.height + apart for panel in panels], initial=0.0)
    return _joined([_moved(panel, 0, y) for panel, y in zip(panels, places, strict=False)])


def in_a_row(panels: Sequence[Panel], widest: float = NARROW - 2 * _MARGIN, apart: float = _SPACE) -> Panel:
    """Panels side by side, as one; one below the other where that is wider than `widest`.

    >>> in_a_row([told_panel("a", []), told_panel("b", [])]).height
    16.0
    """
    if sum(panel.width for panel in panels) + apart * (len(panels) - 1) > widest:
        return stacked(panels)
    places = accumulate([panel.width + apart for panel in panels], initial=0.0)
    return _joined([_moved(panel, x, 0) for panel, x in zip(panels, places, strict=False)])


def _moved(panel: Panel, x: float, y: float) -> Panel:
    """A panel further right and below, in the corner of its new size."""
    return Panel(
        tuple([replace(one, x=one.x + x, y=one.y + y) for one in panel.cells]),
        tuple([replace(one, x=one.x + x, y=one.y + y) for one in panel.words]),
        tuple([replace(one, x=one.x + x, y=one.y + y, to_x=one.to_x + x, to_y=one.to_y + y) for one in panel.lines]),
        panel.width + x,
        panel.height + y,
        tuple([replace(one, x=one.x + x, y=one.y + y) for one in panel.swatches]),
    )


def _joined(panels: Sequence[Panel]) -> Panel:
    """Panels that stand where they are, as one."""
    return Panel(
        tuple([one for panel in panels for one in panel.cells]),
        tuple([one for panel in panels for one in panel.words]),
        tuple([one for panel in panels for one in panel.lines]),
        max(panel.width for panel in panels),
        max(panel.height for panel in panels),
        tuple([one for panel in panels for one in panel.swatches]),
    )


def arrow_down(notes: Sequence[str]) -> Panel:
    """An arrow to what stands below, with lines of text beside it.

    >>> [words.text for words in arrow_down(["softmax"]).words]
    ['softmax']
    """
    told = told_panel("", notes, INNER - 34)
    x, low = 14.0, told.height + 8
    words = tuple([replace(one, x=one.x + 34) for one in told.words])
    return Panel((), words, arrow(x, 0, x, low, heavy=True), told.width + 34, low)


def key_of(
    entries: Sequence[tuple[str, str | None]], y: float, width: float, margin: float = _MARGIN
) -> tuple[Legend, float]:
    """A legend, words with their colours (or None) side by side and wrapped between margins, and where it ends.

    >>> key_of([("same", "#eeeeee"), ("moved", "#ff0000")], 0, 600)[0].words[1].text
    'moved'
    """
    swatches: list[Swatch] = []
    words: list[Words] = []
    x = float(margin)
    y += 18
    for text, colour in entries:
        square = 0 if colour is None else 17
        needs = square + len(text) * CHARACTER + 13
        if x > margin and x + needs > width - margin:
            x, y = float(margin), y + 18
        if colour is not None:
            swatches.append(Swatch(x, y - 10, 12, colour))
        words.append(Words(x + square, y, text, 11))
        x += needs
    return Legend("", tuple(swatches), tuple(words)), y if entries else y - 18


def beside(
    panels: Sequence[Panel],
    title: str,
    subtitle: str,
    widest: float = NARROW,
    key: Sequence[tuple[str, str | None]] = (),
    *,
    bare: bool = False,
) -> Scene:
    """Panels from left to right under a title and subtitle, in several rows where one would be wider than `widest`.

    `key` says what colours mean: words, each with its colour. A `bare` scene has no title: it stands elsewhere.
    """
    words: list[Words] = []
    y = 4.0
    across = max([widest, *(panel.width + 2 * _MARGIN for panel in panels)])
    for text, size, bold, fill in ((title, 13, True, "#000000"), (subtitle, 11, False, "#555555")) * (not bare):
        width = int((across - 2 * _MARGIN) / (size * LETTER))
        for line in chain.from_iterable(textwrap.wrap(one, width) for one in text.splitlines()):
            y += size + 4
            words.append(Words(_MARGIN, y, line, size, bold=bold, fill=fill))
    titled = max((one.x + len(one.text) * one.size * LETTER for one in words), default=0.0)
    legend, y = key_of(key, y, across)
    titled = max([titled, *(one.x + len(one.text) * CHARACTER for one in legend.words)])
    x, y = float(_MARGIN), y + (4 if bare else 22)
    shown = [Panel((), tuple(words), (), titled, 0.0)]
    for panel in panels:
        if x > _MARGIN and x + panel.width + _MARGIN > widest:
            x, y = float(_MARGIN), max(one.height for one in shown) + _ROWS_APART
        shown.append(_moved(panel, x, y))
        x += panel.width + _SPACE
    drawn = _joined(shown)
    width = max(drawn.width, min(widest, 400)) + _MARGIN
    keyed = replace(legend, swatches=(*legend.swatches, *drawn.swatches))
    return Scene(width, drawn.height + _MARGIN, title, (), drawn.cells, drawn.words, drawn.lines, (keyed,), "")
