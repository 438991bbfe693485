"""The workspace of work split over k, as a kernel sees it: one matrix after another, each with rows of whole cache lines.

By hand, for n = 40 and f32: rows are 48 elements apart, so matrix 2 of 8 rows begins 2 * 8 * 48 * 4 bytes behind the first.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(8, 40, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=2))
>>> kind = "!xegpu.tensor_desc<8x16xf32>"
>>> described = matrix_of_workspace(kernel, kernel.index(kernel.arguments["m"]), kernel.constant(1), kind)
>>> print(kernel.writer.text().splitlines()[-1].split(" : ")[0])
%workspace_matrix = xegpu.create_nd_tdesc %sums, shape
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.gemm.emission.kernel import KernelWriter

__all__ = ["matrix_of_workspace", "tile_of_workspace"]


def matrix_of_workspace(kernel: KernelWriter, rows: Value, number: Value, kind: str) -> Value:
    """A descriptor of the `number`-th matrix of so many rows in the workspace; rows are whole cache lines."""
    n = kernel.index(kernel.arguments["n"])
    pitch = kernel.named("pitch", kernel.op("andi", kernel.plus(n, 15), kernel.constant(-16)))
    size = kernel.constant(element_bits(kernel.gemm.accumulator) // 8, "i64")
    elements = kernel.op("muli", kernel.cast(rows, "i64"), kernel.cast(pitch, "i64"))
    moved = kernel.op("muli", kernel.op("muli", elements, kernel.cast(number, "i64")), size)
    base = kernel.named("sums", kernel.op("addi", kernel.arguments["workspace"], moved))
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
    return kernel.named("workspace_matrix", kernel.writer.value(form, (base, rows, pitch, pitch), kind))


def tile_of_workspace(kernel: KernelWriter, number: Value, kind: str) -> Value:
    """A descriptor of the `number`-th tile of a subgroup, where the workspace has tiles one after another (`gemm.stream_k`)."""
    tile = kernel.gemm.tile
    size = kernel.constant(tile.m * tile.n * element_bits(kernel.gemm.accumulator) // 8, "i64")
    moved = kernel.op("muli", kernel.cast(number, "i64"), size)
    base = kernel.named("sums", kernel.op("addi", kernel.arguments["workspace"], moved))
    rows, columns = kernel.constant(tile.m), kernel.constant(tile.n)
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
    return kernel.named("workspace_tile", kernel.writer.value(form, (base, rows, columns, columns), kind))
