"""The picture of a conversion: what its cells say about registers, shuffles and memory, against the layouts alone."""

from __future__ import annotations

import csv
import io
import itertools
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import Address, Barrier, Load, Program, Store
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.drawing.contents import contents_of
from layoutalg.conversion.drawing.memory import Memory
from layoutalg.conversion.drawing.tables import RED
from layoutalg.conversion.program.steps import Shuffle
from layoutalg.viz.panels import Panel
from layoutalg.viz.shapes import Cell
from tests.conversion.brute_force import L
from tests.viz.reading import smallest_text

SVG = "{http://www.w3.org/2000/svg}"
PAIRS = [
    ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg", 16),
    ("d0 = 3@reg, d1 = 15@lane", "d0 = 3@lane, d1 = 5@lane:3 3@reg", 32),
    ("d0 = 4@sg 8@reg, d1 = 16@lane", "d0 = 16@lane 2@reg:4, d1 = 4@sg 4@reg", 8),
    ("d0 = 16@lane", "d0 = 16@reg | replicas 16@lane", 64),
    ("d0 = 32@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 32@reg", 32),
    ("d0 = 8@reg, d1 = 64@lane", "d0 = 8@lane, d1 = 8@lane:8 8@reg", 32),
]


def said(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def table(panel: Panel) -> tuple[list[str], list[str], dict[tuple[int, int], str]]:
    """A table as a reader sees it: words over the columns, words beside the rows, and the labels by the places of both."""
    cells = {(cell.x + cell.width / 2, cell.y + cell.height / 2 + 4): cell.label for cell in panel.cells}
    ys = sorted({y for _, y in cells} | {one.y for one in panel.words if one.anchor == "end"})
    top = min(one.y for one in panel.words if one.anchor == "middle")
    across = sorted((one.x, one.text) for one in panel.words if one.anchor == "middle" and one.y == top)
    down = {round(one.y): one.text for one in panel.words if one.anchor == "end"}
    xs = [x for x, _ in across]
    placed = {
        (
            next(i for i, one in enumerate(ys) if abs(one - y) < 1),
            next(i for i, one in enumerate(xs) if abs(one - x) < 1),
        ): label
        for (x, y), label in cells.items()
    }
    return [text for _, text in across], [down[round(y)] for y in ys], placed


def spread(names: list[str], values: dict[int, np.ndarray], count: int) -> list[np.ndarray]:
    """All columns of a folded table: dots stand for what goes on evenly from the number before to the number behind."""
    known = {int(name.removeprefix("r")): values[i] for i, name in enumerate(names) if name[-1].isdigit()}
    dots = {i for i, name in enumerate(names) if not name[-1].isdigit()}
    found: list[np.ndarray] = []
    numbers = sorted(known)
    for low, high in zip(numbers, [*numbers[1:], None], strict=True):
        found.append(known[low])
        for between in range(low + 1, high if high is not None else count):
            assert high is not None
            found.append(known[low] + (known[high] - known[low]) * (between - low) // (high - low))
    gaps = [high - low > 1 for low, high in itertools.pairwise(numbers)]
    assert sum(gaps) == len(dots)
    return found


@pytest.mark.parametrize(("source", "destination", "bits"), [PAIRS[0], *PAIRS[2:5]])
def test_registers_hold_what_the_layouts_say_where_they_are_folded_too(
    source: str, destination: str, bits: int
) -> None:
    plan = la.convert(source, destination, element_bits=bits)
    drawn = [one for panel in plan.picture().steps()[0].panels for one in split(panel)]
    for title, layout in (("before", L(source)), ("after", L(destination))):
        held = layout.fragment_map()[0]
        panel = next(one for one in drawn if one.words[0].text == title)
        columns, rows, labels = table(panel)
        assert columns[0] == "0"
        values = {at: np.array([*map(int, label.split(","))]) for at, label in labels.items()}
        lanes: dict[int, np.ndarray] = {}
        for i, name in enumerate(columns):
            if name[-1].isdigit():
                down = {j: values[j, i] for j, row in enumerate(rows) if row[-1].isdigit()}
                lanes[i] = np.array(spread(rows, down, held.shape[1]))
        assert np.array_equal(np.array(spread(columns, lanes, held.shape[0])), held)


def split(panel: Panel) -> list[Panel]:
    """The tables of a panel, each with the bold words over it."""
    heads = [one for one in panel.words if one.bold]
    found: list[Panel] = []
    for head in heads:
        right = min((one.x for one in heads if one.y == head.y and one.x > head.x), default=panel.width + 1)
        below = min((one.y for one in heads if one.y > head.y), default=panel.height + 1)
        words = [one for one in panel.words if head.x <= one.x < right and head.y <= one.y < below - 8]
        cells = [one for one in panel.cells if head.x <= one.x < right and head.y <= one.y < below - 8]
        found.append(replace(panel, words=tuple(words), cells=tuple(cells)))
    return found


@pytest.mark.parametrize(("source", "destination", "bits"), PAIRS)
def test_registers_hold_what_the_layouts_say(source: str, destination: str, bits: int) -> None:
    titles = said(la.convert(source, destination, element_bits=bits).svg())
    for side, layout in (("before", L(source)), ("after", L(destination))):
        held = layout.fragment_map()[0]
        shown = [re.fullmatch(rf"{side}: lane (\d+), register (\d+): ([\d,]+)", title) for title in titles]
        assert any(shown)
        for found in shown:
            if found:
                assert found[3] == ",".join(map(str, held[int(found[1]), int(found[2])].tolist()))


EMPTY = [
    ("d0 = 2@reg 2@lane | offset 2@reg 1@lane", "d0 = 2@lane 2@reg | offset 1@lane"),
    ("d0 = 2@lane:2 2@reg:3", "d0 = 2@reg 2@lane:2"),
    ("() | replicas 2@lane:2", "() | replicas 4@lane"),
]


@pytest.mark.parametrize(("source", "destination"), EMPTY)
def test_what_layouts_leave_empty_is_drawn_empty(source: str, destination: str) -> None:
    titles = said(la.convert(source, destination).svg())
    for side, layout in (("before", L(source)), ("after", L(destination))):
        shown = {
            (int(found[1]), int(found[2])): found[3]
            for found in (re.fullmatch(rf"{side}: lane (\d+), register (\d+): ([\d()]+)", one) for one in titles)
            if found
        }
        elements = [(str(x), (x,)) for x in range(layout.shape[0])] if layout.rank else [("()", ())]
        assert shown == {(lane, reg): name for name, at in elements for _, lane, reg in layout.owners(at)}


@pytest.mark.parametrize(("source", "destination", "bits"), [PAIRS[0], PAIRS[1], PAIRS[3], PAIRS[4], PAIRS[5]])
def test_a_register_changes_without_a_shuffle_exactly_where_the_picture_says_that_it_brings_it(
    source: str, destination: str, bits: int
) -> None:
    """Every shuffle is left out by itself: each lane keeps its word. The program's result says who needed it."""
    plan = la.convert(source, destination, element_bits=bits, slm_limit=0)
    picture, (program,) = plan.picture(), plan.programs
    before, after = L(source).fragment_map()[0], L(destination).fragment_map()[0]
    steps = [step for step in program.steps if isinstance(step, Shuffle)]
    routes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for title in said(picture.svg()):
        found = re.fullmatch(r"after: lane (\d+), register (\d+): ([\d,]+) of lane (\d+), register (\d+)(.*)", title)
        if found:
            lane, register, start, first = (int(found[i]) for i in (1, 2, 4, 5))
            assert found[3] == ",".join(map(str, after[lane, register].tolist()))
            assert found[3] == ",".join(map(str, before[start, first].tolist()))
            words = [
                [(int(i) - 1, int(read)) for i, read in re.findall(r", by shuffle (\d+) from lane (\d+)", way)]
                for way in found[6].split("; the other word")
            ]
            for route in words:
                here = [*(read for _, read in route), lane][1:]
                read = [steps[i].sources(1)[0, to] for (i, _), to in zip(route, here, strict=True)] if route else []
                assert read == [source for _, source in route]
                assert (route[0][1] if route else lane) == start
            routes[lane, register] = [one for route in words for one in route]
    told = [one.text for one in picture.scene().words if "do the same" in one.text]
    if told:  # the other lanes are copies by XOR
        block = max(lane for lane, _ in routes) + 1
        lanes = re.match(rf"lanes {block}-(\d+) do the same: every lane XOR ([\d, ]+), the same registers", told[0])
        assert lanes is not None
        assert int(lanes[1]) == program.lanes - 1
        for turned in map(int, lanes[2].split(",")):
            routes |= {(lane ^ turned, r): route for (lane, r), route in routes.items() if lane < block}
    assert set(routes) == set(np.ndindex(*after.shape[:2]))
    numbers = np.arange(program.lanes * program.source_registers).astype(f"u{bits // 8}")
    numbers += numbers << 32 if bits == 64 else 0
    given = numbers.reshape(1, program.lanes, -1)
    right = program.run(given)[0]
    idle = tuple(range(program.lanes))
    for shuffle, step in enumerate(steps):
        left_out = tuple([one._replace(lanes=idle) if one is step else one for one in program.steps])
        changed = replace(program, steps=left_out).run(given)[0] != right
        assert {at for at, route in routes.items() if shuffle in [i for i, _ in route]} == {
            *map(tuple, np.argwhere(changed).tolist())
        }


@pytest.mark.parametrize(("source", "destination", "bits"), [PAIRS[0], PAIRS[1], PAIRS[3]])
def test_shuffles_one_by_one_say_which_register_becomes_which(source: str, destination: str, bits: int) -> None:
    plan = la.convert(source, destination, element_bits=bits, slm_limit=0)
    before, after = L(source).fragment_map()[0], L(destination).fragment_map()[0]
    arrived: set[tuple[int, int]] = set()
    reads = 0
    for _, svg in plan.picture().views(one_by_one=True):
        for title in said(svg):
            to = re.match(r"lane (\d+) reads lane \d+", title)
            reads += to is not None
            for element, lane, register, into in re.findall(
                r"([\d,]+) of lane (\d+), register (\d+) into register (\d+)", title
            ):
                assert to is not None
                assert ",".join(map(str, before[int(lane), int(register)].tolist())) == element
                assert ",".join(map(str, after[int(to[1]), int(into)].tolist())) == element
                arrived.add((int(to[1]), int(into)))
    stays = {at for at in np.ndindex(*after.shape[:2]) if (before[at[0]] == after[at]).all(-1).any()}
    assert arrived | stays == set(np.ndindex(*after.shape[:2]))
    assert reads == after.shape[0] * plan.shuffles


MEMORY = [
    ("d0 = 2@sg 8@lane, d1 = 2@sg:2 4@reg", "d0 = 2@sg:2 2@lane:4 4@reg, d1 = 2@sg 4@lane", None),
    ("d0 = 2@sg 2@reg, d1 = 16@lane", "d0 = 2@reg 2@sg, d1 = 16@lane", None),
    ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg", "pvc"),
    ("d0 = 32@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 32@reg", "sm_80"),
]


def words(svg: str) -> dict[tuple[int, int], list[int]]:
    """The numbers of each word of the drawn memory, by row and bank: left out are only words that go on evenly."""
    known: dict[tuple[int, int], list[int]] = {}
    for title in said(svg):
        if found := re.match(r"byte (\d+), bank (\d+): ", title):
            assert int(found[1]) // 4 % 32 == int(found[2])
            known[int(found[1]) // 128, int(found[2])] = [int(one) for one in re.findall(r"\d+", title[found.end() :])]
    for axis in (1, 0):
        lines: dict[int, list[int]] = {}
        for at in known:
            lines.setdefault(at[1 - axis], []).append(at[axis])
        for line, places in lines.items():
            for low, high in itertools.pairwise(sorted(places)):
                ends = [known[(line, at) if axis else (at, line)] for at in (low, high)]
                for at in range(low + 1, high):
                    between = [a + (b - a) * (at - low) // (high - low) for a, b in zip(*ends, strict=True)]
                    known[(line, at) if axis else (at, line)] = between
    return known


@pytest.mark.parametrize(("source", "destination", "target"), MEMORY)
def test_every_word_of_memory_goes_from_where_the_source_has_it_to_where_the_destination_wants_it(
    source: str, destination: str, target: str | None
) -> None:
    """What is folded away too. A register has one place: lanes, registers and elements are those of the layouts."""
    before, after = L(source).fragment_map(), L(destination).fragment_map()
    picture = la.convert(source, destination, slm_limit=2**16, target=target).picture()
    views = dict(picture.views(one_by_one=True))
    drawn = [words(svg) for svg in (views["store"], views["load"])]
    assert drawn[0] == drawn[1]
    assert ("grey: no element is stored there" in views["store"]) == (not all(drawn[0].values()))
    seen: set[tuple[int, ...]] = set()
    for numbers in drawn[0].values():
        if not numbers:
            continue  # padding
        element, (sg, lane, register, to_sg, to_lane, to_register) = (
            tuple(numbers[:2]),
            (numbers[2:] if len(before) > 1 else [0, *numbers[2:4], 0, *numbers[4:]]),
        )
        assert tuple(before[sg, lane, register]) == element
        assert tuple(after[to_sg, to_lane, to_register]) == element
        assert element not in seen
        seen.add(element)
    assert words(picture.svg()).items() <= drawn[0].items()
    owners = [
        {at: {one[0] for one in layout.owners(at)} for at in np.ndindex(*layout.shape)}
        for layout in (L(source), L(destination))
    ]
    crossing = {at for at in owners[0] if owners[0][at] != owners[1][at]}
    rows = max(row for row, _ in drawn[0]) + 1
    assert crossing <= seen or "more rows of 32 words" in views["store"]
    assert seen
    assert {*drawn[0]} >= {(row, bank) for row in range(rows - 1) for bank in range(32)}


def test_what_waits_for_a_bank_is_outlined_and_its_cycles_are_counted() -> None:
    swap = (Store((0,), Address(xor=True, lane=(32, 1))), Barrier(), Load((1,), Address(xor=True, lane=(1, 32))))
    program = Program(1, 4, 32, 1, 1, pack=(0,), steps=swap, unpack=(1,), slm_bytes=136)
    fills = [["#000000"] * 4]
    memory = Memory(program, contents_of(program), [swap[0], swap[2]], fills)
    panel = memory.panel(str, memory.loads, 8)
    titles = [cell.sentence for cell in panel.cells]
    writers = {(0, 0): 0, (0, 1): 2, (1, 0): 1, (1, 1): 3}
    for (row, bank), lane in writers.items():
        reader = 2 * (lane % 2) + lane // 2
        word, told = f"byte {row * 128 + bank * 4}, bank {bank}", f"written by lane {lane} from register 0"
        assert f"{word}: {lane}, {told}, read by lane {reader} into register 0; waits for its bank" in titles
    assert sum(line.fill == RED for line in panel.lines) == 4 * 4
    for side in (memory.stores, memory.loads):  # two words of each of two banks, in two cycles
        assert side.cycles() == [2]
        assert side.told_cycles() == [side.told_cycles()[0]]
        assert "2 cycles: up to 2 words of one bank meet" in side.told_cycles()[0]
        assert sum(line.fill == RED for line in side.accesses(fills).lines) == 4 * 4


def test_below_an_element_stands_the_lane_that_writes_or_reads_it() -> None:
    """Two lanes that swap a word: lane l writes word 32 l and reads word 32 (1 - l)."""
    store, load = Store((0,), Address(xor=True, lane=(32,))), Load((1,), Address(32, xor=True, lane=(32,)))
    swap = Program(1, 2, 32, 1, 1, pack=(0,), steps=(store, Barrier(), load), unpack=(1,), slm_bytes=256)
    memory = Memory(swap, contents_of(swap), [store, load], [["#000000", "#ffffff"]])
    for side, lanes in ((memory.stores, "01"), (memory.loads, "10")):
        panel = memory.panel(str, side, 8)
        inside = [one.text for one in panel.words if one.over]
        assert inside == ["0", lanes[0], "1", lanes[1]]


def test_the_output_of_a_cell_is_small_however_large_the_conversion() -> None:
    for source, destination, bits in (
        (*PAIRS[4][:2], 32),
        ("d0 = 128@reg, d1 = 64@lane", "d0 = 128@reg, d1 = 8@lane 8@lane:8", 32),
        ("d0 = 64@reg, d1 = 32@lane", "d0 = 2@reg 32@lane, d1 = 32@reg:2", 16),
    ):
        for limit in (0, 2**16):
            picture = la.convert(source, destination, element_bits=bits, slm_limit=limit).picture()
            text: str = picture._repr_html_()  # pyright: ignore[reportPrivateUsage]
            assert len(text) <= 300_000
    for source, destination, bits, target in (
        ("d0 = 8@reg:2 2@lane 2@reg 32@lane:2", "d0 = 2@reg 32@lane:2 8@reg:2 2@lane", 64, "gfx942"),
        ("d0 = 2@sg 3@reg 2@sg:2 64@lane", "d0 = 2@sg:2 64@lane 3@reg 2@sg", 8, "gfx942"),
        ("d0 = 8@reg:2 2@lane 2@reg 16@lane:2", "d0 = 16@reg 16@lane:2 2@lane", 64, "sm_80"),
    ):
        picture = la.convert(source, destination, element_bits=bits, target=target).picture()
        assert len(picture._repr_html_()) <= 300_000  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("target", [None, "pvc", "sm_80", "gfx942", "gfx1100", "bmg"])
def test_what_a_price_is_for_adds_up_to_it(target: str | None) -> None:
    for limit in (0, None):
        plan = la.convert(*PAIRS[0][:2], element_bits=16, target=target, slm_limit=limit)
        price = cost_of(target)
        found = price.parts(plan.programs)
        assert sum(price.shares(plan.programs).values()) == pytest.approx(plan.cost if found is None else found.issued)
        drawn = [cell for panel in plan.picture().steps()[0].panels for cell in panel.cells]
        bars = {cell.sentence: cell.width for cell in drawn if "issue slot" in cell.sentence}
        widths = {int(sentence.split()[0]): width for sentence, width in bars.items()}
        if len({way.name.partition(",")[0] for way in plan.candidates}) == 1:
            assert not bars  # there is nothing to compare with
            continue
        assert plan.cost in widths
        most = max(widths)
        assert widths == {slots: pytest.approx(max(widths[most] * slots / most, 2)) for slots in widths}


def test_large_plans_say_what_they_leave_out() -> None:
    text = la.convert("d0 = 128@reg, d1 = 64@lane", "d0 = 128@reg, d1 = 8@lane 8@lane:8").svg()
    assert "and 64 more registers" in text
    assert "drawn: shuffle 1, the first of them" in text
    long = la.convert("d0 = 2@sg 64@reg, d1 = 64@lane", "d0 = 64@reg 2@sg, d1 = 64@lane", slm_limit=2**16).svg()
    assert re.search(r"and \d+ more rows of 32 words", long)


@pytest.mark.parametrize(("source", "destination", "bits"), PAIRS)
def test_a_picture_can_be_read_on_a_phone(source: str, destination: str, bits: int) -> None:
    """Letters are at least 7 pixels high on a page 400 pixels wide; what does not fit beside stands below."""
    for limit in (2**16,) if "sg" in source else (0, 2**16):
        picture = la.convert(source, destination, element_bits=bits, slm_limit=limit).picture()
        for svg in (picture.svg(), *(svg for _, svg in picture.views(one_by_one=True))):
            assert smallest_text(svg, 400) >= 7
        assert picture.scene().height < 2400


def test_a_conversion_has_the_formats_of_every_picture(tmp_path: Path) -> None:
    picture = la.convert(*PAIRS[0][:2], element_bits=16).picture(title="a < b")
    for ending in ("svg", "png", "pdf", "html", "tex", "csv", "md"):
        path = tmp_path / f"picture.{ending}"
        picture.save(path)
        assert path.stat().st_size > 1000
    rows = list(csv.reader(io.StringIO(picture.csv())))
    assert [row[2] for row in rows[1:]] == [cell.sentence for panel in picture.panels() for cell in panel.cells]
    page = picture.html()
    steps = picture.views(one_by_one=True)
    assert page.count('<figure class="step"') == len(steps)
    assert page.count("<script") == 1
    assert "a < b" not in page
    assert not re.search(r"(?:src|href)=|url\(|https?:(?!//www\.w3\.org/2000/svg)", page)
    assert [name for name, _ in steps[1:3]] == ["shuffle 1", "shuffle 2"]


Box = tuple[int, int, int, int]


def around(boxes: dict[Box, bool]) -> set[Box]:
    """The sides of some boxes (left, top, right, bottom) that no two of them share: the line around them."""
    found: set[Box] = set()
    for (x, y, right, low), inside in boxes.items():
        if inside:
            found ^= {(x, y, x, low), (right, y, right, low), (x, y, right, y), (x, low, right, low)}
    return found


def box(cell: Cell) -> Box:
    return round(cell.x), round(cell.y), round(cell.x + cell.width), round(cell.y + cell.height)


def rims(panel: Panel) -> set[Box]:
    return {
        (round(line.x), round(line.y), round(line.to_x), round(line.to_y))
        for line in panel.lines
        if line.over and line.fill != RED
    }


@pytest.mark.parametrize(("source", "destination", "bits"), [*PAIRS, (*MEMORY[0][:2], 32)])
def test_what_is_outlined_is_what_one_lane_gets_and_where_it_was(source: str, destination: str, bits: int) -> None:
    """By the layouts: the frame goes around every drawn element of that lane, in both tables, and around no other."""
    picture = la.convert(source, destination, element_bits=bits, slm_limit=2**16).picture()
    first, *others = picture.steps()
    (told,) = [one.text for panel in first.panels for one in panel.words if one.text.startswith("outlined: what lane")]
    lane, sg = (int(found[1]) if (found := re.search(rf"{what} (\d+)", told)) else 0 for what in ("lane", "subgroup"))
    before, after = L(source).fragment_map(), L(destination).fragment_map()
    wanted = {tuple(at) for at in after[sg, lane].tolist()}
    framed: dict[Box, bool] = {}
    for cell in first.panels[0].cells:
        side, here, there, register = re.findall(
            r"(before|after): (?:subgroup (\d+), )?lane (\d+), register (\d+)", cell.sentence
        )[0]
        at = int(here or 0), int(there), int(register)
        framed[box(cell)] = tuple(before[at].tolist()) in wanted if side == "before" else at[:2] == (sg, lane)
    assert any(framed.values())
    assert rims(first.panels[0]) == around(framed)
    for panel in (panel for step in others for panel in step.panels):
        stored = {box(cell): re.match(r"byte \d+, bank \d+: ([\d,]+\d)", cell.sentence) for cell in panel.cells}
        elements = {at: tuple(map(int, found[1].split(","))) for at, found in stored.items() if found}
        outlined = any(one.text.startswith("outlined: what") for one in panel.words)
        if elements and bits == 32:
            assert rims(panel) == around({at: element in wanted for at, element in elements.items()})
            assert outlined == any(element in wanted for element in elements.values())


@pytest.mark.parametrize(("source", "destination"), [*(one[:2] for one in PAIRS), MEMORY[0][:2]])
def test_a_lane_has_the_colour_that_it_has_in_the_picture_of_its_layout(source: str, destination: str) -> None:
    layout = L(source)
    fills = [cell.fill for cell in layout.picture(full=True).scene(direction="tensor").cells]
    seen = 0
    for cell in la.convert(source, destination).picture().steps()[0].panels[0].cells:
        if found := re.match(r"before: .*register \d+: ([\d,]+)", cell.sentence):
            assert cell.fill == fills[np.ravel_multi_index([*map(int, found[1].split(","))], layout.shape)]
            seen += 1
    assert seen > 4


def test_all_subgroups_are_drawn_where_they_are_small() -> None:
    source, destination, _ = MEMORY[0]
    titles = said(la.convert(source, destination).svg())
    for side, layout in (("before", L(source)), ("after", L(destination))):
        pattern = rf"{side}: subgroup (\d+), lane (\d+), register (\d+): (\d+),(\d+)"
        shown = [tuple(map(int, found.groups())) for found in (re.fullmatch(pattern, one) for one in titles) if found]
        held = layout.fragment_map()
        assert {one[:3]: one[3:] for one in shown} == {at: tuple(held[at]) for at in np.ndindex(*held.shape[:3])}


def meant(phrase: str, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """How many rows and columns a phrase means, and how far apart they are."""
    apart = {name: int(step) for name, step in re.findall(r"\((?:(\w+) )?(\d+) apart\)", phrase)}
    words = phrase.partition(" (")[0]
    if found := re.fullmatch(r"(?:a block of )?(\d+)x(\d+)(?: elements)?", words):
        return [(int(found[1]), apart.get("rows", 1)), (int(found[2]), apart.get("columns", 1))]
    found = re.fullmatch(r"(?:a|(\d+) elements of a) (row|column)", words)
    assert found is not None
    whole = shape[found[2] == "row"]
    count = int(found[1] or whole)
    assert (count < whole) == bool(found[1])
    return [(1, 1), (count, apart.get("", 1))][:: 1 if found[2] == "row" else -1]


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        *(PAIRS[i][:2] for i in (0, 1, 2, 4, 5)),
        *(one[:2] for one in MEMORY[:2]),
        ("d0 = 2@sg 8@reg, d1 = 8@lane", "d0 = 2@reg:4 8@lane, d1 = 2@sg 4@reg"),
    ],
)
def test_what_a_conversion_does_is_said_in_words_that_hold_for_every_lane(source: str, destination: str) -> None:
    layouts = L(source), L(destination)
    lines = [one.text for one in la.convert(source, destination).picture().scene().words]
    told = re.search(r"(a transpose: )?each lane holds (.+?) before, (.+?) after of", " ".join(lines))
    assert told is not None
    held = [layout.fragment_map() for layout in layouts]
    for phrase, lanes in zip((told[2], told[3]), held, strict=True):
        for lane in lanes.reshape(-1, *lanes.shape[2:]):
            sides = [sorted({*lane[:, i].tolist()}) for i in (0, 1)]
            assert len({*map(tuple, lane.tolist())}) == len(sides[0]) * len(sides[1])
            for side, (count, step) in zip(sides, meant(phrase, layouts[0].shape), strict=True):
                assert side == [side[0] + step * i for i in range(count)]
    turned = len(held[0]) == 1 and np.array_equal(held[0].swapaxes(1, 2), held[1])
    assert bool(told[1]) == turned
    owners = [{tuple(one[at].tolist()): at for at in np.ndindex(*one.shape[:3])} for one in held]
    counts = [0, 0, 0]
    for element, to in owners[1].items():
        start = owners[0][element]
        counts[0 if start[:2] == to[:2] else 1 if start[0] == to[0] else 2] += 1
    (moved,) = [one for one in " ".join(lines).split("of ") if " get their element from " in one]
    said_so = {
        where: int(count)
        for count, where in re.findall(
            r"(\d+) (?:get their element )?from (another subgroup|another lane|their own)", moved
        )
    }
    assert [said_so.get(where, 0) for where in ("their own", "another lane", "another subgroup")] == counts


@pytest.mark.parametrize(("source", "destination", "target"), MEMORY)
def test_all_banks_are_drawn(source: str, destination: str, target: str | None) -> None:
    picture = la.convert(source, destination, slm_limit=2**16, target=target).picture()
    banks = {
        int(found[1]) for found in (re.match(r"byte \d+, bank (\d+)", one) for one in said(picture.svg())) if found
    }
    assert banks == {*range(32)}


@pytest.mark.parametrize(("source", "destination", "bits"), [PAIRS[0], PAIRS[5]])
def test_a_word_is_said_to_travel_on_where_a_later_shuffle_reads_it(source: str, destination: str, bits: int) -> None:
    picture = la.convert(source, destination, element_bits=bits, slm_limit=0).picture()
    on: set[tuple[int, int]] = set()  # shuffle, lane between
    for title in said(picture.svg()):
        route = re.findall(r"by shuffle (\d+) from lane (\d+)", title)
        on |= {(int(one[0]), int(then[1])) for one, then in itertools.pairwise(route)}
    drawn: set[tuple[int, int]] = set()
    for step in picture.steps(one_by_one=True):
        if re.fullmatch(r"shuffle \d+", step.name):
            shown = step.panels[1]
            signs = [(one.x, one.y) for one in shown.words if one.over and one.text.endswith(">")]
            drawn |= {
                (int(step.name.split()[1]), int(re.findall(r"lane (\d+) reads", cell.sentence)[0]))
                for cell in shown.cells
                if any(cell.x < x < cell.x + cell.width and cell.y < y < cell.y + cell.height for x, y in signs)
            }
    assert drawn == on
