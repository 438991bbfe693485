"""The cheapest labelling of a problem, with a bound that says how good it is.

>>> from layoutalg.propagation.labelling import Problem, Use
>>> problem = Problem(
...     costs=((10, 30), (50, 0), (50, 0)),
...     uses=(Use(0, 1, (0, 1)), Use(0, 2, (0, 1))),
...     conversions=([[0, 8], [8, 0]], [[], []], [[], []]))
>>> solve(problem)
Labelling(labels=(0, 1, 1), cost=18, bound=18, methods=((3, 'elimination, width 2'),))
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.propagation.labelling.elimination import eliminate, elimination_order
from layoutalg.propagation.labelling.network import Network, network_of
from layoutalg.propagation.labelling.problem import Labelling, Problem, cost_of

__all__ = ["BUDGET", "solve"]

BUDGET = 1 << 25
"""How many entries of tables may be computed, when nothing else is said: under a second."""

_MOST_ENTRIES = 1 << 20


def solve(problem: Problem, *, budget: int = BUDGET) -> Labelling:
    """The cheapest labels for a problem, as far as `budget` allows: how many entries of tables may be computed.

    Raises `PlanError` where no labelling is possible, and names a node that has no label left.

    >>> from layoutalg.propagation.labelling import Problem, Use
    >>> solve(Problem(((3, 1), (2, None)), (Use(0, 1, (0, 0)),), ([[0], [4]], [[], []]))).labels
    (0, 0)
    >>> solve(Problem(((3, None),), (), ([[], []],)), budget=0).cost
    3
    >>> solve(Problem(((3,), (None, None)), (), ([[]], [[], []])))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: node 1: no label is possible
    """
    instance_of(problem, Problem, "problem =")
    whole_number(budget, "budget =", 0)
    network = network_of(problem)
    count = len(problem.costs)
    for node in range(count):
        if not np.isfinite(network.unary[node]).any():
            raise PlanError(f"node {node}: no label is possible")
    values: dict[int, int] = {}
    methods: list[tuple[int, str]] = []
    bound = 0
    for component in components(network):
        size = sum(one < count for one in component)
        order = elimination_order(network, component, _MOST_ENTRIES)
        if order.rest:
            found = first_values(network, component)
            least = sum(float(network.unary[one].min()) for one in component)
            values |= found
            bound += round(least)
            methods.append((size, "one after the other"))
            continue
        least, found = eliminate(network, order.variables)
        if least == np.inf:
            raise PlanError(f"node {min(component)}: no label is possible beside those of the nodes around it")
        values |= found
        bound += round(least)
        methods.append((size, f"elimination, width {order.width}"))
    labels = tuple(values[node] for node in range(count))
    return Labelling(labels, cost_of(problem, labels), bound, tuple(methods))


def components(network: Network) -> Sequence[Sequence[int]]:
    """The variables that hang together, each group and the list of groups in ascending order.

    >>> components(Network([np.zeros(1)] * 2, [{}, {}]))
    [[0], [1]]
    """
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(network.unary)))
    graph.add_edges_from((one, other) for one, around in enumerate(network.neighbours) for other in around)
    return sorted(sorted(group) for group in nx.connected_components(graph))


def first_values(network: Network, component: Sequence[int]) -> dict[int, int]:
    """Values taken one variable after the other, each the cheapest beside those that are taken.

    >>> first_values(Network([np.array([2.0, 1.0])], [{}]), [0])
    {0: 1}
    """
    values: dict[int, int] = {}
    for one in component:
        costs = network.unary[one].copy()
        for other, table in network.neighbours[one].items():
            costs += table[:, values[other]] if other in values else table.min(axis=1)
        values[one] = int(costs.argmin())
    return values
