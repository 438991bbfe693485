"""Expressions of CuTe's algebra: calls nest, names are known, and nothing but layouts, numbers and operations is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg import cute
from layoutalg.cli import main
from layoutalg.core import LayoutError, ParseError
from tests.refusals import wrong_refusal

Capture = pytest.CaptureFixture[str]


# The examples of the table, as CUTLASS's C++ printed them.
@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("coalesce((2,(1,6)):(1,(6,2)))", "12:1"),
        ("coalesce((2,(1,6)):(1,(6,2)), (1,1))", "(2,6):(1,2)"),
        ("composition((6,2):(8,2), (4,3):(3,1))", "((2,2),3):((24,2),8)"),
        ("composition((4,2):(1,10), 12:1)", "(4,3):(1,10)"),
        ("composition((4,1,8):(8,8,1), <2:2>)", "(2):(16)"),
        ("composition((4,2):(1,8), 4:-1)", "4:-1"),
        ("composition((4,5):(1@0,1@1), (2,5):(2,4))", "(2,5):(2@0,1@1)"),
        ("complement((2,2):(1,6), 24)", "(3,2):(2,12)"),
        ("logical_divide((4,2,3):(2,1,8), 4:2)", "((2,2),(2,3)):((4,1),(2,8))"),
        ("zipped_divide((8,6):(1,8), <2:1,3:1>)", "((2,3),(4,2)):((1,8),(2,24))"),
        ('zipped_divide((8,6):(1,8), !cute.tile<"[2:1;3:1]">)', "((2,3),(4,2)):((1,8),(2,24))"),
        ("tiled_divide((_8,_6):(_1,_8), (2:1, 3:1))", "((2,3),4,2):((1,8),2,24)"),
        ("flat_divide(Layout((8, 6)), (2, 3))", "(2,3,4,2):(1,8,2,24)"),
        ("logical_product((2,2):(4,1), 6:1)", "((2,2),(2,3)):((4,1),(2,8))"),
        ("blocked_product((2,2):(1,2), (3,4):(1,3))", "((2,3),(2,4)):((1,4),(2,12))"),
        ("raked_product((2,2):(1,2), (3,4):(1,3))", "((3,2),(4,2)):((4,1),(12,2))"),
        ("right_inverse((4,8):(1,5))", "4:1"),
        ("left_inverse((4,8):(1,5))", "(5,8):(1,4)"),
        ("max_common_layout((4,8):(1,4), (4,8):(1,16))", "4:1"),
        ("nullspace((4,8):(0,1))", "4:1"),
        ("upcast<2>((4,8):(1,4))", "(2,8):(1,2)"),
        ("cute::upcast<2>(cute.coalesce((4,8):(1,4)))", "16:1"),
        ("downcast<2>((4,8):(1,4))", "(8,8):(1,8)"),
        ("recast_layout((4,8):(1,4), 16, 8)", "(8,8):(1,8)"),
        ("crd2idx((2,3), (4,8):(1,4))", "14"),
        ("idx2crd(7, (4,8))", "(3, 1)"),
        ("slice((2,_), (4,8):(1,4))", "(8):(4)"),
        ("dice((2,None), (4,8):(1,4))", "(4):(1)"),
        ("group<0,2>((4,8,2):(1,4,32))", "((4,8),2):((1,4),32)"),
        ("filter((4,8):(0,1))", "8:1"),
        ("filter_zeros((4,8):(0,1))", "(1,8):(0,1)"),
        ("tile_to_shape((2,2):(1,2), (4,6))", "((2,2),(2,3)):((1,4),(2,8))"),
        ("make_layout(make_shape(Int<4>{}, _2{}), make_stride(_1{}, Int<-4>{}))", "(4,2):(1,-4)"),
        (
            "zipped_divide(Layout<Shape<_8,_6>>{}, make_tile(Layout<_2,_1>{}, Layout<_3>{}))",
            "((2,3),(4,2)):((1,8),(2,24))",
        ),
        ("make_identity_layout((4,5))", "(4,5):(1@0,1@1)"),
        ("composition(Sw<3,3,3>, (8,64):(64,1))", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("composition(SW128, (8,64):(64,1))", "Sw<3,4,3> o 0 o (8,64):(64,1)"),
        ("composition((8,8):(8,1), Sw<1,0,3>)", "Sw<1,0,-3> o 0 o (8,8):(8,1)"),
        ("upcast<2>(Sw<3,4,3> o 0 o (8,64):(64,1))", "Sw<3,3,3> o 0 o (8,32):(32,1)"),
    ],
)
def test_what_cutlass_printed(expression: str, result: str) -> None:
    assert str(cute.evaluate(expression).value) == result


def test_inner_calls_are_explained_first() -> None:
    found = cute.evaluate("composition(coalesce((2,4):(1,2)), complement(4:1, 8))")
    assert [call.operation for call in found.calls] == ["coalesce", "complement", "composition"]
    assert str(found.value) == "2:4"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("logical_divid((8,8):(1,8), 4:2)", "line 1, column 1: .*did you mean logical_divide"),
        ("__import__('os')", "line 1, column 2: expected a number after '_'"),
        ("size.__class__", "line 1, column 5"),
        ("size(4:1, 2, 3, 4)", r"expected size\(layout\), found 4 arguments"),
        ("size(", "column 6"),
        ("size", "expected '\\('"),
        ("", "expected a number"),
        ("coalesce(4:1) 3", "expected the end of the text"),
        ("coalesce((4,?):(1,4))", "write the number that it is then"),
        ("nothing((1,2))", "the operations are size, "),
        ("composition((5,3):(1,36), 8:3)", "leaf 8:3 runs over the end of factor 5:1"),
        ("1+1", "expected the end of the text"),
    ],
)
def test_refusals(expression: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        cute.evaluate(expression)


def test_many_calls_and_deep_ones_are_refused_quickly() -> None:
    for expression in ("(" + "size(4:1)," * 400 + "1)", "coalesce(" * 100 + "4:1" + ")" * 100):
        with pytest.raises(ParseError):
            cute.evaluate(expression)


def test_the_command_prints_definition_steps_result_before_and_after(capsys: Capture, tmp_path: Path) -> None:
    picture = tmp_path / "x.svg"
    assert main(["cute", "logical_divide((8,8):(1,8), 4:2)", "-o", str(picture)]) == 0
    said = capsys.readouterr().out
    for part in ("complement(B, size(A))", "  = (4,(2,8)):(2,(1,8))", "before  (8,8):(1,8)", "after   (4,(2,8))"):
        assert part in said
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert main(["cute", "logical_divide((8,8):(1,8), 4:2)", "--json", "--style", "mlir"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["result"] == '!cute.layout<"(4,(2,8)):(2,(1,8))">'
    assert facts["texts"]["c++"] == "(_4,(_2,_8)):(_2,(_1,_8))"
    assert facts["calls"][0]["operation"] == "logical_divide"


def test_the_command_refuses_in_words(capsys: Capture) -> None:
    for arguments in (
        ["cute", "size("],
        ["cute", "4:1", "-o", "x.gif"],
        ["cute", "size(4)", "-o", "x.svg"],
    ):
        assert main(arguments) == 2
        assert wrong_refusal(capsys.readouterr().err) is None


def test_values_over_64_bits_are_drawn_and_sizes_of_any_length_are_said(capsys: Capture) -> None:
    long = "4000000000000000000"
    assert main(["cute", f"logical_product({long}:1, {long}:1)"]) == 0
    assert "12000000000000000015" in capsys.readouterr().out
    assert main(["cute", f"size(({','.join([long] * 400)}))", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == "(a number of 7441 digits)"


def test_layouts_without_addresses_are_drawn_by_their_values(capsys: Capture) -> None:
    assert main(["cute", "composition((4,2):(1,8), 4:-1)"]) == 0
    assert "-3" in capsys.readouterr().out
    assert main(["cute", "make_identity_layout((2,2))"]) == 0
    assert "(1,1)" in capsys.readouterr().out
