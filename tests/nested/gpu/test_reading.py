"""Reading attributes of iree_gpu: where values end, what a lowering config has, strings that are not text."""

from __future__ import annotations

import pickle

import pytest

import layoutalg as la
from layoutalg.core import DistributionError, LayoutError, ParseError
from layoutalg.core.reader import Reader
from layoutalg.nested.gpu import LoweringConfigAttr, TargetChipAttr, mma, parse_gpu
from layoutalg.nested.gpu.dictionary import Dictionary, Raw, read_value

MFMA = "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
KEPT = [
    *("affine_map<(d0)[s0] -> (d0 + s0)>", "affine_set<(d0) : (d0 - 1 >= 0, d0 <= 4)>", "dense<1> : tensor<2xi32>"),
    *("array<i64: 1, 2>", "@a::@b", '@"x y"', "(i32, f32) -> (f32)", "(i32) -> f32", "() -> ()", "vector<2x[4]xf32>"),
    *("!foo.bar<a, b>", '#foo.bar<"x>"> : i32', "distinct[0]<42 : i32>", 'loc("a":1:2)', "strided<[1, ?], offset: ?>"),
    *("i32", "index", "none", "memref<?xf32, affine_map<(d0) -> (d0)>, 1>", "f8E4M3FN", "tensor<4xf32, #foo.bar>"),
    *("#iree_codegen.xor_shuffle<256, 32>", "dense_resource<x> : tensor<4xf32>", "complex<f32>"),
]


@pytest.mark.parametrize("text", KEPT)
@pytest.mark.parametrize("rest", ["", ", next", " // a comment", "\n#next", " ]", "}", " >"])
def test_what_is_kept_as_text_ends_where_mlir_ends_it(text: str, rest: str) -> None:
    reader = Reader(text + rest)
    assert read_value(reader) == Raw(text)
    assert reader.position == len(text)


def test_a_map_before_a_layout_does_not_swallow_it() -> None:
    text = "#map = affine_map<(d0) -> (d0)>\n#xegpu.layout<lane_layout = [1, 16]>"
    assert la.parse(text) == la.LayoutAttr(lane_layout=(1, 16))
    assert la.parse("#map = affine_map<(d0) -> (d0)>") == Raw("affine_map<(d0) -> (d0)>")


@pytest.mark.parametrize("text", ["f32 f32", "affine_map<(d0) -> (d0)> x", "@a @b", "i32]", "vector<4xf32", "(i32) ->"])
def test_what_follows_a_value_is_not_part_of_it(text: str) -> None:
    with pytest.raises(ParseError):
        la.parse(f"#iree_gpu.lowering_config<{{a = {text}}}>")


@pytest.mark.parametrize("text", ["a\ud800", "\udfff\ud800b", "\udc80", "é\ud83d", "\ue000"])
def test_strings_with_lone_surrogates_are_values_like_others(text: str) -> None:
    made = LoweringConfigAttr(Dictionary((("a", text), (text, 1))))
    for value in (made, TargetChipAttr(1, sku=text)):
        again = la.parse(str(value))
        assert again == value
        assert hash(again) == hash(value)
        assert str(again) == str(value)
        assert str(value).isascii()
        assert pickle.loads(pickle.dumps(value)) == value
    read = la.parse(f'#iree_gpu.target_chip<wgp_count = 1, sku = "{text}">')
    assert la.parse(str(read)) == read


@pytest.mark.parametrize("kind", [MFMA, "#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>"])
def test_a_lowering_config_has_the_operands_of_its_kind(kind: str) -> None:
    config = la.parse(f"#iree_gpu.lowering_config<{{mma_kind = {kind}, workgroup = [64, 64, 0]}}>")
    expected = la.parse(kind)
    assert config.operands() == expected.operands()
    assert config.heading() == expected.heading()
    aliased = la.parse(f"#k = {kind}\n#iree_gpu.lowering_config<{{mma_kind = #k, workgroup = [64, 64, 0]}}>")
    assert aliased == config


@pytest.mark.parametrize("entries", ["", "mma_kind = 3", "mma_kind = #iree_gpu.lane_id<0>", "workgroup = [1]"])
def test_a_lowering_config_without_a_kind_distributes_nothing(entries: str) -> None:
    with pytest.raises(DistributionError, match="mma_kind"):
        la.parse(f"#iree_gpu.lowering_config<{{{entries}}}>").operands()


def test_kinds_say_their_products_themselves() -> None:
    one = mma("MFMA_F32_4x4x4x16B_F16").product()
    assert (one.sizes, one.types, one.blocks, one.subgroup_size) == ((4, 4, 4), ("f16", "f16", "f32"), 16, 64)
    assert mma("VMFMA_F32_16x16x32_F16").product().note == "2 x MFMA_F32_16x16x16_F16 on shares of the registers"
    assert mma("VMFMA_F32_16x16x32_F8E4M3FNUZ").product().note == "MFMA_F32_16x16x32_F8E4M3FNUZ, k in another order"
    schedule = la.parse(f"#iree_gpu.mma_schedule<intrinsic = {MFMA}, subgroup_m_count = 2, subgroup_n_count = 2>")
    operands = schedule.operands((64, 64, 32))
    assert [label for one in operands for label, _ in one.notes] == ["title", "nested"] * 3
    for one in operands:
        nested = la.parse(dict(one.notes)["nested"])
        assert nested.layout(one.layout.shape, la.Machine(lanes=64, subgroups=4)) == one.layout


def test_aliases_stand_for_attributes_inside_attributes() -> None:
    text = f"#a = {MFMA}\n#iree_gpu.mma_schedule<intrinsic = #a, subgroup_m_count = 2, subgroup_n_count = 1>"
    assert la.parse(text).operands()[0].layout.shape == (32, 16)
    copy = "#c = #iree_gpu.use_global_load_dma\n#iree_gpu.promote_with_cache_swizzle<#c>"
    assert la.parse(copy) == parse_gpu("#iree_gpu.promote_with_cache_swizzle<#iree_gpu.use_global_load_dma>")


@pytest.mark.parametrize("depth", [10, 63, 64, 1000, 100_000])
def test_deep_values_are_read_or_refused_quickly(depth: int) -> None:
    for opening, closing in (("(i32) -> (", ")"), ("[", "]"), ("{a = ", "}"), ("vector<", ">")):
        text = f"#iree_gpu.lowering_config<{{a = {opening * depth}i32{closing * depth}}}>"
        try:
            la.parse(text)
        except LayoutError as error:
            assert len(str(error)) < 400
