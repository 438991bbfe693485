"""Where a subgroup works, and what the compiler must not see of it.

Workgroups count over C, x to the right and y down (of C^T the other way round); the subgroups of a workgroup count row-major.
By hand: with 2x4 subgroups of 32x64, subgroup 6 of the first workgroup is in row 1 and column 2: its tile begins at row 32 * 1
and column 64 * 2.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(512, 512, 512, tile=(32, 64), subgroups=(2, 4), registers=256))
>>> places = Places.of(kernel)
>>> print(*kernel.writer.text().splitlines()[-7:], sep="\\n")
%subgroup = gpu.subgroup_id : index
%2 = arith.divui %subgroup, %c4 : index
%3 = arith.muli %2, %c32 : index
%row = arith.addi %workgroup_row, %3 : index
%4 = arith.remui %subgroup, %c4 : index
%5 = arith.muli %4, %c64 : index
%column = arith.addi %workgroup_column, %5 : index

The graphics compiler writes the payload of a 2-D message (base, sizes, pitch, place) anew wherever it believes that to be
cheaper than keeping it. What it cannot see it keeps, so some values go through a zero that it cannot see: k >> 31.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter

__all__ = ["Places", "another", "hidden"]


@dataclass(frozen=True, slots=True)
class Places:
    """The corners of the workgroup's and the subgroup's tile, in elements of C; the subgroup's number if several."""

    workgroup_row: Value
    workgroup_column: Value
    row: Value
    column: Value
    subgroup: Value | None

    @classmethod
    def of(cls, kernel: KernelWriter, found_row: Value | None = None, found_column: Value | None = None) -> Places:
        """The places of the kernel's tiling; the workgroup's row is given where it has found its group, and its column too
        where it has found its tile."""
        tiling = kernel.gemm.tiling if kernel.turned else kernel.launched.tiling
        whole, axes = tiling.workgroup_tile, "xy" if kernel.turned else "yx"
        given = (("row", found_row, axes[0], whole.m), ("column", found_column, axes[1], whole.n))
        row, column = (
            kernel.named(f"workgroup_{name}", kernel.op("muli", _block(kernel, axis), kernel.constant(size)))
            if found is None
            else found
            for name, found, axis, size in given
        )
        if tiling.count == 1:
            return cls(row, column, row, column, None)
        subgroup = kernel.named("subgroup", kernel.writer.value("gpu.subgroup_id : index", (), "index"))
        columns = kernel.constant(tiling.subgroups[1])
        down = kernel.op("muli", kernel.op("divui", subgroup, columns), kernel.constant(tiling.tile.m))
        own_row = kernel.named("row", kernel.op("addi", row, down))
        across = kernel.op("muli", kernel.op("remui", subgroup, columns), kernel.constant(tiling.tile.n))
        return cls(row, column, own_row, kernel.named("column", kernel.op("addi", column, across)), subgroup)


def _block(kernel: KernelWriter, axis: str) -> Value:
    return kernel.writer.value(f"gpu.block_id {axis}", (), "index")


def hidden(kernel: KernelWriter, value: Value) -> Value:
    """The value (index or i32), xor a zero that the compiler cannot see: it forgets how the value was computed."""
    if value.kind == "index":
        return kernel.named(f"hidden_{value.name}", kernel.cast(hidden(kernel, kernel.cast(value, "i32")), "index"))
    return kernel.op("xori", value, _zero(kernel))


def another(kernel: KernelWriter, address: Value, number: int) -> Value:
    """The same address (i64) as a value that the compiler takes for another one, for every `number` over 0."""
    if number == 0:
        return address
    zero = kernel.writer.value("arith.extsi %s : i32 to i64", (_zero(kernel),), "i64")
    return kernel.op("addi", address, kernel.op("muli", zero, kernel.constant(2 * number + 1, "i64")))


def _zero(kernel: KernelWriter) -> Value:
    """k >> 31: k is at least 1, so this is 0, and a compiler that knows nothing of k doesn't know it.

    It comes from the argument in static kernels too.
    """
    return kernel.once("zero", lambda: kernel.op("shrsi", kernel.arguments["k"], kernel.constant(31, "i32")))
