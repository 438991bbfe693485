"""`scf.parallel` on the host: a launch of all its iterations, each a workgroup of a single work-item.

The order of the iterations is not defined, so none may touch what another one writes. Here iteration 1 reads what 0 wrote:

>>> from layoutalg.simulate.launching import launch
>>> text = '''
... func.func @shift(%x: memref<4xi32>) {
...   %c0 = arith.constant 0 : index
...   %c1 = arith.constant 1 : index
...   %c3 = arith.constant 3 : index
...   scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
...     %next = arith.addi %i, %c1 : index
...     %value = memref.load %x[%i] : memref<4xi32>
...     memref.store %value, %x[%next] : memref<4xi32>
...   }
...   return
... }'''
>>> found = launch(text, [np.arange(4, dtype=np.int32)], entry="shift").findings
>>> print(found[0].rule, found[0].message, sep=chr(10))
run.other_workgroup
iteration 0 writes byte 4 of buffer x, which iteration 1 read at line 8 (memref.load) in the same scf.parallel

Values from outside are the same for all iterations and are there once. As many iterations run together as numpy and a cache
like; the next ones follow, and race with the first as if they had run together. A loop inside an iteration runs its own one
after the other, so a race between those is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from layoutalg.core.limits import LAUNCH_GROUP, MOST_TOGETHER_BYTES, MOST_WORKGROUPS
from layoutalg.simulate.compiling import CompiledBlock, Compiling, execute
from layoutalg.simulate.machine import Machine, Run, fail
from layoutalg.simulate.memory.launched import LaunchMemory
from layoutalg.simulate.memory.provenance import buffers_of, written_outside
from layoutalg.simulate.symbols import symbol_around

__all__ = ["iterations_of"]


_LAUNCH = 1 << 18
"""What a launch costs by itself, about 0.1 ms: memory forgets who touched it last."""


def iterations_of(
    op: Operation, compiling: Compiling, body: CompiledBlock
) -> Callable[[Run, Sequence[range]], None] | None:
    """A function that runs all iterations of these ranges; None where the body launches kernels, which follow each other.

    >>> from layoutalg.ir import read_module
    >>> module = read_module("func.func @f() { gpu.wait return }")
    >>> function = module.body.block.first_op
    >>> compiling = Compiling(module, 1, (1, 1, 1), "host")
    >>> iterations_of(function, compiling, compiling.body(function.body.block)) is None
    True
    """
    if _reaches_the_device(op, set()):
        return None
    written = written_outside(op)
    slots = None if written is None else [compiling.slot(value) for value in written]

    def step(run: Run, ranges: Sequence[range]) -> None:
        total = prod(map(len, ranges))
        if not total:
            return
        if total > MOST_WORKGROUPS:
            fail(op, f"{total} iterations; at most {MOST_WORKGROUPS} are simulated")
        run.spend(op, 1, _LAUNCH)
        grid = (total, 1, 1)
        known = run.machine
        tracked = None if slots is None else buffers_of(run.slots[slot] for slot in slots)
        memory = LaunchMemory(
            run.memory.buffers, Machine(known.target, grid, (1, 1, 1), 1, 0, 1, "host"), tracked=tracked
        )
        together = max(1, min(LAUNCH_GROUP, MOST_TOGETHER_BYTES // max(1, body.peak)))
        for first in range(0, total, together):
            machine = Machine(known.target, grid, (1, 1, 1), 1, first, min(together, total - first), "host")
            part = Run(
                machine,
                memory.of_group(machine),
                findings=run.findings,
                slots=list(run.slots),
                budget=run.budget,
                trace=run.trace,
                shared=run.shared,
            )
            execute(part, body, _numbers(ranges, machine))
        # What comes after the loop is ordered behind it.
        run.memory.buffers.begin_launch()

    return step


def _numbers(ranges: Sequence[range], machine: Machine) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """The loop's variables in each iteration of a group; the last range runs fastest."""
    places = np.unravel_index(np.arange(machine.first, machine.first + machine.count), [len(one) for one in ranges])
    return [
        (one.start + place.astype(np.int64) * one.step).reshape(-1, 1, 1)
        for one, place in zip(ranges, places, strict=True)
    ]


def _reaches_the_device(around: Operation, seen: set[Operation]) -> bool:
    """Whether an operation of the gpu dialect is in the regions, or in a function that is called there."""
    for operation in around.walk():
        if operation.name.startswith("gpu."):
            return True
        if operation.name == "func.call":
            callee = operation.get_attr_or_prop("callee")
            name = callee.string_value() if isinstance(callee, SymbolRefAttr) else ""
            called = symbol_around(operation, name)
            if called is not None and called not in seen:
                seen.add(called)
                if _reaches_the_device(called, seen):
                    return True
    return False
