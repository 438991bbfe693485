"""Random networks, and what all their values cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from layoutalg.flow.solver.network import Network


@st.composite
def networks(
    draw: Callable[[Any], Any], most: int = 7, values: int = 3, *, impossible: bool = True, dense: bool = False
) -> Network:
    """Up to `most` variables of up to `values` values, any pairs, small costs with many zeros, and some infinities.

    With `dense`, every pair has a table, and few costs are infinite: not much of such a network can be reduced.
    """
    count = draw(st.integers(4 if dense else 1, most))
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    paired = 1.0 if dense else draw(st.sampled_from([0.2, 0.5, 1.0]))
    never = draw(st.sampled_from([0.0, 0.05] if dense else [0.0, 0.1, 0.3])) * impossible
    sizes = seed.integers(1, values + 1, count) if draw(st.booleans()) and not dense else np.full(count, values)

    def costs(*shape: int) -> Any:
        found = seed.integers(0, 8, shape) * seed.integers(0, 2, shape).astype(float)
        return np.where(seed.random(shape) < never, np.inf, found)

    network = Network([costs(size) for size in sizes], [{} for _ in sizes])
    for one in range(count):
        for other in range(one):
            if seed.random() < paired:
                network.add(one, other, costs(sizes[one], sizes[other]))
    return network


def every_cost(network: Network) -> Any:
    """An array with an axis for each variable: what each choice of values costs."""
    count = len(network.unary)
    total = np.zeros([len(own) for own in network.unary])
    for one, own in enumerate(network.unary):
        total = total + own.reshape([-1 if axis == one else 1 for axis in range(count)])
        for other, table in network.neighbours[one].items():
            if other > one:
                shape = [1] * count
                shape[one], shape[other] = table.shape
                total = total + table.reshape(shape)
    return total
