"""Objects of pycute and tensor-layouts are taken as they are: the same index at every coordinate, in whatever takes a value."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

import layoutalg as la
from layoutalg import cute
from layoutalg.core import ConversionError
from layoutalg.show import describe
from tests.cute.random_values import layout as random_layout
from tests.oracle.toolchains import require_module


@pytest.fixture(params=["pycute", "tensor_layouts"])
def library(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return require_module(request.param)


def test_layouts_of_the_libraries_are_read(library: Any) -> None:
    rng = random.Random(1)
    for _ in range(300):
        ours = random_layout(rng)
        if ours.swizzle is not None or not all(isinstance(s, int) for s in _numbers(ours.stride)):
            continue
        theirs = library.Layout(ours.shape, ours.stride)
        found = cute.coalesce(theirs)
        assert found == cute.coalesce(ours)
        assert la.parse(str(theirs)) == la.parse(repr(theirs)) == ours
        count = min(ours.size, 200)
        assert [ours(i) for i in range(count)] == [theirs(i) for i in range(count)]


def _numbers(value: Any) -> list[Any]:
    return [one for part in value for one in _numbers(part)] if isinstance(value, tuple) else [value]


def test_they_are_taken_where_values_are(library: Any) -> None:
    rows, columns = library.Layout((8, 16), (16, 1)), library.Layout((8, 16), (1, 8))
    assert la.same(rows, "(8,16):(16,1)")
    assert not la.same(rows, columns)
    assert la.from_cute(rows) == la.Layout.parse("d0 = 8@addr:16, d1 = 16@addr")
    assert describe(rows).layout == la.from_cute(rows)
    assert la.picture(rows).title == "(8,16):(16,1)"
    tv = library.Layout((16, 8), (8, 1))
    assert la.from_cute(tv, (8, 16)) == la.Layout.parse("d0 = 8@reg, d1 = 16@lane")
    plan = la.convert(tv, "d0 = 8@lane, d1 = 2@lane:8 8@reg", (8, 16))
    assert plan.source == la.Layout.parse("d0 = 8@reg, d1 = 16@lane")


def test_swizzles_and_compositions_are_read() -> None:
    pycute, swizzles = require_module("pycute"), require_module("pycute.swizzle")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layouts = require_module("tensor_layouts")
    inner = pycute.Layout((8, 64), (64, 1))
    theirs = swizzles.ComposedLayout(swizzles.Swizzle(3, 3, 3), 64, inner)
    ours = cute.parse_cute("Sw<3,3,3> o 64 o (8,64):(64,1)")
    assert la.same(theirs, ours)
    assert [ours(i) for i in range(512)] == [theirs(i) for i in range(512)]
    composed = layouts.compose(layouts.Swizzle(3, 3, 3), layouts.Layout((8, 64), (64, 1)))
    assert la.same(composed, "Sw<3,3,3> o 0 o (8,64):(64,1)")
    assert cute.coalesce(composed).swizzle == (3, 3, 3)
    with pytest.raises(ConversionError, match="a swizzle alone is not a layout"):
        la.same(swizzles.Swizzle(3, 3, 3), ours)


def test_objects_that_are_no_layouts_are_refused() -> None:
    pycute = require_module("pycute")
    for shape, stride in (((4, 2.5), (1, 4)), ((4, "x"), (1, 4)), ((4, 2), (1, 4, 8)), ((0,), (1,))):
        with pytest.raises(la.LayoutError):
            la.same(pycute.Layout(shape, stride), "(4,2):(1,4)")
