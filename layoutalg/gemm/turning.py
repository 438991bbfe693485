"""A transposed A through shared local memory: the subgroups of a workgroup transpose its tile once, and all read operands.

A lies in memory as k x m. A packed message brings 32 rows of it (along k) and 16 columns (along m): lane l then has column l,
32 neighbours in k, as words of 32 bits. They are whole rows of operands: 32 bytes of an operand are one of its 8 rows, so a
lane writes each with two stores of 16 bytes, and nothing is moved between registers. In shared memory an operand is 256 bytes,
row by row; one block message brings two of them, which lie side by side along k, to all lanes of a subgroup.

By hand, f16, 8x4 subgroups of 32x64, 64 deep: the workgroup takes 64x256 of A in memory, 16 times 2 blocks of 32x16, so each
of the 32 subgroups has one of them to turn: 1 message and 4 stores. The 32 x 4 operands are 32 KiB, and there are two such
buffers: while operands are read from one, the next step's are written to the other, and one barrier a step is enough. A
subgroup reads its 4x4 operands in 8 calls.

>>> share = turned_by(Problem.of(4096, 4096, 4096, trans_a=True), Tiling(Tile(32, 64, 64), (8, 4), 256, transpose="slm"))
>>> share.abreast, share.across, share.buffer_bytes, share.shared_bytes
(1, 16, 32768, 65536)
>>> share.place(operand=(5, 3), row=2)
5952

With `transpose="scratch"` the two buffers are a matrix in global memory instead, one for each workgroup, with A's rows as rows:
the same stores, and ordinary block messages that read it. It has fewer messages, but only if the scratch stays in the cache of
its core is it fast, and nobody has measured that. Shared memory is there, so it is what the search chooses.

The law: the places of all rows of all operands of the workgroup's tile are the multiples of 32 below `buffer_bytes`, each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.hardware import BlockLoad, block_load

__all__ = [
    "SCRATCH",
    "SLM",
    "TurnedShare",
    "check_turning",
    "scratch_shape",
    "share_bytes",
    "stores_of_lane",
    "takes_turning",
    "turned_by",
    "turns",
    "why_no_share",
]

SLM, SCRATCH = "slm", "scratch"
ROW_BYTES = 32
"""A row of an operand A, of f16 and of bytes alike."""
ROWS, COLUMNS = 32, 16
"""The block that a packed message brings, along k and along m."""
_MOST_ABREAST = 2
_REGISTERS = 256
_MOST_SHARED = 2**16
"""Bytes of shared memory that a workgroup takes at most: what OpenCL reports on Arc and Max (`CL_DEVICE_LOCAL_MEM_SIZE`),
half of what a core has (`TargetInfo.slm_bytes`)."""


@dataclass(frozen=True, slots=True)
class TurnedShare:
    """What a subgroup transposes in a step: `abreast` blocks of 32x16 side by side; `across` such shares reach along m.

    `deep` is how many operands a step has along k, `rows` how many rows of A the workgroup's tile has.
    """

    load: BlockLoad
    abreast: int
    across: int
    deep: int
    rows: int

    @property
    def buffer_bytes(self) -> int:
        """The operands of one step."""
        return self.rows * self.deep * ROW_BYTES

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a workgroup: the operands of a step, and those of the next one."""
        return 2 * self.buffer_bytes

    def place(self, operand: tuple[int, int], row: int) -> int:
        """The first byte of a row of the operand (rows of 8, depth) in its buffer."""
        block, depth = operand
        return ((block * self.deep + depth) * 8 + row) * ROW_BYTES


def turns(tiling: Tiling) -> bool:
    """Whether a tiling has its workgroups transpose A."""
    return tiling.transpose in (SLM, SCRATCH)


def share_bytes(problem: Problem, tiling: Tiling) -> int:
    """Bytes of A that a subgroup transposes in a step; 0 where no workgroup transposes A.

    >>> share_bytes(Problem.of(64, 64, 64, trans_a=True), Tiling(Tile(32, 64, 64), (8, 4), 256, transpose="slm"))
    1024
    """
    if not turns(tiling):
        return 0
    return tiling.tile.m * tiling.tile.k * element_bits(mlir_type(problem.a)) // 8 // tiling.subgroups[1]


def scratch_shape(problem: Problem, tiling: Tiling) -> tuple[int, int, int]:
    """The scratch in global memory: how many matrices, one a workgroup, and their rows and columns; zeros where there is none.

    >>> scratch_shape(Problem.of(512, 512, 64, trans_a=True), Tiling(Tile(32, 64, 64), (8, 4), 256, transpose="scratch"))
    (4, 512, 64)
    """
    if tiling.transpose != SCRATCH:
        return 0, 0, 0
    whole = tiling.workgroup_tile
    return -(-problem.m // whole.m) * -(-problem.n // whole.n) * problem.batch, 2 * whole.m, whole.k


def stores_of_lane(problem: Problem, tiling: Tiling) -> int:
    """The stores of 16 bytes that a lane does in a step.

    >>> stores_of_lane(Problem.of(64, 64, 64, trans_a=True), Tiling(Tile(32, 64, 64), (8, 4), 256, transpose="slm"))
    4
    """
    return share_bytes(problem, tiling) // (16 * problem.dpas.subgroup_size)


def turned_by(problem: Problem, tiling: Tiling) -> TurnedShare:
    """The share of a subgroup.

    Raises `PlanError`: says what this way of transposing is for, and what would fit.
    """
    check_turning(problem, tiling.transpose)
    why = why_no_share(problem.dpas.k, tiling.tile, tiling.subgroups, tiling.registers)
    if why:
        raise PlanError(f"transpose {tiling.transpose}: {why}")
    whole, deep, bits = tiling.workgroup_tile.m, tiling.tile.k // problem.dpas.k, element_bits(mlir_type(problem.a))
    abreast = whole * tiling.tile.k // (ROWS * COLUMNS * tiling.count)
    load = block_load(ROWS, COLUMNS, bits, abreast, transform=True, target=problem.target)
    return TurnedShare(load, abreast, whole // (COLUMNS * abreast), deep, whole)


@lru_cache(maxsize=2**15)
def why_no_share(unit: int, tile: Tile, subgroups: tuple[int, int], registers: int) -> str:
    """Why the subgroups of a workgroup cannot share its tile of A, for DPAS that are `unit` deep; "" where they can."""
    (rows, columns), deep = subgroups, tile.k // unit
    count = rows * columns
    whole, blocks = tile.m * rows, tile.m * tile.k * rows // (ROWS * COLUMNS)
    if registers != _REGISTERS:
        return f"the share of the next step stays in registers for a whole step, and a thread has {registers}; 256 would do"
    if deep % 2:
        return f"a block message reads two operands along k, and a step of {tile.k} has {deep}; k_step = {2 * unit} would do"
    if tile.k % ROWS or whole % COLUMNS or blocks % count:
        return f"{whole}x{tile.k} of A are no whole number of blocks of 16x32 for each of {count} subgroups"
    abreast = blocks // count
    if abreast > _MOST_ABREAST:
        return f"a subgroup would transpose {abreast} blocks of 32x16 in a step, and has registers for {_MOST_ABREAST}"
    if whole % (COLUMNS * abreast) or count % (whole // (COLUMNS * abreast)):
        return f"{whole} rows of A are no whole number of shares of {COLUMNS * abreast} for {count} subgroups"
    if (size := 2 * whole * deep * ROW_BYTES) > _MOST_SHARED:
        return f"two buffers are {size} bytes of shared memory, and a workgroup has {_MOST_SHARED}"
    return ""


def why_not(problem: Problem, llvm: int) -> str:
    """Why no workgroup transposes a product's A, and what would; "" where one can."""
    if not rules(llvm).large_blocks:
        return f"LLVM {llvm} lowers no message as large as a subgroup's share; llvm = 23 and 24 do"
    if not problem.trans_a or problem.trans_b:
        return "workgroups transpose A where A alone lies transposed in memory"
    if problem.dpas.k not in (16, 32):
        return f"workgroups transpose operands of 16 and of 8 bits, and those of {problem.a} come by messages that transpose"
    if problem.edges:
        names = " and ".join(problem.edges)
        return (
            f"lanes move {names} element by element, and workgroups transpose A where block messages reach all matrices"
        )
    if problem.dpas.subgroup_size != COLUMNS:
        return f"workgroups transpose A in subgroups of {COLUMNS} lanes"
    return ""


def takes_turning(problem: Problem, llvm: int = DEFAULT_LLVM) -> bool:
    """Whether workgroups can transpose the product's A.

    >>> [takes_turning(Problem.of(64, 64, 64, kind, trans_a=True)) for kind in ("f16", "s8", "tf32")]
    [True, True, False]
    """
    return not why_not(problem, llvm)


def check_turning(problem: Problem, transpose: str = SLM, llvm: int = DEFAULT_LLVM) -> None:
    """Refuse products whose A no workgroup transposes, and versions of LLVM that cannot lower it.

    Raises `PlanError`: says why.

    >>> check_turning(Problem.of(64, 64, 64))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: transpose slm: workgroups transpose A where A alone lies transposed in memory
    """
    if why := why_not(problem, llvm):
        raise PlanError(f"transpose {transpose}: {why}")
