"""AMD's matrix instructions against AMD's calculator, LLVM's assembler, IREE's intrinsics and Triton's wheel.

The calculator is not a package: `data/amd_calculator.json.gz` has what it answers for all its instructions, and says how it
was asked.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.layout import Layout
from layoutalg.instructions import Instruction, InstructionOperand, instruction, known_instructions
from layoutalg.nested.gpu import INTRINSICS, MMAFragment
from layoutalg.nested.gpu import intrinsic as iree_intrinsic
from tests.oracle.tables import DATA
from tests.oracle.toolchains import require, require_module, run
from tests.oracle.triton_wheel import ask, forked

Ints = NDArray[np.int64]

TABLE: dict[str, Any] = json.loads(gzip.decompress((DATA / "amd_calculator.json.gz").read_bytes()))
ROWS = {row["key"]: row for row in TABLE["instructions"]}
BITS = {"fp64": 64, "fp32": 32, "xf32": 32, "int32": 32, "fp16": 16, "bf16": 16, "iu4": 4}
AMD = known_instructions("AMD", "mma")
DESCRIBED = [one for one in AMD if one.parts]


def theirs(number: int) -> tuple[tuple[int, ...], Ints, Ints]:
    """Sizes, and for each element the lanes `[..., copy]` and the first bit in a lane's registers, by the table's formula."""
    one = TABLE["layouts"][number]
    sizes: tuple[int, ...] = tuple(one["sizes"])
    lanes: list[int]
    lanes, first = one["first"]
    flips = iter(one["bits"])
    lane: Any = np.zeros(sizes, np.int64)
    bit: Any = np.full(sizes, first)
    for d, size in enumerate(sizes):
        at: Any = np.arange(size).reshape([-1 if e == d else 1 for e in range(len(sizes))])
        for b in range(size.bit_length() - 1):
            lane_flip, bit_flip = next(flips)
            lane, bit = lane ^ (at >> b & 1) * lane_flip, bit ^ (at >> b & 1) * bit_flip
    return sizes, np.sort(lane[..., None] ^ np.array(lanes), axis=-1), bit


def ours(layout: Layout) -> tuple[Ints, Ints]:
    """For each element the lanes `[..., copy]`, and the register."""
    lanes = layout.owner_map("lane") if "lane" in layout.axes else np.zeros(layout.shape, np.int64)
    registers = layout.owner_map("reg") if "reg" in layout.axes else np.zeros(layout.shape, np.int64)
    copies: Any = np.zeros(1, np.int64)
    for factor in layout.replicas:
        assert factor.axis == "lane"
        copies = (copies[:, None] + np.arange(int(factor.extent)) * int(factor.stride)).reshape(-1)
    return np.sort(lanes[..., None] + copies, axis=-1), registers


def test_the_table_has_all_that_the_calculator_knows() -> None:
    assert len(ROWS) == 149
    assert sum(len(row["operands"]) for row in ROWS.values()) == 632


@pytest.mark.parametrize("key", ROWS)
def test_every_operand_is_where_amd_s_calculator_has_it(key: str) -> None:
    row, one = ROWS[key], instruction(key)
    roles = {"A": "A", "B": "B", "C": "C", "D": "C", "K": "E"}
    for role, number in row["operands"].items():
        sizes, lanes, bit = theirs(number)
        held, register = ours(one[roles[role]].layout)
        element = row["types"][2 if role in "CD" else 0]
        bits = BITS.get(element, 8)
        if role == "K":  # 4 bits for each four along k, counted from the place that the modifiers choose
            held, register, bits = np.repeat(held, 4, axis=-2), np.repeat(register, 4, axis=-1), 4
        elif role == "A" and "E" in one.types:  # four elements in the place of two
            register, bits = register // 4, 2 * bits
        elif key.startswith("rdna3") and bits == 16 and role in "CD":  # one in each register
            bits = 32
        assert held.shape[:-1] == sizes
        assert np.array_equal(held, lanes), (key, role)
        assert np.array_equal(register * bits, bit), (key, role)


def test_indices_of_a_sparse_a_are_where_its_elements_are() -> None:
    for one in DESCRIBED:
        if "E" in one.types:
            lanes, _ = ours(one["A"].layout)
            of_four, _ = ours(one["E"].layout)
            assert np.array_equal(lanes[..., ::4, :], of_four), one.name


def test_iree_s_names_are_all_found_and_its_reading_is_the_answer() -> None:
    names = [name for name in INTRINSICS if not name.startswith("NV_")]
    assert len(names) == 91
    for name in names:
        one, intrinsic = instruction(name), iree_intrinsic(name)
        assert one.reading == "IREE", name
        assert one.shape == (intrinsic.m, intrinsic.n, intrinsic.k), name
        for fragment in MMAFragment:
            layout = intrinsic.operand(fragment).layout(intrinsic.subgroup_size)
            assert one["ABC"[fragment]].layout == layout, (name, fragment)


@pytest.mark.parametrize("operand", ["A", "B"])
def test_rdna_4_s_k_is_read_in_two_ways_and_both_are_said(operand: str) -> None:
    """AMD's calculator and IREE (and Triton) disagree; the product is the same, since A and B disagree alike."""
    names = [f"{c}_16x16x16_{a}" for c, a in (("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16"))]
    for name in names:
        amd = instruction(f"rdna4/v_wmma_{name}/w32")
        iree, triton = amd.read_by("IREE"), amd.read_by("Triton")
        assert amd.readings == ("IREE", "Triton")
        assert iree[operand].layout == triton[operand].layout != amd[operand].layout
        assert iree["C"].layout == amd["C"].layout
        moved = np.argwhere(ours(iree[operand].layout)[1] != ours(amd[operand].layout)[1])
        other = np.argwhere((ours(iree[operand].layout)[0] != ours(amd[operand].layout)[0]).any(axis=-1))
        assert (
            len({*map(tuple, moved.tolist()), *map(tuple, other.tolist())}) == 128
        )  # of 256, as the sources' conflict has it
    amd = instruction("rdna4/v_wmma_i32_16x16x32_iu4/w32")
    assert amd.readings == ("Triton",)
    (lanes, held), (other, theirs) = (ours(one[operand].layout) for one in (amd, amd.read_by("Triton")))
    assert int(((lanes != other).any(axis=-1) | (held != theirs)).sum()) == 256  # of 512


def slots_agree(one: Instruction) -> bool:
    """Whether each slot of A and of B has the same k: what makes a product of the two readings the same."""
    a, b = one["A"].layout, one["B"].layout
    return bool((a.fragment_map()[..., 1] == b.fragment_map()[..., 0]).all())


def test_slots_of_a_and_b_have_the_same_k_in_every_reading() -> None:
    for one in DESCRIBED:
        if one["A"].layout.rank == 2 and one.shape[0] == one.shape[1] and "iu4" not in one.name:
            for reading in (one, *map(one.read_by, one.readings)):
                assert slots_agree(reading), str(reading)


# Triton


def triton_operand(one: Instruction, part: InstructionOperand) -> str:
    """The encoding of an operand as Triton writes it."""
    m, n, k = one.shape
    if one.family == "MFMA":
        versions = {"gfx908": 1, "gfx90a": 2, "gfx942": 3, "gfx950": 4}
        bits = ", elementBitWidth = 64" if one.types["C"] == "f64" else ""
        parent = (
            f"#ttg.amd_mfma<{{version = {versions[one.chips[0]]}, warpsPerCTA = [1, 1], instrShape = [{m}, {n}, {k}], "
            f"isTransposed = false{bits}}}>"
        )
        width = m * k // 64
    else:
        version = 1 if one.name.startswith("rdna3") else 2
        sizes = f", instrShape = [{m}, {n}, {k}]" if k != 16 else ""
        parent = f"#ttg.amd_wmma<{{version = {version}, isTranspose = false, ctaLayout = {{warp = []}}{sizes}}}>"
        width = 8 if "kWidth = 8" in part.source else 16 if version == 1 else k // 2
    if part.role == "C":
        return parent
    return f"#ttg.dot_op<{{opIdx = {'AB'.index(part.role)}, parent = {parent}, kWidth = {width}}}>"


def of_bases(bases: dict[str, list[list[int]]], axes: dict[str, int]) -> Ints:
    """The coordinates `[lane, reg, rank]` that bases say."""
    found = np.zeros((axes["lane"], axes["register"], 2), np.int64)
    for b, basis in enumerate(bases["lane"]):
        found ^= (np.arange(axes["lane"]) >> b & 1)[:, None, None] * np.array(basis)
    for b, basis in enumerate(bases["register"]):
        found ^= (np.arange(axes["register"]) >> b & 1)[None, :, None] * np.array(basis)
    return found


@cache
def claims_of_triton() -> tuple[tuple[Instruction, InstructionOperand], ...]:
    """Operands that reports say Triton confirms, or reads in its own way."""
    found: list[tuple[Instruction, InstructionOperand]] = []
    for one in DESCRIBED:
        reading = one.read_by("Triton") if "Triton" in one.readings else one
        found += [
            (reading, part)
            for part in reading.parts
            if "Triton 3.9" in part.confirmed or (part.source.startswith("Triton") and "scale" not in one.name)
        ]
    return tuple(found)


def test_triton_confirms_what_is_said_to_be_confirmed() -> None:
    require_module("triton")
    asked = 0
    answers: dict[tuple[str, tuple[int, ...]], Any] = {}
    for one, part in claims_of_triton():
        text, shape = triton_operand(one, part), tuple(map(int, part.layout.shape))
        if (text, shape) not in answers:
            answers[text, shape] = ask(text, shape, "f64" if one.types["C"] == "f64" else "f16", "tensor")
        answer = answers[text, shape]
        assert answer is not None, (str(one), part.role, text)
        held = part.layout.fragment_map()[0]
        expected = of_bases(answer["bases"], {"lane": one.lanes, "register": held.shape[1]})
        assert len(answer["bases"]["register"]) == held.shape[1].bit_length() - 1
        assert np.array_equal(held, expected), (str(one), part.role)
        asked += 1
    assert asked > 140
    assert len(answers) > 30


@pytest.mark.parametrize(("m", "k"), [(16, 128), (32, 64)])
def test_triton_has_the_scales_of_a_scaled_mfma_in_these_lanes(m: int, k: int) -> None:
    require_module("triton")

    def question() -> list[Any]:
        gluon: Any = import_module("triton.experimental.gluon.language")
        amd: Any = import_module("triton.experimental.gluon.language.amd")
        parent = amd.AMDMFMALayout(version=4, instr_shape=[m, m, k], transposed=False, warps_per_cta=[1, 1])
        operands = [gluon.DotOperandLayout(operand, parent, k_width=16) for operand in (0, 1)]
        found = [amd.cdna4.get_mfma_scale_layout(one, [m, k // 32]) for one in operands]
        return [[one.reg_bases, one.lane_bases] for one in found]

    one = instruction(f"v_mfma_scale_f32_{m}x{m}x{k}_f8f6f4")
    answer = forked(question)
    assert answer is not None
    for (register, lane), layout in zip(answer, (one["SFA"].layout, one["SFB"].layout.permute((1, 0))), strict=True):
        expected = of_bases({"lane": lane, "register": register}, {"lane": 64, "register": 1})
        assert np.array_equal(layout.fragment_map()[0].reshape(64, 1, 2), expected)


# LLVM's assembler


CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1150", "gfx1200", "gfx1201", "gfx1250", "gfx1251")


def registers(part: InstructionOperand, stored: float = 1.0) -> int:
    """The 32-bit registers of a lane that an operand needs."""
    from layoutalg.instructions.amd.names import bits_of

    held = int(part.layout.axes.get("reg", 1))
    bits = {"i4": 4}.get(part.element) or bits_of(part.element)
    return max(1, int(held * bits * stored) // 32)


def line(one: Instruction) -> str:
    """A line of assembly with the registers that the layouts need."""
    mnemonic = re.sub(r"^[cr]dna\d/|/w\d\d$", "", one.name)
    sparse = 0.5 if "E" in one.types else 1.0
    a, b, c = registers(one["A"], sparse), registers(one["B"]), registers(one["C"])
    if one.name.startswith("rdna3") and one.types["C"] in ("f16", "bf16"):
        c *= 2  # one element in each register
    if "SFA" in one.types:
        a, b = 8, 8  # of fp8: LLVM wants those of the largest type where the modifiers say nothing

    def span(start: int, count: int) -> str:
        return f"v{start}" if count == 1 else f"v[{start}:{start + count - 1}]"

    operands = [span(100, c), span(0, a), span(32, b), "v80" if "E" in one.types else span(100, c)]
    operands += ["v81", "v82"] if "SFA" in one.types else []
    return f"{mnemonic} {', '.join(operands)}"


@pytest.mark.parametrize("chip", CHIPS)
def test_llvm_assembles_for_a_chip_what_is_listed_with_the_registers_that_the_layouts_need(chip: str) -> None:
    """An instruction takes exactly as many registers as its layouts have elements; chips that lack it refuse it."""
    assembler = require("llvm-mc-22")
    for lanes in (64,) if chip.startswith("gfx9") else (32, 64):
        listed = [one for one in DESCRIBED if one.lanes == lanes]
        lines = [spelled_for(chip, one) for one in listed]
        wave = [] if chip.startswith("gfx9") else [f"-mattr=+wavefrontsize{lanes}"]
        command = [assembler, "-triple=amdgcn", f"-mcpu={chip}", *wave, "-filetype=null"]
        said = run(command, "\n".join(lines)).stderr
        refused = {int(number) for number in re.findall(r"<stdin>:(\d+):\d+: error", said)}
        for number, (one, text) in enumerate(zip(listed, lines, strict=True), 1):
            if chip.startswith("gfx125") and not one.chips[0].startswith("gfx125"):
                continue  # the assembler takes RDNA 4's, and the compiler says "Cannot select"
            assert (number not in refused) == (chip in one.chips), (chip, lanes, text)


def spelled_for(chip: str, one: Instruction) -> str:
    """The line with the mnemonic that the chip's assembler has: gfx90a has that of before gfx942."""
    text = line(one)
    old = [alias for alias in one.aliases if alias.startswith("v_mfma") and "MFMA" not in alias]
    if chip == "gfx90a" and old:
        return f"{old[0]} {text.partition(' ')[2]}"
    return text


def test_llvm_assembles_the_transposed_loads_for_the_chips_that_are_listed() -> None:
    assembler = require("llvm-mc-22")
    loads = known_instructions("AMD", "copy")
    bits = {"b64": 2, "b96": 3, "b128": 4}
    for chip in CHIPS:
        for lanes in (64,) if chip.startswith("gfx9") else (32, 64):
            lines: list[str] = []
            for one in loads:
                name = one.name.removesuffix("_w64")
                width = bits[next(word for word in name.split("_") if word in bits)]
                width = width // 2 if one.name.endswith("_w64") else width
                to = "v0" if width == 1 else f"v[0:{width - 1}]"
                lines.append(f"{name} {to}, v10" + (", s[0:1]" if name.startswith("global") else ""))
            wave = [] if chip.startswith("gfx9") else [f"-mattr=+wavefrontsize{lanes}"]
            said = run([assembler, "-triple=amdgcn", f"-mcpu={chip}", *wave, "-filetype=null"], "\n".join(lines)).stderr
            refused = {int(number) for number in re.findall(r"<stdin>:(\d+):\d+: error", said)}
            for number, one in enumerate(loads, 1):
                if chip.startswith("gfx125") and (lanes == 64 or one.name.startswith("global_load_tr_")):
                    continue  # it has no wave of 64, and takes RDNA 4's names as old ones of its own
                assert (number not in refused) == (chip in one.chips and one.lanes == lanes), (chip, lanes, one.name)
