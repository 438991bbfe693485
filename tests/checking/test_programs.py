"""`check` says what counting says of whole programs, in whatever order they are written and whatever they leave out."""

from __future__ import annotations

import random

import pytest

import layoutalg as la
from layoutalg.checking import check
from tests.checking.programs import is_right, program, shuffled, swapped, text_of, without_each


def agrees(seed: int) -> bool:
    """Whether a program, and all that should not matter about it, is right; raises where check says otherwise."""
    rng = random.Random(seed)
    steps = program(rng)
    right = is_right(steps)
    variants = [
        (text_of(steps), right),
        (text_of(swapped(steps)), right),
        (text_of(steps, shuffled(rng, steps)), right),
    ]
    # A statement that is removed never makes a right program wrong: the referee knows, and check agrees with it.
    variants += [(text_of(less), is_right(less)) for less in without_each(steps)]
    assert not right or all(verdict for _, verdict in variants)
    for text, verdict in variants:
        found = check(la.read(text), llvm=24)
        assert found.verdict == ("right" if verdict else "wrong"), f"seed {seed}\n{text}\n{found.findings}"
    return right


@pytest.mark.parametrize("seeds", [range(at, at + 10) for at in range(0, 40, 10)])
def test_check_agrees_with_counting_whatever_the_order(seeds: range) -> None:
    for seed in seeds:
        agrees(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seeds", [range(at, at + 100) for at in range(0, 3000, 100)])
def test_check_agrees_with_counting_on_3000_programs(seeds: range) -> None:
    right = sum(agrees(seed) for seed in seeds)
    assert 20 < right < 80, "both verdicts are frequent"
