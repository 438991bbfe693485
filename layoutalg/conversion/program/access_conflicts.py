"""Bank conflicts of a conversion: how often the lanes of a subgroup wait for one another in a program's stores and loads.

Two lanes that store a word each, 32 words apart, meet in the same of 32 banks:

>>> step = Store((0,), Address(xor=True, lane=(32,)))
>>> program_ways(Program(1, 2, 32, 1, 1, pack=(0,), steps=(step,), unpack=(0,)))
[2]

What counts conflicts of layouts in general is `layoutalg.memory.conflicts`; this asks it for each access of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from layoutalg.conversion.program.matrices import matrix_access
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Address, Load, Store
from layoutalg.core.banks import BANKS
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.hardware.shared_memory import CYCLE_BYTES, Served, rates, served
from layoutalg.memory.conflicts import Banks, count_conflicts

__all__ = ["access_cycles", "access_ways", "program_cycles", "program_ways"]

_FEW = 1024
"""The places that the lanes of a subgroup access at once, up to which they are counted one by one."""


def access_ways(
    address: Address, count: int, subgroups: int, lanes: int, where: tuple[int, ...] | None = None, bits: int = WORD
) -> int:
    """The most cycles that a phase of one access takes, of `count` places of `bits` per lane from `address` on.

    (See `memory.conflicts` for phases.)

    >>> access_ways(Address(xor=True, lane=(1, 2, 4)), 1, 1, 8), access_ways(Address(xor=True, lane=(32, 64, 1)), 1, 1, 8)
    (1, 4)
    """
    instance_of(address, Address, "address")
    sizes = [
        whole_number(size, name, 1) for name, size in (("count", count), ("subgroups", subgroups), ("lanes", lanes))
    ]
    return _conflicts(address, *sizes, where, bits, Served(BANKS, ())).ways


class Waits(NamedTuple):
    """What a store or load costs: the most cycles that a phase takes, and those of all phases of the slowest subgroup."""

    ways: int
    cycles: float


@lru_cache(maxsize=4096)
def _conflicts(
    address: Address,
    count: int,
    subgroups: int,
    lanes: int,
    where: tuple[int, ...] | None,
    bits: int,
    together: Served,
) -> Waits:
    few = lanes * count <= _FEW and count & (count - 1) == 0
    found = _counted_lane_by_lane(address, count, subgroups, lanes, where, bits, together) if few else None
    return found or _counted(address, count, subgroups, lanes, where, bits, together)


def _counted(
    address: Address,
    count: int,
    subgroups: int,
    lanes: int,
    where: tuple[int, ...] | None,
    bits: int,
    together: Served,
) -> Waits:
    """What `memory.conflicts` says of an access of any size."""
    table = (address.of(np.arange(subgroups), np.arange(lanes))[..., None] + np.arange(count)).reshape(-1)
    held = np.arange(table.size).reshape(subgroups, lanes, count)
    if where is not None:
        active = np.array([[mask >> i & 1 for i in range(lanes)] for mask in where], bool)
        held = np.where(active[..., None], held, -1)
    if together.order:
        held = held[:, list(together.order)]
    found = count_conflicts(held, table, Banks(together.banks, WORD // 8, bits), count, together.most)
    return Waits(found.ways, found.cycles)


def _counted_lane_by_lane(
    address: Address,
    count: int,
    subgroups: int,
    lanes: int,
    where: tuple[int, ...] | None,
    bits: int,
    together: Served,
) -> Waits | None:
    """The same for a small subgroup, for which numpy's arrays take longer than the counting; None where no lane takes part.

    Subgroups whose addresses lie a number of words apart meet in other banks, but meet as often: one of them is counted.
    """
    cell, order = bits // 8, together.order or range(lanes)
    of_lanes, of_subgroups = (_moves(address, axis, size) for axis, size in (("lane", lanes), ("sg", subgroups)))
    add: Callable[[int, int], int] = int.__xor__ if address.xor else int.__add__
    masks = (-1,) * subgroups if where is None else where
    if where is None:
        starts = [*[add(at, of_subgroups[0]) for at in of_lanes], *[add(of_lanes[0], more) for more in of_subgroups]]
    else:
        every = [
            (at, more, mask >> i & 1)
            for more, mask in zip(of_subgroups, masks, strict=True)
            for i, at in enumerate(of_lanes)
        ]
        starts = [add(at, more) for at, more, active in every if active]
    joined = 0
    for at in starts:
        joined |= at
    size = min(count, joined & -joined) if joined else count  # so many places at once: all starts are multiples
    alike = size == count or not address.xor
    rows = {
        (more * cell % (WORD // 8) if alike else more, mask): (more, mask)
        for more, mask in zip(of_subgroups, masks, strict=True)
    }
    phase = max(1, min(together.banks * WORD // 8 // (size * cell), lanes, together.most))
    spread = range(max(1, size * cell * 8 // WORD))
    # Places further on by whole words are in other banks, for all lanes alike: one of such steps, or phases, stands for all.
    alike_steps = count // size if size * cell * 8 % WORD == 0 else 1
    phases = range(0, lanes, phase)
    whole_words = size == count or size * cell * 8 % WORD == 0
    further = [] if address.xor else [of_lanes[first] - of_lanes[0] for first in phases]
    regular = where is None and not together.order and whole_words and _by_bits(address, lanes)
    if regular and not any(distance * cell % (WORD // 8) for distance in further):
        alike_phases, phases = len(phases), phases[:1]
    else:
        alike_phases = 1
    ways = cycles = 0
    for more, mask in rows.values():
        begun = [add(of_lanes[lane], more) if mask >> lane & 1 else None for lane in order]
        taken = 0
        for step in range(0, count // alike_steps, size):
            for first in phases:
                words = {(at + step) * cell * 8 // WORD for at in begun[first : first + phase] if at is not None}
                if words:
                    if len(spread) > 1:
                        words = {word + i for word in words for i in spread}
                    met = [word % together.banks for word in words]
                    worst = max(map(met.count, set(met))) if len(set(met)) < len(met) else 1
                    ways, taken = max(ways, worst), taken + worst
        cycles = max(cycles, taken * alike_steps * alike_phases)
    return Waits(ways, cycles) if ways else None


def _by_bits(address: Address, lanes: int) -> bool:
    """Whether each bit of the lane's number brings its own into the address."""
    if lanes & (lanes - 1) or address.plus:
        return False
    return address.xor or not any(n & (n - 1) for axis, *two, _ in address.factors if axis == "lane" for n in two)


def _moves(address: Address, axis: str, count: int) -> list[int]:
    """What each number of an axis brings into an address; that of the lanes begins at the address's constant."""
    base = address.base if axis == "lane" else 0
    if address.xor:
        terms = address.lane if axis == "lane" else address.sg
        found = [base]
        for term in terms:
            found += [one ^ term for one in found]
        return [found[number & len(found) - 1] for number in range(count)]
    found = [base] * count
    start = dict(address.plus).get(axis, 0)
    for name, divisor, extent, stride in address.factors:
        if name == axis:
            found = [one + number // divisor % extent * stride for number, one in enumerate(found, start)]
    return found


def program_ways(program: Program, chip: str = "generic") -> list[int]:
    """The most cycles that a phase of each store and load takes, in their order; 1 is free of conflicts."""
    steps = [step for step in program.steps if isinstance(step, (Store, Load))]
    return [one.ways for one in _accesses(steps, program.subgroups, program.lanes, chip)]


def program_cycles(program: Program, chip: str = "generic") -> float:
    """The cycles of shared memory that the stores and loads of one subgroup take, of the one that needs the most.

    Where lanes do not meet, a message takes its bytes alone, if the chip's rates say so (`hardware.shared_memory`).

    >>> store = Store((0, 1), Address(xor=True, lane=(2, 4, 8, 16, 32)))
    >>> program_cycles(Program(1, 32, 32, 2, 2, (0, 1), (store,), (0, 1)))
    2
    >>> store = Store((0,), Address(xor=True, lane=(1, 2, 4, 8)))
    >>> program_cycles(Program(1, 16, 32, 1, 1, (0,), (store,), (0,)), "bmg")
    0.5
    """
    steps = [step for step in program.steps if isinstance(step, (Store, Load))]
    return sum(access_cycles(steps, program.subgroups, program.lanes, chip))


def access_cycles(steps: Sequence[Store | Load], subgroups: int, lanes: int, chip: str) -> list[float]:
    """The cycles of each store and load, as `program_cycles` adds them up."""
    return [one.cycles for one in _accesses(steps, subgroups, lanes, chip)]


def _accesses(steps: Sequence[Store | Load], subgroups: int, lanes: int, chip: str) -> list[Waits]:
    """What each store and load costs, in their order."""
    found: list[Waits] = []
    known: dict[object, Waits] = {}  # where an access begins rotates the banks, for all lanes alike
    for step in steps:
        at = step.address
        base = 0 if at.xor else at[0] % (WORD // step.bits)  # inside a word
        key = step.__class__, len(step[0]), base, at[1:], step[2:]
        one = known.get(key)
        if one is None:
            one = known[key] = _access(step, subgroups, lanes, chip)
        found.append(one)
    return found


def _access(step: Store | Load, subgroups: int, lanes: int, chip: str) -> Waits:
    """What one store or load costs."""
    reading = isinstance(step, Load)
    at, bits, count, where = step.address, step.bits, len(step[0]), None if reading else step.where
    if step.matrix:
        count, mask = matrix_access(step.matrix, count, lanes)
        where = (mask,) * subgroups
    if step.matrix == "block":
        at = Address(factors=(("lane", 1, lanes, count),))
    anywhere = at.based(0 if at.xor else at.base % (WORD // bits))
    together = served(chip, count * bits // 8, lanes, reading=reading)
    found, known = _conflicts(anywhere, count, subgroups, lanes, where, bits, together), rates(chip)
    if found.ways != 1 or known is None or known.least == CYCLE_BYTES:
        return found
    moved = max(len(step[0]) * bits // 8 * lanes, known.least)
    return found._replace(cycles=min(found.cycles, moved / CYCLE_BYTES))
