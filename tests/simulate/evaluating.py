"""A function's text, evaluated on values: for operations that need neither memory nor a kernel around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.ir import read_module
from layoutalg.simulate.compiling import Compiling, execute
from layoutalg.simulate.machine import Machine, Run
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.memory.launched import LaunchMemory

Array = NDArray[Any]


def evaluate(
    body: str, operands: dict[str, tuple[str, Array]], results: tuple[str, ...], *, subgroups: int = 1, lanes: int = 16
) -> tuple[list[Array], list[str]]:
    """The values of `%r0`, `%r1`, ... of these types, and the rules of what was found.

    Operands are [workgroup, subgroup, lane, ..] or broadcast to it; results come with all work-items written out.
    """
    arguments = ", ".join(f"%{name}: {kind}" for name, (kind, _) in operands.items())
    names, kinds = ", ".join(f"%r{number}" for number in range(len(results))), ", ".join(results)
    module = read_module(f"func.func @f({arguments}) -> ({kinds}) {{\n{body}\nfunc.return {names} : {kinds}\n}}")
    compiling = Compiling(module, lanes, (subgroups * lanes, 1, 1))
    function: Any = module.body.block.first_op
    machine = Machine("pvc", (1, 1, 1), (subgroups * lanes, 1, 1), lanes, 0, 1)
    compiled = compiling.body(function.body.block)
    run = Run(machine, LaunchMemory(Memory(), machine), slots=compiling.slots())
    found = execute(run, compiled, [value for _, value in operands.values()])
    whole = [np.broadcast_to(value, (1, subgroups, lanes, *value.shape[3:])) for value in found]
    return whole, [finding.rule for finding in run.findings]
