"""CuTe's texts: what C++, Python and MLIR print is read, printed again, and refused where it is cut or means nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

import layoutalg as la
from layoutalg import cute
from layoutalg.core import LayoutError, ParseError
from layoutalg.core.reader import Reader
from layoutalg.cute import CuteLayout, ScaledBasis, Swizzle
from layoutalg.cute.reading import read_cute_value
from tests.cute.random_values import layout as random_layout

# Rows 1 and 3 of the table in the facts: what CUTLASS 4.2, pycute and CuTe DSL 4.8 print of one value.
SAME = [
    (
        CuteLayout((4, (2, 3)), (6, (3, 1))),
        "(_4,(_2,_3)):(_6,(_3,_1))",
        "(4, (2, 3)):(6, (3, 1))",
        "Layout((4, (2, 3)),(6, (3, 1)))",
        "(4, (2, 3)) : (6, (3, 1))",
        "Layout((4, (2, 3)), (6, (3, 1)))",
        '!cute.layout<"(4,(2,3)):(6,(3,1))">',
        "Layout<Shape <_4,Shape <_2,_3>>, Stride<_6,Stride<_3,_1>>>{}",
        "cute::Layout<cute::Shape<Int<4>,cute::Shape<C<2>,_3>>,cute::Stride<_6,cute::Stride<_3,_1>>>",
        "cute.Layout((4,(2,3)), (6,(3,1)))",
    ),
    (CuteLayout((4,), (1,)), "(_4):(_1)", "(4,):(1,)", "Layout((4,),(1,))", '!cute.layout<"(4):(1)">'),
    (CuteLayout(4, -1), "_4:_-1", "4:-1", '!cute.layout<"4:-1">', "Layout(4, -1)"),
    (
        CuteLayout((8, 64), (64, 1), (3, 4, 3)),
        "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)",
        "SW_3_4_3 o 0 o (8, 64):(64, 1)",
        "S<3,4,3> o 0 o (8,64):(64,1)",
        "ComposedLayout(Swizzle(3,4,3),0,Layout((8, 64),(64, 1)))",
        "ComposedLayout(Swizzle(3, 4, 3), Layout((8, 64), (64, 1)), offset=0)",
        "(Swizzle(3, 4, 3)) o ((8, 64) : (64, 1))",
        '!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">',
        "Sw<3,4,3> o smem_ptr[8b](unset) o (_8,_64):(_64,_1)",
        "Sw<3,5,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)",
    ),
    (CuteLayout((8, 64), (64, 1), (3, 3, 3)), "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"),
    (
        CuteLayout((16, 2), (1, 16), (2, 3, -2)),
        "Sw<2,3,-2> o _0 o (_16,_2):(_1,_16)",
        "S<2,3,-2 o 0 o (16,2):(1,16)",  # CuTe DSL 4.8 loses the '>' there
        "SW_2_3_-2 o 0 o (16, 2):(1, 16)",
        '!cute.composed_layout<"S<2,3,-2> o 0 o (16,2):(1,16)">',
    ),
    (
        CuteLayout((4, (5, 2)), (ScaledBasis(1, (0,)), (ScaledBasis(1, (1, 0)), ScaledBasis(1, (1, 1))))),
        "(_4,(_5,_2)):(_1@0,(_1@0@1,_1@1@1))",
        "(4,(5,2)):(1@0,(1@0@1,1@1@1))",
    ),
    (CuteLayout((4, 2), (1, 4)), '!cute.layout<"(4,2)">', "(4,2)", "Layout((4, 2))", "(4, 2) : (1, 4)"),
]


@pytest.mark.parametrize("case", SAME, ids=lambda case: str(case[0]))
def test_every_text_of_a_layout_is_read_as_that_layout(case: tuple[Any, ...]) -> None:
    value, *texts = case
    for text in texts:
        assert la.parse(text) == value
        assert cute.parse_cute(text) == value


def test_what_is_printed_in_each_style_is_read_again() -> None:
    rng = random.Random(1)
    for _ in range(1500):
        layout = random_layout(rng)
        for style in ("c++", "python", "mlir"):
            assert la.parse(layout.text(style)) == layout
        assert la.parse(str(layout)) == layout
    values: list[Any] = [
        Swizzle(3, 4, 3), Swizzle(2, 3, -2), 4, -7, None, (1, None), (4, (2,)), ScaledBasis(-2, (1, 0)),
        (CuteLayout(2, 1), None), (CuteLayout((2, 2), (1, 4)), 3),
    ]  # fmt: skip
    for value in values:
        for style in ("c++", "python", "mlir"):
            assert read_cute_value(Reader(cute.text(value, style))) == value


def test_what_pycute_prints() -> None:
    layout = CuteLayout((4, (2, 3)), (6, (3, 1)))
    assert layout.text("python") == "(4, (2, 3)):(6, (3, 1))" == f"{layout.shape}:{layout.stride}"


@pytest.mark.parametrize("case", SAME, ids=lambda case: str(case[0]))
def test_texts_cut_anywhere_are_refused_with_a_place(case: tuple[Any, ...]) -> None:
    for text in case[1:]:
        for end in range(len(text)):
            try:
                found = la.parse(text[:end])
            except ParseError as error:
                assert (error.line, 1 <= error.column <= end + 1) == (1, True)
            except LayoutError:  # the start of a stride of another form: (4,2):1
                assert ":" in text[:end]
            else:  # a piece that is a text itself: (4,2) before its strides, 4:1 before the 6
                assert str(found)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("(?,4):(4,1)", 2, "found '?', known at run time alone: write the number that it is then"),
        ('!cute.layout<"(4,?):(1,4)">', 18, "write the number"),
        ('!cute.int_tuple<"(4,2)">', 1, "found a int tuple, which is not a layout"),
        ('!cute.shape<"(4,2)">', 1, "found a shape, which is not a layout"),
        ('!cute.coord<"(1,_)">', 1, "found a coord, which is not a layout"),
        ('!cute.tile<"[(4,2):(1,4);_]">', 1, "found a tile, which is not a layout"),
        ('!cute.swizzle<"S<3,4,3>">', 1, "found a swizzle, which is not a layout"),
        ("Sw<3,4,3>", 1, "found a swizzle, which is not a layout"),
        ("Sw<4,0,3> o 0 o 8:1", 1, "expected a swizzle of bits >= 0, base >= 0, |shift| >= bits"),
        ("Sw<3,0,3> o smem_ptr[16b](unset) o (8,64):(64,1)", 1, "which moves parts of one"),
        ("(0,4):(1,2)", 1, "expected extents from 1 to 2^62, found 0"),
        ("(4,2", 5, "expected ',' or ')', found the end of the text"),
        ("((4:1),2)", 1, "found a tuple, which is not a layout"),
        ('!cute.layot<"(4,2)">', 1, "did you mean layout?"),
        ("(4,2):(1,\u00e9)", 10, "expected a number"),
        ("Layout((4, 2),(1, 4)", 21, "expected ','"),
        ("(4,2):(1,4) o 3 o (2,2):(1,2)", 1, "expected an offset inside a swizzle alone"),
    ],
)
def test_refusals_say_what_was_read_and_where(text: str, column: int, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        la.parse(text)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_deep_and_long_texts_are_refused_quickly() -> None:
    for text in (
        "(" * 10**5,
        "4:1 o " * 10**5 + "4:1",
        "(" + "2," * 5000 + "2):1",
        "(" * 70 + "4" + ")" * 70,
        "4" * 500 + ":1",
    ):
        with pytest.raises(LayoutError):
            la.parse(text)
        with pytest.raises(LayoutError):
            cute.evaluate(text)


def test_a_composition_of_layouts_is_composed() -> None:
    assert str(la.parse("(4,8):(8,1) o (2,4):(2,4)")) == str(cute.composition("(4,8):(8,1)", "(2,4):(2,4)"))
