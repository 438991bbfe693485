"""Layouts on machines with more lanes and subgroups than they use: ids wrap around, by brute force.

The rule in words: take an id apart over the whole parent layout, in its order, and forget what is left at the end; then
drop the sliced dimensions. A work-item's elements are row-major over its own vector.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod

import numpy as np
import pytest

import layoutalg as la
from layoutalg.xegpu import LayoutAttr, SliceAttr, to_xegpu

Ints = tuple[int, ...]
Attr = LayoutAttr | SliceAttr


def axes_of(place: Ints, counts: Ints, data: Ints, sizes: Ints) -> list[list[int]]:
    """The indices that one work-item holds in each dimension, round robin."""
    return [
        [(r * n + at) * each + i for r in range(size // (n * each)) for i in range(each)]
        for at, n, each, size in zip(place, counts, data, sizes, strict=True)
    ]


def taken_apart(one: int, counts: Ints, order: Ints) -> Ints:
    place = [0] * len(counts)
    for d in order:
        one, place[d] = divmod(one, counts[d])
    return tuple(place)


def held(attr: Attr, shape: Ints, lanes: int, subgroups: int = 1) -> np.ndarray:
    """Coordinates `[sg, lane, reg, rank]` of an attribute with one level each of subgroups and lanes, or one of them."""
    dims: list[list[int]] = []
    while isinstance(attr, SliceAttr):
        dims.append(list(attr.dims))
        attr = attr.parent
    rank = attr.rank
    kept = list(range(rank))
    for dropped in reversed(dims):
        kept = [d for i, d in enumerate(kept) if i not in dropped]
    order = attr.order or tuple(reversed(range(rank)))
    ones = (1,) * rank
    sg, sg_data = attr.sg_layout or ones, attr.sg_data
    lane = attr.lane_layout or ones
    found = []
    for one, other in product(range(subgroups), range(lanes)):
        at_sg, at_lane = taken_apart(one, sg, order), taken_apart(other, lane, order)
        block = shape if attr.sg_layout is None else tuple(sg_data[d] for d in kept)
        data = tuple(attr.lane_data[d] for d in kept) if attr.lane_data else block
        outer = axes_of(tuple(at_sg[d] for d in kept), tuple(sg[d] for d in kept), block, shape)
        inner = axes_of(tuple(at_lane[d] for d in kept), tuple(lane[d] for d in kept), data, block)
        starts = [axis[::b] for axis, b in zip(outer, block, strict=True)]
        found.append([[s + i for s, i in zip(u, v, strict=True)] for u in product(*starts) for v in product(*inner)])
    return np.array(found).reshape(subgroups, lanes, -1, len(shape))


GROUPS = "#xegpu.slice<#xegpu.layout<lane_layout = [8, 1, 2], lane_data = [4, 1, 1], order = [0, 2, 1]>, dims = [0]>"
ROWS = "#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>"
COLUMN = "#xegpu.slice<#xegpu.layout<lane_layout = [16, 1, 1], lane_data = [2, 1, 1], order = [0, 2, 1]>, dims = [0]>"
EVERYWHERE = "#xegpu.slice<#xegpu.layout<lane_layout = [1, 1, 16], lane_data = [1, 1, 1]>, dims = [2]>"


# The three conversions of LLVM's newest test of convert_layout between lanes, on 16 lanes, with the shuffles that it uses.
@pytest.mark.parametrize(
    ("source", "target", "shape", "shuffles"),
    [(COLUMN, ROWS, (8, 1), 0), (GROUPS, ROWS, (8, 2), 1), (EVERYWHERE, GROUPS, (8, 2), 0)],
    ids=["copies to a row each", "two groups of lanes to a row each", "copies to a column per group"],
)
@pytest.mark.parametrize("bits", [8, 16])
def test_the_conversions_of_llvms_newest_test_have_plans(
    source: str, target: str, shape: Ints, shuffles: int, bits: int
) -> None:
    a, b = la.parse(source), la.parse(target)
    assert a.check(shape, llvm=24) is b.check(shape, llvm=24) is None
    plan = la.convert(a, b, shape, machine=la.Machine(lanes=16), element_bits=bits)
    tensor = np.arange(prod(shape), dtype=f"uint{bits}").reshape(shape)
    given, wanted = (tensor[tuple(np.moveaxis(held(one, shape, 16), -1, 0))] for one in (a, b))
    assert np.array_equal(plan.apply(given), wanted)
    assert plan.shuffles == shuffles


def test_lanes_that_a_layout_does_not_use_hold_copies() -> None:
    rows = la.parse(ROWS)
    assert str(rows.layout((8, 2))) == "d0 = 8@lane, d1 = 2@reg"
    assert str(rows.layout((8, 2), machine=la.Machine(lanes=16))) == "d0 = 8@lane, d1 = 2@reg | replicas 2@lane:8"
    groups = la.parse(GROUPS)
    assert str(groups.layout((8, 2))) == "d0 = 8@reg, d1 = 2@lane:8 | replicas 8@lane"
    assert groups.layout((8, 2)) == groups.layout((8, 2), machine=la.Machine(lanes=16))
    desc = la.parse(f"!xegpu.tensor_desc<8x2xf16, {ROWS}>")
    assert desc.layout(machine=la.Machine(lanes=16)) == rows.layout((8, 2), la.Machine(lanes=16))
    on_four = rows.layout((8, 2), machine=la.Machine(lanes=16, subgroups=4))
    assert str(on_four) == "d0 = 8@lane, d1 = 2@reg | replicas 2@lane:8 4@sg"


def random_attr(rng: random.Random, levels: str) -> tuple[Attr, Ints, int, int]:
    """An attribute whose blocks tile its shape, and the lanes and subgroups that it uses."""
    rank = rng.randint(1, 3)
    dropped = sorted(rng.sample(range(rank), rng.randint(0, rank - 1)))
    some = (1, 1, 2, 2, 4) if rng.random() < 0.7 else (1, 2, 3)
    fields: dict[str, Ints] = {}
    block = (1,) * rank
    if "l" in levels:
        fields["lane_layout"] = tuple(rng.choice(some) for _ in range(rank))
        fields["lane_data"] = tuple(rng.choice((1, 1, 2)) for _ in range(rank))
        units = tuple(rng.choice((1, 1, 2)) for _ in range(rank))
        block = tuple(map(prod, zip(fields["lane_layout"], fields["lane_data"], units, strict=True)))
    if "s" in levels:
        fields["sg_layout"] = tuple(rng.choice(some) for _ in range(rank))
        fields["sg_data"] = block
        rounds = tuple(rng.choice((1, 1, 2)) for _ in range(rank))
        block = tuple(map(prod, zip(fields["sg_layout"], block, rounds, strict=True)))
    if rng.random() < 0.6:
        fields["order"] = tuple(rng.sample(range(rank), rank))
    attr: Attr = LayoutAttr(**fields)
    if dropped:
        attr = SliceAttr(attr, tuple(dropped))
    shape = tuple(n for d, n in enumerate(block) if d not in dropped)
    return attr, shape, prod(fields.get("lane_layout", (1,))), prod(fields.get("sg_layout", (1,)))


@pytest.mark.parametrize("levels", ["l", "ls", "s"])
def test_random_layouts_wrap_around_on_larger_machines(levels: str) -> None:
    rng = random.Random(23)
    for _ in range(150):
        attr, shape, lanes, subgroups = random_attr(rng, levels)
        more, others = lanes * rng.choice((1, 2, 3)), subgroups * rng.choice((1, 2, 4))
        machine = la.Machine(lanes=more, subgroups=others)
        layout = attr.layout(shape, machine)
        assert np.array_equal(layout.fragment_map(), held(attr, shape, more, others)), (attr, shape, machine)
        back = to_xegpu(attr, shape, machine)
        assert back == to_xegpu(layout)
        assert back.layout(shape) == layout


def test_a_machine_that_the_ids_do_not_fill_evenly_is_refused() -> None:
    rng = random.Random(29)
    refused = 0
    for _ in range(200):
        attr, shape, lanes, subgroups = random_attr(rng, "ls")
        machine = la.Machine(lanes=rng.randint(1, 40), subgroups=rng.randint(1, 9))
        if machine.lanes % lanes == 0 and machine.subgroups % subgroups == 0:
            attr.layout(shape, machine)
            continue
        refused += 1
        with pytest.raises(
            la.DistributionError,
            match=r"^a machine of \d+ \w+: #xegpu.* uses \d+, (more than there are|and \d+ is not a multiple of that)",
        ):
            attr.layout(shape, machine)
    assert refused > 100


def test_ids_that_share_a_dimension_unevenly_are_refused_on_every_machine() -> None:
    """12 lanes on 8 rows: lanes 8 to 11 would hold copies of four rows, and the others of none."""
    attr = LayoutAttr(lane_layout=(12, 1), lane_data=(1, 1))
    for machine in (None, la.Machine(lanes=12), la.Machine(lanes=24)):
        with pytest.raises(la.DistributionError, match=r"^12 lanes cannot share 8 rows; 12 or 24 rows fit"):
            attr.layout((8, 2), machine)


def test_random_conversions_between_subgroup_sizes_move_every_element() -> None:
    rng = random.Random(31)
    done = 0
    while done < 40:
        a, shape, lanes, subgroups = random_attr(rng, rng.choice(("l", "ls")))
        b, other, more, others = random_attr(rng, rng.choice(("l", "ls")))
        machine = la.Machine(lanes=48, subgroups=16)
        if shape != other or 48 % lanes or 48 % more or 16 % subgroups or 16 % others:
            continue
        plan = la.convert(a, b, shape, machine=machine)
        tensor = np.arange(prod(shape), dtype=np.uint32).reshape(shape)
        given, wanted = (tensor[tuple(np.moveaxis(held(one, shape, 48, 16), -1, 0))] for one in (a, b))
        assert np.array_equal(plan.apply(given), wanted), (a, b, shape)
        done += 1


def test_to_xegpu_takes_any_value_with_one_operand() -> None:
    rows = la.parse(ROWS)
    tile = rows.layout((8, 2))
    assert str(to_xegpu(tile)) == "#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 2]>"
    assert str(to_xegpu(tile, llvm=22)) == "#xegpu.layout<lane_layout = [8, 1]>"
    assert to_xegpu(rows, (8, 2)) == to_xegpu(tile)
    on_16 = to_xegpu(rows, (8, 2), machine=la.Machine(lanes=16))
    assert on_16.layout((8, 2)) == rows.layout((8, 2), la.Machine(lanes=16))
    assert on_16 == to_xegpu(rows.layout((8, 2), la.Machine(lanes=16)))
    assert to_xegpu(tile, machine=la.Machine(lanes=16)) == to_xegpu(tile)  # a Layout says its own machine
    assert to_xegpu(la.parse(f"!xegpu.tensor_desc<8x2xf16, {ROWS}>")) == to_xegpu(tile)
    with pytest.raises(la.ConversionError, match="needs a shape"):
        to_xegpu(rows)
    with pytest.raises(la.DistributionError, match="12 is not a multiple"):
        to_xegpu(rows, (8, 2), machine=la.Machine(lanes=12))
    with pytest.raises(la.ConversionError, match="3 layouts"):
        to_xegpu(la.dpas("f16", "f16", "f32"))
    with pytest.raises(la.LayoutError, match="expected a Machine"):
        to_xegpu(tile, machine="16")  # type: ignore[arg-type]
    for wrong in (ROWS, 8, None, LayoutAttr):
        with pytest.raises(la.ConversionError, match="expected a Layout or a value of a notation"):
            to_xegpu(wrong)  # type: ignore[arg-type]
