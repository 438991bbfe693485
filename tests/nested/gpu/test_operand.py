"""Operands of MMA kinds as values, and intrinsics by their names alone: read, printed, compared, converted."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.core import ConversionError, DistributionError, LayoutError, ParseError, VerificationError
from layoutalg.nested.gpu import INTRINSICS, VIRTUAL_INTRINSICS, DataTiledMMAAttr, MMAOperand, mma

OPERANDS = ("lhs", "rhs", "acc")
TILED = "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, subgroups_m = 2, intrinsics_n = 2>"


@pytest.mark.parametrize("name", [*INTRINSICS, *VIRTUAL_INTRINSICS, "WMMA_F32_16x16x16_F16"])
def test_every_intrinsic_is_read_by_its_name_alone(name: str) -> None:
    kind = la.parse(name)
    assert kind == mma(name)
    assert la.parse(str(kind)) == kind
    assert la.parse(f"#a = {name}\n#a") == kind


@pytest.mark.parametrize("name", [*INTRINSICS, *VIRTUAL_INTRINSICS])
@pytest.mark.parametrize("operand", OPERANDS)
def test_every_operand_is_the_layout_that_the_kind_gives(name: str, operand: str) -> None:
    value = la.parse(f"{name}.{operand}")
    assert la.parse(str(value)) == value
    assert hash(la.parse(str(value))) == hash(value)
    kind = mma(name)
    if kind.intrinsic.is_opaque:
        with pytest.raises(DistributionError, match="opaque"):
            value.operands()
        return
    index = OPERANDS.index(operand)
    found = value.operands()
    assert len(found) == 1
    assert found[0].layout == kind.operands()[index].layout == getattr(kind, operand)
    assert value.layout() == found[0].layout
    assert found[0].role == "ABC"[index]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("MFMA_F32_16x16x16_F16.acc", "MFMA_F32_16x16x16_F16.acc"),
        ("  MFMA_F32_16x16x16_F16.Acc // the accumulator", "MFMA_F32_16x16x16_F16.acc"),
        ("WMMA_F32_16x16x16_F16.LHS", "WMMAR3_F32_16x16x16_F16.lhs"),
        ("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>.rhs", "MFMA_F32_16x16x16_F16.rhs"),
        ("#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>.rhs", "VMFMA_F32_16x16x32_F16.rhs"),
        (f"{TILED}.acc", None),
        ("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>.acc", None),
    ],
)
def test_spellings_of_an_operand(text: str, printed: str | None) -> None:
    value = la.parse(text)
    assert str(value) == (TILED + ".acc" if printed is None and "tiled" in text else printed or text)
    assert la.parse(str(value)) == value


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("MFMA_F32_16x16x17_F16", 1),
        ("MFMA_F32_16x16x17_F16.acc", 1),
        ("MFMA_F32_16x16x16_F16.c", 22),
        ("MFMA_F32_16x16x16_F16.accu", 22),
        ("MFMA_F32_16x16x16_F16.acc.lhs", 22),
        ("MFMA_F32_16x16x16_F16 .acc", 23),
        ("#iree_gpu.lane_id<0>.acc", 21),
        ("MFMA_", 1),
    ],
)
def test_what_is_not_an_operand_is_refused_at_its_column(text: str, column: int) -> None:
    with pytest.raises(ParseError) as found:
        la.parse(text)
    assert found.value.column == column


def test_a_dimension_may_have_an_intrinsics_name() -> None:
    assert la.parse("MFMA_rows = 4@lane") == la.Layout.parse("MFMA_rows = 4@lane")


def test_operands_are_compared_converted_and_drawn_like_layouts() -> None:
    assert la.same("MFMA_F32_16x16x16_F16.acc", "d0 = 4@lane:16 4@reg, d1 = 16@lane")
    assert not la.same("MFMA_F32_16x16x16_F16.acc", "MFMA_F32_16x16x16_F16.lhs")
    plan = la.convert("MFMA_F32_16x16x16_F16.acc", "MFMA_F32_16x16x16_F16.lhs")
    assert plan.kind == la.convert(mma("MFMA_F32_16x16x16_F16").acc, mma("MFMA_F32_16x16x16_F16").lhs).kind
    assert "svg" in la.parse("MFMA_F32_16x16x16_F16.acc").picture().svg()
    with pytest.raises(ConversionError, match="3 layouts"):
        la.convert("MFMA_F32_16x16x16_F16", "MFMA_F32_16x16x16_F16.lhs")


def test_subgroups_hold_copies_and_the_lanes_are_the_intrinsics() -> None:
    value = la.parse("MFMA_F32_16x16x16_F16.acc")
    assert value.layout((16, 16), la.Machine(lanes=64, subgroups=4)).axes == {"sg": 4, "lane": 64, "reg": 4}
    for one in (value, mma("MFMA_F32_16x16x16_F16"), DataTiledMMAAttr("MFMA_F32_16x16x16_F16")):
        with pytest.raises(DistributionError, match="64 lanes together"):
            one.operands(machine=la.Machine(lanes=32))
    with pytest.raises(DistributionError, match="sizes of its own"):
        value.layout((16, 32))


def test_a_data_tiled_rhs_is_as_it_lies_in_memory() -> None:
    kind = la.parse(TILED)
    assert isinstance(kind, DataTiledMMAAttr)
    rhs = la.parse(f"{TILED}.rhs").operands()[0]
    assert rhs.layout == kind.rhs
    assert rhs.role is None
    assert rhs.tile == (16, 16)


@pytest.mark.parametrize(("kind", "fragment"), [("MFMA", "acc"), (mma("MFMA_F32_16x16x16_F16"), "C"), (None, 0)])
def test_wrong_parts_of_an_operand(kind: object, fragment: str) -> None:
    with pytest.raises(VerificationError):
        MMAOperand(kind, fragment)  # type: ignore[arg-type]


NOT_NAMES = [10**5000, -(10**5000), None, 1.5, "x" * 10**6, ["MFMA"], "MFMA_F32_16x16x16_F16\ud800"]


@pytest.mark.parametrize("name", NOT_NAMES, ids=lambda name: type(name).__name__)
def test_whatever_is_not_a_name_is_refused_in_a_line(name: object) -> None:
    with pytest.raises(LayoutError) as found:
        la.mma(name)  # type: ignore[arg-type]
    assert len(str(found.value)) < 400
