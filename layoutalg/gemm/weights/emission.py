"""The kernel of a product with quantised weights, at lane level.

A step of the loop is one group of k, or 128 of a larger one. Words become operands of the matrix instruction without a
conversion: bits of a number below 2^10 (f16), put into the fraction of 1024, are 1024 + q, and in the fraction's upper part, of
64, they are 64 + q:

    (w & 0x000f000f) | 0x64006400       two weights of the lowest nibbles, 1024 + q
    (w & 0x00f000f0) | 0x54005400       two of the next nibbles, 64 + q, without a shift

and w >> 8 has the other two pairs: four `bfn` and a shift make eight weights of 4 bits, two and a shift four of 8 bits. A bf16
has 7 bits of fraction: 0x43004300 makes 128 + q of the lowest nibbles, and three shifts bring the others there. Of 8 bits it
takes two: 128 + the lower half of q, and 2048 + 16 times the upper one (0x45004500), each multiplied by the same A.

What was added is taken away by the matrix instruction as well: the sums of a group begin at A times the negative biases (less
the zero point where it is in the middle), which is one product for all columns of the tile. Zero points of columns are
subtracted from C, times the scale and the row sum of A: with one bias that sum is there already, else it is a product with
ones. At the end of the group one fused step for each register multiplies by the scale and adds to C.

>>> from layoutalg.gemm.weights import plan_weights
>>> text = emit_weights(plan_weights(8, 64, 256, tile=(8, 32)))
>>> text.count("xegpu.dpas"), text.count("math.fma"), "vector<16xf16> to" in text
(24, 2, False)

The compiler sees that biases and ones are the same in all lanes, and would make them anew with moves in every step; so they
pass through lane * (k >> 31), a zero that it cannot see. Arithmetic on vectors of f16 is avoided: IGC 2.40 takes such a vector
apart (63 instructions per dpas instead of 15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import pack
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.elementwise import fma
from layoutalg.gemm.emission.epilogue import finish
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.last_part import add_in_last, of_split
from layoutalg.gemm.emission.operands import HINTS, cut
from layoutalg.gemm.emission.places import Places, another, hidden
from layoutalg.gemm.emission.products import multiply
from layoutalg.gemm.emission.split_k import Part, reduction
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.weights.float8 import FACTORS, OPERATIONS, TO_BF16, expanded
from layoutalg.gemm.weights.prefetching import Ahead

if TYPE_CHECKING:
    from layoutalg.gemm.weights.plan import WeightsGemm
    from layoutalg.gemm.weights.problem import WeightsProblem

__all__ = ["PAIRS", "UPPER", "Pair", "emit_weights", "loads", "operations", "written"]

_WIDE = 16
"""Columns of A that a block of a message has; two blocks are 64 bytes, a cache line."""
_MOST_WORDS = 16
"""Rows of words in a message: more are longer vectors than SPIR-V has without an extension."""
_KEPT = 1024
"""Elements of A in f16 that a subgroup keeps for both passes over a group: 32 registers of 64 bytes."""


@dataclass(frozen=True)
class Pair:
    """How two weights come out of a word: `(word >> shift) & mask`, put into the fraction of `bias`, are bias + q.

    >>> PAIRS["f16", 4][1]
    Pair(shift=0, mask=15728880, bias=64)
    """

    shift: int
    mask: int
    bias: int

    def told(self, element: str) -> str:
        """The operation on a word w that makes both weights, in the type of A.

        >>> PAIRS["f16", 4][3].told("f16")
        '(w >> 8) & 0x00f000f0 | 0x54005400'
        """
        word = f"(w >> {self.shift})" if self.shift else "w"
        return f"{word} & 0x{self.mask:08x} | 0x{twice(self.bias, element):08x}"


PAIRS: dict[tuple[str, int], tuple[Pair, ...]] = {
    ("f16", 4): tuple(Pair(s, mask, bias) for s in (0, 8) for mask, bias in ((0x000F000F, 1024), (0x00F000F0, 64))),
    ("f16", 8): tuple(Pair(shift, 0x00FF00FF, 1024) for shift in (0, 8)),
    ("bf16", 4): tuple(Pair(shift, 0x000F000F, 128) for shift in (0, 4, 8, 12)),
    ("bf16", 8): tuple(Pair(shift, 0x000F000F, 128) for shift in (0, 8)),
}
"""The pairs of a word in the order of k, by the type of A and the bits of a weight; beside bf16 the lower halves of bytes."""
UPPER = tuple(Pair(shift, 0x000F000F, 2048) for shift in (4, 12))
"""The pairs of the upper halves of bytes beside bf16, 16 times as much: 2048 + 16 q."""


def operations(problem: WeightsProblem) -> int:
    """Instructions that make operands of a word: a `bfn` for each pair, and a shift for each place; of floats see there.

    >>> from layoutalg.gemm.weights import WeightsProblem
    >>> [operations(WeightsProblem.of(8, 64, 128, a, b)) for a, b in (("f16", "u4"), ("f16", "u8"), ("bf16", "u8"))]
    [5, 3, 7]
    """
    if problem.floats:
        return OPERATIONS[problem.b] + (TO_BF16 if problem.product.a == "bf16" else 0)
    pairs = (*PAIRS[problem.product.a, problem.bits], *(UPPER if problem.halves else ()))
    return len(pairs) + len({pair.shift for pair in pairs} - {0})


def twice(number: float, element: str) -> int:
    """The bits of a number in both halves of a word, as a signed one.

    >>> hex(twice(1032, "f16")), hex(twice(128, "bf16")), twice(-1, "f16") < 0
    ('0x64086408', '0x43004300', True)
    """
    half = pack("<e", number) if element == "f16" else pack("<f", number)[2:]
    return int.from_bytes(half * 2, "little", signed=True)


@dataclass(frozen=True)
class _Written(Gemm):
    """The product as the kernel's writer sees it: with the arguments that the weights add."""

    weights: WeightsProblem | None = None

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        assert self.weights is not None
        before = [one for one in super().parameters if one[1] == "i64"]
        scratch = [one for one in before if one[0] in ("workspace", "counters")]  # behind what hosts fill
        more = ((name, "i64") for name in self.weights.of_groups)
        held = [one for one in before if one not in scratch and not one[0].startswith("stride")]
        strides = self.weights.strides
        numbers = ((name, "i64" if name in strides else "i32") for name in self.weights.numbers)
        return *held, *more, *scratch, *numbers

    @property
    def sizes(self) -> tuple[int, ...]:
        assert self.weights is not None
        return tuple(number for name, number in self.weights.numbers.items() if name not in self.weights.strides)

    @property
    def arguments(self) -> tuple[int, ...]:
        assert self.weights is not None
        return tuple(self.weights.numbers.values())


def written(plan: WeightsGemm) -> Gemm:
    """The product with the kernel's arguments: what the writer of kernels, and a launch, ask."""
    return _Written(plan.problem.product, plan.tiling, plan.llvm, weights=plan.problem)


def loads(plan: WeightsGemm) -> int:
    """The block messages of a step."""
    problem, tile = plan.problem, plan.tiling.tile
    of_a = problem.step // (2 * _WIDE) * (2 if _loads_twice(plan) else 1)
    words = -(-(problem.step * problem.bits // 32) // _MOST_WORDS)
    return of_a + tile.n // plan.dpas.n * (words + (2 if problem.zeros else 1))


def _loads_twice(plan: WeightsGemm) -> bool:
    """Whether a group of A is too much to keep for both passes over it."""
    return plan.tiling.tile.m * plan.problem.step > _KEPT and not plan.problem.floats


def _bases(kernel: KernelWriter, plan: WeightsGemm) -> dict[str, Value]:
    """The addresses of this workgroup's A, words, C, scales and zero points, by argument."""
    names, problem = ("a", "b", "c", *plan.problem.of_groups), plan.problem
    if problem.product.batch == 1:
        return {name: kernel.arguments[name] for name in names}
    z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"))
    parts = plan.tiling.split_k
    number = kernel.cast(z if parts == 1 else kernel.op("divui", z, kernel.constant(parts)), "i64")
    matrices = {"a": problem.product.matrices[0], "b": problem.words, "c": problem.product.matrices[2]}
    found: dict[str, Value] = {}
    for name in names:
        stride, matrix = "groups" if name in problem.of_groups else name, matrices.get(name, problem.scales)
        elements = kernel.op("muli", number, kernel.arguments[f"stride_{stride}"])
        moved = kernel.op("muli", elements, kernel.constant(matrix.element_bytes, "i64"))
        found[name] = kernel.named(f"address_{name}", kernel.op("addi", kernel.arguments[name], moved))
    return found


def emit_weights(plan: WeightsGemm, *, pointers: bool = True) -> str:
    """The text of the kernel."""
    kernel = KernelWriter(written(plan), pointers=pointers)
    places = Places.of(kernel)
    bases = _bases(kernel, plan)
    step = _Step(kernel, plan, bases, hidden(kernel, places.row), hidden(kernel, places.column))
    zeros = kernel.named("zeros", kernel.constant(0.0, "f32", plan.dpas.m))
    held = {(i, j): zeros for i in range(step.rows) for j in range(step.columns)}
    group = kernel.constant(plan.problem.step, "i32")
    part = Part.of(kernel) if plan.tiling.split_k > 1 else None
    first = kernel.constant(0, "i32") if part is None else part.begin
    depth = kernel.named("depth", kernel.op("maxsi", kernel.arguments["k"], group)) if part is None else part.end
    ahead = Ahead(kernel, plan, places, bases) if plan.tiling.prefetch != "none" else None
    if ahead is not None:
        ahead.begin(first, depth)
    results, inside = ([Value("f32", plan.dpas.m, f"{name}{i}x{j}") for i, j in held] for name in ("tile", "c"))
    pairs, kinds = ", ".join(["%s = %s"] * len(held)), ", ".join(value.kind for value in results)
    counter = Value("i32", name="counter")
    form = f"scf.for %s = %s to %s step %s iter_args({pairs}) -> ({kinds}) : i32 {{"
    operands = [counter, first, depth, group]
    operands += [value for pair in zip(inside, held.values(), strict=True) for value in pair]
    with kernel.region(form, operands, results, (counter, *inside)):
        if ahead is not None:
            ahead.in_step(counter, depth)
        found = step.write(counter, dict(zip(held, inside, strict=True)))
        kernel.writer.do(f"scf.yield {', '.join(['%s'] * len(found))} : {kinds}", list(found.values()))
    found = dict(zip(held, results, strict=True))
    if part is not None:
        part.store(kernel, found, places.row, places.column)
        if plan.tiling.reduction == "last":
            add_in_last(kernel, places, bases["c"], of_split(kernel, places))
            return kernel.text()
        return kernel.text(reduction(kernel.launched, pointers=pointers))
    finish(kernel, bases["c"], found, places.row, places.column)
    return kernel.text()


class _Step:
    """One group: what is loaded, and the products."""

    def __init__(
        self, kernel: KernelWriter, plan: WeightsGemm, bases: Mapping[str, Value], row: Value, column: Value
    ) -> None:
        self.kernel, self.plan, self.row, self.column = kernel, plan, row, column
        self._bases = bases
        problem, tile, unit = plan.problem, plan.tiling.tile, plan.dpas
        self.rows, self.columns, self.depths = tile.m // unit.m, tile.n // unit.n, problem.step // unit.k
        self.element = kernel.gemm.element_of("A")
        self.each = 32 // problem.bits
        """Weights in a word."""
        self.pairs: tuple[Pair, ...] = () if problem.floats else PAIRS[problem.product.a, problem.bits]
        m, n, k = (kernel.index(kernel.arguments[name]) for name in ("m", "n", "k"))
        lda = kernel.index(kernel.arguments["lda"])
        blocks = ", #xegpu.block_tdesc_attr<array_length = 2 : i64>"
        surface, kind = (m, k, lda), f"{tile.m}x{_WIDE}x{self.element}{blocks}"
        self.of_a = self._described("a", surface, kind)
        # from an address that the compiler takes for another one, or it would keep what it loaded
        self.again = self._described("a", surface, kind, 1) if _loads_twice(plan) else self.of_a
        words = kernel.named("rows_of_words", kernel.op("divui", k, kernel.constant(self.each)))
        self.high = min(problem.step // self.each, _MOST_WORDS)
        self.of_b = self._described("b", (words, n, n), f"{self.high}x{unit.n}xi32")
        groups = kernel.named("groups", kernel.op("divui", k, kernel.constant(problem.group)))
        self.of_groups = [self._described(name, (groups, n, n), f"1x{unit.n}xf32") for name in problem.of_groups]
        middle = 0 if problem.zeros else 1 << problem.bits - 1
        self.upper = UPPER if problem.halves else ()
        more = middle + (UPPER[0].bias if self.upper else 0)
        self.biases = self._operand("biases", [-pair.bias - more for pair in self.pairs]) if self.pairs else None
        summed = problem.zeros and not problem.uniform
        self.ones = self._operand("ones", [-1 for _ in self.pairs]) if summed else None

    def _described(self, name: str, sizes: tuple[Value, Value, Value], kind: str, number: int = 0) -> Value:
        kernel, kind = self.kernel, f"!xegpu.tensor_desc<{kind}>"
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
        base = another(kernel, self._bases[name], number)
        return kernel.named(f"matrix_{name}", kernel.writer.value(form, (base, *sizes), kind))

    def _operand(self, name: str, numbers: Sequence[int]) -> Value:
        """An operand B whose rows have these numbers by turns, each in all columns."""
        kernel = self.kernel
        lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))

        def nothing() -> Value:
            return kernel.op("muli", kernel.cast(lane, "i32"), hidden(kernel, kernel.constant(0, "i32")))

        unseen = kernel.once("unseen", nothing)
        words = [kernel.op("xori", kernel.constant(twice(one, self.element), "i32"), unseen) for one in numbers]
        return kernel.named(name, self._of_words([words[i % len(words)] for i in range(8)]))

    def _of_words(self, words: Sequence[Value]) -> Value:
        """Eight words as an operand B: two rows each."""
        held = self.kernel.writer.value(
            f"vector.from_elements {', '.join(['%s'] * 8)} : vector<8xi32>", words, "i32", 8
        )
        form = f"vector.bitcast %s : {held.kind} to vector<16x{self.element}>"
        return self.kernel.writer.value(form, (held,), self.element, 16)

    def write(self, counter: Value, held: dict[tuple[int, int], Value]) -> dict[tuple[int, int], Value]:
        """The step at `counter`."""
        kernel, plan = self.kernel, self.plan
        index = kernel.named("step", kernel.cast(counter, "index"))
        at_words, at_group = (
            kernel.named(name, kernel.cast(kernel.op("divui", counter, kernel.constant(size, "i32")), "index"))
            for name, size in (("step_of_words", self.each), ("group", plan.problem.group))
        )
        scales, points = self._of_columns(at_group)
        words = [self._words(at_words, self._column(j)) for j in range(self.columns)]
        of_a = _OperandsA(self, self.of_a, index)
        zeros = kernel.constant(0.0, "f32", plan.dpas.m)
        begin, sums = ([zeros] * self.rows for _ in range(2))
        for depth in range(self.depths):
            if self.biases is None:
                break
            begin = [multiply(kernel, of_a[i, depth], self.biases, one) for i, one in enumerate(begin)]
            if self.ones is not None:
                sums = [multiply(kernel, of_a[i, depth], self.ones, one) for i, one in enumerate(sums)]
        if points:
            of_rows = begin if self.ones is None else sums
            held = {(i, j): fma(kernel, points[j], of_rows[i], one) for (i, j), one in held.items()}
        if self.again is not self.of_a:
            of_a = _OperandsA(self, self.again, index)
        totals = {place: begin[place[0]] for place in held}
        for depth in range(self.depths):
            for j in range(self.columns):
                for pairs in (self.pairs, self.upper) if self.upper else (self.pairs,):
                    weights = kernel.named(f"w{depth}x{j}", self._weights(words[j], depth, pairs))
                    for i in range(self.rows):
                        totals[i, j] = multiply(kernel, of_a[i, depth], weights, totals[i, j])
        made: dict[tuple[int, int], Value] = {}
        for (i, j), total in totals.items():
            made[i, j] = kernel.named(f"c{i}x{j}", fma(kernel, scales[j], total, held[i, j]))
        return made

    def _column(self, j: int) -> Value:
        return self.kernel.plus(self.column, j * self.plan.dpas.n)

    def _words(self, step: Value, column: Value) -> list[Value]:
        """The words of a group in a block of columns, one after the other; a message has 16 rows at most."""
        found: list[Value] = []
        for row in range(0, self.plan.problem.step // self.each, self.high):
            loaded = self.loaded(self.of_b, self.kernel.plus(step, row), column, "i32")
            for number in range(self.high):
                form = f"vector.extract %s[{number}] : i32 from {loaded.kind}"
                found.append(self.kernel.writer.value(form, (loaded,), "i32"))
        return found

    def loaded(self, matrix: Value, row: Value, column: Value, element: str) -> Value:
        sizes = matrix.kind.partition("<")[2].partition("x" + element)[0].split("x")
        size = int(sizes[0]) * int(sizes[1]) // self.plan.dpas.subgroup_size
        size *= 2 if "array_length" in matrix.kind else 1
        form = f"xegpu.load_nd %s[%s, %s] <{{{HINTS}}}> : {matrix.kind} -> vector<{size}x{element}>"
        return self.kernel.writer.value(form, (matrix, row, column), element, size)

    def _of_columns(self, group: Value) -> tuple[list[Value], list[Value]]:
        """The scales of a group in each block of columns, spread over its rows, and what the row sums are multiplied by."""
        kernel, high = self.kernel, self.plan.dpas.m
        found: tuple[list[Value], list[Value]] = ([], [])

        def spread(number: Value) -> Value:
            return kernel.writer.value(f"vector.broadcast %s : f32 to vector<{high}xf32>", (number,), "f32", high)

        for j in range(self.columns):
            numbers: list[Value] = []
            for matrix in self.of_groups:
                loaded = self.loaded(matrix, group, self._column(j), "f32")
                form = f"vector.extract %s[0] : f32 from {loaded.kind}"
                numbers.append(kernel.writer.value(form, (loaded,), "f32"))
            factor = FACTORS.get(self.plan.problem.b, 1)
            if factor != 1:
                numbers[0] = kernel.op("mulf", numbers[0], kernel.constant(float(factor), "f32"))
            found[0].append(spread(numbers[0]))
            if len(numbers) == 2:
                point = kernel.op("mulf", numbers[0], numbers[1])
                if self.ones is None:
                    point = kernel.op("mulf", point, kernel.constant(1 / self.pairs[0].bias, "f32"))
                found[1].append(spread(point))
        return found

    def _weights(self, words: Sequence[Value], depth: int, pairs: Sequence[Pair]) -> Value:
        """The operand B at a depth of the group: bias + q, or a float, of eight words with two rows each."""
        kernel, made, count = self.kernel, list[Value](), 16 // self.each
        for word in words[depth * count : (depth + 1) * count]:
            if not pairs:
                made += expanded(kernel, word, self.plan.problem.b, self.element)
            shifted = {0: word}
            for pair in pairs:
                if pair.shift not in shifted:
                    shifted[pair.shift] = kernel.op("shrui", word, kernel.constant(pair.shift, "i32"))
                bits = kernel.op("andi", shifted[pair.shift], kernel.constant(pair.mask, "i32"))
                exponent = kernel.constant(twice(pair.bias, self.element), "i32")
                made.append(kernel.op("ori", bits, exponent))
        return self._of_words(made)


class _OperandsA:
    """The operands A of a group, by block of rows and depth: cuts of messages with two blocks of 16 columns.

    A message is written where the first of its operands is asked for.
    """

    def __init__(self, step: _Step, matrix: Value, index: Value) -> None:
        self.step, self.matrix, self.index = step, matrix, index
        self._found: dict[tuple[int, int], Value] = {}

    def __getitem__(self, place: tuple[int, int]) -> Value:
        if place not in self._found:
            step, first = self.step, place[1] // 2 * 2
            column, high = step.kernel.plus(self.index, first * _WIDE), step.plan.dpas.m
            loaded = step.loaded(self.matrix, step.row, column, step.element)
            for block in range(2):
                for i in range(step.rows):
                    begin = (block * step.rows + i) * high
                    self._found[i, first + block] = cut(step.kernel, loaded, range(begin, begin + high))
        return self._found[place]
