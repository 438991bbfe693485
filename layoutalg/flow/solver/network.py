"""The problem as a network of variables with costs on single ones and on pairs, which is what the solvers work on.

A use that shares its conversion with nobody costs what a table [labels of the maker, labels of the user] says. A need that
several users may have becomes a variable of its own with the values "not made" and "made": made costs the conversion, and
not made is impossible beside a user that has the need. So three users of one layout pay once:

>>> from layoutalg.flow.solver.problem import Problem, Use
>>> problem = Problem(
...     ((0, 0), (0, 9), (0, 9)), (Use(0, 1, (1, 0)), Use(0, 2, (1, 0))), ([[0, 7], [7, 0]], [[], []], [[], []]))
>>> network = network_of(problem)
>>> len(network.unary), network.pair(0, 4).tolist(), network.pair(1, 4).tolist()
(5, [[0.0, 7.0], [0.0, 0.0]], [[inf, 0.0], [0.0, 0.0]])

Variables 3 and 4 are needs 0 and 1 of node 0. Costs are floats with an infinity. They are whole numbers that add up to less
than 2^50, so their sums are exact.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from layoutalg.flow.solver.problem import IMPOSSIBLE, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Network", "cost_in", "network_of"]


@dataclass(slots=True, eq=False)
class Network:
    """Variables: their own costs, and per neighbour a table [own values, the neighbour's values]."""

    unary: list[NDArray[np.float64]]
    neighbours: list[dict[int, NDArray[np.float64]]]
    """Both directions of a pair are views of the same numbers."""

    def add(self, first: int, second: int, table: NDArray[np.float64]) -> None:
        """Add costs [values of `first`, values of `second`] to a pair."""
        held = self.neighbours[first].get(second)
        if held is None:
            own = np.array(table, np.float64)
            self.neighbours[first][second], self.neighbours[second][first] = own, own.T
        else:
            held += table

    def pair(self, first: int, second: int) -> NDArray[np.float64]:
        """The costs of a pair, [values of `first`, values of `second`]."""
        return self.neighbours[first][second]


def cost_in(network: Network, values: dict[int, int]) -> float:
    """What values cost in a network, by the tables of the variables that have one."""
    cost = sum(float(network.unary[one][value]) for one, value in values.items())
    for one, value in values.items():
        around = network.neighbours[one].items()
        cost += sum(float(table[value, values[other]]) for other, table in around if other < one and other in values)
    return cost


def network_of(problem: Problem, unit: int = 1) -> Network:
    """The network of a problem; its first variables are the nodes. Costs are counted in units, and rounded down to them."""
    unary = [_in_units(np.array(row, np.int64), unit) for row in problem.costs]
    network = Network(unary, [{} for _ in unary])
    for maker, numbers in enumerate(problem.users):
        if numbers:
            _add_uses(network, problem, _in_units(problem.conversions[maker], unit), maker, numbers)
    return network


def _add_uses(network: Network, problem: Problem, table: Any, maker: int, numbers: tuple[int, ...]) -> None:
    having: defaultdict[int, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    """Of each need, the users that may have it, and with which of their labels."""
    for use in map(problem.uses.__getitem__, numbers):
        for label, need in enumerate(use.needs):
            having[need][use.user].append(label)
    alone: dict[int, Any] = {}
    for need, users in sorted(having.items()):
        column = table[:, need]
        if not column.any():
            continue
        if len(users) == 1:
            [(user, labels)] = users.items()
            shape = (len(column), len(network.unary[user]))
            costs = alone.setdefault(user, np.zeros(shape))
            costs[:, sorted(set(labels))] += column[:, None]
        else:
            made = _new_variable(network)
            network.add(maker, made, np.stack([np.zeros_like(column), column], axis=1))
            for user, labels in users.items():
                implied = np.zeros((len(network.unary[user]), 2))
                implied[labels, 0] = np.inf
                network.add(user, made, implied)
    for user, costs in alone.items():
        if user == maker:
            network.unary[maker] += np.diagonal(costs)
        else:
            network.add(maker, user, costs)


def _new_variable(network: Network) -> int:
    network.unary.append(np.zeros(2))
    network.neighbours.append({})
    return len(network.unary) - 1


def _in_units(costs: Any, unit: int) -> Any:
    return np.where(costs >= IMPOSSIBLE, np.inf, (costs // unit).astype(np.float64))
