"""Split over k, as kernels: where a part begins and ends, how it stores its sums, and the kernel that adds the parts.

`last_part` has the other reduction, inside the kernel.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(8, 64, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=2, reduction="kernel")
>>> print("\\n".join(reduction(gemm)).count("xegpu.load_nd"), REDUCE)
2 gemm_reduce
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.batch import addresses
from layoutalg.gemm.emission.epilogue import finish
from layoutalg.gemm.emission.kernel import REDUCE, KernelWriter
from layoutalg.gemm.emission.places import hidden
from layoutalg.gemm.emission.prefetching import Prefetch
from layoutalg.gemm.emission.workspace import matrix_of_workspace
from layoutalg.gemm.split_k import reduced_rows

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["REDUCE", "Part", "divided", "reduction"]


@dataclass(frozen=True, slots=True)
class Part:
    """The part of k that a workgroup has: its first element, the one behind its last, and the steps before it (i32)."""

    begin: Value
    end: Value
    before: Value

    @classmethod
    def of(cls, kernel: KernelWriter) -> Part:
        """The part that z of the grid says. It is at least one step, as the loop is: beyond k reads give 0."""
        step, parts = kernel.gemm.tile.k, kernel.gemm.tiling.split_k
        k = hidden(kernel, kernel.constant(kernel.gemm.k, "i32")) if kernel.static else kernel.arguments["k"]
        steps = divided(kernel, k, step)
        each = kernel.named("steps_of_part", divided(kernel, steps, parts))
        z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"))
        number = kernel.cast(kernel.op("remui", z, kernel.constant(parts)), "i32")
        before = kernel.op("muli", number, each)
        begin = kernel.named("begin", kernel.op("muli", before, kernel.constant(step, "i32")))
        whole = kernel.op("muli", each, kernel.constant(step, "i32"))
        end = kernel.op("minsi", k, kernel.op("addi", begin, whole))
        return cls(begin, kernel.named("end", kernel.op("maxsi", end, kernel.plus(begin, step))), before)

    def moved(self, kernel: KernelWriter, prefetch: Prefetch) -> Prefetch:
        """A prefetch that begins in this part."""

        def far(move: Value) -> Value:
            before = self.before
            if move.kind == "i64":
                before = kernel.writer.value("arith.extsi %s : i32 to i64", (before,), "i64")
            return kernel.op("muli", move, before)

        starts = tuple(
            kernel.named(f"{start.name}_of_part", kernel.op("addi", start, far(move)))
            for start, move in zip(prefetch.starts, prefetch.moves, strict=True)
        )
        return replace(prefetch, starts=starts)

    def store(self, kernel: KernelWriter, held: Mapping[tuple[int, int], Value], row: Value, column: Value) -> None:
        """Write the sums to this part's matrix of the workspace, the z-th one."""
        unit, element = kernel.gemm.dpas, kernel.gemm.accumulator
        kind = f"!xegpu.tensor_desc<{unit.m}x{unit.n}x{element}>"
        z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"))
        described = matrix_of_workspace(kernel, kernel.index(kernel.arguments["m"]), z, kind)
        for (i, j), value in held.items():
            place = (kernel.plus(row, i * unit.m), kernel.plus(column, j * unit.n))
            kernel.writer.do(f"xegpu.store_nd %s, %s[%s, %s] : {value.kind}, {kind}", (value, described, *place))


def reduction(gemm: Gemm, *, static: bool = False, pointers: bool = True) -> Sequence[str]:
    """The lines of the kernel that adds the parts in their order, and stores what the epilogue makes of the sum.

    All parts of a matrix are one surface, so that one descriptor reaches them. Rows of a block that lie behind a part are those
    of the next part: they are behind C too, and the store drops them.
    """
    kernel = KernelWriter(gemm, static=static, pointers=pointers)
    rows, parts, element = reduced_rows(gemm.tiling.split_k), gemm.tiling.split_k, gemm.accumulator
    corner = [
        kernel.named(name, kernel.op("muli", kernel.writer.value(f"gpu.block_id {axis}", (), "index"), size))
        for name, axis, size in (("row", "y", kernel.constant(rows)), ("column", "x", kernel.constant(gemm.dpas.n)))
    ]
    row, column = corner
    m = kernel.index(kernel.arguments["m"])
    kind = f"!xegpu.tensor_desc<{rows}x{gemm.dpas.n}x{element}>"
    z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"))
    described = matrix_of_workspace(kernel, kernel.op("muli", m, kernel.constant(parts)), z, kind)
    loaded: list[Value] = []
    for part in range(parts):
        below = row if part == 0 else kernel.op("addi", row, kernel.op("muli", m, kernel.constant(part)))
        form = f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<{rows}x{element}>"
        loaded.append(kernel.named("part", kernel.writer.value(form, (described, below, column), element, rows)))
    total, add = loaded[0], "addf" if element == "f32" else "addi"
    for one in loaded[1:]:
        total = kernel.named("sum", kernel.op(add, total, one))
    finish(kernel, addresses(kernel)["C"], {(0, 0): total}, row, column, rows=rows)
    return kernel.function(REDUCE, 1)


def divided(kernel: KernelWriter, value: Value, number: int) -> Value:
    """A whole number (i32) over another, rounded up."""
    return kernel.op("divui", kernel.plus(value, number - 1), kernel.constant(number, "i32"))
