"""Waits (sync instructions) in the loop: measured, because they follow the graphics compiler's choice of registers.

A wait stands where data of a message is needed, and where a register is written that an instruction may still read. The table
has, for every chip and register file, tiles of f16 with the waits of loops that are 32, 64 and 128 deep (`-`: does not fit). It
was made from the listings of the kernels with shared prefetch and 8x4 subgroups (LLVM 24, ocloc 26.27.039122, 2026-11-22); the
loops of bf16 are the same.

>>> measured_waits("bmg", 256, 32, 64, 64)
5
>>> measured_waits("bmg", 256, 36, 64, 64) is None
True
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["measured_waits"]

DEPTHS = (32, 64, 128)
_SAME = {"lnl": "bmg"}
"""lnl has the machine code of bmg: their listings are equal."""

_WAITS = """\
bmg 128: 8x16 3,6,10; 8x32 3,6,13; 8x48 3,7,19; 8x64 3,9,19; 16x16 3,5,12; 16x32 4,8,14; 16x48 2,8,19; 24x16 3,6,14;
   24x32 4,9,19; 32x16 3,7,16; 32x32 5,9,17; 40x16 4,8,16; 48x16 4,8,17; 56x16 5,9,17; 64x16 8,17,33;
bmg 256: 8x16 2,4,6; 8x32 2,3,5; 8x48 2,3,6; 8x64 2,3,7; 16x16 2,3,5; 16x32 2,3,6; 16x48 2,4,8; 16x64 3,5,11;
   24x16 2,3,5; 24x32 3,4,10; 24x48 3,4,8; 24x64 2,4,11; 32x16 2,3,7; 32x32 3,4,7; 32x48 2,4,9; 32x64 3,5,9;
   40x16 2,3,6; 40x32 4,5,11; 40x48 3,8,16; 40x64 6,15,33; 48x16 3,3,8; 48x32 4,6,13; 48x48 8,15,28; 56x16 3,4,10;
   56x32 5,9,17; 56x48 10,19,40; 64x16 2,5,12; 64x32 4,9,17;
pvc 128: 8x16 4,6,12; 8x32 4,6,15; 8x48 4,11,20; 8x64 4,9,21; 16x16 4,6,14; 16x32 4,8,19; 16x48 5,8,20; 24x16 4,6,15;
   24x32 4,11,20; 32x16 4,7,16; 32x32 5,8,17; 40x16 4,8,17; 48x16 4,8,17; 56x16 4,8,-; 64x16 9,18,34;
pvc 256: 8x16 3,5,7; 8x32 3,4,6; 8x48 3,4,7; 8x64 3,3,6; 16x16 3,4,6; 16x32 3,4,7; 16x48 4,5,8; 16x64 3,4,7;
   24x16 3,4,6; 24x32 3,5,9; 24x48 4,5,8; 24x64 3,5,8; 32x16 3,4,8; 32x32 4,5,8; 32x48 4,5,9; 32x64 4,5,9;
   40x16 3,4,8; 40x32 5,6,11; 40x48 5,8,15; 40x64 7,-,57; 48x16 4,4,8; 48x32 5,7,14; 48x48 8,15,35; 56x16 4,4,8;
   56x32 6,9,18; 56x48 9,20,58; 64x16 4,5,8; 64x32 6,9,18;"""


def measured_waits(chip: str, registers: int, m: int, n: int, k: int) -> int | None:
    """The waits in the loop of a tile; None where none was measured. Other depths are reckoned from 64.

    >>> measured_waits("pvc", 256, 32, 64, 64), measured_waits("lnl", 256, 32, 64, 64)
    (5, 5)
    """
    found = _table().get((_SAME.get(chip, chip), registers, m, n))
    if found is None:
        return None
    if k in found:
        return found[k]
    depth = min(found, key=lambda one: abs(one - k))
    return 1 + round((found[depth] - 1) * k / depth)


@cache
def _table() -> dict[tuple[str, int, int, int], dict[int, int]]:
    table: dict[tuple[str, int, int, int], dict[int, int]] = {}
    for chip, registers, cells in re.findall(r"(\w+) (\d+):([^:]*)(?=\n\w|$)", _WAITS):
        for m, n, waits in re.findall(r"(\d+)x(\d+) ([-\d,]+);", cells):
            found = {depth: int(one) for depth, one in zip(DEPTHS, waits.split(","), strict=True) if one != "-"}
            table[chip, int(registers), int(m), int(n)] = found
    return table
