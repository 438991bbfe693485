"""The kernel of a planned attention at lane level: MLIR text in the form that was measured.

A subgroup has 16 queries, as two blocks of 8 rows. Of every row it keeps a number m near the largest score: at first the
largest of the first 16 keys. All its steps over keys have this body; only steps with a mask have the part in brackets:

    Z  = Q K^T - m                   dpas, every block of 16 keys over the depth d, on accumulators that begin at -m
   [Z  = -inf where a query may not see the key]
    P  = exp2(c * Z)                 c is scale * log2(e)
    if a row has Z above 8 / c:      seldom, and by a uniform jump
        Z  = Q K^T - m               again
        m' = m + the largest Z of the row, f = exp2(c * (m - m')); rows with no Z above 8 / c keep their m
        l  = l * f, O = O * f; and the step begins again with m'
    else:                            P is a number from 0 to 2^8
        l  = l + P 1                 dpas on a matrix of ones: the sum of the row, in all lanes
        O  = O + P V                 dpas

Where the scores of a subgroup prove too large for that, `large_scores` writes the rest. Where m changes, the scores are
computed a second time: scores that are kept for it take registers in every step, and heads of 128 have none left.

Steps with a mask come first: the keys that steps of 64 leave over and, with a causal mask, those on the diagonal. They have 32
keys, which leaves registers for the mask. The loop over all the other keys has no mask:

    %masked = scf.while (%masked_at = %full) to %end, 32 keys further in each step
    %seen = scf.while (%seen_at = 0) to %full, 64 keys further in each step

Sizes are arguments of the kernel; head size, types, scale and mask are part of it.

>>> from layoutalg.gemm.attention import plan_attention
>>> text = emit_lane(plan_attention(256, 256, 64, target="bmg"))
>>> text.count("xegpu.dpas"), text.count("scf.while"), text.count("scf.if")
(200, 4, 3)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.arguments import pointers_of
from layoutalg.gemm.attention.large_scores import marked, write_large
from layoutalg.gemm.attention.one_maximum import write_added, write_steps
from layoutalg.gemm.attention.products import LARGEST, MINUS_INFINITY, ProductWriter, State
from layoutalg.gemm.attention.sequences import write_sequence
from layoutalg.gemm.attention.writing import CACHED, LANES, ROWS, TWO
from layoutalg.gemm.emission.addresses import signature

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["MARGIN", "TRIES", "emit_lane"]

KERNEL = "attention"
TRIES, MARGIN = 8, 2.0**-20
"""How often a step may give rows another m, and which part of m stays off the rise, but for the last time."""
_BEHIND = 2**24
"""A row behind every matrix."""


def emit_lane(plan: Attention, *, pointers: bool = True) -> str:
    """The text of the kernel."""
    arguments = [Value(kind, name=name) for name, kind in plan.parameters]
    kernel = _Kernel(plan, RegionWriter(arguments))
    kernel.write()
    taken, first = signature(plan.parameters, len(pointers_of(plan)) if pointers else 0)
    begun = "".join(f"      {line}\n" for line in first)
    lanes, *_ = plan.workgroup
    attributes = f"intel_reqd_sub_group_size = {LANES} : i32, known_block_size = array<i32: {lanes}, 1, 1>"
    effects = "{convergent, no_unwind, will_return}"
    return (
        f"builtin.module attributes {{gpu.container_module}} {{\n"
        f"  gpu.module @{KERNEL} {{\n"
        f"    llvm.func spir_funccc @{LARGEST}(f32) -> f32 attributes {effects}\n"
        f"    gpu.func @{KERNEL}({taken}) kernel attributes {{{attributes}}} {{\n"
        f"{begun}"
        f"{kernel.writer.text('      ')}\n"
        f"    }}\n  }}\n}}\n"
    )


class _Kernel(ProductWriter):
    def write(self) -> None:
        if self.problem.starts is not None:
            write_sequence(self)
        self._places()
        if self.problem.starts is None:
            self._body()
        else:  # a subgroup without a row of the sequence leaves at once
            with self.writer.region("scf.if %s {", (self.less(self.row, self.arguments["queries"]),)):
                self._body()
        self.writer.do("gpu.return")

    def _body(self) -> None:
        self.describe()
        self._ahead()
        self.uneven()
        zeros = self.floats("0.0", "zeros")
        start = State(((zeros,) * self.depths,) * self.row_blocks, *self._first_maxima())
        loop = self._loop if self.plan.maximum == "online" else self._loop_of_one_maximum
        begun = loop("masked", self.masked_from, self.end, self.plan.keys_per_masked_step, start, masked=True)
        ended = loop("seen", self.inner, self.full, self.plan.keys_per_step, begun, masked=False)
        self._store(write_large(self, ended, self.begin, self.end))

    # Where this subgroup's rows are, and which keys they see

    def _places(self) -> None:
        plan, queries, keys = self.plan, self.arguments["queries"], self.arguments["keys"]
        block = self.cast(self.let("gpu.block_id x", (), "index"), "i32", "block")
        self.subgroup = self.cast(self.let("gpu.subgroup_id : index", (), "index"), "i32", "subgroup")
        self.first = self.binary("muli", block, self.number(plan.subgroups * plan.rows), "first_of_workgroup")
        own = self.binary("muli", self.subgroup, self.number(plan.rows))
        self.row = self.binary("addi", self.first, own, "row")
        self.row_index = self.cast(self.row, "index", "row_index")
        self.lane = self.cast(self.let("gpu.lane_id", (), "index"), "i32", "lane")
        self.end, self.seen = keys, keys
        if self.problem.causal:
            self.shift = self.binary("subi", keys, queries, "shift")
            self.seen = self._seen_by(self.row, "seen_by_first")
            by_last = self.binary("addi", self.seen, self.number(plan.rows - 1), "seen_by_last")
            self.end = self.binary("minsi", by_last, keys, "end")
        self.full = self._whole_steps(self.seen, "full")
        self.lowest = self.begin = self.inner = self.number(0)
        self.masked_from = self.full
        if self.problem.window is not None:
            self._window()

    def _window(self) -> None:
        """Where the windows of the first and the last row begin, in steps. Keys with a mask are those before `inner` too."""
        zero, keys, each = self.number(0), self.plan.keys_per_step, self.plan.keys_per_masked_step
        first = self.binary("subi", self.seen, self.arguments["window"], "window_of_first")
        last = self.binary("addi", first, self.number(self.plan.rows - 1), "window_of_last")
        self.lowest = self.binary("maxsi", first, zero, "lowest")
        self.begin = self.binary("andi", self.lowest, self.number(-each), "begin")
        self.full = self.binary("maxsi", self.full, self.begin, "full_in_window")
        whole = self.binary("addi", self.binary("maxsi", last, zero), self.number(keys - 1))
        whole = self.binary("andi", whole, self.number(-keys))
        self.inner = self.binary("minsi", whole, self.full, "inner")
        self.masked_from = self.select(self.less(self.begin, self.inner), self.begin, self.full, "masked_from")

    def _seen_by(self, query: Value, name: str) -> Value:
        """How many keys a query sees by the causal mask, if there are as many."""
        return self.binary("addi", self.binary("addi", query, self.shift), self.number(1), name)

    def _whole_steps(self, seen: Value, name: str) -> Value:
        """How many of the keys that a query sees fill steps without a mask."""
        if self.problem.causal:
            there = self.binary("minsi", seen, self.arguments["keys"])
            seen = self.binary("maxsi", there, self.number(0))
        return self.binary("andi", seen, self.number(-self.plan.keys_per_step), name)

    # Prefetches

    def _ahead(self) -> None:
        """What this subgroup prefetches for all of the workgroup: its blocks of K and V, 32 keys by 32 columns each.

        Keys that have a mask in one of the workgroup's subgroups are loaded first. The matrix of prefetches ends where they
        begin, so nothing is asked for too late, and the last step asks for nothing.
        """
        self.ahead: list[tuple[Value, Value, Value]] = []
        share = self.plan.share
        if share is None:
            return
        full = self.full
        if self.problem.causal:
            full = self._whole_steps(self._seen_by(self.first, "seen_by_workgroup"), "full_ahead")
        height = self.cast(self.binary("maxsi", full, self.number(1)), "index", "height_ahead")
        d, kind = self.problem.d, f"!xegpu.tensor_desc<32x16x{self.problem.type}{TWO}>"
        for first in range(0, 2 * share.blocks, self.plan.subgroups):
            number = self.binary("addi", self.subgroup, self.number(first)) if first else self.subgroup
            behind = first + self.plan.subgroups
            if first < share.blocks < behind:
                of_k = self.less(number, self.number(share.blocks))
                pointer = self.select(of_k, self.pointers["K"], self.pointers["V"])
                pitch, other = self.pitches["K"], self.pitches["V"]
                pitch = None if pitch is None or other is None else self.select(of_k, pitch, other)
            else:
                name = "K" if behind <= share.blocks else "V"
                pointer, pitch = self.pointers[name], self.pitches[name]
            block = self.binary("remui", number, self.number(share.blocks)) if behind > share.blocks else number
            row = self.binary("muli", self.binary("divui", block, self.number(share.columns)), self.number(32))
            column = self.binary("muli", self.binary("remui", block, self.number(share.columns)), self.number(32))
            if behind > 2 * share.blocks:  # who has no block asks behind the matrix, which asks for nothing
                row = self.select(self.less(number, self.number(2 * share.blocks)), row, self.number(_BEHIND))
            described = self.matrix(pointer, height, d, pitch, kind, "matrix_ahead")
            row, column = self.cast(row, "index", "row_ahead"), self.cast(column, "index", "column_ahead")
            first_step = row
            if self.problem.window is not None:
                first_step = self.binary("addi", row, self.cast(self.inner, "index"))
            self._prefetch(described, first_step, column)
            self.ahead.append((described, self.at(row, self.plan.keys_per_step), column))

    def _prefetch(self, matrix: Value, row: Value, column: Value) -> None:
        self.writer.do(f"xegpu.prefetch_nd %s[%s, %s] <{{{CACHED}}}> : {matrix.kind}", (matrix, row, column))

    # One step

    def _loop(self, name: str, low: Value, high: Value, keys: int, state: State, *, masked: bool) -> State:
        """Steps from one key to another; one that gives a row another m is done again with it."""
        most, no = self.number(TRIES), self.number(0)
        states = [state.renewed() for _ in range(3)]
        before, inside, results = ([Value("i32"), Value("i32"), *of.values] for of in states)
        before[0].name, inside[0].name, inside[1].name = f"{name}_at", f"{name}_key", "again"
        kinds = ", ".join(value.kind for value in before)
        carried = ", ".join(["%s = %s"] * len(before))
        pairs = [value for pair in zip(before, (low, no, *state.values), strict=True) for value in pair]
        marks = ", ".join(["%s"] * len(before))
        with self.writer.region(f"scf.while ({carried}) : ({kinds}) -> ({kinds}) {{", pairs, results, before):
            more = self.let("arith.cmpi slt, %s, %s : i32", (before[0], high), "i1")
            self.writer.do(f"scf.condition(%s) {marks} : {kinds}", (more, *before))
            arguments = ", ".join(f"%s: {value.kind}" for value in inside)
            self.writer.between(f"}} do {{\n^bb0({arguments}):", inside, inside)
            key, again = inside[:2]
            after = [Value("i32"), Value("i32"), *states[1].renewed().values]
            above, weights, places = self._weighed(key, states[1], keys, masked=masked)
            change = self.binary("andi", above, self.less(again, most), "change")
            with self.writer.region(f"scf.if %s -> ({kinds}) {{", (change,), after):
                changed = self._rescaled(self._most_anew(key, states[1], keys, masked=masked), states[1], again)
                self.writer.do(
                    f"scf.yield {marks} : {kinds}", (key, self.binary("addi", again, self.number(1)), *changed.values)
                )
                self.writer.between("} else {")
                done = self.added(weights, states[1], places)
                self.writer.do(
                    f"scf.yield {marks} : {kinds}", (self._behind(key, keys, masked=masked), no, *done.values)
                )
            self.writer.do(f"scf.yield {marks} : {kinds}", after)
        return states[2]

    def _loop_of_one_maximum(
        self, name: str, low: Value, high: Value, keys: int, state: State, *, masked: bool
    ) -> State:
        """The same with the m that rows began with: nothing is asked in a step, and none is done again."""

        def step(key: Value, before: State) -> tuple[Value, State]:
            scores, places = self._scores_of_step(key, before, keys, masked=masked)
            done = write_added(self, self._weights(scores), before, places)
            return self._behind(key, keys, masked=masked), done

        return write_steps(self, name, low, high, state, step)

    def _behind(self, key: Value, keys: int, *, masked: bool) -> Value:
        """Where the next step begins."""
        behind = self.binary("addi", key, self.number(keys))
        if masked and self.problem.window is not None:  # from the window's beginning to the diagonal
            ended = self.let("arith.cmpi eq, %s, %s : i32", (behind, self.inner), "i1")
            behind = self.select(ended, self.full, behind, "behind")
        return behind

    def _weighed(
        self, key: Value, state: State, keys: int, *, masked: bool
    ) -> tuple[Value, list[list[Value]], list[Value]]:
        """Whether a score of this step is too far above m; P; the places of the keys.

        P is made before the step knows: from behind a jump the graphics compiler reads copies of the scores.
        """
        scores, places = self._scores_of_step(key, state, keys, masked=masked)
        most = [self.largest_in_lanes(of_rows) for of_rows in scores]
        limit = self.constant(f"{self.plan.limit:.9e}", "f32", name="limit")
        largest = self.of_all(most, smallest=False)
        above = self.let("arith.cmpf ugt, %s, %s : f32", (largest, limit), "i1", name="above")
        return above, self._weights(scores), places

    def _scores_of_step(
        self, key: Value, state: State, keys: int, *, masked: bool
    ) -> tuple[list[list[Value]], list[Value]]:
        """Q K^T - m of a step, whose first part is what it prefetches, and the places of its keys."""
        row = self.cast(key, "index")
        places = [self.at(row, start) for start in range(0, keys, LANES)]
        if not masked:
            for matrix, start, column in self.ahead:
                self._prefetch(matrix, self.binary("addi", row, start), column)
        return self.scores(self.row_index, places, state.less, key if masked else None), places

    def _weights(self, scores: list[list[Value]]) -> list[list[Value]]:
        return [[self.weight(score, f"p{i}x{j}") for j, score in enumerate(of)] for i, of in enumerate(scores)]

    def _most_anew(self, key: Value, state: State, keys: int, *, masked: bool) -> list[Value]:
        """Each lane's largest scores less m, computed a second time.

        The places hide a 0 from the graphics compiler: it would take them for the same messages and keep what they loaded.
        """
        row = self.cast(self.binary("addi", key, self.nought), "index")
        queries = self.cast(self.binary("addi", self.row, self.nought), "index")
        places = [self.at(row, start) for start in range(0, keys, LANES)]
        scores = self.scores(queries, places, state.less, key if masked else None)
        return [self.largest_in_lanes(of_rows) for of_rows in scores]

    # The number m of each row

    def _first_maxima(self) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """-m to begin with, and l: of the largest score among the first 16 keys, which every query sees that sees any.

        While a row has none above -inf, 16 keys more are asked. A row that sees no key has m = 0, and an l of 1 for its O of 0.
        """
        kind, count = f"vector<{ROWS}xf32>", self.row_blocks
        low, zeros = self.floats(MINUS_INFINITY, "hidden"), self.floats("0.0", "zeros")
        key, after = Value("i32", name="first_key"), Value("i32", name="next_key")
        known, found, results = ([Value("f32", ROWS, f"{n}{i}") for i in range(count)] for n in ("known", "", "first"))
        for value in found:
            value.name = None
        types = ", ".join(["i32", *[kind] * count])
        marks = ", ".join(["%s"] * (count + 1))
        inits = [value for pair in zip((key, *known), (self.lowest, *[low] * count), strict=True) for value in pair]
        carried = ", ".join(["%s = %s"] * (count + 1))
        form = f"scf.while ({carried}) : ({types}) -> ({types}) {{"
        with self.writer.region(form, inits, [Value("i32"), *results], (key, *known)):
            of_rows = self.scores(self.row_index, [self.cast(key, "index")], None, key)
            new = [self.largest(self.largest_in_lanes(scores)) for scores in of_rows]
            largest = [self.larger(before, one) for before, one in zip(known, new, strict=True)]
            behind = self.binary("addi", key, self.number(LANES))
            more = self.let("arith.cmpi slt, %s, %s : i32", (behind, self.end), "i1")
            least = self.of_all(largest, smallest=True)
            none = self.let("arith.cmpf oeq, %s, %s : f32", (least, self.constant(MINUS_INFINITY, "f32")), "i1")
            again = self.binary("andi", more, none)
            self.writer.do(f"scf.condition(%s) {marks} : {types}", (again, behind, *largest))
            blocks = ", ".join(f"%s: {value.kind}" for value in (after, *found))
            self.writer.between(f"}} do {{\n^bb0({blocks}):", (after, *found), (after, *found))
            self.writer.do(f"scf.yield {marks} : {types}", (after, *found))
        begun: list[Value] = []
        sums: list[Value] = []
        for i, largest in enumerate(results):
            seen = self.let(f"arith.cmpf ogt, %s, %s : {kind}", (largest, low), "i1", ROWS)
            if self.problem.window is not None:  # a row behind the last query may see no key that a step takes
                own = self.spread(self.binary("subi", self.arguments["queries"], self.row))
                rows = self.constant(f"dense<{[ROWS * i + r for r in range(ROWS)]}>", "i32", ROWS, f"rows{i}")
                seen = self.binary("andi", seen, self.less(rows, own))
            less = self.let(f"arith.negf %s : {kind}", (largest,), "f32", ROWS)
            begun.append(self.kept(self.select(seen, less, zeros), f"m{i}"))
            total = self.select(seen, marked(self, less, zeros), self.floats("1.0", "ones"))
            sums.append(self.kept(total, f"l{i}"))
        return tuple(begun), tuple(sums)

    def _rescaled(self, most: list[Value], state: State, again: Value) -> State:
        """A higher m for rows with a score above the limit. Then the step is done again.

        The score less m has the error of the larger of both, so m rises by a little less than it says: to be above all scores
        would let every weight vanish. The last time it rises by all of it.
        """
        limit = self.floats(f"{self.plan.limit:.9e}", "limits")
        last = self.less(self.number(TRIES - 2), again)
        margin = self.spread(self.select(last, self.constant("0.0", "f32"), self.constant(f"{MARGIN:.9e}", "f32")))
        less: list[Value] = []
        sums: list[Value] = []
        o: list[tuple[Value, ...]] = []
        for i, of_lanes in enumerate(most):
            found = self.largest(of_lanes)
            above = self.let(f"arith.cmpf ogt, %s, %s : {found.kind}", (found, limit), "i1", ROWS)
            size = self.let(f"math.absf %s : {found.kind}", (state.less[i],), "f32", ROWS)
            rise = self.kept(self.binary("subf", found, self.binary("mulf", size, margin)), "rise")
            new = self.binary("subf", state.less[i], rise)
            less.append(self.select(above, new, state.less[i], f"m{i}"))
            change = self.binary("mulf", self.binary("subf", less[i], state.less[i]), self.scale)
            factor = self.exp2(change, f"f{i}")
            scaled = self.binary("mulf", state.sums[i], factor, f"l{i}")
            sums.append(marked(self, less[i], scaled))
            o.append(tuple(self.binary("mulf", held, factor, f"o{i}x{x}") for x, held in enumerate(state.o[i])))
        return State(tuple(o), tuple(less), tuple(sums))

    # The end

    def _store(self, state: State) -> None:
        matrix = self.described["O", 1]
        row, out = self.row_index, self.problem.out
        one, zero = self.floats("1.0", "ones"), self.floats("0.0", "zeros")
        for i in range(self.row_blocks):
            total = state.sums[i]
            seen = self.compared("une", total, zero)
            inverse = self.select(seen, self.binary("divf", one, total), zero, "inverse")
            at = self.at(row, ROWS * i)
            for x in range(self.depths):
                value = self.rounded(self.binary("mulf", state.o[i][x], inverse), out)
                self.writer.do(
                    f"xegpu.store_nd %s, %s[%s, {16 * x}] : {value.kind}, {matrix.kind}", (value, matrix, at)
                )
