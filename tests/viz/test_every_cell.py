"""Every cell of every picture is true: what a reader sees in the SVG, and fills in where it is folded, is what the map says.

The pictures are those of all notations and plans, elements by holders and holders by elements, folded for a phone or for a
page, or whole, in strips or in one piece. What must come out are the owners of `owner_map` and `owners`, which the compilers'
tables check.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.notation import Distributed, Operand
from layoutalg.viz.grid import Grid
from layoutalg.viz.picture import Picture, picture_of
from layoutalg.viz.shapes import INK
from layoutalg.viz.sides import Side
from tests.viz.reading import SIGN, ReadGrid, filled_in, numbers_of, places_of, read_grids, smallest_text
from tests.viz.test_folding import SHAPES, VALUES

COPIES: dict[str, Distributed] = {
    "wmma": la.mma("WMMA_F32_16x16x16_F16"),
    "wrapped lanes": la.Layout.parse("d0 = 4@reg, d1 = 8@lane | replicas 2@lane:8"),
    "many copies": la.Layout.parse("d0 = 4@reg, d1 = 2@lane | replicas 16@lane:2 3@reg:4"),
    "copies between": la.Layout.parse("d0 = 4@lane:2, d1 = 2@reg | replicas 2@lane 2@lane:8"),
    "copies of a subgroup": la.parse(
        "#xegpu.slice<#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>, "
        "dims = [0]>"
    ),
    "copied memory": la.Layout.parse("d0 = 4@addr:8, d1 = 4@addr | replicas 2@addr:4"),
    "one subgroup": la.dpas("f16", "f16", "f32").b,
    "jumps in a row": la.parse("Sw<1,4,3> o 0 o (32,256):(256,1)"),
    "32 subgroups": la.Layout.parse("d0 = 8@sg:4 16@reg, d1 = 4@sg 16@lane"),
    "rows of subgroups": la.Layout.parse("d0 = 24@sg 4@reg, d1 = 4@reg:4 8@lane"),
    "blocks of three dimensions": la.Layout.parse("d0 = 2@sg:4, d1 = 12@reg, d2 = 4@sg 4@reg:12 16@lane"),
    "blocks whose subgroups jump": la.Layout.parse("d0 = 2@sg 64@sg:2 16@reg, d1 = 16@lane"),
    "blocks and copies": la.Layout.parse("d0 = 4@sg 4@reg, d1 = 4@reg:4 8@lane | replicas 2@sg:4 2@lane:8"),
    "nested modes": la.parse("((4,64),(16,8)):((16,64),(1,4096))"),
    "tall and wide": la.parse("Sw<3,2,3> o 0 o (8,32):(32,1)"),
}
EVERY = VALUES | COPIES
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
FORMS = ("phone", "page", "strips", "whole")


def picture(name: str, direction: str, form: str) -> Picture:
    found = picture_of(
        EVERY[name], SHAPES.get(name, (32,) if name == "copies of a subgroup" else None), direction=direction
    )
    return replace(found, paged=form in ("phone", "strips"), full=form in ("strips", "whole"))


def cases() -> list[tuple[str, str, str]]:
    found = []
    for name in EVERY:
        for direction in picture(name, "tensor", "phone").directions:
            whole = sum(prod(part.layout.shape) for part in picture(name, "tensor", "phone").parts) <= 4096  # type: ignore[union-attr]
            found += [(name, direction, form) for form in FORMS if form in FORMS[:2] or whole]
    return found


@pytest.mark.parametrize(("name", "direction", "form"), cases())
def test_every_cell_is_where_the_map_has_it(name: str, direction: str, form: str) -> None:
    drawn = picture(name, direction, form)
    grids = [grid for grid, _, _ in drawn.grids()]
    svg = drawn.svg()
    if drawn.paged:
        assert smallest_text(svg, 400) >= 7
    seen = read_grids(svg, [prod(grid.shape) for grid in grids])
    if grids[0].shows:
        check_blocks(drawn.parts[0], grids, *seen)  # type: ignore[arg-type]
        return
    for part, grid, one in zip(drawn.parts, grids, seen, strict=True):
        assert isinstance(part, Operand)
        lowest = np.array([[[_first(n) for n in numbers_of(label)] for label in row] for row in one.labels])
        sides = [
            places_of(tokens, side.shape, side.origins)
            for tokens, side in ((one.rows, grid.rows), (one.columns, grid.columns))
        ]
        if direction == "tensor":
            check_owners(part.layout, grid, one.labels, sides)
            whole = filled_in(lowest, *sides[0], grid.rows.size)
            whole = filled_in(whole.swapaxes(0, 1), *sides[1], grid.columns.size).swapaxes(0, 1)
            names = [*grid.label_names] if whole.shape[2] == len(grid.label_names) else ["sg", *grid.label_names]
            for i, axis in enumerate(names):
                assert np.array_equal(whole[..., i], part.layout.owner_map(axis).reshape(whole.shape[:2])), axis
        else:
            whole = np.array([[[int(n) for n in label.split(",")] for label in row] for row in one.labels])
            whole = filled_in(whole, *sides[0], grid.rows.size)
            whole = filled_in(whole.swapaxes(0, 1), *sides[1], grid.columns.size).swapaxes(0, 1)
            check_elements(part, grid, whole)


def check_blocks(part: Operand, grids: list[Grid], whole: ReadGrid, inside: ReadGrid) -> None:
    """Which subgroup holds a block, and what a block looks like inside, give the owner of every element."""
    sides = [(grids[0].rows, whole.rows), (grids[0].columns, whole.columns)]
    sizes = [side.size // side.count for side, _ in sides]
    held = np.array([[[_first(numbers_of(label.removeprefix("sg "))[0])] for label in row] for row in whole.labels])
    blocks = [blocks_of(tokens, side, size) for (side, tokens), size in zip(sides, sizes, strict=True)]
    for i, j in np.ndindex(len(blocks[0][0]), len(blocks[1][0])):
        at = [np.unravel_index(blocks[d][0][n] * sizes[d], sides[d][0].shape or (1,)) for d, n in enumerate((i, j))]
        element = (*at[0][: len(sides[0][0].shape)], *at[1][: len(sides[1][0].shape)])
        owners = part.layout.owners(tuple(int(x) + o for x, o in zip(element, part.layout.origins, strict=True)))
        there = sorted({owner[part.layout.codomain.index("sg")] for owner in owners})
        assert numbers_of(whole.labels[i][j].removeprefix("sg "))[0] in (there, there[0])
    within = [
        places_of(tokens, side.shape, side.origins)
        for tokens, side in ((inside.rows, grids[1].rows), (inside.columns, grids[1].columns))
    ]
    lowest = np.array([[[_first(n) for n in numbers_of(label)] for label in row] for row in inside.labels])
    groups, block = held, lowest
    for axis in (0, 1):
        groups = filled_in(groups.swapaxes(0, axis), *blocks[axis], sides[axis][0].count).swapaxes(0, axis)
        block = filled_in(block.swapaxes(0, axis), *within[axis], sizes[axis]).swapaxes(0, axis)
    everywhere = np.tile(block, (*groups.shape[:2], 1))
    for i, name in enumerate(grids[1].label_names):
        assert np.array_equal(everywhere[..., i], part.layout.owner_map(name).reshape(everywhere.shape[:2])), name
    groups = groups[..., 0].repeat(sizes[0], axis=0).repeat(sizes[1], axis=1)
    assert np.array_equal(groups, part.layout.owner_map("sg").reshape(groups.shape))


def blocks_of(tokens: list[str], side: Side, size: int) -> tuple[list[int], list[tuple[int, int, int]]]:
    """The number of each block along a side, read from the range beside it, and what dots between them leave out."""
    ends = [
        places_of([re.sub(r"(\d+)-(\d+)", which, token) for token in tokens], side.shape, side.origins)[0]
        for which in (r"\1", r"\2")
    ]
    assert [b - a for a, b in zip(*ends, strict=True)] == [size - 1] * len(ends[0])
    numbers = [first // size for first in ends[0]]
    gaps = [(a + 1, b - a - 1, 1) for a, b in pairwise(numbers) if b > a + 1]
    assert len(gaps) == sum(bool(SIGN.fullmatch(token)) for token in tokens)
    return numbers, gaps


def _first(numbers: list[int] | int) -> int:
    return numbers if isinstance(numbers, int) else numbers[0]


def check_owners(layout: la.Layout, grid: Grid, labels: list[list[str]], sides: list[Any]) -> None:
    """Every holder of an element stands in its cell (of XORed copies the lowest alone)."""
    if grid.xored:
        return
    (rows, _), (columns, _) = sides
    some = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
    for i, j in some[:: max(len(some) // 200, 1)]:
        at = np.concatenate(
            [
                np.array(np.unravel_index(k, side.shape or (1,))[: len(side.shape)], int) + np.array(side.origins, int)
                for k, side in ((rows[i], grid.rows), (columns[j], grid.columns))
            ]
        )
        told = numbers_of(labels[i][j])
        names = [*grid.label_names] if len(told) == len(grid.label_names) else ["sg", *grid.label_names]
        owners = layout.owners(tuple(at.tolist()))
        for axis, numbers in zip(names, told, strict=True):
            there = sorted({owner[layout.codomain.index(axis)] for owner in owners})
            assert there == numbers if isinstance(numbers, list) else (there[0] == numbers and len(there) > 4)
        unseen = [d for d, axis in enumerate(layout.codomain) if axis not in names]
        assert all(len({owner[d] for owner in owners}) == 1 for d in unseen), "no axis with copies is left out"


def check_elements(part: Operand, grid: Grid, whole: np.ndarray) -> None:
    """The element of each place (of 300 of them) is held there."""
    source = part.slots or part.layout
    names = (*grid.rows.names, *grid.columns.names)
    shape, origins = (*grid.rows.shape, *grid.columns.shape), (*grid.rows.origins, *grid.columns.origins)
    for flat in np.linspace(0, whole[..., 0].size - 1, min(300, whole[..., 0].size)).astype(int):
        place = dict(
            zip(names, (int(x) + o for x, o in zip(np.unravel_index(flat, shape), origins, strict=True)), strict=True)
        )
        element = tuple(whole.reshape(-1, whole.shape[-1])[flat].tolist())
        rest = [()] if part.slots is None else [*np.ndindex(*source.shape[len(element) :])]
        held = [owner for more in rest for owner in source.owners((*element, *more))]
        assert tuple(place[axis] for axis in source.codomain) in held


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("d0 = 4@reg, d1 = 8@lane | replicas 2@lane:8", "lanes 8 to 15 hold what lanes 0 to 7 hold"),
        ("d0 = 4@reg | replicas 4@lane", "lanes 1 to 3 hold what lane 0 holds"),
        ("d0 = 4@lane | replicas 4@lane:4", "lanes 4 to 15 hold what lanes 0 to 3 hold, 3 times"),
        ("d0 = 4@lane:2 | replicas 2@lane", "what a lane holds, lane + 1 holds too"),
        (
            "d0 = 4@reg, d1 = 8@lane, d2 = 16@reg",
            "warning: two elements in one place: elements (0, 0, 1) and (1, 0, 0)",
        ),
    ],
)
def test_copies_and_shared_places_are_said_in_words(text: str, words: str) -> None:
    said = " ".join(one.text for one in la.picture(text).scene().words)
    assert words in said


def test_a_block_that_is_left_out_has_a_sign_of_its_own() -> None:
    """Columns 160 to 223 of this swizzle jump at 160, 176, 192 and 208: no dots stand for them."""
    grid, _, _ = la.picture("Sw<1,4,3> o 0 o (32,256):(256,1)").grids()[0]
    headers = grid.columns.headers()
    at = headers.index("+2×32", headers.index("128"))
    assert headers[at - 1 : at + 2] == ["159", "+2×32", "224"]
    words = [one.text for one in la.picture("Sw<1,4,3> o 0 o (32,256):(256,1)").scene().words]
    assert "+2×32 left out: 2 more blocks of 32, each moved by the same step" in " ".join(words)


def test_memory_is_coloured_by_bank() -> None:
    """A bank is a word of 4 bytes of 128: elements of 2 bytes share one in pairs, and an XOR moves them to other banks."""
    swizzled = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    for text, size in (
        ("Sw<3,2,3> o 0 o (8,32):(32,1)", 4),
        ("!xegpu.mem_desc<16x64xf16>", 2),
        (f"!ttg.memdesc<16x64xf16, {swizzled}, #smem>", 2),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>", 2),
    ):
        drawn = replace(la.picture(text), paged=False, full=True)
        assert drawn.by == "bank"
        banks: dict[int, set[str]] = {}
        for cell in drawn.scene().cells:
            banks.setdefault(int(cell.label) * size // 4 % 32, set()).add(cell.fill)
        assert sorted(banks) == [*range(32)]
        assert all(len(fills) == 1 for fills in banks.values())
        assert len({fill for fills in banks.values() for fill in fills}) == 32


def test_words_of_amx_tiles_that_are_multiplied_share_a_hue() -> None:
    """C(m, n) is the sum of A(m, k) B(k, n): four neighbouring k are a word of A, and one of B."""
    a, b, _ = replace(la.TileProduct(16, 16, 64, "i8", "i8").picture(), paged=False, full=True).scene().frames
    assert (a.grid.axis_names, b.grid.axis_names) == (("M", "K"), ("K", "N"))
    cells = replace(la.TileProduct(16, 16, 64, "i8", "i8").picture(), paged=False, full=True).scene().cells
    left, right, sums = cells[:1024], cells[1024:2048], cells[2048:]
    for k in range(64):
        assert left[k].fill == left[k // 4 * 4].fill, "four bytes of a row of A"
        assert (left[k].fill == left[k - 1].fill) == (k % 4 != 0) or k == 0
        assert {one.fill for one in right[k * 16 : k * 16 + 16]} == {left[k].fill}, "what it is multiplied with"
    assert len({one.fill for one in left}) == 16
    assert {one.fill for one in sums}.isdisjoint(one.fill for one in left)
    assert len({one.fill for one in sums}) == 1
    of_one = replace(la.parse("!x86.amx.tile<16x64xi8>").picture(), paged=False, full=True).scene().cells
    assert [one.fill for one in of_one[:64]] == [of_one[k // 4 * 4].fill for k in range(64)], "alone: words of a row"
    assert len({one.fill for one in of_one}) == 16


@pytest.mark.parametrize("name", ["tdpbf16ps", "TDPBSUD", "_tile_dpfp16ps"])
def test_the_outlined_words_of_an_amx_product_are_multiplied(name: str) -> None:
    """By the definition: A(m, k) meets B(k, n), and their product is added to C(m, n); 4 bytes are a word."""
    product = la.parse(name)
    assert isinstance(product, la.TileProduct)
    word = 4 if product.a == "i8" else 2
    for paged in (False, True):
        scene = replace(product.picture(), paged=paged).scene()
        thick = [line for line in scene.lines if line.width == 4.4]
        found: list[set[tuple[int, int]]] = []
        for frame in scene.frames:
            places = [*frame.places()]
            wide, high = max(x for x, _ in places) + frame.width, max(y for _, y in places) + frame.height
            mine = [one for one in thick if places[0][0] <= one.x <= wide and places[0][1] <= one.y <= high]
            (left, right), (top, bottom) = (
                (min(ends), max(ends))
                for ends in ([x for o in mine for x in (o.x, o.to_x)], [y for o in mine for y in (o.y, o.to_y)])
            )
            names = [[int(i) for row in frame.grid.element[d].rows for i in row] for d in ("d0", "d1")]
            within = [left <= x < right and top <= y < bottom for x, y in places]
            found.append({one for one, inside in zip(zip(*names, strict=True), within, strict=True) if inside})
        in_a, in_b, in_c = found
        ((m, n),) = in_c
        assert in_a == {(m, k) for k in range(word)}
        assert in_b == {(k, n) for k in range(word)}


def test_one_lane_is_outlined_in_all_operands() -> None:
    product = la.mma("MFMA_F32_16x16x16_F16")
    scene = replace(product.picture(), paged=False).scene()
    inside, held = [], []
    for frame, part in zip(scene.frames, product.operands(), strict=True):
        lanes = part.layout.owner_map("lane")
        corners = [*frame.places()]
        inside += [corner for corner, lane in zip(corners, lanes.reshape(-1).tolist(), strict=True) if lane == 1]
        held.append(f"{(lanes == 1).sum()}{' elements' * (not held)} of {part.role}")
    assert f"outlined: what lane 1 holds: {', '.join(held)}" in [one.text for one in scene.words]
    ends = {(line.x, line.y) for line in scene.lines if line.width == 4.4}
    assert ends <= {(x + dx, y + dy) for x, y in inside for dx in (0, scene.cells[0].width) for dy in (0, 20)}
    assert {min(x for x, _ in inside), max(x for x, _ in inside)} <= {x for x, _ in ends}


@pytest.mark.parametrize(
    "text",
    [
        "d0 = 4@reg, d1 = 8@lane",
        "d0 = 8@lane, d1 = 2@reg 16@_",
        "d0 = 4@reg, d1 = 8@lane | replicas 2@lane:8",
        "d0 = 2@sg:4 16@reg, d1 = 4@sg 2@reg:16 16@lane",
        "d0 = 8@sg:8 512@reg:32, d1 = 8@sg 32@reg 16@lane",
        "d0 = 2@(lane:2^lane) 2@reg, d1 = 2@(lane)",
        "d0 = 16@sg 4@lane, d1 = 4@lane:4",
    ],
)
def test_the_example_above_a_picture_is_true(text: str) -> None:
    """The registers of the outlined lane are those elements, and the outline is around all its drawn cells."""
    layout = la.Layout.parse(text)
    scene = layout.picture().scene()
    said = " ".join(one.text for one in scene.words if one.fill == INK and not one.bold)
    found = re.search(r"what lane (\d+)(?: of subgroup (\d+))? holds: (.*?)(?= lanes \d| 2@|$)", said)
    assert found
    lane, group = int(found[1]), int(found[2] or 0)
    elements = [tuple(map(int, re.findall(r"\d+", one))) for one in re.findall(r"\(([^()]*)\)", found[3])]
    run = re.search(r"registers (\d+) (?:to|and) (\d+)", found[3])
    numbers = (
        [*range(int(run[1]), int(run[2]) + 1)] if run else [int(n) for n in re.findall(r"register (\d+)", found[3])]
    )
    assert len(numbers) == len(elements) > 0
    axes = layout.codomain
    for register, element in zip(numbers, elements, strict=True):
        places = [dict(zip(axes, owner, strict=True)) for owner in layout.owners(element)]
        assert any((one.get("sg", 0), one["lane"], one.get("reg", 0)) == (group, lane, register) for one in places)
    read = re.search(r"(\S+) is register (\d+) of lanes? (\d+ and \d+|[\d,]+)", said)
    assert read
    assert read[1].rpartition("/")[2] == f"{read[3].replace(' and ', ',')}:{read[2]}"
    assert read[1] in {cell.label for cell in scene.cells}


def test_nested_modes_and_banks_are_said_above_memory() -> None:
    said = " ".join(one.text for one in la.picture("((4,8),2):((16,1),8)").scene().words)
    assert (
        "d0 counts modes (4,8), the first fastest: 5 is (1,1) element (5, 1): ((1,1),1) -> 1*16 + 1*1 + 1*8 = 25"
        in said
    )


@pytest.mark.parametrize(
    ("text", "shape", "size", "before"),
    [
        ("(8,32):(32,1)", (8, 32), 4, None),
        ("Sw<3,2,3> o 0 o (8,32):(32,1)", (8, 32), 4, "unswizzled"),
        ("Sw<5,0,5> o 0 o (64,32):(32,1)", (64, 32), 4, "unswizzled"),
        ("(8,32):(33,1)", (8, 32), 4, "row-major"),
        ("!xegpu.mem_desc<16x64xf16>", (16, 64), 2, None),
        (f"!ttg.memdesc<16x64xf16, {SWIZZLED}, #smem>", (16, 64), 2, "unswizzled"),
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>",
            (8, 64),
            1,
            "unswizzled",
        ),
        ("#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [8, 32]}>", (8, 32), 4, "row-major"),
    ],
)
def test_the_column_outlined_in_memory_costs_what_is_said(
    text: str, shape: tuple[int, int], size: int, before: str | None
) -> None:
    """By the definition: a bank serves a word of 4 bytes a cycle. What has no swizzle is in row-major order in all these."""
    picture = la.picture(text, shape)
    scene = picture.scene()
    said = " ".join(one.text for one in scene.words)
    found = re.search(r"outlined: column (\d+)(?:, rows 0 to \d+)?, read by (\d+) lanes at once", said)
    assert found
    column, lanes = int(found[1]), int(found[2])
    assert lanes == min(shape[0], 32)
    layout = picture.parts[0].layout  # type: ignore[union-attr]
    addresses = [layout.owners((row, column))[0][layout.codomain.index("addr")] for row in range(lanes)]
    assert cost(addresses, size) in said
    rows = [row * shape[1] + column for row in range(lanes)]
    assert (f"{before}: {cost(rows, size)}" in said) if before else "unswizzled" not in said and "row-major" not in said
    at = re.search(r"address (\d+) is (?:byte (\d+), )?in bank (\d+)\S* mod 32 = (\d+)", said)
    assert at
    assert int(at[1]) in addresses
    assert int(at[1]) * size // 4 % 32 == int(at[4])
    assert int(at[3]) == int(at[2] or at[1]) == int(at[1]) * (size if at[2] else 1)


def test_of_memory_in_columns_a_row_is_outlined() -> None:
    """Unswizzled, element (r, c) of 64x8 halves is at 64 c + r, so that a row meets in one bank."""
    picture = la.picture("#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>")
    said = " ".join(one.text for one in picture.scene().words)
    row = int(re.search(r"outlined: row (\d+), read by 8 lanes at once", said)[1])  # type: ignore[index]
    layout = picture.parts[0].layout  # type: ignore[union-attr]
    assert layout.shape == (64, 8)
    addresses = [layout.owners((row, column))[0][layout.codomain.index("addr")] for column in range(8)]
    assert f"{cost(addresses, 2)} unswizzled: {cost([64 * column + row for column in range(8)], 2)}" in said


def cost(addresses: list[int], size: int) -> str:
    words = {at * size // 4 for at in addresses}
    loads = [sum(word % 32 == bank for word in words) for bank in range(32)]
    banks, cycles = sum(map(bool, loads)), max(loads)
    plural = ["", "s"]
    return (
        f"{len(words)} word{plural[len(words) > 1]} in {banks} bank{plural[banks > 1]}: {cycles} cycle{plural[cycles > 1]}, "
        f"{f'{cycles}-way' if cycles > 1 else 'no'} conflict"
    )


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("d0 = 2@(lane^lane:4) 2@(lane:2), d1 = 2@(lane:4) 2@(lane:2) 2@(lane)", "lane"),
        ("d0 = 2@(lane^lane:2) 2@(lane), d1 = 8@reg", "lane"),
        ("d0 = 2@(lane:4^reg) 2@lane:4, d1 = 4@lane", "lane"),
        ("Sw<3,2,3> o 0 o (8,32):(32,1)", "addr"),
        ("Sw<2,0,3> o 0 o (4,8):(8,1)", "addr"),
    ],
)
def test_what_is_said_of_an_xor_is_true(text: str, axis: str) -> None:
    """Which bits meet, for every element, and the one element that is worked out."""
    picture = la.picture(text)
    layout = picture.parts[0].layout  # type: ignore[union-attr]
    numbers = layout.owner_map(axis)
    words = [one.text for one in picture.scene().words]
    said = " ".join(words)
    name = "address" if axis == "addr" else axis
    met = 0
    for low, high, sources in re.findall(
        rf"{name} bits? (\d+)(?:-(\d+))? (?:is|are) ((?:d\d bits? [\d-]+(?: XOR )?)+)", said
    ):
        for step in range(int(high or low) - int(low) + 1):
            wanted = np.zeros_like(numbers)
            for d, first in re.findall(r"d(\d) bits? (\d+)", sources):
                wanted ^= np.indices(numbers.shape)[int(d)] >> int(first) + step & 1
            assert np.array_equal(numbers >> int(low) + step & 1, wanted)
            met += 1
    assert met
    worked = re.search(rf"element \((\d+), (\d+)\): (\d+) from d1 XOR (\d+) from d0 = {name} (\d+)", said)
    if worked:
        i, j, across, down, value = map(int, worked.groups())
        assert (across, down, value) == (numbers[0, j], numbers[i, 0], numbers[i, j])
        assert across ^ down == value
    assert worked or "from d0 bit" in said or "reg" in text
    for bits in re.findall(r"in bits: ([01]+) XOR ([01]+) = ([01]+)", said):
        one, other, both = (int(part, 2) for part in bits)
        assert one ^ other == both
