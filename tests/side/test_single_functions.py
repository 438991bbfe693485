"""Functions that serve the room `side` alone, one by one."""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import VectorType, f32
from xdsl.dialects.test import TestOp as AnyOp

from layoutalg.ir import read_module
from layoutalg.side.conformance.bodies import KernelBody
from layoutalg.side.conformance.compilers import Compiler, run_all
from layoutalg.side.conformance.iree import asked, judge_threads
from layoutalg.side.conformance.kernel import runnable
from layoutalg.side.conformance.making import _GENERATORS, Making, generates
from layoutalg.side.conformance.moving import multiplied
from layoutalg.side.conformance.results import mistakes_of
from layoutalg.side.llvm_passes.analysis import bits_of, held, hold
from layoutalg.side.llvm_passes.anchors import product, scattered
from layoutalg.side.llvm_passes.conflicts import inside_first, make_again, wanted_by
from layoutalg.side.llvm_passes.fields import expanded, lanes
from layoutalg.side.llvm_passes.llvm23_rules import rules
from layoutalg.side.llvm_passes.reductions import vectors
from layoutalg.side.llvm_passes.solving import forwarded
from layoutalg.side.llvm_passes.sources import is_elementwise, source_of
from layoutalg.side.llvm_passes.write_llvm22 import blocks_inside_first
from layoutalg.side.llvm_passes.writing_anchors import cleaned
from layoutalg.xegpu import LayoutAttr


def test_no_modules_have_no_answers() -> None:
    assert run_all(Compiler("none", "none", "llvm", "24"), {}, "builtin.module()") == {}


def test_no_kernels_no_cases() -> None:
    assert asked(Compiler("iree-opt", "iree-opt", "iree", "3.13"), 0, 0, ()).cases == ()


def test_no_kernels_no_verdicts() -> None:
    assert judge_threads(Compiler("iree-opt", "iree-opt", "iree", "3.13"), []) == []


def test_a_text_without_functions_stays() -> None:
    assert runnable("gpu.barrier") == "gpu.barrier"


def test_what_is_registered_generates() -> None:
    @generates("test.nothing", kinds=("rows",))
    def nothing(making):
        pass

    assert _GENERATORS.pop("test.nothing").make is nothing


def test_a_product_is_as_wide_as_its_accumulator() -> None:
    making = Making(Random(0), KernelBody("plain"), "xegpu.dpas", "none")
    a, b = (making.body.new(shape, "f16", None) for shape in ((8, 16), (16, 16)))
    assert multiplied(making, a, b, making.body.new((8, 16), "f32", None), None).type == "vector<8x16xf32>"


def test_no_cases_no_mistakes() -> None:
    assert mistakes_of(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), (), reduce=True) == ()


def test_the_bits_of_a_vector_are_those_of_its_elements() -> None:
    assert bits_of(AnyOp(result_types=[VectorType(f32, [8, 16])]).results[0]) == 32


def test_what_an_operation_was_given_it_holds() -> None:
    op = AnyOp()
    hold(op, "layout_result_0", LayoutAttr(lane_layout=(16,)))
    assert str(held(op, "layout_result_0")) == "#xegpu.layout<lane_layout = [16]>"


def test_an_operation_comes_after_what_is_inside() -> None:
    assert [op.name for op in inside_first(AnyOp())] == ["test.op"]


def test_an_operation_without_layouts_wants_none() -> None:
    assert wanted_by(AnyOp(), 0) is None


def test_a_product_has_a_rule() -> None:
    assert "xegpu.dpas" in rules(vectors)


def test_an_operation_without_regions_forwards_nothing() -> None:
    assert forwarded(AnyOp()) == ()


def test_an_unknown_operation_is_not_elementwise() -> None:
    assert not is_elementwise(AnyOp())


def test_an_operation_without_regions_has_no_blocks() -> None:
    assert list(blocks_inside_first(AnyOp())) == []


def test_a_layout_that_is_not_an_anchors_own_is_taken_away() -> None:
    module = read_module("%c = arith.constant {layout_result_0 = #xegpu.layout<lane_layout = [16]>} true")
    cleaned(module)
    assert module.body.block.first_op.attributes == {}


def test_a_constant_is_made_again_where_it_is_converted() -> None:
    module = read_module("""%x = arith.constant dense<1.0> : vector<16xf32>
%y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [16], lane_data = [1]>,
  target_layout = #xegpu.layout<lane_layout = [8], lane_data = [1]>}> : vector<16xf32>""")
    make_again(module)
    assert [op.name for op in module.body.block.ops] == ["arith.constant", "arith.constant"]


def test_an_elementwise_operand_has_the_layout_of_the_result() -> None:
    text = "%x = arith.constant dense<0.0> : vector<8x16xf32> %y = math.exp %x : vector<8x16xf32>"
    assert (
        str(source_of(list(read_module(text).ops)[1], 0, lanes((1, 16), (1, 1))))
        == "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    )


def test_a_product_takes_one_instruction() -> None:
    assert [str(layout) for layout in product([(8, 32), (32, 16), (8, 16)], [16, 16, 32], "inst", None, None)] == [
        "#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>",
        "#xegpu.layout<inst_data = [16, 16], lane_layout = [1, 16], lane_data = [2, 1]>",
        "#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>",
    ]


def test_a_scatter_has_16_lanes_or_no_layout() -> None:
    assert str(scattered((32,), "inst", 1)) == "#xegpu.layout<inst_data = [16], lane_layout = [16], lane_data = [1]>"
    assert (
        f"{scattered((64,), 'workgroup', 1, 2)} {scattered((16,), 'workgroup', 1, 2)}"
        == "#xegpu.layout<sg_layout = [2], sg_data = [32]> None"
    )


def test_sixteen_lanes_are_two_rows_of_eight() -> None:
    assert str(expanded(lanes((16,), (1,)), 0, (4, 8))) == "#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>"
    assert (
        str(expanded(LayoutAttr(sg_layout=(8,), sg_data=(32,)), 0, (4, 64)))
        == "#xegpu.layout<sg_layout = [4, 2], sg_data = [1, 32]>"
    )
