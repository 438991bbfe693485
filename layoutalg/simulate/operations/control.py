"""Control flow: loops and branches run compiled bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import scf

from layoutalg.simulate.compiling import Compiling, Step, compiled_by, execute
from layoutalg.simulate.machine import Run, fail, uniform

__all__: list[str] = []


@compiled_by(scf.ForOp)
def for_loop(op: scf.ForOp, compiling: Compiling) -> Step:
    """`scf.for` with the same bounds for all work-items."""
    body = compiling.body(op.body.block)

    def step(run: Run, values: list[Any]) -> list[Any]:
        names = ("the lower bound", "the upper bound", "the step")
        start, stop, by = (uniform(op, value, what, run.active) for value, what in zip(values[:3], names, strict=True))
        if by <= 0:
            fail(op, f"the step is {by}; a loop needs a positive one", "run.undefined")
        held = values[3:]
        trips = range(start, stop, by)
        run.afford(op, body, len(trips))
        for number in trips:
            held = execute(run, body, [np.full((1, 1, 1), number, np.int64), *held])
        return held

    return step


@compiled_by(scf.IfOp)
def branch(op: scf.IfOp, compiling: Compiling) -> Step:
    """`scf.if` with the same condition for all work-items."""
    bodies = [compiling.body(region.block) if region.blocks else None for region in (op.false_region, op.true_region)]

    def step(run: Run, values: list[Any]) -> list[Any]:
        taken = bodies[uniform(op, values[0], "the condition", run.active)]
        return execute(run, taken, []) if taken is not None else []

    return step
