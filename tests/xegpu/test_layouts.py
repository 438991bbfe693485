"""XeGPU layouts beyond the compilers' tables: lane-level slices by brute force, fragment types, loads that LLVM ignores."""

from __future__ import annotations

import random
import re
from itertools import product
from math import prod

import pytest

import layoutalg as la
from layoutalg.hardware import block_load
from layoutalg.xegpu import EnumAttr, FragmentType, LayoutAttr, SliceAttr, TensorDescType, parse_attribute

WORD = EnumAttr("memory_space", "slm")
HUGE = (pytest.param(10**5000, id="10**5000"), pytest.param(-(10**5000), id="-10**5000"))


def held_by_the_rule(
    attr: LayoutAttr, dims: tuple[int, ...], shape: tuple[int, ...]
) -> dict[int, list[tuple[int, ...]]]:
    """Who holds what of a lane-level slice, by the rule in words: take the id apart over the whole parent layout, then drop
    the sliced dimensions; a lane's elements are row-major over its distributed vector."""
    lanes, data = attr.lane_layout, attr.lane_data
    order = attr.order or tuple(reversed(range(len(lanes))))
    kept = [d for d in range(len(lanes)) if d not in dims]
    found = {}
    for one in range(prod(lanes)):
        rest, place = one, [0] * len(lanes)
        for d in order:
            rest, place[d] = divmod(rest, lanes[d])
        axes = []
        for d, size in zip(kept, shape, strict=True):
            rounds = size // (lanes[d] * data[d])
            axes.append([(r * lanes[d] + place[d]) * data[d] + i for r in range(rounds) for i in range(data[d])])
        found[one] = list(product(*axes))
    return found


def test_lane_level_slices_hold_what_the_rule_says() -> None:
    rng = random.Random(7)
    for _ in range(200):
        rank = rng.randint(2, 4)
        lanes = tuple(rng.choice((1, 2, 3, 4)) for _ in range(rank))
        data = tuple(rng.choice((1, 2, 3)) for _ in range(rank))
        order = tuple(rng.sample(range(rank), rank)) if rng.random() < 0.7 else None
        dims = tuple(sorted(rng.sample(range(rank), rng.randint(1, rank - 1))))
        attr = LayoutAttr(lane_layout=lanes, lane_data=data, order=order)
        kept = [d for d in range(rank) if d not in dims]
        shape = tuple(lanes[d] * data[d] * rng.randint(1, 2) for d in kept)
        sliced = SliceAttr(attr, dims)
        nested: LayoutAttr | SliceAttr = attr
        for d in reversed(dims):
            nested = SliceAttr(nested, (d,))
        layout = sliced.layout(shape)
        assert layout == nested.layout(shape)
        held = layout.fragment_map()
        for one, expected in held_by_the_rule(attr, dims, shape).items():
            assert [tuple(c) for c in held[0, one].tolist()] == expected, (sliced, shape, one)


def test_a_lane_level_slice_shows_who_shares() -> None:
    """The lane stride of a slice with order [0, 2, 1] that reviewers of LLVM disagreed on: lanes count d0 fastest."""
    attr = la.parse(
        "#xegpu.slice<#xegpu.layout<lane_layout = [2, 4, 2], lane_data = [1, 1, 1], order = [0, 2, 1]>, dims = [2]>"
    )
    layout = attr.layout((2, 4))
    assert str(layout) == "d0 = 2@lane, d1 = 4@lane:4 | replicas 2@lane:2"
    assert layout.owners((1, 3)) == [(0, 13, 0), (0, 15, 0)]


# The rows of facts on fragment types: what LLVM 22's subgroup distribution gives.
@pytest.mark.parametrize(
    ("lanes", "data", "shape", "element", "stated"),
    [
        ((1, 16), (1, 1), (8, 16), "f16", "vector<8xf16>"),
        ((1, 16), (2, 1), (16, 16), "f16", "packed vector<16xf16>"),
        ((1, 16), (4, 1), (32, 16), "i8", "packed vector<32xi8>"),
        ((1, 16), (8, 1), (64, 16), "i4", "packed vector<64xi4>"),
        ((1, 16), (1, 2), (8, 32), "i8", "vector<16xi8>"),
        ((16, 1), (1, 2), (16, 16), "f16", "transposed vector<16xf16>"),
        ((16,), (1,), (32,), "f32", "vector<2xf32>"),
    ],
)
def test_fragment_types_at_lane_level(
    lanes: tuple[int, ...], data: tuple[int, ...], shape: tuple[int, ...], element: str, stated: str
) -> None:
    assert str(LayoutAttr(lane_layout=lanes, lane_data=data).fragment_type(shape, element)) == stated


def test_fragment_types_count_rounds_and_instructions() -> None:
    attr = LayoutAttr(sg_layout=(2, 2), sg_data=(16, 32), inst_data=(8, 16), lane_layout=(1, 16), lane_data=(1, 1))
    assert attr.fragment_type((64, 64), "f16", "subgroup") == FragmentType((8, 16), "f16", count=2 * 4)
    assert attr.fragment_type((64, 64), "f16") == FragmentType((8,), "f16", count=2 * 4)
    assert prod(attr.layout((64, 64)).fragment_shape) == 8 * 8
    assert attr.fragment_type((64, 64), "f16", block=False) == FragmentType((8, 1), "f16", count=2 * 4)
    assert str(LayoutAttr(lane_layout=(2, 8)).fragment_type((4, 32), "f32", block=False)) == "vector<2x4xf32>"


def test_fragment_types_need_a_layout_that_tiles_the_shape() -> None:
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    with pytest.raises(la.DistributionError, match="dimension 1"):
        attr.fragment_type((8, 24), "f16")
    with pytest.raises(la.DistributionError, match="no lane_layout"):
        LayoutAttr(sg_layout=(2, 2)).fragment_type((8, 24), "f16")
    with pytest.raises(la.VerificationError, match="element type"):
        attr.fragment_type((8, 16), "index")
    with pytest.raises(la.DistributionError, match="expected 'subgroup' or 'lane'"):
        attr.fragment_type((8, 16), "f16", "warp")


@pytest.mark.parametrize(
    ("lanes", "data", "shape", "element", "agrees"),
    [
        ((1, 16), (1, 1), (8, 16), "f16", True),
        ((1, 16), (2, 1), (16, 16), "f16", True),
        ((1, 16), (1, 2), (8, 32), "i8", True),
        ((16, 1), (1, 1), (16, 8), "f32", True),
        ((16, 1), (1, 2), (16, 16), "f16", True),
        ((2, 8), (1, 1), (8, 8), "tf32", True),
        ((2, 8), (1, 1), (8, 16), "f16", False),
        ((4, 4), (1, 1), (8, 16), "f16", False),
        ((1, 16), (1, 1), (8, 32), "i8", False),
        ((1, 16), (1, 1), (8, 12), "f16", None),
    ],
)
def test_lane_layouts_that_a_block_load_does_not_deliver_are_reported(
    lanes: tuple[int, int], data: tuple[int, int], shape: tuple[int, int], element: str, agrees: bool | None
) -> None:
    attr = LayoutAttr(lane_layout=lanes, lane_data=data)
    if agrees is None:
        with pytest.raises(la.VerificationError, match="cannot distribute"):
            TensorDescType(shape, element, None, attr)
        return
    found = TensorDescType(shape, element, None, attr).load_mismatch()
    assert (found is None) == agrees, found


def test_same_map_in_different_words_is_equal() -> None:
    plain, vnni = (LayoutAttr(lane_layout=(1, 16), lane_data=(n, 1)).layout((16, 16)) for n in (1, 2))
    assert plain == vnni == block_load(16, 16, 16, transform=True).layout
    by_columns = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 2)).layout((16, 32))
    assert by_columns != LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)).layout((16, 32))


# The two corners where LLVM accepts what means nothing, and what it refuses though it means something.


def test_a_block_larger_than_the_tensor_has_origins_but_no_layout() -> None:
    attr = LayoutAttr(sg_layout=(2,), sg_data=(32,))
    assert attr.check((16,), llvm=22) is None
    assert attr.blocks((16,)) == {0: [(0,)], 1: [(0,)]}
    with pytest.raises(la.DistributionError, match=r"dimension 0 .* has size 16: sg_data\[0\] = 32 is larger"):
        attr.layout((16,))


def test_wrapped_blocks_that_overlap_have_origins_but_no_layout() -> None:
    attr = LayoutAttr(sg_layout=(6,), sg_data=(16,))
    assert attr.check((24,), llvm=22) is None
    assert attr.blocks((24,))[2] == [(8,)]
    with pytest.raises(la.DistributionError, match="overlap without coinciding"):
        attr.layout((24,))


def test_each_version_of_llvm_has_its_verdict_and_its_words() -> None:
    """What mlir-opt 22, 23 and 24 said; the live test asks them about other pairs."""
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    assert [attr.check((1, 8), llvm=version) for version in (22, 23, 24)] == [
        f"cannot distribute [1, 8] using {attr}",
        "'xegpu.convert_layout' op invalid input layout, data cannot be evenly distributed.",
        "'xegpu.convert_layout' op invalid input layout, data cannot be evenly distributed.",
    ]
    assert [attr.check((8, 1), llvm=version) is None for version in (22, 23, 24)] == [False, True, True]
    bare = LayoutAttr(sg_layout=(2, 2), lane_layout=(1, 16))
    assert bare.check((16, 32), llvm=22) is None
    assert bare.check((16, 32)) == bare.check((16, 32), llvm=24) == "sg_layout and sg_data must be used together"
    assert SliceAttr(bare, (0,)).check((32,), llvm=23) == "sg_layout and sg_data must be used together"
    assert attr.check((16,), llvm=24) == "expected layout rank to match tensor rank"
    assert str(attr.layout((1, 8))) == "d0 = 1, d1 = 8@lane | replicas 2@lane:8"


@pytest.mark.parametrize("llvm", [19, 25, True, None, "22", {}, [], 22.0, *HUGE])
def test_versions_that_are_not_known_are_refused(llvm: object) -> None:
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    desc = TensorDescType((8, 16), "f16", None, attr)
    asked = attr.check, attr.descriptor_problem, lambda _, llvm: desc.check(llvm), lambda _, llvm: WORD.text(llvm)
    for ask in asked:
        with pytest.raises(la.LayoutError, match="the rules of LLVM 22, 23, 24 are known"):
            ask((8, 16), llvm=llvm)


NO_SHAPES = [{}, None, 16, "8x16", {8, 16}, (8.0, 16), range(10**9), [[8], 16], (0, 16), (8, -1), (True, 8)]


@pytest.mark.parametrize("shape", [*NO_SHAPES, pytest.param((8, 10**5000), id="huge")])
def test_shapes_that_are_not_sizes_are_refused(shape: object) -> None:
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    for ask in (attr.check, attr.blocks, attr.layout, attr.descriptor_problem):
        with pytest.raises(la.LayoutError):
            ask(shape)


def test_what_a_descriptor_may_carry_depends_on_the_version() -> None:
    parent = LayoutAttr(lane_layout=(1, 16, 1), lane_data=(1, 1, 1))
    sliced = SliceAttr(parent, (2,))
    desc = TensorDescType((8, 16), "f16", None, sliced, llvm=24)
    assert str(desc) == f"!xegpu.tensor_desc<8x16xf16, {sliced}>"
    assert desc.check(llvm=23) is None
    assert "crashes on a slice here" in desc.check(llvm=22)
    assert parse_attribute(str(desc), llvm=24) == desc
    chunks = "!xegpu.tensor_desc<16xf16, #xegpu.scatter_tdesc_attr<>>"
    for text, llvm in ((str(desc), 22), (chunks, 24)):
        with pytest.raises(la.VerificationError):
            parse_attribute(text, llvm=llvm)
    assert parse_attribute(chunks).check(llvm=22) is None
    with pytest.raises(la.LayoutError, match="LLVM 21"):
        parse_attribute(str(desc), llvm=21)
    with pytest.raises(la.VerificationError, match=r"LLVM 22 crashes on a slice here"):
        TensorDescType((8, 16), "f16", None, sliced, llvm=22)
    with pytest.raises(la.VerificationError, match=r"^cannot distribute \[8, 17\] using #xegpu.slice"):
        TensorDescType((8, 17), "f16", None, sliced, llvm=24)
    assert TensorDescType((8, 16), "f16", None, sliced) == desc  # what any version reads is read
    with pytest.raises(la.VerificationError, match=r"^cannot distribute \[8, 17\] using #xegpu.slice"):
        TensorDescType((8, 17), "f16", None, sliced)
    with pytest.raises(la.VerificationError, match=r"^expected last dim of tensor to match chunk size"):
        la.parse("!xegpu.tensor_desc<16x4xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>")
    scattered = la.parse("!xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>")
    assert scattered.check() == scattered.check(llvm=24)
    assert scattered.check(llvm=23) == "unknown attribute `scatter_tdesc_attr` in dialect `xegpu`"


def test_what_does_not_fit_is_said_first() -> None:
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    with pytest.raises(la.DistributionError) as caught:
        attr.layout((8, 15))
    assert str(caught.value).startswith("16 lanes cannot share 15 columns; 16 or 32 columns fit (")
    assert str(caught.value).endswith(f"(layout {attr}; dimension 1 of the tile that the lanes share has size 15)")
    with pytest.raises(la.DistributionError, match=r"^4 lanes of 2 rows each cannot share 12 rows; 8 or 16 rows fit"):
        LayoutAttr(lane_layout=(4, 1), lane_data=(2, 1)).layout((12, 15))
    with pytest.raises(
        la.DistributionError, match=r"^3 subgroups of 8 elements each cannot share 32 elements; 24 or 48"
    ):
        LayoutAttr(sg_layout=(3,), sg_data=(8,)).layout((32,))
    deep: LayoutAttr | SliceAttr = LayoutAttr(lane_layout=(1,) * 40 + (16,), lane_data=(1,) * 41)
    for _ in range(40):
        deep = SliceAttr(deep, (0,))
    with pytest.raises(la.DistributionError) as caught:
        deep.layout((15,))
    assert len(str(caught.value)) < 450


def test_sizes_that_would_fit_do_fit() -> None:
    rng = random.Random(17)
    refused = 0
    for _ in range(400):
        attr = LayoutAttr(lane_layout=(rng.randint(1, 9),), lane_data=(rng.randint(1, 5),))
        size = rng.randint(1, 60)
        try:
            attr.layout((size,))
        except la.DistributionError as error:
            found = re.search(r"; (\d+) or (\d+) elements fit", str(error))
            if found is not None:
                refused += 1
                assert all(attr.layout((int(fit),)).shape == (int(fit),) for fit in found.groups())
    assert refused > 100


# What a review found, kept from coming back.


def test_fragment_types_agree_with_the_layouts_registers() -> None:
    rng = random.Random(11)
    compared = 0
    for _ in range(300):
        lanes = (rng.choice((1, 2, 4)), rng.choice((1, 2, 8, 16)))
        data = (rng.choice((1, 2)), rng.choice((1, 2, 4)))
        shape = (rng.choice((4, 8, 16)), rng.choice((4, 8, 16, 32)))
        attr = LayoutAttr(lane_layout=lanes, lane_data=data)
        try:
            layout = attr.layout(shape)
        except la.DistributionError:
            continue
        assert attr.fragment_type(shape, "f16", block=False).shape == layout.fragment_shape
        assert attr.fragment_type(shape, "f16").shape == (prod(layout.fragment_shape),)
        compared += 1
    assert compared > 100


def test_arrays_of_blocks_have_a_leading_dimension_at_subgroup_level() -> None:
    desc = la.parse(
        "!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2>, #xegpu.layout<lane_layout = [1, 16]>>"
    )
    assert str(desc.fragment_type("subgroup")) == "vector<2x8x16xf16>"
    for length in (0, -1, 2.5):
        with pytest.raises(la.DistributionError, match="array_length"):
            desc.attr.fragment_type((8, 16), "f16", array_length=length)


def test_symbols_are_refused_where_llvm_needs_numbers() -> None:
    attr, m = LayoutAttr(lane_layout=(1, 16)), la.symbol("M")
    for ask in (attr.check, attr.blocks, lambda shape: attr.fragment_type(shape, "f16")):
        with pytest.raises(la.LayoutError, match=r"dimension 0 .* is a symbol"):
            ask((m, 16))
    with pytest.raises(la.LayoutError, match="is a symbol"):
        la.xegpu.sg_map_of(attr.layout((m, 16)), 1)


def test_a_slice_of_everything_keeps_its_ids() -> None:
    attr = la.parse("#xegpu.slice<#xegpu.layout<sg_layout = [2, 2], sg_data = [4, 4]>, dims = [0, 1]>")
    assert attr.blocks(()) == {one: [()] for one in range(4)}
    assert str(attr.layout(())) == "() | replicas 4@sg"
    assert attr.fragment_type((), "f32", "subgroup").vector == "vector<f32>"


def test_levels_are_checked() -> None:
    with pytest.raises(la.LayoutError, match="'workgroup', 'subgroup' or 'instruction'"):
        LayoutAttr(lane_layout=(1, 16)).blocks((8, 32), level="workgoup")
    with pytest.raises(la.LayoutError, match="no sg_layout"):
        LayoutAttr(lane_layout=(1, 16)).blocks((8, 32), level="workgroup")


@pytest.mark.parametrize(
    "text",
    [
        "!xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>, memory_scope=slm>",
        "!xegpu.tensor_desc<8x16xf32, array_length=2, array_length=4>",
        "!xegpu.tdesc_attr<scattered=true, boundary_check=false>",
        "!xegpu.tdesc_attr<scattered=true, array_length=2>",
        "#a = #xegpu.layout<lane_layout = [16]>\n!a",
    ],
)
def test_texts_that_contradict_themselves_are_refused(text: str) -> None:
    with pytest.raises(la.LayoutError):
        la.parse(text)


def test_aliases_of_attributes_and_types_are_apart() -> None:
    both = "#a = #xegpu.layout<lane_layout = [1, 16]>\n!a = !xegpu.tensor_desc<8x16xf16, #a>\n"
    assert str(la.parse(both + "#xegpu.slice<#a, dims = [0]>").parent) == "#xegpu.layout<lane_layout = [1, 16]>"
    assert la.parse(both).attr == la.parse(both + "#a")
    named = "#scattered_a = #xegpu.scatter_tdesc_attr<>\n!xegpu.tensor_desc<16xf16, #scattered_a>"
    assert la.parse(named) == la.parse("!xegpu.tensor_desc<16xf16, #scattered>")


def test_values_made_by_hand_are_checked_and_frozen() -> None:
    assert len({la.SgMapAttr([1, 16], [1, 1]), la.SgMapAttr((1, 16), (1, 1))}) == 1
    assert hash(la.MemDescType([8, 8], "f16")) == hash(la.MemDescType((8, 8), "f16"))
    for make in (
        lambda: la.xegpu.EnumAttr("cache_hint", "bogus"),
        lambda: la.xegpu.BlockTensorDescAttr(memory_space="bogus"),
        lambda: la.xegpu.BlockTensorDescAttr(array_length=2.5),
        lambda: la.xegpu.RangeAttr("a", "b"),
        lambda: la.xegpu.MemLayoutAttr(stride=(1.5, 128)),
        lambda: TensorDescType((8.0, 16), "f16"),
        lambda: la.dpas(None, None),
    ):
        with pytest.raises(la.VerificationError):
            make()
    with pytest.raises(la.PlanError, match="expected one of pvc"):
        la.dpas("f16", "f16", target=[])


def test_a_mem_desc_of_one_element_keeps_its_axis() -> None:
    layout = la.parse("!xegpu.mem_desc<1x1xf16>").layout()
    assert layout.codomain == ("addr",)
    assert layout.owner_map("addr").tolist() == [[0]]


def test_sg_maps_of_rank_1_are_checked_like_their_layouts() -> None:
    assert la.SgMapAttr((1, 16), (1, 1)).check((24,)) == (
        "dimension 0 of [24]: 24 is not divisible by wi_layout[0] * wi_data[0] = 16"
    )
    assert "rank 1" in la.SgMapAttr((2, 8), (1, 1)).check((32,))
    with pytest.raises(la.DistributionError):
        la.SgMapAttr((2, 8), (1, 1)).fragment_shape((32,))


@pytest.mark.parametrize(
    "text",
    [
        "!xegpu.tensor_desc<7x16xf16, #xegpu.layout<lane_layout = [1, 16]>>",
        "!xegpu.tensor_desc<64x16xf16, #xegpu.layout<lane_layout = [1, 16]>>",
        "!xegpu.tensor_desc<16x16xf16, #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>>",
        "!xegpu.tensor_desc<16x8xf64, #xegpu.block_tdesc_attr<array_length = 2>, "
        "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 2]>>",
    ],
)
def test_loads_that_no_message_does_are_reported(text: str) -> None:
    assert "no such message" in la.parse(text).load_mismatch()


def test_llvm_24_asks_lanes_about_all_rounds_of_a_subgroup() -> None:
    """mlir-opt 23 and 24 on convert_layout: three rounds of 4 columns are 12, which 4 lanes of 3 share; 2 of 2 are no 8."""
    rounds = LayoutAttr(sg_layout=(7, 5), sg_data=(16, 4), lane_layout=(1, 4), lane_data=(1, 3))
    shared = LayoutAttr(sg_layout=(2,), sg_data=(2,), lane_layout=(4,), lane_data=(2,))
    tiles = LayoutAttr(sg_layout=(1,), sg_data=(3,), inst_data=(4,))
    for llvm in (23, 24):
        assert rounds.check((112, 60), llvm) is None
        assert rounds.check((112, 20), llvm) is not None
        assert shared.check((8,), llvm) is not None
        assert shared.check((2,), llvm) is None
        assert shared.check((4,), llvm) is None
        assert tiles.check((12,), llvm) is None
