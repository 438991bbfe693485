"""Run the text of a kernel: `run_kernel(text, arguments, grid, memory)`.

The text is read with `layoutalg.ir`, and every operation is executed once for all work-items (in groups of
workgroups, so that large problems fit in memory). Operations are looked up in a table from operation class to function.
xDSL has an interpreter of the same idea; it is not used, because it takes one method for each operation, has Python
integers decide control flow, and cannot say on which line an operation failed.

>>> text = '''
... gpu.module @k { gpu.func @copy(%src: i64, %dst: i64) kernel attributes
...   {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
...   %from = xegpu.create_nd_tdesc %src, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %to = xegpu.create_nd_tdesc %dst, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %from[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
...   xegpu.store_nd %x, %to[2, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
...   gpu.return } }'''
>>> source, target = np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), dtype=np.float32)
>>> memory = Memory()
>>> run_kernel(text, [memory.bind("source", source), memory.bind("target", target)], (1, 1, 1), memory)
>>> bool((target[2:] == source[:6]).all())
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Block, Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LAUNCH_GROUP as GROUP
from layoutalg.core.limits import MOST_VECTOR_ELEMENTS as MAX_ELEMENTS
from layoutalg.core.limits import MOST_WORK_ITEMS as MAX_WORK_ITEMS
from layoutalg.core.limits import MOST_WORKGROUPS as MAX_WORKGROUPS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of, listed
from layoutalg.hardware import target_info
from layoutalg.ir import line_of, read_module
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects import gpu
from layoutalg.simulate import blocks, scalar
from layoutalg.simulate.machine import MAX_OPERATIONS, Array, Machine, SimulationError, fail, uniform
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.numerics import signed_bits, wrap

__all__ = ["run_kernel"]

# Work-items that run together: enough for numpy to be busy, few enough for the values to stay in cache.

Environment = dict[SSAValue, Any]
DIMENSIONS = (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z)


def run_kernel(
    text: str,
    arguments: Sequence[int],
    grid: tuple[int, int, int],
    memory: Memory,
    *,
    kernel: str | None = None,
    target: str = "pvc",
) -> None:
    """Launch a kernel on `grid` workgroups; arguments are integers (addresses that `memory` gave, sizes).

    Without a name, the text's only kernel is launched.

    Raises:
        ParseError: the text can't be read.
        SimulationError: the kernel can't be simulated, or does what the hardware would not; names the operation and
            its line.

    >>> from layoutalg.gemm import plan_gemm
    >>> gemm, memory = plan_gemm(8, 32, 32), Memory()
    >>> c = np.zeros((8, 32), np.float32)
    >>> ones = [np.ones(shape, np.float16) for shape in ((8, 32), (32, 32))]
    >>> addresses = [memory.bind(name, array) for name, array in zip("ABC", (*ones, c))]
    >>> run_kernel(gemm.emit("lane"), [*addresses, *gemm.arguments], gemm.grid, memory)
    >>> c[7, 31]
    np.float32(32.0)
    """
    instance_of(memory, Memory, "memory")
    instance_of(kernel, (str, type(None)), "kernel")
    arguments = listed(arguments, "arguments")
    function = _find_kernel(read_module(text), kernel)
    block, lanes = _launch_sizes(function)
    entry = function.body.blocks[0]
    given = _check_arguments(function, entry, arguments)
    _check_operations(function)
    target_info(target)
    sizes = _grid(grid)
    total = sizes[0] * sizes[1] * sizes[2]
    together = max(1, GROUP // (block[0] * block[1] * block[2]))
    memory.begin_launch()
    budget = [MAX_OPERATIONS]
    for first in range(0, total, together):
        machine = Machine(memory, target, sizes, block, lanes, first, min(together, total - first), budget)
        values: Environment = {
            value: wrap(np.full((1, 1, 1), number, np.int64), signed_bits(value.type))
            for value, number in zip(entry.args, given, strict=True)
        }
        _run_block(machine, entry, values)


def _grid(grid: Sequence[int]) -> tuple[int, int, int]:
    try:
        x, y, z = (index(size) for size in grid)
    except (TypeError, ValueError):
        raise LayoutError(f"grid {shown(grid)}: expected three sizes, such as (4, 2, 1)") from None
    if min(x, y, z) < 1 or x * y * z > MAX_WORKGROUPS:
        raise LayoutError(f"grid {x}x{y}x{z}: expected positive sizes, at most {MAX_WORKGROUPS} workgroups in all")
    return x, y, z


def _find_kernel(module: ModuleOp, name: str | None) -> gpu.FuncOp:
    kernels = [op for op in module.walk() if isinstance(op, gpu.FuncOp) and op.kernel is not None]
    names = ", ".join(op.sym_name.data for op in kernels) or "none"
    chosen = [op for op in kernels if name in (None, op.sym_name.data)]
    if len(chosen) != 1:
        wanted = "one kernel" if name is None else f"a kernel named {name}"
        raise LayoutError(f"expected {wanted} (a gpu.func with 'kernel') in the text; it has: {names}")
    return chosen[0]


def _launch_sizes(function: gpu.FuncOp) -> tuple[tuple[int, int, int], int]:
    """Work-items of a workgroup, and lanes of a subgroup."""
    sizes = function.known_block_size
    if sizes is None:
        fail(function, "the attribute known_block_size = array<i32: x, y, z> is needed to know the work-items")
    x, y, z = _sizes(function, sizes)
    lanes = function.attributes.get("intel_reqd_sub_group_size")
    if not isinstance(lanes, IntegerAttr):
        fail(function, "the attribute intel_reqd_sub_group_size = 16 : i32 is needed to know the lanes")
    count = lanes.value.data
    if count < 1 or x * y * z % count:
        fail(function, f"{x}x{y}x{z} work-items are not a whole number of subgroups of {count}")
    return (x, y, z), count


def _sizes(function: gpu.FuncOp, written: DenseArrayBase) -> tuple[int, int, int]:
    numbers = static_numbers(written)
    if len(numbers) != 3 or min(numbers) < 1 or numbers[0] * numbers[1] * numbers[2] > MAX_WORK_ITEMS:
        fail(
            function, f"known_block_size = {numbers}: three positive sizes are needed, {MAX_WORK_ITEMS} in all at most"
        )
    return numbers[0], numbers[1], numbers[2]


def _check_arguments(function: gpu.FuncOp, entry: Block, arguments: Sequence[int]) -> list[int]:
    if len(entry.args) != len(arguments):
        fail(function, f"it takes {len(entry.args)} arguments, and was given {len(arguments)}")
    for value in entry.args:
        if not isinstance(value.type, IntegerType):
            fail(function, f"an argument of type {value.type} is not simulated; integers and addresses (i64) are")
    numbers: list[int] = []
    for value, argument in zip(entry.args, arguments, strict=True):
        bits = signed_bits(value.type)
        try:
            number = index(argument)
        except TypeError:
            fail(function, f"argument {len(numbers)} is {shown(argument)}; an integer is needed for {value.type}")
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            fail(function, f"argument {len(numbers)} does not fit into {value.type}")
        numbers.append(number - (1 << bits) if number >= 1 << (bits - 1) else number)
    return numbers


def _check_operations(function: gpu.FuncOp) -> None:
    """Name the first operation that nobody can run, before anything runs."""
    for operation in function.walk():
        if type(operation) not in HANDLERS and not isinstance(operation, (*CONTROL, *TERMINATORS)):
            name = getattr(getattr(operation, "op_name", None), "data", operation.name)
            raise SimulationError(f"line {line_of(operation)}: {name}: this operation is not simulated")
        for result in operation.results:
            if prod(scalar.vector_shape(result.type)) > MAX_ELEMENTS:
                fail(operation, f"{result.type}: a lane has registers for {MAX_ELEMENTS} elements at most")


def _run_block(machine: Machine, block: Block, values: Environment) -> list[Any]:
    """Run the operations of a block; returns the operands of its terminator."""
    for operation in block.ops:
        machine.spend(operation, 1)
        machine.budget[0] -= 1
        operands = [values[operand] for operand in operation.operands]
        if isinstance(operation, TERMINATORS):
            return operands
        if isinstance(operation, scf.ForOp):
            results: Sequence[Any] = _run_for(machine, operation, operands, values)
        elif isinstance(operation, scf.IfOp):
            results = _run_if(machine, operation, operands, values)
        else:
            try:
                results = HANDLERS[type(operation)](machine, operation, operands)
            except SimulationError:
                raise
            except (LayoutError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as problem:
                # The text is somebody's: whatever it makes numpy say is said with the operation and its line.
                fail(operation, str(problem) or type(problem).__name__)
        values.update(zip(operation.results, results, strict=True))
    return []


def _run_for(machine: Machine, loop: scf.ForOp, operands: list[Any], values: Environment) -> list[Any]:
    bounds = (("the lower bound", "the upper bound", "the step")[i] for i in range(3))
    start, stop, step = (uniform(loop, operand, what) for operand, what in zip(operands[:3], bounds, strict=True))
    if step <= 0:
        fail(loop, f"the step is {step}; a loop needs a positive one")
    held = operands[3:]
    body = loop.body.block
    machine.spend(loop, len(range(start, stop, step)) * len(list(body.ops)))
    for number in range(start, stop, step):
        values.update(zip(body.args, [np.full((1, 1, 1), number, np.int64), *held], strict=True))
        held = _run_block(machine, body, values)
    return held


def _run_if(machine: Machine, branch: scf.IfOp, operands: list[Any], values: Environment) -> list[Any]:
    taken = branch.true_region if uniform(branch, operands[0], "the condition") else branch.false_region
    return _run_block(machine, taken.block, values) if taken.blocks else []


def _index(function: Callable[[Machine, int], Array]) -> Callable[[Machine, Any, list[Any]], tuple[Array, ...]]:
    def run(machine: Machine, op: Any, operands: list[Any]) -> tuple[Array, ...]:
        return (function(machine, DIMENSIONS.index(op.dimension.data)),)

    return run


def _number(function: Callable[[Machine], Array]) -> Callable[[Machine, Any, list[Any]], tuple[Array, ...]]:
    return lambda machine, op, operands: (function(machine),)


def _one(number: int) -> Array:
    return np.full((1, 1, 1), number, np.int64)


def _global_id(machine: Machine, dimension: int) -> Array:
    return np.asarray(machine.block_ids(dimension) * machine.block[dimension] + machine.thread_ids(dimension))


def _shuffle(machine: Machine, op: gpu.ShuffleOp, operands: list[Array]) -> tuple[Array, ...]:
    """The value of the lane that the mode names; where there is no such lane, the own value and `false`."""
    value, offset, width = machine.spread(operands[0]), operands[1], uniform(op, operands[2], "the width")
    if width != machine.lanes:
        fail(op, f"a width of {width}; shuffles over the {machine.lanes} lanes of a subgroup are simulated")
    own = machine.lane_ids()
    match op.mode.data:
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


HANDLERS: Mapping[type[Operation], Callable[[Machine, Any, list[Any]], tuple[Any, ...]]] = {
    **scalar.HANDLERS,
    **blocks.HANDLERS,
    gpu.BlockIdOp: _index(Machine.block_ids),
    gpu.ThreadIdOp: _index(Machine.thread_ids),
    gpu.GlobalIdOp: _index(_global_id),
    gpu.BlockDimOp: _index(lambda machine, dimension: _one(machine.block[dimension])),
    gpu.GridDimOp: _index(lambda machine, dimension: _one(machine.grid[dimension])),
    gpu.LaneIdOp: _number(Machine.lane_ids),
    gpu.SubgroupIdOp: _number(Machine.subgroup_ids),
    gpu.NumSubgroupsOp: _number(lambda machine: _one(machine.subgroups)),
    gpu.SubgroupSizeOp: _number(lambda machine: _one(machine.lanes)),
    gpu.ShuffleOp: _shuffle,
    # All work-items run in step, so whoever arrives at a barrier has everybody there.
    gpu.BarrierOp: lambda machine, op, operands: (),
}

CONTROL = (gpu.FuncOp, scf.ForOp, scf.IfOp)
TERMINATORS = (gpu.ReturnOp, scf.YieldOp)
