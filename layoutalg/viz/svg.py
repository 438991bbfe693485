"""SVG: a scene as text. Every word that comes from outside is escaped; nothing is loaded from anywhere.

On a dark page paper and pale cells are dark and words are light; other cells keep their colours: a style of the drawing's own
asks the reader's system, so that the same file serves both.

>>> text = svg_document(Layout.parse("d0 = 2@reg, d1 = 2@lane").picture(title='a < b & "c"').scene())
>>> "a &lt; b &amp; &quot;c&quot;" in text
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from layoutalg.viz.colours import DARK_PALE, PALE, PALE_INK
from layoutalg.viz.shapes import INK, PAPER, Cell, Legend, Line, Scene, Words, drawn_by

__all__ = ["DARK_INK", "DARK_PAPER", "DARK_STYLE", "FONT", "escaped", "legal", "still", "svg_document"]

DARK_PAPER, DARK_INK = "#16181c", "#d5d8de"
"""Paper and words on a dark page."""
DARK_STYLE = (
    f"<style>@media (prefers-color-scheme:dark){{.drawn .paper{{fill:{DARK_PAPER}}}.drawn .cells{{stroke:{DARK_PAPER}}}"
    f".drawn .words text,.drawn .legend text,.drawn>text:not([fill]){{fill:{DARK_INK}}}"
    f".drawn .lines,.drawn .borders{{stroke:{DARK_INK}}}.drawn .borders [stroke='{PAPER}']{{stroke:{DARK_PAPER}}}"
    f'.drawn :is(rect,path)[fill="{PALE}"]{{fill:{DARK_PALE}}}.drawn .labels [fill="{PALE_INK}"]{{fill:{DARK_INK}}}}}</style>'
)
"""What a drawing of the class "drawn" looks like on a dark page; on paper, and where no style is read, it is light."""
FONT = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"

_SENTENCE = re.compile("><title>[^<]*</title></rect>")


def escaped(text: str) -> str:
    """Text for XML, in an element or between double quotes; what XML cannot hold becomes U+FFFD.

    >>> escaped('<b title="1">' + chr(0))
    '&lt;b title=&quot;1&quot;&gt;�'
    """
    return escape(legal(text), {'"': "&quot;", "\n": " ", "\r": " ", "\t": " "})


def still(svg: str) -> str:
    """A drawing without the sentences of its cells, for an image: browsers show titles of what stands in the page itself alone.

    >>> still('<rect x="1"><title>lane 0</title></rect>')
    '<rect x="1"/>'
    """
    return _SENTENCE.sub("/>", svg)


def legal(text: str) -> str:
    """Text with U+FFFD for what XML and files cannot hold."""
    return "".join(one if _is_legal(ord(one)) else "\N{REPLACEMENT CHARACTER}" for one in text)


def _is_legal(code: int) -> bool:
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000


def svg_document(scene: Scene, *, titles: bool = True) -> str:
    """The scene as one SVG element: background, cells, labels, words, lines, and a legend per colouring (one is shown).

    Every cell has a title, which browsers show under the pointer, but not of an image: there `titles` can be left out.
    """
    wide, high, title = _number(scene.width), _number(scene.height), escaped(scene.title)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
            f'role="img" aria-label="{title}" class="drawn" font-family="{FONT}">',
            f"<title>{title}</title>",
            DARK_STYLE,
            f'<rect class="paper" width="{wide}" height="{high}" fill="#ffffff"/>',
            '<g class="cells" stroke="#ffffff" stroke-width="0.7">',
            *(map(_rect, scene.cells) if titles else _plain(scene.cells)),
            "</g>",
            '<g class="labels" font-size="11" text-anchor="middle" fill="#000000" pointer-events="none">',
            *(_label(cell) for cell in scene.cells if cell.label),
            *(_words(one) for one in scene.words if one.text and one.over),
            "</g>",
            *_lines("borders", [one for one in scene.lines if one.over]),
            *_lines("lines", [one for one in scene.lines if not one.over]),
            '<g class="words" pointer-events="none">',
            *(_words(one) for one in scene.words if one.text and not one.over),
            "</g>",
            *(_legend(one, one.by == scene.by) for one in scene.legends),
            "</svg>",
        ]
    )


def _rect(cell: Cell) -> str:
    place = f'x="{_number(cell.x)}" y="{_number(cell.y)}" width="{_number(cell.width)}" height="{_number(cell.height)}"'
    return f'<rect {place} fill="{cell.fill}"><title>{escaped(cell.sentence)}</title></rect>'


def _plain(cells: Sequence[Cell]) -> Iterator[str]:
    """Cells without titles, those of a colour as one path: a third of their size."""
    steps: dict[str, list[str]] = {}
    for cell in cells:
        wide, high = _number(cell.width), _number(cell.height)
        steps.setdefault(cell.fill, []).append(f"M{_number(cell.x)} {_number(cell.y)}h{wide}v{high}h-{wide}z")
    for fill, some in steps.items():
        yield f'<path fill="{fill}" d="{"".join(some)}"/>'


def _label(cell: Cell) -> str:
    x, y = _number(cell.x + cell.width / 2), _number(cell.y + cell.height / 2 + 4)
    colour = "" if cell.ink == "#000000" else f' fill="{cell.ink}"'
    return f'<text x="{x}" y="{y}"{colour}>{escaped(cell.label)}</text>'


def _words(words: Words) -> str:
    extra = ' font-weight="bold"' if words.bold else ""
    if words.anchor != "start" or words.over:  # a label stands in the middle otherwise
        extra += f' text-anchor="{words.anchor}"'
    place = f'x="{_number(words.x)}" y="{_number(words.y)}" font-size="{_number(words.size)}"'
    return f'<text {place} fill="{words.fill}"{extra}>{escaped(words.text)}</text>'


def _lines(name: str, lines: Sequence[Line]) -> Iterator[str]:
    """The lines of a class, those of one colour and width as one path, those in ink last."""
    if not lines:
        return
    yield f'<g class="{name}" stroke="{INK}" stroke-linecap="square" fill="none" pointer-events="none">'
    for (inked, width, fill), group in groupby(sorted(lines, key=drawn_by), key=drawn_by):
        steps = "".join(f"M{_number(a.x)} {_number(a.y)}L{_number(a.to_x)} {_number(a.to_y)}" for a in group)
        colour = "" if inked else f' stroke="{fill}"'
        yield f'<path{colour} stroke-width="{_number(width)}" d="{steps}"/>'
    yield "</g>"


def _legend(legend: Legend, shown: bool) -> str:
    hidden = "" if shown else ' display="none"'
    swatches = "".join(
        f'<rect x="{_number(one.x)}" y="{_number(one.y)}" width="{_number(one.size)}" height="{_number(one.size)}" '
        f'fill="{one.fill}"/>'
        for one in legend.swatches
    )
    words = "".join(map(_words, legend.words))
    return f'<g class="legend" data-by="{escaped(legend.by)}" pointer-events="none"{hidden}>{swatches}{words}</g>'


def _number(value: float) -> str:
    """A number with at most one digit behind the point."""
    return f"{value:.1f}".removesuffix(".0")
