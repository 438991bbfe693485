"""The parts of k added inside the kernel: of the subgroups that have parts of one tile, the one that is done last adds them.

A subgroup stores the sums of its part to the workspace and adds 1 to the counter of its tile. Whoever finds all others counted
is the last: it adds the parts in the order of k, does the epilogue, and puts the counter back to 0 for the next launch. Nobody
waits, so it does not matter which workgroups a chip runs together, nor in which order. In MLIR, for 4 parts:

    (the sums to the workspace: xegpu.store_nd)
    %arrived = scf.if %first_lane -> (i32) { llvm.atomicrmw add %counter, %one syncscope("device") acq_rel }
    %before = gpu.shuffle idx %arrived, lane 0
    %last = arith.cmpi eq, %before, %three
    scf.if %last { (xegpu.load_nd of the parts, additions, the epilogue); llvm.store %zero, %counter }

The addition is a release of what the subgroup stored and an acquire of what those before it stored, at the scope of the device:
the graphics compiler writes `fence.ugm.none.gpu`, `atomic_iadd`, `fence.ugm.invalidate.gpu` (IGC 2.40.14). A subgroup is one
thread, so its first lane's fence orders the block messages of all its lanes; by the letter of OpenCL's memory model it orders
those of that lane alone, so this kernel is for Xe. The sums begin at -0, which changes no number.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(8, 64, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=4, reduction="last")
>>> text = gemm.emit()
>>> text.count("gpu.func"), text.count("llvm.atomicrmw"), gemm.launch.then
(1, 1, ())

The law: the bits are those of the second kernel (`layoutalg.gemm.split_k.computed_by`), and the counters are 0 again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.epilogue import finish
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.places import Places
from layoutalg.gemm.emission.workspace import matrix_of_workspace
from layoutalg.gemm.split_k import loaded_at_once
from layoutalg.gemm.stream_k import added_at_once

__all__ = ["SharedTile", "add_in_last", "of_split"]

_POINTER = "!llvm.ptr<1>"
_COUNTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A subgroup's tile whose parts several subgroups have, as a kernel sees it.

    `counter` is the number of its counter (index), `others` how many parts there are beside the last one (i32), `first` the
    number of the first part's matrix in the workspace, `corner` where the tile begins in each. `described` gives the descriptor
    of a matrix by its number, with the type of the descriptor.
    """

    counter: Value
    others: Value
    first: Value
    corner: tuple[Value, Value]
    described: Callable[[Value, str], Value]


def of_split(kernel: KernelWriter, places: Places) -> SharedTile:
    """The tile where k is in parts: each part has a matrix of C's size in the workspace."""
    number, parts = _number(kernel, places), kernel.gemm.tiling.split_k
    first = kernel.constant(0)
    if kernel.gemm.problem.batch > 1:
        first = kernel.op("muli", _matrix(kernel), kernel.constant(parts))

    def described(matrix: Value, kind: str) -> Value:
        return matrix_of_workspace(kernel, kernel.index(kernel.arguments["m"]), matrix, kind)

    return SharedTile(number, kernel.constant(parts - 1, "i32"), first, (places.row, places.column), described)


def add_in_last(kernel: KernelWriter, places: Places, base: Value, tile: SharedTile) -> None:
    """Count this subgroup's part; the last one of the tile stores what the epilogue makes of the sum to C, at `base`."""
    writer = kernel.writer
    zero, one = kernel.constant(0, "i32"), kernel.constant(1, "i32")
    counter = _counter(kernel, tile.counter)
    lane = kernel.once("lane", lambda: writer.value("gpu.lane_id", (), "index"))
    first = kernel.named("first_lane", writer.value("arith.cmpi eq, %s, %s : index", (lane, kernel.constant(0)), "i1"))
    arrived = Value("i32", name="arrived")
    with kernel.region("scf.if %s -> (i32) {", (first,), (arrived,)):
        form = f'llvm.atomicrmw add %s, %s syncscope("device") acq_rel : {_POINTER}, i32'
        writer.do("scf.yield %s : i32", (writer.value(form, (counter, one), "i32"),))
        writer.between("} else {")
        writer.do("scf.yield %s : i32", (zero,))
    before, valid = Value("i32", name="before"), Value("i1")
    width = kernel.constant(kernel.gemm.dpas.subgroup_size, "i32")
    writer.values("gpu.shuffle idx %s, %s, %s : i32", (arrived, zero, width), (before, valid))
    last = kernel.named("last_part", writer.value("arith.cmpi eq, %s, %s : i32", (before, tile.others), "i1"))
    with kernel.region("scf.if %s {", (last,)):
        blocks = [(i, j) for i in range(kernel.gemm.blocks[0]) for j in range(kernel.gemm.blocks[1])]
        # where the accumulators are those of a loop over tiles, their registers are not free here
        together = (
            len(blocks)
            if not kernel.gemm.tiling.stream_k
            else int(added_at_once(len(blocks), kernel.gemm.tiling.registers))
        )
        for start in range(0, len(blocks), together):
            added = _added(kernel, tile, blocks[start : start + together])
            finish(kernel, base, added, places.row, places.column)
        writer.do(f"llvm.store %s, %s : i32, {_POINTER}", (zero, counter))


def _number(kernel: KernelWriter, places: Places) -> Value:
    """The number of this subgroup's tile: they are counted by matrix, row and column of the grid, subgroup."""
    tiling = kernel.gemm.tiling
    x, y, across, down = (
        kernel.once(name.replace(" ", "_"), lambda name=name: kernel.writer.value(f"gpu.{name}", (), "index"))
        for name in ("block_id x", "block_id y", "grid_dim x", "grid_dim y")
    )
    row = y
    if kernel.gemm.problem.batch > 1:
        row = kernel.op("addi", kernel.op("muli", _matrix(kernel), down), y)
    number = kernel.op("addi", kernel.op("muli", row, across), x)
    if places.subgroup is not None:
        number = kernel.op("addi", kernel.op("muli", number, kernel.constant(tiling.count)), places.subgroup)
    return number


def _counter(kernel: KernelWriter, number: Value) -> Value:
    """A pointer to the counter of this number."""
    moved = kernel.op("muli", kernel.cast(number, "i64"), kernel.constant(_COUNTER_BYTES, "i64"))
    at = kernel.op("addi", kernel.arguments["counters"], moved)
    return kernel.named("counter", kernel.writer.value(f"llvm.inttoptr %s : i64 to {_POINTER}", (at,), _POINTER))


def _matrix(kernel: KernelWriter) -> Value:
    """Which matrix of the batch this workgroup has a part of."""
    z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"))
    return kernel.op("divui", z, kernel.constant(kernel.gemm.tiling.split_k))


def _added(kernel: KernelWriter, tile: SharedTile, blocks: list[tuple[int, int]]) -> dict[tuple[int, int], Value]:
    """The sums of all parts by (row block, column block), added in the order of k.

    A loop takes some blocks of some parts at a time, so many that their messages hide each other's latency. Where only the
    kernel knows how many parts there are, it takes one of them at a time.
    """
    gemm = kernel.gemm
    unit, element, parts = gemm.dpas, gemm.accumulator, gemm.tiling.split_k
    some, together = (int(number) for number in loaded_at_once(len(blocks), gemm.tiling.registers, parts))
    begin = _nothing(kernel, element, unit.m)
    count = kernel.constant(parts)
    if gemm.tiling.stream_k:
        count = kernel.plus(kernel.cast(tile.others, "index"), 1)
    found: dict[tuple[int, int], Value] = {}
    for start in range(0, len(blocks), some):
        here = blocks[start : start + some]
        if together == parts > 1:
            found |= zip(here, _of_parts(kernel, tile, here, [begin] * len(here), tile.first, parts), strict=True)
            continue
        results, sums = ([Value(element, unit.m, name) for _ in here] for name in ("total", "sum"))
        kinds = ", ".join(value.kind for value in sums)
        form = f"scf.for %s = %s to %s step %s iter_args({', '.join(['%s = %s'] * len(here))}) -> ({kinds}) {{"
        part = Value("index", name="part")
        bounds = (part, kernel.constant(0), count, kernel.constant(together))
        pairs = [value for one in sums for value in (one, begin)]
        with kernel.region(form, (*bounds, *pairs), results, (part, *sums)):
            number = part if tile.first is kernel.constant(0) else kernel.op("addi", part, tile.first)
            made = _of_parts(kernel, tile, here, sums, number, together)
            kernel.writer.do(f"scf.yield {', '.join(['%s'] * len(made))} : {kinds}", made)
        found |= zip(here, results, strict=True)
    return found


def _nothing(kernel: KernelWriter, element: str, size: int) -> Value:
    """What sums begin with: 0 + -0 would be 0, and -0 + x is x for every x."""
    if element != "f32":
        return kernel.constant(0, element, size)

    def made() -> Value:
        with kernel.writer.at_entry():
            dense = kernel.dense(-0.0, Value(element, size).kind)
            return kernel.writer.value(f"arith.constant {dense}", (), element, size)

    return kernel.once("nothing", made)


def _of_parts(
    kernel: KernelWriter, tile: SharedTile, blocks: list[tuple[int, int]], sums: list[Value], first: Value, count: int
) -> list[Value]:
    """The sums of some blocks with `count` parts added, from matrix `first` of the workspace on.

    Each part is a surface of its own: rows behind it read 0, and not those of the next part, which others may still write.
    """
    unit, element = kernel.gemm.dpas, kernel.gemm.accumulator
    kind = f"!xegpu.tensor_desc<{unit.m}x{unit.n}x{element}>"
    add = "addf" if element == "f32" else "addi"
    row, column = tile.corner
    loaded: list[list[Value]] = []
    for part in range(count):
        described = tile.described(kernel.plus(first, part), kind)
        loaded.append([])
        for i, j in blocks:
            place = (described, kernel.plus(row, i * unit.m), kernel.plus(column, j * unit.n))
            form = f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<{unit.m}x{element}>"
            loaded[-1].append(kernel.named("loaded_part", kernel.writer.value(form, place, element, unit.m)))
    for one in loaded:
        sums = [kernel.op(add, total, more) for total, more in zip(sums, one, strict=True)]
    return sums
