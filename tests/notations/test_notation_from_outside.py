"""A notation that the package does not know works everywhere once it is registered, without a line changed elsewhere."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import layoutalg as la
from layoutalg.cli import main
from tests.notations import tiled

WGMMA = "#tiled.layout<[64, 8] [16, 8] [8, 8] [1, 2], warp = [-8], lane = [-4, -3], vector = -1>"
"""The accumulator of NVIDIA's wgmma, as PTX's manual has it."""


def owner(row: int, column: int) -> tuple[int, int, int]:
    """Warp, lane and register of an element of a 64x8 accumulator: PTX ISA, "Register fragments for wgmma.mma_async"."""
    return row // 16, row % 8 * 4 + column // 2, row // 8 % 2 * 2 + column % 2


def test_it_is_written_in_at_most_150_lines() -> None:
    assert len(inspect.getsource(tiled).splitlines()) <= 150


def test_parse_prints_and_reads_back() -> None:
    value = la.parse(WGMMA)
    assert str(value) == WGMMA
    assert la.parse(str(value)) == value
    assert la.parse(f"#t = {WGMMA}\n#t") == value


def test_its_layout_is_what_ptx_says() -> None:
    layout = la.parse(WGMMA).layout((64, 8))
    for row, column in np.ndindex(64, 8):
        assert layout.owners((row, column)) == [owner(row, column)]


def test_on_a_larger_machine_others_hold_copies() -> None:
    layout = la.parse(WGMMA).layout((64, 8), la.Machine(lanes=64))
    assert layout.owners((0, 0)) == [(0, 0, 0), (0, 32, 0)]


def test_errors_name_it() -> None:
    with pytest.raises(la.ParseError, match=r"#tiled\.layout<"):
        la.parse("#tield.layout<[8, 8]>")
    with pytest.raises(la.ParseError, match="column 22: expected ','"):
        la.parse("#tiled.layout<[64, 8]>")


def test_same_compares_it_with_other_notations() -> None:
    assert la.same(WGMMA, "#xegpu.layout<sg_layout=[4,1], sg_data=[16,8], lane_layout=[8,4], lane_data=[1,2]>", (64, 8))
    answer = la.same(WGMMA, "d0 = 64@reg, d1 = 8@lane", (64, 8))
    assert answer.element == (0, 1)


def test_convert_moves_it() -> None:
    columns = "#xegpu.layout<sg_layout = [4, 1], sg_data = [16, 8], lane_layout = [4, 8], lane_data = [1, 1]>"
    plan = la.convert(WGMMA, columns, (64, 8))
    tile = np.arange(512, dtype=np.int32).reshape(64, 8)
    before, after = (la.distribute(la.parse(text).layout((64, 8)), tile) for text in (WGMMA, columns))
    assert np.array_equal(plan.apply(before), after)


def test_it_goes_over_to_other_notations() -> None:
    layout = la.parse(WGMMA).layout((64, 8))
    assert la.to_xegpu(layout).layout((64, 8)) == layout
    assert la.to_linear_layout(layout).layout() == layout


def test_the_command_line_shows_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", WGMMA, "64x8", "--sg", "1", "--lane", "5"]) == 0
    assert "holds     (17, 2) (17, 3) (25, 2) (25, 3)" in capsys.readouterr().out
    assert main(["draw", WGMMA, "-o", str(tmp_path / "wgmma.svg")]) == 0
    assert (tmp_path / "wgmma.svg").read_text().startswith("<svg")
    assert main(["convert", WGMMA, "d0 = 4@sg 16@reg, d1 = 8@lane | replicas 4@lane:8", "64x8"]) == 0


def test_it_has_pictures() -> None:
    assert "<svg" in la.parse(WGMMA).picture().svg()
    assert la.parse(WGMMA)._repr_html_() is not None
