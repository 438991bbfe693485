"""Shuffles that AMD's chips do in the ALUs: data parallel primitives (DPP), among neighbouring lanes.

A move reads a lane of the own quad ("quad_perm"), or of the own row of 16: turned by some lanes, mirrored, mirrored in each
half, or one lane for all. Its control is a number; the XOR of lane numbers by 1, 2, 3, 7, 8 or 15 is one:

>>> [hex(dpp_control(tuple(lane ^ distance for lane in range(64))) or 0) for distance in (1, 2, 3, 4, 7, 8, 15)]
['0xb1', '0x4e', '0x1b', '0x0', '0x141', '0x128', '0x140']

Source: AMD's CDNA 3 instruction set guide, "DPP"; the controls are those of LLVM's `llvm.amdgcn.update.dpp`.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["dpp_control"]

_QUAD, _ROW = 4, 16
_TURNED, _MIRRORED, _HALF_MIRRORED, _ONE = 0x120, 0x140, 0x141, 0x150


@lru_cache(maxsize=1024)
def dpp_control(lanes: tuple[int, ...]) -> int | None:
    """The control of the move in which lane l reads lane `lanes[l]`, the same in every subgroup; None where none does it."""
    count = len(lanes)
    if count & (count - 1):
        return None
    everyone = [first + lane for first in range(0, max(_ROW, count), count) for lane in lanes]
    quad = [lane % _QUAD for lane in everyone[:_QUAD]]
    if everyone == [lane & ~(_QUAD - 1) | quad[lane % _QUAD] for lane in range(len(everyone))]:
        return sum(lane << 2 * i for i, lane in enumerate(quad))
    row = [lane % _ROW for lane in everyone[:_ROW]]
    if everyone != [lane & ~(_ROW - 1) | row[lane % _ROW] for lane in range(len(everyone))]:
        return None
    if len(set(row)) == 1:
        return _ONE + row[0]
    turned = -row[0] % _ROW
    if row == [(lane - turned) % _ROW for lane in range(_ROW)]:
        return _TURNED + turned
    for control, mask in ((_MIRRORED, 15), (_HALF_MIRRORED, 7)):
        if row == [lane ^ mask for lane in range(_ROW)]:
            return control
    return None
