"""Long constants of truth values: LLVM 22 writes their bits, LLVM 23 and 24 a byte for each."""

from __future__ import annotations

from typing import Any

import pytest

import layoutalg as la
from tests.oracle.toolchains import require, require_new, run

TRUTHS = [number % 3 == 0 for number in range(252)]
LIST = ", ".join(str(one).lower() for one in TRUTHS)
TEXT = f"func.func @f() -> vector<4x63xi1> {{ %c = arith.constant dense<[{LIST}]> : vector<252xi1>\n" + (
    "%d = vector.shape_cast %c : vector<252xi1> to vector<4x63xi1>\nfunc.return %d : vector<4x63xi1> }"
)


def constant(text: str) -> list[bool]:
    module: Any = la.read(text).parts[0].module
    [found] = [op for op in module.walk() if op.name == "arith.constant"]
    return [bool(value) for value in found.properties["value"].get_values()]


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_mlir_opt_and_we_read_what_the_other_writes(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    ours = la.read(TEXT).text(llvm)
    done = run([program], ours)
    assert done.returncode == 0, done.stderr
    assert constant(ours) == constant(done.stdout) == TRUTHS
    assert la.read(done.stdout).text(llvm) == ours.replace("%c", "%cst").replace("%d", "%0")
