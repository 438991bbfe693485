"""What a change did to a text, line by line: lines that went begin with `-` and stand on one colour, new ones with `+`.

>>> import re
>>> from html import unescape
>>> shown = changed_lines("%z = amx.tile_zero\\n%y = a", "%z = x86.amx.tile_zero\\n  %y = a")
>>> [line for line in unescape(re.sub("<[^>]*>", "\\n", shown)).splitlines() if line.strip()]
['1 line went (-), 1 came (+)', '- %z = amx.tile_zero', '+ %z = x86.amx.tile_zero', '  %y = a']

Lines that differ in blanks alone are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from layoutalg.core.limits import MOST_COMPARED_LINES
from layoutalg.core.plurals import counted
from layoutalg.viz.panels import DARK, MARKED
from layoutalg.viz.svg import escaped

__all__ = ["changed_lines"]

_AROUND = 2
"""Lines that stay, before and after what changed."""
_LINE = "display:block;white-space:pre-wrap"


def changed_lines(before: str, after: str) -> str:
    """The changed lines of a text as HTML, with those around them; empty for texts of more than 2,000 lines."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > MOST_COMPARED_LINES:
        return ""
    groups = [
        *SequenceMatcher(None, [*map(_plain, old)], [*map(_plain, new)], autojunk=False).get_grouped_opcodes(_AROUND)
    ]
    drawn: list[str] = []
    went = came = 0
    for number, group in enumerate(groups):
        drawn += [f'<span style="{_LINE};opacity:0.6">...</span>'] * (number > 0)
        for kind, i, j, k, n in group:
            if kind == "equal":
                drawn += [f'<span style="{_LINE};opacity:0.75">  {escaped(line)}</span>' for line in new[k:n]]
                continue
            went, came = went + j - i, came + n - k
            drawn += [*_marked("-", old[i:j], MARKED), *_marked("+", new[k:n], DARK)]
    told = f"{counted(went, 'line')} went (-), {came} came (+)" if groups else "nothing changed"
    lines = f'<pre style="max-height:40em;overflow:auto;margin:0">{"".join(drawn)}</pre>' if drawn else ""
    return f'<div style="font-weight:bold">{told}</div>{lines}'


def _marked(sign: str, lines: list[str], colour: str) -> Iterator[str]:
    for line in lines:
        yield f'<span style="{_LINE};background:{colour};color:#000000">{sign} {escaped(line)}</span>'


def _plain(line: str) -> str:
    return " ".join(line.split())
