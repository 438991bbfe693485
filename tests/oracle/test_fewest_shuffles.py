"""No schedule has fewer shuffles than the bound says: asked of a linear program that knows nothing of classes or hops.

Its schedules are all there are, and more: in every shuffle each lane hears others, by shares that add up to one; what it hears
of one is at most as many elements as a word has room for; elements may go in parts, over as many lanes as they like. Where even
that has no solution with one shuffle less, none that moves whole elements has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import layoutalg as la
from tests.conversion.brute_force import L, numbers
from tests.oracle.toolchains import require_module

INFEASIBLE = 2
"""What scipy says of a linear program that has no solution."""
CASES = [
    ("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg", 16),
    ("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg", 32),
    ("d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg", 8),
    ("d0 = 4@reg, d1 = 8@lane", "d0 = 2@reg 2@lane:2, d1 = 2@lane 2@lane:4 2@reg:2", 16),
    ("d0 = 2@reg, d1 = 8@lane", "d0 = 2@lane, d1 = 2@lane:2 2@lane:4 2@reg", 16),  # lanes move with what is exchanged
    ("d0 = 4@reg, d1 = 8@lane", "d0 = 2@lane:2 2@lane, d1 = 2@reg 2@reg:2 2@lane:4", 16),
]
LONG = [
    ("d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg", 16),
    ("d0 = 4@reg, d1 = 16@lane", "d0 = 4@lane, d1 = 2@lane:4 2@lane:8 4@reg", 16),  # two others change places
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_shuffle_less_has_no_schedule(case: tuple[str, str, int]) -> None:
    check(*case)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", LONG, ids=str)
def test_one_shuffle_less_has_no_schedule_of_more_lanes(case: tuple[str, str, int]) -> None:
    check(*case)


def check(source: str, destination: str, bits: int) -> None:
    require_module("scipy")
    plan = la.convert(L(source), L(destination), element_bits=bits)
    before, after = (numbers(L(text))[0] for text in (source, destination))
    room = max(32 // bits, 1)
    assert plan.shuffles == plan.lower_bound > 1
    assert status(before, after, room, plan.lower_bound - 1) == INFEASIBLE
    assert status(before, after, room, plan.lower_bound) == 0


def status(before: Any, after: Any, room: int, shuffles: int) -> int:
    """What the solver says of moving every element to its lane in so many shuffles, `room` elements to a word.

    Unknown are heard[t, m, q], the share of shuffle t in which lane q hears lane m, and sent[t, e, m, q], the share of element
    e that goes with it. Where an element is after t shuffles follows from what was sent before.
    """
    from scipy.optimize import linprog
    from scipy.sparse import lil_matrix

    owner = {element: lane for lane, row in enumerate(before.tolist()) for element in row}
    moved = [(owner[e], lane) for lane, row in enumerate(after.tolist()) for e in row if owner[e] != lane]
    lanes, count = len(before), len(moved)
    pairs = [(m, q) for m in range(lanes) for q in range(lanes) if m != q]
    heard = np.arange(shuffles * len(pairs)).reshape(shuffles, len(pairs))
    sent = heard.size + np.arange(shuffles * count * len(pairs)).reshape(shuffles, count, len(pairs))
    at = sent.size + heard.size + np.arange((shuffles + 1) * count * lanes).reshape(shuffles + 1, count, lanes)
    most, least = np.ones(at.max() + 1), np.zeros(at.max() + 1)
    for e, (first, last) in enumerate(moved):
        for t, lane in ((0, first), (shuffles, last)):
            most[at[t, e]] = 0
            most[at[t, e, lane]] = least[at[t, e, lane]] = 1
    below: list[tuple[list[int], list[int], int]] = []  # sums of variables, and what they are at most
    equal: list[tuple[list[int], list[int]]] = []  # sums that are 0
    into = [[i for i, (_, q) in enumerate(pairs) if q == lane] for lane in range(lanes)]
    out = [[i for i, (m, _) in enumerate(pairs) if m == lane] for lane in range(lanes)]
    for t in range(shuffles):
        for lane in range(lanes):
            below.append((heard[t, into[lane]].tolist(), [1] * (lanes - 1), 1))
            for e in range(count):
                leaving, coming = sent[t, e, out[lane]].tolist(), sent[t, e, into[lane]].tolist()
                below.append(([*leaving, at[t, e, lane]], [1] * len(leaving) + [-1], 0))
                signs = [1, -1, *[1] * len(leaving), *[-1] * len(coming)]
                equal.append(([at[t + 1, e, lane], at[t, e, lane], *leaving, *coming], signs))
        for i in range(len(pairs)):
            below.append(([*sent[t, :, i].tolist(), heard[t, i]], [1] * count + [-room], 0))
            below += [([sent[t, e, i], heard[t, i]], [1, -1], 0) for e in range(count)]
    tables: list[Any] = []
    for rows in (below, equal):
        table = lil_matrix((len(rows), len(most)))
        for number, (columns, signs, *_) in enumerate(rows):
            table[number, columns] = signs
        tables.append(table.tocsr())
    found = linprog(
        np.zeros(len(most)),
        A_ub=tables[0],
        b_ub=[row[2] for row in below],
        A_eq=tables[1],
        b_eq=np.zeros(len(equal)),
        bounds=np.stack([least, most], 1),
        method="highs-ipm",
    )
    return int(found.status)
