"""The whole engine: large problems in the shapes of kernels, problems without a solution, and what is refused."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.flow.solver import IMPOSSIBLE, Problem, Use, cost_of, solve
from tests.flow.solver.kernel_shapes import SHAPES, kernel
from tests.flow.solver.random_problems import random_problem


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nodes", [50, 200])
def test_kernels_are_within_two_hundredths_of_the_bound(shape: str, nodes: int) -> None:
    for seed in range(2):
        for wild in (False, True):
            problem = kernel(shape, nodes, seed, wild=wild)
            found = solve(problem)
            assert found.bound <= found.cost == cost_of(problem, found.labels)
            assert found.gap <= 0.02


@pytest.mark.parametrize("shape", ["attention", "random_dag"])
def test_two_thousand_nodes_are_within_three_hundredths_of_the_bound(shape: str) -> None:
    problem = kernel(shape, 2000, 0)
    found = solve(problem)
    assert found.bound <= found.cost == cost_of(problem, found.labels)
    assert found.gap <= 0.03


def test_no_choice_of_two_labels_is_cheaper_than_the_bound_of_a_large_problem() -> None:
    problem = kernel("far_dag", 300, 1)
    found = solve(problem, budget=0)
    draw = np.random.default_rng(0)
    labels = list(found.labels)
    for _ in range(300):  # any single change, now and then kept
        node = int(draw.integers(len(labels)))
        changed = [*labels[:node], int(draw.integers(len(problem.costs[node]))), *labels[node + 1 :]]
        assert cost_of(problem, changed) >= found.bound
        if draw.random() < 0.2:
            labels = changed


def test_the_same_problem_has_the_same_labels() -> None:
    problem = kernel("random_dag", 120, 3, wild=True)
    assert solve(problem) == solve(problem)


def test_more_budget_is_never_worse() -> None:
    problem = kernel("random_dag", 200, 0, wild=True)
    little, much = solve(problem, budget=0), solve(problem, budget=1 << 26)
    assert little.bound <= much.bound <= much.cost <= little.cost


def test_a_chain_of_ten_thousand_nodes_is_a_tree() -> None:
    draw = np.random.default_rng(0)
    count = 10_000
    tables = draw.integers(0, 50, (count, 4, 4))
    costs = draw.integers(0, 50, (count, 4))
    problem = Problem(costs.tolist(), [Use(n, n + 1, (0, 1, 2, 3)) for n in range(count - 1)], list(tables))
    start = time.process_time()
    found = solve(problem)
    assert time.process_time() - start < 5
    best = costs[0]
    for node in range(1, count):
        best = (best[:, None] + tables[node - 1]).min(axis=0) + costs[node]
    assert found.cost == found.bound == best.min()
    assert found.methods == ((count, "tree"),)


@pytest.mark.parametrize("labels", [1, 3])
def test_a_value_with_ten_thousand_users(labels: int) -> None:
    draw = np.random.default_rng(0)
    count = 10_000
    costs = [[0] * labels, *draw.integers(0, 50, (count, labels)).tolist()]
    needs = [tuple(draw.permutation(5)[:labels].tolist()) for _ in range(count)]
    table = draw.integers(0, 50_000, (labels, 5))
    uses = [Use(0, n + 1, needs[n]) for n in range(count)]
    start = time.process_time()
    found = solve(Problem(costs, uses, [table, *[np.zeros((labels, 0), np.int64)] * count]))
    assert time.process_time() - start < 5

    # Given the needs that are made, each user takes its cheapest label among them.
    prices = np.where(np.arange(5) == np.array(needs)[:, :, None], np.array(costs[1:])[:, :, None], 10**9)
    by_need = prices.min(axis=1)
    least = min(
        table[own, made].sum() + by_need[:, made].min(axis=1).sum()
        for own in range(labels)
        for made in (np.flatnonzero([bits >> need & 1 for need in range(5)]) for bits in range(1, 32))
    )
    assert found.cost == found.bound == least


def test_two_layouts_that_meet_are_a_minimum_cut() -> None:
    draw = np.random.default_rng(1)
    pairs = SHAPES["random_dag"](draw, 300)
    costs = draw.integers(0, 40, (300, 2)).tolist()
    tables = [[[0, int(one)], [int(other), 0]] for one, other in draw.integers(4, 20, (300, 2))]
    found = solve(Problem(costs, [Use(maker, user, (0, 1)) for maker, user in pairs], tables), budget=0)
    assert found.is_optimal
    assert found.methods[0][1] == "minimum cut"


def test_costs_of_any_size_have_a_bound() -> None:
    for factor in (1, 7, 2**20, 2**41, 10**12 + 1):
        problem = random_problem(5, 9, 3, "dag")
        larger = Problem(
            [[cost * factor for cost in row] for row in problem.costs],
            problem.uses,
            [table * factor for table in problem.conversions],
        )
        assert solve(larger).cost == solve(larger).bound == solve(problem).cost * factor
    # Beyond 2^50 in all, sums of floats are not exact; the bound is rounded down.
    draw = np.random.default_rng(0)
    costs = draw.integers(2**48, 2**49, (40, 3))
    uses = [Use(n, n + 1, (0, 1, 2)) for n in range(39)]
    problem = Problem(costs.tolist(), uses, [draw.integers(0, 2**49, (3, 3)) for _ in range(40)])
    best = costs[0]
    for node in range(1, 40):
        best = (best[:, None] + problem.conversions[node - 1]).min(axis=0) + costs[node]
    found = solve(problem)
    assert found.bound <= best.min() <= found.cost
    assert found.gap < 1e-9


def test_a_problem_without_a_solution_names_a_node() -> None:
    never = IMPOSSIBLE
    with pytest.raises(PlanError, match="node 1: no label is possible"):
        solve(Problem(((0,), (None, None)), (), ([[]], [[], []])))
    with pytest.raises(PlanError, match="node 0: no label is possible beside"):
        solve(Problem(((0,), (0,)), (Use(0, 1, (0,)),), ([[never]], [[]])))
    # Three nodes of two labels that must all differ.
    differ = [[never, 0], [0, never]]
    uses = (Use(0, 1, (0, 1)), Use(1, 2, (0, 1)), Use(2, 0, (0, 1)))
    with pytest.raises(PlanError, match=r"node [0-2]: no label"):
        solve(Problem(((0, 0),) * 3, uses, (differ,) * 3))


def test_a_problem_with_few_possible_choices_is_solved_without_a_budget() -> None:
    # Colourings of a ring of 40 with chords: every label costs, equal ones are impossible.
    draw = np.random.default_rng(2)
    differ = np.where(np.eye(4, dtype=bool), IMPOSSIBLE, 0)
    pairs = [(n, (n + 1) % 40) for n in range(40)] + [(n, (n * 7 + 3) % 40) for n in range(40)]
    uses = [Use(maker, user, (0, 1, 2, 3)) for maker, user in pairs if maker != user]
    found = solve(Problem(draw.integers(0, 9, (40, 4)).tolist(), uses, [differ] * 40), budget=0)
    assert found.bound <= found.cost < IMPOSSIBLE


@pytest.mark.parametrize(
    ("costs", "uses", "conversions", "message"),
    [
        (((-1,),), (), ([[0]],), "node 0, label 0: cost -1: expected a whole number of at least 0, or None"),
        (((1.5,),), (), ([[0]],), "node 0, label 0: cost 1.5"),
        (((),), (), ([[0]],), "node 0: expected at least one label"),
        (("ab",), (), ([[0]],), "costs of node 0"),
        (((0,),), (), (), "0 tables: expected one for each of the 1 nodes"),
        (((0,),), (), ([[0], [0]],), r"shape \(2, 1\)"),
        (((0,),), (), ([[0.5]],), "type float64"),
        (((0,),), (), ([[-2]],), "a conversion costs -2"),
        (((0, 0),), (), ([[1], [1, 2]],), "expected rows of one length"),
        (((0,),), (Use(0, 1, (0,)),), ([[0]],), "user 1: expected a node from 0 to 0"),
        (((0,),), (Use(0, 0, (1,)),), ([[0]],), "node 0 has needs 0 to 0"),
        (((0,),), (Use(0, 0, (0, 0)),), ([[0]],), "expected a need for each of the user's 1 labels"),
        (((0,),), ((0, 0, (0,)),), ([[0]],), "expected a Use"),
        (3, (), (), "expected a list"),
    ],
)
def test_what_is_no_problem_is_refused_in_words(costs: Any, uses: Any, conversions: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Problem(costs, uses, conversions)


def test_other_arguments_are_refused_in_words() -> None:
    problem: Any = Problem(((0, 1),), (), ([[], []],))
    with pytest.raises(LayoutError, match="problem = 'x'"):
        solve("x")  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="budget = -1"):
        solve(problem, budget=-1)
    with pytest.raises(LayoutError, match="label 2: expected a whole number from 0 to 1"):
        cost_of(problem, (2,))
    with pytest.raises(LayoutError, match="expected one for each of the 1 nodes"):
        cost_of(problem, ())
