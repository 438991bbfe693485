"""Random problems, and what exhaustive search finds, straight from the definition and with numpy alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from layoutalg.flow.solver import IMPOSSIBLE, Problem, Use


def cheapest(problem: Problem) -> int:
    """The least cost over all labellings; `IMPOSSIBLE` or more where there is none."""
    sizes = [len(row) for row in problem.costs]
    every = np.indices(sizes).reshape(len(sizes), -1)
    total = np.zeros(every.shape[1], np.int64)
    for node, row in enumerate(problem.costs):
        total += np.array(row, np.int64)[every[node]]
    for maker, table in enumerate(problem.conversions):
        for need in range(table.shape[1]):
            wanted = np.zeros(every.shape[1], bool)
            for use in problem.uses:
                if use.maker == maker:
                    wanted |= np.array(use.needs)[every[use.user]] == need
            total += np.where(wanted, table[:, need][every[maker]], 0)
    return int(total.min())


def random_problem(
    seed: int,
    nodes: int,
    labels: int = 4,
    shape: str = "dag",
    *,
    dearest: int = 20,
    free: float = 0.3,
    never: float = 0.0,
    degree: int = 2,
) -> Problem:
    """A problem on a random tree, a random DAG, or a DAG with some uses backwards, as loops make them.

    `free` is the part of the costs that are 0, and `never` the part that are impossible.
    """
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, labels + 1, nodes)
    wants = draw.integers(1, labels + 2, nodes)

    def costs(*extents: int) -> Any:
        found = draw.integers(0, dearest + 1, extents)
        found = np.where(draw.random(extents) < free, 0, found)
        return np.where(draw.random(extents) < never, IMPOSSIBLE, found)

    pairs: list[tuple[int, int]] = []
    for user in range(1, nodes):
        count = 1 if shape == "tree" else int(draw.integers(0, degree + 1))
        pairs += [(int(draw.integers(0, user)), user) for _ in range(count)]
    if shape == "tree":
        pairs = [(m, u) if draw.random() < 0.5 else (u, m) for m, u in pairs]
    if shape == "loops":
        pairs += [(int(draw.integers(0, nodes)), int(draw.integers(0, nodes))) for _ in range(1 + nodes // 4)]
    uses = [Use(m, u, tuple(map(int, draw.integers(0, wants[m], sizes[u])))) for m, u in pairs]
    return Problem([costs(n).tolist() for n in sizes], uses, [costs(n, k) for n, k in zip(sizes, wants, strict=True)])


def every_labelling(problem: Problem) -> Any:
    return product(*(range(len(row)) for row in problem.costs))
