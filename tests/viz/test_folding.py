"""What a fold leaves out is what a reader would fill in: every element of every folded picture, from the drawn cells alone.

The reader's rule knows no layout: dots stand for blocks that go evenly from the block before them to the block behind. What
must come out are the owners that `owner_map` and `owners` give for each element.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.moves import lowest_moves
from layoutalg.core.notation import Distributed, Operand
from layoutalg.viz.folding import Band, ExtentRun, common_runs, fold
from layoutalg.viz.grid import Grid, folded_alike, hardware_grid, tensor_grid
from layoutalg.viz.sides import Side

FIELDS = "sg_layout = [8, 4], sg_data = [32, 64], inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]"


def shared(rows: int, columns: int, bits: int, base: int, shift: int, pitch: int | None = None) -> la.Layout:
    layout = la.Layout.parse(f"d0 = {rows}@addr:{pitch or columns}, d1 = {columns}@addr")
    return la.swizzled(layout, la.Swizzle(bits, base, shift))


VALUES: dict[str, Distributed] = {
    "xegpu": la.parse(f"#xegpu.layout<{FIELDS}>"),
    "xegpu, registers only": la.Layout.parse("d0 = 48@reg, d1 = 2@lane 48@reg:48"),
    "xegpu, slice": la.parse(f"#xegpu.slice<#xegpu.layout<{FIELDS}>, dims = [0]>"),
    "nested": la.to_nested(la.Layout.parse("d0 = 4@sg 4@reg:4 16@lane, d1 = 8@reg:16 4@lane:16 4@reg")),
    "mfma k 128": la.mma("MFMA_F32_16x16x128_F8E4M3FN"),
    "mfma 32x32": la.mma("MFMA_F32_32x32x8_F16"),
    "gemm": la.plan_gemm(128, 128, 64),
    "schedule": la.parse(
        "#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
        "subgroup_n_count = 2>"
    ),
    "data tiled": la.parse(
        "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 4, intrinsics_n = 2, "
        "intrinsics_k = 4>"
    ),
    "amx i8": la.TileProduct(16, 16, 64, "i8", "i8"),
    "amx bf16": la.TileProduct(16, 16, 32, "bf16", "bf16"),
    "amx gemm": la.plan_amx(64, 64, 64, blocking=(2, 2)),
    "amx gemm of bytes": la.plan_amx(64, 96, 128, "s8", "u8", blocking=(1, 6)),
    "amx tile": la.parse("!amx.tile<16x64xi8>"),
    "block load": la.block_load(32, 16, 16),
    "dpas i8": la.dpas("s8", "s8", "s32"),
    "triton": la.parse(
        "#ttg.linear<{register = [[0, 1], [0, 2], [64, 0]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], "
        "warp = [[8, 0], [16, 0], [32, 0]], block = []}>"
    ),
    "cute": la.parse("((4,16),(8,8)):((1,64),(4,1024))"),
    "cute, swizzled": la.parse("Sw<3,3,3> o 0 o (8,64):(64,1)"),
    "cute, swizzled again": la.parse("Sw<2,4,3> o 0 o (64,64):(128,1)"),
    "swizzled, large": shared(128, 128, 3, 3, 3),
    "swizzled, far bits": shared(64, 256, 3, 2, 6),
    "swizzled, wide pitch": shared(8, 32, 2, 1, 3, pitch=128),
    "swizzled, not a power of two": shared(24, 64, 3, 2, 3),
    "swizzled, offset": la.swizzled(la.Layout.parse("d0 = 64@addr | offset 320@addr"), la.Swizzle(2, 2, 2)),
    "replicas": la.Layout.parse("d0 = 64@reg, d1 = 48@lane | replicas 2@lane:48 2@sg"),
    "overlapping replicas": la.Layout.parse("d0 = 48@lane, d1 = 2@reg | replicas 2@lane"),
    "offsets and origins": la.Layout.parse("d0 = 64@reg, d1 = 40@lane | offset 3@reg 5@lane | origin -7@d0 9@d1"),
    "factors without an axis": la.Layout.parse("d0 = 4@reg 20@_, d1 = 40@lane"),
    "primes": la.Layout.parse("d0 = 7@lane 11@reg, d1 = 7@lane:7 5@reg:11"),
    "three dimensions": la.Layout.parse("d0 = 6@reg:20, d1 = 5@sg 20@reg, d2 = 40@lane"),
    "many small factors": la.Layout.parse("d0 = 2@reg 2@lane 2@sg 2@reg:2 2@lane:2 2@sg:2, d1 = 64@lane:4"),
}
SHAPES: dict[str, tuple[int, ...]] = {"xegpu": (256, 256), "xegpu, slice": (512,), "schedule": (64, 128, 64)}
CASES = [
    (name, operand, direction)
    for name, value in VALUES.items()
    for operand in range(len(value.operands(SHAPES.get(name))))
    for direction in ("tensor", "hardware")
    if direction in value.picture(SHAPES.get(name)).directions
]


def filled_in(bands: tuple[Band, ...], drawn: np.ndarray, size: int) -> np.ndarray:
    """The rows of `drawn` at every index of a side, as a reader fills in the dots."""
    found = np.zeros((size, *drawn.shape[1:]), np.int64)
    known = np.zeros(size, bool)
    at = [band.start for band in bands if not band.gap]
    found[at], known[at] = drawn, True
    assert sum(band.size for band in bands) == size
    for gap in sorted((band for band in bands if band.gap), key=lambda band: band.period):
        blocks, rest = divmod(gap.size, gap.period)
        assert rest == 0
        before = np.arange(gap.start - gap.period, gap.start)
        for block in range(blocks):
            here = gap.start + block * gap.period + np.arange(gap.period)
            if gap.again:
                assert gap.again == blocks
                found[here] = found[before]
            else:
                behind = np.arange(gap.start + gap.size, gap.start + gap.size + gap.period)
                assert known[before].all()
                assert known[behind].all()
                steps, rest = np.divmod(found[behind] - found[before], blocks + 1)
                assert not rest.any(), "an even step from the block before to the block behind"
                found[here] = found[before] + steps * (block + 1)
            known[here] = True
    assert known.all()
    return found


def whole(grid: Grid, values: np.ndarray) -> np.ndarray:
    rows, columns = grid.rows, grid.columns
    return filled_in(columns.bands, filled_in(rows.bands, values, rows.size).T, columns.size).T


@pytest.mark.parametrize(("name", "which", "direction"), CASES)
def test_a_fold_leaves_out_only_what_continues_its_neighbours(name: str, which: int, direction: str) -> None:
    picture = replace(VALUES[name].picture(SHAPES.get(name), direction=direction), example=False)
    operand, (grid, _, _) = picture.parts[which], picture.grids()[which]
    layout = operand.layout
    size = (grid.rows.size, grid.columns.size)
    owner = {axis: whole(grid, np.array(plane.rows)) for axis, plane in grid.owner.items()}
    element = {axis: whole(grid, np.array(plane.rows)) for axis, plane in grid.element.items()}
    coordinates = np.stack([element[dim].reshape(-1) for dim in layout.names], -1)
    if direction == "tensor":
        every = np.stack([c.reshape(-1) for c in np.indices(layout.shape)], -1) + np.array(layout.origins)
        assert np.array_equal(coordinates, every)
    index = tuple((coordinates - np.array(layout.origins)).T)
    for axis in layout.codomain:
        expected = layout.owner_map(axis)[index].reshape(size)
        counted = [element[dim] - origin for dim, origin in zip(layout.names, layout.origins, strict=True)]
        assert np.array_equal(np.broadcast_to(lowest_moves(grid.layout)[axis].at(counted), size), expected), axis
        if direction == "tensor":
            assert np.array_equal(owner[axis], expected), axis
    if direction == "hardware":
        places = np.stack([owner[axis].reshape(-1) for axis in (operand.slots or layout).codomain], -1)
        assert len(np.unique(places, axis=0)) == len(places), "every place once"
        random = np.random.default_rng(0)
        for i in random.choice(len(places), min(len(places), 300), replace=False):
            of = operand.slots or layout
            at = coordinates[i].tolist()
            if operand.slots is None:
                assert tuple(places[i]) in of.owners(at)
            else:  # the further dimensions of `slots` are parts of an element
                assert places[i].tolist() in [
                    list(place)
                    for rest in np.ndindex(*operand.slots.shape[len(at) :])
                    for place in operand.slots.owners((*at, *rest))
                ]
    if grid.tile_known:
        for dim, tile in zip(layout.names, grid.tile, strict=True):
            assert np.array_equal(whole(grid, np.array(grid.element[dim].rows) // tile), element[dim] // tile)


def test_the_jumps_of_a_swizzle_are_drawn() -> None:
    (grid, _, _) = replace(VALUES["cute, swizzled"].picture(), paged=False).grids()[0]
    assert [*grid.owner["addr"].rows[1]] == [
        64 + (group ^ 1) * 8 + within for group in range(8) for within in (0, 1, 2, 7)
    ]
    assert len(grid.rows.drawn) == 8


@pytest.mark.parametrize(("name", "group"), [("amx i8", 4), ("amx bf16", 2)])
def test_the_elements_that_a_register_packs_are_never_folded_apart(name: str, group: int) -> None:
    a, b, _ = (grid for grid, _, _ in VALUES[name].picture().grids())
    for side in folded_alike((a.columns, b.rows), most=8):
        assert {start // group for start in side.starts} == {
            start // group for start in side.starts if start % group == group - 1
        }
        assert len(side.starts) < side.size


def test_without_limits_nothing_is_folded() -> None:
    part = Operand("C", la.Layout.parse("d0 = 64@reg, d1 = 48@lane"))
    assert tensor_grid(part, None, None).shape == (64, 48)
    assert hardware_grid(part, None, None).shape == (64, 48)


def test_what_cannot_be_folded_says_so_and_how_to_see_a_part() -> None:
    with pytest.raises(la.SizeError, match=r"cannot be folded.*jump.*restrict"):
        shared(512, 512, 9, 0, 9).picture()
    with pytest.raises(la.SizeError, match=r"cannot be folded.*jump.*restrict"):
        fold([ExtentRun(2**20, solid=True)], 32)


def test_sides_that_share_no_runs_are_drawn_whole() -> None:
    assert common_runs([[ExtentRun(4), ExtentRun(6)], [ExtentRun(6), ExtentRun(4)]]) == [ExtentRun(24, solid=True)]
    assert common_runs([[ExtentRun(8, solid=True), ExtentRun(4)], [ExtentRun(2), ExtentRun(16)]]) == [
        ExtentRun(2, solid=True),
        ExtentRun(4, solid=True),
        ExtentRun(4),
    ]


def test_repeats_say_how_often() -> None:
    side = Side(("d0",), (60,), (0,), fold([ExtentRun(5, repeats=True), ExtentRun(12)], 12))
    assert [band.again for band in side.bands if band.gap] == [4]
    assert replace(side, folded=None).size == 60
