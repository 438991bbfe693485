"""The cheapest labelling of a problem, with a bound that says how good it is.

>>> from layoutalg.flow.solver import Problem, Use
>>> problem = Problem(
...     costs=((10, 30), (50, 0), (50, 0)),
...     uses=(Use(0, 1, (0, 1)), Use(0, 2, (0, 1))),
...     conversions=([[0, 8], [8, 0]], [[], []], [[], []]))
>>> solve(problem)
Labelling(labels=(0, 1, 1), cost=18, bound=18, methods=((3, 'elimination, width 2'),))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, inf
from typing import Any

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.flow.solver.cut import minimum_cut, sides
from layoutalg.flow.solver.elimination import eliminate, elimination_order
from layoutalg.flow.solver.network import Network, network_of
from layoutalg.flow.solver.problem import IMPOSSIBLE, Labelling, Problem, cost_of
from layoutalg.flow.solver.reduction import reduced
from layoutalg.flow.solver.search import OVERHEAD, search

__all__ = ["BUDGET", "NoLabelsError", "components", "solve"]

BUDGET = 1 << 25
"""How many entries of tables may be computed when nothing else is said: most of a second."""

_MOST_ENTRIES = 1 << 20
"""The largest table."""
_EASY = 1 << 12
"""A component whose tables have no more entries than so many for each variable is eliminated as it is."""
_EXACT_BITS = 50


class NoLabelsError(PlanError):
    """No labelling is possible; `node` is one that has no label left, or one of those that have none together."""

    def __init__(self, node: int, why: str) -> None:
        super().__init__(f"node {node}: {why}")
        self.node = node

    def __reduce__(self) -> Any:
        why = str(self).partition(": ")[2]
        return NoLabelsError, (self.node, why)


def solve(problem: Problem, *, budget: int = BUDGET) -> Labelling:
    """The cheapest labels for a problem, as far as `budget` allows: how many entries of tables may be computed.

    Components that are narrow, and those where two layouts meet, are solved exactly whatever the budget.

    Raises `NoLabelsError`, a `PlanError`, where no labelling is possible; it names a node that has no label left.

    >>> from layoutalg.flow.solver import Problem, Use
    >>> solve(Problem(((3, 1), (2, None)), (Use(0, 1, (0, 0)),), ([[0], [4]], [[], []]))).labels
    (0, 0)
    >>> solve(Problem(((3, None),), (), ([[], []],)), budget=0).cost
    3
    >>> solve(Problem(((3,), (None, None)), (), ([[]], [[], []])))
    Traceback (most recent call last):
    layoutalg.flow.solver.solve.NoLabelsError: node 1: no label is possible
    """
    instance_of(problem, Problem, "problem =")
    nodes = len(problem.costs)
    left = whole_number(budget, "budget =", 0)
    unit = _unit(problem)
    network = network_of(problem, unit)
    for node in range(nodes):
        if not np.isfinite(network.unary[node]).any():
            raise NoLabelsError(node, "no label is possible")
    whole = reduced(network, range(len(network.unary)), thorough=False)
    if whole.emptied is not None:
        raise _no_labels(network, range(len(network.unary)), nodes)
    values: dict[int, int] = {}
    methods: list[tuple[int, str]] = []
    bound = round(whole.constant)
    for component in components(whole.network, whole.variables):
        solved = _solve_component(whole.network, component, left * len(component) // len(whole.variables))
        if solved is None:
            raise _no_labels(whole.network, component, nodes)
        found, least, how = solved
        values |= found
        bound += least
        if len(component) > 1:
            methods.append((sum(one < nodes for one in component), how))
    full = whole.complete(values)
    labels = tuple(full[node] for node in range(nodes))
    alone = nodes - sum(size for size, _ in methods)
    methods.sort(reverse=True)
    return Labelling(labels, cost_of(problem, labels), bound * unit, (*methods, *[(alone, "alone")] * bool(alone)))


def _solve_component(network: Network, component: Sequence[int], budget: int) -> tuple[dict[int, int], int, str] | None:
    """Values, a bound and how they were found; None where no values are possible."""
    order = elimination_order(network, component, _EASY)
    if not order.rest and order.entries <= _EASY * len(component):
        cost, values = eliminate(network, order.variables)
        return None if cost == inf else (values, round(cost), _by_elimination(order.width))
    smaller = reduced(network, component)
    if smaller.emptied is not None:
        return None
    values: dict[int, int] = {}
    total, hows = round(smaller.constant), ["reduction"]
    budget -= OVERHEAD * len(component)
    for core in components(smaller.network, smaller.variables):
        found = _solve_core(smaller.network, core, max(0, budget * len(core) // len(smaller.variables)))
        if found is None:
            return None
        values |= found[0]
        total += found[1]
        hows.append(found[2])
    return smaller.complete(values), total, max(hows, key=_effort)


def _solve_core(network: Network, core: Sequence[int], budget: int) -> tuple[dict[int, int], int, str] | None:
    order = elimination_order(network, core, _MOST_ENTRIES)
    if not order.rest and order.entries <= max(budget, _EASY * len(core)):
        cost, values = eliminate(network, order.variables)
        return None if cost == inf else (values, round(cost), _by_elimination(order.width))
    side = sides(network, core)
    if side is not None:
        cost, values = minimum_cut(network, core, side)
        return None if cost == inf else (values, round(cost), "minimum cut")
    found = search(network, core, budget=budget, most=_MOST_ENTRIES)
    if found.values is None:
        return None
    return found.values, round(found.bound), f"branch and bound, {found.parts} part{'s' * (found.parts != 1)}"


def _by_elimination(width: int) -> str:
    return "tree" if width <= 1 else f"elimination, width {width}"


def _effort(how: str) -> tuple[int, int]:
    """Of the methods of several parts the one that took most is named."""
    words = how.split()
    number = int(words[-1]) if words[-1].isdigit() else 0
    return ("reduction", "tree", "elimination,", "minimum", "branch").index(words[0]), number


def _no_labels(network: Network, component: Sequence[int], nodes: int) -> NoLabelsError:
    """The error that names a node of a component that has no labelling."""
    emptied = reduced(network, component).emptied
    if emptied is None:
        size = sum(one < nodes for one in component)
        return NoLabelsError(component[0], f"no labels of the {size} nodes that hang together are possible together")
    # What isn't a node is a need of several users.
    node = emptied if emptied < nodes else min(network.neighbours[emptied])
    return NoLabelsError(node, "no label is possible beside those of the nodes around it")


def _unit(problem: Problem) -> int:
    """What costs are counted in: their greatest common divisor, or more where they are too large for exact sums of floats."""
    rows = [[cost for cost in row if cost is not None and cost < IMPOSSIBLE] for row in problem.costs]
    costs = {cost for row in rows for cost in row}
    total = sum(max(row, default=0) for row in rows)
    for table in problem.conversions:
        possible = np.where(table < IMPOSSIBLE, table, 0)
        costs.update(np.unique(possible).tolist())
        total += sum(possible.max(axis=0, initial=0).tolist())
    unit = gcd(*costs) or 1
    return unit << max(0, (total // unit).bit_length() - _EXACT_BITS)


def components(network: Network, variables: Iterable[int]) -> list[list[int]]:
    """The variables that hang together, in the order in which they are given."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(variables)
    graph.add_edges_from((one, other) for one in list(graph) for other in network.neighbours[one] if other > one)
    place = {one: number for number, one in enumerate(graph)}
    groups = (sorted(group, key=place.__getitem__) for group in nx.connected_components(graph))
    return sorted(groups, key=lambda group: place[group[0]])
