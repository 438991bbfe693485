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
_SAME = {"lnl": "bmg"}
"""lnl has the machine code of bmg: their listings are equal."""

_TABLE = """\
bmg 256: 32x64 3,5,9;
pvc 256: 32x64 4,5,9;"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The waits of a loop, and the instructions for addresses beyond those that a rule gives.

    >>> Measured(5, 0).waits
    5
    """

    waits: int
    extra: int


def measured(chip: str, registers: int, m: int, n: int, k: int) -> Measured | None:
    """What was measured of a tile's loop; None where nothing was. Other depths are reckoned from the nearest.

    >>> measured("lnl", 256, 32, 64, 64)
    Measured(waits=5, extra=0)
    """
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
