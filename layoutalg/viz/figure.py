"""matplotlib: a scene as a figure, for papers. Titles and headers stay text in a PDF; nothing depends on a display.

>>> drawn = figure(Layout.parse("d0 = 8@reg, d1 = 8@lane").picture())
>>> drawn.axes[0].collections[0].get_facecolors().shape             # all cells in one collection
(64, 4)

A full picture of more cells than have labels is one image, a pixel per cell.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Patch, Rectangle
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from layoutalg.core.limits import LARGEST_PNG as _LARGEST
from layoutalg.core.limits import LARGEST_SCENE as _LARGEST_SCENE
from layoutalg.core.limits import MOST_LABELS
from layoutalg.core.moves import Plane
from layoutalg.core.plurals import spoken
from layoutalg.viz.colouring import legend, scheme
from layoutalg.viz.colours import channels
from layoutalg.viz.grid import AddressPlane, Grid
from layoutalg.viz.shapes import Line, Scene, drawn_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.viz.picture import Picture

__all__ = ["LayoutFigure", "figure", "save"]

_INCH = 96
_POINTS = 72 / _INCH
_LABEL = 11
_ADVANCE = 0.602
"""The width of a character of DejaVu Sans Mono, which comes with matplotlib, by its height."""
_FONTS = ["DejaVu Sans Mono", "DejaVu Sans"]
_DOTS_PER_INCH = 144
_MOST_COLOURS = 1 << 16


class LayoutFigure(Figure):
    """A figure that a notebook shows as it is."""

    def _repr_png_(self) -> bytes:
        found = io.BytesIO()
        save(self, found, "", "png")
        return found.getvalue()


def figure(picture: Picture) -> Figure:
    """The picture as a figure, at 96 pixels of its scene to the inch."""
    grids = [grid for grid, _, _ in picture.grids()]
    if sum(grid.shape[0] * grid.shape[1] for grid in grids) > MOST_LABELS:
        return _images(picture, grids)
    scene = picture.scene()
    if max(scene.width, scene.height) > _LARGEST_SCENE:
        return _images(picture, grids)
    made: Any = LayoutFigure(figsize=(scene.width / _INCH, scene.height / _INCH))
    axes = made.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.set_axis_off()
    _draw(axes, scene)
    return made


def _draw(axes: Any, scene: Scene) -> None:
    corners = [
        [(c.x, c.y), (c.x + c.width, c.y), (c.x + c.width, c.y + c.height), (c.x, c.y + c.height)] for c in scene.cells
    ]
    axes.add_collection(
        PolyCollection(corners, facecolors=[c.fill for c in scene.cells], edgecolors="white", linewidths=0.5)
    )
    lines: list[Line] = sorted(scene.lines, key=drawn_by)
    for _, group in groupby(lines, key=drawn_by):
        alike = [*group]
        ends = [[(one.x, one.y), (one.to_x, one.to_y)] for one in alike]
        widths = alike[0].width * _POINTS
        axes.add_collection(LineCollection(ends, colors=alike[0].fill, linewidths=widths, capstyle="projecting"))
    _labels(axes, scene)
    style: dict[str, Any] = {"family": _FONTS, "parse_math": False}
    shown = next(one for one in scene.legends if one.by == scene.by)
    for swatch in shown.swatches:
        axes.add_patch(Rectangle((swatch.x, swatch.y), swatch.size, swatch.size, facecolor=swatch.fill))
    sides = {"start": "left", "middle": "center", "end": "right"}
    for words in (*scene.words, *shown.words):
        axes.text(
            words.x,
            words.y,
            words.text,
            size=words.size * _POINTS,
            color=words.fill,
            ha=sides[words.anchor],
            va="baseline",
            weight="bold" if words.bold else "normal",
            **style,
        )


def _labels(axes: Any, scene: Scene) -> None:
    """The cells' labels, a character at a time: all its places are one collection, which is many times faster than texts."""
    font = FontProperties(family=_FONTS)
    size = _LABEL * _POINTS
    step = _ADVANCE * _LABEL
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell in scene.cells:
        start = cell.x + (cell.width - step * len(cell.label)) / 2
        for i, character in enumerate(cell.label):
            if not character.isspace():  # it has no outline
                places.setdefault((character, cell.ink), []).append((start + i * step, cell.y + cell.height / 2 + 4))
    for (character, colour), offsets in places.items():
        glyph = TextPath((0, 0), character, size=size, prop=font)
        axes.add_collection(
            PathCollection(
                [glyph],
                offsets=offsets,
                offset_transform=axes.transData,
                transform=Affine2D().scale(1 / 72) + axes.figure.dpi_scale_trans,
                facecolors=colour,
                linewidths=0,
            )
        )


def _images(picture: Picture, grids: Sequence[Grid]) -> Figure:
    """One image per grid, a pixel per cell, and the legend beside it."""
    made: Any = LayoutFigure(figsize=(10, 8), layout="constrained")
    title = "\n".join(textwrap.wrap(picture.title, 100))
    made.suptitle(title, size=9, family=_FONTS, parse_math=False)
    handles = [Patch(color=colour or "none", label=text) for text, colour in legend(grids, picture.by)]
    for grid, axes in zip(grids, made.subplots(len(grids), squeeze=False)[:, 0], strict=True):
        axes.imshow(_image(grid, picture.by), interpolation="nearest", aspect="auto")
        if len(grids) > 1:
            axes.set_title(grid.title, size=9, family=_FONTS, parse_math=False)
        axes.set_xlabel(",".join(map(spoken, grid.columns.names)))
        axes.set_ylabel(",".join(map(spoken, grid.rows.names)))
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
    return made


def _image(grid: Grid, by: str) -> NDArray[np.uint8]:
    """The colour of every cell: `[row, column, 3]`. Of more than 2^16 numbers, neighbours share a colour."""
    planes, number, many, colour = scheme(grid, by)
    numbers: Any = np.broadcast_to(np.asarray(number(*map(_numbers, planes))), grid.shape)
    numbers = numbers - numbers % many % -(-many // _MOST_COLOURS)
    found, where = np.unique(numbers, return_inverse=True)
    colours = np.array([channels(colour(one)) for one in found.tolist()], np.uint8)
    return colours[where.reshape(grid.shape)]


def _numbers(plane: Plane) -> NDArray[np.int64]:
    """The numbers of a plane as an array."""
    if isinstance(plane, AddressPlane):
        return plane.table
    found = np.add.outer(np.asarray(plane.down, np.int64), np.asarray(plane.across, np.int64))
    if plane.flipped is not None:
        bits = np.bitwise_xor.outer(*(np.asarray(one, np.int64) for one in plane.flipped))
        for bit, weight in plane.weights:
            found += bits // bit % 2 * weight
    return found


def save(drawn: Any, target: io.BytesIO, title: str, kind: str) -> None:
    """Write a figure as PNG or PDF, the same bytes every time."""
    made: dict[str, Any] = {"CreationDate": None, "Producer": None} if kind == "pdf" else {"Software": None}
    dots = min(_DOTS_PER_INCH, _LARGEST / max(drawn.get_size_inches()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # of a title: a box stands for it
        drawn.savefig(target, format=kind, dpi=dots, metadata={"Title": title, **made})
