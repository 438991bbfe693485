"""Reducing: what is left out, what stays, and that a module still fails in the same way."""

from __future__ import annotations

import pytest

from layoutalg.side.conformance.compilers import Answer, Compiler
from layoutalg.side.conformance.generating import made
from layoutalg.side.conformance.reducing import reduced, smaller_layouts, smaller_shapes
from layoutalg.side.conformance.verdicts import Verdict, judge, skeleton

COMPILER = Compiler("mlir-opt-22", "mlir-opt-22", "llvm", "22")


def test_a_crash_is_cut_down_to_the_operation_that_causes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # A compiler that dies of math.exp: everything else goes.
    def run_all(compiler: Compiler, texts: dict[str, str], pipeline: str) -> dict[str, Answer]:
        return {
            name: Answer(crash="SIGSEGV in mlir::exp") if "math.exp" in text else Answer(refusal="no")
            for name, text in texts.items()
        }

    monkeypatch.setattr("layoutalg.side.conformance.verdicts.run_all", run_all)
    kernel = made("softmax", "rows", "workgroup", 0)
    [verdict] = judge(COMPILER, [kernel])
    assert verdict.kind == "crash"
    small, again = reduced(COMPILER, kernel, verdict)
    assert again.skeleton == verdict.skeleton
    lines = [line for line in small.text.splitlines() if " = " in line and "gpu.func" not in line]
    assert len(lines) <= 6, small.text
    assert "math.exp" in small.text
    assert "multi_reduction" not in small.text
    assert "inst_data" not in small.text
    assert reduced(COMPILER, kernel, verdict)[0] == small, "the same again"


def test_shapes_and_layouts_become_smaller_together() -> None:
    text = "!xegpu.tensor_desc<32x64xf32, #xegpu.layout<sg_layout = [2, 2], sg_data = [16, 32], inst_data = [8, 16]>>"
    halves = list(smaller_shapes(text))
    assert any("16x64xf32" in half and "sg_layout = [1, 2]" in half for half in halves), halves
    assert any("16x64xf32" in half and "sg_data = [8, 32]" in half for half in halves), halves
    assert [layout for layout in smaller_layouts(text) if "inst_data" not in layout]


def test_two_diagnostics_that_differ_in_numbers_are_the_same() -> None:
    assert skeleton("op 8x16 in %12") == skeleton("op 16x32 in %7")
    assert (
        Verdict("wrong", "lane", first=(0, 1), count=2).skeleton
        == Verdict("wrong", "lane", first=(3,), count=9).skeleton
    )
