"""Which elements a subgroup or a lane holds: XeGPU's distribution rule, as LLVM has it and as a `Layout`.

A layout distributes in levels, outermost first: subgroups over the workgroup's tensor, instruction tiles inside a
subgroup's block, lanes inside an instruction tile. At a level with `layout` L and `data` D, an id is taken apart over all
of L in the given `order` (first dimension of the order fastest), its coordinate c picks the block at c*D, and the whole
is repeated until the tensor is covered. A slice drops its dimensions only after the id was taken apart: ids that differ
in a dropped dimension hold the same data. Where ids outnumber blocks they share them, evenly or not at all: 16 lanes share 8
columns, and cannot share 15. That is `layout`, the exact relation; LLVM is stricter about sharing (`accepts`, which
`LayoutAttr.check` asks; versions in `core.llvm_versions`).

>>> tensor = Distribution(sg_layout=(2, 4), sg_data=(16, 16), lane_layout=(1, 16), lane_data=(1, 1), rank=2)
>>> print(tensor.layout((32, 64), "this layout"))
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane
>>> tensor.blocks((32, 64), "this layout")[5]
[(16, 16)]

`blocks` says what LLVM computes, whatever it means. `layout` is an exact relation, or an error that names the dimension at
fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from operator import mul
from typing import NamedTuple, NoReturn

from layoutalg.core.errors import DistributionError, LayoutError, SizeError
from layoutalg.core.extents import Extent, as_extent, exact_quotient, multiply
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import LONGEST_ATTRIBUTE
from layoutalg.core.limits import MOST_BLOCKS as _MOST_BLOCKS
from layoutalg.core.limits import MOST_DIMENSIONS as _MOST_DIMENSIONS
from layoutalg.core.llvm_versions import Rules, rules
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import listed
from layoutalg.core.work_items import level_steps

__all__ = ["Distribution", "Level", "Misfit", "as_numbers", "as_shape", "shortened"]

_WORK_ITEMS = {"sg": "subgroups", "lane": "lanes"}
_SHARED = {"sg": "the tensor", "lane": "the tile that the lanes share"}


def as_shape(shape: Sequence[Extent]) -> tuple[Extent, ...]:
    """Check a tensor's shape.

    Raises `LayoutError` unless it is a sequence of positive whole numbers or symbols.

    >>> as_shape([8, 16])
    (8, 16)
    """
    if isinstance(shape, str) or not isinstance(shape, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"shape {shown(shape)}: expected a sequence of whole numbers, such as (8, 16)")
    sizes = listed(shape, "shape", _MOST_DIMENSIONS)
    return tuple(as_extent(size, f"dimension {d} of the shape: size") for d, size in enumerate(sizes))


def as_numbers(shape: Sequence[Extent]) -> tuple[int, ...]:
    """Check a tensor's shape where only numbers will do (LLVM's own rules).

    >>> as_numbers([8, 16])
    (8, 16)
    """
    sizes = as_shape(shape)
    for d, size in enumerate(sizes):
        if type(size) is not int:
            raise LayoutError(f"dimension {d} of shape {[str(s) for s in sizes]} is a symbol: a number is needed here")
    return sizes


@dataclass(frozen=True, slots=True)
class Level:
    """One level of distribution: `layout` ids over `parents` (all dimensions), `kept` of them stay; `data` apiece.

    >>> Level((2, 8), (1, 1), (1, 0), (0, 1)).strides
    (8, 1)
    """

    layout: tuple[int, ...]
    data: tuple[Extent, ...] | None
    order: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """How far the id moves per step in each dimension of `layout`, dropped ones included."""
        strides = [0] * len(self.layout)
        step = 1
        for d in self.order:
            strides[d] = step
            step *= self.layout[d]
        return tuple(strides)

    @property
    def counts(self) -> tuple[int, ...]:
        """The ids per kept dimension."""
        return tuple(self.layout[d] for d in self.kept)


@dataclass(frozen=True, slots=True)
class Misfit:
    """What cannot be dealt out evenly: `size` elements of a dimension, to `count` work-items in blocks of `data` (None: any).

    `level` is "sg", "inst" or "lane"; `shared`, that one block would do, which all hold; `of`, whose `size` is: a
    "subgroup", an "instruction" or a "lane", or the tensor's ("").
    """

    level: str
    dimension: int
    size: int
    count: int
    data: int | None
    shared: bool = False
    of: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A layout attribute with its slices worked in: every field as long as the tensor's rank, or None.

    `parent_*` fields, `order` and `kept` are set by a slice: ids are taken apart over the parent's dimensions.
    """

    rank: int
    sg_layout: tuple[int, ...] | None = None
    sg_data: tuple[int, ...] | None = None
    inst_data: tuple[int, ...] | None = None
    lane_layout: tuple[int, ...] | None = None
    lane_data: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None
    parent_sg: tuple[int, ...] | None = None
    parent_lane: tuple[int, ...] | None = None
    kept: tuple[int, ...] | None = None

    def drop(self, dims: Sequence[int]) -> Distribution:
        """The distribution of a slice: `dims` count what is left here."""
        stay = [d for d in range(self.rank) if d not in dims]

        def left(field: tuple[int, ...] | None) -> tuple[int, ...] | None:
            return None if field is None else tuple(field[d] for d in stay)

        kept = tuple(range(self.rank)) if self.kept is None else self.kept
        return replace(
            self,
            rank=len(stay),
            sg_layout=left(self.sg_layout),
            sg_data=left(self.sg_data),
            inst_data=left(self.inst_data),
            lane_layout=left(self.lane_layout),
            lane_data=left(self.lane_data),
            parent_sg=self.parent_sg if self.parent_sg is not None else self.sg_layout,
            parent_lane=self.parent_lane if self.parent_lane is not None else self.lane_layout,
            order=self.order if self.order is not None else _default_order(self.sg_layout, self.lane_layout),
            kept=tuple(kept[d] for d in stay),
        )

    def level(self, which: str) -> Level:
        """The level of subgroups ("workgroup") or of lanes ("subgroup")."""
        if which not in ("workgroup", "subgroup"):
            raise LayoutError(f"level {which!r}: expected 'workgroup', 'subgroup' or 'instruction'")
        mine, parent, data = (
            (self.sg_layout, self.parent_sg, self.sg_data)
            if which == "workgroup"
            else (self.lane_layout, self.parent_lane, self.lane_data)
        )
        if mine is None:
            raise LayoutError(f"level {which!r}: the layout has no {'sg' if which == 'workgroup' else 'lane'}_layout")
        whole = mine if parent is None else parent
        order = tuple(reversed(range(len(whole)))) if self.order is None else self.order
        return Level(whole, data, order, tuple(range(len(whole))) if self.kept is None else self.kept)

    @property
    def unit(self) -> tuple[int, ...]:
        """The smallest shape that needs every subgroup and lane once."""
        ones = (1,) * self.rank
        lanes = tuple(map(mul, self.lane_layout or ones, self.lane_data or ones))
        each = self.sg_data or self.inst_data or lanes
        return tuple(map(mul, self.sg_layout or ones, each))

    # What LLVM accepts

    def accepts(self, shape: tuple[int, ...], llvm: Rules | None = None) -> bool:
        """Whether a layout fits a shape, by the rule of a version of LLVM (`llvm_versions.Rules`)."""
        return len(shape) == self.rank and self.misfit(shape, llvm or rules()) is None

    def misfit(self, shape: tuple[int, ...], llvm: Rules) -> Misfit | None:
        """Where a version of LLVM finds that a shape of the layout's rank is not dealt out; None where it is."""
        return self._misfit_of_each(shape) if llvm.each_dimension else self._misfit_of_all(shape)

    def _misfit_of_all(self, shape: tuple[int, ...]) -> Misfit | None:
        """LLVM 22: each level over all dimensions at once."""
        sizes, of = shape, ""
        if self.sg_layout is not None:
            if _all_divide(self.sg_layout, sizes):
                sizes, of = tuple(s // n for s, n in zip(sizes, self.sg_layout, strict=True)), "subgroup"
            elif not _all_divide(sizes, self.sg_layout):
                return _undivided("sg", sizes, self.sg_layout)
        if self.sg_data is not None:
            if not (_all_divide(self.sg_data, sizes) or _all_divide(sizes, self.sg_data)):
                return _undivided("sg", sizes, self.sg_data, blocks=True, of=of)
            sizes, of = self.sg_data, "subgroup"
        if self.inst_data is not None:
            if not _all_divide(self.inst_data, sizes):
                return _undivided("inst", sizes, self.inst_data, blocks=True, of=of)
            sizes, of = self.inst_data, "instruction"
        if self.lane_layout is not None:
            if not _all_divide(self.lane_layout, sizes):
                return _undivided("lane", sizes, self.lane_layout, of=of)
            sizes = tuple(s // n for s, n in zip(sizes, self.lane_layout, strict=True))
            if self.lane_data is not None and not _all_divide(self.lane_data, sizes):
                return _undivided("lane", sizes, self.lane_data, blocks=True, of="lane")
        return None

    def _misfit_of_each(self, shape: tuple[int, ...]) -> Misfit | None:
        """LLVM 23 and later: one dimension after the other; a layout and its data come together.

        Instruction tiles are asked of all that a subgroup holds, its rounds together, and lanes of one instruction tile.
        """
        held = _each_share("sg", shape, self.sg_layout, self.sg_data)
        if isinstance(held, Misfit):
            return held
        of = "" if self.sg_layout is None else "subgroup"
        if self.inst_data is not None:
            if not _all_divide(self.inst_data, held):
                return _undivided("inst", held, self.inst_data, blocks=True, of=of)
            held, of = self.inst_data, "instruction"
        lanes = _each_share("lane", held, self.lane_layout, self.lane_data, of)
        return lanes if isinstance(lanes, Misfit) else None

    @property
    def half(self) -> str | None:
        """The level, "sg" or "lane", whose layout stands without its data: None where both stand, or neither."""
        if (self.sg_layout is None) != (self.sg_data is None):
            return "sg"
        return "lane" if (self.lane_layout is None) != (self.lane_data is None) else None

    # What LLVM computes

    def blocks(
        self, shape: tuple[int, ...], attribute: object, level: str | None = None
    ) -> dict[int, list[tuple[int, ...]]]:
        """The origins of the blocks that each id holds, as LLVM computes them (see `LayoutAttr.blocks`)."""
        outermost = (
            "workgroup" if self.sg_layout is not None else "instruction" if self.lane_layout is None else "subgroup"
        )
        which = outermost if level is None else level
        if which == "instruction":
            starts = [
                range(0, s, t) for s, t in zip(shape, shape if self.inst_data is None else self.inst_data, strict=True)
            ]
            _limit_blocks(1, prod(map(len, starts)), shape, attribute)
            return {0: list(product(*starts))}
        at = self.level(which)
        sizes: list[int] = []
        for d, (size, count) in enumerate(zip(shape, at.counts, strict=True)):
            data = at.data[d] if at.data is not None else exact_quotient(size, count)
            if data is None:
                raise DistributionError(
                    f"dimension {d} of {list(shape)}: no data size is given, and {count} ids do not divide {size} "
                    f"(LLVM too fails to distribute by {shortened(attribute)})"
                )
            sizes.append(data)
        steps = [min(size, count * data) for size, count, data in zip(shape, at.counts, sizes, strict=True)]
        starts = [range(0, size, step) for size, step in zip(shape, steps, strict=True)]
        ids, each = prod(at.layout), prod(map(len, starts))
        _limit_blocks(ids, each, shape, attribute)
        rounds = list(product(*starts))
        found: dict[int, list[tuple[int, ...]]] = {}
        strides = at.strides
        for one in range(ids):
            place = [one // strides[d] % at.layout[d] * data for d, data in zip(at.kept, sizes, strict=True)]
            found[one] = [tuple((u + p) % s for u, p, s in zip(start, place, shape, strict=True)) for start in rounds]
        return found

    # What it means

    def layout(self, shape: tuple[Extent, ...], attribute: object) -> Layout:
        """The exact relation from the tensor to subgroups, lanes and registers.

        Raises `DistributionError` naming the dimension that cannot be dealt out, and what would fit.

        >>> print(Distribution(sg_layout=(4,), sg_data=(8,), rank=1).layout((16,), "it"))
        d0 = 2@sg 8@reg | replicas 2@sg:2
        """
        if len(shape) != self.rank:
            raise DistributionError(
                f"shape {list(shape)} has rank {len(shape)}, {shortened(attribute)} has rank {self.rank}"
            )
        ones: tuple[Extent, ...] = (1,) * self.rank
        rounds = tiles = data = ones
        sg = lane = _Spread(ones, ((),) * self.rank, (), shape)
        if self.sg_layout is not None:
            sg = _spread(self.level("workgroup"), shape, "sg", attribute)
            rounds = sg.rounds
        sizes = sg.blocks
        if self.inst_data is not None:
            tiles = _tiles(sizes, self.inst_data, shape, attribute)
            sizes = self.inst_data
        units = sizes
        if self.lane_layout is not None:
            lane = _spread(self.level("subgroup"), sizes, "lane", attribute)
            units, data = lane.rounds, lane.blocks
        # Rounds, tiles and each lane's vector (units and data together) count row-major, one inside the other: the block
        # product of all six levels, in which subgroups and lanes stand once.
        vector = [multiply(u, n) for u, n in zip(units, data, strict=True)]
        inner, middle, outer = level_steps(vector, tiles, rounds)
        dims: list[tuple[Factor, ...]] = []
        for d in range(self.rank):
            factors = (
                Factor(rounds[d], outer[d], "reg"),
                *sg.ids[d],
                Factor(tiles[d], middle[d], "reg"),
                Factor(units[d], multiply(data[d], inner[d]), "reg"),
                *lane.ids[d],
                Factor(data[d], inner[d], "reg"),
            )
            dims.append(tuple([f for f in factors if f.extent != 1]))
        return Layout.trusted(tuple(dims), sg.shared + lane.shared).canonical()


class _Spread(NamedTuple):
    """One level: how often it repeats per dimension, the factors of the ids, those that share, and the block of each id."""

    rounds: tuple[Extent, ...]
    ids: tuple[tuple[Factor, ...], ...]
    shared: tuple[Factor, ...]
    blocks: tuple[Extent, ...]


def _limit_blocks(ids: int, each: int, shape: tuple[int, ...], attribute: object) -> None:
    if ids * each > _MOST_BLOCKS:
        raise SizeError(
            f"{ids} ids with {each} blocks each is over the limit of 2^22 blocks (for {list(shape)} by {shortened(attribute)})"
        )


def _default_order(*layouts: tuple[int, ...] | None) -> tuple[int, ...] | None:
    rank = next((len(layout) for layout in layouts if layout is not None), None)
    return None if rank is None else tuple(reversed(range(rank)))


def _each_share(
    level: str,
    sizes: tuple[int, ...],
    layout: tuple[int, ...] | None,
    data: tuple[int, ...] | None,
    of: str = "",
) -> tuple[int, ...] | Misfit:
    """What one id holds in each dimension, by LLVM 23's rule: an equal number of whole blocks, or all of one that is shared."""
    if layout is None or data is None:
        return sizes
    held: list[int] = []
    for d, (size, count, each) in enumerate(zip(sizes, layout, data, strict=True)):
        if size % (count * each) and size != each:
            return Misfit(level, d, size, count, each, shared=True, of=of)
        held.append(each if size == each else size // count)
    return tuple(held)


def _undivided(
    level: str, sizes: Sequence[int], numbers: Sequence[int], *, blocks: bool = False, of: str = ""
) -> Misfit:
    """The first dimension that `numbers` do not divide: numbers of work-items, or of the elements in `blocks`."""
    d = next(d for d, (size, number) in enumerate(zip(sizes, numbers, strict=True)) if size % number)
    count, data = (1, numbers[d]) if blocks else (numbers[d], None)
    return Misfit(level, d, sizes[d], count, data, of=of)


def _all_divide(small: Sequence[int], large: Sequence[int]) -> bool:
    return all(n % m == 0 for m, n in zip(small, large, strict=True))


def _tiles(
    sizes: Sequence[Extent], tile: tuple[int, ...], shape: tuple[Extent, ...], attribute: object
) -> tuple[Extent, ...]:
    counts: list[Extent] = []
    for d, (size, one) in enumerate(zip(sizes, tile, strict=True)):
        count = exact_quotient(size, one)
        if count is None:
            raise DistributionError(
                f"dimension {d} of {list(shape)}: inst_data[{d}] = {one} does not divide the block of {size}; "
                f"a divisor of {size} would fit (layout {shortened(attribute)})"
            )
        counts.append(count)
    return tuple(counts)


def _spread(at: Level, sizes: tuple[Extent, ...], axis: str, attribute: object) -> _Spread:
    """Deal one level's ids out over the sizes that are left."""
    rounds: list[Extent] = []
    blocks: list[Extent] = []
    ids: list[tuple[Factor, ...]] = []
    strides = at.strides
    shared = [Factor(n, s, axis) for d, (n, s) in enumerate(zip(at.layout, strides, strict=True)) if d not in at.kept]
    for d, (size, count, parent) in enumerate(zip(sizes, at.counts, at.kept, strict=True)):
        data = at.data[d] if at.data is not None else exact_quotient(size, count)
        if data is None:
            _refuse(
                d,
                size,
                axis,
                f"{count} {_WORK_ITEMS[axis]} do not divide it, and no {axis}_data says what each holds",
                attribute,
            )
        blocks.append(data)
        stride = strides[parent]
        times = exact_quotient(size, multiply(count, data))
        if times is not None:
            rounds.append(times)
            ids.append((Factor(count, stride, axis),))
            continue
        # The ids reach past the end and wrap around: they share blocks, evenly or not at all.
        rounds.append(1)
        if data > size:
            _refuse(
                d,
                size,
                axis,
                f"{axis}_data[{d}] = {data} is larger: the block overruns it; a divisor of {size} would fit",
                attribute,
            )
        unit = count * data
        if unit < size:
            _refuse_count(d, size, axis, count, data, len(sizes), attribute)
        across = exact_quotient(size, data)
        if across is None:
            problem = f"blocks of {data} wrap around and overlap without coinciding; a divisor of {size} would fit"
            _refuse(d, size, axis, problem, attribute)
        sharing = exact_quotient(count, across)
        if sharing is None:
            _refuse_count(d, size, axis, count, data, len(sizes), attribute)
        ids.append((Factor(across, stride, axis),))
        shared.append(Factor(sharing, stride * across, axis))
    return _Spread(tuple(rounds), tuple(ids), tuple([f for f in shared if f.extent != 1]), tuple(blocks))


def _refuse_count(d: int, size: Extent, axis: str, count: int, data: Extent, rank: int, attribute: object) -> NoReturn:
    """Say how many elements would fit so many work-items."""
    unit = count * data
    below = size // unit * unit
    fits = f"{below or unit} or {below + unit if below else 2 * unit}"
    elements = ("rows", "columns")[d] if rank == 2 else "elements"
    each = "" if data == 1 else f" of {data} {elements} each"
    raise DistributionError(
        f"{count} {_WORK_ITEMS[axis]}{each} cannot share {size} {elements}; {fits} {elements} fit "
        f"(layout {shortened(attribute)}; dimension {d} of {_SHARED[axis]} has size {size})"
    )


def _refuse(d: int, size: Extent, axis: str, problem: str, attribute: object) -> NoReturn:
    raise DistributionError(
        f"dimension {d} of {_SHARED[axis]} has size {size}: {problem} (layout {shortened(attribute)})"
    )


def shortened(attribute: object) -> str:
    """An attribute for a message, where the reason comes first: long slices of slices are cut."""
    text = str(attribute)
    return text if len(text) <= LONGEST_ATTRIBUTE else f"{text[: LONGEST_ATTRIBUTE - 3]}..."
