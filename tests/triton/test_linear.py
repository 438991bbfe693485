"""Triton's linear layouts: there and back, text, other sizes, and what has no factors."""

from __future__ import annotations

import itertools
import math
import random
from itertools import product

import pytest

from layoutalg.core import ConversionError, Layout
from layoutalg.triton import LinearLayout, from_linear_layout, parse_linear_layout, to_linear_layout
from tests.random_layouts import disjoint_bits, machine_layout

parse = Layout.parse


def test_layouts_of_powers_of_two_come_back() -> None:
    rng = random.Random(1)
    for _ in range(4000):
        layout = machine_layout(rng, extents=(2, 2, 4, 8))
        linear = to_linear_layout(layout)
        assert from_linear_layout(linear) == layout
        assert parse_linear_layout(str(linear), layout.shape) == linear


def test_other_layouts_are_refused() -> None:
    rng = random.Random(2)
    for _ in range(1000):
        layout = machine_layout(rng)
        extents = [f.extent for factors in (*layout.canonical().dims, layout.canonical().replicas) for f in factors]
        if all(n & (n - 1) == 0 for n in extents):
            assert from_linear_layout(to_linear_layout(layout)) == layout
        else:
            with pytest.raises(ConversionError, match="not a power of two"):
                to_linear_layout(layout)


@pytest.mark.slow
def test_each_place_holds_the_element_that_the_layout_puts_there() -> None:
    rng = random.Random(3)
    for _ in range(200):
        layout = machine_layout(rng, extents=(2, 4), most=128)
        linear = to_linear_layout(layout)
        for s, t, r in product(*(range(layout.axes.get(axis, 1)) for axis in ("sg", "lane", "reg"))):
            assert (s, t, r) in layout.owners(linear(register=r, lane=t, warp=s))


def random_linear(rng: random.Random) -> LinearLayout:
    """Random bases: mostly each bit of the tensor once, in any order and place."""
    groups, shape = disjoint_bits(rng, 4)
    if rng.random() < 0.3 and any(groups):
        group = rng.choice([g for g in groups if g])
        group[rng.randrange(len(group))] = tuple(rng.randrange(n) for n in shape)
    register, lane, warp, block = groups
    return LinearLayout(register, lane, warp, block, shape)


def test_random_bases_are_converted_exactly_or_leave_elements_to_nobody() -> None:
    rng = random.Random(4)
    converted = refused = 0
    for _ in range(3000):
        linear = random_linear(rng)
        counts = [range(1 << len(getattr(linear, name))) for name in ("register", "lane", "warp", "block")]
        held = {linear(*place): place for place in itertools.product(*counts)}
        if len(held) == math.prod(linear.shape):
            layout = from_linear_layout(linear)
            assert to_linear_layout(layout) == linear
            element, (register, lane, warp, block) = rng.choice(list(held.items()))
            places = {"reg": register, "lane": lane, "sg": warp, "block": block}
            assert tuple(places[axis] for axis in layout.codomain) in layout.owners(element)
            converted += 1
        else:
            with pytest.raises(ConversionError, match="nobody"):
                from_linear_layout(linear)
            refused += 1
    assert converted > 1000
    assert refused > 200


@pytest.mark.parametrize(
    ("shape", "register", "lane", "warp"),
    [
        ((8, 4), "[[0, 0], [0, 1], [4, 0]]", "[[1, 0], [2, 0]]", "[[0, 2]]"),
        ((4, 8), "[[0, 0], [0, 1], [0, 4]]", "[[1, 0], [2, 0]]", "[[0, 2]]"),
        ((2, 2), "[[0, 0], [0, 1]]", "[[1, 0], [0, 0]]", "[[0, 0]]"),
    ],
)
def test_registers_that_repeat_stay_in_a_tensor_of_another_size(
    shape: tuple[int, int], register: str, lane: str, warp: str
) -> None:
    """As Triton 3.9 answers; `tests/oracle/test_triton.py` asks it about random ones."""
    linear = LinearLayout(register=((0, 0), (0, 1)), lane=((1, 0), (2, 0)), warp=((0, 2),), shape=(4, 4))
    assert (
        str(linear.resized(shape))
        == f"#ttg.linear<{{register = {register}, lane = {lane}, warp = {warp}, block = []}}>"
    )


def test_blocks_are_an_axis_of_their_own() -> None:
    linear = LinearLayout(register=((1,),), block=((2,),), shape=(4,))
    assert from_linear_layout(linear) == parse("d0 = 2@block 2@reg")
    assert to_linear_layout(parse("d0 = 2@block 2@reg")) == linear


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d0 = 12@lane", "dimension d0: 12@lane is not a power of two"),
        ("d0 = 4@lane | replicas 3@sg", "replica: 3@sg is not a power of two"),
        ("d0 = 4@lane:2", "no factor moves 1 along lane"),
        ("d0 = 4@lane 4@lane:2", "dimension d0: 4@lane overlaps"),
        ("d0 = 4@lane 2@_", "2@_ moves along no axis"),
        ("d0 = 4@addr", "'addr'"),
    ],
)
def test_a_refusal_names_the_factor(text: str, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_linear_layout(parse(text))
    assert reason in str(caught.value)


def test_bases_that_move_several_bits_flip_places() -> None:
    swizzled = parse_linear_layout(
        "#ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 1], [2, 2]], warp = [], block = []}>"
    )
    layout = from_linear_layout(swizzled)
    assert [layout.owners(element) for element in ((1, 1), (3, 0))] == [[(0, 1, 0)], [(0, 3, 3)]]
    twice = LinearLayout(register=((1,),), lane=((1,), (2,)), shape=(4,))
    assert from_linear_layout(twice).owners((1,)) == [(0, 0, 1), (0, 1, 0)]


def test_text_forms() -> None:
    text = "#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [[0, 2]], block = []}>"
    linear = parse_linear_layout(text)
    assert str(linear) == text
    assert linear.shape == (4, 4)
    spread = "#triton_gpu.linear< { lane=[[1,0],[2,0]],\n register=[[0,1]], block=[], warp=[[0,2]] } >"
    assert parse_linear_layout(spread) == linear
    assert parse_linear_layout(text, (8, 4)) == linear.resized((8, 4))
    assert parse_linear_layout("#ttg.linear<{register = [], lane = [], warp = [], block = []}>", (1, 1)).shape == (1, 1)
