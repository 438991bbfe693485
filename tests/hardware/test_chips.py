"""The table of chips: one row each, one error for a chip that is not known, and every room reads the same row."""

from __future__ import annotations

from typing import Any

import pytest

import layoutalg as la
from layoutalg.conversion import cost_of
from layoutalg.hardware import amx_chip, dpas, dpas_instructions, target_info
from layoutalg.hardware.chip_names import GENERATIONS, chip_name
from layoutalg.nested.gpu.target_table import known_targets

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
    "wrong", ["i486", "", "sm_70", None, 5, 10**5000, ["pvc"], object()], ids=lambda one: type(one).__name__
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


NAMES = """sm_80: a100 A100 ampere cuda:80 sm80 compute_80
sm_90: h100 H100 h200 hopper cuda:90 sm_90a
gfx90a: mi210 mi250x cdna2 hip:gfx90a gfx90a:sramecc+:xnack-
gfx942: mi300x MI300A mi325x cdna3 gfx940 hip:gfx942
gfx950: mi350x mi355x cdna4
gfx1100: rdna3 rx7900xtx
pvc: PVC xe_hpc intel_gpu_pvc max1550
bmg: battlemage xe2 intel_gpu_bmg_g21 b580
lnl: lunarlake intel_gpu_lnl_m
dg2: xe-hpg alchemist
acm-g10: intel_gpu_acm_g10"""
"""CUDA's list of GPUs by compute capability, LLVM's user guide of AMDGPU, the devices of ocloc and of SYCL."""


@pytest.mark.parametrize("line", NAMES.splitlines())
def test_a_chip_answers_to_every_name_of_the_field(line: str) -> None:
    chip, _, names = line.partition(": ")
    assert {target_info(name).name for name in names.split()} == {chip}


def test_names_of_products_mean_the_architecture_that_iree_says() -> None:
    known = {name for api in ("hip", "cuda") for name in known_targets(api)}
    shared = known & {*GENERATIONS, "a100", "h100", "ampere", "hopper"}
    assert len(shared) > 5
    assert {name: chip_name(name) for name in shared} == {name: la.known_target(name).arch for name in shared}


@pytest.mark.parametrize(("name", "chip"), [("sapphirerapids", "spr"), ("graniterapids", "gnr"), ("SPR", "spr")])
def test_cpus_with_amx_answer_to_the_names_of_compilers(name: str, chip: str) -> None:
    assert amx_chip(name) is amx_chip(chip)
    assert la.plan_gemm(64, 64, 64, target=name) == la.plan_gemm(64, 64, 64, target=chip)
    with pytest.raises(la.PlanError, match="is a CPU with AMX, which plan_amx plans for"):
        target_info(name)
