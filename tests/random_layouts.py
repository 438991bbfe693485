"""Random layouts, and lists of all small ones, for the tests of notations and conversions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from layoutalg.core import MACHINE, Factor, Layout


def machine_layout(
    rng: random.Random, extents: tuple[int, ...] = (2, 2, 3, 4, 5), most: int = 600, ranks: tuple[int, int] = (0, 3)
) -> Layout:
    """A random layout onto subgroups, lanes and registers without gaps; some factors are replicas."""
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
    """Every layout onto the machine whose dimensions have the given factors, and of the replicas none on registers."""
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
    """A random layout into memory: any strides, some factors that do not move."""
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


def bits_pair(rng: random.Random, most_registers: int = 4) -> tuple[Layout, Layout]:
    """Two layouts of one tensor whose factors are bits, anywhere: 1 to 8 subgroups of 8 to 64 lanes, often with replicas."""
    widths = {"sg": rng.choice([0, 0, 1, 2, 3]), "lane": rng.randint(3, 6)}
    slots = [(axis, bit) for axis, width in widths.items() for bit in range(width)]
    both = [[*slots, *(("reg", bit) for bit in range(rng.randint(0, most_registers)))] for _ in range(2)]
    count = min(map(len, both))
    if rng.random() < 0.4:
        count = rng.randint(1, count)
    elif rng.random() < 0.8:
        both[1] = both[0]
        count = len(both[0])
    rows = rng.randint(0, count)
    pairs: list[Layout] = []
    kept: list[tuple[str, int]] = []
    for side in both:
        # Often the two differ in a few bits only, and subgroups stay what they are.
        places = rng.sample(side, count)
        if kept and both[0] == both[1] and count == len(side) and rng.random() < 0.6:
            places = list(kept)
            for _ in range(rng.randint(0, 4)):
                i, j = rng.randrange(count), rng.randrange(count)
                places[i], places[j] = places[j], places[i]
        kept = places
        dims = [[(2, 1 << bit, axis) for axis, bit in reversed(part)] for part in (places[:rows], places[rows:])]
        free = [(2, 1 << bit, axis) for axis, bit in side if axis != "reg" and (axis, bit) not in places]
        moved = {bit: i for i, bit in enumerate(sorted(bit for axis, bit in places if axis == "reg"))}
        dims = [[(n, 1 << moved[s.bit_length() - 1] if a == "reg" else s, a) for n, s, a in dim] for dim in dims]
        pairs.append(Layout(dims, free))
    return pairs[0], pairs[1]


def mixed_pair(rng: random.Random) -> tuple[Layout, Layout]:
    """Two layouts of one tensor whose factors are primes, dealt to subgroups, lanes and registers at random."""
    sizes = {"sg": rng.choice([1, 1, 2, 3, 4, 6]), "lane": rng.choice([8, 16, 32, 12, 6])}
    shape = (rng.choice([1, 2, 3, 4, 6, 8, 12]), rng.choice([3, 4, 5, 6, 8, 9, 12]))
    return _mixed(rng, shape, dict(sizes)), _mixed(rng, shape, dict(sizes))


def _mixed(rng: random.Random, shape: tuple[int, ...], left: dict[str, int]) -> Layout:
    digits: list[list[tuple[int, str]]] = []
    for size in shape:
        primes = [p for p in (2, 3, 5, 7) for _ in range(12) if size % p == 0 and (size := size // p)]
        rng.shuffle(primes)
        dim: list[tuple[int, str]] = []
        for prime in primes:
            axis = rng.choice(["sg", "lane", "lane", "reg"])
            if axis != "reg" and left[axis] % prime:
                axis = "reg"
            if axis != "reg":
                left[axis] //= prime
            dim.append((prime, axis))
        digits.append(dim)
    strides = {"sg": 1, "lane": 1, "reg": 1}
    places = [(d, i) for d, dim in enumerate(digits) for i in range(len(dim))]
    rng.shuffle(places)
    factors: list[list[tuple[int, int, str]]] = [[(n, 0, axis) for n, axis in dim] for dim in digits]
    for d, i in places:
        extent, axis = digits[d][i]
        factors[d][i] = (extent, strides[axis], axis)
        strides[axis] *= extent
    return Layout(factors, [(n, strides[axis], axis) for axis, n in left.items() if n > 1])


def filled_pair(rng: random.Random) -> tuple[Layout, Layout]:
    """Two layouts of one tensor of mixed factors onto one subgroup, where every register holds another element."""
    lanes, registers = rng.choice([6, 9, 10, 12, 15, 16]), rng.choice([2, 3, 4, 6, 8, 9, 12, 15, 16])
    of_lanes, of_registers = (
        [p for p in (2, 3, 5) for _ in range(4) if n % p ** (_ + 1) == 0] for n in (lanes, registers)
    )
    primes = of_lanes + of_registers
    rows = rng.sample(range(len(primes)), rng.randint(0, len(primes)))
    dims = [[primes[i] for i in rows], [p for i, p in enumerate(primes) if i not in rows]]
    return _filled(rng, dims, of_lanes), _filled(rng, dims, of_lanes)


def _filled(rng: random.Random, dims: list[list[int]], of_lanes: list[int]) -> Layout:
    digits = [(p, d) for d, dim in enumerate(dims) for p in rng.sample(dim, len(dim))]
    order = rng.sample(range(len(digits)), len(digits))
    left, strides = list(of_lanes), {"lane": 1, "reg": 1}
    factors: dict[int, Factor] = {}
    for i in order:
        extent = digits[i][0]
        axis = "lane" if extent in left else "reg"
        if axis == "lane":
            left.remove(extent)
        factors[i] = Factor(extent, strides[axis], axis)
        strides[axis] *= extent
    return Layout([[factors[i] for i, (_, d) in enumerate(digits) if d == dim] for dim in range(len(dims))])
