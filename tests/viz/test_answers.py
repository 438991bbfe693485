# pyright: reportPrivateUsage=false
"""What answers draw in a notebook: bars as long as prices, cache lines and who asks for them, tables, what changed."""

from __future__ import annotations

import random
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg import Layout
from layoutalg.core.notebook import Rows
from layoutalg.gemm.registers import Registers
from tests.core.test_notebook import KERNEL

ROWS, COLUMNS = "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"


def table_of(answer: Any) -> list[list[str]]:
    """The texts of a table, row by row."""
    rows = re.findall("<tr>(.*?)</tr>", answer._repr_html_(), re.S)
    return [[unescape(one) for one in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)] for row in rows]


def cells_of(answer: Any) -> Any:
    return answer.picture().scene().cells


@pytest.mark.parametrize("seed", range(12))
def test_lines_are_drawn_with_the_lanes_that_ask_for_their_bytes(seed: int) -> None:
    """Brute force: the bytes of each lane one by one, from the addresses alone."""
    chosen = random.Random(seed)
    lanes, step, bits, line = (
        chosen.choice([4, 16, 32]),
        chosen.choice([1, 2, 3, 17]),
        chosen.choice([8, 16, 32]),
        chosen.choice([16, 64, 128]),
    )
    found = la.coalescing(f"d0 = {lanes}@lane", element_bits=bits, memory=f"d0 = {lanes}@addr:{step}", line=line)
    wanted: dict[tuple[int, int], set[int]] = {}
    for lane in range(lanes):
        for byte in range(lane * step * bits // 8, (lane * step + 1) * bits // 8):
            wanted.setdefault((byte // line, byte % line), set()).add(lane)
    touched = {at for at, _ in wanted}
    assert found.lines == len(touched)
    assert (found.used, found.moved) == (len(wanted), len(touched) * line)
    drawn: set[tuple[int, int]] = set()
    for cell in cells_of(found):
        at, first, last = map(int, re.findall(r"\d+", cell.sentence)[:3])
        said = {
            int(one)
            for one in re.findall(
                r"\d+", cell.sentence.partition("asked for by")[2].partition(" bytes")[0].partition(" of ")[0]
            )
        }
        held = [wanted.get((at, byte), set[int]()) for byte in range(first, last + 1)]
        asked = sum(map(bool, held))
        if asked not in (0, len(held)):
            assert f"{asked} of {len(held)} bytes" in cell.sentence
            said -= {asked} - set[int]().union(*held)
        assert said == set[int]().union(*held)
        drawn |= {(at, byte) for byte in range(first, last + 1)}
    assert len({at for at, _ in drawn}) == min(len(touched), 32)
    assert len(drawn) == min(len(touched), 32) * line


def test_the_ways_of_a_conversion_are_bars_as_long_as_they_cost() -> None:
    ways = la.convert(ROWS, COLUMNS, target="pvc").candidates
    assert isinstance(ways, tuple)
    shown = ways._repr_html_()
    assert "data:image/svg" in shown
    from layoutalg.conversion.drawing.ways import ways_picture

    bars = ways_picture(ways).scene().cells
    assert [int(cell.sentence.split()[0]) for cell in bars] == [way.cost for way in ways]
    assert np.allclose([cell.width / bars[0].width for cell in bars], [way.cost / ways[0].cost for way in ways])


def test_a_price_is_drawn_as_its_plan_draws_it_and_one_of_nothing_is_not() -> None:
    price = la.price(ROWS, COLUMNS)
    taken = [cell.sentence for cell in cells_of(price) if cell.sentence.endswith(", taken")]
    assert [one.split()[0] for one in taken] == [str(price.slots)]
    assert "<img" not in la.price(ROWS, ROWS)._repr_html_()
    assert "<img" not in la.price(ROWS, COLUMNS, target="generic")._repr_html_()


@pytest.mark.parametrize(
    "needed", [Registers(16, 16, 64, 16, 6, 128), Registers(64, 128, 128, 128, 6, 256, "shared", 3)]
)
def test_registers_are_a_bar_with_what_takes_them(needed: Registers) -> None:
    cells = cells_of(needed)
    ends = [cell.x + cell.width for cell in cells]
    assert [cell.x for cell in cells[1:]] == pytest.approx(ends[:-1])
    counts = {cell.sentence.split(":")[0]: int(re.findall(r": (\d+)", cell.sentence)[0]) for cell in cells}
    assert sum(counts.values()) == max(needed.used, needed.available)
    assert ("they do not fit" in needed.picture().svg()) == (not needed.fits)


def test_a_swizzle_is_drawn_as_the_memory_that_it_makes() -> None:
    swizzle = la.Swizzle(2, 1, 3)
    for cell in cells_of(swizzle):
        row, column, at = map(int, re.findall(r"element \((\d+), (\d+)\).*?(\d+)", cell.sentence)[0])
        assert at == swizzle(row * 16 + column)
    assert "bits 4..5 are XORed onto bits 1..2" in swizzle._repr_html_()


@pytest.mark.parametrize("swizzle", [la.Swizzle(1, 0, 1), la.Swizzle(10, 20, 30), la.Swizzle(1, 60, 1)])
def test_every_swizzle_ends_a_cell(swizzle: la.Swizzle) -> None:
    assert f"{swizzle}:" in unescape(swizzle._repr_html_())


def test_tables_have_headings_and_every_row_is_there() -> None:
    layouts = la.read(KERNEL).layouts
    head, *rows = table_of(layouts)
    assert head == ["line", "operation", "value", "where", "shape", "layout"]
    assert [row[0] for row in rows] == [str(use.place.line) for use in layouts if use.place is not None]
    assert layouts[1:] == tuple(layouts)[1:]
    found = la.known_instructions("hopper", "mma")
    assert [row[0] for row in table_of(found)[1:]] == [one.name for one in found][:200]
    verified = la.read(KERNEL.replace("[1, 16]", "[1, 32]")).verify(llvm=24)
    assert [row[0] for row in table_of(verified)[1:]] == [str(one.place) for one in verified]
    assert table_of(la.TileConfig((16, 8), (64, 32))) == [
        ["register", "rows", "bytes in a row"],
        ["tmm0", "16", "64"],
        ["tmm1", "8", "32"],
    ]
    pairs = la.Table.of(Layout.parse("d0 = 300@lane"))
    assert table_of(pairs)[:3] == [["d0", "lane"], ["0", "0"], ["1", "1"]]
    assert "and 100 more" in pairs._repr_html_()
    assert "none" in Rows(())._repr_html_()


def test_a_sweep_is_a_table_of_what_was_planned_and_why_not() -> None:
    head, *rows = table_of(la.sweep([(64, 64, 64), {"m": 64, "n": 64, "k": 50, "lda": 40}]))
    assert [row[:3] for row in rows] == [["64", "64", "64"], ["64", "64", "50"]]
    assert "leading dimension" in rows[1][head.index("error")]


def test_what_migrates_is_shown_line_by_line_with_a_sign_and_not_by_colour_alone() -> None:
    text = "%z = amx.tile_zero : !amx.tile<16x16xf32>\ngpu.barrier"
    shown = la.read(text).migrate(llvm=24)._repr_html_()
    lines = [unescape(one) for one in re.findall("<span[^>]*>(.*?)</span>", shown)]
    assert "- %z = amx.tile_zero : !amx.tile<16x16xf32>" in lines
    assert "+   %z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>" in lines
    assert "    gpu.barrier" in lines
