"""Doors that take layouts with strides alone name the factor with XOR and the layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import layoutalg as la
from layoutalg.compare import missing

SWIZZLED = la.Layout.parse("d0 = 2@(lane:4^reg) 4@lane, d1 = 2@reg")
FLIPPED = la.Layout.parse("d0 = 8@lane, d1 = 2@reg | flip (lane:2)")
PLAIN = la.Layout.parse("d0 = 8@lane, d1 = 2@reg")
DOORS: dict[str, Callable[[la.Layout], object]] = {
    "XeGPU": la.to_xegpu,
    "a nested layout": la.to_nested,
    "CuTe": la.to_cute,
    "compared": lambda layout: missing(layout, PLAIN),
    "held": lambda layout: missing(PLAIN, layout),
}


@pytest.mark.parametrize("layout", [SWIZZLED, FLIPPED], ids=["xored", "flipped"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_the_factor_and_the_layout_are_named(door: Callable[[la.Layout], object], layout: la.Layout) -> None:
    with pytest.raises(la.ConversionError, match=r"@\(.* flips places \(XOR\), and .* has strides alone \(in d0 = "):
        door(layout)


def test_a_conversion_has_a_price() -> None:
    assert la.price(SWIZZLED, PLAIN, target="pvc").slots == la.convert(SWIZZLED, PLAIN, target="pvc").cost
