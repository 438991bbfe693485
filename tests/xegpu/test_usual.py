"""What is taken for a usual layout keeps every rule; the rules themselves are compared with LLVM's verdicts elsewhere."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from layoutalg.xegpu import LayoutAttr, attributes
from layoutalg.xegpu.usual import is_usual

SIZES = (1, 1, 2, 4, 8, 16, 32, 0, -1, 2**16, 2**31, 2**40, True, 2.0, "2")


def sizes(random: Random, rank: int) -> Any:
    kind = random.random()
    if kind < 0.3:
        return None
    rank = rank if kind < 0.9 else random.randint(0, 3)
    return (tuple if kind < 0.95 else list)(random.choices(SIZES, (8,) * 7 + (1,) * 8, k=rank))


def never(*_: object) -> bool:
    return False


def test_what_is_usual_keeps_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    random, usual, others = Random(7), 0, 0
    monkeypatch.setattr(attributes, "is_usual", never)
    for _ in range(4000):
        rank = random.randint(1, 3)
        sg, sg_data, inst, lane, lane_data = (sizes(random, rank) for _ in range(5))
        order: Any = random.choice((None, None, tuple(random.sample(range(rank), rank)), (0,) * rank, (0, 1)))
        if is_usual(sg, sg_data, inst, lane, lane_data, order):
            usual += 1
            made = LayoutAttr(sg, sg_data, inst, lane, lane_data, order)  # raises where a rule is broken
            assert (made.sg_layout, made.inst_data, made.lane_layout, made.order) == (sg, inst, lane, order)
        else:
            others += 1
    assert usual > 300
    assert others > 300
