"""Prefetches: where each subgroup or lane asks, and how that moves from step to step.

The loop carries the place (`shared`) or the address (`lines`) that was asked for last. The subgroup's number decides once,
before the loop, of which matrix it asks; in the loop nothing tells the subgroups apart:

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(4096, 4096, 4096, tile=(32, 32), k_step=64, subgroups=(4, 4), registers=256, prefetch="shared")
>>> kernel = KernelWriter(gemm)
>>> [prefetch] = prefetches(kernel, Places.of(kernel), {"A": kernel.arguments["a"], "B": kernel.arguments["b"]})
>>> next_place = prefetch.ask(kernel, prefetch.starts, kernel.arguments["k"])
>>> print("\\n".join(line[:99] for line in kernel.writer.text().splitlines()[-5:]))
%prefetch_row_2 = arith.addi %prefetch_row_1, %down_1 : i32
%prefetch_column_2 = arith.addi %prefetch_column_1, %across_1 : i32
%20 = arith.index_cast %prefetch_row_2 : i32 to index
%21 = arith.index_cast %prefetch_column_2 : i32 to index
xegpu.prefetch_nd %matrix_ahead[%20, %21] <{l1_hint = #xegpu.cache_hint<cached>, l2_hint = #xegpu.c

A 2-D prefetch costs about 8 instructions of a step: the graphics compiler keeps the payloads of loads from step to step, and
writes those of prefetches anew (its pass Decompose2DBlockFuncs leaves prefetches out). One for each of A and B, as kernels by
hand have them, costs 16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import HINTS, surface
from layoutalg.gemm.emission.places import Places, another, hidden
from layoutalg.gemm.sharing import LINE_BYTES, Shares, Slice, line_elements, lines_of_lanes, shared_rounds, slices

__all__ = ["Prefetch", "prefetches"]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A prefetch of every step: the values that say where it asks, for the step after the first, how far they move from step
    to step, and the operation that asks there.
    """

    starts: tuple[Value, ...]
    moves: tuple[Value, ...]
    write: Callable[[Sequence[Value], Value, int], None]

    def ask(self, kernel: KernelWriter, last: Sequence[Value], k: Value, ahead: int = 0) -> tuple[Value, ...]:
        """Move on from where the last step asked, and ask for the step at `k + ahead`; returns where."""
        where = tuple(
            kernel.named(value.name or "", kernel.op("addi", value, move))
            for value, move in zip(last, self.moves, strict=True)
        )
        self.write(where, k, ahead)
        return where


def prefetches(kernel: KernelWriter, places: Places, bases: Mapping[str, Value]) -> tuple[Prefetch, ...]:
    """The prefetches of a step, in the form of the tiling."""
    asked, form = (kernel.gemm.problem, kernel.gemm.tiling), kernel.gemm.tiling.prefetch
    if form == "none":
        return ()
    write, rounds = (_shared, shared_rounds(*asked)) if form == "shared" else (_lines, (lines_of_lanes(*asked),))
    return tuple(write(kernel, places, bases, shares, number) for shares in rounds for number in range(shares.rounds))


def _shared(kernel: KernelWriter, places: Places, bases: Mapping[str, Value], shares: Shares, number: int) -> Prefetch:
    """The 2-D prefetch of one round: blocks `number * subgroups` and on, one for each subgroup."""
    gemm, count = kernel.gemm, kernel.gemm.tiling.count
    line = line_elements(gemm.problem)
    block = _Number(kernel, number * count if places.subgroup is None else places.subgroup)
    if places.subgroup is not None:
        block = block.plus(number * count)
    first, end = number * count, (number + 1) * count
    sides = [
        (part, begin)
        for part, begin, behind in zip(
            slices(gemm.problem, gemm.tiling), (0, shares.counts[0]), (shares.counts[0], shares.total), strict=True
        )
        if begin < behind and first < behind and begin < end
    ]
    of_a = None
    if len(sides) == 2:
        of_a = kernel.writer.value(
            "arith.cmpi ult, %s, %s : index", (block.value, kernel.constant(shares.counts[0])), "i1"
        )
        of_a.name = "asks_for_a"

    def chosen(values: Sequence[Value], name: str) -> Value:
        if len(values) == 1 or of_a is None or values[0] is values[1]:
            return values[0]
        return kernel.named(name, _chosen(kernel, of_a, values))

    matrices = [gemm.matrices["AB".index(part.operand)] for part, _ in sides]
    # a base that was chosen, or that loads use too, is put together of two halves in every step: 2 instructions on bmg
    base = another(kernel, chosen([bases[part.operand] for part, _ in sides], "base_ahead"), 1)
    height, width, pitch = (
        chosen(sizes, f"{name}_ahead")
        for name, sizes in zip(
            ("height", "width", "pitch"), zip(*(surface(kernel, m) for m in matrices), strict=True), strict=True
        )
    )
    corners = [_corner(kernel, places, part, block.plus(-begin), shares) for part, begin in sides]
    row, column = (
        chosen(values, f"prefetch_{name}")
        for name, values in zip(("row", "column"), zip(*corners, strict=True), strict=True)
    )
    if end > shares.total:  # subgroups without a block prefetch out of bounds, a no-op
        busy = kernel.writer.value("arith.cmpi ult, %s, %s : index", (block.value, kernel.constant(shares.total)), "i1")
        row = kernel.writer.value("arith.select %s, %s, %s : index", (busy, row, height), "index")
        row.name = "prefetch_row"

    element = gemm.element_of("A")
    blocks = ", #xegpu.block_tdesc_attr<array_length = 2 : i64>"
    kind = f"!xegpu.tensor_desc<{shares.rows}x{line // 2}x{element}{blocks}>"
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
    described = kernel.named("matrix_ahead", kernel.writer.value(form, (base, height, width, pitch), kind))
    starts: list[Value] = []
    moves: list[Value] = []
    for axis, (start, name) in enumerate(((row, "down"), (column, "across"))):
        steps = [gemm.tile.k if part.along == axis else 0 for part, _ in sides]
        move = chosen([kernel.constant(step, "i32") for step in steps], name)
        starts.append(kernel.named(f"prefetch_{('row', 'column')[axis]}", kernel.cast(start, "i32")))
        # else the compiler keeps 0 or the step as a byte, and widens it in every step
        moves.append(kernel.named(name, hidden(kernel, move)) if len(set(steps)) == 2 else move)

    def write(where: Sequence[Value], k: Value, ahead: int) -> None:
        row, column = (kernel.cast(value, "index") for value in where)
        for beside in range(shares.lines):
            place = (described, row, kernel.plus(column, beside * line))
            kernel.writer.do(f"xegpu.prefetch_nd %s[%s, %s] <{{{HINTS}}}> : {kind}", place)

    return Prefetch(tuple(starts), tuple(moves), write)


def _lines(kernel: KernelWriter, places: Places, bases: Mapping[str, Value], shares: Shares, number: int) -> Prefetch:
    """The lines of one round: `number * lanes` and on, one for each lane of the workgroup.

    Unlike a 2-D message this one knows no edges, so each lane compares the step with the last one that has its line.
    """
    gemm, lanes = kernel.gemm, kernel.gemm.dpas.subgroup_size
    count = lanes * gemm.tiling.count
    lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
    if places.subgroup is not None:
        lane = kernel.op("addi", lane, kernel.op("muli", places.subgroup, kernel.constant(lanes)))
    own = _Number(kernel, lane).plus(number * count)
    found: list[tuple[Value, Value, Value]] = []
    for part, begin in zip(slices(gemm.problem, gemm.tiling), (0, shares.counts[0]), strict=True):
        matrix = gemm.matrices["AB".index(part.operand)]
        row, column = _corner(kernel, places, part, own.plus(-begin), shares)
        rows, columns, pitch = surface(kernel, matrix)
        size = kernel.constant(matrix.element_bytes)
        place = kernel.op("addi", kernel.op("muli", row, pitch), column)
        address = kernel.op("addi", bases[part.operand], kernel.cast(kernel.op("muli", place, size), "i64"))
        step = kernel.constant(gemm.tile.k)
        if part.along == 0:
            step = kernel.op("muli", step, pitch)
        move = kernel.cast(kernel.op("muli", step, size), "i64")
        across, fixed, edge = (column, row, rows) if part.along == 1 else (row, column, columns)
        inside = kernel.writer.value("arith.cmpi ult, %s, %s : index", (fixed, edge), "i1")
        depth = kernel.index(kernel.arguments["k"])
        until = kernel.cast(kernel.op("subi", depth, across), "i32")
        found.append((address, move, _chosen(kernel, inside, (until, kernel.constant(0, "i32")))))
    of_a = kernel.writer.value("arith.cmpi ult, %s, %s : index", (own.value, kernel.constant(shares.counts[0])), "i1")
    address, move, until = (_chosen(kernel, of_a, values) for values in zip(*found, strict=True))
    if (number + 1) * count > shares.total:
        busy = kernel.writer.value("arith.cmpi ult, %s, %s : index", (own.value, kernel.constant(shares.total)), "i1")
        until = _chosen(kernel, busy, (until, kernel.constant(0, "i32")))
    # the compiler sees the alignment; otherwise it tests it in every step
    address = kernel.named("prefetch_line", kernel.op("andi", address, kernel.constant(-LINE_BYTES, "i64")))

    def write(where: Sequence[Value], k: Value, ahead: int) -> None:
        asks = kernel.writer.value("arith.cmpi slt, %s, %s : i32", (k, kernel.plus(until, -ahead)), "i1")
        with kernel.region("scf.if %s {", (asks,)):
            form = f"xegpu.prefetch %s[%s] <{{{HINTS}, offset_align_byte = {LINE_BYTES} : i64}}> : i64, index"
            kernel.writer.do(form, (where[0], kernel.constant(0)))

    return Prefetch((address,), (move,), write)


def _chosen(kernel: KernelWriter, condition: Value, values: Sequence[Value]) -> Value:
    form = f"arith.select %s, %s, %s : {values[0].kind}"
    return kernel.writer.value(form, (condition, *values), values[0].kind)


def _corner(kernel: KernelWriter, places: Places, part: Slice, block: _Number, shares: Shares) -> tuple[Value, Value]:
    """Row and column of a block of a slice in the first step; blocks count row-major."""
    line = line_elements(kernel.gemm.problem)
    corner = places.workgroup_row if part.operand == "A" else places.workgroup_column
    abreast = part.lines // shares.lines
    down, across = block.over(abreast).times(shares.rows), block.rest(abreast).times(line * shares.lines)
    extent = kernel.gemm.tiling.workgroup_tile.m if part.operand == "A" else kernel.gemm.tiling.workgroup_tile.n
    if part.operand == "B" and kernel.gemm.problem.halves:
        corner = _of_half(kernel, corner, (down if part.along == 1 else across).value, extent // 2)
    if part.along == 1:
        return down.plus(corner).value, across.value
    if extent % line:  # the workgroup begins within a line
        corner = kernel.op("andi", corner, kernel.constant(-line))
    return down.value, across.plus(corner).value


def _of_half(kernel: KernelWriter, corner: Value, column: Value, half: int) -> Value:
    """The corner that a column of a workgroup's two products counts from: the second half of them lies n further."""
    second = kernel.writer.value("arith.cmpi uge, %s, %s : index", (column, kernel.constant(half)), "i1")
    further = kernel.op("addi", corner, kernel.plus(kernel.index(kernel.arguments["n"]), -half))
    return _chosen(kernel, second, (further, corner))


@dataclass(frozen=True, slots=True)
class _Number:
    """An index that is known now, or a value of the kernel."""

    kernel: KernelWriter
    number: Value | int

    @property
    def value(self) -> Value:
        return self.kernel.constant(self.number) if isinstance(self.number, int) else self.number

    def plus(self, other: Value | int) -> _Number:
        if isinstance(other, int) and isinstance(self.number, int):
            return _Number(self.kernel, self.number + other)
        if isinstance(other, int):
            return _Number(self.kernel, self.kernel.plus(self.value, other))
        return _Number(self.kernel, other) if self.number == 0 else self._with("addi", other)

    def times(self, other: int) -> _Number:
        return _Number(self.kernel, self.number * other) if isinstance(self.number, int) else self._by("muli", other)

    def over(self, other: int) -> _Number:
        return _Number(self.kernel, self.number // other) if isinstance(self.number, int) else self._by("divui", other)

    def rest(self, other: int) -> _Number:
        if isinstance(self.number, int) or other == 1:
            return _Number(self.kernel, self.number % other if isinstance(self.number, int) else 0)
        return self._by("remui", other)

    def _by(self, name: str, other: int) -> _Number:
        return self if other == 1 else self._with(name, self.kernel.constant(other))

    def _with(self, name: str, other: Value) -> _Number:
        return _Number(self.kernel, self.kernel.op(name, self.value, other))
