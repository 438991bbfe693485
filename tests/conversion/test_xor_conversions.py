"""Conversions of layouts with XOR, against owners and against what the worst lane must receive."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core import Layout
from tests.conversion.brute_force import L, check, fewest_planned


def xor_layout(rng: Random, size: int, widths: dict[str, int], copies: int) -> Layout:
    """A random layout: columns of an invertible matrix over GF(2). The last ones are replicas, and some places are flipped."""
    places = [f"{axis}:{1 << bit}" for axis, width in widths.items() for bit in range(width)]
    total = size + copies
    assert total == len(places)
    columns = [1 << i for i in rng.sample(range(total), total)]
    for _ in range(rng.choice([0, 1, 3, 20])):
        if total > 1:
            one, other = rng.sample(range(total), 2)
            columns[one] ^= columns[other]
    factors = [f"2@({'^'.join(places[i] for i in range(total) if one >> i & 1)})" for one in columns]
    cut = size // 2
    text = f"d0 = {' '.join(factors[:cut]) or '1'}, d1 = {' '.join(factors[cut:size]) or '1'}"
    if copies:
        text += f" | replicas {' '.join(factors[size:])}"
    flipped = [place for place in places if rng.random() < 0.2]
    return L(text + (f" | flip ({'^'.join(flipped)})" if flipped and rng.random() < 0.5 else ""))


def xor_pair(rng: Random, subgroups: bool = True) -> tuple[Layout, Layout]:
    """Two random layouts of one tensor on one machine, of up to 64 lanes."""
    lanes, sgs = rng.randint(0, 6), rng.choice([0, 0, 1, 2]) if subgroups else 0
    registers = rng.randint(0, 4)
    most = lanes + sgs + registers
    copies = rng.choice([0, 0, 1, 2])
    size = max(most - copies, 0)
    more = rng.choice([0, 0, 1])
    return (
        xor_layout(rng, size, {"sg": sgs, "lane": lanes, "reg": registers}, most - size),
        xor_layout(rng, size, {"sg": sgs, "lane": lanes, "reg": registers + more}, most + more - size),
    )


def holds(rng: Random, seed: int) -> None:
    """A plan moves what owners say, and at 32 bits one way has no more shuffles than the bound."""
    a, b = xor_pair(rng)
    bits = rng.choice([8, 16, 32, 32, 64])
    plan, _, _ = check(a, b, bits, seed)
    for one in plan.candidates:
        data = np.arange(np.prod(a.shape)).astype(f"u{bits // 8}").reshape(a.shape)
        found = la.distribute(a, data)
        for program in one.programs:
            found = program.run(found)
        assert np.array_equal(found, la.distribute(b, data)), (one.name, a, b)
    if bits == 32 and any(one.kind == "shuffles" for one in plan.candidates):
        assert fewest_planned(plan) == plan.lower_bound, (str(a), str(b))


@pytest.mark.parametrize("seed", range(4))
def test_random_pairs(seed: int) -> None:
    rng = Random(f"xor {seed}")
    for i in range(25):
        holds(rng, i)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100))
def test_many_random_pairs(seed: int) -> None:
    rng = Random(f"many {seed}")
    for i in range(100):
        holds(rng, i)
