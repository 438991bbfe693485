"""The gpu operations of kernels: which work-item this is, shuffles between the lanes of a subgroup, barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Operation

from layoutalg.ir.dialects import gpu
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Machine, Run, fail, uniform

__all__: list[str] = []

_DIMENSIONS = (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z)


def _along(function: Callable[[Machine, int], Array], operation: type[Operation], of: str = "") -> None:
    @compiled_by(operation)
    def compile_index(op: Any, compiling: Compiling) -> Step:
        _check_level(op, compiling, of)
        dimension = _DIMENSIONS.index(op.dimension.data)
        return lambda run, values: (function(run.machine, dimension),)


def _number(function: Callable[[Machine], Array], operation: type[Operation], of: str = "") -> None:
    @compiled_by(operation)
    def compile_number(op: Operation, compiling: Compiling) -> Step:
        _check_level(op, compiling, of)
        return lambda run, values: (function(run.machine),)


def _check_level(op: Operation, compiling: Compiling, of: str) -> None:
    """At workgroup level a value belongs to the workgroup, so there is no number of a lane or a subgroup."""
    if of and compiling.level == "workgroup":
        fail(op, f"this kernel is at workgroup level, where one value is the workgroup's; it has no number of a {of}")


def _one(number: int) -> Array:
    return np.full((1, 1, 1), number, np.int64)


def _global_id(machine: Machine, dimension: int) -> Array:
    return np.asarray(machine.block_ids(dimension) * machine.block[dimension] + machine.thread_ids(dimension))


_along(Machine.block_ids, gpu.BlockIdOp)
_along(Machine.thread_ids, gpu.ThreadIdOp, "work-item")
_along(_global_id, gpu.GlobalIdOp, "work-item")
_along(lambda machine, dimension: _one(machine.block[dimension]), gpu.BlockDimOp)
_along(lambda machine, dimension: _one(machine.grid[dimension]), gpu.GridDimOp)
_number(Machine.lane_ids, gpu.LaneIdOp, "lane")
_number(Machine.subgroup_ids, gpu.SubgroupIdOp, "subgroup")
_number(lambda machine: _one(machine.subgroups), gpu.NumSubgroupsOp)
_number(lambda machine: _one(machine.lanes), gpu.SubgroupSizeOp)


@compiled_by(gpu.ShuffleOp)
def shuffle(op: gpu.ShuffleOp, compiling: Compiling) -> Step:
    """The value of the lane that the mode names; where there is no such lane, the own value and `false`."""
    if compiling.level != "lane":
        fail(op, f"this kernel is at {compiling.level} level, where a value is not spread over lanes")
    lanes, mode = compiling.lanes, op.mode.data

    def step(run: Run, values: list[Any]) -> tuple[Array, Array]:
        value, offset, width = run.machine.spread(values[0]), values[1], uniform(op, values[2], "the width", run.active)
        if width != lanes:
            fail(op, f"a width of {width}; shuffles over the {lanes} lanes of a subgroup are simulated")
        own = run.machine.lane_ids()
        match mode:
            case gpu.ShuffleMode.Idx:
                source = offset
            case gpu.ShuffleMode.Xor:
                source = own ^ offset
            case gpu.ShuffleMode.Up:
                source = own - offset
            case gpu.ShuffleMode.Down:
                source = own + offset
        items = np.broadcast_shapes(value.shape[:3], source.shape)
        source = np.broadcast_to(source, items)
        valid = (source >= 0) & (source < width)
        source = np.where(valid, source, np.broadcast_to(own, items)).reshape(items + (1,) * (value.ndim - 3))
        return np.take_along_axis(np.broadcast_to(value, items + value.shape[3:]), source, axis=2), valid

    return step


@compiled_by(gpu.BarrierOp)
def barrier(op: gpu.BarrierOp, compiling: Compiling) -> Step:
    """All work-items run in step, so whoever arrives at a barrier has everybody there, unless some are elsewhere."""

    def step(run: Run, values: list[Any]) -> tuple[()]:
        run.memory.barrier(run, op)
        return ()

    return step
