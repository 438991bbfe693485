"""Operations that are not what their dialect says have no relation, and raise nothing."""

from __future__ import annotations

import random
import re

import pytest

import layoutalg as la
from layoutalg.core.notation import Machine
from layoutalg.ir import read_module
from layoutalg.propagation.relations import relation_of
from layoutalg.xegpu import LayoutAttr
from tests.propagation.relations.documented import PAGE, rows, values

_PAGE = PAGE.read_text(encoding="utf-8")
_ROWS = list(rows(_PAGE))
_NUMBER = re.compile(r"(?<![%\w#])\d+(?=[x,\]\)>: ])|(?<=x)\d+(?=x)")


@pytest.mark.parametrize("seed", range(6))
def test_examples_with_other_numbers_raise_nothing(seed: int) -> None:
    """Sizes, positions and orders are replaced; what is still text of MLIR is asked everything."""
    rng = random.Random(seed)
    machine, columns = Machine(lanes=16, subgroups=8), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    for row in _ROWS:
        text = row.example
        for _ in range(rng.randint(1, 2)):
            found = list(_NUMBER.finditer(text))
            if found:
                number = rng.choice(found)
                text = text[: number.start()] + rng.choice("01235678") + text[number.end() :]
        try:
            module = read_module(values(_PAGE) + text)
        except la.LayoutError:
            continue
        for operation in module.walk():
            relation = relation_of(operation)
            for demand in relation.demands if relation is not None else ():
                demand.problem(columns, machine, "pvc")
                demand.price(columns, machine, "pvc")
                for level in ("lane", "inst", "workgroup"):
                    demand.choices(level, machine, "pvc", 24)


@pytest.mark.parametrize(
    "text",
    [
        '%a = "test.op"() : () -> vector<8xf32> %b = "vector.transpose"(%a) : (vector<8xf32>) -> vector<8xf32>',
        '%a = "test.op"() : () -> vector<8xf32> %b = vector.transpose %a, [3] : vector<8xf32> to vector<8xf32>',
        '%a = "test.op"() : () -> vector<8xf32> %b = vector.multi_reduction <add>, %a, %a [4] : vector<8xf32> to vector<8xf32>',
        '%a = "test.op"() : () -> vector<8xf32> %b = vector.shape_cast %a : vector<8xf32> to vector<9xf32>',
    ],
)
def test_what_is_not_well_formed_is_checked_without_a_traceback(text: str) -> None:
    assert str(la.check(la.read(text)))
