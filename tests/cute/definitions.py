"""What CuTe's operations mean, by enumeration: nothing here asks the package how to compute anything.

A layout is read off its shape and stride alone. `holds(operation, arguments, result)` says whether a result is what the
operation's definition demands, coordinate by coordinate; `exists` whether any layout of a shape has given values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from math import prod
from typing import Any


def leaves(shape: Any, stride: Any) -> list[tuple[int, Any]]:
    if isinstance(shape, tuple):
        return [leaf for n, s in zip(shape, stride, strict=True) for leaf in leaves(n, s)]
    return [(shape, stride)]


def size(shape: Any) -> int:
    return prod(map(size, shape)) if isinstance(shape, tuple) else shape


def at(shape: Any, stride: Any, index: int) -> int:
    """The value at a number: column-major digits; the last leaf runs on, and below 0 all is mirrored."""
    if index < 0:
        return -at(shape, stride, -index)
    flat = leaves(shape, stride)
    total = 0
    for n, s in flat[:-1]:
        total += index % n * s
        index //= n
    return total + index * flat[-1][1] if flat else total


def swizzle(triple: tuple[int, int, int] | None, x: int) -> int:
    if triple is None:
        return x
    bits, base, shift = triple
    for k in range(bits):
        read, changed = (base + k + shift, base + k) if shift >= 0 else (base + k, base + k - shift)
        x ^= (x >> read & 1) << changed
    return x


def value(layout: Any, index: int) -> int:
    return swizzle(layout.swizzle, layout.offset + at(layout.shape, layout.stride, index))


def values(layout: Any) -> list[int]:
    return [value(layout, i) for i in range(size(layout.shape))]


def refines(fine: Any, coarse: Any) -> bool:
    """Whether every coordinate of one shape is one of the other: equal, or an extent taken apart."""
    if isinstance(coarse, tuple):
        return isinstance(fine, tuple) and len(fine) == len(coarse) and all(map(refines, fine, coarse))
    return size(fine) == coarse


@cache
def factorizations(n: int) -> tuple[tuple[int, ...], ...]:
    """All ways to write an extent as ordered factors over 1."""
    if n == 1:
        return ((),)
    return tuple((d, *rest) for d in range(2, n + 1) if n % d == 0 for rest in factorizations(n // d))


def is_a_mode(found: list[int]) -> bool:
    """Whether the values of one leaf are digits times strides, tried for all factorizations."""
    for factors in factorizations(len(found)):
        place, strides = 1, []
        for n in factors:
            strides.append(found[place])
            place *= n
        if all(at(factors or 1, tuple(strides) or 0, i) == found[i] for i in range(len(found))):
            return True
    return False


def exists(found: list[int], shape: Any) -> bool:
    """Whether a layout whose shape refines `shape` has these values: each leaf by itself, and their sums."""
    extents = [n for n, _ in leaves(shape, shape)]
    places = [prod(extents[:k]) for k in range(len(extents))]
    alone = [[found[t * place] for t in range(n)] for n, place in zip(extents, places, strict=True)]
    for digits in product(*map(range, extents)):
        index = sum(d * place for d, place in zip(digits, places, strict=True))
        if found[index] != sum(one[d] for one, d in zip(alone, digits, strict=True)):
            return False
    return all(map(is_a_mode, alone))


def modes(layout: Any) -> Iterator[tuple[Any, Any]]:
    return (
        zip(layout.shape, layout.stride, strict=True)
        if isinstance(layout.shape, tuple)
        else iter([(layout.shape, layout.stride)])
    )


def is_composition(a: Any, b: Any, result: Any) -> bool:
    """R(i) = A(B(i)), and the shape of R refines B's."""
    return refines(result.shape, b.shape) and values(result) == [value(a, value(b, i)) for i in range(size(b.shape))]


def is_coalesced(layout: Any, result: Any) -> bool:
    """The same values, no extent 1 (but 1:0 alone), no neighbours that merge."""
    flat = leaves(result.shape, result.stride)
    depth_one = not isinstance(result.shape, tuple) or all(isinstance(n, int) for n in result.shape)
    fewest = all(n != 1 for n, _ in flat) or flat == [(1, 0)]
    apart = all(n * s != t for (n, s), (_, t) in pairwise(flat))
    return depth_one and fewest and apart and values(result) == values(layout)


def is_complement(layout: Any, high: int, result: Any) -> bool:
    """Increasing from 0, every sum once, as many sums as indices below `high`; all of these, where places fill the gaps."""
    image, rest = sorted(set(values(layout))), values(result)
    sums = {x + y for x in image for y in rest}
    once = injective(layout) and rest == sorted(set(rest)) and rest[0] == 0 and len(sums) == len(image) * len(rest)
    places = left_out(layout, high)
    if places is None:
        return once and len(sums) >= high
    # The size of a complement is a product: it may go on after the last place that is needed, by less than its last digit.
    n, s = leaves(result.shape, result.stride)[-1]
    return once and rest[: len(places)] == places and (n == 1 or places[-1] >= (n - 1) * s)


def is_right_inverse(layout: Any, result: Any) -> bool:
    return all(value(layout, value(result, i)) == i for i in range(size(result.shape)))


def is_left_inverse(layout: Any, result: Any) -> bool:
    found = values(layout)
    if len(set(found)) == len(found):  # so no stride is 0
        return all(value(result, x) == i for i, x in enumerate(found))
    return is_pseudo_inverse(layout, result)


def is_pseudo_inverse(layout: Any, result: Any) -> bool:
    return all(value(layout, value(result, x)) == x for x in values(layout))


def is_nullspace(layout: Any, result: Any) -> bool:
    zeros = prod(n for n, s in leaves(layout.shape, layout.stride) if not s)
    found = values(result)
    return len(set(found)) == len(found) == zeros and all(value(layout, x) == value(layout, 0) for x in found)


def is_upcast(layout: Any, n: int, result: Any) -> bool:
    """Exactly the wide elements that the layout touches."""
    return set(values(result)) == {x // n for x in values(layout)}


def is_downcast(layout: Any, n: int, result: Any) -> bool:
    """Exactly the narrow elements inside those of the layout."""
    return set(values(result)) == {x * n + k for x in values(layout) for k in range(n)}


def common(a: Any, b: Any) -> int:
    """How many elements from 0 on are at the same coordinates in both, contiguous in the coordinates that b gives them."""
    where_b = {x: i for i, x in reversed(list(enumerate(values(b))))}
    count = 0
    while count in where_b and where_b[count] < size(a.shape) and value(a, where_b[count]) == count:
        count += 1
    return count


def is_max_common(a: Any, b: Any, result: Any) -> bool:
    return all(value(a, value(result, i)) == i == value(b, value(result, i)) for i in range(size(result.shape)))


def left_out(layout: Any, high: int) -> list[int] | None:
    """The complement of a layout, place by place: the smallest index that is not reached yet; None where places collide.

    It may end before a complement of CuTe's does, whose size is the product of its extents.
    """
    if not injective(layout):
        return None
    image = sorted(set(values(layout)))
    reached: set[int] = set()
    found: list[int] = []
    place = 0
    while place < max(high, image[-1] + 1):
        if place not in reached:
            places = {x + place for x in image}
            if places & reached:
                return None
            reached |= places
            found.append(place)
        place += 1
    return found


def injective(layout: Any) -> bool:
    """Whether no two coordinates have one value, but for those along strides of 0."""
    count = prod(n for n, s in leaves(layout.shape, layout.stride) if s)
    return len(set(values(layout))) == count


def is_divided(a: Any, tile: Any, result: Any) -> bool:
    """At (i, j) it is A where the tile's place i and the place j that the tile leaves out add up to."""
    (n0, s0), (n1, s1) = modes(result)
    places = left_out(tile, size(a.shape))
    if places is None or size(n1) < len(places) or not refines(n0, tile.shape):
        return False
    return all(
        at(n0, s0, i) + at(n1, s1, j) == at(a.shape, a.stride, value(tile, i) + place)
        for i in range(size(n0))
        for j, place in enumerate(places)
    )


def is_product(block: Any, tiler: Any, result: Any) -> bool:
    """Mode 0 is the block; its copies are at the places that the block leaves out, of which the tiler says the number.

    Where those do not fill all gaps of the block: at places that grow with the tiler's number and keep the copies apart.
    """
    (n0, s0), (n1, s1) = modes(result)
    order = [value(tiler, i) for i in range(size(tiler.shape))]
    across = [at(n1, s1, i) for i in range(size(n1))]
    if not injective(block) or (n0, s0) != (block.shape, block.stride) or not refines(n1, tiler.shape):
        return False
    places = left_out(block, size(block.shape) * (max(order) + 1))
    if places is not None:
        return across == [places[x] for x in order]
    found = dict(zip(order, across, strict=True))
    grows = all(found[x] < found[y] for x, y in pairwise(sorted(found)))
    image = set(values(block))
    apart = len({x + y for x in image for y in found.values()}) == len(image) * len(found)
    return grows and apart and across == [found[x] for x in order]


def by_modes(holds: Any, layout: Any, tile: tuple[Any, ...], result: Any, as_layout: Any, kept: bool) -> bool:
    """Whether an operation by a tile holds in each mode; modes that the tile does not name are kept or dropped."""
    before, after = list(modes(layout)), list(modes(result))
    if kept and before[len(tile) :] != after[len(tile) :]:
        return False
    if not kept and len(after) != len(tile):
        return False
    return all(
        holds(as_layout(*one), tiler, as_layout(*found)) for one, tiler, found in zip(before, tile, after, strict=False)
    )
