"""Matrix products planned: from the problem to the numbers that the kernel is made of.

The workgroups of the grid share C; the subgroups of a workgroup share its tile; a subgroup keeps its tile in registers for the
whole loop over k. A step of the loop loads the tile's columns of A and rows of B and multiplies them with DPAS instructions.

Small enough to check by hand, 64x64x64 in f16 with one subgroup of 16x32, 32 deep: the grid is 2x4 workgroups (x over n, y over
m). A step loads 16x32 of A and 32x32 of B, with two messages and one (1024 + 2048 bytes), and has 2*2*2 DPAS of 8x16, 16 deep;
there are 2 steps. In registers of 64 bytes a subgroup holds 16 of A, 32 of B and 32 of C.

>>> gemm = la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=32, subgroups=(1, 1), registers=256, prefetch="none")
>>> gemm.grid, gemm.k_steps, gemm.dpas_per_step, gemm.bytes_per_step
((2, 4, 1), 2, 8, 3072)
>>> gemm.registers.a, gemm.registers.b, gemm.registers.c, gemm.registers.available
(16, 32, 32, 256)

The laws: every element of C belongs to one subgroup; `dpas_total` times the 2*8*16*16 operations of one DPAS is the work of the
padded problem; the emitted kernel has `dpas_per_step` dpas operations in its loop, and so has its machine code, because sizes
are arguments of the kernel and nothing is there to unroll.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Unpack

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import Distributed, Machine, Operand, PictureOptions
from layoutalg.core.whole_numbers import as_flag, one_of
from layoutalg.gemm.arguments import numbers_of, parameters_of
from layoutalg.gemm.fragments import Fragment, fragments_of, operands_of
from layoutalg.gemm.launched import Launched, Planned
from layoutalg.gemm.matrix_in_memory import Matrix
from layoutalg.gemm.messages import Message, messages
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.registers import Registers, registers
from layoutalg.gemm.roles import ROLES, in_loop, other_name
from layoutalg.gemm.search import Found, search
from layoutalg.gemm.split_k import counters, reduction_grid, steps_of_longest, workspace_bytes
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.gemm.turning import share_bytes
from layoutalg.gemm.versions import checked_version
from layoutalg.hardware import Dpas, XeChip

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from layoutalg.gemm.launch import Launch
    from layoutalg.gemm.layouts import Layouts
    from layoutalg.gemm.listing import Listing
    from layoutalg.viz.picture import Picture

__all__ = ["LEVELS", "Gemm"]

LEVELS = ("lane", "subgroup", "workgroup")


@dataclass(frozen=True, repr=False)
class Gemm(Planned, Distributed, Launched):
    """A planned product: the problem, and every choice made for it. `emit` writes the kernel, `simulate` runs it.

    `llvm` is the version that the kernel is written for: 22 lowers small messages alone, 23 and 24 large ones. `board` is a
    product of your own, whose numbers were used instead of the target's.

    >>> la.plan_gemm(512, 512, 512).llvm
    24
    """

    problem: Problem
    tiling: Tiling
    llvm: int = DEFAULT_LLVM
    board: XeChip | None = None

    @property
    def m(self) -> int:
        """Rows of A and C.

        >>> la.plan_gemm(40, 80, 48).m
        40
        """
        return self.problem.m

    @property
    def n(self) -> int:
        """Columns of B and C.

        >>> la.plan_gemm(40, 80, 48).n
        80
        """
        return self.problem.n

    @property
    def k(self) -> int:
        """Columns of A and rows of B.

        >>> la.plan_gemm(40, 80, 48).k
        48
        """
        return self.problem.k

    @property
    def target(self) -> str:
        """The chip.

        >>> la.plan_gemm(40, 80, 48).target
        'pvc'
        """
        return self.problem.target

    @property
    def tile(self) -> Tile:
        """What one subgroup computes, and how deep a step is.

        >>> la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=32).tile
        Tile(m=16, n=32, k=32)
        """
        return self.tiling.tile

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction that the kernel uses.

        >>> la.plan_gemm(64, 64, 64).dpas.builtin
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return self.problem.dpas

    @property
    def instruction(self) -> str:
        """The operation that becomes the matrix instruction: what LLVM lowers for these types.

        >>> la.plan_gemm(64, 64, 64, "s8").instruction, la.plan_gemm(64, 64, 64, "tf32").instruction
        ('llvm.call', 'xevm.mma')
        """
        from layoutalg.lowering.matrix_instruction import instruction

        return instruction(self.problem.a)

    @property
    def accumulator(self) -> str:
        """The MLIR type of an accumulator.

        >>> la.plan_gemm(64, 64, 64, "s8").accumulator
        'i32'
        """
        return mlir_type(self.problem.acc)

    def element_of(self, operand: str) -> str:
        """The MLIR type of the elements of A, B or C in memory.

        Raises `PlanError` for other operands.

        >>> la.plan_gemm(64, 64, 64, "s8").element_of("A")
        'i8'
        """
        return self.matrices["ABC".index(one_of(operand, ("A", "B", "C"), "operand", PlanError))].element

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        """A, B and C as they lie in memory.

        >>> [str(matrix) for matrix in la.plan_gemm(40, 80, 48).matrices]
        ['A is 40x48 f16', 'B is 48x80 f16', 'C is 40x80 f32']
        """
        return self.problem.matrices

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The block messages of a step that load A and B; those of `problem.edges` are loaded element by element.

        >>> gemm = la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=32, registers=256)
        >>> [message.load.name for message in gemm.messages]
        ['read_16b_16r16x2c', 'read_transform_16b_32r16x2c']
        """
        edges = self.problem.edges
        found = messages(self.problem, self.tiling, self.llvm)
        if self.exchanged:
            return tuple(replace(message, operand=other_name(message.operand)) for message in found)
        return tuple(message for message in found if message.operand not in edges) if edges else found

    @property
    def blocks(self) -> tuple[int, int]:
        """How many DPAS blocks the tile has in m and in n.

        >>> la.plan_gemm(64, 64, 64, tile=(16, 32)).blocks
        (2, 2)
        """
        if self.exchanged:
            return self.loop.blocks[1], self.loop.blocks[0]
        return self.tile.m // self.dpas.m, self.tile.n // self.dpas.n

    @property
    def exchanged(self) -> bool:
        """Whether A and B change roles in the loop.

        >>> la.plan_gemm(64, 96, 64, trans_a=True, trans_b=True, transpose="roles").exchanged
        True
        """
        return self.tiling.transpose == ROLES

    @property
    def loop(self) -> Gemm:
        """The plan that the loop has: this one, that of C^T = B^T A^T where A and B change roles (`gemm.roles`), or that of
        twice as many columns for a gated pair (`gemm.gated`).

        >>> la.plan_gemm(64, 96, 64, trans_a=True, trans_b=True, transpose="roles").loop.m
        96
        """
        problem, tiling = in_loop(self.problem, self.tiling)
        return self if tiling is self.tiling else replace(self, problem=problem, tiling=tiling)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups to launch: x over n, y over m, z over the parts of k and the batch; x over the runs of stream-K.

        >>> la.plan_gemm(40, 80, 48, tile=(32, 32), subgroups=(1, 1), batch=5).grid
        (3, 2, 5)
        """
        whole = self.tiling.workgroup_tile
        if self.tiling.stream_k:
            return self.tiling.stream_k, 1, 1
        if self.problem.groups:
            return -(-self.n // whole.n), self.m // whole.m + self.problem.groups, 1
        return -(-self.n // whole.n), -(-self.m // whole.m), self.problem.batch * self.tiling.split_k

    @property
    def reduction_grid(self) -> tuple[int, int, int]:
        """Workgroups of the second kernel, `gemm_reduce`, which adds the parts of k; (0, 0, 0) without one.

        Each is one subgroup. It takes the arguments of the first kernel, and is launched behind it in the same queue.

        >>> la.plan_gemm(64, 64, 4096, split_k=4, reduction="kernel").reduction_grid
        (4, 8, 1)
        """
        return reduction_grid(self.problem, self.tiling)

    @property
    def workspace_bytes(self) -> int:
        """Bytes of the argument `workspace`, at a multiple of 64: the sums of all parts, or a scratch to transpose A; else 0.

        >>> la.plan_gemm(64, 64, 4096, split_k=4).workspace_bytes
        65536
        """
        return workspace_bytes(self.problem, self.tiling)

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """Work-items of one workgroup.

        >>> la.plan_gemm(64, 64, 64, subgroups=(2, 2)).workgroup
        (64, 1, 1)
        """
        return self.dpas.subgroup_size * self.tiling.count, 1, 1

    @property
    def k_steps(self) -> int:
        """Steps of the loop over k, of the longest part where k is in parts; those of a run with stream-K.

        >>> la.plan_gemm(72, 200, 136, k_step=16).k_steps
        9
        """
        return steps_of_longest(self.problem, self.tiling)

    @property
    def dpas_per_step(self) -> int:
        """DPAS instructions of one subgroup in one step.

        >>> la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=32).dpas_per_step
        8
        """
        rows, columns = self.blocks
        return rows * columns * (self.tile.k // self.dpas.k) * (2 if self.problem.gated else 1)

    @property
    def subgroups_total(self) -> int:
        """Subgroups of the whole grid.

        >>> la.plan_gemm(40, 80, 48, tile=(32, 32), subgroups=(1, 2)).subgroups_total
        8
        """
        return prod(self.grid) * self.tiling.count

    @property
    def dpas_total(self) -> int:
        """DPAS instructions that the whole grid executes.

        >>> la.plan_gemm(64, 64, 64, tile=(32, 32), subgroups=(1, 1)).dpas_total
        128
        """
        stream, parts = self.tiling.stream_k, self.tiling.split_k
        tiles = counters(self.problem, self.tiling) if stream else self.subgroups_total // parts
        return self.dpas_per_step * -(-self.k // self.tile.k) * tiles

    @property
    def bytes_per_step(self) -> int:
        """Bytes that one subgroup loads in one step.

        >>> la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=32).bytes_per_step
        3072
        """
        by_messages = sum(message.bytes for message in messages(self.problem, self.tiling, self.llvm))
        return by_messages + share_bytes(self.problem, self.tiling)

    @property
    def fragments(self) -> tuple[Fragment, Fragment, Fragment]:
        """What a subgroup holds of A, B and C in a step.

        >>> [(f.name, f.count, f.vector) for f in la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=16).fragments]
        [('A', 2, 'vector<8xf16>'), ('B', 2, 'vector<16xf16>'), ('C', 4, 'vector<8xf32>')]
        """
        return fragments_of(self)

    def heading(self) -> str:
        """The problem and the tile.

        >>> la.plan_gemm(64, 64, 64).heading()
        'C[64, 64] f32 = A[64, 64] f16 * B[64, 64] f16 on pvc: one subgroup, one step of k'
        """
        return f"{self.problem}: one subgroup, one step of k"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """What one subgroup holds of A, B and C in a step, to draw around the product; the instruction tile is one DPAS.

        Registers count through an operand's blocks, row by row. Raises `DistributionError` for a shape.

        >>> [part.layout.shape for part in la.plan_gemm(64, 64, 64, tile=(16, 32), k_step=32).operands()]
        [(16, 32), (32, 32), (16, 32)]
        """
        return operands_of(self, shape)

    def picture(self, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> Picture:
        """The grid, a workgroup, a subgroup and the walk along k, to show in a notebook or to save.

        It has one size and one colouring: other arguments than `title` are those of pictures in general and say nothing here.

        >>> la.plan_gemm(256, 256, 256).picture(title="C").title
        'C'
        """
        from layoutalg.gemm.picture import PlanPicture, parts_and_title

        return PlanPicture(*parts_and_title(self, shape, options, str(self.problem)), plan=self)

    @cached_property
    def layouts(self) -> Layouts:
        """Every operand's XeGPU layout at workgroup, subgroup and lane level, as the kernel at lane level computes C.

        >>> print(la.plan_gemm(64, 64, 64).layouts.lane["A"])
        #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
        """
        from layoutalg.gemm.layouts import layouts

        return layouts(self)

    @property
    def registers(self) -> Registers:
        """General registers that one subgroup needs in a step, against those that it has.

        >>> la.plan_gemm(64, 64, 64, tile=(8, 16)).registers.c
        8
        """
        return registers(self.problem, self.tiling, self.llvm)

    @property
    def candidates(self) -> Found:
        """All tilings of the problem, the best one first, and why the others lost.

        >>> la.plan_gemm(4096, 4096, 4096, target="bmg").candidates.best.tiling.tile
        Tile(m=32, n=64, k=64)
        """
        return search(self.problem, llvm=self.llvm, chip=self.board)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the kernel's arguments: addresses, sizes, and the distances between a batch's matrices.

        >>> [name for name, _ in la.plan_gemm(64, 64, 64, batch=2, bias="row").parameters][3:]
        ['bias', 'm', 'n', 'k', 'lda', 'ldb', 'ldc', 'stride_a', 'stride_b', 'stride_c']
        """
        return parameters_of(self)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes among the arguments: m, n, k, lda, ldb, ldc.

        >>> la.plan_gemm(40, 80, 48).sizes
        (40, 80, 48, 48, 80, 80)
        """
        return self.m, self.n, self.k, self.problem.lda, self.problem.ldb, self.problem.ldc

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the kernel is launched with after its addresses.

        >>> la.plan_gemm(40, 80, 48).arguments
        (40, 80, 48, 48, 80, 80)
        """
        return tuple(numbers_of(self).values())

    def emit(
        self, level: str = "lane", *, llvm: int | None = None, static: bool = False, pointers: bool | None = None
    ) -> str:
        """The kernel as MLIR text, for the plan's version of LLVM or another one.

        It takes the addresses of A, B and C (multiples of `problem.alignments`), that of the bias if there is one (in C's type,
        at a multiple of C's alignment), those of scales (f32), that of a workspace of `workspace_bytes` where there is one (k
        in parts has counters too, or a second kernel, `gemm_reduce`), and `arguments`, and runs on `grid` workgroups of
        `workgroup` work-items; `launch` has all of it. At lane level addresses are pointers, so that any host passes its
        buffers; with `pointers=False`, and at the other levels, they are numbers (i64). `static` writes the sizes into the
        kernel. Level `workgroup` is for LLVM's pipeline with `xegpu-op-level=workgroup`, `subgroup` for its pass
        `xegpu-blocking` and then `xegpu-op-level=subgroup`.

        Raises:
            PlanError: for other levels and versions, and for kernels that this version of LLVM cannot lower from the level;
                says in LLVM's words why, and which level and version can. For pointers at other levels than `lane`.

        >>> gemm = la.plan_gemm(64, 64, 64, tile=(32, 32), k_step=16)
        >>> gemm.emit("lane").count("xegpu.dpas")
        8
        >>> "%pointer_a: !llvm.ptr<1>" in gemm.emit(), "%a: i64" in gemm.emit(pointers=False)
        (True, True)
        """
        level = one_of(level, LEVELS, "level", PlanError)
        static = as_flag(static, "static", PlanError)
        pointers = level == "lane" if pointers is None else as_flag(pointers, "pointers", PlanError)
        if pointers and level != "lane":
            raise PlanError(f"pointers at level {level!r}: kernels take pointers at level 'lane', i64 at the others")
        if llvm is not None and (version := checked_version(llvm)) != self.llvm:
            return replace(self, llvm=version).emit(level, static=static, pointers=pointers)
        from layoutalg.gemm.emission.lane import emit_lane
        from layoutalg.gemm.emission.refusals import check_level, check_plain
        from layoutalg.gemm.emission.subgroup import emit_subgroup
        from layoutalg.gemm.emission.workgroup import emit_workgroup

        check_level(self, level)
        check_plain(self, level)
        if level == "lane":
            return emit_lane(self, static=static, pointers=pointers)
        plain = replace(self, tiling=replace(self.tiling, transpose="registers"))  # these kernels transpose whole tiles
        return (emit_subgroup if level == "subgroup" else emit_workgroup)(plain, static=static)

    @property
    def launch(self) -> Launch:
        """What a host program has to know to launch the kernel at lane level: names, sizes, arguments, memory, flags.

        >>> [argument.name for argument in la.plan_gemm(64, 64, 64).launch.arguments if argument.kind == "pointer"]
        ['a', 'b', 'c']
        """
        from layoutalg.gemm.launch import launch_of_gemm

        return launch_of_gemm(self)

    def listing(self) -> Listing:
        """The machine code of the kernel, made by the installed compilers: every instruction of its loop by name.

        Raises:
            PlanError: where a compiler is not installed or refuses the kernel, and for chips that it is not made for.

        >>> la.plan_gemm(64, 64, 64, llvm=22).listing()
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: LLVM 22: machine code is made with LLVM 23 or 24 (22 leaves SPIR-V)
        """
        from layoutalg.gemm.listing import listing_of

        return listing_of(self.problem, self.tiling, self.emit("lane"), llvm=self.llvm)

    def simulate(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        row_scale: ArrayLike | None = None,
        column_scale: ArrayLike | None = None,
        *,
        starts: ArrayLike | None = None,
        text: str | None = None,
        level: str = "lane",
        progress: Callable[[float], None] | None = None,
    ) -> NDArray[Any]:
        """Run the emitted kernel on arrays in the shapes that they have in memory; returns C [m, n].

        A is m x k (k x m with `trans_a`), B is k x n (n x k with `trans_b`); of a batch each has another dimension in front.
        `c` is C before the launch, where beta is not 0; `bias` has a number for every row or column, and so have scales.
        With groups B is groups x k x n, and `starts` are the first rows of the groups, and the end of the last one. `text` is
        the kernel to run, by default what `emit(level)` gives. `progress` is told the part that is done.

        >>> gemm = la.plan_gemm(8, 32, 32)
        >>> a = np.eye(8, 32, dtype=np.float16)
        >>> b = np.arange(1024, dtype=np.float16).reshape(32, 32)
        >>> bool((gemm.simulate(a, b) == b[:8]).all())
        True
        """
        from layoutalg.gemm.run import execute

        given = a, b, c, bias, row_scale, column_scale
        return execute(self, *given, starts=starts, text=text, level=level, progress=progress)[0]
