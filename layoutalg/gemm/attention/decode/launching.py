"""How the kernels of decode are launched: their sizes, and what lies behind each pointer.

>>> for argument in la.plan_decode(1000, 64, heads=8, kv_heads=2, parts=2, target="bmg").launch.arguments:
...     print(argument)
q: pointer, in, 8x64 f16, pitch 64, 1024 bytes at a multiple of 64
k: pointer, in, 2 x 1000x64 f16, pitch 64, stride 64000, 256000 bytes at a multiple of 64
v: pointer, in, 2 x 1000x64 f16, pitch 64, stride 64000, 256000 bytes at a multiple of 64
o: pointer, out, 8x64 f32, pitch 64, 2048 bytes at a multiple of 64
lengths: pointer, in, 1x1 s32, pitch 1, 4 bytes at a multiple of 4
workspace: pointer, scratch, 4 x 4x96 f32, pitch 96, stride 384, 6144 bytes at a multiple of 64
keys: i32, 1000

Q and O are one matrix of all rows, [batch, heads, queries] by d. In the order "nhd" K and V are a matrix for each sequence,
whose rows have all heads of a key. Pages take the place of sequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.elements import element_bits
from layoutalg.gemm.attention.decode.places import COMBINE, KERNEL
from layoutalg.gemm.launch import InMemory, KernelLaunch, Launch, LaunchArgument
from layoutalg.gemm.problem import ALIGNMENT

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["launch_of_decode"]


def launch_of_decode(plan: Decode) -> Launch:
    """The launch of a planned decode."""
    problem = plan.problem
    rows, d = problem.batch * problem.heads * problem.queries, problem.d
    count, keys, entries = problem.batch, problem.keys, problem.pages_of_sequence
    if problem.page:
        count, keys = problem.pages, problem.page
    hnd = problem.order == "hnd"
    cache = (count * problem.kv_heads, keys, d) if hnd else (count, keys, problem.kv_heads * d)
    memory = {
        "q": _matrices(problem.type, 1, rows, d, "in"),
        "k": _matrices(problem.type, *cache, "in"),
        "v": _matrices(problem.type, *cache, "in"),
        "o": _matrices(problem.out, 1, rows, d, "out"),
        "lengths": _numbers(1, problem.batch),
        "table": _numbers(problem.batch, entries),
        "workspace": _matrices("f32", plan.parts * problem.groups, problem.rows, plan.workspace_columns, "scratch"),
    }
    numbers = iter(plan.arguments)
    arguments = tuple(
        LaunchArgument(name, "pointer", memory=memory[name])
        if kind == "i64"
        else LaunchArgument(name, kind, next(numbers))
        for name, kind in plan.parameters
    )
    lanes, chip = plan.dpas.subgroup_size, problem.target
    then = (KernelLaunch(COMBINE, plan.combining_grid, (lanes, 1, 1)),) if plan.parts > 1 else ()
    return Launch(KERNEL, plan.grid, plan.workgroup, lanes, plan.registers, chip, plan.llvm, arguments, then)


def _matrices(element: str, count: int, rows: int, columns: int, use: str) -> InMemory:
    size = count * rows * columns * element_bits(element) // 8
    return InMemory(element, rows, columns, columns, rows * columns, count, size, ALIGNMENT, use)


def _numbers(rows: int, columns: int) -> InMemory:
    return InMemory("s32", rows, columns, columns, rows * columns, 1, 4 * rows * columns, 4, "in")
