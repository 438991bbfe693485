"""CuTe itself says what its layouts are: NVIDIA's pycute (in the wheel nvidia-cutlass) and Meta's tensor-layouts evaluate
the texts that we export, coordinate by coordinate.
"""

from __future__ import annotations

import random
import warnings
from itertools import product
from typing import Any

import pytest

from layoutalg.core import CompositionError, ConversionError, Layout, Swizzle, swizzled
from layoutalg.cute import CuteLayout, from_cute, parse_cute, to_cute
from tests.oracle.toolchains import require_module
from tests.random_layouts import element_at, machine_layout, memory_layout


@pytest.fixture(params=["pycute", "tensor_layouts"])
def library(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return require_module(request.param)


def theirs(library: Any, cute: CuteLayout) -> Any:
    """The library's own layout, from the text that we print."""
    shape, stride = (read_tuple(part) for part in str(cute).split(":"))
    return library.Layout(shape, stride)


def read_tuple(text: str) -> Any:
    """Nested parentheses and numbers, read on their own."""
    stack: list[list[Any]] = [[]]
    number = ""
    for letter in text:
        if letter.isdigit():
            number += letter
            continue
        if number:
            stack[-1].append(int(number))
            number = ""
        if letter == "(":
            stack.append([])
        elif letter == ")":
            last = tuple(stack.pop())
            stack[-1].append(last)
    if number:
        stack[-1].append(int(number))
    return stack[0][0]


def test_memory_layouts_have_the_same_index_everywhere(library: Any) -> None:
    rng = random.Random(1)
    for _ in range(200):
        layout = memory_layout(rng)
        cute = to_cute(layout)
        other = theirs(library, cute)
        column = layout.codomain.index("addr")
        for i, element in enumerate(product(*map(range, reversed(layout.shape)))):
            coordinate = element[::-1]
            address = layout.owners(coordinate)[0][column]
            assert other(i) == cute(i) == address
            if layout.rank > 1:
                assert other(*coordinate) == address
        assert library.size(other) == cute.size
        assert library.cosize(other) == cute.cosize


def test_thread_value_layouts_have_the_same_index_everywhere(library: Any) -> None:
    rng = random.Random(2)
    for _ in range(200):
        layout = machine_layout(rng, most=200, ranks=(1, 3))
        cute = to_cute(layout)
        other = theirs(library, cute)
        sg, lane, reg = (layout.axes.get(axis, 1) for axis in ("sg", "lane", "reg"))
        for s, t, v in product(range(sg), range(lane), range(reg)):
            assert (s, t, v) in layout.owners(element_at(other(t + lane * s, v), layout.shape))


def test_random_nested_layouts_and_coordinates_mean_the_same(library: Any) -> None:
    rng = random.Random(3)

    def form(depth: int) -> tuple[Any, Any]:
        if depth == 0 or rng.random() < 0.4:
            return rng.randint(1, 4), rng.choice((0, 1, 2, 3, 8, 32))
        parts = [form(depth - 1) for _ in range(rng.randint(1, 3))]
        return tuple(p[0] for p in parts), tuple(p[1] for p in parts)

    def coordinate(shape: Any) -> Any:
        if isinstance(shape, int):
            return rng.randrange(shape)
        return tuple(coordinate(part) for part in shape)

    for _ in range(300):
        parts = [form(2) for _ in range(rng.randint(2, 3))]
        cute = CuteLayout(tuple(p[0] for p in parts), tuple(p[1] for p in parts))
        other = theirs(library, cute)
        assert [other(i) for i in range(min(cute.size, 300))] == [cute(i) for i in range(min(cute.size, 300))]
        for _ in range(5):
            at = coordinate(cute.shape)
            assert other(*at) == cute(*at)
        assert parse_cute(str(cute)) == cute


def binary_memory(rng: random.Random) -> Layout:
    """Rows or columns of powers of two."""
    rows, columns = 1 << rng.randint(1, 4), 1 << rng.randint(1, 4)
    order = rng.choice(((columns, 1), (1, rows), (2 * columns, 1)))
    return Layout([[(rows, order[0], "addr")], [(columns, order[1], "addr")]])


def test_swizzled_layouts_have_the_same_index() -> None:
    pycute = require_module("pycute")
    swizzles = require_module("pycute.swizzle")
    rng = random.Random(4)
    there_and_back = 0
    for _ in range(200):
        bits = rng.randint(1, 3)
        base, shift = rng.randint(0, 2), bits + rng.randint(0, 2)
        layout = memory_layout(rng) if rng.random() < 0.5 else binary_memory(rng)
        plain = to_cute(layout)
        cute = CuteLayout(plain.shape, plain.stride, (bits, base, shift))
        other = swizzles.ComposedLayout(
            swizzles.Swizzle(bits, base, shift), 0, pycute.Layout(plain.shape, plain.stride)
        )
        indices = [other(i) for i in range(cute.size)]
        assert [cute(i) for i in range(cute.size)] == indices
        assert cute.addresses().reshape(-1, order="F").tolist() == indices
        try:
            tile = swizzled(layout, Swizzle(bits, base, shift))
        except CompositionError:
            with pytest.raises(ConversionError, match="has no factors"):
                from_cute(cute)
            continue
        assert from_cute(cute) == tile
        assert tile.owner_map("addr").reshape(-1, order="F").tolist() == indices
        again = to_cute(tile)
        assert [again(i) for i in range(cute.size)] == indices
        there_and_back += again.swizzle is not None
    assert there_and_back > 20
    negative = CuteLayout((8, 8), (8, 1), swizzle=(2, 1, -3))
    other = swizzles.ComposedLayout(swizzles.Swizzle(2, 1, -3), 0, pycute.Layout((8, 8), (8, 1)))
    assert [negative(i) for i in range(64)] == [other(i) for i in range(64)]
