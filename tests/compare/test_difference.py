"""The picture of a difference, cell by cell, against the owners that each layout lists for each element."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import layoutalg as la
from layoutalg.compare.difference import difference_of
from layoutalg.core.notation import Machine
from layoutalg.nested import NestedLayoutAttr
from layoutalg.viz.panels import NARROW
from layoutalg.viz.shapes import Scene
from tests.cli.printed import Capture, out

P = la.Layout.parse
WG = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
OTHER = WG.replace("[2, 4]", "[4, 2]").replace("[16, 16]", "[8, 32]")
PAIRS: dict[str, tuple[Any, Any]] = {
    "equal": (P("d0 = 4@lane"), P("d0 = 4@lane")),
    "one dimension": (P("d0 = 4@lane"), P("d0 = 2@lane 2@reg")),
    "transposed": (P("d0 = 16@reg, d1 = 16@lane"), P("d0 = 16@lane, d1 = 16@reg")),
    "copies": (P("d0 = 8@lane, d1 = 8@reg | replicas 2@lane:8"), P("d0 = 8@lane, d1 = 8@reg")),
    "more copies": (P("d0 = 8@lane"), P("d0 = 8@lane | replicas 3@lane:8 2@sg")),
    "other copies": (P("d0 = 2@lane | replicas 2@lane:2"), P("d0 = 2@lane | replicas 2@lane:4")),
    "other shape": (P("d0 = 4@reg, d1 = 4@lane"), P("d0 = 3@reg, d1 = 6@lane")),
    "offset": (P("d0 = 4@lane | offset 7@lane"), P("d0 = 4@lane")),
    "memory": (P("d0 = 4@addr:8, d1 = 8@addr"), P("d0 = 4@addr, d1 = 8@addr:4")),
    "swizzle": (P("d0 = 8@addr:8, d1 = 8@addr"), la.swizzled(P("d0 = 8@addr:8, d1 = 8@addr"), la.Swizzle(3, 0, 3))),
    "three dimensions": (P("d0 = 2@sg, d1 = 3@reg, d2 = 5@lane"), P("d0 = 2@sg, d1 = 3@lane, d2 = 5@reg")),
    "workgroup": (la.parse(WG).layout((32, 64)), la.parse(OTHER).layout((32, 64))),
    "rank 0": (la.Layout([]), la.Layout([], [la.Factor(2, 1, "lane")])),
}  # fmt: skip
SENTENCE = re.compile(r"element \(([-\d, ]*)\): (.*) in the first; (.*) in the second")


def brute(one: la.Layout, other: la.Layout) -> dict[tuple[int, ...], tuple[str, set[Any], set[Any]]]:
    """What becomes of each element, from the owners that each layout lists."""
    axes = sorted({*one.codomain, *other.codomain})
    found: dict[tuple[int, ...], tuple[str, set[Any], set[Any]]] = {}
    for element in product(*(range(max(pair)) for pair in zip(one.shape, other.shape, strict=True))):
        sides: list[set[Any]] = []
        for layout in (one, other):
            there = all(x < n for x, n in zip(element, layout.shape, strict=True))
            owners = layout.owners(element) if there else []
            placed = [dict(zip(layout.codomain, owner, strict=True)) for owner in owners]
            sides.append({tuple(at.get(axis, 0) for axis in axes) for at in placed})
        first, second = sides
        kind = "same" if first == second else "moved"
        if not first or not second:
            kind = "only in the first" if first else "only in the second" if second else "in neither"
        elif first != second and second < first:
            kind = "fewer copies"
        elif first != second and first < second:
            kind = "more copies"
        found[element] = kind, first, second
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_every_cell_says_where_its_element_is_in_each(name: str) -> None:
    one, other = PAIRS[name]
    wanted = brute(one, other)
    answer = la.same(one, other)
    picture = answer.picture()
    assert bool(answer) == (set(picture.difference.counts) == {"same"})
    assert picture.difference.counts == Counter(kind for kind, _, _ in wanted.values())
    scene = picture.scene()
    (legend,) = scene.legends
    fills = {words.text.split(":")[0]: swatch.fill for words, swatch in zip(legend.words, legend.swatches, strict=True)}
    assert len(set(fills.values())) == len(fills)
    seen = 0
    texts = [(words.x, words.y, words.text) for words in scene.words]
    for cell in scene.cells:
        found = SENTENCE.fullmatch(cell.sentence)
        if found is None:
            continue
        element = tuple(int(x) for x in found[1].replace(",", " ").split())
        kind, first, second = wanted[element]
        assert cell.fill == fills[kind], cell.sentence
        for told, owners in ((found[2], first), (found[3], second)):
            assert (told == "nowhere") == (not owners)
            if len(owners) == 1:
                assert sorted(int(x) for x in re.findall(r"-?\d+", told)) == sorted(
                    x for x, axis in zip(next(iter(owners)), sorted({*one.codomain, *other.codomain}), strict=True)
                    if axis in picture.difference.axes
                )  # fmt: skip
        inside = [
            text for x, y, text in texts if cell.x < x < cell.x + cell.width and cell.y < y < cell.y + cell.height
        ]
        label = [cell.label] if cell.label else inside
        assert len(label) == (1 if kind in ("same", "in neither") else 2), cell.sentence
        seen += 1
    assert seen == min(len(wanted), seen)
    assert seen == len(wanted) or any("elements (" in cell.sentence for cell in scene.cells)


def test_a_map_counts_every_element_once() -> None:
    one, other = (la.parse(text).layout((64, 256)) for text in (WG, WG.replace("[2, 4]", "[4, 2]")))
    picture = la.same(one, other).picture()
    wanted = brute(one, other)
    covered = 0
    for cell in picture.scene().cells:
        found = re.fullmatch(r"elements \((\d+), (\d+)\) to \((\d+), (\d+)\): (.*)", cell.sentence)
        if found is None:
            continue
        top, left, bottom, right = map(int, found.groups()[:4])
        inside = [wanted[at][0] for at in product(range(top, bottom + 1), range(left, right + 1))]
        assert dict(Counter(inside)) == {
            kind: int(n) for n, _, kind in (one.partition(" ") for one in found[5].split(", "))
        }
        covered += len(inside)
    assert covered == 64 * 256


def test_threads_that_leave_elements_to_nobody_are_drawn_so() -> None:
    half = NestedLayoutAttr((1,), (1,), (1,), (2,), (2,), (0,), (0,))
    found = la.same(half, "d0 = 2@lane 2@reg", (4,), machine=Machine(lanes=2)).picture()
    assert found.difference.counts.keys() & {"only in the second"}


def test_addresses_of_memory_are_drawn() -> None:
    found = la.same("Sw<2,0,2> o 0 o (4,4):(4,1)", "(4,4):(4,1)").picture()
    moved = sum(at ^ (at >> 2 & 3) != at for at in range(16))
    assert found.difference.counts["moved"] == moved


def letters(scene: Scene) -> float:
    """The height of the smallest letters on a phone 400 pixels wide."""
    sizes = [words.size for words in (*scene.words, *(w for legend in scene.legends for w in legend.words))]
    return min([11, *sizes]) * min(400 / scene.width, 1)


@pytest.mark.parametrize("name", PAIRS)
def test_it_can_be_read_on_a_phone_and_is_xml(name: str) -> None:
    picture = la.same(*PAIRS[name]).picture(title="<script>")
    scene = picture.scene()
    assert scene.width <= NARROW + 12
    assert letters(scene) >= 7
    ElementTree.fromstring(picture.svg())
    assert "<script>" not in picture.svg()


def test_a_start_chooses_the_window_and_a_wrong_one_is_refused() -> None:
    answer = la.same(P("d0 = 64@reg, d1 = 64@lane"), P("d0 = 64@lane, d1 = 64@reg"))
    drawn = [cell.sentence for cell in answer.picture(start=(50, 40)).scene().cells]
    assert any(sentence.startswith("element (50, 40):") for sentence in drawn)
    for start in ((1,), (0, 64), (-1, 0), "ab", (0.5, 1)):
        with pytest.raises(la.LayoutError):
            answer.picture(start=start).scene()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("a", "b"),
    [("d0 = 4096@reg, d1 = 4096@lane", "d0 = 4096@lane, d1 = 4096@reg"), ("d0 = 4@lane", "d0 = 2@lane, d1 = 2@reg")],
)
def test_what_is_too_large_or_of_another_rank_has_no_picture_and_a_text(a: str, b: str) -> None:
    answer = la.same(a, b)
    with pytest.raises(la.LayoutError):
        answer.picture()
    assert "<img" not in answer._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_many_copies_are_bounded_and_named_shortly() -> None:
    found = la.same("d0 = 2@reg | replicas 4096@lane", "d0 = 2@reg")
    assert all(len(cell.sentence) < 300 for cell in found.picture().scene().cells)
    with pytest.raises(la.SizeError):
        la.same("d0 = 1024@reg | replicas 4096@lane", "d0 = 1024@reg").picture()
    with pytest.raises(la.SizeError):
        la.same("d0 = 4096@reg, d1 = 1@lane", "d0 = 1@reg, d1 = 4096@lane").picture()


def test_ranks_that_differ_have_no_difference() -> None:
    with pytest.raises(la.ConversionError, match="equal ranks"):
        difference_of(P("d0 = 2@lane"), P("d0 = 2@lane, d1 = 2@reg"))


def test_the_command_line_draws_it_and_keeps_its_exit_code(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "diff.svg"
    printed = out(capsys, "same", "d0 = 4@lane", "d0 = 2@lane 2@reg", "-o", str(target), code=1)
    assert "same: 1, moved: 3" in printed
    assert "<svg" in target.read_text(encoding="utf-8")
