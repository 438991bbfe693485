"""One question has one price: lanes that nobody says are assumed and said, registers are free, and bad input gives words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion.ends import ends_of, in_order
from layoutalg.conversion.price import redundant
from layoutalg.xegpu import LayoutAttr, SliceAttr

TILES = LayoutAttr(sg_layout=(2, 2), sg_data=(16, 16))
STRIPS = LayoutAttr(sg_layout=(4, 1), sg_data=(8, 32))
ROWS = LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1))
COLUMNS = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))


def holders(layout: la.Layout) -> dict[tuple[int, ...], set[tuple[int, int]]]:
    """Who holds each element, by enumeration: subgroups and lanes."""
    found: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    table = layout.fragment_map()
    for sg, lane, register in np.ndindex(*table.shape[:3]):
        found.setdefault(tuple(table[sg, lane, register].tolist()), set()).add((sg, lane))
    return found


def with_lanes(layout: LayoutAttr, lanes: tuple[int, ...]) -> LayoutAttr:
    return LayoutAttr(layout.sg_layout, layout.sg_data, None, lanes, (1,) * len(lanes))


def test_lanes_that_nobody_says_are_along_the_last_dimension() -> None:
    assumed = la.price(TILES, STRIPS, (32, 32), machine=16)
    said = la.price(with_lanes(TILES, (1, 16)), with_lanes(STRIPS, (1, 16)), (32, 32))
    assert assumed.slots == said.slots
    assert (assumed.source, assumed.result) == (said.source, said.result)
    assert "lanes assumed along the last dimension of each subgroup's block" in assumed.assumptions
    assert not any("assumed" in one for one in said.assumptions)


@pytest.mark.parametrize(
    ("layout", "shape", "lanes"),
    [
        (LayoutAttr(sg_layout=(2, 2), sg_data=(8, 12)), (16, 24), (4, 4)),
        (LayoutAttr(sg_layout=(2, 1), sg_data=(16, 1)), (32, 1), (16, 1)),
        (LayoutAttr(sg_layout=(4,), sg_data=(64,)), (256,), (16,)),
    ],
)
def test_where_the_last_dimension_is_too_small_the_one_before_has_the_rest(
    layout: LayoutAttr, shape: tuple[int, ...], lanes: tuple[int, ...]
) -> None:
    dealt = ends_of(layout, layout, shape, la.Machine(lanes=16)).source
    assert holders(dealt) == holders(with_lanes(layout, lanes).layout(shape))


def test_lanes_that_a_block_has_no_room_for_hold_copies() -> None:
    found = la.price(
        LayoutAttr(sg_layout=(2,), sg_data=(7,)), LayoutAttr(sg_layout=(1,), sg_data=(14,)), (14,), machine=16
    )
    assert found.source is not None
    assert set(map(len, holders(found.source).values())) == {16}


def test_a_conversion_without_lanes_and_without_a_machine_has_no_price() -> None:
    found = la.price(TILES, STRIPS, (32, 32))
    assert found.slots is None
    assert "machine=Machine(lanes=16)" in found.problem
    assert "--subgroup-size 16" in found.problem
    plan = la.convert(TILES, STRIPS, (32, 32), target="pvc")
    with pytest.raises(la.ConversionError, match="machine=Machine"):
        _ = plan.cost
    assert "cost         none: neither layout says the lanes" in str(plan)


def test_what_one_layout_leaves_open_is_as_the_other_one_says_it() -> None:
    found = la.price(TILES, with_lanes(STRIPS, (8, 2)), (32, 32))
    both = la.price(with_lanes(TILES, (8, 2)), with_lanes(STRIPS, (8, 2)), (32, 32))
    assert (found.slots, found.source) == (both.slots, both.source)
    assert "the source says no lanes: those of the result" in found.assumptions


def test_instruction_tiles_cost_nothing() -> None:
    tall = LayoutAttr(inst_data=(16, 16), lane_layout=(1, 16), lane_data=(1, 1))
    for other in (COLUMNS, LayoutAttr(inst_data=(8, 16), lane_layout=(1, 16), lane_data=(1, 1))):
        assert la.price(tall, other, (32, 32)).slots == 0
        assert redundant(tall, other, (32, 32))
    assert la.price(tall, ROWS, (32, 32)).slots == la.price(COLUMNS, ROWS, (32, 32)).slots


def test_a_conversion_that_states_another_level_is_free_and_not_redundant() -> None:
    whole = with_lanes(TILES, (1, 16))
    assert la.price(TILES, whole, (32, 32)).slots == 0
    assert not redundant(TILES, whole, (32, 32))


@pytest.mark.parametrize("subgroups", [None, 4, 8, 16, 6])
def test_copies_in_other_subgroups_have_no_price(subgroups: int | None) -> None:
    for source, result, size, own in ((TILES, STRIPS, 32, 4), (COLUMNS, ROWS, 16, 1)):
        found, alone = (la.price(source, result, (size, size), machine=la.Machine(16, one)) for one in (subgroups, own))
        assert found.slots == alone.slots is not None


def test_the_price_is_that_of_the_plan_between_the_layouts_that_are_priced() -> None:
    for bits, element in ((8, "i8"), (16, "bf16"), (32, "f32"), (64, "i64")):
        for chip in ("pvc", "bmg", "sm_80", "gfx942"):
            found = la.price(COLUMNS, ROWS, (32, 32), element, target=chip)
            assert found.source is not None
            assert found.result is not None
            plan = la.convert(found.source, found.result, element_bits=bits, target=chip, portable=True)
            assert (found.slots, found.plan.cost) == (plan.cost, plan.cost)


def test_small_elements_say_how_they_are_moved() -> None:
    assert la.price(COLUMNS, ROWS, (32, 32), "i1").slots == la.price(COLUMNS, ROWS, (32, 32), "i8").slots
    assert "i1 is moved in 8 bits" in la.price(COLUMNS, ROWS, (32, 32), "i1").assumptions
    assert "index is moved in 64 bits" in la.price(COLUMNS, ROWS, (32, 32), "index").assumptions


def test_xegpu_may_use_fewer_lanes_than_the_chip_has() -> None:
    few = LayoutAttr(lane_layout=(8,), lane_data=(1,)), LayoutAttr(lane_layout=(8,), lane_data=(2,))
    assert la.price(*few, (64,)) == la.price(*few, (64,), machine=16)
    assert la.price("d0 = 8@lane 2@reg", "d0 = 2@reg 8@lane").lanes == 8  # a Layout says how many it has


@pytest.mark.parametrize(
    ("source", "result", "shape", "element", "machine", "words"),
    [
        (COLUMNS, ROWS, (17, 16), "f32", None, "17"),
        (COLUMNS, ROWS, (16,), "f32", None, "rank"),
        (COLUMNS, ROWS, None, "f32", None, "needs a shape"),
        (COLUMNS, ROWS, (0, 16), "f32", None, "a size of 0"),
        (COLUMNS, ROWS, (-4, 16), "f32", None, "-4"),
        (COLUMNS, ROWS, (1 << 20, 1 << 20), "f32", None, "at most"),
        (COLUMNS, ROWS, (1 << 40, 16), "f32", None, "whole numbers"),
        (COLUMNS, ROWS, (16, 16), "complex<f32>", None, "element type"),
        (COLUMNS, ROWS, (16, 16), "f128", None, "element type"),
        (COLUMNS, ROWS, (16, 16), "", None, "element type"),
        ("d0 = M@reg", "d0 = M@lane", None, "f32", None, "symbols"),
        ("d0 = 16@addr", "d0 = 16@lane", None, "f32", None, "says where elements lie, which `banks` takes as --memory"),
        ("d0 = 16@row", "d0 = 16@lane", None, "f32", None, "expected a layout onto sg, lane and reg"),
        ("d0 = 4@lane", "d0 = 8@lane", None, "f32", None, "one tensor"),
        ("d0 = 4@lane", "d0 = 4@reg", None, "f32", None, "the machine must be the same"),
        ("d0 = 2@reg 4@lane", "d0 = 4@lane 2@_", None, "f32", None, "one slot"),
        (COLUMNS, "d0 = 16@lane, d1 = 16@reg", (32, 32), "f32", None, "sizes of its own, 16x16"),
        (TILES, STRIPS, (32, 32), "f32", la.Machine(subgroups=4), "lanes of a subgroup"),
    ],
)
def test_what_cannot_be_priced_says_why(
    source: Any, result: Any, shape: Any, element: str, machine: la.Machine | None, words: str
) -> None:
    found = la.price(source, result, shape, element, machine)
    assert found.slots is None
    assert words in found.problem
    assert found.facts["problem"] == found.problem
    assert str(found).startswith(f"no price on pvc: {found.problem}")
    with pytest.raises(la.LayoutError):
        _ = found.plan


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((7, COLUMNS, (16, 16)), "price of 7: expected a Layout"),
        ((COLUMNS, None, (16, 16)), "price of None"),
        (("nothing", COLUMNS, (16, 16)), "expected"),
        ((COLUMNS, ROWS, 16), "expected sizes, such as"),
        ((COLUMNS, ROWS, ([16], 16)), "expected sizes, such as"),
        ((COLUMNS, ROWS, (16, 16), 32), "element 32: expected an element type"),
        ((COLUMNS, ROWS, (16, 16), "f32", "16"), "expected a Machine"),
        ((COLUMNS, ROWS, (16, 16), "f32", 0), "lanes = 0"),
        ((COLUMNS, ROWS, (16, 16), "f32", 16, None), "target None: expected a chip"),
        ((COLUMNS, ROWS, (16, 16), "f32", 16, "i486"), "expected one of pvc"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(la.LayoutError, match=words):
        la.price(*arguments)


@pytest.mark.parametrize(
    ("layouts", "shape"),
    [
        ((LayoutAttr(lane_layout=(16,), lane_data=(1,)), LayoutAttr(lane_layout=(16,), lane_data=(2,))), (32,)),
        (
            (
                LayoutAttr(lane_layout=(1, 1, 16), lane_data=(1, 1, 1)),
                LayoutAttr(lane_layout=(1, 16, 1), lane_data=(1, 1, 1)),
            ),
            (2, 16, 16),
        ),
        ((SliceAttr(COLUMNS, (0,)), SliceAttr(ROWS, (1,))), (16,)),
        ((LayoutAttr(lane_layout=(1, 7), lane_data=(1, 1)), LayoutAttr(lane_layout=(7, 1), lane_data=(1, 1))), (7, 7)),
        ((COLUMNS, COLUMNS), (1, 16)),
        ((LayoutAttr(lane_layout=(1,), lane_data=(1,)), LayoutAttr(lane_layout=(1,), lane_data=(1,))), (1,)),
    ],
)
def test_odd_shapes_have_a_price_or_say_why_not(layouts: tuple[Any, Any], shape: tuple[int, ...]) -> None:
    found = la.price(*layouts, shape)
    assert (found.slots is None) == bool(found.problem)


def test_generic_is_not_a_chip() -> None:
    assert la.price(COLUMNS, ROWS, (16, 16), target="generic").slots is None


def test_registers_in_order_leave_who_holds_what() -> None:
    layouts = [
        la.Layout.parse("d0 = 2@reg:4 2@sg 3@lane, d1 = 2@reg 5@reg:8 | replicas 2@reg:2"),
        LayoutAttr(sg_layout=(2, 1), inst_data=(8, 16), lane_layout=(1, 16), lane_data=(1, 1)).layout((64, 32)),
    ]
    for layout in layouts:
        assert holders(in_order(layout)) == holders(layout)
        table: Any = in_order(layout).fragment_map()
        held: list[list[tuple[int, ...]]] = [
            [tuple(element) for element in row] for row in table.reshape(-1, *table.shape[2:]).tolist()
        ]
        assert held == [sorted(row) for row in held]


def test_a_size_that_is_no_whole_number_has_no_price_before_and_after_one_that_is() -> None:
    columns, rows = (f"#xegpu.layout<lane_layout = [{lanes}], lane_data = [1, 1]>" for lanes in ("1, 16", "16, 1"))
    for _ in range(2):
        assert la.price(columns, rows, (16.0, 16)).slots is None  # type: ignore[list-item]
        assert la.price(columns, rows, (16, 16)).slots is not None


@pytest.mark.parametrize(("target", "lanes"), [("pvc", 16), ("sm_90", 32), ("gfx942", 64)])
def test_a_plan_for_a_chip_has_the_chips_lanes_and_its_price(target: str, lanes: int) -> None:
    """Lanes of a wave, a warp and a subgroup by the vendors' manuals; rows and columns of 16x16 use 16 of them."""
    rows, columns = (la.parse(f"#xegpu.layout<lane_layout = {n}, lane_data = [1, 1]>") for n in ("[1, 16]", "[16, 1]"))
    plan = la.convert(rows, columns, (16, 16), element_bits=32, target=target, portable=True)
    assert plan.source.axes["lane"] == lanes
    assert plan.cost == la.price(rows, columns, (16, 16), "f32", target=target).slots
