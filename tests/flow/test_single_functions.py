"""Functions that serve the room `flow` alone, one by one."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir.affine import AffineMap

import layoutalg as la
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine
from layoutalg.flow.compiler_mistakes import compiler_mistake, followers_of, reached_from, reduction_mistakes
from layoutalg.flow.graph import flow_of
from layoutalg.flow.levels import machine_of
from layoutalg.flow.open_levels import as_taken, ends_in, operand_statements
from layoutalg.flow.relations.blocks import way_of
from layoutalg.flow.relations.contractions import dims_of_map
from layoutalg.flow.relations.demands import accepted, bits_of, lanes_of
from layoutalg.flow.relations.relation import Choice, _example, is_well_formed, numbers_of
from layoutalg.flow.relations.slices import shuffled, taken_in_turns
from layoutalg.flow.solver.elimination import bounded, combined
from layoutalg.flow.solver.network import Network
from layoutalg.flow.solver.regions import conditioned
from layoutalg.flow.solver.solve import components
from layoutalg.flow.value_candidates import Candidate, stated_candidate
from layoutalg.flow.written_layouts import WrittenLayout, about_nothing, called, statement_in_type
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
    assert called(read_module('"my.load"() : () -> ()').body.block.first_op) == "my.load"


def test_a_tensor_type_states_its_layout() -> None:
    operation = read_module(
        '%x = "my.load"() : () -> tensor<4xf32, #ttg.linear<{lane = [[1], [2]]}>>'
    ).body.block.first_op
    assert [statement.name for statement in statement_in_type(operation, operation.results[0])] == ["type"]


def test_a_column_stored_to_shared_memory_is_moved_wrongly() -> None:
    text = """%m, %x = "test.op"() : () -> (!xegpu.mem_desc<32x32xf32>, vector<8x16xf32>)
xegpu.store_matrix %x, %m[0, 0] : vector<8x16xf32>, !xegpu.mem_desc<32x32xf32>"""
    store = read_module(text).body.block.last_op
    assert (
        str(compiler_mistake(store, store.operands[0], LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))).versions)
        == "(22, 23, 24)"
    )


def test_what_is_computed_element_by_element_follows_its_operand() -> None:
    text = "%x = arith.constant dense<0.0> : vector<8xf32> %z = math.exp %x : vector<8xf32>"
    assert [
        (user.name, number, len(found)) for (user, number), found in followers_of(flow_of(read_module(text))).items()
    ] == [("math.exp", 0, 1)]


def test_a_store_without_a_slice_crashes_the_reduction_before_it() -> None:
    lanes = "#xegpu.layout<lane_layout = [4], lane_data = [1]>"
    text = """%x, %z, %t = "test.op"() : () -> (vector<4x4xf32>, vector<4xf32>, !xegpu.tensor_desc<4xf32>)
%y = vector.multi_reduction <add>, %x, %z {layout_result_0 = LANES} [1] : vector<4x4xf32> to vector<4xf32>
%w = math.exp %y : vector<4xf32>
xegpu.store_nd %w, %t[0] <{layout = LANES}> : vector<4xf32>, !xegpu.tensor_desc<4xf32>"""
    [found] = reduction_mistakes(flow_of(read_module(text.replace("LANES", lanes))))
    assert (found.statement.user.name, found.user.name, found.mistake.by) == (
        "xegpu.store_nd",
        "math.exp",
        "LLVM 23 and 24",
    )


def test_a_conversion_goes_from_what_is_held_to_what_is_made() -> None:
    one, other = (
        Candidate(Layout.parse(text), frozenset({"lane"}), None, "stated", None)
        for text in ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@lane:2, d1 = 8@reg 2@lane")
    )
    assert [str(end.layout) for end in ends_in(one, None, other, Machine(lanes=16))] == [
        "d0 = 8@reg, d1 = 16@lane",
        "d0 = 8@lane:2, d1 = 8@reg 2@lane",
    ]


def test_a_layout_of_a_result_that_is_missing_is_a_warning() -> None:
    lanes = "#xegpu.layout<lane_layout = [8], lane_data = [1]>"
    text = f"%x = arith.constant {{layout_result_7 = {lanes}}} dense<0.0> : vector<8xf32>"
    assert [f"{finding.level} {finding.message}" for finding in about_nothing(read_module(text))] == [
        "warning layout_result_7 is about nothing: there is 1 result, layout_result_0"
    ]


def test_the_machine_is_what_the_kernel_says_or_its_layouts_use() -> None:
    text = """gpu.module @m { gpu.func @k() kernel attributes {intel_reqd_sub_group_size = 16 : i32,
  known_block_size = array<i32: 64, 2, 1>} { gpu.return } }"""
    assert (
        repr(machine_of(next(op for op in read_module(text).walk() if op.name == "gpu.func")))
        == "Machine(lanes=16, subgroups=8, threads=None)"
    )
    assert (
        repr(machine_of(read_module("gpu.barrier"), layouts=[LayoutAttr(sg_layout=(2, 4), sg_data=(16, 16))]))
        == "Machine(lanes=16, subgroups=8, threads=None)"
    )


def test_a_shuffle_has_runs() -> None:
    assert [f"{number} {relation}" for number, relation in shuffled((0, 2, 4, 6, 8, 9), (8,), (4,))] == [
        "0 d0 = 4@d0:2",
        "1 d0 = 2@d0 | origin 4@d0",
    ]
    assert shuffled(tuple(range(15, -1, -1)), (16,), (16,)) is None


def test_runs_that_are_taken_in_turns() -> None:
    assert [f"{relation} | {other}" for relation, other in taken_in_turns((0, 1, 4, 5, 2, 3, 6, 7), (4,), (4,))] == [
        "d0 = 2@d0:2 2@_ 2@d0 | d0 = 2@d0:4 2@d0 | offset 2@d0",
        "d0 = 2@d0:2 2@_ 2@d0 | d0 = 2@d0:4 2@d0",
    ]


def test_a_bound_of_large_tables_is_exact() -> None:
    ring = Network([np.array([0.0, 1.0]) for _ in range(3)], [{} for _ in range(3)])
    for one in range(3):
        ring.add(one, (one + 1) % 3, 4 * np.eye(2))
    assert (bounded(ring, range(3), most=8)[0], bounded(ring, range(3), most=4)[0]) == (5.0, 1.5)


def test_tables_are_added() -> None:
    scope, table = combined([((1,), np.zeros(2)), ((1, 0), np.ones((2, 3)))], 1, {1: 0, 0: 1})
    assert (scope, table.shape) == ((1, 0), (2, 3))
