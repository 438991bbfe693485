"""Matrix products planned: C[m, n] = A[m, k] B[k, n], from the problem to the numbers that the kernel is made of.

One subgroup per workgroup computes one tile of C, kept in registers for the whole loop over k; a step of the loop
loads 16 columns of A and 16 rows of B and multiplies them with DPAS instructions of 8x16 (m, n) and depth 16.

Small enough to check by hand, 64x64x64 in f16 with a tile of 16x32: the grid is 2x4 workgroups (x over n, y over m). A
step loads two 8x16 blocks of A and two 16x16 blocks of B (2*256 + 2*512 = 1536 bytes) and has 2*2 DPAS; there are 4
steps. In registers of 64 bytes a workgroup holds 8 of A, 16 of B and 32 of C.

>>> gemm = plan_gemm(64, 64, 64, tile=(16, 32))
>>> gemm.grid, gemm.k_steps, gemm.dpas_per_step, gemm.bytes_per_step
((2, 4, 1), 4, 4, 1536)
>>> gemm.registers.a, gemm.registers.b, gemm.registers.c, gemm.registers.available
(8, 16, 32, 128)

The laws: every element of C belongs to one workgroup; `dpas_total` times the 2*8*16*16 operations of one DPAS is the
work of the padded problem; the emitted kernel has `dpas_per_step` dpas operations, once in the loop, and so has its
machine code, because sizes are arguments of the kernel and nothing is there to unroll.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.core import Layout
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, Operand, one_operand, own_sizes, product_operands
from layoutalg.gemm.surface import Matrix, check_matrix, whole_number
from layoutalg.hardware import BlockLoad, BlockStore, Dpas, block_load, block_store, dpas, target_info

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Fragment", "Gemm", "Registers", "Tile", "plan_gemm"]

TILE_ROWS = (8, 16, 24, 32)
TILE_COLUMNS = (16, 32)
TYPES = (("f16", "f16", "f32"), ("bf16", "bf16", "f32"))
LEVELS = ("lane", "subgroup", "workgroup")


@dataclass(frozen=True)
class Tile:
    """What one subgroup computes: m x n elements of C, k deep in one step of the loop.

    >>> str(Tile(32, 16, 16))
    '32x16x16'
    """

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True)
class Fragment(Distributed):
    """One operand in registers: the block that one message moves, how many of them, and who holds which element.

    `layout` maps the block (rows, columns) to lane and register; `vector` is the type of one lane's share.

    >>> plan_gemm(64, 64, 64).fragments[1].vector
    'vector<16xf16>'
    """

    name: str
    block: tuple[int, int]
    count: int
    element: str
    layout: Layout
    vector: str

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """One block, to draw.

        >>> plan_gemm(64, 64, 64).fragments[2].operands()[0].name
        'C, 8x16xf32'
        """
        name = f"{self.name}, {'x'.join(map(str, self.block))}x{self.element}"
        own_sizes(name, self.layout.shape, shape)
        return one_operand(name, self.layout, self.block)


@dataclass(frozen=True)
class Registers:
    """Registers that one subgroup needs at the same time, against those that it has.

    `addresses` is one per load message of a step: the payload that says where the block is.

    >>> plan_gemm(512, 512, 512, tile=(32, 32)).registers
    Registers(a=16, b=16, c=64, addresses=6, available=128)
    """

    a: int
    b: int
    c: int
    addresses: int
    available: int

    @property
    def used(self) -> int:
        """All of them together.

        >>> plan_gemm(512, 512, 512, tile=(32, 32)).registers.used
        102
        """
        return self.a + self.b + self.c + self.addresses


@dataclass(frozen=True)
class Gemm(Distributed):
    """A planned product: the problem, and every choice made for it. `emit` writes the kernel, `simulate` runs it.

    Sizes and leading dimensions are in elements.

    >>> plan_gemm(512, 512, 512).tile
    Tile(m=32, n=32, k=16)
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    target: str
    lda: int
    ldb: int
    ldc: int
    tile: Tile

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction that the kernel uses.

        >>> plan_gemm(64, 64, 64).dpas.builtin
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return dpas(self.a, self.b, self.c, target=self.target, m=8)

    @property
    def load_a(self) -> BlockLoad:
        """The message that brings one block of A, as DPAS wants it.

        >>> plan_gemm(64, 64, 64).load_a.name
        'read_16b_8r16x1c'
        """
        return block_load(self.dpas.m, self.dpas.k, element_bits(self.a), subgroup_size=self.dpas.subgroup_size)

    @property
    def load_b(self) -> BlockLoad:
        """The message that brings one block of B, packed by pairs of rows (VNNI) as DPAS wants it.

        >>> plan_gemm(64, 64, 64).load_b.name
        'read_transform_16b_16r16x1c'
        """
        bits, lanes = element_bits(self.b), self.dpas.subgroup_size
        return block_load(self.dpas.k, self.dpas.n, bits, transform=True, subgroup_size=lanes)

    @property
    def store_c(self) -> BlockStore:
        """The message that takes one block of C away.

        >>> plan_gemm(64, 64, 64).store_c.rows
        8
        """
        return block_store(self.dpas.m, self.dpas.n, element_bits(self.c), subgroup_size=self.dpas.subgroup_size)

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        """A, B and C in memory.

        >>> [str(matrix) for matrix in plan_gemm(40, 80, 48).matrices]
        ['A is 40x48 f16', 'B is 48x80 f16', 'C is 40x80 f32']
        """
        return (
            Matrix("A", self.m, self.k, self.lda, self.a),
            Matrix("B", self.k, self.n, self.ldb, self.b),
            Matrix("C", self.m, self.n, self.ldc, self.c),
        )

    @property
    def blocks(self) -> tuple[int, int]:
        """How many DPAS blocks the tile has in m and in n.

        >>> plan_gemm(64, 64, 64, tile=(16, 32)).blocks
        (2, 2)
        """
        return self.tile.m // self.dpas.m, self.tile.n // self.dpas.n

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups to launch: x over n, y over m.

        >>> plan_gemm(40, 80, 48, tile=(32, 32)).grid
        (3, 2, 1)
        """
        return -(-self.n // self.tile.n), -(-self.m // self.tile.m), 1

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """Work-items of one workgroup: one subgroup.

        >>> plan_gemm(64, 64, 64).workgroup
        (16, 1, 1)
        """
        return self.dpas.subgroup_size, 1, 1

    @property
    def k_steps(self) -> int:
        """Steps of the loop over k.

        >>> plan_gemm(72, 200, 136).k_steps
        9
        """
        return -(-self.k // self.tile.k)

    @property
    def dpas_per_step(self) -> int:
        """DPAS instructions in one step, which is also how many the kernel has (the loop is not unrolled).

        >>> plan_gemm(64, 64, 64, tile=(16, 32)).dpas_per_step
        4
        """
        rows, columns = self.blocks
        return rows * columns

    @property
    def dpas_total(self) -> int:
        """DPAS instructions that the whole grid executes.

        >>> plan_gemm(64, 64, 64).dpas_total
        128
        """
        return self.dpas_per_step * self.k_steps * self.grid[0] * self.grid[1]

    @property
    def bytes_per_step(self) -> int:
        """Bytes that one subgroup loads in one step.

        >>> plan_gemm(64, 64, 64, tile=(16, 32)).bytes_per_step
        1536
        """
        step_a = self.tile.m * self.tile.k * element_bits(self.a) // 8
        return step_a + self.tile.k * self.tile.n * element_bits(self.b) // 8

    @property
    def fragments(self) -> tuple[Fragment, Fragment, Fragment]:
        """What a subgroup holds of A, B and C.

        >>> [(f.name, f.count, f.vector) for f in plan_gemm(64, 64, 64, tile=(16, 32)).fragments]
        [('A', 2, 'vector<8xf16>'), ('B', 2, 'vector<16xf16>'), ('C', 4, 'vector<8xf32>')]
        """
        unit, (rows, columns), lanes = self.dpas, self.blocks, self.dpas.subgroup_size

        def fragment(name: str, block: tuple[int, int], count: int, element: str, layout: Layout) -> Fragment:
            return Fragment(name, block, count, element, layout, f"vector<{block[0] * block[1] // lanes}x{element}>")

        return (
            fragment("A", (unit.m, unit.k), rows, self.a, unit.a),
            fragment("B", (unit.k, unit.n), columns, self.b, unit.b),
            fragment("C", (unit.m, unit.n), rows * columns, self.c, unit.c),
        )

    def heading(self) -> str:
        """The problem and the tile.

        >>> plan_gemm(64, 64, 64).heading()
        '64x64x64 f16 x f16 + f32 on pvc: one subgroup, one step of k'
        """
        return (
            f"{self.m}x{self.n}x{self.k} {self.a} x {self.b} + {self.c} on {self.target}: one subgroup, one step of k"
        )

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """What one subgroup holds of A, B and C in a step, to draw around the product; the instruction tile is one DPAS.

        Registers count through an operand's blocks, row by row. Raises `DistributionError` for a shape.

        >>> [part.layout.shape for part in plan_gemm(64, 64, 64, tile=(16, 32)).operands()]
        [(16, 16), (16, 32), (16, 32)]
        """
        sizes = (self.tile.m, self.tile.n, self.tile.k)
        own_sizes(f"{self.m}x{self.n}x{self.k} on {self.target}", sizes, shape)
        rows, columns = self.blocks
        counts = ((rows, 1), (1, columns), (rows, columns))
        layouts = [f.layout.tile(count) for f, count in zip(self.fragments, counts, strict=True)]
        return product_operands(layouts, (self.a, self.b, self.c), sizes, (self.dpas.m, self.dpas.n, self.dpas.k))

    @property
    def registers(self) -> Registers:
        """General registers that one subgroup needs in a step, against those that it has.

        >>> plan_gemm(64, 64, 64, tile=(8, 16)).registers.c
        8
        """
        info = target_info(self.target)
        per_operand = [
            f.count * f.block[0] * f.block[1] * element_bits(f.element) // 8 // info.grf_bytes for f in self.fragments
        ]
        return Registers(*per_operand, addresses=sum(self.blocks), available=info.grf_count)

    @property
    def arguments(self) -> tuple[int, ...]:
        """The sizes that the kernel is launched with, after its three pointers.

        >>> plan_gemm(40, 80, 48).arguments
        (40, 80, 48, 48, 80, 80)
        """
        return self.m, self.n, self.k, self.lda, self.ldb, self.ldc

    def emit(self, level: str = "lane") -> str:
        """The kernel as MLIR text.

        It takes the addresses of A, B and C (i64, multiples of 64) and `arguments` (i32), and runs on `grid`
        workgroups of `workgroup` work-items.

        Raises:
            PlanError: for levels other than "lane".

        >>> plan_gemm(64, 64, 64).emit("lane").count("xegpu.dpas")
        8
        """
        if type(level) is not str or level not in LEVELS:
            raise PlanError(f"level {shown(level)}: a kernel is emitted at one of the levels {', '.join(LEVELS)}")
        if level != "lane":
            raise PlanError(f"level {shown(level)}: kernels are planned for the level 'lane' so far")
        from layoutalg.gemm.lane import emit_lane

        return emit_lane(self)

    def simulate(
        self,
        a: ArrayLike,
        b: ArrayLike,
        text: str | None = None,
        *,
        progress: Callable[[float], None] | None = None,
    ) -> NDArray[Any]:
        """Run the emitted kernel on arrays A [m, k] and B [k, n]; returns C [m, n] in f32.

        `text` is the kernel to run, by default what `emit("lane")` gives. `progress` is told the part that is done.

        >>> gemm = plan_gemm(8, 32, 32)
        >>> a = np.eye(8, 32, dtype=np.float16)
        >>> b = np.arange(1024, dtype=np.float16).reshape(32, 32)
        >>> bool((gemm.simulate(a, b) == b[:8]).all())
        True
        """
        from layoutalg.gemm.run import run_gemm

        return run_gemm(self, a, b, text, progress=progress)


def plan_gemm(
    m: int,
    n: int,
    k: int,
    a: str = "f16",
    b: str = "f16",
    c: str = "f32",
    target: str = "pvc",
    *,
    tile: Sequence[int] | None = None,
    lda: int | None = None,
    ldb: int | None = None,
    ldc: int | None = None,
) -> Gemm:
    """Plan C[m, n] = A[m, k] B[k, n] for row-major matrices.

    `tile` is (m, n) of the block of C that one subgroup computes: m of 8, 16, 24, 32 and n of 16, 32. Without it, the
    plan takes the one that makes the whole grid load the fewest bytes, the larger one among equals. `lda`, `ldb`,
    `ldc` are the elements from one row to the next in memory (k, n and n without them): where a row's bytes don't
    suit the hardware, padding the rows in memory does.

    Raises:
        PlanError: for types, targets, tiles and sizes that are not planned; says what would fit.

    >>> plan_gemm(64, 64, 64, tile=(8, 16)).dpas_per_step
    1
    >>> plan_gemm(64, 64, 50)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: A is 64x50 f16: its rows are 100 bytes apart, which is not a multiple of 16 bytes, \
as a 2D block message needs; a leading dimension lda = 56 would fit
    >>> plan_gemm(64, 64, 50, lda=56).k_steps
    4
    """
    for name, value in (("a", a), ("b", b), ("c", c), ("target", target)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(f"{name} is of type {type(value).__name__}: expected a name, such as 'f16' or 'pvc'")
    if target != "pvc":
        raise PlanError(f"target {shown(target)}: products are planned for the target 'pvc' so far")
    if (a, b, c) not in TYPES:
        known = ", ".join(f"({', '.join(types)})" for types in TYPES)
        raise PlanError(f"types (a, b, c) = ({a}, {b}, {c}): products are planned for {known} so far")
    m, n, k = whole_number("m", m), whole_number("n", n), whole_number("k", k)
    leading = {
        name: default if value is None else whole_number(name, value)
        for name, value, default in (("lda", lda, k), ("ldb", ldb, n), ("ldc", ldc, n))
    }
    depth = dpas(a, b, c, target=target, m=8).k
    chosen = _default_tile(m, n, depth) if tile is None else _checked_tile(tile, depth)
    gemm = Gemm(m, n, k, a, b, c, target, **leading, tile=chosen)
    for matrix in gemm.matrices:
        check_matrix(matrix)
    return gemm


def _checked_tile(tile: Sequence[int], depth: int) -> Tile:
    try:
        rows, columns = (whole_number("tile", size) for size in tile)
    except (TypeError, ValueError):
        raise PlanError(f"tile {shown(tile)}: a tile is two sizes (m, n), such as (32, 16)") from None
    if rows not in TILE_ROWS or columns not in TILE_COLUMNS:
        raise PlanError(
            f"tile {rows}x{columns}: a subgroup computes {', '.join(map(str, TILE_ROWS))} rows by "
            f"{' or '.join(map(str, TILE_COLUMNS))} columns; more does not fit its 128 registers"
        )
    return Tile(rows, columns, depth)


def _default_tile(m: int, n: int, depth: int) -> Tile:
    """The tile with which the whole grid loads the fewest bytes, the larger among equals."""

    def cost(tile: Tile) -> tuple[int, int]:
        workgroups = -(-m // tile.m) * -(-n // tile.n)
        return workgroups * (tile.m + tile.n), -tile.m * tile.n

    return min((Tile(rows, columns, depth) for rows in TILE_ROWS for columns in TILE_COLUMNS), key=cost)
