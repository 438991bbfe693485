"""The bits of an offset before and after a swizzle of CuTe: those that it reads (`yyy`) are XORed into others (`zzz`).

>>> panel = bits_panel(Swizzle(1, 0, 2), 5)
>>> print("\\n".join("".join(cell.label or "." for cell in panel.cells[i : i + 3]) for i in (0, 3, 6, 9)))
y.z
101
..1
100
>>> panel.title
'Sw<1,0,2>: offset bit 2 (yyy) XOR into bit 0 (zzz)'
"""

from __future__ import annotations

from layoutalg.cute.in_words import swizzle_in_words
from layoutalg.cute.swizzles import Swizzle
from layoutalg.viz.panels import DARK, MARKED, PALE, Look, Panel, headed, table_panel
from layoutalg.viz.scene import CELL_HEIGHT

__all__ = ["bits_panel"]

_WIDE = 24
_KINDS = {"y": (MARKED, "read (yyy)"), "z": (DARK, "changed (zzz)"), "": (PALE, "neither read nor changed")}


def bits_panel(swizzle: Swizzle, offset: int) -> Panel:
    """A column for each bit, the highest first: what the swizzle does with it, the offset, what is XORed, and the result."""
    after = swizzle(offset)
    bits = range(max((swizzle.reads | swizzle.changes | offset).bit_length(), 1) - 1, -1, -1)
    kinds = ["y" if swizzle.reads >> bit & 1 else "z" if swizzle.changes >> bit & 1 else "" for bit in bits]
    looks = [
        [Look(_KINDS[kind][0], kind, f"bit {bit}: {_KINDS[kind][1]}") for bit, kind in zip(bits, kinds, strict=True)]
    ]
    rows = {f"offset {offset}": offset, "XOR yyy": offset ^ after, f"swizzled {after}": after}
    for name, number in rows.items():
        line: list[Look] = []
        for bit, kind in zip(bits, kinds, strict=True):
            value = str(number >> bit & 1)
            free = name == "XOR yyy" and kind != "z"
            line.append(
                Look(PALE, "", f"bit {bit}: not XORed")
                if free
                else Look(_KINDS[kind][0], value, f"bit {bit}, {name}: {value}")
            )
        looks.append(line)
    table = table_panel("", [str(bit) for bit in bits], ["", *rows], looks, (_WIDE, CELL_HEIGHT), corner="bit")
    return headed(swizzle_in_words((swizzle.bits, swizzle.base, swizzle.shift)), [], [], table)
