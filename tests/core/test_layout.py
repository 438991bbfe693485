"""Worked examples of the algebra: symbols, swizzles, tables, and corners that random cases seldom reach."""

from __future__ import annotations

import copy
import pickle
from math import prod

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core import CompositionError, Layout, LayoutError, ParseError, Swizzle, Table, swizzled
from layoutalg.xegpu import LayoutAttr, parse_attribute

M, K = la.symbol("M"), la.symbol("K")


def test_the_worked_example_of_the_design() -> None:
    layout = la.parse("#xegpu.layout<sg_layout=[2,4], sg_data=[16,16], lane_layout=[1,16], lane_data=[1,1]>").layout(
        (32, 64)
    )
    assert str(layout) == "d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"
    assert (layout.shape, layout.axes, layout.fragment_shape) == ((32, 64), {"sg": 8, "lane": 16, "reg": 16}, (16, 1))
    assert not layout.replicas
    held = layout.fragment_map()
    assert held.shape == (8, 16, 16, 2)
    assert len(np.unique(held.reshape(-1, 2), axis=0)) == 32 * 64
    for row in range(32):
        for column in range(64):
            ((sg, lane, reg),) = layout.owners((row, column))
            assert tuple(held[sg, lane, reg]) == (row, column)
            assert (sg, lane, reg) == (row // 16 * 4 + column // 16, column % 16, row % 16)


def test_attributes_of_the_algebra_do_not_change_with_spelling() -> None:
    assert la.parse("d0 = 8@lane , d1 = 1") == la.parse("d0=2@lane:4 4@lane, d1 = 1@reg")
    assert la.parse("d0 = 8@lane").shape != la.parse("d0 = 8@lane, d1 = 1").shape
    assert la.parse("d0 = 8@lane") != la.parse("x = 8@lane")
    assert la.parse("d0 = 8@lane") != 8


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize(
    "text",
    [
        "#xegpu.layout<lane_layout = [1, 16]>",
        "#xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [0]>",
        "!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2>>",
        "d0 = 8@lane | replicas 2@lane:8 | offset 3@sg",
    ],
)
def test_values_are_hashed_pickled_and_copied(clone: object, text: str) -> None:
    value = la.parse(text)
    again = clone(value)  # type: ignore[operator]
    assert again == value
    assert hash(again) == hash(value)
    assert len({again, value}) == 1


def test_errors_are_pickled_with_all_they_say() -> None:
    with pytest.raises(ParseError) as caught:
        la.parse("d0 = 8")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line, again.column) == (str(caught.value), 1, 7)


# Symbols


def test_symbolic_shapes_give_conditions_and_become_numbers() -> None:
    attr = LayoutAttr(sg_layout=(2, 4), sg_data=(16, 16), lane_layout=(1, 16), lane_data=(1, 1))
    layout = attr.layout((M, K))
    assert str(layout) == "d0 = M/32@reg:K/4 2@sg:4 16@reg, d1 = K/64@reg:16 4@sg 16@lane"
    assert [str(c) for c in layout.conditions] == ["32 divides M", "4 divides K", "64 divides K"]
    for m, k in ((32, 64), (64, 64), (96, 256)):
        assert layout.substitute(M=m, K=k) == attr.layout((m, k))
    with pytest.raises(LayoutError, match="32 divides M does not hold for M = 40"):
        layout.substitute(M=40, K=64)


def test_symbolic_layouts_compose_invert_and_reshape() -> None:
    layout = Layout.parse("d0 = M/16@reg 16@lane, d1 = 4@sg")
    assert layout.inverse().inverse() == layout
    assert layout.permute((1, 0)) == Layout.parse("d0 = 4@sg, d1 = M/16@reg 16@lane")
    assert la.compose(layout, Layout.parse("d0 = M@d0, d1 = 2@d1:2 2@d1")) == layout
    assert layout.slice(1) == Layout.parse("d0 = M/16@reg 16@lane | replicas 4@sg")
    assert layout.divide((16, 4)) == Layout.parse("d0 = M/16@reg, d1 = 1, d2 = 16@lane, d3 = 4@sg")
    assert layout.tile((2, 1)).substitute(M=64) == layout.substitute(M=64).tile((2, 1))


def test_symbolic_equality_is_equality_of_expressions() -> None:
    assert Layout.parse("d0 = 2*M@reg") == Layout.parse("d0 = M@reg:2 2@reg") == Layout.parse("d0 = (M + M)@reg")
    assert Layout.parse("d0 = M@reg") != Layout.parse("d0 = K@reg")
    # The first exists only where 2 divides M, and says so.
    assert Layout.parse("d0 = M/2@reg:2 2@reg") != Layout.parse("d0 = M@reg")
    assert [str(c) for c in Layout.parse("d0 = M/2@reg:2 2@reg").canonical().conditions] == ["2 divides M"]


def test_conditions_survive_where_digits_would_merge() -> None:
    attr = parse_attribute("#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [2, 1]>")
    layout = attr.layout((2 * M, 16))
    assert [str(c) for c in layout.conditions] == ["4 divides M"]
    assert layout.substitute(M=8) == attr.layout((16, 16))
    with pytest.raises(LayoutError, match="4 divides M does not hold for M = 3"):
        layout.substitute(M=3)


def test_numbers_for_symbols_are_checked() -> None:
    assert Layout.parse("d0 = M@reg").substitute(M=4) == Layout.parse("d0 = 4@reg")
    for number in (2.5, "x", 0, -1, None):
        with pytest.raises(LayoutError, match="M ="):
            Layout.parse("d0 = 2*M@reg").substitute(M=number)
    with pytest.raises(LayoutError, match="no symbol 'K'"):
        Layout.parse("d0 = M@reg").substitute(K=4)


@pytest.mark.parametrize("text", ["(M+1)/2@reg", "(K-M)@reg", "M*(K+1)@reg", "M**2/(K+1)@reg:K"])
def test_symbolic_texts_are_read_back_as_printed(text: str) -> None:
    layout = Layout.parse(f"d0 = {text}")
    assert Layout.parse(str(layout)) == layout


@pytest.mark.parametrize("text", ["(0-M)*2@reg", "(A+B)*(C+D)*(E+F)*(G+H)@reg", "(M-M)@reg"])
def test_symbolic_texts_that_are_no_extents_are_refused(text: str) -> None:
    with pytest.raises(ParseError):
        Layout.parse(f"d0 = {text}")


def test_what_cannot_be_decided_is_refused_not_guessed() -> None:
    with pytest.raises(CompositionError):
        la.compose(Layout.parse("d0 = M@lane K@reg"), Layout.parse("d0 = 4@d0"))
    with pytest.raises(LayoutError, match="symbols"):
        Layout.parse("d0 = M@reg").fragment_map()
    with pytest.raises(LayoutError, match="symbols"):
        Table.of(Layout.parse("d0 = M@reg"))


def test_symbols_given_without_assumptions_are_taken_as_positive_whole_numbers() -> None:
    import sympy

    assert Layout([[(sympy.Symbol("M"), 1, "reg")]]) == Layout.parse("d0 = M@reg")
    assert Layout([[(sympy.Integer(4), 1, "reg")]]).shape == (4,)
    with pytest.raises(LayoutError):
        Layout([[(sympy.Rational(1, 2), 1, "reg")]])
    with pytest.raises(LayoutError):
        Layout([[(sympy.sin(sympy.Symbol("M")), 1, "reg")]])


# Swizzles


@pytest.mark.parametrize(("bits", "base", "shift"), [(1, 0, 1), (2, 0, 2), (3, 3, 3), (2, 4, 3)])
def test_a_swizzle_is_its_own_inverse_and_permutes_its_period(bits: int, base: int, shift: int) -> None:
    swizzle = Swizzle(bits, base, shift)
    addresses = np.arange(4 * swizzle.period)
    moved = swizzle(addresses)
    assert np.array_equal(swizzle(moved), addresses)
    assert sorted(moved[: swizzle.period]) == list(range(swizzle.period))
    assert np.array_equal(moved[swizzle.period : 2 * swizzle.period], moved[: swizzle.period] + swizzle.period)
    for address in addresses.tolist():
        mask = ((1 << bits) - 1) << base
        assert moved[address] == address ^ ((address >> shift) & mask)


def test_a_swizzle_spreads_a_column_over_the_banks() -> None:
    """32 rows of 32 words in 32 banks: without it a column is one bank, with it every bank once."""
    tile = parse_attribute("!xegpu.mem_desc<32x32xf32>").layout()
    memory = swizzled(tile, Swizzle(bits=5, base=0, shift=5))
    plain, moved = tile.owner_map("addr") % 32, memory.owner_map("addr") % 32
    assert len(set(plain[:, 3])) == 1
    assert all(len(set(moved[:, column])) == 32 for column in range(32))
    assert all(len(set(moved[row])) == 32 for row in range(32))
    assert memory.owners((4, 7)) == [(int(memory.owner_map("addr")[4, 7]),)]


@pytest.mark.parametrize(("bits", "base", "shift"), [(0, 0, 1), (3, 0, 2), (2, -1, 2), (40, 20, 40), (1.5, 0, 2)])
def test_swizzles_that_are_none_are_refused(bits: int, base: int, shift: int) -> None:
    with pytest.raises(LayoutError, match="0 < bits <= shift"):
        Swizzle(bits, base, shift)


def test_a_swizzle_needs_its_axis() -> None:
    with pytest.raises(LayoutError, match="'addr'"):
        swizzled(Layout.parse("d0 = 8@lane"), Swizzle(1, 0, 1))


# Composition without a closed form


def test_tables_answer_where_digits_have_no_common_refinement() -> None:
    outer, inner = Layout.parse("d0 = 2@lane 3@reg"), Layout.parse("d0 = 4@d0")
    with pytest.raises(CompositionError, match="factor 4@d0"):
        la.compose(outer, inner)
    table = la.compose_exactly(outer, inner)
    assert isinstance(table, Table)
    assert [table.owners((x,)) for x in range(4)] == [[(x // 3, x % 3)] for x in range(4)]
    assert table != Table.of(outer)
    assert table == table.inverse().inverse()
    assert len({table, table.inverse().inverse()}) == 1


# Corners


@pytest.mark.parametrize("text", ["()", "d0 = 1", "d0 = 1, d1 = 1", "() | replicas 4@lane", "() | offset 3@lane"])
def test_layouts_of_one_element(text: str) -> None:
    layout = Layout.parse(text)
    assert layout.inverse().inverse() == layout
    owners = layout.owners((0,) * layout.rank)
    assert len(owners) == (4 if "replicas" in text else 1)
    assert layout.fragment_map().size == len(owners) * layout.rank
    assert Table.of(layout) == Table.of(layout.canonical())


def test_primes_and_more_dimensions_than_usual() -> None:
    layout = Layout.parse(", ".join(f"d{i} = 2@reg:{2**i}" for i in range(12)))
    assert layout.shape == (2,) * 12
    assert layout.reshape((4096,)).reshape((2,) * 12) == layout
    assert Layout.parse("d0 = 7@lane 13@reg, d1 = 11@sg").reshape((1001,)).shape == (1001,)


def test_offsets_move_and_inverse_takes_them_back() -> None:
    layout = Layout.parse("d0 = 4@addr | offset 64@addr")
    assert layout.owner_map("addr").tolist() == [64, 65, 66, 67]
    assert layout.inverse().origins == (64,)
    assert layout.inverse().owners((66,)) == [(2,)]
    assert layout.fragment_map(addr=[65, 67]).tolist() == [[1], [3]]
    with pytest.raises(LayoutError, match=r"expected 64\.\.67"):
        layout.fragment_map(addr=3)
    assert la.compose(Layout.parse("d0 = 8@lane 16@reg"), Layout.parse("d0 = 16@d0 | offset 32@d0")) == Layout.parse(
        "d0 = 16@reg | offset 2@lane"
    )


def test_gaps_show_as_empty_slots() -> None:
    assert Layout.parse("() | replicas 2@reg:2").fragment_map().shape == (1, 1, 3, 0)
    padded = Layout.parse("d0 = 2@addr:5, d1 = 4@addr")
    assert padded.fragment_map().tolist()[4] == [-1, -1]
    assert padded.fragment_map().tolist()[5] == [1, 0]


def test_coordinates_that_do_not_fit_are_refused_not_wrapped() -> None:
    far = Layout([[(2, 2**62, "addr")], [(3, 2**62, "addr")]])
    with pytest.raises(la.SizeError, match="64 bits"):
        far.owner_map("addr")
    with pytest.raises(la.SizeError, match="64 bits"):
        Table.of(far)
    assert Layout.parse("d0 = 2@reg | origin -1099511627776@d0").fragment_map()[0, 0, 1].tolist() == [1 - 2**40]
    assert swizzled(Layout.parse("d0 = 8@addr"), Swizzle(3, 40, 10)) == Layout.parse("d0 = 8@addr")


def test_many_copies_are_refused_quickly() -> None:
    with pytest.raises(la.SizeError, match="copies"):
        Layout.parse("d0 = 1 | replicas 2097152@lane").owners((0,))
    # Replicas that overlap are compared as sets of bits; only a set of over 2^30 places is refused.
    assert Layout.parse("() | replicas 8192@lane:3 8192@lane:2") != Layout.parse("() | replicas 8191@lane:3 9@lane:2")
    with pytest.raises(la.SizeError, match="overlap over"):
        _ = Layout.parse("() | replicas 2147483640@lane:3 2147483640@lane:2") == Layout.parse(
            "() | replicas 2147483638@lane:3 2147483643@lane:2"
        )


def test_names_that_mean_something_stay() -> None:
    slots = Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").inverse()
    assert slots.names == ("sg", "lane", "reg")
    assert slots.restrict(1, 0, 4).names == ("sg", "lane", "reg")
    assert slots.permute((2, 0, 1)).names == ("reg", "sg", "lane")
    assert slots.slice(0).names == ("lane", "reg")
    assert Layout.parse("d0 = 2@lane, d1 = 3@reg").permute((1, 0)).names == ("d0", "d1")


def test_tables_cannot_be_changed_and_map_their_slots() -> None:
    table = Table.of(Layout.parse("d0 = 2@lane:2 | offset 3@lane"))
    assert table.fragment_map().tolist() == [[0], [-1], [1]]
    with pytest.raises(ValueError, match="read-only"):
        table.codomain[0] = 9
    with pytest.raises(LayoutError, match="one slot holds 2 elements"):
        Table.of(Layout.parse("d0 = 2@_")).fragment_map()


def test_a_slot_that_holds_several_elements_by_xor_is_said_with_their_axes() -> None:
    layout = la.Layout.parse("d0 = 2@(addr:2^addr), d1 = 2@(addr:2) 2@(addr)")
    with pytest.raises(LayoutError, match="one slot holds several elements along 'd0' and 'd1'"):
        layout.coords()


def test_index_expressions_are_sympy_and_evaluate() -> None:
    layout = Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
    exprs = layout.index_exprs()
    values = {"sg": 7, "lane": 2, "reg": 5}
    assert {n: int(e.subs({s: values[s.name] for s in e.free_symbols})) for n, e in exprs.items()} == {
        "d0": 21,
        "d1": 50,
    }


def test_distribute_leaves_holes_empty_however_small_the_tensor() -> None:
    """Unit dimensions and no dimension at all, with gaps on the machine: expectations are written out by hand."""
    cases = [
        ("d0 = 1, d1 = 1 | replicas 2@reg:2", (1, 1), [[[7, 0, 7]]]),
        ("d0 = 1, d1 = 2@lane:2", (1, 2), [[[7], [0], [8]]]),
        ("() | replicas 2@lane:3", (), [[[7], [0], [0], [7]]]),
    ]
    for text, shape, expected in cases:
        tensor = np.arange(7, 7 + prod(shape)).reshape(shape)
        assert la.distribute(Layout.parse(text), tensor).tolist() == expected, text


def test_distribute_keeps_the_order_of_the_codomain_where_there_are_gaps() -> None:
    layout = Layout([[(2, 1, "reg")], [(2, 2, "lane")]], codomain=("lane", "sg", "reg"))
    assert la.distribute(layout, np.array([[1, 2], [3, 4]])).tolist() == [[[1, 3]], [[0, 0]], [[2, 4]]]


# What is refused, and where


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("d0 = 2@(lane:4^", 16, "the name of an axis"),
        ("d0 = 2@(lane:", 14, "an integer"),
        ("d0 = 2@(lane", 13, "'\\^' or '\\)'"),
        ("d0 = 2@(lane^lane)", 14, "each place once, found \\(lane\\) again"),
        ("d0 = 2@(_)", 9, "found '_', which names no axis"),
        ("d0 = 8@lane | flip (lane:2^", 28, "the name of an axis"),
    ],
)
def test_a_text_with_xor_that_is_cut_says_where(text: str, column: int, words: str) -> None:
    with pytest.raises(ParseError, match=words) as refused:
        Layout.parse(text)
    assert (refused.value.line, refused.value.column) == (1, column)


def test_the_place_in_a_text_of_memory_is_kept() -> None:
    with pytest.raises(ParseError) as refused:
        la.bank_conflicts("d0 = 4@lane", memory="d0 = 2@(addr:4^")
    assert refused.value.column == 16


@pytest.mark.parametrize(
    "text",
    [
        "d0 = 2@addr:4611686018427387904",
        "d0 = 2@(addr:4611686018427387904^addr)",
        "d0 = 8@a | offset 4611686018427387904@a",
    ],
)
def test_a_product_that_could_not_be_read_back_is_refused(text: str) -> None:
    layout = Layout.parse(text)
    with pytest.raises(LayoutError, match="2\\^62"):
        layout * layout


# Swizzles that have no factors


def test_rows_whose_bits_are_no_digits_have_no_factors_after_a_swizzle_but_addresses() -> None:
    """96 = 3 * 32: bits 5 and 6 of a column are one digit."""
    rows, swizzle = Layout.parse("d0 = 4@addr:128, d1 = 96@addr"), Swizzle(2, 4, 3)
    with pytest.raises(CompositionError, match="3@addr:32 cannot be split at 64"):
        swizzled(rows, swizzle)
    cute = la.parse("Sw<2,4,3> o 0 o (4,96):(128,1)")
    with pytest.raises(la.DistributionError, match="has no factors after"):
        cute.operands()
    assert np.array_equal(cute.addresses(), swizzle(rows.owner_map("addr").astype(np.int64)))
    assert la.same(cute, cute)
    answer = la.same(cute, rows)
    assert (answer.element, answer.first, answer.second) == ((1, 0), ((144,),), ((128,),))
