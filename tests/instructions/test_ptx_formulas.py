"""The fragments of `mma.sync` and `mma.sp` against the formulas that PTX ISA 9.2 prints, shape by shape (9.7.14.5, 9.7.14.6.2).

Each row here is a shape's formula as the document has it: the row and the column of element i of a lane, from g = lane >> 2 and
t = lane % 4. They are written down separately for every shape, as there; the package has one formula for all.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import layoutalg as la

Place = Callable[[int, int, int], tuple[int, int]]


def in_turns(i: int, size: int, other: int) -> int:
    """g for 0 <= i < size or 2 size <= i < 3 size, else g + 8."""
    return 0 if i // size % 2 == 0 else other


DENSE: dict[str, tuple[int, int, Place, Place]] = {
    # mnemonic: elements of A, of B, A's (row, col), B's (row, col)
    "m16n8k8.f32.tf32.tf32.f32": (
        4, 2,
        lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        lambda g, t, i: (t if i == 0 else t + 4, g),
    ),
    "m16n8k4.f32.tf32.tf32.f32": (2, 1, lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    "m16n8k4.f64.f64.f64.f64": (2, 1, lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    "m16n8k8.f32.f16.f16.f32": (
        4, 2, lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)), lambda g, t, i: (t * 2 + i, g),
    ),
    "m16n8k16.f32.f16.f16.f32": (
        8, 4,
        lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (0 if i < 4 else 8)),
        lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g),
    ),
    "m16n8k16.s32.s8.s8.s32": (
        8, 4, lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)), lambda g, t, i: (t * 4 + i, g),
    ),
    "m16n8k32.s32.s8.s8.s32": (
        16, 8,
        lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
        lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
    ),
    "m16n8k64.s32.s4.s4.s32": (
        32, 16,
        lambda g, t, i: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (0 if i < 16 else 32)),
        lambda g, t, i: (t * 8 + (i & 7) + (0 if i < 8 else 32), g),
    ),
    "m16n8k128.s32.b1.b1.s32.xor.popc": (
        64, 32, lambda g, t, i: (g if i < 32 else g + 8, t * 32 + (i & 31)), lambda g, t, i: (t * 32 + i, g),
    ),
    "m8n8k128.s32.b1.b1.s32.xor.popc": (32, 32, lambda g, t, i: (g, t * 32 + i), lambda g, t, i: (t * 32 + i, g)),
}  # fmt: skip


@pytest.mark.parametrize("mnemonic", DENSE)
def test_a_and_b_are_where_ptx_says(mnemonic: str) -> None:
    count_a, count_b, place_a, place_b = DENSE[mnemonic]
    mma = la.instruction(f"mma.{mnemonic}")
    for role, count, place in (("A", count_a, place_a), ("B", count_b, place_b)):
        expected = [[list(place(lane >> 2, lane % 4, i)) for i in range(count)] for lane in range(32)]
        assert mma[role].layout.fragment_map()[0].tolist() == expected


@pytest.mark.parametrize("mnemonic", [name for name in DENSE if name.startswith("m16")])
def test_an_accumulator_is_where_ptx_says(mnemonic: str) -> None:
    expected = [[[(lane >> 2) + (0 if i < 2 else 8), lane % 4 * 2 + (i & 1)] for i in range(4)] for lane in range(32)]
    assert la.instruction(f"mma.{mnemonic}")["C"].layout.fragment_map()[0].tolist() == expected


SPARSE = {
    # mnemonic: stored elements, of a register; firstcol: factor of t, what later elements add and from which on; width
    "m16n8k16.f32.f16.f16.f32": (4, 2, 4, 0, 4, 4),
    "m16n8k32.f32.f16.f16.f32": (8, 2, 4, 16, 4, 4),
    "m16n8k8.f32.tf32.tf32.f32": (2, 1, 2, 0, 2, 2),
    "m16n8k16.f32.tf32.tf32.f32": (4, 1, 2, 8, 2, 2),
    "m16n8k32.s32.s8.s8.s32": (8, 4, 8, 0, 8, 8),
    "m16n8k64.s32.s8.s8.s32": (16, 4, 8, 32, 8, 8),
    "m16n8k128.s32.s4.s4.s32": (32, 8, 16, 64, 16, 16),
}


@pytest.mark.parametrize("mnemonic", SPARSE)
def test_the_registers_of_a_sparse_a_stand_for_the_columns_that_ptx_says(mnemonic: str) -> None:
    stored, size, factor, more, since, width = SPARSE[mnemonic]
    held = la.instruction(f"mma.sp.{mnemonic}")["A"].layout.fragment_map()[0]
    assert held.shape == (32, 2 * stored, 2)
    for lane in range(32):
        for i in range(0, stored, size):
            row = (lane >> 2) + in_turns(i, size, 8)
            first = lane % 4 * factor + (more if i >= since else 0)
            part = held[lane, 2 * i : 2 * i + width].tolist()
            assert part == [[row, column] for column in range(first, first + width)]
