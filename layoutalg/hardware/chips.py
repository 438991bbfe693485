"""The chips: what the planner and the fragment maps need to know of each, with the source.

Sources: Intel's vISA documentation in the graphics compiler's repository (DPAS.md; the register file), the SPIR-V and
OpenCL extension texts SPV_INTEL_subgroup_matrix_multiply_accumulate rev 1, SPV_INTEL_2d_block_io rev 1,
cl_intel_subgroup_matrix_multiply_accumulate 1.1.0 and _tf32 1.0.0, cl_intel_subgroup_2d_block_io 1.1.0; which of it the
Debian 12 graphics compiler (IGC 1.0.12504) turns into `dpas` was tried with ocloc.

>>> target_info("pvc").subgroup_size, target_info("acm-g10").subgroup_size
(16, 8)
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError

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
        return max(1, 32 // bits)


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A chip: lanes per subgroup, registers per hardware thread, and whether it has 2D block messages.

    `grf_bytes` is the size of one general register, `grf_count` how many a thread has (twice that in large-register mode).

    >>> target_info("pvc").grf_count * target_info("pvc").grf_bytes
    8192
    """

    name: str
    subgroup_size: int
    grf_bytes: int
    grf_count: int = 128
    surface: SurfaceLimits | None = None

    def __str__(self) -> str:
        return self.name


_XE_HPC = {"grf_bytes": 64, "subgroup_size": 16, "surface": SurfaceLimits()}
_XE_HPG = {"grf_bytes": 32, "subgroup_size": 8, "surface": None}

_TARGETS = {
    name: TargetInfo(name, **family)  # type: ignore[arg-type]
    for family, names in (
        (_XE_HPC, ("pvc", "bmg")),
        (_XE_HPG, ("dg2", "acm-g10", "acm-g11", "ats-m150")),
    )
    for name in names
}


def target_info(name: str) -> TargetInfo:
    """The chip of a name.

    Raises `VerificationError` for one that is not in the table.

    >>> target_info("h100")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: target 'h100': expected one of pvc, bmg, dg2, acm-g10, acm-g11,
    ats-m150
    """
    found = _TARGETS.get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if found is None:
        raise VerificationError(f"target {name!r}: expected one of {', '.join(_TARGETS)}")
    return found


def target_names() -> tuple[str, ...]:
    """The names of the targets that are known.

    >>> target_names()[0]
    'pvc'
    """
    return tuple(_TARGETS)
