"""What every word of a program holds: found by executing it on numbers of slots, whatever its steps are.

Slot `(sg * lanes + lane) * registers + register` of the source is one number; each byte of a word is known by the slot that
it comes from. Two lanes that exchange their registers 1 and 0:

>>> from layoutalg.conversion import convert
>>> program = convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg").programs[0]
>>> contents = contents_of(program)
>>> contents.registers[0].tolist()          # lane 0 ends with registers 0 of lanes 0 and 1 (slots 0 and 2)
[[0, 2], [1, 3]]
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Shuffle
from layoutalg.core.limits import MOST_TRACED_WORDS

__all__ = ["Contents", "ShuffledSlots", "carried_by", "contents_of"]


class Contents(NamedTuple):
    """The slot that each byte of each word comes from, `[sg, lane, word, byte]`, and each final register; -1: none."""

    words: NDArray[np.int64]
    registers: NDArray[np.int64]

    def slots(self, sg: int, lane: int, word: int) -> list[int]:
        """The slots whose elements a word holds, each once, low bytes first."""
        return [slot for slot in dict.fromkeys(self.words[sg, lane, word].tolist()) if slot >= 0]


def contents_of(program: Program) -> Contents | None:
    """What the words of a program hold; None where there are too many."""
    count = len(program.pack) // program.parts + sum(_made(step) for step in program.steps)
    slots = program.subgroups * program.lanes * program.source_registers
    if program.subgroups * program.lanes * max(count, 1) > MOST_TRACED_WORDS or slots >= 2**24:
        return None
    bits = program.element_bits
    cells = count * program.parts
    of_element = max(bits // program.cell_bits, 1)
    padded = -(-cells // of_element) * of_element
    inside = replace(program, registers=padded // of_element, unpack=(*range(cells), *[-1] * (padded - cells)))
    shape = (program.subgroups, program.lanes, program.source_registers)
    numbers = np.arange(1, slots + 1).reshape(shape)
    words = np.zeros((*shape[:2], padded * program.cell_bits // 8), np.int64)
    registers = np.zeros((*shape[:2], program.registers), np.int64)
    for plane in range(3):  # every byte of an element carries one byte of its slot's number
        given = np.repeat((numbers >> 8 * plane & 0xFF).astype(np.uint8)[..., None], bits // 8, -1)
        given = given.view(f"<u{bits // 8}")[..., 0]
        words += inside.run(given).view(np.uint8).reshape(words.shape).astype(np.int64) << 8 * plane
        registers += (program.run(given).astype(np.int64) & 0xFF) << 8 * plane
    words = words[..., : cells * program.cell_bits // 8].reshape(*shape[:2], count, 4)
    return Contents(words - 1, registers - 1)


def _made(step: object) -> int:
    to: Any = getattr(step, "to", ())
    return 1 if isinstance(to, int) else len(to)


class ShuffledSlots(NamedTuple):
    """What a shuffle brings to a lane: the lane it reads, and the slots that the lane keeps or passes on later."""

    source: int
    keeps: tuple[int, ...]
    passes: tuple[int, ...]


def carried_by(program: Program, contents: Contents, sg: int) -> list[list[ShuffledSlots]]:
    """For each shuffle and each lane of one subgroup what it carries; words that nothing needs carry nothing.

    >>> from layoutalg.conversion import convert
    >>> program = convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg").programs[0]
    >>> carried_by(program, contents_of(program), 0)
    [[ShuffledSlots(source=1, keeps=(2,), passes=()), ShuffledSlots(source=0, keeps=(1,), passes=())]]
    """
    lanes, registers = program.lanes, program.source_registers
    words = max(program.element_bits // WORD, 1)  # an element of 64 bits comes in two
    base = sg * lanes
    waits = [
        {slot: words for slot in row if slot >= 0 and slot // registers != base + lane}
        for lane, row in enumerate(contents.registers[sg].tolist())
    ]
    passing: list[dict[int, int]] = [{} for _ in range(lanes)]
    found: list[list[ShuffledSlots]] = []
    for step in reversed([step for step in program.steps if isinstance(step, Shuffle)]):
        sources: list[int] = step.sources(program.subgroups)[sg].tolist()
        row: list[ShuffledSlots] = []
        asked: dict[int, set[int]] = defaultdict(set)
        for lane, source in enumerate(sources):
            slots = contents.slots(sg, lane, step.to) if source != lane else []
            keeps, passes = (tuple([slot for slot in slots if one[lane].get(slot)]) for one in (waits, passing))
            row.append(ShuffledSlots(source, keeps, passes))
            for one, brought in ((waits, keeps), (passing, passes)):
                one[lane].update({slot: one[lane][slot] - 1 for slot in brought})
            asked[source].update(slot for slot in (*keeps, *passes) if slot // registers != base + source)
        for source, slots in asked.items():
            passing[source].update({slot: min(passing[source].get(slot, 0) + 1, words) for slot in slots})
        found.append(row)
    return found[::-1]
