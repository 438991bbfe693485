"""Which lanes the banks of shared memory serve together, and how fast, chip by chip.

Banks are a word wide. What lanes access is served in phases of as many lanes as fill all banks once, but of no more lanes than
there are banks, in the order of their numbers. Reads of 16 bytes on AMD's chips have another order, in fours:

    gfx942, gfx1100   0-3 and 20-23, 4-7 and 16-19, 8-11 and 28-31, 12-15 and 24-27; the same from 32 on
    gfx950            0-3, 12-15, 20-23 and 24-27; 4-11, 16-19 and 28-31; the same from 32 on

>>> served("sm_80", 16, 32, reading=True).banks, served("gfx942", 16, 64, reading=True).order[:8]
(32, (0, 1, 2, 3, 20, 21, 22, 23))
>>> served("gfx950", 8, 64, reading=True).banks, served("gfx950", 8, 64, reading=False).banks
(64, 32)

A core has several engines that issue instructions, and one unit of shared memory. With 8 engines and 128 bytes a clock, as on
bmg, a word of 16 lanes, 64 bytes, takes half a clock, in which the engines have 4 issue slots:

>>> rates("bmg").slots * 64 / 128, rates("pvc").slots, rates("sm_80").slots, rates("gfx942").slots
(4.0, 8.0, 4.0, 1.0)

Sources: CUDA C++ Best Practices Guide, "Shared Memory"; NVIDIA developer forum 77228 (128 bytes a clock, accesses of 16 bytes
by quarters of a warp). AMD's banks and phases were measured for reads of 4, 8 and 16 bytes on gfx942, gfx950 and gfx1100
(nod-ai/amd-shark-ai, docs/empirical-lds/lds_summary.md); triton PR 11365 and IREE PR 24428 have the same orders,
ROCm/rocm-systems PR 3114 the same bytes a clock (gfx942: 128; gfx950: 256).

Unconfirmed: no source was found for gfx950's writes, which are taken as gfx942's (32 banks, in the order of lanes: ROCm's
documentation of CK Tile, "LDS bank conflicts"), for the order of its transposed reads, taken as that of its reads of 8 bytes,
nor for gfx90a, taken to serve lanes in their order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.hardware.chips import target_info

__all__ = ["CLUSTER_BYTES", "CYCLE_BYTES", "Rates", "Served", "rates", "served", "widest"]

CYCLE_BYTES = BANKS * BANK_BYTES
"""The bytes of a cycle of shared memory, as cycles are counted here: those of the common banks."""

CLUSTER_BYTES = 16
"""The bytes that a core exchanges in a clock with the shared memory of a cluster's other workgroups.

Measured on H800 PCIe: 3.27 TB/s in clusters of 2 (2.65 in clusters of 4), over 114 cores at 1.755 GHz; latency 180 cycles, of
the own shared memory 29 (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", arXiv 2402.13499).
"""

_QUAD = 4
_READS_OF_16: dict[str, tuple[int, ...]] = {
    "gfx942": (0, 5, 1, 4, 2, 7, 3, 6),
    "gfx950": (0, 3, 5, 6, 1, 2, 4, 7),
    "gfx1100": (0, 5, 1, 4, 2, 7, 3, 6),
}
"""The order of fours of lanes, within each 32."""


class Rates(NamedTuple):
    """What a core of a chip does in a clock, and who says so.

    `bytes` of shared memory pass in a clock (measured or stated). `engines` issue an instruction in every `clocks`th clock. A
    shuffle takes `shuffle` cycles of the unit of shared memory (0: it is a move of the ALUs, whose registers lanes are columns
    of); an instruction of the ALUs takes `alu` issue slots. Where no lanes meet, a message takes the unit for no less than
    `least` bytes.

    >>> rates("bmg").alone, rates("gfx942").alone
    (1.0, 0.25)
    """

    bytes: int
    engines: int
    clocks: int
    shuffle: int
    alu: int
    least: int
    source: str
    rows: bool = False
    """Whether shuffles among neighbours, and of one lane's word for all, are the ALUs' (AMD's: DPP, `v_readlane_b32`)."""

    @property
    def slots(self) -> float:
        """The issue slots of a core in a cycle: what a cycle costs while all subgroups want the unit at once."""
        return CYCLE_BYTES / self.bytes * self.engines / self.clocks

    @property
    def alone(self) -> float:
        """The issue slots of one engine in a cycle: what a cycle costs one subgroup while the others compute."""
        return self.slots / self.engines


_NVIDIA = Rates(
    128, 4, 1, 1, 2, CYCLE_BYTES,
    "PMC10448217, table 3 (bytes); CUDA C++ Programming Guide, throughput of native instructions (shuffles, ALUs)",
)  # fmt: skip
_AMD = Rates(128, 4, 4, 2, 1, CYCLE_BYTES, "ROCm/rocm-systems PR 3114; four SIMDs, an instruction in four clocks", True)
_RATES: dict[str, Rates] = {
    "sm_80": _NVIDIA,
    "sm_90": _NVIDIA,
    "gfx90a": _AMD,
    "gfx942": _AMD,
    "gfx950": _AMD,
    "bmg": Rates(128, 8, 1, 0, 1, 64, "measured: 127 on B580, 112 on Arc Pro B70"),
    "lnl": Rates(128, 8, 1, 0, 1, 64, "as bmg, the same core: assumed"),
    "ptl": Rates(128, 8, 1, 0, 1, 64, "as bmg: assumed"),
    "pvc": Rates(128, 8, 1, 0, 1, 64, "assumed, none is published: 32 banks of 4 bytes, as bmg's rate says"),
} | dict.fromkeys(
    ("dg2", "acm", "acm-g10", "acm-g11", "ats-m150"),
    Rates(128, 16, 1, 0, 1, 32, "128 bytes a clock for 16 engines, as bmg has for 8: assumed"),
)  # fmt: skip


def rates(chip: str) -> Rates | None:
    """The rates of a chip; None where nobody published or measured them.

    Raises `PlanError` for an unknown chip.

    >>> print(rates("gfx1100"))
    None
    """
    return _RATES.get(target_info(chip).name)


class Served(NamedTuple):
    """How many banks serve an access, the order of the lanes (empty: that of their numbers), and how many together at most.

    >>> Served(32, ()).together(8), Served(32, ()).together(2)
    (16, 32)
    """

    banks: int
    order: tuple[int, ...]
    most: int = 32

    def together(self, size: int) -> int:
        """How many lanes are served together whose accesses have so many bytes."""
        return max(min(self.banks * 4 // size, self.most), 1)


@lru_cache(maxsize=64)
def widest(chip: str, lanes: int) -> int:
    """The bytes that each of so many lanes moves in one access, at most.

    32 for 16 lanes on Intel's chips that have so many (IGC 2.40's listings for bmg and pvc have `load.slm.d32x8`; for 32 lanes
    no message is wider than 16 bytes of each), 16 elsewhere. Four lanes with 32 bytes each are taken to be served together.

    Raises `PlanError` for an unknown chip.

    >>> widest("pvc", 16), widest("pvc", 32), widest("dg2", 8), widest("sm_80", 32)
    (32, 16, 16, 16)
    """
    info = target_info(chip)
    return 32 if info.has_dpas and info.subgroup_size == 16 and lanes <= 16 else 16


@lru_cache(maxsize=1024)
def served(chip: str, size: int, lanes: int, *, reading: bool) -> Served:
    """How a chip serves accesses of so many bytes each, by all lanes of a subgroup.

    Raises `PlanError` for an unknown chip.
    """
    info = target_info(chip)
    banks = info.banks if reading else min(info.banks, 32)
    quads = _READS_OF_16.get(info.name, ()) if reading and size == 16 and lanes % 32 == 0 else ()
    order = [first + _QUAD * quad + i for first in range(0, lanes, 32) for quad in quads for i in range(_QUAD)]
    return Served(banks, tuple(order), banks)
