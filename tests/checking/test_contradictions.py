"""Two layouts stated of one value contradict each other where a work-item holds other elements by one than by the other."""

from __future__ import annotations

import random

import pytest

import layoutalg as la
from layoutalg.checking import check
from tests.checking.interpreter import Element, Held, held_by_items
from tests.checking.modules import kernel, lanes, subgroups
from tests.checking.test_by_counting import Spread, attribute

MACHINE = la.Machine(lanes=16, subgroups=4)


def loaded(descriptor: object, layout: object, shape: tuple[int, ...]) -> str:
    """A load whose descriptor has one layout, and which says another itself."""
    size = "x".join(map(str, shape))
    kind = f"!xegpu.tensor_desc<{size}xf32, {descriptor}>"
    return kernel(
        f"%t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> {kind}",
        f"%x = xegpu.load_nd %t[%c0, %c0] <{{layout = {layout}}}> : {kind} -> vector<{size}xf32>",
        items=64,
    )


def held(one: Spread, shape: tuple[int, ...], common: tuple[bool, bool]) -> Held:
    """What items hold, where a level that is not compared counts as one place."""
    found: Held = {}
    for (sg, lane), elements in held_by_items(one, shape, MACHINE).items():
        found.setdefault((sg * common[0], lane * common[1]), set()).update(elements)
    return found


def contradictions(descriptor: object, layout: object, shape: tuple[int, ...]) -> list[Element | None]:
    """The elements that the findings name."""
    found = check(la.read(loaded(descriptor, layout, shape))).mistakes
    return [one.element for one in found if one.finding.rule == "layouts.contradiction"]


@pytest.mark.parametrize(
    ("some", "whole"),
    [
        (subgroups("4, 1", "4, 16"), subgroups("4, 1", "16, 16")),
        (subgroups("1, 4", "16, 4"), subgroups("1, 4", "16, 16")),
        (lanes("1, 16", "1, 1"), lanes("1, 16", "1, 16")),
    ],
)
def test_whoever_has_all_by_one_and_a_part_by_the_other_is_told_of_in_either_order(some: str, whole: str) -> None:
    assert len(contradictions(some, whole, (16, 16))) == 1
    assert len(contradictions(whole, some, (16, 16))) == 1
    assert contradictions(some, some, (16, 16)) == contradictions(whole, whole, (16, 16)) == []


@pytest.mark.parametrize("seed", range(80))
def test_check_says_what_counting_says_of_two_statements(seed: int) -> None:
    rng = random.Random(seed)
    shape = rng.choice(((8, 16), (16, 16), (16, 32)))
    one, other = attribute(rng, shape), attribute(rng, shape)
    parents = [each.parent_layout() for each in (one, other)]
    common = (
        all(parent.sg_layout is not None for parent in parents),
        all(parent.lane_layout is not None for parent in parents),
    )
    by_one, by_other = (held(each, shape, common) for each in (one, other))
    differ = {element for item in by_one if any(common) for element in by_one[item] ^ by_other[item]}
    for pair in ((one, other), (other, one)):
        found = contradictions(*pair, shape)
        assert bool(found) == bool(differ), loaded(*pair, shape)
        assert set(found) <= differ, loaded(*pair, shape)
