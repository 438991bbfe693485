"""A matrix product in words: its equation, and what is summed over, as a picture of its operands says them.

>>> equation(la.parse("dpas.f16.f16.f32").operands())
'D[8x16] f32 = A[8x16] f16 * B[16x16] f16 + C; D has the layout of C'

What a product reads beside A, B and C stands where it is used: scale factors (SFA, SFB) at the operand that they scale, the
metadata of a sparse A (E) behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from layoutalg.core.notation import Operand

__all__ = ["equation", "product_lines"]


def equation(operands: Sequence[Operand], *, in_place: bool = False, sparse: bool = False) -> str:
    """A product as an equation of its operands, whose names are a letter and `sizes x element type`.

    `in_place` says that C is both what is added and the result, `sparse` that metadata say which elements of A are stored.

    >>> a, b, c = la.parse("tdpbf16ps").operands()
    >>> equation((a, b, c), in_place=True)
    'C[16x16] f32 += A[16x32] bf16 * B[32x16] bf16'
    """
    written: dict[str, str] = {}
    for one in operands:
        letter, _, whole = one.name.partition("  ")
        written[letter] = re.sub(r"((?:\d+x)*\d+)x(.*)", rf"{letter}[\1] \2", whole)
    for letter, scale in (("A", "SFA"), ("B", "SFB")):
        if scale in written:
            written[letter] = f"({written[letter]} * {written[scale]})"
    a = (
        f"sparse({written['A']}, {'metadata ' + written['E'] if 'E' in written else 'metadata'})"
        if sparse
        else written["A"]
    )
    if in_place:
        return f"{written['C']} += {a} * {written['B']}"
    return f"D{written['C'][1:]} = {a} * {written['B']} + C; D has the layout of C"


def product_lines(
    operands: Sequence[Operand], sizes: Sequence[int], executed: str, *, in_place: bool = False, sparse: bool = False
) -> tuple[str, str]:
    """The equation of a product of m, n, k, and a line of its sizes and of who executes it.

    >>> product_lines(la.dpas("f16", "f16", "f32").operands(), (8, 16, 16), "by 16 lanes")[1]
    'M = 8, N = 16, K = 16 (summed over); by 16 lanes'
    """
    m, n, k = sizes
    return equation(operands, in_place=in_place, sparse=sparse), f"M = {m}, N = {n}, K = {k} (summed over); {executed}"
