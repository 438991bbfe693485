"""Layouts with XOR: their definition by brute force, and random ones.

`relation` walks over elements and digits in plain Python and reads only the public fields, as that of plain layouts does.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import Any

from layoutalg.core import Factor, Layout
from layoutalg.core.factors import XorFactor, xor_factor
from tests.laws.relations import Point, point

Pairs = set[tuple[Point, Point]]


def relation(layout: Layout) -> Pairs:
    """All pairs of an element and a place of it."""
    places = set(layout.flips or ())
    for factors in (*layout.dims, layout.replicas):
        for factor in factors:
            if isinstance(factor, XorFactor):
                places |= set(factor.places)
    pairs: Pairs = set()
    for x in product(*(range(prod(f.extent for f in factors)) for factors in layout.dims)):
        for copy in product(*(range(f.extent) for f in layout.replicas)):
            bits, sums = dict.fromkeys(layout.flips or (), 1), dict(layout.offsets)
            for value, factors in zip(x, layout.dims, strict=True):
                rest = value
                for factor in reversed(factors):
                    _count(factor, rest % factor.extent, places, bits, sums)
                    rest //= factor.extent
            for factor, digit in zip(layout.replicas, copy, strict=True):
                _count(factor, digit, places, bits, sums)
            for (axis, weight), bit in bits.items():
                sums[axis] = sums.get(axis, 0) + bit * weight
            at = {n: o + v for n, o, v in zip(layout.names, layout.origins, x, strict=True)}
            pairs.add((point(at), point(sums)))
    return pairs


def _count(factor: Any, digit: int, places: set[Any], bits: dict[Any, int], sums: dict[str, int]) -> None:
    """One digit: the XORed places that its factor meets flip with its bits, the rest of it adds."""
    if not digit or factor[2] is None:
        return
    if isinstance(factor, XorFactor):
        for place in factor.places:
            bits[place] = bits.get(place, 0) ^ 1
        return
    extent, stride, axis = factor
    move = digit * stride
    for name, weight in places:
        if name == axis and weight % stride == 0 and weight // stride < extent and digit * stride // weight % 2:
            bits[name, weight] = bits.get((name, weight), 0) ^ 1
            move -= weight
    sums[axis] = sums.get(axis, 0) + move


def covering(
    rng: random.Random,
    axes: tuple[str, ...] = ("sg", "lane", "reg"),
    most: int = 128,
    rank: int | None = None,
    odd: bool = True,
    offsets: bool = True,
    replicas: bool = True,
) -> Layout:
    """A layout without gaps: digits dealt out, then binary ones XORed onto each other; flips and offsets."""
    count = rank or rng.randint(1, 3)
    digits: list[tuple[int, int | None, str | None]] = []
    size = 1
    for _ in range(rng.randint(0, 7)):
        extent = rng.choice((2, 2, 2, 2, 4, 3) if odd else (2, 2, 2, 4))
        if size * extent > most:
            continue
        size *= extent
        dim = rng.choice([*range(count), *range(count), *([None] if replicas else [])])
        digits.append((extent, dim, None if dim is not None and rng.random() < 0.07 else rng.choice(axes)))
    factors: dict[int, Factor] = {}
    reached: dict[str, int] = {}
    for k in rng.sample(range(len(digits)), len(digits)):
        extent, _, axis = digits[k]
        factors[k] = Factor(extent) if axis is None else Factor(extent, reached.get(axis, 1), axis)
        if axis is not None:
            reached[axis] = reached.get(axis, 1) * extent
    binary = [k for k, factor in factors.items() if factor.extent == 2 and factor.axis]
    moves = {k: {(str(factors[k].axis), int(factors[k].stride))} for k in binary}
    if len(binary) > 1:
        for _ in range(rng.randint(0, 5)):
            one, other = rng.sample(binary, 2)
            moves[one] = moves[one] ^ moves[other]
    flips = {place for k in binary for place in moves[k] if rng.random() < 0.1}
    for k in binary:
        if not moves[k]:
            factors[k] = Factor(2)
        elif len(moves[k]) > 1 or rng.random() < 0.3:
            factors[k] = xor_factor(moves[k])
        else:
            ((axis, weight),) = moves[k]
            factors[k] = Factor(2, weight, axis)
    dims: list[list[Factor]] = [[] for _ in range(count)]
    copies: list[Factor] = []
    for k, (_, dim, _) in enumerate(digits):
        if dim is not None:
            dims[dim].append(factors[k])
        elif factors[k][2] is not None:
            copies.append(factors[k])
    starts = {axis: rng.randint(0, 9) for axis in axes if offsets and rng.random() < 0.2}
    return Layout(dims, copies, starts, flips=sorted(flips))


def spread(rng: random.Random, axes: tuple[str, ...] = ("a", "b")) -> Layout | None:
    """A small layout with any weights from 1 to 6: gaps, places that are flipped together; None where digits overlap."""
    from layoutalg.core import LayoutError

    def factor() -> Factor:
        if rng.random() < 0.55:
            return xor_factor({(rng.choice(axes), rng.randint(1, 6)) for _ in range(rng.randint(1, 3))})
        return Factor(rng.choice((2, 2, 3)), rng.randint(1, 6), rng.choice(axes))

    dims = [[factor() for _ in range(rng.randint(0, 2))] for _ in range(rng.randint(1, 2))]
    copies = [factor() for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    flips = sorted({(rng.choice(axes), rng.randint(1, 6)) for _ in range(rng.choice((0, 0, 1, 2)))})
    starts = {axis: rng.randint(0, 2) for axis in axes if rng.random() < 0.2}
    try:
        return Layout(dims, copies, starts, flips=flips)
    except LayoutError:
        return None
