"""Every operand's XeGPU layout at the three levels: what the emitted kernels carry, and what propagation gives their values.

At workgroup level a layout says which subgroup has which part (`sg_layout`, `sg_data`) and into which instructions that part is
cut (`inst_data`); at subgroup level the cut is left; at lane level the lanes of one instruction (`lane_layout`, `lane_data`).

By hand, for 8x4 subgroups with tiles of 32x64, 32 deep, in f16: the workgroup's A is 256x32, each of the 8 rows of subgroups
has 32x32 of it (the 4 in a row have the same), dpas takes 8x16 of that, and one load brings all of it. In a lane, B has two
neighbouring rows of a column next to each other:

>>> from layoutalg.gemm import plan_gemm
>>> found = layouts(plan_gemm(512, 512, 512, tile=(32, 64), k_step=32, subgroups=(8, 4), registers=256))
>>> print(found.workgroup["A"])
#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32], inst_data = [8, 16]>
>>> print(found.workgroup["load A"])
#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32], inst_data = [32, 32]>
>>> print(found.subgroup["C"], found.lane["B"])
#xegpu.layout<inst_data = [8, 16]> #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd
from types import MappingProxyType
from typing import TYPE_CHECKING

from layoutalg.core.elements import element_bits
from layoutalg.core.llvm_versions import rules
from layoutalg.gemm.roles import other_name
from layoutalg.xegpu import LayoutAttr, SliceAttr

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["Layouts", "layout_of_bias", "layouts", "layouts_of_c"]

LINE = 64
"""Bytes of a cache line: prefetches are as wide, so that no two ask for one line."""


@dataclass(frozen=True)
class Layouts:
    """The layouts at each level, by operand: `A`, `B`, `C` of dpas; `load A`, `load B` of what lies in memory (transposed
    where the problem says so); `prefetch A`, `prefetch B` where the plan prefetches.

    >>> from layoutalg.gemm import plan_gemm
    >>> list(layouts(plan_gemm(64, 64, 64, prefetch="none")).lane)
    ['A', 'B', 'C', 'load A', 'load B']
    """

    workgroup: Mapping[str, LayoutAttr]
    subgroup: Mapping[str, LayoutAttr]
    lane: Mapping[str, LayoutAttr]

    def with_lanes(self, level: str) -> Mapping[str, LayoutAttr]:
        """The layouts of workgroup or subgroup, with those of the lanes inside: what a value's layout is when all is decided.

        Loads bring single operands here: where several are in one message, no `lane_data` says in which register what is.

        >>> from layoutalg.gemm import plan_gemm
        >>> print(layouts(plan_gemm(64, 64, 64)).with_lanes("subgroup")["C"])
        #xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>
        """

        outer = self.workgroup if level == "workgroup" else self.subgroup

        def inside(name: str, layout: LayoutAttr) -> LayoutAttr:
            operand = name.removeprefix("load ")
            lane = self.lane.get(name, self.lane["C"])
            block = layout.inst_data
            if operand != name and lane.lane_layout == self.lane[operand].lane_layout:
                block = outer[operand].inst_data
            return replace(layout, inst_data=block, lane_layout=lane.lane_layout, lane_data=lane.lane_data)

        return MappingProxyType({name: inside(name, layout) for name, layout in outer.items()})


def layouts(gemm: Gemm) -> Layouts:
    """The layouts of a plan's kernels, of A, B and C as the product has them.

    Where A and B change roles (`layoutalg.gemm.roles`), the loop computes C^T: lanes then have rows of C, and A is what the
    matrix instruction takes as B, transposed. The kernels above lane level compute C itself, and have `layouts_of_c`.

    >>> from layoutalg.gemm import plan_gemm
    >>> plan = plan_gemm(64, 64, 64, trans_a=True, trans_b=True, tile=(16, 8), subgroups=(1, 2), transpose="roles")
    >>> print(layouts(plan).workgroup["C"]); print(layouts(plan).lane["C"])
    #xegpu.layout<sg_layout = [1, 2], sg_data = [16, 8], inst_data = [16, 8], order = [0, 1]>
    #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
    """
    if gemm.exchanged:
        found = layouts(gemm.loop)
        return Layouts(*(_exchanged(level) for level in (found.workgroup, found.subgroup, found.lane)))
    return layouts_of_c(gemm)


def layouts_of_c(gemm: Gemm) -> Layouts:
    """The layouts of a kernel that computes C in blocks of C, whatever its tiling says of roles."""
    problem, tile, unit, grid = gemm.problem, gemm.tile, gemm.dpas, gemm.tiling.subgroups
    taken = {"A": (tile.m, tile.k), "B": (tile.k, tile.n), "C": (tile.m, tile.n)}
    units = {"A": (unit.m, unit.k), "B": (unit.k, unit.n), "C": (unit.m, unit.n)}
    whole = {name: LayoutAttr(sg_layout=grid, sg_data=taken[name], inst_data=units[name]) for name in ("A", "B", "C")}
    lanes = {name: _lanes(name, element_bits(gemm.element_of(name)), units[name], unit.subgroup_size) for name in "AB"}
    lanes["C"] = LayoutAttr(lane_layout=(1, unit.subgroup_size), lane_data=(1, 1))
    for name, transposed in (("A", problem.trans_a), ("B", problem.trans_b)):
        block = _block_of_load(gemm, name, units[name])
        whole[f"load {name}"] = _turned(replace(whole[name], inst_data=block), transposed)
        lanes[f"load {name}"] = _turned(lanes[name], transposed)
    if gemm.tiling.prefetch != "none":
        for name, transposed in (("A", problem.trans_a), ("B", problem.trans_b)):
            rows, columns = _workgroup_tile(gemm, name)
            stored = (columns, rows) if transposed else (rows, columns)
            widest = LINE if rules(gemm.llvm).large_blocks else LINE // 2
            found = _shared(stored, gemm.tiling.count, element_bits(gemm.element_of(name)), widest)
            if found is not None:
                whole[f"prefetch {name}"] = found
                lanes[f"prefetch {name}"] = lanes["A"]
    parts = {name: LayoutAttr(inst_data=layout.inst_data) for name, layout in whole.items()}
    return Layouts(*(MappingProxyType(found) for found in (whole, parts, lanes)))


def _exchanged(level: Mapping[str, LayoutAttr]) -> Mapping[str, LayoutAttr]:
    """The layouts of A, B and C from those of the product of C^T; what lies in memory lies as it does there."""
    order = ("A", "B", "C", "load A", "load B", "prefetch A", "prefetch B")
    made = {
        other_name(name) if len(name) == 1 else name[:-1] + other_name(name[-1]): _turned(layout, len(name) == 1)
        for name, layout in level.items()
    }
    return MappingProxyType({name: made[name] for name in order if name in made})


def layout_of_bias(bias: str, of_c: LayoutAttr) -> LayoutAttr | SliceAttr:
    """Where a bias is: of columns, what is left of C's layout; of rows, C's cut into single rows.

    >>> from layoutalg.gemm import plan_gemm
    >>> of_c = layouts(plan_gemm(64, 64, 64)).subgroup["C"]
    >>> print(layout_of_bias("column", of_c), layout_of_bias("row", of_c))
    #xegpu.slice<#xegpu.layout<inst_data = [8, 16]>, dims = [0]> #xegpu.layout<inst_data = [1, 16]>
    """
    if bias == "column":
        return SliceAttr(of_c, (0,))
    return replace(of_c, inst_data=(1, *(of_c.inst_data or ())[1:]))


def _lanes(name: str, bits: int, unit: tuple[int, int], lanes: int) -> LayoutAttr:
    """Lanes have columns, in two rows where there are 8 (A of tf32); A comes in units of 16 bits, B in units of 32 along k."""
    packed = (1, max(1, 16 // bits)) if name == "A" else (32 // bits, 1)
    across = min(lanes, unit[1] // packed[1])
    return LayoutAttr(lane_layout=(lanes // across, across), lane_data=packed)


def _block_of_load(gemm: Gemm, name: str, unit: tuple[int, int]) -> tuple[int, int]:
    """What one load brings: the block of the plan's messages, or what divides all of them; for LLVM 22 one operand of dpas."""
    transposed = gemm.problem.trans_a if name == "A" else gemm.problem.trans_b
    if transposed or name in gemm.problem.edges or not rules(gemm.llvm).large_blocks:
        return unit
    loads = [message.load for message in gemm.messages if message.operand == name]
    return gcd(*(load.rows for load in loads)), gcd(*(load.width * load.count for load in loads))


def _workgroup_tile(gemm: Gemm, name: str) -> tuple[int, int]:
    whole = gemm.tiling.workgroup_tile
    return (whole.m, whole.k) if name == "A" else (whole.k, whole.n)


def _turned(layout: LayoutAttr, transposed: bool) -> LayoutAttr:
    """The layout of a tile that lies in memory the other way round; `order` keeps who has what."""
    if not transposed:
        return layout
    turned = {
        name: sizes[::-1]
        for name in ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data")
        if (sizes := getattr(layout, name)) is not None
    }
    return LayoutAttr(**turned, order=(0, 1) if layout.sg_layout is not None else None)


def _shared(tile: tuple[int, int], subgroups: int, bits: int, widest: int) -> LayoutAttr | None:
    """A tile cut so that each subgroup asks for one block, at most 32 rows, as wide as a cache line or half of it."""
    for width in (widest * 8 // bits, widest * 4 // bits):
        for rows in (32, 16, 8, 4, 2, 1):
            down, across = tile[0] // rows, tile[1] // width
            if tile[0] % rows == 0 and tile[1] % width == 0 and down * across == subgroups:
                return LayoutAttr(sg_layout=(down, across), sg_data=(rows, width), inst_data=(rows, width))
    return None
