"""LLVM's intrinsics that are one instruction of a chip: byte permutes, and what the lanes of a subgroup wait for.

>>> from layoutalg.simulate.launching import launch
>>> text = '''
... gpu.module @k { gpu.func @swap(%p: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
...   %at = llvm.inttoptr %p : i64 to !llvm.ptr<1>
...   %a = llvm.load %at : !llvm.ptr<1> -> i32
...   %selector = arith.constant 0x1032 : i32
...   %b = llvm.call_intrinsic "llvm.nvvm.prmt"(%a, %a, %selector) : (i32, i32, i32) -> i32
...   llvm.store %b, %at : i32, !llvm.ptr<1>
...   gpu.return } }'''
>>> hex(launch(text, [np.array([0x11223344], np.int32)], target="sm_80").arguments[0][0])
'0x33441122'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutalg.ir.dialects.llvm import FenceOp
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.operations.declared import pointwise
from layoutalg.simulate.values import byte_permutes

__all__: list[str] = []

_PERMUTES = {"llvm.nvvm.prmt": byte_permutes.nvidia, "llvm.amdgcn.perm": byte_permutes.amd}


_WAITS = "llvm.nvvm.bar.warp.sync"


def _wait(run: Run, values: list[Any]) -> tuple[()]:
    """The lanes of each subgroup have seen what the others of it did."""
    groups, subgroups, lanes = run.machine.items
    active = np.broadcast_to(True if run.active is None else run.active, (groups, subgroups, lanes)).any(2)
    for group, subgroup in np.argwhere(active).tolist():
        races = run.memory.races
        races.learn(group, subgroup, races.arrive(group, subgroup))
    return ()


@compiled_by(FenceOp)
def fence(op: FenceOp, compiling: Compiling) -> Step:
    """`llvm.fence`: for the lanes of a wavefront, which execute together, a barrier; others it doesn't make wait."""
    among_lanes = op.syncscope is not None and op.syncscope.data == "wavefront"
    return _wait if among_lanes else lambda run, values: ()


@compiled_by("llvm.call_intrinsic")
def call_intrinsic(op: Any, compiling: Compiling) -> Step:
    """`llvm.call_intrinsic`, of the intrinsics that are known here."""
    name = str(op.properties["intrin"].data)
    if name == _WAITS:
        return _wait
    function = _PERMUTES.get(name)
    if function is None:
        fail(op, f"{name} is not simulated; {', '.join((*_PERMUTES, _WAITS))} are")
    kinds = [str(value.type) for value in (*op.operands, *op.results)]
    if kinds != ["i32"] * 4:
        fail(op, f"{name} takes three i32 and gives one; here ({', '.join(kinds)})")

    def permuted(first: Array, second: Array, selector: Array) -> Array:
        return np.asarray(function(first, second, selector))

    return pointwise(permuted)
