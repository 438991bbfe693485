"""Stream-K as a kernel: a loop over the tiles of a workgroup's run, around the loop over k.

A workgroup computes some tiles of C whole, each `runs` tiles further, and then its run of the (tile, step) pairs that are left
(`layoutalg.gemm.stream_k` has the rule). In MLIR:

    scf.for %place = %c0 to %tiles_of_run step %c1 : i32 {
      (find the tile, its matrix in the batch, and the steps to do: %begin to %end)
      (the loop over k from %begin to %end, as in every kernel)
      scf.if %whole { (the epilogue) }
      scf.if %shared { (the sums to the workspace; who is done last adds all parts of the tile, and does the epilogue) }
    }

A part has the matrix of the workspace whose number is its run's plus its tile's. No other part has it: from one part to the
next in the order of the work the tile grows, or the run, or both. So the parts of one tile follow each other.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(64, 96, 128, tile=(16, 16), k_step=32, subgroups=(1, 1), prefetch="none", stream_k=5)
>>> text = gemm.emit()
>>> text.count("gpu.func"), text.count("xegpu.dpas"), text.count("llvm.atomicrmw")
(1, 4, 1)
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.arguments import numbers_of
from layoutalg.gemm.emission.batch import addresses
from layoutalg.gemm.emission.epilogue import finish
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.last_part import SharedTile, add_in_last
from layoutalg.gemm.emission.places import Places, hidden
from layoutalg.gemm.emission.split_k import Part, divided
from layoutalg.gemm.emission.workspace import tile_of_workspace

__all__ = ["PartOfTile", "parts_of_run"]


@dataclass(frozen=True, slots=True)
class PartOfTile:
    """A tile of a run, and the steps of it that the run has. Numbers are i32.

    `bases` are the addresses of its matrices; `number` counts all tiles; `first` is the first of the runs that share the tile,
    `others` how many more there are; `slot` is the matrix of the workspace for the first part, `own` that of this one.
    """

    places: Places
    bases: Mapping[str, Value]
    part: Part
    number: Value
    whole: Value
    shared: Value
    others: Value
    slot: Value
    own: Value

    def finish(self, kernel: KernelWriter, held: Mapping[tuple[int, int], Value]) -> None:
        """Store the tile to C, or its part; the last part of a tile adds all of them."""
        base = self.bases["C"]
        with kernel.region("scf.if %s {", (self.whole,)):
            finish(kernel, base, held, self.places.row, self.places.column)
        with kernel.region("scf.if %s {", (self.shared,)):
            self._store(kernel, held)
            shared = SharedTile(
                self._of_subgroup(kernel, self.number),
                self.others,
                kernel.cast(self.slot, "index"),
                (kernel.constant(0), kernel.constant(0)),
                lambda slot, kind: tile_of_workspace(kernel, self._of_subgroup(kernel, slot), kind),
            )
            add_in_last(kernel, self.places, base, shared)

    def _store(self, kernel: KernelWriter, held: Mapping[tuple[int, int], Value]) -> None:
        unit, element = kernel.gemm.dpas, kernel.gemm.accumulator
        kind = f"!xegpu.tensor_desc<{unit.m}x{unit.n}x{element}>"
        described = tile_of_workspace(kernel, self._of_subgroup(kernel, self.own), kind)
        for (i, j), value in held.items():
            place = kernel.constant(i * unit.m), kernel.constant(j * unit.n)
            kernel.writer.do(f"xegpu.store_nd %s, %s[%s, %s] : {value.kind}, {kind}", (value, described, *place))

    def _of_subgroup(self, kernel: KernelWriter, number: Value) -> Value:
        """A number of workgroups' tiles as that of this subgroup's, an index."""
        number = number if number.kind == "index" else kernel.cast(number, "index")
        if self.places.subgroup is None:
            return number
        count = kernel.constant(kernel.gemm.tiling.count)
        return kernel.op("addi", kernel.op("muli", number, count), self.places.subgroup)


@contextmanager
def parts_of_run(kernel: KernelWriter) -> Generator[PartOfTile]:
    """The loop over the tiles of this workgroup's run: the body is written for one of them."""
    gemm, whole = kernel.gemm, kernel.gemm.tiling.workgroup_tile
    for name in ("m", "n", "k", "lda", "ldb", "ldc"):  # made here, as parts of the loop share them
        kernel.index(kernel.arguments[name])
    zero, one = kernel.constant(0, "i32"), kernel.constant(1, "i32")
    step = kernel.constant(gemm.tile.k, "i32")
    run, runs = (
        kernel.named(name, kernel.cast(kernel.writer.value(f"gpu.{of} x", (), "index"), "i32"))
        for name, of in (("run", "block_id"), ("runs", "grid_dim"))
    )
    steps = kernel.named("steps", divided(kernel, _size(kernel, "k"), gemm.tile.k))
    across = kernel.named("tiles_across", divided(kernel, _size(kernel, "n"), whole.n))
    tiles = of_matrix = kernel.op("muli", divided(kernel, _size(kernel, "m"), whole.m), across)
    if several := gemm.problem.batch > 1:
        tiles = kernel.op("muli", kernel.named("tiles_of_matrix", of_matrix), _size(kernel, "batch"))
    kernel.named("tiles", tiles)
    # every workgroup has so many tiles alone; what is left is at least a tile for each, if there are as many
    turns = kernel.op("subi", kernel.op("divui", tiles, runs), one)
    alone = kernel.named("alone", kernel.op("maxsi", turns, zero))
    before = kernel.op("muli", alone, runs)
    work = kernel.named("work", kernel.op("muli", kernel.op("subi", tiles, before), steps))
    each = kernel.named("each", _over(kernel, work, runs))
    start = kernel.named("start", kernel.op("minsi", kernel.op("muli", run, each), work))
    stop = kernel.named("stop", kernel.op("minsi", kernel.op("addi", start, each), work))
    first = kernel.named("first_tile", kernel.op("divui", start, steps))
    count = kernel.op("addi", alone, kernel.op("subi", _over(kernel, stop, steps), first))
    place = Value("i32", name="place")
    bounds = (place, zero, kernel.named("tiles_of_run", count), one)
    with kernel.region("scf.for %s = %s to %s step %s : i32 {", bounds, (), (place,)):
        in_run = kernel.named("in_run", _compared(kernel, "sge", place, alone))
        tile = kernel.named("tile", kernel.op("addi", first, kernel.op("subi", place, alone)))
        own = kernel.op("addi", kernel.op("muli", place, runs), run)
        number = kernel.named("number", _either(kernel, in_run, kernel.op("addi", before, tile), own))
        behind = kernel.named("behind", kernel.op("muli", tile, steps))  # the pairs before this tile
        skipped = kernel.op("maxsi", kernel.op("subi", start, behind), zero)
        until = kernel.op("minsi", kernel.op("subi", stop, behind), steps)
        skipped = kernel.named("skipped", _either(kernel, in_run, skipped, zero))
        until = _either(kernel, in_run, until, steps)
        held = kernel.op("subi", until, skipped)
        begin = kernel.named("begin", kernel.op("muli", skipped, step))
        end = kernel.op("maxsi", kernel.op("muli", until, step), kernel.plus(begin, gemm.tile.k))
        matrix, within = None, number
        if several:
            matrix = kernel.cast(kernel.named("matrix", kernel.op("divui", number, of_matrix)), "index")
            within = kernel.named("tile_of_matrix", kernel.op("remui", number, of_matrix))
        down, aside = (
            kernel.cast(kernel.op("muli", kernel.op(way, within, across), kernel.constant(size, "i32")), "index")
            for way, size in (("divui", whole.m), ("remui", whole.n))
        )
        places = Places.of(kernel, kernel.named("workgroup_row", down), kernel.named("workgroup_column", aside))
        sharer = kernel.named("sharer", kernel.op("divui", behind, each))
        last = kernel.op("divui", kernel.plus(kernel.op("addi", behind, steps), -1), each)
        yield PartOfTile(
            places,
            addresses(kernel, matrix=matrix),
            Part(begin, kernel.named("end", end), skipped),
            number,
            kernel.named("whole", _compared(kernel, "eq", held, steps)),
            kernel.named("shared", _compared(kernel, "ne", held, steps)),
            kernel.named("others", kernel.op("subi", last, sharer)),
            kernel.op("addi", sharer, tile),
            kernel.op("addi", run, tile),
        )


def _size(kernel: KernelWriter, name: str) -> Value:
    """A size of the problem, i32."""
    if not kernel.static:
        return kernel.arguments[name]
    number = kernel.constant(numbers_of(kernel.gemm)[name], "i32")
    return hidden(kernel, number) if name == "k" else number


def _over(kernel: KernelWriter, value: Value, number: Value) -> Value:
    """A number over another, rounded up."""
    return kernel.op("divui", kernel.plus(kernel.op("addi", value, number), -1), number)


def _compared(kernel: KernelWriter, how: str, left: Value, right: Value) -> Value:
    return kernel.writer.value(f"arith.cmpi {how}, %s, %s : {left.kind}", (left, right), "i1")


def _either(kernel: KernelWriter, condition: Value, one: Value, other: Value) -> Value:
    return kernel.writer.value(f"arith.select %s, %s, %s : {one.kind}", (condition, one, other), one.kind)
