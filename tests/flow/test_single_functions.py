"""Functions that serve the room `flow` alone, one by one."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir.affine import AffineMap

import layoutalg as la
from layoutalg.core.notation import Machine
from layoutalg.flow.compiler_mistakes import followers_of, reached_from
from layoutalg.flow.graph import flow_of
from layoutalg.flow.open_levels import as_taken, operand_statements
from layoutalg.flow.relations.blocks import way_of
from layoutalg.flow.relations.contractions import dims_of_map
from layoutalg.flow.relations.demands import accepted, bits_of, lanes_of
from layoutalg.flow.relations.relation import Choice, _example, is_well_formed, numbers_of
from layoutalg.flow.solver.network import Network
from layoutalg.flow.solver.regions import conditioned
from layoutalg.flow.solver.solve import components
from layoutalg.flow.value_candidates import stated_candidate
from layoutalg.flow.written_layouts import WrittenLayout, called, statement_in_type
from layoutalg.ir import read_module
from layoutalg.xegpu import LayoutAttr


def test_a_use_reaches_what_is_computed_element_by_element() -> None:
    lines = ("%x = arith.constant dense<0.0>", "%y = math.exp %x", "%z = math.sin %y")
    text = " ".join(f"{line} : vector<8xf32>" for line in lines)
    flow = flow_of(read_module(text))
    [use] = flow.values[0].members[0].uses
    assert [one.operation.name for one in reached_from(use, followers_of(flow))] == ["math.exp", "math.sin"]


def test_an_operand_that_nobody_holds_is_taken_as_it_is_stated() -> None:
    lanes = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>")
    assert as_taken(None, WrittenLayout(None, 0, None, "layout", lanes), (8, 16), Machine(lanes=16)) is lanes


def test_nothing_is_said_of_operands_without_statements() -> None:
    assert operand_statements(()) == {}


def test_a_packed_load_moves_its_block_packed() -> None:
    text = '%t = "test.op"() : () -> !xegpu.tensor_desc<16x16xf16>'
    load = "%a = xegpu.load_nd %t[0, 0] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>"
    assert way_of(read_module(text + load).body.block.last_op) == "packed"


def test_a_map_names_its_dimensions_unless_it_computes() -> None:
    assert (dims_of_map(AffineMap.transpose_map()), dims_of_map(AffineMap.constant_map(0))) == ((1, 0), None)


def test_llvm_22_takes_lanes_without_data_and_llvm_24_does_not() -> None:
    one = Choice(LayoutAttr(lane_layout=(1, 16)), 0, "it has no lane_data")
    assert (accepted(iter([one, one]), (8, 16), 22) == (one,), accepted(iter([one]), (8, 16), 24)) == (True, ())


def test_an_index_has_64_bits_and_tf32_a_register() -> None:
    assert (bits_of("bf16"), bits_of("index"), bits_of("tf32")) == (16, 64, 32)


def test_lanes_are_the_machines_and_else_the_chips() -> None:
    assert (lanes_of(None, "dg2"), lanes_of(Machine(lanes=32), "pvc")) == (8, 32)


def test_an_operation_with_its_operands_is_well_formed() -> None:
    assert is_well_formed(_example("%b = math.exp %a : vector<8x16xf32>"))


def test_numbers_are_read_in_both_forms_of_lists() -> None:
    assert (
        numbers_of(DenseArrayBase.from_list(i64, [1, 0])),
        numbers_of(ArrayAttr([IntegerAttr(3, 64)])),
        numbers_of(None),
    ) == ((1, 0), (3,), None)


def test_values_of_others_add_to_the_costs() -> None:
    pair = Network([np.zeros(1), np.array([2.0])], [{}, {}])
    pair.add(0, 1, np.array([[4.0]]))
    assert repr(conditioned(pair, [1], {0: 0}).unary[1]) == "array([6.])"


def test_variables_without_pairs_are_apart() -> None:
    assert components(Network([np.zeros(1)] * 2, [{}, {}]), [1, 0]) == [[1], [0]]


def test_a_layout_that_does_not_fit_is_no_candidate() -> None:
    lanes = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>")
    assert stated_candidate(WrittenLayout(None, None, None, "layout", lanes), (8, 17), Machine(lanes=16)) is None


def test_an_unknown_operation_has_its_name_in_the_text() -> None:
    assert called(read_module('"tt.load"() : () -> ()').body.block.first_op) == "tt.load"


def test_a_tensor_type_states_its_layout() -> None:
    operation = read_module(
        '%x = "tt.load"() : () -> tensor<4xf32, #ttg.linear<{lane = [[1], [2]]}>>'
    ).body.block.first_op
    assert [statement.name for statement in statement_in_type(operation, operation.results[0])] == ["type"]
