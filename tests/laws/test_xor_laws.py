"""The laws of the algebra for layouts with XOR, each against the enumeration of its definition."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np
import pytest

from layoutalg.core import CompositionError, Layout, LayoutError, Table, block_product, compose, index_function
from layoutalg.core.distributing import collect, distribute
from layoutalg.core.fragments import places
from tests.laws.relations import Point, composed, point
from tests.laws.xor import covering, relation, spread

PARTS = 20
EACH = 250 if os.environ.get("LAYOUTALG_EXHAUSTIVE") else 8
"""Layouts for each law and part: 5,000 or 160 for each of 20 laws."""


def _rng(law: str, part: int, i: int) -> random.Random:
    return random.Random(f"{law} {part} {i}")


def _laws(law: Callable[[random.Random], None]) -> Callable[[random.Random], None]:
    LAWS[law.__name__] = law
    return law


LAWS: dict[str, Callable[[random.Random], None]] = {}


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("law", [
    "text", "pickles", "canonical", "inverse", "involution", "composition", "any_composition", "binary_composition",
    "product", "permute", "reshape", "slice", "broadcast", "divide", "restrict", "tile", "owners", "maps", "tables",
    "expressions", "dealt",
])  # fmt: skip
def test_law(law: str, part: int) -> None:
    for i in range(EACH):
        LAWS[law](_rng(law, part, i))


@_laws
def text(rng: random.Random) -> None:
    layout = covering(rng)
    assert Layout.parse(str(layout)) == layout
    assert relation(Layout.parse(str(layout))) == relation(layout)


@_laws
def pickles(rng: random.Random) -> None:
    layout = covering(rng)
    again = pickle.loads(pickle.dumps(layout))
    assert again == layout
    assert hash(again) == hash(layout)
    assert str(again) == str(layout)


@_laws
def canonical(rng: random.Random) -> None:
    layout = spread(rng) or covering(rng)
    form = layout.canonical()
    assert relation(form) == relation(layout)
    assert form == layout
    assert hash(form) == hash(layout)
    assert form.canonical() is form


@_laws
def inverse(rng: random.Random) -> None:
    layout = covering(rng)
    assert relation(layout.inverse()) == {(y, x) for x, y in relation(layout)}


@_laws
def involution(rng: random.Random) -> None:
    layout = covering(rng)
    back = layout.inverse().inverse()
    assert back == layout
    assert hash(back) == hash(layout)


@_laws
def composition(rng: random.Random) -> None:
    outer = covering(rng, most=64, rank=2)
    inner = covering(rng, axes=("d0", "d1"), most=16, offsets=False)
    _compose(outer, inner)


@_laws
def any_composition(rng: random.Random) -> None:
    outer = spread(rng, ("lane", "reg")) or covering(rng, rank=2)
    inner = spread(rng, ("d0", "d1")) or covering(rng, axes=("d0", "d1"), most=16)
    _compose(outer, inner)


def _compose(outer: Layout, inner: Layout) -> None:
    try:
        found = compose(outer, inner)
    except CompositionError:
        return
    assert relation(found) == composed(relation(outer), relation(inner))


@_laws
def binary_composition(rng: random.Random) -> None:
    """Where all digits are powers of two and all is in range, there is a closed form."""
    rank = rng.randint(1, 2)
    outer = covering(rng, most=64, rank=rank, odd=False)
    bits = [
        (name, 1 << i)
        for name, size in zip(outer.names, outer.shape, strict=True)
        for i in range(int(size).bit_length() - 1)
    ]
    rng.shuffle(bits)
    rows = [{one} for one in bits]
    for _ in range(rng.randint(0, 4) if len(rows) > 1 else 0):
        one, other = rng.sample(range(len(rows)), 2)
        rows[one] = rows[one] ^ rows[other]
    inner = Layout([[(2, 1, sorted(row)) for row in rows]])
    assert relation(compose(outer, inner)) == composed(relation(outer), relation(inner))


@_laws
def product_(rng: random.Random) -> None:
    a, b = covering(rng, most=16, rank=2), covering(rng, most=16, rank=2)
    found = relation(block_product(a, b))
    reach = b.spans()
    wanted: set[tuple[Point, Point]] = set()
    for x, y in relation(a):
        for u, v in relation(b):
            at = {n: dict(x).get(n, 0) * s + dict(u).get(n, 0) for n, s in zip(a.names, b.shape, strict=True)}
            axes = {*dict(y), *dict(v)}
            wanted.add((point(at), point({n: dict(y).get(n, 0) * reach.get(n, 1) + dict(v).get(n, 0) for n in axes})))
    assert found == wanted


LAWS["product"] = LAWS.pop("product_")


@_laws
def permute(rng: random.Random) -> None:
    layout = covering(rng)
    order = rng.sample(range(layout.rank), layout.rank)
    found = layout.permute(order)
    for x in product(*map(range, found.shape)):
        assert found.owners(x) == layout.owners([x[order.index(d)] for d in range(layout.rank)])


@_laws
def reshape(rng: random.Random) -> None:
    layout = covering(rng, odd=False)
    size = prod(layout.shape)
    shape = [size]
    while shape[-1] % 2 == 0 and rng.random() < 0.7:
        shape[-1:] = [2, shape[-1] // 2]
    found = layout.reshape(shape)
    for flat in range(size):
        assert found.owners([int(c) for c in np.unravel_index(flat, shape)]) == layout.owners(
            [int(c) for c in np.unravel_index(flat, layout.shape)]
        )


@_laws
def slice(rng: random.Random) -> None:
    layout = covering(rng, offsets=False)
    dim = rng.randrange(layout.rank)
    found = layout.slice(dim)
    held: dict[Point, set[tuple[int, int, tuple[Point, ...]]]] = {}
    for x, y in relation(layout):
        place = dict(y)
        at = point({n: c for n, c in x if n != layout.names[dim]})
        held.setdefault(at, set()).add((place.get("sg", 0), place.get("lane", 0), ()))
    kept = [n for n in layout.names if n != layout.names[dim]]
    renamed = dict(zip(kept, found.names, strict=True))
    again: dict[Point, set[tuple[int, int, tuple[Point, ...]]]] = {}
    for x, y in relation(found):
        place = dict(y)
        again.setdefault(x, set()).add((place.get("sg", 0), place.get("lane", 0), ()))
    assert again == {point({renamed[n]: c for n, c in x}): who for x, who in held.items()}


@_laws
def broadcast(rng: random.Random) -> None:
    layout = covering(rng, most=64)
    dim, size = rng.randint(0, layout.rank), rng.randint(1, 4)
    found = layout.broadcast(dim, size)
    for x in product(*map(range, found.shape)):
        assert found.owners(x) == layout.owners(x[:dim] + x[dim + 1 :])


@_laws
def divide(rng: random.Random) -> None:
    layout = covering(rng, most=64)
    tile = [rng.choice([n for n in range(1, size + 1) if size % n == 0]) for size in layout.shape]
    try:
        found = layout.divide(tile)
    except CompositionError:
        assert any(n & (n - 1) for n in (*tile, *layout.shape))
        return
    for x in product(*map(range, found.shape)):
        whole = [a * n + b for a, n, b in zip(x[: layout.rank], tile, x[layout.rank :], strict=True)]
        assert found.owners(x) == layout.owners(whole)


@_laws
def restrict(rng: random.Random) -> None:
    layout = covering(rng)
    dim = rng.randrange(layout.rank)
    whole = layout.shape[dim]
    size = rng.randint(1, whole)
    start = rng.randint(0, whole - size)
    if rng.random() < 0.5:
        size = 1 << rng.randrange(whole.bit_length())
        start = rng.randrange(max(1, whole // size)) * size
    try:
        found = layout.restrict(dim, start, size)
    except CompositionError:
        assert size & (size - 1) or start % size or whole & (whole - 1)
        return
    for x in product(*map(range, found.shape)):
        assert found.owners(x) == layout.owners([c + start * (d == dim) for d, c in enumerate(x)])


@_laws
def tile(rng: random.Random) -> None:
    layout = covering(rng, most=32, offsets=False)
    repeats = [rng.randint(1, 3) for _ in range(layout.rank)]
    found = layout.tile(repeats)
    reach = layout.spans().get("reg", 1)
    column = layout.codomain.index("reg")
    for x in product(*map(range, found.shape)):
        block = int(np.ravel_multi_index([c // s for c, s in zip(x, layout.shape, strict=True)], repeats))
        inside = layout.owners([c % s for c, s in zip(x, layout.shape, strict=True)])
        moved = [(*p[:column], p[column] + block * reach, *p[column + 1 :]) for p in inside]
        assert found.owners(x) == moved


@_laws
def owners(rng: random.Random) -> None:
    layout = spread(rng) or covering(rng)
    held: dict[Point, list[tuple[int, ...]]] = {}
    for x, y in relation(layout):
        held.setdefault(x, []).append(tuple(dict(y).get(axis, 0) for axis in layout.codomain))
    maps = {axis: layout.owner_map(axis) for axis in layout.codomain}
    grid = np.indices(layout.shape)
    at = places(layout, list(grid)) if layout.rank else {}
    for x in product(*map(range, layout.shape)):
        found = layout.owners(x)
        assert found == sorted(held[point(dict(zip(layout.names, x, strict=True)))])
        assert tuple(int(maps[axis][x]) for axis in layout.codomain) == found[0]
        assert all(int(at[axis][x]) == found[0][i] for i, axis in enumerate(layout.codomain)) or not layout.rank


@_laws
def maps(rng: random.Random) -> None:
    layout = covering(rng) if rng.random() < 0.6 else spread(rng, ("lane", "reg")) or covering(rng)
    held: dict[Point, set[Point]] = {}
    for x, y in relation(layout):
        held.setdefault(y, set()).add(x)
    crowded = any(len(elements) > 1 for elements in held.values())
    try:
        found = layout.fragment_map()
    except LayoutError as error:
        assert crowded, error
        return
    assert not crowded
    starts, seen = layout.offsets, set()
    for slot in product(*map(range, found.shape[:-1])):
        y = point({a: starts.get(a, 0) + s for a, s in zip(layout.codomain, slot, strict=True)})
        element = tuple(found[slot].tolist())
        if y in held:
            assert held[y] == {point(dict(zip(layout.names, element, strict=True)))}
            seen.add(y)
        else:
            assert set(element) <= {-1}
    assert seen == set(held)
    part = {"lane": rng.randrange(found.shape[layout.codomain.index("lane")]) + starts.get("lane", 0)}
    kept = np.take(found, [part["lane"] - starts.get("lane", 0)], layout.codomain.index("lane"))
    assert np.array_equal(layout.fragment_map(**part), kept)


@_laws
def tables(rng: random.Random) -> None:
    layout = spread(rng) or covering(rng)
    table = Table.of(layout)
    pairs = {
        (point(dict(zip(table.names, x, strict=True))), point(dict(zip(table.axes, y, strict=True))))
        for x, y in zip(table.domain.tolist(), table.codomain.tolist(), strict=True)
    }
    assert pairs == relation(layout)
    assert len(table.domain) == len(pairs)


@_laws
def expressions(rng: random.Random) -> None:
    layout = covering(rng, most=32)
    function = index_function(layout)
    for x in product(*map(range, layout.shape)):
        assert tuple(function(*x)) == layout.owners(x)[0]


@_laws
def dealt(rng: random.Random) -> None:
    layout = covering(rng, offsets=False)
    tensor = np.arange(1, 1 + prod(layout.shape)).reshape(layout.shape)
    try:
        held = distribute(layout, tensor)
    except LayoutError:
        return
    for x in product(*map(range, layout.shape)):
        for place in layout.owners(x):
            assert held[place] == tensor[x]
    assert np.array_equal(collect(layout, held), tensor)


@pytest.mark.parametrize("part", range(PARTS))
def test_equal_means_the_same_relation(part: int) -> None:
    """In tiny classes two layouts are `==` exactly when their relations are equal, and then hash and text agree."""
    rng = random.Random(part)
    seen: dict[tuple[int, frozenset[tuple[Point, Point]]], list[Layout]] = {}
    by_value: dict[Layout, frozenset[tuple[Point, Point]]] = {}
    for _ in range(40 * EACH):
        layout = spread(rng)
        if layout is None:
            continue
        pairs = frozenset(relation(layout))
        assert by_value.setdefault(layout, pairs) == pairs, layout
        seen.setdefault((layout.rank, pairs), []).append(layout)
    for group in seen.values():
        for layout in group[1:]:
            assert layout == group[0], (layout, group[0])
            assert hash(layout) == hash(group[0]), (layout, group[0])
