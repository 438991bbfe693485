"""The exact labelling where every variable has two values and neighbours rather agree: a minimum cut.

Let values 0 be one side of a cut and values 1 the other. A pair of variables then costs what its table says if the table is
submodular, `t[0, 0] + t[1, 1] <= t[0, 1] + t[1, 0]`: the difference is the capacity of an edge, the rest are costs of the
single variables. Where a table isn't, counting one of the two variables the other way round makes it so; that has to work out
for all tables at once, and `sides` finds out whether it does.

It does for the needs that several users share. "Made" costs with one of the maker's values, "not made" is impossible with
one of the user's; each is submodular with the need counted one way, and where two layouts meet (each converted to the other
for a cost, either one without) it is the same way for all users:

>>> table = np.array([[0.0, 7.0], [0.0, 0.0]])
>>> implied = np.array([[np.inf, 0.0], [0.0, 0.0]])
>>> network = Network([np.zeros(2), np.array([0.0, 9.0]), np.array([0.0, 9.0]), np.zeros(2)], [{}, {}, {}, {}])
>>> network.add(0, 3, table); network.add(1, 3, implied); network.add(2, 3, implied)
>>> sides(network, range(4))
{0: 0, 3: 0, 1: 1, 2: 1}
>>> minimum_cut(network, range(4), sides(network, range(4)))
(0.0, {0: 1, 1: 0, 2: 0, 3: 1})
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from layoutalg.flow.solver.network import Network

if TYPE_CHECKING:
    from networkx import DiGraph

__all__ = ["minimum_cut", "sides"]


def sides(network: Network, variables: Iterable[int]) -> dict[int, int] | None:
    """For each variable, which of its values counts as 0 for all tables to be submodular; None where there is no such way."""
    names = list(variables)
    if any(len(network.unary[one]) != 2 for one in names):
        return None
    found: dict[int, int] = {}
    for start in names:
        if start in found:
            continue
        found[start] = 0
        waiting = [start]
        while waiting:
            one = waiting.pop()
            for other, table in network.neighbours[one].items():
                # A row or a column of infinities is a value that is impossible, which a reduction has dropped.
                agree, differ = table[0, 0] + table[1, 1], table[0, 1] + table[1, 0]
                if agree == differ:
                    continue
                side = found[one] ^ int(agree > differ)
                if other not in found:
                    found[other] = side
                    waiting.append(other)
                elif found[other] != side:
                    return None
    return found


def minimum_cut(network: Network, variables: Iterable[int], side: dict[int, int]) -> tuple[float, dict[int, int]]:
    """The least cost of variables of two values whose tables are submodular when they are counted from `side`.

    Infinite, and no values, where none are possible.
    """
    import networkx as nx

    networkx: Any = nx
    names = list(variables)
    tables = [
        (one, other, table[:: 1 - 2 * side[one], :: 1 - 2 * side[other]])
        for one in names
        for other, table in network.neighbours[one].items()
        if one < other and other in side
    ]
    own = {one: network.unary[one][:: 1 - 2 * side[one]] for one in names}
    finite = sum(
        float(np.abs(costs[np.isfinite(costs)]).sum()) for costs in (*own.values(), *(t for _, _, t in tables))
    )
    never = 1 + int(finite)

    def whole(costs: float) -> int:
        return never if costs == np.inf else round(costs)

    constant = 0
    extra: dict[int, int] = {}
    """How much more value 1 costs than value 0."""
    graph: DiGraph[int] = nx.DiGraph()
    source, sink = -1, -2
    graph.add_nodes_from((source, sink, *names))
    for one, costs in own.items():
        constant += whole(costs[0])
        extra[one] = whole(costs[1]) - whole(costs[0])
    for one, other, table in tables:
        (both, last), (first, neither) = ([whole(cost) for cost in row] for row in table.tolist())
        constant += both
        extra[one] += first - both
        extra[other] += neither - first
        if last + first > both + neither:
            graph.add_edge(one, other, capacity=last + first - both - neither)
    for one, more in extra.items():
        if more > 0:
            graph.add_edge(source, one, capacity=more)
        elif more < 0:
            constant += more
            graph.add_edge(one, sink, capacity=-more)
    cost, (_, ones) = networkx.minimum_cut(graph, source, sink, flow_func=networkx.algorithms.flow.boykov_kolmogorov)
    if cost + constant >= never:
        return np.inf, {}
    return float(cost + constant), {one: side[one] ^ int(one in ones) for one in names}
