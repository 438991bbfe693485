"""to_nested takes a value of any notation with one layout: the attribute means what the value means."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.core import ConversionError, DistributionError
from layoutalg.core.work_items import cover

VALUES = [
    ("#xegpu.layout<lane_layout = [1, 16]>", (8, 32)),
    ("#xegpu.layout<sg_layout = [2, 2], sg_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>", (16, 32)),
    ("MFMA_F32_16x16x16_F16.acc", None),
    ("WMMA_F32_16x16x16_F16.lhs", None),
    ("d0 = 4@reg, d1 = 16@lane", None),
]


@pytest.mark.parametrize(("text", "shape"), VALUES)
@pytest.mark.parametrize("subgroups", [None, 4, 8])
def test_the_attribute_means_what_the_value_means(
    text: str, shape: tuple[int, ...] | None, subgroups: int | None
) -> None:
    value = la.parse(text)
    machine = la.Machine(subgroups=subgroups)
    layout = value.operands(shape, machine)[0].layout
    assert isinstance(layout, la.Layout)
    layout = cover(layout, machine, "it")
    found = la.to_nested(value, shape=shape, machine=machine)
    lanes, groups = layout.axes.get("lane", 1), layout.axes.get("sg", 1)
    assert found.layout(layout.shape, la.Machine(lanes=lanes, subgroups=groups)) == layout
    if subgroups is not None:
        assert groups == subgroups


def test_lanes_that_a_layout_does_not_use_hold_copies() -> None:
    layout = la.Layout.parse("d0 = 16@lane 4@reg")
    found = la.to_nested(layout, machine=la.Machine(lanes=64, subgroups=2))
    machine = la.Machine(lanes=64, subgroups=2)
    assert found.layout((64,), machine) == cover(layout, machine, "it")
    assert found == la.to_nested(layout)


@pytest.mark.parametrize(
    ("text", "shape", "error", "words"),
    [
        ("MFMA_F32_16x16x16_F16", None, ConversionError, "3 layouts"),
        ("#xegpu.layout<lane_layout = [1, 16]>", None, ConversionError, "needs a shape"),
        ("#iree_gpu.lane_id<0>", None, DistributionError, "distributes nothing"),
        ("Sw<3,3,3> o 0 o (8,64):(64,1)", None, ConversionError, "flips places .XOR., and a nested layout"),
    ],
)
def test_what_has_no_single_layout_is_refused(
    text: str, shape: tuple[int, ...] | None, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        la.to_nested(la.parse(text), shape=shape)


def test_a_subgroup_size_has_to_be_the_layouts() -> None:
    layout = la.Layout.parse("d0 = 16@lane 4@reg")
    assert la.to_nested(layout, subgroup_size=16) == la.to_nested(layout)
    for size in (32, 10**5000, "16"):
        with pytest.raises(ConversionError, match="16 lanes and a subgroup has"):
            la.to_nested(layout, subgroup_size=size)  # type: ignore[arg-type]
