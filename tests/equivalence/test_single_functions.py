"""Functions that serve the room `equivalence` alone, one by one."""

from __future__ import annotations

from layoutalg.equivalence.first_difference import culprit_of
from layoutalg.ir import read_module


def test_empty_kernels_have_no_culprit() -> None:
    empty = read_module("gpu.module @m { gpu.func @k() kernel { gpu.return } }")
    assert culprit_of(empty, empty, [], (1, 1, 1), None, "pvc", (1.0, 2.0)) is None
