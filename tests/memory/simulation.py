"""Memory accesses lane by lane, in plain Python, from the definitions of a layout, of banks and of cache lines."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import product
from operator import xor
from typing import NamedTuple

import numpy as np

from layoutalg.core import Factor, Layout, Swizzle
from layoutalg.memory import Conflicts, best_swizzle

Element = tuple[int, ...]
Where = Callable[[Element], int]
Registers = list[dict[tuple[int, int], int]]
"""For each register, the address that it has in each (sg, lane) that holds something in it."""


def moved(factors: tuple[Factor, ...], value: int) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for extent, stride, axis in reversed(factors):
        value, digit = divmod(value, extent)
        if axis is not None:
            found[axis] += digit * stride
    return found


def all_places(layout: Layout) -> Iterator[tuple[Element, dict[str, int]]]:
    for element in product(*(range(size) for size in layout.shape)):
        base: dict[str, int] = defaultdict(int, layout.offsets)
        for factors, value in zip(layout.dims, element, strict=True):
            for axis, move in moved(factors, value).items():
                base[axis] += move
        for copies in product(*(range(f.extent) for f in layout.replicas)):
            place = defaultdict(int, base)
            for factor, copy in zip(layout.replicas, copies, strict=True):
                place[str(factor.axis)] += copy * factor.stride
            yield element, place


def addresses_of(layout: Layout) -> Where:
    found = {element: place["addr"] for element, place in all_places(layout)}
    return found.__getitem__


def swizzled(where: Where, swizzle: Swizzle) -> Where:
    mask = ((1 << swizzle.bits) - 1) << swizzle.base
    return lambda element: where(element) ^ (where(element) >> swizzle.shift & mask)


@cache
def slots_of(layout: Layout) -> list[tuple[int, tuple[int, int], Element]]:
    return [(place["reg"], (place["sg"], place["lane"]), element) for element, place in all_places(layout)]


def registers_of(layout: Layout, where: Where) -> Registers:
    found: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    for register, thread, element in slots_of(layout):
        found[register][thread] = where(element)
    registers: Registers = []
    for register in found.values():
        if register not in registers:
            registers.append(register)
    return registers


def groups_of(registers: Registers, size: int) -> Registers | None:
    """The first addresses of accesses of `size` elements, if all registers fall into such."""
    starts = [r for r in registers if all(address % size == 0 for address in r.values())]
    groups = [[{t: a + i for t, a in start.items()} for i in range(size)] for start in starts]
    fitting = [group for group in groups if all(register in registers for register in group)]
    return [group[0] for group in fitting] if len(fitting) * size == len(registers) else None


def widest(registers: Registers, most: int) -> tuple[int, Registers]:
    size = 1 << most.bit_length() - 1
    while True:
        starts = groups_of(registers, size)
        if starts is not None:
            return size, starts
        size //= 2


class Cost(NamedTuple):
    ways: int
    cycles: int
    ideal: int
    instructions: int
    vector: int


def simulate(layout: Layout, where: Where, bits: int, banks: int, width: int, vector: int | None = None) -> Cost:
    registers = registers_of(layout, where)
    size = bits // 8
    if vector is None:
        vector, starts = widest(registers, min(16, banks * width) // size)
    else:
        starts = groups_of(registers, vector) or []
    together = banks * width // (vector * size)
    threads = sorted({thread for register in registers for thread in register})
    costs: list[tuple[int, int, int]] = []
    ways = 0
    for sg in sorted({sg for sg, _ in threads}):
        cycles = ideal = instructions = 0
        for start in starts:
            phases: dict[int, set[int]] = defaultdict(set)
            for (of, lane), address in start.items():
                if of == sg:
                    touched = range(address * size, (address + vector) * size)
                    phases[lane // together] |= {byte // width for byte in touched}
            for words in phases.values():
                load = [0] * banks
                for word in words:
                    load[word % banks] += 1
                cycles += max(load)
                ways = max(ways, max(load))
                ideal += 1
            instructions += bool(phases)
        costs.append((cycles, ideal, instructions))
    cycles, ideal, instructions = max(costs, key=lambda cost: cost[0])
    return Cost(ways, cycles, ideal, instructions, vector)


def as_cost(found: Conflicts) -> Cost:
    return Cost(found.ways, found.cycles, found.ideal, found.instructions, found.vector)


def random_memory(rng: random.Random, layout: Layout) -> Layout:
    """The tensor's factors in memory in a random order, sometimes with gaps, broadcast factors or an offset."""
    extents: list[list[int]] = []
    for size in layout.shape:
        digits: list[int] = []
        while size > 1:
            digit = rng.choice([n for n in (2, 3, 5, 4, size) if size % n == 0])
            digits.append(digit)
            size //= digit
        extents.append(digits)
    slots = [(d, i) for d, digits in enumerate(extents) for i in range(len(digits))]
    rng.shuffle(slots)
    if rng.random() < 0.4:
        slots.sort(reverse=True)
    factors: dict[tuple[int, int], Factor] = {}
    place = 1
    gaps = rng.random() < 0.3
    for d, i in slots:
        if gaps and rng.random() < 0.2:
            factors[d, i] = Factor(extents[d][i])
            continue
        factors[d, i] = Factor(extents[d][i], place, "addr")
        place *= extents[d][i]
        if gaps and rng.random() < 0.4:
            place += rng.choice((1, 4, place))
    dims = [[factors[d, i] for i in range(len(digits))] for d, digits in enumerate(extents)]
    start = {"addr": rng.choice((1, 2, 4, 64))} if rng.random() < 0.2 else {}
    return Layout(dims, offsets=start, codomain=["addr"])


def binary_layout(rng: random.Random, shape: tuple[int, ...], lanes: int = 3, copies: bool = True) -> Layout:
    """A random distribution by bits over subgroups, up to 2^lanes lanes and registers; sometimes replicated."""
    bits = [(d, i) for d, size in enumerate(shape) for i in range(size.bit_length() - 1)]
    if copies:
        bits += [(-1, i) for i in range(rng.choice((0, 0, 1)))]
    rng.shuffle(bits)
    place = {"sg": 1, "lane": 1, "reg": 1}
    factors: dict[tuple[int, int], Factor] = {}
    for bit in bits:
        axis = rng.choice(("lane", "lane", "reg", "reg", "sg"))
        if axis == "lane" and place["lane"] >= 1 << lanes:
            axis = "reg"
        factors[bit] = Factor(2, place[axis], axis)
        place[axis] *= 2
    dims = [[factors[d, i] for i in reversed(range(size.bit_length() - 1))] for d, size in enumerate(shape)]
    return Layout(dims, [factors[bit] for bit in bits if bit[0] < 0])


# The facts of the transpose of 16 x 32 f32 in 32 lanes: written a row per register, read a row of the transpose per register.

ROWS, COLUMNS = Layout.parse("d0 = 16@reg, d1 = 32@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg 2@lane:16")
ROW_MAJOR = Layout.parse("d0 = 16@addr:32, d1 = 32@addr")


def lines_of(layout: Layout, where: Where, bits: int, line: int) -> tuple[int, int, int, int, int]:
    registers = registers_of(layout, where)
    size = bits // 8
    vector, starts = widest(registers, 16 // size)
    most = 0
    costs: list[tuple[int, int, int]] = []
    for sg in sorted({sg for register in registers for sg, _ in register}):
        moved = used = instructions = 0
        for start in starts:
            touched = {b for (s, _), a in start.items() if s == sg for b in range(a * size, (a + vector) * size)}
            lines = {byte // line for byte in touched}
            most = max(most, len(lines))
            moved += len(lines) * line
            used += len(touched)
            instructions += bool(touched)
        costs.append((moved, used, instructions))
    moved, used, instructions = max(costs, key=lambda cost: cost[0])
    return most, instructions, vector, used, moved


def invertible(bits: int) -> list[list[int]]:
    """Every invertible bit matrix, as the address that each element bit brings in."""
    found: list[list[int]] = []

    def extend(columns: list[int], span: set[int]) -> None:
        if len(columns) == bits:
            found.append(columns)
            return
        for column in range(1, 1 << bits):
            if column not in span:
                extend([*columns, column], span | {column ^ one for one in span})

    extend([], {0})
    return found


def by_columns(shape: tuple[int, ...], columns: list[int]) -> Where:
    left = list(columns)
    tables: list[list[int]] = []
    for size in shape:
        table = [0]
        while len(table) < size:
            column = left.pop(0)
            table += [address ^ column for address in table]
        tables.append(table)
    return {element: reduce(xor, map(list.__getitem__, tables, element)) for element in elements_of(shape)}.__getitem__


@cache
def elements_of(shape: tuple[int, ...]) -> list[Element]:
    return list(product(*map(range, shape)))


def price(*costs: Cost) -> tuple[int, ...]:
    """The common vector, cycles, cycles lost to conflicts, instructions."""
    cycles, ideal = sum(cost.cycles for cost in costs), sum(cost.ideal for cost in costs)
    return -min(cost.vector for cost in costs), cycles, cycles - ideal, sum(cost.instructions for cost in costs)


def check_against_every_matrix(rng: random.Random, shape: tuple[int, ...]) -> None:
    size = sum(n.bit_length() - 1 for n in shape)
    write, read = (binary_layout(rng, shape, rng.randint(1, size)) for _ in range(2))
    bits, banks, width = rng.choice(
        ((32, 4, 4), (32, 2, 4), (8, 2, 4), (16, 4, 4), (16, 2, 4), (8, 4, 2), (64, 4, 4), (8, 1, 4), (32, 8, 4))
    )
    best = best_swizzle(write, read, element_bits=bits, banks=banks, width=width)
    numbers = best.address(np.ogrid[tuple(slice(n) for n in shape)])
    sides = [simulate(side, lambda element: int(numbers[element]), bits, banks, width) for side in (write, read)]
    assert [as_cost(best.write), as_cost(best.read)] == sides
    fewest = price(*sides)
    for columns in invertible(size):
        where = by_columns(shape, columns)
        first = simulate(write, where, bits, banks, width)
        if (
            -first.vector,
            first.cycles,
            first.instructions,
        ) < fewest:  # else the whole is no better, whatever reading costs
            fewest = min(fewest, price(first, simulate(read, where, bits, banks, width)))
    assert price(*sides) == fewest, (write, read, bits, banks, width)
