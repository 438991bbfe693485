"""The gpu operations of kernels: which work-item this is, how many there are, barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Operation, SSAValue

from layoutalg.ir.dialects import gpu
from layoutalg.ir.dialects.xegpu.ranges import range_of
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Machine, Run, fail
from layoutalg.simulate.operations.declared import property_of, undefined

__all__: list[str] = []

_DIMENSIONS = (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z)


def _along(function: Callable[[Machine, int], Array], operation: type[Operation], of: str = "") -> None:
    @compiled_by(operation)
    def compile_index(op: Any, compiling: Compiling) -> Step:
        _check_level(op, compiling, of)
        dimension = _DIMENSIONS.index(op.dimension.data)
        return _bounded(op, lambda run: function(run.machine, dimension))


def _number(function: Callable[[Machine], Array], operation: type[Operation], of: str = "") -> None:
    @compiled_by(operation)
    def compile_number(op: Operation, compiling: Compiling) -> Step:
        _check_level(op, compiling, of)
        return _bounded(op, lambda run: function(run.machine))


def _bounded(op: Operation, numbers: Callable[[Run], Array]) -> Step:
    """The step that gives these numbers; one that is not below the operation's `upper_bound` has no defined result."""
    bound = property_of(op, "upper_bound")
    if not isinstance(bound, IntegerAttr):
        return lambda run, values: (numbers(run),)
    most = int(bound.value.data)
    # A size may be its bound; a number is below it.
    sizes = op.name in ("gpu.block_dim", "gpu.grid_dim", "gpu.num_subgroups", "gpu.subgroup_size", "gpu.cluster_dim")

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        found = numbers(run)
        undefined(run, op, found >= most + sizes, f"{{}} is over the upper bound of {most}", found)
        return (found,)

    return step


def _check_level(op: Operation, compiling: Compiling, of: str) -> None:
    """At workgroup level a value belongs to the workgroup, so there is no number of a lane or a subgroup."""
    if (
        of
        and compiling.level == "workgroup"
        and not (of == "subgroup" and bool(op.results[0].uses) and _decides_ranges(op.results[0]))
    ):
        fail(op, f"this kernel is at workgroup level, where one value is the workgroup's; it has no number of a {of}")


def _decides_ranges(value: SSAValue) -> bool:
    """Whether a number decides about branches for some subgroups alone (`sg_id_range`), itself or by what is computed of it."""
    return all(
        (use.index == 0 and range_of(use.operation) is not None)
        or (
            use.operation.name.startswith(("arith.", "index."))
            and not value_shape(use.operation.results[0].type)
            and _decides_ranges(use.operation.results[0])
        )
        for use in value.uses
    )


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


@compiled_by(gpu.BarrierOp)
def barrier(op: gpu.BarrierOp, compiling: Compiling) -> Step:
    """All work-items run in step, so whoever arrives at a barrier has everybody there, unless some are elsewhere."""

    def step(run: Run, values: list[Any]) -> tuple[()]:
        run.memory.barrier(run, op)
        return ()

    return step
