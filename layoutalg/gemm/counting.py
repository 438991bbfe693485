"""How many instructions the loop of a kernel has, said before anything is compiled.

By hand, for f16 with a tile of 32x64, 64 deep, on bmg: 4*4*4 dpas of 8x16x16; for each 32 of k one message of A and two of B,
so 6 loads; one shared prefetch. The rest is what the compiler adds: each of the two descriptors gets its place once (2 movs,
because bmg's messages take the distances between them as immediate offsets), the counter is added to and compared, the loop
jumps (3); the prefetch writes its payload and moves its place on (6), and the loop jumps once more (1); 5 waits.

>>> from layoutalg.gemm.tiling import Tile
>>> problem = Problem.of(4096, 4096, 4096, target="bmg")
>>> step = counted(problem, Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"))
>>> step
Counted(dpas=64, loads=6, prefetches=1, syncs=5, addresses=8, control=4)
>>> step.total, step.per_dpas
(88, 1.375)

On pvc a message has no immediate offset: every message has a payload of its own, whose place in k is written in every step.

dpas, loads and prefetches are exact: they are the form that the kernel is written in. The rest was measured on the listings of
the current graphics compiler (LLVM 24, ocloc 26.27.039122, 2026-11-22). Of 500 loops of f16, tiles of 8x16 to 64x48, 32 to 128
deep, all of bmg keep this rule: payloads + 3 without prefetch; with it 7 more for each prefetch, but 1 less where no round has
subgroups that ask for A and others that ask for B. For waits, and for what pvc takes beyond the rule, see `measured`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from layoutalg.gemm.measured import measured
from layoutalg.gemm.messages import messages
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.registers import payloads
from layoutalg.gemm.sharing import Shares, lines_of_lanes, shared_blocks
from layoutalg.gemm.tiling import Tiling

__all__ = ["Counted", "counted", "prefetches_per_step"]

_LOOP = 3
"""The counter is added to and compared, and the loop jumps."""
_PREFETCH = 7
"""What a shared prefetch takes: the compiler writes its payload in every step, and its place moves on."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions of one step of the loop; `loads` and `prefetches` are messages, `syncs` waits, `control` the loop's own.

    >>> Counted(dpas=64, loads=6, prefetches=1, syncs=5, addresses=12, control=4).total
    92
    """

    dpas: int
    loads: int
    prefetches: int
    syncs: int
    addresses: int
    control: int

    @property
    def total(self) -> int:
        """All of them.

        >>> Counted(1, 2, 0, 3, 2, 3).total
        11
        """
        return self.dpas + self.loads + self.prefetches + self.syncs + self.addresses + self.control

    @property
    def per_dpas(self) -> float:
        """Instructions per dpas.

        >>> Counted(4, 2, 0, 3, 2, 3).per_dpas
        3.5
        """
        return self.total / self.dpas


@lru_cache(maxsize=8192)
def counted(problem: Problem, tiling: Tiling, llvm: int = 24, *, by_rule: bool = False) -> Counted:
    """The instructions of one step; `by_rule` leaves out what was measured of single tiles (`measured`).

    >>> from layoutalg.gemm.tiling import Tile
    >>> counted(Problem.of(64, 64, 64), Tiling(Tile(32, 64, 64), registers=256)).loads
    6
    """
    tile, unit = tiling.tile, problem.dpas
    loads = messages(problem, tiling, llvm)
    dpas = (tile.m // unit.m) * (tile.n // unit.n) * (tile.k // unit.k)
    shares = _shares(problem, tiling)
    asked = 0 if shares is None else shares.messages
    addresses, control, syncs = payloads(problem, loads), _LOOP, 1 + len(loads)
    if shares is not None and tiling.prefetch == "shared":
        mixed = _mixed(shares, tiling.count) > 0
        addresses += _PREFETCH * asked - 1
        control += mixed
    elif shares is not None:
        addresses += asked
        control += 1
    found = None
    if not (by_rule or problem.trans_a or problem.trans_b):
        depth = tile.k * 16 // unit.k  # as many bytes along k as f16 has
        found = measured(problem.target, tiling.registers, tile.m, tile.n, depth)
    if found is not None:
        syncs = found.waits
        addresses += found.extra if tiling.prefetch == "shared" else 0
    return Counted(dpas, len(loads), asked, syncs, addresses, control)


def prefetches_per_step(problem: Problem, tiling: Tiling) -> int:
    """The prefetch messages of one subgroup in a step: the workgroup's blocks of A and B, shared out over its subgroups.

    >>> from layoutalg.gemm.tiling import Tile
    >>> prefetches_per_step(Problem.of(64, 64, 64), Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"))
    1
    """
    shares = _shares(problem, tiling)
    return 0 if shares is None else shares.messages


def _shares(problem: Problem, tiling: Tiling) -> Shares | None:
    if tiling.prefetch == "none":
        return None
    return (shared_blocks if tiling.prefetch == "shared" else lines_of_lanes)(problem, tiling)


def _mixed(shares: Shares, subgroups: int) -> int:
    """Rounds in which some subgroups ask for A and others for B."""
    of_a, total = shares.counts[0], shares.total
    return sum(start < of_a < min(start + subgroups, total) for start in range(0, shares.rounds * subgroups, subgroups))
