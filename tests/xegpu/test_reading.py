"""Texts of XeGPU: spellings of LLVM and of old notes, aliases, and errors that say what was meant."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.xegpu import BlockTensorDescAttr, LayoutAttr, MemLayoutAttr, RangeAttr, parse_attribute


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("#xegpu.layout<lane_layuot = [1, 16]>", "lane_layout"),
        ("#xegpu.layout<lane_layout = [1, 16], lane_dat = [1, 1]>", "lane_data"),
        ("#xegpu.layout<sg_layot = [1, 16]>", "sg_layout"),
        ("#xegpu.layuot<lane_layout = [1, 16]>", "layout"),
        ("#xegpu<layuot<lane_layout = [1, 16]>>", "layout"),
        ("!xegpu.tensor_dsc<8x16xf16>", "tensor_desc"),
        ("#xegpu.block_tdesc_attr<array_lenght = 2>", "array_length"),
        ("#xegpu.mem_layout<strides = [1, 2]>", "stride"),
        ("#xegpu.cache_hint<chached>", "cached"),
    ],
)
def test_names_that_are_nearly_right_are_corrected(text: str, meant: str) -> None:
    with pytest.raises(la.ParseError, match=f"; did you mean {meant}\\?$"):
        la.parse(text)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("#xegpu.", 8, "found the end of the text"),
        ("#xegpu<", 8, "the name of an attribute or type"),
        ("#xegpu<memory_space slm", 24, "expected '>'"),
        ("#xegpu.memory_space slm", 21, "expected '<'"),
        ("#xegpu<layout<lane_layout = [16]>", 34, "expected '>'"),
        ("!xegpu<layout<lane_layout = [16]>>", 8, "'tensor_desc', 'mem_desc', 'nbarrier'"),
        ("#xegpu.block_tdesc_attr<array_length = 2 : f32>", 44, "an integer type"),
        ("#xegpu.block_tdesc_attr<array_length = 300 : i8>", 40, "an integer of type i8, found 300"),
        ("#xegpu.mem_layout<stride = [1, 2>", 33, "expected ',' or ']'"),
        ("#xegpu.slice<#xegpu.range<[1, 2]>, dims = [0]>", 14, "#xegpu.layout or #xegpu.slice"),
        ("#xegpu.layout<" + "lane_layout" * 2000 + " = [1]>", 15, "expected 'sg_layout' or"),
        ("#xegpu<slice<" * 80, 64 * 13 + len("#xegpu<slice") + 1, "at most 64 levels"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, says: str) -> None:
    with pytest.raises(la.ParseError) as caught:
        la.parse(text)
    assert says in str(caught.value)
    assert caught.value.column == column
    assert len(str(caught.value)) < 400


def test_older_names_of_the_array_length_are_read() -> None:
    two = BlockTensorDescAttr(array_length=2)
    assert la.parse("#xegpu.block_tdesc_attr<arr_len = 2>") == two
    assert la.parse("!xegpu.tensor_desc<8x16xf16, arr_len = 2>").encoding == two
    assert la.parse("!xegpu.tensor_desc<8x16xf16, #xegpu.tdesc_attr<arr_len = 2 : i64>>").encoding == two
    for both in ("#xegpu.block_tdesc_attr<arr_len = 2, array_length = 2>", "#xegpu.scatter_tdesc_attr<arr_len = 2>"):
        with pytest.raises(la.LayoutError):
            la.parse(both)


def test_integer_types_are_part_of_the_value() -> None:
    """As in LLVM, where `2 : i32` and `2 : i64` are different attributes; lists that are all i64 have no types."""
    i32, i64 = (la.parse(f"#xegpu.block_tdesc_attr<array_length = 2 : {kind}>") for kind in ("i32", "i64"))
    assert i32 != i64 == la.parse("#xegpu.block_tdesc_attr<array_length = 2>")
    assert la.parse("#xegpu.mem_layout<stride = [32 : i64, 1]>") == MemLayoutAttr(stride=(32, 1))
    mixed = la.parse("#xegpu.mem_layout<stride = [32, 1 : i32]>")
    assert mixed == MemLayoutAttr(stride=(32, 1), stride_types=("i64", "i32")) != MemLayoutAttr(stride=(32, 1))
    kinds = "!xegpu.mem_desc<8x16xf16, #xegpu.mem_layout<stride = [32, 1 : i32]>>"
    assert la.parse(kinds).layout() == la.parse(kinds.replace(" : i32", "")).layout()
    for make in (
        lambda: MemLayoutAttr(stride=(32, 1), stride_types=("i64",)),
        lambda: MemLayoutAttr(stride=(32, 1), block_types=("i64", "i32")),
        lambda: MemLayoutAttr(stride=(32, 1), stride_types=("i64", "f32")),
        lambda: MemLayoutAttr(stride=(300, 1), stride_types=("i8", "i8")),
        lambda: RangeAttr(0, 300, end_type="i8"),
        lambda: RangeAttr(0, 10**5000),
        lambda: BlockTensorDescAttr(array_length=2, array_length_type=[]),
    ):
        with pytest.raises(la.VerificationError):
            make()


def test_aliases_are_the_readers() -> None:
    rows = LayoutAttr(lane_layout=(1, 16))
    assert parse_attribute("#rows", {"#rows": rows}) is rows
    assert parse_attribute("#xegpu<slice<#rows, dims = [0]>>", {"#rows": rows}).parent is rows
    assert la.parse("#s = #xegpu<memory_space slm>\n#s") == la.parse("#xegpu.memory_space<slm>")
    with pytest.raises(la.ParseError, match="'#rows'"):
        parse_attribute("#xegpu.slice<#row, dims = [0]>", {"#rows": rows})
    with pytest.raises(la.ParseError, match=r"#xegpu.mem_layout, found #xegpu.layout"):
        parse_attribute("!xegpu.mem_desc<8x16xf16, #rows>", {"#rows": rows})
    other = la.parse("!amx.tile<16x64xi8>")
    with pytest.raises(la.ParseError, match=r"one encoding and one layout"):
        parse_attribute("!xegpu.tensor_desc<8x16xf16, #rows>", {"#rows": other})


def test_a_mem_desc_has_its_own_shape() -> None:
    desc = la.parse("!xegpu.mem_desc<8x16xf16>")
    assert desc.layout((8, 16)) == desc.layout()
    with pytest.raises(la.DistributionError, match="has sizes of its own, 8x16"):
        desc.layout((4, 4))
