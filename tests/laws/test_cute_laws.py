"""Laws of CuTe's algebra, by hypothesis against enumeration (`tests/cute/definitions.py`).

Layouts are of mixed radix, nested, with strides of 0, negative ones, and extents of 1. What is refused must have no answer,
where the definition alone can tell.
"""

from __future__ import annotations

import pickle
from math import prod
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from layoutalg import cute
from layoutalg.core import LayoutError
from layoutalg.cute import CuteLayout, ScaledBasis, Swizzle
from tests.cute import definitions
from tests.cute.definitions import value, values

EXTENT = st.sampled_from((1, 2, 3, 4, 5, 6, 8))


@st.composite
def layouts(draw: st.DrawFn, lowest: int = 0, most: int = 96) -> CuteLayout:
    """A layout of a few factors: compact in some order, padded, or with any strides."""
    extents = draw(st.lists(EXTENT, min_size=1, max_size=4).filter(lambda found: prod(found) <= most))
    order = draw(st.permutations(range(len(extents))))
    strides, step = [0] * len(extents), 1
    for k in order:
        strides[k] = step
        step *= extents[k] * draw(st.sampled_from((1, 1, 1, 2, 3)))
    for k in range(len(extents)):
        if draw(st.integers(0, 5)) == 0:
            strides[k] = draw(st.integers(lowest, 24))
    return CuteLayout(*nested(draw, list(zip(extents, strides, strict=True)), 2))


def nested(draw: st.DrawFn, flat: list[tuple[int, int]], depth: int) -> tuple[Any, Any]:
    if len(flat) == 1 and draw(st.booleans()):
        return flat[0]
    parts: list[Any] = flat
    if depth and draw(st.booleans()):
        cut = draw(st.integers(1, len(flat)))
        parts = [nested(draw, part, depth - 1) for part in (flat[:cut], flat[cut:]) if part]
    return tuple(n for n, _ in parts), tuple(s for _, s in parts)


def answer(name: str, *arguments: Any) -> Any:
    try:
        return getattr(cute, name)(*arguments)
    except LayoutError:
        return None


@given(layouts(-24), layouts(-24, 48))
def test_composition_is_exact_or_no_layout_is(a: CuteLayout, b: CuteLayout) -> None:
    found = answer("composition", a, b)
    if found is None:
        assert not definitions.exists([value(a, value(b, i)) for i in range(b.size)], b.shape)
    else:
        assert definitions.is_composition(a, b, found)


@given(layouts(-24))
def test_coalescing_and_flattening_change_no_value(a: CuteLayout) -> None:
    assert definitions.is_coalesced(a, cute.coalesce(a))
    assert values(cute.flatten(a)) == values(a)
    assert definitions.leaves(cute.flatten(a).shape, cute.flatten(a).stride) == definitions.leaves(a.shape, a.stride)
    by_mode = cute.coalesce(a, (1,) * cute.rank(a)) if isinstance(a.shape, tuple) else cute.coalesce(a)
    assert values(by_mode) == values(a)
    assert cute.rank(by_mode) == cute.rank(a) or not isinstance(a.shape, tuple)


@given(layouts())
def test_filters_keep_the_values_without_copies(a: CuteLayout) -> None:
    without = [(n, s) for n, s in definitions.leaves(a.shape, a.stride) if s]
    kept = [
        definitions.at(tuple(n for n, _ in without), tuple(s for _, s in without), i)
        for i in range(prod(n for n, _ in without))
    ]
    assert values(cute.filter(a)) == kept or (not without and values(cute.filter(a)) == [0])
    zeros = cute.filter_zeros(a)
    assert zeros.stride == a.stride
    assert values(zeros) == (kept if without else [0])


@given(layouts(), st.integers(1, 200))
def test_a_complement_and_its_layout_reach_every_index_once(a: CuteLayout, high: int) -> None:
    found = answer("complement", a, high)
    if found is None:
        assert definitions.left_out(a, high) is None
    else:
        assert definitions.is_complement(a, high, found)


@given(layouts(-8))
def test_inverses(a: CuteLayout) -> None:
    assert definitions.is_right_inverse(a, cute.right_inverse(a))
    for name in ("left_inverse", "pseudo_inverse"):
        found = answer(name, a)
        assert found is None or definitions.is_left_inverse(a, found)
    assert definitions.is_nullspace(a, cute.nullspace(a))


@given(layouts(), layouts())
def test_common_layouts(a: CuteLayout, b: CuteLayout) -> None:
    found = answer("max_common_layout", a, b)
    if found is not None:
        assert definitions.is_max_common(a, b, found)
        assert cute.max_common_vector(a, b) == found.size


@given(
    layouts(), layouts(most=24), st.sampled_from(("zipped", "tiled", "flat")), st.sampled_from(("divide", "product"))
)
def test_divides_and_products_are_the_logical_ones_with_their_modes_sorted(
    a: CuteLayout, b: CuteLayout, kind: str, what: str
) -> None:
    logical = answer(f"logical_{what}", a, b)
    if logical is None:
        assert answer(f"{kind}_{what}", a, b) is None
        assert definitions.left_out(b, a.size) is None or what == "product" or definitions.injective(b)
        return
    assert (definitions.is_divided if what == "divide" else definitions.is_product)(a, b, logical)
    assert values(getattr(cute, f"{kind}_{what}")(a, b)) == values(logical)


@given(layouts(most=24), layouts(most=12))
def test_woven_products_have_the_values_of_the_logical_one(block: CuteLayout, tiler: CuteLayout) -> None:
    blocked = answer("blocked_product", block, tiler)
    if blocked is None:
        return
    raked, logical = cute.raked_product(block, tiler), cute.logical_product(block, tiler)
    assert sorted(values(blocked)) == sorted(values(raked)) == sorted(values(logical))
    blocks, copies = (definitions.leaves(*mode) for mode in definitions.modes(logical))
    assert sorted(definitions.leaves(blocked.shape, blocked.stride)) == sorted(
        [
            *blocks,
            *copies,
            *[(1, 0)] * (len(definitions.leaves(blocked.shape, blocked.stride)) - len(blocks) - len(copies)),
        ]
    )


@given(layouts(-8), st.sampled_from((2, 3, 4, 8)))
def test_casts_reach_the_elements_that_the_layout_reaches(a: CuteLayout, n: int) -> None:
    wide, narrow = answer("upcast", a, n), answer("downcast", a, n)
    assert wide is None or definitions.is_upcast(a, n, wide)
    assert narrow is None or definitions.is_downcast(a, n, narrow)
    assert answer("recast", a, 8, 8 * n) == wide
    assert answer("recast", a, 8 * n, 8) == narrow


@given(layouts(-8), st.data())
def test_slices_and_their_offsets_are_the_layout(a: CuteLayout, data: st.DataObject) -> None:
    assume(isinstance(a.shape, tuple))
    sizes = [definitions.size(n) for n, _ in definitions.modes(a)]
    fixed = [data.draw(st.none() | st.integers(0, n - 1)) for n in sizes]
    part, offset = cute.slice_and_offset(tuple(fixed), a)
    assert cute.slice(tuple(fixed), a) == part
    assert cute.rank(part) + cute.rank(cute.dice(tuple(fixed), a)) == len(sizes)
    for i in range(part.size):
        rest, coordinate = i, []
        for k, n in enumerate(sizes):
            if fixed[k] is None:
                rest, digit = divmod(rest, n)
                coordinate.append(digit)
            else:
                coordinate.append(fixed[k])
        index = sum(x * prod(sizes[:k]) for k, x in enumerate(coordinate))
        assert value(part, i) + offset == value(a, index) == cute.crd2idx(tuple(coordinate), a)


@given(layouts())
def test_coordinates_and_indices_are_each_others_inverse(a: CuteLayout) -> None:
    identity = cute.make_identity_layout(a.shape)
    compact = cute.make_layout(a.shape)
    for i in range(a.size):
        coordinate = cute.idx2crd(i, a.shape)
        assert cute.crd2idx(coordinate, a.shape) == i == cute.crd2idx(coordinate, compact)
        assert cute.crd2idx(coordinate, a) == value(a, i) == a(i) == a(coordinate)
        assert cute.crd2crd(coordinate, a.shape, a.size) == i
        assert cute.crd2crd(i, a.size, a.shape) == coordinate == identity(i)


SWIZZLES = st.builds(
    lambda bits, base, gap, sign: Swizzle(bits, base, sign * (bits + gap)),
    st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.sampled_from((1, -1)),
)  # fmt: skip


@given(SWIZZLES, layouts(), st.integers(0, 64))
def test_a_swizzle_on_the_left_is_applied_last(swizzle: Swizzle, a: CuteLayout, offset: int) -> None:
    found = cute.composition(swizzle, offset, a)
    triple = (swizzle.bits, swizzle.base, swizzle.shift)
    assert values(found) == [definitions.swizzle(triple, offset + value(a, i)) for i in range(a.size)]
    assert values(cute.composition(swizzle, a)) == [definitions.swizzle(triple, value(a, i)) for i in range(a.size)]
    assert cute.parse_cute(str(found)) == found


# Random layouts seldom are so: 8:1 goes on above the bits that the swizzle touches, and reaches those of 2:2.
@example(Swizzle(1, 0, 1), CuteLayout((2, 8, 3), (2, 1, 0)))
@given(SWIZZLES, layouts(most=256))
def test_a_swizzle_on_the_right_is_applied_first(swizzle: Swizzle, a: CuteLayout) -> None:
    found = answer("composition", a, swizzle)
    if found is not None:
        triple = (swizzle.bits, swizzle.base, swizzle.shift)
        assert values(found) == [value(a, definitions.swizzle(triple, i)) for i in range(a.size)]


# Past the end of A, where its last factor runs on into the bits that the swizzle touches.
@example(Swizzle(2, 0, 2), CuteLayout((16, 2), (2, 1)), CuteLayout(16, 16), 0)
@example(Swizzle(1, 0, 3), CuteLayout((8, 2), (2, 1)), CuteLayout((6, 8), (8, 4)), 0)
@given(SWIZZLES, layouts(most=64), layouts(most=64), st.integers(0, 16))
def test_a_layout_after_a_swizzled_one(swizzle: Swizzle, a: CuteLayout, b: CuteLayout, offset: int) -> None:
    inner = cute.composition(swizzle, offset, b)
    found = answer("composition", a, inner)
    if found is not None:
        assert values(found) == [value(a, value(inner, i)) for i in range(b.size)]


@example(Swizzle(2, 4, 2), CuteLayout((6, 2), (24, 24)))
@given(SWIZZLES, layouts())
def test_inverses_of_swizzled_layouts(swizzle: Swizzle, a: CuteLayout) -> None:
    swizzled = cute.composition(swizzle, a)
    right, left = answer("right_inverse", swizzled), answer("left_inverse", swizzled)
    assert right is None or definitions.is_right_inverse(swizzled, right)
    assert left is None or definitions.is_left_inverse(swizzled, left)


@given(SWIZZLES, layouts(), st.sampled_from((2, 4, 8)), st.integers(0, 8))
def test_casts_of_swizzled_layouts(swizzle: Swizzle, a: CuteLayout, n: int, offset: int) -> None:
    swizzled = cute.composition(swizzle, offset * n, a)
    wide, narrow = answer("upcast", swizzled, n), answer("downcast", swizzled, n)
    assert wide is None or definitions.is_upcast(swizzled, n, wide)
    assert narrow is None or definitions.is_downcast(swizzled, n, narrow)


@example(CuteLayout(8, 1), CuteLayout(8, 1), Swizzle(0, 4, 3), 64)
@given(layouts(), layouts(), SWIZZLES, st.sampled_from((0, 0, 8)))
def test_common_layouts_of_swizzled_ones(a: CuteLayout, b: CuteLayout, swizzle: Swizzle, offset: int) -> None:
    first, second = cute.composition(swizzle, offset, a), cute.composition(swizzle, offset, b)
    for one, other in ((first, b), (a, second), (first, second)):
        found = answer("max_common_layout", one, other)
        if found is not None:
            places = values(found)
            order = [
                swizzled(swizzle, offset + i) if one is first and other is second else i for i in range(len(places))
            ]
            assert [value(one, x) for x in places] == [value(other, x) for x in places] == order


def swizzled(swizzle: Swizzle, x: int) -> int:
    return definitions.swizzle((swizzle.bits, swizzle.base, swizzle.shift), x)


@given(layouts(most=60), layouts(most=36))
def test_coordinates_compose_like_the_layouts_that_they_are_coordinates_of(a: CuteLayout, b: CuteLayout) -> None:
    identity = cute.make_identity_layout(a.shape)
    through = answer("composition", identity, b)
    if through is None or any(value(b, i) >= a.size for i in range(b.size)):
        return
    assert [moved(through(i)) for i in range(b.size)] == [moved(identity(value(b, i))) for i in range(b.size)]
    found = answer("composition", a, through)
    if found is not None:
        assert values(found) == [value(a, value(b, i)) for i in range(b.size)]


def moved(coordinate: Any, mode: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """Where a coordinate is not 0: a layout without strides along a mode does not name it."""
    if isinstance(coordinate, tuple):
        return {at: x for k, part in enumerate(coordinate) for at, x in moved(part, (*mode, k)).items()}
    return {mode: coordinate} if coordinate else {}


@given(layouts(-8), st.integers(-4, 4).filter(bool), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_values_are_texts_and_can_be_stored(a: CuteLayout, scale: int, mode: list[int]) -> None:
    basis = ScaledBasis(scale, tuple(mode))
    for layout in (a, CuteLayout((4, 2), (basis, 0)), CuteLayout((2, (2, 3)), (0, (basis, 2 * basis)))):
        assert cute.parse_cute(str(layout)) == layout
        assert pickle.loads(pickle.dumps(layout)) == layout
        assert hash(cute.parse_cute(str(layout))) == hash(layout)
