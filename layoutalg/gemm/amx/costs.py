"""How long a tiling takes on a CPU with AMX, and what limits it: bytes from each cache, clocks of each kind of work.

By hand, for 4096x4096x4096 in bf16 with 2x2 tiles, blocks of 1024x1024 and all of k, A packed, columns first:

    products           256 * 256 * 128 tiles = 8388608, 16 clocks each: 134 million clocks
    registers <- L1    a step loads 2 + 2 tiles of 1 KiB for 4 products: 8388608 loads, 8192 MiB
    L1 <- L2           a strip of A and a panel of B are 256 KiB each, more than L1: every load, and 64 MiB of C
    L2 <- L3           a block of A is 8 MiB, more than L2: all of A for each of 128 panels of B, 4096 MiB; all of B for each of
                       4 rows of blocks, 128 MiB; C

>>> from layoutalg.gemm.amx.tiling import Blocking
>>> problem = AmxProblem.of(4096, 4096, 4096, target="gnr")
>>> line = amx_roofline(problem, AmxTiling(Blocking(2, 2), 1024, 1024, 4096, "columns", True))
>>> line.products, line.l1_bytes / 2**20, line.l2_bytes / 2**20, line.l3_bytes / 2**20
(8388608, 8192.0, 8256.0, 4288.0)
>>> line.limit, round(line.part_of_peak, 2)
('L3', 0.22)

With k cut every 1024 and blocks of 256 rows, a block of A is 512 KiB and stays in L2; C is stored 4 times for it:

>>> line = amx_roofline(problem, AmxTiling(Blocking(2, 2), 256, 1024, 1024, "columns", True))
>>> line.l2_bytes / 2**20, line.l3_bytes / 2**20, line.limit, round(line.part_of_peak, 2)
(8640.0, 1088.0, 'L2', 0.43)

The rules, and what they leave out:

- A cache holds what was used last: a tile comes from the first cache that is larger than all that was used since the tile's
  last use. L2 and L3 lose some from half their size on, and all at one and a half (what their sets do is not followed). Rows
  whose distance is a multiple of 4 KiB share few sets, so they take more room.
- Loads from L1 and L2 run beside products: a step takes the longer of both. Loads from L3 and memory add to it, because the
  core looks only a few steps ahead.
- A tile whose rows cross cache lines costs `_SPLIT` clocks. A as it lies is taken for such, because `malloc` and numpy align to
  16 bytes, unless the problem says that it is `aligned`.
- Stores of C, packing, the epilogue and LDTILECFG add to that. A last, smaller step of k stores C once more.
- Where A, B and C fit into L2 together they are taken to lie there already, else in L3, else in memory.
- The products of a batch come one after the other, each with packed operands of its own.
- Cache blocks follow the order too: down a column of them, or along a row. With several cores each has an equal part of them.

The constants were measured on a virtual machine with two cores of a Xeon with AMX (family 6, 48 KiB of L1, 2 MiB of L2, 480 MiB
of L3, about 3.6 GHz with AMX), with C loops around the intrinsics of GCC; clocks for each load of a tile, or each step:

    1x1 tile loads      L1 8.7   L2 21.5   L3 109   memory 200      rows that cross lines 41 to 57
    step of             1x1  1x2  1x3  1x4  1x5  1x6  2x2
    all in L1            18   33   48   63   79   92   64
    A in L2, B in L1     28   39   51   65   80   96   65
    A in L1, B in L2     28   50   74  105  127  144   65
    all in L2            42   64   85  105  127  148   89
    A in L3, B in L1    108  112  119  144  143  169  220
    all in L3           218  324  440  549  657  774  440
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product as product_of
from math import gcd
from types import MappingProxyType

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of, listed, one_of, whole_number
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.strips import cut
from layoutalg.gemm.amx.tiling import TILE, AmxTiling, Blocking
from layoutalg.gemm.ranking import Numbers, Predicted
from layoutalg.hardware import AmxChip, amx_chip

__all__ = ["AMX_LIMITS", "AmxForms", "AmxRoofline", "AmxTimes", "amx_roofline", "amx_times"]

AMX_LIMITS = ("tile unit", "L1", "L2", "L3", "memory")
"""What can limit a product: the tile unit, bytes from L1 into tile registers, bytes from L2, from L3, from memory."""

_SETS = (64 * 64, 2048 * 64)
"""The bytes after which the sets of L1 and of L2 repeat."""
_L1_EDGES, _L2_EDGES = (1.0, 1.2), (0.5, 1.5)
"""How many times the size of L1 and of L2 is used until they begin to lose a tile, and until they have lost it."""
_SPLIT = 45.0
"""Clocks to load a tile whose rows cross cache lines, from L1."""
_CALL = 200.0
"""Clocks to call a function with tiles and to fill and drain its pipeline, LDTILECFG excluded."""
_PACK, _TRANSPOSE, _FINISH = 90.0, (350.0, 100.0), 100.0
"""Clocks to write a packed tile, what a transposition of A and of B adds to that, and those of the epilogue of a tile of C;
reading excluded."""


@dataclass(frozen=True)
class AmxForms:
    """Tilings as columns of numbers, one entry per tiling, so that thousands cost as much as one."""

    rows: Numbers
    columns: Numbers
    m_block: Numbers
    n_block: Numbers
    k_block: Numbers
    by_rows: Numbers
    packed: Numbers
    prefetched: Numbers
    """Steps ahead; measured (docs/amx_costs.md) as no faster, so it has no time of its own."""

    @classmethod
    def of(cls, tilings: Sequence[AmxTiling]) -> AmxForms:
        """The columns of some tilings."""
        for tiling in listed(tilings, "tilings", error=PlanError):
            instance_of(tiling, AmxTiling, "tiling", PlanError)
        table = [
            (
                *(t.blocking.rows, t.blocking.columns, t.m_block, t.n_block, t.k_block),
                *(t.order == "rows", t.pack_a, t.prefetch_b),
            )
            for t in tilings
        ]
        return cls(*np.array(table, dtype=np.float64).reshape(-1, len(fields(cls))).T)

    def tiling(self, row: int) -> AmxTiling:
        """One of the tilings."""
        sizes = (self.rows, self.columns, self.m_block, self.n_block, self.k_block)
        rows, columns, m_block, n_block, k_block = (int(column[row]) for column in sizes)
        order = "rows" if self.by_rows[row] else "columns"
        packed, ahead = bool(self.packed[row]), int(self.prefetched[row])
        return AmxTiling(Blocking(rows, columns), m_block, n_block, k_block, order, packed, ahead)


@dataclass(frozen=True)
class AmxTimes:
    """The times of `AmxForms` on one core, in clocks, and the bytes that each level gives.

    `parts` add up to `clocks`: the products, what loads from "L1 and L2" add, what loads from "L3 and memory" add, C, the calls
    and their configurations, packing, the epilogue. `limits` has the clocks that each limit alone would take. `levels` has the
    bytes that tiles of A, of B and of C take from "L1", "L2", "L3" and "memory" (what a level gives comes through those above
    it too).
    """

    clocks: Numbers
    parts: Mapping[str, Numbers]
    limits: Mapping[str, Numbers]
    levels: Mapping[str, Mapping[str, Numbers]]

    def bytes_from(self, level: str) -> Numbers:
        """The bytes of A, B and C that a level gives to the one above it: to the tile registers, where it is L1."""
        names = AMX_LIMITS[1:]
        one_of(level, names, "level", PlanError)
        beyond = names[names.index(level) :]
        of = ("A", "B") if level == "L1" else ("A", "B", "C")
        return np.sum([self.levels[operand][name] for operand in of for name in beyond], axis=0)


def amx_times(problem: AmxProblem, forms: AmxForms, chip: AmxChip | None = None) -> AmxTimes:
    """The times of many tilings of a problem on one core, by the rules of this module."""
    instance_of(problem, AmxProblem, "problem", PlanError)
    instance_of(forms, AmxForms, "forms", PlanError)
    chip = amx_chip(problem.chip) if chip is None else chip
    instance_of(chip, AmxChip, "chip", PlanError)
    m, n, k, size = problem.m, problem.n, problem.k_padded, problem.element_bytes
    tiles_m, tiles_n, steps = -(-m // TILE), -(-n // TILE), -(-k // problem.depth)

    high, wide = np.minimum(TILE * forms.rows, m), np.minimum(TILE * forms.columns, n)
    m_block, n_block, k_block = (
        np.minimum(block, most) for block, most in ((forms.m_block, m), (forms.n_block, n), (forms.k_block, k))
    )
    grid_m, grid_n = np.ceil(m / m_block), np.ceil(n / n_block)
    down, across, strips = _register_blocks(problem, forms)

    # What is used between two uses of the same tile, in bytes of a cache.
    whole = problem.batch * (m * k * size + k * n * size + m * n * 4)
    strip, panel, block_c = high * k_block * size, wide * k_block * size, high * wide * 4
    block_a, block_b = m_block * k_block * size, n_block * k_block * size
    lines_a, lines_c = problem.lda * size, problem.ldc * problem.matrices[2].element_bytes
    crowded = [np.where(forms.packed > 0, 1.0, _crowding(lines_a, high, k_block * size, sets)) for sets in _SETS]
    crowd_c = _crowding(lines_c, m_block, n_block * 4, _SETS[1]) if problem.direct else np.ones_like(high)
    levels = _Levels(chip, whole)
    by_rows = forms.by_rows > 0
    together = [strip * crowd + panel + block_c for crowd in crowded]
    again_a = [
        np.where(by_rows, near, block_a * crowd + 2 * panel + m_block * wide * 4)
        for near, crowd in zip(together, crowded, strict=True)
    ]
    again_b = [
        np.where(by_rows, block_b + 2 * strip * crowd + n_block * high * 4, near)
        for near, crowd in zip(together, crowded, strict=True)
    ]
    # The cache blocks of a row (or a column) come one after the other: one operand's block is kept, the other passes whole.
    in_block = (m_block + n_block) * k * size + m_block * n_block * 4
    in_row = m_block * k * size + n * k * size + m_block * n * 4
    in_column = n_block * k * size + m * k * size + m * n_block * 4
    share_a, share_b = 1 / across, 1 / down
    left_a, left_b = levels.of(np.where(by_rows, in_block, in_column)), levels.of(np.where(by_rows, in_row, in_block))
    from_a = _mixed(
        (share_a, levels.furthest), ((grid_n - 1) * share_a, left_a), (1 - grid_n * share_a, levels.of(*again_a))
    )
    from_b = _mixed(
        (share_b, levels.furthest), ((grid_m - 1) * share_b, left_b), (1 - grid_m * share_b, levels.of(*again_b))
    )

    # A step of a register block: its loads and products, for each pair of places that A and B come from.
    tall, broad = tiles_m / down, tiles_n / across
    product = _product_clocks(chip, m) * tall * broad
    at = (chip.load_l1, chip.load_l2, chip.load_l3, chip.load_memory)
    split = np.where((forms.packed > 0) | problem.on_lines, 0.0, _SPLIT - chip.load_l1)
    near = far = np.zeros_like(tall)
    for (level_a, part_a), (level_b, part_b) in product_of(enumerate(from_a), enumerate(from_b)):
        close, distant = tall * split, np.zeros_like(tall)
        for count, level in ((tall, level_a), (broad, level_b)):
            close = close + count * at[level if level < 2 else 0]
            distant = distant + count * (at[level] if level > 1 else 0)
        beside = np.maximum(product, close)
        near = near + part_a * part_b * (beside - product)
        far = far + part_a * part_b * distant
    all_steps = down * across * steps

    # C: each register block stores its tiles after each block of k, and loads them before each but the first.
    stays = levels.of(block_a + block_b + m_block * n_block * 4 * crowd_c)
    from_c = levels.furthest if problem.direct else stays
    at_c = (chip.store_l1, chip.store_l2, chip.store_l3, chip.store_l3)
    tiles_c = tiles_m * tiles_n
    rest = k % problem.depth
    passes = np.ceil((k - rest) / k_block) + bool(rest)
    again_c = np.tensordot(at_c, stays, 1) + np.tensordot(at, stays, 1)
    clocks_c = tiles_c * (np.tensordot(at_c, from_c, 1) + (passes - 1) * again_c)
    calls = grid_m * grid_n * strips * passes * (chip.configure + _CALL)
    read = float(np.tensordot(at, levels.furthest, 1)[0])
    pack_a, pack_b = (
        _PACK + flag * more for flag, more in zip((problem.trans_a, problem.trans_b), _TRANSPOSE, strict=True)
    )
    packing = tiles_n * steps * (read + pack_b) + forms.packed * tiles_m * steps * (read + pack_a)
    epilogue = (0.0 if problem.direct else tiles_c * (_FINISH + read)) + 0 * tall
    parts = {
        "products": all_steps * product,
        "L1 and L2": all_steps * near,
        "L3 and memory": all_steps * far,
        "C": clocks_c,
        "calls": calls,
        "packing": packing,
        "epilogue": epilogue,
    }
    parts = {name: problem.batch * clocks for name, clocks in parts.items()}
    bytes_a, bytes_b = problem.batch * m * k * size * across, problem.batch * k * n * size * down
    moved = {
        "A": _by_level(bytes_a, from_a),
        "B": _by_level(bytes_b, from_b),
        "C": _by_level(problem.batch * m * n * 4 + 0 * tall, from_c + 2 * (passes - 1) * stays),
    }
    limits = {"tile unit": parts["products"]}
    times = AmxTimes(
        np.sum(list(parts.values()), axis=0), MappingProxyType(parts), MappingProxyType(limits), MappingProxyType(moved)
    )
    for level, clocks in zip(AMX_LIMITS[1:], at, strict=True):
        limits[level] = times.bytes_from(level) * clocks / 1024
    return times


@dataclass(frozen=True)
class _Levels:
    """Which caches hold what was used so many bytes ago: the parts that come from L1, L2, L3 and memory."""

    chip: AmxChip
    whole: float

    @property
    def furthest(self) -> Numbers:
        """Where A, B and C lie before they are used: in L2 if all fit there, as in a loop that repeats the product."""
        return self.of(np.array([float("inf")]), np.array([self.whole]))

    def of(self, in_l1: Numbers, in_l2: Numbers | None = None) -> Numbers:
        in_l2 = in_l1 if in_l2 is None else in_l2
        beyond_l1 = _lost(in_l1 / self.chip.l1_bytes, _L1_EDGES)
        beyond_l2 = beyond_l1 * _lost(in_l2 / self.chip.l2_bytes, _L2_EDGES)
        beyond_l3 = beyond_l2 * _lost(np.array(self.whole / self.chip.l3_bytes), _L2_EDGES)
        return np.array((1 - beyond_l1, beyond_l1 - beyond_l2, beyond_l2 - beyond_l3, beyond_l3))


def _lost(filled: Numbers, edges: tuple[float, float]) -> Numbers:
    """The part that a cache no longer holds, where what was used since is so many times its size."""
    return np.clip((filled - edges[0]) / (edges[1] - edges[0]), 0.0, 1.0)


def _mixed(*sources: tuple[Numbers, Numbers]) -> Numbers:
    """The parts from each level, where a share comes from each source."""
    return np.sum([share * parts for share, parts in sources], axis=0)


def _register_blocks(problem: AmxProblem, forms: AmxForms) -> tuple[Numbers, Numbers, Numbers]:
    """Register blocks down and across C, and pairs of strips: a cache block calls a function for each of them."""
    found = np.ones((3, len(forms.rows)))
    sizes = 2 * TILE * forms.rows + forms.columns
    for size in np.unique(sizes):
        among = sizes == size
        first = int(np.argmax(among))
        sides = cut(problem.m, problem.n, Blocking(int(forms.rows[first]), int(forms.columns[first])))
        down, across = (sum(strip.count for strip in side) for side in sides)
        found[:, among] = np.array([[down], [across], [len(sides[0]) * len(sides[1])]])
    return found[0], found[1], found[2]


def _crowding(distance: int, rows: Numbers, row_bytes: Numbers, period: int) -> Numbers:
    """How many times its bytes a block of rows takes in a cache whose sets repeat after `period` bytes.

    Rows that start a multiple of the period apart compete for the same sets: 16 rows of 512 bytes, 4 KiB apart, fill an eighth
    of L1's sets, and need 8 times their room.
    """
    starts = period // gcd(distance, period)
    covered = np.minimum(1.0, np.minimum(starts, rows) * row_bytes / period)
    return np.where(rows <= starts, 1.0, 1 / covered)


def _product_clocks(chip: AmxChip, m: int) -> float:
    """The clocks of a product, the last tile's rows included: one of 8 rows takes 10 of 16 clocks, one of 4 or fewer 9."""
    tiles, rest = -(-m // TILE), m % TILE
    last = max(9.0, 4 + 0.75 * rest) / TILE if rest else 1.0
    return chip.product * (tiles - 1 + last) / tiles


def _by_level(total: Numbers, parts: Numbers) -> Mapping[str, Numbers]:
    """The bytes that come from each level."""
    return MappingProxyType(dict(zip(AMX_LIMITS[1:], total * parts, strict=True)))


@dataclass(frozen=True)
class AmxRoofline(Predicted):
    """What a tiling moves and how long it takes, on so many cores of a chip.

    Bytes are those of the whole problem: into tile registers (`l1_bytes`), from L2 (`l2_bytes`), from L3 (`l3_bytes`), from and
    to memory (`memory_bytes`: each of A, B and C once at least). `limit_seconds` says how long each of `AMX_LIMITS` alone would
    take, `part_seconds` what the time of a core is made of.

    >>> tiling = AmxTiling(Blocking(2, 2), 256, 2048, 1024, "columns", True)
    >>> line = amx_roofline(AmxProblem.of(4096, 4096, 4096, target="gnr"), tiling)
    >>> line.limit, round(line.intensity), round(line.ridge)
    ('L2', 1024, 200)
    """

    chip: AmxChip
    cores: int
    flops: int
    products: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    memory_bytes: int
    limit_seconds: Mapping[str, float]
    part_seconds: Mapping[str, float]
    seconds: float
    peak: float
    ridge: float


def amx_roofline(problem: AmxProblem, tiling: AmxTiling, chip: AmxChip | None = None, cores: int = 1) -> AmxRoofline:
    """The roofline of a tiling on so many cores of the problem's chip, or of another one.

    Raises:
        PlanError: for arguments of other types, and for more cores than the chip has.

    >>> tiling = AmxTiling(Blocking(2, 2), 256, 512, 256, "columns", True)
    >>> amx_roofline(AmxProblem.of(4096, 4096, 4096), tiling, cores=61)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: cores = 61: expected a whole number from 1 to 60
    """
    instance_of(problem, AmxProblem, "problem", PlanError)
    instance_of(tiling, AmxTiling, "tiling", PlanError)
    chip = amx_chip(problem.chip) if chip is None else chip
    instance_of(chip, AmxChip, "chip", PlanError)
    cores = whole_number(cores, "cores =", 1, chip.cores, PlanError)
    found = amx_times(problem, AmxForms.of([tiling]), chip)
    blocks = problem.batch * -(-problem.m // tiling.m_block) * -(-problem.n // tiling.n_block)
    # Cores share out cache blocks; the last round may leave some idle.
    part = -(-blocks // cores) / blocks / (chip.clock(cores) * 1e9)
    memory_bytes = sum(matrix.rows * matrix.columns * matrix.element_bytes for matrix in problem.matrices)
    memory_bytes += problem.m * problem.n * problem.matrices[2].element_bytes if problem.beta else 0
    memory_bytes = max(problem.batch * memory_bytes, round(float(found.bytes_from("memory")[0])))
    limit_seconds = {name: float(found.limits[name][0]) * part for name in AMX_LIMITS[:-1]}
    limit_seconds["memory"] = memory_bytes / (chip.bandwidth(cores) * 1e9)
    part_seconds = {name: float(clocks[0]) * part for name, clocks in found.parts.items()}
    tiles = [-(-size // unit) for size, unit in ((problem.m, TILE), (problem.n, TILE), (problem.k, problem.depth))]
    return AmxRoofline(
        chip,
        cores,
        problem.flops,
        problem.batch * tiles[0] * tiles[1] * tiles[2],
        round(float(found.bytes_from("L1")[0])),
        round(float(found.bytes_from("L2")[0])),
        round(float(found.bytes_from("L3")[0])),
        memory_bytes,
        MappingProxyType(limit_seconds),
        MappingProxyType(part_seconds),
        max(sum(part_seconds.values()), limit_seconds["memory"]),
        chip.peak(problem.a, cores),
        chip.ridge(problem.a, cores),
    )
