"""What a picture says of XORs, of the outlined lane and of banks, against the owners of random layouts, one by one.

Extents are powers of two and others, dimensions start at 0 and elsewhere, elements share registers and have copies, bits are
XORed and flipped, and addresses begin at an offset, also below 0.
"""

from __future__ import annotations

import random
import re
from itertools import product
from typing import Any

import pytest

import layoutalg as la
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Operand
from layoutalg.viz.picture import Picture
from tests.viz.test_every_cell import cost

AXES = {"lane": "lane", "register": "reg", "subgroup": "sg", "address": "addr"}


def random_layout(rng: random.Random, axes: list[str]) -> Layout:
    """Some factors along the axes, in random dimensions; half of the time their bits are XORed onto later ones."""
    rng.shuffle(axes)
    dims: list[list[tuple[int, str, int]]] = [[] for _ in range(rng.choice([1, 2, 2, 3]))]
    reach: dict[str, int] = {}
    tail = ""
    for axis in axes:
        extent, stride = rng.choice([2, 2, 2, 4, 4, 3, 5]), reach.get(axis, 1)
        reach[axis] = stride * extent
        if axis != "addr" and not tail and rng.random() < 0.1:
            tail = f" | replicas {extent}@{axis}:{stride}"
        else:
            dims[rng.randrange(len(dims))].append((extent, "_" if rng.random() < 0.1 else axis, stride))
    xored = rng.random() < 0.6
    bits = [
        (axis, stride << i)
        for row in dims
        for extent, axis, stride in row
        if extent in (2, 4) and axis != "_"
        for i in range(extent // 2)
    ]

    def written(extent: int, axis: str, stride: int) -> str:
        if axis == "_" or not xored or extent not in (2, 4):
            return f"{extent}@{axis}" + f":{stride}" * (axis != "_")
        found = ""
        for i in reversed(range(extent // 2)):
            at = bits.index((axis, stride << i))
            places = [bits[at], *(one for one in bits[at + 1 :] if rng.random() < 0.3)]
            found += f" 2@({'^'.join(f'{to}:{weight}' for to, weight in places)})"
        return found

    text = ", ".join(f"d{d} = {' '.join(written(*one) for one in row) or '1@_'}" for d, row in enumerate(dims)) + tail
    if rng.random() < 0.3:
        text += f" | offset {rng.choice([1, 3, 32] + [-5, -64] * (axes[0] == 'addr'))}@{axes[0]}"
    if xored and bits and rng.random() < 0.3:
        text += f" | flip ({':'.join(map(str, rng.choice(bits)))})"
    found = Layout.parse(text)
    origins = [rng.choice([0, 0, 0, 1, 8]) for _ in dims]
    return Layout(found.dims, found.replicas, found.offsets, names=found.names, origins=origins, flips=found.flips)


def owned(layout: Layout) -> dict[tuple[int, ...], list[dict[str, int]]]:
    """Every place of every element, by its axes, the lowest first."""
    elements = product(*(range(start, start + n) for start, n in zip(layout.origins, layout.shape, strict=True)))
    return {
        one: [dict(zip(layout.codomain, place, strict=True)) for place in sorted(layout.owners(one))]
        for one in elements
    }


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"-?\d+", text)))


def picked(number: int, words: str) -> int:
    """The bits of a number, or its digit of a weight, that words name."""
    if (weight := re.fullmatch(r"digit of weight (\d+)", words)) is not None:
        return number // int(weight[1]) % 2
    low, *high = numbers(words.replace("-", " "))
    return number >> low & (2 << (high or [low])[0] - low) - 1


def from_zero(text: str, values: dict[str, int]) -> int:
    """The value of `lane` or of `(lane - 3)`."""
    name, *more = text.strip("()").split()
    return values[name] + int("".join(more) or 0)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_said_of_xors_is_true_of_every_element(seed: int) -> None:
    rng = random.Random(seed)
    layout = random_layout(
        rng, rng.choice([["addr"] * 6, ["lane", "lane", "reg", "reg", "sg"], ["lane", "lane", "lane", "reg"]])
    )
    picture = layout.picture()
    _, said, _ = picture._explained([grid for grid, *_ in picture.grids()])  # pyright: ignore[reportPrivateUsage]
    every = {element: places[0] for element, places in owned(layout).items()}
    for sentence in said:
        met = re.fullmatch(r"(\w+|\(.*?\)) (bits? \S+|digit of weight \d+) (?:is|are) (.*?)(, flipped)?", sentence)
        worked = re.fullmatch(r"element \(([\d, ]+)\): (.*) = (\w+) (\d+)", sentence)
        if met:
            for element, place in every.items():
                values = {word: place.get(axis, 0) for word, axis in AXES.items()} | dict(
                    zip(layout.names, element, strict=True)
                )
                wanted = picked(-1, met[2]) if met[4] else 0
                for part in met[3].split(" XOR "):
                    name, bits = re.fullmatch(r"(\w+|\(.*?\)) (.*)", part).groups()  # type: ignore[union-attr]
                    wanted ^= picked(from_zero(name, values), bits)
                assert picked(from_zero(met[1], values), met[2]) == wanted, (layout, sentence, element)
        if worked:
            found = 0
            for part in worked[2].split(" XOR "):
                found ^= int(part.split()[0])
            assert found == int(worked[4]) == every[numbers(worked[1])][AXES[worked[3]]], (layout, sentence)


@pytest.mark.parametrize("seed", range(30))
def test_the_outlined_lane_holds_what_is_said(seed: int) -> None:
    rng = random.Random(seed)
    layout = random_layout(
        rng, rng.choice([["lane", "lane", "reg", "reg", "sg"], ["lane", "reg"], ["lane", "lane", "sg"]])
    )
    picture = layout.picture()
    said, _, _ = picture._explained([grid for grid, *_ in picture.grids()])  # pyright: ignore[reportPrivateUsage]
    told = next((one for one in said if one.startswith("outlined: ")), "")
    found = re.fullmatch(r"outlined: what lane (\d+)(?: of subgroup (\d+))? holds: (.*)", told)
    if found is None:
        return
    elements = [numbers(one) for one in re.findall(r"\(([\d, ]+)\)", found[3])]
    run = re.match(r"registers (\d+) to (\d+) are", found[3])
    registers = [*range(int(run[1]), int(run[2]) + 1)] if run else [*map(int, re.findall(r"register (\d+)", found[3]))]
    every = owned(layout)
    place = {"sg": int(found[2] or 0), "lane": int(found[1])}
    for register, element in zip(registers, elements, strict=True):
        assert place | {"reg": register} in [{"sg": 0, "reg": 0} | one for one in every[element]], (layout, told)
    held = [one for one, places in every.items() if any(place.items() <= ({"sg": 0} | at).items() for at in places)]
    assert len(held) == len(elements) or "each" in told or told.endswith("and so on"), (layout, told)


@pytest.mark.parametrize("seed", range(50))
def test_what_lanes_read_at_once_costs_what_is_said(seed: int) -> None:
    """Unswizzled, and in row-major order, too."""
    rng = random.Random(seed)
    bits = rng.choice([4, 16, 32, 64])
    rows, columns = rng.choice([4, 8, 32, 40]), rng.choice([8, 32, 64, 7])
    start = rng.choice(["", " | offset 33@addr", " | offset -3@addr", " | offset -64@addr"])
    plain = Layout.parse(f"d0 = {rows}@addr:{columns}, d1 = {columns}@addr{start}")
    memory = plain if columns == 7 or rows == 40 or start else la.swizzled(plain, la.Swizzle(2, rng.randrange(3), 3))
    picture = Picture((Operand("memory", memory, bits=bits),), "memory")
    said, _, (cells,) = picture._explained([grid for ((grid, *_),) in [picture.grids()]])  # pyright: ignore[reportPrivateUsage]
    line = next(i for i, one in enumerate(said) if one.startswith("outlined"))
    found = re.fullmatch(
        r"outlined: (column|row) (\d+)(?:, (?:rows|columns) 0 to (\d+))?, read by (\d+) lanes at once", said[line]
    )
    assert found
    at, count = int(found[2]), int(found[4])
    assert (
        count == min(rows if found[1] == "column" else columns, 1024 // max(bits, 32)) == int(found[3] or count - 1) + 1
    )
    elements = [(i, at) if found[1] == "column" else (at, i) for i in range(count)]
    sized: Any = bits / 8

    def priced(layout: Layout) -> str:
        """The words of the elements, two of a word of 64 bits."""
        places = [layout.owners(one)[0][0] for one in elements]
        return cost([2 * one + half for one in places for half in (0, 1)], 4) if bits == 64 else cost(places, sized)

    assert said[line + 1] == priced(memory), (memory, said)
    for sentence in said[line + 2 :]:
        name, _, told = sentence.partition(": ")
        order = {"unswizzled": plain, "row-major": Layout.parse(f"d0 = {rows}@addr:{columns}, d1 = {columns}@addr")}
        assert told == priced(order[name]), (memory, sentence)
    ((grid, *_),) = picture.grids()
    drawn = [*zip(*(plane.cells for plane in grid.element.values()), strict=True)]
    assert {drawn[cell] for cell in cells} == {*elements} & {*drawn}
