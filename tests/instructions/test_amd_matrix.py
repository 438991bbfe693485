"""AMD's matrix instructions: names people type, readings, and laws that every layout keeps."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import DistributionError, LayoutError
from layoutalg.instructions import Instruction, known_instructions
from layoutalg.instructions.amd.matrix_table import TABLE
from layoutalg.instructions.amd.names import MatrixName, spelling

AMD = known_instructions("AMD", "mma")
DESCRIBED = [one for one in AMD if one.parts]
IDLE = {"rdna4/v_wmma_i32_16x16x16_iu4/w64", "rdna4/v_swmmac_i32_16x16x32_iu4/w64"}


@pytest.mark.parametrize("one", DESCRIBED, ids=str)
def test_every_operand_holds_every_element_once_for_each_copy_and_leaves_no_register_empty(one: Instruction) -> None:
    for reading in (one, *map(one.read_by, one.readings)):
        for part in reading.parts:
            held = part.layout.fragment_map()
            sizes = tuple(map(int, part.layout.shape))
            assert (held >= 0).all()
            lanes = held.shape[1]
            idle = reading.name in IDLE and part.role != "C"
            assert lanes == (32 if idle and lanes == 32 else reading.lanes)
            flat = np.ravel_multi_index(tuple(held.reshape(-1, len(sizes)).T), sizes)
            counts = np.bincount(flat, minlength=int(np.prod(sizes)))
            copies = (reading.lanes // 16) if one.name.startswith("rdna3") and part.role in "AB" else 1
            assert (counts == copies).all(), (str(reading), part.role)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_f16"),
        ("v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16_f16"),
        ("mfma.f32.16x16x16f16", "v_mfma_f32_16x16x16_f16"),
        ("llvm.amdgcn.mfma.f32.16x16x16f16", "v_mfma_f32_16x16x16_f16"),
        ("rocdl.mfma.f32.16x16x16f16", "v_mfma_f32_16x16x16_f16"),
        ("__builtin_amdgcn_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16_f16"),
        ("MFMA_F32_16x16x16_F16", "v_mfma_f32_16x16x16_f16@IREE"),
        ("cdna3/v_mfma_f32_16x16x16_f16/w64", "v_mfma_f32_16x16x16_f16"),
        ("mi300x/v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_f16"),
        ("v_mfma_f32_32x32x4f16", "v_mfma_f32_32x32x4_2b_f16"),
        ("v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_32x32x4_2b_bf16"),
        ("v_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4_4b_f64"),
        ("v_mfma_i32_32x32x8i8", "v_mfma_i32_32x32x8i8"),
        ("V_WMMA_F32_16X16X16_F16", "rdna3/v_wmma_f32_16x16x16_f16/w32"),
        ("gfx1201/v_wmma_f32_16x16x16_f16", "rdna4/v_wmma_f32_16x16x16_f16/w32"),
        ("gfx12/v_wmma_f32_16x16x16_f16/w64", "rdna4/v_wmma_f32_16x16x16_f16/w64"),
        ("__builtin_amdgcn_wmma_f32_16x16x16_f16_w32", "rdna3/v_wmma_f32_16x16x16_f16/w32"),
        ("__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12", "rdna4/v_wmma_f32_16x16x16_f16/w32"),
        ("WMMAR4_F32_16x16x16_F8E4M3FN_F8E5M2", "rdna4/v_wmma_f32_16x16x16_fp8_bf8/w32@IREE"),
        ("WMMA_F32_16x16x16_F16", "rdna3/v_wmma_f32_16x16x16_f16/w32@IREE"),
        ("v_wmma_f32_16x16x32_f16", "v_wmma_f32_16x16x32_f16"),
        ("v_swmmac_f32_16x16x32_f16", "rdna4/v_swmmac_f32_16x16x32_f16/w32"),
        ("v_wmma_f32_16x16x16_fp8_fp8", "rdna4/v_wmma_f32_16x16x16_fp8_fp8/w32"),
    ],
)
def test_a_name_is_found_as_people_type_it(typed: str, name: str) -> None:
    assert str(la.instruction(typed)) == name


@pytest.mark.parametrize("one", AMD, ids=str)
def test_the_text_of_an_instruction_is_read_back(one: Instruction) -> None:
    assert la.parse(str(one)) == one
    for reading in one.readings:
        assert la.parse(str(one.read_by(reading))) == one.read_by(reading)


def test_every_spelling_of_the_table_means_its_entry() -> None:
    for entry in TABLE:
        for mnemonic in (entry.mnemonic, *entry.spellings):
            chip = "gfx942" if mnemonic == "v_mfma_f32_32x32x4bf16" and "gfx942" in entry.chips else entry.chips[0]
            found = la.instruction(f"{chip}/{mnemonic}")
            assert found.shape == (entry.name.m, entry.name.n, entry.name.k)
            assert found.chips == entry.chips
        said = spelling(entry.mnemonic)
        assert said is not None
        assert MatrixName.read(said.mnemonic) is not None


def test_one_name_on_two_chips_is_two_instructions() -> None:
    """LLVM's assembler takes v_mfma_f32_32x32x4bf16 with 16 accumulators for gfx90a, and with 32 for gfx942."""
    old, new = la.instruction("gfx90a/v_mfma_f32_32x32x4bf16"), la.instruction("gfx942/v_mfma_f32_32x32x4bf16")
    assert [int(one["C"].layout.axes["reg"]) for one in (old, new)] == [16, 32]
    assert la.instruction("v_mfma_f32_32x32x4bf16") == old
    assert any("gfx942" in text for _, text in old.remarks)


def test_f64_accumulators_are_not_as_those_of_f32() -> None:
    """The worked example of the facts' table: m = 4 slot + lane / 16."""
    f64, f32 = (la.instruction(f"v_mfma_{kind}_16x16x4_{kind}")["C"].layout for kind in ("f64", "f32"))
    assert f64.coords(lane=17).tolist() == [[1, 1], [5, 1], [9, 1], [13, 1]]
    assert f32.coords(lane=17).tolist() == [[4, 1], [5, 1], [6, 1], [7, 1]]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gfx950/v_mfma_f32_16x16x8_xf32", "gfx950 has no v_mfma_f32_16x16x8_xf32: it is an instruction of gfx942"),
        ("gfx1250/v_wmma_f32_16x16x32_f16/w64", "waves have 32 lanes, not 64"),
        ("v_mfma_f32_16x16x17_f16", "did you mean v_mfma_f32_16x16x16_f16"),
        ("v_mfma_f32_16x16x16_f16@CUTLASS", "it has IREE"),
        ("VMFMA_F32_16x16x32_F16", "no instruction"),
    ],
)
def test_what_is_not_there_is_refused_in_words(name: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words.replace("(", r"\(")):
        la.instruction(name)


def test_instructions_without_a_source_for_their_layouts_are_listed_and_refused() -> None:
    unknown = [one for one in AMD if not one.parts]
    assert len(unknown) == len([entry for entry in TABLE if not entry.described]) == 35
    for one in unknown:
        assert one.types.keys() == {"A", "B", "C"}
        with pytest.raises(DistributionError, match="no source that the tests can ask"):
            one.operands()


def test_a_machine_with_other_lanes_is_refused() -> None:
    with pytest.raises(DistributionError, match="executed by 64 lanes"):
        la.instruction("v_mfma_f32_16x16x16_f16").operands(machine=la.Machine(lanes=32))
    with pytest.raises(DistributionError, match="16x16x16"):
        la.instruction("v_mfma_f32_16x16x16_f16").operands((8, 8, 8))


# Loads that transpose


def test_ds_read_b64_tr_b16_gives_each_lane_what_the_hardware_was_seen_to_give() -> None:
    """Lane l's halfword n is halfword l & 3 of lane ((l & ~15) | (l >> 2 & 3)) + 4 n (ROCm/rocm-systems, PR 10175)."""
    load = la.instruction("ds_read_b64_tr_b16")
    read, got = (load[role].layout.fragment_map()[0] for role in ("source", "destination"))
    for lane in range(64):
        for n in range(4):
            source = ((lane & ~15) | (lane >> 2 & 3)) + 4 * n
            assert got[lane, n].tolist() == read[source, lane & 3].tolist()


@pytest.mark.parametrize("name", ["global_load_tr_b128", "global_load_tr16_b128", "ds_load_tr16_b128"])
def test_loads_of_128_bits_exchange_rows_and_columns_among_8_lanes(name: str) -> None:
    load = la.instruction(name)
    read, got = (load[role].layout.fragment_map()[0] for role in ("source", "destination"))
    for lane in range(32):
        for n in range(8):
            assert got[lane, n].tolist() == read[(lane & ~7) | n, lane & 7].tolist()


@pytest.mark.parametrize("name", ["ds_read_b64_tr_b8", "ds_read_b96_tr_b6", "global_load_tr_b64", "ds_load_tr4_b64"])
def test_transposed_loads_that_nobody_describes_are_refused(name: str) -> None:
    with pytest.raises(DistributionError, match="compared with hardware"):
        la.instruction(name).operands()


def test_readings_are_those_that_differ() -> None:
    alike = la.instruction("MFMA_F32_16x16x16_F16")
    assert (alike.readings, alike.reading) == ((), "IREE")
    assert la.instruction("rdna4/v_wmma_f32_16x16x16_f16/w32").readings == ("IREE", "Triton")


def test_the_note_on_indices_does_not_hide_the_index_expressions() -> None:
    [e] = [one for one in la.instruction("v_smfmac_f32_16x16x32_f16").operands() if one.name.startswith("E")]
    assert dict(e.notes)["indices"] == "4 bits for each four of A"
    assert "index" not in dict(e.notes)


def test_a_wave_that_a_chip_does_not_have_is_refused_for_that_chip() -> None:
    with pytest.raises(la.LayoutError, match="on gfx942: waves have 64 lanes, not 32"):
        la.instruction("gfx942/v_mfma_f32_16x16x16_f16/w32")
