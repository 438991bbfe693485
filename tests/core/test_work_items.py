"""Layouts on whole machines: what a notation leaves unused holds copies."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.core.work_items import cover
from layoutalg.xegpu import LayoutAttr


def test_threads_and_lanes_say_the_subgroups() -> None:
    """64 threads in subgroups of 16 are 4 subgroups, for a notation of lanes as for one of threads."""
    attr = LayoutAttr(lane_layout=(8,), lane_data=(1,))
    nested = la.NestedLayoutAttr((1,), (2,), (1,), (8,), (1,), (0,), (1,))
    for machine in (la.Machine(lanes=16, threads=64), la.Machine(lanes=16, subgroups=4)):
        for value in (attr, nested):
            held = value.layout((16,), machine).fragment_map()
            assert held[..., 0].tolist() == [[[lane % 8, 8 + lane % 8] for lane in range(16)]] * 4


def test_threads_alone_say_the_subgroups_once_a_value_says_the_lanes() -> None:
    """64 threads of 16 lanes: both values hold copies in 4 subgroups, whichever notation comes first."""
    attr = LayoutAttr(lane_layout=(16,), lane_data=(1,))
    nested = la.NestedLayoutAttr((1,), (1,), (1,), (16,), (1,), (0,), (1,))
    machine = la.Machine(threads=64)
    for pair in ((attr, nested), (nested, attr)):
        assert la.same(*pair, (16,), machine=machine)
        assert la.same(*pair, (16,), workgroup_size=64)
        plan = la.convert(*pair, (16,), machine=machine)
        assert plan.source.fragment_map()[..., 0].tolist() == [[[lane] for lane in range(16)]] * 4
        assert plan.kind == "identity"


def test_a_subgroup_that_is_not_full_is_refused_where_work_items_must_hold_copies() -> None:
    attr = LayoutAttr(lane_layout=(16,), lane_data=(1,))
    with pytest.raises(la.LayoutError, match="whole subgroups"):
        attr.layout((16,), la.Machine(lanes=16, threads=40))


def test_copies_keep_the_order_of_the_codomain() -> None:
    layout = la.Layout([[(8, 1, "lane")]], codomain=("lane", "sg", "reg"))
    assert cover(layout, la.Machine(lanes=16, subgroups=2), "it").fragment_map().shape == (16, 2, 1, 1)
