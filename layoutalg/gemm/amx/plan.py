"""Matrix products planned for AMX: from the problem to the loops, and to everything that is asked of them.

C is cut into cache blocks, which are independent; a cache block into register blocks, each with its tiles of C in registers
while k goes by. A step of k loads the block's tiles of A and of packed B, and multiplies each with each.

By hand, for 64x64x64 in bf16 with 2x2 tiles: a register block is 32x32, so there are 4. k is 2 steps of 32. In each step a
block loads 4 tiles of 1 KiB for 4 products of 2 * 16 * 16 * 32 operations.

>>> plan = plan_amx(64, 64, 64, blocking=(2, 2))
>>> plan.register_blocks, plan.k_steps, plan.loads_per_step, plan.products_per_step
(4, 2, 4, 4)
>>> [[str(strip) for strip in side] for side in plan.strips]
[['2 x (16, 16) from 0'], ['2 x (16, 16) from 0']]

Sizes are those of the plan: tile shapes are part of the code, so a product of another size is another plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from layoutalg.amx import TileProduct
from layoutalg.core import Layout
from layoutalg.core.errors import PlanError
from layoutalg.core.factors import Factor
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import Distributed, Machine, Operand, PictureOptions, own_sizes
from layoutalg.core.whole_numbers import as_flag, instance_of, one_of
from layoutalg.gemm.amx.packing import must_pack_a, packed_a, packed_a_shape, packed_b, packed_b_shape
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.search import AmxChoices, AmxFound, search_amx
from layoutalg.gemm.amx.strips import Strip, any_rows, cut
from layoutalg.gemm.amx.tiling import TILE, AmxTiling
from layoutalg.gemm.launched import Planned
from layoutalg.gemm.options import AmxOptions, AmxProductOptions, BlockingOptions, check_names, part
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.versions import checked_version

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from layoutalg.gemm.amx.building import AmxLibrary
    from layoutalg.gemm.amx.listing import AmxListing
    from layoutalg.gemm.amx.operands import Scales
    from layoutalg.gemm.amx.running import AmxRun
    from layoutalg.gemm.amx.timing import AmxTiming
    from layoutalg.viz.picture import Picture

__all__ = ["PARTS", "AmxGemm", "plan_amx"]

PARTS = ("whole", "parts")
"""What `emit` writes: a function that does everything, or the functions that worker threads share out."""


@dataclass(frozen=True, repr=False)
class AmxGemm(Planned, Distributed):
    """A planned product: the problem and every choice made for it. `emit` writes the module, `run` executes it.

    `llvm` is the version whose spelling of the dialect is written: `amx` for 22, `x86.amx` for 23 and 24.

    >>> plan_amx(512, 512, 512).llvm
    24
    """

    problem: AmxProblem
    tiling: AmxTiling
    llvm: int = DEFAULT_LLVM

    def __post_init__(self) -> None:
        instance_of(self.problem, AmxProblem, "problem", PlanError)
        instance_of(self.tiling, AmxTiling, "tiling", PlanError)
        object.__setattr__(self, "llvm", checked_version(self.llvm))
        why = must_pack_a(self.problem)
        if why is not None and not self.tiling.pack_a:
            raise PlanError(f"pack_a = False: {why}; A must be packed")

    @property
    def element(self) -> str:
        """The MLIR type of an element of A and B, as tiles have them.

        >>> plan_amx(64, 64, 64, "u8").element
        'i8'
        """
        return mlir_type(self.problem.a)

    @property
    def accumulator(self) -> str:
        """The MLIR type of an accumulator.

        >>> plan_amx(64, 64, 64, "u8").accumulator
        'i32'
        """
        return mlir_type(self.problem.acc)

    @cached_property
    def product(self) -> TileProduct:
        """The product of whole tiles.

        >>> plan_amx(64, 64, 64, "s8", "u8").product.instruction
        'tdpbsud'
        """
        return self.tile_product(TILE, TILE, self.problem.depth)

    def tile_product(self, rows: int, columns: int, depth: int) -> TileProduct:
        """The product of smaller tiles; `depth` in elements of k.

        >>> print(plan_amx(64, 64, 64).tile_product(4, 12, 8).rhs_type)
        !x86.amx.tile<4x24xbf16>
        """
        unsigned = (self.problem.a == "u8", self.problem.b == "u8" and not self.problem.widens_b)
        return TileProduct(rows, columns, depth, self.element, self.element, *unsigned)

    @cached_property
    def strips(self) -> tuple[tuple[Strip, ...], tuple[Strip, ...]]:
        """How the rows and the columns of C are cut into register blocks.

        >>> [len(side) for side in plan_amx(100, 64, 64).strips]
        [2, 1]
        """
        blocking = self.tiling.blocking
        if self.problem.dynamic_m:
            return any_rows(self.problem.m, blocking.rows), cut(TILE * blocking.rows, self.problem.n, blocking)[1]
        return cut(self.problem.m, self.problem.n, blocking)

    @property
    def register_blocks(self) -> int:
        """Register blocks of C (with all of its m rows, where their number is an argument).

        >>> plan_amx(100, 60, 200, blocking=(2, 2)).register_blocks
        8
        """
        columns = sum(strip.count for strip in self.strips[1])
        if self.problem.dynamic_m:
            return -(-self.problem.m // (TILE * self.tiling.blocking.rows)) * columns
        return sum(strip.count for strip in self.strips[0]) * columns

    @property
    def cache_blocks(self) -> tuple[int, int]:
        """Cache blocks of C: over the rows, over the columns. They are independent of one another.

        >>> plan_amx(100, 60, 200, blocks=(64, 32, 64)).cache_blocks
        (2, 2)
        """
        return -(-self.problem.m // self.tiling.m_block), -(-self.problem.n // self.tiling.n_block)

    @property
    def k_whole(self) -> int:
        """The part of k that whole steps cover.

        >>> plan_amx(100, 60, 200).k_whole
        192
        """
        return self.problem.k_padded // self.problem.depth * self.problem.depth

    @property
    def k_rest(self) -> int:
        """The depth of the last, smaller step; 0 where there is none.

        >>> plan_amx(100, 60, 200).k_rest
        8
        """
        return self.problem.k_padded - self.k_whole

    @property
    def k_steps(self) -> int:
        """Steps of k, a smaller last one included.

        >>> plan_amx(100, 60, 200).k_steps
        7
        """
        return -(-self.problem.k_padded // self.problem.depth)

    @property
    def loads_per_step(self) -> int:
        """Tile loads of a whole register block in a step.

        >>> plan_amx(512, 512, 512, blocking=(1, 4)).loads_per_step
        5
        """
        return self.tiling.blocking.loads_per_step

    @property
    def products_per_step(self) -> int:
        """Tile products of a whole register block in a step.

        >>> plan_amx(512, 512, 512, blocking=(1, 4)).products_per_step
        4
        """
        return self.tiling.blocking.products_per_step

    @property
    def packed_b(self) -> Layout:
        """Where the elements of B lie in the packed buffer.

        >>> print(plan_amx(64, 32, 64).packed_b)
        d0 = 32@addr:32 2@addr, d1 = 2@addr:1024 16@addr:2
        """
        return packed_b(self.problem.k, self.problem.n, self.element)

    @property
    def packed_b_shape(self) -> tuple[int, int, int]:
        """The packed buffer of B: panels, words of k, elements of a row.

        >>> plan_amx(64, 32, 64).packed_b_shape
        (2, 32, 32)
        """
        return packed_b_shape(self.problem.k, self.problem.n, self.element)

    @property
    def packed_a(self) -> Layout | None:
        """Where the elements of A lie in the packed buffer; None where A is loaded as it lies.

        >>> plan_amx(64, 32, 64).packed_a is None, str(plan_amx(32, 32, 32, trans_a=True).packed_a)
        (True, 'd0 = 32@addr:32, d1 = 32@addr')
        """
        return packed_a(self.problem.m, self.problem.k, self.element) if self.tiling.pack_a else None

    @property
    def packed_a_shape(self) -> tuple[int, int, int, int] | None:
        """The packed buffer of A: panels, steps, rows of a tile, elements of a row; None where A is loaded as it lies.

        >>> plan_amx(64, 32, 64, trans_a=True).packed_a_shape
        (4, 2, 16, 32)
        """
        return packed_a_shape(self.problem.m, self.problem.k, self.element) if self.tiling.pack_a else None

    @property
    def layouts(self) -> dict[str, Layout]:
        """Where the elements of A, B and C lie for the tile loads and stores: addresses in elements, packed or as in memory.

        >>> {name: str(layout) for name, layout in plan_amx(32, 32, 32, lda=40, pack_a=False).layouts.items()}
        {'A': 'd0 = 32@addr:40, d1 = 32@addr', 'B': 'd0 = 16@addr:32 2@addr, d1 = 2@addr:512 16@addr:2',
        'C': 'd0 = 32@addr:32, d1 = 32@addr'}
        """
        problem = self.problem
        a = self.packed_a or _rows(problem.m, problem.k, problem.lda)
        return {"A": a, "B": self.packed_b, "C": _rows(problem.m, problem.n, problem.ldc)}

    @cached_property
    def candidates(self) -> AmxFound:
        """All tilings that fit, the best one first.

        >>> plan_amx(512, 512, 512).candidates.best == plan_amx(512, 512, 512).tiling
        True
        """
        return search_amx(self.problem, AmxChoices())

    def emit(self, llvm: int | None = None, *, prepacked_b: bool = False, part: str = "whole") -> str:
        """The module as MLIR text, in the spelling of a version of LLVM.

        Its function `@gemm` packs and multiplies; with `prepacked_b` it takes B as `packed_b` says. `parts` leaves `@gemm` out:
        what stays packs panels and computes single cache blocks.

        Raises:
            PlanError: for other versions and parts.
        """
        prepacked = as_flag(prepacked_b, "prepacked_b", PlanError)
        part = one_of(part, PARTS, "part", PlanError)
        if llvm is not None and (version := checked_version(llvm)) != self.llvm:
            return replace(self, llvm=version).emit(prepacked_b=prepacked, part=part)
        from layoutalg.gemm.amx.emission.module import emit_module

        return emit_module(self, prepacked_b=prepacked, part=part)

    def simulate(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        scale: Scales | None = None,
        *,
        text: str | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> NDArray[Any]:
        """Run the emitted module by the rules of Intel's manual; returns C [m, n].

        A is m x k (k x m with `trans_a`), B is k x n (n x k with `trans_b`). `c` is C before, where beta is not 0; `bias` and
        `scale` have a number for every row or column; a `scale` of both is a pair: those of rows, and those of columns. `text`
        is the module to run, by default what `emit()` gives.

        >>> plan_amx(16, 16, 64, "s8").simulate(np.full((16, 64), -2), np.full((64, 16), 3))[0, 0]
        np.int32(-384)
        """
        from layoutalg.gemm.amx.operands import Operands
        from layoutalg.gemm.amx.simulating import check_size, simulate_amx

        check_size(self)
        return simulate_amx(Operands.of(self, a, b, c, bias, scale), text=text, progress=progress)

    def run(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        scale: Scales | None = None,
        *,
        how: str | None = None,
    ) -> AmxRun:
        """Compile the module with the installed LLVM and execute it here: C, how it was run, and the seconds that it took.

        Arrays are those of `simulate`. `how` is "amx" (tile instructions), "soft" (C functions with the same bits) or "scalar"
        (LLVM's loops, which add floats in another order); unless given, "amx" where the CPU has it and "soft" elsewhere.

        Raises:
            PlanError: LLVM or a C compiler isn't installed, the CPU can't do what is asked for, or an array doesn't fit.
        """
        from layoutalg.gemm.amx.operands import Operands
        from layoutalg.gemm.amx.running import check_size, run_amx

        check_size(self.problem, how)
        return run_amx(Operands.of(self, a, b, c, bias, scale), how)

    def time(self, seconds: float = 1.0) -> AmxTiming:
        """Operations per second on a CPU that has AMX, against the peak of its tile unit and against numpy.

        It multiplies random matrices, for about so many seconds in all. Raises `PlanError` on a CPU without AMX.
        """
        from layoutalg.gemm.amx.timing import time_amx

        return time_amx(self, seconds)

    def listing(self, llvm: int | None = None) -> AmxListing:
        """The machine code of the module: what each function loads, multiplies and stores."""
        from layoutalg.gemm.amx.listing import amx_listing

        return amx_listing(self, llvm)

    def build(self, path: str | Path, *, name: str = "gemm", how: str = "amx") -> AmxLibrary:
        """Write a shared library with a C header beside it; `name` is what its functions begin with.

        With `how="amx"` it needs a CPU with AMX, with "soft" or "scalar" any x86-64 one; the header says which features.
        """
        from layoutalg.gemm.amx.building import build_amx

        return build_amx(self, path, name=name, how=how)

    def heading(self) -> str:
        """The problem, and what `operands` are.

        >>> plan_amx(64, 64, 64).heading()
        'C[64, 64] f32 = A[64, 64] bf16 * B[64, 64] bf16 on amx: one register block, one step of k'
        """
        return f"{self.problem}: one register block, one step of k"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """In which tile register, row and byte the elements of a register block are in a step, to draw around the product.

        Raises `DistributionError` for a shape.

        >>> print(plan_amx(64, 64, 64, blocking=(1, 2)).operands()[1].layout)
        d0 = 16@row 2@col:2, d1 = 2@_ 16@col:4 | offset 3@tmm
        """
        from layoutalg.gemm.amx.walking import block_operands

        found = block_operands(self)
        own_sizes(str(self.problem), (*found[2].layout.shape, found[0].layout.shape[1]), shape)
        return found

    def picture(self, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> Picture:
        """The blocks of C in caches and registers, and the walk of a step.

        It has one size and one colouring: other arguments than `title` are those of pictures in general and say nothing here.

        >>> plan_amx(256, 256, 256).picture(title="C").title
        'C'
        """
        from layoutalg.gemm.amx.picture import AmxPicture
        from layoutalg.gemm.picture import parts_and_title

        return AmxPicture(*parts_and_title(self, shape, options, str(self.problem)), plan=self)

    def tile_pictures(self) -> dict[str, Picture]:
        """For A, B and C: which element is in which row and byte of which tile register, and where it is in memory.

        >>> plan_amx(64, 64, 64).tile_pictures()["B"].title
        'tile B0 of the first step, in memory and in its register: 32x16 bf16'
        """
        from layoutalg.gemm.amx.tile_picture import tile_pictures

        return tile_pictures(self)


def _rows(rows: int, columns: int, pitch: int) -> Layout:
    """A matrix as it lies in memory."""
    dims = [[Factor(rows, pitch, "addr")], [Factor(columns, 1, "addr")]]
    return Layout(dims, codomain=("addr",)).canonical()


def plan_amx(
    m: int,
    n: int,
    k: int,
    a: str = "bf16",
    b: str | None = None,
    c: str | None = None,
    target: str = "amx",
    *,
    llvm: int = DEFAULT_LLVM,
    **options: Unpack[AmxOptions],
) -> AmxGemm:
    """Plan C = activation(alpha * scale * A B + beta * C + bias) for row-major matrices on a CPU with AMX.

    `blocking` is (rows, columns) of tiles in a register block, `blocks` (rows, columns, k) of a cache block, `order` which of a
    cache block's register blocks come first ("columns" goes down a column), `pack_a` whether A is copied into whole tiles
    first, `prefetch_b` how many steps of k ahead tiles of B are asked for (none unless given). What is not given is chosen.
    `bias` is "row" or "column", and `scale` may be "both". `batch` products lie one behind the other.
    With `dynamic_m` the code takes the number of rows of A and C, from 1 to m, as an argument. `aligned` says that A begins at
    a multiple of 64 bytes, which makes loading it as it lies cheaper where its rows are multiples of 64 bytes too.

    Raises:
        PlanError: for types, targets, tiles and sizes that are not planned; says what would fit.

    >>> plan_amx(64, 64, 64, "s8", c="s8", scale="column").problem.acc
    's32'
    """
    check_names("plan_amx", options, AmxOptions)
    problem = AmxProblem.of(m, n, k, a, b, c, target, **part(AmxProductOptions, options))
    version = checked_version(llvm)
    return AmxGemm(problem, search_amx(problem, AmxChoices(**part(BlockingOptions, options))).best, version)
