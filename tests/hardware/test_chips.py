"""The table of chips: one row each, one error for a chip that is not known, and every room reads the same row."""

from __future__ import annotations

from typing import Any

import pytest

import layoutalg as la
from layoutalg.conversion import cost_of
from layoutalg.hardware import dpas, dpas_instructions, target_info

INTEL = ("pvc", "bmg", "lnl", "ptl", "dg2", "acm", "acm-g10", "acm-g11", "ats-m150")
OTHERS = ("gfx90a", "gfx942", "gfx1100", "sm_80", "sm_90", "generic")


@pytest.mark.parametrize("name", [*INTEL, *OTHERS])
def test_costs_and_shared_memory_come_from_the_chips_row(name: str) -> None:
    chip, cost = target_info(name), cost_of(name)
    assert (cost.name, cost.slm_bytes) == (chip.name, chip.slm_bytes)


def test_shared_memory_of_a_workgroup() -> None:
    # Intel's and AMD's guides, and what CUDA gives without opting in.
    sizes = {
        name: target_info(name).slm_bytes // 1024
        for name in ("pvc", "bmg", "lnl", "ptl", "dg2", "gfx90a", "gfx942", "gfx1100", "sm_80")
    }
    assert sizes == {
        "pvc": 128,
        "bmg": 128,
        "lnl": 128,
        "ptl": 128,
        "dg2": 64,
        "gfx90a": 64,
        "gfx942": 64,
        "gfx1100": 64,
        "sm_80": 48,
    }


@pytest.mark.parametrize(
    "wrong", ["i486", "", "PVC", None, 5, 10**5000, ["pvc"], object()], ids=lambda one: type(one).__name__
)
def test_an_unknown_chip_has_one_error_everywhere(wrong: Any) -> None:
    messages: set[str] = set()
    for ask in (target_info, lambda name: dpas("f16", "f16", target=name), dpas_instructions, cost_of):
        if ask is cost_of and wrong is None:
            continue  # a GPU in general
        with pytest.raises(la.PlanError, match=r"^target .*: expected one of pvc, bmg, lnl, ptl, dg2") as caught:
            ask(wrong)
        messages.add(str(caught.value).partition(":")[0])
    assert len(messages) == 1
    if wrong is not None:
        with pytest.raises(la.PlanError, match="expected one of pvc, bmg, lnl, ptl, dg2"):
            la.convert("d0 = 4@lane", "d0 = 4@lane", target=wrong)


@pytest.mark.parametrize("name", OTHERS)
def test_chips_without_dpas_say_so(name: str) -> None:
    with pytest.raises(la.PlanError, match=f"target '{name}' has no DPAS: expected one of {', '.join(INTEL)}$"):
        dpas("f16", "f16", target=name)
    with pytest.raises(la.PlanError, match="has no DPAS"):
        dpas_instructions(name)
