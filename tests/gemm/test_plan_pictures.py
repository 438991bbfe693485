"""Pictures of plans for GPUs, cell by cell: attention against each element's owners, GEMM against its grid."""

from __future__ import annotations

import re
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest

import layoutalg as la
from layoutalg.gemm.attention.held import layouts_of
from layoutalg.viz.panels import DARK, MARKED, NARROW, PALE

PLANS: dict[str, Any] = {
    "64": lambda: la.plan_attention(1024, 1024, 64),
    "128, causal": lambda: la.plan_attention(1024, 1024, 128, causal=True),
    "256": lambda: la.plan_attention(512, 512, 256),
    "bf16": lambda: la.plan_attention(64, 64, 32, "bf16"),
    "decode": lambda: la.plan_decode(4096, 128, heads=8, kv_heads=2),
}
BLOCK = re.compile(r"([QKSPVO]): rows (\d+)\.\.(\d+), columns (\d+)\.\.(\d+): registers (\d+) to (\d+) of each lane")


@pytest.mark.parametrize("name", PLANS)
def test_a_block_says_the_registers_that_hold_its_elements(name: str) -> None:
    plan = PLANS[name]()
    layouts = layouts_of(
        plan.dpas, rows=plan.row_blocks, keys=plan.keys_per_step // plan.dpas.n, depth=plan.depth_blocks
    )
    seen: set[str] = set()
    for cell in plan.picture().scene().cells:
        found = BLOCK.fullmatch(cell.sentence)
        assert found is not None, cell.sentence
        top, bottom, left, right, low, high = map(int, found.groups()[1:])
        layout = layouts[found[1]]
        axis = layout.codomain.index("reg")
        held = [
            owner[axis] for at in product(range(top, bottom + 1), range(left, right + 1)) for owner in layout.owners(at)
        ]
        assert (min(held), max(held)) == (low, high)
        assert cell.label == f"{low}-{high}"
        seen.add(found[1])
    assert seen == set("QKSPVO")


def test_a_block_of_keys_has_one_colour_wherever_it_is_and_what_has_no_keys_has_none() -> None:
    picture = la.plan_attention(1024, 1024, 64).picture()
    colours: dict[int, set[str]] = {}
    for cell in picture.scene().cells:
        name, top, _, left, *_ = BLOCK.fullmatch(cell.sentence).groups()  # pyright: ignore[reportOptionalMemberAccess]
        if name in "QO":
            assert cell.fill == PALE
        else:
            colours.setdefault(int(top if name in "KV" else left) // 16, set()).add(cell.fill)
    assert len({fill for fills in colours.values() for fill in fills}) == len(colours) == 4
    assert all(len(fills) == 1 for fills in colours.values())
    assert [colour for _, colour in picture.key()] == [*(colours[i].pop() for i in range(4)), PALE]


@pytest.mark.parametrize("name", PLANS)
def test_a_flow_can_be_read_on_a_phone(name: str) -> None:
    picture = PLANS[name]().picture(title="<script> & \0")
    scene = picture.scene()
    assert scene.width <= NARROW + 12
    assert min(words.size for words in scene.words) * 400 / scene.width >= 7
    assert all(words.x >= 0 and 0.6 * words.size * len(words.text) <= scene.width for words in scene.words)
    ElementTree.fromstring(picture.svg())
    assert "<script>" not in picture.svg() + picture.html()


def test_workgroups_and_blocks_are_named_by_row_and_column_and_say_their_x_and_y() -> None:
    plan = la.plan_gemm(2048, 1024, 512)
    x, y, _ = plan.grid
    tile = plan.tiling.workgroup_tile
    drawn = 0
    for cell in plan.picture().scene().cells:
        found = re.match(
            r"workgroup (\d+),(\d+) \(x = (\d+), y = (\d+)\): rows (\d+)\.\..*, columns (\d+)\.\.", cell.sentence
        )
        if found is None:
            continue
        row, column, at_x, at_y, top, left = map(int, found.groups())
        assert cell.label == f"{row},{column}"
        assert (row, column) == (at_y, at_x) == (top // tile.m, left // tile.n)
        assert row < y and column < x  # noqa: PT018
        drawn += 1
    assert drawn


def test_a_legend_says_what_the_colours_of_a_plan_mean() -> None:
    picture: Any = la.plan_gemm(2048, 1024, 512).picture()
    key: dict[str, str] = dict(picture.key())
    assert list(key.values()) == [MARKED, DARK, PALE]
    (legend,) = picture.scene().legends
    assert [words.text for words in legend.words] == list(key)
    cells = [cell for cell in picture.scene().cells if cell.sentence.startswith(("A: ", "B: "))]
    first = [cell for cell in cells if cell.fill == key["the first step of the first block"]]
    assert len(first) == 2
    assert all("step 0" in cell.sentence for cell in first)


@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (64, 64, 64), (8, 4096, 4096), (100, 60, 200)])
def test_a_plan_can_be_read_on_a_phone(sizes: tuple[int, int, int]) -> None:
    scene = la.plan_gemm(*sizes).picture().scene()
    assert min(words.size for words in scene.words) * min(400 / scene.width, 1) >= 7
