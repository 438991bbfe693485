"""The kernel at lane level, in the form that compilers turn into the planned machine code.

For a tile of 16x16, 32 deep, of f16 the loop is:

    %r:2 = scf.for %step = %zero to %depth step %c32 iter_args(%c0x0 = %zeros, %c1x0 = %zeros) {
      %a = xegpu.load_nd %matrix_a[%row, %step] : !xegpu.tensor_desc<16x16xf16, array_length = 2> -> vector<32xf16>
      (four cuts of 8)
      %b = xegpu.load_nd %matrix_b[%step, %column] <{packed}> : !xegpu.tensor_desc<32x16xf16> -> vector<32xf16>
      (two cuts of 16)
      (four products)
      scf.yield ...
    }

Sizes are arguments, so one binary serves every size, and the compiler has no constant trip count to unroll by: the machine code
has the DPAS that are written here, no more and no less. One thing the compiler must be told: that the loop runs at least once.
The loop ends at max(k, one step), and as 1 <= k that changes no result (beyond k, reads give 0). Without it the Intel compiler
keeps a second set of accumulators for the path around the loop (37 registers of a 32x32 tile spill with IGC 1.0.12504).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.batch import addresses
from layoutalg.gemm.emission.epilogue import finish
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import descriptor, descriptor_type, load
from layoutalg.gemm.emission.products import multiply

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["emit_lane"]


def emit_lane(gemm: Gemm, *, static: bool = False) -> str:
    """The text of the kernel.

    >>> from layoutalg.gemm import plan_gemm
    >>> "gpu.func @gemm(" in emit_lane(plan_gemm(64, 64, 64))
    True
    """
    kernel = KernelWriter(gemm, static=static)
    writer, tile, unit = kernel.writer, gemm.tile, gemm.dpas
    bases = addresses(kernel)
    row, column = _corner(kernel)
    described: dict[tuple[str, str], Value] = {}
    for message in gemm.messages:
        matrix = gemm.matrices["AB".index(message.operand)]
        kind = descriptor_type(message, matrix.element)
        if (message.operand, kind) not in described:
            made = descriptor(kernel, matrix, bases[message.operand], kind)
            described[message.operand, kind] = kernel.named(f"matrix_{message.operand.lower()}", made)

    accumulator = gemm.accumulator
    zeros = kernel.constant(0.0 if accumulator[0] in "fb" else 0, accumulator, unit.m)
    blocks = [(i, j) for i in range(gemm.blocks[0]) for j in range(gemm.blocks[1])]
    held = {place: Value(accumulator, unit.m, f"c{place[0]}x{place[1]}") for place in blocks}
    results = [Value(accumulator, unit.m, f"tile{i}x{j}") for i, j in blocks]
    zero, k_step = kernel.constant(0, "i32"), kernel.constant(tile.k, "i32")
    depth = kernel.named("depth", kernel.op("maxsi", kernel.arguments["k"], k_step))
    counter = Value("i32", name="counter")
    pairs = ", ".join(["%s = %s"] * len(blocks))
    kinds = ", ".join([results[0].kind] * len(blocks))
    form = f"scf.for %s = %s to %s step %s iter_args({pairs}) -> ({kinds}) : i32 {{"
    carried = [value for place in blocks for value in (held[place], zeros)]
    with kernel.region(form, (counter, zero, depth, k_step, *carried), results, (counter, *held.values())):
        step = kernel.named("step", kernel.cast(counter, "index"))
        operands: dict[str, dict[tuple[int, int], Value]] = {"A": {}, "B": {}}
        for message in gemm.messages:
            operand, (down, across) = message.operand, message.offset
            kind = descriptor_type(message, gemm.element_of(operand))
            start = (row, step) if operand == "A" else (step, column)
            place = (kernel.plus(start[0], down), kernel.plus(start[1], across))
            operands[operand] |= load(kernel, message, described[operand, kind], *place)
        for depth_of in range(tile.k // unit.k):
            for i, j in blocks:
                held[i, j] = multiply(kernel, operands["A"][i, depth_of], operands["B"][j, depth_of], held[i, j])
        writer.do(f"scf.yield {', '.join(['%s'] * len(blocks))} : {kinds}", [held[place] for place in blocks])
    finish(kernel, bases["C"], dict(zip(blocks, results, strict=True)), row, column)
    return kernel.text()


def _corner(kernel: KernelWriter) -> tuple[Value, Value]:
    """Row and column where this subgroup's tile begins."""
    tiling, tile = kernel.gemm.tiling, kernel.gemm.tile
    places = [
        kernel.named(f"workgroup_{name}", kernel.writer.value(f"gpu.block_id {axis}", (), "index"))
        for name, axis in (("row", "y"), ("column", "x"))
    ]
    if tiling.count > 1:
        subgroup = kernel.named("subgroup", kernel.writer.value("gpu.subgroup_id : index", (), "index"))
        columns = kernel.constant(tiling.subgroups[1])
        own = (kernel.op("divui", subgroup, columns), kernel.op("remui", subgroup, columns))
        places = [
            kernel.op("addi", kernel.op("muli", place, kernel.constant(count)), part)
            for place, count, part in zip(places, tiling.subgroups, own, strict=True)
        ]
    row = kernel.named("row", kernel.op("muli", places[0], kernel.constant(tile.m)))
    return row, kernel.named("column", kernel.op("muli", places[1], kernel.constant(tile.n)))
