"""Rules of modules around operations: what is visible where, what functions return, what loops carry. The words are LLVM's; the
oracle tests ask it about the same texts."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Block, Region

from layoutalg.ir.reading.files import read_file_text
from layoutalg.ir.verify import verify_module
from tests.ir.verify.modules import STRUCTURE, module_of


@pytest.mark.parametrize(("text", "words"), STRUCTURE.items())
def test_wrong_structures_are_refused_in_llvms_words(text: str, words: dict[int, str | None]) -> None:
    for llvm, expected in words.items():
        findings = verify_module(module_of(text), llvm=llvm)
        assert (findings[0].message if findings else None) == expected


def test_a_finding_names_its_place_its_rule_and_its_source() -> None:
    text = "func.func @f(%a: f32) -> f32 {\n  %b = arith.addf %a, %a : f32\n  return\n}\n"
    (finding,) = verify_module(module_of(text), llvm=23)
    assert str(finding.place) == "text:3:3"
    assert (finding.operation, finding.rule, finding.source) == ("func.return", "func.return", "LLVM 23")


def test_what_llvm_cannot_read_comes_first() -> None:
    text = """
    func.func @f(%a: vector<8x16xf16>, %b: vector<32x16xf16>, %p: i64, %o: vector<16xindex>) {
      %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16xf32>
      "xegpu.create_tdesc"(%p, %o) : (i64, vector<16xindex>) -> i64
      return
    }"""
    found = [finding.rule for finding in verify_module(module_of(text), llvm=24)]
    assert found == ["xegpu.unknown", "xegpu.dpas.sizes"]


def test_a_type_is_complained_about_once() -> None:
    text = """
    func.func @f(%t: !xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16]>>) {
      xegpu.prefetch_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16]>>
      xegpu.prefetch_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16]>>
      return
    }"""
    (finding,) = verify_module(module_of(text), llvm=24)
    assert finding.message == "lane_layout and lane_data must be used together"
    assert not verify_module(module_of(text), llvm=22)


def test_functions_see_nothing_of_what_is_around_them() -> None:
    """Only a program can build this: the reader names such an operand as undefined."""
    one = arith.ConstantOp(FloatAttr(1.0, f32))
    body = Region(Block([arith.AddfOp(one, one), func.ReturnOp()]))
    module = ModuleOp([one, func.FuncOp("f", ((), ()), body)])
    (finding,) = verify_module(module)
    assert finding.message == "using value defined outside the region"


def test_blocks_of_functions_end_in_terminators() -> None:
    module = ModuleOp([func.FuncOp("f", ((), ()), Region(Block([arith.ConstantOp(FloatAttr(1.0, f32))])))])
    (finding,) = verify_module(module)
    assert finding.message == "block with no terminator, has 'arith.constant'"


def test_unread_operations_are_left_alone() -> None:
    reading = read_file_text("func.func @f() {\n  xegpu.nosuch %x : f16\n  return\n}")
    assert reading.findings
    assert not verify_module(reading.modules[0].module)
