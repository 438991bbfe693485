"""The folded grid of owners: unfolded again, every cell must be what the owner map says."""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from layoutalg.viz import OwnerGrid, owner_grid

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
