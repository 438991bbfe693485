"""`la.known_instructions`, `layoutalg list`, and what is said of words that are not one instruction's name."""

from __future__ import annotations

import json
import time

import pytest

import layoutalg as la
from layoutalg.cli.program import main
from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.instructions.registry import rows
from layoutalg.instructions.suggestions import nearest, said_of


def names(*filters: str) -> set[str]:
    return {one.name for one in la.known_instructions(*filters)}


def test_filters_combine() -> None:
    assert (
        names("gfx942", "f64")
        == names("gfx942") & names("f64")
        == {
            "v_mfma_f64_16x16x4_f64",
            "v_mfma_f64_4x4x4_4b_f64",
        }
    )
    assert names() == set(rows())
    assert names("sm_80", "dpas") == set()


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("sm80", "sm_80"),
        ("WMMA", "wmma"),
        ("AMD", "amd"),
        ("rdna3", "gfx11"),
        ("rdna4", "gfx120"),
        ("cdna3", "gfx942"),
        ("mi300x", "gfx942"),
        ("a100", "sm_80"),
        ("H100", "sm_90"),
        ("b580", "bmg"),
        ("xe", "Intel"),
        ("xe-hpc", "pvc"),
        ("hopper", "sm_90"),
        ("sm_90a", "sm_90"),
        ("sm_100", "sm_100a"),
        ("H100", "sm_90"),
        ("cuda:80", "sm_80"),
        ("hip:gfx942", "gfx942"),
        ("intel_gpu_pvc", "pvc"),
        ("b580", "bmg"),
        ("m16n8k16", "16x8x16"),
    ],
)
def test_a_chip_and_a_family_have_several_words(word: str, same: str) -> None:
    assert names(word) == names(same) != set()


def test_gfx12_is_rdna_4_and_gfx1250() -> None:
    assert names("gfx12") == names("gfx1200") | names("gfx1201") | names("gfx1250") | names("gfx1251")


def test_the_chips_of_an_instruction_are_those_that_find_it() -> None:
    for chip in ("gfx908", "gfx90a", "gfx950", "gfx1100", "gfx1201", "gfx1250", "bmg", "sm_80"):
        assert names(chip) == {row.name for row in rows().values() if chip in row.chips} != set()


def test_a_chip_of_nvidia_has_the_instructions_of_both_its_targets() -> None:
    of_both = {row.name for row in rows().values() if {"sm_90", "sm_90a"} & set(row.chips)}
    assert names("sm_90") == of_both
    assert {"SM80_16x8x16_F32F16F16F32_TN", "SM90_64x128x16_F32F16F16_SS", "SM75_U32x4_LDSM_N"} <= of_both


@pytest.mark.parametrize("word", ["foo", "", "gfx", "x" * 500, "16x16x16x16", "f17", "sm_"])
def test_an_unknown_filter_is_refused_with_what_there_is(word: str) -> None:
    with pytest.raises(LayoutError, match=r"expected a kind \(copy, layout, mma\); a family \(2D block, DPAS, MFMA"):
        la.known_instructions(word)


def test_filters_are_words() -> None:
    for wrong in (3, None, ["mma"]):
        with pytest.raises(LayoutError, match="filter"):
            la.known_instructions(wrong)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="at most 16"):
        la.known_instructions(*["mma"] * 17)


def test_list_prints_a_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "gfx942", "f64"]) == 0
    heading, *lines, count = capsys.readouterr().out.splitlines()
    assert heading.split() == ["instruction", "shape", "types", "chips", "threads", "source"]
    assert [line.split()[0] for line in lines] == ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"]
    assert count == "2 instructions"
    assert main(["list", "gfx942", "f64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["filters"] == ["gfx942", "f64"]
    first = found["instructions"][0]
    assert first["shape"] == [16, 16, 4]
    assert first["chips"] == ["gfx90a", "gfx942", "gfx950"]
    assert first["sources"]["A"]["confirmed"] == ["IREE 3.13", "Triton 3.9"]
    assert main(["list", "nothing"]) == 2
    assert "filter 'nothing': expected" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["show"], ["draw", "-o", "build/none.svg"], ["same", "d0 = 4@lane"]])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("WMMA", "WMMA is a family of 63 instructions: v_wmma_f32_16x16x16_f16 (gfx11, gfx120), "),
        ("gfx1201", "gfx1201 has 48 instructions: v_wmma_f32_16x16x16_f16, "),
        ("dpas", "dpas is a family of 23 instructions: dpas.f16.f16.f32 (pvc, bmg, lnl, ptl), "),
        ("mma.sync.aligned.m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 (sm_80 to sm_121), "),
        ("SM80_16x8x16_F32F16F16F32", "did you mean SM80_16x8x16_F32F16F16F32_TN"),
        ("mfma16x16", "did you mean "),
        ("m16n8k16", "m16n8k16 has 17 instructions: SM80_16x8x16_F16F16F16F16_TN, "),
        ("ldmatirx.x4", "did you mean ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
        ("wgma.m64n128k16", "did you mean wgmma.mma_async.sync.aligned.m64n128k16."),
        ("SM80_16x8x16_F32F16F16F32_TN.D", "has no operand 'D': it has A, B, C"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", "PTX leaves open who holds what of wmma's fragments"),
    ],
)
def test_a_word_that_is_not_one_instruction_s_name_is_answered_with_names(
    command: list[str], text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, text]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert not shown.out


@pytest.mark.parametrize(
    "name",
    [
        "ldmatrix.x4",
        "tcgen05.ld.32x32b.x4",
        "mma.m16n8k16.f32.f16.f16.f32",
        "SM80_16x8x16_F32F16F16F32_TN",
        "ds_read_b64_tr_b16",
        "v_wmma_f32_16x16x16_f16",
        "dpas.bmg.f16",
    ],
)
def test_names_may_be_in_capitals_or_small_letters(name: str) -> None:
    assert la.parse(name.upper()) == la.parse(name.lower()) == la.instruction(name)


@pytest.mark.parametrize(("chip", "generation"), [("gfx1100", "rdna3"), ("gfx1200", "rdna4")])
def test_words_that_waves_of_32_and_of_64_fit_are_those_of_32(chip: str, generation: str) -> None:
    """As `v_wmma_f32_16x16x16_f16` alone; the other is named `.../w64`."""
    name = f"{generation}/v_wmma_f32_16x16x16_f16/w32"
    assert la.parse(f"wmma {chip} f32 f16 16x16x16") == la.instruction(name)


def test_names_of_dimensions_are_still_names_of_dimensions() -> None:
    assert str(la.parse("sm80_tile = 4@lane")) == "sm80_tile = 4@lane"


def test_texts_of_other_notations_are_refused_as_ever() -> None:
    for text in ("hello", "d0", "vector<8x16xf16>", "x"):
        with pytest.raises(ParseError, match="a text of a notation that is read"):
            la.parse(text)


@pytest.mark.parametrize(
    "name", ["mfma16x16", "SM80_16x8x16_F32F16F16F32", "wgmma_m64n128", "a" * 400, "_" * 400, "16x" * 100]
)
def test_suggestions_take_a_moment_among_all_names(name: str) -> None:
    nearest("v_mfma")  # the names are listed once
    taken: list[float] = []
    for _ in range(3):
        start = time.process_time()
        nearest(name)
        said_of(name)
        taken.append(time.process_time() - start)
    assert len(rows()) > 2500
    assert min(taken) < 0.05
