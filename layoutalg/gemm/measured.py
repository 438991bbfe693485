"""What was measured of loops and follows no rule: waits (sync instructions), and instructions for addresses beyond the rule.

A wait stands where data of a message is needed, and where a register is written that an instruction may still read; where they
stand follows the graphics compiler's choice of registers. So does whether it keeps a payload or writes it again. The table has,
for every chip and register file, tiles of f16 with the waits of loops that are 32, 64 and 128 deep, and behind + or - how many
instructions more or fewer than `counting` says address the messages (`x`: does not fit). It was made by
`benchmarks/gemm.py --measured` from kernels with shared prefetch and 8x4 subgroups (LLVM 24, ocloc 26.27.039122, 2026-11-22).

>>> measured("bmg", 256, 32, 64, 64)
Measured(waits=5, extra=0)
>>> measured("bmg", 256, 36, 64, 64) is None
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

__all__ = ["DEPTHS", "Measured", "measured"]

DEPTHS = (32, 64, 128)
"""How deep the loops of the table are."""
_SAME = {"lnl": "bmg", "ptl": "bmg"}
"""lnl has the machine code of bmg: their listings are equal."""

_TABLE = """\
bmg 128: 8x16 3,6,10; 8x32 3,6,13; 8x48 3,7,19; 8x64 3,9,19; 16x16 3,5,12; 16x32 3,8,14; 16x48 2,9,20-1;
   16x64 6,13,32; 24x16 3,6,14; 24x32 4,10,21; 24x48 8,17,32-1; 32x16 3,8,16; 32x32 5,9,17; 40x16 3,8,16;
   40x32 9,19,39; 48x16 4,9,17; 56x16 5,9,17; 64x16 8,17,33;
bmg 256: 8x16 2,4,6; 8x32 2,3,5; 8x48 2,3,6; 8x64 2,3,8; 16x16 2,3,5; 16x32 2,3,7; 16x48 2,3,8-1; 16x64 3,5,11;
   24x16 2,3,5; 24x32 3,4,10; 24x48 3,5,9-1; 24x64 2,5,10; 32x16 2,3,7; 32x32 3,4,7; 32x48 3,5,9; 32x64 3,5,9;
   40x16 2,3,6; 40x32 4,5,11; 40x48 3,8,14; 40x64 6,15,33; 48x16 3,3,8; 48x32 4,7,13; 48x48 8,15-1,29-1;
   48x64 11,21,41; 56x16 3,4,11; 56x32 5,9,17; 56x48 10,19-1,39-1; 64x16 2,4,11; 64x32 4,9,17; 64x48 8,16,32;
pvc 128: 8x16 4+3,6+3,12+3; 8x32 4+3,6+3,14+3; 8x48 4+3,11+3,20; 8x64 4+3,9+3,20+2; 16x16 4+3,6+3,14+3;
   16x32 3+3,7,19; 16x48 5+3,8,20+2; 16x64 8,15,x; 24x16 4+3,6+3,15+3; 24x32 4+3,11,21+2; 24x48 8,15,x;
   32x16 4+3,7,17+1; 32x32 5,9,17+1; 40x16 4+3,8,17+2; 40x32 9,x,x; 48x16 4+3,8,17+2; 56x16 3,8,x; 64x16 9+3,18+1,x;
pvc 256: 8x16 3+3,5+3,7+3; 8x32 3+3,4+3,6+3; 8x48 3+3,4+3,7; 8x64 3+3,3+3,6-1; 16x16 3+3,4+3,6+3; 16x32 3+3,4+3,7+3;
   16x48 4+3,5+3,8+2; 16x64 3+3,5+3,7+2; 24x16 3+3,4+3,6+3; 24x32 3+3,5+3,9+2; 24x48 4+3,5+3,8+2; 24x64 3+3,5,9+1;
   32x16 4+5,4+3,7+2; 32x32 4+3,5+3,7+2; 32x48 4+3,5,10+1; 32x64 4+3,5,10+1; 40x16 3+3,4+3,10+2; 40x32 5+3,6+3,11+2;
   40x48 5+3,8,15+1; 40x64 7,x,x; 48x16 4+3,4+3,8+2; 48x32 5+3,7,14+1; 48x48 8+3,15+4,35+7; 48x64 11,22+1,x;
   56x16 4+3,4+3,8+2; 56x32 6+3,10+1,19+5; 56x48 9,x,x; 64x16 4+3,5+2,8+3; 64x32 6+3,10+1,19+5; 64x48 8,17+1,x;"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The waits of a loop, and the instructions for addresses beyond those that a rule gives."""

    waits: int
    extra: int


def measured(chip: str, registers: int, m: int, n: int, k: int) -> Measured | None:
    """What was measured of a tile's loop; None where nothing was. Other depths are reckoned from the nearest."""
    found = _table().get((_SAME.get(chip, chip), registers, m, n))
    if not found:
        return None
    depth = min(found, key=lambda one: abs(one - k))
    near = found[depth]
    return near if depth == k else Measured(1 + round((near.waits - 1) * k / depth), near.extra)


@cache
def _table() -> dict[tuple[str, int, int, int], dict[int, Measured]]:
    table: dict[tuple[str, int, int, int], dict[int, Measured]] = {}
    for chip, registers, cells in re.findall(r"(\w+) (\d+):([^:]*)(?=\n\w|$)", _TABLE):
        for m, n, loops in re.findall(r"(\d+)x(\d+) ([-+x\d,]+);", cells):
            found: dict[int, Measured] = {}
            for depth, loop in zip(DEPTHS, loops.split(","), strict=True):
                parts = re.fullmatch(r"(\d+)([-+]\d+)?", loop)
                if parts:
                    found[depth] = Measured(int(parts[1]), int(parts[2] or 0))
            table[chip, int(registers), int(m), int(n)] = found
    return table
