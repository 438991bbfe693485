"""What propagation costs does not depend on the order of operands or of lines."""

from __future__ import annotations

import random

import pytest

import layoutalg as la
from tests.checking.programs import program, shuffled, swapped, text_of


@pytest.mark.parametrize("seed", range(12))
def test_operands_and_lines_may_be_swapped(seed: int) -> None:
    rng = random.Random(seed)
    steps = program(rng)
    costs = {
        (found.cost, found.bound)
        for text in (text_of(steps), text_of(swapped(steps)), text_of(steps, shuffled(rng, steps)))
        for found in [la.propagate(text, level="lane")]
    }
    assert len(costs) == 1
