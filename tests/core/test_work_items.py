"""Layouts on whole machines: what a notation leaves unused holds copies."""

from __future__ import annotations

import layoutalg as la
from layoutalg.xegpu import LayoutAttr


def test_threads_and_lanes_say_the_subgroups() -> None:
    """64 threads in subgroups of 16 are 4 subgroups, for a notation of lanes as for one of threads."""
    attr = LayoutAttr(lane_layout=(8,), lane_data=(1,))
    nested = la.NestedLayoutAttr((1,), (2,), (1,), (8,), (1,), (0,), (1,))
    for machine in (la.Machine(lanes=16, threads=64), la.Machine(lanes=16, subgroups=4)):
        for value in (attr, nested):
            held = value.layout((16,), machine).fragment_map()
            assert held[..., 0].tolist() == [[[lane % 8, 8 + lane % 8] for lane in range(16)]] * 4
