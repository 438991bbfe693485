"""The picture of bank conflicts, cell by cell, against a count of its own: lanes, addresses and banks, in plain Python."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.memory import bank_picture
from layoutalg.viz.panels import DARK, MARKED, NARROW, PALE
from tests.cli.printed import Capture, answer, out

P = la.Layout.parse
SQUARE = P("d0 = 32@addr:32, d1 = 32@addr")
SWIZZLED = la.swizzled(SQUARE, la.Swizzle(5, 0, 5))
CASES: dict[str, tuple[Any, Any, int, int]] = {
    "columns": (P("d0 = 32@lane, d1 = 32@reg"), SQUARE, 32, 1),
    "columns, swizzled": (P("d0 = 32@lane, d1 = 32@reg"), SWIZZLED, 32, 1),
    "wide": (P("d0 = 32@lane, d1 = 32@reg"), SQUARE, 32, 4),
    "64 lanes": (P("d0 = 32@lane:2, d1 = 2@lane 16@reg"), SQUARE, 32, 1),
    "subgroups": (P("d0 = 4@sg 8@lane, d1 = 4@lane:8 8@reg"), SQUARE, 16, 1),
    "copies": (P("d0 = 8@lane, d1 = 8@reg | replicas 4@lane:8"), P("d0 = 8@addr:8, d1 = 8@addr"), 8, 1),
    "64 banks": (P("d0 = 32@lane, d1 = 32@reg"), SQUARE, 64, 1),
}
CELL = re.compile(r"cycle (\d+), bank (\d+): (?:idle|word (\d+), lanes? ([\d, ]+))")


def accesses(layout: la.Layout, memory: la.Layout, vector: int) -> dict[int, list[dict[int, int]]]:
    """For each subgroup the first address that each lane touches in each instruction: every address once in a lane."""
    axis = memory.codomain.index("addr")
    held: dict[int, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for at in product(*map(range, (int(n) for n in layout.shape))):
        for owner in layout.owners(at):
            place = dict(zip(layout.codomain, owner, strict=True))
            held[place.get("sg", 0)][place.get("reg", 0)][place.get("lane", 0)] = memory.owners(at)[0][axis]
    found: dict[int, list[dict[int, int]]] = {}
    for sg, registers in held.items():
        found[sg] = [lanes for lanes in registers.values() if all(start % vector == 0 for start in lanes.values())]
    return found


def phases(instruction: dict[int, int], banks: int, vector: int) -> list[dict[int, dict[int, list[int]]]]:
    """For each phase the words of each bank, and their lanes."""
    together = banks // vector
    found: list[dict[int, dict[int, list[int]]]] = []
    for first in range(0, max(instruction) + 1, together):
        served: dict[int, dict[int, list[int]]] = defaultdict(dict)
        for lane in range(first, first + together):
            for word in range(instruction[lane], instruction[lane] + vector) if lane in instruction else ():
                served[word % banks].setdefault(word, []).append(lane)
        found.append(served)
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_cell_is_a_word_that_its_bank_serves(name: str) -> None:
    layout, memory, banks, vector = CASES[name]
    picture = bank_picture(layout, banks=banks, memory=memory, vector=vector)
    wanted = accesses(layout, memory, vector)
    side = picture.panels()[-1]
    titles = [words.text for words in side.words if words.bold]
    assert "before" not in titles[0]
    cycles = {
        sg: [[max(map(len, one.values()), default=0) for one in phases(lanes, banks, vector)] for lanes in instructions]
        for sg, instructions in wanted.items()
    }
    worst = max(sum(map(sum, one)) for one in cycles.values())
    note = " ".join(words.text for words in side.words)
    assert f"{worst} cycle" in note
    served: dict[int, dict[int, list[int]]] = defaultdict(dict)  # the lanes of each bank, cycle by cycle
    places: dict[int, dict[int, int]] = defaultdict(dict)
    waited: set[int] = set()
    for cell in side.cells:
        found = CELL.fullmatch(cell.sentence)
        assert found is not None
        cycle, bank = int(found[1]), int(found[2])
        served.setdefault(cycle, {})
        if found[3] is None:
            assert (cell.fill, cell.label) == (PALE, "")
            continue
        places[cycle][bank], served[cycle][bank] = int(found[3]), [int(lane) for lane in found[4].split(", ")]
        assert cell.label == found[4].split(", ")[0]
        assert cell.fill in (MARKED, DARK)
        if cell.fill == MARKED:
            waited.add(cycle)
    for told in re.findall(r"lanes (\d+) to (\d+) likewise: cycles (\d+) to (\d+)", note):
        lane, last, low, high = map(int, told)
        together = banks // vector
        step = (high - low + 1) * together // (last - lane + 1)
        for cycle in range(low, high + 1):
            served[cycle] = {bank: [one + together for one in some] for bank, some in served[cycle - step].items()}
    left_out = [
        range(int(low), int(high) + 1) for low, high in re.findall(r"cycles (\d+) to (\d+) are not drawn", note)
    ]
    possible = [in_cycles(phases(lanes, banks, vector)) for some in wanted.values() for lanes in some]
    assert any(
        {*served}.union(*left_out) == {*range(len(one))}
        and all(some == {bank: lanes for bank, (_, lanes) in one[cycle][1].items()} for cycle, some in served.items())
        and all(word == one[cycle][1][bank][0] for cycle, some in places.items() for bank, word in some.items())
        and waited == {cycle for cycle in places if one[cycle][0]}
        for one in possible
    )


def in_cycles(found: list[dict[int, dict[int, list[int]]]]) -> list[tuple[int, dict[int, tuple[int, list[int]]]]]:
    """The cycles of an instruction: how many were before it in its phase, and for each bank the word and its lanes."""
    return [
        (cycle, {bank: list(words.items())[cycle] for bank, words in phase.items() if cycle < len(words)})
        for phase in found
        for cycle in range(max(map(len, phase.values()), default=0))
    ]


def test_lanes_that_meet_in_a_bank_are_outlined() -> None:
    """Lane l reads from word 32 l on: every lane of a phase meets in bank 0. Swizzled, none do."""
    before, after = bank_picture(P("d0 = 32@lane, d1 = 32@reg"), memory=SWIZZLED, vector=1).panels()
    assert "outlined: lanes 0-31 meet in bank 0, for 32 cycles" in [one.text for one in before.words]
    edges = [one for one in before.lines if one.over and one.width == 2.2]
    inside = [one for one in before.cells if one.sentence.split(":")[0].endswith("bank 0")]
    assert {one.x for one in edges} | {one.to_x for one in edges} == {inside[0].x, inside[0].x + inside[0].width}
    assert (min(one.y for one in edges), max(one.to_y for one in edges)) == (
        inside[0].y,
        pytest.approx(inside[-1].y + inside[-1].height),
    )
    assert not [one for one in after.words if "meet" in one.text]
    assert not [one for one in after.lines if one.over]


def test_before_and_after_stand_one_below_the_other_and_row_major_once() -> None:
    columns = P("d0 = 32@lane, d1 = 32@reg")
    both = bank_picture(columns, memory=SWIZZLED)
    assert [panel.words[0].text[:6] for panel in both.panels()] == ["before", "after:"]
    for memory in (None, SQUARE):
        (only,) = bank_picture(columns, memory=memory).panels()
        assert not only.words[0].text.startswith("before")
    assert len(bank_picture(columns, memory=SWIZZLED, before=SWIZZLED).panels()) == 1
    assert both.scene().width <= NARROW + 12


def test_the_command_line_draws_it(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "banks.svg"
    found = answer(capsys, "banks", "d0 = 16@lane, d1 = 16@reg", "--memory", "row-major", "-o", str(target))
    assert found["output"] == str(target)
    assert "4-way" in target.read_text(encoding="utf-8")
    out(capsys, "banks", "d0 = 16@lane, d1 = 16@reg", "--memory", "row-major", "-o", str(target))


def test_an_instruction_is_not_drawn_in_words(capsys: Capture) -> None:
    from layoutalg.cli import main

    assert main(["banks", "ldmatrix.x4", "64x64", "--memory", "row-major", "-o", "x.svg"]) == 2
    assert "the accesses of a layout are drawn, such as SM75_U32x4_LDSM_N.destination" in capsys.readouterr().err
