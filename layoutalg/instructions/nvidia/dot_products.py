"""`dp4a` and `dp2a` (SM61): the dot product of four bytes, or two halfwords and two bytes, in one thread.

>>> dp4a = rows()[0].build()
>>> print(dp4a["A"].layout)
d0 = 1, d1 = 4@reg

Sources: PTX ISA 9.2, 9.7.1.23 (dp4a) and 9.7.1.24 (dp2a); CUTLASS's traits.
"""

from __future__ import annotations

from functools import partial

from layoutalg.core.layout import Layout
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.chips import since
from layoutalg.instructions.nvidia.sources import PTX, TRAITS
from layoutalg.instructions.registry import Row

__all__ = ["rows"]


def _build(name: str, k: int, types: tuple[str, str, str], dotted: str) -> Instruction:
    texts = (f"d0 = 1, d1 = {k}@reg", f"d0 = {k}@reg, d1 = 1", "d0 = 1, d1 = 1")
    parts = [
        InstructionOperand(role, element, Layout.parse(text), source=PTX.format(dotted[:4]), confirmed=(TRAITS,))
        for role, element, text in zip("ABC", types, texts, strict=True)
    ]
    remarks = () if k == 4 else (("B", "two of the four bytes of its register: the low two (lo) or the high two (hi)"),)
    return Instruction(
        name,
        "dp4a",
        "NVIDIA",
        "mma",
        since("sm_61"),
        (1, 1, k),
        1,
        tuple(parts),
        1,
        (dotted,),
        thread_id="1:0",
        remarks=remarks,
    )


def rows() -> tuple[Row, ...]:
    """Both instructions.

    >>> [row.name for row in rows()]
    ['SM61_DP4A', 'SM61_DP2A']
    """
    listed = (
        ("SM61_DP4A", 4, ("s8", "s8", "s32"), "dp4a.s32.s32", "dp4a"),
        ("SM61_DP2A", 2, ("s16", "s8", "s32"), "dp2a.lo.s32.s32", "dp2a"),
    )
    return tuple(
        Row(name, "dp4a", "mma", "NVIDIA", since("sm_61"), partial(_build, name, k, types, dotted), dotted, (short,))
        for name, k, types, dotted, short in listed
    )
