"""A picture read as a person reads it: from the texts of its SVG alone, by where they stand.

A cell's row and column are the nearest numbers beside and above it; dots and `+n×k` between numbers say what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from xml.etree import ElementTree

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
DOTS, MORE = "⋯", "…"
SIGN = re.compile(r"⋯|⋮|\+(\d+)×(\d+)")


@dataclass(frozen=True)
class ReadGrid:
    """What stands beside a grid, above it, and in its cells: `labels[row, column]` and `fills`."""

    rows: list[str]
    columns: list[str]
    labels: list[list[str]]
    fills: list[list[str]]


def texts(svg: str) -> list[tuple[float, float, str, str]]:
    """Every text of a picture: x, y, anchor, words."""
    found: list[tuple[float, float, str, str]] = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        for one in group.findall(f"{SVG}text"):
            anchor = "label" if group.get("class") == "labels" else one.get("text-anchor", "start")
            found.append((float(one.get("x", "")), float(one.get("y", "")), anchor, one.text or ""))
    return found


def read_grids(svg: str, counts: Sequence[int]) -> Iterator[ReadGrid]:
    """The grids of a picture that has so many cells in each."""
    words = texts(svg)
    labels = iter([(x, y, text) for x, y, anchor, text in words if anchor == "label"])
    group = next(g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "cells")
    rects = iter([(rect.get("fill", ""), float(rect.get("width", ""))) for rect in group])
    for count in counts:
        drawn = [*islice(labels, count)]
        painted = [*islice(rects, count)]
        yield _grid(words, drawn, [fill for fill, _ in painted], painted[0][1])
    assert next(labels, None) is None
    assert next(rects, None) is None


def _grid(words: list[tuple[float, float, str, str]], drawn: list[Any], fills: list[str], width: float) -> ReadGrid:
    lowest, highest = min(x for x, _, _ in drawn), max(x for x, _, _ in drawn)
    above = [(x, y, text) for x, y, anchor, text in words if anchor == "middle" and text != "⋮"]
    beside = [(x, y, text) for x, y, anchor, text in words if anchor == "end" and x < lowest]
    near = max(x for x, _, _ in beside) if beside else 0.0
    cells: dict[tuple[Any, Any], tuple[str, str]] = {}
    for (x, y, label), fill in zip(drawn, fills, strict=True):
        column = max(((at, text) for there, at, text in above if there == x and at < y), default=(0.0, ""))
        row = next((text for there, at, text in beside if there == near and at == y - 0.5), "")
        place = (row, (column[0], x, column[1]))
        assert place not in cells, "one cell for each row and column"
        cells[place] = (label, fill)
    heads = sorted({column[0] for _, column in cells})
    signs = [
        (y, x, text)
        for x, y, text in above
        if y in heads and SIGN.fullmatch(text) and lowest - width / 2 < x < highest + width / 2 + 40
    ]
    columns = sorted([*{column for _, column in cells}, *signs])
    tops = [y for _, y, _ in drawn]
    end = min((head for head in heads if head > min(tops)), default=float("inf"))
    rows = [
        (y, text)
        for x, y, text in beside
        if x == near and min(tops) - 1 <= y < min(end, max(tops) + 1) and text[-1:] not in "↓"
    ] or [(0.0, "")]
    named = [text for _, text in sorted(rows)]
    numbers = [column for column in columns if not SIGN.fullmatch(column[2])]
    shown = [[cells[row, column] for column in numbers] for row in named if not SIGN.fullmatch(row)]
    assert sum(map(len, shown)) == len(drawn), "every cell has its numbers"
    return ReadGrid(
        named,
        [text for _, _, text in columns],
        [[label for label, _ in row] for row in shown],
        [[fill for _, fill in row] for row in shown],
    )


def numbers_of(label: str) -> list[list[int] | int]:
    """The numbers of each part of a label; one number where the label leaves further ones out."""
    return [_numbers(part) for part in re.split(r"[/:]", label)]


def _numbers(text: str) -> list[int] | int:
    if text.endswith(MORE):
        return int(text[:-1])
    if DOTS in text:
        first, second, last = map(int, re.split(f"[,{DOTS}]", text))
        return [*range(first, last + 1, second - first)]
    between = re.fullmatch(r"(\d+)-(\d+)", text)
    return [*range(int(between[1]), int(between[2]) + 1)] if between else [int(one) for one in text.split(",")]


def places_of(
    tokens: Sequence[str], shape: Sequence[int], origins: Sequence[int]
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """The index of each number along a side, and the gaps: where each starts, how many blocks it has, and how long they are."""
    wide = [d for d, n in enumerate(shape) if n > 1] or [*range(len(shape))][-1:]
    known: list[int] = []
    gaps: list[tuple[int, int, int]] = []
    for token in tokens:
        sign = SIGN.fullmatch(token)
        if sign is None:
            full = [0] * len(shape)
            for d, number in zip(wide, re.split("[,/]", token) if token else (), strict=True):
                full[d] = int(number) - origins[d]
            known.append(int(np.ravel_multi_index(full, tuple(shape))) if shape else 0)
            if gaps and gaps[-1][1] < 0:
                start, _, _ = gaps[-1]
                gaps[-1] = (start, known[-1] - start, 1)
        elif sign[1]:
            gaps.append((known[-1] + 1, int(sign[1]), int(sign[2])))
        else:
            gaps.append((known[-1] + 1, -1, 1))
    return known, gaps


def filled_in(values: np.ndarray, known: Sequence[int], gaps: Sequence[tuple[int, int, int]], size: int) -> np.ndarray:
    """The values at every index of a side, as a reader fills in what the signs leave out."""
    found = np.zeros((size, *values.shape[1:]), np.int64)
    there = np.zeros(size, bool)
    found[[*known]], there[[*known]] = values, True
    for start, blocks, period in sorted(gaps, key=lambda gap: gap[2]):
        before, behind = np.arange(start - period, start), start + blocks * period + np.arange(period)
        assert there[before].all()
        assert there[behind].all()
        steps, rest = np.divmod(found[behind] - found[before], blocks + 1)
        assert not rest.any(), "an even step from the block before to the block behind"
        for block in range(blocks):
            here = start + block * period + np.arange(period)
            assert not there[here].any()
            found[here], there[here] = found[before] + steps * (block + 1), True
    assert there.all()
    return found


def smallest_text(svg: str, width: int) -> float:
    """How high the smallest text is in a picture that is shrunk to a width, in pixels."""
    root = ElementTree.fromstring(svg)
    sizes = [float(one.get("font-size", "inf")) for one in root.iter()]
    return min(sizes) * min(width / float(root.get("width", "")), 1)
