"""The picture of a conversion: step by step, which lane gets a word from which, as arrows.

Each shuffle is a strip: the lanes that send above, the lanes that receive below. Lanes that keep what they have show no arrow.

>>> from layoutalg.conversion import convert
>>> plan = convert(Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg"))
>>> arrows_svg(plan).count("<path")             # three shuffles of four lanes
12
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from layoutalg.conversion.program.steps import Barrier, Load, Select, Shuffle, Store
from layoutalg.core.limits import MOST_LETTERS, MOST_STRIPS
from layoutalg.core.plurals import counted
from layoutalg.viz.colours import hexes, ink, ramp
from layoutalg.viz.svg import escaped

if TYPE_CHECKING:
    from layoutalg.conversion.plan import ConversionPlan

__all__ = ["arrows_svg"]

_WIDTH, _HEIGHT, _DROP, _LEFT, _MARGIN = 26, 18, 46, 196, 12
_LETTER = 6.7
"""The width of a letter, 11 pixels high."""
_FONT = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"


def arrows_svg(plan: ConversionPlan) -> str:
    """The conversion as an SVG document: a strip per shuffle, a line per passage through memory; the first 20 of many.

    Of subgroups whose lanes differ, subgroup 0 is drawn.

    >>> from layoutalg.conversion import convert
    >>> "nothing moves" in arrows_svg(convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")))
    True
    """
    lanes = plan.programs[0].lanes
    colours = ramp([i / max(lanes - 1, 1) for i in range(lanes)])
    fills, inks = hexes(colours), hexes(ink(colours))
    lines = [line for line in str(plan).splitlines() if not line.startswith(("source", "destination"))]
    lines = [f"{plan.source}  to  {plan.destination}", *(part for line in lines for part in _folded(line))]
    if any(isinstance(step, Shuffle) and (any(step.sg) or step.others) for one in plan.programs for step in one.steps):
        lines.append(f"{'drawn':12} subgroup 0; the lanes of others differ")
    width = max(_LEFT + lanes * _WIDTH + _MARGIN, 2 * _MARGIN + _LETTER * max(map(len, lines)))
    found: list[str] = []
    y = _MARGIN
    for i, line in enumerate(lines):
        y += 16
        bold = ' font-weight="bold"' if i == 0 else ""
        found.append(f'<text x="{_MARGIN}" y="{y}" font-size="11" xml:space="preserve"{bold}>{escaped(line)}</text>')
    y += 14
    strips = list(_strips(plan))
    for text, sources in strips[:MOST_STRIPS]:
        if sources is None:
            y += 20
            found.append(f'<text x="{_MARGIN}" y="{y}" font-size="11">{escaped(text)}</text>')
            y += 8
            continue
        found.append(f'<text x="{_MARGIN}" y="{y + _DROP / 2 + 14}" font-size="11">{escaped(text)}</text>')
        for lane in range(lanes):
            x = _LEFT + lane * _WIDTH
            for top, number in ((y, lane), (y + _HEIGHT + _DROP, sources[lane])):
                found.append(
                    f'<rect x="{x}" y="{top}" width="{_WIDTH - 2}" height="{_HEIGHT}" fill="{fills[number]}"/>'
                    f'<text x="{x + (_WIDTH - 2) / 2}" y="{top + 13}" font-size="10" text-anchor="middle" '
                    f'fill="{inks[number]}">{number}</text>'
                )
            if sources[lane] != lane:
                start = _LEFT + sources[lane] * _WIDTH + _WIDTH / 2 - 1
                end, low, high = x + _WIDTH / 2 - 1, y + _HEIGHT + 1, y + _HEIGHT + _DROP - 3
                found.append(
                    f'<path d="M{start} {low}C{start} {low + 20} {end} {high - 20} {end} {high}m-3 -5l3 5l3 -5" '
                    f'stroke="{fills[sources[lane]]}" stroke-width="1.4" fill="none"/>'
                )
        y += 2 * _HEIGHT + _DROP + 14
    if len(strips) > MOST_STRIPS:
        y += 16
        found.append(
            f'<text x="{_MARGIN}" y="{y}" font-size="11">and {counted(len(strips) - MOST_STRIPS, "more step")}</text>'
        )
    y += _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" height="{y}" role="img" '
        f'aria-label="conversion" font-family="{_FONT}"><rect width="{width}" height="{y}" fill="#ffffff"/>'
        + "".join(found)
        + "</svg>"
    )


def _folded(line: str) -> list[str]:
    """A line of a plan in lines that fit, continued below its text."""
    if len(line) <= MOST_LETTERS:
        return [line]
    return textwrap.wrap(line, MOST_LETTERS, subsequent_indent=" " * 13, break_long_words=False, break_on_hyphens=False)


def _strips(plan: ConversionPlan) -> list[tuple[str, tuple[int, ...] | None]]:
    """What to draw, in order: a shuffle with the lane that each lane reads, or a line of text; selects are counted."""
    found: list[tuple[str, tuple[int, ...] | None]] = []
    selects = 0
    for program in plan.programs:
        for step in program.steps:
            match step:
                case Select():
                    selects += 1
                    continue
                case Shuffle():
                    text = f"shuffle {sum(sources is not None for _, sources in found) + 1}"
                    lanes = tuple(step.sources(program.subgroups)[0].tolist())
                case Store(words):
                    text, lanes = f"store {counted(len(words), 'word')} per lane to shared memory", None
                case Load(words):
                    text, lanes = f"load {counted(len(words), 'word')} per lane", None
                case Barrier():
                    text, lanes = "barrier", None
                case _:
                    continue
            found.append((f"{text}, after {counted(selects, 'select')}" if selects else text, lanes))
            selects = 0
    if selects:
        found.append((f"then {counted(selects, 'select')}", None))
    return found
