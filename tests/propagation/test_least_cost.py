"""On small graphs no assignment of layouts costs less: every one is tried, and counted from its text."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest

import layoutalg as la
from layoutalg.flow.graph import flows_of
from layoutalg.flow.levels import machine_of
from layoutalg.ir import read_module
from layoutalg.propagation.candidates import candidates_of
from layoutalg.propagation.demand_options import DemandOptions
from layoutalg.propagation.writing import attribute_of
from tests.propagation.pricing import priced

ROWS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
COLUMNS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
PAIRS = "#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>"
VECTOR = "vector<16x16xf32>"


def graph(seed: int, values: int = 6) -> str:
    """A random graph of operations on 16x16, with some layouts written, some of it in a loop."""
    random = Random(seed)
    lines = [
        "func.func @f(%n: index) {",
        "%zero = arith.constant 0 : index",
        "%one = arith.constant 1 : index",
        f'%a = "test.op"() : () -> {VECTOR}',
    ]
    names, loop = ["a"], random.random() < 0.3
    for number in range(values):
        if loop and number == values // 2:
            lines.append("scf.for %i = %zero to %n step %one {")
        written = random.choice(["", "", f" {{layout_result_0 = {random.choice([ROWS, COLUMNS, PAIRS])}}}"])
        first, second = random.choice(names), random.choice(names)
        kind = random.choice(["addf", "negf", "transpose", "addf", "constant"])
        name = f"%v{number}"
        if kind == "addf":
            lines.append(f"{name} = arith.addf %{first}, %{second}{written} : {VECTOR}")
        elif kind == "negf":
            lines.append(f"{name} = math.exp %{first}{written} : {VECTOR}")
        elif kind == "constant":
            lines.append(f"{name} = arith.constant{written} dense<1.0> : {VECTOR}")
        else:
            lines.append(f"{name} = vector.transpose %{first}, [1, 0]{written} : {VECTOR} to {VECTOR}")
        names.append(f"v{number}")
    lines += ["}"] if loop and values // 2 < values else []
    return "\n".join([*lines, "func.return", "}"])


def cheapest(text: str) -> int:
    """The least cost over all assignments of candidates, each written into the text and counted from there."""
    [flow] = flows_of(read_module(text))
    asked = DemandOptions("lane", "pvc", 24, machine_of(flow.function))
    options = candidates_of(flow, asked).options
    open_values = [value for value in flow.values if not value.stated]
    best = -1
    for choice in product(*(options[value.number] for value in open_values)):
        module = read_module(text)
        makers = [op for op in module.walk() if op.results and "vector" in str(op.results[0].type)]
        for value, option in zip(open_values, choice, strict=True):
            attribute = attribute_of(option.held)
            assert attribute is not None
            makers[value.number].attributes["layout_result_0"] = attribute
        cost = priced(module, "lane", "pvc", 24).total
        best = cost if best < 0 else min(best, cost)
    return best


def ways(text: str) -> int:
    [flow] = flows_of(read_module(text))
    found = candidates_of(flow, DemandOptions("lane", "pvc", 24, machine_of(flow.function)))
    return prod(len(options) for options in found.options)


GRAPHS = [text for text in (graph(seed, 4 + seed % 3) for seed in range(120)) if 3 <= ways(text) <= 100][:40]


@pytest.mark.parametrize("text", GRAPHS, ids=range(len(GRAPHS)))
def test_the_cost_is_that_of_exhaustive_search(text: str) -> None:
    done = la.propagate(text, level="lane", llvm=24)
    assert done.is_optimal
    assert done.cost == cheapest(text)


def test_the_graphs_are_many_and_differ() -> None:
    assert len(GRAPHS) >= 30
    assert len({la.propagate(text).cost for text in GRAPHS}) > 10
