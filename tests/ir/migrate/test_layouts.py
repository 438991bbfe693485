"""Layouts that LLVM 22 completes from the shape: written out, they are the same map, and 23 and 24 accept them."""

from __future__ import annotations

import random

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.ir.migrate.layouts import completed
from layoutalg.xegpu import LayoutAttr, SliceAttr

SIZES = (1, 2, 3, 4, 8, 16)


def incomplete(rng: random.Random, rank: int) -> LayoutAttr:
    """A layout of which sg_data, lane_data or both are left out."""
    fields = {name: tuple(rng.choice(SIZES) for _ in range(rank)) for name in ("sg_layout", "lane_layout")}
    chosen = rng.choice([("sg_layout",), ("lane_layout",), ("sg_layout", "lane_layout")])
    found = {name: fields[name] for name in chosen}
    if rng.random() < 0.3:
        found["inst_data"] = tuple(rng.choice((4, 8, 16, 32)) for _ in range(rank))
    if rng.random() < 0.3:
        found["order"] = tuple(rng.sample(range(rank), rank))
    return LayoutAttr(**found)


def test_a_completed_layout_is_the_same_map_and_is_accepted() -> None:
    rng = random.Random(7)
    seen = 0
    for _ in range(1500):
        rank = rng.choice((1, 2, 2, 3))
        layout = incomplete(rng, rank)
        shape = tuple(rng.choice((8, 16, 32, 48, 64)) for _ in range(rank))
        if layout.check(shape, llvm=22) is not None:
            continue
        try:
            before = layout.layout(shape)
        except LayoutError:
            continue
        made = completed(layout, shape)
        assert made.layout(shape) == before
        assert isinstance(made, LayoutAttr)
        assert (made.sg_layout is None) == (made.sg_data is None)
        assert (made.lane_layout is None) == (made.lane_data is None)
        assert completed(made, shape) is made
        seen += 1
    assert seen > 300


def test_a_completed_slice_is_the_same_map() -> None:
    rng = random.Random(8)
    seen = 0
    for _ in range(1500):
        parent = incomplete(rng, 2)
        dim = rng.randrange(2)
        layout = SliceAttr(parent, (dim,))
        shape = (rng.choice((8, 16, 32, 64)),)
        try:
            if layout.check(shape, llvm=22) is not None:
                continue
            before = layout.layout(shape)
        except LayoutError:
            continue
        assert completed(layout, shape).layout(shape) == before, layout
        seen += 1
    assert seen > 300


@pytest.mark.parametrize("shape", [(), (0, 16), (7, 5), (16,), (16, 16, 16)])
def test_a_layout_that_does_not_fit_stays_as_it_is(shape: tuple[int, ...]) -> None:
    layout = LayoutAttr(lane_layout=(2, 8))
    assert completed(layout, shape) is layout
