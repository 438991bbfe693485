"""The names that the field has for a chip: a product's, a generation's, a compiler's; each is one of the chips by LLVM's name.

>>> chip_name("H100"), chip_name("cuda:80"), chip_name("hip:gfx942:sramecc+:xnack-"), chip_name("mi300x")
('sm_90', 'sm_80', 'gfx942', 'gfx942')
>>> chip_name("battlemage"), chip_name("intel_gpu_pvc"), chip_name("sapphirerapids"), chip_name("a chip of one's own")
('bmg', 'pvc', 'spr', "a chip of one's own")

Whoever asks for a chip asks by any of these names; what layoutalg knows of the chip is in `hardware.chips`,
`hardware.xe_products` and `hardware.amx_chips`. Products that differ in speed (`b570`) are rows of their own there, and stay.
"""

from __future__ import annotations

import re

__all__ = ["GENERATIONS", "chip_name"]

GENERATIONS = {
    "cdna1": "gfx908",
    "cdna2": "gfx90a",
    "cdna3": "gfx942",
    "cdna4": "gfx950",
    "rdna3": "gfx1100",
    "rdna4": "gfx1201",
    "gfx940": "gfx942",
    "gfx941": "gfx942",
    "mi100": "gfx908",
    "mi200": "gfx90a",
    "mi210": "gfx90a",
    "mi250": "gfx90a",
    "mi250x": "gfx90a",
    "mi300": "gfx942",
    "mi300a": "gfx942",
    "mi300x": "gfx942",
    "mi308x": "gfx942",
    "mi325x": "gfx942",
    "mi350x": "gfx950",
    "mi355x": "gfx950",
    "rx7900xt": "gfx1100",
    "rx7900xtx": "gfx1100",
    "w7900": "gfx1100",
}
"""AMD's products and generations, as a chip (LLVM's AMDGPU user guide, "Processors"; IREE's `KnownTargets.cpp`)."""
_OTHERS = {
    # CUDA's list of GPUs by compute capability
    "a100": "sm_80",
    "a800": "sm_80",
    "ampere": "sm_80",
    "h100": "sm_90",
    "h200": "sm_90",
    "h800": "sm_90",
    "gh200": "sm_90",
    "hopper": "sm_90",
    # ocloc's and SYCL's names of Intel's GPUs
    "xe_hpc": "pvc",
    "xe-hpc": "pvc",
    "pontevecchio": "pvc",
    "xe_hpg": "dg2",
    "xe-hpg": "dg2",
    "alchemist": "dg2",
    "acm_g10": "acm-g10",
    "acm_g11": "acm-g11",
    "dg2_g10": "acm-g10",
    "dg2-g10": "acm-g10",
    "dg2_g11": "acm-g11",
    "dg2-g11": "acm-g11",
    "bmg-g21": "bmg",
    "bmg_g21": "bmg",
    "xe2": "bmg",
    "battlemage": "bmg",
    "lnl-m": "lnl",
    "lnl_m": "lnl",
    "lunarlake": "lnl",
    "ptl-h": "ptl",
    "ptl_h": "ptl",
    "xe3": "ptl",
    "pantherlake": "ptl",
    # LLVM's -march of CPUs with AMX; Emerald Rapids has the tiles of Sapphire Rapids
    "sapphirerapids": "spr",
    "emeraldrapids": "spr",
    "emr": "spr",
    "graniterapids": "gnr",
}
_NVIDIA = re.compile(r"(?:cuda:|sm_?|compute_)([1-9][0-9]{1,2})[af]?")
_AMD = re.compile(r"(?:hip:)?(gfx[0-9a-f]{3,4})(?::(?:sramecc|xnack)[+-])*")
_LONGEST = 40


def chip_name(name: str) -> str:
    """The chip that a name means, as LLVM or Intel's compiler calls it; any other text stays, in small letters.

    >>> chip_name("gfx941"), chip_name("b570"), chip_name("sm_90a")
    ('gfx942', 'b570', 'sm_90')
    """
    if not isinstance(name, str) or len(name) > _LONGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
        return name
    plain = name.lower().removeprefix("intel_gpu_")
    if found := _NVIDIA.fullmatch(plain):
        return f"sm_{found[1]}"
    if found := _AMD.fullmatch(plain):
        plain = found[1]
    return (GENERATIONS | _OTHERS).get(plain, plain)
