"""Propagation does not write what a compiler is known to get wrong, and check has nothing to say of what it writes."""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from tests.propagation.unannotated import UNANNOTATED

MATRIX = """gpu.module @m { gpu.func @k(%p: i64, %q: i64) kernel
  attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
%s = memref.alloca() : memref<4096xi8, 3>
%m = xegpu.create_mem_desc %s : memref<4096xi8, 3> -> !xegpu.mem_desc<32x32xf32>
%t = xegpu.create_nd_tdesc %p, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
%u = xegpu.create_nd_tdesc %q, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
%x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
xegpu.store_matrix %x, %m[0, 0] : vector<8x16xf32>, !xegpu.mem_desc<32x32xf32>
gpu.barrier
%y = xegpu.load_matrix %m[0, 0] : !xegpu.mem_desc<32x32xf32> -> vector<8x16xf32>
xegpu.store_nd %y, %u[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
gpu.return } }"""


def rules(done: la.Propagated, llvm: int) -> list[str]:
    return [finding.rule for finding in la.check(done.module, llvm=llvm).findings]


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_columns_do_not_go_through_shared_memory_as_rows(llvm: int) -> None:
    done = la.propagate(MATRIX, llvm=llvm)
    assert rules(done, llvm) == []
    assert len(done.conversions) == 2


def test_what_a_user_states_stays_and_costs_what_it_costs() -> None:
    columns = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    text = re.sub(r"(store_matrix %x, %m\[0, 0\]|load_matrix %m\[0, 0\])", rf"\1 <{{layout = {columns}}}>", MATRIX)
    done = la.propagate(text)
    assert done.conversions == ()
    assert done.cost < 1000
    assert set(rules(done, 24)) == {"compiler.matrix"}


@pytest.mark.parametrize(("llvm", "conversions"), [(22, 0), (23, 1), (24, 1)])
@pytest.mark.parametrize("level", ["lane", "workgroup"])
def test_the_result_of_a_reduction_stays_a_slice_where_the_compiler_would_crash(
    llvm: int, conversions: int, level: str
) -> None:
    module = la.read(UNANNOTATED["row_sums"].text)
    if level == "workgroup":
        module = la.propagate(module, level=level, llvm=llvm).module
    done = la.propagate(module, llvm=llvm)
    assert str(done).count("xegpu.convert_layout") == conversions
    assert rules(done, llvm) == []
    # Once more changes nothing: the conversion between two names stays.
    assert str(la.propagate(done.module, llvm=llvm)) == str(done)


def test_a_sum_in_between_is_no_slice_either() -> None:
    """The store's layout reaches the reduction through the elementwise operation; LLVM 24 crashes on that."""
    text = UNANNOTATED["row_sums"].text.replace(
        "xegpu.store_nd %s", "%w = arith.addf %s, %s : vector<64xf32>\nxegpu.store_nd %w"
    )
    lines = str(la.propagate(text)).splitlines()
    [converted] = [number for number, line in enumerate(lines) if "xegpu.convert_layout" in line]
    assert "vector.multi_reduction" in lines[converted - 1]
    assert re.search(r"layout_result_0 = #xegpu\.slice<", lines[converted - 1])
    assert "arith.addf %0, %0" in lines[converted + 2]


SUMS_OF_A_ROW = """gpu.module @m { gpu.func @k(%p: i64, %q: i64) kernel
  attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
%t = xegpu.create_nd_tdesc %p, shape : [256], strides : [1] : i64 -> !xegpu.tensor_desc<256xf32>
%u = xegpu.create_nd_tdesc %q, shape : [16], strides : [1] : i64 -> !xegpu.tensor_desc<16xf32>
%x = xegpu.load_nd %t[0] : !xegpu.tensor_desc<256xf32> -> vector<256xf32>
%a = vector.shape_cast %x : vector<256xf32> to vector<16x16xf32>
%z = arith.constant dense<0.0> : vector<16xf32>
%y = vector.multi_reduction <add>, %a, %z [0] : vector<16x16xf32> to vector<16xf32>
%b = vector.shape_cast %y : vector<16xf32> to vector<16xf32>
xegpu.store_nd %b, %u[0] : vector<16xf32>, !xegpu.tensor_desc<16xf32>
gpu.return } }"""
ON_DESCRIPTORS = {
    "sums_of_a_row": SUMS_OF_A_ROW,
    **{name: UNANNOTATED[name].text for name in ("layer_norm", "gemm_bias_gelu", "gemm_i8_dequantised")},
}
LEVELS = ("lane", "inst", "workgroup")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ON_DESCRIPTORS)
def test_descriptors_of_llvm_22_have_no_slices(name: str, level: str) -> None:
    done, newest = (la.propagate(ON_DESCRIPTORS[name], level=level, llvm=llvm) for llvm in (22, 24))
    assert re.findall(r"tensor_desc<[^<>]*#xegpu\.slice", str(done)) == []
    assert [finding for finding in la.check(done.module, llvm=22).findings if finding.level == "error"] == []
    assert done.cost <= 1.1 * newest.cost


def test_what_a_user_says_of_a_load_stays_off_the_descriptor_of_llvm_22() -> None:
    slice_ = "#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>"
    text = SUMS_OF_A_ROW.replace("load_nd %t[0]", f"load_nd %t[0] <{{layout = {slice_}}}>")
    done = la.propagate(text, llvm=22)
    assert f"load_nd %t[0] <{{layout = {slice_}}}> : !xegpu.tensor_desc<256xf32> ->" in str(done)


def test_a_transposing_load_whose_layout_llvm_refuses_is_refused_and_not_written() -> None:
    text = """gpu.module @m { gpu.func @k(%p: i64, %q: i64) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %t = xegpu.create_nd_tdesc %p, shape : [64, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<ROWSxCOLUMNSxf32>
      %u = xegpu.create_nd_tdesc %q, shape : [64, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<COLUMNSxROWSxf32>
      %x = xegpu.load_nd %t[0, 0] <{transpose = array<i64: 1, 0>}>
        : !xegpu.tensor_desc<ROWSxCOLUMNSxf32> -> vector<COLUMNSxROWSxf32>
      xegpu.store_nd %x, %u[0, 0] : vector<COLUMNSxROWSxf32>, !xegpu.tensor_desc<COLUMNSxROWSxf32>
      gpu.return } }"""
    narrow, square = (text.replace("ROWS", "16").replace("COLUMNS", columns) for columns in ("8", "16"))
    for llvm in (22, 23, 24):
        [finding] = la.propagate(narrow, level="lane", llvm=llvm).findings
        assert finding.level == "error"
        assert f"LLVM {llvm} distributes the block of 16x8 before it is transposed" in finding.message
        done = la.propagate(square, level="lane", llvm=llvm)
        assert done.findings == ()
        assert not done.module.verify(llvm=llvm)
