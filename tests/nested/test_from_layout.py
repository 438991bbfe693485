"""`to_nested` inverts `layout`: for random nested layouts and by enumeration of small ones, refusals included."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod

import pytest

from layoutalg.core import ConversionError, Layout, LayoutError
from layoutalg.nested import NestedLayoutAttr
from layoutalg.nested.from_layout import to_nested
from tests.random_layouts import all_layouts, machine_layout

Ints = tuple[int, ...]


def sizes_of(layout: Layout) -> tuple[int, int]:
    """The threads of a subgroup and of a workgroup that a layout has."""
    lanes = layout.axes.get("lane", 1)
    return lanes, lanes * layout.axes.get("sg", 1)


def random_nested(rng: random.Random) -> tuple[NestedLayoutAttr, int, int | None]:
    """A nested layout with gaps between its strides, a subgroup size, and a workgroup size or None."""
    rank = rng.randint(0, 3)

    def pick(*choices: int) -> Ints:
        return tuple(rng.choice(choices) for _ in range(rank))

    subgroups, threads = pick(1, 1, 2, 3), pick(1, 2, 2, 3, 4)
    size = rng.choice((1, 2, 4, 6, 8, 12, 16, 24))
    strides: tuple[list[int], list[int]] = ([0] * rank, [0] * rank)
    place = 1
    for tiles, into in ((threads, strides[1]), (subgroups, strides[0])):
        for d in rng.sample(range(rank), rank):
            if tiles[d] > 1:
                place *= rng.choice((1, 1, 1, 2, 3))
                into[d] = place
                place *= tiles[d]
        if into is strides[1]:
            place = -(-place // size) * rng.choice((1, 1, 1, 2))
    attr = NestedLayoutAttr(
        subgroups, pick(1, 1, 2, 3), pick(1, 1, 1, 2), threads, pick(1, 1, 2, 4), tuple(strides[0]), tuple(strides[1])
    )
    return attr, size, None if rng.random() < 0.5 else size * place * rng.choice((1, 2, 3))


def test_every_layout_of_a_random_nested_layout_has_one_that_means_it() -> None:
    rng = random.Random(1)
    converted = beyond = 0
    for _ in range(6000):
        attr, size, threads = random_nested(rng)
        try:
            layout = attr.layout(attr.shape, size, threads)
        except LayoutError:
            continue
        found = to_nested(layout)
        assert sizes_of(layout)[0] == size
        assert found.layout(layout.shape, *sizes_of(layout)) == layout, attr
        assert found.check(layout.shape) is None
        assert to_nested(layout, subgroup_size=size) == found
        converted += 1
        beyond += any(s < size < s * n for n, s in zip(found.thread_tile, found.thread_strides, strict=True))
    assert converted > 4000
    assert beyond > 100


def test_random_layouts_are_converted_exactly_or_refused() -> None:
    rng = random.Random(2)
    converted = 0
    for _ in range(4000):
        layout = machine_layout(rng)
        try:
            found = to_nested(layout)
        except ConversionError:
            continue
        converted += 1
        assert found.layout(layout.shape, *sizes_of(layout)) == layout
    assert converted > 1000


def divided(size: int, parts: int) -> list[Ints]:
    """Every way to write a number as a product of `parts` factors, in order."""
    if parts == 1:
        return [(size,)]
    return [(n, *rest) for n in range(1, size + 1) if size % n == 0 for rest in divided(size // n, parts - 1)]


def nested_layouts(shape: Ints, strides: Ints) -> Iterator[NestedLayoutAttr]:
    for tiles in product(*(divided(n, 5) for n in shape)):
        s, b, o, t, e = zip(*tiles, strict=True)
        for subgroup, thread in product(*(product(*((0,) if n == 1 else strides for n in lane)) for lane in (s, t))):
            yield NestedLayoutAttr(s, b, o, t, e, subgroup, thread)


@pytest.mark.parametrize(
    ("shape", "factors", "replicas"),
    [
        ((8,), [[2, 2, 2]], []),
        ((2, 4), [[2], [2, 2]], []),
        ((4,), [[2, 2]], [2, 2]),
        ((6,), [[2, 3]], [2]),
        ((6,), [[3, 2]], []),
    ],
    ids=str,
)
def test_what_is_refused_no_nested_layout_means(shape: Ints, factors: list[list[int]], replicas: list[int]) -> None:
    candidates = list(all_layouts(factors, replicas))
    threads = {sizes_of(layout) for layout in candidates}
    strides = sorted({n for size in threads for n in range(1, size[1]) if size[1] % n == 0})
    expressible: dict[Layout, NestedLayoutAttr] = {}
    for attr in nested_layouts(shape, tuple(strides)):
        for size, count in threads:
            try:
                expressible[attr.layout(shape, size, count)] = attr
            except LayoutError:
                continue
    refused = taken = 0
    for layout in candidates:
        try:
            found = to_nested(layout)
        except ConversionError:
            refused += 1
            assert layout not in expressible, (layout, expressible[layout])
            continue
        taken += 1
        assert found.layout(shape, *sizes_of(layout)) == layout
    assert taken
    assert refused
    for layout in expressible:
        assert to_nested(layout).layout(shape, *sizes_of(layout)) == layout


def test_threads_that_reach_past_a_subgroup_are_one_tile() -> None:
    attr = NestedLayoutAttr((1,), (2,), (1,), (128,), (4,), (0,), (1,))
    layout = attr.layout((1024,), 64, 128)
    assert str(layout) == "d0 = 2@reg:4 2@sg 64@lane 4@reg"
    assert to_nested(layout) == attr


def test_replicas_are_the_idle_digits_of_the_thread_id() -> None:
    layout = Layout.parse("d0 = 4@lane:4 2@reg | replicas 4@lane 4@lane:16 2@sg")
    found = to_nested(layout, subgroup_size=64)
    assert (found.thread_tile, found.thread_strides) == ((4,), (4,))
    assert prod(found.subgroup_tile) == 1
    assert found.layout((8,), 64, 128) == layout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d0 = 2@lane 4@reg 4@lane:2", "dimension d0: 4@lane:2 is a second thread factor"),
        ("d0 = 4@lane 2@sg", "dimension d0: 2@sg is a second thread factor"),
        ("d0 = 8@reg | replicas 2@reg:8", "replica 2@reg:8"),
        ("d0 = 2@reg 2@lane 2@reg:2", "dimension d0: 2@reg:2 counts inside the threads"),
        ("d0 = 2@reg:16 2@reg:4 2@reg, d1 = 2@reg:32 2@reg:8 2@reg:2", "starts a fourth run"),
        ("d0 = 16@lane 4@reg:2", "leave a gap below 4@reg:2"),
    ],
)
def test_a_refusal_names_the_factor(text: str, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_nested(Layout.parse(text))
    assert reason in str(caught.value)


def test_a_subgroup_of_another_size_is_refused() -> None:
    with pytest.raises(ConversionError, match="has 16 lanes and a subgroup has 32"):
        to_nested(Layout.parse("d0 = 16@lane"), subgroup_size=32)
