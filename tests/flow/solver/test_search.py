"""The search in networks whose values differ by a cost of one, beside all choices of values."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.flow.solver.network import Network
from layoutalg.flow.solver.search import search
from tests.flow.solver.random_networks import every_cost


def network_of(seed: int, count: int, values: int) -> Network:
    """Every pair has a table; costs are 0, 1 and 2."""
    rng = np.random.default_rng(seed)
    network = Network([rng.integers(0, 3, values).astype(float) for _ in range(count)], [{} for _ in range(count)])
    for one in range(count):
        for other in range(one):
            table = rng.integers(0, 3, (values, values)) * rng.integers(0, 2, (values, values))
            network.add(one, other, table.astype(float))
    return network


@pytest.mark.parametrize("seed", [3, 26, 53, 56, 85, 103])
def test_what_costs_one_less_than_the_first_choice_is_still_found(seed: int) -> None:
    """In these networks the first choice costs one too much; who stops a cost too early is left with it."""
    network = network_of(seed, 5, 3)
    found = search(network, range(5), budget=1 << 30, most=1)
    assert found.values is not None
    costs = every_cost(network)
    assert found.cost == found.bound == costs.min() == costs[tuple(found.values[one] for one in range(5))]
