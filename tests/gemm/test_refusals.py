"""Values that nobody means are refused in words, and nothing is planned by their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm import Problem, Tile, Tiling
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.counting import counted
from layoutalg.gemm.messages import messages
from layoutalg.gemm.numerics import computed
from layoutalg.gemm.registers import registers
from layoutalg.gemm.roofline import roofline
from layoutalg.gemm.search import search
from layoutalg.hardware import xe_chip
from layoutalg.simulate import Executed

PROBLEM, TILING = Problem.of(8, 32, 32), Tiling(Tile(8, 16, 32))
WRONG: list[Callable[[Any], object]] = [
    lambda value: search(value),
    lambda value: search(PROBLEM, llvm=value),
    lambda value: search(PROBLEM, chip=value),
    lambda value: Choices(k_step=value),
    lambda value: Choices(subgroups=value),
    lambda value: Tiling(value),
    lambda value: Tiling(Tile(8, 16, 16), value),
    lambda value: Tile(value, 16, 16),
    lambda value: messages(PROBLEM, value),
    lambda value: registers(value, TILING),
    lambda value: counted(PROBLEM, TILING, value),
    lambda value: roofline(PROBLEM, TILING, value),
    lambda value: computed(value, [], []),
    lambda value: la.plan_gemm(8, 32, 32, llvm=value),
    lambda value: la.plan_gemm(8, 32, 32, alpha=value),
    lambda value: la.plan_gemm(8, 32, 32, k_step=value),
    lambda value: la.plan_attention(8, 32, scale=value, target="bmg"),
    lambda value: la.sweep([value]),
    lambda value: la.sweep([(8, 32, 32)], file=value),
    lambda value: la.sweep([(8, 32, 32)], progress=value),
    lambda value: xe_chip("bmg").threads(value),
    lambda value: xe_chip("bmg").rate(value),
    lambda value: Executed.joined(value),
]


@pytest.mark.parametrize("call", range(len(WRONG)))
def test_values_of_other_types_are_refused(call: int) -> None:
    for value in ([4, [4]], np.array([4, 4, 4]), 10**5000, True, 1j):
        with pytest.raises(la.LayoutError):
            WRONG[call](value)


def test_a_step_of_2_to_24_is_refused_before_its_messages_are_planned() -> None:
    with pytest.raises(la.PlanError, match="at most 1024"):
        la.plan_gemm(8, 32, 32, k_step=2**24)
