"""How a kernel with quantised weights is launched: the arguments, with what lies behind each pointer.

>>> from layoutalg.gemm.weights import plan_weights
>>> for argument in launch_of_weights(plan_weights(8, 64, 256, "bf16", group=64)).arguments[:4]:
...     print(argument)
a: pointer, in, 8x256 bf16, pitch 256, 4096 bytes at a multiple of 64
b: pointer, in, 32x64 u32, pitch 64, 8192 bytes at a multiple of 64
c: pointer, out, 8x64 f32, pitch 64, 2048 bytes at a multiple of 64
group_scales: pointer, in, 4x64 f32, pitch 64, 1024 bytes at a multiple of 64

The words are those of `QuantisedWeights.words`, row-major.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layoutalg.gemm.launch import InMemory, Launch, LaunchArgument, launch_of_gemm
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import ALIGNMENT

if TYPE_CHECKING:
    from layoutalg.gemm.matrix_in_memory import Matrix
    from layoutalg.gemm.weights.plan import WeightsGemm

__all__ = ["launch_of_weights"]


def launch_of_weights(plan: WeightsGemm) -> Launch:
    """The launch of a planned product with quantised weights: that of the product, with what weights are."""
    problem = plan.problem
    product = launch_of_gemm(Gemm(problem.product, plan.tiling, plan.llvm))
    known = {one.name: one.memory for one in product.arguments if one.memory is not None}
    count = problem.product.batch
    words = replace(_in_memory(problem.words, count), element="u32")
    known |= {"b": words, **dict.fromkeys(problem.of_groups, _in_memory(problem.scales, count))}
    arguments = tuple(
        LaunchArgument(name, "pointer", memory=known[name])
        if name in known
        else LaunchArgument(name, kind, problem.numbers[name])
        for name, kind in plan.parameters
    )
    return replace(product, grid=plan.grid, workgroup=plan.workgroup, arguments=arguments)


def _in_memory(matrix: Matrix, count: int) -> InMemory:
    stride = matrix.rows * matrix.pitch
    size = count * stride * matrix.element_bytes
    return InMemory(matrix.element, matrix.rows, matrix.columns, matrix.pitch, stride, count, size, ALIGNMENT, "in")
