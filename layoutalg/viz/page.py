"""The interactive picture: SVG, the facts of every cell as data, and the script `picture.js` that joins them.

Hovering a cell marks every element that the same lane holds and says who holds it; buttons switch colouring and
direction. In a notebook the SVG is there as an image first, which the script replaces: a viewer that runs no scripts, or
lets none through, shows the image.

>>> from layoutalg.core import Layout
>>> text = page(Layout.parse("d0 = 2@reg, d1 = 2@lane").picture())
>>> text.count("<svg"), text.count("<script"), "http:" in text.replace("http://www.w3.org/2000/svg", "")
(2, 1, False)

All colours are worked out in Python, so that the page shows what the SVG shows; the script knows no layout.
"""

from __future__ import annotations

import base64
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

from layoutalg.viz.colouring import paint
from layoutalg.viz.colours import hexes, ink
from layoutalg.viz.grid import Grid
from layoutalg.viz.picture import Picture
from layoutalg.viz.scene import Scene
from layoutalg.viz.svg import svg_document

__all__ = ["fragment", "page"]

_TITLES = {"tensor": "tensor to hardware", "hardware": "registers by lanes"}


def page(picture: Picture) -> str:
    """A whole HTML page that needs nothing else, with the SVG inline.

    >>> from layoutalg.core import Layout
    >>> "<title>a &lt; b</title>" in page(Layout.parse("d0 = 2@lane").picture(title="a < b"))
    True
    """
    scenes = _scenes(picture)
    drawings = "".join(
        f'<div class="view" data-direction="{direction}"{"" if direction == picture.direction else " hidden"}>'
        f"{svg_document(scene)}</div>"
        for direction, scene in scenes.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        f"<title>{html.escape(picture.title)}</title>\n"
        "<style>body { margin: 16px; background: #ffffff; color: #222222; }</style></head>\n"
        f'<body>\n<div class="layoutalg">{drawings}{_script(picture, scenes)}</div>\n</body>\n</html>\n'
    )


def fragment(picture: Picture) -> str:
    """The picture for a notebook's output: images that the script turns into the interactive picture.

    >>> from layoutalg.core import Layout
    >>> fragment(Layout.parse("d0 = 2@lane").picture())[:66]
    '<div class="layoutalg"><div class="view" data-direction="tensor"><'
    """
    scenes = _scenes(picture)
    images = "".join(
        f'<div class="view" data-direction="{direction}"{"" if direction == picture.direction else " hidden"}>'
        f'<img alt="{html.escape(picture.title)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{_coded(scene)}"></div>'
        for direction, scene in scenes.items()
    )
    return f'<div class="layoutalg">{images}{_script(picture, scenes)}</div>'


def _coded(scene: Scene) -> str:
    return base64.b64encode(svg_document(scene, sentences=False).encode()).decode()


def _scenes(picture: Picture) -> dict[str, Scene]:
    """The scene of each direction, the picture's own first."""
    others = [one for one in picture.directions if one != picture.direction]
    return {direction: picture.scene(direction) for direction in (picture.direction, *others)}


def _script(picture: Picture, scenes: dict[str, Scene]) -> str:
    data = {
        "colour": picture.colour or picture.colourings[0],
        "colourings": list(picture.colourings),
        "direction": picture.direction,
        "directions": {direction: _TITLES[direction] for direction in scenes},
        "views": {
            direction: [_grid(frame.grid, picture.colourings) for frame in scene.frames]
            for direction, scene in scenes.items()
        },
    }
    # `<` never stands in the script, so no text can end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return f"<script>{_source()}({text});</script>"


def _grid(grid: Grid, kinds: tuple[str, ...]) -> dict[str, Any]:
    """The facts of one grid's cells, row by row, and their colours under each colouring."""
    return {
        "elements": [grid.facts[name].reshape(-1).tolist() for name in grid.elements],
        "names": grid.axes,
        "owners": [grid.facts[axis].reshape(-1).tolist() for axis in grid.axes],
        "copies": [list(copy) for copy in grid.copies],
        "copies_of": grid.copies_of,
        "tile": list(grid.tile) if grid.of_machine or grid.tile_known else [],
        "holder": [d for d, axis in enumerate(grid.axes) if axis in ("sg", "lane")] or [*range(len(grid.axes))],
        "colours": {kind: _indexed(grid, kind) for kind in kinds},
    }


def _indexed(grid: Grid, kind: str) -> dict[str, Any]:
    """The colours in use, the text's colour on each, and which of them each cell has."""
    colours = paint(grid, kind).colours
    cells, inks = hexes(colours), hexes(ink(colours))
    palette = dict(zip(cells, inks, strict=True))
    numbers = {colour: i for i, colour in enumerate(palette)}
    return {"palette": [*palette], "inks": [*palette.values()], "cells": [numbers[one] for one in cells]}


@cache
def _source() -> str:
    return files("layoutalg.viz").joinpath("picture.js").read_text(encoding="utf-8").strip().removesuffix(";")
