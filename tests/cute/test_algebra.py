"""What CUTLASS's C++ prints for an example of each operation, what is refused in which words, and sizes that no table has."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import layoutalg as la
from layoutalg import cute
from layoutalg.core import CompositionError, ConversionError, DistributionError, LayoutError, VerificationError
from layoutalg.cute import CuteLayout, ScaledBasis, Swizzle, parse_cute

WIDE = "(8,64):(64,1)"
MANY = CuteLayout((2**61,) * 400, (1,) * 400)
"""2^24400 elements: a number of over 4,300 digits."""


# Printed by CUTLASS's headers (commit 7107b055), compiled with g++; coordinates by CuTe DSL 4.8.1.
@pytest.mark.parametrize(
    ("found", "printed"),
    [
        (lambda: cute.coalesce("(2,(1,6)):(1,(6,2))"), "12:1"),
        (lambda: cute.coalesce("(2,(1,6)):(1,(6,2))", (1, 1)), "(2,6):(1,2)"),
        (lambda: cute.composition("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)"),
        (lambda: cute.composition("(4,2):(1,10)", "12:1"), "(4,3):(1,10)"),
        (lambda: cute.composition("(4,1,8):(8,8,1)", (parse_cute("2:2"),)), "(2):(16)"),
        (lambda: cute.composition("(4,2):(1,8)", "4:-1"), "4:-1"),
        (lambda: cute.composition("1:5", "4:2"), "4:10"),
        (lambda: cute.complement("(2,2):(1,6)", 24), "(3,2):(2,12)"),
        (lambda: cute.logical_divide("(4,2,3):(2,1,8)", "4:2"), "((2,2),(2,3)):((4,1),(2,8))"),
        (lambda: cute.zipped_divide("(8,6)", (2, 3)), "((2,3),(4,2)):((1,8),(2,24))"),
        (lambda: cute.tiled_divide("(8,6)", (2, 3)), "((2,3),4,2):((1,8),2,24)"),
        (lambda: cute.flat_divide("(8,6)", (2, 3)), "(2,3,4,2):(1,8,2,24)"),
        (lambda: cute.logical_product("(2,2):(4,1)", "6:1"), "((2,2),(2,3)):((4,1),(2,8))"),
        (lambda: cute.blocked_product("(2,2)", "(3,4)"), "((2,3),(2,4)):((1,4),(2,12))"),
        (lambda: cute.raked_product("(2,2)", "(3,4)"), "((3,2),(4,2)):((4,1),(12,2))"),
        (lambda: cute.right_inverse("(4,8):(1,5)"), "4:1"),
        (lambda: cute.left_inverse("(4,8):(1,5)"), "(5,8):(1,4)"),
        (lambda: cute.max_common_layout("(4,8):(1,4)", "(4,8):(1,16)"), "4:1"),
        (lambda: cute.nullspace("(4,8):(0,1)"), "4:1"),
        (lambda: cute.upcast("(4,8):(1,4)", 2), "(2,8):(1,2)"),
        (lambda: cute.downcast("(4,8):(1,4)", 2), "(8,8):(1,8)"),
        (lambda: cute.recast("(4,8):(1,4)", 16, 8), "(8,8):(1,8)"),
        (lambda: cute.crd2idx((2, 3), "(4,8):(1,4)"), "14"),
        (lambda: cute.idx2crd(7, (4, 8)), "(3, 1)"),
        (lambda: cute.slice((2, None), "(4,8):(1,4)"), "(8):(4)"),
        (lambda: cute.dice((2, None), "(4,8):(1,4)"), "(4):(1)"),
        (lambda: cute.group("(4,8,2):(1,4,32)", 0, 2), "((4,8),2):((1,4),32)"),
        (lambda: cute.filter("(4,8):(0,1)"), "8:1"),
        (lambda: cute.filter_zeros("(4,8):(0,1)"), "(1,8):(0,1)"),
        (lambda: cute.tile_to_shape("(2,2)", (4, 6)), "((2,2),(2,3)):((1,4),(2,8))"),
        (lambda: cute.composition(Swizzle(3, 3, 3), WIDE), f"Sw<3,3,3> o 0 o {WIDE}"),
        (lambda: cute.composition(Swizzle(0, 4, 3), WIDE), WIDE),
        (lambda: cute.composition("(8,8):(8,1)", Swizzle(1, 0, 3)), "Sw<1,0,-3> o 0 o (8,8):(8,1)"),
        (lambda: cute.composition(WIDE, f"Sw<3,3,3> o 0 o {WIDE}"), "Sw<3,0,3> o 0 o (8,(8,8)):(8,(64,1))"),
        (lambda: cute.get_swizzle_portion(parse_cute(WIDE)), "Sw<0,4,3>"),
        (lambda: cute.upcast(f"Sw<3,4,3> o 0 o {WIDE}", 2), "Sw<3,3,3> o 0 o (8,32):(32,1)"),
        (lambda: cute.right_inverse("Sw<3,3,3> o 0 o (8,64):(1,8)"), "Sw<3,3,3> o 0 o 512:1"),
        (lambda: cute.make_identity_layout((4, 5)), "(4,5):(1@0,1@1)"),
        (lambda: cute.composition(cute.make_identity_layout((4, 5)), "(2,5):(2,4)"), "(2,5):(2@0,1@1)"),
    ],
)
def test_as_cute_prints_it(found: Callable[[], Any], printed: str) -> None:
    assert str(found()) == printed


# What CUTLASS's own C++ says wrongly and without a word: only d < n is asserted, not that d divides n.
@pytest.mark.parametrize(
    ("outer", "inner", "words"),
    [
        ("(5,3):(1,36)", "8:3", "leaf 8:3 runs over the end of factor 5:1, and 3 does not divide 5"),
        ("(4,2):(1,10)", "(2,2):(3,3)", "leaves that add up to 6 in factor 4:1 carry over its end"),
        ("((6,1),2):((2,1),1)", "8:1", "leaf 8:1 runs over the end of factor 6:2, and 6 does not divide 8"),
        ("(5,2):(2,1)", "(1,8):(12,6)", "leaf 8:6 steps over factor 5:2, and 5 does not divide 6"),
        ("(4,8):(1,9)", "(2,2):(1,-4)", "move forwards and backwards"),
    ],
)
def test_a_composition_that_no_layout_has_is_refused_with_the_leaf(outer: str, inner: str, words: str) -> None:
    with pytest.raises(CompositionError, match=words):
        cute.composition(outer, inner)


def test_where_closed_forms_end_the_values_are_searched() -> None:
    outer, inner = "((2,2),12,((4))):((48,0),1,((12)))", "(((6,2),1),4):(((36,48),5),8)"
    assert str(cute.composition(outer, inner)) == "(((6,2),1),4):(((9,12),0),2)"
    assert str(cute.composition("(2,2):(1,16)", "2:3")) == "2:17"
    assert "among all 2 values" in str(cute.explain("composition", "(2,2):(1,16)", "2:3"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: cute.coalesce("(1048576,1048576):(1,1048576)"),
        lambda: cute.composition("(1048576,1048576):(1048576,1)", "(1024,1024):(1024,1048576)"),
        lambda: cute.complement("(4,8):(1,64)", 2**40),
        lambda: cute.logical_divide("1099511627776:1", "(4,8):(1,1048576)"),
        lambda: cute.logical_product("(1048576,1048576)", "1048576:1"),
        lambda: cute.right_inverse("(1048576,1048576):(1048576,1)"),
        lambda: cute.left_inverse("(1048576,1048576):(1048576,1)"),
        lambda: cute.blocked_product("(1048576,1024)", "(1024,1024)"),
        lambda: cute.composition("1099511627776:1", Swizzle(3, 4, 3)),
        lambda: cute.upcast("(1048576,1048576):(1,1048576)", 8),
        lambda: cute.crd2idx(2**50, "(1048576,1048576):(1048576,1)"),
    ],
)
def test_sizes_of_two_to_the_forty_take_no_time(call: Callable[[], Any]) -> None:
    start = time.process_time()
    call()
    assert time.process_time() - start < 0.2


@pytest.mark.parametrize(
    "call",
    [
        lambda: cute.composition("(5,1099511627776):(1,7)", "1099511627776:3"),
        lambda: cute.composition("(3,1099511627776):(8,1)", "Sw<3,0,3> o 5 o 1099511627776:1"),
        lambda: cute.left_inverse("(1048576,1048576):(3,1048577)"),
        lambda: cute.complement("(1048576,1048576):(3,1048577)", 2**50),
    ],
)
def test_sizes_that_closed_forms_do_not_reach_are_refused_at_once(call: Callable[[], Any]) -> None:
    start = time.process_time()
    with pytest.raises(CompositionError):
        call()
    assert time.process_time() - start < 0.2


@pytest.mark.parametrize(
    "call",
    [
        lambda: str(cute.explain("size", MANY)),
        lambda: cute.composition(MANY, MANY),
        lambda: cute.composition(MANY, f"Sw<3,4,3> o 8 o {MANY}"),
        lambda: str(cute.explain("logical_product", MANY, "4:1")),
        lambda: str(cute.explain("logical_divide", MANY, "4:1")),
        lambda: cute.complement(MANY, MANY),
        lambda: MANY.addresses(),
        lambda: CuteLayout((32, MANY.shape), (1, MANY.stride)).how_read(),
        lambda: cute.tile_to_shape("(3,4):(1,3)", (MANY.shape, 4)),
    ],
)
def test_numbers_that_python_does_not_print_are_said_by_their_length(call: Callable[[], Any]) -> None:
    try:
        assert call() is not None
    except LayoutError as error:
        assert str(error)


def test_a_layout_of_a_thousand_factors_composes_in_a_moment() -> None:
    extents = (2,) * 60
    strides = tuple(1 << (59 - k) for k in range(60))
    many = CuteLayout((*extents, *(1,) * 900), (*strides, *(0,) * 900))
    start = time.process_time()
    assert cute.composition(many, CuteLayout(extents, strides)).shape == extents
    assert time.process_time() - start < 0.5


def test_a_tile_that_names_fewer_modes_drops_the_others_and_none_keeps_one() -> None:
    whole = "(4,6,8):(48,8,1)"
    assert str(cute.composition(whole, (2, None))) == "(2,6):(48,8)"
    assert str(cute.logical_divide(whole, (2,))) == "((2,2),6,8):((48,96),8,1)"
    assert str(cute.zipped_divide(whole, (2, None))) == "((2,1),(2,6,8)):((48,0),(96,8,1))"
    with pytest.raises(CompositionError, match="a tile of 4 modes: it has 3"):
        cute.composition(whole, (1, 1, 1, 1))


def test_products_by_mode_take_a_tuple_of_one_and_a_number() -> None:
    # CuTe refuses (8) by 6 (Mismatched Ranks); printed of (8) by (6) it is ((8,(2,3))):((2,(1,16))).
    assert str(cute.blocked_product("(8):(2)", "6:1")) == str(cute.blocked_product("(8):(2)", "(6):(1)"))
    assert str(cute.blocked_product("(8):(2)", "(6):(1)")) == "((8,(2,3))):((2,(1,16)))"
    assert str(cute.raked_product("(8):(2)", "6:1")) == "(((2,3),8)):(((1,16),2))"


def test_a_blocked_product_is_the_product_with_the_block_on_the_right() -> None:
    block, copies = parse_cute("(2,2)"), parse_cute("(3,4)")
    assert la.from_cute(cute.blocked_product(block, copies)) == la.from_cute(copies) * la.from_cute(block)


def test_a_tuple_of_one_is_not_its_number() -> None:
    assert parse_cute("(8):(4)") != parse_cute("8:4")
    assert str(cute.composition("(8):(4)", "(4):(2)")) == "(4):(8)"
    assert cute.rank("(8):(4)") == cute.rank("8:4") == 1
    assert (cute.depth("(8):(4)"), cute.depth("8:4")) == (1, 0)


def test_what_has_no_addresses_says_so() -> None:
    for layout, words in (
        (CuteLayout((4, 2), (1, -4)), "factor 2:-4 moves backwards, and addresses count from 0"),
        (CuteLayout((4, 2), (1, -4), tile=(4, 2)), "factor 2:-4 moves backwards"),
        (CuteLayout((8, 8), (-8, 1), (3, 0, 3)), "factor 8:-8 moves backwards"),
    ):
        with pytest.raises(LayoutError, match=words):
            layout.operands()
    with pytest.raises(DistributionError, match="moves backwards"):
        CuteLayout((4, 2), (1, -4)).layout()
    with pytest.raises(ConversionError, match="its values are coordinates"):
        cute.make_identity_layout((4, 5)).addresses()


def test_a_layout_of_coordinates_is_a_relation_to_their_modes() -> None:
    identity = cute.make_identity_layout((4, (2, 3)))
    assert str(identity.layout()) == "d0 = 4@mode_0, d1 = 3@mode_1_1 2@mode_1_0"
    assert identity(3, (1, 2)) == (3, (1, 2)) == identity(23)
    assert str(la.parse(str(identity))) == str(identity)
    with pytest.raises(ConversionError, match="one number does not bound them"):
        cute.cosize(identity)


def test_steps_along_modes_pick_the_modes_of_another_layout() -> None:
    tile = CuteLayout((2, 2), (ScaledBasis(2, (0,)), ScaledBasis(1, (1,))))
    assert str(cute.composition("(4,8):(8,1)", tile)) == "(2,2):(16,1)"
    for bad in (
        CuteLayout((2, 2), (ScaledBasis(1, (0,)), ScaledBasis(1, (0, 1)))),
        CuteLayout((2, 2), (ScaledBasis(1, (0,)), 1)),
        CuteLayout(2, ScaledBasis(1, (5,))),
    ):
        with pytest.raises(CompositionError, match="a step along"):
            cute.composition("((4,2),8):((8,1),64)", bad)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ScaledBasis(0, (1,)), "a value other than 0"),
        (lambda: ScaledBasis(1, ()), "a value other than 0, and a mode"),
        (lambda: Swizzle(3, 0, 2), r"Sw<3,0,2>: expected bits >= 0"),
        (lambda: CuteLayout(8, ScaledBasis(1, (0,)), (1, 0, 1)), "coordinates have no bits"),
        (lambda: cute.composition("8:1", "x"), "column 1"),
        (lambda: cute.composition(8, "8:1"), "expected a CuteLayout or its text"),
        (lambda: cute.composition("8:1", 2.5), "expected a layout, a whole number, None, or a tuple"),
        (lambda: cute.get("(4,2):(1,4)", 2), "expected one from 0 to 1"),
        (lambda: cute.group("(4,2):(1,4)", 1, 3), "0 <= begin <= end <= 2"),
        (lambda: cute.make_layout(), "make_layout of 0 values"),
        (lambda: cute.slice((1, 2, None), "(4,2):(1,4)"), "expected one of the form of"),
        (lambda: cute.downcast("(4,2):(2,8)", 2), "no factor has stride 1"),
        (lambda: cute.upcast("(4,4):(1,2)", 4), "overlap, and reach 3 wide elements"),
        (lambda: cute.tile_to_shape("(2,3)", (4, 4)), "mode 1 has 3 elements, and 3 does not divide 4"),
        (lambda: cute.explain("compose", "8:1"), "operation 'compose': expected"),
        (lambda: cute.explain("coalesce"), "coalesce of 0 arguments"),
        (lambda: cute.complement("(4,2):(1,2)", 9), "factor 2:2 begins below 4, inside the others"),
        (lambda: cute.right_inverse("Sw<3,3,3> o 8 o 512:1"), "with the offset 8 it does not begin at 0"),
    ],
)
def test_wrong_arguments_are_refused_in_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        make()


def test_errors_of_values_are_verification_errors() -> None:
    for make in (lambda: ScaledBasis(1, (-1,)), lambda: Swizzle(-1, 0, 1), lambda: CuteLayout(4, 2**63)):
        with pytest.raises(VerificationError):
            make()


def test_an_explanation_has_the_definition_the_steps_and_the_result() -> None:
    explanation = cute.explain("logical_divide", "(8,8):(1,8)", "4:2")
    assert explanation.operation == "logical_divide"
    assert [step.words for step in explanation.steps] == [
        "the complement of the tile 4:2 up to size(A) = 64",
        "A is composed with the tile and its complement",
        "the factors of A, merged; the last one runs on",
        "leaf 4:2 takes 4 of 64:1, 2 apart",
        "leaf 2:1 takes 2 of 64:1",
        "leaf 8:8 takes 8 of 64:1, 8 apart",
    ]
    assert explanation.result == cute.logical_divide("(8,8):(1,8)", "4:2")
    assert hash(explanation) == hash(cute.explain("logical_divide", "(8,8):(1,8)", "4:2"))


def test_every_operation_of_the_package_can_be_explained() -> None:
    functions = {name for name in cute.__all__ if name.islower() and callable(getattr(cute, name))}
    assert functions - set(cute.OPERATIONS) == {
        "atom",
        "evaluate",
        "explain",
        "from_cute",
        "parse_cute",
        "text",
        "to_cute",
    }
