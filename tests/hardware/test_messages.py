"""Which messages move a layout: against brute force on index tables, on chips of the table and on made-up ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.notation import Machine
from layoutalg.hardware import block_load, chips, target_info
from layoutalg.hardware.block_tables import BlockSizes, BlockTable
from layoutalg.hardware.chips import SurfaceLimits, TargetInfo
from layoutalg.hardware.messages import Message, Way, messages_for, messages_of, parts_of
from layoutalg.xegpu import LayoutAttr

WIDE = TargetInfo(
    "wide",
    32,
    surface=SurfaceLimits(),
    blocks=BlockTable(
        loads=(BlockSizes(16, 32, (2, 4, 8)), BlockSizes(32, 32, (4, 8, 64), (1, 3))),
        transforms=(BlockSizes(16, 32, (8, 16)),),
        transposes=(BlockSizes(32, 8, (32,)), BlockSizes(64, 4, (32,))),
        stores=(BlockSizes(16, 32, (4,)), BlockSizes(32, 32, (4, 12))),
    ),
)
"""A made-up chip: subgroups of 32 lanes, other sizes, three blocks side by side, and units of 64 bits."""


WAYS: tuple[Way, ...] = ("load", "packed", "store")


def random_layout(rng: random.Random, lanes: int) -> la.Layout | None:
    grids = [(1, lanes), (1, lanes), (lanes, 1), (2, lanes // 2), (4, lanes // 4)]
    data = rng.choice(((1, 1), (1, 1), (2, 1), (1, 2), (4, 1), (1, 4)))
    tile = rng.choice((None, None, (8, 16), (16, 16), (16, 32), (4, 32)))
    shape = rng.choice((8, 12, 16, 32, 64)), rng.choice((16, 32, 48, 64, 96))
    subgroups = rng.choice((None, (2, 1), (1, 2), (2, 2)))
    block = None if subgroups is None else tuple(n // by for n, by in zip(shape, subgroups, strict=True))
    attribute = LayoutAttr(
        sg_layout=subgroups, sg_data=block, inst_data=tile, lane_layout=rng.choice(grids), lane_data=data
    )
    try:
        return attribute.layout(shape, Machine(lanes=lanes, subgroups=4))
    except la.LayoutError:
        return None


def tables(layout: la.Layout) -> np.ndarray[Any, Any]:
    found = layout.fragment_map()
    return found if found.ndim == 4 else found[None]


def copies_by_hand(held: np.ndarray[Any, Any], shape: tuple[int, ...], message: Message) -> int:
    """How many copies move what subgroup 0 has: every tile that one lane has a part of must be the message's, lane by lane."""
    rows, width = message.shape
    if shape[0] % rows or shape[1] % width:
        return 0
    unit = [{tuple(element) for element in lane.tolist()} for lane in tables(message.layout)[0]]
    mine = [[tuple(element) for element in lane.tolist()] for lane in held[0]]
    if len(mine) != len(unit):
        return 0
    corners = {(r // rows * rows, c // width * width) for lane in mine for r, c in lane}
    for top, left in corners:
        for lane, elements in enumerate(mine):
            inside = [(r - top, c - left) for r, c in elements if top <= r < top + rows and left <= c < left + width]
            if sorted(inside) != sorted(unit[lane]):
                return 0
    return len(corners)


@pytest.mark.parametrize("seed", range(60))
def test_a_message_moves_a_layout_exactly_where_it_does_tile_by_tile(seed: int) -> None:
    rng = random.Random(seed)
    chip = rng.choice((target_info("pvc"), WIDE))
    layout = random_layout(rng, chip.subgroup_size)
    if layout is None:
        return
    bits, way = rng.choice((8, 16, 32)), rng.choice(WAYS)
    shape = tuple(int(size) for size in layout.shape)
    held = tables(layout)
    copies_of_lanes = any(factor.axis == "lane" and factor.extent != 1 for factor in layout.replicas)
    found = {one.message: one.count for one in messages_for(layout, bits, way, chip)}
    for message in messages_of(chip, bits, way):
        by_hand = 0 if copies_of_lanes else copies_by_hand(held, shape, message)
        assert found.get(message, 0) == by_hand, f"{layout}, {message.name}"


@pytest.mark.parametrize("seed", range(60))
def test_every_register_of_every_copy_is_the_register_that_is_said_in_every_lane(seed: int) -> None:
    rng = random.Random(1000 + seed)
    chip = rng.choice((target_info("pvc"), WIDE))
    layout = random_layout(rng, chip.subgroup_size)
    if layout is None:
        return
    held = tables(layout)
    bits, way = rng.choice((8, 16, 32)), rng.choice(WAYS)
    for one in messages_for(layout, bits, way, chip):
        unit = tables(one.message.layout)[0]
        assert len(one.origins) == len(one.registers) == one.count
        assert sorted(one.order) == list(range(held.shape[2]))
        for origin, registers in zip(one.origins, one.registers, strict=True):
            assert np.array_equal(held[0][:, list(registers)], unit + origin), f"{layout}, {one.message.name}"
        assert one.in_order == (list(one.order) == list(range(held.shape[2])))


def test_the_fewest_come_first_and_packed_ones_where_they_are_asked_for() -> None:
    rows = la.Layout.parse("d0 = 32@reg, d1 = 16@lane")
    firsts: dict[Way, str] = {"load": "plain", "packed": "packed"}
    for way, first in firsts.items():
        found = messages_for(rows, 16, way, "pvc")
        assert found[0].message.kind == first
        for kind in ("plain", "packed"):
            counts = [one.count for one in found if one.message.kind == kind]
            assert counts == sorted(counts)
    assert messages_for(rows, 16, "load", "pvc")[-1].message.kind == "packed"


@pytest.mark.parametrize(
    "text",
    [
        "d0 = 32@reg, d1 = 8@lane | replicas 2@lane:8",  # copies in lanes
        "d0 = 8@reg, d1 = 16@lane | replicas 2@reg:8",  # and in registers
        "d0 = 8@reg, d1 = 16@lane | offset 1@reg",
        "d0 = 8@reg:2, d1 = 16@lane",  # registers that hold nothing
        "d0 = M@reg, d1 = 16@lane",
        "d0 = 8@reg",
        "d0 = 2@reg, d1 = 8@reg, d2 = 16@lane",
        "d0 = 16@reg, d1 = 2@sg 8@lane | replicas 2@lane:8",
        "d0 = 8@reg, d1 = 2@sg 16@lane, d2 = 1",
        "d0 = 8@addr, d1 = 16@lane",
        "d0 = 8@reg, d1 = 32@lane",
    ],
)
def test_layouts_that_no_message_moves(text: str) -> None:
    assert messages_for(la.Layout.parse(text), 32, "load", "pvc") == ()


def test_copies_in_subgroups_are_moved_by_all_of_them() -> None:
    layout = la.Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane | replicas 2@sg:2")
    assert messages_for(layout, 32, "load", "pvc")[0].count == 1


def test_large_blocks_take_no_longer() -> None:
    layout = la.Layout.parse(f"d0 = {2**20}@reg, d1 = 16@lane")
    assert messages_for(layout, 32, "load", "pvc")[0].count == 2**15


@pytest.mark.parametrize("writer", ["", "ocloc", "spirv", "spirv22"])
def test_a_writer_has_messages_of_the_chip_alone(writer: str) -> None:
    for bits in (8, 16, 32):
        for way in WAYS:
            chip = set(messages_of("pvc", bits, way))
            assert chip >= set(messages_of("pvc", bits, way, writer))
            assert messages_of("pvc", bits, way, writer)


def test_unknown_writers_and_chips_are_refused() -> None:
    with pytest.raises(la.PlanError, match=r"writer = 'ptx': expected one of '', 'ocloc', 'spirv', 'spirv22'"):
        messages_of("pvc", 16, "load", "ptx")
    with pytest.raises(la.PlanError, match="expected one of pvc"):
        messages_for(la.Layout.parse("d0 = 8@reg, d1 = 16@lane"), 16, "load", "i486")
    assert messages_of("dg2", 16, "load") == ()


def test_a_chip_is_one_row_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = la.Layout.parse("d0 = 64@reg, d1 = 32@lane")
    monkeypatch.setitem(chips.__dict__["_CHIPS"], "wide", WIDE)
    assert [one.message.rows for one in messages_for(rows, 32, "load", "wide")] == [64, 8, 4]
    assert block_load(64, 32, 32, 3, target="wide").registers == 192
    with pytest.raises(la.VerificationError, match="only chips with 32 lanes"):
        block_load(8, 32, 32, subgroup_size=16, target="wide")
    narrower = TargetInfo(
        "wide", 32, surface=SurfaceLimits(), blocks=BlockTable((BlockSizes(32, 32, (4,)),), (), (), ())
    )
    monkeypatch.setitem(chips.__dict__["_CHIPS"], "wide", narrower)  # nothing is kept by name
    assert [one.message.rows for one in messages_for(rows, 32, "load", "wide")] == [4]


def test_parts_are_none_where_lanes_differ() -> None:
    assert parts_of(block_load(8, 16, 32).layout, la.Layout.parse("d0 = 16@lane, d1 = 8@reg")) is None
