"""The chips, one row each: lanes, registers, 2D block messages and shared memory; with sources.

Lanes, registers and messages: Intel's vISA documentation in the graphics compiler's repository (DPAS.md; the register file),
the SPIR-V and OpenCL extension texts SPV_INTEL_subgroup_matrix_multiply_accumulate rev 1, SPV_INTEL_2d_block_io rev 1,
cl_intel_subgroup_matrix_multiply_accumulate 1.1.0 and _tf32 1.0.0, cl_intel_subgroup_2d_block_io 1.1.0; which of it the
Debian 12 graphics compiler (IGC 1.0.12504) turns into `dpas` was tried with ocloc. The sizes of subgroups that a kernel may
ask for: Intel's LLVM (`DeviceConfigFile.td`) for pvc and dg2 (acm), Intel's graph compiler (`sg_sizes` in its tests) for bmg;
lnl is an Xe2 chip as bmg is. Wavefronts and warps: AMD's CDNA 2, CDNA 3
and RDNA 3 instruction set guides, NVIDIA's CUDA C++ Programming Guide.

A new chip is a row of `_CHIPS` here, with a `BlockTable` of its own where its 2D messages differ. A chip with DPAS that GEMMs
are planned for has a row in `hardware.xe_products` too. Prices of conversions: `_ALIKE` in `conversion.prices` says which
chip's instructions it has, or `benchmarks/prices.py` counts its own into `hardware/data/prices.json`. Where a listing is
wanted, `CHIPS` in `gemm.listing.compiling` has its name for the graphics compiler.

lnl is Lunar Lake, an Xe2 chip like bmg; ptl is Panther Lake, an Xe3 chip, to which the graphics compiler gives the same
messages; acm is the family name of dg2. What their cores can do in a clock is in `xe_products`.

Shared memory of a workgroup: 128 KiB per Xe core on pvc, bmg and lnl, 64 KiB on the Arc chips of dg2 (Intel); 64 KiB of LDS
(AMD's guides), 160 KiB on gfx950 (LLVM's test `lds-limit-diagnostics.ll`: a word more is refused, by llc 22 to 24 too); 48 KiB
without opting in (NVIDIA's guide). Its banks:
32 of 4 bytes (CUDA C++ Best Practices Guide, "Shared Memory"; AMD's guides for LDS), 64 on gfx950 (`hardware.shared_memory` has
which lanes they serve together); Intel publishes none, and 32 is assumed. What instructions cost is in
`layoutalg.conversion.cost`.

>>> target_info("pvc").subgroup_size, target_info("acm-g10").subgroup_size
(16, 8)
>>> target_info("gfx942").slm_bytes, target_info("gfx942").has_dpas
(65536, False)
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.banks import BANKS
from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.notebook import table
from layoutalg.core.whole_numbers import as_flag, whole_number
from layoutalg.hardware.amx_chips import AMX_TARGETS
from layoutalg.hardware.block_tables import XE_BLOCKS, BlockTable
from layoutalg.hardware.xe_products import product_target

__all__ = ["SurfaceLimits", "TargetInfo", "target_info", "target_names"]


@dataclass(frozen=True, slots=True)
class SurfaceLimits:
    """What a 2D block message asks of the matrix in memory; sizes in bytes unless said otherwise.

    Source: cl_intel_subgroup_2d_block_io 1.1.0. (The SPIR-V text allows a pitch of a multiple of 8; 16 satisfies both.)
    Loads outside `width` and `height` give 0, stores outside are dropped.

    >>> SurfaceLimits().pitch_multiple
    16
    """

    base_alignment: int = 64
    width_least: int = 64
    width_most: int = 2**24
    width_multiple: int = 4
    pitch_multiple: int = 16
    height_most: int = 2**24

    def x_multiple(self, bits: int) -> int:
        """What the x coordinate (in elements) of a block must be a multiple of.

        >>> SurfaceLimits().x_multiple(8), SurfaceLimits().x_multiple(16), SurfaceLimits().x_multiple(32)
        (4, 2, 1)
        """
        return max(1, 32 // whole_number(bits, "bits =", 1))


_SAID = {
    "name": "the chip",
    "subgroup_size": "lanes of a subgroup",
    "grf_bytes": "bytes of a register; 0: not said",
    "grf_count": "registers of a thread",
    "slm_bytes": "bytes of shared memory of a workgroup",
    "banks": "banks of shared memory",
    "cluster": "workgroups that reach each other's shared memory",
    "asked_sizes": "lanes that a kernel may ask for",
}
"""What stands in the table of a chip, in words."""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A chip: lanes per subgroup, registers per hardware thread, its 2D block messages, and its shared memory.

    `grf_bytes` is the size of one general register, `grf_count` how many a thread has, `grf_most` how many with the large
    register file; 0 for chips without DPAS. `slm_bytes` is the shared memory of a workgroup. `cluster` is the most
    workgroups that reach each other's shared memory (CUDA C++ Programming Guide, "Thread Block Clusters"): 1 where none does.
    `asked_sizes` are the lanes of a subgroup that a kernel may ask for (cl_intel_required_subgroup_size); where there are none,
    it doesn't ask.

    >>> target_info("pvc").grf_count * target_info("pvc").grf_bytes
    8192
    """

    name: str
    subgroup_size: int
    grf_bytes: int = 0
    grf_count: int = 0
    surface: SurfaceLimits | None = None
    slm_bytes: int = 65536
    banks: int = BANKS
    cluster: int = 1
    blocks: BlockTable | None = None
    asked_sizes: tuple[int, ...] = ()

    def _repr_html_(self) -> str:
        return table(["", "value", "of what"], [(name, getattr(self, name), what) for name, what in _SAID.items()])

    @property
    def grf_most(self) -> int:
        """The registers of a thread with the large register file; such a thread takes the place of two.

        >>> target_info("bmg").grf_most
        256
        """
        return 2 * self.grf_count

    @property
    def vendor(self) -> str:
        """Whose chip it is: "intel", "amd" or "nvidia"; "" for a GPU in general.

        >>> target_info("lnl").vendor, target_info("gfx90a").vendor, target_info("sm_80").vendor, target_info("generic").vendor
        ('intel', 'amd', 'nvidia', '')
        """
        for beginning, vendor in (("gfx", "amd"), ("sm_", "nvidia")):
            if self.name.startswith(beginning):
                return vendor
        return "intel" if self.has_dpas else ""

    @property
    def has_dpas(self) -> bool:
        """Whether it has Intel's matrix instruction.

        >>> target_info("dg2").has_dpas, target_info("sm_90").has_dpas
        (True, False)
        """
        return self.grf_bytes > 0

    def __str__(self) -> str:
        return self.name


_NAMED = "a100, cuda:80, mi300x, battlemage"


def _xe_hpc(name: str) -> TargetInfo:
    return TargetInfo(name, 16, 64, 128, SurfaceLimits(), slm_bytes=131072, blocks=XE_BLOCKS, asked_sizes=(16, 32))


def _xe_hpg(name: str) -> TargetInfo:
    return TargetInfo(name, 8, 32, 128, slm_bytes=65536, asked_sizes=(8, 16, 32))


_CHIPS = {
    chip.name: chip
    for chip in (
        *map(_xe_hpc, ("pvc", "bmg", "lnl", "ptl")),
        *map(_xe_hpg, ("dg2", "acm", "acm-g10", "acm-g11", "ats-m150")),
        TargetInfo("gfx90a", 64),
        TargetInfo("gfx942", 64),
        TargetInfo("gfx950", 64, slm_bytes=163840, banks=64),
        TargetInfo("gfx1100", 32),
        TargetInfo("sm_80", 32, slm_bytes=49152),
        TargetInfo("sm_90", 32, slm_bytes=49152, cluster=16),
        TargetInfo("generic", 32, cluster=16),  # a GPU in general: usual sizes, nothing measured
    )
}


def target_info(name: str, *, dpas: bool = False) -> TargetInfo:
    """The chip of a name, which may be that of a product (`xe_products`) or any other that the field has for it (`chip_names`).

    With `dpas` it must have that instruction.

    Raises `PlanError` for one that is not in the table, and for one without DPAS where that is asked for.

    >>> target_info("h100").name, target_info("cuda:80").name, target_info("mi300x").name
    ('sm_90', 'sm_80', 'gfx942')
    >>> target_info("sm_70")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'sm_70': expected one of pvc, bmg, lnl, ptl, dg2, acm, acm-g10, acm-g11, ats-m150,
    gfx90a, gfx942, gfx950, gfx1100, sm_80, sm_90, generic, or another name of one, such as a100, cuda:80, mi300x, battlemage
    >>> target_info("spr")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'spr' is a CPU with AMX, which plan_amx plans for: expected one of pvc, bmg, lnl,
    ptl, dg2, acm, acm-g10, acm-g11, ats-m150, gfx90a, gfx942, gfx950, gfx1100, sm_80, sm_90, generic, or another name of one,
    such as a100, cuda:80, mi300x, battlemage
    >>> target_info("gfx942", dpas=True)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'gfx942' has no DPAS: expected one of pvc, bmg, lnl, ptl, dg2, acm, acm-g10,
    acm-g11, ats-m150
    """
    dpas = as_flag(dpas, "dpas")
    asked = product_target(name)
    found = _CHIPS.get(asked) if isinstance(asked, str) else None
    if found is not None and (found.has_dpas or not dpas):
        return found
    names = ", ".join(target_names(dpas=dpas)) + ("" if dpas else f", or another name of one, such as {_NAMED}")
    amx = isinstance(asked, str) and asked in AMX_TARGETS
    why = " has no DPAS" if found is not None else " is a CPU with AMX, which plan_amx plans for" if amx else ""
    raise PlanError(f"target {shown(name)}{why}: expected one of {names}")


def target_names(*, dpas: bool = False) -> tuple[str, ...]:
    """The names of the chips that are known, or of those that have DPAS."""
    return tuple([chip.name for chip in _CHIPS.values() if chip.has_dpas or not dpas])
