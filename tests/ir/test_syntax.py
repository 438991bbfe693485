"""The xegpu and gpu dialects: what we print LLVM parses, what LLVM prints we parse, and printing is a fixed point."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import layoutalg as la
from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.ir import line_of, read_module, write_module
from tests.oracle.toolchains import require, run
from tests.oracle.xe_toolchain import mlir_opt

# Every form of every operation, spelled by hand from LLVM's definitions.
KERNEL = """
module attributes {gpu.container_module} {
  gpu.module @k [#xevm.target<chip = "pvc">] attributes {x = 1 : i32} {
    gpu.func @f(%p: i64, %mr: memref<64x64xf16> {llvm.noalias}, %m: index) workgroup(%w: memref<32xf32, 3>)
        private(%q: memref<2xf32, 5>) kernel attributes
        {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
      BODY
      gpu.return
    }
  }
}
"""

TILE = "!xegpu.tensor_desc<8x16xf16>"
PACKED = "!xegpu.tensor_desc<16x16xf16>"
CHUNKS = "!xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>>"
BLOCKED = "!xegpu.mem_desc<32x64xf16, #xegpu.mem_layout<block = [16, 16], stride = [1, 32]>>"

ND = f"""
      %c1 = arith.constant 1 : index
      %t0 = xegpu.create_nd_tdesc %mr[0, 0] : memref<64x64xf16> -> {TILE}
      %t1 = xegpu.create_nd_tdesc %mr[%m, 16] : memref<64x64xf16>
        -> !xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>
      %t2 = xegpu.create_nd_tdesc %p[%m, 0], shape: [%m, 64], strides: [%m, 1] : i64
        -> !xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64, boundary_check = false>>
      %t3 = xegpu.create_nd_tdesc %p, shape : [%m, %m], strides : [%m, %c1] : i64 -> {PACKED}
      %t4 = xegpu.create_nd_tdesc %mr {{my = 1 : i32}} : memref<64x64xf16> -> {TILE}
      xegpu.prefetch_nd %t0 : {TILE}
      xegpu.prefetch_nd %t3[%m, 0] <{{l1_hint = #xegpu.cache_hint<cached>, l2_hint = #xegpu.cache_hint<uncached>}}>
        : {PACKED}
      %v0 = xegpu.load_nd %t0 : {TILE} -> vector<8xf16>
      %v1 = xegpu.load_nd %t3[%m, -16] <{{packed, l1_hint = #xegpu.cache_hint<cached>}}> {{foo = "x"}}
        : {PACKED} -> vector<16xf16>
      %v2 = xegpu.load_nd %t3[0, 16] <{{transpose = array<i64: 1, 0>}}> : {PACKED} -> vector<16xf16>
      %v3 = xegpu.load_nd %t0[0, 0] {{layout = #xegpu.layout<inst_data = [8, 16]>}} : {TILE} -> vector<8x16xf16>
      %d0 = xegpu.dpas %v0, %v1 : vector<8xf16>, vector<16xf16> -> vector<8xf32>
      %d1 = xegpu.dpas %v0, %v1, %d0 {{layout_cd = #xegpu.layout<inst_data = [8, 16]>}}
        : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
      xegpu.store_nd %v0, %t0[%m, 0] <{{l1_hint = #xegpu.cache_hint<write_back>}}> : vector<8xf16>, {TILE}
      xegpu.store_nd %v0, %t0 : vector<8xf16>, {TILE}
      %u = xegpu.update_nd_offset %t0, [0, %m] : {TILE}
      %big = arith.constant dense<0.0> : vector<16x16xf16>
      %cv = xegpu.convert_layout %big <{{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
        target_layout = #xegpu.slice<#xegpu.layout<lane_layout = [1, 16, 1], lane_data = [1, 1, 1]>, dims = [2]>}}>
        : vector<16x16xf16>
"""

SCATTER = f"""
      %a = memref.alloc() : memref<1024xf32>
      %off = arith.constant dense<3> : vector<16xindex>
      %mask = arith.constant dense<true> : vector<16xi1>
      %t = xegpu.create_tdesc %a, %off : memref<1024xf32>, vector<16xindex> -> {CHUNKS}
      %v = xegpu.load %t, %mask <{{l1_hint = #xegpu.cache_hint<cached>}}> : {CHUNKS}, vector<16xi1> -> vector<16x8xf32>
      xegpu.store %v, %t, %mask : vector<16x8xf32>, {CHUNKS}, vector<16xi1>
      %one = arith.constant dense<3> : vector<1xindex>
      %on = arith.constant dense<true> : vector<1xi1>
      %x = xegpu.load %p[%one], %on <{{chunk_size = 8 : i64}}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>
      xegpu.store %x, %p[%one], %on <{{chunk_size = 8 : i64}}> : vector<8xf32>, i64, vector<1xindex>, vector<1xi1>
      xegpu.prefetch %t : {CHUNKS}
      xegpu.prefetch %p[%one] <{{offset_align_byte = 4 : i64}}> : i64, vector<1xindex>
      %t2 = xegpu.update_offset %t, %off : {CHUNKS}, vector<16xindex>
      %at = xegpu.create_tdesc %a, %off : memref<1024xf32>, vector<16xindex>
        -> !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>
      %ones = arith.constant dense<1.0> : vector<16xf32>
      %old = xegpu.atomic_rmw addf %at, %mask, %ones : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>,
        vector<16xi1>, vector<16xf32> -> vector<16xf32>
"""

SHARED = f"""
      %slm = memref.alloca() : memref<4096xi8, 3>
      %slm2 = memref.alloca() : memref<256xi8, #gpu.address_space<workgroup>>
      %md = xegpu.create_mem_desc %slm : memref<4096xi8, 3> -> {BLOCKED}
      %md2 = xegpu.create_mem_desc %slm2 : memref<256xi8, #gpu.address_space<workgroup>> -> !xegpu.mem_desc<16x8xf16>
      %lm = xegpu.load_matrix %md[%m, 0] : {BLOCKED}, index -> vector<16x16xf16>
      %lm2 = xegpu.load_matrix %md2[8, 0] <{{layout = #xegpu.layout<lane_layout = [1, 8], lane_data = [1, 1]>}}>
        : !xegpu.mem_desc<16x8xf16> -> vector<8x8xf16>
      xegpu.store_matrix %lm2, %md2[0, %m] : vector<8x8xf16>, !xegpu.mem_desc<16x8xf16>, index
      xegpu.fence memory_kind = global, fence_scope = workgroup
      xegpu.fence memory_kind = slm, fence_scope = gpu
      xegpu.alloc_nbarrier 4
      %c8 = arith.constant 8 : i8
      %nb = xegpu.init_nbarrier %c8, %c8 : i8, i8 -> !xegpu.nbarrier
      xegpu.nbarrier_arrive %nb : !xegpu.nbarrier
      xegpu.nbarrier_wait %nb : !xegpu.nbarrier
"""

GPU = """
      %bx = gpu.block_id x
      %by = gpu.block_id y upper_bound 16
      %tx = gpu.thread_id y
      %bd = gpu.block_dim z
      %gd = gpu.grid_dim x
      %gi = gpu.global_id x
      %l = gpu.lane_id
      %l2 = gpu.lane_id upper_bound 16
      %s = gpu.subgroup_id : index
      %ns = gpu.num_subgroups : index
      %ss = gpu.subgroup_size : index
      gpu.barrier
      %i32 = arith.constant 3 : i32
      %w16 = arith.constant 16 : i32
      %f = arith.constant 1.0 : f32
      %r0, %ok0 = gpu.shuffle idx %f, %i32, %w16 : f32
      %r1, %ok1 = gpu.shuffle xor %f, %i32, %w16 : f32
      %r2, %ok2 = gpu.shuffle up %i32, %i32, %w16 : i32
      %r3, %ok3 = gpu.shuffle down %f, %i32, %w16 : f32
"""

BODIES = {"block": ND, "scatter": SCATTER, "shared": SHARED, "gpu": GPU}
TEXTS = {name: KERNEL.replace("BODY", body) for name, body in BODIES.items()}


def generic(text: str, directory: Path) -> str:
    """LLVM 22's generic form: every property, attribute and type spelled out."""
    return mlir_opt(text, directory, "--mlir-print-op-generic")


@pytest.mark.parametrize("name", TEXTS)
def test_printing_is_a_fixed_point(name: str) -> None:
    once = write_module(read_module(TEXTS[name]))
    assert write_module(read_module(once)) == once


@pytest.mark.parametrize("name", TEXTS)
def test_llvm_reads_what_we_print_as_the_same_operations(name: str, tmp_path: Path) -> None:
    assert generic(write_module(read_module(TEXTS[name]), llvm=22), tmp_path) == generic(TEXTS[name], tmp_path)


@pytest.mark.parametrize("name", TEXTS)
def test_we_read_what_llvm_prints_as_the_same_operations(name: str, tmp_path: Path) -> None:
    printed = mlir_opt(TEXTS[name], tmp_path)
    assert generic(write_module(read_module(printed), llvm=22), tmp_path) == generic(TEXTS[name], tmp_path)


@pytest.mark.parametrize("name", TEXTS)
def test_we_read_llvms_generic_form_as_the_same_operations(name: str, tmp_path: Path) -> None:
    form = generic(TEXTS[name], tmp_path)
    assert generic(write_module(read_module(form), llvm=22), tmp_path) == form


def test_every_operation_of_the_dialect_is_in_these_texts() -> None:
    from layoutalg.ir.dialects.xegpu import XEGPU

    missing = {op.name for op in XEGPU.operations} - set(re.findall(r"xegpu\.\w+", "".join(BODIES.values())))
    # The dialect's page has mem_desc_subview and Intel's extensions compile_hint: no LLVM from 22 on knows either.
    # LLVM 23 brought two operations, 24 a third.
    newer = {"xegpu.dpas_mx", "xegpu.truncf", "xegpu.lane_shuffle"}
    assert missing == {"xegpu.mem_desc_subview", "xegpu.compile_hint", *newer}


def test_mem_desc_subview_is_read_and_printed_as_the_page_writes_it() -> None:
    big, small = "!xegpu.mem_desc<32x64xf16>", "!xegpu.mem_desc<16x16xf16, #xegpu.mem_layout<stride = [64, 1]>>"
    body = f"""
      %slm = memref.alloca() : memref<4096xi8, 3>
      %md = xegpu.create_mem_desc %slm : memref<4096xi8, 3> -> {big}
      %sub = xegpu.mem_desc_subview %md[%m, 16] : {big} -> {small}"""
    text = KERNEL.replace("BODY", body)
    assert f"xegpu.mem_desc_subview %md[%m, 16] : {big} -> {small}" in write_module(read_module(text))


def test_attribute_aliases_are_written_out() -> None:
    text = """
    #rows = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    func.func private @f(!xegpu.tensor_desc<8x16xf16, #rows>,
                         !xegpu.tensor_desc<8xf32, #xegpu.slice<#rows, dims = [1]>>)
    """
    printed = write_module(read_module(text))
    assert "8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>" in printed
    assert "#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [1]>>" in printed


def test_two_spellings_of_an_attribute_are_one() -> None:
    first, second = (
        read_module(f"func.func private @f(!xegpu.tensor_desc<8x16xf16, #xegpu.layout<{fields}>>)")
        for fields in ("lane_data = [1,1], lane_layout = [1,16]", "lane_layout = [1, 16], lane_data = [1, 1]")
    )
    assert write_module(first) == write_module(second)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("gpu.module @k {", 1, 16),
        ("%x = arith.constant\n  1 : nothing", 2, 7),
        ("func.func private @f(!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_lay = [1, 16]>>)", 1, 65),
        ("func.func private @f(!xegpu.tensor_desc<8x16xf16,\n  #xegpu.cache_hint<cached>>)", 2, 3),
        ("%a = arith.constant 1 : i32\n%a = arith.constant 2 : i32", 2, 1),
        ("%a = arith.addi %b, %b : i32", 1, 29),
        ("\n\n xegpu.fence memory_kind = moon, fence_scope = gpu", 3, 28),
    ],
)
def test_a_parse_error_has_its_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read_module(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_an_operation_that_breaks_a_rule_is_named_with_its_line() -> None:
    wrong = '"xegpu.load_nd"(%p) : (i64) -> vector<8xf16>'
    text = f"gpu.module @k {{\n  gpu.func @f(%p: i64) kernel {{\n    {wrong}\n gpu.return }} }}"
    with pytest.raises(LayoutError, match=r"line 3: xegpu\.load_nd"):
        read_module(text)


def test_operations_remember_their_lines() -> None:
    module = read_module(TEXTS["gpu"])
    lines = TEXTS["gpu"].splitlines()
    seen = [op for op in module.walk() if op.name.startswith("gpu.") and op.name != "gpu.func"]
    assert len(seen) >= 17
    assert all(op.name in lines[line_of(op) - 1] for op in seen)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.sampled_from(sorted(TEXTS)),
    st.floats(0, 1),
    st.integers(0, 40),
    st.text('<>{}[]()%#!:,=x1"\\-\n', max_size=4),
)
def test_damaged_text_gives_an_error_of_ours_or_a_module(name: str, part: float, length: int, inserted: str) -> None:
    text = TEXTS[name]
    at = int(part * len(text))
    damaged = text[:at] + inserted + text[at + length :]
    try:
        module = read_module(damaged)
    except LayoutError:
        return
    assert write_module(read_module(write_module(module))) == write_module(module)


def test_text_that_is_nested_without_end_is_an_error() -> None:
    with pytest.raises(LayoutError):
        read_module("func.func private @f(" + "tuple<" * 100_000 + "i1" + ">" * 100_000 + ")")


def test_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(LayoutError, match="characters"):
        read_module(" " * (16 * 2**20 + 1))


def test_mlir_opt_is_the_version_that_these_tests_are_about() -> None:
    assert "LLVM version 22." in run([require("mlir-opt-22"), "--version"]).stdout


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("%b = arith.addi %a, %a : i32\n%a = arith.constant 1 : i32", "line 1: arith.addi: %a is used before"),
        ("%x = arith.constant dense<1.0> : vector<200000000xf32>", "line 1, column 34: expected types of at most"),
        ("%c = arith.constant 1 : index\n%d = arith.addi %c, %zz : index", "%zz"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_line(body: str, says: str) -> None:
    with pytest.raises(LayoutError) as caught:
        read_module(body)
    assert says in str(caught.value)


def test_index_lists_and_values_belong_together() -> None:
    text = KERNEL.replace(
        "BODY",
        "%t = xegpu.create_nd_tdesc %p, shape : [8, 16], strides : [16, 1] : i64 -> "
        "!xegpu.tensor_desc<8x16xf16>\n%v = xegpu.load_nd %t[0, -9223372036854775808] : "
        "!xegpu.tensor_desc<8x16xf16> -> vector<8xf16>",
    )
    with pytest.raises(LayoutError, match="1 places for values, and there are 0"):
        read_module(text)


def test_a_long_text_is_read_in_linear_time() -> None:
    text = "\n".join(f"%c{i} = arith.constant {i} : i32" for i in range(4000))
    assert line_of(list(read_module(text).ops)[-1]) == 4000


NUMBERED = "func.func @f() {\n  cf.br ^0\n^0:\n  cf.br ^12\n^12:\n  return\n}\n"


def test_blocks_may_be_numbered() -> None:
    """As MLIR's grammar has it (`suffix-id ::= digit+ | ...`); xDSL takes letters alone."""
    assert write_module(read_module(NUMBERED)) == write_module(
        read_module(NUMBERED.replace("^0", "^bb0").replace("^12", "^bb1"))
    )


def test_mlir_opt_takes_numbered_blocks() -> None:
    assert run([require("mlir-opt-22")], NUMBERED).returncode == 0


@pytest.mark.parametrize("body", ["", '^0:\n "test.op"() : () -> ()\n^1:\n "test.op"() : () -> ()'])
def test_a_module_of_no_block_or_of_two_is_answered(body: str) -> None:
    """mlir-opt refuses both; an editor meets them half-typed."""
    module = la.read(f'"builtin.module"() ({{{body}}}) : () -> ()')
    assert (module.chip, module.layouts, module.is_read) == (None, (), True)
    assert la.check(module).is_right
    assert la.lower(module).findings


def test_more_values_of_an_operation_are_used_than_it_has() -> None:
    """mlir-opt: reference to invalid result number. The text is read, and both are told of."""
    module = la.read(
        'func.func @f() {\n  "test.op"(%1#3) : (i32) -> ()\n  %1:3 = "my.op"() : () -> (i32, i32, i32)\n  return\n}'
    )
    assert "%1#3 is used, and %1 has 3 values" in " ".join(one.message for one in module.findings)
