"""Random layouts and digits for the tests of the bridges."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from layoutalg.core import MACHINE, Factor, Layout


def machine_layout(
    rng: random.Random, extents: tuple[int, ...] = (2, 2, 3, 4, 5), most: int = 600, ranks: tuple[int, int] = (0, 3)
) -> Layout:
    """A random layout onto subgroups, lanes and registers without gaps; some digits are replicas."""
    rank = rng.randint(*ranks)
    digits: list[tuple[int, int, str]] = []
    size = 1
    for _ in range(rng.randint(0, 6)):
        extent = rng.choice(extents)
        if size * extent <= most:
            size *= extent
            homes = [*range(rank), *range(rank), -1] if rank else [-1]
            digits.append((extent, rng.choice(homes), rng.choice(MACHINE)))
    place = dict.fromkeys(MACHINE, 1)
    factors: dict[int, Factor] = {}
    for i in rng.sample(range(len(digits)), len(digits)):
        extent, _, axis = digits[i]
        factors[i] = Factor(extent, place[axis], axis)
        place[axis] *= extent
    dims = [[factors[i] for i, (_, d, _) in enumerate(digits) if d == dim] for dim in range(rank)]
    return Layout(dims, [factors[i] for i, (_, d, _) in enumerate(digits) if d < 0])


def all_layouts(dims: list[list[int]], replicas: list[int]) -> Iterator[Layout]:
    """Every layout onto the machine whose dimensions have the given digits, and of the replicas none on registers."""
    extents = [n for factors in dims for n in factors] + replicas
    digits = range(len(extents))
    owned = len(extents) - len(replicas)
    for order in permutations(digits):
        for first, second in combinations([*digits, len(extents), len(extents) + 1], 2):
            cuts = order[:first], order[first : second - 1], order[second - 1 :]
            found: dict[int, Factor] = {}
            for axis, on_axis in zip(MACHINE, cuts, strict=True):
                place = 1
                for i in on_axis:
                    found[i] = Factor(extents[i], place, axis)
                    place *= extents[i]
            if all(found[i].axis != "reg" for i in digits[owned:]):
                start = 0
                rows: list[list[Factor]] = []
                for factors in dims:
                    rows.append([found[start + i] for i in range(len(factors))])
                    start += len(factors)
                yield Layout(rows, [found[i] for i in digits[owned:]])


def memory_layout(rng: random.Random, rank: int | None = None) -> Layout:
    """A random layout into memory: any strides, some digits that do not move."""
    dims: list[list[Factor]] = []
    for _ in range(rng.randint(1, 3) if rank is None else rank):
        digits = [(rng.choice((1, 2, 3, 4)), rng.choice((0, 1, 2, 5, 8, 16))) for _ in range(rng.randint(0, 3))]
        dims.append([Factor(n, s, "addr") if s else Factor(n) for n, s in digits])
    return Layout([[Factor(2, 7, "addr"), *dims[0]], *dims[1:]])


def disjoint_bits(rng: random.Random, groups: int) -> tuple[list[list[tuple[int, ...]]], tuple[int, ...]]:
    """Every bit of a random tensor once, dealt out to the first `groups` of four inputs, with zero bases between; the shape."""
    rank = rng.randint(1, 3)
    shape = tuple(1 << rng.randint(0, 3) for _ in range(rank))
    bits = [
        tuple(1 << k if e == d else 0 for e in range(rank))
        for d in range(rank)
        for k in range(shape[d].bit_length() - 1)
    ]
    rng.shuffle(bits)
    inputs: list[list[tuple[int, ...]]] = [[], [], [], []]
    for bit in bits:
        inputs[rng.randrange(groups)].append(bit)
    for one in inputs[:groups]:
        while rng.random() < 0.25:
            one.insert(rng.randint(0, len(one)), (0,) * rank)
    return inputs, shape


def element_at(index: int, shape: Sequence[int]) -> list[int]:
    """The element of a column-major index, as CuTe counts."""
    element: list[int] = []
    for size in shape:
        index, x = divmod(index, size)
        element.append(x)
    return element
