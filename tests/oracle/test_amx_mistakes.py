"""What breaks in LLVM where tiles are concerned: each shown, in LLVM 22, 23 and 24, beside what is emitted or done instead."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.amx import pack_vnni
from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import plan_amx
from layoutalg.gemm.amx.compiling import assembly, llvm_ir, machine_code, programs
from layoutalg.gemm.amx.listing import functions_of
from layoutalg.gemm.amx.operands import Buffer
from layoutalg.gemm.amx.packing import must_pack_a
from layoutalg.gemm.amx.rewriting import SCALAR, for_scalar_loops, for_soft_tiles
from layoutalg.gemm.amx.running import loaded
from layoutalg.gemm.amx.strips import cut
from layoutalg.gemm.amx.tiling import Blocking
from tests.oracle.amx_code import register_block, require_llvm

SCALAR_LOOPS = ("-O0", "--enable-x86-scalar-amx=true")
FEATURES = "-mattr=+amx-tile,+amx-bf16,+amx-int8,+amx-fp16"
TILE_INSTRUCTION = re.compile(r"^\t(tdp\w+|tile(?:loadd\w*|stored|zero|release)|ldtilecfg|sttilecfg)\b", re.MULTILINE)


@pytest.fixture(params=[*(pytest.param(old, marks=pytest.mark.exhaustive) for old in (22, 23)), 24])
def llvm(request: pytest.FixtureRequest) -> int:
    require_llvm(request.param)
    return request.param


def dialect(llvm: int) -> str:
    return "amx" if llvm == 22 else "x86.amx"


def product(llvm: int, element: str = "bf16", acc: str = "zero", between: str = "", pitch: int = 32) -> str:
    """C = A B, or C += A B, for one tile each; A's rows are `pitch` elements apart."""
    name = dialect(llvm)
    operand, total = f"!{name}.tile<16x32x{element}>", f"!{name}.tile<16x16xf32>"
    a = f"memref<16x32x{element}, strided<[{pitch}, 1]>>"
    first = f"tile_load %c[%c0, %c0] : memref<16x16xf32> into {total}" if acc == "load" else f"tile_zero : {total}"
    return f"""
    func.func private @other()
    func.func @product(%a: {a}, %b: memref<16x32x{element}>, %c: memref<16x16xf32>) {{
      %c0 = arith.constant 0 : index
      %first = {name}.{first}
      %left = {name}.tile_load %a[%c0, %c0] : {a} into {operand}
      %right = {name}.tile_load %b[%c0, %c0] : memref<16x32x{element}> into {operand}
      {between}
      %sum = {name}.tile_mulf %left, %right, %first : {operand}, {operand}, {total}
      {name}.tile_store %c[%c0, %c0], %sum : memref<16x16xf32>, {total}
      return
    }}"""


def llc(ir: str, llvm: int, *options: str) -> subprocess.CompletedProcess[str]:
    command = [programs(llvm).llc, "-mtriple=x86_64-linux-gnu", *options, "-o", "-"]
    return subprocess.run(command, input=ir, capture_output=True, text=True, timeout=120, check=False)


def test_a_shared_zero_is_copied_through_memory_and_own_zeros_are_not(llvm: int) -> None:
    shared, own = (
        functions_of(assembly(llvm_ir(register_block(2, 2, llvm, shared_zero=one), llvm), llvm))[0]
        for one in (True, False)
    )
    assert (shared.around.zeros, shared.around.spills) == (1, 6)  # three copies, each a store and a load
    assert (own.around.zeros, own.around.spills) == (4, 0)
    text = plan_amx(64, 64, 64, blocking=(2, 2)).emit(llvm, part="parts")
    assert text.count("tile_zero") == 4


def test_without_optimisation_llvm_crashes_on_tiles_in_a_loop_and_vectors_compile(llvm: int) -> None:
    ir = llvm_ir(register_block(2, 2, llvm), llvm)
    assert "phi x86_amx" in ir
    for options in (("-O0",), SCALAR_LOOPS):
        assert llc(ir, llvm, *options, FEATURES).returncode < 0  # a signal
    rewritten = for_scalar_loops(ir)
    assert "phi x86_amx" not in rewritten
    assert rewritten.count("phi <256 x i32>") == 4
    assert TILE_INSTRUCTION.findall(assembly(ir, llvm, "scalar")) == []


def test_scalar_loops_know_no_zero_that_feeds_a_product_and_know_it_beside_a_bitcast(llvm: int) -> None:
    fed, loads = (llvm_ir(product(llvm, acc=acc), llvm) for acc in ("zero", "load"))
    assert "tilezero" in llc(fed, llvm, *SCALAR_LOOPS).stderr  # "Cannot select: intrinsic %llvm.x86.tilezero.internal"
    assert llc(loads, llvm, *SCALAR_LOOPS).returncode == 0
    assert llc(for_scalar_loops(fed), llvm, *SCALAR_LOOPS).returncode == 0


def test_scalar_loops_leave_the_f16_product_as_it_is_where_the_feature_is_on(llvm: int) -> None:
    """Such code would end with an illegal instruction: so it is refused, and the features of AMX are never on."""
    ir = llvm_ir(product(llvm, "f16"), llvm)
    with pytest.raises(PlanError, match="tdpfp16ps: LLVM has no scalar loops for it; soft tiles have"):
        for_scalar_loops(ir)
    disguised = for_scalar_loops(ir.replace("tdpfp16ps", "tdpbf16ps")).replace("tdpbf16ps", "tdpfp16ps")
    assert "tdpfp16ps" in TILE_INSTRUCTION.findall(llc(disguised, llvm, *SCALAR_LOOPS, FEATURES).stdout)
    assert llc(disguised, llvm, *SCALAR_LOOPS).returncode != 0
    assert "tdpfp16ps" not in SCALAR
    assert TILE_INSTRUCTION.findall(assembly(ir, llvm, "soft")) == []


def test_the_scalar_option_does_nothing_with_optimisation(llvm: int) -> None:
    ir = llvm_ir(product(llvm), llvm)
    assert "tdpbf16ps" in TILE_INSTRUCTION.findall(llc(ir, llvm, "-O2", SCALAR_LOOPS[1], FEATURES).stdout)
    assert TILE_INSTRUCTION.findall(assembly(ir, llvm, "scalar")) == []


def test_scalar_loops_read_rows_whose_distance_is_no_whole_word_from_other_places(llvm: int) -> None:
    """33 elements are 66 bytes: LLVM divides by 4, drops the rest and reads every 64 bytes. Soft tiles read as AMX does."""
    rng = np.random.default_rng(1)
    b = Buffer.of(pack_vnni(rng.integers(-8, 9, (32, 16)).astype(bfloat16)))
    right: dict[tuple[int, str], bool] = {}
    for pitch in (33, 34):
        places = np.arange(16)[:, None] * pitch + np.arange(32)
        for how in ("scalar", "soft"):
            memory = Buffer.of(rng.integers(-8, 9, 16 * pitch).astype(bfloat16))
            c = Buffer.of(np.zeros((16, 16), np.float32))
            text = product(llvm, pitch=pitch)
            loaded(text, llvm, how).call("product", [one.address for one in (memory, b, c)])
            as_packed = b.array.reshape(16, 16, 2).transpose(0, 2, 1).reshape(32, 16).astype(np.float32)
            whole_words = np.arange(16)[:, None] * (pitch // 2 * 2) + np.arange(32)
            expected, dropped = (memory.array[one].astype(np.float32) @ as_packed for one in (places, whole_words))
            right[pitch, how] = bool((c.array == expected).all())
            assert right[pitch, how] or (c.array == dropped).all()
    assert right == {(33, "scalar"): False, (33, "soft"): True, (34, "scalar"): True, (34, "soft"): True}
    assert must_pack_a(plan_amx(16, 16, 32, lda=33).problem) is not None
    assert plan_amx(16, 16, 32, lda=33).tiling.pack_a
    assert not plan_amx(16, 16, 32, lda=34, pack_a=False).tiling.pack_a


def test_a_ninth_shape_runs_out_of_registers_and_plans_cut_it_off(llvm: int) -> None:
    """LLVM gives a register one shape for the whole function: nine shapes do not fit even one after the other."""
    name = dialect(llvm)
    lines = [
        f"%t{rows} = {name}.tile_zero : !{name}.tile<{rows}x16xf32>\n"
        f"{name}.tile_store %c[%c0, %c0], %t{rows} : memref<16x16xf32>, !{name}.tile<{rows}x16xf32>"
        for rows in range(1, 10)
    ]
    said: list[bool] = []
    for count in (8, 9):
        body = "\n".join(["%c0 = arith.constant 0 : index", *lines[:count], "return"])
        ir = llvm_ir(f"func.func @f(%c: memref<16x16xf32>) {{ {body} }}", llvm)
        done = llc(ir, llvm, "-O2", FEATURES)
        assert done.returncode == 0 or "ran out of registers" in done.stderr
        said.append(done.returncode == 0)
    assert said == [True, False]
    # The edge that the planner meets: 6 tiles of C, one of A, and B's of two shapes.
    with pytest.raises(PlanError, match=f"^llc-{llvm}: .*ran out of registers"):
        machine_code(llvm_ir(register_block(1, 6, llvm, widths=(16,) * 5 + (12,)), llvm), llvm)
    assert [strip.heights for strip in cut(16, 92, Blocking(1, 6))[1]] == [(16,) * 5, (12,)]


def test_a_call_makes_llvm_configure_again_and_move_tiles_over_the_stack(llvm: int) -> None:
    called, alone = (
        functions_of(assembly(llvm_ir(product(llvm, between=between), llvm), llvm))[-1]
        for between in ("func.call @other() : () -> ()", "")
    )
    assert called.around.configurations == 2
    assert called.around.spills >= 4
    assert (alone.around.configurations, alone.around.spills) == (1, 0)
    text = plan_amx(100, 60, 200, c="f32").emit(llvm, part="parts")
    with_tiles = [body for body in text.split("func.func")[1:] if "tile_store" in body]
    assert with_tiles
    assert not any("call" in body for body in with_tiles)


def test_a_tile_that_no_rewriting_knows_is_refused(llvm: int) -> None:
    name = dialect(llvm)
    tile = f"!{name}.tile<16x16xf32>"
    text = f"""func.func @f(%which: i1, %c: memref<16x16xf32>) {{
      %c0 = arith.constant 0 : index
      %x = {name}.tile_zero : {tile}
      %y = {name}.tile_load %c[%c0, %c0] : memref<16x16xf32> into {tile}
      %z = arith.select %which, %x, %y : {tile}
      {name}.tile_store %c[%c0, %c0], %z : memref<16x16xf32>, {tile}
      return
    }}"""
    ir = llvm_ir(text, llvm)
    for rewrite in (for_scalar_loops, for_soft_tiles):
        with pytest.raises(PlanError, match=r"line \d+: '%\d+ = select i1 %0, x86_amx.*: a tile is expected in calls"):
            rewrite(ir)
    argument = f"func.func @f(%tile: {tile}) {{ return }}"
    with pytest.raises(PlanError, match=f"^mlir-translate-{llvm}: Function takes x86_amx but isn't an intrinsic"):
        llvm_ir(argument, llvm)


def test_llvm_24_stops_on_a_shuffle_of_bf16_and_packing_weaves_integers(llvm: int) -> None:
    """Nine numbers, padded to 16 and woven with another row: "Do not know how to soft promote this operator's operand"."""
    padded, woven = ([min(i, 9) for i in range(16)], [place for i in range(16) for place in (i, i + 16)])
    compiles: dict[str, bool] = {}
    for kind in ("bfloat", "i16"):
        orders = [", ".join(f"i32 {place}" for place in places) for places in (padded, woven)]
        ir = f"""define void @f(ptr %p, ptr %q) {{
          %a = load <9 x {kind}>, ptr %p, align 2
          %b = shufflevector <9 x {kind}> %a, <9 x {kind}> zeroinitializer, <16 x i32> <{orders[0]}>
          %c = shufflevector <16 x {kind}> %b, <16 x {kind}> zeroinitializer, <32 x i32> <{orders[1]}>
          store <32 x {kind}> %c, ptr %q, align 2
          ret void
        }}"""
        compiles[kind] = llc(ir, llvm, "-O2", "-mattr=+avx2").returncode == 0
    assert compiles == {"bfloat": llvm != 24, "i16": True}
    shuffles = [
        line for line in plan_amx(25, 25, 49).emit(llvm).splitlines() if "shuffle" in line or "interleave" in line
    ]
    assert shuffles
    assert not any("bf16" in line for line in shuffles)


def test_versions_refuse_each_others_spelling_in_words(llvm: int) -> None:
    other = 24 if llvm == 22 else 22
    with pytest.raises(PlanError, match=f"^mlir-opt-{llvm}: "):
        llvm_ir(product(other), llvm)
