"""Operations that stand beside Triton's own: read, written, and what is written means the same to Triton's wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.ir import write_module
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import forked, refusal

LAYOUTS = """
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#sh = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#st = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 1, 0]}>
#smem = #ttg.shared_memory
"""
MODULE = """module attributes {"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%n: i32, %c: i1, %p: !tt.ptr<f32>, %x: tensor<16x32xf32, #b>, %i: tensor<16x32xi32, #b>,
      %m: !ttg.memdesc<2x16x32xf32, #st, #smem, mutable>, %s: !ttg.memdesc<16x32xf32, #sh, #smem, mutable>,
      %d: !tt.tensordesc<16x32xf32, #sh>, %o: !ttg.memdesc<16x32xf32, #sh, #smem, mutable>) {
    BODY
    tt.return
  }
}
"""
AREF = "!nvws.aref<[!ttg.memdesc<2x16x32xf32, #st, #smem, mutable>]>"
HELD = "!ttg.memdesc<16x32xf32, #sh, #smem, mutable, 2x16x32>"
CREATE = f"%a = nvws.aref.create %m : {AREF}"
ENTER = f"%v, %t = nvws.aref.put.enter %a[%n, %n] : {AREF} -> {HELD}, !ttg.async.token"
ASKED = [
    CREATE,
    f"{CREATE} {ENTER} nvws.aref.put.exit %a[%n], %t [#nvws.async_op<tma_load>, #nvws.async_op<none>] : {AREF}, "
    "!ttg.async.token",
    f"{CREATE} {ENTER.replace('put', 'get')} nvws.aref.get.exit %a, %t [#nvws.async_op<wgmma>] : {AREF}, !ttg.async.token",
    f"{CREATE} {ENTER} %w = nvws.aref.buffer %a[%n], %t : {AREF}, !ttg.async.token -> {HELD}",
    "nvws.descriptor_load %d[%n, %n] 2048 %s : !tt.tensordesc<16x32xf32, #sh>, i32, i32, "
    "!ttg.memdesc<16x32xf32, #sh, #smem, mutable>",
    "tti.experimental_assert_uniform %c, \"no\"",
    "%r = tti.experimental_buffer_descriptors [0, 42], [4, 12], shared_mem : tensor<2xi64>",
    "%r = tti.experimental_memdesc_to_i32 %s : !ttg.memdesc<16x32xf32, #sh, #smem, mutable>",
    "%r = tti.experimental_memory_offset_to_i32 16, tensor_mem",
    "tti.experimental_lock_acquire %p, %c : !tt.ptr<f32> tti.experimental_lock_release %p : !tt.ptr<f32>",
    "%r = tti.experimental_fpsan_embed %x : (tensor<16x32xf32, #b>) -> tensor<16x32xi32, #b>",
    "%r = amdg.update_tensor_descriptor %d add_offsets = [%n, %n] pred = %n {clamp_bounds} : !tt.tensordesc<16x32xf32, #sh>",
    "%r = amdg.update_tensor_descriptor %d set_bounds = [%n, %n] : !tt.tensordesc<16x32xf32, #sh>",
    "%r = amdg.buffer_load_to_local %p[%i] into %s : !tt.ptr<f32>[tensor<16x32xi32, #b>] -> "
    "<16x32xf32, #sh, #smem, mutable>",
    "llvm.intr.assume %c : i1",
]  # fmt: skip
ALONE = [
    "%r = amdg.buffer_load_to_local %p[%i] into %s : <f32>[tensor<16x32xi32, #b>] -> <16x32xf32, #sh, #smem, mutable>",
    "amdg.memory_counter_wait load(3) ds(0)",
    'proton.record start "load" proton.record end "load"',
    '%e = proton.allocate_event "copy" : i32 proton.event start %e : i32 proton.event end %e : i32',
    "%g = proton_gpu.segment_alloc %p : !tt.ptr<f32> -> <2048, #smem, warp, [0, 1]> %k = proton_gpu.read_counter : i32 "
    "proton_gpu.circular_store start %g, %k {scopeId = 1 : i32} : !proton_gpu.segment<2048, #smem, warp, [0, 1]>, i32 "
    "proton_gpu.initialize %p : !tt.ptr<f32> "
    "proton_gpu.finalize %g, %p : !proton_gpu.segment<2048, #smem, warp, [0, 1]>, !tt.ptr<f32>",
    "triton_gen.barrier {mem_fence = Local}",
    '%q = "test.op"() : () -> !llvm.ptr %r = triton_gen.2Dblockload %q, %n, %n, %n, %n, %n {elem_size_in_bits = 16, '
    "tile_width = 16, tile_height = 8, v_blocks = 1, transpose = false, vnni_transform = false, cache_control = L1C_L3UC} : "
    "(!llvm.ptr, i32, i32, i32, i32, i32) -> vector<8xi16> "
    "triton_gen.2Dblockstore %q, %n, %n, %n, %n, %n, %r {elem_size_in_bits = 16, tile_width = 16, tile_height = 8, "
    "v_blocks = 1, cache_control = Default} : (!llvm.ptr, i32, i32, i32, i32, i32, vector<8xi16>) "
    "triton_gen.2Dblockprefetch %q, %n, %n, %n, %n, %n {elem_size_in_bits = 16, tile_width = 16, tile_height = 8, "
    "v_blocks = 1, cache_control = Default} : (!llvm.ptr, i32, i32, i32, i32, i32)",
    '%va, %vb, %vc = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xf32>) '
    "%r = triton_gen.dpas %vc, %va, %vb {pa = f16, pb = f16, rc = 8} : (vector<8xf32>, vector<8xi16>, vector<8xi32>) -> "
    "vector<8xf32>",
]
"""Of dialects that the wheel does not have, or newer than it."""


def printed(text: str) -> str:
    """The module as Triton prints it without its locations."""
    import tempfile

    from triton._C.libtriton import amd, ir, nvidia

    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "module.mlir"
        file.write_text(text)
        return str(ir.parse_mlir_module(str(file), context).str_nodebug())


def written(text: str) -> str:
    module = la.read(text)
    assert not module.findings
    assert not module.verify()
    again = write_module(module.parts[0].module)
    assert write_module(la.read(again).parts[0].module) == again
    return again


@pytest.mark.parametrize("body", ASKED)
def test_triton_reads_what_is_written(body: str) -> None:
    require_module("triton")
    text = LAYOUTS + MODULE.replace("BODY", body)
    ours = written(text)
    assert refusal(text) == ""
    assert refusal(ours) == ""
    assert forked(lambda: printed(ours)) == forked(lambda: printed(text))


@pytest.mark.parametrize("body", ALONE)
def test_what_is_written_is_read_again(body: str) -> None:
    written(LAYOUTS + MODULE.replace("BODY", body))


def test_an_older_name_is_read_as_todays() -> None:
    blocked = "#triton_gpu.blocked<{sizePerThread = [SIZE], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    first, second = (blocked.replace("SIZE", size) for size in "12")
    module = la.read(f"""
      module attributes {{"triton_gpu.num-warps" = 4 : i32,
          triton_gpu.target = "cuda:80", "triton_gpu.threads-per-warp" = 32 : i32}} {{
        tt.func @f(%x: tensor<256xf32, {first}>) {{
          %y = triton_gpu.convert_layout %x : tensor<256xf32, {first}> -> tensor<256xf32, {second}>
          tt.return }} }}""")
    assert [one.message for one in module.findings] == [
        "`triton_gpu.convert_layout` is an older spelling; today: `ttg.convert_layout`"
    ]
    checked = la.check(module)
    assert checked.target == "sm_80"
    assert [one.operation for one in checked.conversions] == ["ttg.convert_layout"]
    assert "ttg.convert_layout" in write_module(module.parts[0].module)
