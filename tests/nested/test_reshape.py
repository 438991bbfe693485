"""Reshaping a nested layout: every thread keeps its elements, in its registers' order, checked thread by thread."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core import CompositionError, ConversionError, DistributionError
from layoutalg.nested import NestedLayoutAttr, parse_nested
from layoutalg.nested.coordinates import thread_map


def elements(attr: NestedLayoutAttr, subgroup_size: int, threads: int) -> np.ndarray:
    """The row-major number of the element in each register of each thread."""
    held = thread_map(attr, range(threads), subgroup_size)
    return np.ravel_multi_index(tuple(np.moveaxis(held, -1, 0)), attr.shape)


def random_covering(rng: random.Random) -> NestedLayoutAttr:
    """A nested layout of rank 1 to 3 that covers its tensor, with gaps and orders of its own."""
    rank = rng.randint(1, 3)
    subgroup_tile, thread_tile, tiles = [1] * rank, [1] * rank, [[1] * rank for _ in range(3)]
    for tile, choices in ((subgroup_tile, (1, 1, 2, 3)), (thread_tile, (1, 2, 4, 4, 8, 3))):
        for d in range(rank):
            tile[d] = rng.choice(choices)
    for tile in tiles:
        for d in range(rank):
            tile[d] = rng.choice((1, 1, 1, 2, 2, 3, 4))
    strides: list[list[int]] = []
    for tile in (subgroup_tile, thread_tile):
        own, place = [0] * rank, 1
        for d in rng.sample(range(rank), rank):
            place *= rng.choice((1, 1, 1, 1, 2))
            own[d] = place
            place *= tile[d]
        strides.append(own)
    lists = (subgroup_tile, *tiles[:2], thread_tile, tiles[2], *strides)
    return NestedLayoutAttr(*map(tuple, lists))


def random_shape(rng: random.Random, count: int) -> tuple[int, ...]:
    shape: list[int] = []
    for _ in range(rng.randint(0, 3)):
        shape.append(rng.choice([n for n in range(1, min(count, 64) + 1) if count % n == 0]))
        count //= shape[-1]
    return (*shape, count)


@pytest.mark.slow
def test_two_thousand_random_reshapes_keep_every_element_where_it_is() -> None:
    rng = random.Random(11)
    kept = asked = 0
    while kept < 2_000:
        attr = random_covering(rng)
        shape = random_shape(rng, prod(attr.shape))
        asked += 1
        try:
            reshaped = attr.reshape(shape)
        except (CompositionError, ConversionError):
            continue
        assert reshaped.shape == shape
        reach = max(n * s for n, s in zip(attr.thread_tile, attr.thread_strides, strict=True))
        groups = max(n * s for n, s in zip(attr.subgroup_tile, attr.subgroup_strides, strict=True))
        size = rng.choice((reach or 1, 2 * reach or 1, 64, 1, 2, 3, 5, 8))
        threads = size * max(1, groups)
        assert np.array_equal(elements(attr, size, threads), elements(reshaped, size, threads)), (str(attr), shape)
        kept += 1
    assert asked < 40_000


@pytest.mark.slow
def test_what_is_refused_has_no_nested_layout() -> None:
    """By brute force on 8 elements: none of all nested layouts of the new shape means what a refused reshape should."""
    tiles = [(s, b, o, t, e) for s in (1, 2) for b in (1, 2, 4) for o in (1, 2) for t in (1, 2, 4) for e in (1, 2, 4)]
    refused = 0
    rng = random.Random(3)
    by_shape = {(2, 4): _all_nested(tiles, (2, 4)), (4, 2): _all_nested(tiles, (4, 2)), (8,): _all_nested(tiles, (8,))}
    for _ in range(400):
        old, new = rng.sample(sorted(by_shape), 2)
        attr = rng.choice(by_shape[old])
        try:
            attr.reshape(new)
        except DistributionError:
            continue
        except (CompositionError, ConversionError):
            refused += 1
            assert all(both_sizes(one) != both_sizes(attr) for one in by_shape[new]), str(attr)
    assert refused > 20


def both_sizes(attr: NestedLayoutAttr) -> list[list[list[int]]]:
    """An attribute means something for every subgroup size; here for 8 and 16."""
    return [elements(attr, size, 2 * size).tolist() for size in (8, 16)]


def _all_nested(tiles: list[tuple[int, ...]], shape: tuple[int, ...]) -> list[NestedLayoutAttr]:
    from itertools import product

    found: list[NestedLayoutAttr] = []
    choices = [[t for t in tiles if prod(t) == n] for n in shape]
    for columns in product(*choices):
        s, b, o, t, e = zip(*columns, strict=True)
        for strides in product((1, 2, 4), repeat=len(shape)):
            subgroup = tuple(1 if n > 1 else 0 for n in s)
            own = tuple(x if n > 1 else 0 for n, x in zip(t, strides, strict=True))
            if sum(n > 1 for n in s) < 2:
                found.append(NestedLayoutAttr(s, b, o, t, e, subgroup, own))
    return list(dict.fromkeys(found))


def test_iree_miscompiles_this_16x64_to_32x32() -> None:
    """iree-opt 3.13.0 gives the second layout for a shape_cast of the first, and distributes it without a word.

    Its threads then hold other elements than before. Ours says that no nested layout means it.
    """
    before = parse_nested(
        "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 2], outer_tile = [2, 1], "
        "thread_tile = [8, 8], element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [1, 8]>"
    )
    from_iree = parse_nested(
        "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 1], outer_tile = [2, 1], "
        "thread_tile = [8, 8], element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [1, 8]>"
    )
    assert (before.shape, from_iree.shape) == ((16, 64), (32, 32))
    assert before.distributed_shape == (1, 2, 2, 1, 1, 4)
    assert (elements(before, 64, 64) != elements(from_iree, 64, 64)).any()
    meaning = before.layout((16, 64)).reshape((32, 32))
    answer = la.same(meaning, from_iree, shape=(32, 32), subgroup_size=64)
    assert not answer
    assert str(answer).startswith("element (1, 0) is in lane 0, register 8 in the first and in lane 1, register 0")
    with pytest.raises(ConversionError):
        before.reshape((32, 32))


def test_a_16x64_to_32x32_that_there_is() -> None:
    before = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (16, 4), (1, 16), (0, 0), (4, 1))
    after = before.reshape((32, 32))
    assert after == NestedLayoutAttr((1, 1), (1, 1), (1, 1), (32, 2), (1, 16), (0, 0), (2, 1))
    assert np.array_equal(elements(before, 64, 64), elements(after, 64, 64))


def test_a_layout_that_covers_nothing_is_not_reshaped() -> None:
    with pytest.raises(DistributionError, match="stride 0"):
        NestedLayoutAttr((1,), (1,), (1,), (4,), (4,), (0,), (0,)).reshape((4, 4))
