"""The interactive picture: SVG, the facts of every cell as data, and the script `picture.js` that joins them.

Hovering a cell marks every element that the same lane holds and says who holds it; buttons switch colouring and
direction. In a notebook the SVG is there as an image first, which the script replaces: a viewer that runs no scripts, or
lets none through, shows the image.

>>> text = page(Layout.parse("d0 = 2@reg, d1 = 2@lane").picture())
>>> text.count("<svg"), text.count("<script"), "http:" in text.replace("http://www.w3.org/2000/svg", "")
(2, 1, False)

All colours are worked out in Python, so that the page shows what the SVG shows; the script knows no layout.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from layoutalg.viz.colouring import paint
from layoutalg.viz.colours import ink
from layoutalg.viz.scene import READABLE
from layoutalg.viz.shapes import Scene
from layoutalg.viz.svg import DARK_INK, DARK_PAPER, escaped, svg_document
from layoutalg.viz.tooltips import holders

if TYPE_CHECKING:
    from layoutalg.viz.picture import Picture

__all__ = ["document", "fragment", "image", "marked", "page", "source"]


def document(title: str, body: str) -> str:
    """A whole HTML page around a body, for light and dark screens and for phones.

    >>> "<title>a &lt; b</title>" in document("a < b", "<p>words</p>")
    True
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escaped(title)}</title>\n"
        "<style>:root { color-scheme: light dark; } body { margin: 16px; background: #ffffff; color: #222222; }\n"
        "@media (max-width: 440px) { body { margin: 1px; } }\n"
        f"@media (prefers-color-scheme: dark) {{ body {{ background: {DARK_PAPER}; color: {DARK_INK}; }} }}</style></head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def page(picture: Picture) -> str:
    """A whole HTML page that needs nothing else, with the SVG inline."""
    return document(picture.title, _views(picture, str))


def fragment(picture: Picture) -> str:
    """The picture for a notebook's output: images that the script turns into the interactive picture."""
    return _views(picture, lambda svg: image(svg, picture.title))


def _views(picture: Picture, shown: Callable[[str], str]) -> str:
    """The SVG of each direction as it is shown, and the script that switches between them."""
    scenes = _scenes(picture)
    views = "".join(
        f'<div class="view" style="overflow-x:auto" data-direction="{direction}"'
        f"{'' if direction == picture.direction else ' hidden'}>"
        f"{shown(svg_document(scene))}</div>"
        for direction, scene in scenes.items()
    )
    return f'<div class="layoutalg" data-of="{_identity(scenes)}">{views}{_script(picture, scenes)}</div>'


def image(svg: str, name: str) -> str:
    """An SVG document as an image of its own, for viewers that let no inline SVG through; it shrinks while it can be read."""
    coded = base64.b64encode(svg.encode()).decode()
    wide = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
    least = f";min-width:{round(float(wide[1]) * READABLE)}px" if wide else ""
    return f'<img alt="{escaped(name)}" style="max-width:100%{least}" src="data:image/svg+xml;base64,{coded}">'


def _scenes(picture: Picture) -> dict[str, Scene]:
    """The scene of each direction, the picture's own first."""
    others = [one for one in picture.directions if one != picture.direction]
    whole = replace(picture, paged=False)
    return {direction: whole.scene(direction) for direction in (picture.direction, *others)}


def _script(picture: Picture, scenes: dict[str, Scene]) -> str:
    data = {
        "colour": picture.by,
        "colourings": list(picture.colourings),
        "direction": picture.direction,
        "directions": {direction: _named(direction, scene) for direction, scene in scenes.items()},
        "views": {direction: _view(scene, picture.colourings) for direction, scene in scenes.items()},
    }
    # `<` never stands in the script, so no text can end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script data-of="{_identity(scenes)}">{source("picture.js", "layoutalg")}({text});</script>'


def _identity(scenes: dict[str, Scene]) -> str:
    """A name for the picture, the same for the same picture: it ties a script to its place."""
    found = hashlib.sha256()
    for scene in scenes.values():
        found.update(svg_document(scene).encode())
    return found.hexdigest()[:16]


def _named(direction: str, scene: Scene) -> str:
    """What the button of a direction says."""
    if direction == "tensor":
        return "elements"
    return "registers by lanes" if scene.frames[0].grid.of_machine else "places"


def _view(scene: Scene, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Which cells each lane holds, and what colours the cells have, in the order of the scene's cells.

    A cell's group is the list of cells that are marked with it: those of all grids.
    """
    groups, members = marked(scene)
    return {"groups": groups, "members": members, "colours": {kind: _indexed(scene, kind) for kind in kinds}}


def marked(scene: Scene) -> tuple[list[int], list[list[int]]]:
    """The group of each cell, and the cells that are marked with each group: all that the same lane holds.

    >>> marked(Layout.parse("d0 = 2@reg, d1 = 2@lane").picture().scene())
    ([0, 1, 0, 1], [[0, 2], [1, 3]])
    """
    keys: list[tuple[int, ...]] = []
    held: dict[tuple[int, ...], list[int]] = {}
    for frame in scene.frames:
        mine, cells = holders(frame.grid)
        for key, members in cells.items():
            held.setdefault(key, []).extend(len(keys) + i for i in sorted(members))
        keys += mine
    numbers = {key: i for i, key in enumerate(held)}
    return [numbers[key] for key in keys], [*held.values()]


def _indexed(scene: Scene, kind: str) -> dict[str, Any]:
    """The colours in use, the text's colour on each, and which of them each cell has."""
    cells = [colour for frame in scene.frames for row in paint(frame.grid, kind) for colour in row]
    numbers = {colour: i for i, colour in enumerate(dict.fromkeys(cells))}
    return {"palette": [*numbers], "inks": [*map(ink, numbers)], "cells": [numbers[one] for one in cells]}


@cache
def source(name: str, root: str) -> str:
    """A page's script for an element of the class `root`, after what all scripts begin with (`opening.js`)."""
    script, opening = (files("layoutalg.viz").joinpath(one).read_text(encoding="utf-8") for one in (name, "opening.js"))
    marked = "  // opening.js: root, the element that this script stands in\n"
    return script.replace(marked, opening.replace("ROOT", f".{root}")).strip().removesuffix(";")
