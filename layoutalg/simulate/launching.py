"""Launch a kernel: read its text, compile it once, run it on all workgroups of a grid, group by group.

`launch` takes numpy arrays for what the kernel reads and writes, binds them to addresses and gives them back:

>>> text = '''
... gpu.module @k { gpu.func @copy(%src: i64, %dst: i64) kernel attributes
...   {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
...   %from = xegpu.create_nd_tdesc %src, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %to = xegpu.create_nd_tdesc %dst, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %from[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
...   xegpu.store_nd %x, %to[2, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
...   gpu.return } }'''
>>> source, target = np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), dtype=np.float32)
>>> outcome = launch(text, [source, target], (1, 1, 1))
>>> bool((outcome.arguments[1][2:] == source[:6]).all()), outcome.findings
(True, ())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block
from xdsl.utils.hints import isa

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LAUNCH_GROUP as GROUP
from layoutalg.core.limits import MOST_LIVE_BYTES, MOST_WORK_ITEMS, MOST_WORKGROUPS
from layoutalg.core.messages import shown
from layoutalg.hardware import target_info
from layoutalg.ir import read_module
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects import gpu
from layoutalg.ir.findings import Finding
from layoutalg.simulate.branching import compile_region
from layoutalg.simulate.compiling import Compiling, Step
from layoutalg.simulate.levels import level_of
from layoutalg.simulate.machine import LEVELS, Array, Budget, Level, Machine, Run, SimulationError, fail
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.memory.arguments import BoundArray, argument_view
from layoutalg.simulate.memory.launched import LaunchMemory
from layoutalg.simulate.memory.provenance import written_buffers
from layoutalg.simulate.numerics import signed_bits, wrap

__all__ = ["Compiled", "Outcome", "compile_kernel", "launch", "run_on"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a launch left: the arguments (arrays as the kernel wrote them), findings, and the values that were traced.

    >>> Outcome((), (), {}).findings
    ()
    """

    arguments: tuple[Any, ...]
    findings: tuple[Finding, ...]
    trace: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel that is ready to run: a function that runs its body, and what was known when it was compiled.

    >>> from layoutalg.gemm import plan_gemm
    >>> compile_kernel(read_module(plan_gemm(8, 32, 32).emit("lane"))).function.sym_name.data
    'gemm'
    """

    function: gpu.FuncOp
    step: Step
    compiling: Compiling


def launch(
    module: str | ModuleOp,
    arguments: Sequence[Any],
    grid: Sequence[int],
    *,
    kernel: str | None = None,
    level: Level | None = None,
    target: str = "pvc",
    trace: Sequence[str] = (),
) -> Outcome:
    """Run a kernel on arrays; without a name, the module's only kernel.

    An argument of type i64 takes an array (its address is passed) or an integer, a memref an array. Arrays are written in
    place; one that numpy says is not writeable is an input. What the kernel does wrong is a finding of the outcome.

    Raises:
        ParseError: the text can't be read.
        SimulationError: the kernel can't be simulated; names the operation and its line.

    >>> from layoutalg.gemm import plan_gemm
    >>> gemm = plan_gemm(8, 32, 32)
    >>> arrays = [np.ones((8, 32), np.float16), np.ones((32, 32), np.float16), np.zeros((8, 32), np.float32)]
    >>> outcome = launch(gemm.emit("lane"), [*arrays, *gemm.arguments], gemm.grid)
    >>> outcome.arguments[2][7, 31]
    np.float32(32.0)
    """
    read = read_module(module) if isinstance(module, str) else module
    compiled = compile_kernel(read, kernel, level=level, target=target, trace=trace)
    memory = Memory()
    given: list[Any] = []
    for name, argument in zip(_names(compiled.function, len(arguments)), arguments, strict=True):
        if not isinstance(argument, np.ndarray):
            given.append(argument)
            continue
        array = cast("Array", argument)
        address = memory.bind(name, array)
        kind: Attribute = compiled.function.body.blocks[0].args[len(given)].type
        given.append(BoundArray(address, array) if isa(kind, MemRefType[Attribute]) else address)
    machine = _machine(compiled, _grid(grid), 0, 1)
    run = Run(machine, LaunchMemory(memory, machine))
    try:
        run_on(compiled, given, grid, memory, run=run)
    except SimulationError as problem:
        if problem.finding is None or not problem.finding.rule.startswith("run."):
            raise
        run.findings.append(problem.finding)
    return Outcome(tuple(arguments), tuple(run.findings), run.trace)


def compile_kernel(
    module: ModuleOp,
    name: str | None = None,
    *,
    level: Level | None = None,
    target: str = "pvc",
    trace: Sequence[str] = (),
) -> Compiled:
    """Find a kernel, and compile it.

    Raises:
        SimulationError: it can't be simulated.

    >>> from layoutalg.gemm import plan_gemm
    >>> compiled = compile_kernel(read_module(plan_gemm(8, 32, 32).emit("lane")))
    >>> compiled.compiling.block
    (16, 1, 1)
    """
    function = _find_kernel(module, name)
    at = level_of(function) if level is None else level
    if at not in LEVELS:
        raise LayoutError(f"level {shown(level)}: expected {', '.join(LEVELS)}")
    block, lanes = _launch_sizes(function)
    target_info(target)
    compiling = Compiling(module, lanes, block, at, target, frozenset(trace))
    return Compiled(function, compile_region(compiling, function.body), compiling)


def run_on(
    compiled: Compiled,
    arguments: Sequence[Any],
    grid: Sequence[int],
    memory: Memory,
    *,
    run: Run | None = None,
    budget: Budget | None = None,
) -> tuple[Finding, ...]:
    """Run a compiled kernel on every workgroup of a grid; `run` receives traces. Gives the findings.

    Raises:
        SimulationError: the kernel does what the hardware would not.

    >>> from layoutalg.gemm import plan_gemm
    >>> gemm, memory = plan_gemm(8, 32, 32), Memory()
    >>> c = np.zeros((8, 32), np.float32)
    >>> ones = [np.ones(shape, np.float16) for shape in ((8, 32), (32, 32))]
    >>> addresses = [memory.bind(name, array) for name, array in zip("ABC", (*ones, c))]
    >>> run_on(compile_kernel(read_module(gemm.emit("lane"))), [*addresses, *gemm.arguments], gemm.grid, memory)
    ()
    >>> c[7, 31]
    np.float32(32.0)
    """
    sizes = _grid(grid)
    entry = compiled.function.body.blocks[0]
    given = _check_arguments(compiled.function, entry, arguments)
    items = prod(compiled.compiling.block)
    held = compiled.compiling.peak * prod(_machine(compiled, sizes, 0, 1).items)
    if held > MOST_LIVE_BYTES:
        fail(
            compiled.function, f"the values of one workgroup take {held} bytes; at most {MOST_LIVE_BYTES} are simulated"
        )
    together = max(1, min(GROUP // items, MOST_LIVE_BYTES // max(1, held)))
    machine = _machine(compiled, sizes, 0, 1)
    launched = LaunchMemory(memory, machine, tracked=_may_write(compiled.function, given))
    whole = run or Run(machine, launched)
    whole.budget = budget or Budget()
    for first in range(0, prod(sizes), together):
        part = Run(
            _machine(compiled, sizes, first, min(together, prod(sizes) - first)),
            launched,
            findings=whole.findings,
            slots=compiled.compiling.slots(),
            budget=whole.budget,
            trace=whole.trace,
            shared=whole.shared,
        )
        launched.begin_group(part.machine)
        compiled.step(part, given)
        if run is None and whole.findings:
            raise SimulationError.of(whole.findings[0])
    return tuple(whole.findings)


def _may_write(function: gpu.FuncOp, given: Sequence[Any]) -> set[int] | None:
    """The numbers of the buffers that a kernel may write; None for all of them, where that is not simple to tell."""
    blocks = function.body.blocks
    return written_buffers(blocks[0], given) if len(blocks) == 1 else None


def _machine(compiled: Compiled, grid: tuple[int, int, int], first: int, count: int) -> Machine:
    known = compiled.compiling
    return Machine(known.target, grid, known.block, known.lanes, first, count, known.level)


def _names(function: gpu.FuncOp, count: int) -> list[str]:
    arguments = function.body.blocks[0].args
    if len(arguments) != count:
        fail(function, f"it takes {len(arguments)} arguments, and was given {count}")
    return [argument.name_hint or f"argument {number}" for number, argument in enumerate(arguments)]


def _grid(grid: Sequence[int]) -> tuple[int, int, int]:
    try:
        x, y, z = (index(size) for size in grid)
    except (TypeError, ValueError):
        raise LayoutError(f"grid {shown(grid)}: expected three sizes, such as (4, 2, 1)") from None
    if min(x, y, z) < 1 or x * y * z > MOST_WORKGROUPS:
        raise LayoutError(f"grid {x}x{y}x{z}: expected positive sizes, at most {MOST_WORKGROUPS} workgroups in all")
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
    if len(numbers) != 3 or min(numbers) < 1 or numbers[0] * numbers[1] * numbers[2] > MOST_WORK_ITEMS:
        fail(
            function, f"known_block_size = {numbers}: three positive sizes are needed, {MOST_WORK_ITEMS} in all at most"
        )
    return numbers[0], numbers[1], numbers[2]


def _check_arguments(function: gpu.FuncOp, entry: Block, arguments: Sequence[Any]) -> list[Any]:
    if len(entry.args) != len(arguments):
        fail(function, f"it takes {len(entry.args)} arguments, and was given {len(arguments)}")
    for value in entry.args:
        kind: Attribute = value.type
        if not isa(kind, MemRefType[Attribute]) and (not isa(kind, IntegerType) or not kind.bitwidth):
            fail(function, f"an argument of type {kind} is not simulated; integers, addresses (i64) and memrefs are")
    numbers: list[Any] = []
    for value, argument in zip(entry.args, arguments, strict=True):
        kind = value.type
        if isa(kind, MemRefType[Attribute]):
            numbers.append(argument_view(function, kind, argument, len(numbers)))
            continue
        bits = signed_bits(value.type)
        try:
            number = index(argument)
        except TypeError:
            fail(function, f"argument {len(numbers)} is {shown(argument)}; an integer is needed for {value.type}")
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            fail(function, f"argument {len(numbers)} does not fit into {value.type}")
        signed = number - (1 << bits) if number >= 1 << (bits - 1) else number
        numbers.append(wrap(np.full((1, 1, 1), signed, np.int64), bits))
    return numbers
