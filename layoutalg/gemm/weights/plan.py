"""A planned product with quantised weights: the numbers that its kernel is made of, and what they cost.

As in any product, workgroups share C, and a subgroup keeps its tile of C in registers. A step of the loop is one group of k, or
128 of a larger one: words of 4 or 8 bits come with plain block messages and become operands of the matrix instruction in
registers (`layoutalg.gemm.weights.emission`).

Small enough to check by hand, 8 x 64 x 256 in u4 with one subgroup of 8x64: two groups of 128. A step has 8 blocks of k for
each of 4 blocks of columns, 32 DPAS, and 8 more for what the biases added. Its words come with 4 messages of 16x16 (1 KiB), A
with 4 of 8x32, the scales with 4.

>>> plan = la.plan_weights(8, 64, 256, tile=(8, 64), subgroups=(1, 1))
>>> plan.grid, plan.k_steps, plan.dpas_per_step, plan.more_dpas_per_step, plan.loads_per_step
((1, 1, 1), 2, 32, 8, 12)

Instructions of a step, for a DPAS of the product, from listings (LLVM 24, ocloc 26.27, groups of 128, none spills):

| | bmg u4 | pvc u4 | bmg u8 | pvc u8 |
|---|---|---|---|---|
| 8x64 | 13.8 | 14.2 | 16.3 | 17.7 |
| 8x64 with zero points | 15.4 | 16.7 | | |
| 32x32 | 5.8 | 6.2 | 6.4 | 6.9 |
| 32x32 with zero points | 7.4 | 8.0 | | |

The laws: every element of C belongs to one subgroup; the loop of the machine code has `dpas_per_step + more_dpas_per_step`
DPAS; what a plan computes depends on the problem and the parts of k alone (`layoutalg.gemm.weights.numerics`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import PictureOptions
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.whole_numbers import as_flag
from layoutalg.gemm.bottleneck import what_limits
from layoutalg.gemm.launched import Launched
from layoutalg.gemm.ranking import longest
from layoutalg.gemm.roofline import MEMORY_LATENCIES, Forms, reduction_clocks
from layoutalg.gemm.split_k import part_steps, reduction_grid, workspace_bytes
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.gemm.weights.problem import WeightsProblem
from layoutalg.hardware import Dpas, xe_chip

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from layoutalg.gemm.launch import Launch
    from layoutalg.gemm.weights.float8 import Float8Weights
    from layoutalg.gemm.weights.quantised import QuantisedWeights
    from layoutalg.viz.picture import Picture

__all__ = ["WeightsGemm"]

_SPARE = {True: 3.0, False: 4.5}
"""Instructions beside the written ones, for each message: payloads and waits. By whether messages have immediate offsets."""
_LOOP = 5
_AHEAD = {True: 8.0, False: 9.5}
"""Instructions of a prefetch, whose payload is written anew in every step, by whether messages have immediate offsets."""
_STEP_AHEAD = 4
"""Instructions that say which step is asked for, where something is."""


@dataclass(frozen=True, repr=False)
class WeightsGemm(NotebookAnswer, Launched):
    """A planned product with quantised weights. `emit` writes the kernel, `simulate` runs it, `launch` is for hosts.

    >>> print(la.plan_weights(8, 64, 256, tile=(8, 64)).tiling.tile)
    8x64x128
    """

    problem: WeightsProblem
    tiling: Tiling
    llvm: int = DEFAULT_LLVM

    @property
    def target(self) -> str:
        """The chip.

        >>> la.plan_weights(8, 64, 256).target
        'pvc'
        """
        return self.problem.target

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction.

        >>> la.plan_weights(8, 64, 256).dpas.builtin
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return self.problem.dpas

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups to launch: x over n, y over m, z over the parts of k and the batch.

        >>> la.plan_weights(40, 256, 256, tile=(32, 32), subgroups=(1, 2)).grid
        (4, 2, 1)
        """
        whole, product = self.tiling.workgroup_tile, self.problem.product
        return -(-product.n // whole.n), -(-product.m // whole.m), product.batch * self.tiling.split_k

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """Work-items of one workgroup.

        >>> la.plan_weights(8, 64, 256, subgroups=(1, 2)).workgroup
        (32, 1, 1)
        """
        return self.dpas.subgroup_size * self.tiling.count, 1, 1

    @property
    def reduction_grid(self) -> tuple[int, int, int]:
        """Workgroups of the second kernel, which adds the parts of k; (0, 0, 0) without one.

        >>> la.plan_weights(8, 64, 512, split_k=2, reduction="kernel").reduction_grid
        (4, 1, 1)
        >>> la.plan_weights(8, 64, 512, split_k=2, reduction="last").reduction_grid
        (0, 0, 0)
        """
        return reduction_grid(self.problem.product, self.tiling)

    @property
    def workspace_bytes(self) -> int:
        """Bytes that the sums of the parts take, where k is in parts.

        >>> la.plan_weights(8, 64, 512, split_k=2).workspace_bytes == 2 * 8 * 64 * 4
        True
        """
        return workspace_bytes(self.problem.product, self.tiling)

    @cached_property
    def k_steps(self) -> int:
        """Steps of the loop, of the longest part of k: groups, or parts of groups of more than 128.

        >>> la.plan_weights(8, 64, 256, group=64).k_steps
        4
        """
        return part_steps(self.problem.product.k, self.problem.step, self.tiling.split_k)

    @property
    def dpas_per_step(self) -> int:
        """DPAS instructions of a step that multiply weights.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64)).dpas_per_step
        32
        """
        tile, unit = self.tiling.tile, self.dpas
        return (tile.m // unit.m) * (tile.n // unit.n) * (tile.k // unit.k)

    @property
    def more_dpas_per_step(self) -> int:
        """DPAS of a step that take the biases away, that add rows of A for zero points, and of the upper halves beside bf16.

        >>> la.plan_weights(8, 64, 256, zeros=True).more_dpas_per_step
        16
        """
        tile, unit = self.tiling.tile, self.dpas
        if self.problem.floats:
            return 0
        chains = 2 if self.problem.zeros and not self.problem.uniform else 1
        return chains * (tile.m // unit.m) * (tile.k // unit.k) + (self.dpas_per_step if self.problem.halves else 0)

    @property
    def dpas_total(self) -> int:
        """DPAS instructions of the launch.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64), subgroups=(1, 1)).dpas_total
        80
        """
        product = self.problem.product
        steps = product.batch * self.grid[0] * self.grid[1] * self.tiling.count * (product.k // self.problem.step)
        return steps * (self.dpas_per_step + self.more_dpas_per_step)

    @cached_property
    def loads_per_step(self) -> int:
        """Block messages of a step: A, words, scales and zero points.

        >>> la.plan_weights(32, 64, 256, tile=(32, 32)).loads_per_step
        12
        """
        from layoutalg.gemm.weights.emission import loads

        return loads(self)

    @cached_property
    def prefetches_per_step(self) -> int:
        """Prefetches of a subgroup in a step: its share of what the workgroup needs some steps later.

        >>> la.plan_weights(8, 4096, 4096, tile=(8, 64), subgroups=(1, 4), prefetch="shared").prefetches_per_step
        9
        """
        from layoutalg.gemm.weights.prefetching import shares

        return sum(share.rounds for share in shares(self))

    @property
    def words_per_step(self) -> int:
        """Words of 32 bits that each lane holds of a step's weights.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64)).words_per_step
        64
        """
        return self.tiling.tile.n // self.dpas.n * self.problem.step * self.problem.bits // 32

    @cached_property
    def unpacking(self) -> int:
        """Instructions of a step that make operands of the matrix instruction of words, as predicted.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64)).unpacking == 64 * 5
        True
        """
        from layoutalg.gemm.weights.emission import operations

        return self.words_per_step * operations(self.problem)

    @cached_property
    def instructions(self) -> float:
        """Instructions of a step, as predicted; listings are within 15 %.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64), target="bmg", prefetch="none").instructions
        445.0
        """
        problem, tile, unit = self.problem, self.tiling.tile, self.dpas
        blocks, across = tile.m // unit.m, tile.n // unit.n
        ends = blocks * across * unit.m * (2 if problem.zeros else 1)
        immediate = xe_chip(problem.target).immediate_offsets
        messages = (1 + _SPARE[immediate]) * self.loads_per_step
        if asked := self.prefetches_per_step:
            messages += _AHEAD[immediate] * asked + _STEP_AHEAD
        return self.dpas_per_step + self.more_dpas_per_step + self.unpacking + ends + messages + _LOOP

    @property
    def bytes_per_step(self) -> int:
        """Bytes of A, words, scales and zero points that a subgroup needs in a step.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64)).bytes_per_step == 8 * 128 * 2 + 64 * 128 // 2 + 64 * 4
        True
        """
        return self._bytes_of(self.tiling.tile)

    def _bytes_of(self, tile: Tile) -> int:
        """Bytes of A, words, scales and zero points that a tile needs in a step."""
        problem = self.problem
        return problem.step * (2 * tile.m + tile.n * problem.bits // 8) + 4 * tile.n * len(problem.of_groups)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """What each of these would take alone, in seconds: instructions, the chain of waits, the matrix engines, and memory.

        The subgroups are spread over the chip's engines, whole ones. Where nothing is prefetched a subgroup waits in every step
        for memory, twice as far away as L3, before its instructions. A prefetch hides what the steps before it take, those of
        the engine's other subgroups too. The first step waits all the same, and every step waits for L3 where L1 does not hold
        the steps that were asked for. From published and assumed numbers of the chip; nothing ran on one.

        >>> plan = la.plan_weights(1, 4096, 4096, target="bmg")
        >>> max(plan.seconds, key=plan.seconds.get)
        'memory'
        """
        chip, steps = xe_chip(self.problem.target), self.k_steps
        subgroups = self.grid[0] * self.grid[1] * self.grid[2] * self.tiling.count
        on_engine = -(-subgroups // (chip.cores * chip.engines))
        each = on_engine * steps
        threads = chip.engine_threads * 128 // self.tiling.registers
        rounds, far = -(-on_engine // threads), MEMORY_LATENCIES * chip.l3_latency
        wait = far
        if self.tiling.prefetch != "none":
            busy = min(on_engine, threads) * self.instructions
            resident = -(-min(on_engine, threads) * chip.engines // self.tiling.count)
            fits = resident * self._bytes_of(self.tiling.workgroup_tile) * (1 + self.tiling.distance) <= chip.l1_bytes
            wait = max(0.0, far / self.tiling.distance - busy) if fits else chip.l3_latency
        unit = chip.dpas_clocks(self.problem.product.a, 2 * self.dpas.m * self.dpas.n * self.dpas.k)
        clocks = {
            "instructions": each * self.instructions,
            "waiting": rounds * (far + (steps - 1) * wait + steps * self.instructions),
            "matrix": each * unit * (self.dpas_per_step + self.more_dpas_per_step),
            "memory": (self.problem.bytes + self.workspace_bytes) / chip.memory_clock_bytes,
        }
        return {name: taken / (chip.clock_ghz * 1e9) for name, taken in clocks.items()}

    @property
    def limit(self) -> str:
        """What takes longest of `seconds`.

        >>> la.plan_weights(1, 4096, 4096).limit, la.plan_weights(1, 4096, 4096, split_k=1, prefetch="none").limit
        ('memory', 'waiting')
        """
        return longest(self.seconds)

    @property
    def limited(self) -> str:
        """What limits it, in words.

        >>> la.plan_weights(512, 4096, 4096).limited
        'matrix: matrix engines multiply all the time; a step of a subgroup has 80 dpas and 477 others'
        """
        parts = {"reduction": self.predicted - max(self.seconds.values())}
        step = self.dpas_per_step + self.more_dpas_per_step, round(self.instructions)
        return what_limits(self.limit, self.seconds[self.limit], self.predicted, step, parts)

    @property
    def part_of_bandwidth(self) -> float:
        """The part of the memory's bandwidth that is predicted to be used, while `predicted` seconds.

        >>> round(la.plan_weights(16, 4096, 4096, target="bmg").part_of_bandwidth, 2)
        1.0
        """
        return self.seconds["memory"] / self.predicted

    @cached_property
    def predicted(self) -> float:
        """Seconds of the whole: what takes longest of `seconds`, and the parts of k added behind it, as in any product.

        >>> plan = la.plan_weights(1, 1024, 4096)
        >>> plan.tiling.split_k > 1, plan.predicted > max(plan.seconds.values())
        (True, True)
        """
        behind = 0.0
        if self.tiling.split_k > 1:
            chip, forms = xe_chip(self.problem.target), Forms.of([(self.tiling, self.instructions)])
            tiles = np.array([float(self.grid[0] * self.grid[1])])
            behind = float(reduction_clocks(self.problem.product, forms, chip, tiles)[0]) / (chip.clock_ghz * 1e9)
        return max(self.seconds.values()) + behind

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """The grid, a workgroup, the flow of a step and how words become operands, to show in a notebook or to save.

        It has one size and one colouring: other arguments than `title` are those of pictures in general and say nothing here.

        >>> la.plan_weights(8, 64, 256).picture(title="W").title
        'W'
        """
        from layoutalg.gemm.weights.picture import weights_picture

        return weights_picture(self, options)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the kernel's arguments; `b` are the words of the weights.

        >>> [name for name, _ in la.plan_weights(8, 64, 256, zeros=True, bias="row").parameters][:6]
        ['a', 'b', 'c', 'bias', 'group_scales', 'group_zeros']
        """
        from layoutalg.gemm.weights.emission import written

        return written(self).parameters

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the kernel is launched with after its addresses: m, n, k, lda, ldc, and the strides of a batch.

        >>> la.plan_weights(8, 64, 256).arguments
        (8, 64, 256, 256, 64)
        """
        return tuple(self.problem.numbers.values())

    @property
    def launch(self) -> Launch:
        """What a host program has to know to launch the kernel.

        >>> print(la.plan_weights(8, 64, 256).launch.arguments[1])
        b: pointer, in, 32x64 u32, pitch 64, 8192 bytes at a multiple of 64
        """
        from layoutalg.gemm.weights.launching import launch_of_weights

        return launch_of_weights(self)

    def emit(self, *, pointers: bool = True) -> str:
        """The kernel as MLIR text, at lane level.

        Its addresses are pointers, or with `pointers=False` numbers (i64): `launch` says what lies there.

        >>> la.plan_weights(8, 64, 256, tile=(8, 64)).emit().count("xegpu.dpas")
        40
        """
        from layoutalg.gemm.weights.emission import emit_weights

        return emit_weights(self, pointers=as_flag(pointers, "pointers", PlanError))

    def simulate(
        self,
        a: ArrayLike,
        weights: QuantisedWeights | Float8Weights | Sequence[QuantisedWeights | Float8Weights],
        c: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        row_scale: ArrayLike | None = None,
        column_scale: ArrayLike | None = None,
        *,
        text: str | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> NDArray[Any]:
        """Run the emitted kernel on A [m, k] and weights; returns C [m, n]. `text` is the kernel to run instead.

        Of a batch A and C have another dimension in front, and `weights` are a list, one for each matrix.

        Raises:
            PlanError: weights of another size or kind than the plan's, an array that is missing or of another shape.

        >>> from layoutalg.gemm.weights import quantise
        >>> weights = quantise(np.eye(128, 64), 4, group=128)
        >>> la.plan_weights(8, 64, 128).simulate(np.ones((8, 128)), weights)[0, :3].round(3)
        array([1., 1., 1.], dtype=float32)
        """
        from layoutalg.gemm.weights.run import execute

        return execute(self, a, weights, c, bias, row_scale, column_scale, text=text, progress=progress)[0]

    def __str__(self) -> str:
        count = self.prefetches_per_step
        asked = f", {count} prefetch{'es' * (count > 1)}" if count else ""
        alone = ", ".join(f"{name} {taken * 1e6:.1f} us" for name, taken in self.seconds.items())
        return "\n".join((
            f"{self.problem}: {self.tiling}",
            f"a step: {self.dpas_per_step} + {self.more_dpas_per_step} dpas, {self.loads_per_step} loads{asked}, "
            f"{self.instructions:.0f} instructions, {self.instructions / self.dpas_per_step:.1f} for each dpas of the product",
            f"predicted {100 * self.part_of_bandwidth:.0f} % of the bandwidth; limit: {self.limited}",
            f"each alone: {alone} (computed from published and assumed numbers; nothing ran on the chip)",
            *map(str, (*self.launch.in_order, *self.launch.arguments)),
        ))  # fmt: skip
