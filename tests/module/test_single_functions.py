"""Functions that serve the room `module` alone, one by one."""

from __future__ import annotations

from layoutalg.module.conversions import conversions_of
from layoutalg.module.module import looks_like_module


def test_a_text_without_conversions_has_none() -> None:
    assert list(conversions_of(())) == []


def test_a_module_is_no_attribute() -> None:
    assert (
        looks_like_module("%0 = foo.bar"),
        looks_like_module("remark: %0 gets #xegpu.layout<lane_layout = [16]>"),
    ) == (True, True)
    assert (looks_like_module("#xegpu.layout<lane_layout = [16"), looks_like_module("bogus")) == (False, False)
