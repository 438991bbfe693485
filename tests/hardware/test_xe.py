"""Xe chips in numbers: they give the peaks that Intel publishes, every number has a source, compilers know the devices."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.hardware import dpas_instructions, read_chip, target_info, xe_chip
from layoutalg.hardware.xe_products import chip_from_text
from tests.oracle.toolchains import require_new, run

PRODUCTS = ("b580", "b570", "b50", "b60", "b65", "b70", "max1550", "max1100", "140v", "b390")
CHIPS = ("pvc", "bmg", "lnl", "ptl", "dg2", "acm", "acm-g10", "acm-g11", "ats-m150", *PRODUCTS)

# TOP/s in the types that Intel gives for each product: B580 233 in int8; Core Ultra 288V 67; a Max 1550 of two stacks 839 in
# f16 and 1678 in int8; A770 275 (its 512 engines at 2.1 GHz); A380 66 at 2.0 GHz; the boards of Xe2 and Panther Lake in int8.
PUBLISHED = [
    ("bmg", "s8", 233),
    ("bmg", "f16", 116.7),
    ("lnl", "s8", 67),
    ("pvc", "f16", 839 / 2),
    ("pvc", "s8", 1678 / 2),
    ("pvc", "tf32", 419 / 2),
    ("dg2", "s8", 275),
    ("acm-g11", "s8", 66),
    ("b570", "s8", 203),
    ("b50", "s8", 170),
    ("b60", "s8", 197),
    ("b65", "s8", 197),
    ("b70", "s8", 367),
    ("max1100", "s8", 711),  # 56 of the 128 cores of a Max 1550, at 1.55 GHz
    ("b390", "s8", 122.9),  # Intel says 120
]


@pytest.mark.parametrize(("name", "element", "tera"), PUBLISHED)
def test_the_peak_is_the_published_one(name: str, element: str, tera: float) -> None:
    assert xe_chip(name).peak(element) / 1e12 == pytest.approx(tera, rel=0.01)


@pytest.mark.parametrize("name", CHIPS)
def test_every_number_has_a_source(name: str) -> None:
    chip = xe_chip(name)
    told = {field.name for field in fields(chip)} - {"product", "device", "target", "cited"}
    assert set(chip.sources) == told
    assert all(len(source) > 20 for source in chip.sources.values())


@pytest.mark.parametrize("name", CHIPS)
def test_every_type_of_its_matrix_instruction_has_a_rate(name: str) -> None:
    for instruction in dpas_instructions(name):
        operations = 2 * instruction.m * instruction.n * instruction.k
        clocks = xe_chip(name).dpas_clocks(instruction.a_type, operations)
        assert clocks in (8, 16)  # one row of C a clock on the first, every other clock on the others
        assert target_info(name).has_dpas
    assert xe_chip(name).threads(256) * 2 == xe_chip(name).threads(128) == 1024 // target_info(name).subgroup_size


@pytest.mark.parametrize("name", sorted({xe_chip(name).device for name in CHIPS}))
def test_the_compiler_knows_the_device_and_its_large_register_file(name: str, tmp_path: Path) -> None:
    ocloc = require_new("ocloc")
    lanes = 8 if name.startswith(("dg2", "acm", "ats")) else 16
    source = tmp_path / "one.cl"
    source.write_text(
        f"__attribute__((intel_reqd_sub_group_size({lanes}))) kernel void one(global int *a)"
        "{ a[get_global_id(0)] += 1; }"
    )
    options = ("-options", "-cl-intel-256-GRF-per-thread", "-out_dir", str(tmp_path))
    done = run([ocloc, "compile", "-file", str(source), "-device", name, *options])
    assert done.returncode == 0, done.stdout + done.stderr
    [binary] = tmp_path.glob("*.bin")
    dumped = tmp_path / "dumped"
    run([ocloc, "disasm", "-file", str(binary), "-dump", str(dumped), "-device", name])
    told = (dumped / ".ze_info").read_text()
    assert f"simd_size:       {lanes}" in told
    assert "grf_count:       256" in told


def test_a_product_is_planned_as_its_target_with_its_own_numbers() -> None:
    bmg, b70 = (la.plan_gemm(4096, 4096, 4096, target=name, tile=(32, 64), k_step=64) for name in ("bmg", "b70"))
    assert bmg.emit() == b70.emit()
    assert target_info("b70") is target_info("bmg")
    clocks = [plan.candidates.best.clocks for plan in (bmg, b70)]
    assert clocks[1] < clocks[0] * 0.7  # 32 cores for 20


def test_a_board_of_ones_own_takes_what_it_does_not_say_from_the_chip_that_it_is_like(tmp_path: Path) -> None:
    file = tmp_path / "board.toml"
    file.write_text('like = "b580"\nproduct = "half"\ncores = 10\nmemory_bandwidth = 228.0\n')
    half = read_chip(file)
    assert (half.cores, half.l3_clock_bytes, half.target) == (10, 640, "bmg")
    assert half.sources["cores"] == str(file)
    assert half.sources["l1_bytes"] == xe_chip("b580").sources["l1_bytes"]
    plan = la.plan_gemm(4096, 4096, 4096, chip=half)
    assert (plan.target, plan.candidates.chip) == ("bmg", half)
    whole = la.plan_gemm(4096, 4096, 4096, target="bmg")
    assert plan.candidates.best.clocks == pytest.approx(2 * whole.candidates.best.clocks, rel=0.05)
    with pytest.raises(la.PlanError, match="target 'lnl': chip is half, whose kernels are those of bmg"):
        la.plan_gemm(64, 64, 64, target="lnl", chip=half)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'expected like = "NAME"'),
        ("like = 5", "like: target 5 is not a Xe chip"),
        ('like = "sm_90"', "like: target 'sm_90' is not a Xe chip"),
        ('like = "bmg"\ncores = 0', "cores = 0: expected a whole number from 1 to 1024"),
        ('like = "bmg"\ncores = true', "cores = True: expected a whole number"),
        ('like = "bmg"\nclock_ghz = nan', "clock_ghz = nan: expected a number from 0.1 to 10.0"),
        ('like = "bmg"\nmemory_bandwidth = inf', "memory_bandwidth = inf: expected a number"),
        ('like = "bmg"\nengines = 16', "'engines': expected like, product, cores"),
        ('like = "bmg"\nproduct = "\\u001b"', "product = '\\x1b': expected a name"),
        ("like = ", "not TOML"),
        ("like = " + "[" * 100_000, "not TOML"),
    ],
)
def test_what_a_file_says_wrongly_is_named(text: str, said: str) -> None:
    with pytest.raises(la.PlanError, match="board.toml: .*" + re.escape(said)):
        chip_from_text(text, "board.toml")


@pytest.mark.parametrize("wrong", ["gfx942", "generic", "B590", None, 5, ["bmg"]])
def test_what_is_not_a_xe_chip_is_refused(wrong: Any) -> None:
    with pytest.raises(la.PlanError, match="is not a Xe chip: expected one of pvc, bmg, lnl, ptl, dg2"):
        xe_chip(wrong)


def test_registers_and_types_that_a_chip_does_not_have_are_refused() -> None:
    with pytest.raises(la.PlanError, match="registers = 64: a thread has 128 or 256"):
        xe_chip("bmg").threads(64)
    with pytest.raises(la.PlanError, match="no rate is known for 'tf32'; there are f16"):
        xe_chip("dg2").rate("tf32")
