"""Bank conflicts, cache lines, the best swizzle: against lanes simulated one by one, and against every bit matrix there is."""

from __future__ import annotations

import pickle
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import product
from operator import xor
from typing import NamedTuple

import numpy as np
import pytest

from layoutalg.core import ConversionError, Factor, Layout, LayoutError, SizeError, Swizzle, Swizzled
from layoutalg.memory import BestSwizzle, BitAddress, Conflicts, ElementBit, bank_conflicts, best_swizzle, coalescing
from tests.random_layouts import machine_layout

Element = tuple[int, ...]
Where = Callable[[Element], int]
Registers = list[dict[tuple[int, int], int]]
"""For each register, the address that it has in each (sg, lane) that holds something in it."""

# The simulation: plain Python, from the definitions of a layout and of the banks.


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
    """The tensor's digits in memory in a random order, sometimes with gaps, broadcast digits or an offset."""
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


# Bank conflicts


@pytest.mark.parametrize("seed", range(200))
def test_conflicts_are_those_of_lanes_simulated_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    lanes = rng.choice((3, 4, 5, 6))
    layout = (
        binary_layout(rng, (1 << rng.randint(0, 4), 1 << rng.randint(0, 5)), lanes)
        if rng.random() < 0.5
        else machine_layout(rng, most=300, ranks=(1, 3))
    )
    bits = rng.choice((8, 16, 32, 64))
    banks, width = rng.choice(((32, 4), (16, 4), (4, 4), (8, 8), (2, 4), (64, 4), (5, 4), (24, 2), (8, 1)))
    memory = random_memory(rng, layout)
    where = addresses_of(memory)
    expected = simulate(layout, where, bits, banks, width)
    assert as_cost(bank_conflicts(layout, banks, width, element_bits=bits, memory=memory)) == expected
    swizzle = Swizzle(rng.randint(1, 3), rng.randint(0, 2), 3 + rng.randint(0, 2))
    found = bank_conflicts(layout, banks, width, element_bits=bits, memory=Swizzled(memory, swizzle))
    assert as_cost(found) == simulate(layout, swizzled(where, swizzle), bits, banks, width)


@pytest.mark.parametrize(
    "text",
    [
        "d0 = 4@lane:3 2@reg",
        "d0 = 2@lane:8 2@lane:1, d1 = 4@reg:2",
        "d0 = 4@reg, d1 = 6@lane | offset 5@lane",
        "d0 = 4@reg, d1 = 6@lane | offset 2@sg 3@reg",
        "d0 = 4@lane:2 | replicas 2@lane:1 3@reg",
        "d0 = 2@sg 6@reg | replicas 7@lane",
    ],
)
def test_idle_lanes_and_copies_count_as_simulated(text: str) -> None:
    layout = Layout.parse(text)
    sizes = list(layout.shape)
    memory = Layout([[Factor(n, 10**d, "addr")] for d, n in enumerate(sizes)])
    for bits, banks in product((8, 32, 64), (2, 4, 32)):
        found = bank_conflicts(layout, banks, 4, element_bits=bits, memory=memory)
        assert as_cost(found) == simulate(layout, addresses_of(memory), bits, banks, 4)


def test_row_major_is_the_memory_unless_given() -> None:
    layout = Layout.parse("d0 = 3@reg, d1 = 5@lane, d2 = 4@reg:3")
    rows = Layout.parse("d0 = 3@addr:20, d1 = 5@addr:4, d2 = 4@addr")
    assert bank_conflicts(layout, 8) == bank_conflicts(layout, 8, memory=rows)


def test_fewer_elements_per_access_can_be_asked_for() -> None:
    layout = Layout.parse("d0 = 32@lane, d1 = 4@reg")
    memory = Layout.parse("d0 = 32@addr:4, d1 = 4@addr")
    for vector in (1, 2, 4):
        found = bank_conflicts(layout, memory=memory, vector=vector)
        assert as_cost(found) == simulate(layout, addresses_of(memory), 32, 32, 4, vector)
    with pytest.raises(ConversionError, match="at most 1 elements at consecutive, aligned addresses"):
        bank_conflicts(layout, memory=Layout.parse("d0 = 32@addr, d1 = 4@addr:32"), vector=4)


def test_wide_accesses_that_share_four_banks_take_a_cycle_per_lane() -> None:
    # NVIDIA developer forum, "Shared memory bank conflict reordering": 32 lanes, 16 bytes each from banks 0 to 3: 32 cycles.
    layout = Layout.parse("d0 = 32@lane, d1 = 4@reg")
    found = bank_conflicts(layout, memory=Layout.parse("d0 = 32@addr:32, d1 = 4@addr"))
    assert (found.vector, found.instructions, found.cycles, found.ideal, found.ways) == (4, 1, 32, 4, 8)


# The facts of the transpose of 16 x 32 f32 in 32 lanes: written a row per register, read a row of the transpose per register.

ROWS, COLUMNS = Layout.parse("d0 = 16@reg, d1 = 32@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg 2@lane:16")
ROW_MAJOR = Layout.parse("d0 = 16@addr:32, d1 = 32@addr")


def test_row_major_transpose_has_16_way_conflicts_on_one_side() -> None:
    assert [bank_conflicts(side, memory=ROW_MAJOR).ways for side in (ROWS, COLUMNS)] == [1, 16]


def test_the_textbook_xor_of_column_and_row_has_2_way_conflicts() -> None:
    textbook = Swizzled(ROW_MAJOR, Swizzle(bits=4, base=0, shift=5))
    assert textbook.owner_map()[3, 17] == 3 * 32 + (17 ^ 3)
    assert [bank_conflicts(side, memory=textbook).ways for side in (ROWS, COLUMNS)] == [1, 2]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_best_swizzle_of_the_transpose_is_free_of_conflicts(bits: int) -> None:
    best = best_swizzle(ROWS, COLUMNS, element_bits=bits)
    assert (best.write.ways, best.read.ways) == (1, 1)
    numbers = best.address(np.ogrid[:16, :32])

    def where(element: Element) -> int:
        return int(numbers[element])

    for side, found in ((ROWS, best.write), (COLUMNS, best.read)):
        assert as_cost(found) == simulate(side, where, bits, 32, 4)


# Cache lines


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


@pytest.mark.parametrize("seed", range(100))
def test_cache_lines_are_those_of_lanes_simulated_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    layout = machine_layout(rng, rng.choice(((2,), (2, 3, 4, 5))), most=256, ranks=(1, 3))
    memory = random_memory(rng, layout)
    bits, line = rng.choice((8, 16, 32, 64)), rng.choice((16, 32, 64, 128))
    found = coalescing(layout, element_bits=bits, memory=memory, line=line)
    expected = lines_of(layout, addresses_of(memory), bits, line)
    assert (found.lines, found.instructions, found.vector, found.used, found.moved) == expected


def test_a_stride_of_two_uses_half_of_every_line() -> None:
    # VTune Profiler User Guide, "Untyped Writes Coalescence": 16 lanes read integers with a stride of 2: 50 %.
    found = coalescing(Layout.parse("d0 = 16@lane"), element_bits=32, memory=Layout.parse("d0 = 16@addr:2"))
    assert (found.efficiency, found.lines) == (0.5, 2)


def test_a_row_takes_four_sectors_and_a_column_one_for_every_lane() -> None:
    row = coalescing(Layout.parse("d0 = 32@lane"), element_bits=32, line=32)
    column = coalescing(Layout.parse("d0 = 32@lane"), element_bits=32, line=32, memory=Layout.parse("d0 = 32@addr:32"))
    assert (row.lines, row.efficiency, column.lines, column.efficiency) == (4, 1.0, 32, 0.125)


# The best swizzle


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


@pytest.mark.parametrize("seed", range(30))
def test_no_bit_matrix_of_three_bits_is_better(seed: int) -> None:
    rng = random.Random(seed)
    check_against_every_matrix(rng, rng.choice(((8,), (2, 4), (4, 2), (2, 2, 2))))


@pytest.mark.slow
def test_no_bit_matrix_of_four_bits_is_better() -> None:
    check_against_every_matrix(random.Random(0), (4, 4))


@pytest.mark.parametrize("seed", range(100))
def test_both_sides_are_free_of_conflicts_where_elements_fill_words_and_lanes_fill_banks(seed: int) -> None:
    # Two subspaces of the same dimension have a common complement, and a phase never has more lanes than there are banks for.
    rng = random.Random(seed)
    bits, banks = rng.choice(((32, 4), (32, 8), (64, 8), (64, 16)))
    layouts: list[Layout] = []
    shape = (1 << rng.randint(2, 5), 1 << rng.randint(2, 5))
    while len(layouts) < 2:
        layout = binary_layout(rng, shape, rng.randint(3, 6), copies=False)
        if layout.axes.get("lane", 1) >= banks * 32 // bits:
            layouts.append(layout)
    best = best_swizzle(*layouts, element_bits=bits, banks=banks)
    assert (best.write.ways, best.read.ways) == (1, 1)
    numbers = best.address(np.ogrid[: shape[0], : shape[1]])
    assert sorted(numbers.ravel().tolist()) == list(range(shape[0] * shape[1])), "every address once"


@pytest.mark.parametrize("seed", range(60))
def test_costs_of_the_best_swizzle_are_those_of_the_simulation(seed: int) -> None:
    rng = random.Random(seed)
    mixed = rng.random() < 0.4
    if mixed:
        first = machine_layout(rng, (2, 3, 4, 5), most=200, ranks=(1, 3))
        layouts = first, Layout(first.dims[:1], names=["d0"]) if first.rank == 1 else first
    else:
        shape = (1 << rng.randint(0, 4), 1 << rng.randint(0, 4))
        layouts = binary_layout(rng, shape, 5), binary_layout(rng, shape, 5)
    bits = rng.choice((8, 16, 32, 64))
    banks = rng.choice((4, 16, 32, 6))
    best = best_swizzle(*layouts, element_bits=bits, banks=banks)
    numbers = best.address(np.meshgrid(*map(np.arange, best.shape), indexing="ij", sparse=True))
    assert len(set(numbers.ravel().tolist())) == numbers.size, "no two elements share an address"
    assert int(numbers.max()) < best.size
    for layout, found in zip(layouts, (best.write, best.read), strict=True):
        assert as_cost(found) == simulate(layout, lambda element: int(numbers[element]), bits, banks, 4)
        assert bank_conflicts(layout, banks, element_bits=bits, memory=best) == found


def test_padding_is_the_cheapest_of_its_candidates() -> None:
    write, read = Layout.parse("d0 = 12@reg, d1 = 24@lane"), Layout.parse("d0 = 12@lane, d1 = 12@reg 2@lane:12")
    best = best_swizzle(write, read)
    costs: dict[int, int] = {}
    for padding in range(9):
        where = addresses_of(Layout([[(12, 24 + padding, "addr")], [(24, 1, "addr")]]))
        costs[padding] = sum(simulate(side, where, 32, 32, 4).cycles for side in (write, read))
    assert (best.padding, costs[best.padding]) == (min(costs, key=lambda p: costs[p]), min(costs.values()))
    assert costs[0] > costs[best.padding]
    assert best.matrix == ()
    assert "2 elements of padding after each row of 24" in best.text
    assert best.size == 11 * 26 + 24


def test_rows_that_need_no_swizzle_stay_rows() -> None:
    tile = Layout.parse("d0 = 16@lane, d1 = 4@reg")
    assert best_swizzle(tile, tile).address(np.ogrid[:16, :4]).tolist() == np.arange(64).reshape(16, 4).tolist()


def test_what_both_sides_hold_in_registers_becomes_a_vector() -> None:
    write, read = (
        Layout.parse("d0 = 8@lane, d1 = 2@lane:8 8@reg"),
        Layout.parse("d0 = 2@lane:2 4@reg:8, d1 = 2@lane 8@reg"),
    )
    best = best_swizzle(write, read, element_bits=16)
    assert (best.vector, best.write.vector, best.read.vector) == (8, 8, 8)
    assert best.matrix[:3] == tuple((ElementBit("d1", i),) for i in range(3))


def test_a_bit_matrix_expresses_the_classic_swizzle() -> None:
    for bits, base, shift in ((4, 0, 5), (3, 0, 3), (2, 2, 4), (1, 0, 8)):
        memory = Swizzled(ROW_MAJOR, Swizzle(bits, base, shift))
        found = BitAddress.of(memory)
        where = swizzled(lambda element: element[0] * 32 + element[1], Swizzle(bits, base, shift))
        expected = [[where((i, j)) for j in range(32)] for i in range(16)]
        assert found.address(np.ogrid[:16, :32]).tolist() == expected
        assert bank_conflicts(COLUMNS, memory=found) == bank_conflicts(COLUMNS, memory=memory)


def test_names_of_dimensions_are_kept() -> None:
    write = Layout([[(4, 1, "reg")], [(4, 1, "lane")]], names=["m", "n"])
    read = Layout([[(4, 1, "lane")], [(4, 1, "reg")]], names=["m", "n"])
    assert {bit.dim for row in best_swizzle(write, read, banks=4).matrix for bit in row} == {"m", "n"}


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bank_conflicts("rows of lanes"), "expected a text of a notation"),
        (lambda: bank_conflicts(None), "None: expected a Layout"),  # type: ignore[arg-type]
        (lambda: bank_conflicts(ROWS, 0), "banks=0: expected a whole number from 1"),
        (lambda: bank_conflicts(ROWS, True), "banks=True"),
        (lambda: bank_conflicts(ROWS, width=3), "width=3: expected the bytes of a bank"),
        (lambda: bank_conflicts(ROWS, element_bits=12), "element_bits=12: expected 8, 16, 32 or 64"),
        (lambda: bank_conflicts(ROWS, element_bits="f32"), "element_bits='f32'"),  # type: ignore[arg-type]
        (lambda: bank_conflicts(ROWS, 1, 4, element_bits=64), "1 banks of 4 bytes cannot serve one element of 64 bits"),
        (lambda: bank_conflicts(ROWS, vector=3), "vector=3: expected a power of two from 1 to 4"),
        (lambda: bank_conflicts(ROWS, vector=8), "vector=8"),
        (lambda: bank_conflicts(ROWS, memory="rows"), "memory='rows': expected a Layout"),  # type: ignore[arg-type]
        (lambda: bank_conflicts(ROWS, memory=Layout.parse("d0 = 512@addr")), r"shape \[512\].* shape \[16, 32\]"),
        (
            lambda: bank_conflicts(ROWS, memory=Layout.parse("d0 = 16@row, d1 = 32@col")),
            "expected one axis of addresses",
        ),
        (
            lambda: bank_conflicts(ROWS, memory=Layout.parse("d0 = 16@addr:32, d1 = 32@addr | replicas 2@addr:512")),
            "replicas",
        ),
        (lambda: bank_conflicts(ROW_MAJOR), "expected a distribution over sg, lane and reg"),
        (lambda: bank_conflicts(Layout.parse("d0 = M@reg, d1 = 4@lane")), "has symbols"),
        (lambda: bank_conflicts(Layout.parse("d0 = 4@_, d1 = 4@lane")), "one slot holds"),
        (lambda: coalescing(ROWS, element_bits=32, line=48), "line=48: expected the bytes of a cache line"),
        (lambda: coalescing(ROWS, element_bits=32, line="64"), "line='64'"),  # type: ignore[arg-type]
        (lambda: coalescing(3, element_bits=32), "3: expected a Layout"),  # type: ignore[arg-type]
        (lambda: best_swizzle(ROWS, Layout.parse("d0 = 16@lane")), "expected one tensor"),
        (lambda: best_swizzle(ROWS, "x"), "expected a text of a notation that is read: .* found 'x'"),
        (lambda: best_swizzle(ROWS, 5), "5: expected a Layout"),  # type: ignore[arg-type]
        (lambda: best_swizzle(ROWS, ROWS, element_bits=4), "element_bits=4"),
        (lambda: BitAddress.of(Layout.parse("d0 = 3@addr")), "no bit matrix"),
        (lambda: BitAddress.of(Layout.parse("d0 = 4@addr:3")), "no bit matrix"),
        (
            lambda: BitAddress(("d0",), (4,), ((ElementBit("d0", 0),), (ElementBit("d0", 0),))),
            "expected an invertible map",
        ),
        (lambda: BitAddress(("d0",), (3,), ()), "sizes that are powers of two"),
        (lambda: BitAddress(("d0",), (2,), ((ElementBit("d1", 0),),)), "d1 bit 0: no bit of an element"),
        (lambda: best_swizzle(ROWS, ROWS).address([1]), "1 coordinates: expected 2"),
        (lambda: best_swizzle(ROWS, ROWS).address([16, 0]), "d0 from 16 to 16: outside a size of 16"),
        (lambda: best_swizzle(ROWS, ROWS).address([0.5, 0]), "expected whole numbers"),
        (lambda: best_swizzle(ROWS, ROWS).address(5), "coordinates 5: expected 2 of them"),  # type: ignore[arg-type]
        (lambda: best_swizzle(ROWS, ROWS).address([[[0], [1, 2]], 0]), "expected whole numbers"),
    ],
)
def test_what_cannot_be_answered_says_why(call: Callable[[], object], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        call()


def test_a_tensor_of_one_element_is_one_access() -> None:
    for layout in (Layout([]), Layout.parse("d0 = 1"), Layout.parse("d0 = 1, d1 = 1")):
        found = bank_conflicts(layout)
        assert as_cost(found) == Cost(1, 1, 1, 1, 1)
        best = best_swizzle(layout, layout)
        assert (best.matrix, best.size, best.address([0] * layout.rank).tolist()) == ((), 1, 0)
        assert coalescing(layout, element_bits=8).used == 1


def test_sizes_are_bounded() -> None:
    with pytest.raises(SizeError, match=r"over the limit of 2\^24"):
        bank_conflicts(Layout.parse("d0 = 1048576@reg, d1 = 32@lane"))
    with pytest.raises(SizeError, match=r"over the limit of 2\^24"):
        best_swizzle(Layout.parse("d0 = 4@lane | offset 1073741824@lane"), Layout.parse("d0 = 4@lane"))
    with pytest.raises(SizeError, match=r"over the limit of 2\^62 bytes"):
        bank_conflicts(Layout.parse("d0 = 4@lane"), memory=Layout([[(4, 2**60, "addr")]]))


def test_answers_are_values() -> None:
    best = best_swizzle(ROWS, COLUMNS)
    for found in (best, best.write, coalescing(ROWS, element_bits=32)):
        assert pickle.loads(pickle.dumps(found)) == found
        assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert isinstance(best, BestSwizzle)
    with pytest.raises(AttributeError):
        best.vector = 2  # type: ignore[misc]
