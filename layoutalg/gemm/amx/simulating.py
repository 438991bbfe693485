"""Run a planned product's module on arrays in the simulator, by the rules of Intel's manual, on any machine.

The arrays are laid out as for the compiled code (see `operands`): padding is filled with what shows, and belongs to nobody.
Inputs are read-only, and C's contents must not be read before they are written, unless the plan reads them. What the code does
wrong is refused: a tile outside of its matrix, a row of the packed buffer that nobody wrote, two iterations of a parallel loop
that write one element, an element of C that is left out.

>>> from layoutalg.gemm.amx.plan import plan_amx
>>> plan = plan_amx(20, 40, 33, "s8", lda=40, trans_b=True)
>>> plan.simulate(np.full((20, 33), -2), np.full((40, 33), 3))[19, 38:]
array([-198, -198], dtype=int32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_DPAS as MOST_PRODUCTS
from layoutalg.core.limits import MOST_GEMM_BYTES, MOST_OPERATIONS, MOST_SIMULATED_BATCH, MOST_WORK
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.amx.operands import Operands
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm
    from layoutalg.gemm.amx.problem import AmxProblem
    from layoutalg.simulate import Memory

__all__ = ["check_size", "simulate_amx"]

_ENTRY = "gemm"


def simulate_amx(
    operands: Operands, *, text: str | None = None, progress: Callable[[float], None] | None = None
) -> NDArray[Any]:
    """C, as the module computes it from arrays that are laid out, one product of a batch after the other.

    See `AmxGemm.simulate`.

    Raises `SimulationError`: the module does what the hardware would not, or touches what isn't its own.
    """
    from layoutalg.simulate import Memory, SimulationError
    from layoutalg.simulate.host import run_host
    from layoutalg.simulate.machine import Budget
    from layoutalg.simulate.texts import read_kernel

    instance_of(text, (str, type(None)), "text")
    if progress is not None and not callable(progress):
        raise PlanError(f"progress {shown(progress)}: expected a function that takes a number")
    module = read_kernel(operands.plan.emit() if text is None else text)
    for done, one in enumerate(operands.each):
        if progress is not None:
            progress(done / len(operands.each))
        plan, memory = one.plan, Memory()
        budget = Budget(_operations(plan), _work(plan))
        found = run_host(module, _ENTRY, _bind(one, memory), memory, budget=budget)
        for finding in found.findings:
            if finding.level == "error":
                raise SimulationError.of(finding)
        _check_written(one.problem, memory)
    if progress is not None:
        progress(1.0)
    return operands.result()


def check_size(plan: AmxGemm) -> None:
    """Refuse a plan whose matrices or work are too large to be simulated.

    Raises `SizeError`: names the matrix or the number of tile products, and the limit.
    """
    if plan.problem.batch > MOST_SIMULATED_BATCH:
        raise SizeError(
            f"batch = {plan.problem.batch}: at most {MOST_SIMULATED_BATCH} products are simulated, one by one"
        )
    products = plan.problem.batch * _products(plan)
    if products > MOST_PRODUCTS:
        raise SizeError(f"{products} tile products; at most {MOST_PRODUCTS} are simulated")
    for matrix in plan.problem.matrices:
        size = plan.problem.batch * matrix.rows * matrix.pitch_bytes
        if size > MOST_GEMM_BYTES:
            raise SizeError(f"{matrix}: {size} bytes; at most {MOST_GEMM_BYTES} are simulated")


def _products(plan: AmxGemm) -> int:
    problem = plan.problem
    return -(-problem.m // TILE) * -(-problem.n // TILE) * plan.k_steps


def _operations(plan: AmxGemm) -> int:
    """What the run may execute: some operations for every tile product, where each is executed for a single register block."""
    return max(MOST_OPERATIONS, 64 * _products(plan))


def _work(plan: AmxGemm) -> int:
    """What the run may cost: a few times what the plan's own module does, and no less than any launch."""
    return max(MOST_WORK, (16 << 17) * _products(plan))


def _bind(operands: Operands, memory: Memory) -> list[int]:
    """What `@gemm` takes: rows of C have padding that nobody may write, and the inputs are read-only."""
    problem = operands.problem
    addresses = [memory.bind("A", _read_only(operands.a.array)), memory.bind("B", _read_only(operands.b.array))]
    extent = (problem.m, problem.n)
    addresses.append(memory.bind("C", operands.c.array, extent=extent, initialised=problem.beta != 0))
    for (name, _, _), buffer in zip(problem.vectors, operands.vectors, strict=True):
        addresses.append(memory.bind(name, _read_only(buffer.array)))
    return [*addresses, *operands.arguments[len(addresses) :]]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _check_written(problem: AmxProblem, memory: Memory) -> None:
    """Raise where an element of C is as it was before: nobody computed it."""
    from layoutalg.ir.findings import Finding
    from layoutalg.simulate import SimulationError

    written = memory.buffers[2].written
    if written is None:
        return
    elements = written.reshape(problem.m, problem.ldc, -1)[:, : problem.n].all(-1)
    if not elements.all():
        row, column = (int(index) for index in np.argwhere(~elements)[0])
        missing = int(elements.size - elements.sum())
        problem_said = f"{missing} elements of C are not written, the first one at [{row}, {column}]"
        raise SimulationError.of(Finding("run.uninitialised", problem_said, "func.func", None))
