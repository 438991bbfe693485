"""A picture that is stepped through: a drawing for each step, and the script `stepped.js` that shows one at a time.

Without scripts all drawings are there, one below the other, each under its name. Nothing is loaded from anywhere.

>>> text = page("a < b", [("before", "<svg></svg>"), ("after", "<svg></svg>")])
>>> text.count("<figure"), text.count("<script"), "a &lt; b" in text
(2, 1, True)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from layoutalg.viz.page import document, image, source
from layoutalg.viz.svg import escaped

__all__ = ["fragment", "page"]


def page(title: str, steps: Sequence[tuple[str, str]]) -> str:
    """A whole HTML page of some steps: names, each with its SVG."""
    return document(title, _views(steps, lambda svg, name: svg))


def fragment(title: str, steps: Sequence[tuple[str, str]]) -> str:
    """The steps for a notebook's output, as images that the script turns into drawings."""
    return _views(steps, lambda svg, name: image(svg, f"{title}: {name}"))


def _views(steps: Sequence[tuple[str, str]], shown: Callable[[str, str], str]) -> str:
    found = hashlib.sha256("".join(svg for _, svg in steps).encode()).hexdigest()[:16]
    figures = "".join(
        f'<figure class="step" style="margin:0 0 24px"><figcaption>{i} of {len(steps)}: {escaped(name)}</figcaption>'
        f'<div style="overflow-x:auto">{shown(svg, name)}</div></figure>'
        for i, (name, svg) in enumerate(steps, 1)
    )
    script = f'<script data-of="{found}">{source("stepped.js", "layoutalg")}();</script>' if len(steps) > 1 else ""
    return f'<div class="layoutalg" data-of="{found}">{figures}{script}</div>'
