"""Plans with symbols in registers: one block planned once, for all sizes."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import SymbolicPlan, candidates
from layoutalg.core.extents import substitute
from tests.conversion.brute_force import must_receive, numbers

PAIRS = [
    ("d0 = n@reg, d1 = 4@reg:n, d2 = 4@lane", "d0 = n@reg, d1 = 4@lane, d2 = 4@reg:n"),
    ("d0 = 4*n@reg, d1 = 8@reg:4*n, d2 = 8@lane", "d0 = 4*n@reg:8, d1 = 8@lane, d2 = 8@reg"),
    ("d0 = 2@sg, d1 = 2@reg, d2 = n@reg:2, d3 = 16@lane", "d0 = 2@reg, d1 = 2@sg, d2 = n@reg:2, d3 = 16@lane"),
    ("d0 = n@reg 4@lane, d1 = m@reg:n", "d0 = n@reg:m 2@lane 2@lane:2, d1 = m@reg"),
]


@pytest.mark.parametrize(("source", "destination"), PAIRS)
@pytest.mark.parametrize("bits", [8, 32])
def test_numbers_are_put_in_without_planning_again(
    source: str, destination: str, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = la.convert(source, destination, element_bits=bits)
    names = {name: 5 for name in "nm" if name in source}
    counts = plan.shuffles, plan.selects
    monkeypatch.setattr(candidates, "_ways", None)
    concrete = plan.substitute(**names)
    monkeypatch.undo()
    assert concrete.chosen in concrete.candidates
    for symbolic, number in zip(counts, (concrete.shuffles, concrete.selects), strict=True):
        assert substitute(symbolic, names) == number
    tensor = np.random.default_rng(1).integers(0, 255, concrete.source.shape).astype(f"u{bits // 8}")
    found = concrete.apply(la.distribute(concrete.source, tensor))
    assert np.array_equal(found, la.distribute(concrete.destination, tensor))


def test_one_block_is_the_plan_of_its_numbers() -> None:
    plan = la.convert(*PAIRS[0])
    assert isinstance(plan, SymbolicPlan)
    concrete, block = plan.substitute(n=3), plan.block
    least = must_receive(numbers(block.source), numbers(block.destination), 32)
    assert concrete.shuffles == concrete.lower_bound == 3 * least
    assert concrete.programs[0].registers == 12


@pytest.mark.parametrize(
    ("source", "destination", "words"),
    [
        ("d0 = n@lane", "d0 = n@lane", "symbols outside registers: n@lane"),
        ("d0 = n@reg 4@lane", "d0 = 4@lane n@reg", "in the same place on both sides"),
        ("d0 = n@reg:2", "d0 = n@reg:2", "no factor of registers has the stride 1"),
        ("d0 = n@reg", "d0 = 4@reg", "a tensor of n and one of 4"),
    ],
)
def test_symbols_that_cannot_stay_are_refused(source: str, destination: str, words: str) -> None:
    with pytest.raises(la.ConversionError, match=words):
        la.convert(source, destination)


def test_a_symbolic_plan_needs_numbers_to_be_executed() -> None:
    plan = la.convert(*PAIRS[0])
    for execute in (plan.emit, lambda: plan.apply(np.zeros((1, 4, 4), np.int32))):
        with pytest.raises(la.ConversionError, match=r"substitute\(\)"):
            execute()
    with pytest.raises(la.LayoutError):
        plan.substitute(n=0)
    with pytest.raises(la.SizeError):
        plan.substitute(n=2**24)
