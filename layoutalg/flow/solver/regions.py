"""Better values from given ones: fix as few variables as keep the rest narrow, and choose all others anew, exactly.

One such move changes any number of variables at once, so it leaves what single changes are caught in. Other variables are
fixed the next time.

A ring of 20 variables with equal values all around costs 10. Changing one of them costs 2 more, changing all costs nothing:

>>> import numpy as np
>>> from layoutalg.flow.solver.network import cost_in
>>> ring = Network([np.array([0.5, 0.0]) for _ in range(20)], [{} for _ in range(20)])
>>> for one in range(20):
...     ring.add(one, (one + 1) % 20, 1 - np.eye(2))
>>> cost_in(ring, dict.fromkeys(range(20), 0))
10.0
>>> cost_in(ring, improved(ring, range(20), dict.fromkeys(range(20), 0), most=2**16, rounds=1)[0])
0.0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from layoutalg.flow.solver.elimination import eliminate, elimination_order
from layoutalg.flow.solver.network import Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["conditioned", "improved"]


def conditioned(network: Network, free: Iterable[int], values: dict[int, int]) -> Network:
    """The network of the free variables, beside the values of all others."""
    names = set(free)
    unary: list[NDArray[np.float64]] = list(network.unary)
    for one in names:
        for other, table in network.neighbours[one].items():
            if other not in names and other in values:
                unary[one] = unary[one] + table[:, values[other]]
    return Network(unary, network.neighbours)


def improved(
    network: Network, variables: Iterable[int], values: dict[int, int], most: int, rounds: int
) -> tuple[dict[int, int], int]:
    """The best values of so many rounds, with tables of at most `most` entries, and how many entries all of them had."""
    names = list(variables)
    times: dict[int, int] = {}
    entries = 0
    for _ in range(rounds):
        order = elimination_order(network, names, most, fixed=times)
        _, found = eliminate(conditioned(network, order.variables, values), order.variables)
        values = {**values, **found}
        entries += order.entries
        if not order.rest:
            break
        for one in order.rest:
            times[one] = times.get(one, 0) + 1
    return values, entries
