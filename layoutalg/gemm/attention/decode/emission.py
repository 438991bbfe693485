"""The kernel of a planned decode at lane level: one subgroup has 8 or 16 rows of a group, and one part of a sequence's keys.

A step takes 32 keys. All have this body; only steps with a mask have the part in brackets:

    S  = Q K^T                       dpas, every block of 16 keys over the depth d
   [S  = -inf where a query may not see the key]
    m' = the larger of m and the row's largest score; n = m', or 0 where m' is -inf
    f  = exp2(c * (m - n))           c is scale * log2(e); 0 for a row that had no key before
    P  = exp2(c * (S - n))           rounded for DPAS
    l  = l * f + P 1                 dpas on a matrix of ones: the sum of the row, in all lanes
    O  = O * f + P V                 dpas

Every weight is at most 1, whatever the scores are. A sequence of `length` keys has ceil(length / 32) steps, and each part has
the same number of them, but for the last ones. Steps that all rows see come first, and the last ones of a sequence have a mask.

The part's O, m and l go to the workspace as one matrix, [rows, d + 32]: behind O are 16 columns of m and 16 of l. The rows of
padding are behind the surface of their part, so no message reads or writes them. With one part the kernel stores O / l itself.

>>> from layoutalg.gemm.attention.decode import plan_decode
>>> text = emit_decode(plan_decode(4096, 64, heads=8, kv_heads=2, parts=4, target="bmg"))
>>> text.count("gpu.func"), text.count("scf.for"), text.count("xegpu.dpas")
(2, 4, 36)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.decode.combining import combining
from layoutalg.gemm.attention.decode.places import KERNEL, Cache, function_text
from layoutalg.gemm.attention.products import LARGEST, MINUS_INFINITY, ProductWriter, State
from layoutalg.gemm.attention.writing import LANES, ROWS, TWO

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["emit_decode"]


def emit_decode(plan: Decode, *, pointers: bool = True) -> str:
    """The text of the kernels: one, or two where the keys are in parts."""
    arguments = [Value(kind, name=name) for name, kind in plan.parameters]
    kernel = _Kernel(plan, RegionWriter(arguments))
    kernel.write()
    functions = [function_text(plan, KERNEL, plan.subgroups, kernel.writer, pointers=pointers)]
    if plan.parts > 1:
        functions.append(combining(plan, pointers=pointers))
    called = f"    llvm.func spir_funccc @{LARGEST}(f32) -> f32 attributes {{convergent, no_unwind, will_return}}\n"
    body = "".join(functions)
    return f"builtin.module attributes {{gpu.container_module}} {{\n  gpu.module @{KERNEL} {{\n{called}{body}  }}\n}}\n"


class _Kernel(ProductWriter):
    def __init__(self, plan: Decode, writer: RegionWriter) -> None:
        super().__init__(cast("Attention", plan), writer)  # what it asks of a plan, both have
        self.decode = plan
        self.asked = plan.problem

    def write(self) -> None:
        self._places()
        self._describe()
        self.uneven()
        self._behind()
        zeros, low = self.floats("0.0", "zeros"), self.floats(MINUS_INFINITY, "lowest")
        blocks = self.row_blocks
        start = State(((zeros,) * self.depths,) * blocks, (low,) * blocks, (zeros,) * blocks)
        begun = self._loop("seen", self.begin, self.stop, start, masked=False)
        masked = self.binary("maxsi", self.begin, self.stop, "masked_from")
        ended = self._loop("masked", masked, self.end, begun, masked=True)
        if self.decode.parts > 1:
            self._keep(ended)
        else:
            self._store(ended)
        self.writer.do("gpu.return")

    # Which rows and keys this subgroup has

    def _places(self) -> None:
        plan, problem = self.decode, self.asked
        self.z = self.cast(self.let("gpu.block_id z", (), "index"), "i32", "group")
        self.lane = self.cast(self.let("gpu.lane_id", (), "index"), "i32", "lane")
        self.first = self.binary("muli", self.z, self.number(problem.rows), "first_row")
        self.own = self.number(0)
        if plan.subgroups > 1:
            subgroup = self.cast(self.let("gpu.subgroup_id : index", (), "index"), "i32", "subgroup")
            self.own = self.binary("muli", subgroup, self.number(plan.rows), "own_row")
        heads = self.number(problem.kv_heads)
        self.sequence = self.binary("divui", self.z, heads, "sequence")
        self.kv_head = self.binary("remui", self.z, heads, "head")
        length = self.loaded_number("lengths", self.sequence, "given_length")
        length = self.binary("minsi", length, self.arguments["keys"])
        self.length = self.binary("maxsi", length, self.number(0), "length")
        keys = plan.keys_per_step
        self.begin, self.end = self.number(0), self.length
        if plan.parts > 1:
            self.share = self.cast(self.let("gpu.block_id x", (), "index"), "i32", "part")
            steps = self._divided(self.length, keys)
            each = self.binary("muli", self._divided(steps, plan.parts), self.number(keys), "keys_of_part")
            self.begin = self.binary("muli", self.share, each, "begin")
            self.end = self.binary("minsi", self.binary("addi", self.begin, each), self.length, "end")
        # the keys that the first query sees, and so all rows, in whole steps
        first = self.length
        if problem.queries > 1:
            first = self.binary("subi", self.length, self.number(problem.queries - 1))
            first = self.binary("maxsi", first, self.number(0))
        seen = self.binary("andi", first, self.number(-keys), "seen_by_all")
        self.stop = self.binary("minsi", self.end, seen, "stop")

    def _divided(self, value: Value, number: int) -> Value:
        """A whole number over another, rounded up."""
        return self.binary("divui", self.binary("addi", value, self.number(number - 1)), self.number(number))

    def _describe(self) -> None:
        """Descriptors of Q and O end behind this group, those of K and V behind the sequence: what is behind them is 0."""
        problem, d = self.asked, self.asked.d
        ended = self.binary("addi", self.first, self.number(problem.rows))
        height = self.cast(ended, "index", "rows_end")
        self.row_index = self.cast(self.binary("addi", self.first, self.own), "index", "row_index")
        self.described: dict[tuple[str, int], Value] = {}
        for count in {2 if self.depths > 1 else 1, 2 - self.depths % 2}:
            blocks = TWO if count == 2 else ""
            kind = f"!xegpu.tensor_desc<{self.plan.rows}x16x{problem.type}{blocks}>"
            form = f"xegpu.create_nd_tdesc %s, shape : [%s, {d}], strides : [{d}, 1] : i64 -> {kind}"
            self.described["Q", count] = self.let(form, (self.arguments["q"], height), kind, name="matrix_q")
        self.cache = Cache(self, self.decode)
        self.cache.describe(self.sequence, self.kv_head, self.length)

    def _behind(self) -> None:
        """The query of each row, less the number of queries and 1, where a sequence has several."""
        self.hidden: list[Value] = []
        problem = self.asked
        if problem.queries == 1:
            return
        for i in range(self.row_blocks):
            rows = [ROWS * i + row for row in range(ROWS)]
            if self.decode.subgroups == 1:
                less = [row % problem.queries - problem.queries + 1 for row in rows]
                self.hidden.append(self.constant(f"dense<{less}>", "i32", ROWS, f"behind{i}"))
                continue
            own = self.binary("addi", self.spread(self.own), self.constant(f"dense<{rows}>", "i32", ROWS, f"rows{i}"))
            count = self.constant(f"dense<{problem.queries}>", "i32", ROWS, "queries")
            last = self.constant(f"dense<{problem.queries - 1}>", "i32", ROWS, "last_query")
            self.hidden.append(self.binary("subi", self.binary("remui", own, count), last, f"behind{i}"))

    # One step

    def _loop(self, name: str, low: Value, high: Value, state: State, *, masked: bool) -> State:
        """Steps from one key to another."""
        inside, results = state.renewed(), state.renewed()
        key, step = Value("i32", name=f"{name}_key"), self.number(self.decode.keys_per_step)
        carried = ", ".join(["%s = %s"] * len(inside.values))
        kinds = ", ".join(value.kind for value in inside.values)
        pairs = [value for pair in zip(inside.values, state.values, strict=True) for value in pair]
        form = f"scf.for %s = %s to %s step %s iter_args({carried}) -> ({kinds}) : i32 {{"
        with self.writer.region(form, (key, low, high, step, *pairs), results.values, (key, *inside.values)):
            done = self._step(key, inside, masked=masked)
            self.writer.do(f"scf.yield {', '.join(['%s'] * len(done.values))} : {kinds}", done.values)
        return results

    def _step(self, key: Value, state: State, *, masked: bool) -> State:
        """One step; `less` of the states is m itself."""
        places = self.cache.places(key, masked=masked)
        scores = self.scores(self.row_index, places, None, None)
        if masked:
            scores = self._masked(scores, key)
        zeros, low = self.floats("0.0", "zeros"), self.floats(MINUS_INFINITY, "lowest")
        most: list[Value] = []
        sums: list[Value] = []
        o: list[list[Value]] = []
        weights: list[list[Value]] = []
        for i, of_rows in enumerate(scores):
            larger = self.larger(self.largest(self.largest_in_lanes(of_rows)), state.less[i], f"m{i}")
            some = self.let(f"arith.cmpf ogt, %s, %s : {larger.kind}", (larger, low), "i1", ROWS)
            near = self.select(some, larger, zeros, f"n{i}")
            factor = self._power(state.less[i], near, f"f{i}")
            most.append(larger)
            sums.append(self.binary("mulf", state.sums[i], factor, f"l{i}"))
            o.append([self.binary("mulf", held, factor, f"o{i}x{x}") for x, held in enumerate(state.o[i])])
            powers = [self._power(score, near, f"p{i}x{j}") for j, score in enumerate(of_rows)]
            weights.append([self.rounded(power, self.asked.type) for power in powers])
        for j in range(len(places)):
            for i in range(self.row_blocks):
                sums[i] = self.dpas(weights[i][j], self.ones, sums[i], f"l{i}")
        self._accumulate(o, weights, key, places, masked=masked)
        return State(tuple(map(tuple, o)), tuple(most), tuple(sums))

    def _power(self, value: Value, less: Value, name: str) -> Value:
        """exp2(c * (value - less))."""
        return self.exp2(self.binary("mulf", self.binary("subf", value, less), self.scale), name)

    def _masked(self, scores: list[list[Value]], key: Value) -> list[list[Value]]:
        """-inf for keys behind the sequence, and for those that are newer than the row's query."""
        low = self.floats(MINUS_INFINITY, "lowest")
        own = self.binary("addi", key, self.lane, "own_key")
        columns = [self.binary("addi", own, self.number(LANES * j)) if j else own for j in range(len(scores[0]))]
        if not self.hidden:
            there = [self.less(column, self.length) for column in columns]
            return [[self.select(here, s, low) for here, s in zip(there, row, strict=True)] for row in scores]
        past = [self.spread(self.binary("subi", column, self.length)) for column in columns]
        return [
            [self.select(self.less(p, behind), s, low) for p, s in zip(past, row, strict=True)]
            for behind, row in zip(self.hidden, scores, strict=True)
        ]

    def _accumulate(
        self, o: list[list[Value]], weights: list[list[Value]], key: Value, places: Sequence[Value], *, masked: bool
    ) -> None:
        """O += P V."""
        blocks = self.decode.loads["V"].rows // LANES
        for j in range(0, len(places), blocks):
            with self.cache.values(key, j, places[j], masked=masked) as place:
                self.accumulate_at(o, weights, j, place)

    # The end

    def _keep(self, state: State) -> None:
        """The part's O, m and l in its matrix of the workspace."""
        problem, plan = self.asked, self.decode
        width = plan.workspace_columns
        kind = f"!xegpu.tensor_desc<{ROWS}x16xf32>"
        rows = self.number(problem.rows)
        whole = self.number(plan.parts * problem.rows * width * 4, "i64")
        moved = self.binary("muli", self.let("arith.extui %s : i32 to i64", (self.z,), "i64"), whole)
        base = self.binary("addi", self.arguments["workspace"], moved, "parts_of_group")
        first = self.binary("muli", self.share, rows, "first_of_part")
        height = self.cast(self.binary("addi", first, rows), "index", "part_end")
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, {width}], strides : [{width}, 1] : i64 -> {kind}"
        matrix = self.let(form, (base, height), kind, name="matrix_w")
        row = self.cast(self.binary("addi", first, self.own), "index", "row_of_part")
        for i in range(self.row_blocks):
            at = self.at(row, ROWS * i)
            for x, value in enumerate((*state.o[i], state.less[i], state.sums[i])):
                self.writer.do(f"xegpu.store_nd %s, %s[%s, {16 * x}] : {value.kind}, {kind}", (value, matrix, at))

    def _store(self, state: State) -> None:
        """O / l; 0 for a row without a key."""
        d, out = self.asked.d, self.asked.out
        height = self.cast(self.binary("addi", self.first, self.number(self.asked.rows)), "index", "o_end")
        kind = f"!xegpu.tensor_desc<{ROWS}x16x{out}>"
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, {d}], strides : [{d}, 1] : i64 -> {kind}"
        matrix = self.let(form, (self.arguments["o"], height), kind, name="matrix_o")
        one, zero = self.floats("1.0", "whole"), self.floats("0.0", "zeros")
        for i in range(self.row_blocks):
            total = state.sums[i]
            some = self.let(f"arith.cmpf une, %s, %s : {total.kind}", (total, zero), "i1", ROWS)
            inverse = self.select(some, self.binary("divf", one, total), zero, "inverse")
            at = self.at(self.row_index, ROWS * i)
            for x in range(self.depths):
                value = self.rounded(self.binary("mulf", state.o[i][x], inverse), out)
                self.writer.do(f"xegpu.store_nd %s, %s[%s, {16 * x}] : {value.kind}, {kind}", (value, matrix, at))
