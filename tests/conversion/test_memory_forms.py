"""Conversions by the accesses of NVIDIA's, AMD's and Intel's chips: right in every form, without conflicts where it is said.

The counts of clocks are those of the laboratory's bank model (a phase at a time, a word of each bank), which this package did
not compute.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from layoutalg import Layout
from layoutalg.conversion import convert
from layoutalg.conversion.program.access_conflicts import program_cycles, program_ways
from layoutalg.conversion.program.matrices import matrix_bytes
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Load, Store
from layoutalg.conversion.strategies.memory_forms import through_forms
from layoutalg.conversion.strategies.padding import cycles_of
from layoutalg.hardware.shared_memory import CYCLE_BYTES, rates, served
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import numbers, values
from tests.random_layouts import bits_pair

LANES = {"sm_80": 5, "sm_90": 5, "gfx942": 6, "gfx950": 6, "pvc": 4, "bmg": 4}
TRANSPOSE = "d0 = {0}@lane, d1 = {0}@reg", "d0 = {0}@reg, d1 = {0}@lane"
TILES = "d0 = {1}@lane:16, d1 = 16@lane, d2 = 16@reg", "d0 = {1}@lane:16, d1 = 16@reg, d2 = 16@lane"
MFMA_16 = "d0 = 4@lane:16 4@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 4@lane:16 4@reg"
MFMA_32 = "d0 = 4@reg:4 2@lane:32 4@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 4@reg:4 2@lane:32 4@reg"
ACCUMULATOR = "d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg"  # PTX ISA, m16n8k16: C, two of them beside each other
ROWS = "d0 = 16@lane:2, d1 = 2@lane 8@reg"


def forms(source: Layout, destination: Layout, bits: int, chip: str) -> list[tuple[str, Program]]:
    a, b = view(source), view(destination)
    assert a is not None
    assert b is not None
    return through_forms(a, b, bits, chip)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("chip", LANES)
def test_every_form_brings_every_element_where_it_is_wanted(chip: str, seed: int) -> None:
    rng, tried = Random(f"{chip} {seed}"), 0
    while tried < 6:
        source, destination = bits_pair(rng, 5)
        if source.axes.get("lane", 1) != 1 << LANES[chip]:
            continue
        tried += 1
        bits = rng.choice([8, 16, 16, 32, 64])
        data = values(int(np.prod(source.shape)), bits, seed)
        held, wanted = data[numbers(source)], data[numbers(destination)]
        limit = rng.choice([None, None, held.nbytes // 4])
        a, b = view(source), view(destination)
        assert a is not None
        assert b is not None
        for name, program in through_forms(a, b, bits, chip, limit):
            assert np.array_equal(program.run(held), wanted), (name, source, destination, bits)
            blocks = [step for step in program.steps if isinstance(step, (Store, Load)) and step.matrix == "block"]
            assert not blocks or (program.lanes == 16 and all(_alone(step, program) for step in blocks))
        for _, program in through_forms(a, b, bits, chip, limit, blocks=False):
            assert not any(getattr(step, "matrix", "") == "block" for step in program.steps)


def _alone(step: Store | Load, program: Program) -> bool:
    """Whether a block's address is the same in all lanes, a multiple of 16 bytes, and its end within the memory."""
    at = step.address.of(np.arange(program.subgroups), np.arange(16)) * step.bits // 8
    inside = at.max() + len(step[0]) * 16 * step.bits // 8 <= program.slm_bytes
    return bool((at == at[:, :1]).all() and not (at % 16).any() and inside)


@pytest.mark.parametrize(
    ("pair", "sizes", "bits", "chip", "clocks", "most_bytes"),
    [
        (TRANSPOSE, (32,), 32, "sm_80", 64, 4608),
        (TRANSPOSE, (32,), 16, "sm_80", 32, 2560),
        (TRANSPOSE, (32,), 8, "sm_80", 24, 1536),
        (TILES, (0, 2), 32, "sm_80", 32, 2304),
        (TILES, (0, 2), 16, "sm_80", 24, 1152),
        ((ACCUMULATOR, ROWS), (), 16, "sm_80", 8, 640),
        ((ROWS, ACCUMULATOR), (), 16, "sm_80", 8, 640),
        (MFMA_16, (), 16, "gfx942", 12, 640),
        (MFMA_32, (), 16, "gfx942", 48, 2304),
        (TRANSPOSE, (64,), 32, "gfx942", 256, 17408),
        (TRANSPOSE, (64,), 16, "gfx942", 192, 9216),
        (TILES, (0, 4), 32, "gfx942", 64, 4352),
        (MFMA_16, (), 16, "gfx950", 8, 768),
        (MFMA_32, (), 16, "gfx950", 32, 2304),
        (TRANSPOSE, (64,), 16, "gfx950", 128, 8448),
        (TRANSPOSE, (64,), 32, "gfx950", 192, 17408),
    ],
)
def test_the_best_form_waits_no_longer_than_the_laboratorys(
    pair: tuple[str, str], sizes: tuple[int, ...], bits: int, chip: str, clocks: int, most_bytes: int
) -> None:
    source, destination = (Layout.parse(text.format(*sizes)) for text in pair)
    best = min(
        (program for _, program in forms(source, destination, bits, chip)), key=lambda p: program_cycles(p, chip)
    )
    assert program_cycles(best, chip) <= clocks
    assert best.slm_bytes <= most_bytes


@pytest.mark.parametrize("chip", LANES)
def test_placement_counts_clocks_as_the_plan_does(chip: str) -> None:
    rng, lanes = Random(chip), LANES[chip]
    for _ in range(200):
        size = rng.choice([2, 4, 8, 16])
        weights = tuple([size * rng.choice([0, 1, 2, 3, 4, 8, 9, 16, 33, 64]) for _ in range(lanes)])
        reading = rng.random() < 0.5
        count, unit = max(size // 4, 1), min(size, 4)
        at = Address(factors=tuple([("lane", 1 << i, 2, weight // unit) for i, weight in enumerate(weights)]))
        words = tuple(range(count))
        step = Load(words, at, unit * 8) if reading else Store(words, at, None, unit * 8)
        program = Program(1, 1 << lanes, 32, count, count, words, (step,), words)
        found = cycles_of(weights, size, 0, served(chip, size, 1 << lanes, reading=reading))
        known = rates(chip)
        assert known is not None
        if known.least < CYCLE_BYTES and program_ways(program, chip) == [
            1
        ]:  # messages of fewer bytes than all banks have, on Intel's chips
            found = min(found, max(size << lanes, known.least) / CYCLE_BYTES)
        assert found == program_cycles(program, chip), (weights, size, reading)


def test_matrices_are_a_permutation_of_their_rows() -> None:
    for matrix, lanes, row, count in (("rows", 32, 16, 4), ("columns", 32, 16, 4), ("halves", 64, 8, 2)):
        at = matrix_bytes(matrix, row * np.arange(lanes)[None, :], count)
        assert sorted(at.reshape(-1).tolist()) == list(range(row * lanes))


TWO_MATRICES = (
    ("d0 = 16@reg:2 32@lane 2@reg", "d0 = 64@reg:2 8@lane 2@reg | replicas 4@lane:8", 16, False),
    ("d0 = 16@reg:2, d1 = 32@lane 2@reg", "d0 = 8@lane:4 2@reg:2, d1 = 8@reg:4 4@lane 2@reg", 16, False),
    (
        "d0 = 32@reg:2, d1 = 16@lane 2@reg | replicas 2@lane:16",
        "d0 = 2@reg:16 2@reg:2 8@lane:4, d1 = 4@reg:4 4@lane 2@reg",
        8,
        True,
    ),
    (
        "d0 = 32@reg:2, d1 = 16@lane 2@reg | replicas 2@lane:16",
        "d0 = 2@reg:16 2@reg:2 8@lane:4, d1 = 4@reg:4 4@lane 2@reg",
        32,
        True,
    ),
)
"""Conversions whose lane bits 0 and 1 stay: matrices go in and out. Some are stored by lanes that hold copies."""


@pytest.mark.parametrize(("source", "destination", "bits", "copies"), TWO_MATRICES)
def test_matrices_are_stored_and_loaded_where_two_lane_bits_stay(
    source: str, destination: str, bits: int, copies: bool
) -> None:
    a, b = Layout.parse(source), Layout.parse(destination)
    both = view(a), view(b)
    assert both[0] is not None
    assert both[1] is not None
    ways = dict(through_forms(both[0], both[1], bits, "sm_90", everyone=copies))
    program = ways["stores and loads of 8x8 matrices"]
    assert {step.matrix for step in program.steps if isinstance(step, (Store, Load))} <= {"rows", "columns"}
    data = values(int(np.prod(a.shape)), bits, 7)
    assert np.array_equal(program.run(data[numbers(a)]), data[numbers(b)])


@pytest.mark.parametrize("chip", LANES)
def test_halves_of_words_move_together_where_a_side_has_them(chip: str) -> None:
    """One of two bits that a word of the result has inside is in registers of the source: stores of 16 bits, not of 8."""
    lanes = 1 << LANES[chip]
    source = f"d0 = {lanes}@lane 4@reg"
    destination = f"d0 = {lanes // 2}@lane 2@reg:2 2@lane:{lanes // 2} 2@reg"
    a, b = Layout.parse(source), Layout.parse(destination)
    assert a.shape == b.shape
    both = view(a), view(b)
    assert both[0] is not None
    assert both[1] is not None
    ways = through_forms(both[0], both[1], 8, chip)
    data = values(int(np.prod(a.shape)), 8, 3)
    widths: set[int] = set()
    for _, program in ways:
        assert np.array_equal(program.run(data[numbers(a)]), data[numbers(b)])
        widths |= {step.bits for step in program.steps if isinstance(step, (Store, Load)) and not step.matrix}
    assert 16 in widths


def test_the_default_is_the_form_with_the_fewest_clocks_and_instructions() -> None:
    for bits in (8, 16, 32):
        plan = convert(*(text.format(32) for text in TRANSPOSE), element_bits=bits, target="sm_80")
        assert (
            plan.candidates[0].name == "everything goes through shared memory, 16-byte stores and loads of 8x8 matrices"
        )
        assert plan.bank_conflicts == 1
    plan = convert(*(text.format(64) for text in TRANSPOSE), element_bits=16, target="gfx950")
    assert plan.candidates[0].name.endswith("loads of transposed blocks")
