"""A page that a picture is drawn on, from top to bottom: text, coloured cells with what they say, lines; then its SVG.

>>> page = Page("a < b")
>>> page.line("two cells")
>>> page.cell(10, page.y, 20, 16, "#000000", "1", title="the first")
>>> "a &lt; b" in page.svg(), "<title>the first</title>" in page.svg()
(True, True)

Every word is escaped, and black or white, whichever is read better on its cell.
"""

from __future__ import annotations

import textwrap

from layoutalg.viz.colours import hue_of, ink, ramp, shade
from layoutalg.viz.svg import DARK_INK, DARK_STYLE, FONT, escaped

__all__ = ["BLACK", "LETTER", "MARGIN", "RED", "WIDEST", "Page", "lane_colours", "side_by_side"]

MARGIN = 12
LETTER = 0.61
"""The width of a letter, for a height of 1."""
WIDEST = 620.0
"""How wide a page may be: on a phone of 400 pixels, letters of 11 pixels are still 7 pixels high."""
_LEAST = 10.4
"""The smallest letters that are drawn, in pixels: a cell without room for them has a tooltip alone."""
BLACK, RED = "#000000", "#c00000"
"""Frames: of words that are passed on, and of conflicts; red on white has a contrast of 6.5 to 1."""
_DARK_STYLE = (
    f"<style>@media (prefers-color-scheme:dark){{.drawn>path,.drawn>[stroke='{BLACK}']{{stroke:{DARK_INK}}}"
    f".drawn>[stroke='{RED}']{{stroke:#ff7b72}}}}</style>"
)
"""Arrows and frames on a dark page."""


def lane_colours(lanes: int, subgroups: int = 1) -> list[list[str]]:
    """A colour for each lane of each subgroup: a ramp for one subgroup, a hue for each of several."""
    strengths = [lane / max(lanes - 1, 1) for lane in range(lanes)]
    if subgroups == 1:
        return [[*map(ramp, strengths)]]
    return [[shade(hue_of(sg), strength) for strength in strengths] for sg in range(subgroups)]


def side_by_side(count: int, longest: int, left: float, least: float = 24) -> tuple[int, float]:
    """How many of some columns stand side by side, a power of two unless all do, and how wide each is for its letters.

    >>> side_by_side(16, 5, 46), side_by_side(32, 5, 46)
    ((16, 34.375), (8, 36.55))
    """
    wide = max(float(LETTER * 11 * longest + 3), float(least))
    room = WIDEST - 2 * MARGIN - left
    fits = max(int(room / wide), 1)
    if count <= fits + 1:
        return count, min(wide, room / count)
    return 1 << fits.bit_length() - 1, wide


class Page:
    """A picture while it is drawn; `y` is where what comes next begins."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.y: float = MARGIN
        self.width: float = 2 * MARGIN
        self._parts: list[str] = []

    def line(self, text: str, *, bold: bool = False, size: float = 11) -> None:
        """Add a line of text at the bottom of the page, wrapped where it is longer than the page is wide."""
        most = int((WIDEST - 2 * MARGIN) / (LETTER * size))
        for part in (
            textwrap.wrap(text, most, drop_whitespace=False, subsequent_indent="  ") if len(text) > most else [text]
        ):
            self.y += size + 5
            self.text(MARGIN, self.y, part, bold=bold, size=size)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        bold: bool = False,
        size: float = 11,
        anchor: str = "start",
        fill: str = "",
    ) -> None:
        """Words at a place."""
        weight = ' font-weight="bold"' if bold else ""
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        colour = f' fill="{fill}"' if fill else ""
        self._parts.append(
            f'<text x="{_number(x)}" y="{_number(y)}" font-size="{_number(size)}" xml:space="preserve"{weight}{where}{colour}>'
            f"{escaped(text)}</text>"
        )
        if anchor == "start":
            self.width = max(self.width, x + LETTER * size * len(text) + MARGIN)

    def cell(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        *lines: str,
        title: str = "",
        size: float = 11,
        edge: str = "",
    ) -> None:
        """A coloured cell with one or two lines of text, a tooltip (`title`), and a frame of colour `edge`."""
        frame = f' stroke="{edge}" stroke-width="1.8"' if edge else ""
        inset = 1 if edge else 0
        told = f"<title>{escaped(title)}</title>" if title else ""
        self._parts.append(
            f'<rect x="{_number(x + inset)}" y="{_number(y + inset)}" width="{_number(width - 1 - 2 * inset)}" '
            f'height="{_number(height - 1 - 2 * inset)}" fill="{fill}"{frame}>{told}</rect>'
        )
        written = [line for line in lines if line]
        step = (height - 1 - 3 * inset) / max(len(written), 1)
        for i, line in enumerate(written):
            fitting = min(size, (width - 2) / (LETTER * len(line)), step)
            if fitting < _LEAST:
                continue
            place = (
                f'x="{_number(x + (width - 1) / 2)}" y="{_number(y + 1.5 * inset + step * (i + 0.5) + fitting * 0.36)}"'
            )
            self._parts.append(
                f'<text {place} font-size="{fitting:.1f}" text-anchor="middle" fill="{ink(fill)}" pointer-events="none">'
                f"{escaped(line)}</text>"
            )
        self.width = max(self.width, x + width + MARGIN)

    def path(self, steps: str, colour: str) -> None:
        """A line along SVG path steps."""
        self._parts.append(f'<path d="{steps}" stroke="{colour}" stroke-width="1.4" fill="none"/>')

    def svg(self) -> str:
        """The page as an SVG document."""
        wide, high = _number(self.width), _number(self.y + MARGIN)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" '
            f'aria-label="{escaped(self.label)}" class="drawn" font-family="{FONT}">'
            f'{DARK_STYLE}{_DARK_STYLE}<rect class="paper" width="{wide}" height="{high}" fill="#ffffff"/>'
            + "".join(self._parts)
            + "</svg>"
        )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
