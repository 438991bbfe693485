"""`to_xegpu` inverts `layout`: for random attributes and by enumeration of small ones, refusals included."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import Any

import pytest

from layoutalg.core import ConversionError, Layout, LayoutError
from layoutalg.xegpu import LayoutAttr, SliceAttr
from layoutalg.xegpu.from_layout import to_xegpu
from tests.random_layouts import all_layouts, machine_layout

Ints = tuple[int, ...]


def random_attribute(rng: random.Random) -> tuple[LayoutAttr | SliceAttr, Ints]:
    """An attribute and a shape that it mostly tiles: any fields, orders, rounds, units, sharing, slices of slices."""
    rank = rng.randint(1, 3)
    plain = (1,) * rank

    def pick(*choices: int) -> Ints:
        return tuple(rng.choice(choices) for _ in range(rank))

    def times(*levels: Ints) -> Ints:
        result = plain
        for level in levels:
            result = tuple(a * b for a, b in zip(result, level, strict=True))
        return result

    fields: dict[str, Ints] = {}
    lanes, subgroups, tiles = rng.random() < 0.8, rng.random() < 0.7, rng.random() < 0.5
    data = block = pick(1, 1, 2, 3)
    if lanes:
        fields["lane_layout"] = pick(1, 1, 2, 2, 3, 4)
        units = pick(1, 1, 2, 3) if rng.random() < 0.5 else plain
        block = times(units, fields["lane_layout"], data)
        if units != plain or rng.random() < 0.5:
            fields["lane_data"] = data
    if tiles or not (lanes or subgroups):
        fields["inst_data"] = block
        block = times(pick(1, 1, 2, 3), block)
    shape = block
    if subgroups:
        fields["sg_layout"] = pick(1, 1, 2, 2, 3, 4)
        rounds = pick(1, 1, 2) if rng.random() < 0.5 else plain
        shape = times(rounds, fields["sg_layout"], block)
        shared = rng.random() < 0.3
        if rounds != plain or shared or rng.random() < 0.6:
            fields["sg_data"] = block
        if shared:
            fields["sg_layout"] = times(fields["sg_layout"], pick(1, 2, 3))
    if rng.random() < 0.5 and (lanes or subgroups):
        fields["order"] = tuple(rng.sample(range(rank), rank))
    attr: LayoutAttr | SliceAttr = LayoutAttr(**fields)
    while shape and rng.random() < 0.35:
        dropped = sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape))))
        attr = SliceAttr(attr, tuple(dropped))
        shape = tuple(n for d, n in enumerate(shape) if d not in dropped)
    return attr, shape


def random_meanings(seed: int, count: int) -> Iterator[tuple[LayoutAttr | SliceAttr, Ints, Layout]]:
    """Random attributes with the layouts that they mean, without those that do not fit their shape."""
    rng = random.Random(seed)
    for _ in range(count):
        attr, shape = random_attribute(rng)
        try:
            yield attr, shape, attr.layout(shape)
        except LayoutError:
            continue


@pytest.mark.slow
def test_every_layout_of_a_random_attribute_has_an_attribute_that_means_it_and_that_llvm_accepts() -> None:
    converted = slices = 0
    for attr, shape, layout in random_meanings(1, 5000):
        found = to_xegpu(layout, llvm=22)
        assert found.layout(shape) == layout, (attr, shape)
        assert found.check(shape, llvm=22) is None, (attr, shape)
        assert len(re.findall("=", str(found))) <= len(re.findall("=", str(attr))) + 2, (attr, found)
        converted += 1
        slices += isinstance(found, SliceAttr)
    assert converted > 4500
    assert slices > 500


@pytest.mark.parametrize("llvm", [23, 24])
def test_later_versions_get_an_attribute_that_they_accept(llvm: int) -> None:
    converted = slices = 0
    for attr, shape, layout in random_meanings(4, 2000):
        found = to_xegpu(layout, llvm=llvm)
        assert found.layout(shape) == layout, (attr, shape)
        assert found.check(shape, llvm=llvm) is None, (attr, shape, found)
        converted += 1
        slices += isinstance(found, SliceAttr)
    assert converted > 1800
    assert slices > 200


def test_a_layout_without_replicas_is_never_a_slice_and_has_no_field_too_many() -> None:
    for _, shape, layout in random_meanings(2, 1500):
        found = to_xegpu(layout, llvm=22)
        if layout.replicas or not shape:
            continue
        assert isinstance(found, LayoutAttr)
        given = {name: getattr(found, name) for name in LayoutAttr.__slots__ if getattr(found, name) is not None}
        for name in given:
            try:
                fewer = LayoutAttr(**{k: v for k, v in given.items() if k != name})
                assert fewer.layout(shape) != layout, (found, name)
            except LayoutError:
                continue


def test_random_layouts_are_converted_exactly_or_refused() -> None:
    rng = random.Random(3)
    converted = 0
    for _ in range(4000):
        layout = machine_layout(rng)
        try:
            found = to_xegpu(layout)
        except ConversionError:
            continue
        converted += 1
        assert found.layout(layout.shape) == layout
        assert found.check(layout.shape) is None
    assert converted > 1000


def attributes(shape: Ints, sizes: list[Ints]) -> Iterator[LayoutAttr]:
    """Every `#xegpu.layout` of a rank whose fields are all from `sizes`, in every order."""
    some: list[Ints | None] = [None, *sizes]
    rank = len(shape)
    for sg, lane in product(some, some):
        orders: list[Ints | None] = [None] if sg is None and lane is None else list(permutations(range(rank)))
        for sg_data, inst, lane_data, order in product(some if sg else [None], some, some if lane else [None], orders):
            if sg or lane or inst:
                yield LayoutAttr(sg, sg_data, inst, lane, lane_data, order)


def meanings(found: Iterator[Any], shape: Ints) -> set[Layout]:
    layouts: set[Layout] = set()
    for attr in found:
        try:
            layouts.add(attr.layout(shape))
        except LayoutError:
            continue
    return layouts


def slices(sizes: tuple[int, ...]) -> Iterator[SliceAttr]:
    """Every slice of rank 1 of a layout of rank 2, whose dropped dimension has up to two subgroups and lanes."""
    for sg, sg_data, inst, lane, lane_data, order in product(*[sizes] * 5, permutations((0, 1))):
        for more_sg, more_lane, dropped in product((1, 2), (1, 2), (0, 1)):
            pairs = (sg, more_sg), (sg_data, 1), (inst, 1), (lane, more_lane), (lane_data, 1)
            yield SliceAttr(LayoutAttr(*(pair if dropped else pair[::-1] for pair in pairs), order), (dropped,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "factors", "replicas", "known"),
    [
        ((2, 4), [[2], [2, 2]], [], lambda: attributes((2, 4), list(product((1, 2), (1, 2, 4))))),
        ((4,), [[2, 2]], [2], lambda: attributes((4,), [(n,) for n in (1, 2, 4, 8)])),
        ((6,), [[2, 3]], [], lambda: attributes((6,), [(n,) for n in (1, 2, 3, 6)])),
        ((6,), [[3, 2]], [2], lambda: attributes((6,), [(n,) for n in (1, 2, 3, 4, 6, 12)])),
        ((8,), [[2, 2, 2]], [], lambda: attributes((8,), [(n,) for n in (1, 2, 4, 8)])),
        ((4,), [[2, 2]], [2], lambda: slices((1, 2, 4))),
    ],
    ids=["2x4", "4 copied", "6", "6 copied", "8", "4 in slices"],
)
def test_what_is_refused_no_attribute_means(
    shape: Ints, factors: list[list[int]], replicas: list[int], known: Callable[[], Iterator[Any]]
) -> None:
    expressible = meanings(known(), shape)
    refused = taken = 0
    for layout in all_layouts(factors, replicas):
        try:
            found = to_xegpu(layout)
        except ConversionError:
            refused += 1
            assert layout not in expressible, layout
            continue
        taken += 1
        assert found.layout(shape) == layout
    assert taken
    assert refused
    for layout in expressible:
        assert to_xegpu(layout).layout(shape) == layout


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("d0 = 16@reg, d1 = 16@lane", "#xegpu.layout<lane_layout = [1, 16]>"),
        ("d0 = 16@lane, d1 = 16@reg", "#xegpu.layout<lane_layout = [16, 1]>"),
        ("d0 = 4@lane, d1 = 4@lane:4", "#xegpu.layout<lane_layout = [4, 4], order = [0, 1]>"),
        ("d0 = 2@sg:4 16@reg:16, d1 = 4@sg 16@reg", "#xegpu.layout<sg_layout = [2, 4]>"),
        ("d0 = 8@reg:16, d1 = 16@reg", "#xegpu.layout<inst_data = [8, 16]>"),
        ("d0 = 2@reg:8 4@sg 8@reg", "#xegpu.layout<sg_layout = [4], sg_data = [8]>"),
        ("d0 = 2@lane:8 2@reg:4, d1 = 2@reg:2 8@lane 2@reg", "#xegpu.layout<lane_layout = [2, 8], lane_data = [2, 2]>"),
        ("d0 = 4@sg 32@reg | replicas 8@sg:4", "#xegpu.layout<sg_layout = [32], sg_data = [32]>"),
        ("d0 = 32@reg:32, d1 = 4@sg 32@reg | replicas 8@sg:4", "#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>"),
        (
            "d0 = 4@sg 8@lane | replicas 2@sg:4 2@lane:8",
            "#xegpu.slice<#xegpu.layout<sg_layout = [2, 4], lane_layout = [2, 8]>, dims = [0]>",
        ),
        (
            "d0 = 4@sg:2 8@lane | replicas 2@sg 2@lane:8",
            "#xegpu.slice<#xegpu.layout<sg_layout = [1, 4, 2], lane_layout = [2, 8, 1]>, dims = [0, 2]>",
        ),
        ("() | replicas 4@lane", "#xegpu.slice<#xegpu.layout<lane_layout = [4]>, dims = [0]>"),
    ],
)
def test_the_attribute_is_the_one_a_person_would_write_for_llvm_22(text: str, attribute: str) -> None:
    layout = Layout.parse(text)
    assert str(to_xegpu(layout, llvm=22)) == attribute
    assert to_xegpu(layout, llvm=22).layout(layout.shape) == layout


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("d0 = 16@reg, d1 = 16@lane", "#xegpu.layout<lane_layout = [1, 16], lane_data = [16, 1]>"),
        ("d0 = 8@reg:16, d1 = 16@reg", "#xegpu.layout<inst_data = [8, 16]>"),
        (
            "d0 = 2@sg:4 2@reg:8 8@reg, d1 = 4@sg 16@lane",
            "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [16, 1]>",
        ),
        (
            "d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane",
            "#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [8, 1]>",
        ),
        (
            "d0 = 8@sg:4 32@reg:32, d1 = 32@reg | replicas 4@sg",
            "#xegpu.slice<#xegpu.layout<sg_layout = [8, 1, 4], sg_data = [32, 32, 1]>, dims = [2]>",
        ),
    ],
)
def test_unless_told_otherwise_the_attribute_has_the_data_that_llvm_24_wants(text: str, attribute: str) -> None:
    """mlir-opt-24 takes each of them on a `convert_layout` of that shape."""
    layout = Layout.parse(text)
    assert str(to_xegpu(layout)) == attribute
    assert to_xegpu(layout).layout(layout.shape) == layout
    assert to_xegpu(layout).check(layout.shape, llvm=24) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d0 = 2@sg:2 2@reg 2@sg", "dimension d0: 2@sg:2 is a second sg factor"),
        ("d0 = 16@lane 2@sg", "dimension d0: 2@sg counts inside 16@lane"),
        ("d0 = 8@reg | replicas 2@reg:8", "replica 2@reg:8"),
        ("d0 = 4@lane, d1 = 4@lane:4 2@sg:2, d2 = 2@sg | replicas 1@sg", "dimension d1: 2@sg:2 counts inside"),
        ("d0 = 2@sg:2 4@lane, d1 = 2@sg 4@lane:4", "in different orders"),
        ("d0 = 2@reg 2@lane 2@reg:2", "dimension d0: 2@reg:2 counts inside the lanes"),
        ("d0 = 2@reg 2@sg 2@reg:2", "dimension d0: 2@reg counts outside the subgroups"),
    ],
)
def test_a_refusal_names_the_factor(text: str, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_xegpu(Layout.parse(text))
    assert reason in str(caught.value)
