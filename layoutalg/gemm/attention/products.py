"""The products of attention's kernels, and what rows of scores are asked: their largest number, which keys they may see.

Scores are blocks of 8 queries by 16 keys, a list of them for each block of rows:

    %s0x0 = xegpu.dpas %q, %k, %zeros      Q K^T, or on accumulators of -m: Q K^T - m
    %s0x0 = arith.select %.., %s0x0, %hidden
    %o0x0 = xegpu.dpas %p, %v, %o0x0       O + P V

The law: `scores` and `accumulate` take what the plan's layouts say, so nothing moves between lanes but the largest of a row.

>>> from layoutalg.conversion.lowering.region_writer import RegionWriter
>>> from layoutalg.gemm.attention import plan_attention
>>> plan = plan_attention(64, 64, target="bmg")
>>> writer = ProductWriter(plan, RegionWriter([Value(kind, name=name) for name, kind in plan.parameters]))
>>> print(writer.largest_in_lanes([writer.floats("0.0", "zeros")] * 3).kind)
vector<8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.writing import LANES, ROWS, KernelWriter

__all__ = ["LARGEST", "MINUS_INFINITY", "ProductWriter", "State"]

LARGEST = "_Z20sub_group_reduce_maxf"
"""OpenCL's sub_group_reduce_max of a float: the graphics compiler makes one tree of the calls for eight rows."""
MINUS_INFINITY = "0xFF800000"
ONES = {"f16": 0x3C003C00, "bf16": 0x3F803F80}
"""Two ones in a word."""


@dataclass(frozen=True)
class State:
    """What a step hands to the next: O by blocks of rows and columns; of every row -m and the sum of its weights."""

    o: tuple[tuple[Value, ...], ...]
    less: tuple[Value, ...]
    sums: tuple[Value, ...]

    @property
    def values(self) -> list[Value]:
        """All of it, in one order."""
        return [*(block for row in self.o for block in row), *self.less, *self.sums]

    def renewed(self) -> State:
        """New values of the same kinds in the same places: arguments or results of a loop."""

        def new(value: Value, name: str) -> Value:
            return Value(value.element, value.size, name)

        return State(
            tuple(tuple(new(block, f"o{i}x{x}") for x, block in enumerate(row)) for i, row in enumerate(self.o)),
            tuple(new(value, f"m{i}") for i, value in enumerate(self.less)),
            tuple(new(value, f"l{i}") for i, value in enumerate(self.sums)),
        )


class ProductWriter(KernelWriter):
    """Writes products and what scores are asked. Who derives from it says where a subgroup is: `lane`, and `seen`."""

    lane: Value
    row_index: Value
    seen: Value
    """How many keys the subgroup's first query sees, where a mask is causal."""
    nought: Value
    nothing: Value
    ones: Value

    def of_all(self, values: Sequence[Value], *, smallest: bool) -> Value:
        """The largest or the smallest of all numbers of the subgroup. A NaN is passed over, or is the result."""
        one = "olt" if smallest else "ogt"

        def chosen(left: Value, right: Value) -> Value:
            is_it = self.let(f"arith.cmpf {one}, %s, %s : {left.kind}", (left, right), "i1", left.size)
            return self.select(is_it, left, right)

        found = values[0]
        for more in values[1:]:
            found = chosen(more, found)
        while found.size is not None and found.size > 2:
            half = found.size // 2
            found = chosen(self.part(found, 0, half), self.part(found, half, half))
        found = chosen(*(self.let(f"vector.extract %s[{n}] : f32 from {found.kind}", (found,), "f32") for n in (0, 1)))
        if smallest:
            found = self.let("arith.negf %s : f32", (found,), "f32")
        call = f"llvm.call spir_funccc @{LARGEST}(%s) {{convergent, no_unwind, will_return}} : (f32) -> f32"
        found = self.let(call, (found,), "f32")
        return self.let("arith.negf %s : f32", (found,), "f32") if smallest else found

    def scores(
        self, row: Value, places: list[Value], less: Sequence[Value] | None, low: Value | None
    ) -> list[list[Value]]:
        """Q K^T, or Q K^T - m: blocks of 8 queries by 16 keys. `low` is the first key where some keys may be hidden.

        Depth is the outer loop: Q is read again in every step (from the nearest cache), a block of columns at a time, so that
        its registers are free for O and S.
        """
        begin = (self.floats("0.0", "zeros"),) * self.row_blocks if less is None else less
        scores = [[start] * len(places) for start in begin]
        for first, count in self.pairs():
            for half, queries in enumerate(self.queries(row, first, count)):
                for j, place in enumerate(places):
                    block = self.keys(place, first + half)
                    for i, rows in enumerate(queries):
                        scores[i][j] = self.dpas(rows, block, scores[i][j], f"s{i}x{j}")
        return scores if low is None else self.masked(scores, low)

    def masked(self, scores: list[list[Value]], key: Value) -> list[list[Value]]:
        """-inf for keys that do not exist or, with a causal mask and a window, that the query may not see."""
        low = self.floats(MINUS_INFINITY, "hidden")
        own = self.binary("addi", key, self.lane, "own_key")
        starts = [LANES * j for j in range(len(scores[0]))]
        columns = [self.binary("addi", own, self.number(start)) if start else own for start in starts]
        if not self.problem.causal:
            there = [self.less(column, self.arguments["keys"]) for column in columns]
            return [[self.select(here, s, low) for here, s in zip(there, row, strict=True)] for row in scores]
        last = [self.binary("subi", column, self.seen) for column in columns]
        past = [self.spread(one) for one in last]
        masked: list[list[Value]] = []
        for i, row in enumerate(scores):
            more = self.constant(f"dense<{[ROWS * i + r for r in range(ROWS)]}>", "i32", ROWS, f"rows{i}")
            masked.append([self.select(self.less(p, more), s, low) for p, s in zip(past, row, strict=True)])
        if self.problem.window is None:
            return masked
        window = self.arguments["window"]
        reached = [self.spread(self.binary("addi", one, window, "reached")) for one in last]
        for i, row in enumerate(masked):
            less = self.constant(f"dense<{[ROWS * i + r for r in range(ROWS)]}>", "i32", ROWS, f"rows{i}")
            masked[i] = [self.select(self.less(r, less), low, s) for r, s in zip(reached, row, strict=True)]
        return masked

    def largest_in_lanes(self, scores: list[Value]) -> Value:
        """The largest score of each row among those of a lane. A NaN hides no number behind it."""
        found = scores[0]
        for more in scores[1:]:
            found = self.larger(more, found)
        return found

    def largest(self, found: Value) -> Value:
        """The largest score of each row, in every lane."""
        call = f"llvm.call spir_funccc @{LARGEST}(%s) {{convergent, no_unwind, will_return}} : (f32) -> f32"
        return self.gathered([self.let(call, (row,), "f32") for row in self.rows_of(found)])

    def accumulate(self, o: list[list[Value]], weights: list[list[Value]], places: list[Value]) -> None:
        """O += P V. What lanes and registers hold of P is what DPAS wants of A, so nothing moves."""
        blocks = self.plan.loads["V"].rows // LANES
        for j in range(0, len(places), blocks):
            self.accumulate_at(o, weights, j, places[j])

    def accumulate_at(self, o: list[list[Value]], weights: list[list[Value]], j: int, place: Value) -> None:
        """The same for the keys of one message of V, which begin with the step's `j`-th block of 16."""
        height = self.plan.loads["V"].rows
        for first, count in self.pairs():
            held = self.load("V", count, (place, 16 * first), (self.problem.type, count * height), "packed")
            for half in range(count):
                for deep in range(height // LANES):
                    values = self.part(held, half * height + 16 * deep, 16)
                    x = first + half
                    for i in range(self.row_blocks):
                        o[i][x] = self.dpas(weights[i][j + deep], values, o[i][x], f"o{i}x{x}")

    def added(self, weights: list[list[Value]], state: State, places: list[Value]) -> State:
        """The step's weights, in the sums and in O."""
        sums = list(state.sums)
        for j in range(len(places)):
            for i in range(self.row_blocks):
                sums[i] = self.dpas(weights[i][j], self.ones, sums[i], f"l{i}")
        o = [list(of_rows) for of_rows in state.o]
        self.accumulate(o, weights, places)
        return State(tuple(map(tuple, o)), state.less, tuple(sums))

    def weight(self, score: Value, name: str) -> Value:
        """P of eight rows, rounded for DPAS."""
        return self.rounded(self.exp2(self.binary("mulf", score, self.scale), name), self.problem.type)

    # Numbers that are equal in all lanes

    def uneven(self) -> None:
        """A number that is 0 in every lane, which the graphics compiler does not see: a size of matrices is not negative.

        Numbers that are equal in all lanes it keeps in one, and spreads them again in every step. What DPAS accumulates on, and
        the matrix of ones, must be there as whole registers.
        """
        self.nought = self.binary("shrsi", self.arguments["keys"], self.number(31), "nought")
        self.nothing = self.binary("muli", self.lane, self.nought, "nothing")
        pair = self.constant(str(ONES[self.problem.type]), "i32", name="pair_of_ones")
        pair = self.binary("xori", pair, self.nothing)
        spread, element = self.spread(pair), self.problem.type
        form = f"vector.bitcast %s : {spread.kind} to vector<16x{element}>"
        self.ones = self.let(form, (spread,), element, 16, "ones")

    def kept(self, value: Value, name: str) -> Value:
        """Numbers of eight rows that are equal in all lanes, as registers that DPAS can accumulate on."""
        bits = self.let(f"arith.bitcast %s : {value.kind} to vector<{ROWS}xi32>", (value,), "i32", ROWS)
        bits = self.binary("xori", bits, self.spread(self.nothing))
        return self.let(f"arith.bitcast %s : {bits.kind} to {value.kind}", (bits,), "f32", ROWS, name)
