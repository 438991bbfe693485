"""What the regions of scf.index_switch and scf.execute_region give fits their results, in the words of mlir-opt 22."""

from __future__ import annotations

import pytest

import layoutalg as la

EDGE = "along control flow edge from Operation scf.yield to parent: region branch point has 0 operands, "


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "scf.index_switch %c -> f32 default { scf.yield }",
            "expected each region to return 1 values, but default region returns 0",
        ),
        (
            "scf.index_switch %c -> f32 case 1 { scf.yield } default { scf.yield %f : f32 }",
            "expected each region to return 1 values, but case region #0 returns 0",
        ),
        (
            "scf.index_switch %c -> f32 default { scf.yield %c : index }",
            "expected result #0 of each region to be 'f32'",
        ),
        (
            "scf.index_switch %c -> f32 case 1 { scf.yield %f : f32 } case 1 { scf.yield %f : f32 } "
            "default { scf.yield %f : f32 }",
            "has duplicate case value: 1",
        ),
        ("scf.execute_region -> f32 { scf.yield }", f"{EDGE}but region successor needs 1 inputs"),
    ],
)
def test_regions_give_what_their_operation_has(lines: str, message: str) -> None:
    module = la.read(f"func.func @f(%c: index, %f: f32) {{ %y = {lines} func.return }}")
    assert [finding.message for finding in module.verify(llvm=22)] == [message]
    assert la.lower(module, llvm=22).module is None


def test_regions_that_fit_are_right() -> None:
    text = """func.func @f(%c: index, %f: f32) {
      %y = scf.index_switch %c -> f32 case 1 { scf.yield %f : f32 } default { scf.yield %f : f32 }
      %z = scf.execute_region -> f32 { cf.br ^a ^a: scf.yield %f : f32 }
      func.return }"""
    assert list(la.read(text).verify(llvm=24)) == []
