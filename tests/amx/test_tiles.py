"""`!amx.tile` types: text, LLVM's rules, and where each byte of a tile lies in its register and in memory."""

from __future__ import annotations

import contextlib
import pickle
import random
import secrets
import subprocess
import sys
import time
from itertools import product

import pytest

import layoutalg as la
from layoutalg.amx import TileType, parse_tile
from layoutalg.core import Layout, LayoutError, ParseError, VerificationError

BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1}
"""LLVM's dialect page: 32-bit float, 16-bit float, bfloat16, 32-bit and 8-bit signless integer."""


def kind(value: object) -> str:
    """A parameter's name in the report: numbers of 5,000 digits have no text."""
    return type(value).__name__


def tiles() -> list[TileType]:
    """Every tile that fits a register, of five heights."""
    return [
        TileType(rows, width // size, element)
        for element, size in BYTES.items()
        for rows in (1, 2, 5, 15, 16)
        for width in range(4, 65, 4)
    ]


# Text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("!amx.tile<16x64xi8>", "!x86.amx.tile<16x64xi8>"),
        ("!amx.tile<16 x 32 x bf16>", "!x86.amx.tile<16x32xbf16>"),
        ("  !amx.tile< 16x16 xf32 > // C\n", "!x86.amx.tile<16x16xf32>"),
        ("!amx.tile<016x064xi8>", "!x86.amx.tile<16x64xi8>"),
        ("!amx.tile<17x1000xf16>", "!x86.amx.tile<17x1000xf16>"),
    ],
)
def test_text_becomes_the_canonical_text(text: str, canonical: str) -> None:
    tile = parse_tile(text)
    assert str(tile) == canonical
    assert parse_tile(str(tile)) == tile


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("!amx.tiles<16x64xi8>", 10, "expected '<'"),
        ("!amx.tile 16x64xi8", 11, "expected '<'"),
        ("!xegpu.tile<16x64xi8>", 1, "'!amx.tile'"),
        ("!amx.tile<16xi8>", 11, "two sizes, rows x columns, found 1"),
        ("!amx.tile<i8>", 11, "two sizes, rows x columns, found 0"),
        ("!amx.tile<16x4x4xi8>", 11, "found a third"),
        ("!amx.tile<?x64xi8>", 11, "a static size"),
        ("!amx.tile<16x?xi8>", 14, "a static size"),
        ("!amx.tile<-1x64xi8>", 11, "two sizes"),
        ("!amx.tile<16x64>", 16, "expected 'x'"),
        ("!amx.tile<16x64x>", 17, "an element type (f32, f16, bf16, i32, i8)"),
        ("!amx.tile<16x64xI8>", 17, "an element type (f32, f16, bf16, i32, i8), found 'I8>'"),
        ("!amx.tile<16x64xvector<2xi8>>", 17, "an element type"),
        ("!amx.tile<16x64xi8", 19, "expected '>'"),
        ("!amx.tile<16x64xi8> i8", 21, "the end of the text"),
        ("!amx.tile<99999999999x64xi8>", 11, "a size of at most 2^31, found 99999999999"),
        ("!amx.tile<16x2147483649xi8>", 14, "a size of at most 2^31"),
        ("!amx.tile<１６x64xi8>", 11, "two sizes"),
    ],
)
def test_a_parse_error_points_at_the_column(text: str, column: int, says: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_tile(text)
    assert (caught.value.line, caught.value.column) == (1, column), caught.value
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("!amx.tile<16x64xi16>", "failed to verify 'elementType': 32-bit float or 16-bit float or bfloat16 type or"),
        ("!amx.tile<16x64xsi8>", "failed to verify 'elementType'"),
        ("!amx.tile<16x64xindex>", "failed to verify 'elementType'"),
        ("!amx.tile<0x64xi8>", "rows = 0: expected at least 1 (LLVM 22 accepts this)"),
        ("!amx.tile<16x0xi8>", "cols = 0: expected at least 1 (LLVM 22 accepts this)"),
    ],
)
def test_types_that_cannot_be_are_refused(text: str, says: str) -> None:
    with pytest.raises(VerificationError) as caught:
        parse_tile(text)
    assert says in str(caught.value)


@pytest.mark.parametrize("value", [-1, 0, 16.0, True, "16", None, 2**31 + 1, 10**5000, (16,)], ids=kind)
def test_sizes_that_are_none_are_refused(value: object) -> None:
    for rows, cols in ((value, 64), (16, value)):
        with pytest.raises(VerificationError) as caught:
            TileType(rows, cols, "i8")  # type: ignore[arg-type]
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [None, 8, "I8", "", ("i8",), "i8" * 10_000])
def test_element_types_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(VerificationError, match="elementType") as caught:
        TileType(16, 64, value)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "text",
    [
        "!amx.tile<" * 100_000,
        "!amx.tile<" + "1x" * 100_000,
        "!amx.tile<" + "9" * 1_000_000,
        "!amx.tile<16x64x" + "i" * 1_000_000 + ">",
        "!amx.tile<" + " " * 1_000_000,
        "!amx.tile<16x64xi8>" + ">" * 1_000_000,
    ],
    ids=lambda text: text[:16],
)
def test_texts_made_to_hurt_are_refused_quickly(text: str) -> None:
    start = time.thread_time()
    with pytest.raises((ParseError, VerificationError)) as caught:
        parse_tile(text)
    assert time.thread_time() - start < 0.5
    assert len(str(caught.value)) < 500


def test_mutated_texts_raise_only_what_is_documented() -> None:
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    seeds = ["!amx.tile<16x64xi8>", "!amx.tile< 5 x 12 x bf16 >", "!amx.tile<16x16xf32> // C"]
    pieces = [
        "x",
        "<",
        ">",
        "?",
        "0",
        "0x10",
        "-1",
        "99999999999999999999",
        "i8",
        "é",
        "\0",
        "//",
        "\n",
        "!amx.",
        "[4]",
    ]
    read = 0
    for _ in range(5_000):
        text = rng.choice(seeds)
        for _ in range(rng.randint(1, 4)):
            at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
            text = text[:at] + rng.choice(["", rng.choice(pieces), text[at:to] * 2]) + text[rng.choice((at, to)) :]
        with contextlib.suppress(ParseError, VerificationError):
            try:
                tile = parse_tile(text)
            except LayoutError:
                raise
            except Exception as error:
                raise AssertionError((seed, text)) from error
            read += 1
            assert parse_tile(str(tile)) == tile, (seed, text)
            tile.check()
    assert read > 50


def test_values_are_frozen_hashable_and_picklable() -> None:
    tile = TileType(16, 64, "i8")
    assert {tile: 1}[parse_tile("!amx.tile<16x64xi8>")] == 1
    assert pickle.loads(pickle.dumps(tile)) == tile
    with pytest.raises(AttributeError):
        tile.rows = 8  # type: ignore[misc]


def test_types_and_layouts_load_no_numpy() -> None:
    code = (
        "import sys; from layoutalg.amx import *; parse_tile('!amx.tile<16x64xi8>').layout(); "
        "p = TileProduct(16, 16, 64, 'i8', 'i8'); p.rhs; TileConfig.of([p.lhs_type]).to_bytes(); vnni_layout(64, 16, 'i8');"
        "print([m for m in ('numpy', 'sympy', 'xdsl', 'ml_dtypes') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The rules (each diagnostic as mlir-opt-22 and 24 print it; tests/oracle/test_amx_llvm.py asks it for more)


@pytest.mark.parametrize(
    ("text", "diagnostic"),
    [
        ("!amx.tile<16x64xi8>", None),
        ("!amx.tile<1x1xf32>", None),
        ("!amx.tile<17x64xi8>", "bad row height: 17"),
        ("!amx.tile<17x66xi8>", "bad row height: 17"),
        ("!amx.tile<16x65xi8>", "bad column width: 65"),
        ("!amx.tile<16x62xi8>", "bad column width: 62"),
        ("!amx.tile<16x17xi32>", "bad column width: 68"),
        ("!amx.tile<16x31xbf16>", "bad column width: 62"),
        ("!amx.tile<16x64xf32>", "bad column width: 256"),
    ],
)
def test_the_verdict_is_llvms_and_only_layouts_raise_it(text: str, diagnostic: str | None) -> None:
    tile = parse_tile(text)
    assert tile.check() == diagnostic
    for ask in (tile.layout, tile.byte_layout, tile.memory_layout, tile.memory_byte_layout):
        if diagnostic is None:
            ask()
        else:
            with pytest.raises(VerificationError) as caught:
                ask()
            assert str(caught.value).startswith(diagnostic)
            assert text.removeprefix("!") in str(caught.value)


# The register


def test_an_element_starts_at_its_row_and_the_bytes_before_it() -> None:
    for tile in tiles():
        size = BYTES[tile.element]
        layout = tile.layout(tmm=5)
        assert layout.shape == tile.shape
        assert layout.codomain == ("tmm", "row", "col")
        for r, c in {(0, 0), (tile.rows - 1, tile.cols - 1), (tile.rows // 2, tile.cols // 2)}:
            assert layout.owners((r, c)) == [(5, r, size * c)]
        assert tile.layout().owners((0, 0)) == [(0, 0, 0)]


@pytest.mark.slow
def test_the_bytes_of_the_elements_fill_the_tile_once() -> None:
    for tile in tiles():
        size = BYTES[tile.element]
        layout = tile.byte_layout(tmm=1)
        filled = {layout.owners((r, c, b))[0] for r, c, b in product(range(tile.rows), range(tile.cols), range(size))}
        assert filled == {(1, r, col) for r in range(tile.rows) for col in range(tile.cols * size)}
        back = layout.inverse()
        assert back.inverse() == layout
        r, col = tile.rows - 1, tile.cols * size - 1
        assert back.owners((1, r, col)) == [(r, col // size, col % size)]


@pytest.mark.parametrize("tmm", [-1, 8, 1.0, None, "tmm0", True, 10**5000], ids=kind)
def test_there_are_eight_registers(tmm: object) -> None:
    with pytest.raises(VerificationError, match="8 tile registers"):
        TileType(16, 64, "i8").layout(tmm=tmm)  # type: ignore[arg-type]


# Memory


@pytest.mark.parametrize("tile", [TileType(3, 8, "i8"), TileType(4, 6, "bf16"), TileType(1, 16, "f32")])
@pytest.mark.parametrize("stride", [None, 0, 1, 3, 8, 100])
def test_memory_follows_the_indexing_scheme_of_the_dialects_page(tile: TileType, stride: int | None) -> None:
    """For row r: mem_row = base[i0, .., iN + r * stride]; tile[r, c] = mem_row[c]."""
    step = tile.cols if stride is None else stride
    size = BYTES[tile.element]
    elements, octets = tile.memory_layout(stride), tile.memory_byte_layout(stride)
    assert elements.codomain == octets.codomain == ("addr",)
    for r, c in product(range(tile.rows), range(tile.cols)):
        assert elements.owners((r, c)) == [(r * step + c,)]
        for b in range(size):
            assert octets.owners((r, c, b)) == [((r * step + c) * size + b,)]


def test_rows_without_a_gap_are_the_whole_block_and_rows_that_overlap_have_no_inverse() -> None:
    tile = TileType(4, 8, "i8")
    assert tile.memory_layout().inverse().owners((13,)) == [(1, 5)]
    assert tile.memory_layout(stride=8) == Layout.parse("d0 = 4@addr:8, d1 = 8@addr")
    with pytest.raises(LayoutError, match="'addr'"):
        tile.memory_layout(stride=7).inverse()


@pytest.mark.parametrize("stride", [-1, 2**40 + 1, 1.5, "64", True, 10**5000], ids=kind)
def test_strides_that_are_none_are_refused(stride: object) -> None:
    with pytest.raises(VerificationError, match="stride"):
        TileType(16, 64, "i8").memory_layout(stride)  # type: ignore[arg-type]


@pytest.mark.parametrize("tile", [TileType(16, 64, "i8"), TileType(1, 2, "bf16")])
def test_each_version_of_llvm_has_its_spelling_and_both_are_read(tile: TileType) -> None:
    body = f"tile<{tile.rows}x{tile.cols}x{tile.element}>"
    assert tile.text(llvm=22) == f"!amx.{body}"
    assert tile.text() == str(tile) == tile.text(llvm=23) == tile.text(llvm=24) == f"!x86.amx.{body}"
    for version in (22, 23, 24):
        assert la.parse(tile.text(version)) == parse_tile(tile.text(version)) == tile


@pytest.mark.parametrize("llvm", [21, 25, "22", None, True, 22.0, 10**5000], ids=kind)
def test_other_versions_are_not_known(llvm: object) -> None:
    with pytest.raises(LayoutError, match="LLVM 22, 23, 24"):
        TileType(16, 64, "i8").text(llvm)  # type: ignore[arg-type]
