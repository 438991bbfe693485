"""Code of the host: a function that allocates memory, copies it and launches kernels.

>>> from layoutalg.ir import read_module
>>> text = '''
... func.func @main(%n: index) -> index {
...   %m = arith.addi %n, %n : index
...   return %m : index
... }'''
>>> found = run_host(read_module(text), "main", [21], Memory())
>>> found.findings
()

The host is one work-item at a level of its own. Launches are compiled by `layoutalg.simulate.operations.host`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.ir.dialects import func
from layoutalg.ir.findings import Finding
from layoutalg.simulate.arguments import bound, values_of
from layoutalg.simulate.branching import compile_region, refuse_misplaced_uses
from layoutalg.simulate.compiling import Compiling
from layoutalg.simulate.grids import CompiledKernel, RunOutcome, compile_kernel, run_on
from layoutalg.simulate.machine import Budget, Level, Machine, Run, SimulationError
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.memory.launched import LaunchMemory

__all__ = ["Device", "run_host"]


@dataclass(eq=False)
class Device:
    """What the host launches kernels on: the module with the kernels, the memory, and what all launches may cost together.

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.ir import read_module
    >>> device = Device(read_module(plan_gemm(8, 32, 32).emit("lane")), Memory())
    >>> device.kernel("gemm", (16, 1, 1)).function.sym_name.data
    'gemm'
    """

    module: ModuleOp
    memory: Memory
    level: Level | None = None
    target: str = "pvc"
    trace: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _kernels: dict[tuple[str, tuple[int, int, int]], CompiledKernel] = field(
        default_factory=dict[tuple[str, tuple[int, int, int]], CompiledKernel]
    )

    def kernel(self, name: str, block: tuple[int, int, int]) -> CompiledKernel:
        """A kernel, compiled for this size of a workgroup."""
        if (name, block) not in self._kernels:
            self._kernels[name, block] = compile_kernel(
                self.module, name, block=block, level=self.level, target=self.target, trace=self.trace
            )
        return self._kernels[name, block]

    def launch(
        self, run: Run, name: str, grid: tuple[int, int, int], block: tuple[int, int, int], values: list[Any]
    ) -> None:
        """Launch a kernel from the host's run, which receives findings and traces."""
        found = run_on(self.kernel(name, block), values, grid, self.memory, budget=run.budget, carry_on=True)
        run.findings += [finding for finding in found.findings if finding not in run.findings]
        for traced, arrays in found.trace.items():
            run.trace.setdefault(traced, []).extend(arrays)
        # The host may write again what a kernel only read.
        self.memory.begin_launch()


def run_host(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[Any],
    memory: Memory,
    *,
    level: Level | None = None,
    target: str = "pvc",
    trace: Mapping[SSAValue, str] | None = None,
    budget: Budget | None = None,
) -> RunOutcome:
    """Run a function of the host, with everything that it launches.

    Raises:
        SimulationError: it can't be simulated.

    >>> from layoutalg.ir import read_module
    >>> run_host(read_module("func.func @main() { return }"), "start", [], Memory())
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: expected a function named start in the text; it has: main
    """
    functions = [
        op for block in module.body.blocks for op in block.ops if isinstance(op, func.FuncOp) and op.body.blocks
    ]
    chosen = [op for op in functions if op.sym_name.data == entry]
    if len(chosen) != 1:
        names = ", ".join(op.sym_name.data for op in functions) or "none"
        raise LayoutError(f"expected a function named {shown(entry).strip(chr(39))} in the text; it has: {names}")
    [function] = chosen
    refuse_misplaced_uses(function)
    compiling = Compiling(module, 1, (1, 1, 1), "host", target, trace or {})
    step = compile_region(compiling, function.body)
    machine = Machine(target, (1, 1, 1), (1, 1, 1), 1, 0, 1, "host")
    given = values_of(function, bound(function, arguments, memory))
    device = Device(module, memory, level, target, trace or {})
    run = Run(machine, LaunchMemory(memory, machine), slots=compiling.slots(), budget=budget or Budget())
    run.shared["device"] = device
    findings: list[Finding] = run.findings
    try:
        step(run, given)
    except SimulationError as problem:
        if problem.finding is None or not problem.finding.rule.startswith("run."):
            raise
        findings.append(problem.finding)
    return RunOutcome(tuple(findings), {name: tuple(values) for name, values in run.trace.items()})
