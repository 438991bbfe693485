"""Who asks for what ahead of its use: the slices of A and B that a workgroup needs in a step, shared by its subgroups.

Both forms of prefetch share out cache lines of 64 bytes. By hand: 8x4 subgroups of 32x32, 64 deep, in f16, need 256x64 of A and
64x128 of B. A line is 32 elements, so that is 256x2 and 64x4 lines. `shared` cuts them into blocks of some rows of one line:
with 32 rows they are 8x2 and 2x4 blocks, 24 for 32 subgroups. `lines` gives one line to each of the 512 lanes, and then the
other 256.

>>> from layoutalg.gemm.tiling import Tile
>>> problem, tiling = Problem.of(4096, 4096, 4096), Tiling(Tile(32, 32, 64), (8, 4), 256)
>>> slices(problem, tiling)
(Slice(operand='A', rows=256, lines=2, along=1), Slice(operand='B', rows=64, lines=4, along=0))
>>> shared_blocks(problem, tiling), lines_of_lanes(problem, tiling)
(Shares(rows=32, lines=1, counts=(16, 8), rounds=1), Shares(rows=1, lines=1, counts=(512, 256), rounds=2))

Where A is a few rows, blocks of both would be as low as A's: A and B then have rounds of their own (`shared_rounds`). By hand,
1x8 subgroups of 8x64 need 8x2 lines of A and 64x16 of B: 2 + 128 blocks of 8 rows, 17 rounds; apart 8 blocks of 2 rows, one
round, and 32 blocks of 32 rows, 4 rounds.

>>> few = Problem.of(8, 4096, 4096, target="bmg"), Tiling(Tile(8, 64, 64), (1, 8))
>>> shared_blocks(*few).rounds
17
>>> shared_rounds(*few)
(Shares(rows=2, lines=1, counts=(8, 0), rounds=1), Shares(rows=32, lines=1, counts=(0, 32), rounds=4))

The laws: every line that a workgroup needs in a step belongs to one block; the blocks of a round are as many as those who ask,
or fewer in the last round.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.tiling import Tiling
from layoutalg.gemm.turning import turns
from layoutalg.hardware import xe_chip

__all__ = [
    "LINE_BYTES",
    "Shares",
    "Slice",
    "check_lines",
    "line_elements",
    "lines_of_lanes",
    "shared_blocks",
    "shared_rounds",
    "slices",
    "takes_whole_lines",
]

LINE_BYTES = 64
"""A cache line of Xe, in every cache (Intel, oneAPI GPU Optimization Guide)."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What a workgroup needs of A or B in one step, as it lies in memory: `rows` rows of `lines` cache lines.

    `along` is the way that steps of k go: 0 down the rows, 1 along them.
    """

    operand: str
    rows: int
    lines: int
    along: int


@dataclass(frozen=True, slots=True)
class Shares:
    """Blocks of `rows` rows of `lines` lines: how many there are of A and of B, and how many rounds they take.

    >>> shares = Shares(rows=32, lines=2, counts=(16, 8), rounds=1)
    >>> shares.total, shares.messages
    (24, 2)
    """

    rows: int
    lines: int
    counts: tuple[int, int]
    rounds: int

    @property
    def total(self) -> int:
        """The blocks of A and of B together."""
        return sum(self.counts)

    @property
    def messages(self) -> int:
        """The prefetches of one subgroup in a step: a message brings one line of each row."""
        return self.rounds * self.lines


def line_elements(problem: Problem) -> int:
    """The elements of A or B in a cache line."""
    return LINE_BYTES * 8 // element_bits(problem.matrices[0].element)


def takes_whole_lines(problem: Problem, k_step: int, prefetch: str = "shared") -> bool:
    """Whether steps of k along the rows of A or B are whole cache lines, so that no two steps ask for the same one.

    For `lines`, whether rows are whole lines apart too: a lane asks for one line of a row.

    >>> takes_whole_lines(Problem.of(64, 64, 64), 16), takes_whole_lines(Problem.of(64, 64, 64, trans_a=True), 16)
    (False, True)
    >>> [takes_whole_lines(Problem.of(64, 80, 64), 32, prefetch) for prefetch in ("shared", "lines")]
    [True, False]
    """
    in_a, in_b, _ = problem.matrices
    if prefetch == "lines" and (in_a.pitch_bytes % LINE_BYTES or in_b.pitch_bytes % LINE_BYTES):
        return False
    return (problem.trans_a and not problem.trans_b) or k_step * in_a.element_bytes % LINE_BYTES == 0


def slices(problem: Problem, tiling: Tiling) -> tuple[Slice, Slice]:
    """The slices of A and of B.

    A workgroup that begins within a line takes the whole of it in, so a slice can have one line more than it has elements for.

    Raises:
        PlanError: a step along the rows is no whole number of lines, so that two steps would ask for the same line.
    """
    whole = tiling.workgroup_tile
    return (
        _slice(problem, tiling, "A", whole.m, 0 if problem.trans_a else 1),
        _slice(problem, tiling, "B", whole.n, 1 if problem.trans_b else 0),
    )


def _slice(problem: Problem, tiling: Tiling, operand: str, extent: int, along: int) -> Slice:
    line, step = line_elements(problem), tiling.tile.k
    element = problem.matrices["AB".index(operand)].element
    if along == 0:
        return Slice(operand, step, -(-(extent + line - gcd(extent, line)) // line), along)
    if step % line:
        whole = -(-step // line) * line
        raise PlanError(
            f"prefetch {tiling.prefetch} with k_step = {step}: prefetches ask for whole cache lines, and {step} "
            f"{element} along the rows of {operand} are not; k_step = {whole} would do"
        )
    return Slice(operand, extent, step // line, along)


def shared_blocks(problem: Problem, tiling: Tiling) -> Shares:
    """The blocks of 2-D prefetches of one size: with the fewest messages, and of these the smallest, so that all have work."""
    return _fewest(problem, tiling, slices(problem, tiling))


def shared_rounds(problem: Problem, tiling: Tiling) -> tuple[Shares, ...]:
    """The rounds of 2-D prefetches: blocks of one size, or those of A and then those of B where that is fewer messages."""
    if turns(tiling):  # the share of A is loaded a step ahead
        return (_fewest(problem, tiling, slices(problem, tiling)[1:]),)
    together = shared_blocks(problem, tiling)
    of_a, of_b = (_fewest(problem, tiling, (part,)) for part in slices(problem, tiling))
    if of_a.messages + of_b.messages >= together.messages:
        return (together,)
    return of_a, of_b


def _fewest(problem: Problem, tiling: Tiling, parts: tuple[Slice, ...]) -> Shares:
    """The blocks of one size of some slices."""
    apart = xe_chip(problem.target).immediate_offsets
    best: tuple[tuple[int, int, int], Shares] | None = None
    for lines in (1,) if apart else (1, 2, 4, 8):  # apart, more lines than one are never fewer messages
        if any(_lines_together(problem, part) % lines for part in parts):
            break
        for rows in (32, 16, 8, 4, 2, 1):
            if any(_rows_together(problem, part) % rows for part in parts):
                continue
            blocks = {part.operand: part.rows // rows * part.lines // lines for part in parts}
            counts = blocks.get("A", 0), blocks.get("B", 0)
            shares = Shares(rows, lines, counts, -(-sum(counts) // tiling.count))
            # bmg: 1.55 and 1.58 for 32x32, 128 deep, with lines apart and side by side; pvc: 1.77 and 1.69 (IGC 2.40)
            cost = shares.messages, lines if apart else shares.rounds, rows
            if best is None or cost < best[0]:
                best = cost, shares
            elif shares.messages > best[0][0]:
                break  # smaller blocks are more messages
    assert best is not None  # blocks of one row and one line always fit
    return best[1]


def _lines_together(problem: Problem, part: Slice) -> int:
    """Cache lines side by side in a slice: of a pair of products, those of one."""
    return part.lines // 2 if problem.halves and part.operand == "B" and part.along == 0 else part.lines


def _rows_together(problem: Problem, part: Slice) -> int:
    return part.rows // 2 if problem.halves and part.operand == "B" and part.along == 1 else part.rows


def lines_of_lanes(problem: Problem, tiling: Tiling) -> Shares:
    """The lines that lanes ask for.

    Raises `PlanError`: rows are no whole number of lines apart.
    """
    of_a, of_b = (part.rows * part.lines for part in slices(problem, tiling))
    check_lines(problem)
    lanes = problem.dpas.subgroup_size * tiling.count
    return Shares(1, 1, (of_a, of_b), -(-(of_a + of_b) // lanes))


def check_lines(problem: Problem) -> None:
    """Refuse to prefetch lines of rows that are no whole number of lines apart.

    Raises `PlanError`: names the matrix, and what would fit.

    >>> check_lines(Problem.of(64, 80, 64))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: prefetch lines: B is 64x80 f16: its rows are 160 bytes apart, no whole number of cache \
lines of 64 bytes, so no lane could ask for one line of a row; ldb = 96 would do, or prefetch shared
    """
    for matrix in problem.matrices[:2]:
        if matrix.pitch_bytes % LINE_BYTES:
            fit = -(-matrix.pitch_bytes // LINE_BYTES) * LINE_BYTES // matrix.element_bytes
            raise PlanError(
                f"prefetch lines: {matrix}: its rows are {matrix.pitch_bytes} bytes apart, no whole number of cache lines of "
                f"{LINE_BYTES} bytes, so no lane could ask for one line of a row; ld{matrix.name.lower()} = {fit} would do, or "
                "prefetch shared"
            )
