"""Each method by itself, beside all choices of values: those that say "cheapest" find it, and bounds are bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutalg.flow.solver.cut import minimum_cut, sides
from layoutalg.flow.solver.elimination import bounded, eliminate, elimination_order
from layoutalg.flow.solver.messages import Messages
from layoutalg.flow.solver.network import Network, cost_in
from layoutalg.flow.solver.reduction import reduced
from layoutalg.flow.solver.regions import improved
from layoutalg.flow.solver.search import search
from tests.flow.solver.random_networks import every_cost, networks

NEARLY = 1e-9


@given(networks())
def test_elimination_is_exact(network: Network) -> None:
    order = elimination_order(network, range(len(network.unary)), 1 << 20)
    cost, values = eliminate(network, order.variables)
    assert order.rest == ()
    assert cost == every_cost(network).min()
    if cost < np.inf:
        assert every_cost(network)[tuple(values[one] for one in range(len(network.unary)))] == cost


@given(networks(), st.integers(1, 30))
def test_groups_of_tables_give_a_bound_and_large_ones_the_cost(network: Network, most: int) -> None:
    names = range(len(network.unary))
    assert bounded(network, names, most)[0] <= every_cost(network).min() + NEARLY
    assert bounded(network, names, 1 << 20)[0] == every_cost(network).min()


@given(networks(), st.booleans())
def test_a_reduction_keeps_one_of_the_cheapest_choices(network: Network, thorough: bool) -> None:
    smaller = reduced(network, range(len(network.unary)), thorough=thorough)
    least = every_cost(network).min()
    if smaller.emptied is not None:
        assert least == np.inf
        return
    cost, values = eliminate(smaller.network, smaller.variables)
    assert smaller.constant + cost == least
    if least < np.inf:
        full = smaller.complete(values)
        assert every_cost(network)[tuple(full[one] for one in range(len(network.unary)))] == least


@given(networks(dense=True), st.integers(0, 4))
def test_messages_bound_the_cost_of_all_and_of_each_value(network: Network, sweeps: int) -> None:
    smaller = reduced(network, range(len(network.unary)))
    assume(smaller.emptied is None and smaller.variables)
    # The variables that are left, numbered anew, for `every_cost`.
    number = {one: place for place, one in enumerate(smaller.variables)}
    core = Network([smaller.network.unary[one] for one in number], [{} for _ in number])
    for one in number:
        for other, table in smaller.network.neighbours[one].items():
            if other < one:
                core.add(number[one], number[other], table)
    messages = Messages(core, range(len(number)))
    for _ in range(sweeps):
        messages.sweep()
    costs = every_cost(core)
    assert messages.bound() <= costs.min() + NEARLY
    excess = messages.excess()
    for one in number.values():
        others = tuple(axis for axis in range(costs.ndim) if axis != one)
        assert (messages.bound() + excess[one, : costs.shape[one]] <= costs.min(axis=others) + NEARLY).all()
    np.testing.assert_allclose(every_cost(messages.shifted()), costs, atol=NEARLY)
    rounded = messages.rounded()
    assert messages.cost(rounded) == costs[tuple(rounded[one] for one in range(costs.ndim))]


@given(networks(values=2, impossible=False), st.data())
def test_a_minimum_cut_is_exact_where_tables_are_submodular(network: Network, data: st.DataObject) -> None:
    assume(all(len(own) == 2 for own in network.unary))
    turned = [data.draw(st.integers(0, 1)) for _ in network.unary]
    for one, around in enumerate(network.neighbours):
        for other, table in around.items():
            if other < one:  # what is lacking for this way of counting is added, sometimes all of it
                first, second = turned[one], turned[other]
                lacking = table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]
                if (lacking > 0) == (first == second):
                    table[first, 1 - second] += abs(lacking) if data.draw(st.integers(0, 3)) else np.inf
    side = sides(network, range(len(network.unary)))
    assert side is not None
    cost, values = minimum_cut(network, range(len(network.unary)), side)
    costs = every_cost(network)
    assert cost == costs.min() == costs[tuple(values[one] for one in range(costs.ndim))]


def test_a_cut_says_that_nothing_is_possible() -> None:
    network = Network([np.array([0.0, np.inf]), np.array([np.inf, 0.0])], [{}, {}])
    network.add(0, 1, np.array([[0.0, np.inf], [1.0, 0.0]]))
    assert minimum_cut(network, [0, 1], {0: 0, 1: 0}) == (np.inf, {})


def test_there_is_no_side_where_an_odd_ring_wants_to_differ() -> None:
    ring = Network([np.zeros(2) for _ in range(3)], [{} for _ in range(3)])
    for one in range(3):
        ring.add(one, (one + 1) % 3, np.eye(2))
    assert sides(ring, range(3)) is None


@given(networks(impossible=False), st.integers(1, 64), st.integers(1, 5))
def test_regions_never_make_values_dearer(network: Network, most: int, rounds: int) -> None:
    names = range(len(network.unary))
    first = dict.fromkeys(names, 0)
    values, _ = improved(network, names, first, most, rounds)
    assert every_cost(network).min() <= cost_in(network, values) <= cost_in(network, first)
    assert cost_in(network, values) == every_cost(network)[tuple(values[one] for one in names)]


@settings(deadline=None)
@given(networks() | networks(dense=True), st.sampled_from([1, 8, 64]))
def test_the_search_is_exact_with_any_size_of_tables(network: Network, most: int) -> None:
    found = search(network, range(len(network.unary)), budget=1 << 30, most=most)
    least = every_cost(network).min()
    assert found.bound == found.cost == least
    if found.values is not None:
        assert every_cost(network)[tuple(found.values[one] for one in range(len(network.unary)))] == least


@settings(deadline=None)
@given(networks(most=9, dense=True), st.sampled_from([0, 10_000, 100_000]))
def test_a_small_budget_gives_a_bound_and_values_that_cost_what_is_said(network: Network, budget: int) -> None:
    found = search(network, range(len(network.unary)), budget=budget, most=4)
    costs = every_cost(network)
    assert found.bound <= costs.min() <= found.cost
    if found.values is not None:
        assert costs[tuple(found.values[one] for one in range(costs.ndim))] == found.cost
