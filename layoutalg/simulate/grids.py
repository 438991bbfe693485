"""A compiled kernel on a grid of workgroups: group by group, on two threads, so that large problems fit into caches and memory.

>>> from layoutalg.gemm import plan_gemm
>>> from layoutalg.ir import read_module
>>> gemm, memory = plan_gemm(8, 32, 32), Memory()
>>> c = np.zeros((8, 32), np.float32)
>>> ones = [np.ones(shape, np.float16) for shape in ((8, 32), (32, 32))]
>>> addresses = [memory.bind(name, array) for name, array in zip("ABC", (*ones, c))]
>>> found = run_on(compile_kernel(read_module(gemm.emit("lane"))), [*addresses, *gemm.arguments], gemm.grid, memory)
>>> c[7, 31], found
(np.float32(32.0), RunOutcome(findings=(), trace={}, executed=None))

Nothing depends on the number of threads: groups are the same, findings and traces are put together in their order, and kernels
with atomic operations, whose results depend on who comes first, run on one thread.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from operator import index
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LAUNCH_GROUP as GROUP
from layoutalg.core.limits import MOST_CLUSTER, MOST_LIVE_BYTES, MOST_SHARED_BYTES, MOST_WORK_ITEMS, MOST_WORKGROUPS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import listed, one_of, whole_number
from layoutalg.hardware import target_info
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects import gpu
from layoutalg.ir.findings import Finding
from layoutalg.simulate.arguments import values_of
from layoutalg.simulate.branching import compile_region, refuse_misplaced_uses
from layoutalg.simulate.compiling import Compiling, Step
from layoutalg.simulate.counting import COUNTED, Counted, Counter
from layoutalg.simulate.executed import Executed
from layoutalg.simulate.levels import level_of
from layoutalg.simulate.machine import LEVELS, Array, Budget, Level, Machine, Run, SimulationError, fail
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.memory.launched import LaunchMemory
from layoutalg.simulate.memory.provenance import shared_bytes, written_buffers
from layoutalg.simulate.memory.views import View
from layoutalg.simulate.values.elements import element

__all__ = ["CompiledKernel", "RunOutcome", "compile_kernel", "grid_of", "run_on"]

THREADS = min(2, os.cpu_count() or 1)
_ORDERED = ("memref.atomic", "xegpu.atomic", "memref.generic_atomic", "llvm.atomicrmw", "llvm.cmpxchg")
"""Operations whose results depend on which workgroup comes first."""

Progress = Callable[[float], None]
"""Told the part that is done, from 0 to 1."""


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """A kernel that is ready to run: a function that runs its body, and what was known when it was compiled.

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.ir import read_module
    >>> compile_kernel(read_module(plan_gemm(8, 32, 32).emit("lane"))).function.sym_name.data
    'gemm'
    """

    function: gpu.FuncOp
    step: Step
    compiling: Compiling

    def machine(self, grid: tuple[int, int, int], first: int, count: int, repeats: int = 1) -> Machine:
        """The work-items of `count` workgroups from number `first` on."""
        known = self.compiling
        cluster = cluster_of(self.function, known.level, known.target)
        return Machine(known.target, grid, known.block, known.lanes, first, count, known.level, repeats, cluster)


@dataclass(frozen=True)
class RunOutcome:
    """What a run has to tell: findings, for every traced name its values (one array for each time it was computed), and counts.

    >>> RunOutcome((), {}).findings
    ()
    """

    findings: tuple[Finding, ...]
    trace: Mapping[str, tuple[Array, ...]]
    executed: Executed | None = None


def compile_kernel(
    module: ModuleOp,
    name: str | None = None,
    *,
    block: tuple[int, int, int] | None = None,
    lanes: int | None = None,
    level: Level | None = None,
    target: str = "pvc",
    trace: Mapping[SSAValue, str] | None = None,
) -> CompiledKernel:
    """Find a kernel, and compile it; block sizes, lanes and level are the kernel's own unless they are given.

    Raises:
        SimulationError: it can't be simulated.

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.ir import read_module
    >>> compile_kernel(read_module(plan_gemm(8, 32, 32).emit("lane"))).compiling.block
    (16, 1, 1)
    """
    function = _find_kernel(module, name)
    refuse_misplaced_uses(function)
    at = level_of(function) if level is None else level
    if type(at) is not str or at not in LEVELS:
        raise LayoutError(f"level {shown(level)}: expected {', '.join(LEVELS)}")
    count = _subgroup_size(function, lanes, at, target)
    sizes = _block_size(function, block, at, count)
    if prod(sizes) % count:
        fail(function, f"{'x'.join(map(str, sizes))} work-items are not a whole number of subgroups of {count}")
    compiling = Compiling(module, count, sizes, at, target, trace or {})
    return CompiledKernel(function, compile_region(compiling, function.body), compiling)


def run_on(
    compiled: CompiledKernel,
    arguments: Sequence[Any],
    grid: Sequence[int],
    memory: Memory,
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
    threads: int = THREADS,
    carry_on: bool = False,
    counted: Counted | None = None,
    repeats: int = 1,
    workgroups: Sequence[int] | None = None,
) -> RunOutcome:
    """Run a compiled kernel on every workgroup of a grid; `counted` says what is counted (see `Executed`).

    The grid is run `repeats` times at once. Arguments are one number each, or one for each workgroup of all grids.
    With `workgroups` these alone are run; workgroup x + X (y + Y z) of a grid of X x Y x Z is at (x, y, z).

    `progress` is told the part that is done, from 0 to 1. Findings stop the launch, after the group of workgroups
    that has them, unless it is to `carry_on`.

    Raises:
        SimulationError: the kernel does what the hardware would not, or costs more than the budget has.

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.ir import read_module
    >>> gemm, memory = plan_gemm(8, 32, 32), Memory()
    >>> c = np.zeros((8, 32), np.float32)
    >>> ones = [np.ones(shape, np.float16) for shape in ((8, 32), (32, 32))]
    >>> addresses = [memory.bind(name, array) for name, array in zip("ABC", (*ones, c))]
    >>> run_on(compile_kernel(read_module(gemm.emit("lane"))), [*addresses, *gemm.arguments], gemm.grid, memory).findings
    ()
    >>> c[7, 31]
    np.float32(32.0)
    """
    if progress is not None:
        try:
            progress(0.0)
        except TypeError:
            raise LayoutError(f"progress {shown(progress)}: expected a function that takes a number") from None
    if counted is not None:
        counted = cast("Counted", one_of(counted, COUNTED, "counted"))
    sizes = grid_of(grid)
    given = values_of(compiled.function, arguments)
    whole = compiled.machine(sizes, 0, 1, repeats)
    held = compiled.compiling.peak * prod(whole.items)
    if held > MOST_LIVE_BYTES:
        fail(
            compiled.function, f"the values of one workgroup take {held} bytes; at most {MOST_LIVE_BYTES} are simulated"
        )
    total = prod(sizes) * repeats
    if sizes[0] % whole.cluster:
        fail(compiled.function, f"{sizes[0]} workgroups along x are not whole clusters of {whole.cluster}")
    together = _together(total, prod(compiled.compiling.block), held)
    slm = shared_bytes(compiled.function, target_info(compiled.compiling.target).slm_bytes)
    together = max(1, min(together, MOST_SHARED_BYTES // max(1, slm)))
    together = max(whole.cluster, together // whole.cluster * whole.cluster)
    parts = _stretches(_numbers_of(workgroups, total), together)
    if any(one.start % whole.cluster or len(one) % whole.cluster for one in parts):
        raise LayoutError(f"workgroups {shown(workgroups)}: expected whole clusters of {whole.cluster}")
    launched = LaunchMemory(memory, whole, tracked=_may_write(compiled.function, given))
    budget = budget or Budget()
    shared: dict[Any, Any] = {}

    def part(stretch: range) -> Run:
        first = stretch.start
        machine = compiled.machine(sizes, first, len(stretch), repeats)
        own = launched.of_group(machine)
        run = Run(machine, own, slots=compiled.compiling.slots(), budget=budget, shared=shared)
        if counted is not None:
            run.counter = Counter(machine, lines=counted == "lines")
        try:
            own_values = [_of_group(value, first, machine.count) for value in given]
            compiled.step(run, [*own_values, *_attributions(compiled.function, run)])
            own.end(run)
        except SimulationError as problem:
            if problem.finding is None or not problem.finding.rule.startswith("run.") or not carry_on:
                raise
            run.findings.append(problem.finding)
        return run

    runs = _in_order(part, parts, budget, 1 if _depends_on_order(compiled) else threads)
    return _collected(runs, parts, progress, carry_on)


def _numbers_of(workgroups: Sequence[int] | None, total: int) -> Sequence[int]:
    """The numbers of the workgroups that are run, each once, in their order."""
    if workgroups is None:
        return range(total)
    given = listed(workgroups, "workgroups")
    numbers = sorted({whole_number(number, "a workgroup's number", 0) for number in given})
    if not numbers or numbers[-1] >= total:
        raise LayoutError(f"workgroups {shown(given)}: expected numbers from 0 to {total - 1}, at least one")
    return numbers


def _stretches(numbers: Sequence[int], together: int) -> list[range]:
    """Numbers that follow each other, at most so many together.

    >>> _stretches([0, 1, 2, 5, 6], 2)
    [range(0, 2), range(2, 3), range(5, 7)]
    """
    if isinstance(numbers, range):
        return [range(first, min(first + together, numbers.stop)) for first in range(0, numbers.stop, together)]
    found: list[range] = []
    for number in numbers:
        if found and number == found[-1].stop and len(found[-1]) < together:
            found[-1] = range(found[-1].start, number + 1)
        else:
            found.append(range(number, number + 1))
    return found


def _of_group(value: Any, first: int, count: int) -> Any:
    """What some of the workgroups are given: an argument may be one number for each of them."""
    if isinstance(value, View):
        return value if value.base.shape[0] == 1 else replace(value, base=value.base[first : first + count])
    return value if value.shape[0] == 1 else value[first : first + count]


def _together(total: int, items: int, held: int) -> int:
    """How many workgroups run together: enough for numpy to be busy, few enough for a cache, and something for every thread."""
    fitting = max(1, min(GROUP // items, MOST_LIVE_BYTES // max(1, held)))
    return min(fitting, -(-total // THREADS)) if total * items > GROUP // 4 else fitting


def _in_order(part: Callable[[range], Run], parts: list[range], budget: Budget, threads: int) -> Iterator[Run]:
    """The runs of all groups, in order; on several threads, where there are several groups."""
    if threads < 2 or len(parts) < 2:
        yield from map(part, parts)
        return
    waiting: deque[Future[Run]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for stretch in parts:
                waiting.append(pool.submit(part, stretch))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            # An error, or the user interrupts: the other groups end at their next operations.
            budget.stopped = True
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _collected(runs: Iterator[Run], parts: list[range], progress: Progress | None, carry_on: bool) -> RunOutcome:
    total, done = sum(map(len, parts)), 0
    findings: dict[tuple[Any, ...], Finding] = {}
    traces: dict[str, list[list[Array]]] = {}
    counts: list[Executed] = []
    for part, run in zip(parts, runs, strict=True):
        done += len(part)
        for finding in run.findings:
            findings.setdefault((finding.rule, finding.place, finding.operation), finding)
            if not carry_on and finding.level == "error":
                raise SimulationError.of(finding)
        for name, values in run.trace.items():
            for time, value in enumerate(values):
                times = traces.setdefault(name, [])
                if time == len(times):
                    times.append([])
                times[time].append(value)
        if run.counter is not None:
            counts.append(run.counter.executed(run.memory.describe))
        if progress is not None:
            progress(done / total)
    joined = {name: tuple(np.concatenate(parts) for parts in times) for name, times in traces.items()}
    return RunOutcome(tuple(findings.values()), joined, Executed.joined(counts) if counts else None)


def _attributions(function: gpu.FuncOp, run: Run) -> list[View]:
    """The memory that a function declares behind its arguments: of the workgroup, and private to a work-item."""
    arguments = function.body.blocks[0].args
    count = len(function.function_type.inputs.data)
    shared = 0 if function.workgroup_attributions is None else function.workgroup_attributions.value.data
    found: list[View] = []
    for number, argument in enumerate(arguments[count:]):
        kind: Attribute = argument.type
        if not isa(kind, MemRefType[Attribute]) or DYNAMIC_INDEX in kind.get_shape():
            fail(function, f"memory of type {kind} is not simulated; a memref of known sizes is")
        size = element(str(kind.element_type)).dtype.itemsize
        give = run.memory.share if number < shared else run.memory.allocate
        address = give(run, function, argument, prod(kind.get_shape()) * size, argument.name_hint or f"memory {number}")
        found.append(View.row_major(np.full((1, 1, 1), address, np.int64), kind.get_shape(), size))
    return found


def _depends_on_order(compiled: CompiledKernel) -> bool:
    return any(operation.name.startswith(_ORDERED) for operation in compiled.compiling.module.walk())


def _may_write(function: gpu.FuncOp, given: Sequence[Any]) -> set[int] | None:
    """The numbers of the buffers that a kernel may write; None for all of them, where that is not simple to tell."""
    blocks = function.body.blocks
    return written_buffers(blocks[0], given) if len(blocks) == 1 else None


def grid_of(grid: Sequence[int]) -> tuple[int, int, int]:
    """The workgroups along x, y and z. Raises `LayoutError` for other than three positive sizes, and for too many.

    >>> grid_of([4, 2, 1])
    (4, 2, 1)
    """
    try:
        x, y, z = (index(size) for size in grid)
    except (TypeError, ValueError):
        raise LayoutError(f"grid {shown(grid)}: expected three sizes, such as (4, 2, 1)") from None
    if min(x, y, z) < 1 or x * y * z > MOST_WORKGROUPS:
        raise LayoutError(
            f"grid {shown((x, y, z))}: expected positive sizes, at most {MOST_WORKGROUPS} workgroups in all"
        )
    return x, y, z


def _find_kernel(module: ModuleOp, name: str | None) -> gpu.FuncOp:
    kernels = [op for op in module.walk() if isinstance(op, gpu.FuncOp) and op.kernel is not None]
    names = ", ".join(op.sym_name.data for op in kernels) or "none"
    chosen = [op for op in kernels if name in (None, op.sym_name.data, _path(op))]
    if len(chosen) != 1:
        wanted = "one kernel" if name is None else f"a kernel named {name}"
        raise LayoutError(f"expected {wanted} (a gpu.func with 'kernel') in the text; it has: {names}")
    return chosen[0]


def _path(function: gpu.FuncOp) -> str:
    """The name with that of the `gpu.module` around it."""
    around = function.parent_op()
    return f"{around.sym_name.data}::{function.sym_name.data}" if isinstance(around, gpu.ModuleOp) else ""


def cluster_of(function: gpu.FuncOp, level: Level, target: str) -> int:
    """How many workgroups of a kernel, next to each other along x, are a cluster: 1 where it does not say.

    Raises:
        SimulationError: it says sizes of clusters that are not simulated, or that the target does not have.

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.ir import read_module
    >>> cluster_of(compile_kernel(read_module(plan_gemm(8, 32, 32).emit("lane"))).function, "lane", "pvc")
    1
    """
    written = function.known_cluster_size
    if written is None:
        return 1
    sizes = [int(size) for size in static_numbers(written)]
    if len(sizes) != 3 or sizes[1:] != [1, 1] or not 1 <= sizes[0] <= MOST_CLUSTER:
        fail(
            function,
            f"known_cluster_size = {sizes}: clusters of 1 to {MOST_CLUSTER} workgroups along x are simulated",
        )
    count = sizes[0]
    if count > target_info(target).cluster:
        fail(
            function,
            f"known_cluster_size = {sizes} on {target}: its workgroups do not reach each other's shared memory",
        )
    if count > 1 and level != "lane":
        fail(function, "clusters of workgroups are simulated at lane level alone")
    return count


_NUMBERED = {"gpu.thread_id", "gpu.global_id", "gpu.subgroup_id", "gpu.num_subgroups", "gpu.block_dim", "func.call"}
"""Operations whose results depend on how many work-items a workgroup has (or may, inside what they call)."""


def _block_size(
    function: gpu.FuncOp, given: tuple[int, int, int] | None, level: Level, lanes: int
) -> tuple[int, int, int]:
    """Work-items of a workgroup. Above lane level one subgroup stands for all, where nothing asks for its number."""
    written = function.known_block_size
    if given is None and written is None:
        if level != "lane" and not any(operation.name in _NUMBERED for operation in function.walk()):
            return lanes, 1, 1
        fail(
            function,
            "known_block_size = array<i32: x, y, z> or the argument block (--block) is needed to know the work-items",
        )
    if given is not None:
        sizes = [whole_number(size, "block with", 1, MOST_WORK_ITEMS) for size in listed(given, "block")]
        if len(sizes) != 3 or prod(sizes) > MOST_WORK_ITEMS:
            raise LayoutError(
                f"block {shown(given)}: expected three sizes, at most {MOST_WORK_ITEMS} work-items in all"
            )
        return sizes[0], sizes[1], sizes[2]
    numbers = tuple(static_numbers(cast("DenseArrayBase", written)))
    if len(numbers) != 3 or min(numbers) < 1 or prod(numbers) > MOST_WORK_ITEMS:
        fail(
            function,
            f"known_block_size = {list(numbers)}: three positive sizes are needed, {MOST_WORK_ITEMS} in all at most",
        )
    return numbers[0], numbers[1], numbers[2]


def _subgroup_size(function: gpu.FuncOp, given: int | None, level: Level, target: str) -> int:
    """Lanes of a subgroup. Above lane level they do not matter, and are the chip's where nothing says them.

    AMD's and NVIDIA's chips have one number, a kernel does not ask for it.
    """
    chip = target_info(target)
    if given is not None:
        return whole_number(given, "subgroup_size", 1, MOST_WORK_ITEMS)
    for name in ("intel_reqd_sub_group_size", "reqd_sub_group_size"):
        lanes = function.attributes.get(name)
        if isinstance(lanes, IntegerAttr):
            if lanes.value.data < 1:
                fail(function, f"{name} = {lanes.value.data}: a subgroup has at least one lane")
            return lanes.value.data
    if level == "lane" and chip.vendor not in ("amd", "nvidia"):
        fail(
            function,
            "intel_reqd_sub_group_size = 16 : i32 or the argument subgroup_size (--subgroup-size) is needed to know the lanes",
        )
    return chip.subgroup_size
