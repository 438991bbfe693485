"""Parts of a layout that a caller gives: what was found right once says nothing about what merely equals it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg import Layout, LayoutError

RIGHT = (2, 1, "reg")


class Text(str):
    """Equal to a text, and no text of Python's own."""


@pytest.mark.parametrize(
    "wrong",
    [
        (2.0, 1, "reg"),
        (2, 1.0, "reg"),
        (2, True, "reg"),
        (np.float64(2), 1, "reg"),
        (Fraction(2), 1, "reg"),
        (2 + 0j, 1, "reg"),
        [2, 1, "reg"],
        (2, 1, b"reg"),
        (2, 1),
        (2, 1, "reg", 0),
    ],
    ids=repr,
)
def test_what_equals_a_known_factor_and_is_none_is_refused(wrong: Any) -> None:
    assert Layout([[RIGHT]]).shape == (2,)
    for dims in ([[wrong]], [[RIGHT, wrong]], ((wrong, RIGHT),)):
        with pytest.raises(LayoutError):
            Layout(dims)


def test_true_is_no_extent_of_one() -> None:
    assert Layout([[(1, 1, "reg")]]).shape == (1,)
    with pytest.raises(LayoutError, match="True"):
        Layout([[(True, 1, "reg")]])


@pytest.mark.parametrize("right", [(np.int64(2), 1, "reg"), (2, np.uint8(1), "reg"), (2, 1, Text("reg"))], ids=repr)
def test_whole_numbers_of_other_kinds_are_taken(right: Any) -> None:
    layout = Layout([[right, RIGHT]])
    assert layout == Layout([[RIGHT, RIGHT]])
    assert all(type(extent) is type(stride) is int for factors in layout.dims for extent, stride, _ in factors)


def test_three_known_factors_are_not_too_many_elements_and_four_are_counted() -> None:
    large = (1 << 20, 1, "reg")
    assert Layout([[large, large, large]]).shape == (1 << 60,)
    for dims in ([[large] * 4], [[(1 << 21, 1, "reg")] * 3], [[(1 << 31, 1, "reg")] * 3]):
        with pytest.raises(LayoutError, match="2\\^62"):
            Layout(dims)


def test_what_can_be_read_once_is_read_once():
    dims = [[(2, 1, "reg")], [(2, 1, [("lane", 1), ("reg", 2)])], [(2, 1, "sg")]]
    replicas = [(2, 1, [("lane", 2), ("sg", 2)])]
    whole = la.Layout(dims, replicas)
    assert la.Layout((one for one in dims), iter(replicas)) == whole
    assert la.Layout([iter(one) for one in dims], (one for one in replicas)) == whole
    assert la.Layout(iter(dims[:1])) == la.Layout(dims[:1])


def test_a_class_may_be_derived():
    class Named(la.Layout):
        pass

    class Slotted(la.Layout):
        __slots__ = ("mine",)

    for kind in (Named, Slotted):
        made = kind([[(4, 1, "lane")]])
        assert type(made) is kind
        assert str(made) == "d0 = 4@lane"
        assert made.canonical().dims == la.Layout([[(4, 1, "lane")]]).canonical().dims


def test_dimensions_are_counted_also_where_all_their_factors_are_known() -> None:
    known = [(2, 1, "reg")]
    assert Layout([known]).shape == (2,)
    with pytest.raises(LayoutError, match="expected at most 65536 entries"):
        Layout([known] * 65537)
