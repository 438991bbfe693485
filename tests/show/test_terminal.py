"""The folded grid of owners: unfolded again, every cell must be what the owner map says."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

import layoutalg as la
from layoutalg.show import OwnerGrid, owner_grid, render

MFMA = la.mma("MFMA_F32_16x16x16_F16")
LAYOUTS = [
    MFMA.lhs,
    MFMA.rhs,
    MFMA.acc,
    la.mma("WMMA_F32_16x16x16_F16").acc,
    la.dpas("f16", "f16", "f32").b,
    la.Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"),
    la.Layout.parse("d0 = 4@lane 2@reg, d1 = 4@lane:4"),
    la.Layout.parse("d0 = 3@lane 5@reg, d1 = 7@lane:3 2@reg:5"),
    la.Layout.parse("d0 = 8@lane, d1 = 8@lane:8"),
    la.Layout.parse("d0 = 8@lane:8, d1 = 8@lane"),
    la.Layout.parse("d0 = 2@sg 16@lane, d1 = 3@reg"),
    la.Layout.parse("d0 = 24@lane"),
]


def span(text: str) -> range:
    if not text:  # no dimension on this side
        return range(1)
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def unfolded(grid: OwnerGrid) -> dict[tuple[int, int], tuple[int, int]]:
    """The (subgroup, lane) of every element, read from the labels alone."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row_text, cells in zip(grid.rows, grid.cells, strict=True):
        for column_text, cell in zip(grid.columns, cells, strict=True):
            match = re.fullmatch(r"(?:(\d+):)?([\d-]+)(↓?)", cell.label)
            assert match is not None, cell.label
            lanes = span(match[2])
            for i, row in enumerate(span(row_text)):
                for j, column in enumerate(span(column_text)):
                    lane = lanes[0] if len(lanes) == 1 else lanes[i if match[3] else j]
                    found[row, column] = (int(match[1] or 0), lane)
            assert len(lanes) in (1, len(span(row_text if match[3] else column_text)))
    return found


def test_what_repeats_is_left_out_until_a_large_tile_fits_the_screen() -> None:
    sizes = "sg_layout = [8, 4], sg_data = [32, 64], inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]"
    layout = la.parse(f"#xegpu.layout<{sizes}>").layout((256, 256))
    wide = owner_grid(layout, width=200)
    assert (len(wide.rows), len(wide.columns)) == wide.of == (8, 16)
    for width in range(80, 40, -7):
        grid = owner_grid(layout, width=width)
        assert grid.width <= width
        assert len(grid.rows) <= 8
    folded = owner_grid(layout, width=80)
    assert folded.columns[1] == "\N{MULTIPLICATION SIGN}4"
    groups = layout.owner_map("sg")
    for row_text, cells in zip(folded.rows, folded.cells, strict=True):
        for column_text, cell in zip(folded.columns, cells, strict=True):
            if cell.colour is not None:
                assert cell.colour == groups[span(row_text)[0], span(column_text)[0]]


def test_a_tile_of_a_thousand_runs_still_fits() -> None:
    layout = la.Layout.parse("d0 = 1024@lane:1024, d1 = 1024@lane")
    grid = owner_grid(layout, most_rows=48, width=80)
    assert grid.width <= 80
    assert grid.rows[6:9] == ("6", "\N{MIDLINE HORIZONTAL ELLIPSIS}", "1023")


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_element_is_in_the_cell_of_its_owner(layout: la.Layout) -> None:
    grid = owner_grid(layout)
    assert grid.of == (len(grid.rows), len(grid.columns))
    sizes = layout.shape if layout.rank == 2 else (1, *layout.shape)
    groups, lanes = (layout.owner_map(axis).reshape(sizes) for axis in ("sg", "lane"))
    expected = {(r, c): (int(groups[r, c]), int(lanes[r, c])) for r in range(sizes[0]) for c in range(sizes[1])}
    assert unfolded(grid) == expected


def test_lanes_fold_along_the_side_that_leaves_fewer_cells() -> None:
    assert [[cell.label for cell in row] for row in owner_grid(MFMA.lhs).cells] == [
        ["0-15↓", "16-31↓", "32-47↓", "48-63↓"]
    ]
    assert [[cell.label for cell in row] for row in owner_grid(MFMA.rhs).cells] == [
        ["0-15"],
        ["16-31"],
        ["32-47"],
        ["48-63"],
    ]


@pytest.mark.parametrize("width", [40, 80, 100])
@pytest.mark.parametrize(
    "text",
    [
        "d0 = 16@lane, d1 = 32@lane:16",
        "d0 = 16@lane:2, d1 = 2@lane 16@lane:32",
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
        "!amx.tile<16x64xi8>",
        "d0 = 4@sg:4 16@reg, d1 = 4@sg 3@lane 5@reg:16",
    ],
)
def test_headings_and_labels_are_never_cut_short(text: str, width: int) -> None:
    value = la.parse(text)
    grid = owner_grid(value.operands()[0].layout, width=width)
    out = io.StringIO()
    Console(file=out, width=width).print(render(grid))
    lines = out.getvalue().splitlines()
    assert lines[0].split() == list(grid.columns)
    assert [line.split() for line in lines[2:]] == [
        [row, *(cell.label for cell in cells if cell.label)] for row, cells in zip(grid.rows, grid.cells, strict=True)
    ]
    if any(grid.cut):
        assert "the first" in grid.caption


def test_a_block_with_jumps_inside_is_no_run_of_dots() -> None:
    """Columns 160 to 223 of this swizzle jump at 160, 176, 192 and 208."""
    grid = owner_grid(la.parse("Sw<1,4,3> o 0 o (32,256):(256,1)").operands()[0].layout, most_rows=8, most_columns=12)
    at = grid.columns.index("+2×32", grid.columns.index("128-143"))
    assert grid.columns[at - 1 : at + 2] == ("144-159", "+2×32", "224-239")
    assert {row[at].label for row in grid.cells} == {"", "⋯"}
    assert "+n×k n more blocks of k" in grid.signs
