"""Sentences and samples of the dialects' pages: IREE's attributes as iree-opt writes and refuses them, XeGPU's rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layoutalg as la
from tests.oracle.iree import iree_opt
from tests.oracle.toolchains import require, require_new, run

READ = (
    "#iree_gpu<mma_intrinsic MFMA_F32_16x16x16_F16>",
    "#iree_gpu<virtual_mma_intrinsic VMFMA_F32_16x16x32_F16>",
    "#iree_gpu.reorder_workgroups_strategy<Transpose>",
    "#iree_codegen.xor_shuffle<128, 16>",
    "#iree_codegen.rotate_rows<64, 4>",
    "#iree_gpu.lane_id<0>",
)
REFUSED = {
    "#iree_gpu.mma_scope<Workgroup>": "unknown attribute `mma_scope` in dialect `iree_gpu`",
    "#iree_gpu.mma_fragment<Lhs>": "unknown attribute `mma_fragment` in dialect `iree_gpu`",
    "#iree_gpu.tiling_level<Workgroup>": "unknown attribute `tiling_level` in dialect `iree_gpu`",
    "#iree_gpu.reorder_workgroups_strategy<Swizzle>": "None, Transpose",
    "#iree_gpu.mma_intrinsic<MFMA_F32_16x16x16_F16>": "expected valid keyword",
}


def module(attribute: str) -> str:
    return f"module attributes {{t.a = {attribute}}} {{}}"


@pytest.mark.parametrize("attribute", READ)
def test_an_attribute_is_read_alone_and_in_a_module_as_iree_opt_writes_it(attribute: str) -> None:
    theirs = run([iree_opt()], module(attribute))
    assert f"t.a = {attribute}" in theirs.stdout
    read = la.read(module(attribute))
    assert not read.verify(llvm=24)
    assert f"t.a = {attribute}" in read.text(24)
    assert str(la.parse(attribute)) == attribute


@pytest.mark.parametrize(("attribute", "words"), REFUSED.items(), ids=REFUSED)
def test_an_attribute_that_iree_opt_refuses_has_a_finding(attribute: str, words: str) -> None:
    theirs = run([iree_opt()], module(attribute))
    assert theirs.returncode
    assert words in theirs.stderr
    [finding] = la.read(module(attribute)).verify(llvm=24)
    if "unknown" in words:
        assert finding.message == words


def test_the_slice_example_of_xegpus_page_is_read_as_it_stands() -> None:
    text = """#l = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>
#r = #xegpu.slice<#l, dim = [0]>
func.func @f(%input: vector<256x128xf32>, %acc: vector<128xf32>) {
%exp = math.exp %input {layout_result_0 = #l}: vector<256x128xf32>
%red = vector.multi_reduction<add>, %exp, %acc [0] {layout_result_0 = #r}: vector<256x128xf32> to vector<128xf32>
%bcast = vector.broadcast %red {layout_result_0 = #l} : vector<128xf32> to vector<256x128xf32>
return }"""
    read = la.read(text)
    assert [str(use.attribute)[:13] for use in read.layouts] == ["#xegpu.layout", "#xegpu.slice<", "#xegpu.layout"]
    assert {finding.rule for finding in read.findings} == {"read.old_spelling"}
    # LLVM's own syntax has attributes before the dimensions.
    assert [f.message for f in read.verify(llvm=24) if f.level == "error"] == ["expected ':'"]
    assert not la.read(read.text(24)).verify(llvm=24)


def test_more_barriers_than_the_page_has_are_refused() -> None:
    assert not la.read("xegpu.alloc_nbarrier 32").verify()
    [finding] = la.read("xegpu.alloc_nbarrier 33").verify()
    assert finding.message == "reserves 33 named barriers; expected at most 32"


DYNAMIC = """gpu.module @m {
  gpu.func @k(%p: memref<?x?xf32>, %h: index, %w: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
    %t = xegpu.create_nd_tdesc %pSIZES : memref<?x?xf32> -> !xegpu.tensor_desc<8x16xf32>
    %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
    xegpu.store_nd %x, %t[8, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
    gpu.return
  }
}
"""


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_a_memref_without_sizes_has_a_finding_where_llvm_crashes_on_it(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    pipeline = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=bmg binary-format=llvm"
    said = ", shape : [%h, %w], strides : [%w, 1]"
    for sizes in ("", said) if llvm < 24 else ("",):  # 24 takes none where there is a memref
        text = DYNAMIC.replace("SIZES", sizes)
        works = run([program, pipeline], text).returncode == 0
        findings = la.read(text).verify(llvm=llvm)
        messages = [finding.message for finding in findings]
        assert all(finding.level == "warning" for finding in findings)  # layoutalg's own `lower` takes them
        wanted = "source 'memref<?x?xf32>' has no shape information: it has to be explicitly passed"
        assert messages == ([] if works else [wanted])


def test_the_tests_that_the_table_of_pages_names_are_there() -> None:
    home = Path(__file__).resolve().parents[2]
    named = set(re.findall(r"`(tests/[\w/.]+)`", (home / "docs" / "dialect_pages.md").read_text(encoding="utf-8")))
    assert len(named) > 15
    assert not [path for path in named if not (home / path).exists()]
