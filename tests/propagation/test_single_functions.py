"""Functions that serve the room `propagation` alone, one by one."""

from __future__ import annotations

from xdsl.dialects.test import TestOp as AnyOp

from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine
from layoutalg.flow.graph import flow_of
from layoutalg.flow.relations import Tie
from layoutalg.ir import read_module
from layoutalg.ir.dialects.xegpu import attributes as ir
from layoutalg.propagation.avoiding import keep_slices, right_layouts, sliced
from layoutalg.propagation.candidates import usual_of
from layoutalg.propagation.costs import frequency, is_splat
from layoutalg.propagation.default_layouts import product_operand
from layoutalg.propagation.demand_options import DemandOptions, ignored, refinements, written_at
from layoutalg.propagation.descriptors import retyped
from layoutalg.propagation.named_layout import as_written
from layoutalg.propagation.propagating import as_module, completed
from layoutalg.propagation.refinement import has_subgroups, without_coarse_conversions
from layoutalg.xegpu import LayoutAttr, SliceAttr


def test_nothing_is_kept_where_nothing_is_reduced() -> None:
    assert keep_slices(flow_of(read_module("gpu.barrier")), 24) is None


def test_nothing_is_sliced_of_no_layout() -> None:
    assert sliced(AnyOp(), None, None, 24) is None


def test_a_line_is_usually_spread_or_held_by_all() -> None:
    [value] = flow_of(read_module("%x = arith.constant dense<0.0> : vector<16xf32>")).values
    assert [one.key for one in usual_of(value, None, DemandOptions("lane", "pvc", 24, Machine(lanes=16)))] == [
        "lane: d0 = 16@lane",
        "lane: d0 = 16@reg | replicas 16@lane",
    ]


def test_a_constant_with_one_value_is_a_splat() -> None:
    assert is_splat(read_module("%c = arith.constant dense<1.0> : vector<16xf32>").body.block.first_op)


def test_lanes_in_two_rows_are_ignored() -> None:
    flow = flow_of(
        read_module("""%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32>
%x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>""")
    )
    shapes = ((1, 16), (2, 8))
    assert [
        ignored(flow.demands[0], as_written(LayoutAttr(lane_layout=one, lane_data=(1, 1)), (8, 16))) for one in shapes
    ] == [False, True]


def test_a_product_takes_columns_of_lanes_in_each_block() -> None:
    flow = flow_of(
        read_module("""%a, %b = "test.op"() : () -> (vector<16x16xf16>, vector<16x16xf16>)
%d = xegpu.dpas %a, %b : vector<16x16xf16>, vector<16x16xf16> -> vector<16x16xf32>""")
    )
    rows = as_written(LayoutAttr(sg_layout=(2, 1), sg_data=(8, 16)), (16, 16))
    [one] = refinements(flow.demands[0], rows, DemandOptions("lane", "pvc", 24, Machine(lanes=16, subgroups=2)))
    assert (
        str(one.held.attribute)
        == "#xegpu.layout<sg_layout = [2, 1], sg_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
    )


def test_what_is_said_of_a_block_is_no_slice_in_llvm_22() -> None:
    text = """%t = "test.op"() : () -> !xegpu.tensor_desc<16xf32>
%x = xegpu.load_nd %t[0] : !xegpu.tensor_desc<16xf32> -> vector<16xf32>"""
    rows = as_written(SliceAttr(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (0,)), (16,))
    assert (
        str(written_at(read_module(text).body.block.last_op, rows, 22).attribute)
        == "#xegpu.layout<lane_layout = [16], lane_data = [1]>"
    )


def test_a_descriptor_gets_a_layout() -> None:
    module = read_module('%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf16>')
    retyped(module.body.block.first_op.results[0], ir.LayoutAttr("lane_layout = [1, 16]"))
    assert (
        str(module.body.block.first_op.results[0].type)
        == "!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16]>>"
    )


def test_an_empty_module_costs_nothing() -> None:
    file = as_module("gpu.barrier")
    assert completed([file.parts[0].module], file, "lane", "pvc", 24).cost == 0


def test_a_module_that_states_none_has_no_subgroups() -> None:
    assert not has_subgroups(flow_of(read_module("gpu.barrier")), "pvc", spread=True)


def test_nothing_is_taken_out_of_the_way_without_conversions() -> None:
    assert list(without_coarse_conversions(read_module("gpu.barrier"))) == []


def test_neighbours_in_a_row_move_rightly() -> None:
    flow = flow_of(
        read_module("""%m = "test.op"() : () -> !xegpu.mem_desc<32x32xf32>
%x = xegpu.load_matrix %m[0, 0] : !xegpu.mem_desc<32x32xf32> -> vector<8x16xf32>""")
    )
    columns = as_written(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    assert [
        str(one.attribute)
        for one in right_layouts(flow.demands[0], columns, DemandOptions("lane", "pvc", 24, Machine(lanes=16)))
    ] == ["#xegpu.layout<lane_layout = [8, 2], lane_data = [1, 8]>"]


def test_a_loop_in_a_loop_runs_64_times() -> None:
    module = read_module("""func.func @f(%n: index) {
  %a = arith.constant 0 : index
  %b = arith.constant 64 : index
  %c = arith.constant 16 : index
  scf.for %i = %a to %b step %c { scf.for %j = %a to %n step %c { gpu.barrier } }
  func.return }""")
    assert [frequency(op.parent, {}) for op in module.walk() if op.name in ("scf.for", "gpu.barrier")] == [1, 4, 64]


def test_a_takes_the_rows_of_its_product() -> None:
    c = as_written(LayoutAttr(sg_layout=(2, 4), sg_data=(32, 16)), (64, 64))
    a = Tie(None, 0, None, Layout.parse("d0 = 64@d0, d1 = 64@_ | replicas 32@d1"), reach="subgroup")
    assert str(product_operand(a, c, (64, 32), 24).attribute) == "#xegpu.layout<sg_layout = [2, 4], sg_data = [32, 32]>"
