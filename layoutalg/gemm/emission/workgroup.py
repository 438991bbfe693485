"""The kernel at workgroup level, for LLVM's own pipeline (`--gpu-lower-to-xevm-pipeline=xegpu-op-level=workgroup`).

One load of the workgroup's tile of A, one of B, one product; `sg_layout` and `sg_data` say which subgroup has what, `inst_data`
into which instructions its part is cut. Prefetches have a layout of their own: every subgroup asks for another block.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(512, 512, 512, tile=(32, 64), k_step=64, subgroups=(8, 4), registers=256, prefetch="shared")
>>> print(*emit_workgroup(gemm).splitlines()[:7], sep="\\n")
#a = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 64], inst_data = [8, 16]>
#b = #xegpu.layout<sg_layout = [8, 4], sg_data = [64, 64], inst_data = [16, 16]>
#c = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 64], inst_data = [8, 16]>
#load_a = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 64], inst_data = [32, 32]>
#load_b = #xegpu.layout<sg_layout = [8, 4], sg_data = [64, 64], inst_data = [32, 32]>
#prefetch_a = #xegpu.layout<sg_layout = [16, 2], sg_data = [16, 32], inst_data = [16, 32]>
#prefetch_b = #xegpu.layout<sg_layout = [4, 8], sg_data = [16, 32], inst_data = [16, 32]>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.tiles import PrefetchedBlock, write_tiles
from layoutalg.gemm.layouts import layouts_of_c
from layoutalg.xegpu import LayoutAttr

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["emit_workgroup"]


def emit_workgroup(gemm: Gemm, *, static: bool = False, lanes: bool = False) -> str:
    """The text of the kernel; `lanes` writes the lanes into the layouts too, which LLVM would find itself."""
    kernel = KernelWriter(gemm, static=static)
    made, whole = layouts_of_c(gemm), gemm.tiling.workgroup_tile
    found = made.with_lanes("workgroup") if lanes else made.workgroup
    rows, columns = _corner(kernel, "row", "y", whole.m), _corner(kernel, "column", "x", whole.n)
    asked = {
        name: PrefetchedBlock(_whole(layout), corner)
        for name, corner in (("A", rows), ("B", columns))
        if (layout := found.get(f"prefetch {name}")) is not None
    }
    return write_tiles(kernel, found, whole, rows, columns, asked)


def _corner(kernel: KernelWriter, name: str, axis: str, size: int) -> Value:
    """Where the workgroup's tile begins."""
    block = kernel.writer.value(f"gpu.block_id {axis}", (), "index")
    return kernel.named(name, kernel.op("muli", block, kernel.constant(size)))


def _whole(layout: LayoutAttr) -> tuple[int, int]:
    """What the subgroups have together."""
    (down, across), (rows, columns) = layout.sg_layout or (1, 1), layout.sg_data or (1, 1)
    return down * rows, across * columns
