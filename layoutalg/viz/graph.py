"""A graph of operations as a picture: boxes in layers, from top to bottom, with lines that can be clicked on.

>>> nodes = (Box("a", "%x = load", "rows", "#4477aa"), Box("b", "store", "", None))
>>> drawing = Graph(nodes, (Edge(0, 1, "%x 8x16xf32", "wrong"),), "k")
>>> text = drawing.svg()
>>> text.count("<rect"), text.count("data-line"), "#cc3311" in text
(4, 1, True)

A box stands below all that it uses (networkx orders them); within a layer boxes stand below the middle of what they use, and a
layer that is wider than a phone can show goes on in the next row. Lines that lead back, as a loop's do, are dashed; a line past
other boxes goes beside them. Words on lines stand where no box and no other words are. A line may have a detail: pictures
and words that a click shows below the graph.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import textwrap
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_BOXES
from layoutalg.core.notebook import in_a_cell
from layoutalg.viz.free_places import Taken, around, words_at
from layoutalg.viz.page import document, image, source
from layoutalg.viz.panels import NARROW
from layoutalg.viz.svg import DARK_INK, DARK_PAPER, DARK_STYLE, FONT, escaped, still

if TYPE_CHECKING:
    from networkx import DiGraph

__all__ = ["Box", "Detail", "Edge", "Graph"]

State = Literal["right", "moves", "wrong"]

_COLOURS: dict[str, str] = {"right": "#888888", "moves": "#ee7733", "wrong": "#cc3311"}
_INKS: dict[str, str] = {"right": "#666666", "moves": "#a34a00", "wrong": "#b32c0e"}
"""The colours of words on lines: on white they have a contrast of at least 4.5 to 1."""
_LETTER, _HEIGHT, _ROW, _GAP, _MARGIN, _KEY, _TITLE = 6.8, 36, 84, 24, 16, 18, 22
_ROOM = NARROW - 2 * _MARGIN - 40
"""How wide a row of boxes may be: beside it there is room for lines that pass."""
_STATES: dict[str, str] = {"moves": "elements move", "wrong": "wrong"}
"""What colours of lines mean."""
_DARK_STYLE = (
    f"<style>@media (prefers-color-scheme:dark){{.drawn .under{{fill:{DARK_PAPER}}}"
    ".drawn .right text{fill:#b0b4bb}.drawn .moves text{fill:#ee9955}.drawn .wrong text{fill:#ff7b72}"
    f".drawn .box rect{{fill:#24272d}}.drawn .box text{{fill:{DARK_INK}}}"
    f".drawn circle,.drawn .box path{{filter:drop-shadow(0 0 1px {DARK_INK})}}}}</style>"
)
"""Words on lines, and boxes, on a dark page; a rim of light makes dark hues visible."""
_BESIDE = 14
"""How far from a box a line passes it."""
_FIRST = 100
"""The operations of a large graph that a notebook cell draws."""
_MOST_PLACES = 200
"""The places that are tried for the words of a line."""
_UNSEEN = re.compile('(?<=>)<title>[^<]*</title>|<path [^>]*stroke-opacity="0"[^>]*/>')
"""What an image does not show: titles, and the broad ways that a click meets."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box: two lines of words, the colour of its edge on the left, what a tooltip says, and whether it is marked."""

    name: str
    title: str
    subtitle: str
    colour: str | None
    told: str = ""
    state: State = "right"

    @property
    def width(self) -> float:
        """Its width in pixels."""
        return max(len(self.title), len(self.subtitle)) * _LETTER + 26


@dataclass(frozen=True, slots=True)
class Detail:
    """What a click on a line shows: words, and pictures (SVG documents), each with a caption."""

    words: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one box to another (their numbers), what stands on it, its state, and its detail.

    >>> Edge(0, 1, "%x").state
    'right'
    """

    start: int
    end: int
    label: str
    state: State = "right"
    detail: Detail | None = None


@dataclass(frozen=True, slots=True)
class _Way:
    """How a line is drawn, where its words may stand (the first free place is taken), and whether it leads back."""

    path: str
    places: tuple[tuple[float, float], ...]
    back: bool = False


@dataclass(frozen=True, repr=False)
class Graph:
    """Boxes and lines; `key` says what the colours of boxes mean, `notes` stand under the title.

    Raises `SizeError` for more than 2,000 boxes.

    >>> Graph((Box("a", "%x = load", "rows", None),), (), "a kernel")
    <Graph of 'a kernel', boxes: 1, lines: 0>
    """

    boxes: tuple[Box, ...]
    lines: tuple[Edge, ...]
    title: str
    key: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.boxes) > MOST_BOXES:
            raise SizeError(f"{self.title}: {len(self.boxes):,} operations; a picture has at most {MOST_BOXES:,}")

    def __repr__(self) -> str:
        return f"<Graph of {self.title!r}, boxes: {len(self.boxes)}, lines: {len(self.lines)}>"

    def svg(self) -> str:
        """The picture as an SVG document."""
        places, width, height = self._placed()
        rows = _Rows(self.boxes, places)
        ways = [self._way(line, places, width, rows) for line in self.lines]
        words = self._words(ways, places)
        right = [at[0] + len(line.label) * _LETTER / 2 + 8 for line, at in zip(self.lines, words, strict=True) if at]
        width = max([width, *right])
        drawn = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" class="drawn" font-family="{FONT}" font-size="11">',
            f"<title>{escaped(self.title)}</title>",
            DARK_STYLE + _DARK_STYLE,
            f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *self._headed(),
        ]
        drawn += [_drawn(line, way) for line, way in zip(self.lines, ways, strict=True)]
        drawn += [
            self._line(number, line, way, at)
            for number, (line, way, at) in enumerate(zip(self.lines, ways, words, strict=True))
        ]
        drawn += [self._box(box, *place) for box, place in zip(self.boxes, places, strict=True)]
        return "\n".join([*drawn, "</svg>"])

    def _titled(self) -> list[str]:
        return textwrap.wrap(self.title, int((NARROW - 2 * _MARGIN) / 8))

    def _keyed(self) -> list[tuple[str, str, bool]]:
        """The lines of the legend: words, their colour (none where words go on), and whether it is that of a line."""
        letters = int((NARROW - 2 * _MARGIN - 16) / _LETTER)
        found: list[tuple[str, str, bool]] = []
        for name, colour in self.key.items():
            first, *others = textwrap.wrap(name, letters) or [""]
            found += [(first, colour, False), *((f"  {other}", "", False) for other in others)]
        states = {one.state for one in (*self.lines, *self.boxes)}
        notes = [(line, "", False) for note in self.notes for line in textwrap.wrap(note, letters)]
        return [
            *notes,
            *found,
            *((words, _COLOURS[state], True) for state, words in _STATES.items() if state in states),
        ]

    def _headed(self) -> Iterator[str]:
        """The title and the legend."""
        y = _MARGIN
        for line in self._titled():
            yield f'<text x="{_MARGIN}" y="{y + 8}" font-size="13" font-weight="bold">{escaped(line)}</text>'
            y += _TITLE - 4
        y += 4 * bool(self.title)
        for words, colour, of_line in self._keyed():
            if of_line:
                yield f'<path d="M{_MARGIN} {y + 4}h11" stroke="{colour}" stroke-width="2.4"/>'
            elif colour:
                yield f'<circle cx="{_MARGIN + 5}" cy="{y + 4}" r="5" fill="{colour}"/>'
            beside = 16 * bool(colour or words.startswith("  "))
            yield f'<text x="{_MARGIN + beside}" y="{y + 8}" xml:space="preserve">{escaped(words)}</text>'
            y += _KEY

    def page(self) -> str:
        """A whole HTML page that needs nothing else.

        >>> Graph((), (), "a < b").page()[:15]
        '<!DOCTYPE html>'
        """
        return document(self.title, self.fragment())

    def fragment(self) -> str:
        """The picture for a notebook's output: an image that a script makes clickable.

        >>> Graph((), (), "nothing").fragment()[:33]
        '<div class="layoutalg-graph" data'
        """
        return self._clickable(self.svg(), lambda line: line.detail)

    def _clickable(self, svg: str, detail: Callable[[Edge], Detail | None]) -> str:
        """The drawing, and what a click on each line shows."""
        pictures: dict[str, int] = {}
        panels = [_told(detail(line), pictures) for line in self.lines]
        data = {"panels": panels, "pictures": [image(still(one), "tile") for one in pictures]}
        text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        name = hashlib.sha256((svg + text).encode()).hexdigest()[:16]
        return (
            f'<div class="layoutalg-graph" data-of="{name}"><div class="drawing">{image(svg, self.title)}</div>'
            f'<script data-of="{name}">{source("graph.js", "layoutalg-graph")}({text});</script></div>'
        )

    def _repr_html_(self) -> str:
        svg = self.svg()

        def worded(line: Edge) -> Detail | None:
            return line.detail and replace(line.detail, pictures=())

        def moving(line: Edge) -> Detail | None:
            return worded(line) if line.state == "right" else line.detail

        drawings = (
            lambda: self._clickable(svg, lambda line: line.detail),
            lambda: self._clickable(svg, moving),
            lambda: self._clickable(svg, worded),
            lambda: image(svg, self.title),
            lambda: image(_UNSEEN.sub("", svg), self.title),
            lambda: image(_UNSEEN.sub("", self._beginning().svg()), self.title),
        )
        return in_a_cell(drawings, "picture().page()")

    def _beginning(self) -> Graph:
        """The first operations alone."""
        boxes = self.boxes[:_FIRST]
        lines = tuple([line for line in self.lines if max(line.start, line.end) < len(boxes)])
        note = f"drawn: the first {len(boxes)} of {len(self.boxes):,} operations"
        return replace(self, boxes=boxes, lines=lines, notes=(*self.notes, note))

    # Where everything stands

    def _placed(self) -> tuple[list[tuple[float, float]], float, float]:
        """The middle of every box at the top, and the size of the picture."""
        layers = self._layers()
        top = _MARGIN * 2 + _KEY * len(self._keyed()) + (_TITLE - 4) * len(self._titled()) + 4
        places: list[tuple[float, float]] = [(0.0, 0.0)] * len(self.boxes)
        widest = max((self._extent(layer) for layer in layers), default=0.0)
        key = max((len(words) * _LETTER + 24 for words, _, _ in self._keyed()), default=0.0)
        title = max((len(line) * 8.0 for line in self._titled()), default=0.0)
        width = max(widest + 40, key, title) + 2 * _MARGIN
        above: dict[int, list[int]] = defaultdict(list)
        for line in self.lines:
            above[line.end].append(line.start)
        done: set[int] = set()
        for depth, layer in enumerate(layers):
            wanted = {
                box: _mean([places[one][0] for one in above[box] if one in done], (width - 40) / 2) for box in layer
            }
            x = max(_MARGIN, (width - 40 - self._extent(layer)) / 2)
            for box in sorted(layer, key=lambda one: (wanted[one], one)):
                half = self.boxes[box].width / 2
                places[box] = (x + half, top + depth * _ROW)
                x += 2 * half + _GAP
            self._pulled(sorted(layer, key=lambda one: places[one][0]), wanted, places, width - 40)
            done.update(layer)
        return places, width, top + max(len(layers), 1) * _ROW - _ROW + _HEIGHT + _MARGIN

    def _pulled(
        self, layer: Sequence[int], wanted: Mapping[int, float], places: list[tuple[float, float]], width: float
    ) -> None:
        """Boxes moved towards the middle of what they use, as far as their neighbours allow."""
        for order, step in ((reversed(range(len(layer))), 1), (range(len(layer)), -1)):
            for at in order:
                box = layer[at]
                x, y = places[box]
                half = self.boxes[box].width / 2
                low, high = _MARGIN + half, width - half
                if at > 0:
                    other = layer[at - 1]
                    low = places[other][0] + self.boxes[other].width / 2 + _GAP + half
                if at + 1 < len(layer):
                    other = layer[at + 1]
                    high = places[other][0] - self.boxes[other].width / 2 - _GAP - half
                target = min(max(wanted[box], low), high) if low <= high else x
                if (target - x) * step > 0:
                    places[box] = (target, y)

    def _extent(self, layer: Sequence[int]) -> float:
        return sum(self.boxes[box].width for box in layer) + _GAP * max(len(layer) - 1, 0)

    def _layers(self) -> list[list[int]]:
        """The boxes by the longest way to them, sources just above their first use; lines that lead back don't count."""
        from networkx import DiGraph, topological_generations

        graph: DiGraph[int] = DiGraph()
        graph.add_nodes_from(range(len(self.boxes)))
        graph.add_edges_from((line.start, line.end) for line in self.lines if line.start < line.end)
        depth = {box: number for number, layer in enumerate(topological_generations(graph)) for box in layer}
        for box in graph:
            if not graph.in_degree(box) and graph.out_degree(box):
                depth[box] = min(depth[user] for user in graph.successors(box)) - 1
        layers: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for box, number in sorted(depth.items()):
            layers[number].append(box)
        return [row for layer in layers for row in self._rows(layer)]

    def _rows(self, layer: Sequence[int]) -> list[list[int]]:
        """A layer in rows that are not too wide."""
        rows: list[list[int]] = [[]]
        for box in layer:
            if rows[-1] and self._extent([*rows[-1], box]) > _ROOM:
                rows.append([])
            rows[-1].append(box)
        return rows

    # How it looks

    def _way(self, line: Edge, places: Sequence[tuple[float, float]], width: float, rows: _Rows) -> _Way:
        """The way of a line, down and around what is between."""
        (x1, y1), (x2, y2) = places[line.start], places[line.end]
        y1 += _HEIGHT
        head = f"M{x2 - 4:.0f},{y2 - 7:.0f} L{x2:.0f},{y2:.0f} L{x2 + 4:.0f},{y2 - 7:.0f}"
        half = len(line.label) * _LETTER / 2
        if line.start >= line.end:
            side = width - 24
            path = f"M{x1:.0f},{y1:.0f} C{side:.0f},{y1 + 40:.0f} {side:.0f},{y2 - 40:.0f} {x2:.0f},{y2:.0f} {head}"
            return _Way(path, ((width - 40 - half, (y1 + y2) / 2),), back=True)
        if (beside := rows.side(x1, y1, x2, y2)) is not None:
            low, high = y1 + _ROW - _HEIGHT, y2 - _ROW + _HEIGHT
            path = (
                f"M{x1:.0f},{y1:.0f} C{x1:.0f},{(y1 + low) / 2:.0f} {beside:.0f},{(y1 + low) / 2:.0f} {beside:.0f},{low:.0f} "
                f"V{high:.0f} C{beside:.0f},{(high + y2) / 2:.0f} {x2:.0f},{(high + y2) / 2:.0f} {x2:.0f},{y2:.0f} {head}"
            )
            outside = max(beside - 4 - half, 4 + half) if beside < x2 else beside + 4 + half
            steps = range(int(low + 18), int(max(high, low + 19)), 14)
            return _Way(path, tuple([(outside, float(y)) for y in steps[:_MOST_PLACES]]))
        middle = (y1 + y2) / 2
        path = f"M{x1:.0f},{y1:.0f} C{x1:.0f},{middle:.0f} {x2:.0f},{middle:.0f} {x2:.0f},{y2:.0f} {head}"
        parts = (0.5, 0.35, 0.65, 0.25, 0.75, 0.15, 0.85)
        on = [(_between(x1, x1, x2, x2, part), _between(y1, middle, middle, y2, part) + 4) for part in parts]
        aside = [(x + step * (half + 6), y) for x, y in on for step in (1, -1)]
        return _Way(path, (*on, *aside))

    def _words(self, ways: Sequence[_Way], places: Sequence[tuple[float, float]]) -> list[tuple[float, float] | None]:
        """Where the words of each line stand: in the first of its places where nothing else is.

        None where another line between the same boxes says the same.
        """
        taken = Taken(_HEIGHT)
        for box, (x, y) in zip(self.boxes, places, strict=True):
            taken.add((x - box.width / 2, y, x + box.width / 2, y + _HEIGHT))
        found: list[tuple[float, float] | None] = []
        said: set[tuple[int, int, str]] = set()
        for line, way in zip(self.lines, ways, strict=True):
            if (words := (line.start, line.end, line.label)) in said:
                found.append(None)
                continue
            said.add(words)
            half = len(line.label) * _LETTER / 2 + 2
            tried = islice((*way.places, *around(way.places[0], half)), _MOST_PLACES)
            at = next((one for one in tried if taken.is_free(words_at(one, half))), way.places[0])
            taken.add(words_at(at, half))
            found.append(at)
        return found

    def _line(self, number: int, line: Edge, way: _Way, at: tuple[float, float] | None) -> str:
        """What can be clicked on: the words on a piece of paper, and a broad way that is not seen."""
        words = ""
        if at is not None:
            x, y, wide = f"{at[0]:.0f}", at[1], len(line.label) * _LETTER
            words = (
                f'<rect class="under" x="{at[0] - wide / 2:.0f}" y="{y - 10:.0f}" width="{wide:.0f}" height="13" '
                f'fill="#ffffff"/><text x="{x}" y="{y:.0f}" text-anchor="middle" fill="{_INKS[line.state]}" '
                f'font-size="11">{escaped(line.label)}</text>'
            )
        return (
            f'<g data-line="{number}" class="{line.state}" style="cursor:pointer"><title>{escaped(line.label)}</title>'
            f'<path d="{way.path}" fill="none" stroke="#ffffff" stroke-opacity="0" stroke-width="14"/>{words}</g>'
        )

    def _box(self, box: Box, x: float, y: float) -> str:
        left = x - box.width / 2
        edge = _COLOURS[box.state] if box.state != "right" else "#999999"
        heavy = 2.4 if box.state != "right" else 1
        colour = f'<path d="M{left + 3:.0f},{y + 3:.0f} v{_HEIGHT - 6}" stroke="{box.colour}" stroke-width="6"/>'
        return (
            f'<g class="box"><title>{escaped(box.told or box.title)}</title>'
            f'<rect x="{left:.0f}" y="{y:.0f}" width="{box.width:.0f}" height="{_HEIGHT}" rx="4" fill="#f7f7f7" '
            f'stroke="{edge}" stroke-width="{heavy}"/>{colour if box.colour else ""}'
            f'<text x="{left + 14:.0f}" y="{y + 15:.0f}" fill="#222222" font-weight="bold">{escaped(box.title)}</text>'
            f'<text x="{left + 14:.0f}" y="{y + 29:.0f}" fill="#555555">{escaped(box.subtitle)}</text></g>'
        )


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _drawn(line: Edge, way: _Way) -> str:
    """A line; words stand over all of them."""
    heavy = 2.4 if line.state != "right" else 1.2
    dashes = ' stroke-dasharray="5 4"' if way.back else ""
    return f'<path d="{way.path}" fill="none" stroke="{_COLOURS[line.state]}" stroke-width="{heavy}"{dashes}/>'


def _between(first: float, second: float, third: float, last: float, part: float) -> float:
    """The place on a curve (Bezier's, of four points) at a part of it."""
    rest = 1 - part
    return rest**3 * first + 3 * rest * rest * part * second + 3 * rest * part * part * third + part**3 * last


class _Rows:
    """Boxes by their rows: what a line between two of them meets is found without a look at every box.

    `_sides[n]` has, for each row, the left and the right end of the 2^n rows from it on.
    """

    def __init__(self, boxes: Sequence[Box], places: Sequence[tuple[float, float]]) -> None:
        rows: defaultdict[float, list[tuple[float, float]]] = defaultdict(list)
        for box, (x, y) in zip(boxes, places, strict=True):
            rows[y].append((x - box.width / 2, x + box.width / 2))
        self._tops = sorted(rows)
        self._boxes = [sorted(rows[y]) for y in self._tops]
        self._sides = [[(row[0][0], row[-1][1]) for row in self._boxes]]
        while (half := 1 << (len(self._sides) - 1)) * 2 <= len(self._tops):
            last = self._sides[-1]
            self._sides.append([_both(one, other) for one, other in zip(last, last[half:], strict=False)])

    def side(self, x1: float, y1: float, x2: float, y2: float) -> float | None:
        """Where a line passes beside the boxes between its ends; None where none of them is in its way."""
        first, end = bisect_right(self._tops, y1), bisect_left(self._tops, y2 - _HEIGHT)
        low, high = min(x1, x2) - _BESIDE, max(x1, x2) + _BESIDE
        if not any(self._meets(row, low, high) for row in range(first, end)):
            return None
        level = (end - first).bit_length() - 1
        leftmost, rightmost = _both(self._sides[level][first], self._sides[level][end - (1 << level)])
        left, right = leftmost - _BESIDE, rightmost + _BESIDE
        return left if left >= _MARGIN / 2 and abs(left - x1) <= abs(right - x1) else right

    def _meets(self, row: int, low: float, high: float) -> bool:
        """Whether a box of a row, which do not overlap, is between two places."""
        at = bisect_left(self._boxes[row], (high,))
        return at > 0 and self._boxes[row][at - 1][1] > low


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """From the leftmost to the rightmost end of two stretches."""
    return min(one[0], other[0]), max(one[1], other[1])


def _told(detail: Detail | None, pictures: dict[str, int]) -> dict[str, object] | None:
    """A line's detail as data: its words, escaped, and its pictures by number. A picture is stored once."""
    if detail is None:
        return None
    shown = [(html.escape(name), pictures.setdefault(svg, len(pictures))) for name, svg in detail.pictures]
    return {"words": [html.escape(word) for word in detail.words], "pictures": shown}
