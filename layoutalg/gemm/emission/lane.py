"""The kernel at lane level, in the form that compilers turn into the planned machine code.

For a tile of 16x32, 32 deep, of f16 and with prefetch the loops are, without cache hints:

    %tile0x0, ... = scf.for %counter = %c0 to %last step %c32 iter_args(%c0x0 = %zeros, ..., %prefetch_row = ...) : i32 {
      (the place of the prefetch moves on)
      xegpu.prefetch_nd %matrix_ahead[%prefetch_row, %prefetch_column] : ...
      %step = arith.index_cast %counter : i32 to index
      %loaded_a = xegpu.load_nd %matrix_a[%row, %step] : !xegpu.tensor_desc<16x16xf16, array_length = 2> -> vector<32xf16>
      (four cuts of 8: a0x0, a1x0, a0x1, a1x1)
      %loaded_b = xegpu.load_nd %matrix_b[%step, %column] <{packed}> : ... -> vector<64xf16>
      (four cuts of 16: b0x0, b1x0, b0x1, b1x1)
      (eight products: c0x0 + a0x0 b0x0, c0x1 + a0x0 b0x1, ..., c0x0 + a0x1 b1x0, ...)
      scf.yield ...
    }
    (the same loop for the last step, without prefetch)

Sizes are arguments, so one binary serves every size, and the compiler has no constant trip count to unroll by: the machine code
has the DPAS that are written here, no more and no less. With 32x64 tiles, 64 deep, the first loop has 1.38 instructions per
DPAS on bmg and 1.44 on pvc (IGC 2.40), where LLVM's own pipeline has 1.63 and 1.95 from the same plan's workgroup
level. Compiled by LLVM 22 and Debian's IGC 1.0.12504, which get smaller messages, it has 2.70 on pvc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.edges import loop_edges
from layoutalg.gemm.emission.batch import addresses
from layoutalg.gemm.emission.edges import Lanes
from layoutalg.gemm.emission.epilogue import finish
from layoutalg.gemm.emission.grouped import group_of_workgroup
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.last_part import add_in_last, of_split
from layoutalg.gemm.emission.operands import Loads, other_half
from layoutalg.gemm.emission.places import Places, hidden
from layoutalg.gemm.emission.prefetching import Prefetch, prefetches
from layoutalg.gemm.emission.products import multiply
from layoutalg.gemm.emission.rows_of_lanes import store_rows
from layoutalg.gemm.emission.split_k import Part, reduction
from layoutalg.gemm.emission.stream_k import parts_of_run
from layoutalg.gemm.emission.turning import turning_of
from layoutalg.gemm.turning import turns
from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["emit_lane"]

_Held = dict[tuple[int, int], Value]
"""The accumulators by row and column block."""


def emit_lane(gemm: Gemm, *, static: bool = False, pointers: bool = True) -> str:
    """The text of the kernel.

    >>> from layoutalg.gemm import plan_gemm
    >>> "gpu.func @gemm(" in emit_lane(plan_gemm(64, 64, 64))
    True
    """
    kernel = KernelWriter(gemm, static=static, pointers=pointers)
    gemm = kernel.gemm
    if gemm.tiling.stream_k:
        with parts_of_run(kernel) as one:
            held, _ = _sums(kernel, one.places, one.bases, one.part)
            one.finish(kernel, held)
        return kernel.text()
    if kernel.behind.groups:
        bases, row = group_of_workgroup(kernel)
    else:
        bases, row = addresses(kernel, gemm.tiling.split_k), None
    places = Places.of(kernel, row)
    held, part = _sums(kernel, places, bases)
    if part is not None:
        part.store(kernel, held, places.row, places.column)
        if gemm.tiling.reduction == "last":
            add_in_last(kernel, places, bases["C"], of_split(kernel, places))
            return kernel.text()
        return kernel.text(reduction(gemm, static=static, pointers=pointers))
    (store_rows if kernel.turned else finish)(kernel, bases["C"], held, places.row, places.column)
    return kernel.text()


def _sums(
    kernel: KernelWriter, places: Places, bases: Mapping[str, Value], part: Part | None = None
) -> tuple[_Held, Part | None]:
    """The loop over k, or over a part of it, which z of the grid says if it is not given: the accumulators behind it."""
    gemm = kernel.gemm
    step = _Step(kernel, places, bases)
    ahead = prefetches(kernel, places, bases)
    if part is None and gemm.tiling.split_k > 1:
        part = Part.of(kernel)
    zero, depth = (kernel.constant(0, "i32"), _depth(kernel)) if part is None else (part.begin, part.end)
    if part is not None:
        ahead = tuple(part.moved(kernel, prefetch) for prefetch in ahead)
    zeros = kernel.constant(0.0 if gemm.accumulator[0] in "fb" else 0, gemm.accumulator, gemm.dpas.m)
    kernel.named("zeros", zeros)
    held = {(i, j): zeros for i in range(gemm.blocks[0]) for j in range(gemm.blocks[1])}
    if ahead:
        asked = [start for prefetch in ahead for start in prefetch.starts]
        length = depth if part is None else kernel.named("length", kernel.op("subi", depth, part.begin))
        asked = _ask_first(kernel, ahead, asked, length, part)
        last = _steps_before_the_last(kernel, length)
        if part is not None:
            last = kernel.op("addi", part.begin, last)
        held = _loop(kernel, zero, last, held, step, ahead, asked)
        zero = last
    return _loop(kernel, zero, depth, held, step), part


class _Step:
    """The loads and the products of one step."""

    def __init__(self, kernel: KernelWriter, places: Places, bases: Mapping[str, Value]) -> None:
        self.kernel = kernel
        immediate = xe_chip(kernel.gemm.target).immediate_offsets
        corner = (places.row, places.column)
        # then the compiler sees that messages of one descriptor differ by a constant, and uses an immediate offset for it
        row, column = (hidden(kernel, place) for place in corner) if immediate else corner
        # without immediate offsets each 32 of k has its own descriptor, over an address that the compiler takes for another
        # one: every message keeps its own payload, and a step changes one number in it instead of writing a new one
        self.loads = Loads(kernel, bases, row, column, apart=not immediate)
        zero = kernel.constant(0)
        self.lanes = {
            name: Lanes(kernel, name, bases[name], (row, zero) if name == "A" else (zero, column))
            for name in loop_edges(kernel.gemm.problem)
        }
        if kernel.gemm.problem.halves and "B" in self.lanes:
            self.lanes["B2"] = Lanes(kernel, "B", bases["B"], (zero, other_half(kernel, column)))
        self.turning = turning_of(kernel, places, bases["A"]) if turns(kernel.gemm.tiling) else None
        if self.turning is not None:
            self.turning.begin(zero)

    @property
    def unit(self) -> int:
        """How many elements of k the loop's counter counts as one."""
        return self.loads.unit

    def write(self, counter: Value, held: _Held) -> _Held:
        """The step at `counter`: the messages of a depth just before its first product."""
        kernel, gemm = self.kernel, self.kernel.gemm
        operands = self.loads.at(counter)
        step = operands.depth.at(0) if self.lanes else None
        if self.turning is not None:
            self.turning.load(operands.depth.at(gemm.tile.k))
        waiting = list(gemm.messages)
        for depth in range(gemm.tile.k // gemm.dpas.k):
            for message in [message for message in waiting if any(piece.depth == depth for piece in message.pieces)]:
                waiting.remove(message)
                operands.load(message)
            if self.turning is not None:
                for (i, where), operand in self.turning.read(depth).items():
                    operands["A", i, where] = operand
            if "A" in self.lanes:
                for i in range(gemm.blocks[0]):
                    operands["A", i, depth] = self.lanes["A"].load((i * gemm.dpas.m, depth * gemm.dpas.k), step)
            if "B" in self.lanes:
                for j in range(gemm.blocks[1]):
                    half = gemm.blocks[1] // 2 if "B2" in self.lanes and 2 * j >= gemm.blocks[1] else 0
                    place = depth * gemm.dpas.k, (j - half) * gemm.dpas.n
                    operands["B", j, depth] = self.lanes["B2" if half else "B"].load(place, step)
            for i, j in held:
                made = multiply(kernel, operands["A", i, depth], operands["B", j, depth], held[i, j])
                held = held | {(i, j): kernel.named(f"c{i}x{j}", made)}
        if self.turning is not None:
            self.turning.end()
        return held


def _depth(kernel: KernelWriter) -> Value:
    """Where the loop ends: at max(k, one step), which promises the compiler that it runs.

    As 1 <= k that changes no result: beyond k reads give 0. Without it the compiler keeps a second set of accumulators for
    the way around the loop. A static kernel hides its k: by a number of steps that it knows the compiler unrolls (3 steps of
    64 dpas for k = 4096, and on pvc 1.66 instructions per dpas instead of 1.44).
    """
    k = hidden(kernel, kernel.constant(kernel.gemm.k, "i32")) if kernel.static else kernel.arguments["k"]
    if kernel.busy is not None:
        k = kernel.writer.value("arith.select %s, %s, %s : i32", (kernel.busy, k, kernel.constant(0, "i32")), "i32")
    return kernel.named("depth", kernel.op("maxsi", k, kernel.constant(kernel.gemm.tile.k, "i32")))


def _steps_before_the_last(kernel: KernelWriter, depth: Value) -> Value:
    """Where the last steps begin, `distance` of them, which have nothing to ask for: a multiple of a step."""
    step, ahead = kernel.gemm.tile.k, kernel.gemm.tile.k * kernel.gemm.tiling.distance
    before = kernel.op("maxsi", kernel.plus(depth, -ahead), kernel.constant(0, "i32"))
    steps = kernel.op("divui", kernel.plus(before, step - 1), kernel.constant(step, "i32"))
    return kernel.named("last", kernel.op("muli", steps, kernel.constant(step, "i32")))


def _ask_first(
    kernel: KernelWriter, ahead: Sequence[Prefetch], asked: Sequence[Value], depth: Value, part: Part | None
) -> Sequence[Value]:
    """Ask for the steps from the second to those that the first step of the loop asks for; the first is loaded at once."""
    step, distance = kernel.gemm.tile.k, kernel.gemm.tiling.distance
    if distance == 1:
        return asked
    k_step, behind = kernel.constant(step, "i32"), kernel.constant(step * distance, "i32")
    end = kernel.op("minsi", depth, behind)
    counter = Value("i32", name="counter")
    form, results, arguments = _carrying(asked)
    with kernel.region(form, _operands(counter, k_step, end, k_step, arguments, asked), results, (counter, *arguments)):
        k = counter if part is None else kernel.op("addi", counter, part.begin)
        following = _ask(kernel, ahead, arguments, k)
        _yield(kernel, following)
    return results


def _loop(
    kernel: KernelWriter,
    first: Value,
    end: Value,
    held: _Held,
    step: _Step,
    ahead: Sequence[Prefetch] = (),
    asked: Sequence[Value] = (),
) -> _Held:
    """A loop over k: prefetches, loads and products; returns the accumulators behind it.

    The counter is i32 and becomes an index once, which costs 3 instructions a loop; a counter of type index, 64 bits, costs
    more in every step.
    """
    gemm, turning = kernel.gemm, step.turning
    buffers = [] if turning is None else turning.carried
    carried = [*held.values(), *asked, *buffers]
    form, results, arguments = _carrying(carried)
    for (i, j), inside, outside in zip(held, arguments, results, strict=False):
        inside.name, outside.name = f"c{i}x{j}", f"tile{i}x{j}"
    counter = Value("i32", name="counter")
    first, end = (_in_units(kernel, place, step.unit) for place in (first, end))
    by = kernel.constant(gemm.tile.k // step.unit, "i32")
    with kernel.region(form, _operands(counter, first, end, by, arguments, carried), results, (counter, *arguments)):
        following: list[Value] = []
        if ahead:
            k = counter if step.unit == 1 else kernel.op("muli", counter, kernel.constant(step.unit, "i32"))
            following = _ask(kernel, ahead, arguments[len(held) :], k, gemm.tile.k * gemm.tiling.distance)
        if turning is not None:
            turning.carried = arguments[-len(buffers) :]
        inside = step.write(counter, dict(zip(held, arguments, strict=False)))
        _yield(kernel, [*inside.values(), *following, *(turning.carried if turning is not None else ())])
    if turning is not None:
        turning.carried = results[-len(buffers) :]
    return dict(zip(held, results, strict=False))


def _in_units(kernel: KernelWriter, place: Value, unit: int) -> Value:
    """A place along k in units of several elements, rounded up."""
    if unit == 1:
        return place
    return kernel.op("divui", kernel.plus(place, unit - 1), kernel.constant(unit, "i32"))


def _carrying(values: Sequence[Value]) -> tuple[str, list[Value], list[Value]]:
    """A loop that carries values: its form, its results and its arguments."""
    results, arguments = ([Value(value.element, value.size, value.name) for value in values] for _ in range(2))
    pairs, kinds = ", ".join(["%s = %s"] * len(values)), ", ".join(value.kind for value in values)
    return f"scf.for %s = %s to %s step %s iter_args({pairs}) -> ({kinds}) : i32 {{", results, arguments


def _operands(
    counter: Value, first: Value, end: Value, step: Value, arguments: Sequence[Value], values: Sequence[Value]
) -> list[Value]:
    pairs = [value for pair in zip(arguments, values, strict=True) for value in pair]
    return [counter, first, end, step, *pairs]


def _ask(
    kernel: KernelWriter, ahead: Sequence[Prefetch], asked: Sequence[Value], k: Value, further: int = 0
) -> list[Value]:
    """Write the prefetches for the step at `k + further`; returns where they ask."""
    following: list[Value] = []
    for prefetch in ahead:
        following += prefetch.ask(kernel, asked[len(following) : len(following) + len(prefetch.starts)], k, further)
    return following


def _yield(kernel: KernelWriter, values: Sequence[Value]) -> None:
    kinds = ", ".join(value.kind for value in values)
    kernel.writer.do(f"scf.yield {', '.join(['%s'] * len(values))} : {kinds}", values)
