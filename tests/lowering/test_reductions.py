"""What lanes and registers combine, in sets: at the end every work-item has each element of its rows, once."""

from __future__ import annotations

from collections import Counter

import pytest

from layoutalg.core.layout import Layout
from layoutalg.lowering.reductions import parts_of

Element = tuple[int, ...]

LAYOUTS = [
    ("d0 = 8@reg, d1 = 16@lane", (1,)),
    ("d0 = 4@reg | replicas 2@reg:4", (0,)),
    ("d0 = 2@reg:2, d1 = 2@reg 16@lane", (1,)),
    ("d0 = 2@reg, d1 = 2@reg:2 4@lane | replicas 2@reg:4", (1,)),
    ("d0 = 4@lane, d1 = 2@reg 4@lane:4", (0,)),
    ("d0 = 2@reg, d1 = 2@reg:4 4@lane | replicas 2@reg:2", (0,)),
    ("d0 = 4@lane, d1 = 2@reg 4@lane:4", (0, 1)),
    ("d0 = 2@lane, d1 = 4@reg | replicas 3@reg:4 2@lane:2", (0, 1)),
    ("d0 = 4@reg, d1 = 8@lane | replicas 2@lane:8", (1,)),
]
"""Layouts, and what is reduced; four have copies in other registers, which must not be combined twice."""


@pytest.mark.parametrize(("text", "reduced"), LAYOUTS)
def test_every_element_of_a_row_is_combined_once(text: str, reduced: tuple[int, ...]) -> None:
    source = Layout.parse(text)
    parts = parts_of(source, reduced)
    assert parts.across == 0
    held = held_by_lanes(source)
    combined = [[Counter(registers[one] for one in group) for group in parts.groups] for registers in held]
    for distance in parts.lanes:
        combined = [
            [mine + theirs for mine, theirs in zip(row, combined[lane ^ distance], strict=True)]
            for lane, row in enumerate(combined)
        ]
    kept = [dim for dim in range(len(source.shape)) if dim not in reduced]
    every = {element for registers in held for element in registers}
    for row, wanted in zip(combined, held_by_lanes(parts.layout, len(held)), strict=True):
        assert row == [
            Counter(element for element in every if tuple(element[dim] for dim in kept) == place) for place in wanted
        ]


def held_by_lanes(layout: Layout, lanes: int = 1) -> list[list[Element]]:
    """The element in each register of each lane, by asking for the owners of each element."""
    axes = layout.codomain
    found: dict[tuple[int, int], Element] = {}
    for element in elements(layout):
        for owner in layout.owners(element):
            at = dict(zip(axes, owner, strict=True))
            found[at.get("lane", 0), at.get("reg", 0)] = element
    lanes = max(lanes, 1 + max(lane for lane, _ in found))
    registers = 1 + max(register for _, register in found)
    alike = 1 + max(lane for lane, _ in found)
    return [[found[lane % alike, register] for register in range(registers)] for lane in range(lanes)]


def elements(layout: Layout) -> list[Element]:
    found: list[Element] = [()]
    for size in layout.shape:
        found = [(*before, index) for before in found for index in range(int(str(size)))]
    return found
