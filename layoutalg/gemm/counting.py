"""How many instructions the loop of a kernel has, said before anything is compiled.

By hand, for f16 with a tile of 32x64, 64 deep, on bmg: 4*4*4 dpas of 8x16x16; for each 32 of k one message of A and two of B,
so 6 loads; one shared prefetch. The rest is what the compiler adds: each of the two descriptors gets its place once (2 movs,
because bmg's messages take the distances between them as immediate offsets), the counter is added to and compared, the loop
jumps (3); the prefetch writes its payload and moves its place on (6), and the loop jumps once more (1); 5 waits.

>>> from layoutalg.gemm.tiling import Tile
>>> problem = Problem.of(4096, 4096, 4096, target="bmg")
>>> step = counted(problem, Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"))
>>> step
Counted(dpas=64, loads=6, prefetches=1, syncs=5, addresses=8, control=4, stores=0)
>>> step.total, step.per_dpas
(88, 1.375)

On pvc a message has no immediate offset: every message has a payload of its own, whose place in k is written in every step.

dpas, loads and prefetches are exact: they are the form that the kernel is written in. The rest was measured on the listings of
the current graphics compiler (LLVM 24, ocloc 26.27.039122, 2026-11-22). Of 500 loops of f16, tiles of 8x16 to 64x48, 32 to 128
deep, all of bmg keep this rule: payloads + 3 without prefetch; with it 7 more for each prefetch, but 1 less where no round has
subgroups that ask for A and others that ask for B. For waits, and for what pvc takes beyond the rule, see `measured`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.whole_numbers import as_flag, instance_of, whole_number
from layoutalg.gemm.edges import loop_edges
from layoutalg.gemm.measured import measured
from layoutalg.gemm.messages import Message, messages, messages_of_scratch
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.registers import payloads
from layoutalg.gemm.roles import in_loop
from layoutalg.gemm.sharing import LINE_BYTES
from layoutalg.gemm.tiling import Tiling
from layoutalg.gemm.turning import SCRATCH, stores_of_lane, turns
from layoutalg.hardware import xe_chip

__all__ = ["Counted", "asked", "counted", "further", "instructions"]

_LOOP = 3
"""The counter is added to and compared, and the loop jumps."""
_PREFETCH = 7
"""What a shared prefetch takes: the compiler writes its payload in every step, and its place moves on."""

_LINES = {True: 4, False: 7}
"""What a prefetch of lines takes besides its message: a mask of the lanes that ask (a comparison, two jumps), and its place
moves on. On chips without immediate offsets (False) the compiler moves its address too, and waits for all but the first."""
_MORE_SHARED = {True: 3, False: 4}
"""What each shared prefetch takes more without immediate offsets (moves, waits), beyond those of the grid of `measured`, 8x4;
in loops that are 64 deep or more (in f16), and in others. The former don't have the few instructions more of the table then.

Both were measured at tiles of 8x16 to 48x32 in grids of 1x1 to 8x4, f16 and tf32 (LLVM 24, ocloc 26.27.039122, 2026-11-27):
with lines all loops as said, with shared blocks 55 of 56 within 13 %, half of them within 4 %."""
_MORE_SHARED_BYTES = {True: 2, False: 1}
"""The same of bytes: moves and waits around payloads that share a register. Of 333 loops, tiles of 8x16 to 64x64 in grids of
1x1 to 8x1, both register files, 4 are beyond 15 %, by 20 % at most (LLVM 24, ocloc 26.27.039122, 2026-11-28)."""
_FURTHER = {True: 6, False: 4}
"""What a loop takes more where its shared prefetches ask two steps ahead or more, with and without immediate offsets: where
they ask is where the loads go on only if it is the next step. Not of bytes, nor where B is transposed: of 24 such loops 7 are
longer. Of 180 other loops, of 8x16 to 32x32 in grids of 1x2, 2x2 and 2x4, two and four steps ahead, those of f16 and tf32 are
within 15 % then, those of s8 within 16 % (LLVM 24, ocloc 26.27.039122, 2026-11-27)."""
_TURNED_B = 2
"""What a message of a transposed B takes more without immediate offsets where a tile's columns are three blocks of 16, and
where the subgroups of a workgroup are in one column and prefetch, or stream-K has a loop over tiles around it. Of 12 loops of
8x48 to 64x48, f16 and tf32, all but one (64x48 of tf32, 32 deep) are within 10 % then; of 24 loops in grids of 1x1 and 2x1 all
are within 15 %, of 4 loops with stream-K within 9 % (LLVM 24, ocloc 26.27.039122, 2026-11-27). Of 60 loops of all types drawn
at random, without prefetch too, 11 are further off: most without prefetch, three blocks wide or 64x16, up to 36 % too many,
and 48x64x64 of f16, whose loop is twice as long as predicted."""
_TURNED_STORE = 5
"""What a store of a transposed A to shared memory takes on chips without immediate offsets; on others 2, with its address."""
_TURNED_PREFETCH = 12
"""What a shared prefetch takes, besides its message, beside a transposed A in shared memory without immediate offsets."""
_LANE_LOAD = 22
"""What an element costs that a lane loads itself, besides the message: its address of 64 bits, its mask, its place in the
fragment. Measured on bmg with f16 and bf16 (LLVM 24, ocloc 26.27.039122, 2026-11-27), the load included: 21 for A in tiles of
8x16 and 16x32, 26 for B in a tile of 16x32, 21 for both in a tile of 32x32; none spills."""
_LANE_LOAD_TURNED = 19
"""The same for an element of an A that lies transposed, where lanes load neighbours: 17 to 22 in tiles of 8x16 and 32x32, bf16,
f16 and s8, on bmg and pvc (2026-11-27)."""

Grids: TypeAlias = NDArray[np.int64]
_FORMS = [(height, abreast) for height in (1, 2, 4, 8, 16, 32) for abreast in (1, 2, 4, 8)]
_HEIGHTS, _ABREAST = (np.array([form[side] for form in _FORMS], np.int64)[:, None] for side in (0, 1))
"""The blocks that a shared prefetch may have: rows, and cache lines side by side, one message each."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions of a loop step; `loads` and `prefetches` are messages, `syncs` waits, `control` the loop's own; `stores`
    are those of a transposed A to shared memory."""

    dpas: int
    loads: int
    prefetches: int
    syncs: int
    addresses: int
    control: int
    stores: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.dpas + self.loads + self.prefetches + self.syncs + self.addresses + self.control + self.stores

    @property
    def per_dpas(self) -> float:
        """Instructions per dpas."""
        return self.total / self.dpas


def counted(problem: Problem, tiling: Tiling, llvm: int = DEFAULT_LLVM, *, by_rule: bool = False) -> Counted:
    """The instructions of one step; `by_rule` leaves out what was measured of single tiles (`measured`)."""
    instance_of(problem, Problem, "problem", PlanError)
    instance_of(tiling, Tiling, "tiling", PlanError)
    by_rule = as_flag(by_rule, "by_rule", PlanError)
    return _counted(*in_loop(problem, tiling), whole_number(llvm, "llvm =", 22, 99, PlanError), by_rule)


@lru_cache(maxsize=8192)
def _counted(problem: Problem, tiling: Tiling, llvm: int, by_rule: bool) -> Counted:
    tile, unit = tiling.tile, problem.dpas
    edges = loop_edges(problem)
    loads = _loads(problem, tiling, llvm)
    by_lanes = sum(_elements(problem, tiling, name) for name in edges)
    dpas = (tile.m // unit.m) * (tile.n // unit.n) * (tile.k // unit.k)
    ahead, mixed = _asked_by(problem, tiling)
    addresses, syncs = payloads(problem, loads), 1 + len(loads)
    if turns(tiling):
        return _of_turned(problem, tiling, len(loads), ahead, llvm)
    offsets = xe_chip(problem.target).immediate_offsets
    if not by_rule:
        syncs, extra = _of_kind(problem, tiling, len(loads))
        addresses += extra
        in_column = tiling.subgroups[1] == 1 and tiling.prefetch != "none"
        if _is_odd(problem, tiling) or in_column or tiling.stream_k:
            addresses += _of_turned_b(problem, loads)
    if tiling.prefetch == "shared":
        addresses += _PREFETCH * ahead - 1
        if not by_rule and not offsets and (more := ahead - _asked_when_measured(problem, tiling)) > 0:
            addresses += _more_shared(problem, tiling) * more - _left_out(problem, tiling)
            syncs = min(syncs, 1 + len(loads))  # what waits for prefetches is in their price
        addresses += further(problem, tiling.distance)
    elif tiling.prefetch == "lines":
        addresses += _LINES[offsets] * ahead
        syncs += 0 if offsets else ahead - 1
    addresses += _LANE_LOAD * by_lanes
    if problem.trans_a and "A" in edges:
        addresses -= (_LANE_LOAD - _LANE_LOAD_TURNED) * _elements(problem, tiling, "A")
    control = _LOOP + {"none": 0, "shared": int(mixed), "lines": 1}[tiling.prefetch]
    return Counted(dpas, len(loads) + by_lanes, ahead, syncs, addresses, control)


def _of_turned(problem: Problem, tiling: Tiling, of_b: int, ahead: int, llvm: int) -> Counted:
    """The instructions of a step where the workgroup transposes A.

    Measured on bmg and pvc (LLVM 24, ocloc 26.27.039122, 2026-11-27). In shared memory, where a call reads two operands with
    two messages, at 65 tilings of 8x64 to 64x32 on bmg: all are within 14 %. On pvc, where the compiler writes payloads anew
    and waits for each, the rule is one of least squares of 106 loops of 8x16 to 64x64, drawn at random: 5 are beyond 15 %, four
    by 15 to 19 %, one (64x16x128 of s8) by 31 %. The same rule of 46 of them left 3 of the other 60 beyond 15 %. In a scratch
    at 14 loops of each chip: within 8 %.
    """
    tile, unit, offsets = tiling.tile, problem.dpas, xe_chip(problem.target).immediate_offsets
    dpas = (tile.m // unit.m) * (tile.n // unit.n) * (tile.k // unit.k)
    stores = stores_of_lane(problem, tiling)
    if tiling.transpose == SCRATCH:
        reads = len(messages_of_scratch(problem, tiling, llvm))
        syncs = 7 + dpas // 11 if offsets else 1 + dpas // 5
        addresses = 12 if offsets else 13 + 4 * stores
        addresses += ahead * (_PREFETCH if offsets else 11)
    else:
        reads = (tile.m // unit.m) * (tile.k // unit.k)
        syncs = 2 + dpas // 4
        addresses = 10 + stores + reads // 2 + (_PREFETCH * ahead + 1 if ahead else 0)
        if not offsets:
            more = (_TURNED_STORE - 1) * stores + _TURNED_PREFETCH * ahead
            addresses = more + round(15.7 + 0.95 * reads + 0.77 * dpas) - syncs
    return Counted(dpas, of_b + 1 + reads, ahead, syncs, addresses, _LOOP, stores)


def _elements(problem: Problem, tiling: Tiling, operand: str) -> int:
    """The elements of A or B that a lane needs in a step."""
    tile = tiling.tile
    return tile.k * (tile.m if operand == "A" else tile.n) // problem.dpas.subgroup_size


def _of_kind(problem: Problem, tiling: Tiling, loads: int) -> tuple[int, int]:
    """Waits, and instructions beyond the rule, by types and storage: f16 as measured tile by tile, others beside it.

    Measured at tiles of 16x32 to 64x32 on bmg and pvc (LLVM 24, ocloc 26.27.039122, 2026-11-22). 8-bit types take 2 more
    instructions than f16 with as many bytes along k, and a third more waits; without immediate offsets no more waits, and the 2
    only with shared prefetch (180 loops without it are within 10 %, 2026-11-28). B transposed takes 2 more and 60 % more waits.
    Rows of a transposed A are put together in registers: one instruction for each row and 16 of k, of 8-bit types three for two
    of those.
    """
    tile = tiling.tile
    narrow, wide = problem.dpas.k == 32, problem.dpas.k == 8
    if problem.trans_a:
        moved = tile.m * tile.k // 16
        if narrow:
            return loads // 2, moved * 3 // 2 + 3
        return (loads // 2, 0) if wide else (loads, moved)
    found = measured(problem.dpas.target.name, tiling.registers, tile.m, tile.n, tile.k * 16 // problem.dpas.k)
    waits, extra = (1 + loads, 0) if found is None else (found.waits, found.extra)
    if tiling.prefetch != "shared":
        extra = 0
    if tiling.prefetch == "lines":
        return waits, 0
    if problem.trans_b:
        return round(waits * 1.6) if found else waits, extra + 2
    if narrow and xe_chip(problem.target).immediate_offsets:
        return round(waits * 1.35), extra + 2
    return waits, extra + 2 * (narrow and tiling.prefetch == "shared")


def further(problem: Problem, distance: int) -> int:
    """The instructions that a loop takes more where its shared prefetches ask so many steps ahead, and not one.

    >>> further(Problem.of(64, 64, 64, target="bmg"), 1), further(Problem.of(64, 64, 64, target="bmg"), 4)
    (0, 6)
    """
    instance_of(problem, Problem, "problem", PlanError)
    if whole_number(distance, "distance", 1, None, PlanError) == 1 or problem.dpas.k >= 32 or problem.trans_b:
        return 0
    return _FURTHER[xe_chip(problem.target).immediate_offsets]


def _loads(problem: Problem, tiling: Tiling, llvm: int) -> list[Message]:
    """The messages of a step; elements that lanes load are not among them."""
    edges = loop_edges(problem)
    return [message for message in messages(problem, tiling, llvm) if message.operand not in edges]


def _is_odd(problem: Problem, tiling: Tiling) -> bool:
    """Whether a tile's columns are three blocks of B."""
    blocks = tiling.tile.n // problem.dpas.n
    return blocks > 1 and blocks % 2 == 1


def _of_turned_b(problem: Problem, loads: Sequence[Message]) -> int:
    """What the messages of a transposed B take more, where they do."""
    if not problem.trans_b or xe_chip(problem.target).immediate_offsets:
        return 0
    return _TURNED_B * sum(message.operand == "B" for message in loads)


def _is_deep(problem: Problem, tiling: Tiling) -> bool:
    """Whether a step has 128 bytes along k or more."""
    return tiling.tile.k * 16 // problem.dpas.k >= 64


def _more_shared(problem: Problem, tiling: Tiling) -> int:
    """What each shared prefetch beyond the usual ones takes more without immediate offsets."""
    return (_MORE_SHARED_BYTES if problem.dpas.k == 32 else _MORE_SHARED)[_is_deep(problem, tiling)]


def _left_out(problem: Problem, tiling: Tiling) -> int:
    """The instructions of the table that a loop does not have where a subgroup prefetches more than it says."""
    if problem.trans_a or not _is_deep(problem, tiling):
        return 0
    tile = tiling.tile
    found = measured(problem.dpas.target.name, tiling.registers, tile.m, tile.n, tile.k * 16 // problem.dpas.k)
    return 0 if found is None else max(0, found.extra)


def instructions(problem: Problem, tiling: Tiling, rows: Grids, columns: Grids, llvm: int = DEFAULT_LLVM) -> Grids:
    """The instructions of one step for many grids of subgroups at once: `counted(...).total` of each."""
    if problem.gated:
        problem, tiling = in_loop(problem, tiling)
    single = replace(tiling, subgroups=(1, 1))
    one = counted(problem, single, llvm)
    (ahead, mixed), (alone, of_both) = asked(problem, tiling, rows, columns), _asked_by(problem, single)
    offsets = xe_chip(problem.target).immediate_offsets
    if turns(tiling):
        scratch = tiling.transpose == SCRATCH
        each = 8 if offsets else 12 if scratch else 1 + _TURNED_PREFETCH
        store = 2 - scratch if offsets else _TURNED_STORE - scratch
        return one.total + each * (ahead - alone) + store * (one.stores // columns - one.stores)
    each = {"none": 0, "shared": 1 + _PREFETCH, "lines": 1 + _LINES[offsets] + (not offsets)}[tiling.prefetch]
    total = one.total + each * (ahead - alone)
    loads = _loads(problem, single, llvm)
    if not _is_odd(problem, tiling) and tiling.prefetch != "none":
        total = total - _of_turned_b(problem, loads) * (columns > 1) * (tiling.stream_k == 0)
    if tiling.prefetch != "shared":
        return total
    if not offsets:
        usual, waits = _asked_when_measured(problem, tiling), _of_kind(problem, tiling, len(loads))[0]
        left_out = _left_out(problem, tiling) + max(0, waits - 1 - len(loads))
        more = _more_shared(problem, tiling)
        total = total + more * (np.maximum(0, ahead - usual) - max(0, alone - usual))
        total = total - left_out * ((ahead > usual).astype(np.int64) - int(alone > usual))
    return total + (mixed.astype(np.int64) - of_both)


def asked(problem: Problem, tiling: Tiling, rows: Grids, columns: Grids) -> tuple[Grids, NDArray[np.bool_]]:
    """The prefetches of a subgroup in a step, for many grids of subgroups at once, and whether some ask for A, others for B.

    It is what `sharing` says of one plan: blocks of one size with the fewest messages, or those of A and of B apart.
    """
    instance_of(problem, Problem, "problem")
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)  # costs take up to 62 bits
    count = rows * columns
    if tiling.prefetch == "none":
        return np.zeros_like(count), np.zeros(count.shape, np.bool_)
    line = LINE_BYTES * 8 // element_bits(problem.matrices[0].element)
    sides = (tiling.tile.m * rows, problem.trans_a), (tiling.tile.n * columns, not problem.trans_b)
    slices = [_slice(extent, tiling.tile.k, line, down=down) for extent, down in sides]
    if tiling.prefetch == "lines":
        total = sum(height * lines for height, lines in slices)
        return -(-total // (problem.dpas.subgroup_size * count)), np.ones(count.shape, np.bool_)
    if turns(tiling):
        return _fewest(problem, slices[1:], count)[0], np.zeros(count.shape, np.bool_)
    together, of_a, total = _fewest(problem, slices, count)
    apart = _fewest(problem, slices[:1], count, of_b=False)[0] + _fewest(problem, slices[1:], count)[0]
    mixed = (of_a % count != 0) & (of_a < total) & (together <= apart)
    return np.minimum(together, apart), mixed


def _fewest(
    problem: Problem, slices: list[tuple[Grids, Grids]], count: Grids, *, of_b: bool = True
) -> tuple[Grids, Grids, Grids]:
    """The messages of a subgroup for blocks of one size, the blocks of the first slice, and all blocks."""
    fits = np.ones((_HEIGHTS.size, count.size), np.bool_)
    parts: list[Grids] = []
    for number, (height, lines) in enumerate(slices):
        down, beside = height, lines
        if problem.halves and of_b and number == len(slices) - 1:
            down, beside = (height // 2, lines) if problem.trans_b else (height, lines // 2)
        fits &= (down % _HEIGHTS == 0) & (beside % _ABREAST == 0)
        parts.append(height // _HEIGHTS * lines // _ABREAST)
    first, total = parts[0], sum(parts[1:], parts[0])
    rounds = -(-total // count)
    second = _ABREAST if xe_chip(problem.target).immediate_offsets else rounds
    cost = np.where(fits, (rounds * _ABREAST * 2**20 + second) * 64 + _HEIGHTS, 2**62)
    best = np.argmin(cost, axis=0), np.arange(count.size)
    return rounds[best] * _ABREAST[best[0], 0], first[best], total[best]


def _slice(extent: Grids, deep: int, line: int, *, down: bool) -> tuple[Grids, Grids]:
    """Rows and cache lines of what a workgroup needs of a matrix in a step; `down`: k goes down the rows in memory."""
    if down:
        return np.full_like(extent, deep), -(-(extent + line - np.gcd(extent, line)) // line)
    return extent, np.full_like(extent, -(-deep // line))


def _asked_when_measured(problem: Problem, tiling: Tiling) -> int:
    """The prefetches of a subgroup in the grid that `measured` knows, which has them already."""
    return _asked_by(problem, replace(tiling, subgroups=(8, 4)))[0]


def _asked_by(problem: Problem, tiling: Tiling) -> tuple[int, bool]:
    rows, columns = tiling.subgroups
    ahead, mixed = asked(problem, tiling, np.array([rows], np.int64), np.array([columns], np.int64))
    return int(ahead[0]), bool(mixed[0])
