"""LLVM IR with tiles, rewritten for CPUs without AMX: what is rewritten, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx.listing import functions_of
from layoutalg.gemm.amx.rewriting import SOFT, for_scalar_loops, for_soft_tiles, tile_calls

LOOP = """\
define void @f(ptr %0, i64 %1) {
  %3 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
  br label %4

4:                                                ; preds = %7, %2
  %5 = phi i64 [ %10, %7 ], [ 0, %2 ]
  %6 = phi x86_amx [ %9, %7 ], [ %3, %2 ]
  br label %7

7:                                                ; preds = %4
  %8 = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %0, i64 64)
  %9 = call x86_amx @llvm.x86.tdpbssd.internal(i16 16, i16 64, i16 64, x86_amx %6, x86_amx %8, x86_amx %8)
  %10 = add i64 %5, 1
  br label %4
}

; Function Attrs: nounwind
declare x86_amx @llvm.x86.tilezero.internal(i16, i16) #1
"""

REWRITES = (for_scalar_loops, for_soft_tiles)


def test_tiles_in_phis_become_vectors_and_other_lines_stay() -> None:
    for rewrite in REWRITES:
        text = rewrite(LOOP)
        assert "  %6 = phi <256 x i32> [ %9, %7 ], [ %3, %2 ]\n" in text
        assert not re.search(r"phi x86_amx", text)
        kept = [line for line in LOOP.splitlines() if "x86_amx" not in line]
        assert [line for line in text.splitlines() if line in kept] == kept


def test_scalar_loops_keep_every_call_beside_bitcasts() -> None:
    text = for_scalar_loops(LOOP)
    assert [call.intrinsic for call in tile_calls(text)] == [call.intrinsic for call in tile_calls(LOOP)]
    assert text.count("to <256 x i32>\n") == 3  # the results
    assert text.count("to x86_amx\n") == 2  # %6, and %8 once for both operands
    assert "declare x86_amx @llvm.x86.tilezero.internal(i16, i16) #1" in text


def test_soft_tiles_have_no_tile_left_and_their_slots_stand_in_front_of_the_loop() -> None:
    text = for_soft_tiles(LOOP)
    assert "x86_amx" not in text
    assert "llvm.x86" not in text
    slots = [line for line in text.splitlines() if "alloca" in line]
    assert len(slots) == 4
    assert text.splitlines()[1:5] == slots
    assert text.endswith(
        "declare void @soft_tilezero(ptr, i16, i16)\n"
        "declare void @soft_tileloadd64(ptr, i16, i16, ptr, i64)\n"
        "declare void @soft_tdpbssd(ptr, i16, i16, i16, ptr, ptr, ptr)\n"
    )


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize(
    "line",
    [
        "  %5 = phi x86_amx [ poison, %2 ]",
        "  %5 = select i1 %0, x86_amx %1, x86_amx %2",
        "  store x86_amx %5, ptr %1, align 64",
        "  %5 = alloca x86_amx, align 64",
        "  %5 = freeze x86_amx %4",
        "  %5 = bitcast <256 x i32> %4 to x86_amx",
        "  ret x86_amx %5",
        "define void @f(x86_amx %0) {",
        "  call void @g(x86_amx %5)",
        "  %5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64), !dbg !7",
        "  %5 = call x86_amx @llvm.x86.tdpbssd.internal(i16 1, i16 4, i16 4, x86_amx undef, x86_amx %1, x86_amx %2)",
        "  %5 = call x86_amx @llvm.x86.tdpbssd(i16 1, i16 4, i16 4, x86_amx %0, x86_amx %1, x86_amx %2)",
        "  call void @llvm.x86.tdpbssd(i8 0, i8 1, i8 2)",
        "  call void @llvm.x86.ldtilecfg(ptr %0)",
        "  call void @llvm.x86.tilerelease()",
        "  %5 = call x86_amx @llvm.x86.tilenothing.internal(i16 16, i16 64)",
    ],
)
def test_a_tile_that_is_not_understood_is_refused_and_never_left(rewrite: Callable[[str], str], line: str) -> None:
    with pytest.raises(PlanError, match=r"^LLVM IR, line 1: "):
        rewrite(line)


def test_soft_tiles_know_one_product_more_than_llvm() -> None:
    line = (
        "  %5 = call x86_amx @llvm.x86.tdpfp16ps.internal(i16 16, i16 64, i16 64, x86_amx %1, x86_amx %2, x86_amx %3)"
    )
    assert "@soft_tdpfp16ps(" in for_soft_tiles(line)
    with pytest.raises(PlanError, match="line 1: the tile intrinsic tdpfp16ps: LLVM has no scalar loops for it"):
        for_scalar_loops(line)
    assert "tdpfp16ps" in SOFT


def test_every_tile_instruction_is_found_in_assembly() -> None:
    names = ["ldtilecfg", "tileloadd", "tdpbf16ps", "tdpfp16ps", "tdpbuud", "tilestored", "tilezero", "tilerelease"]
    text = "f:\n" + "".join(f"\t{name}\t%tmm0\n" for name in names) + "\tmovl\t$1, %eax # tilezero\n.Lfunc_end0:\n"
    [function] = functions_of(text)
    assert (function.around.products, function.around.configurations, function.around.instructions) == (3, 1, 9)
