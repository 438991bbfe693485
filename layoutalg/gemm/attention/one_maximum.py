"""The form of attention's loop with one maximum: rows keep the m that they began with.

`maximum="first"` leaves out of every step what the form "online" asks of it: whether a score is too far above m. The number m
of a row is its largest score among the first 16 keys, and all its steps over keys have this body:

    Z  = Q K^T - m                   dpas, on accumulators that begin at -m
   [Z  = -inf where a query may not see the key]
    P  = exp2(c * Z)                 of any size
    l  = l + P 1, O = O + P V        dpas

No weight is too small: m is the score of a key that the row sees, so l is about 1 at least. But weights may be too large. By
hand, in f16: a score 16 above m (in powers of 2) has a weight of 2^16, which f16 rounds to infinity. Then l is infinite or NaN,
and stays so. In bf16 weights reach 2^127, where l or products with V may pass what f32 holds, and O has an infinity or NaN that
stays as well. So it is enough to look once, at the end. A row is sure if

    |c * m| < 2^12, 1/4 <= l < inf, and O * 0 = 0 in all columns

If a row of a subgroup isn't, the subgroup takes its keys once more with the exact maximum (`large_scores`).

>>> from layoutalg.gemm.attention import plan_attention
>>> online, first = (plan_attention(256, 256, maximum=form, target="bmg") for form in ("online", "first"))
>>> online.emit().count("%rise"), first.emit().count("%rise")
(8, 0)
"""

from __future__ import annotations

from collections.abc import Callable

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.products import ROWS, ProductWriter, State

__all__ = ["finite", "write_added", "write_steps"]

_MANY = 112
"""Registers of O from which on a step has no others to spare."""


def write_steps(
    kernel: ProductWriter,
    name: str,
    low: Value,
    high: Value,
    state: State,
    step: Callable[[Value, State], tuple[Value, State]],
) -> State:
    """The loop over keys from `low` to `high`; `step` writes one, and says where the next begins. m is not carried."""
    states = [state.renewed() for _ in range(3)]
    before, inside, results = ([Value("i32"), *_carried(one)] for one in states)
    before[0].name, inside[0].name = f"{name}_at", f"{name}_key"
    kinds = ", ".join(value.kind for value in before)
    marks = ", ".join(["%s"] * len(before))
    pairs = [value for pair in zip(before, (low, *_carried(state)), strict=True) for value in pair]
    form = f"scf.while ({', '.join(['%s = %s'] * len(before))}) : ({kinds}) -> ({kinds}) {{"
    with kernel.writer.region(form, pairs, results, before):
        more = kernel.let("arith.cmpi slt, %s, %s : i32", (before[0], high), "i1")
        kernel.writer.do(f"scf.condition(%s) {marks} : {kinds}", (more, *before))
        arguments = ", ".join(f"%s: {value.kind}" for value in inside)
        kernel.writer.between(f"}} do {{\n^bb0({arguments}):", inside, inside)
        behind, done = step(inside[0], State(states[1].o, state.less, states[1].sums))
        kernel.writer.do(f"scf.yield {marks} : {kinds}", (behind, *_carried(done)))
    return State(states[2].o, state.less, states[2].sums)


def write_added(kernel: ProductWriter, weights: list[list[Value]], state: State, places: list[Value]) -> State:
    """A step's weights, in the sums and in O.

    Where O fills half of the registers, messages of V must not begin while S is there: a thread would spill 8 registers. Over a
    jump the graphics compiler moves none. It asks whether a size of matrices is negative, so it is always taken.
    """
    if len(state.o) * len(state.o[0]) * ROWS < _MANY:
        return kernel.added(weights, state, places)
    always = kernel.let("arith.cmpi eq, %s, %s : i32", (kernel.nought, kernel.number(0)), "i1", name="always")
    after = state.renewed()
    results = _carried(after)
    kinds, marks = ", ".join(value.kind for value in results), ", ".join(["%s"] * len(results))
    with kernel.writer.region(f"scf.if %s -> ({kinds}) {{", (always,), results):
        kernel.writer.do(f"scf.yield {marks} : {kinds}", _carried(kernel.added(weights, state, places)))
        kernel.writer.between("} else {")
        kernel.writer.do(f"scf.yield {marks} : {kinds}", _carried(state))
    return State(after.o, state.less, after.sums)


def _carried(state: State) -> list[Value]:
    return [*(block for row in state.o for block in row), *state.sums]


def finite(kernel: ProductWriter, blocks: tuple[Value, ...]) -> Value:
    """Whether O of eight rows is finite in the columns of a lane: 0 times infinity or NaN is NaN, whatever is added to it."""
    zeros = kernel.floats("0.0", "zeros")
    found = kernel.binary("mulf", blocks[0], zeros)
    for more in blocks[1:]:
        found = kernel.binary("addf", found, kernel.binary("mulf", more, zeros))
    return kernel.compared("oeq", found, zeros, "finite")
