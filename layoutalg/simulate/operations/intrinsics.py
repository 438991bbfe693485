"""Calls of LLVM's intrinsics that are one instruction of a chip: byte permutes.

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

from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, fail
from layoutalg.simulate.operations.declared import pointwise
from layoutalg.simulate.values import byte_permutes

__all__: list[str] = []

_PERMUTES = {"llvm.nvvm.prmt": byte_permutes.nvidia, "llvm.amdgcn.perm": byte_permutes.amd}


@compiled_by("llvm.call_intrinsic")
def call_intrinsic(op: Any, compiling: Compiling) -> Step:
    """`llvm.call_intrinsic`, of the intrinsics that are known here."""
    name = str(op.properties["intrin"].data)
    function = _PERMUTES.get(name)
    if function is None:
        fail(op, f"{name} is not simulated; {', '.join(_PERMUTES)} are")
    kinds = [str(value.type) for value in (*op.operands, *op.results)]
    if kinds != ["i32"] * 4:
        fail(op, f"{name} takes three i32 and gives one; here ({', '.join(kinds)})")

    def permuted(first: Array, second: Array, selector: Array) -> Array:
        return np.asarray(function(first, second, selector))

    return pointwise(permuted)
