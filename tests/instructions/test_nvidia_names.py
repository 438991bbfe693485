"""NVIDIA's instructions by the names that people type, and what is said where a name is not one."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.cute import atom, from_cute
from layoutalg.instructions import instruction
from layoutalg.instructions.instruction import OperandOf
from layoutalg.instructions.registry import rows

SAME = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "SM80_16x8x16_F32F16F16F32_TN"),
    ("mma.m16n8k16.f32.f16.f16.f32", "SM80_16x8x16_F32F16F16F32_TN"),
    ("cute::SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x16_F32F16F16F32_TN"),
    ("sm80_16x8x16_f32f16f16f32_tn", "SM80_16x8x16_F32F16F16F32_TN"),
    ("mma.m16n8k256.s32.b1.b1.s32.and.popc", "SM80_16x8x256_S32U1U1S32_TN_ANDPOPC"),
    ("mma.m16n8k32.s32.s8.u8.s32.satfinite", "SM80_16x8x32_S32S8U8S32_TN_SATURATE"),
    ("mma.m8n8k4.row.col.f32.f16.f16.f32", "SM70_8x8x4_F32F16F16F32_TN"),
    ("mma.m8n8k4.row.row.f16.f16.f16.f16", "SM70_8x8x4_F16F16F16F16_TT"),
    ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "SM90_64x128x16_F32F16F16_SS"),
    ("SM90_64x128x16_F32F16F16_SS_TN", "SM90_64x128x16_F32F16F16_SS"),
    ("SM90::GMMA::MMA_64x128x16_F32F16F16_RS", "SM90_64x128x16_F32F16F16_RS"),
    ("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.bf16.bf16", "SM90::GMMA::SPARSE::GMMA_64x64x32_F32BF16BF16_SS"),
    ("ldmatrix.x4.trans", "SM75_U16x8_LDSM_T"),
    ("ldmatrix.x4", "SM75_U32x4_LDSM_N"),
    ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "SM75_U16x8_LDSM_T"),
    ("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16", "SM75_U16x8_LDSM_T"),
    ("stmatrix.x2", "SM90_U32x2_STSM_N"),
    ("movmatrix", "SM75_U32x1_MOVM_T"),
    ("tcgen05.ld.sync.aligned.16x256b.x4.b32", "SM100_TMEM_LOAD_16dp256b4x"),
    ("tcgen05.st.32x32b.x8.unpack::16b", "SM100_TMEM_STORE_32dp32b8x_16b"),
    ("tcgen05.cp.cta_group::1.32x128b.warpx4", "SM100_UTCCP_4x32dp128bit_1cta"),
    ("mma.kind::f8f6f4.m16n8k32.f32.e2m1.e3m2.f32", "SM120_16x8x32_TN<float_e2m1_t,float_e3m2_t,float>"),
    ("dp4a", "SM61_DP4A"),
]


@pytest.mark.parametrize(("written", "name"), SAME)
def test_a_name_that_people_type_is_one_instruction(written: str, name: str) -> None:
    found = instruction(written)
    assert found == instruction(name)
    assert found.name == name
    assert la.parse(str(found)) == found


@pytest.mark.parametrize(
    ("written", "count", "one"),
    [
        ("mma.m16n8k16", 8, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("mma.m8n8k4.f32", 4, "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"),
        ("tcgen05.mma", 8, "tcgen05.mma.cta_group::2.kind::i8"),
        ("stmatrix", 3, "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
    ],
)
def test_a_name_of_several_instructions_lists_them(written: str, count: int, one: str) -> None:
    with pytest.raises(la.LayoutError, match=f"fits {count} instructions") as refused:
        instruction(written)
    assert one in str(refused.value)


def test_other_names_than_those_that_are_listed_take_parameters() -> None:
    sized = instruction(
        "SM100_MMA_F8F6F4_SS<float_e5m2_t, float_e2m1_t, float, 128, 96, UMMA::Major::K, UMMA::Major::MN>"
    )
    assert (sized.shape, sized.types) == ((128, 96, 32), {"A": "e5m2", "B": "e2m1", "C": "f32"})
    major = instruction("SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>")
    assert [dict(one.notes).get("major") for one in major.parts] == ["K-major", "MN-major", None]
    assert instruction("Layout_K_SW64_Atom<bfloat16_t>")["layout"].layout.shape == (8, 32)
    for wrong in (
        "SM100_MMA_F16BF16_SS<half_t,half_t,float,96,64>",
        "Layout_K_SW64_Atom<string>",
        "tmem_frg_1sm<float>(32,64)",
    ):
        with pytest.raises(la.LayoutError, match=r"no instruction|fits"):
            instruction(wrong)


def test_whose_reading_is_said() -> None:
    ours = instruction("SM80_16x8x16_F32BF16BF16F32_TN")
    theirs = instruction("NV_MMA_SYNC_F32_16x8x16_BF16")
    assert (ours.readings, theirs.reading, theirs.name) == (("IREE",), "IREE", ours.name)
    assert theirs == instruction(ours.name, "IREE") == la.parse(f"{ours.name}@IREE")
    assert ours["A"].layout != theirs["A"].layout
    assert "IREE 3.13" in theirs["A"].source
    # CUTLASS's atom reorders the registers of this one, so its mnemonic is another reading.
    assert instruction("ldmatrix.m16n16.x2.trans.b8").reading == "PTX"
    with pytest.raises(la.LayoutError, match="has no reading 'me': it has IREE"):
        instruction(ours.name, "me")


def test_an_operand_is_a_value_that_everything_takes() -> None:
    c = la.parse("mma.m16n8k16.f32.f16.f16.f32.C")
    assert isinstance(c, OperandOf)
    assert la.same(
        c, "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    )
    assert la.same(c, "NV_MMA_SYNC_F32_16x8x16_F16.acc")
    plan = la.convert("SM80_16x8x16_F32F16F16F32_TN.C", "d0 = 16@reg, d1 = 8@lane 1@reg | replicas 4@lane:8")
    assert plan.shuffles > 0
    with pytest.raises(la.LayoutError, match="has no operand 'E': it has A, B, C"):
        la.parse("SM80_16x8x16_F32F16F16F32_TN.E")


def test_an_atom_is_the_same_by_cutlass_s_names() -> None:
    mma = atom("SM80_16x8x16_F32F16F16F32_TN")
    assert mma.names == ("ThrID", "ALayout", "BLayout", "CLayout")
    assert str(mma["ALayout"]) == "((4,8),(2,2,2)):((32,1),(16,8,128))"
    assert from_cute(mma["CLayout"], (16, 8)) == mma.instruction["C"].layout
    assert str(atom("SM70_8x8x4_F32F16F16F32_NT")["ThrID"]) == "(4,2):(1,16)"
    assert str(atom("Layout_K_SW128_Atom<half_t>")["layout"]) == "Sw<3,3,3> o 0 o (8,64):(64,1)"
    assert str(atom("SM100_UTCCP_4dp256bit_1cta")["SrcLayout"]) == "(1,(4,256)):(0,(32,128))"
    with pytest.raises(la.LayoutError, match="has no 'DLayout'"):
        mma["DLayout"]


def test_every_instruction_builds_with_operands_that_say_their_source() -> None:
    for row in rows().values():
        if row.vendor == "NVIDIA":
            found = row.build()
            assert found.chips == row.chips
            assert all(part.source for part in found.parts), row.name
            assert len(found.operands()) == len(found.parts)


@pytest.mark.parametrize(("word", "role"), [("a", "A"), ("b", "B"), ("acc", "C"), ("rhs", "B")])
def test_an_operand_may_have_small_letters_or_the_words_of_iree(word: str, role: str) -> None:
    name = "mma.m16n8k16.f32.f16.f16.f32"
    assert la.parse(f"{name}.{word}") == la.parse(f"{name}.{role}")
