"""Emitted conversions, asked of LLVM (do they lower?), of Intel's compiler (to what?), and run as real work-items on a CPU.

All kernels of this file are lowered as one module and run in one process; each case then looks at its own part. To add one:
a `Case` with a program and what it must do to its fragments, or `converting(...)` with two layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations as permutations_of
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg import Layout, LayoutError
from layoutalg.conversion.lowering.emit import emit_function, emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Barrier, Load, Permute, Select, Shuffle, Step, Store
from layoutalg.core.errors import ConversionError
from layoutalg.ir import read_module, write_module
from tests.oracle.conversion_cpu import (
    Job,
    launch_batch,
    listings_of,
    lower_batch,
    merged,
    run_functions,
    run_on_cpu,
    spirv_functions,
)
from tests.oracle.toolchains import require, require_new, run
from tests.oracle.xe_toolchain import Listing, spirv_of
from tests.random_layouts import bits_pair, mixed_pair

Array = NDArray[Any]
Expected = Callable[[Array], Array]

WORKGROUPS = 2
MODEST = 32
"""Words per lane up to which the Intel compiler must not spill, with 128 registers of 64 bytes and 32 lanes."""


@dataclass(frozen=True)
class Case:
    """A program (or several), and what it does to fragments `[subgroup, lane, register]`, said without it."""

    name: str
    program: Program | tuple[Program, ...]
    element: str
    expected: Expected | None = None
    """None: only `Program.run` says."""
    fragments: Callable[[np.random.Generator], Array] | None = None
    """None: random bits."""

    @property
    def programs(self) -> tuple[Program, ...]:
        return (self.program,) if isinstance(self.program, Program) else self.program

    @property
    def lanes(self) -> int:
        return self.programs[0].lanes

    def count(self, kind: type) -> int:
        return sum(program.count(kind) for program in self.programs)

    def run(self, fragments: Array) -> Array:
        for program in self.programs:
            fragments = program.run(fragments)
        return fragments

    def job(self) -> Job:
        rng = np.random.default_rng(list(self.name.encode()))
        return Job(self.name, self.programs, self.element, np.stack([self._made(rng) for _ in range(WORKGROUPS)]))

    def _made(self, rng: np.random.Generator) -> Array:
        if self.fragments is not None:
            return self.fragments(rng)
        program = self.programs[0]
        shape = (program.subgroups, program.lanes, program.source_registers)
        return rng.integers(0, 2**program.element_bits, shape, f"u{program.element_bits // 8}")

    def __str__(self) -> str:
        return self.name


def converting(name: str, program: Program | tuple[Program, ...], source: Layout, target: Layout, element: str) -> Case:
    """A case whose fragments are those of a random tensor, before in one layout and after in the other."""
    bits = (program if isinstance(program, Program) else program[0]).element_bits
    kind = f"u{bits // 8}"
    count = int(np.prod(source.shape))

    def places(layout: Layout) -> Array:
        return np.ravel_multi_index(np.moveaxis(layout.fragment_map(), -1, 0), layout.shape)

    def fragments(rng: np.random.Generator) -> Array:
        return rng.permutation(np.arange(count, dtype=np.uint64)).astype(kind)[places(source)]

    def expected(given: Array) -> Array:
        tensor = np.zeros(count, kind)
        tensor[places(source)] = given
        return tensor[places(target)]

    return Case(name, program, element, expected, fragments)


# Programs, written by hand.


def swapping(lanes: int, registers: int, bits: tuple[tuple[int, int], ...], element_bits: int = 32) -> Program:
    """Exchange bits of the lane's number with bits of the word's number: half as many shuffles as words for each."""
    count = registers * element_bits // 32
    words, steps = list(range(count)), list[Step]()
    free = count
    for lane_bit, word_bit in bits:
        mask = sum(1 << lane for lane in range(lanes) if lane >> lane_bit & 1)
        others = tuple(lane ^ 1 << lane_bit for lane in range(lanes))
        for low in (i for i in range(count) if not i >> word_bit & 1):
            high = low | 1 << word_bit
            a, b = words[low], words[high]
            steps += [
                Select(free, a, b, "lane", mask),
                Shuffle(free + 1, free, others),
                Select(free + 2, free + 1, a, "lane", mask),
                Select(free + 3, b, free + 1, "lane", mask),
            ]
            words[low], words[high] = free + 2, free + 3
            free += 4
    parts = max(1, 32 // element_bits)
    cells = max(registers, count)
    unpack = tuple(words[cell // parts] * parts + cell % parts for cell in range(cells))
    return Program(1, lanes, element_bits, registers, registers, tuple(range(cells)), tuple(steps), unpack)


def transposes() -> Iterator[Case]:
    for lanes, element in ((8, "f32"), (16, "f32"), (16, "i32"), (32, "f32")):
        bits = tuple((bit, bit) for bit in range(lanes.bit_length() - 1))
        yield Case(
            f"transpose_{lanes}_{element}",
            swapping(lanes, lanes, bits),
            element,
            lambda given: given.transpose(0, 2, 1),
        )
    layouts = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
    yield converting("layouts_16x16", swapping(16, 16, tuple((b, b) for b in range(4))), *layouts, "f32")
    four = tuple((bit, bit) for bit in range(4))
    yield Case("exchange_32_16", swapping(32, 16, four), "f32", lambda given: _blocks(given, 16))
    # pairs of 16 bits travel together: lanes of 16, 8 words
    yield Case(
        "pairs_16",
        swapping(16, 16, ((0, 0), (1, 1), (2, 2)), 16),
        "f16",
        lambda given: given.reshape(1, 2, 8, 8, 2).transpose(0, 1, 3, 2, 4).reshape(1, 16, 16),
    )
    yield Case(
        "fours_16",
        swapping(16, 16, ((3, 0), (2, 1)), 8),
        "i8",
        lambda given: given.reshape(1, 2, 2, 4, 2, 2, 4).transpose(0, 5, 4, 3, 2, 1, 6).reshape(1, 16, 16),
    )
    # bit 0 of the word's number is the half of a 64-bit element, so bit 1 is bit 0 of the register's
    for element in ("i64", "f64"):
        yield Case(
            f"doubles_{element}",
            swapping(16, 4, ((0, 1), (1, 2)), 64),
            element,
            lambda given: given.reshape(1, 4, 4, 4).transpose(0, 1, 3, 2).reshape(1, 16, 4),
        )


def _blocks(given: Array, size: int) -> Array:
    blocks = given.reshape(given.shape[0], -1, size, size)
    return blocks.transpose(0, 1, 3, 2).reshape(given.shape)


def permutations() -> Iterator[Case]:
    for lanes in (8, 16, 32, 64):
        rng = np.random.default_rng(lanes)
        everyone = np.arange(lanes)
        bits = lanes.bit_length() - 1
        maps: dict[str, Array] = {
            "distance": everyone ^ (lanes - 3),
            "reversed_bits": np.array([int(f"{lane:0{bits}b}"[::-1], 2) for lane in everyone]),
            "turned_bits": (everyone >> 1 | (everyone & 1) << (bits - 1)) ^ 5,
            "turned": (everyone + 3) % lanes,
            "first": everyone * 0 + lanes - 2,
            "even": everyone // 2 * 2,
            "any": rng.permutation(lanes),
            "gathered": rng.integers(0, lanes, lanes),
        }
        steps = tuple(Shuffle(1 + i, 0, tuple(map(int, lanes_of))) for i, lanes_of in enumerate(maps.values()))
        unpack = tuple(range(1, 1 + len(maps)))
        program = Program(1, lanes, 32, 1, len(maps), (0,), steps, unpack)

        def expected(given: Array, maps: dict[str, Array] = maps) -> Array:
            return np.concatenate([given[:, lanes_of] for lanes_of in maps.values()], -1)

        yield Case(f"lanes_{lanes}", program, "f32", expected)


def bit_orders() -> Iterator[Case]:
    """Every order of the bits of a lane's number: LLVM 22 stops where it sees a reversal in one."""
    for lanes in (8, 16):
        count = lanes.bit_length() - 1
        orders = list(permutations_of(range(count)))
        moved = np.array(
            [[sum((lane >> b & 1) << to[b] for b in range(count)) for lane in range(lanes)] for to in orders]
        )

        def expected(given: Array, moved: Array = moved) -> Array:
            return given[:, moved.T, 0]

        steps = [Shuffle(1 + i, 0, tuple(map(int, row))) for i, row in enumerate(moved)]
        unpack = tuple(range(1, 1 + len(orders)))
        yield Case(
            f"orders_{lanes}", Program(1, lanes, 32, 1, len(orders), (0,), tuple(steps), unpack), "f32", expected
        )
        same = Address(0, xor=True, lane=tuple(1 << bit for bit in range(count)))
        factors = [Address(0, factors=tuple(("lane", 1 << b, 2, 1 << to[b]) for b in range(count))) for to in orders]
        taken = [Load((1 + i,), address) for i, address in enumerate(factors)]
        program = Program(
            1, lanes, 32, 1, len(orders), (0,), (Store((0,), same), Barrier(), *taken), unpack, slm_bytes=4 * lanes
        )
        yield Case(f"factor_orders_{lanes}", program, "f32", expected)


def packings() -> Iterator[Case]:
    """Registers renamed and packed, sizes that no vector has, elements of all types."""
    for element, bits in (("i8", 8), ("f8E5M2", 8), ("bf16", 16), ("ui16", 16), ("tf32", 32), ("f64", 64)):
        for source, target in ((1, 1), (5, 3), (24, 40)) if bits < 32 else ((6, 7),):
            rng = np.random.default_rng(source * bits)
            parts = max(1, 32 // bits)
            taken = rng.integers(-1, source, target)
            if bits == 64:
                cells = np.stack([2 * taken, 2 * taken + 1], -1).reshape(-1)
                pack = tuple(range(2 * source))
                unpack = tuple(int(cell) if cell >= 0 else -1 for cell in cells)
            else:
                order = rng.permutation(source)
                pack = (*(int(cell) for cell in order), *[-1] * (-source % parts))
                unpack = tuple(-1 if cell < 0 else pack.index(cell) for cell in taken)
            program = Program(1, 16, bits, source, target, pack, (), unpack)
            yield Case(
                f"packed_{element}_{source}_{target}",
                program,
                element,
                lambda given, taken=taken: np.where(taken >= 0, given[..., taken], 0).astype(given.dtype),
            )


def selections() -> Iterator[Case]:
    for subgroups in (1, 2, 3, 4, 8):
        for axis, count in (("sg", subgroups), ("lane", 16)):
            rng = np.random.default_rng(subgroups)
            everyone = (1 << count) - 1
            halves = sum(1 << i for i in range(count) if i & 1)
            masks = [
                0,
                everyone,
                halves,
                everyone ^ halves,
                1 << count // 2,
                0b11 & everyone,
                *map(int, rng.integers(0, everyone, 2)),
            ]
            masks = list(dict.fromkeys(masks))
            steps = tuple(Select(2 + i, 0, 1, axis, mask) for i, mask in enumerate(masks))
            program = Program(subgroups, 16, 32, 2, len(masks), (0, 1), steps, tuple(2 + i for i in range(len(masks))))

            def expected(given: Array, masks: list[int] = masks, axis: str = axis) -> Array:
                numbers = np.arange(given.shape[0])[:, None] if axis == "sg" else np.arange(16)[None, :]
                chosen = [np.where(np.int64(mask) >> numbers & 1, given[..., 0], given[..., 1]) for mask in masks]
                return np.stack(chosen, -1)

            yield Case(f"select_{axis}_of_{subgroups}", program, "i32", expected)


def shared_memory() -> Iterator[Case]:
    """Exchanges between subgroups: all have their words in order of [subgroup, lane, register] and take others."""
    for subgroups in (2, 4):
        for lanes, several in ((8, (1, 4)), (16, (1, 2, 4)), (32, (2,))):
            bits = lanes.bit_length() - 1
            for registers in several:
                size = registers * lanes
                line = tuple(registers << bit for bit in range(bits))
                blocks = tuple(size << bit for bit in range(subgroups.bit_length() - 1))
                # the other way round, with the words of odd lanes further on by an XOR that both sides know
                twisted = tuple(term ^ (registers if bit == 2 else 0) for bit, term in enumerate(line))
                store = Store(tuple(range(registers)), Address(0, xor=True, lane=twisted, sg=blocks))
                load = Load(
                    tuple(range(registers, 2 * registers)),
                    Address((subgroups - 1) * size, xor=True, lane=twisted, sg=blocks),
                )
                yield Case(
                    f"opposite_{subgroups}_{lanes}_{registers}",
                    _sharing(subgroups, lanes, registers, (store, Barrier(), load), size * subgroups),
                    "f32",
                    lambda given: given[::-1],
                )
    # a transpose of [subgroup, lane] with rows padded by one word, and by factors that are not powers of two
    for subgroups, lanes, pitch in ((4, 16, 17), (2, 32, 33), (4, 8, 9), (3, 16, 19)):
        total = subgroups * lanes
        store = Store((0,), Address(2, factors=(("sg", 1, subgroups, pitch), ("lane", 1, lanes, 1))))
        # work-item i reads number i of the transposed matrix: lane i // subgroups of subgroup i % subgroups
        if lanes % subgroups == 0:
            factors = (
                ("lane", 1, subgroups, pitch),
                ("lane", subgroups, lanes, 1),
                ("sg", 1, subgroups, lanes // subgroups),
            )
            load = Load((1,), Address(2, factors=factors))
            yield Case(
                f"padded_{subgroups}_{lanes}",
                _sharing(subgroups, lanes, 1, (store, Barrier(), load), pitch * subgroups + 2),
                "f32",
                lambda given: given[..., 0].T.reshape(given.shape),
            )
        else:
            factors = (("sg", 1, subgroups, pitch), ("lane", 3, 5, 3), ("lane", 1, 3, 1))
            load = Load((1,), Address(2, factors=factors))
            order = np.array([lane // 3 % 5 * 3 + lane % 3 for lane in range(lanes)])
            yield Case(
                f"factors_{subgroups}_{lanes}_{total}",
                _sharing(subgroups, lanes, 1, (store, Barrier(), load), pitch * subgroups + 2),
                "f32",
                lambda given, order=order: given[:, order],
            )
    yield from _restricted()
    yield from _rounds()


def _sharing(subgroups: int, lanes: int, registers: int, steps: tuple[Step, ...], words: int) -> Program:
    pack, unpack = tuple(range(registers)), tuple(range(registers, 2 * registers))
    return Program(subgroups, lanes, 32, registers, registers, pack, steps, unpack, slm_bytes=4 * words)


def _restricted() -> Iterator[Case]:
    """Of two lanes (or subgroups) that hold the same place, one stores: which one shows in the result."""
    address = Address(0, factors=(("lane", 1, 8, 3),))
    for name, where, owner in (
        ("upper_lanes", (0xFF00, 0, 0, 0), (0, 8)),
        ("one_subgroup", (0, 0, 0x00FF, 0), (2, 0)),
        ("scattered", (0x0081, 0x4200, 0x0024, 0x1800), None),
    ):
        steps = (Store((0, 1, 2), address, where), Barrier(), Load((3, 4, 5), address))
        owners = [
            owner
            or next(
                (s, lane % 8 + 8 * upper)
                for s in range(4)
                for upper in (0, 1)
                if where[s] >> (lane % 8 + 8 * upper) & 1
            )
            for lane in range(16)
        ]

        def expected(given: Array, owners: Any = owners, fixed: bool = owner is not None) -> Array:
            rows = [given[s, (first + lane % 8) if fixed else first] for lane, (s, first) in enumerate(owners)]
            return np.broadcast_to(np.stack(rows), given.shape)

        yield Case(f"where_{name}", _sharing(4, 16, 3, steps, 24), "f32", expected)


def _rounds() -> Iterator[Case]:
    """Eight words through a buffer for two: four rounds, with barriers between reading and writing again."""
    lane = tuple(2 << bit for bit in range(4))
    mine, theirs = Address(0, xor=True, lane=lane, sg=(32,)), Address(32, xor=True, lane=lane, sg=(32,))
    steps: list[Step] = []
    for first in range(0, 8, 2):
        steps += [Barrier()] if steps else []
        steps += [Store((first, first + 1), mine), Barrier(), Load((8 + first, 9 + first), theirs)]
    yield Case("rounds", _sharing(2, 16, 8, tuple(steps), 64), "f32", lambda given: given[::-1])
    wide = tuple(range(24))
    steps = [Store(wide, Address(0, factors=(("sg", 1, 2, 16 * 24), ("lane", 1, 16, 24)))), Barrier()]
    steps += [Load(tuple(range(24, 48)), Address(0, factors=(("sg", 1, 2, 16 * 24), ("lane", 1, 16, 24))))]
    yield Case("wide", _sharing(2, 16, 24, tuple(steps), 2 * 16 * 24), "f32", lambda given: given)


def dropping() -> Iterator[Case]:
    """Fragments and words of which not all is needed: LLVM 22 shortens such vectors, to sizes that SPIR-V doesn't have."""
    some = (0, 2, 4, 6)
    for element, bits in (("i8", 8), ("f16", 16), ("f32", 32), ("f64", 64)):
        halves = max(1, bits // 32)
        unpack = tuple(cell * halves + half for cell in some for half in range(halves))
        whole = tuple(range(8 * halves))
        yield Case(
            f"some_of_8_{element}",
            Program(1, 16, bits, 8, 4, whole, (), unpack),
            element,
            lambda given: given[..., ::2],
        )
        first = Program(1, 16, bits, 8, 1, whole, (), tuple(range(halves)))
        yield Case(f"first_of_8_{element}", first, element, lambda given: given[..., :1])
        again = Program(1, 16, bits, 1, 4, first.unpack + (-1,) * (max(1, 32 // bits) - 1), (), first.unpack * 4)
        yield Case(f"one_of_8_{element}", (first, again), element, lambda given: given[..., [0, 0, 0, 0]])
    line = tuple(4 << bit for bit in range(4))
    for element, bits, parts in (("f16", 16, 2), ("i8", 8, 4)):
        # a cell in each word, through memory by single words and by vectors of four, of which three or all are taken
        pack = tuple(cell for i in range(4) for cell in (i, *[-1] * (parts - 1)))
        near = [Address(i, xor=True, lane=line) for i in range(4)]
        far = [Address(i ^ 4, xor=True, lane=line) for i in range(4)]
        single = (*[Store((i,), near[i]) for i in range(4)], Barrier(), *[Load((4 + i,), far[i]) for i in range(4)])
        vectors = (Store((0, 1, 2, 3), near[0]), Barrier(), Load((4, 5, 6, 7), far[0]))
        for name, steps in (("single", single), ("vectors", vectors)):
            for count in (3, 4):
                unpack = tuple((4 + i) * parts for i in range(count))
                yield Case(
                    f"halves_{name}_{count}_{element}",
                    Program(1, 16, bits, 4, count, pack, steps, unpack, slm_bytes=256),
                    element,
                    lambda given, count=count: given[:, np.arange(16) ^ 1][..., :count],
                )


def chains() -> Iterator[Case]:
    """Programs one after another; where both use the memory, others must have read before it is written again."""
    for element, bits in (("f32", 32), ("f16", 16), ("i64", 64)):
        exchange = swapping(16, 8, ((0, 0), (3, 1)), bits)
        once = Program(1, 16, bits, 8, 8, exchange.pack, exchange.steps, exchange.unpack)
        yield Case(f"back_{element}", (once, once), element, lambda given: given)
    line = tuple(2 << bit for bit in range(4))
    store, load = (
        Store((0, 1), Address(0, xor=True, lane=line, sg=(32,))),
        Load((2, 3), Address(32, xor=True, lane=line, sg=(32,))),
    )
    other = _sharing(2, 16, 2, (store, Barrier(), load), 64)
    wider = Program(2, 16, 32, 2, 3, (0, 1), other.steps, (3, 2, 3), slm_bytes=256)
    yield Case("memory_twice", (other, wider), "f32", lambda given: given[..., [1, 0, 1]])


def anything() -> Iterator[Case]:
    """Random programs of all steps, on random elements; only `Program.run` knows what they do."""
    for seed in range(24):
        rng = np.random.default_rng(seed)
        subgroups, lanes = int(rng.choice([1, 2, 3, 4])), int(rng.choice([8, 16, 32]))
        element, bits = [("i8", 8), ("f16", 16), ("bf16", 16), ("f32", 32), ("f64", 64)][seed % 5]
        source, target = (int(n) for n in rng.integers(1, 13, 2))
        parts, halves = max(1, 32 // bits), max(1, bits // 32)
        words = -(-source * halves // parts)
        pack = tuple(int(cell) for cell in rng.integers(-1, source * halves, words * parts))
        size, steps = int(rng.integers(1, 5)), list[Step]()
        free = words
        for _ in range(int(rng.integers(2, 20))):
            a, b = (int(n) for n in rng.integers(0, free, 2))
            match rng.integers(0, 4):
                case 0:
                    steps.append(Shuffle(free, a, tuple(int(n) for n in rng.permutation(lanes))))
                case 1:
                    steps.append(Shuffle(free, a, tuple(n ^ int(b) % lanes for n in range(lanes))))
                case 2:
                    axis = str(rng.choice(["lane", "sg"]))
                    steps.append(
                        Select(free, a, b, axis, int(rng.integers(0, 2 ** (lanes if axis == "lane" else subgroups))))
                    )
                case _:
                    factors = (("lane", 1, lanes, size), ("sg", 1, subgroups, size * lanes))
                    taken = (*factors[:1], ("sg", 1, subgroups, size * lanes * int(rng.integers(0, 2))))
                    stored = tuple(int(n) for n in rng.integers(0, free, size))
                    steps += [Barrier(), Store(stored, Address(0, factors=factors)), Barrier()]
                    steps.append(Load(tuple(range(free, free + size)), Address(0, factors=taken)))
                    free += size - 1
            free += 1
        unpack = tuple(int(cell) for cell in rng.integers(-1, free * parts, target * halves))
        slm = size * lanes * subgroups
        program = Program(subgroups, lanes, bits, source, target, pack, tuple(steps), unpack, slm_bytes=4 * slm)
        yield Case(f"random_{seed}", program, element)


def planned() -> Iterator[Case]:
    """What the planner makes of random pairs: powers of two and mixed factors, all kinds."""
    random = Random(11)
    wanted = {"registers": 4, "shuffles": 26, "shared memory": 18}
    while any(wanted.values()):
        source, target = bits_pair(random, 3) if random.random() < 0.75 else mixed_pair(random)
        bits = random.choice([8, 16, 32, 64])
        plan = la.convert(source, target, element_bits=bits)
        lanes = plan.programs[0].lanes
        steps = sum(len(program.steps) for program in plan.programs)
        if lanes not in (8, 16, 32) or steps > 300 or wanted.get(plan.kind, 0) == 0:
            continue
        wanted[plan.kind] -= 1
        yield converting(f"planned{sum(wanted.values())}", plan.programs, source, target, f"i{bits}")
    for number, (a, b, bits, limit) in enumerate(NAMED):
        plan = la.convert(la.Layout.parse(a), la.Layout.parse(b), element_bits=bits, slm_limit=limit)
        yield converting(f"named{number}", plan.programs, plan.source, plan.destination, f"i{bits}")
    for number, (a, b, bits) in enumerate(OFFSET):
        plan = la.convert(a, b, element_bits=bits)
        assert plan.slm_bytes
        yield Case(f"offset{number}", plan.programs, f"i{bits}")


NAMED = [
    ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg", 32, None),  # a transposed tile
    ("d0 = 16@reg, d1 = 2@lane:16 16@lane", "d0 = 16@lane, d1 = 2@lane:16 16@reg", 32, None),  # four bits of 32 lanes
    # a word for each value of a lane bit that the sender cannot tell, and parts of a word
    (
        "d0 = 2@lane 2@lane:2 2@lane:4 2@reg:2, d1 = 2@reg | replicas 4@sg",
        "d0 = 2@sg:2 2@lane 2@sg 2@lane:2, d1 = 2@lane:4",
        16,
        None,
    ),
    (
        "d0 = 2@lane:4 2@reg:4, d1 = 2@reg:2 2@lane:2 2@reg | replicas 2@sg 2@lane",
        "d0 = 2@sg 2@lane, d1 = 2@lane:2 2@lane:4 2@reg",
        64,
        None,
    ),
    ("d0 = 8@lane, d1 = 2@reg | replicas 2@sg", "d0 = 2@sg 4@lane, d1 = 2@lane:4", 32, None),
    ("d0 = 3@reg, d1 = 8@lane", "d0 = 3@reg, d1 = 2@lane 4@lane:2", 16, None),
    # a lane bit that changes places with a subgroup bit: between two exchanges, in three rounds where memory is short
    ("d0 = 2@sg, d1 = 2@lane:8 8@lane, d2 = 8@reg", "d0 = 2@lane:8, d1 = 2@sg 8@lane, d2 = 8@reg", 32, 512),
    ("d0 = 2@sg, d1 = 2@lane:8 8@lane, d2 = 8@reg", "d0 = 2@lane:8, d1 = 2@sg 8@lane, d2 = 8@reg", 32, 128),
    ("d0 = 4@sg 4@reg, d1 = 16@lane", "d0 = 4@reg 4@sg, d1 = 16@lane", 32, 512),
    # everything in rounds, halves of words, writers with wider accesses than readers
    ("d0 = 2@sg 2@lane, d1 = 8@lane:2, d2 = 8@reg", "d0 = 2@lane:8 2@sg, d1 = 8@lane, d2 = 8@reg", 16, 256),
    ("d0 = 2@sg 8@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 2@sg 8@reg", 64, None),
    # factors that are not bits, in words of two and four elements
    ("d0 = 3@sg 2@lane, d1 = 8@lane:2, d2 = 4@reg", "d0 = 2@lane 3@sg, d1 = 8@lane:2, d2 = 4@reg", 16, None),
    ("d0 = 3@sg 2@lane, d1 = 8@lane:2, d2 = 4@reg", "d0 = 2@lane 3@sg, d1 = 8@lane:2, d2 = 4@reg", 8, None),
    ("d0 = 3@sg 2@lane, d1 = 8@lane:2, d2 = 6@reg", "d0 = 2@lane 3@sg, d1 = 8@lane:2, d2 = 6@reg", 32, 512),
    # subgroups whose lanes read other lanes; blocks of a tile, in a subgroup and across, side by side and in turns
    ("d0 = 3@reg 2@lane, d1 = 8@lane:2 | replicas 2@sg", "d0 = 2@sg 3@reg, d1 = 8@lane | replicas 2@lane:8", 32, None),
    ("d0 = 3@reg:8, d1 = 8@reg, d2 = 2@lane:8 8@lane", "d0 = 3@reg:8, d1 = 8@lane, d2 = 2@lane:8 8@reg", 16, None),
    ("d0 = 2@sg, d1 = 16@lane, d2 = 3@reg 4@reg:3", "d0 = 2@lane:8, d1 = 2@sg 8@lane, d2 = 3@reg:4 4@reg", 32, None),
    ("d0 = 2@sg, d1 = 16@lane, d2 = 3@reg:4 4@reg", "d0 = 2@lane:8, d1 = 2@sg 8@lane, d2 = 3@reg 4@reg:3", 32, 512),
    # 15 registers dealt out anew: selects shared between words
    ("d0 = 16@lane 15@reg", "d0 = 15@reg 16@lane", 32, None),
    # bytes and halves in memory: single ones, stored singly and loaded as words, in pairs, by one replica, of odd factors
    ("d0 = 2@sg 16@lane", "d0 = 2@lane:8 2@sg 8@lane", 8, None),
    ("d0 = 2@sg 16@lane 4@reg", "d0 = 4@reg 2@sg 16@lane", 8, None),
    ("d0 = 2@sg 16@lane 2@reg", "d0 = 2@lane:8 2@sg 8@lane 2@reg", 8, None),
    ("d0 = 2@sg 2@reg 16@lane | replicas 2@sg:2", "d0 = 2@reg 2@sg 16@lane | replicas 2@sg:2", 16, None),
    ("d0 = 2@sg 2@reg, d1 = 16@lane", "d0 = 2@lane 2@sg, d1 = 2@lane:2 4@lane:4 2@reg", 8, None),
    ("d0 = 3@sg 5@reg, d1 = 16@lane", "d0 = 5@reg 3@sg, d1 = 16@lane", 8, None),
]
OFFSET = [
    ("d0 = 2@sg 4@lane | offset 4@lane", "d0 = 4@lane 2@sg", 32),
    ("d0 = 2@sg 3@lane | offset 5@lane", "d0 = 3@lane 2@sg | offset 1@sg", 16),
    ("d0 = 3@sg 8@lane, d1 = 2@reg | offset 1@sg 8@lane", "d0 = 8@lane 3@sg, d1 = 2@reg | offset 7@lane", 8),
]
"""Lanes and subgroups that are counted from where a layout starts; tests/conversion/test_any_layout.py says what holds what."""
IN_SUBGROUPS = [
    ("d0 = 16@reg, d1 = 16@lane | replicas 2@sg", "d0 = 16@lane, d1 = 16@reg | replicas 2@sg", 8),
    ("d0 = 2@sg, d1 = 8@reg, d2 = 16@lane", "d0 = 2@sg, d1 = 8@lane, d2 = 8@reg 2@lane:8", 16),
    ("d0 = 4@reg, d1 = 16@lane, d2 = 2@sg", "d0 = 4@lane, d1 = 4@reg 4@lane:4, d2 = 2@sg", 32),
    ("d0 = 3@reg 2@lane, d1 = 8@lane:2", "d0 = 2@lane:8 3@reg, d1 = 8@lane", 8),
]
"""Conversions of which every way through memory is taken, though shuffles do it too."""


def inside() -> Iterator[Case]:
    for number, (a, b, bits) in enumerate(IN_SUBGROUPS):
        plan = la.convert(la.Layout.parse(a), la.Layout.parse(b), element_bits=bits)
        for i, way in enumerate(one.programs for one in plan.candidates if one.slm_bytes):
            yield converting(f"inside{number}_{i}", way, plan.source, plan.destination, f"i{bits}")


CASES = [
    *planned(),
    *inside(),
    *transposes(),
    *permutations(),
    *bit_orders(),
    *packings(),
    *selections(),
    *shared_memory(),
    *dropping(),
    *chains(),
    *anything(),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conversions")


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[Case]:
    """The cases of the tests that run: compilers are given no others."""
    names = set[str]()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec"):
            case = item.callspec.params.get("case")
            if isinstance(case, Case):
                names.add(case.name)
    return [case for case in CASES if case.name in names]


@pytest.fixture(scope="module")
def binary(directory: Path, chosen: list[Case]) -> Path:
    return lower_batch([case.job() for case in chosen], directory)


@pytest.fixture(scope="module")
def kernels(binary: Path, directory: Path) -> dict[str, str]:
    return spirv_functions(binary, directory)


@pytest.fixture(scope="module")
def ran(binary: Path, directory: Path, chosen: list[Case]) -> dict[str, Array]:
    assert binary.parent == directory
    return launch_batch([case.job() for case in chosen], directory)


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory: pytest.TempPathFactory, chosen: list[Case]) -> dict[str, Listing]:
    """PVC has subgroups of 16 and 32 lanes, DG2 of 8."""
    found: dict[str, Listing] = {}
    for device, sizes in (("pvc", (16, 32)), ("dg2", (8,))):
        directory = tmp_path_factory.mktemp(device)
        if jobs := [case.job() for case in chosen if case.lanes in sizes]:
            found |= listings_of(lower_batch(jobs, directory), directory, device)
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_real_work_items_do_what_the_program_says(case: Case, ran: dict[str, Array]) -> None:
    for given, found in zip(case.job().fragments, ran[case.name], strict=True):
        assert np.array_equal(found, case.run(given))
        if case.expected is not None:
            assert np.array_equal(found, case.expected(given))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_llvm_keeps_every_shuffle_and_barrier(case: Case, kernels: dict[str, str]) -> None:
    """And every select, save those that choose always the same (it makes others out of addresses and rotations)."""
    text = kernels[case.name]
    if not case.name.startswith("random"):
        assert text.count("OpGroupNonUniformShuffle") == case.count(Shuffle)
        # Lanes that no XOR finds, or that differ between subgroups: LLVM makes selects of the look-up.
        steps = [step for program in case.programs for step in program.steps]
        looked_up = case.name.startswith("planned") or any(isinstance(step, Shuffle) and step.others for step in steps)
        if not case.count(Store) and not case.count(Permute) and not looked_up:
            assert text.count("OpSelect ") == case.count(Select) - sum(map(_always, case.programs))
    between = max(0, sum(program.slm_bytes > 0 for program in case.programs) - 1)
    assert text.count("OpControlBarrier") == case.count(Barrier) + between


def _always(program: Program) -> int:
    """Selects that choose the same in all lanes."""
    everyone = {"lane": (1 << program.lanes) - 1, "sg": (1 << program.subgroups) - 1}
    return sum(isinstance(step, Select) and step.mask in (0, everyone[step.axis]) for step in program.steps)


@pytest.mark.parametrize("case", [case for case in CASES if case.lanes <= 32], ids=str)
def test_intels_compiler_leaves_no_call_and_no_spill(case: Case, machine_code: dict[str, Listing]) -> None:
    listing = machine_code[case.name]
    assert listing.count("calla") == 0
    assert listing.count("send") >= 2
    first, last = case.programs[0], case.programs[-1]
    if max(first.source_registers, last.registers) * first.element_bits <= MODEST * 32:
        assert "scratch" not in listing.text.lower()


def test_every_function_lowers(tmp_path: Path) -> None:
    texts = [emit_function(case.programs, case.element, case.name, llvm=22) for case in CASES]
    functions = spirv_functions(spirv_of(merged(texts), tmp_path), tmp_path)
    assert {case.name for case in CASES} <= set(functions)
    for case in transposes():
        assert functions[case.name].count("OpGroupNonUniformShuffle") == case.count(Shuffle)


def test_functions_do_it_when_opencl_c_calls_them(tmp_path: Path) -> None:
    """A linker of SPIR-V takes them: vectors of floats, halves, doubles and bytes go in and out as they are."""
    wanted = ("transpose_16_f32", "exchange_32_16", "pairs_16", "fours_16", "doubles_f64", "doubles_i64")
    cases = [case for case in CASES if case.name in wanted]
    called = run_functions([case.job() for case in cases], tmp_path)
    for case in cases:
        for given, found in zip(case.job().fragments, called[case.name], strict=True):
            assert np.array_equal(found, case.run(given)), case.name


def test_one_alone_lowers_and_runs(tmp_path: Path) -> None:
    """Without the merging of this file's cases."""
    case = next(transposes())
    spirv_of(emit_function(case.programs, case.element, llvm=22), tmp_path)
    given = case.job().fragments[0]
    assert np.array_equal(run_on_cpu(case.programs, given, case.element, tmp_path), given.transpose(0, 2, 1))


def test_a_barrier_inside_a_subgroup_is_one_for_llvm_and_intels_compilers(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "inside1_0")
    text = emit_kernel(case.programs, case.element, case.name, target="pvc", llvm=22)
    binary = spirv_of(text, tmp_path)
    assert spirv_functions(binary, tmp_path)[case.name].count("OpControlBarrier") == 1
    given = case.job()
    found = launch_batch([given], tmp_path)[case.name]
    assert np.array_equal(found[0], case.run(given.fragments[0]))
    listing = listings_of(binary, tmp_path, "pvc")[case.name]
    assert listing.count("calla") == 0
    assert "signal barrier" not in listing.text


@pytest.mark.parametrize("version", [22, 23, 24])
def test_llvm_verifies_the_text_as_it_stands(version: int) -> None:
    case = next(_rounds())
    compiler = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    for emit in (emit_kernel, emit_function):
        text = emit(case.programs, "f32", llvm=version)
        done = run([compiler, "-o", "/dev/null"], text)
        assert done.returncode == 0, done.stderr
        written = write_module(read_module(text), llvm=version)
        # The generic form of a global is what all versions read: 24 wants `alignment` elsewhere in the other.
        assert [text.count("memref.global"), written.count("memref.global")] == [1, 1]
        assert without_globals(written) == without_globals(text)


def without_globals(text: str) -> list[str]:
    return [line for line in text.splitlines() if "memref.global" not in line]


@pytest.mark.parametrize("version", [22, 23, 24])
def test_every_version_makes_spirv_of_the_kernels_and_functions_that_are_written_for_it(version: int) -> None:
    compiler = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    known = [case for case in CASES if case.lanes in (16, 32)]  # the subgroups that pvc has
    cases = [*known[version % 3 :: 3], next(case for case in CASES if case.name == "inside1_0")]
    texts = [
        emit(case.programs, case.element, case.name, target="pvc", llvm=version)
        for emit in (emit_kernel, emit_function)
        for case in cases
    ]
    kind = "bin" if version == 22 else "isa"
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format={kind}"
    done = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert done.returncode == 0, done.stderr[:2000]
    assert done.stdout.count("gpu.binary") == len(texts) > 60


def test_unless_a_version_is_named_a_kernel_is_for_llvm_24() -> None:
    plan = la.convert("d0 = 4@reg, d1 = 16@lane", "d0 = 4@lane, d1 = 4@lane:4 4@reg")
    assert plan.emit(kernel=True) == plan.emit(kernel=True, llvm=24)
    done = run([require_new("mlir-opt-24"), "-o", "/dev/null"], plan.emit(kernel=True))
    assert done.returncode == 0, done.stderr
    for version in (22, 23):
        assert "chunk_size = 4" in plan.emit(kernel=True, llvm=version)
    with pytest.raises(la.LayoutError, match="LLVM 21: the rules of LLVM 22, 23, 24 are known"):
        plan.emit(kernel=True, llvm=21)


@pytest.mark.parametrize(
    ("target", "lanes"), [("pvc", n) for n in (4, 8, 16, 32, 64)] + [("dg2", n) for n in (4, 8, 16, 32)]
)
def test_lanes_that_a_chip_has_not_are_refused_as_intels_compiler_does(target: str, lanes: int, tmp_path: Path) -> None:
    swap = Program(1, lanes, 32, 1, 1, (0,), (Shuffle(1, 0, tuple(i ^ 1 for i in range(lanes))),), (1,))
    refused = ""
    try:
        listings_of(lower_batch([Case("swap", swap, "i32").job()], tmp_path), tmp_path, target)
    except AssertionError as error:
        assert "required sub" in str(error)
        refused = f"subgroups of {lanes} lanes on {target}: a kernel may ask for"
    for emit in (emit_function, emit_kernel):
        if refused:
            with pytest.raises(ConversionError, match=refused):
                emit(swap, target=target)
        else:
            assert f"intel_reqd_sub_group_size = {lanes} " in emit(swap, target=target)


ONE = Program(1, 16, 32, 1, 1, (0,), (), (0,))


@pytest.mark.parametrize("emit", [emit_function, emit_kernel])
@pytest.mark.parametrize(
    ("program", "element", "name", "words"),
    [
        (ONE, "f16", "convert", "f16 has 16 bits"),
        (ONE, "f31", "convert", "element type 'f31'"),
        (ONE, "index", "convert", "element type 'index'"),
        (ONE, None, "convert", "element type"),
        (ONE, "f32", "two words", "name 'two words'"),
        (ONE, "f32", "", "name ''"),
        (
            Program(1, 16, 32, 1, 1, (0,), (Shuffle(1, 7, tuple(range(16))),), (1,)),
            "f32",
            "convert",
            "step 0 reads word 7",
        ),
        (Program(1, 16, 32, 1, 1, (0,), (Shuffle(1, 0, (0, 1)),), (1,)), "f32", "convert", "expected 16 lanes"),
        (Program(1, 16, 32, 1, 1, (0,), (Store((0,), Address(0)),), (0,)), "f32", "convert", "slm_bytes is 0"),
        ((), "f32", "convert", "no program"),
        (Program(1, 16, 32, 1, 2, (0,), (), (0,)), "f32", "convert", "unpacks 1: expected a multiple of 1, and 2"),
        (Program(1, 16, 32, 1, 1, (0,), (Select(1, 0, 0, "x", 1),), (1,)), "f32", "convert", "selects by 'x'"),
        ((ONE, Program(1, 16, 32, 2, 1, (0, 1), (), (0,))), "f32", "convert", "the next, for 1 of 16, takes 2 of 32"),
        (Program(1, 16, 32, 1, 1, (0,), (), (3,)), "f32", "convert", "the result takes word 3"),
        (Program(1, 16, 32, 1, 1, (4,), (), (0,)), "f32", "convert", "source cell 4"),
        (Program(128, 8, 32, 2, 1, (0, 1), (Select(2, 0, 1, "sg", 0b1011),), (2,)), "f32", "convert", "out of 128 sg"),
    ],
)
def test_what_cannot_be_emitted_is_said(emit: Any, program: Any, element: Any, name: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words) as raised:
        emit(program, element, name)
    assert isinstance(raised.value, ConversionError)
