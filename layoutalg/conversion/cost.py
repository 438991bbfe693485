"""What a conversion costs on a chip: issue slots of one subgroup.

Costs rank candidates; they are not timings. Where the chip's compiler was asked, they begin with the number of machine
instructions that its listing has for the conversion, by the prices of `conversion.prices`. A listing does not say how long the
unit of shared memory is busy, so that is charged besides, in one of two ways.

On Intel's chips a word that goes through memory, where another way needs no memory, is charged for its way there and for its
way back (`Cost.passage`: 8 slots each). Where all ways need memory, each is charged its instructions.

On NVIDIA's and AMD's chips shuffles use the same unit, and its rate is published. All subgroups convert at once; the busiest
of three says the cost: the scheduler (the instructions), the ALUs, or the unit of shared memory (its cycles):

>>> from layoutalg.conversion.program.steps import Address
>>> conflicts = Program(1, 32, 32, 1, 1, (0,), (Store((0,), Address(xor=True, lane=(32,))), Load((1,), Address())), (1,), 256)
>>> cost_of("sm_80").of(conflicts), cost_of("sm_80").unit
(12, 4)

>>> cost_of("pvc").origin, cost_of("generic").origin
('from listings', 'estimated')

Elsewhere a slot is one instruction of the ALUs for the whole subgroup, and three estimates make the prices: the unit of
shared memory, which also carries shuffles, is an eighth as wide as the ALUs; a shuffle passes it once, a word that goes through
memory twice; a message waits for as long as 16 instructions, a barrier for 32. One lane's word for all lanes is cheaper than a
shuffle: 2 slots. Without a target nothing is known but that lanes wait for what they do not have: all that leaves a lane has
four times these prices, so that the fewest shuffles win; four broadcasts count as one.

>>> generic = cost_of(None)
>>> generic.shuffle, generic.broadcast, generic.select, generic.permute, generic.word
(32, 8, 1, 1, 32)
>>> generic.of(Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)))
32

Lanes that wait for one bank take that many rounds of a message; `conversion.program.access_conflicts` counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layoutalg.conversion.charges import charges_of
from layoutalg.conversion.prices import Listings, prices_of
from layoutalg.conversion.program.access_conflicts import program_cycles, program_ways
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, LaneSwap, Load, Permute, Regions, Select, Shuffle, Store
from layoutalg.core.errors import ConversionError
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.hardware.chips import target_info

__all__ = ["Cost", "cost_of", "passes"]


@dataclass(frozen=True, slots=True)
class Cost:
    """The prices of one chip, in issue slots of a subgroup; `slm_bytes` is its shared memory per workgroup.

    `at_once` is how many lanes one instruction serves: a subgroup with more takes two (0: all of any subgroup).

    >>> Cost("mine", 1, 1, 1, 8, 1, 32, 65536).name
    'mine'
    """

    name: str
    shuffle: int
    select: int = 1
    move: int = 1
    message: int = 8
    word: int = 1
    """Per word of a message that is free of conflicts, for `at_once` lanes."""
    barrier: int = 32
    slm_bytes: int = 65536
    permute: int = 1
    broadcast: int = 2
    """A shuffle in which all lanes read the same one."""
    at_once: int = 0
    passage: int = 0
    """Per word, stored or loaded, that passes through shared memory though another way needs none (0: `word` says it)."""
    unit: int = 0
    """Per cycle of the unit of shared memory, which moves 128 bytes or shuffles 32 lanes, while all subgroups use it.

    NVIDIA: 128 bytes per clock and multiprocessor (PMC10448217, table 3), or a shuffle of 32 lanes (CUDA C++ Programming Guide,
    throughput of native instructions), for four schedulers. AMD: 128 bytes per clock and compute unit (ROCm/rocm-systems 3114),
    for four SIMDs whose instructions take four clocks. 0: `passage` says it.
    """
    served: int = 1
    """The cycles of that unit that a shuffle takes."""
    rows: bool = False
    """Whether shuffles among neighbours, and of one lane's word for all, are the ALUs' (AMD's: DPP, `v_readlane_b32`)."""
    alu: int = 1
    """Per instruction of the ALUs, where `unit` is known. NVIDIA: 64 lanes per clock and multiprocessor (same table)."""
    counted: bool = False
    """Whether programs have the prices of `conversion.prices`; the others here are then round figures for single steps."""

    @property
    def origin(self) -> str:
        """Where costs come from: "from listings" or "estimated".

        >>> Cost("mine", 1).origin
        'estimated'
        """
        return "from listings" if self.counted else "estimated"

    def of(self, program: Program) -> int:
        """What a program costs.

        >>> cost_of(None).of(Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)))
        32
        """
        return self.of_chain((program,))

    def of_chain(self, programs: Sequence[Program]) -> int:
        """What programs cost that are executed one after another.

        >>> repeat = Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (0, 0)),), unpack=(1,))
        >>> cost_of(None).of_chain([repeat, repeat])
        16
        """
        return self.priced(programs)[0]

    def priced(self, programs: Sequence[Program]) -> tuple[int, int]:
        """What programs cost that are executed one after another, and how many instructions a chip's listing has for them.

        The second is 0 where none was counted. Ways that cost the same are ordered by it.

        >>> from layoutalg.conversion.program.steps import Address
        >>> way = Program(1, 32, 32, 1, 1, (0,), (Store((0,), Address()), Load((1,), Address())), (1,), 64)
        >>> cost_of("sm_80").priced([way]), cost_of("generic").priced([way])[1]
        ((8, 3), 0)
        """
        chain, found = self._listed(programs)
        if found is None:
            return sum(map(self._of, chain)), 0
        charges = charges_of(chain, waits=not self.unit)
        issued = _issued(found.instructions, charges)
        if not self.unit:
            return round(_issued(found.prices, charges)), round(issued)
        in_alu = charges["dpp"] + charges["broadcast"] if self.rows else 0
        messages = -in_alu + sum([charges[name] for name in ("shuffle", "store", "load", "barrier")])
        cycles = (charges["shuffle"] - in_alu) * self.served + sum(
            [program_cycles(program, self.name) for program in chain]
        )
        return round(max(issued, (issued - messages) * self.alu, cycles * self.unit)), round(issued)

    def _listed(self, programs: Sequence[Program]) -> tuple[Sequence[Program], Listings | None]:
        """The programs, checked, and the chip's prices for their lanes, where its instructions were counted."""
        chain = listed(programs, "programs", error=ConversionError)
        for program in chain:
            instance_of(program, Program, "program", ConversionError)
        return chain, prices_of(self.name, chain[0].lanes) if self.counted and chain else None

    def of_passage(self, passed: int, least: int) -> int:
        """What so many words are charged for their way through shared memory; nothing if all ways pass some (`least` of them).

        >>> cost_of("pvc").of_passage(32, 0), cost_of("pvc").of_passage(32, 24), cost_of(None).of_passage(32, 0)
        (256, 0, 0)
        """
        words, others = whole_number(passed, "passed =", 0), whole_number(least, "least =", 0)
        return 0 if others else words * self.passage

    def _of(self, program: Program) -> int:
        kinds: dict[type, list[Any]] = {}
        for step in program.steps:
            kinds.setdefault(step.__class__, []).append(step)
        counts = {kind: len(steps) for kind, steps in kinds.items()}
        broadcasts = sum(map(_is_broadcast, kinds.get(Shuffle, ())))
        regions: list[Regions] = kinds.get(Regions, [])
        found = (program.moves + sum(len(step.moves) for step in regions)) * self.move
        found += counts.get(Select, 0) * self.select + counts.get(Permute, 0) * self.permute
        found += (counts.get(Shuffle, 0) - broadcasts) * self.shuffle + broadcasts * self.broadcast
        found += counts.get(LaneSwap, 0) * self.move
        found += counts.get(Barrier, 0) * self.barrier
        accesses = [step for step in program.steps if isinstance(step, (Store, Load))] if program.slm_bytes else []
        if accesses:
            served = max(program.lanes // self.at_once, 1) if self.at_once else 1
            for step, ways in zip(accesses, program_ways(program), strict=True):
                words = step.words if isinstance(step, Store) else step.to
                found += self.message + len(words) * served * self.word * ways
        return found


def _issued(instructions: Mapping[str, float], charges: Mapping[str, int]) -> float:
    return sum([instructions[name] * count for name, count in charges.items()])


def passes(programs: Sequence[Program]) -> int:
    """The words that a lane stores to shared memory and loads from it, those of 32 lanes twice.

    >>> from layoutalg.conversion.program.steps import Address
    >>> passes([Program(1, 16, 32, 1, 1, (0,), (Store((0,), Address()), Load((1,), Address())), (1,), 64)])
    2
    """
    found = 0
    for program in listed(programs, "programs", error=ConversionError):
        instance_of(program, Program, "a program", ConversionError)
        if program.slm_bytes:
            words = sum(len(step[0]) for step in program.steps if isinstance(step, (Store, Load)))
            found += words * max(program.lanes // 16, 1)
    return found


def _is_broadcast(step: Shuffle) -> bool:
    """Whether all lanes read the same one, in every subgroup."""
    return not any(step.sg) and not step.others and len(set(step.lanes)) == 1


def cost_of(target: str | None) -> Cost:
    """The prices of a chip; None for a GPU in general.

    Raises `PlanError` for an unknown chip, naming the known ones.

    >>> cost_of("i486")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'i486': expected one of pvc, bmg, lnl, dg2, acm, acm-g10, acm-g11, ats-m150, gfx90a,
    gfx942, gfx950, gfx1100, sm_80, sm_90, generic
    """
    chip = target_info("generic" if target is None else target)
    counted = prices_of(chip.name, chip.subgroup_size) is not None
    if chip.has_dpas:  # Intel's: lanes are registers of one file, and a shuffle is an indirect move with its address
        return Cost(chip.name, 3, slm_bytes=chip.slm_bytes, broadcast=1, at_once=16, passage=8, counted=counted)
    if target is None or chip.name == "generic":
        return Cost(chip.name, shuffle=32, broadcast=8, message=64, word=32, barrier=128, slm_bytes=chip.slm_bytes)
    unit, alu, served = (0, 1, 1) if not counted else (4, 2, 1) if chip.vendor == "nvidia" else (1, 1, 2)
    return Cost(
        chip.name,
        shuffle=8,
        message=16,
        word=8,
        slm_bytes=chip.slm_bytes,
        counted=counted,
        unit=unit,
        alu=alu,
        served=served,
        rows=counted and chip.vendor == "amd",
    )
