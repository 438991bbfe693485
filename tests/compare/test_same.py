"""Sameness across notations, against enumeration; and what the conversions between notations do with bad input."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import layoutalg as la
from layoutalg.compare import same
from layoutalg.compare.owners import Places
from layoutalg.compare.same import Same
from layoutalg.core import (
    ConversionError,
    Layout,
    LayoutError,
    ParseError,
    SizeError,
    Swizzle,
    swizzled,
    symbol,
)
from layoutalg.cute import CuteLayout, from_cute, parse_cute, to_cute
from layoutalg.nested import NestedLayoutAttr
from layoutalg.nested.from_layout import to_nested
from layoutalg.triton import LinearLayout, from_linear_layout, parse_linear_layout, to_linear_layout
from layoutalg.xegpu import LayoutAttr, SliceAttr, TensorDescType
from layoutalg.xegpu.from_layout import to_xegpu
from tests.random_layouts import machine_layout

parse = Layout.parse
MACHINE = ("sg", "lane", "reg")


def first_difference(a: Layout, b: Layout) -> tuple[int, ...] | None:
    return next((x for x in product(*map(range, a.shape)) if a.owners(x) != b.owners(x)), None)


def test_a_layout_is_written_out_as_its_owners_are_one_by_one() -> None:
    rng = random.Random(11)
    for _ in range(60):
        layout = machine_layout(rng)
        layout = Layout(layout.dims, layout.replicas, offsets={rng.choice(MACHINE): rng.choice([0, 3, 2**61, 2**62])})
        start = [layout.offsets.get(axis, 0) for axis in MACHINE]
        moved = Layout(layout.dims, layout.replicas)
        want = {
            (*element, *[a + b for a, b in zip(start, moved_owner, strict=True)])
            for element in product(*map(range, layout.shape))
            for moved_owner in moved.owners(element)
        }
        assert list(map(tuple, Places.of_layout(layout, layout.shape).rows.tolist())) == sorted(want)


def held(layout: Layout) -> set[tuple[Any, Any]]:
    """Which elements each work-item holds, in whatever register."""
    return {(x, owner[:2]) for x in product(*map(range, layout.shape)) for owner in layout.owners(x)}


def shuffled(rng: random.Random, layout: Layout) -> Layout:
    """The same factors of each dimension in another order, and now and then another start."""
    dims = [rng.sample(factors, len(factors)) for factors in layout.dims]
    return Layout(dims, layout.replicas, {"lane": 1} if rng.random() < 0.1 else {})


# Sameness


def test_same_finds_the_first_differing_element_of_random_pairs_and_says_where_it_is() -> None:
    rng = random.Random(5)
    different = 0
    for _ in range(1500):
        a = machine_layout(rng, most=60)
        b = shuffled(rng, a) if rng.random() < 0.6 else machine_layout(rng, most=60)
        answer = same(a, b)
        if a.shape != b.shape:
            assert not answer
            assert answer.element is None
            assert "shape" in answer.explanation
            continue
        element = first_difference(a, b)
        assert (bool(answer), answer.element) == (element is None, element)
        if element is None:
            continue
        different += 1
        columns = [MACHINE.index(axis) for axis in answer.axes]
        for found, layout in ((answer.first, a), (answer.second, b)):
            assert list(found) == [tuple(o[c] for c in columns) for o in layout.owners(element)][:16]
        if a.replicas == b.replicas:
            assert ("another register order" in answer.explanation) == (held(a) == held(b))
    assert different > 200


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (
            "d0 = 1, d1 = 4@lane 2@reg",
            "d0 = 1, d1 = 2@reg 4@lane",
            "element (0, 1) is in lane 0, register 1 in the first and in lane 1, register 0 in the second",
        ),
        (
            "d0 = 2@reg:2 2@reg, d1 = 4@lane",
            "d0 = 2@reg 2@reg:2, d1 = 4@lane",
            "element (1, 0) is in lane 0, register 1 in the first and in lane 0, register 2 in the second; the same "
            "work-items hold the same elements, in another register order",
        ),
        (
            "d0 = 4@lane",
            "d0 = 4@lane | replicas 4@lane:4",
            "element (0,) is in lane 0 in the first and in lanes 0, 4, 8 and 12 in the second: only the second holds copies",
        ),
        (
            "d0 = 4@lane | replicas 2@sg",
            "d0 = 4@lane | replicas 3@sg",
            "element (0,) is in subgroups 0 and 1, lane 0 in the first and in subgroups 0, 1 and 2, lane 0 in the second: "
            "2 copies in the first, 3 in the second",
        ),
        ("d0 = 8@lane", "d0 = 4@lane", "the first has shape [8] and the second [4]"),
        ("d0 = 8@lane", "d0 = 8@lane, d1 = 1", "the first has shape [8] and the second [8, 1]"),
        ("d0 = 4@addr", "d0 = 4@addr:2", "element (1,) is in addr 1 in the first and in addr 2 in the second"),
        ("row = 4@lane", "d0 = 2@lane:2 2@lane", "the same map"),
    ],
)
def test_the_sentence_tells_a_person(first: str, second: str, sentence: str) -> None:
    assert str(same(parse(first), parse(second))) == sentence


def test_two_to_the_31_elements_are_compared_without_enumeration() -> None:
    large, other = parse("d0 = 1073741824@reg 2@lane"), parse("d0 = 2@reg:536870912 536870912@reg 2@lane")
    start = time.perf_counter()
    assert same(large, other)
    assert same(large, parse("d0 = 2@lane 1073741824@reg")).element == (1,)
    assert same(parse("d0 = 2147483648@reg"), parse("d0 = 2@lane 1073741824@reg")).element == (2**30,)
    copies = same(parse("d0 = 2@reg | replicas 2147483648@lane"), parse("d0 = 2@reg"))
    assert len(copies.first) == 16
    assert "only the first holds copies" in str(copies)
    many = same(parse("d0 = 2@reg | replicas 1048576@sg 1048576@lane"), parse("d0 = 2@reg"))
    assert [lane for _, lane, _ in many.first] == list(range(16))
    assert time.perf_counter() - start < 2


def test_attributes_of_any_dialect_are_compared_by_meaning() -> None:
    rows = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    nested = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (1, 16), (8, 1), (0, 0), (0, 1))
    tensor = TensorDescType((8, 16), "f32", layout=rows)
    fragment = parse("d0 = 8@reg, d1 = 16@lane")
    values = [rows, nested, tensor, fragment, to_linear_layout(fragment), to_cute(fragment)]
    for a, b in product(values, values):
        assert same(a, b, shape=(8, 16), subgroup_size=16), (a, b)
    assert same(nested, fragment)
    assert same(nested, rows)
    assert same(nested, nested)
    # 64 threads repeat the 16 columns, which a fragment of 16 lanes does not.
    assert "only the first holds copies" in str(same(nested, fragment, subgroup_size=64))


def test_a_nested_layout_without_an_exact_layout_is_compared_by_its_threads() -> None:
    half = NestedLayoutAttr((1,), (1,), (1,), (2,), (4,), (0,), (0,))
    whole = parse("d0 = 2@lane 4@reg")
    answer = same(whole, half)
    assert answer.element == (0,)
    assert "only the second holds copies" in str(answer)
    last = NestedLayoutAttr((2,), (1,), (1,), (2,), (2,), (1,), (1,))
    answer = same(parse("d0 = 2@sg 2@lane 2@reg"), last, workgroup_size=2)
    assert str(answer) == (
        "element (4,) is in subgroup 1, lane 0, register 0 in the first and belongs to nobody in the second"
    )
    assert same(half, half)
    assert same(half, NestedLayoutAttr((1,), (1,), (1,), (2,), (4,), (0,), (0,)), subgroup_size=8)
    swapped = NestedLayoutAttr((1, 1), (2, 1), (1, 1), (1, 2), (1, 2), (0, 0), (0, 0))
    other = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (1, 2), (2, 2), (0, 0), (0, 0))
    assert same(swapped, other)


def test_many_copies_are_counted_through() -> None:
    first_only = NestedLayoutAttr((1,), (1,), (1,), (2,), (1,), (0,), (0,))
    answer = same(first_only, parse("d0 = 2@reg | replicas 131072@lane"))
    assert answer.element == (1,)
    assert "belongs to nobody in the first" in str(answer)


def test_enumeration_has_a_limit() -> None:
    wide = NestedLayoutAttr((1,), (2**12,), (1,), (2,), (2**10,), (0,), (0,))
    with pytest.raises(SizeError):
        same(wide, parse("d0 = 8388608@reg"))


def test_what_same_cannot_compare_is_an_error() -> None:
    layout = parse("d0 = 8@lane")
    for value in (None, 3, LayoutAttr, NestedLayoutAttr, object()):
        with pytest.raises(ConversionError):
            same(value, layout)
    nested = NestedLayoutAttr((1,), (1,), (1,), (8,), (1,), (0,), (1,))
    for sizes in ({"subgroup_size": 0}, {"subgroup_size": "8"}, {"workgroup_size": 1.5}, {"workgroup_size": -1}):
        with pytest.raises(ConversionError, match="whole number"):
            same(nested, layout, **sizes)  # type: ignore[arg-type]
    # Half a subgroup more: no exact layout, but its threads are there.
    assert same(nested, layout, workgroup_size=12).first == ((0, 0, 0), (1, 0, 0))
    for shape in ((9,), (8, 1), 8, "8", ("8",), (None,)):
        with pytest.raises(LayoutError):
            same(nested, layout, shape=shape)  # type: ignore[arg-type]
        with pytest.raises(LayoutError):
            same(LayoutAttr(lane_layout=(8,)), nested, shape=shape)  # type: ignore[arg-type]
    with pytest.raises(ConversionError, match="needs a shape"):
        same(LayoutAttr(lane_layout=(8,)), LayoutAttr(lane_layout=(4,)))
    symbolic = Layout([[(symbol("M"), 1, "reg"), (16, 1, "lane")]])
    assert same(symbolic, symbolic)
    with pytest.raises(ConversionError, match="a number is needed"):
        same(symbolic, layout)


# Bad input

TO: list[Callable[[Any], object]] = [to_xegpu, to_nested, to_cute, to_linear_layout]


@pytest.mark.parametrize("to", TO)
def test_bridges_refuse_what_is_no_layout_of_numbers(to: Callable[[Any], object]) -> None:
    for value in (None, 3, "d0 = 8@lane", [], Layout, Layout([[(symbol("M"), 1, "reg")]])):
        with pytest.raises(ConversionError):
            to(value)


@pytest.mark.parametrize("to", [to_xegpu, to_nested, to_linear_layout])
@pytest.mark.parametrize(
    "text",
    [
        "d0 = 8@lane | offset 3@lane",
        "d0 = 8@addr",
        "d0 = 4@lane 2@_",
        "d0 = 8@lane:2",
        "d0 = 4@lane:2 4@lane",
        "d0 = 8@lane | origin 4@d0",
        "d0 = 2@row 2@col",
    ],
)
def test_bridges_onto_the_machine_refuse_other_maps(to: Callable[[Any], object], text: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to(parse(text))
    assert text.split(" | ")[0] in str(caught.value)


@pytest.mark.parametrize("to", [to_xegpu, to_nested, to_cute, to_linear_layout])
def test_layouts_of_one_element_and_of_none_have_every_form(to: Callable[[Any], Any]) -> None:
    back: dict[Any, Callable[[Any, Layout], Any]] = {
        to_xegpu: lambda value, layout: value.layout(layout.shape),
        to_nested: lambda value, layout: value.layout(layout.shape, layout.axes.get("lane", 1)),
        to_cute: lambda value, layout: value.layout(),
        to_linear_layout: lambda value, layout: value.layout(),
    }
    for text in ("()", "d0 = 1", "d0 = 1, d1 = 1", "() | replicas 4@lane", "d0 = 1, d1 = 16@lane"):
        layout = parse(text)
        assert back[to](to(layout), layout) == layout


def test_texts_that_are_cut_off_or_spoiled_are_parse_errors() -> None:
    linear = "#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [[0, 2]], block = []}>"
    cute = "Sw<3,3,3> o 0 o ((4,_8),2):((32,1),16)"
    for read, text in ((parse_linear_layout, linear), (parse_cute, cute)):
        read(text)
        for end in range(len(text)):
            try:
                read(text[:end])
            except LayoutError:
                continue
            assert end > len("Sw<3,3,3> o 0 o ((4,_8),2)") - 1  # a shape without strides is whole
        for spoiled in (text + "x", text.replace(",", "¼", 1), text.replace("2", "9" * 30), "", "é", text + text):
            with pytest.raises(LayoutError):
                read(spoiled)
    for text in (
        "(" * 100_000,
        "(" * 70 + "1" + ")" * 70,
        ",".join(["(1"] * 3000),
        "1:1:1",
        "(1,2):(1)",
        "_:1",
        "(1@0):1",
    ):
        with pytest.raises(LayoutError):
            parse_cute(text)
    for text in (
        "#ttg.linear<{}>",
        "#ttg.linear<{lane = [[1], [2, 0]]}>",
        "#ttg.linear<{lane = [[1]], lane = [[2]]}>",
        "#ttg.linear<{thread = [[1]]}>",
        "#ttg.linear<{lane = [[-1]]}>",
        "#ttg.linear<{lane = " + "[" * 100_000,
        "#ttg.linear<{lane = [" + "[1], " * 100 + "]}>",
    ):
        with pytest.raises(ParseError):
            parse_linear_layout(text)


def test_values_check_themselves() -> None:
    loop: Any = (2, 2)
    for _ in range(60):
        loop = (loop, loop)
    bad: list[Callable[[], object]] = [
        lambda: CuteLayout((2, 3), (1,)),
        lambda: CuteLayout((2, 3), 1),
        lambda: CuteLayout(0, 1),
        lambda: CuteLayout(True, 1),
        lambda: CuteLayout(2, -(2**63)),
        lambda: CuteLayout([2], [1]),  # type: ignore[arg-type]
        lambda: CuteLayout(loop, loop),
        lambda: CuteLayout(loop, 1),
        lambda: CuteLayout(2, 1, swizzle=(3, 0, 2)),
        lambda: CuteLayout(2, 1, swizzle=(3, 0)),  # type: ignore[arg-type]
        lambda: CuteLayout(2, 1, offset=4),
        lambda: CuteLayout(2, 1, tile=(0,)),
        lambda: CuteLayout(2, 1, subgroup_size=0),
        lambda: CuteLayout(2, 1)(2),
        lambda: CuteLayout(2, 1)(-1),
        lambda: CuteLayout((2, 2), (1, 2))(0, 0, 0),
        lambda: CuteLayout((2, 2), (1, 2))(),
        lambda: LinearLayout(lane=((1,),), shape=(3,)),
        lambda: LinearLayout(lane=((2,),), shape=(2,)),
        lambda: LinearLayout(lane=((1, 0),), shape=(2,)),
        lambda: LinearLayout(lane=3, shape=(2,)),  # type: ignore[arg-type]
        lambda: LinearLayout(lane=((1,),), shape="2"),  # type: ignore[arg-type]
        lambda: LinearLayout(lane=((1,),) * 100, shape=(2,)),
        lambda: LinearLayout(lane=((1,),), shape=(2,))(lane=2),
        lambda: LinearLayout(lane=((1,),), shape=(2,)).resized((3,)),
        lambda: LinearLayout(lane=((1,),), shape=(2,)).resized((2, 2)),
        lambda: LinearLayout(lane=((1,),), shape=(2,)).resized(4),  # type: ignore[arg-type]
        lambda: parse_linear_layout("#ttg.linear<{lane = []}>", 4),  # type: ignore[arg-type]
        lambda: to_linear_layout(parse("d0 = 2147483648@reg:4611686018427387904, d1 = 2@reg")),
        lambda: to_xegpu(parse("d0 = 2147483648@lane, d1 = 2@lane:2147483648")),
        lambda: to_nested(parse("d0 = 2147483648@reg:2, d1 = 2@reg")),
        lambda: to_cute(Layout([[(2**31, 1, "lane")], [(2**31, 1, "reg")], [(2, 1, "sg")], [(2, 2, "sg")]])),
        lambda: from_linear_layout("text"),  # type: ignore[arg-type]
        lambda: from_cute("text"),  # type: ignore[arg-type]
        lambda: from_cute(CuteLayout(2, 1), tile="ab"),  # type: ignore[arg-type]
        lambda: from_cute(CuteLayout((2, 2), (1, 2)), tile=(4,), subgroup_size=3),
        lambda: from_cute(CuteLayout(2, 1), axis="not a name"),
        lambda: to_nested(parse("d0 = 16@lane"), subgroup_size=32),
        lambda: to_cute(parse("d0 = 16@lane"), subgroup_size=32),
    ]
    for make in bad:
        with pytest.raises(LayoutError):
            make()


def test_values_are_frozen_hashable_and_pickle() -> None:
    layout = parse("d0 = 8@reg, d1 = 16@lane")
    values = [to_cute(layout), to_linear_layout(layout), same(layout, layout), to_xegpu(layout), to_nested(layout)]
    for value in values:
        assert pickle.loads(pickle.dumps(value)) == value
        assert len({value, value}) == 1
    assert isinstance(values[2], Same)
    with pytest.raises(AttributeError):
        values[0].shape = 1  # type: ignore[misc]


def test_conversions_and_comparisons_do_without_numpy() -> None:
    code = (
        "import sys; from layoutalg.cute import *; from layoutalg.triton import *; from layoutalg.compare import *;"
        "from layoutalg.core.layout import Layout;"
        "L = Layout.parse('d0 = 8@reg, d1 = 16@lane | replicas 2@lane:16'); M = Layout.parse('d0 = 8@reg, d1 = 16@lane');"
        "from_cute(to_cute(L)); from_linear_layout(to_linear_layout(L)); same(L, M); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_swizzled_layout_is_a_layout_and_cute_reads_it_back() -> None:
    tile = swizzled(parse("d0 = 8@addr:8, d1 = 8@addr | offset 64@addr"), Swizzle(3, 0, 3))
    cute = to_cute(tile)
    assert str(cute) == "Sw<3,0,3> o 64 o (8,8):(8,1)"
    assert from_cute(cute) == tile
    assert parse_cute(str(cute)) == cute
    assert all(cute(x, y) == tile.owners((x, y))[0][0] for x in range(8) for y in range(8))
    for text in ("Sw<0,4,3> o 0 o (8,8):(8,1)",):
        assert from_cute(parse_cute(text)) == parse("d0 = 8@addr:8, d1 = 8@addr")
    with pytest.raises(ConversionError, match="low bits onto high"):
        from_cute(parse_cute("Sw<3,0,-3> o 0 o (8,8):(8,1)"))
    with pytest.raises(ConversionError):
        to_cute(swizzled(parse("d0 = 8@addr:8, d1 = 8@bank"), Swizzle(3, 0, 3)))


def test_a_slice_of_a_layout_is_compared_too() -> None:
    parent = LayoutAttr(sg_layout=(8, 4), sg_data=(32, 32))
    assert same(SliceAttr(parent, (0,)), parse("d0 = 4@sg 32@reg | replicas 8@sg:4"), shape=(128,))


def test_a_linear_layout_is_resized_and_a_cute_text_gets_its_tile_from_the_shape() -> None:
    linear = la.parse(
        "#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0]], warp = [], block = []}>"
    )
    assert la.same(linear, la.parse("#xegpu.layout<lane_layout = [4, 4], lane_data = [1, 2]>"), (8, 8))
    assert la.same(la.parse("(16,8):(8,1)"), la.parse("#xegpu.layout<lane_layout = [1, 16]>"), (8, 16))


def test_subgroups_without_lanes_are_not_taken_for_lanes() -> None:
    subgroups, nested = (
        la.parse("#xegpu.layout<sg_layout = [16], sg_data = [2]>"),
        NestedLayoutAttr((1,), (1,), (1,), (16,), (2,), (0,), (1,)),
    )
    with pytest.raises(la.ConversionError, match="say their number, subgroup_size"):
        la.same(subgroups, nested, (32,))
    assert not la.same(subgroups, nested, (32,), subgroup_size=16)


def test_swizzled_memory_is_compared_by_its_addresses() -> None:
    swizzled, plain = la.parse("Sw<1,0,1> o 0 o (8,4):(4,1)"), la.parse("(8,4):(4,1)")
    assert la.same(swizzled, swizzled)
    answer = la.same(swizzled, plain)
    assert (answer.element, answer.axes, answer.first, answer.second) == ((0, 2), ("addr",), ((3,),), ((2,),))


def test_what_has_a_layout_per_operand_is_not_compared_as_one() -> None:
    for kind in (
        la.mma("MFMA_F32_16x16x16_F16"),
        la.parse("#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16>"),
    ):
        with pytest.raises(la.ConversionError, match="has 3 layouts"):
            la.same(kind, la.mma("MFMA_F32_16x16x16_F16").acc, (16, 16))


@pytest.mark.parametrize("text", ["_0 = 4@lane", "_1x = 4@lane", "()", "():()", "_8:_1", "// c\n(8,4):(4,1)"])
def test_texts_that_look_alike_are_told_apart(text: str) -> None:
    value = la.parse(text)
    assert la.parse(str(value)) == value
    assert isinstance(value, la.CuteLayout) == (":" in text)
