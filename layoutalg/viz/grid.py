"""The grid of a picture: which cells are drawn, and the element and the owner of each.

A grid is a relation laid out in the plane: the last dimension of its domain along the columns, the others down the rows.
A tensor's grid has a cell per element and says who holds it; the hardware's has a cell per register of every lane and
says which element is there. Both know element and owner of each cell, so both can be coloured alike:

>>> tile = Operand("C", Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> there = tensor_grid(tile, most_rows=8)
>>> there.rows.headers()
['0', '1', '2', '⋯', '15', '16', '17', '18', '⋯', '31']
>>> there.owner["sg"].rows[7][-1], there.labels()[7][-1]
(7, '15:15')

>>> back = hardware_grid(tile, most_rows=4, most_columns=8)
>>> back.columns.names, back.rows.names, back.labels()[0][-1]
(('sg', 'lane'), ('reg',), '16,63')

Both are planes: what each drawn row and each drawn column adds or flips, worked out for those alone, so that a folded picture
of a 4096x4096 tile costs what its few hundred cells cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.factors import Factor, XorFactor
from layoutalg.core.layout import MACHINE, Layout, row_major
from layoutalg.core.limits import MOST_CELL_COPIES as _MOST_COPIES
from layoutalg.core.limits import MOST_CELLS, MOST_COPIES_TRIED, MOST_DRAWN
from layoutalg.core.limits import MOST_FOLDED as MOST
from layoutalg.core.moves import Plane, lowest_moves, plane_of
from layoutalg.core.notation import Operand
from layoutalg.core.plurals import spoken
from layoutalg.viz.colours import HUES
from layoutalg.viz.copies import copies_in_words, moved, several
from layoutalg.viz.folding import Band, ExtentRun, common_runs, fold
from layoutalg.viz.sides import Side, side_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "AddressPlane",
    "Addressed",
    "Grid",
    "folded_alike",
    "hardware_grid",
    "numbered",
    "of_machine",
    "owner_planes",
    "tensor_grid",
]


_PRODUCT = {"A": "MK", "B": "KN", "C": "MN", "E": "MK", "SFA": "MK", "SFB": "KN"}
_COUNTED: dict[tuple[str, ...], str] = {
    ("addr",): "the element's address, counted in elements",
    ("element",): "the element's number, as CuTe counts; where it is, a descriptor says",
}


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of one layout: `element` and `owner` have their coordinates by name, `rows[drawn row][drawn column]`.

    `tensor` says whether a cell is an element (and `owner` its lowest) or a place of the hardware (and `element` the lowest it
    holds); `label_names` make the label. `scale` has the lowest and the highest number of each axis, in all grids of a
    picture; `copies` is how far further owners of an element are from its lowest, `copies_of` how many owners there are, `held`
    how many elements share a place; `tile` is the size of the tile that cells are grouped by, `tile_known` whether the value
    said so. `layout` is the one drawn, `xored` says whether copies are XORed: they are not equally far from all owners. `role`
    is the operand's place in a product; `shows` is "blocks" where a cell is a block of a subgroup, "block" where only the first
    of them is drawn; `spread` has how far copies are from the lowest owner along each axis, `copied` says in
    words who holds copies of whom; `bits` are those of a step along the last axis, where the value says so; `grain` is how many
    of a product's K one step along it is.

    >>> tensor_grid(Operand("C", Layout.parse("d0 = 2@reg, d1 = 2@lane"))).labels()
    [['0:0', '1:0'], ['0:1', '1:1']]
    """

    title: str
    rows: Side
    columns: Side
    element: dict[str, Plane]
    owner: dict[str, Plane]
    layout: Layout
    axes: tuple[str, ...]
    label_names: tuple[str, ...]
    tensor: bool
    scale: dict[str, tuple[int, int]]
    copies: tuple[tuple[int, ...], ...]
    copies_of: int
    held: int
    tile: tuple[int, ...]
    tile_known: bool
    xored: bool
    role: str | None
    spread: Mapping[str, Sequence[int]]
    copied: tuple[str, ...]
    bits: int | None
    shows: str = ""
    grain: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """The drawn rows and columns."""
        return len(self.rows.starts), len(self.columns.starts)

    @property
    def of_machine(self) -> bool:
        """Whether owners are subgroups, lanes and registers."""
        return of_machine(self.axes)

    @property
    def tile_name(self) -> str:
        """What a tile that the value says is: of memory a block, such as the innermost modes of a CuTe layout."""
        return "instruction tile" if self.of_machine else "block"

    def span(self, axis: str) -> int:
        """How far an axis reaches in all grids of the picture."""
        low, high = self.scale.get(axis, (0, 0))
        return high - low + 1

    def labels(self) -> list[list[str]]:
        """The text in each drawn cell, row by row; the owner of an element with copies has all its numbers.

        >>> tensor_grid(Operand("B", Layout.parse("d0 = 2@reg, d1 = 2@lane | replicas 2@lane:2"))).labels()
        [['0,2:0', '1,3:0'], ['0,2:1', '1,3:1']]
        """
        facts = self.owner if self.tensor else self.element
        signs = dict.fromkeys(self.label_names, ":" if self.tensor else ",")
        if self._with_subgroup:
            signs = {"sg": "/"} | signs
        texts = [["sg " * (self.shows == "blocks")] * self.shape[1] for _ in range(self.shape[0])]
        for i, (name, sign) in enumerate(signs.items()):
            offsets = self.spread.get(name, range(1)) if self.tensor else range(1)
            known = {number: several(moved(offsets, number)) for number in {*facts[name].cells}}
            sign = sign if i + 1 < len(signs) else ""
            for row, numbers in zip(texts, facts[name].rows, strict=True):
                row[:] = [text + known[number] + sign for text, number in zip(row, numbers, strict=True)]
        return texts

    @property
    def forms(self) -> str:
        """What a label is made of.

        >>> tensor_grid(Operand("C", Layout.parse("d0 = 2@reg, d1 = 2@lane"))).forms
        'cells: lane:register'
        >>> hardware_grid(Operand("C", Layout.parse("d0 = 2@reg, d1 = 2@lane"))).forms
        'columns: lane; rows: register; cells: the element (row,column)'
        """
        if not self.tensor and len(self.label_names) == 2:
            across, down = (
                side.sign.join(spoken(side.names[d]) for d in side.wide) for side in (self.columns, self.rows)
            )
            axes = [f"{what}: {names}" for what, names in (("columns", across), ("rows", down)) if names]
            return "; ".join([*axes, "cells: the element (row,column)"])
        if self.tensor and self.bits is not None and self.axes[-2:] == ("row", "col"):
            words = {"tmm": "register", "col": "byte"}
            return f"cells: {':'.join(words.get(one, one) for one in self.label_names)} in the tile register"
        label = (":" if self.tensor else ",").join(map(spoken, self.label_names))
        if self.shows == "blocks":
            return ""
        if self.tensor and self.label_names in _COUNTED:
            return f"cells: {_COUNTED[self.label_names]}"
        return f"cells: subgroup/{label}" if self._with_subgroup else f"cells: {label}" if label else ""

    @property
    def _with_subgroup(self) -> bool:
        """Whether a label says which subgroup: there are more than hues, or several hold the same."""
        return (
            self.tensor
            and self.label_names[:1] == ("lane",)
            and (self.span("sg") > len(HUES) or "sg" in self.spread)
            and not self.shows
        )

    def notes(self) -> list[str]:
        """The remarks under the grid: replicas, and elements that share a place.

        >>> tensor_grid(Operand("B", Layout.parse("d0 = 64@reg | replicas 2@lane:16"))).notes()
        ['lane 16 holds what lane 0 holds']
        """
        found = [*self.copied]
        if self.held > 1:
            found.append(f"each place stands for {self.held} elements")
        return found

    @property
    def folded(self) -> str:
        """How much of it is drawn, where that is not all.

        >>> tensor_grid(Operand("B", Layout.parse("d0 = 4@reg, d1 = 64@lane"))).folded
        '8 of 64 columns'
        """
        sides = (self.rows, "rows"), (self.columns, "columns")
        return ", ".join(
            f"{len(side.starts)} of {side.count} {what}" for side, what in sides if len(side.starts) < side.count
        )

    @property
    def axis_names(self) -> tuple[str, str]:
        """What rows and columns count: M, N or K in a product, else the dimensions.

        >>> tensor_grid(Operand("A", Layout.parse("d0 = 8@lane, d1 = 2@reg"), role="A")).axis_names
        ('M', 'K')
        """
        names: dict[str, str] = {}
        if self.tensor and self.role in _PRODUCT and len(self.sizes) in (2, 3):
            letters = ("block", *_PRODUCT[self.role])[-len(self.sizes) :]
            names = dict(zip((*self.rows.names, *self.columns.names), letters, strict=True))
        rows, columns = (
            side.sign.join(names.get(name, name) for name in [side.names[d] for d in side.wide])
            for side in (self.rows, self.columns)
        )
        if self.grain > 1:
            rows, columns = (f"K/{self.grain}" if name == "K" else name for name in (rows, columns))
        return rows, columns

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of rows' and columns' dimensions."""
        return (*self.rows.shape, *self.columns.shape)


@dataclass(frozen=True, eq=False)
class AddressPlane(Plane):
    """The addresses of memory that has no factors: `[drawn row, drawn column]`."""

    table: Any = None

    @cached_property
    def rows(self) -> Sequence[Sequence[int]]:
        """The addresses: `[row][column]`."""
        return self.table.tolist()


class Addressed(NamedTuple):
    """Memory that has addresses and no factors: the address of each element (`Distributed.addresses`)."""

    name: str
    table: NDArray[Any]
    role: None = None


def _addressed_grid(part: Addressed, most: tuple[int | None, int | None]) -> Grid:
    """The grid of a table of addresses: no factor says what repeats, so no row or column is folded away."""
    layout = Layout(row_major(part.table.shape, "addr").dims, codomain=("addr",))  # of one element, too
    split = max(layout.rank - 1, 0)
    runs = [[ExtentRun(n, solid=True) for n in part.table.shape[dims]] for dims in (slice(split), slice(split, None))]
    rows, columns = _sides(layout, split, runs, most)
    element = _plane(rows, columns)
    table = part.table.reshape(rows.size, columns.size)[[*rows.starts]][:, [*columns.starts]]
    owner: dict[str, Plane] = {"addr": AddressPlane((), (), table=table)}
    found = _grid(Operand(part.name, layout), layout, rows, columns, element, owner, tensor=True)
    return replace(found, scale={"addr": (int(part.table.min()), int(part.table.max()))})


def tensor_grid(
    part: Operand | Addressed,
    most_rows: int | None = MOST,
    most_columns: int | None = MOST,
    *,
    sides: tuple[Side, Side] | None = None,
) -> Grid:
    """The grid of a tensor: each element, and its (lowest) owner.

    `sides` are rows and columns to use instead, where grids are to line up; `most_rows` and `most_columns` are None for no
    limit, 1 for the first cell alone. Where the numbers jump, more rows and columns are drawn.

    Raises `LayoutError` for a layout with symbols, `SizeError` for more than 2^24 cells.
    """
    if isinstance(part, Addressed):
        return _addressed_grid(part, (most_rows, most_columns))
    layout = numbered(part.layout)
    tiles = _tiles(part, layout)
    if sides is None:
        split = max(layout.rank - 1, 0)
        runs = [side_runs(layout, dims, tiles=tiles) for dims in (slice(split), slice(split, None))]
        sides = _sides(layout, split, runs, (most_rows, most_columns))
    rows, columns = sides
    owner = owner_planes(layout, rows.first, columns.first)
    return _grid(part, layout, rows, columns, _plane(rows, columns), owner, tensor=True)


def hardware_grid(part: Operand | Addressed, most_rows: int | None = MOST, most_columns: int | None = MOST) -> Grid:
    """The grid of the hardware: registers down, subgroups and lanes across; in each cell the (lowest) element it holds.

    Onto other axes, the last one goes across. Raises `LayoutError` for a layout with symbols, and where an axis has gaps;
    `SizeError` for more than 2^24 cells.
    """
    if isinstance(part, Addressed):
        raise LayoutError(f"{part.name} has addresses and no factors: it is drawn by its elements")
    layout = numbered(part.layout)
    source = part.slots or layout
    slots = source.inverse()
    names = source.codomain
    order = sorted(range(len(names)), key=lambda d: names[d] != "reg") if of_machine(names) else [*range(len(names))]
    ordered = Layout(
        [slots.dims[d] for d in order],
        slots.replicas,
        slots.offsets,
        names=[names[d] for d in order],
        origins=[slots.origins[d] for d in order],
        codomain=slots.codomain,
        flips=slots.flips,
    )
    split = 1 if of_machine(names) and ordered.rank > 1 else ordered.rank - 1
    tiles = _tiles(part, layout)
    dims = slice(max(split, 0)), slice(max(split, 0), None)
    runs = [side_runs(ordered, one, tiles=tiles) for one in dims]
    rows, columns = _sides(ordered, split, runs, (most_rows, most_columns))
    element = owner_planes(ordered, rows.first, columns.first)
    element = {name: element[name] for name in layout.names}
    return _grid(part, layout, rows, columns, element, _plane(rows, columns), tensor=False)


def owner_planes(layout: Layout, down: Sequence[Sequence[int]], across: Sequence[Sequence[int]]) -> dict[str, Plane]:
    """The lowest owner of each element of a plane, axis by axis.

    `down` has the coordinates of the rows in each of the first dimensions, `across` those of the columns in the others.

    >>> owner_planes(Layout.parse("d0 = 2@reg, d1 = 4@lane"), [[0, 1]], [[0, 3]])["lane"].rows
    [[0, 3], [0, 3]]
    """
    counted = [
        (d, [x - origin for x in coordinates])
        for d, (coordinates, origin) in enumerate(zip((*down, *across), layout.origins, strict=True))
    ]
    split = len(down)
    return {axis: plane_of(moves, counted[:split], counted[split:]) for axis, moves in lowest_moves(layout).items()}


def of_machine(axes: Iterable[str]) -> bool:
    """Whether some axis is one of a GPU's machine."""
    return not {*axes}.isdisjoint(MACHINE)


def numbered(layout: Layout) -> Layout:
    """The layout itself; refuses symbols."""
    if any(type(n) is not int for n in (*layout.shape, *layout.spans().values())):
        raise LayoutError(f"{layout} has symbols; put numbers for them with substitute() before drawing it")
    return layout


def folded_alike(sides: Sequence[Side], most: int | None = MOST) -> tuple[Side, ...]:
    """Sides of one size with the same bands, so that they line up."""
    runs = tuple(common_runs([side.runs for side in sides]))
    bands = None if most is None else fold(runs, most)
    return tuple(replace(side, folded=bands, runs=runs) for side in sides)


def _tiles(part: Operand, layout: Layout) -> dict[str, int]:
    """The size of the tile along each dimension, where the value said so, and of a word of 4 bytes along a tile's bytes."""
    sizes: list[Any] = list(layout.shape)
    known = zip(layout.names, part.tile or (), sizes, strict=False)
    words = {} if part.bits is None or layout.codomain == ("addr",) else {layout.codomain[-1]: 32 // part.bits}
    return {name: tile for name, tile, size in known if 1 < tile < size} | words


def _sides(
    layout: Layout, split: int, runs: Sequence[Sequence[ExtentRun]], most: tuple[int | None, int | None]
) -> tuple[Side, Side]:
    """The first `split` dimensions as rows, the others as columns."""
    sizes: list[Any] = list(layout.shape)
    split = max(split, 0)
    if None in most and prod(sizes) > MOST_CELLS:
        raise SizeError(
            f"a picture of {' x '.join(map(str, sizes))} cells: at most 2^24 are drawn; leave it folded, or draw a part "
            "(restrict)"
        )
    dims = slice(0, split), slice(split, None)
    rows, columns = (_side(layout, one, runs[i], most[i]) for i, one in enumerate(dims))
    drawn = len(rows.starts), len(columns.starts)
    if None not in most and prod(drawn) > MOST_DRAWN:
        raise SizeError(
            f"{' x '.join(map(str, drawn))} cells cannot be folded further, because their numbers jump, and at most 2^16 are "
            "drawn: draw a part of the tensor (restrict), or all of it as an image (full, .png)"
        )
    return rows, columns


def _side(layout: Layout, dims: slice, runs: Sequence[ExtentRun], most: int | None) -> Side:
    shape: tuple[Any, ...] = layout.shape[dims]
    if prod(shape) >= 2**62:
        raise SizeError(
            f"{' x '.join(map(str, shape))} elements along one side: at most 2^62 are drawn (layout {layout})"
        )
    bands = None if most is None else (Band(0),) if most == 1 else fold(runs, most)
    return Side(layout.names[dims], shape, layout.origins[dims], bands, tuple(runs))


def _plane(rows: Side, columns: Side) -> dict[str, Plane]:
    """The coordinates of every drawn cell by name."""
    shape = (len(rows.starts), len(columns.starts))
    down = {name: Plane(c, (0,) * shape[1]) for name, c in zip(rows.names, rows.first, strict=True)}
    across = {name: Plane((0,) * shape[0], c) for name, c in zip(columns.names, columns.first, strict=True)}
    return down | across


def _grid(
    part: Operand,
    layout: Layout,
    rows: Side,
    columns: Side,
    element: dict[str, Plane],
    owner: dict[str, Plane],
    *,
    tensor: bool,
) -> Grid:
    starts, spans = layout.offsets, layout.spans()
    scale: dict[str, tuple[int, int]] = {}
    for axis in layout.codomain:
        span: Any = spans.get(axis, 1)
        scale[axis] = (starts.get(axis, 0), starts.get(axis, 0) + span - 1)
    machine = of_machine(layout.codomain)
    moved = tuple(axis for axis, (low, high) in scale.items() if high > low)
    axes = layout.codomain if machine else moved or layout.codomain[-1:]
    if not tensor:
        label = layout.names
    elif not machine:
        label = axes
    elif "lane" in moved:
        # Of a row that a lane gives the address of, the place behind the address: there is no register.
        behind = tuple(axis for axis in moved if axis not in MACHINE)
        label = ("lane", *behind) if behind and "reg" not in moved else ("lane", "reg")
    else:
        label = ("sg", "reg") if "sg" in moved else ("reg",)
    replicas = layout.canonical().replicas
    return Grid(
        part.name,
        rows,
        columns,
        element,
        owner,
        layout,
        axes,
        tuple(name for name in label if name in (owner if tensor else element)),
        tensor,
        scale,
        _copies(replicas, axes),
        prod(f.extent for f in replicas),
        prod(f.extent for factors in layout.dims for f in factors if f[2] is None),
        part.tile or _lane_tile(layout),
        part.tile is not None,
        any(isinstance(one, XorFactor) for one in replicas),
        part.role,
        *copies_in_words(layout),
        part.bits,
    )


def _copies(replicas: Sequence[Factor], axes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """How far each further owner of an element is from the lowest, along each axis; the first few of them."""
    if not replicas or any(
        isinstance(f, XorFactor) for f in replicas
    ):  # XORed copies are not equally far from all owners
        return ()
    found: set[tuple[int, ...]] = set()
    tried = product(*(range(min(f.extent, _MOST_COPIES + 1)) for f in replicas))
    for values in islice(tried, MOST_COPIES_TRIED):
        found.add(tuple(sum(v * f.stride for v, f in zip(values, replicas, strict=True) if f.axis == a) for a in axes))
        if len(found) > _MOST_COPIES:
            break
    return tuple(sorted(found))[1:]


def _lane_tile(layout: Layout) -> tuple[int, ...]:
    """The smallest box of factors that has all those of lanes: what the lanes span at once."""
    sizes: list[int] = []
    for factors in layout.dims:
        size = reach = 1
        for factor in reversed(factors):
            reach *= factor.extent
            if "lane" in ([place[0] for place in factor.places] if isinstance(factor, XorFactor) else [factor.axis]):
                size = reach
        sizes.append(size)
    return tuple(sizes)
