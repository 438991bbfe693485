"""The end of attention's kernel for subgroups whose scores are too large for accumulators that begin at -m.

DPAS that begins at -m rounds every partial sum of Q K^T - m. That error is harmless while m is small: 2^-24 of m. Where scaled
scores are large it may be more than the 8 that a score may be above m: a weight overflows, or all weights of a row vanish.
Partial sums that are much larger than the score itself do the same.

So every row is looked at once, at the end. It is sure if

    |c * m| < 2^12      (c is scale * log2(e)): rounding m changes weights by less than rounding them to f16
    1/4 <= l < inf      m was near the largest score: that key alone has a weight of about 1

In the form with one maximum O has to be finite too (see `one_maximum`).

If one row of a subgroup isn't sure, the subgroup takes its keys once more. Each step computes scores from 0 on, takes the exact
maximum of each row, and subtracts it from the rounded score. That difference is exact where it matters (numbers within a factor
of 2), the largest weight is exactly 1, and l is 1 at least: neither overflows at any size of scores that f32 holds.

    S  = Q K^T                       -inf where a query may not see the key
    m' = max(m, the largest S of the row), f = exp2(c * (m - m'))
    P  = exp2(c * (S - m')), l = l * f + P 1, O = O * f + P V

m begins at the least finite number, so a row of -inf alone has weights of 0.

>>> from layoutalg.gemm.attention import plan_attention
>>> plan_attention(64, 64, target="bmg").emit().count("%large_at = ")
1
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.one_maximum import finite
from layoutalg.gemm.attention.products import LANES, ProductWriter, State

__all__ = ["LEAST", "LEAST_SUM", "marked", "write_large"]

LEAST_SUM = 0.25
"""The sum of the weights of a row that is sure, at least."""
INFINITY = "0x7F800000"
LEAST = "0xFF7FFFFF"
"""The least finite f32."""


def write_large(kernel: ProductWriter, state: State, low: Value, high: Value) -> State:
    """O and the sums of all rows: those of `state`, or new ones from the keys `low` to `high` where a row isn't sure."""
    after = state.renewed()
    results = [*(block for row in after.o for block in row), *after.sums]
    kinds = ", ".join(value.kind for value in results)
    with kernel.writer.region(f"scf.if %s -> ({kinds}) {{", (_unsure(kernel, state),), results):
        made = _anew(kernel, state, low, high)
        for number, one in enumerate((made, state)):
            if number:
                kernel.writer.between("} else {")
            values = [*(block for row in one.o for block in row), *one.sums]
            kernel.writer.do(f"scf.yield {', '.join(['%s'] * len(values))} : {kinds}", values)
    return after


def marked(kernel: ProductWriter, less: Value, total: Value) -> Value:
    """The sum of a row, or infinity where its m is too large to be sure."""
    size = kernel.let(f"math.absf %s : {less.kind}", (less,), "f32", less.size)
    small = kernel.compared("olt", size, kernel.floats(f"{kernel.plan.largest_m:.9e}", "largest_m"))
    return kernel.select(small, total, kernel.floats(INFINITY, "infinite"))


def _unsure(kernel: ProductWriter, state: State) -> Value:
    """Whether a row of the subgroup isn't sure."""
    least, infinite = kernel.floats(str(LEAST_SUM), "least_sum"), kernel.floats(INFINITY, "infinite")
    zeros, ones = kernel.floats("0.0", "zeros"), kernel.floats("1.0", "ones")
    marks: list[Value] = []
    for total, of_rows in zip(state.sums, state.o, strict=True):
        sure = kernel.binary("andi", kernel.compared("oge", total, least), kernel.compared("olt", total, infinite))
        if kernel.plan.maximum == "first":
            sure = kernel.binary("andi", sure, finite(kernel, of_rows))
        marks.append(kernel.select(sure, zeros, ones))
    largest = kernel.of_all(marks, smallest=False)
    return kernel.compared("ogt", largest, kernel.constant("0.0", "f32"), "unsure")


def _anew(kernel: ProductWriter, state: State, low: Value, high: Value) -> State:
    """The loop over all keys with the exact maximum; a step of it has a mask."""
    keys, zeros = kernel.plan.keys_per_masked_step, kernel.floats("0.0", "zeros")
    first = kernel.floats(LEAST, "least")
    begin = [
        low,
        *[zeros] * kernel.row_blocks * kernel.depths,
        *[first] * kernel.row_blocks,
        *[zeros] * kernel.row_blocks,
    ]
    states = [state.renewed() for _ in range(3)]
    before, inside, results = ([Value("i32"), *one.values] for one in states)
    before[0].name, inside[0].name = "large_at", "large_key"
    kinds = ", ".join(value.kind for value in before)
    marks = ", ".join(["%s"] * len(before))
    form = f"scf.while ({', '.join(['%s = %s'] * len(before))}) : ({kinds}) -> ({kinds}) {{"
    pairs = [value for pair in zip(before, begin, strict=True) for value in pair]
    with kernel.writer.region(form, pairs, results, before):
        more = kernel.let("arith.cmpi slt, %s, %s : i32", (before[0], high), "i1")
        kernel.writer.do(f"scf.condition(%s) {marks} : {kinds}", (more, *before))
        arguments = ", ".join(f"%s: {value.kind}" for value in inside)
        kernel.writer.between(f"}} do {{\n^bb0({arguments}):", inside, inside)
        done = _step(kernel, states[1], inside[0], keys)
        behind = kernel.binary("addi", inside[0], kernel.number(keys))
        kernel.writer.do(f"scf.yield {marks} : {kinds}", (behind, *done.values))
    return states[2]


def _step(kernel: ProductWriter, state: State, key: Value, keys: int) -> State:
    """One step; `less` of the states is m itself."""
    row = kernel.cast(key, "index")
    places = [kernel.at(row, start) for start in range(0, keys, LANES)]
    scores = kernel.scores(kernel.row_index, places, None, key)
    tops: list[Value] = []
    sums: list[Value] = []
    o: list[list[Value]] = []
    weights: list[list[Value]] = []
    for i, of_rows in enumerate(scores):
        largest = kernel.largest(kernel.largest_in_lanes(of_rows))
        top = kernel.larger(largest, state.less[i], f"top{i}")
        change = kernel.binary("mulf", kernel.binary("subf", state.less[i], top), kernel.scale)
        factor = kernel.exp2(change, f"f{i}")
        weights.append(
            [kernel.weight(kernel.binary("subf", score, top), f"p{i}x{j}") for j, score in enumerate(of_rows)]
        )
        tops.append(top)
        sums.append(kernel.binary("mulf", state.sums[i], factor, f"l{i}"))
        o.append([kernel.binary("mulf", held, factor, f"o{i}x{x}") for x, held in enumerate(state.o[i])])
    return kernel.added(weights, State(tuple(map(tuple, o)), tuple(tops), tuple(sums)), places)
