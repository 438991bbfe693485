"""Mixed ways: how often one is the best way, and what would be gained by those that are not built.

    python benchmarks/mixed_ways.py               bmg, pvc, sm_80 and gfx942, 200 random conversions of each family
    python benchmarks/mixed_ways.py bmg 50        one chip, fewer
    python benchmarks/mixed_ways.py --listings 16 of conversions with copies the first 16 whose best way is a new one, compiled

Three families of random conversions, bit by bit (`prices.random_pair`, elements of 16, 32 and 64 bits): inside a
subgroup, between subgroups, and with copies in one or two bits of lanes or subgroups (`prices.with_copies`). For each it
prints how many have a mixed way, or copies told apart, as their best way, with the gain over the best of the others (slots
and instructions together).

Between subgroups two mixed ways are tried here that layoutalg does not build:

- *what stays and what crosses*: a subgroup's bit that changes places with a register's leaves half of the words at home.
  Selects by the subgroup's number bring those together, half of the words are exchanged inside the subgroup, the other half
  goes through memory, and selects by the subgroup's number put both where they are wanted. An example to count by hand: 16
  words, whose lanes move too. Through memory: 16 words each way, on bmg 128 slots and 39 instructions, rank 167. So: 8 words
  each way, 64 slots, but 32 selects and half an exchange, 80 instructions, rank 160.
- *both ways across*: some registers go wholly through memory, and of others what crosses alone, with exchanges before and
  after.

In the first, one side's addresses need a bit of the subgroup's number flipped; it is priced without, as if that were free.
"""

from __future__ import annotations

import random
import runpy
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import layoutalg as la
from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.candidates import candidates_of, held
from layoutalg.conversion.cost import cost_of, rank
from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Barrier
from layoutalg.conversion.strategies.exchange import stays_in_subgroup
from layoutalg.conversion.strategies.mixed import Parts, parts_of
from layoutalg.conversion.strategies.renaming import bit_mask
from layoutalg.conversion.strategies.side_by_side import side_by_side
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.memory.machine_bits import View, view

PRICES: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("prices.py")))
LANES = {"bmg": 16, "pvc": 16, "sm_80": 32, "gfx942": 64}
MOST = {16: 6, 32: 6, 64: 4}
"""The bits of the registers' numbers, at most."""
MIXED, SAVING = "while the rest is shuffled", 1.05
FAMILIES = "inside a subgroup", "between subgroups", "with copies"

Chain = tuple[Program, ...]


def layout_of(sides: View) -> Layout:
    """A layout of one dimension with these bits; the others are copies."""
    taken = set(sides.places)
    free = [
        (2, 1 << bit, axis) for axis, width in sides.widths.items() for bit in range(width) if (axis, bit) not in taken
    ]
    return Layout([[(2, 1 << bit, axis) for axis, bit in reversed(sides.places)]], free)


def rank_of(chain: Sequence[Program], chip: str) -> int:
    return rank(*cost_of(chip).priced(chain))[0]


def ways(a: View, b: View, bits: int, chip: str) -> tuple[Candidate, ...]:
    try:
        return candidates_of(layout_of(a), layout_of(b), bits, chip)
    except LayoutError:
        return ()


# --- what stays, and what crosses


class Swapped(NamedTuple):
    """Subgroup bit `bit` changes places with register bits; `a` and `b` are what is left of both sides, for either half."""

    bit: int
    register: int
    to_register: int
    a: View
    b: View


def swapped(a: View, b: View) -> Iterable[Swapped]:
    """The subgroup bits that go to a register, and for which one comes from a register."""
    for bit in range(a.widths["sg"]):
        place = ("sg", bit)
        if place not in a.places or place not in b.places:
            continue
        leaves, comes = a.places.index(place), b.places.index(place)
        if leaves == comes or b.places[leaves][0] != "reg" or a.places[comes][0] != "reg":
            continue
        register, to_register = a.places[comes][1], b.places[leaves][1]
        rest = [i for i in range(len(a.places)) if i != comes]
        before = [_below(a.places[i], register) for i in rest]
        after = [place if i == leaves else _below(b.places[i], to_register) for i in rest]
        sides = [
            View(tuple(places), one.widths | {"reg": one.widths["reg"] - 1})
            for one, places in ((a, before), (b, after))
        ]
        yield Swapped(bit, register, to_register, sides[0], sides[1])


def _below(place: tuple[str, int], gone: int) -> tuple[str, int]:
    return ("reg", place[1] - (place[1] > gone)) if place[0] == "reg" else place


def stays_and_crosses(a: View, b: View, bits: int, chip: str) -> list[Chain]:
    """Half of the words exchanged inside their subgroups, half through memory, between selects by the subgroup's number."""
    found: list[Chain] = []
    for one in swapped(a, b) if bits >= WORD else ():
        known = [way for way in ways(one.a, one.b, bits, chip) if len(way.programs) == 1 and MIXED not in way.name]
        inside = [way.programs[0] for way in known if not way.slm_bytes][:2]
        outside = [_waiting(way.programs[0]) for way in known if way.slm_bytes][:4]
        mask = bit_mask(1 << a.widths["sg"], one.bit)
        before, after = (_halves(side, bit) for side, bit in ((a, one.register), (b, one.to_register)))
        first, last = _selected(a, before, mask, bits, first=True), _selected(b, after, mask, bits, first=False)
        halves = [list(range(len(before[0]) * i, len(before[0]) * (i + 1))) for i in range(2)]
        for exchange, memory in product(inside, outside):
            found.append((first, side_by_side([exchange, memory], halves, halves, cost_of(chip).slm_bytes), last))
    return found


def _halves(side: View, bit: int) -> list[list[int]]:
    registers = range(1 << side.widths["reg"])
    return [[one for one in registers if one >> bit & 1 == value] for value in (0, 1)]


def _selected(side: View, halves: list[list[int]], mask: int, bits: int, *, first: bool) -> Program:
    """The registers whose bit is the subgroup's own, then the others (`first`); or these back where they are wanted."""
    cells = bits // WORD
    given = halves if first else [list(range(len(halves[0]) * i, len(halves[0]) * (i + 1))) for i in range(2)]
    pack = [register * cells + i for half in given for register in half for i in range(cells)]
    builder = Builder(1 << side.widths["sg"], 1 << side.widths["lane"], bits, pack)
    size = len(pack) // 2
    made = [[builder.select(i + size, i, "sg", mask) for i in range(size)]]
    made.append([builder.select(i, i + size, "sg", mask) for i in range(size)])
    unpack = made[0] + made[1]
    if not first:
        where = [register * cells + i for half in halves for register in half for i in range(cells)]
        unpack = [word for _, word in sorted(zip(where, unpack, strict=True))]
    registers = 1 << side.widths["reg"]
    return builder.program(registers, registers, unpack)


def _waiting(program: Program) -> Program:
    """The same where the workgroup waits: what is loaded is another subgroup's."""
    steps = tuple([Barrier("workgroup") if isinstance(step, Barrier) else step for step in program.steps])
    values = [
        getattr(program, name) for name in ("subgroups", "lanes", "element_bits", "source_registers", "registers")
    ]
    return Program(*values, program.pack, steps, program.unpack, program.slm_bytes)


# --- both ways across


def both_ways_across(a: View, b: View, bits: int, chip: str) -> list[Chain]:
    """Some parts by what crosses alone, the others wholly through memory."""
    found: list[Chain] = []
    for count in (2, 4):
        parts = parts_of(a, b, bits, count)
        if parts is None or bits < WORD:
            continue
        known = ways(parts.source, parts.destination, bits, chip)
        chains = [way.programs for way in known if "only what crosses" in way.name]
        chains += sorted(
            stays_and_crosses(parts.source, parts.destination, bits, chip), key=lambda one: rank_of(one, chip)
        )[:1]
        whole = [way.programs[0] for way in known if "everything goes" in way.name][:2]
        for chain, memory, some in product(chains, whole, range(1, count)):
            found.append(_some(chain, memory, parts, some, bits, cost_of(chip).slm_bytes))
    return found


def _some(chain: Chain, memory: Program, parts: Parts, some: int, bits: int, limit: int) -> Chain:
    """The first parts by a chain; the others by one program, at the place of that program of the chain which uses memory."""
    at, count = next(i for i, one in enumerate(chain) if one.slm_bytes), len(parts.before)
    made: list[Program] = []
    held_now = [list(part) for part in parts.before]
    for i, program in enumerate(chain):
        others = memory if i == at else _same(program, len(held_now[-1]), bits)
        sizes = [program.registers] * some + [others.registers] * (count - some)
        starts = [sum(sizes[:j]) for j in range(count)]
        after = [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)]
        after = [list(part) for part in parts.after] if i == len(chain) - 1 else after
        made.append(side_by_side([program] * some + [others] * (count - some), held_now, after, limit))
        held_now = after
    return tuple(made)


def _same(program: Program, registers: int, bits: int) -> Program:
    cells = tuple(range(registers * (bits // WORD)))
    return Program(program.subgroups, program.lanes, bits, registers, registers, cells, (), cells)


# --- the families


def drawn(rng: random.Random, family: str, chip: str) -> tuple[Layout, Layout, int]:
    while True:
        bits = rng.choice([16, 32, 32, 64])
        subgroups = rng.choice([0, 0, 1]) if family == FAMILIES[0] else rng.choice([1, 1, 2])
        texts = PRICES["random_pair"](rng, LANES[chip], MOST[bits], subgroups)
        texts = PRICES["with_copies"](rng, texts) if family == FAMILIES[2] else texts
        a, b = (Layout.parse(text) for text in texts)
        one, other = view(a), view(b)
        if a == b or one is None or other is None:
            continue
        if family == FAMILIES[2] or stays_in_subgroup(one, other) == (family == FAMILIES[0]):
            return a, b, bits


def measured(chip: str, count: int) -> None:
    for family in FAMILIES:
        rng = random.Random(f"mixed ways {chip} {family}")
        gains: dict[str, list[float]] = {}
        for _ in range(count):
            a, b, bits = drawn(rng, family, chip)
            known = candidates_of(a, b, bits, chip)
            best = rank_of(known[0].programs, chip)
            plain = min(order[0] for _, order in held(a, b, bits, chip).values())
            if MIXED in known[0].name:
                gains.setdefault("a mixed way is taken", []).append(
                    min(rank_of(one.programs, chip) for one in known if MIXED not in one.name) / best
                )
            elif best < plain:
                gains.setdefault("copies are told apart", []).append(plain / best)
            views = view(a), view(b)
            if views[0] is not None and views[1] is not None and not stays_in_subgroup(views[0], views[1]):
                for name, chains in (
                    ("what stays and what crosses", stays_and_crosses(*views, bits, chip)),
                    ("both ways across", both_ways_across(*views, bits, chip)),
                ):
                    better = best / min([rank_of(chain, chip) for chain in chains], default=best)
                    if better >= SAVING:
                        gains.setdefault(f"not built: {name}", []).append(better)
        print(f"{chip}, {count} conversions {family}")
        for name, ratios in sorted(gains.items()):
            over = Counter(ratio >= SAVING for ratio in ratios)[True]
            print(
                f"  {name}: {len(ratios)}, {over} of them by 5 % or more; median {median(ratios):.2f}, most {max(ratios):.2f}"
            )


def compiled(chip: str, count: int) -> None:
    """Where copies are told apart, or a mixed way is taken: the instructions of the listings, and what they rank at."""
    rng, tried = random.Random(f"listings of copies {chip}"), 0
    chains: list[list[Chain]] = [[], []]
    while len(chains[0]) < count:
        a, b, bits = drawn(rng, FAMILIES[2], chip)
        tried += 1
        one, (other, order) = (
            candidates_of(a, b, bits, chip)[0],
            min(held(a, b, bits, chip).values(), key=lambda known: known[1]),
        )
        if rank(*cost_of(chip).priced(one.programs)) < order:
            chains[0].append(one.programs)
            chains[1].append(other.programs)
    counts = PRICES["compilers"]()[chip].count([*chains[0], *chains[1]])
    ranks = [
        _rank_by_listing(chain, instructions, chip)
        for chain, instructions in zip([*chains[0], *chains[1]], counts, strict=True)
    ]
    better = sum(one < other for one, other in zip(ranks[:count], ranks[count:], strict=True))
    worse = sum(one > other for one, other in zip(ranks[:count], ranks[count:], strict=True))
    print(
        f"{chip}: {count} of {tried} conversions with copies have another best way; by their listings {better} are better, "
        f"{worse} worse; instructions {sum(counts[count:]):.0f} -> {sum(counts[:count]):.0f}, "
        f"ranks {sum(ranks[count:]):.0f} -> {sum(ranks[:count]):.0f}"
    )


def _rank_by_listing(chain: Chain, instructions: float, chip: str) -> float:
    """`cost.rank` with the instructions that were counted."""
    parts = cost_of(chip).parts(chain)
    assert parts is not None
    return instructions + max(instructions, parts.memory, parts.alu if parts.alu > parts.issued else 0)


def main(arguments: Sequence[str]) -> None:
    chips = [one for one in arguments if one in LANES] or list(LANES)
    numbers = [int(one) for one in arguments if one.isdigit()]
    print(f"layoutalg {la.__version__}")
    for chip in chips:
        if "--listings" in arguments:
            compiled(chip, numbers[0] if numbers else 16)
        else:
            measured(chip, numbers[0] if numbers else 200)


if __name__ == "__main__":
    main(sys.argv[1:])
