"""LLVM's intrinsics that are one instruction of a chip: byte permutes, matrices, and what the lanes of a subgroup wait for.

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

import re
from typing import Any

import numpy as np
from xdsl.ir import Operation

from layoutalg.ir.dialects.llvm import FenceOp
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run, fail, uniform
from layoutalg.simulate.operations.clusters import of_cluster
from layoutalg.simulate.operations.declared import pointwise, undefined
from layoutalg.simulate.values import byte_permutes, dpp, exchange, matrices

__all__: list[str] = []

_WARP = 32
_TRANSPOSED = "llvm.amdgcn.ds.read.tr16.b64"
_DPP = "llvm.amdgcn.update.dpp.i32"
_SWAPS = re.compile(r"llvm\.amdgcn\.permlane(16|32)\.swap")
_PERMUTES = {"llvm.nvvm.prmt": byte_permutes.nvidia, "llvm.amdgcn.perm": byte_permutes.amd}


_WAITS = "llvm.nvvm.bar.warp.sync"
_MATRIX = re.compile(r"llvm\.nvvm\.(ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.b16(?:\.p3)?")


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
    if (cluster := of_cluster(op, name)) is not None:
        return cluster
    if (matrix := _MATRIX.fullmatch(name)) is not None:
        return _matrices(op, compiling, matrix[1] == "ld", int(matrix[2]), transposed=matrix[3] is not None)
    if (rows := _SWAPS.fullmatch(name)) is not None:
        return _swapped_rows(op, compiling, int(rows[1]))
    if name == _DPP:
        return _dpp(op, compiling)
    if name == _TRANSPOSED:
        return _transposed_halves(op, compiling)
    function = _PERMUTES.get(name)
    if function is None:
        known = ", ".join((*_PERMUTES, _WAITS, _DPP, _TRANSPOSED))
        fail(op, f"{name} is not simulated; {known}, permlane swaps, ldmatrix, stmatrix, and those of clusters are")
    kinds = [str(value.type) for value in (*op.operands, *op.results)]
    if kinds != ["i32"] * 4:
        fail(op, f"{name} takes three i32 and gives one; here ({', '.join(kinds)})")

    def permuted(first: Array, second: Array, selector: Array) -> Array:
        return np.asarray(function(first, second, selector))

    return pointwise(permuted)


def _together(run: Run, op: Operation, what: str = "moves matrices") -> None:
    """What all lanes do together, all lanes must execute."""
    if run.active is not None:
        undefined(run, op, ~np.asarray(run.active), f"not all lanes execute what {what}")


def _swapped_rows(op: Any, compiling: Compiling, rows: int) -> Step:
    """`v_permlane16_swap_b32` and `..32..`: odd rows of the first word change places with even rows of the second.

    Source: AMD's CDNA 4 instruction set guide.
    """
    if compiling.lanes != 2 * _WARP:
        fail(op, f"rows are swapped among {2 * _WARP} lanes; here there are {compiling.lanes}")
    lane = np.arange(compiling.lanes)
    odd, lower, upper = lane & rows != 0, (lane & ~rows)[None, None], (lane | rows)[None, None]

    def step(run: Run, values: list[Any]) -> tuple[Any]:
        _together(run, op, "swaps rows of lanes")
        one, other = (run.machine.spread(np.asarray(value)) for value in values[:2])
        first = np.where(odd, exchange.take_lanes(other, lower), one)
        return ((first, np.where(odd, other, exchange.take_lanes(one, upper))),)

    return step


def _dpp(op: Any, compiling: Compiling) -> Step:
    """`v_mov_b32_dpp` among the lanes of a quad or a row, all rows and banks of them.

    Source: AMD's CDNA 3 instruction set guide, "DPP".
    """
    lane = np.arange(compiling.lanes)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        _together(run, op, "moves words among neighbours")
        control, rows, banks = (uniform(op, value, "a control", run.active) for value in values[2:5])
        source = dpp.sources(control, lane)
        if source is None or (rows, banks) != (15, 15):
            fail(
                op,
                f"control {control:#x}, rows {rows:#x}, banks {banks:#x}: expected a quad, a turn, a mirror, all lanes",
            )
        return (exchange.take_lanes(run.machine.spread(np.asarray(values[1])), source[None, None]),)

    return step


def _halves_at(run: Run, op: Operation, address: Array, lanes: Array, columns: Array, row: int) -> Array:
    """The addresses of halves, of which some lanes say where a row begins, a multiple of so many bytes."""
    starts = run.machine.spread(np.asarray(address))
    given = exchange.take_lanes(starts, np.unique(lanes)[None, None])
    undefined(run, op, given % row != 0, f"a row of a matrix that does not begin at a multiple of {row} bytes")
    rows = exchange.take_lanes(starts, lanes.reshape(1, 1, -1)).reshape(*starts.shape[:2], *lanes.shape)
    return rows + 2 * columns


def _matrices(op: Any, compiling: Compiling, load: bool, count: int, *, transposed: bool) -> Step:
    """`ldmatrix` and `stmatrix`: 8x8 matrices of 16 bits, one word a lane for each."""
    if compiling.lanes != _WARP:
        fail(op, f"matrices are moved by {_WARP} lanes; here by {compiling.lanes}")
    words = len(op.operands) - 1
    if words != (0 if load else count):
        fail(op, f"{len(op.operands)} operands: expected a pointer{'' if load else f' and {count} words'}")
    lanes, columns = matrices.nvidia(_WARP, count, transposed=transposed)
    half = np.dtype("<u2")

    def step(run: Run, values: list[Any]) -> tuple[Any, ...]:
        _together(run, op)
        places = _halves_at(run, op, values[0], lanes, columns, 16)
        if load:
            found = np.ascontiguousarray(run.memory.read(run, op, places, None, half)).astype("<u2")
            made = tuple(np.moveaxis(found.view("<i4")[..., 0], -1, 0))
            return made if count == 1 else (made,)
        given = np.stack(np.broadcast_arrays(*[run.machine.spread(np.asarray(word)) for word in values[1:]]), -1)
        halves = np.ascontiguousarray(given).astype("<i4").view("<u2").reshape(*given.shape, 2)
        run.memory.write(run, op, places, None, halves)
        return ()

    return step


def _transposed_halves(op: Any, compiling: Compiling) -> Step:
    """`ds_read_b64_tr_b16`: 4x4 blocks of halves, transposed among 16 lanes."""
    lanes, columns = matrices.amd(compiling.lanes)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        _together(run, op)
        places = _halves_at(run, op, values[0], lanes, columns, 8)
        return (run.memory.read(run, op, places, None, np.dtype("<i2")),)

    return step
