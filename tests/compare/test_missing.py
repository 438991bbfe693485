"""The first element that is needed and not held, against counting through dicts."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from layoutalg.compare import missing
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.layout import Layout

Places = dict[tuple[int, ...], set[tuple[int, int]]]


def places(layout: Layout) -> Places:
    """Which (subgroup, lane) hold each element, from `owners` one by one."""
    found: Places = {}
    rows, columns = layout.shape
    first, second = layout.origins
    for row in range(first, first + int(rows)):
        for column in range(second, second + int(columns)):
            owners = layout.owners((row, column))
            order = layout.codomain
            at = [order.index(axis) if axis in order else None for axis in ("sg", "lane")]
            found[row, column] = {
                (owner[at[0]] if at[0] is not None else 0, owner[at[1]] if at[1] is not None else 0) for owner in owners
            }
    return found


def a_layout(rng: random.Random, shape: tuple[int, int], offset: int = 0) -> Layout:
    """Any factors, gaps and overlaps of lanes too."""
    dims: list[list[tuple[int, int, str | None]]] = []
    for size in shape:
        factors: list[tuple[int, int, str | None]] = []
        left = size
        while left > 1:
            extent = rng.choice([n for n in (2, 4, left) if left % n == 0])
            axis = rng.choice(("lane", "sg", "reg", None))
            factors.append((extent, rng.choice((1, 2, 4)) if axis else 0, axis))
            left //= extent
        dims.append(factors or [(1, 0, None)])
    replicas = [(2, rng.choice((1, 2, 8)), rng.choice(("lane", "sg"))) for _ in range(rng.randrange(3))]
    return Layout(dims, replicas, {"lane": offset} if offset else {})


@pytest.mark.parametrize("seed", range(300))
def test_missing_is_what_counting_finds(seed: int) -> None:
    rng = random.Random(seed)
    shape = (rng.choice((2, 4, 8)), rng.choice((4, 6, 8)))
    held = a_layout(rng, shape)
    if rng.random() < 0.4:  # a part of the tensor, of which something else is needed
        part = (shape[0] // 2, shape[1] // 2)
        plain = a_layout(rng, part)
        needed = Layout(plain.dims, plain.replicas, origins=(rng.randrange(shape[0] - part[0] + 1), shape[1] - part[1]))
    else:
        needed = held if rng.random() < 0.2 else a_layout(rng, shape, rng.choice((0, 0, 1)))
        if rng.random() < 0.3:  # the same, with more copies held
            needed = Layout(held.dims, held.replicas[1:])
    wanted, there = places(needed), places(held)
    lacks = {(element, item) for element, items in wanted.items() for item in items - there[element]}
    found = missing(needed, held)
    assert (found is None) == (not lacks)
    if found is not None:
        first = min(element for element, _ in lacks)
        where = tuple(found.needed_by[found.axes.index(axis)] if axis in found.axes else 0 for axis in ("sg", "lane"))
        assert found.element == first
        assert (first, where) in lacks
        assert len(found.holders) <= 16


def test_a_large_tensor_is_compared_without_its_elements() -> None:
    rows = Layout.parse("d0 = 8@sg 4096@reg, d1 = 2048@reg 16@lane")
    columns = Layout.parse("d0 = 4096@reg 8@sg, d1 = 2048@reg 16@lane")
    tracemalloc.start()
    found = missing(rows, columns)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert found.element == (1, 0)
    assert most < 2**26, "2^30 elements in 64 MiB"


def test_what_is_no_layout_of_the_tensor_is_refused_in_words() -> None:
    tile = Layout.parse("d0 = 4@lane")
    with pytest.raises(ConversionError, match="is not a part of the tensor"):
        missing(Layout.parse("d0 = 8@lane"), tile)
    with pytest.raises(ConversionError, match="needed 5: expected a Layout"):
        missing(5, tile)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="has symbols"):
        missing(Layout.parse("d0 = M@lane"), tile)
