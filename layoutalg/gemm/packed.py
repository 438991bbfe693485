"""Matrix products on chips without 2D block messages (dg2): A and B packed in memory, one fragment of DPAS after the other.

A block read gives lane l of 8 the words l, l + 8, l + 16, ... of memory. If a fragment lies in memory in just that order, one
message brings it as DPAS takes it. By hand, in f16 with 8 lanes: a fragment of A is 8x16, and lane l has columns 2l and 2l + 1
of every row, which is row after row; one of B is 16x8, and lane l has column l, two rows in a word, which is pair of rows after
pair of rows.

>>> plan = plan_packed(4096, 4096, 4096)
>>> print(plan.fragments["A"]); print(plan.fragments["B"])
d0 = 8@addr:16, d1 = 16@addr
d0 = 8@addr:16 2@addr, d1 = 8@addr:2

The fragments of one step of a subgroup's tile follow one another, and the steps of k follow these, so a subgroup reads its A
and its B from one end to the other. `layouts` has the places of all elements; `pack` puts matrices there:

>>> small = plan_packed(8, 8, 32, tile=(8, 8))
>>> print(small.layouts["A"])
d0 = 8@addr:16, d1 = 2@addr:128 16@addr
>>> a = np.arange(256, dtype=np.float16).reshape(8, 32)
>>> small.pack("A", a)[:16].tolist() == a[0, :16].tolist(), bool(small.pack("A", a)[128] == a[0, 16])
(True, True)

What is outside of a matrix is packed as zeros; C is row-major, with rows and columns up to whole tiles (`padded`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core import Layout
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.factors import Factor
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.notation import PictureOptions
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.whole_numbers import one_of
from layoutalg.gemm.operand_arrays import numbers
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.roofline import Forms, Roofline, roofline, times
from layoutalg.gemm.tiling import REGISTERS, Tile, Tiling, pair, register_file
from layoutalg.gemm.versions import checked_version
from layoutalg.hardware import Dpas, target_info, xe_chip

if TYPE_CHECKING:
    from layoutalg.viz.picture import Picture

__all__ = ["PackedGemm", "plan_packed"]

_SPARE = 16
"""Registers for addresses, the counter and what the compiler keeps beside A, B and C (none of the listings of dg2 spills)."""
_GRIDS = ((1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8))


@dataclass(frozen=True, repr=False)
class PackedGemm(NotebookAnswer):
    """A planned product of packed operands; sizes in elements.

    >>> plan = plan_packed(1000, 1000, 1000)
    >>> plan.padded[2] % plan.tiling.tile.k
    0
    """

    problem: Problem
    tiling: Tiling
    llvm: int = DEFAULT_LLVM

    def __str__(self) -> str:
        return f"{self.problem}, packed: {self.tiling}"

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """The grid, a workgroup, and how A and B lie in memory, to show in a notebook or to save.

        >>> plan_packed(64, 64, 64).picture(title="C").title
        'C'
        """
        from layoutalg.gemm.packed_picture import packed_picture

        return packed_picture(self, options)

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction.

        >>> plan_packed(64, 64, 64, "s8").dpas.builtin
        'intel_sub_group_i8_i8_matrix_mad_k32'
        """
        return self.problem.dpas

    @property
    def padded(self) -> tuple[int, int, int]:
        """m, n and k up to whole tiles of workgroups and whole steps: what packed A and B, and C in memory, are made for.

        >>> plan_packed(100, 100, 100, tile=(8, 8), subgroups=(1, 1)).padded
        (104, 104, 112)
        """
        whole, problem = self.tiling.workgroup_tile, self.problem
        m, n, k = (
            -(-size // step) * step for size, step in ((problem.m, whole.m), (problem.n, whole.n), (problem.k, whole.k))
        )
        return m, n, k

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups to launch: x over n, y over m.

        >>> plan_packed(64, 32, 64, tile=(8, 8), subgroups=(1, 1)).grid
        (4, 8, 1)
        """
        m, n, _ = self.padded
        return n // self.tiling.workgroup_tile.n, m // self.tiling.workgroup_tile.m, 1

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """Work-items of a workgroup.

        >>> plan_packed(64, 64, 64, tile=(8, 8), subgroups=(2, 2)).workgroup
        (32, 1, 1)
        """
        return self.tiling.count * self.dpas.subgroup_size, 1, 1

    @property
    def blocks(self) -> tuple[int, int]:
        """Fragments of C in a tile, down and across.

        >>> plan_packed(64, 64, 64, tile=(16, 24)).blocks
        (2, 3)
        """
        return self.tiling.tile.m // self.dpas.m, self.tiling.tile.n // self.dpas.n

    @property
    def dpas_per_step(self) -> int:
        """DPAS of a subgroup in a step.

        >>> plan_packed(64, 64, 64, tile=(16, 24)).dpas_per_step
        6
        """
        return self.blocks[0] * self.blocks[1]

    @property
    def loads_per_step(self) -> int:
        """Block reads of a subgroup in a step, 256 bytes each.

        >>> plan_packed(64, 64, 64, tile=(16, 24)).loads_per_step
        5
        """
        return sum(self.blocks)

    @property
    def bytes_per_step(self) -> int:
        """Bytes that a subgroup reads in a step.

        >>> plan_packed(64, 64, 64, tile=(16, 24)).bytes_per_step
        1280
        """
        return 256 * self.loads_per_step

    @property
    def registers_used(self) -> int:
        """Registers of A, B and C in a step.

        >>> plan_packed(64, 64, 64, tile=(16, 24)).registers_used
        88
        """
        return 8 * (self.dpas_per_step + self.loads_per_step)

    @property
    def fragments(self) -> Mapping[str, Layout]:
        """The place of every element of one fragment of A and of B, from its first one.

        >>> list(plan_packed(64, 64, 64).fragments)
        ['A', 'B']
        """
        found: dict[str, Layout] = {}
        unit = self.dpas
        for name, layout, bits in (("A", unit.a, unit.a_bits), ("B", unit.b, unit.b_bits)):
            each = bits // element_bits(mlir_type(self.problem.a))
            found[name] = _in_memory(layout, each, unit.subgroup_size)
        return MappingProxyType(found)

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """The place of every element of A and B in packed memory, for the padded sizes.

        >>> print(plan_packed(16, 8, 16, tile=(16, 8)).layouts["B"])
        d0 = 8@addr:16 2@addr, d1 = 8@addr:2
        """
        m, n, k = self.padded
        unit, tile = self.dpas, self.tiling.tile
        of_a, of_b = self.fragments["A"], self.fragments["B"]
        a = Layout([
            [Factor(m // tile.m, tile.m * k, "addr"), Factor(tile.m // unit.m, unit.m * unit.k, "addr")],
            [Factor(k // unit.k, tile.m * unit.k, "addr")],
        ])  # fmt: skip
        b = Layout([
            [Factor(k // unit.k, tile.n * unit.k, "addr")],
            [Factor(n // tile.n, tile.n * k, "addr"), Factor(tile.n // unit.n, unit.n * unit.k, "addr")],
        ])  # fmt: skip
        return MappingProxyType({"A": _outside(a, of_a), "B": _outside(b, of_b)})

    def pack(self, operand: str, matrix: ArrayLike) -> NDArray[Any]:
        """A or B packed: its elements in the order of `layouts`, zeros where the padded matrix is larger.

        Raises:
            PlanError: for other operands, and for a matrix of another shape.

        >>> plan_packed(8, 8, 16).pack("B", np.ones((16, 8), dtype=np.float16)).shape
        (128,)
        """
        operand = one_of(operand, ("A", "B"), "operand", PlanError)
        m, n, k = self.padded
        problem = self.problem
        sizes = {"A": ((problem.m, problem.k), (m, k)), "B": ((problem.k, problem.n), (k, n))}[operand]
        shape = np.shape(cast("NDArray[Any]", matrix)) if isinstance(matrix, np.ndarray) else sizes[0]
        if shape != sizes[0]:
            raise PlanError(f"{operand} of shape {shown(shape)}: expected {sizes[0]}")
        given = numbers(operand, cast("ArrayLike", matrix), sizes[0])
        whole = np.zeros(sizes[1], dtype=given.dtype)
        whole[: given.shape[0], : given.shape[1]] = given
        packed = np.zeros(whole.size, dtype=given.dtype)
        packed[self.layouts[operand].owner_map("addr")] = whole
        return packed

    @property
    def instructions(self) -> int:
        """Instructions of a step of the loop, to a tenth: a block read takes 15, because dg2 has no 64-bit adder for addresses.

        Measured on listings (ocloc 26.27): 157, 90 and 61 for tiles of 40x32, 32x16 and 16x16.

        >>> [plan_packed(64, 64, 64, tile=tile).instructions for tile in ((40, 32), (32, 16), (16, 16))]
        [155, 98, 64]
        """
        return self.dpas_per_step + 15 * self.loads_per_step

    @property
    def roofline(self) -> Roofline:
        """Bytes per level and time on the chip.

        >>> plan_packed(4096, 4096, 4096).roofline.limit
        'issue'
        """
        return roofline(self.problem, self.tiling, self.instructions)

    def emit(self, level: str = "lane") -> str:
        """The kernel as MLIR text: pointers to packed A and B and to C (i64), steps of k and C's leading dimension (i32).

        It is launched on `grid` workgroups of `workgroup` work-items, with `steps` and `padded[1]` for the two sizes.
        mlir-opt 24 lowers it with --gpu-lower-to-xevm-pipeline="xegpu-op-level=lane zebin-chip=dg2".

        Raises:
            PlanError: for other levels: xegpu's operations are for chips with 2D block messages.

        >>> plan_packed(64, 64, 64, tile=(16, 16)).emit().count("@_Z38intel_sub_group_f16_f16_matrix_mad_k16")
        5
        """
        from layoutalg.gemm.emission.packed import emit_packed

        if level != "lane":
            raise PlanError(
                f"level {shown(level)} on {self.problem.target}: its kernels call builtins at level 'lane', because xegpu's "
                "operations need 2D block messages"
            )
        return emit_packed(self)

    @property
    def steps(self) -> int:
        """Steps of the loop over k.

        >>> plan_packed(64, 64, 72).steps
        5
        """
        return self.padded[2] // self.tiling.tile.k


def plan_packed(
    m: int,
    n: int,
    k: int,
    a: str = "f16",
    b: str | None = None,
    target: str = "dg2",
    *,
    tile: Sequence[int] | None = None,
    subgroups: Sequence[int] | None = None,
    registers: int | None = None,
    llvm: int = DEFAULT_LLVM,
) -> PackedGemm:
    """Plan C = A B for a chip without 2D block messages: how A and B are packed, tiles for its lanes, and a kernel.

    Accumulators and C are f32 or s32. What is not given is chosen: the tile that the roofline predicts to be fastest.

    Raises:
        PlanError: for chips with 2D block messages (`plan_gemm` plans those); for types, tiles and sizes that aren't planned.

    >>> plan = plan_packed(4096, 4096, 4096, "bf16")
    >>> str(plan.tiling.tile), plan.tiling.registers
    ('40x32x16', 256)
    >>> plan_packed(64, 64, 64, target="bmg")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'bmg' has 2D block messages: plan_gemm plans products for it, with A and B as
    they are
    """
    chip = target_info(target, dpas=True)
    if chip.surface is not None:
        raise PlanError(
            f"target {shown(target)} has 2D block messages: plan_gemm plans products for it, with A and B as they are"
        )
    problem = Problem.of(m, n, k, a, b, None, target)
    unit = problem.dpas
    files = REGISTERS if registers is None else (register_file(registers),)
    if tile is None:
        tiles = [(rows, across) for rows in range(8, 65, 8) for across in range(8, 65, 8)]
    else:
        tiles = [pair("tile", tile)]
        for size, step, what in ((tiles[0][0], unit.m, "rows"), (tiles[0][1], unit.n, "columns")):
            if size % step:
                name = f"{tiles[0][0]}x{tiles[0][1]}"
                raise PlanError(f"tile {name}: {size} {what} are not a multiple of the {step} of {unit.builtin}")
    grids = _GRIDS if subgroups is None else (pair("subgroups", subgroups),)
    version = checked_version(llvm)
    found: list[PackedGemm] = []
    for rows, across in tiles:
        for held in files:
            for grid in grids:
                tiling = Tiling(Tile(rows, across, unit.k), grid, held)
                plan = PackedGemm(problem, tiling, version)
                if plan.registers_used + _SPARE <= held and tiling.count <= xe_chip(target).threads(held):
                    found.append(plan)
    if not found:
        rows, across = tiles[0]
        used = 8 * (rows // 8 * (across // 8) + rows // 8 + across // 8)
        raise PlanError(
            f"tile {rows}x{across} with {grids[0][0]}x{grids[0][1]} subgroups: A, B and C need {used} registers, {_SPARE} are "
            f"for other things, and a thread has {files[-1]}; a core has room for {xe_chip(target).threads(files[-1])} of them"
        )
    clocks = times(problem, Forms.of([(plan.tiling, plan.instructions) for plan in found])).clocks
    return found[int(np.argmin(np.round(clocks, 3)))]


def _in_memory(layout: Layout, each: int, lanes: int) -> Layout:
    """Where a block read takes a fragment from: word r of lane l is the word 8 r + l, with `each` elements in a word.

    Registers count elements: register r is element r % each of word r // each.
    """
    lane, reg = layout.owner_map("lane"), layout.owner_map("reg")
    place = ((reg // each) * lanes + lane) * each + reg % each
    return _of_table(place)


def _of_table(place: NDArray[Any]) -> Layout:
    """The layout of a table of addresses whose sizes are powers of two: what each bit of a coordinate adds."""
    dims: list[list[Factor]] = []
    for axis, size in enumerate(place.shape):
        bits = [1 << bit for bit in range(int(size).bit_length() - 1)]
        strides = [int(place[tuple(bit if other == axis else 0 for other in range(place.ndim))]) for bit in bits]
        dims.append([Factor(2, stride, "addr") for stride in reversed(strides)])
    made = Layout(dims).canonical()
    if not np.array_equal(made.owner_map("addr"), place):
        raise PlanError("a fragment whose elements don't lie at sums of powers of two")
    return made


def _outside(blocks: Layout, inside: Layout) -> Layout:
    """Digits of blocks, then those of the elements in a block."""
    dims = [[*outer, *inner] for outer, inner in zip(blocks.dims, inside.dims, strict=True)]
    return Layout(dims).canonical()
