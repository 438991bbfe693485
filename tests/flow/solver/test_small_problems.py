"""On problems that are small enough to try everything, the cost is the least, and the bound says so."""

from __future__ import annotations

import sys

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.flow.solver import IMPOSSIBLE, cost_of, solve
from tests.flow.solver.random_problems import cheapest, every_labelling, random_problem


def test_exhaustive_search_finds_what_the_definition_says() -> None:
    for seed in range(40):
        problem = random_problem(seed, 4, 3, "loops", never=0.1)
        assert min(cheapest(problem), IMPOSSIBLE) == min(cost_of(problem, x) for x in every_labelling(problem))


@pytest.mark.parametrize("never", [0.0, 0.15])
@pytest.mark.parametrize("shape", ["tree", "dag", "loops"])
def test_cheapest_of_all(shape: str, never: float) -> None:
    for seed in range(400):
        nodes, labels = [(4, 5), (6, 4), (9, 3), (12, 2)][seed % 4]
        problem = random_problem(seed, nodes, labels, shape, never=never)
        least = cheapest(problem)
        if least >= IMPOSSIBLE:
            with pytest.raises(PlanError, match=r"node [0-9]+"):
                solve(problem)
            continue
        found = solve(problem)
        assert found.cost == least == found.bound == cost_of(problem, found.labels), seed


@pytest.mark.parametrize("shape", ["dag", "loops"])
def test_cheapest_of_all_when_hardly_any_table_is_small_enough(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that reductions, cuts and the search do what elimination does otherwise."""
    module = sys.modules["layoutalg.flow.solver.solve"]
    monkeypatch.setattr(module, "_EASY", 0)
    monkeypatch.setattr(module, "_MOST_ENTRIES", 8)
    methods: set[str] = set()
    for seed in range(200):
        nodes, labels = [(6, 4), (9, 3), (12, 2)][seed % 3]
        problem = random_problem(seed, nodes, labels, shape, degree=4, never=0.05 * (seed % 2))
        least = cheapest(problem)
        if least >= IMPOSSIBLE:
            with pytest.raises(PlanError, match=r"node [0-9]+"):
                solve(problem)
            continue
        found = solve(problem, budget=1 << 30)
        assert found.cost == least == found.bound == cost_of(problem, found.labels), seed
        methods |= {how.split(",")[0] for _, how in found.methods}
    assert {"reduction", "branch and bound"} <= methods
