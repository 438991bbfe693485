"""The laws of the algebra, each against brute-force enumeration of the relation, on mixed-radix sizes."""

from __future__ import annotations

import pickle
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from layoutalg.core import (
    CompositionError,
    Factor,
    Layout,
    LayoutError,
    Table,
    compose,
    compose_exactly,
    index_function,
)
from tests.laws.relations import composed, covering_layouts, point, relation, strided_layouts
from tests.sampling import examples

settings.register_profile("laws", max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("laws")

any_layout = covering_layouts() | strided_layouts()


@given(any_layout)
def test_text_form_is_read_back_as_it_was_printed(layout: Layout) -> None:
    again = Layout.parse(str(layout))
    assert again == layout
    assert str(again) == str(layout)
    assert relation(again) == relation(layout)


@given(any_layout)
def test_pickle_keeps_value_and_hash(layout: Layout) -> None:
    again = pickle.loads(pickle.dumps(layout))
    assert again == layout
    assert hash(again) == hash(layout)
    assert str(again) == str(layout)


@given(any_layout)
def test_canonical_form_is_the_same_relation(layout: Layout) -> None:
    assert relation(layout.canonical()) == relation(layout)
    assert layout.canonical() == layout


@given(strided_layouts(), strided_layouts())
def test_equal_means_the_same_relation(a: Layout, b: Layout) -> None:
    same = a.rank == b.rank and a.shape == b.shape and relation(a) == relation(b)
    assert (a == b) == same
    if same:
        assert hash(a) == hash(b)


@given(strided_layouts(), st.data())
def test_equal_after_digits_are_split_and_replicas_shuffled(layout: Layout, data: st.DataObject) -> None:
    def split(f: Factor) -> list[Factor]:
        low = data.draw(st.sampled_from([d for d in range(1, f.extent + 1) if f.extent % d == 0]))
        return [Factor(f.extent // low, f.stride * low, f.axis), Factor(low, f.stride, f.axis)]

    dims = [[part for f in factors for part in split(f)] for factors in layout.dims]
    replicas = data.draw(st.permutations([part for f in layout.replicas for part in split(f)]))
    again = Layout(dims, replicas, layout.offsets)
    assert again == layout
    assert hash(again) == hash(layout)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 7)), max_size=3), st.data())
def test_overlapping_replicas_are_equal_exactly_when_they_reach_the_same_places(
    digits: list[tuple[int, int]], data: st.DataObject
) -> None:
    others = data.draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 7)), max_size=3))
    a = Layout([[]], [(n, s, "reg") for n, s in digits])
    b = Layout([[]], [(n, s, "reg") for n, s in others])
    assert (a == b) == (relation(a) == relation(b))
    if a == b:
        assert hash(a) == hash(b)


@given(covering_layouts())
def test_inverse_swaps_the_two_sides(layout: Layout) -> None:
    assert relation(layout.inverse()) == {(y, x) for x, y in relation(layout)}


@given(covering_layouts())
def test_inverse_is_an_involution(layout: Layout) -> None:
    assert layout.inverse().inverse() == layout
    assert layout.inverse().inverse().names == layout.names


@given(strided_layouts())
def test_inverse_of_a_gap_or_an_overlap_is_an_error_that_names_the_axis(layout: Layout) -> None:
    counts: dict[str, list[tuple[int, int]]] = {}
    for f in (*(f for factors in layout.dims for f in factors), *layout.replicas):
        if f.axis is not None and f.extent > 1:
            counts.setdefault(f.axis, []).append((f.stride, f.extent))
    broken = set()
    for axis, digits in counts.items():
        place = 1
        for stride, extent in sorted(digits):
            if stride != place:
                broken.add(axis)
            place *= extent
    if not broken:
        assert relation(layout.inverse()) == {(y, x) for x, y in relation(layout)}
    else:
        with pytest.raises(LayoutError, match=rf"axis '({'|'.join(broken)})' has (a gap|an overlap)"):
            layout.inverse()


@given(covering_layouts(axes=("d0", "d1"), most=60, offsets=False), covering_layouts(most=60, rank=2))
def test_composition_is_relation_composition(inner: Layout, outer: Layout) -> None:
    assume(all(inner.axes.get(n, 1) <= s for n, s in zip(outer.names, outer.shape, strict=True)))
    expected = composed(relation(outer), relation(inner))
    try:
        found = compose(outer, inner)
    except CompositionError:
        found = None
    if found is not None:
        assert relation(found) == expected
    exact = compose_exactly(outer, inner)
    table = Table.of(exact) if isinstance(exact, Layout) else exact
    pairs = {
        (point(dict(zip(table.names, x, strict=True))), point(dict(zip(table.axes, y, strict=True))))
        for x, y in zip(table.domain.tolist(), table.codomain.tolist(), strict=True)
    }
    assert pairs == expected


@given(strided_layouts(axes=("d0", "d1"), most=40), covering_layouts(most=300, rank=2))
def test_composition_with_any_strides_is_right_or_refused(inner: Layout, outer: Layout) -> None:
    try:
        found = compose(outer, inner)
    except CompositionError:
        return
    assert relation(found) == composed(relation(outer), relation(inner))


@given(covering_layouts(extents=(2, 4, 8), axes=("d0",), most=64, offsets=False), st.data())
def test_composition_of_powers_of_two_always_has_a_closed_form(inner: Layout, data: st.DataObject) -> None:
    outer = data.draw(covering_layouts(extents=(2, 4, 8), most=256, rank=1))
    assume(inner.axes.get("d0", 1) <= outer.shape[0])
    assert relation(compose(outer, inner)) == composed(relation(outer), relation(inner))


@given(covering_layouts(most=24, rank=2), covering_layouts(most=24, rank=2))
def test_block_product_is_outer_over_blocks_plus_inner_inside(a: Layout, b: Layout) -> None:
    reach = b.spans()
    expected = set()
    for x, y in relation(a):
        for u, v in relation(b):
            at = {n: dict(x).get(n, 0) * s + dict(u).get(n, 0) for n, s in zip(b.names, b.shape, strict=True)}
            axes = {*dict(y), *dict(v)}
            place = {axis: dict(y).get(axis, 0) * reach.get(axis, 1) + dict(v).get(axis, 0) for axis in axes}
            expected.add((point(at), point(place)))
    assert relation(a * b) == expected


@given(covering_layouts(most=12, rank=2), covering_layouts(most=12, rank=2), covering_layouts(most=12, rank=2))
def test_block_product_is_associative_and_has_an_identity(a: Layout, b: Layout, c: Layout) -> None:
    assert (a * b) * c == a * (b * c)
    one = Layout([[], []])
    assert one * a == a
    assert a * one == a


@given(covering_layouts(), st.data())
def test_permute_reorders_coordinates(layout: Layout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(layout.rank)))
    found = layout.permute(order)
    assert found.shape == tuple(layout.shape[d] for d in order)
    for axis in layout.codomain:
        assert np.array_equal(found.owner_map(axis), layout.owner_map(axis).transpose(order))
    assert {y for _, y in relation(found)} == {y for _, y in relation(layout)}


@given(covering_layouts(), st.data())
def test_reshape_keeps_the_row_major_order_of_elements(layout: Layout, data: st.DataObject) -> None:
    total = prod(layout.shape)
    rows = data.draw(st.sampled_from([d for d in range(1, total + 1) if total % d == 0]))
    try:
        found = layout.reshape((rows, total // rows))
    except CompositionError:
        return
    for axis in layout.codomain:
        assert np.array_equal(found.owner_map(axis), layout.owner_map(axis).reshape(rows, total // rows))
    assert found.reshape(layout.shape) == layout or layout.origins != (0,) * layout.rank


@given(covering_layouts(), st.data())
def test_slice_keeps_the_lanes_of_a_dimension_as_replicas_and_drops_its_registers(
    layout: Layout, data: st.DataObject
) -> None:
    dim = data.draw(st.integers(0, layout.rank - 1))
    found = layout.slice(dim)
    sizes = layout.shape[:dim] + layout.shape[dim + 1 :]
    assert found.shape == sizes
    # Who holds x after the slice: the subgroups and lanes that hold some (x, t) before, whatever t.
    before: dict[object, set[object]] = {}
    for x, y in relation(layout):
        kept = frozenset((n if int(n[1:]) < dim else f"d{int(n[1:]) - 1}", v) for n, v in x if n != f"d{dim}")
        before.setdefault(kept, set()).add(frozenset((a, v) for a, v in y if a != "reg"))
    after: dict[object, set[object]] = {}
    for x, y in relation(found):
        after.setdefault(x, set()).add(frozenset((a, v) for a, v in y if a != "reg"))
    assert after == before
    # The registers count without a gap again: the inverse exists.
    assert found.inverse().inverse() == found


@given(covering_layouts(rank=2), st.data())
def test_broadcast_then_slice_is_where_it_began(layout: Layout, data: st.DataObject) -> None:
    dim = data.draw(st.integers(0, 2))
    wide = layout.broadcast(dim, data.draw(st.sampled_from((1, 2, 3))))
    assert wide.rank == 3
    assert wide.slice(dim) == layout


@given(covering_layouts(most=60, rank=2), st.data())
def test_divide_and_restrict_agree_on_every_tile(layout: Layout, data: st.DataObject) -> None:
    tile = [data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0])) for n in layout.shape]
    try:
        split = layout.divide(tile)
        part = layout.restrict(0, tile[0] * (layout.shape[0] // tile[0] - 1), tile[0])
    except CompositionError:
        return
    for axis in layout.codomain:
        whole = layout.owner_map(axis)
        blocks = whole.reshape(layout.shape[0] // tile[0], tile[0], layout.shape[1] // tile[1], tile[1])
        assert np.array_equal(split.owner_map(axis), blocks.transpose(0, 2, 1, 3))
        assert np.array_equal(part.owner_map(axis), whole[-tile[0] :])


@given(covering_layouts(most=60, rank=2), st.integers(1, 3), st.integers(1, 3))
def test_tile_repeats_the_layout_along_registers(layout: Layout, rows: int, columns: int) -> None:
    wide = layout.tile((rows, columns))
    registers = layout.spans().get("reg", 1)
    step = np.arange(rows)[:, None] * columns + np.arange(columns)
    blocks = np.kron(step * registers, np.ones(layout.shape, int))
    start = layout.offsets.get("reg", 0)
    assert np.array_equal(
        wide.owner_map("reg") - start, np.tile(layout.owner_map("reg") - start, (rows, columns)) + blocks
    )
    assert np.array_equal(wide.owner_map("lane"), np.tile(layout.owner_map("lane"), (rows, columns)))


@given(covering_layouts())
def test_owner_maps_and_owners_list_the_relation(layout: Layout) -> None:
    pairs = relation(layout)
    lowest = {axis: layout.owner_map(axis) for axis in layout.codomain}
    for x in np.ndindex(layout.shape):
        at = point(dict(zip(layout.names, x, strict=True)))
        expected = sorted(tuple(dict(y).get(a, 0) for a in layout.codomain) for p, y in pairs if p == at)
        assert layout.owners(x) == expected
        for i, axis in enumerate(layout.codomain):
            assert lowest[axis][x] == min(owner[i] for owner in expected)
    assert Table.of(layout) == Table.of(layout.canonical())


@given(any_layout)
def test_fragment_map_lists_the_relation_slot_by_slot(layout: Layout) -> None:
    slots: dict[object, list[object]] = {}
    for x, y in relation(layout):
        slots.setdefault(y, []).append(x)
    if any(len(held) > 1 for held in slots.values()):
        with pytest.raises(LayoutError, match="one slot holds"):
            layout.fragment_map()
        return
    found = layout.fragment_map()
    starts = [layout.offsets.get(axis, 0) for axis in layout.codomain]
    for place in np.ndindex(found.shape[:-1]):
        at = point({axis: int(p) + s for axis, p, s in zip(layout.codomain, place, starts, strict=True)})
        held = slots.get(at)
        if held is None:
            assert (found[place] == -1).all()
        else:
            assert point(dict(zip(layout.names, map(int, found[place]), strict=True))) == held[0]


@given(covering_layouts(offsets=False))
def test_expressions_evaluate_to_the_maps(layout: Layout) -> None:
    assume(layout.rank > 0)
    grid = np.indices(layout.shape)
    for axis, value in zip(layout.codomain, index_function(layout)(*grid), strict=True):
        assert np.array_equal(np.broadcast_to(value, layout.shape), layout.owner_map(axis))
    inverse = layout.inverse()
    if not inverse.replicas:
        slots = np.indices(inverse.shape)
        values = [np.broadcast_to(v, inverse.shape) for v in index_function(inverse)(*slots)]
        assert np.array_equal(np.stack(values, -1), layout.fragment_map())
