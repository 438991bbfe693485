"""Clusters of workgroups: which workgroup this is, addresses of the others' shared memory, barriers in two halves.

>>> from layoutalg.simulate.launching import launch
>>> text = '''
... gpu.module @k {
...   llvm.mlir.global internal @word() {addr_space = 3 : i32} : !llvm.array<4 x i8>
...   gpu.func @other(%p: memref<2xi32>) kernel attributes
...       {known_block_size = array<i32: 1, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
...     %word = llvm.mlir.addressof @word : !llvm.ptr<3>
...     %rank = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"() : () -> i32
...     %one = arith.constant 1 : i32
...     %other = arith.xori %rank, %one : i32
...     %there = llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"(%word, %other) : (!llvm.ptr<3>, i32) -> !llvm.ptr<7>
...     llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.aligned"() : () -> ()
...     llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait.aligned"() : () -> ()
...     llvm.store %rank, %there : i32, !llvm.ptr<7>
...     llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.aligned"() : () -> ()
...     llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait.aligned"() : () -> ()
...     %found = llvm.load %word : !llvm.ptr<3> -> i32
...     %i = arith.index_cast %rank : i32 to index
...     memref.store %found, %p[%i] : memref<2xi32>
...     gpu.return } }'''
>>> outcome = launch(text, [np.zeros(2, np.int32)], (2, 1, 1), target="sm_90", subgroup_size=1)
>>> outcome.arguments[0].tolist(), outcome.findings
([1, 0], ())

Source: PTX ISA, "mapa", "barrier.cluster" and "Special Registers"; only clusters along x are simulated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Operation

from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Machine, Run, fail
from layoutalg.simulate.operations.declared import property_of

__all__ = ["of_cluster"]


class _Intrinsic(NamedTuple):
    """An intrinsic: its names, the types of its operands and results, and its step."""

    name: re.Pattern[str]
    takes: list[str]
    gives: list[str]
    bound: Callable[[Operation], Step]


def _mapped(op: Operation) -> Step:
    return lambda run, values: (run.memory.in_cluster(run, op, np.asarray(values[0]), np.asarray(values[1], np.int64)),)


def _rank(op: Operation) -> Step:
    return lambda run, values: (run.machine.cluster_ranks().astype(np.int32),)


def _size(op: Operation) -> Step:
    return lambda run, values: (_one(run.machine.cluster).astype(np.int32),)


def _arrive(op: Operation) -> Step:
    return lambda run, values: run.memory.arrive_in_clusters(run, op) or ()


def _wait(op: Operation) -> Step:
    return lambda run, values: run.memory.wait_in_clusters(run, op) or ()


_INTRINSICS = (
    _Intrinsic(re.compile(r"llvm\.nvvm\.mapa\.shared\.cluster"), ["!llvm.ptr<3>", "i32"], ["!llvm.ptr<7>"], _mapped),
    _Intrinsic(re.compile(r"llvm\.nvvm\.read\.ptx\.sreg\.cluster\.ctarank"), [], ["i32"], _rank),
    _Intrinsic(re.compile(r"llvm\.nvvm\.read\.ptx\.sreg\.cluster\.nctarank"), [], ["i32"], _size),
    _Intrinsic(re.compile(r"llvm\.nvvm\.barrier\.cluster\.arrive(?:\.aligned)?"), [], [], _arrive),
    _Intrinsic(re.compile(r"llvm\.nvvm\.barrier\.cluster\.wait(?:\.aligned)?"), [], [], _wait),
)


def of_cluster(op: Operation, name: str) -> Step | None:
    """The step of an intrinsic of LLVM that is about clusters; None for another one.

    >>> from xdsl.dialects.test import TestOp
    >>> of_cluster(TestOp(), "llvm.nvvm.prmt") is None
    True
    """
    known = next((one for one in _INTRINSICS if one.name.fullmatch(name)), None)
    if known is None:
        return None
    kinds = [[str(value.type) for value in values] for values in (op.operands, op.results)]
    if kinds != [known.takes, known.gives]:
        fail(op, f"{name}: expected ({', '.join(known.takes)}) -> {', '.join(known.gives) or '()'}")
    return known.bound(op)


def _one(number: int) -> Array:
    return np.full((1, 1, 1), number, np.int64)


def _along_x(operation: str, along_x: Callable[[Machine], Array], otherwise: Callable[[Machine, int], Array]) -> None:
    @compiled_by(operation)
    def compile_number(op: Any, compiling: Compiling) -> Step:
        found: Any = property_of(op, "dimension")
        dimension = (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z).index(found.data)

        def step(run: Run, values: list[Any]) -> tuple[Array]:
            return (otherwise(run.machine, dimension) if dimension else along_x(run.machine),)

        return step


_along_x("gpu.cluster_block_id", Machine.cluster_ranks, lambda machine, dimension: _one(0))
_along_x("gpu.cluster_dim_blocks", lambda machine: _one(machine.cluster), lambda machine, dimension: _one(1))
_along_x("gpu.cluster_id", lambda machine: machine.block_ids(0) // machine.cluster, Machine.block_ids)
_along_x(
    "gpu.cluster_dim",
    lambda machine: _one(machine.grid[0] // machine.cluster),
    lambda machine, dimension: _one(machine.grid[dimension]),
)
