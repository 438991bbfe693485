"""The table of CPUs with AMX: figures that Intel publishes, and figures that follow from one another."""

from dataclasses import fields

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.hardware import AmxChip, amx_chip

CHIPS = ("spr", "gnr")


@pytest.mark.parametrize("name", CHIPS)
def test_every_figure_has_a_source(name: str) -> None:
    chip = amx_chip(name)
    figures = {field.name for field in fields(AmxChip)} - {"name", "cited"}
    assert set(chip.sources) == figures
    assert all(len(source) > 10 for source in chip.sources.values())


@pytest.mark.parametrize(("name", "bf16", "s8"), [("spr", 1024, 2048), ("gnr", 1024, 2048)])
def test_a_core_does_as_many_operations_a_clock_as_intel_says(name: str, bf16: int, s8: int) -> None:
    # Intel, "Accelerate AI Workloads with Intel AMX": 2048 int8 and 1024 bf16 operations per cycle and core
    assert amx_chip(name).operations("bf16") == bf16
    assert amx_chip(name).operations("s8") == amx_chip(name).operations("u8") == s8


def test_memory_is_channels_times_transfers() -> None:
    assert amx_chip("spr").memory_bandwidth == pytest.approx(8 * 4800e6 * 8 / 1e9)
    assert amx_chip("gnr").memory_bandwidth == pytest.approx(12 * 8800e6 * 8 / 1e9)


@pytest.mark.parametrize("name", CHIPS)
def test_caches_are_larger_and_slower_the_further_away(name: str) -> None:
    chip = amx_chip(name)
    assert chip.l1_bytes < chip.l2_bytes < chip.l3_bytes
    assert chip.load_l1 < chip.load_l2 < chip.load_l3 < chip.load_memory
    assert chip.store_l1 < chip.store_l2 < chip.store_l3
    # a set of each way is 64 lines of 64 bytes in L1: a page, so that an address needs no translation to find its set
    assert chip.l1_bytes == chip.l1_ways * 64 * 64


def test_the_roof_of_one_core_is_that_core() -> None:
    chip = amx_chip("gnr")
    assert chip.peak("bf16", 1) == 1024 * 3.9e9
    assert chip.bandwidth(1) == pytest.approx(3.9 * 1024 / 200)
    assert chip.bandwidth(chip.cores) == 844.8


@pytest.mark.parametrize("element", ["f32", "s4", None, 3, ["bf16"]])
def test_types_without_tile_products_are_refused(element: object) -> None:
    with pytest.raises(PlanError, match=r"tile products of .* need an element of bf16, f16, s8, u8"):
        amx_chip("gnr").operations(element)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["pvc", "", None, 7, ["spr"]])
def test_other_chips_are_refused(name: object) -> None:
    with pytest.raises(PlanError, match="is not a CPU with AMX: expected one of spr, gnr"):
        amx_chip(name)  # pyright: ignore[reportArgumentType]
