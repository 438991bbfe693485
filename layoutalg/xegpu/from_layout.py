"""From a `Layout` back to `#xegpu.layout` or `#xegpu.slice`: the attribute that means it, with the fewest fields.

XeGPU writes a tensor as a block product: rounds over subgroups, subgroups, instruction tiles, units, lanes, data. So the
factors of each dimension, major to minor, must read `rounds@reg subgroups@sg instructions@reg units@reg lanes@lane
data@reg` (any of them missing), and registers must count the rounds of all dimensions first (row-major), then the
instruction tiles, then each lane's vector:

>>> tile = Layout.parse("d0 = 2@sg:4 2@reg:8 8@reg, d1 = 4@sg 16@lane")
>>> print(to_xegpu(tile))
#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [16, 1]>
>>> to_xegpu(tile).layout(tile.shape) == tile
True

The 16 rows of that tile are one factor. Where columns come between them, 8 rows are an instruction tile:

>>> print(to_xegpu(Layout.parse("d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane")))
#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [8, 1]>

Where several hold the same data, the layout is a slice of one with more dimensions. LLVM 22 also lets subgroups share the
blocks of a dimension:

>>> shared = Layout.parse("d0 = 8@sg:4 32@reg:32, d1 = 32@reg | replicas 4@sg")
>>> print(to_xegpu(shared), to_xegpu(shared, llvm=22), sep=chr(10))
#xegpu.slice<#xegpu.layout<sg_layout = [8, 1, 4], sg_data = [32, 32, 1]>, dims = [2]>
#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>
>>> print(to_xegpu(Layout.parse("d0 = 8@lane 4@reg | replicas 2@lane:8")))
#xegpu.slice<#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 4]>, dims = [0]>

The law: `to_xegpu(attr.layout(shape)).layout(shape) == attr.layout(shape)` for every attribute that has a layout, and the
result always passes `check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple, NoReturn

from layoutalg.core.errors import ConversionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM, Rules, rules
from layoutalg.core.notation import Distributed, Machine, sole_layout
from layoutalg.core.work_items import MachineFactor, level_steps, machine_factors, refuse
from layoutalg.xegpu.attributes import LayoutAttr, SliceAttr

__all__ = ["to_xegpu"]

_NONE = (1, 0, None)


class _Replica(NamedTuple):
    """Work-items that hold the same data: how many, and the dimensions whose factors count next below and above them."""

    extent: int
    below: int
    above: int


def to_xegpu(
    value: Distributed,
    shape: Sequence[int] | None = None,
    machine: Machine | None = None,
    *,
    llvm: int = DEFAULT_LLVM,
) -> LayoutAttr | SliceAttr:
    """The XeGPU attribute that means a layout: the fewest fields that a version of LLVM accepts.

    `value` is a `Layout` or a value of any notation with one operand; `shape` and `machine` are what the value leaves open.
    LLVM 23 and 24 want the data with every layout, and take copies in slices alone.
    With `layout` what the value means, `to_xegpu(value).layout(layout.shape) == layout`. Names of dimensions are not kept: the
    attribute has none.

    Raises `ConversionError` naming the dimension and the factor that XeGPU cannot express, and for a value with several
    operands; `DistributionError` where the value has no layout of that shape on that machine; `LayoutError` for a version
    that is not known.

    >>> print(to_xegpu(Layout.parse("d0 = 8@reg, d1 = 16@lane")))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [8, 1]>
    >>> print(to_xegpu(Layout.parse("d0 = 8@reg, d1 = 16@lane"), llvm=22))
    #xegpu.layout<lane_layout = [1, 16]>
    >>> to_xegpu(Layout.parse("d0 = 16@lane 2@sg"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: dimension d0: 2@sg counts inside 16@lane, and XeGPU deals out lanes inside a
    subgroup's block (in d0 = 16@lane 2@sg)
    """
    return _Regrouping(sole_layout(value, shape, machine, "to_xegpu"), rules(llvm)).attribute()


class _Regrouping:
    """The factors of a layout dealt out to XeGPU's six levels."""

    def __init__(self, layout: Layout, version: Rules) -> None:
        self.complete = version.data_with_layout
        self.source = layout
        self.form = layout.canonical()
        self.rank = rank = self.form.rank
        factors = machine_factors(layout, "XeGPU")
        self.sg, self.lane, reg = factors["sg"], factors["lane"], factors["reg"][::-1]
        self.subgroups, self.subgroup_place = self._one_per_dim(self.sg, "sg")
        self.lanes, self.lane_place = self._one_per_dim(self.lane, "lane")
        for d in range(rank):
            if self.lanes[d] > 1 and 0 < self.subgroup_place[d] < self.lane_place[d]:
                sg, lane = self._factor(self.sg, d, "sg"), self._factor(self.lane, d, "lane")
                self._refuse(d, f"{sg} counts inside {lane}, and XeGPU deals out lanes inside a subgroup's block")
        self.rounds, self.instructions = [1] * rank, [1] * rank
        self.units, self.data = [1] * rank, [1] * rank
        self._group_registers(reg)
        self._verify()

    # Reading the layout

    def _one_per_dim(self, factors: list[MachineFactor], axis: str) -> tuple[list[int], list[int]]:
        """How many ids each dimension is dealt out to, and the place of that factor; a dimension has one at most."""
        counts, places = [1] * self.rank, [0] * self.rank
        for stride, extent, place, d in factors:
            if d < 0:
                continue
            if counts[d] != 1:
                self._refuse(d, f"{Factor(extent, stride, axis)} is a second {axis} factor, and XeGPU has one of each")
            counts[d], places[d] = extent, place
        return counts, places

    # Registers: rounds first, then instruction tiles, then the lane's vector

    def _group_registers(self, reg: list[MachineFactor]) -> None:
        """Cut the register factors, major to minor, into rounds, instruction tiles and the lane's vector.

        Each group lists dimensions in rising order. What counts outside a subgroup factor is a round, what counts inside
        one is not; what counts inside a lane factor is part of the vector. The fewest rounds and tiles are taken.
        """
        count = len(reg)
        outside, inside, held = (
            0,
            count,
            count,
        )  # factors before / from these positions are rounds / no rounds / the vector
        for i, (_, _, place, d) in enumerate(reg):
            if self.subgroups[d] > 1:
                if place > self.subgroup_place[d]:
                    outside = i + 1
                elif i < inside:
                    inside = i
            if place < self.lane_place[d] and i < held:
                held = i
        vector = self._start_of_vector(reg)
        rising = _rising_prefix(reg)
        if outside > min(inside, held, rising):
            self._refuse_register(
                reg[outside - 1],
                "counts outside the subgroups, and XeGPU's rounds are the outermost registers, row-major",
            )
        if vector <= outside:
            rounds = tiles = outside
        else:
            tiles = vector
            if tiles > held:
                self._refuse_register(
                    reg[held],
                    "counts inside the lanes, and the registers from it on are not a row-major vector of a lane",
                )
            rounds = tiles
            while rounds and (rounds == tiles or reg[rounds - 1][3] < reg[rounds][3]):
                rounds -= 1
            rounds = max(rounds, outside)
            most = min(inside, rising, tiles)
            if rounds > most:
                self._refuse_register(
                    reg[most],
                    "starts a fourth run of row-major registers, and XeGPU has rounds, instruction tiles and a vector",
                )
            if rounds and most == tiles:
                rounds = tiles  # sg_data is needed anyway: it can do without inst_data
        for i, (_, extent, place, d) in enumerate(reg):
            if i < rounds:
                level = self.rounds
            elif i < tiles:
                level = self.instructions
            else:
                level = self.units if place > self.lane_place[d] > 0 else self.data
            level[d] = extent

    def _start_of_vector(self, reg: list[MachineFactor]) -> int:
        """The first register factor from which on all can be one lane's vector: dimensions rise, units before data."""
        start = len(reg) - 1
        while start > 0:
            (_, _, place, d), (_, _, inner, e) = reg[start - 1], reg[start]
            if d > e or (d == e and not place > self.lane_place[d] > inner):
                return start
            start -= 1
        return 0

    def _verify(self) -> None:
        """Multiply the six levels out again: they must give the layout's own factors."""
        vector = [u * n for u, n in zip(self.units, self.data, strict=True)]
        inner, middle, outer = level_steps(vector, self.instructions, self.rounds)
        for d, factors in enumerate(self.form.dims):
            ids = {f[2]: f for f in factors}
            data = self.data[d]
            levels = (
                (self.rounds[d], outer[d], "reg"),
                ids.get("sg", _NONE),
                (self.instructions[d], middle[d], "reg"),
                (self.units[d], data * inner[d], "reg"),
                ids.get("lane", _NONE),
                (data, inner[d], "reg"),
            )
            found = [factor for factor in levels if factor[0] != 1]
            if tuple(found) != factors:
                factor = next(f for f, level in zip_longest(factors, found) if f != level)
                self._refuse(
                    d, f"{factor or factors[-1]} has no place among rounds, subgroups, tiles, units, lanes and data"
                )

    # The attribute

    def attribute(self) -> LayoutAttr | SliceAttr:
        lanes, subgroups = self._replicas(self.lane), self._replicas(self.sg)
        if self.rank and not (lanes or subgroups):
            order = self._order((self.sg, self.lane))
            return self._layout(self.subgroups, order, shared=False)
        if subgroups and not lanes and max(self.rounds, default=1) == 1 and not self.complete:
            found = self._shared(subgroups)
            if found is not None:
                return found
        return self._slice(subgroups, lanes)

    def _replicas(self, factors: list[MachineFactor]) -> list[_Replica]:
        found: list[_Replica] = []
        for i, factor in enumerate(factors):
            if factor[3] < 0:
                below = factors[i - 1][3] if i else -1
                found.append(_Replica(factor[1], below, factors[i + 1][3] if i + 1 < len(factors) else -1))
        return found

    def _layout(self, subgroups: list[int], order: list[int], shared: bool, extra: _Extra | None = None) -> LayoutAttr:
        """The fields, each only where it says something; `extra` has the dimensions that a slice drops."""
        data, lanes = self.data, self.lanes
        tile = [u * n * v for u, n, v in zip(self.units, lanes, data, strict=True)]
        block = [i * n for i, n in zip(self.instructions, tile, strict=True)]
        rounds, units, tiles = (max(level, default=1) != 1 for level in (self.rounds, self.units, self.instructions))
        has_sg, has_lane = bool(self.sg) or rounds, bool(self.lane)
        if extra is not None:
            subgroups, lanes = extra.into(subgroups, extra.subgroups), extra.into(lanes, extra.lanes)
            data, tile, block = (extra.into(level, None) for level in (data, tile, block))
            has_lane = has_lane or not has_sg
        self._verify_ids(self.sg, subgroups, order, extra)
        self._verify_ids(self.lane, lanes, order, extra)
        return LayoutAttr(
            tuple(subgroups) if has_sg else None,
            tuple(block) if rounds or shared or (self.complete and has_sg) else None,
            tuple(tile) if tiles or not (has_sg or has_lane) else None,
            tuple(lanes) if has_lane else None,
            tuple(data) if units or (self.complete and has_lane) else None,
            None if order == sorted(order, reverse=True) or not (has_sg or has_lane) else tuple(order),
        )

    def _verify_ids(
        self, factors: list[MachineFactor], counts: list[int], order: list[int], extra: _Extra | None
    ) -> None:
        """Count the ids in the attribute's order: they must have the layout's strides, and be as many."""
        if not factors:
            return
        step = 1
        strides: dict[int, int] = {}
        for d in order:
            strides[d if extra is None else extra.columns[d]] = step
            step *= counts[d]
        whole = factors[-1][0] * factors[-1][1]
        if step != whole or any(d >= 0 and strides[d] != stride for stride, _, _, d in factors):
            self._refuse(None, "its subgroups or lanes do not count in one order of the dimensions, as XeGPU's do")

    def _shared(self, replicas: list[_Replica]) -> LayoutAttr | None:
        """Subgroups that share the blocks of a dimension, wrapping around: None where LLVM would not take it."""
        subgroups, taken = list(self.subgroups), list[int]()
        chain = [factor[3] for factor in self.sg]
        block = [size // n for size, n in zip(self.form.shape, subgroups, strict=True)]
        place = 0
        for extent, below, above in replicas:
            place = chain.index(-1, place)
            low = above if above >= 0 else -1
            high = below if below >= 0 else self.rank
            free = [d for d in range(self.rank) if self.subgroups[d] == 1 and d not in taken]
            free.sort(key=lambda d: not low < d < high)  # those that leave the order as it is come first
            home = next((d for d in (*free, below) if d >= 0 and d not in taken and block[d] % extent == 0), None)
            if home is None:
                return None
            taken.append(home)
            subgroups[home] *= extent
            chain[place] = home
        steps = [(0, 0, 0, d) for d in dict.fromkeys(chain)]
        try:
            order = self._order((steps, self.lane))
        except ConversionError:
            return None
        return self._layout(subgroups, order, shared=True)

    def _slice(self, subgroups: list[_Replica], lanes: list[_Replica]) -> SliceAttr:
        """A layout with more dimensions, fastest last; those that hold the replicas are dropped."""
        order = self._order((self.sg, self.lane))
        at = {d: i for i, d in enumerate(order)}
        # Where a replica may stand: after position `low` of the order, and before `high`. Two may share a dimension.
        groups: list[tuple[int, int, int]] = []
        alone = list(range(len(lanes)))
        first = 0
        for extent, below, above in subgroups:
            low, high = at.get(below, -1), at.get(above, self.rank)
            shared = 1
            for i in range(first, len(lanes)):
                start = max(low, at.get(lanes[i].below, -1))
                if start < min(high, at.get(lanes[i].above, self.rank)):
                    low, shared, first = start, lanes[i].extent, i + 1
                    alone.remove(i)
                    break
            groups.append((low, extent, shared))
        groups += [(at.get(lanes[i].below, -1), 1, lanes[i].extent) for i in alone]
        groups.sort()
        return self._with_dropped(order, groups)

    def _with_dropped(self, order: list[int], groups: list[tuple[int, int, int]]) -> SliceAttr:
        """Kept dimensions (>= 0) and dropped ones (< 0) in one order, fastest first, then numbered."""
        merged: list[int] = []
        waiting = list(enumerate(groups))
        for i in range(-1, self.rank):
            if i >= 0:
                merged.append(order[i])
            while waiting and waiting[0][1][0] == i:
                merged.append(-1 - waiting.pop(0)[0])
        plain = order == sorted(order, reverse=True)
        columns = merged[::-1] if plain else [*(m for m in merged if m < 0), *range(self.rank)]
        if not columns:
            columns = [-1]
            merged, groups = [-1], [(-1, 1, 1)]
        extra = _Extra(columns, [g[1] for g in groups], [g[2] for g in groups])
        number = {column: i for i, column in enumerate(columns)}
        parent = self._layout(self.subgroups, [number[m] for m in merged], shared=False, extra=extra)
        return SliceAttr(parent, tuple(i for i, column in enumerate(columns) if column < 0))

    def _order(self, chains: tuple[list[MachineFactor], ...]) -> list[int]:
        """One order of the dimensions, fastest first, that subgroups and lanes both count in; the default if it does."""
        after: list[tuple[int, int]] = []
        for chain in chains:
            dims = [factor[3] for factor in chain if factor[3] >= 0]
            after += pairwise(dims)
        if all(a > b for a, b in after):
            return list(range(self.rank - 1, -1, -1))
        left, order = list(range(self.rank - 1, -1, -1)), list[int]()
        while left:
            ready = next((d for d in left if not any(b == d and a in left for a, b in after)), None)
            if ready is None:
                names = " and ".join(self.form.names[d] for d in sorted(left))
                self._refuse(
                    None, f"subgroups and lanes count {names} in different orders, and XeGPU has one order for both"
                )
            order.append(ready)
            left.remove(ready)
        return order

    # Refusing

    def _factor(self, factors: list[MachineFactor], dim: int, axis: str) -> Factor:
        return next(Factor(extent, stride, axis) for stride, extent, _, d in factors if d == dim)

    def _refuse_register(self, factor: MachineFactor, problem: str) -> NoReturn:
        self._refuse(factor[3], f"{Factor(factor[1], factor[0], 'reg')} {problem}")

    def _refuse(self, dim: int | None, problem: str) -> NoReturn:
        refuse(self.source, dim, problem)


class _Extra(NamedTuple):
    """The columns of a slice's parent: a kept dimension, or -1 - i for the i-th dropped one, and how many ids those have."""

    columns: list[int]
    subgroups: list[int]
    lanes: list[int]

    def into(self, kept: list[int], dropped: list[int] | None) -> list[int]:
        return [kept[c] if c >= 0 else 1 if dropped is None else dropped[-1 - c] for c in self.columns]


def _rising_prefix(reg: list[MachineFactor]) -> int:
    """How many of the register factors from the start on name rising dimensions."""
    count = min(1, len(reg))
    while 0 < count < len(reg) and reg[count - 1][3] < reg[count][3]:
        count += 1
    return count
