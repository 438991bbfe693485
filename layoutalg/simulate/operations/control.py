"""Structured control flow and calls: loops and branches run compiled bodies, under masks where work-items part ways.

A loop whose bounds differ between work-items runs as often as the longest of them; who is done keeps what it has. Both sides
of a divergent branch run, and their results are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, Region

from layoutalg.ir.assembly import property_of, static_numbers
from layoutalg.ir.dialects import func, scf
from layoutalg.ir.dialects.xegpu.ranges import range_of
from layoutalg.simulate.branching import compile_function, compile_region
from layoutalg.simulate.compiling import CompiledBlock, Compiling, Step, compiled_by, execute
from layoutalg.simulate.iterations import iterations_of
from layoutalg.simulate.machine import Array, Run, fail, uniform
from layoutalg.simulate.masks import EVERYBODY, NOBODY, Some, merged, split, under
from layoutalg.simulate.shared_operands import settled
from layoutalg.simulate.values.elements import Element, element

__all__: list[str] = []

_INDEX = element("index")
_BOUNDS = ("the lower bound", "the upper bound", "the step")


@compiled_by(scf.ForOp)
def for_loop(op: scf.ForOp, compiling: Compiling) -> Step:
    """`scf.for`: work-items may have bounds of their own."""
    body = compiling.body(op.body.block)
    kind, loads = element(str(op.lb.type)), _loads(op)
    unsigned = property_of(op, "unsignedCmp") is not None
    mask = (1 << kind.bits) - 1 if unsigned else -1

    def step(run: Run, values: list[Any]) -> list[Any]:
        if any(_differs(run, value) for value in values[:3]):
            if unsigned:
                fail(op, "bounds that differ between work-items and are compared without sign are not simulated")
            return _divergent_loop(run, op, body, values, loads)
        start, stop, by = (
            uniform(op, value, what, run.active) & mask for value, what in zip(values[:3], _BOUNDS, strict=True)
        )
        if by <= 0:
            fail(op, f"the step is {by}; a loop needs a positive one", "run.undefined")
        held = values[3:]
        trips = range(start, stop, by)
        run.afford(op, body, len(trips))
        with _steps(run, loads) as begin:
            for number in trips:
                begin()
                held = execute(run, body, [_counter(number, kind), *held])
        return [settled(value) for value in held]

    return step


def _loads(op: Operation) -> bool:
    """Whether a loop loads from memory: then its iterations are steps, for whoever counts."""
    return any(inner.name.startswith(_LOADS) for inner in op.walk())


_LOADS = ("xegpu.load", "xevm.blockload", "memref.load", "vector.load", "vector.transfer_read",
          "llvm.load", "llvm.call", "vector.gather")  # fmt: skip


@contextmanager
def _steps(run: Run, counted: bool) -> Generator[Callable[[], None]]:
    """A function that begins the next step of a loop; behind the loop the step is the one around it."""
    counter = run.counter
    if counter is None or not counted:
        yield lambda: None
        return
    outer = counter.step
    try:
        yield counter.begin_step
    finally:
        counter.step = outer


def _counter(number: int, kind: Element) -> Array:
    """A loop's number, as a value of its type; one without sign keeps its bits."""
    return np.full((1, 1, 1), number if number < 1 << (kind.bits - 1) else number - (1 << kind.bits), kind.dtype)


def _differs(run: Run, value: Array) -> bool:
    if value.size == 1:
        return False
    if run.active is not None:
        shape = np.broadcast_shapes(value.shape, run.active.shape)
        value = np.broadcast_to(value, shape)[np.broadcast_to(run.active, shape)]
    return bool((value != value.reshape(-1)[:1]).any())


def _trips(run: Run, op: Operation, start: Array, stop: Array, by: Array) -> Array:
    """How often each work-item runs a loop."""
    if run.where(by <= 0).any():
        fail(op, "the step is not positive for some work-items; a loop needs a positive one", "run.undefined")
    return np.where(run.where(np.asarray((by > 0) & (stop > start))), -((start - stop) // np.maximum(by, 1)), 0)


def _divergent_parallel(
    run: Run,
    op: scf.ParallelOp,
    body: CompiledBlock,
    once: Callable[[list[Array], list[Any]], list[Any]],
    values: list[Any],
) -> list[Any]:
    rank = len(op.lowerBound)
    bounds = [values[part : 3 * rank : rank] for part in range(rank)]
    held = values[3 * rank :]
    trips = [_trips(run, op, *one) for one in bounds]
    most = [range(int(count.max())) for count in trips]
    run.afford(op, body, prod(map(len, most)))
    for place in product(*most):
        inside: Any = True
        for trip, count in zip(place, trips, strict=True):
            inside = inside & (count > trip)
        here, _ = split(run, inside)
        if here is not NOBODY:
            numbers = [
                np.asarray(start + by * trip).astype(start.dtype, copy=False)
                for (start, _, by), trip in zip(bounds, place, strict=True)
            ]
            held = merged(here, under(run, here, lambda n=numbers, h=held: once(n, h)), held)
    return held


def _divergent_loop(run: Run, op: scf.ForOp, body: CompiledBlock, values: list[Any], loads: bool) -> list[Any]:
    start, stop, by = values[:3]
    trips = _trips(run, op, start, stop, by)
    held = values[3:]
    most = int(trips.max())
    run.afford(op, body, most)
    with _steps(run, loads) as begin:
        for trip in range(most):
            begin()
            here, _ = split(run, trips > trip)
            number = np.asarray(start + by * trip).astype(start.dtype, copy=False)
            found = under(run, here, lambda n=number, h=held: execute(run, body, [n, *h]))
            held = merged(here, map(settled, found), held)
    return held


@compiled_by(scf.IfOp)
def branch(op: scf.IfOp, compiling: Compiling) -> Step:
    """`scf.if`: work-items may take different sides."""
    yes_body, no_body = (
        compiling.body(region.block) if region.blocks else None for region in (op.true_region, op.false_region)
    )

    ids = range_of(op) if compiling.level == "workgroup" else None

    def step(run: Run, values: list[Any]) -> list[Any]:
        yes, no = split(run, values[0] if ids is None else _of_range(op, values[0], ids))
        found: list[Any] | None = None
        for mask, body in ((no, no_body), (yes, yes_body)):
            if mask is not NOBODY and body is not None:
                results = under(run, mask, lambda chosen=body: execute(run, chosen, []))
                found = results if found is None else merged(mask, results, found)
        return found or []

    return step


def _of_range(op: scf.IfOp, condition: Array, ids: range) -> Array:
    """What the subgroups of a range decide, as one value of the workgroup."""
    if condition.shape[1] == 1:
        return condition
    if ids.stop > condition.shape[1]:
        fail(op, f"for the subgroups {ids.start} to {ids.stop - 1}; the workgroup has {condition.shape[1]}")
    found = condition[:, ids.start : ids.stop]
    if bool(np.any(found != found[:, :1])):
        fail(
            op,
            f"the subgroups {ids.start} to {ids.stop - 1} take different ways, and layouts in it count them together",
        )
    return found[:, :1]


@compiled_by(scf.IndexSwitchOp)
def index_switch(op: scf.IndexSwitchOp, compiling: Compiling) -> Step:
    """`scf.index_switch`: one region per case, and one for all other numbers."""
    numbers = static_numbers(op.cases)
    bodies = [compiling.body(region.block) for region in op.case_regions]
    default = compiling.body(op.default_region.block)

    def step(run: Run, values: list[Any]) -> list[Any]:
        chosen: Array = values[0]
        rest = np.ones_like(chosen, dtype=np.bool_)
        found: list[Any] | None = None
        for number, body in zip((*numbers, None), (*bodies, default), strict=True):
            here = rest if number is None else chosen == number
            rest = rest & ~here
            mask, _ = split(run, here)
            if mask is not NOBODY:
                results = under(run, mask, lambda taken=body: execute(run, taken, []))
                found = results if found is None else merged(mask, results, found)
        return found or []

    return step


_ITERATION = 20_000
"""What an iteration costs by itself, about 10 microseconds: one that does nothing may not go on for ever."""


@compiled_by(scf.WhileOp)
def while_loop(op: scf.WhileOp, compiling: Compiling) -> Step:
    """`scf.while`: who is done leaves with what `scf.condition` passed on."""
    before, after = compiling.body(op.before_region.block), compiling.body(op.after_region.block)
    loads = _loads(op)

    def step(run: Run, values: list[Any]) -> list[Any]:
        with _steps(run, loads) as begin:
            return repeat(run, values, begin)

    def repeat(run: Run, values: list[Any], begin: Callable[[], None]) -> list[Any]:
        outer = run.active
        results: list[Any] = [None] * len(op.results)
        try:
            while True:
                begin()
                run.spend(op, 1, _ITERATION)
                condition, *passed = execute(run, before, values)
                on, off = split(run, condition)
                if off is not NOBODY:
                    # Everybody who is still here: those that left before keep what they left with.
                    leaving = run.active if off is EVERYBODY and run.active is not outer else off
                    results = merged(EVERYBODY if leaving is None else leaving, passed, results)
                if on is NOBODY:
                    return results
                if not isinstance(on, Some):
                    run.active = on
                values = execute(run, after, passed)
        finally:
            run.active = outer

    return step


@compiled_by(scf.ParallelOp)
def parallel(op: scf.ParallelOp, compiling: Compiling) -> Step:
    """`scf.parallel`: on the host all iterations at once (see `iterations`); in a kernel one after the other.

    With reductions, or inside another one, the iterations follow each other in row-major order, and each work-item may
    have bounds of its own.
    """
    body = compiling.body(op.body.block)
    ends = op.body.block.last_op
    reductions: list[Region] = list(ends.regions) if ends is not None else []
    folds = [compiling.body(region.block) for region in reductions]
    rank = len(op.lowerBound)
    together = None if folds or compiling.level != "host" else iterations_of(op, compiling, body)

    def step(run: Run, values: list[Any]) -> list[Any]:
        def once(numbers: list[Array], held: list[Any]) -> list[Any]:
            found = execute(run, body, numbers)
            return [execute(run, fold, [old, new])[0] for fold, old, new in zip(folds, held, found, strict=True)]

        if any(_differs(run, value) for value in values[: 3 * rank]):
            return _divergent_parallel(run, op, body, once, values)
        bounds = [
            [uniform(op, value, what, run.active) for value in values[part * rank : (part + 1) * rank]]
            for part, what in enumerate(_BOUNDS)
        ]
        if any(by <= 0 for by in bounds[2]):
            fail(op, f"the steps are {bounds[2]}; a loop needs positive ones", "run.undefined")
        ranges = [range(*one) for one in zip(*bounds, strict=True)]
        if together is not None and run.machine.items == (1, 1, 1) and run.active is None:
            together(run, ranges)
            return []
        run.afford(op, body, prod(map(len, ranges)))
        held = values[3 * rank :]
        for place in product(*ranges):
            held = once([_counter(number, _INDEX) for number in place], held)
        return held

    return step


@compiled_by(scf.ExecuteRegionOp)
def execute_region(op: scf.ExecuteRegionOp, compiling: Compiling) -> Step:
    """`scf.execute_region`: a region of several blocks, once."""
    return compile_region(compiling, op.regions[0])


@compiled_by(func.CallOp)
def call(op: func.CallOp, compiling: Compiling) -> Step:
    """`func.call` of a function of the same module."""
    return compile_function(compiling, op, op.callee.string_value())
