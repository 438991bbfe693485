"""What this machine's CPU can run: its features, and the kernel's permission to use tiles.

Linux names features in /proc/cpuinfo (`amx_tile`, `amx_bf16`, `amx_int8`, `amx_fp16`). Tile registers are 8 KiB of state that
the kernel keeps for a process only if it asks: arch_prctl(ARCH_REQ_XCOMP_PERM, 18), where 18 is XTILEDATA (Documentation/
arch/x86/xstate.rst). The answer holds for all of the process's threads, from then on.

>>> missing_features(("amx-tile", "fma"), flags=frozenset({"fma", "avx2"}))
('amx-tile',)
"""

from __future__ import annotations

import platform
import sys
from functools import lru_cache
from pathlib import Path

__all__ = ["BASE", "cpu_flags", "missing_features", "native_refusal", "permitted", "vector_features"]

_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA = 158, 0x1023, 18
BASE = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl")
"""What every CPU with AMX has besides (Sapphire Rapids and Granite Rapids: Intel 64 manual, volume 1, and LLVM's X86.td)."""
_VECTORS = ("avx2", "fma", "f16c")
"""What scalar loops and soft tiles are compiled for where the CPU has it."""


@lru_cache(maxsize=1)
def cpu_flags() -> frozenset[str]:
    """The features of the CPU as Linux names them; none on other systems.

    >>> "amx" in cpu_flags()      # the names are amx_tile, amx_bf16, ...
    False
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


def missing_features(features: tuple[str, ...], flags: frozenset[str] | None = None) -> tuple[str, ...]:
    """Those of LLVM's names of features (`amx-tile`) that the CPU has not; `flags` stand for another CPU."""
    found = cpu_flags() if flags is None else flags
    return tuple(feature for feature in features if feature.replace("-", "_") not in found)


def vector_features() -> tuple[str, ...]:
    """Vector features that code without tiles may use on this CPU."""
    return tuple(feature for feature in _VECTORS if feature in cpu_flags())


@lru_cache(maxsize=1)
def permitted() -> bool:
    """Ask the kernel once for the permission to use tile registers in this process."""
    if not _is_linux() or "amx_tile" not in cpu_flags():
        return False
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    numbers = (_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA)
    return call(*map(ctypes.c_long, numbers)) == 0


def native_refusal(feature: str) -> str | None:
    """Why this machine runs no tile products that need `feature` (`amx-bf16`); None where it does.

    >>> print(native_refusal("amx-nothing"))    # doctest: +ELLIPSIS
    this ... amx-...
    """
    if not _is_linux():
        return (
            f"this is {platform.system()} on {platform.machine()}, where amx-tile is not asked for; Linux on x86-64 is"
        )
    missing = missing_features(tuple(dict.fromkeys(("amx-tile", feature, *BASE))))
    if missing:
        return f"this CPU has no {', '.join(missing)}"
    if not permitted():
        return "this kernel gives no permission for amx-tile (arch_prctl ARCH_REQ_XCOMP_PERM 18)"
    return None


def _is_linux() -> bool:
    return sys.platform.startswith("linux") and platform.machine() in ("x86_64", "AMD64")
