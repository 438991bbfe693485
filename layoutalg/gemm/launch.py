"""How a planned kernel is launched: everything that a host program has to know, as one value.

The kernel's name, the grid and the workgroup, the register file with the flags that ask for it, and the arguments in their
order. A matrix is a pointer to memory that the host allocates: which elements, how many rows and columns, how far apart, how
many bytes, and at which multiple of bytes it begins. Matrices of a batch follow each other without a gap.

By hand: 3 matrices of 7x40 f16 are 280 elements each, 560 bytes, so A takes 3 * 560 bytes. The second one begins at byte 560,
where no block message can, so lanes move A, and A may begin at any element.

>>> launch = la.plan_gemm(7, 64, 40, batch=3).launch
>>> print(launch.arguments[0])
a: pointer, in, 3 x 7x40 f16, pitch 40, stride 280, 1680 bytes at a multiple of 2
>>> print(launch.arguments[4], launch.arguments[9], sep="; ")
n: i32, 64; stride_a: i64, 280

Where k is in parts, `then` has the second kernel, which takes the same arguments after the first has ended, and a pointer is to
a workspace. It is scratch: the host allocates it, and neither fills nor reads it.

>>> launch = la.plan_gemm(64, 64, 4096, split_k=4, reduction="kernel").launch
>>> print(launch.then[0])
gemm_reduce: 64x8x1 work-items, 16x1x1 in a workgroup
>>> print(launch.arguments[3])
workspace: pointer, scratch, 4 x 64x64 f32, pitch 64, stride 4096, 65536 bytes at a multiple of 64

With `reduction="last"` there is no second kernel, and a pointer is to counters. The host fills them with zeros once; every
launch leaves zeros.

>>> launch = la.plan_gemm(64, 64, 4096, tile=(32, 32), subgroups=(1, 1), split_k=4, reduction="last").launch
>>> print(launch.arguments[4], launch.then)
counters: pointer, zeros, 1x4 s32, pitch 4, 16 bytes at a multiple of 4 ()

With stream-K the grid is the runs, and the workspace has tiles of subgroups:

>>> launch = la.plan_gemm(40, 64, 128, tile=(8, 64), k_step=32, subgroups=(1, 1), stream_k=2).launch
>>> launch.grid, str(launch.arguments[3])
((2, 1, 1), 'workspace: pointer, scratch, 4 x 8x64 f32, pitch 64, stride 512, 8192 bytes at a multiple of 64')

The law: the arguments are those of each emitted kernel in its order, pointers first, and their numbers are the plan's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.gemm.listing.compiling import LARGE
from layoutalg.gemm.problem import ALIGNMENT
from layoutalg.gemm.split_k import counters, pitch_of_parts
from layoutalg.gemm.stream_k import slots_of_workspace
from layoutalg.gemm.turning import scratch_shape, turns

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.matrix_in_memory import Matrix
    from layoutalg.gemm.plan import Gemm

__all__ = [
    "InMemory",
    "KernelLaunch",
    "Launch",
    "LaunchArgument",
    "checked_launch",
    "launch_of_attention",
    "launch_of_gemm",
]

_LARGE_FILE = 256
_FLAGS = {"opencl": "-cl-intel-256-GRF-per-thread", "sycl": LARGE}
"""What asks Intel's compilers for 256 registers a thread (compute-runtime's and IGC's options); SYCL passes Level Zero's on.

Without it the compiler of a SPIR-V kernel takes 128 registers, warns, and keeps the rest in memory.
"""


@dataclass(frozen=True)
class InMemory:
    """The matrices behind a pointer; pitch and stride in elements, size and alignment in bytes.

    `pitch` is from row to row, `stride` from matrix to matrix; `use` is "in", "out", "in and out", "scratch": a
    workspace without initial values, whose contents are not a result, or "zeros": 0 before the first launch and after each.

    >>> InMemory("f16", 7, 40, 40, 280, 3, 1680, 2, "in").as_json()["stride"]
    280
    """

    element: str
    rows: int
    columns: int
    pitch: int
    stride: int
    count: int
    bytes: int
    alignment: int
    use: str

    def as_json(self) -> dict[str, Any]:
        """The numbers by name.

        >>> la.plan_gemm(64, 64, 64).launch.arguments[2].memory.as_json()["use"]
        'out'
        """
        return asdict(self)

    def __str__(self) -> str:
        many = f"{self.count} x " if self.count > 1 else ""
        stride = f", stride {self.stride}" if self.count > 1 else ""
        return (
            f"{self.use}, {many}{self.rows}x{self.columns} {self.element}, pitch {self.pitch}{stride}, {self.bytes} bytes "
            f"at a multiple of {self.alignment}"
        )


@dataclass(frozen=True)
class LaunchArgument:
    """One argument: a pointer with what lies there, or a number of type i32 or i64.

    `numbers` are what the host has to write there where the plan says it: where packed sequences begin.

    >>> str(LaunchArgument("m", "i32", 64))
    'm: i32, 64'
    """

    name: str
    kind: str
    value: int | None = None
    memory: InMemory | None = None
    numbers: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The argument by name: `value` for a number, `memory` for a pointer, with `numbers` where the plan says them.

        >>> LaunchArgument("m", "i32", 64).as_json()
        {'name': 'm', 'kind': 'i32', 'value': 64}
        """
        named: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.memory is None:
            return named | {"value": self.value}
        return named | {"memory": self.memory.as_json()} | ({"numbers": self.numbers} if self.numbers else {})

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}, {self.value if self.memory is None else self.memory}"


@dataclass(frozen=True)
class KernelLaunch:
    """One kernel of the binary and its sizes: `grid` counts workgroups, `workgroup` work-items.

    >>> print(KernelLaunch("gemm_reduce", (4, 8, 1), (16, 1, 1)))
    gemm_reduce: 64x8x1 work-items, 16x1x1 in a workgroup
    """

    kernel: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]

    @property
    def global_size(self) -> tuple[int, int, int]:
        """Work-items of the whole grid, x first.

        >>> KernelLaunch("gemm_reduce", (4, 8, 1), (16, 1, 1)).global_size
        (64, 8, 1)
        """
        (x, y, z), (i, j, k) = self.grid, self.workgroup
        return x * i, y * j, z * k

    def as_json(self) -> dict[str, Any]:
        """The kernel and its sizes by name.

        >>> KernelLaunch("gemm_reduce", (4, 8, 1), (16, 1, 1)).as_json()["global_size"]
        (64, 8, 1)
        """
        return {**asdict(self), "global_size": self.global_size}

    def __str__(self) -> str:
        items, group = ("x".join(map(str, sizes)) for sizes in (self.global_size, self.workgroup))
        return f"{self.kernel}: {items} work-items, {group} in a workgroup"


@dataclass(frozen=True)
class Launch:
    """What launches a kernel at lane level. `grid` counts workgroups, `workgroup` work-items; `registers` are of a thread.

    `flags` are options for the compiler of a SPIR-V kernel, by route; a zebin needs none. `then` are the kernels that follow in
    the same queue, each after the one before has ended, with the same arguments; `in_order` has all of them.

    >>> launch = la.plan_gemm(4096, 4096, 4096, target="bmg").launch
    >>> launch.kernel, launch.grid, launch.workgroup, launch.global_size, launch.registers
    ('gemm', (16, 16, 1), (512, 1, 1), (8192, 16, 1), 256)
    >>> dict(launch.flags)["opencl"]
    '-cl-intel-256-GRF-per-thread'
    """

    kernel: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    subgroup_size: int
    registers: int
    chip: str
    llvm: int
    arguments: tuple[LaunchArgument, ...]
    then: tuple[KernelLaunch, ...] = ()

    @property
    def in_order(self) -> tuple[KernelLaunch, ...]:
        """All kernels in the order in which they are launched.

        >>> [one.kernel for one in la.plan_gemm(64, 64, 4096, split_k=4, reduction="kernel").launch.in_order]
        ['gemm', 'gemm_reduce']
        """
        return KernelLaunch(self.kernel, self.grid, self.workgroup), *self.then

    @property
    def flags(self) -> tuple[tuple[str, str], ...]:
        """Options of the compiler by route: OpenCL, SYCL and Level Zero; "" where none is needed.

        >>> la.plan_gemm(64, 64, 64, registers=128, tile=(8, 16)).launch.flags
        (('opencl', ''), ('sycl', ''), ('level-zero', ''))
        """
        large = self.registers == _LARGE_FILE
        routes = (("opencl", _FLAGS["opencl"]), ("sycl", _FLAGS["sycl"]), ("level-zero", _FLAGS["sycl"]))
        return tuple((route, flag if large else "") for route, flag in routes)

    @property
    def global_size(self) -> tuple[int, int, int]:
        """Work-items of the whole grid, x first, as OpenCL asks for them (SYCL lists z first).

        >>> la.plan_gemm(64, 64, 64, tile=(16, 32), subgroups=(1, 1)).launch.global_size
        (32, 4, 1)
        """
        return self.in_order[0].global_size

    def as_json(self) -> dict[str, Any]:
        """Everything by name.

        >>> la.plan_gemm(64, 64, 64).launch.as_json()["arguments"][3]
        {'name': 'm', 'kind': 'i32', 'value': 64}
        """
        names = ("kernel", "grid", "workgroup", "subgroup_size", "registers", "chip", "llvm")
        made: dict[str, Any] = {name: getattr(self, name) for name in names}
        arguments = [argument.as_json() for argument in self.arguments]
        then = [one.as_json() for one in self.then]
        sizes = {"global_size": self.global_size, "flags": dict(self.flags)}
        return {**made, **sizes, "arguments": arguments, "then": then}

    def json(self) -> str:
        """The same as JSON text.

        >>> la.plan_gemm(64, 64, 64).launch.json()[:19]
        '{"kernel": "gemm", '
        """
        return json.dumps(self.as_json())


def checked_launch(plan: Gemm | Attention) -> Launch:
    """The launch of what a caller gave for a plan.

    Raises `PlanError` where `plan` isn't a plan for a GPU.

    >>> checked_launch(64)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: plan 64: expected a plan of plan_gemm or plan_attention for a GPU
    """
    launch: object = None if isinstance(plan, type) else getattr(plan, "launch", None)
    if not isinstance(launch, Launch):
        raise PlanError(f"plan {shown(plan)}: expected a plan of plan_gemm or plan_attention for a GPU")
    return launch


def launch_of_gemm(plan: Gemm) -> Launch:
    """The launch of a planned product."""
    from layoutalg.gemm.emission.kernel import KERNEL, REDUCE

    problem = plan.problem
    memory = {
        matrix.name.lower(): replace(
            _in_memory(matrix, stride, problem.groups if problem.groups and matrix.name == "B" else problem.batch, use),
            element=element,
            alignment=alignment,
        )
        for matrix, element, stride, alignment, use in zip(
            plan.matrices,
            (problem.a, problem.b, problem.c),  # s8 and u8, where MLIR has i8 for both
            problem.strides,
            problem.alignments,
            ("in", "in", "in and out" if problem.beta else "out"),
            strict=True,
        )
    }
    for side in problem.scaled:
        count = problem.count(side)
        memory[f"{side}_scale"] = InMemory("f32", 1, count, count, count, 1, 4 * count, 4, "in")
    if problem.bias:
        from layoutalg.gemm.matrix_in_memory import Matrix

        count = problem.count(problem.bias)
        bias = _in_memory(Matrix("bias", 1, count, count, plan.element_of("C")), count, 1, "in")
        alignment = plan.matrices[2].element_bytes if problem.groups else problem.alignments[2]
        memory["bias"] = replace(bias, element=problem.c, alignment=alignment)
    if problem.groups:
        count = problem.groups + 1
        memory["starts"] = InMemory("s32", 1, count, count, count, 1, 4 * count, 4, "in")
    if turns(plan.tiling) and plan.workspace_bytes:
        count, rows, columns = scratch_shape(problem, plan.tiling)
        shape = rows, columns, columns, rows * columns, count
        memory["workspace"] = InMemory(problem.a, *shape, plan.workspace_bytes, ALIGNMENT, "scratch")
    elif plan.tiling.stream_k:
        tile, slots = plan.tile, slots_of_workspace(problem, plan.tiling) * plan.tiling.count
        sums = tile.m, tile.n, tile.n, tile.m * tile.n, slots
        memory["workspace"] = InMemory(problem.acc, *sums, plan.workspace_bytes, ALIGNMENT, "scratch")
    elif plan.workspace_bytes:
        parts, pitch = plan.tiling.split_k * problem.batch, pitch_of_parts(problem.n)
        sums = problem.m, problem.n, pitch, problem.m * pitch, parts
        memory["workspace"] = InMemory(problem.acc, *sums, plan.workspace_bytes, ALIGNMENT, "scratch")
    if count := counters(problem, plan.tiling):
        memory["counters"] = InMemory("s32", 1, count, count, count, 1, 4 * count, 4, "zeros")
    arguments = _arguments(plan.parameters, memory, plan.arguments)
    lanes, registers = plan.dpas.subgroup_size, plan.tiling.registers
    then = (KernelLaunch(REDUCE, plan.reduction_grid, (lanes, 1, 1)),) if any(plan.reduction_grid) else ()
    return Launch(KERNEL, plan.grid, plan.workgroup, lanes, registers, plan.target, plan.llvm, arguments, then)


def launch_of_attention(plan: Attention) -> Launch:
    """The launch of a planned attention.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> print(plan_attention(64, 64, 64, heads=8, kv_heads=2, target="bmg").launch.arguments[1])
    k: pointer, in, 2 x 64x64 f16, pitch 64, stride 4096, 16384 bytes at a multiple of 64
    """
    problem = plan.problem
    memory = {
        matrix.name.lower(): _in_memory(
            matrix,
            matrix.rows * matrix.pitch,
            problem.count_of(matrix.name),
            "out" if matrix.name == "O" else "in",
        )
        for matrix in problem.matrices
    }
    starts = problem.named_starts
    for name, numbers in starts.items():
        count = len(numbers)
        memory[name] = InMemory("s32", 1, count, count, count, 1, 4 * count, 4, "in")
    arguments = tuple(
        replace(one, numbers=starts.get(one.name, ())) for one in _arguments(plan.parameters, memory, plan.arguments)
    )
    lanes, chip = plan.dpas.subgroup_size, problem.target
    return Launch("attention", plan.grid, plan.workgroup, lanes, plan.registers, chip, plan.llvm, arguments)


def _in_memory(matrix: Matrix, stride: int, count: int, use: str) -> InMemory:
    size = count * stride * matrix.element_bytes
    shape = matrix.element, matrix.rows, matrix.columns, matrix.pitch
    return InMemory(*shape, stride, count, size, ALIGNMENT, use)


def _arguments(
    parameters: Iterable[tuple[str, str]], memory: dict[str, InMemory], numbers: Sequence[int]
) -> tuple[LaunchArgument, ...]:
    values = iter(numbers)
    return tuple(
        LaunchArgument(name, "pointer", memory=memory[name])
        if name in memory
        else LaunchArgument(name, kind, next(values))
        for name, kind in parameters
    )
