"""The kernel at subgroup level: one subgroup's tiles, whole, with the size of the instructions that they are to be cut into.

LLVM's pipeline for this level (`xegpu-op-level=subgroup`) expects them cut, so its pass `--xegpu-blocking` runs before; the
lanes' layouts it chooses itself. Of what is prefetched every subgroup asks for the block that the workgroup's layout gives it.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(512, 512, 512, tile=(32, 64), k_step=64, subgroups=(8, 4), registers=256, prefetch="none")
>>> print(*emit_subgroup(gemm).splitlines()[:5], sep="\\n")
#a = #xegpu.layout<inst_data = [8, 16]>
#b = #xegpu.layout<inst_data = [16, 16]>
#c = #xegpu.layout<inst_data = [8, 16]>
#load_a = #xegpu.layout<inst_data = [32, 32]>
#load_b = #xegpu.layout<inst_data = [32, 32]>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.places import Places
from layoutalg.gemm.emission.tiles import PrefetchedBlock, write_tiles
from layoutalg.gemm.layouts import layouts_of_c
from layoutalg.xegpu import LayoutAttr

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["emit_subgroup"]


def emit_subgroup(gemm: Gemm, *, static: bool = False, lanes: bool = False) -> str:
    """The text of the kernel; `lanes` writes the lanes into the layouts too, which LLVM would find itself."""
    kernel = KernelWriter(gemm, static=static)
    places, found = Places.of(kernel), layouts_of_c(gemm)
    corners = {"A": places.workgroup_row, "B": places.workgroup_column}
    asked = {
        name: _own_block(kernel, gemm, name, layout, places.subgroup, corner)
        for name, corner in corners.items()
        if (layout := found.workgroup.get(f"prefetch {name}")) is not None and places.subgroup is not None
    }
    own = found.with_lanes("subgroup") if lanes else found.subgroup
    return write_tiles(kernel, own, gemm.tile, places.row, places.column, asked)


def _own_block(
    kernel: KernelWriter, gemm: Gemm, name: str, layout: LayoutAttr, subgroup: Value, corner: Value
) -> PrefetchedBlock:
    """The block that this subgroup asks for: the one that the workgroup's layout gives it."""
    (_, across), (rows, columns) = layout.sg_layout or (1, 1), layout.sg_data or (1, 1)
    columns_of = kernel.constant(across)
    down = kernel.op("muli", kernel.op("divui", subgroup, columns_of), kernel.constant(rows))
    aside = kernel.op("muli", kernel.op("remui", subgroup, columns_of), kernel.constant(columns))
    transposed = gemm.problem.trans_a if name == "A" else gemm.problem.trans_b
    deep, over = (down, aside) if (name == "B") != transposed else (aside, down)
    return PrefetchedBlock((rows, columns), kernel.op("addi", corner, over), deep)
