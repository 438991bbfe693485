"""Attention planned: from the problem to the numbers that the kernel is made of.

A subgroup has 16 queries (8 for heads of more than 128) and keeps their rows of O in registers while it goes through the keys.
The workgroups of the grid share the queries; z counts heads. A step takes 64 keys: S = Q K^T, P = 2^(...) and
O += P V. S is what a product leaves in registers and P is what the next one takes, and both have one layout:

>>> attention = la.plan_attention(256, 1000, 64, target="bmg")
>>> attention.layouts["S"] == attention.layouts["P"], attention.exchange.kind
(True, 'identity')

Small enough to check by hand: 16 queries are 2 blocks of 8 rows, 64 keys are 4 blocks of 16, d = 64 is 4 blocks of 16. So a
step has 2*4*4 DPAS for S, as many for O, and 2*4 for the sums of rows. It loads Q with 2 messages of 16x32, K with 4*4
messages of 16 keys by 16, and V with 2*2 messages of 32x32: 22 messages, and 2 KiB + 8 KiB + 8 KiB.

>>> step = attention.step
>>> step.dpas, step.messages, step.bytes
(72, 22, 18432)

1000 keys are 15 steps of 64, and 40 are left over: 2 steps of 32 with a mask, which come first.

>>> attention.steps_of(0)
Steps(masked=2, seen=15)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from layoutalg.core import Layout
from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Operand, own_sizes
from layoutalg.core.whole_numbers import as_flag, whole_number
from layoutalg.gemm.attention.arguments import arguments_of, parameters_of
from layoutalg.gemm.attention.held import DrawnStep, drawn_operands, layouts_of
from layoutalg.gemm.attention.problem import AttentionProblem, as_f32
from layoutalg.gemm.attention.steps import MASKED_KEYS, Share, Step, Steps, all_steps, keys_of_step, shared, steps_of
from layoutalg.gemm.launched import Launched
from layoutalg.gemm.versions import version_with_large_blocks
from layoutalg.hardware import BlockLoad, BlockStore, Dpas, block_load, block_store

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from layoutalg.conversion import ConversionPlan
    from layoutalg.gemm.attention.timing import AttentionTimes
    from layoutalg.gemm.launch import Launch

__all__ = ["Attention"]

LEVELS = ("lane",)

_REGISTERS = 256
_LARGEST_SCALED = 2**12
PREFETCHES = ("none", "shared")
MAXIMA = ("online", "first")


@dataclass(frozen=True, repr=False)
class Attention(DrawnStep, Launched):
    """A planned attention: `rows` queries for a subgroup, `subgroups` in a workgroup. `emit` writes it, `simulate` runs it.

    >>> la.plan_attention(256, 256, 64, target="bmg").rows, la.plan_attention(256, 256, 192, target="bmg").rows
    (16, 8)
    """

    problem: AttentionProblem
    rows: int
    subgroups: int
    llvm: int = DEFAULT_LLVM
    prefetch: str = "none"
    registers: int = _REGISTERS
    maximum: str = "online"
    """Whether the m of a row follows its scores ("online"), or is that of its first keys ("first")."""

    @property
    def keys_per_step(self) -> int:
        """Keys of a step of the loop over keys that all queries of a subgroup see.

        >>> la.plan_attention(64, 64, 64, target="bmg").keys_per_step
        64
        """
        return keys_of_step(self.problem.d)

    @property
    def keys_per_masked_step(self) -> int:
        """Keys of a step with a mask.

        >>> la.plan_attention(64, 64, 64, target="bmg").keys_per_masked_step
        32
        """
        return MASKED_KEYS

    @property
    def limit(self) -> float:
        """How far a score may be above the m of its row, as f32: 8 / (scale * log2(e)), so that a weight is at most 2^8.

        >>> la.plan_attention(64, 64, 64, scale=1.0, target="bmg").limit
        5.545177459716797
        """
        return as_f32(8 / self.problem.exponent_scale)

    @property
    def largest_m(self) -> float:
        """How large the m of a row may be, as f32: 2^12 / (scale * log2(e)). Rows with a larger one take the slower way.

        >>> la.plan_attention(64, 64, 64, scale=1.0, target="bmg").largest_m
        2839.130859375
        """
        return as_f32(_LARGEST_SCALED / self.problem.exponent_scale)

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction of both products.

        >>> la.plan_attention(64, 64, 64, target="bmg").dpas.builtin
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return self.problem.dpas

    @property
    def depth_blocks(self) -> int:
        """Blocks of 16 along d; the last one may reach past it, where reads give 0 and writes are dropped.

        >>> la.plan_attention(64, 64, 72, target="bmg").depth_blocks
        5
        """
        return -(-self.problem.d // self.dpas.k)

    @property
    def row_blocks(self) -> int:
        """Blocks of 8 queries that a subgroup has.

        >>> la.plan_attention(64, 64, 64, target="bmg").row_blocks
        2
        """
        return self.rows // self.dpas.m

    @property
    def loads(self) -> dict[str, BlockLoad]:
        """The messages that bring Q, K and V; K as pairs of elements, 32 bits, which the hardware transposes.

        >>> {name: load.name for name, load in la.plan_attention(64, 64, 64, target="bmg").loads.items()}
        {'Q': 'read_16b_16r16x2c', 'K': 'read_transpose_32b_16r8x1c', 'V': 'read_transform_16b_32r16x2c'}
        """
        lanes, k = self.dpas.subgroup_size, self.dpas.k
        return {
            "Q": block_load(self.rows, k, 16, 2, subgroup_size=lanes),
            "K": block_load(self.dpas.n, k, 16, transpose=True, transpose_bits=32, subgroup_size=lanes),
            "V": block_load(self.keys_per_masked_step, self.dpas.n, 16, 2, transform=True, subgroup_size=lanes),
        }

    @property
    def store(self) -> BlockStore:
        """The message that takes a block of O away.

        >>> la.plan_attention(64, 64, 64, out="f16", target="bmg").store.bits
        16
        """
        bits = 32 if self.problem.out == "f32" else 16
        return block_store(self.dpas.m, self.dpas.n, bits, subgroup_size=self.dpas.subgroup_size)

    @property
    def share(self) -> Share | None:
        """What the subgroups of a workgroup prefetch for one another in a step; None where nothing is prefetched.

        >>> la.plan_attention(1024, 1024, 128, target="bmg").share
        Share(blocks=4, columns=4, rounds=1)
        """
        return shared(self.problem.d, self.subgroups) if self.prefetch == "shared" else None

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups to launch: x over the queries, z over heads and batch (heads are neighbours).

        >>> la.plan_attention(1000, 256, 64, heads=8, batch=2, target="bmg").grid
        (8, 1, 16)
        """
        problem, each = self.problem, self.rows * self.subgroups
        longest = max(1, *(one.queries for one in problem.sequences))
        return -(-longest // each), 1, problem.heads * problem.batch * len(problem.sequences)

    def _subgroups_of(self, one: AttentionProblem) -> int:
        """Subgroups of one head of a sequence, those past the last query included, but not where they leave at once."""
        each = self.rows * (self.subgroups if self.problem.starts is None else 1)
        return -(-one.queries // each) * each // self.rows

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """Work-items of one workgroup.

        >>> la.plan_attention(1000, 256, 64, target="bmg").workgroup
        (128, 1, 1)
        """
        return self.dpas.subgroup_size * self.subgroups, 1, 1

    def steps_of(self, row: int) -> Steps:
        """The steps of the subgroup whose first query is `row`.

        Raises `PlanError` for what is not a row.

        >>> la.plan_attention(256, 256, 64, causal=True, target="bmg").steps_of(240)
        Steps(masked=2, seen=3)
        """
        return steps_of(self.problem, self.rows, whole_number(row, "row =", 0, 2**32, PlanError))

    @property
    def steps_total(self) -> Steps:
        """The steps of all subgroups of the grid.

        >>> la.plan_attention(256, 256, 64, heads=2, causal=True, target="bmg").steps_total
        Steps(masked=48, seen=48)
        """
        problem, total = self.problem, Steps(0, 0)
        for one in problem.sequences:
            total += all_steps(one, self.rows, self._subgroups_of(one))
        return total * (problem.heads * problem.batch)

    @property
    def step(self) -> Step:
        """A step of the loop over keys that all queries see, which is nearly all of the work.

        >>> la.plan_attention(256, 256, 64, target="bmg").step.dpas
        72
        """
        return self._step(self.keys_per_step)

    @property
    def masked_step(self) -> Step:
        """A step with a mask.

        >>> la.plan_attention(256, 256, 64, target="bmg").masked_step.dpas
        36
        """
        return self._step(self.keys_per_masked_step)

    def _step(self, keys: int) -> Step:
        unit, deep = self.dpas, self.depth_blocks
        blocks, pairs = keys // unit.n, -(-deep // 2)
        loads = {"Q": pairs, "K": blocks * deep, "V": keys // self.loads["V"].rows * pairs}
        moved = (self.rows + 2 * keys) * deep * unit.k * 2
        return Step(keys, self.row_blocks * blocks * (2 * deep + 1), loads, moved)

    @property
    def dpas_total(self) -> int:
        """DPAS instructions that the whole grid executes, where no row gets another m after the first keys.

        >>> la.plan_attention(256, 256, 64, target="bmg").dpas_total
        4736
        """
        steps = self.steps_total
        return (
            steps.seen * self.step.dpas + steps.masked * self.masked_step.dpas + self.subgroups_total * self._first.dpas
        )

    @property
    def subgroups_total(self) -> int:
        """Subgroups of the whole grid, without those that leave at once.

        >>> la.plan_attention(256, 256, 64, heads=4, target="bmg").subgroups_total
        64
        """
        heads = self.problem.heads * self.problem.batch
        return sum(self._subgroups_of(one) for one in self.problem.sequences) * heads

    @property
    def _starts_read(self) -> int:
        """Numbers that subgroups read to know their packed sequence: four each, also where they leave at once."""
        return 0 if self.problem.starts is None else 4 * self.grid[0] * self.grid[2] * self.subgroups

    @property
    def _first(self) -> Step:
        """What a subgroup does to know where its rows begin: the scores of the first 16 keys."""
        unit, deep = self.dpas, self.depth_blocks
        moved = (self.rows + unit.n) * deep * unit.k * 2
        return Step(unit.n, self.row_blocks * deep, {"Q": -(-deep // 2), "K": deep}, moved)

    @property
    def messages_total(self) -> int:
        """Load messages that the whole grid sends, where no row gets another m after the first keys.

        >>> la.plan_attention(256, 256, 64, target="bmg").messages_total
        1504
        """
        steps = self.steps_total
        steps_alone = steps.seen * self.step.messages + steps.masked * self.masked_step.messages
        return steps_alone + self.subgroups_total * self._first.messages + self._starts_read

    @property
    def prefetches_total(self) -> int:
        """Prefetch messages that the whole grid sends: one round before the first step, and one in each step without a mask.

        >>> la.plan_attention(256, 256, 64, target="bmg").prefetches_total
        80
        """
        rounds = 0 if self.share is None else self.share.rounds
        return rounds * (self.steps_total.seen + self.subgroups_total)

    @property
    def bytes_total(self) -> int:
        """Bytes that those messages bring into registers.

        >>> la.plan_attention(256, 256, 64, target="bmg").bytes_total
        1245184
        """
        steps = self.steps_total
        steps_alone = steps.seen * self.step.bytes + steps.masked * self.masked_step.bytes
        return steps_alone + self.subgroups_total * self._first.bytes + 4 * self.dpas.subgroup_size * self._starts_read

    @property
    def instructions(self) -> dict[str, int]:
        """Instructions of a step in the machine code of the current graphics compiler, by what they are for (see `counting`).

        >>> la.plan_attention(256, 256, 64, target="bmg").instructions["weights"]
        192
        """
        from layoutalg.gemm.attention.counting import loop_instructions

        return loop_instructions(self)

    @property
    def useful_dpas(self) -> int:
        """DPAS of a step for the two products alone, without those that sum rows.

        >>> la.plan_attention(256, 256, 64, target="bmg").useful_dpas
        64
        """
        return self.step.dpas - self.row_blocks * (self.keys_per_step // self.dpas.n)

    @property
    def instructions_per_dpas(self) -> float:
        """Those instructions for each of the useful DPAS.

        >>> round(la.plan_attention(256, 256, 64, target="bmg").instructions_per_dpas, 1)
        6.8
        """
        return sum(self.instructions.values()) / self.useful_dpas

    @property
    def times(self) -> AttentionTimes:
        """How long the kernel takes by the model of `timing`.

        >>> la.plan_attention(4096, 4096, 64, heads=16, target="bmg").times.limit
        'issue'
        """
        from layoutalg.gemm.attention.timing import times_of

        return times_of(self)

    @property
    def registers_needed(self) -> dict[str, int]:
        """Registers of a subgroup in a step: what stays for the whole loop, and what a step needs at its largest.

        Of Q, K and V the loop holds what one message brings, and the next one's.

        >>> la.plan_attention(256, 256, 128, target="bmg").registers_needed
        {'O': 128, 'maxima': 16, 'sums': 16, 'ones': 8, 'S': 32, 'loads': 32}
        """
        size, rows = self.dpas.target.grf_bytes, self.rows
        lanes = self.dpas.subgroup_size
        return {
            "O": rows * self.depth_blocks * self.dpas.n * 4 // size,
            "maxima": rows * lanes * 4 // size,
            "sums": rows * lanes * 4 // size,
            "ones": self.dpas.k * self.dpas.n * 2 // size,
            "S": rows * self.keys_per_step * 4 // size,
            "loads": 2 * rows * 2 * self.dpas.k * 2 // size,
        }

    @property
    def layouts(self) -> dict[str, Layout]:
        """Who holds which element of a subgroup's tiles in a step; K and V as they lie in memory, keys by d.

        >>> for name, layout in la.plan_attention(16, 64, 32, target="bmg").layouts.items():
        ...     print(name, layout)
        Q d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane
        K d0 = 4@reg:32 16@lane, d1 = 2@reg:16 16@reg
        S d0 = 2@reg:32 8@reg, d1 = 4@reg:8 16@lane
        P d0 = 2@reg:32 8@reg, d1 = 4@reg:8 16@lane
        V d0 = 4@reg:32 16@reg, d1 = 2@reg:16 16@lane
        O d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane
        """
        keys = self.keys_per_step // self.dpas.n
        return layouts_of(self.dpas, rows=self.row_blocks, keys=keys, depth=self.depth_blocks)

    @property
    def exchange(self) -> ConversionPlan:
        """What it takes to turn the S of a subgroup into its P: nothing.

        >>> la.plan_attention(256, 256, 64, target="bmg").exchange.shuffles
        0
        """
        from layoutalg.conversion import convert

        return convert(self.layouts["S"], self.layouts["P"])

    def heading(self) -> str:
        """The problem.

        >>> la.plan_attention(64, 64, 64, target="bmg").heading()
        'attention on bmg: 64 queries, 64 keys, d = 64, f16'
        """
        return self.problem.title

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """What one subgroup holds of every operand in a step, to draw.

        >>> [part.name for part in la.plan_attention(64, 64, 64, target="bmg").operands()]
        ['Q, 16x64xf16', 'K, 64x64xf16', 'S, 16x64xf32', 'P, 16x64xf16', 'V, 64x64xf16', 'O, 16x64xf32']
        """
        own_sizes(str(self.problem), (self.rows, self.keys_per_step, self.problem.d), shape)
        return drawn_operands(self.dpas, self.layouts, self.problem.type)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Names and types of the kernel's arguments: addresses, sizes and, for several heads, the elements between them.

        Arrays with gaps or with heads side by side have four pitches and four strides.

        >>> [name for name, _ in la.plan_attention(64, 64, 64, heads=2, target="bmg").parameters]
        ['q', 'k', 'v', 'o', 'queries', 'keys', 'stride_q', 'stride_kv', 'stride_o']
        >>> [name for name, _ in la.plan_attention(64, 64, 64, ldk=128, target="bmg").parameters]
        ['q', 'k', 'v', 'o', 'queries', 'keys', 'ldq', 'ldk', 'ldv', 'ldo']
        """
        return parameters_of(self)

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the kernel is launched with after its addresses.

        >>> la.plan_attention(40, 100, 64, heads=2, target="bmg").arguments
        (40, 100, 2560, 6400, 2560)
        """
        return arguments_of(self)

    def emit(self, level: str = "lane", *, llvm: int | None = None, pointers: bool = True) -> str:
        """The kernel as MLIR text, for the plan's version of LLVM or another one.

        It takes the addresses of Q, K, V and O (multiples of 64 bytes) and `arguments`, and runs on `grid` workgroups of
        `workgroup` work-items. Addresses are pointers, so that any host passes its buffers; without `pointers` they are i64.

        Raises:
            PlanError: for other levels and versions.

        >>> la.plan_attention(64, 64, 64, target="bmg").emit().count("xegpu.dpas")
        200
        """
        if type(level) is not str or level not in LEVELS:
            raise PlanError(f"level {shown(level)}: attention is planned for the level 'lane'")
        if llvm is not None and (version := version_with_large_blocks(llvm, "attention is")) != self.llvm:
            return replace(self, llvm=version).emit(level, pointers=pointers)
        from layoutalg.gemm.attention.emission import emit_lane

        return emit_lane(self, pointers=as_flag(pointers, "pointers", PlanError))

    @property
    def launch(self) -> Launch:
        """What a host program has to know to launch the kernel: names, sizes, arguments, memory, flags.

        >>> la.plan_attention(1000, 256, 64, heads=8, target="bmg").launch.global_size
        (1024, 1, 8)
        """
        from layoutalg.gemm.launch import launch_of_attention

        return launch_of_attention(self)

    def simulate(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        text: str | None = None,
        *,
        progress: Callable[[float], None] | None = None,
    ) -> NDArray[Any]:
        """Run the emitted kernel on arrays [queries, d] and [keys, d], with [batch, heads] or [heads] in front of several.

        In the order "bshd" arrays are [queries, heads, d] and [keys, heads, d], with [batch] in front of several.

        `text` is the kernel to run, by default what `emit()` gives. `progress` is told the part that is done.

        >>> import numpy as np
        >>> ones = np.ones((8, 64), np.float16)
        >>> bool((la.plan_attention(8, 8, 64, target="bmg").simulate(ones, ones, ones) == 1).all())
        True
        """
        from layoutalg.gemm.attention.run import execute

        return execute(self, q, k, v, text, progress=progress)[0]
