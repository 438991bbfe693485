"""Pictures of who holds what: from a value to its grids, and from there to SVG, HTML, PNG, PDF and the screen.

>>> picture = Layout.parse("d0 = 8@reg, d1 = 8@lane").picture(title="a tile")
>>> picture.colourings
('subgroup', 'lane', 'register', 'tile')
>>> picture.svg().count("<rect")        # the background, 64 cells, and the legends
82

How the data flows: a value gives operands (core.notation), each becomes a `Grid` of cells (viz.grid), folded where it is
large (viz.sides, viz.folding); a `Scene` lays grids out in pixels (viz.scene); viz.svg, viz.page and viz.figure draw scenes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import DistributionError, LayoutError
from layoutalg.core.files import as_path, write_file
from layoutalg.core.limits import MOST_BANDS, MOST_LABELS
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, Operand, as_sizes
from layoutalg.core.notebook import in_a_cell
from layoutalg.core.shared_places import shared_place
from layoutalg.core.whole_numbers import as_flag, instance_of, one_of, whole_number
from layoutalg.viz.banks import read_at_once, told_of_bank
from layoutalg.viz.blocks import block_grids
from layoutalg.viz.borders import has_narrow_elements
from layoutalg.viz.colouring import OWN, WORDS_OF_K, colourings, preferred
from layoutalg.viz.examples import outlined_lane, words_that_meet
from layoutalg.viz.grid import MOST, Addressed, Grid, folded_alike, hardware_grid, tensor_grid
from layoutalg.viz.scene import WIDEST, breadth, lay_out
from layoutalg.viz.shapes import Scene
from layoutalg.viz.svg import legal
from layoutalg.viz.xors import meeting_cell, told_of_xor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DIRECTIONS", "Picture", "format_of", "picture_of"]

DIRECTIONS = ("tensor", "hardware")
"""A cell per element, or a cell per register of each lane."""
FORMATS = ("svg", "png", "pdf", "html", "tex", "csv", "md")
_NARROW = ((MOST, 16), (MOST, 8), (MOST, 4), (MOST, 2), (8, 4))
"""Rows and columns that are tried where a picture is too wide; with the last ones its columns go on in strips."""
_WIDEST_PAGE = 1500
"""How wide a product is on a page that scrolls: on a screen of 1200 pixels all its operands are in sight."""
_STACKED = 16
"""Rows of each operand of a product whose operands stand one below the other."""
_FOLDED = MOST, 16, 8
"""Rows and columns that are drawn in a notebook cell of what is too large for one."""
_WITHIN = {"blocks": " of blocks", "block": " of the block"}
_SPOT = {"A": (1, 0), "B": (0, 1), "C": (1, 1)}


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A picture of one value: its parts, a title, and how to draw it. In a notebook, the interactive page.

    >>> Layout.parse("d0 = 4@lane").picture().title
    'd0 = 4@lane'
    """

    parts: tuple[Operand | Addressed, ...]
    title: str
    colour: str | None = None
    direction: str = "tensor"
    full: bool = False
    paged: bool = True
    """Whether what is wider than a phone can show is folded further and goes on below; an interactive page scrolls instead."""
    example: bool = True
    """Whether one lane (of memory: what lanes read at once) is outlined as an example, and one of many equal blocks of
    subgroups stands for all.

    A page where one chooses the lane draws all blocks, and outlines that lane alone.
    """
    under: tuple[str, ...] = ()
    """Lines under the title."""
    most: int = MOST
    """About how many rows and columns of a large tensor are drawn."""

    def __post_init__(self) -> None:
        for flag in ("full", "paged", "example"):
            object.__setattr__(self, flag, as_flag(getattr(self, flag), flag))
        object.__setattr__(self, "most", whole_number(self.most, "most", 1, MOST_BANDS))
        instance_of(self.parts, tuple, "parts")
        for part in self.parts:
            instance_of(part, (Operand, Addressed), "part")
        instance_of(self.title, str, "title")
        instance_of(self.under, tuple, "under")
        for line in self.under:
            instance_of(line, str, "line under the title")
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"direction {shown(self.direction)}: expected {' or '.join(map(repr, DIRECTIONS))}")
        if self.colour is not None and (not isinstance(self.colour, str) or self.colour not in self.colourings):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(
                f"colour {shown(self.colour)}: {self.title} can be coloured by {', '.join(self.colourings)}"
            )

    def __repr__(self) -> str:
        return f"<Picture of {self.title!r}, {self.direction}>"

    @property
    def colourings(self) -> tuple[str, ...]:
        """What it can be coloured by.

        >>> Layout.parse("d0 = 4@addr").picture().colourings
        ('bank', 'addr')
        """
        found = [colourings(grid) for grid in self._corners()]
        shared = tuple(name for name in next(iter(found), ()) if all(name in one for one in found))
        return shared if {*shared} - {"tile"} else (OWN, *shared)

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that it can be drawn in: the hardware's needs an inverse.

        >>> Layout.parse("d0 = 4@addr:8, d1 = 4@addr").picture().directions
        ('tensor',)
        """
        try:
            for part in self.parts:
                hardware_grid(part, 1, 1)
        except LayoutError:
            return DIRECTIONS[:1]
        return DIRECTIONS

    def grids(self, direction: str | None = None) -> tuple[tuple[Grid, int, int], ...]:
        """The grids, each with its row and column in the arrangement: A left, B above, C in the corner; else one by one.

        What a product has beside A, B and C (the indices of a sparse A, scales) is below.

        Raises `LayoutError` where an axis has gaps (direction "hardware").

        >>> [(grid.title[0], row, column) for grid, row, column in la.dpas("f16", "f16", "f32").picture().grids()]
        [('A', 1, 0), ('B', 0, 1), ('C', 1, 1)]
        """
        if direction is not None:
            direction = one_of(direction, DIRECTIONS, "direction")
        shown = direction or self.direction
        narrow = [(min(rows, self.most), min(columns, self.most)) for rows, columns in _NARROW]
        # The elements of a word differ in little: fewer of them are drawn.
        most = self.most // 2 if self.most > 1 and any(map(has_narrow_elements, self._corners())) else self.most
        found = self._folded(shown, self.most, most)
        if self.paged and not self.full and breadth(found) > WIDEST:
            # As they are arranged; else one below the other, folded less; else in strips.
            beside = (self._folded(shown, *most) for most in narrow)
            below = (self._stacked(shown, *most) for most in ((self.most, self.most), *narrow) if len(found) > 1)
            fitting = (one for one in chain(beside, below) if breadth(one) <= WIDEST)
            found = next(fitting, None) or self._stacked(shown, *narrow[-1])
        elif not self.full and self._is_product and breadth(found) > _WIDEST_PAGE:
            tried = [self._folded(shown, self.most, min(most, self.most)) for most in (16, 8)]
            found = next((one for one in tried if breadth(one) <= _WIDEST_PAGE), tried[-1])
        # One scale for all: a register has the same colour in every operand.
        scale: dict[str, tuple[int, int]] = {}
        for grid, _, _ in found:
            for axis, (low, high) in grid.scale.items():
                known = scale.get(axis, (low, high))
                scale[axis] = (min(known[0], low), max(known[1], high))
        deep = found[0][0].layout.shape[-1] if self._is_product else 1
        return tuple((replace(grid, scale=scale, grain=_grain(grid, deep)), row, column) for grid, row, column in found)

    @property
    def _is_product(self) -> bool:
        return [part.role for part in self.parts[:3]] == ["A", "B", "C"]

    def _folded(self, direction: str, rows: int, columns: int) -> list[tuple[Grid, int, int]]:
        """The grids with about so many rows and columns."""
        most, across = (None, None) if self.full else (rows, columns)
        if direction == "hardware":
            return [(hardware_grid(part, most, across), i, 0) for i, part in enumerate(self.parts)]
        if len(self.parts) == 1 and self.example and not self.full:
            (part,) = self.parts
            grid = tensor_grid(part, rows, columns)
            blocks = block_grids(part, rows, columns) if grid.folded else None
            return [(one, i, 0) for i, one in enumerate(blocks or (grid,))]
        if not self._is_product:
            return [(tensor_grid(part, most, across), i, 0) for i, part in enumerate(self.parts)]
        left, above, corner = (tensor_grid(part, most, across) for part in self.parts[:3])
        sides = {
            "k": (left.columns, above.rows),
            "m": (left.rows, corner.rows),
            "n": (above.columns, corner.columns),
        }
        alike = {
            name: folded_alike(pair, most if name == "m" else across)
            for name, pair in sides.items()
            if pair[0].size == pair[1].size
        }
        (a_k, b_k), (a_m, c_m), (b_n, c_n) = (alike.get(name, pair) for name, pair in sides.items())
        drawn = [
            (tensor_grid(part, sides=pair), *_SPOT[str(part.role)])
            for part, pair in zip(self.parts[:3], ((a_m, a_k), (b_k, b_n), (c_m, c_n)), strict=True)
        ]
        rest = [(tensor_grid(part, most, across), 2 + i // 2, i % 2) for i, part in enumerate(self.parts[3:])]
        return drawn + rest

    def _stacked(self, direction: str, rows: int, columns: int) -> list[tuple[Grid, int, int]]:
        """The same one below the other: then the operands of a product need not line up, and each is folded by itself."""
        if direction == "hardware" or not self._is_product:
            return [(grid, i, 0) for i, (grid, *_) in enumerate(self._folded(direction, rows, columns))]
        return [(tensor_grid(part, min(rows, _STACKED), columns), i, 0) for i, part in enumerate(self.parts)]

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The picture laid out in pixels.

        Raises `SizeError` for more than 2^16 cells.

        >>> len(Layout.parse("d0 = 8@reg, d1 = 8@lane").picture().scene("hardware").cells)
        64
        """
        if colour is not None:
            colour = one_of(colour, self.colourings, "colour")
        placed = self.grids(direction)
        grids = [grid for grid, _, _ in placed]
        lines: list[str] = []
        if any(grid.span("sg") > 1 and not grid.shows for grid in grids):
            lines.append("wide lines: between subgroups")
        tiled = [grid for grid in grids if grid.tensor and grid.tile_known and grid.tile != grid.sizes]
        size = f" of {'x'.join(map(str, tiled[0].tile))}" if len({grid.tile for grid in tiled}) == 1 else ""
        lines += [f"thin lines: between {name}s{size}" for name in dict.fromkeys(grid.tile_name for grid in tiled)]
        if "word" in self.colourings or any(map(has_narrow_elements, grids)):
            lines.append("thin lines: between words of 4 bytes")
        shared = [found for part in self.parts if isinstance(part, Operand) and (found := shared_place(part.layout))]
        warnings = [f"warning: two elements in one place: {one}" for one in shared]
        named = [(f"{_called(grid)}: " if len(self.parts) > 1 else "", grid) for grid in grids]
        remarks: dict[str, list[str]] = {}
        for name, grid in named:
            for note in grid.notes():
                remarks.setdefault(note, []).append(name)
        explained, crossed, cells = self._explained(grids)
        reading = [*self.under, *explained]
        reading += [sentence for part in self.parts if isinstance(part, Operand) for sentence in part.reading]
        reading += [*crossed, *[", ".join(names).replace(": ,", ",") + note for note, names in remarks.items()]]
        notes = ["; ".join(lines)] * bool(lines)
        folded = "; ".join(name + grid.folded + _WITHIN.get(grid.shows, "") for name, grid in named if grid.folded)
        notes += [f"drawn: {folded}"] * bool(folded)
        widest = WIDEST if self.paged else None
        return lay_out(self.title, placed, colour or self.by, self.colourings, reading, notes, warnings, cells, widest)

    def _explained(self, grids: Sequence[Grid]) -> tuple[list[str], list[str], list[list[int]]]:
        """How a cell is read and what is outlined, and what XORs do, in sentences; and the outlined cells of each grid."""
        alone = len(self.parts) == 1
        last = grids[-1:] if alone else grids  # of blocks and the inside of one, the inside
        few = sum(grid.shape[0] * grid.shape[1] for grid in grids) <= MOST_LABELS
        forms = _forms(grids)
        if WORDS_OF_K in self.colourings and self.example and all(grid.tensor for grid in grids):
            cells, told, read = words_that_meet(grids)
            return [*forms[:-1], f"{forms[-1]}; {read}", f"outlined: {told}"], [], cells
        example = outlined_lane(last) if self.example and few and (self._is_product or alone) else None
        if example is not None:
            read = example.read(last)
            forms = [*forms[:-1], f"{forms[-1]}; {read}" if read else forms[-1]]
            crossed = told_of_xor(last[0], self.title, example.cells[0]) if alone else []
            return [*forms, example.told(last)], crossed, [*[[] for _ in grids[len(last) :]], *example.cells]
        (grid,) = last[:1]
        crossed = told_of_xor(grid, self.title) if alone and few else []
        line = read_at_once(grid, (meeting_cell(grid) if crossed else None) or 0) if alone and self.example else None
        if line is None:
            return forms, crossed, []
        address = [*grid.owner["addr"].cells][line.cells[:2][-1]]
        return [*forms, told_of_bank(grid, address), *line.told], crossed, [*[[] for _ in grids[1:]], line.cells]

    @property
    def by(self) -> str:
        """What it is coloured by.

        >>> Layout.parse("d0 = 4@lane").picture().by
        'lane'
        """
        return self.colour or preferred(self._corners(), self.colourings)

    def _corners(self) -> list[Grid]:
        """The first cell of each part, which knows what there is to draw."""
        return [tensor_grid(part, 1, 1) for part in self.parts]

    def svg(self) -> str:
        """The picture as an SVG document.

        >>> Layout.parse("d0 = 2@lane").picture(title="<script>").svg().count("&lt;script&gt;")
        3
        """
        from layoutalg.viz.svg import svg_document

        return svg_document(self.scene())

    def html(self) -> str:
        """The interactive picture as one page that needs nothing else.

        >>> Layout.parse("d0 = 2@lane").picture().html()[:15]
        '<!DOCTYPE html>'
        """
        from layoutalg.viz.page import page

        return page(self)

    def tikz(self) -> str:
        """The picture as a LaTeX document of one TikZ picture, which stands alone (`pdflatex`) or in a paper (`standalone`).

        >>> Layout.parse("d0 = 2@lane").picture().tikz().splitlines()[0]
        '\\\\documentclass[tikz]{standalone}'
        """
        from layoutalg.viz.tikz import tikz_document

        return tikz_document(self.scene())

    def csv(self) -> str:
        """The drawn cells as CSV: the operand, the element, its place, and how many places have it.

        Raises `SizeError` for more than 2^16 cells.

        >>> Layout.parse("d0 = 2@lane").picture().csv().splitlines()[-1]
        'd0 = 2@lane,1,0,1,0,1'
        """
        from layoutalg.viz.tables import csv_of_grids

        return csv_of_grids([grid for grid, _, _ in self.grids()])

    def markdown(self) -> str:
        """The drawn cells as tables in Markdown, with the labels of the picture.

        Raises `SizeError` for more than 2^16 cells.

        >>> Layout.parse("d0 = 2@lane").picture().markdown().splitlines()[-1]
        '|  | 0:0 | 1:0 |'
        """
        from layoutalg.viz.tables import markdown_of_grids

        return markdown_of_grids(self.title, [grid for grid, _, _ in self.grids()])

    def figure(self) -> Figure:
        """The picture as a matplotlib figure (`pip install layoutalg[viz]`).

        Raises `LayoutError` where matplotlib is not installed.

        >>> len(Layout.parse("d0 = 2@lane").picture().figure().axes)
        1
        """
        try:
            from layoutalg.viz.figure import figure
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            raise LayoutError("figures need matplotlib: pip install 'layoutalg[viz]'") from None
        except ValueError as error:  # a setting of its own that matplotlib does not like, such as MPLBACKEND
            raise LayoutError(f"matplotlib: {' '.join(str(error).split())}") from None
        return figure(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whose ending says the format.

        svg, html; png, pdf (by matplotlib); tex (`tikz`), csv and md (`csv`, `markdown`).

        Raises `LayoutError` for another ending.

        >>> Layout.parse("d0 = 2@lane").picture().save("a.gif")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: picture 'a.gif': expected a name that ends in .svg, .png, ... or .md
        """
        write_file(as_path(path, "picture"), self.encoded(format_of(path)))

    def encoded(self, kind: str) -> bytes:
        """What a file of the picture holds; `kind` is a file's ending without its dot, as for `save`.

        Raises `LayoutError` for another ending.

        >>> Layout.parse("d0 = 2@lane").picture().encoded("svg")[:4]
        b'<svg'
        """
        kind = one_of(kind, FORMATS, "format")
        texts = {"svg": self.svg, "html": self.html, "tex": self.tikz, "csv": self.csv, "md": self.markdown}
        if kind in texts:
            return texts[kind]().encode()
        drawn = self.figure()
        from layoutalg.viz.figure import save

        written = io.BytesIO()
        save(drawn, written, self.title, kind)
        return written.getvalue()

    def _repr_html_(self) -> str:
        from layoutalg.viz.page import fragment, image
        from layoutalg.viz.svg import svg_document

        folded = [replace(self, full=False, most=most) for most in _FOLDED if self.full or most < self.most]

        def picture_alone() -> str:
            return image(svg_document((folded or [self])[-1].scene(), titles=False), self.title)

        drawings = (*[partial(fragment, one) for one in (self, *folded)], picture_alone)
        return in_a_cell(drawings, 'picture().save("picture.html")')


def _grain(grid: Grid, deep: Any) -> int:
    """How many of K one row or column is, of a product that is so deep: of scales and of metadata, several."""
    along = {"E": -1, "SFA": -1, "SFB": 0}.get(str(grid.role)) if grid.tensor else None
    return 1 if along is None else deep // grid.sizes[along]


def _called(grid: Grid) -> str:
    """The operand's letter or name, without its sizes."""
    return grid.title.partition(" ")[0]


def _forms(grids: Sequence[Grid]) -> list[str]:
    """How the cells of grids are read; where they differ, whose cells they are, those of lanes last."""
    named: dict[str, list[str]] = {}
    for grid in sorted(grids, key=lambda grid: "lane" in grid.axes):
        named.setdefault(grid.forms, []).append(_called(grid))
    named.pop("", None)
    if len(named) < 2:
        return [*named]
    return [f"{', '.join(names)}: {form}" for form, names in named.items()]


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file's ending says.

    Raises `LayoutError` for another ending.

    >>> format_of("a.PNG")
    'png'
    """
    kind = as_path(path, "picture").suffix[1:].lower()
    if kind not in FORMATS:
        *others, last = (f".{one}" for one in FORMATS)
        raise LayoutError(f"picture {shown(str(path))}: expected a name that ends in {', '.join(others)} or {last}")
    return kind


def picture_of(
    value: Distributed,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    title: str | None = None,
    colour: str | None = None,
    direction: str = "tensor",
    full: bool = False,
) -> Picture:
    """The picture of a value (see `Distributed.picture`).

    >>> from layoutalg.xegpu import LayoutAttr
    >>> picture_of(LayoutAttr(lane_layout=(2, 8)), (4, 8)).title
    '#xegpu.layout<lane_layout = [2, 8]>, 4x8'
    """
    sizes: Any = None if shape is None else as_sizes(shape)
    instance_of(value, Distributed, "picture of")
    drawn: tuple[Operand | Addressed, ...]
    try:
        drawn = value.operands(sizes, machine)
    except DistributionError as refused:
        try:
            drawn = (Addressed(str(value), value.addresses(sizes)),)
        except LayoutError:
            raise refused from None
    if title is not None and not isinstance(title, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"title {shown(title)}: expected a text")
    own = value.heading() if len(drawn) > 1 else "".join(part.name for part in drawn)
    under = value.subheading(sizes, machine) if len(drawn) > 1 else ()
    found = Picture(drawn, legal(own if title is None else title), colour, direction, full, under=under)
    found.grids()
    return found
