"""Where the elements of A and B lie in their packed buffers: layouts onto addresses, in elements.

B is packed in panels of 16 columns. A panel has a row of 64 bytes for every word of k: the v elements of a column that share a
word of 4 bytes lie side by side, as in `layoutalg.amx.vnni`. So a tile of B is 16 rows without a gap, 1 KiB. By hand, for bf16
(v = 2) with k = 40 and n = 20: two panels of 20 words times 32 elements; element (3, 17) is in panel 1, word 1, and there at
column 1, second half.

>>> layout = packed_b(40, 20, "bf16")
>>> print(layout)
d0 = 20@addr:32 2@addr, d1 = 2@addr:640 16@addr:2
>>> layout.owners((3, 17)) == [(1 * 640 + 1 * 32 + 1 * 2 + 1,)]
True

A is packed, where it is, in tiles of 16 rows of 64 bytes. Sizes are padded to whole words (B) and whole tiles; zeros fill them.

>>> print(packed_a(20, 40, "bf16"))
d0 = 2@addr:1024 16@addr:32, d1 = 2@addr:512 32@addr
"""

from __future__ import annotations

from layoutalg.amx import vnni_factor, vnni_layout
from layoutalg.core.algebra import compose
from layoutalg.core.errors import PlanError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.gemm.matrix_in_memory import whole_number

__all__ = ["must_pack_a", "packed_a", "packed_a_shape", "packed_b", "packed_b_shape"]


def packed_b_shape(k: int, n: int, element: str) -> tuple[int, int, int]:
    """The packed buffer of B: panels, words of k, elements of a row of 64 bytes.

    >>> packed_b_shape(33, 10, "i8")
    (1, 9, 64)
    """
    v = vnni_factor(element)
    k, n = whole_number("k", k), whole_number("n", n)
    return -(-n // TILE), -(-k // v), TILE * v


def packed_b(k: int, n: int, element: str) -> Layout:
    """Where element (k, n) of B lies; dimensions are k, padded to whole words, and n, padded to whole panels.

    >>> packed_b(33, 10, "i8").shape
    (36, 16)
    """
    panels, words, row = packed_b_shape(k, n, element)
    v = vnni_factor(element)
    in_panels = Layout(
        [[Factor(words, row, "addr")], [Factor(panels, words * row, "addr"), Factor(row, 1, "addr")]],
        codomain=("addr",),
    )
    return compose(in_panels, vnni_layout(words * v, panels * TILE, element)).canonical()


def packed_a_shape(m: int, k: int, element: str) -> tuple[int, int, int, int]:
    """The packed buffer of A: panels of rows, steps of k, rows of a tile, elements of its rows.

    >>> packed_a_shape(13, 33, "i8")
    (1, 1, 16, 64)
    """
    depth = TILE * vnni_factor(element)
    m, k = whole_number("m", m), whole_number("k", k)
    return -(-m // TILE), -(-k // depth), TILE, depth


def packed_a(m: int, k: int, element: str) -> Layout:
    """Where element (m, k) of A lies; dimensions are m and k, padded to whole tiles.

    >>> packed_a(13, 33, "i8").shape
    (16, 64)
    """
    panels, steps, rows, depth = packed_a_shape(m, k, element)
    return Layout(
        [
            [Factor(panels, steps * rows * depth, "addr"), Factor(rows, depth, "addr")],
            [Factor(steps, rows * depth, "addr"), Factor(depth, 1, "addr")],
        ],
        codomain=("addr",),
    ).canonical()


def must_pack_a(problem: AmxProblem) -> str | None:
    """Why tiles cannot be loaded from A as it lies; None where they can.

    >>> must_pack_a(AmxProblem.of(64, 64, 64)), must_pack_a(AmxProblem.of(64, 64, 33))
    (None, 'k = 33 is not a multiple of 2, the elements of a word')
    """
    instance_of(problem, AmxProblem, "problem", PlanError)
    if problem.dynamic_m:
        return "the number of rows is known at the call alone"
    if problem.trans_a:
        return "A lies transposed"
    if problem.k % problem.vnni:
        return f"k = {problem.k} is not a multiple of {problem.vnni}, the elements of a word"
    if problem.lda % problem.vnni:
        return f"rows of A are {problem.lda * problem.element_bytes} bytes apart, which is not a multiple of 4"
    return None
