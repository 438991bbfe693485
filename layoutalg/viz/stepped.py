"""A picture that is stepped through: drawings for each step, and the script `stepped.js` that shows one step at a time.

Drawings of a step stand side by side where the page is wide. Without scripts all steps are there, one below the other, each
under its name. Nothing is loaded from anywhere.

>>> text = page("a < b", [("before", ["<svg></svg>"]), ("after", ["<svg></svg>", "<svg></svg>"])])
>>> text.count("<figure"), text.count("<svg"), text.count("<script"), "a &lt; b" in text
(2, 3, 1, True)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from layoutalg.viz.page import document, image, source
from layoutalg.viz.svg import FONT, escaped

__all__ = ["fragment", "page"]

_CAPTION = f"margin:0 12px;font:bold 14px {FONT}"
Steps = Sequence[tuple[str, Sequence[str]]]


def page(title: str, steps: Steps) -> str:
    """A whole HTML page of some steps: names, each with its SVGs."""
    return document(title, _views(steps, lambda svg, name: svg))


def fragment(title: str, steps: Steps) -> str:
    """The steps for a notebook's output, as images that the script turns into drawings."""
    return _views(steps, lambda svg, name: image(svg, f"{title}: {name}"))


def _views(steps: Steps, shown: Callable[[str, str], str]) -> str:
    found = hashlib.sha256("".join(svg for _, drawn in steps for svg in drawn).encode()).hexdigest()[:16]
    figures = "".join(
        f'<figure class="step" style="margin:0 0 24px"><figcaption style="{_CAPTION}">'
        f"{i} of {len(steps)}: {escaped(name)}</figcaption>"
        '<div style="display:flex;flex-wrap:wrap;gap:4px;align-items:flex-start">'
        f"{''.join(_part(shown(svg, name)) for svg in drawn)}</div></figure>"
        for i, (name, drawn) in enumerate(steps, 1)
    )
    script = f'<script data-of="{found}">{source("stepped.js", "layoutalg")}();</script>' if len(steps) > 1 else ""
    return f'<div class="layoutalg" data-of="{found}">{figures}{script}</div>'


def _part(drawn: str) -> str:
    style = "flex:1 1 500px;min-width:0;max-width:max-content;overflow-x:auto"
    return f'<div class="part" style="{style}">{drawn}</div>'
