"""Decode planned: from the problem to the numbers that its kernels are made of.

Decode is bound by memory: every key is read once for a handful of rows. So the rows of a group go through the keys together,
in the rows of one DPAS, and the keys of a sequence are spread over the chip in `parts`, a workgroup each. A second kernel
combines the parts' results. Both follow from the lengths alone, never from who comes first: the bits are the same in every run.

Small enough to check by hand, 8 heads on 2 of K and V, d = 64, 4 parts: the group's 4 rows are one block of 8. A step has 32
keys, 2 blocks of 16: 2*4 DPAS for S over 4 blocks of d, 2*4 for O, and 2 for the sums of rows. It loads Q with 2 messages of
8x32, K with 2*4 of 16 keys by 16, V with 2 of 32x32. 1000 keys are 32 steps, 8 for each part.

>>> decode = la.plan_decode(1000, 64, heads=8, kv_heads=2, parts=4, target="bmg")
>>> decode.step.dpas, decode.step.loads, decode.steps_of(1000)
(18, {'Q': 2, 'K': 8, 'V': 2}, (8, 8, 8, 8))

The workspace has the O of every part with 16 columns of m and 16 of l behind it: 4 rows of 64 + 32 numbers for 4 parts of 2
groups.

>>> decode.workspace_bytes == 4 * (64 + 32) * 4 * 4 * 2
True

As in attention, S is what a product leaves in registers and P is what the next one takes, and both have one layout:

>>> decode.layouts["S"] == decode.layouts["P"]
True
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
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import as_flag, whole_number
from layoutalg.gemm.attention.decode.problem import DecodeProblem
from layoutalg.gemm.attention.held import DrawnStep, drawn_operands, layouts_of
from layoutalg.gemm.attention.plan import LEVELS
from layoutalg.gemm.attention.steps import MASKED_KEYS, Step
from layoutalg.gemm.launched import Launched
from layoutalg.gemm.versions import version_with_large_blocks
from layoutalg.hardware import BlockLoad, Dpas, block_load

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from layoutalg.gemm.attention.decode.timing import DecodeTimes
    from layoutalg.gemm.launch import Launch

__all__ = ["Decode"]

_REGISTERS = 256


@dataclass(frozen=True, repr=False)
class Decode(DrawnStep, Launched):
    """A planned decode: `rows` rows of a group for a subgroup, the keys in `parts`. `emit` writes it, `simulate` runs it.

    >>> la.plan_decode(4096, 64, heads=8, kv_heads=2, parts=4, target="bmg").rows
    8
    """

    problem: DecodeProblem
    rows: int
    parts: int
    llvm: int = DEFAULT_LLVM
    registers: int = _REGISTERS

    @property
    def target(self) -> str:
        """The chip.

        >>> la.plan_decode(1000, 64, target="bmg").target
        'bmg'
        """
        return self.problem.target

    @property
    def keys_per_step(self) -> int:
        """Keys of a step.

        >>> la.plan_decode(1000, 64, target="bmg").keys_per_step
        32
        """
        return MASKED_KEYS

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction of both products.

        >>> la.plan_decode(1000, 64, target="bmg").dpas.builtin
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return self.problem.dpas

    @property
    def depth_blocks(self) -> int:
        """Blocks of 16 along d; the last one may reach past it, where reads give 0 and writes are dropped.

        >>> la.plan_decode(64, 72, target="bmg").depth_blocks
        5
        """
        return -(-self.problem.d // self.dpas.k)

    @property
    def row_blocks(self) -> int:
        """Blocks of 8 rows that a subgroup has.

        >>> la.plan_decode(64, 64, heads=12, kv_heads=1, target="bmg").row_blocks
        2
        """
        return self.rows // self.dpas.m

    @property
    def subgroups(self) -> int:
        """Subgroups of a workgroup: they read the same keys, each for other rows of the group.

        >>> la.plan_decode(64, 64, heads=8, kv_heads=1, queries=16, target="bmg").subgroups
        8
        """
        return -(-self.problem.rows // self.rows)

    @property
    def loads(self) -> dict[str, BlockLoad]:
        """The messages that bring Q, K and V; K as pairs of elements, 32 bits, which the hardware transposes.

        >>> {name: load.name for name, load in la.plan_decode(64, 64, target="bmg").loads.items()}
        {'Q': 'read_16b_8r16x2c', 'K': 'read_transpose_32b_16r8x1c', 'V': 'read_transform_16b_32r16x2c'}
        """
        lanes, k = self.dpas.subgroup_size, self.dpas.k
        rows = min(self.keys_per_step, self.problem.page or self.keys_per_step)
        return {
            "Q": block_load(self.rows, k, 16, 2, subgroup_size=lanes),
            "K": block_load(self.dpas.n, k, 16, transpose=True, transpose_bits=32, subgroup_size=lanes),
            "V": block_load(rows, self.dpas.n, 16, 2, transform=True, subgroup_size=lanes),
        }

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups to launch: x over the parts, z over the heads of K and V of all sequences.

        >>> la.plan_decode(4096, 64, heads=8, kv_heads=2, batch=3, parts=4, target="bmg").grid
        (4, 1, 6)
        """
        return self.parts, 1, self.problem.groups

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """Work-items of one workgroup.

        >>> la.plan_decode(4096, 64, target="bmg").workgroup
        (16, 1, 1)
        """
        return self.dpas.subgroup_size * self.subgroups, 1, 1

    @property
    def combining_grid(self) -> tuple[int, int, int]:
        """Workgroups of the second kernel, one subgroup each; (0, 0, 0) with one part.

        >>> la.plan_decode(4096, 64, heads=8, kv_heads=2, parts=4, target="bmg").combining_grid
        (4, 1, 2)
        """
        from layoutalg.gemm.attention.decode.combining import combined_rows

        if self.parts == 1:
            return 0, 0, 0
        return self.depth_blocks, -(-self.problem.rows // combined_rows(self.parts)), self.problem.groups

    @property
    def workspace_columns(self) -> int:
        """Numbers of a row of the workspace: O in whole blocks, 16 times m, 16 times l.

        >>> la.plan_decode(4096, 72, target="bmg").workspace_columns
        112
        """
        return 16 * (self.depth_blocks + 2)

    @property
    def workspace_bytes(self) -> int:
        """Bytes of the parts' results; 0 with one part.

        >>> la.plan_decode(4096, 64, parts=1, target="bmg").workspace_bytes
        0
        """
        if self.parts == 1:
            return 0
        return self.parts * self.problem.groups * self.problem.rows * self.workspace_columns * 4

    def steps_of(self, length: int) -> tuple[int, ...]:
        """The steps of each part, for a sequence of so many keys.

        Raises `PlanError` for what is not a length.

        >>> plan = la.plan_decode(1000, 64, parts=4, target="bmg")
        >>> plan.steps_of(330), plan.steps_of(0)
        ((3, 3, 3, 2), (0, 0, 0, 0))
        """
        length = whole_number(length, "length =", 0, self.problem.keys, PlanError)
        steps = -(-length // self.keys_per_step)
        each = -(-steps // self.parts)
        return tuple(max(0, min(each, steps - part * each)) for part in range(self.parts))

    @property
    def step(self) -> Step:
        """A step.

        >>> la.plan_decode(4096, 128, target="bmg").step.dpas
        34
        """
        blocks, deep = self.keys_per_step // self.dpas.n, self.depth_blocks
        pairs = -(-deep // 2)
        loads = {"Q": pairs, "K": blocks * deep, "V": self.keys_per_step // self.loads["V"].rows * pairs}
        moved = (self.rows + 2 * self.keys_per_step) * deep * self.dpas.k * 2
        if self.problem.page:  # every lane reads where the page is
            loads["table"] = self.keys_per_step // self.loads["V"].rows
            moved += loads["table"] * self.dpas.subgroup_size * 4
        return Step(self.keys_per_step, self.row_blocks * blocks * (2 * deep + 1), loads, moved)

    @property
    def dpas_total(self) -> int:
        """DPAS instructions that the whole grid executes where all sequences are full.

        >>> la.plan_decode(4096, 64, heads=8, kv_heads=2, target="bmg").dpas_total == 4096 // 32 * 18 * 2
        True
        """
        return sum(self.steps_of(self.problem.keys)) * self.step.dpas * self.subgroups * self.problem.groups

    @property
    def instructions(self) -> dict[str, int]:
        """Instructions of a step without a mask in machine code, by what they are for (see `decode.timing`).

        >>> la.plan_decode(4096, 128, target="bmg").instructions["weights"]
        64
        """
        from layoutalg.gemm.attention.decode.timing import loop_instructions

        return loop_instructions(self)

    @property
    def times(self) -> DecodeTimes:
        """The predicted time where all sequences are full, what limits it, and its share of the memory's bound.

        >>> la.plan_decode(32768, 128, heads=32, kv_heads=8, batch=4, target="bmg").times.limit
        'memory'
        """
        from layoutalg.gemm.attention.decode.timing import times_of

        return times_of(self)

    @property
    def registers_needed(self) -> dict[str, int]:
        """Registers of a subgroup in a step: what stays for the whole loop, and what a step needs at its largest.

        >>> la.plan_decode(4096, 128, target="bmg").registers_needed
        {'O': 64, 'maxima': 8, 'sums': 8, 'ones': 8, 'S': 16, 'loads': 64}
        """
        size, rows, lanes = self.dpas.target.grf_bytes, self.rows, self.dpas.subgroup_size
        of_row = lanes * 4
        return {
            "O": rows * self.depth_blocks * of_row // size,
            "maxima": rows * of_row // size,
            "sums": rows * of_row // size,
            "ones": self.dpas.k * self.dpas.n * 2 // size,
            "S": rows * self.keys_per_step * 4 // size,
            "loads": 2 * self.keys_per_step * 2 * self.dpas.n * 2 // size,
        }

    @property
    def layouts(self) -> dict[str, Layout]:
        """Who holds which element of a subgroup's tiles in a step; K and V as they lie in memory, keys by d.

        >>> print(la.plan_decode(4096, 64, target="bmg").layouts["P"])
        d0 = 8@reg, d1 = 2@reg:8 16@lane
        """
        keys = self.keys_per_step // self.dpas.n
        return layouts_of(self.dpas, rows=self.row_blocks, keys=keys, depth=self.depth_blocks)

    def heading(self) -> str:
        """The problem.

        >>> la.plan_decode(64, 64, target="bmg").heading()
        'decode on bmg: 1 query, up to 64 keys, d = 64, f16'
        """
        return self.problem.title

    def shares(self) -> str:
        """Who computes how much of O, in words.

        >>> la.plan_decode(4096, 64, heads=8, kv_heads=2, parts=4, target="bmg").shares()
        '4 workgroups for each head of K and V, each for a part of the keys: 1 subgroup with 8 rows (its queries, padded)'
        """
        part = ", each for a part of the keys" * (self.parts > 1)
        who = f"{counted(self.parts, 'workgroup')} for each head of K and V{part}"
        return f"{who}: {counted(self.subgroups, 'subgroup')} with {self.rows} rows (its queries, padded)"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """What one subgroup holds of every operand in a step, to draw.

        >>> [part.name for part in la.plan_decode(64, 64, target="bmg").operands()]
        ['Q, 8x64xf16', 'K, 32x64xf16', 'S, 8x32xf32', 'P, 8x32xf16', 'V, 32x64xf16', 'O, 8x64xf32']
        """
        own_sizes(str(self.problem), (self.rows, self.keys_per_step, self.problem.d), shape)
        return drawn_operands(self.dpas, self.layouts, self.problem.type)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Names and types of the kernels' arguments: addresses, then numbers. Both kernels take all of them.

        >>> [name for name, _ in la.plan_decode(4096, 64, parts=2, target="bmg").parameters]
        ['q', 'k', 'v', 'o', 'lengths', 'workspace', 'keys']
        """
        table = ("table",) if self.problem.page else ()
        workspace = ("workspace",) if self.parts > 1 else ()
        numbers = ("keys", "pages") if self.problem.page else ("keys",)
        return (
            *((name, "i64") for name in (*"qkvo", "lengths", *table, *workspace)),
            *((name, "i32") for name in numbers),
        )

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the kernels are launched with after their addresses: the keys that a sequence has room for; the pages of a pool.

        >>> [la.plan_decode(4096, 64, target="bmg", **pool).arguments for pool in ({}, {"page": 16, "pages": 300})]
        [(4096,), (4096, 300)]
        """
        return (self.problem.keys, self.problem.pages) if self.problem.page else (self.problem.keys,)

    def emit(self, level: str = "lane", *, llvm: int | None = None, pointers: bool = True) -> str:
        """The kernels as MLIR text, for the plan's version of LLVM or another one.

        They take what `launch` says. Addresses are pointers; without `pointers` they are i64.

        Raises:
            PlanError: for other levels and versions.

        >>> la.plan_decode(4096, 64, parts=4, target="bmg").emit().count("kernel attributes")
        2
        """
        if type(level) is not str or level not in LEVELS:
            raise PlanError(f"level {shown(level)}: decode is planned for the level 'lane'")
        if llvm is not None and (version := version_with_large_blocks(llvm, "attention is")) != self.llvm:
            return replace(self, llvm=version).emit(level, pointers=pointers)
        from layoutalg.gemm.attention.decode.emission import emit_decode

        return emit_decode(self, pointers=as_flag(pointers, "pointers", PlanError))

    @property
    def launch(self) -> Launch:
        """What a host program has to know to launch the kernels: names, sizes, arguments, memory, flags.

        >>> print(la.plan_decode(4096, 64, heads=8, kv_heads=2, batch=3, parts=2, target="bmg").launch.arguments[4])
        lengths: pointer, in, 1x3 s32, pitch 3, 12 bytes at a multiple of 4
        """
        from layoutalg.gemm.attention.decode.launching import launch_of_decode

        return launch_of_decode(self)

    def simulate(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        lengths: ArrayLike | None = None,
        table: ArrayLike | None = None,
        text: str | None = None,
        *,
        progress: Callable[[float], None] | None = None,
    ) -> NDArray[Any]:
        """Run the emitted kernels; O is [batch, heads, queries, d], as Q is.

        K and V are [batch, kv_heads, keys, d], in the order "nhd" [batch, keys, kv_heads, d]. `lengths` [batch] says how many
        keys each sequence has: all, unless given. Paged K and V are [pages, kv_heads, page, d] or [pages, page, kv_heads, d],
        and `table` [batch, pages of a sequence] says which pages a sequence has; entries behind its length may be anything.
        `text` is the kernel to run, by default what `emit()` gives.

        >>> import numpy as np
        >>> ones = np.ones((2, 1, 64, 64), np.float16)
        >>> plan = la.plan_decode(64, 64, batch=2, parts=2, target="bmg")
        >>> plan.simulate(ones[:, :, :1], ones, ones, [5, 0])[:, 0, 0, 0]
        array([1., 0.], dtype=float32)
        """
        from layoutalg.gemm.attention.decode.run import execute

        return execute(self, q, k, v, lengths, table, text, progress=progress)[0]
