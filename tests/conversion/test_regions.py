"""Conversions by register regions do what the layouts say, as plans and as the text that is emitted; no sequence is cheaper."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import permutations
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg import Layout
from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.strategies.regions.moves import by_regions
from layoutalg.conversion.strategies.regions.search import ANY, FREE, Task, cheapest
from layoutalg.conversion.strategies.regions.shapes import COPY, ENTERS, PAIR, shapes, templates
from layoutalg.core.errors import ConversionError
from layoutalg.ir import read_module, write_module
from layoutalg.memory.machine_bits import view
from layoutalg.simulate.launching import launch

REGISTER = 64
PAIRS = 12


def random_pair(rng: Random, lanes: int, subgroups: int) -> tuple[Layout, Layout]:
    """Two layouts of one tensor whose elements stay in their subgroup: bits in any order, with replicas."""
    bits = rng.randint(1, lanes + 3)
    found: list[Layout] = []
    for _ in range(2):
        registers = rng.randint(max(0, bits - lanes), max(0, bits - lanes) + 3)
        places = [("lane", 1 << i) for i in range(lanes)] + [("reg", 1 << i) for i in range(registers)]
        chosen = rng.sample(places, bits)
        own = [("sg", 1 << i) for i in range(subgroups)]
        rest = [place for place in places if place not in chosen]
        text = "d0 = " + " ".join(f"2@{axis}:{stride}" for axis, stride in chosen + own)
        replicas = " ".join(f"2@{axis}:{stride}" for axis, stride in rest)
        found.append(Layout.parse(f"{text} | replicas {replicas}" if rest else text))
    return found[0], found[1]


def fragments_of(
    source: Layout, target: Layout, bits: int, seed: int
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """A random tensor in both layouts, `[sg, lane, reg]`."""
    count = int(np.prod(source.shape))
    tensor = np.random.default_rng(seed).integers(0, 2**bits, count, f"u{bits // 8}")
    before, after = (tensor[one.fragment_map()[..., 0]] for one in (source, target))
    return np.ascontiguousarray(before), np.ascontiguousarray(after)


def programs(seed: int, count: int) -> list[tuple[Program, Layout, Layout, int]]:
    rng = Random(seed)
    found: list[tuple[Program, Layout, Layout, int]] = []
    while len(found) < count:
        source, target = random_pair(rng, rng.choice((4, 4, 5)), rng.choice((0, 0, 1)))
        bits = rng.choice((8, 16, 32, 64))
        both = view(source), view(target)
        assert both[0] is not None
        assert both[1] is not None
        program = by_regions(both[0], both[1], bits, REGISTER)
        if program is not None:
            found.append((program, source, target, bits))
    return found


def check(program: Program, source: Layout, target: Layout, bits: int) -> None:
    before, after = fragments_of(source, target, bits, 0)
    assert np.array_equal(program.run(before), after), f"{source} -> {target}, {bits} bits"


def test_random_conversions_put_every_element_where_it_belongs() -> None:
    for one in programs(0, PAIRS):
        check(*one)


@pytest.mark.exhaustive
def test_many_random_conversions_put_every_element_where_it_belongs() -> None:
    for one in programs(1, 2000):
        check(*one)


def test_the_emitted_assembly_does_what_the_program_does() -> None:
    for program, source, target, bits in programs(2, 6):
        before, after = fragments_of(source, target, bits, 1)
        text = emit_kernel(program, f"i{bits}")
        assert write_module(read_module(text)) == text
        given, made = before.view(f"i{bits // 8}").reshape(-1), np.zeros(after.size, f"i{bits // 8}")
        assert launch(text, [given, made], (1, 1, 1)).findings == ()
        assert np.array_equal(made.view(after.dtype).reshape(after.shape), after), f"{source} -> {target}, {bits} bits"


@pytest.mark.parametrize(("bits", "moves"), [(32, 64), (16, 32), (8, 16)])
def test_a_transpose_of_16x16_is_strided_moves(bits: int, moves: int) -> None:
    plan = la.convert(  # at 32 bits memory has fewer instructions; without it, this is the way
        "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg", element_bits=bits, target="pvc", regions=True,
        level="subgroup",
    )  # fmt: skip
    assert (plan.kind, plan.shuffles, plan.selects) == ("registers", 0, 0)
    assert plan.emit().count("mov (M1_NM") == moves


def test_regions_are_intels() -> None:
    with pytest.raises(ConversionError, match="regions=True: sm_80 has no register regions"):
        la.convert("d0 = 2@reg, d1 = 32@lane", "d0 = 2@reg, d1 = 32@lane", target="sm_80", regions=True)


def test_a_region_of_a_shape_reads_the_bits_that_it_says() -> None:
    """By Intel's definition: element n is at n // W * V + n % W * H."""
    for shape in (*shapes(6, 0), *shapes(6, 2, halves=True)):
        apart, width, inside = shape.region
        for number in range(1 << shape.length):
            bits = [bit for i, bit in enumerate(shape.bits) if number >> i & 1 and bit != COPY]
            assert number // width * apart + number % width * inside == sum(1 << bit for bit in bits)


def test_no_sequence_of_moves_is_cheaper() -> None:
    """A search without lower bounds, over all states, for words of 32 bits."""
    rng = Random(3)
    for _ in range(6):
        bits = rng.randint(5, 6)
        source, target = (rng.sample(range(bits), 4) for _ in range(2))
        below = [rng.choice([bit for bit in range(bits) if bit not in one] or [-2]) for one in (source, target)]
        task = Task(6, 2, (ANY, ANY, *source), (ANY, ANY, *target), bits, below[0], below[1])
        found = cheapest(task)
        assert found is not None
        assert sum(stage.moves for stage in found) == fewest_moves(task)


def fewest_moves(task: Task) -> int:
    """Dijkstra over arrangements and the bit that tells neighbouring registers apart."""
    queue, done = [(0, task.source, task.below)], set[tuple[tuple[int, ...], int]]()
    while queue:
        cost, now, below = heappop(queue)
        if now == task.wanted and (below in (FREE, task.wanted_below) or not cost):
            return cost
        if (now, below) in done:
            continue
        done.add((now, below))
        outside = [bit for bit in range(task.bits) if bit not in now]
        for one in templates(task.width, task.least):
            if COPY in one.comes:
                continue
            holes = one.comes.count(ENTERS)
            for pair in [FREE] if not one.pair else outside if below == FREE else [below] * (below in outside):
                for chosen in permutations([bit for bit in outside if bit != pair], holes):
                    entering = iter(chosen)
                    after = tuple(
                        [now[what] if what >= 0 else pair if what == PAIR else next(entering) for what in one.comes]
                    )
                    above = FREE if one.above is None else pair if one.above == PAIR else now[one.above]
                    if one.above is None or (above >= 0 and above not in after):
                        more = one.shape.moves(task.width) << task.bits - 4
                        heappush(queue, (cost + more, after, above))
    raise AssertionError(f"nothing leads from {task.source} to {task.wanted}")
