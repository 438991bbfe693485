"""What a conversion costs on a chip: issue slots of one subgroup.

Costs rank candidates; they are not timings. A select and a move are one instruction each, a shuffle as many as the chip's row
says (`hardware.chips`). A message to shared memory has a fixed price and one per 4 bytes and lane, served a bank's width at a
time; lanes that wait for one bank take that many rounds; a barrier stalls its subgroup for about as long as a round trip. All
but what the chip's row has from a listing is estimated. Lanes that wait are counted by `conversion.program.access_conflicts`.

>>> cost_of("pvc").shuffle, cost_of(None).name
(3, 'generic')
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from layoutalg.conversion.program.access_conflicts import program_ways
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Permute, Select, Shuffle, Store
from layoutalg.core.errors import ConversionError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.chips import target_info

__all__ = ["Cost", "cost_of"]


@dataclass(frozen=True, slots=True)
class Cost:
    """The prices of one chip, in issue slots of a subgroup; `slm_bytes` is its shared memory per workgroup.

    >>> Cost("mine", 1, 1, 1, 8, 1, 32, 65536).name
    'mine'
    """

    name: str
    shuffle: int
    select: int = 1
    move: int = 1
    message: int = 8
    word: int = 1
    """Per word and lane of a message that is free of conflicts, over 16 lanes."""
    barrier: int = 32
    slm_bytes: int = 65536

    def of(self, program: Program) -> int:
        """What a program costs.

        >>> from layoutalg.conversion.program.steps import Shuffle
        >>> cost_of("pvc").of(Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)))
        3
        """
        instance_of(program, Program, "program", ConversionError)
        counts = Counter(map(type, program.steps))
        found = (
            (program.moves + counts[Permute]) * self.move
            + counts[Shuffle] * self.shuffle
            + counts[Select] * self.select
        )
        found += counts[Barrier] * self.barrier
        if program.slm_bytes:
            served = max(program.lanes // 16, 1)
            accesses = [step for step in program.steps if isinstance(step, (Store, Load))]
            for step, ways in zip(accesses, program_ways(program), strict=True):
                words = step.words if isinstance(step, Store) else step.to
                found += self.message + len(words) * served * self.word * ways
        return found


def cost_of(target: str | None) -> Cost:
    """The prices of a chip; None for a GPU in general.

    Raises `PlanError` for an unknown chip, naming the known ones.

    >>> cost_of("i486")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'i486': expected one of pvc, bmg, lnl, dg2, acm, acm-g10, acm-g11, ats-m150, gfx90a,
    gfx942, gfx1100, sm_80, sm_90, generic
    """
    chip = target_info("generic" if target is None else target)
    return Cost(chip.name, chip.shuffle_slots, slm_bytes=chip.slm_bytes)
