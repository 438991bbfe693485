"""Bank conflicts of a conversion: how often the lanes of a subgroup wait for one another in a program's stores and loads.

Two lanes that store a word each, 32 words apart, meet in the same of 32 banks:

>>> step = Store((0,), Address(xor=True, lane=(32,)))
>>> program_ways(Program(1, 2, 32, 1, 1, pack=(0,), steps=(step,), unpack=(0,)))
[2]

What counts conflicts of layouts in general is `layoutalg.memory.conflicts`; this asks it for each access of a program.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from layoutalg.conversion.program.matrices import matrix_access
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import BANKS, WORD, Address, Load, Store
from layoutalg.hardware.shared_memory import CYCLE_BYTES, Served, rates, served
from layoutalg.memory.conflicts import Banks, Conflicts, count_conflicts

__all__ = ["access_ways", "program_cycles", "program_ways"]


def access_ways(
    address: Address, count: int, subgroups: int, lanes: int, where: tuple[int, ...] | None = None, bits: int = WORD
) -> int:
    """The most cycles that a phase of one access takes, of `count` places of `bits` per lane from `address` on.

    (See `memory.conflicts` for phases.)

    >>> access_ways(Address(xor=True, lane=(1, 2, 4)), 1, 1, 8), access_ways(Address(xor=True, lane=(32, 64, 1)), 1, 1, 8)
    (1, 4)
    """
    return _conflicts(address, count, subgroups, lanes, where, bits, Served(BANKS, ())).ways


@lru_cache(maxsize=4096)
def _conflicts(
    address: Address,
    count: int,
    subgroups: int,
    lanes: int,
    where: tuple[int, ...] | None,
    bits: int,
    together: Served,
) -> Conflicts:
    table = (address.of(np.arange(subgroups), np.arange(lanes))[..., None] + np.arange(count)).reshape(-1)
    held = np.arange(table.size).reshape(subgroups, lanes, count)
    if where is not None:
        active = np.array([[mask >> i & 1 for i in range(lanes)] for mask in where], bool)
        held = np.where(active[..., None], held, -1)
    if together.order:
        held = held[:, list(together.order)]
    return count_conflicts(held, table, Banks(together.banks, WORD // 8, bits), count, together.most)


def program_ways(program: Program, chip: str = "generic") -> list[int]:
    """The most cycles that a phase of each store and load takes, in their order; 1 is free of conflicts."""
    return [one.ways for one in _accesses(program, chip)]


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
    found = _accesses(program, chip)
    known = rates(chip)
    if known is None or known.least == CYCLE_BYTES:
        return sum([one.cycles for one in found])
    steps = [step for step in program.steps if isinstance(step, (Store, Load))]
    cycles = 0.0
    for step, one in zip(steps, found, strict=True):
        count = len(step.words if isinstance(step, Store) else step.to)
        moved = max(count * step.bits // 8 * program.lanes, known.least)
        cycles += min(one.cycles, moved / CYCLE_BYTES) if one.ways == 1 else one.cycles
    return cycles


def _accesses(program: Program, chip: str) -> list[Conflicts]:
    """What each store and load of a program costs, in their order."""
    found: list[Conflicts] = []
    known: dict[object, Conflicts] = {}  # where an access begins rotates the banks, for all lanes alike
    for step in program.steps:
        if isinstance(step, (Store, Load)):
            reading = isinstance(step, Load)
            at, bits, count, where = step.address, step.bits, len(step[0]), None if reading else step.where
            base = 0 if at.xor else at.base % (WORD // bits)  # inside a word
            key = reading, count, base, at.xor, at.lane, at.sg, at.factors, at.plus, where, bits, step.matrix
            one = known.get(key)
            if one is None:
                one = known[key] = _access(program, step, chip)
            found.append(one)
    return found


def _access(program: Program, step: Store | Load, chip: str) -> Conflicts:
    """What one store or load costs."""
    reading = isinstance(step, Load)
    at, bits, count, where = step.address, step.bits, len(step[0]), None if reading else step.where
    if step.matrix:
        count, mask = matrix_access(step.matrix, count, program.lanes)
        where = (mask,) * program.subgroups
    if step.matrix == "block":
        at = Address(factors=(("lane", 1, program.lanes, count),))
    anywhere = at.based(0 if at.xor else at.base % (WORD // bits))
    together = served(chip, count * bits // 8, program.lanes, reading=reading)
    return _conflicts(anywhere, count, program.subgroups, program.lanes, where, bits, together)
