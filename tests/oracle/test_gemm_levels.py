"""LLVM's own pipelines on the kernels at workgroup and subgroup level: same bits, same layouts, machine code, and refusals.

mlir-opt 22, 23 and 24 distribute the tiles down to lanes; what comes out runs in the simulator and must give the bits of the
kernel that is emitted at lane level. The words with which a version refuses a kernel are asked for again.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.emission.refusals import REFUSALS, SIGNED
from layoutalg.gemm.emission.subgroup import emit_subgroup
from layoutalg.gemm.emission.workgroup import emit_workgroup
from layoutalg.gemm.listing import compile_kernel, counts
from layoutalg.side.conformance.kernel import Level
from tests.gemm.running import inputs, reals, run
from tests.gemm.test_levels import CASES, SMALL
from tests.oracle import toolchains
from tests.oracle.distribution import VERSIONS, pipeline, program

EMITTERS = {"workgroup": emit_workgroup, "subgroup": emit_subgroup}
KINDS: dict[str, Level] = {"workgroup": "workgroup", "subgroup": "plain"}


def planned(case: str, version: int) -> Gemm:
    size, choices = CASES[case]
    return plan_gemm(*size, llvm=version, **SMALL | choices)


def mlir_opt(text: str, version: int, passes: str) -> str:
    done = toolchains.run([program(version), passes], text)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def refused(gemm: Gemm, level: str) -> bool:
    try:
        gemm.emit(level)
    except PlanError:
        return True
    return False


FEW = ("f16", "ragged", "gelu", "silu", "A transposed", "B transposed")


ALL = [case if case in FEW else pytest.param(case, marks=pytest.mark.exhaustive) for case in CASES]


@pytest.mark.parametrize("level", EMITTERS)
@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_llvm_distributes_computes_the_bits_of_the_lane_level_kernel(version: int, case: str, level: str) -> None:
    gemm = planned(case, version)
    if refused(gemm, level):
        gemm = replace(gemm, problem=replace(gemm.problem, bias=None))
        if refused(gemm, level):
            return  # asked for below, in the version's words
    passes = f"--pass-pipeline={pipeline(version, 'lane', KINDS[level])}"
    made = mlir_opt(gemm.emit(level), version, passes)
    given = inputs(gemm) if gemm.problem.a == "s8" else reals(gemm)
    assert np.array_equal(run(gemm, given, made), run(gemm, given))


@pytest.mark.parametrize("version", VERSIONS)
def test_propagation_gives_the_operands_the_layouts_of_the_plan(version: int) -> None:
    gemm = plan_gemm(64, 64, 64, llvm=version, **SMALL)
    whole = pipeline(version, "lane")
    last = whole.index(",xegpu-subgroup-distribute" if version == 22 else ",xegpu-sg-to-lane-distribute")
    made = mlir_opt(gemm.emit("workgroup"), version, f"--pass-pipeline={whole[:last]}))")
    lanes, unit = gemm.layouts.lane, gemm.dpas
    blocks = {"A": (unit.m, unit.k), "B": (unit.k, unit.n), "C": (unit.m, unit.n)}
    for line in (line for line in made.splitlines() if "xegpu.dpas" in line):
        for name, attribute in (("A", "layout_a"), ("B", "layout_b"), ("C", "layout_cd")):
            found = re.search(rf"{attribute} = (#xegpu\.layout<[^>]*>)", line)
            assert found is not None
            assert la.same(la.parse(found.group(1)), lanes[name], blocks[name]), (name, found.group(1))
    stated = [
        set(re.findall(rf"xegpu\.{operation} .*?<{{layout = (#xegpu\.layout<[^>]*>)", made))
        for operation in ("load_nd", "prefetch_nd", "store_nd")
    ]
    expected = ({"load A", "load B"}, {"prefetch A", "prefetch B"}, {"C"})
    assert stated == [{str(lanes[name]) for name in names} for names in expected]


BIG: dict[str, Any] = {"tile": (32, 64), "subgroups": (8, 4), "k_step": 64, "registers": 256, "prefetch": "shared"}


MEASURED = [
    ("workgroup", 24, "bmg", 1.63),
    ("workgroup", 24, "pvc", 1.96),
    ("workgroup", 23, "bmg", 1.68),
    ("subgroup", 24, "bmg", 1.6),
    pytest.param("workgroup", 23, "pvc", 2.07, marks=pytest.mark.exhaustive),
    pytest.param("subgroup", 23, "pvc", 2.1, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("level", "version", "chip", "most"), MEASURED)
def test_machine_code_has_the_planned_products_and_spills_nothing(
    level: str, version: int, chip: str, most: float
) -> None:
    """LLVM's published kernel has 2.69 instructions per dpas on bmg and 5.20 on pvc; in this form it has fewer."""
    toolchains.require_new(f"mlir-opt-{version}")
    toolchains.require_new("ocloc")
    gemm = plan_gemm(4096, 4096, 4096, target=chip, llvm=version, **BIG)
    made = compile_kernel(gemm.emit(level), chip, 256, llvm=version, level=level)
    assert made.fits, (made.spilled, made.unresolved)
    seen = counts(made.program.inner_loop)
    assert seen.dpas == gemm.dpas_per_step == 64
    assert seen.per_dpas <= most


EPILOGUES: list[tuple[str, str, dict[str, Any]]] = [
    ("lane", "pvc", {"bias": "row", "beta": 0.5, "alpha": 2, "activation": "gelu", "c": "f32"}),
    ("lane", "bmg", {"bias": "column", "beta": 0.5, "alpha": 2, "activation": "silu", "c": "bf16"}),
    ("workgroup", "bmg", {"bias": "column", "beta": 0.5, "alpha": 2, "activation": "gelu", "c": "bf16"}),
]


@pytest.mark.parametrize(("level", "chip", "choices"), EPILOGUES, ids=str)
def test_an_epilogue_spills_nothing_and_calls_nothing(level: str, chip: str, choices: dict[str, Any]) -> None:
    toolchains.require_new("mlir-opt-24")
    toolchains.require_new("ocloc")
    gemm = plan_gemm(4096, 4096, 4096, target=chip, **BIG | choices)
    made = compile_kernel(gemm.emit(level), chip, 256, level=level)
    assert made.fits, (made.spilled, made.unresolved)


REFUSED_CASES: list[tuple[str, dict[str, Any]]] = [
    ("operands of s8", {"a": "s8"}),
    ("operands of tf32", {"a": "tf32"}),
    ("accumulators of 16 bits", {"acc": "f16"}),
    ("transposed matrices", {"trans_b": True}),
    ("transposed matrices", {"trans_a": True}),
    ("a bias by column", {"bias": "column"}),
    ("a bias by row", {"bias": "row"}),
]


@pytest.mark.parametrize(("feature", "choices"), REFUSED_CASES, ids=str)
def test_llvm_refuses_in_these_words(feature: str, choices: dict[str, Any]) -> None:
    """Where a version lowers the kernel now, its words must go."""
    refusal = next(one for one in REFUSALS if one.feature == feature)
    more: dict[str, Any] = {"tile": (32, 32), "subgroups": (4, 4), "k_step": 32, "registers": 256, "prefetch": "none"}
    for version in VERSIONS:
        gemm = plan_gemm(512, 512, 512, llvm=version, **more | choices)
        words = refusal.words.get(version)
        for number, (level, emit) in enumerate(EMITTERS.items()):
            blocking = "gpu.module(xegpu-blocking,canonicalize,cse)," if level == "subgroup" else ""
            lowered = f"gpu-lower-to-xevm-pipeline{{xegpu-op-level={level} binary-format=isa zebin-chip=pvc}}"
            done = toolchains.run(
                [program(version), f"--pass-pipeline=builtin.module({blocking}{lowered})"], emit(gemm)
            )
            if words is None:
                assert done.returncode == 0, (version, level, done.stderr[:500])
            else:
                assert done.returncode != 0, (version, level)
                assert words[number] in done.stderr, (version, level, done.stderr[:500])


def test_llvm_multiplies_u8_as_signed() -> None:
    """22 lowers i8 and says nothing: the builtin that it calls is that of signed operands."""
    gemm = plan_gemm(64, 64, 64, "u8", llvm=22, tile=(8, 16), k_step=32, subgroups=(1, 1))
    assert next(one for one in REFUSALS if one.feature == "operands of u8").words[22] == (SIGNED, SIGNED)
    passes = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=workgroup zebin-chip=pvc binary-format=isa"
    assert "s8_s8_matrix_mad" in mlir_opt(emit_workgroup(gemm), 22, passes)
