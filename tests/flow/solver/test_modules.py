"""What `propagate` finds for a module, beside every choice written into the module and priced from its text alone."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

import layoutalg as la
from layoutalg.flow.graph import flows_of
from layoutalg.flow.levels import machine_of
from layoutalg.flow.solver import IMPOSSIBLE, Labelling, cost_of
from layoutalg.ir import read_module
from layoutalg.propagation.avoiding import WRONG
from layoutalg.propagation.candidates import candidates_of
from layoutalg.propagation.demand_options import DemandOptions
from layoutalg.propagation.network import network_of
from layoutalg.propagation.redundant import remove_redundant
from layoutalg.propagation.writing import write
from layoutalg.side.conformance.generating import kernels
from tests.propagation.pricing import priced

MOST = 16
"""Choices of a module that are all written out."""


def every_price(text: str, level: str) -> list[int]:
    """What the module costs with each choice of the candidates that compilers get right; empty where there are too many."""

    def opened():
        module = read_module(text)
        for conversion, *_ in remove_redundant(module):
            conversion.detach()
            conversion.erase()
        [flow] = flows_of(module)
        asked = DemandOptions(level, "pvc", 24, machine_of(flow.function, "pvc"))
        return module, flow, asked, network_of(flow, candidates_of(flow, asked), asked)

    problem = opened()[3].problem
    if not 2 <= prod(map(len, problem.costs)) <= MOST:
        return []
    prices: list[int] = []
    for labels in product(*(range(len(row)) for row in problem.costs)):
        if cost_of(problem, labels) < min(IMPOSSIBLE, WRONG):
            module, flow, asked, network = opened()
            write(flow, network, Labelling(labels, 0, 0), asked)
            prices.append(priced(module, level, "pvc", 24).total)
    return prices


@pytest.mark.parametrize("level", ["lane", "workgroup"])
def test_no_choice_of_layouts_makes_a_cheaper_module(level: str) -> None:
    compared = 0
    for kernel in kernels(5, 130, level="plain" if level == "lane" else "workgroup"):
        done = la.propagate(la.read(kernel.text), level=level)
        prices = [] if done.findings else every_price(kernel.text, level)
        if prices and not any(conversion.kind == "made again" for conversion in done.conversions):
            assert done.cost == min(prices), kernel.name
            compared += 1
    assert compared >= 5


TWO_RESULTS = """func.func @f(%x: vector<16xi32>) {
  %s = vector.step : vector<64xindex>
  %i = arith.index_cast %s : vector<64xindex> to vector<64xi32>
  %a, %b = OPERATION
  %c = arith.addi %a, %a {layout_result_0 = #xegpu.layout<lane_layout = [16], lane_data = [1]>} : vector<SHAPExi32>
  %d = arith.addi %b, %b {layout_result_0 = #xegpu.layout<lane_layout = [16], lane_data = [2]>} : vector<SHAPExi32>
  func.return }"""


@pytest.mark.parametrize(
    ("operation", "shape"),
    [
        ("vector.deinterleave %i : vector<64xi32> -> vector<32xi32>", "32"),
        ("arith.mulsi_extended %i, %i : vector<64xi32>", "64"),
    ],
)
def test_an_operation_takes_an_operand_in_one_layout_for_all_of_its_results(operation: str, shape: str) -> None:
    """The operand is cheap to make again in two layouts, but the operation has one place for it."""
    done = la.propagate(la.read(TWO_RESULTS.replace("OPERATION", operation).replace("SHAPE", shape)))
    assert la.check(la.read(str(done))).findings == ()
    counted = priced(read_module(str(done)), "lane", "pvc", 24)
    assert (counted.missing, counted.total) == (0, done.cost)
    assert [str(one.result) for one in done.conversions] == ["#xegpu.layout<lane_layout = [16], lane_data = [2]>"]


MADE_AGAIN = """func.func @f(%x: vector<16xi32>) {
  %s = vector.step {layout_result_0 = ONE} : vector<64xindex>
  %i = arith.index_cast %s {layout_result_0 = TWO} : vector<64xindex> to vector<64xi32>
  %c = arith.addi %i, %i {layout_result_0 = TWO} : vector<64xi32>
  %d = arith.addi %i, %i {layout_result_0 = ONE} : vector<64xi32>
  func.return }"""


def test_what_is_made_again_is_made_of_what_it_needs() -> None:
    """The cast is made in both layouts; each is made of a step in the same layout, and one of the two is written."""
    text = MADE_AGAIN.replace("ONE", "#xegpu.layout<lane_layout = [16], lane_data = [1]>")
    text = text.replace("TWO", "#xegpu.layout<lane_layout = [16], lane_data = [2]>")
    done = la.propagate(la.read(text))
    assert [conversion.kind for conversion in done.conversions] == ["made again", "made again"]
    assert la.check(la.read(str(done))).findings == ()
    assert str(done).count("vector.step") == str(done).count("arith.index_cast") == 2
