"""`ldmatrix` and `stmatrix` on tiles of shared memory, against what the instruction does, carried out step by step."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import layoutalg as la
from layoutalg.memory import matrix_load, matrix_store
from layoutalg.memory.triton_access import shared_access


def carried_out(memory: dict[int, int], starts: list[int], trans: bool, columns: int) -> list[list[int]]:
    """One matrix: lane 8 rows of addresses; what lane l's 32-bit register gets, as PTX describes it, for each lane."""
    rows = [[memory[start + j] for j in range(columns)] for start in starts]
    pair = columns // 4
    if trans:
        return [[rows[2 * (lane % 4) + j][lane // 4] for j in range(2)] for lane in range(32)]
    return [rows[lane // 4][pair * (lane % 4) : pair * (lane % 4 + 1)] for lane in range(32)]


def cycles_of(starts: list[int], bits: int) -> int:
    """How often the busiest bank is asked for different words, eight rows of 16 bytes at once."""
    words = {start * bits // 32 + i for start in starts for i in range(4)}
    return max(Counter(word % 32 for word in words).values())


@pytest.mark.parametrize("seed", range(24))
def test_registers_and_cycles_are_those_of_the_instruction_carried_out(seed: int) -> None:
    rng = random.Random(seed)
    trans, bits = rng.random() < 0.5, rng.choice((8, 16, 32))
    bits = 16 if trans else bits
    columns, count = 128 // bits, rng.choice((1, 2, 4))
    rows_of, across = 8 * rng.choice((2, 4)), columns * rng.choice((2, 4, 8))
    pieces = across // columns
    step = rng.choice((across, across + columns))
    table = np.zeros((rows_of, across), int)
    mask = rng.choice((0, pieces - 1))
    for i in range(rows_of):
        for j in range(across):
            piece = j // columns ^ (i & mask)
            table[i, j] = i * step + piece * columns + j % columns
    xor = (
        f"Sw<{mask.bit_length()},{columns.bit_length() - 1},{(across // columns).bit_length() - 1}> o 0 o "
        if mask
        else ""
    )
    if xor and step != across:
        step, table = across, table - np.arange(rows_of)[:, None] * columns
    memory = f"{xor}({rows_of},{across}):({step},1)"
    stored = {int(table[i, j]): i * across + j for i in range(rows_of) for j in range(across)}
    found = matrix_load(f"ldmatrix.x{count}{'.trans' if trans else ''}", memory, element_bits=bits)
    down, right = found.matrices
    held: list[list[int]] = [[] for _ in range(32)]
    cycles = 0
    for i in range(0, rows_of, 8 * down):
        for j in range(0, across, columns * right):
            for matrix in range(count):
                top, left = i + matrix % down * 8, j + matrix // down * columns
                starts = [int(table[top + row, left]) for row in range(8)]
                cycles += cycles_of(starts, bits)
                for lane, part in enumerate(carried_out(stored, starts, trans, columns)):
                    held[lane] += part
    numbers = found.layout.fragment_map()[0] @ np.array([across, 1])
    assert numbers.tolist() == held
    assert found.conflicts.cycles == cycles


@pytest.mark.parametrize("phases", [1, 2, 4, 8])
@pytest.mark.parametrize("columns", [32, 64])
def test_ways_are_those_of_triton_s_loads(phases: int, columns: int) -> None:
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    operand = f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>"
    shared = f"#ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = {phases}, order = [1, 0]}}>"
    if 8 * phases > columns:
        return
    theirs = shared_access(operand, shared, (16, columns), "f16", "sm_80")
    ours = matrix_load("ldmatrix.x4", shared, (16, columns))
    assert theirs.instruction == "ldmatrix"
    assert (ours.conflicts.ways, ours.instructions) == (theirs.ways, theirs.instructions)
    expected = la.parse(operand).layout((16, columns))
    assert ours.layout == expected


def test_a_load_fills_the_registers_of_an_mma() -> None:
    mma = la.instruction("mma.m16n8k16.f32.f16.f16.f32")
    assert matrix_load("ldmatrix.x4", "(16,16):(16,1)").layout == mma["A"].layout
    assert matrix_load("ldmatrix.x2.trans", "(16,8):(8,1)").layout == mma["B"].layout
    assert (
        matrix_load("ldmatrix.x4", "(16,32):(32,1)", element_bits=8).layout
        == la.instruction("mma.m16n8k32.s32.s8.s8.s32")["A"].layout
    )


def test_a_store_takes_what_a_load_fills() -> None:
    memory = "Sw<3,3,3> o 0 o (16,64):(64,1)"
    load, store = matrix_load("ldmatrix.x4", memory), matrix_store("stmatrix.x4", memory)
    assert (load.layout, load.conflicts) == (store.layout, store.conflicts)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mma.m16n8k16.f32.f16.f16.f32", "(16,16):(16,1)"), "is not an ldmatrix of 8 x 8 matrices"),
        (("stmatrix.x4", "(16,16):(16,1)"), "is not an ldmatrix"),
        (("ldmatrix.x4", "(16,12):(12,1)"), "takes blocks of"),
        (("ldmatrix.x4", "(16,16):(1,16)"), "row 0, columns 0 to 7 are at"),
        (("ldmatrix.x4", "(16,16):(20,1)"), "row 1, columns 0 to 7"),
        (("ldmatrix.x4", "8:1"), "expected"),
    ],
)
def test_what_it_cannot_load_is_refused_in_words(arguments: tuple[str, str], words: str) -> None:
    with pytest.raises(la.LayoutError, match=words):
        matrix_load(*arguments)
    with pytest.raises(la.LayoutError, match="element_bits 8: expected 16"):
        matrix_load("ldmatrix.x4.trans", "(16,16):(16,1)", element_bits=8)


@pytest.mark.parametrize("memory", [None, 1, b"x", ["d0"], {}, object(), np.array([1, 2]), float("nan")])
def test_what_is_no_memory_is_refused(memory: object) -> None:
    for ask, name in ((la.matrix_load, "ldmatrix.x4"), (la.matrix_store, "stmatrix.x4")):
        with pytest.raises(la.LayoutError):
            ask(name, memory)  # type: ignore[arg-type]


def test_banks_that_serve_less_than_a_row_are_refused() -> None:
    for hardware in ({"banks": 1}, {"banks": 2, "width": 4}):
        with pytest.raises(la.LayoutError, match="cannot serve a row of 16 bytes"):
            la.matrix_load("ldmatrix.x4", "d0 = 16@addr:16, d1 = 16@addr", **hardware)
    wide = la.matrix_load("ldmatrix.x1", "d0 = 8@addr:8, d1 = 8@addr", banks=4)
    assert (wide.conflicts.cycles, wide.conflicts.ways) == (8, 1)
