"""CuTe's layouts: there and back, text, and what CuTe cannot say."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest

import layoutalg as la
from layoutalg.core import ConversionError, Layout
from layoutalg.cute import CuteLayout, from_cute, parse_cute, to_cute
from tests.random_layouts import element_at, machine_layout, memory_layout

parse = Layout.parse


def test_layouts_on_the_machine_come_back() -> None:
    rng = random.Random(1)
    for _ in range(4000):
        layout = machine_layout(rng)
        cute = to_cute(layout)
        assert from_cute(cute) == layout
        assert from_cute(parse_cute(str(cute)), layout.shape, cute.subgroup_size) == layout
        assert parse_cute(str(cute), cute.tile, cute.subgroup_size) == cute


def test_layouts_into_memory_come_back() -> None:
    rng = random.Random(2)
    for _ in range(3000):
        layout = memory_layout(rng)
        cute = to_cute(layout)
        assert from_cute(cute) == layout
        assert parse_cute(str(cute)) == cute


def test_the_index_of_a_coordinate_is_the_address_of_the_element() -> None:
    rng = random.Random(3)
    for _ in range(100):
        layout = memory_layout(rng)
        cute = to_cute(layout)
        for i, element in enumerate(product(*map(range, reversed(layout.shape)))):
            address = layout.owners(element[::-1])[0]
            assert cute(i) == address[layout.codomain.index("addr")]
            assert cute(*element[::-1]) == cute(i) or layout.rank == 1
        assert cute.size == prod(layout.shape)
        assert cute.cosize == layout.axes["addr"]


def test_a_thread_value_layout_indexes_its_tile_column_major() -> None:
    rng = random.Random(4)
    for _ in range(200):
        layout = machine_layout(rng, most=100)
        cute = to_cute(layout)
        sg, lane, reg = (layout.axes.get(axis, 1) for axis in ("sg", "lane", "reg"))
        for s, t, v in product(range(sg), range(lane), range(reg)):
            assert (s, t, v) in layout.owners(element_at(cute(t + lane * s, v), layout.shape))


# The atoms of CUTLASS's include/cute/atom/mma_traits_sm80.hpp, and what the PTX manual says they are.
@pytest.mark.parametrize(
    ("text", "tile", "layout"),
    [
        ("((_4,_8),(_2,_2)):((_32,_1),(_16,_8))", (16, 8), "d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg"),
        ("((_4,_8),_2):((_16,_1),_8)", (8, 8), "d0 = 8@lane:4, d1 = 4@lane 2@reg"),
        ("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16), "d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg"),
    ],
)
def test_published_atoms(text: str, tile: tuple[int, int], layout: str) -> None:
    cute = parse_cute(text, tile)
    assert from_cute(cute) == parse(layout)
    assert str(to_cute(parse(layout))) == text.replace("_", "")


def test_replicas_are_strides_of_zero_and_subgroups_follow_the_lanes() -> None:
    layout = parse("d0 = 2@sg 8@reg, d1 = 16@lane | replicas 2@lane:16")
    assert str(to_cute(layout)) == "((16,2,2),8):((16,0,8),1)"
    assert from_cute(parse_cute("((16,2,2),8):((16,0,8),1)"), (16, 16), 32) == layout
    assert from_cute(parse_cute("(64,8):(8,1)"), (8, 64), 16) == parse("d0 = 8@reg, d1 = 4@sg 16@lane")


def test_digits_that_run_over_several_dimensions_are_split() -> None:
    assert from_cute(parse_cute("(32,4):(1,32)"), (8, 16)) == parse("d0 = 8@lane, d1 = 4@reg 4@lane:8")
    assert from_cute(parse_cute("128:1"), axis="row") == parse("d0 = 128@row")


@pytest.mark.parametrize(
    ("text", "tile", "subgroup", "reason"),
    [
        ("(32,2):(1,32)", (8, 16), None, "only 8 of its elements"),
        ("(16,4):(1,8)", (8, 8), None, "two places hold one"),
        ("(32,8):(1,32)", (8, 16), None, "reaches outside"),
        ("(12,8):(8,1)", (8, 12), 8, "not a whole number of subgroups"),
        ("(32,4,1):(1,32,0)", (8, 16), None, "two modes"),
        ("(6,4):(1,6)", (4, 6), None, "does not split at dimension 0"),
        ("((6,4),1):((1,6),0)", (6, 4), 8, "does not split at a subgroup"),
        ("Sw<1,0,1> o 0 o (32,4):(1,32)", (8, 16), None, "swizzled"),
    ],
)
def test_texts_that_mean_no_layout_of_the_tile(
    text: str, tile: tuple[int, ...], subgroup: int | None, reason: str
) -> None:
    with pytest.raises(ConversionError, match=reason):
        from_cute(parse_cute(text), tile, subgroup)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d0 = 4@addr | replicas 2@addr:4", "replica 2@addr:4"),
        ("d0 = 4@addr, d1 = 4@bank", "moves along addr, bank"),
        ("d0 = 4@addr, d1 = 4@lane", "d0: 4@addr moves along 'addr'"),
        ("d0 = 4@lane 2@_", "2@_ moves along no axis"),
        ("d0 = 4@lane:2", "gap"),
        ("d0 = 4@lane | offset 1@lane", "offset of 1 along lane"),
        ("d0 = 4@addr | offset 64@addr", "offset of 64 along addr"),
    ],
)
def test_layouts_that_cute_cannot_say(text: str, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_cute(parse(text))
    assert reason in str(caught.value)


def test_text_forms() -> None:
    assert parse_cute("((_4, 8),_2) : ((32,_1), 16)") == CuteLayout(((4, 8), 2), ((32, 1), 16))
    assert parse_cute("(2,(3,4))").stride == (1, (2, 6))
    assert parse_cute("(32,):(1,)") == CuteLayout((32,), (1,))
    assert str(CuteLayout((32,), (1,))) == "(32):(1)"
    assert parse_cute("32:1") == CuteLayout(32, 1)


@pytest.mark.parametrize(("lanes", "subgroups"), [(4, 2), (8, 1), (8, 3), (16, 1), (16, 2), (4, 6)])
def test_threads_of_a_tile_count_on_from_subgroup_to_subgroup_and_repeat(lanes: int, subgroups: int) -> None:
    """Thread t = lane + lanes * subgroup of 8, and t % 8 where there are more; index 8 * (t % 8) + value, column-major."""
    machine = la.Machine(lanes=lanes, subgroups=subgroups)
    for value in (la.parse("(8,8):(8,1)"), la.parse_cute("(8,8):(8,1)", tile=(16, 4))):
        held = value.operands((16, 4), machine)[0].layout.fragment_map()
        assert held.shape == (subgroups, lanes, 8, 2)
        for sg in range(subgroups):
            for lane in range(lanes):
                index = [8 * ((lane + lanes * sg) % 8) + v for v in range(8)]
                assert held[sg, lane].tolist() == [[i % 16, i // 16] for i in index]
