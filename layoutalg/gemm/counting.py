"""How many instructions the loop of a kernel has, said before anything is compiled.

By hand, for f16 with a tile of 32x64, 64 deep, on bmg: 4*4*4 dpas of 8x16x16; for each 32 of k one message of A and two of B,
so 6 loads; one shared prefetch. The rest is what the compiler adds: each of the two descriptors gets its place once (2 movs,
because bmg's messages take the distances between them as immediate offsets), the counter is added to and compared, the loop
jumps; the prefetch builds its payload (8 movs, 2 adds); waits for data.

>>> from layoutalg.gemm.tiling import Tile
>>> problem = Problem.of(4096, 4096, 4096, target="bmg")
>>> step = counted(problem, Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"))
>>> step.dpas, step.loads, step.prefetches, step.total, step.per_dpas
(64, 6, 1, 94, 1.46875)

On pvc a message has no immediate offset: every message has a payload of its own, whose place in k is written in every step.

dpas, loads and prefetches are exact: they are the form that the kernel is written in. The rest was measured on the listings of
the current graphics compiler (ocloc 26.27.039122, November 2026); waits follow the compiler's choice of registers, and are
an average over tiles. `tests/oracle/test_gemm_listings.py` compares all of it with listings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from layoutalg.gemm.messages import Message, messages
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.registers import payloads
from layoutalg.gemm.tiling import Tiling

__all__ = ["Counted", "counted", "prefetches_per_step"]

_PREFETCH_BYTES = 2048
"""What one shared prefetch asks for: 32 rows of 64 bytes."""
_PREFETCH_MOVS, _PREFETCH_ADDS = 8, 2
"""The payload of a shared prefetch is built again in every step, because the compiler does not keep it; its place moves on."""
_LINE_BYTES = 64


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


@lru_cache(maxsize=4096)
def counted(problem: Problem, tiling: Tiling, llvm: int = 24) -> Counted:
    """The instructions of one step.

    >>> from layoutalg.gemm.tiling import Tile
    >>> counted(Problem.of(64, 64, 64), Tiling(Tile(32, 64, 64), registers=256)).loads
    6
    """
    tile, unit = tiling.tile, problem.dpas
    loads = messages(problem, tiling, llvm)
    dpas = (tile.m // unit.m) * (tile.n // unit.n) * (tile.k // unit.k)
    prefetches = prefetches_per_step(problem, tiling)
    addresses = payloads(problem, loads)
    if tiling.prefetch == "shared":
        addresses += prefetches * (_PREFETCH_MOVS + _PREFETCH_ADDS)
    elif tiling.prefetch == "lines":
        addresses += prefetches
    control = 3 + (tiling.prefetch != "none")
    return Counted(dpas, len(loads), prefetches, _syncs(problem, loads), addresses, control)


def prefetches_per_step(problem: Problem, tiling: Tiling) -> int:
    """The prefetch messages of one subgroup in a step: the workgroup's blocks of A and B, shared out over its subgroups.

    >>> from layoutalg.gemm.tiling import Tile
    >>> prefetches_per_step(Problem.of(64, 64, 64), Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"))
    1
    """
    if tiling.prefetch == "none":
        return 0
    whole, bits = tiling.workgroup_tile, max(8, problem.dpas.a_bits and _bits(problem))
    step = (whole.m + whole.n) * whole.k * bits // 8
    if tiling.prefetch == "shared":
        return -(-step // (_PREFETCH_BYTES * tiling.count))
    return -(-step // (_LINE_BYTES * problem.dpas.subgroup_size * tiling.count))


def _bits(problem: Problem) -> int:
    return {"s8": 8, "u8": 8, "tf32": 32}.get(problem.a, 16)


def _syncs(problem: Problem, loads: tuple[Message, ...]) -> int:
    """Waits: one for the loop, and for every 32 of k about one for every message, and two more where A comes in two rows."""
    return 1 + len(loads)
