"""Counting for many grids at once against what is shared out for one plan, which the kernels are written from."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.counting import asked, counted, instructions
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.search import search
from layoutalg.gemm.sharing import lines_of_lanes, shared_rounds
from layoutalg.gemm.tiling import Tile, Tiling

GRIDS = np.array([[1, 1], [2, 2], [8, 4], [4, 8], [1, 16], [16, 1], [8, 2]]).T


def test_prefetches_of_many_grids_are_those_of_each_plan() -> None:
    random_choice = random.Random(1)
    compared = 0
    for _ in range(120):
        problem = Problem.of(
            4096, 4096, 4096, random_choice.choice(["f16", "s8", "tf32"]),
            trans_a=random_choice.random() < 0.3, trans_b=random_choice.random() < 0.3,
            target=random_choice.choice(["bmg", "pvc"]),
        )  # fmt: skip
        tile = Tile(8 * random_choice.randint(1, 8), 16 * random_choice.randint(1, 4), 32 * random_choice.randint(1, 4))
        form = Tiling(tile, (1, 1), 256, random_choice.choice(["shared", "lines"]))
        ahead, mixed = asked(problem, form, *GRIDS)
        for place, grid in enumerate(GRIDS.T.tolist()):
            tiling = replace(form, subgroups=(grid[0], grid[1]))
            try:
                shared = form.prefetch == "shared"
                all_rounds = shared_rounds(problem, tiling) if shared else (lines_of_lanes(problem, tiling),)
            except PlanError:
                continue
            assert ahead[place] == sum(shares.messages for shares in all_rounds), tiling
            if form.prefetch == "shared":
                rounds = [
                    (shares, range(start, min(start + tiling.count, shares.total)))
                    for shares in all_rounds
                    for start in range(0, shares.total, tiling.count)
                ]
                assert mixed[place] == any(one.start < shares.counts[0] < one.stop for shares, one in rounds), tiling
            compared += 1
    assert compared > 400


def test_instructions_of_many_grids_are_those_of_each() -> None:
    forms = [Tiling(Tile(32, 48, 64), (1, 1), 256, prefetch) for prefetch in ("none", "shared", "lines")]
    forms += [Tiling(Tile(m, n, k), (1, 1), 128, "shared") for m, n, k in ((8, 32, 64), (8, 48, 32), (16, 16, 128))]
    kinds: tuple[dict[str, Any], ...] = ({}, {"trans_b": True}, {"a": "s8"})
    for stored in kinds:
        problem = Problem.of(4096, 4096, 4096, target="pvc", **stored)
        for form in forms:
            each = [counted(problem, replace(form, subgroups=(int(r), int(c)))).total for r, c in GRIDS.T]
            assert instructions(problem, form, *GRIDS).tolist() == each, (stored, form)


def test_the_search_counts_loops_that_ask_further_ahead_as_their_plans_do() -> None:
    """Products of few tiles, where the search takes a distance of 4: A and B as they lie, transposed, exchanged, of bytes."""
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"a": "tf32"},
        {"trans_b": True},
        {"trans_a": True, "trans_b": True},
        {"a": "s8"},
    )
    for given in kinds:
        for target in ("bmg", "pvc"):
            problem = Problem.of(64, 64, 8192, target=target, **given)
            best = search(problem, Choices()).best
            assert best.tiling.distance > 1, best
            assert best.instructions == counted(problem, best.tiling).total
