"""XeGPU layouts beyond the compilers' tables: lane-level slices by brute force, fragment types, loads that LLVM ignores."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest

import layoutalg as la
from layoutalg.xegpu import FragmentType, LayoutAttr, SliceAttr, TensorDescType
from layoutalg.xegpu.hardware import block_load


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
    assert attr.check((16,)) is None
    assert attr.blocks((16,)) == {0: [(0,)], 1: [(0,)]}
    with pytest.raises(la.DistributionError, match=r"dimension 0 .* has size 16: sg_data\[0\] = 32 is larger"):
        attr.layout((16,))


def test_wrapped_blocks_that_overlap_have_origins_but_no_layout() -> None:
    attr = LayoutAttr(sg_layout=(6,), sg_data=(16,))
    assert attr.check((24,)) is None
    assert attr.blocks((24,))[2] == [(8,)]
    with pytest.raises(la.DistributionError, match="overlap without coinciding"):
        attr.layout((24,))


def test_lane_wrap_is_a_row_of_the_version_table() -> None:
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    assert attr.check((1, 8)) is not None
    assert attr.check((1, 8), llvm=23) is None
    assert str(attr.layout((1, 8))) == "d0 = 1, d1 = 8@lane | replicas 2@lane:8"
    with pytest.raises(la.LayoutError, match="LLVM 19"):
        attr.check((8, 8), llvm=19)
