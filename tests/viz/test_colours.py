"""What colours mean is told apart by all readers: by how far they are apart, or by words; and words can be read on them.

Distances are measured in OKLab as common sight and three dichromacies see the colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import layoutalg as la
from layoutalg.compare.difference import KINDS
from layoutalg.memory import bank_picture
from layoutalg.show.cute_algebra import describe_expression
from layoutalg.viz.colours import DARK_PALE, FAR, HUES, LEGEND, NEAR, PALE, PALE_INK, channels, ink, ramp, shade
from layoutalg.viz.panels import DARK, MARKED
from layoutalg.viz.svg import DARK_INK, DARK_PAPER
from tests.viz.test_pictures import PAGE, said


def contrast(colours: list[str], others: list[str]) -> np.ndarray:
    """The contrast of each colour with its other one, by WCAG 2.1."""

    def luminance(colours: list[str]) -> np.ndarray:
        c = np.array([channels(colour) for colour in colours]) / 255
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ np.array([0.2126, 0.7152, 0.0722])

    a, b = luminance(colours), luminance(others)
    return (np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05)


def test_text_on_every_colour_can_be_read() -> None:
    steps = [i / 100 for i in range(101)]
    scales = [[shade(hue, step) for step in steps] for hue in range(len(HUES))]
    for colours in [[*map(ramp, steps)], *scales, [PALE, DARK, MARKED]]:
        assert contrast(colours, [*map(ink, colours)]).min() >= 4.5
    assert contrast([DARK_PALE, DARK_PAPER], [DARK_INK, DARK_INK]).min() >= 4.5


def test_pale_cells_are_dark_on_a_dark_page_and_their_text_is_light() -> None:
    """They keep apart from paper and from all that is not pale; nothing else has the ink by which their text is known."""
    picture = la.same("d0 = 4@lane", "d0 = 2@lane 2@reg").picture()
    svg = picture.svg()
    assert f':is(rect,path)[fill="{PALE}"]{{fill:{DARK_PALE}}}' in svg
    assert f'.labels [fill="{PALE_INK}"]{{fill:{DARK_INK}}}' in svg
    root = ElementTree.fromstring(svg)
    groups = {one.get("class"): one for one in root.iter("{http://www.w3.org/2000/svg}g")}
    pale = [one for one in groups["cells"] if one.get("fill") == PALE]
    assert len(pale) == len([one for one in groups["labels"] if one.get("fill") == PALE_INK]) == 1
    for kind in SIGHTS:
        assert (
            apart([DARK_PALE], [DARK_PAPER, DARK, MARKED, *(colour for _, colour in picture.key()[1:])], kind).min()
            >= NEAR
        )


# What dichromats see: Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
DICHROMATS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


CONES = [[0.4122215, 0.5363325, 0.0514460], [0.2119035, 0.6806995, 0.1073970], [0.0883025, 0.2817188, 0.6299787]]
LAB = [[0.2104543, 0.7936178, -0.0040720], [1.9779985, -2.4285922, 0.4505937], [0.0259040, 0.7827718, -0.8086758]]


def oklab(colours: list[str], seen: list[list[float]]) -> np.ndarray:
    """Colours as they are seen, in OKLab (Ottosson, 2020)."""
    light = np.array([channels(colour) for colour in colours]) / 255
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    return np.cbrt(np.clip(linear @ np.array(seen).T, 0, 1) @ np.array(CONES).T) @ np.array(LAB).T


SIGHTS = {"common sight": [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]} | DICHROMATS


def apart(colours: list[str], others: list[str], kind: str) -> np.ndarray:
    """How far each colour is from each other one for a reader."""
    one, two = (oklab(some, SIGHTS[kind]) for some in (colours, others))
    return np.linalg.norm(one[:, None] - two[None], axis=-1)


@pytest.mark.parametrize("kind", SIGHTS)
def test_hues_differ_for_all_readers_at_any_two_strengths(kind: str) -> None:
    """By the distances that `colours` states; also from the paper of a light and of a dark page."""
    hues, strengths = range(len(HUES)), [step / 20 for step in range(21)]
    shades = [[shade(hue, strength) for strength in strengths] for hue in hues]
    legend = [shade(hue, LEGEND) for hue in hues]
    assert (apart(legend, legend, kind) + np.eye(len(HUES))).min() >= FAR
    for hue, other in combinations(hues, 2):
        assert apart(shades[hue], shades[other], kind).min() >= NEAR, (hue, other)
    for hue in hues:
        assert apart(shades[hue], ["#ffffff", DARK_PAPER], kind).min() >= NEAR, hue
        assert apart(shades[hue][:1], shades[hue][-1:], kind).min() >= NEAR, hue


@pytest.mark.parametrize("kind", SIGHTS)
def test_the_ramp_stays_apart_from_paper_and_keeps_its_order_for_all_readers(kind: str) -> None:
    steps = [*map(ramp, np.linspace(0, 1, 101))]
    assert apart(steps, ["#ffffff", DARK_PAPER], kind).min() >= NEAR
    assert (np.diff(oklab(steps, SIGHTS[kind])[:, 0]) > 0).all()


COLOURED: dict[str, Any] = {
    "tile": (PAGE, (32, 64)),
    "32 subgroups": (PAGE.replace("[2, 4]", "[8, 4]"), (128, 64)),
    "4096x4096": (PAGE.replace("[2, 4]", "[8, 8]").replace("[16, 16]", "[512, 512]"), (4096, 4096)),
    "slice": (f"#xegpu.slice<{PAGE}, dims = [0]>", (64,)),
    "one subgroup": ("#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>", (8, 32)),
    "MFMA": ("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>", None),
    "mma": ("mma.m16n8k16.f32.f16.f16.f32", None),
    "swizzle": ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", (16, 64)),
}


@pytest.mark.parametrize("direction", ["tensor", "hardware"])
@pytest.mark.parametrize("name", COLOURED)
def test_what_colours_mean_is_told_apart_by_colour_or_by_what_is_written(name: str, direction: str) -> None:
    """All pairs of one picture: the colours of two meanings are `NEAR` apart for all readers, or the words for them differ.

    The words are those that a cell's label has for it (of memory, the address); in the hardware's picture, those over its
    column or beside its row.
    """
    text, shape = COLOURED[name]
    picture = la.picture(text, shape, direction=direction)
    for by in ("subgroup", "lane", "register", "bank"):
        if by not in picture.colourings:
            continue
        scene = picture.scene(colour=by)
        above = [(one.y, round(one.x), one.text) for one in scene.words if one.anchor == "middle"]
        down = {round(one.y - 3.5 - 10): one.text for one in scene.words if one.anchor == "end"}
        meant: dict[tuple[Any, str], set[str]] = {}
        (*blocks, inside), titles = scene.frames, [one.text for one in scene.words if one.bold]
        count = sum(grid.grid.shape[0] * grid.grid.shape[1] for grid in blocks) if inside.grid.shows else 0
        for cell in scene.cells[:count]:  # of a colour that means nothing else, or of their subgroup's
            whose = re.search(r"subgroup ([\d,]+)$", cell.sentence)[1] if by == "subgroup" else "blocks"  # type: ignore[index]
            meant.setdefault((int(whose.split(",")[0]) if by == "subgroup" else whose, cell.fill), set()).add(
                cell.label
            )
            assert by != "subgroup" or cell.label == f"sg {whose}"
        for cell in scene.cells[count:]:
            _, owner, _ = said(cell.sentence)
            what = owner["addr"] % 32 if by == "bank" else owner[by]
            who, _, register = cell.label.partition(":")
            group, _, lane = who.rpartition("/")
            if count:
                (group,) = re.findall(r"Inside the block of (sg \d+)", " ".join(titles))
            words = {"subgroup": group, "lane": lane, "register": register, "bank": cell.label}[by]
            if direction == "hardware":
                middle = round(cell.x + cell.width / 2)
                over = [(y, one) for y, x, one in above if x == middle and y < cell.y]
                words = down[round(cell.y)] if by == "register" else max(over, default=(0, ""))[1]
            meant.setdefault((what, cell.fill), set()).add(words)
        known = [*meant]
        fills = [fill for _, fill in known]
        near = np.min([apart(fills, fills, kind) for kind in SIGHTS], axis=0) < NEAR
        for i, j in np.argwhere(np.triu(near, 1)):
            assert known[i][0] == known[j][0] or not meant[known[i]] & meant[known[j]], (by, known[i], known[j])
            assert known[i][0] == known[j][0] or "" not in meant[known[i]] | meant[known[j]], (by, known[i], known[j])


KEYED: dict[str, Callable[[], Any]] = {
    "AMX plan": lambda: la.plan_amx(512, 512, 512, blocking=(2, 2)).picture(),
    "GEMM plan": lambda: la.plan_gemm(2048, 1024, 512).picture(),
    "attention plan": lambda: la.plan_attention(1024, 1024, 64).picture(),
    "banks": lambda: bank_picture("d0 = 32@lane, d1 = 32@reg", memory="(32,32):(32,1)"),
    "algebra": lambda: describe_expression("zipped_divide((8,6):(1,8), (2,3))").picture(),
}


@pytest.mark.parametrize("name", KEYED)
def test_the_colours_of_a_legend_differ_for_all_readers(name: str) -> None:
    scene = KEYED[name]().scene()
    fills = [
        *{one.fill for one in scene.legends[0].swatches} | {one.fill for one in scene.cells if one.label[:4] == "load"}
    ]
    assert len(fills) > 2
    assert min((apart(fills, fills, kind) + np.eye(len(fills))).min() for kind in SIGHTS) >= NEAR


def test_the_kinds_of_a_difference_differ_for_all_readers() -> None:
    some = [
        la.same("d0 = 4@reg, d1 = 4@lane | replicas 2@lane:4", "d0 = 3@reg, d1 = 6@lane"),
        la.same("d0 = 4@lane", "d0 = 2@lane 2@reg"),
        la.same("d0 = 8@lane", "d0 = 8@lane | replicas 3@lane:8 2@sg"),
    ]
    kinds = {kind.partition(":")[0]: colour for one in some for kind, colour in one.picture().key()}
    assert kinds.keys() == {*KINDS}
    fills = [*kinds.values()]
    assert min((apart(fills, fills, kind) + np.eye(len(fills))).min() for kind in SIGHTS) >= NEAR


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("d0 = 16@lane, d1 = 4@reg", "lane"),
        ("d0 = 64@lane, d1 = 4@reg", "lane"),
        ("d0 = 32@sg, d1 = 4@lane", "subgroup"),
        ("d0 = 4@sg, d1 = 4@lane", "subgroup"),
    ],
)
def test_a_legend_has_only_numbers_that_are_drawn_and_says_that_hues_come_again(text: str, by: str) -> None:
    scene = la.picture(text).scene(colour=by)
    drawn = {cell.fill for cell in scene.cells}
    (legend,) = [one for one in scene.legends if one.by == by]
    assert legend.swatches
    if by == "lane":
        assert {one.fill for one in legend.swatches} <= drawn
    count = int(re.search(r"= (\d+)@", text)[1])  # type: ignore[index]
    letter = 0.602  # of DejaVu Sans Mono, by its size
    assert all(words.x + letter * words.size * len(words.text) <= scene.width for words in legend.words)
    again = {"lane": "every 8 lanes a tone stronger", "subgroup": f"8 hues for {count} subgroups, so hues repeat"}[by]
    assert any(words.text.startswith(again) for words in legend.words) == (count > 8)
