"""Conversions by register regions in the listings of Intel's compilers: instructions beside the same kernel without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.plan import ConversionPlan
from layoutalg.conversion.program.program import Program
from tests.oracle.xe_regions import NEW_BMG, NEW_PVC, OLD, executed, listings, spirv_with_assembly
from tests.oracle.xe_toolchain import Listing

ROWS, COLUMNS = "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"
TALL = "d0 = 32@reg, d1 = 16@lane", "d0 = 2@reg:16 16@lane, d1 = 16@reg"
WIDE = "d0 = 16@reg, d1 = 32@lane", "d0 = 16@lane, d1 = 2@lane:16 16@reg"
CASES = {
    "f32_16x16": ((ROWS, COLUMNS), "f32"),
    "f16_16x16": ((ROWS, COLUMNS), "f16"),
    "i8_16x16": ((ROWS, COLUMNS), "i8"),
    "f32_32x16": (TALL, "f32"),
    "f32_16x32": (WIDE, "f32"),
}
# What was seen with IGC 1.0.12504 and 2.40.14. The old one copies operands of more than four words before the moves, and
# results of f16 after them. In 16x32 a word of 32 lanes is two registers.
SEEN = {
    "f32_16x16": {OLD: 80, NEW_PVC: 64, NEW_BMG: 64},
    "f16_16x16": {OLD: 48, NEW_PVC: 32, NEW_BMG: 32},
    "i8_16x16": {OLD: 16, NEW_PVC: 16, NEW_BMG: 16},
    "f32_32x16": {OLD: 160, NEW_PVC: 125, NEW_BMG: 125},
    "f32_16x32": {OLD: 160, NEW_PVC: 129, NEW_BMG: 129},
}
SIZES = {"f32": 32, "f16": 16, "i8": 8}


def plan_of(name: str) -> ConversionPlan:
    (source, destination), element = CASES[name]
    bits = SIZES[element]
    return la.convert(source, destination, element_bits=bits, target="pvc", regions=True, level="subgroup")


def without(plan: ConversionPlan) -> Program:
    """The same kernel without the conversion: what is loaded is stored."""
    [one] = plan.programs
    cells = tuple(range(one.registers))
    return Program(1, one.lanes, one.element_bits, one.registers, one.registers, cells, (), cells)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Listing]]:
    texts: list[str] = []
    for name, (_, element) in CASES.items():
        plan = plan_of(name)
        texts.append(plan.emit(element, kernel=True, name=name, llvm=22))
        texts.append(emit_kernel(without(plan), element, f"{name}_alone", llvm=22))
    return listings(texts, tmp_path_factory.mktemp("regions"))


@pytest.mark.parametrize("compiler", [OLD, NEW_PVC, NEW_BMG])
@pytest.mark.parametrize("name", CASES)
def test_a_conversion_takes_no_more_instructions_than_were_seen(
    name: str, compiler: str, found: dict[str, dict[str, Listing]]
) -> None:
    one, alone = (found[compiler][which] for which in (name, f"{name}_alone"))
    assert not one.spills
    assert len(one.instructions) - len(alone.instructions) <= SEEN[name][compiler]


@pytest.mark.parametrize("compiler", [NEW_PVC, NEW_BMG])
@pytest.mark.parametrize("name", CASES)
def test_every_move_is_one_instruction_of_today_s_compiler(
    name: str, compiler: str, found: dict[str, dict[str, Listing]]
) -> None:
    one, alone = (found[compiler][which] for which in (name, f"{name}_alone"))
    moves = plan_of(name).emit().count("mov (M1_NM")
    assert abs(len(one.instructions) - len(alone.instructions) - moves) <= 0.15 * moves


@pytest.mark.parametrize("compiler", [OLD, NEW_PVC, NEW_BMG])
@pytest.mark.parametrize("name", [name for name in CASES if name != "f32_16x32"])
def test_the_machine_code_does_what_the_plan_says(
    name: str, compiler: str, found: dict[str, dict[str, Listing]]
) -> None:
    """Its moves are executed, between what the loads bring and what the stores take: compilers understand the text so."""
    plan = plan_of(name)
    bits = plan.element_bits
    fragments = np.random.default_rng(0).integers(0, 2**bits, (1, 16, plan.programs[0].registers), f"u{bits // 8}")
    words = np.ascontiguousarray(fragments).view("<u4")[0].T  # [word, lane]
    made = executed(found[compiler][name], words)
    assert np.array_equal(made.T, plan.apply(fragments).view("<u4")[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("llc", [23, 24])
def test_versions_of_llvm_take_inline_assembly(llc: int, tmp_path: Path) -> None:
    text = plan_of("f32_16x16").emit("f32", kernel=True, llvm=23)
    assert spirv_with_assembly([text], tmp_path, 23, llc).stat().st_size > 1000
