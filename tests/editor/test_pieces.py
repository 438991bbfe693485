"""Pieces: what is found in them is what is found in the whole file, and an edit reads one of them again."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import layoutalg as la
from layoutalg.editor.cutting import cut, functions_of
from layoutalg.editor.documents import Document
from layoutalg.flow.malformed import is_refusal
from layoutalg.ir.findings import Finding
from layoutalg.module import Module
from tests.checking import modules
from tests.editor.texts import KERNEL, MODULES, TTGIR

FILES = {**MODULES, **TTGIR, "kernel": KERNEL, "dpas": modules.DPAS_ROWS, "matrix": modules.STORE_MATRIX}


def found_in(document: Document) -> list[tuple[int, str, str]]:
    return sorted({(mark.start, mark.finding.rule, mark.finding.message) for mark in document.marks()})


def found_in_whole(text: str) -> list[tuple[int, str, str]]:
    """What `check` and `verify` find in a file as it is."""
    module = Module(text)
    checked = la.check(module)
    findings: list[Finding] = [*checked.findings, *(one for one in module.verify() if not is_refusal(one))]
    places = [(0 if one.place is None else module.lines.offset(one.place), one) for one in findings]
    return sorted({(at, one.rule, one.message) for at, one in places if one.rule != "read.nothing"})


@pytest.mark.parametrize("name", FILES)
def test_the_pieces_of_a_file_mean_what_the_file_means(name: str) -> None:
    def without_lines(found: list[tuple[int, str, str]]) -> list[tuple[int, str]]:
        return [(at, rule) for at, rule, _ in found]

    text = FILES[name]
    assert without_lines(found_in(Document(text))) == without_lines(found_in_whole(text))


@pytest.mark.parametrize("name", FILES)
def test_every_character_belongs_to_one_piece(name: str) -> None:
    text = FILES[name].replace("\n", "\r\n") if name == "arith.mlir" else FILES[name]
    pieces = cut(text)
    owned = sorted(run for piece in pieces for run in piece.own)
    assert owned[0][0] == 0
    assert owned[-1][1] == len(text)
    gaps = [text[a[1] : b[0]] for a, b in pairwise(owned)]
    assert all(not gap.strip() or gap.strip().startswith("// -----") for gap in gaps)
    for piece in pieces:
        for start, end in piece.runs:
            for offset in {start, (start + end) // 2, end - 1}:
                inside = piece.inside(offset)
                assert inside is not None
                assert piece.outside(inside) == offset
                assert piece.text[inside] == text[offset]


def test_functions_that_call_one_another_are_read_together() -> None:
    text = """\
func.func @a() { func.call @b() : () -> () return }
func.func @b() { return }
func.func @c() { return }
func.func @d() { func.call @a() : () -> () return }
"""
    assert [piece.names for piece in cut(text)] == [(), ("a", "b", "d"), ("c",)]


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() attributes {a = 1} {\n  return\n}",
        "gpu.func @f(%x: i32,\n    %y: i32)\n    kernel attributes {b = [1]}\n{\n  gpu.return\n} loc(#loc)",
        "tt.func public @f(%x: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {\n  tt.return\n}",
        'func.func private @f(i32) -> i32 attributes {llvm.x = "}"}',
        'func.func @f() {\n  // }\n  "test.op"() {text = "}{"} : () -> ()\n  return\n}',
    ],
)
def test_a_function_ends_where_its_brackets_close(text: str) -> None:
    around = f"module {{\n{text}\nmemref.global @g : memref<4xf32>\n}}\n"
    assert [around[start:end].rstrip() for _, start, end in functions_of(around)] == [text]


def test_a_function_without_its_bracket_ends_where_the_next_begins() -> None:
    text = "func.func @f() {\n  scf.for {\n  return\n}\nfunc.func @g() {\n  return\n}\n"
    assert [(name, text[start:end].count("\n")) for name, start, end in functions_of(text)] == [("f", 4), ("g", 3)]


def test_an_edit_reads_one_piece_again() -> None:
    document = Document(KERNEL)
    document.marks()
    edits = {
        "in the first function": (KERNEL.replace("math.exp %x", "math.exp2 %x"), {"first"}),
        "a line more in the second": (KERNEL.replace("  %s = ", "\n  // five\n  %s = "), {"second"}),
        "a comment before all": ("// more\n\n" + KERNEL, set[str]()),
        "an alias that the first uses": (
            KERNEL.replace("#rows", "#others", 1) + f"\n#rows = {la.parse('#xegpu.layout<lane_layout = [16, 1]>')}\n",
            None,
        ),
    }
    for name, (text, again) in edits.items():
        later = document.edited(text)
        new = {
            one
            for piece, reading in zip(later.pieces, later.readings, strict=True)
            if reading not in document.readings
            for one in piece.names
        }
        assert again is None or new == again, name
        assert found_in(later) == found_in(Document(text)), name


def test_a_bracket_too_many_that_goes_again_costs_no_reading() -> None:
    document = Document(KERNEL)
    before = document.readings
    wrong = document.edited(KERNEL.replace("  %y = ", "  }\n  %y = "))
    assert set(wrong.readings) - set(before)
    again = wrong.edited(KERNEL)
    assert all(one is other for one, other in zip(again.readings, before, strict=True))


def test_random_edits_give_what_the_new_text_gives() -> None:
    chance = random.Random(5)
    document = Document(KERNEL)
    for _ in range(12):
        start = chance.randrange(len(document.text))
        end = start + chance.randrange(30)
        text = document.text[:start] + chance.choice(["", "\n", "{", "}", "%x", " "]) + document.text[end:]
        document = document.edited(text)
        assert found_in(document) == found_in(Document(text))


def test_lines_in_messages_are_those_of_the_file() -> None:
    text = KERNEL.replace("func.func @second", "\n\n\nfunc.func @second")
    line = 1 + next(number for number, one in enumerate(text.split("\n")) if "%s = " in one)
    [mark] = [one for one in Document(text).marks() if one.finding.rule == "layouts.operand"]
    assert f"line {line}" in mark.message
    assert [text.count("\n", 0, start) + 1 for start, _, _ in mark.related] == [line, line]
