"""What a conversion costs on a chip: issue slots of one subgroup.

Costs rank candidates; they are not timings. Where the chip's compiler was asked, they are made of the machine instructions that
its listing has for the conversion, by the prices of `conversion.prices`, and of the cycles for which shared memory is busy, by
the chip's rates (`hardware.shared_memory`). The cost is that of the busiest of three: the engine that issues the instructions,
the ALUs, or the unit of shared memory. There are two regimes:

- `all`: every subgroup of the core converts at once, so the unit serves all engines in turn.
- `alone`: one subgroup converts while the others compute, so it has the unit for itself.

>>> from layoutalg.conversion.program.steps import Address
>>> conflicts = Program(1, 32, 32, 1, 1, (0,), (Store((0,), Address(xor=True, lane=(32,))), Load((1,), Address())), (1,), 256)
>>> cost_of("sm_80").of(conflicts), cost_of("sm_80", "alone").of(conflicts)
(12, 3)

The store takes 2 cycles, since two lanes meet in a bank, the load takes one. In 3 cycles the 4 engines could issue 12
instructions; alone, the subgroup pays for its own 3. On bmg and pvc a word of 16 lanes takes half a cycle on each way, in which
the 8 engines could issue 4 instructions:

>>> word = Program(1, 16, 32, 1, 1, (0,), (Store((0,), Address()), Load((1,), Address())), (1,), 64)
>>> cost_of("bmg").parts([word]).memory, cost_of("pvc").parts([word]).memory, cost_of("bmg", "alone").parts([word]).memory
(8.0, 8.0, 1.0)

>>> cost_of("pvc").origin, cost_of("generic").origin
('from listings', 'estimated')

Ways are ordered by the sum of that cost and their instructions (`rank`): the cost is what a conversion takes where every
subgroup converts at once, the instructions are what it takes from subgroups that compute meanwhile, and kernels have both.
By the cost alone, ways within 15 % of it being equal, five of 98 of Triton's conversions would take 129, 16, 15, 35 and 82
instructions instead of 39, 4, 8, 18 and 53, to save 24, 25, 17, 20 and 17 % of slots; four would take two or three fewer. On
sm_80 two registers of 64 bits that 16 lanes hold, wanted by every lane of 16, are 64 shuffles, 100 instructions and 256 slots,
or 1 store and 16 loads, 19 instructions and 272 slots; 81 instructions are more than 16 slots.

>>> rank(256, 100) > rank(272, 19)
True

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

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Literal, NamedTuple

from layoutalg.conversion.charges import charges_of
from layoutalg.conversion.prices import Listings, prices_of
from layoutalg.conversion.program.access_conflicts import program_cycles, program_ways
from layoutalg.conversion.program.cluster_places import reached_bytes
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, LaneSwap, Load, Permute, Regions, Select, Shuffle, Store
from layoutalg.core.errors import ConversionError
from layoutalg.core.whole_numbers import instance_of, listed, one_of, whole_number
from layoutalg.hardware.chips import target_info
from layoutalg.hardware.shared_memory import CLUSTER_BYTES, rates

__all__ = ["PRESSURES", "Cost", "Parts", "Pressure", "cost_of", "rank"]

Pressure = Literal["all", "alone"]
PRESSURES: tuple[Pressure, ...] = ("all", "alone")
"""The regimes: every subgroup of a core converts at once, or one while the others compute."""


class Parts(NamedTuple):
    """What a conversion keeps busy, in issue slots of a subgroup: the engine that issues, the ALUs, the unit of shared memory.

    `cycles` are those of that unit, of 128 bytes each.
    """

    issued: float
    alu: float
    memory: float
    cycles: float
    network: float = 0
    """What goes to and from the shared memory of a cluster's other workgroups (`hardware.shared_memory.CLUSTER_BYTES`)."""

    @property
    def slots(self) -> int:
        """The cost: what the busiest takes.

        >>> Parts(59, 27, 128, 16).slots
        128
        """
        return round(max(self.issued, self.alu, self.memory, self.network))


_USES = {
    "shuffles": ("shuffle", "broadcast", "dpp", "lane_swap", "xor_", "indexed", "pattern", "near", "reversed_map", "looked_up",
                 "map_", "byte_sent", "half_sent", "bytes_sent", "lane_bytes"),
    "selects": ("select", "condition"),
    "byte permutes": ("permute", "half", "byte", "joined", "selector", "byte_loaded", "low_hal"),
    "stores and loads": ("store", "load", "payload", "narrow", "upper", "masked", "stored_byte", "block", "ds_", "address",
                         "sum_", "scalar", "veiled", "unveiled", "mirrored", "crowded", "offset", "apart", "piece",
                         "memory", "waits"),
    "barriers": ("barrier", "fence"),
    "moves": ("region", "result", "renamed", "group_moved", "regrouped", "rearranged", "again", "paired"),
}  # fmt: skip
"""What the charges of a listing are for, by the beginnings of their names; the longest that fits decides."""
_STEPS = {Shuffle: "shuffles", Select: "selects", Permute: "byte permutes", Store: "stores and loads", Load: "stores and loads",
          Barrier: "barriers", LaneSwap: "moves", Regions: "moves"}  # fmt: skip


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
    unit: float = 0
    """Per cycle of the unit of shared memory, 128 bytes, by the chip's rates and in the regime; 0 where none are known."""
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

    def priced(self, programs: Sequence[Program], workgroups: int = 1) -> tuple[int, float]:
        """What programs cost that are executed one after another, and how many instructions a chip's listing has for them.

        The second is 0 where none was counted, or no rate is known. Ways are ordered by both (`rank`). The subgroups may be
        those of a cluster of `workgroups`.

        >>> from layoutalg.conversion.program.steps import Address
        >>> way = Program(1, 32, 32, 1, 1, (0,), (Store((0,), Address()), Load((1,), Address())), (1,), 64)
        >>> cost_of("sm_80").priced([way]), cost_of("generic").priced([way])[1]
        ((8, 1.45), 0)
        """
        chain, found = self._listed(programs)
        if found is None:
            return sum(map(self._of, chain)), 0
        parts = self._parts(chain, found)._replace(network=self._network(chain, workgroups))
        return parts.slots, round(parts.issued, 2) if self.unit else 0

    def parts(self, programs: Sequence[Program], workgroups: int = 1) -> Parts | None:
        """What engine, ALUs and shared memory are busy for; None where no listing or no rate is known.

        The subgroups may be those of a cluster of `workgroups`.

        >>> cost_of("generic").parts([Program(1, 1, 32, 1, 1, (0,), (), (0,))])
        """
        chain, found = self._listed(programs)
        if found is None or not self.unit:
            return None
        return self._parts(chain, found)._replace(network=self._network(chain, workgroups))

    def shares(self, programs: Sequence[Program]) -> dict[str, float]:
        """What programs cost by what it is for: slots where prices are estimated, else the instructions of the listing.

        >>> swap = Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,))
        >>> cost_of(None).shares([swap])
        {'shuffles': 32}
        """
        chain, listed = self._listed(programs)
        found: Counter[str] = Counter()
        if listed is None:
            for program in chain:
                for kind, name in _STEPS.items():
                    steps = tuple([step for step in program.steps if step.__class__ is kind])
                    found[name] += self._of(replace(program, steps=steps, pack=(), unpack=())) if steps else 0
                found["moves"] += program.moves * self.move
            return {name: slots for name, slots in found.items() if slots}
        charges = charges_of(chain, waits=not self.unit, vendor=listed.vendor)
        used: dict[str, list[float]] = {}
        for name, count in charges.items():
            fits = [(len(one), use) for use, beginnings in _USES.items() for one in beginnings if name.startswith(one)]
            used.setdefault(max(fits)[1], []).append(listed.instructions[name] * count)
        return {use: total for use, counts in used.items() if (total := fsum(counts))}

    def _network(self, chain: Sequence[Program], workgroups: int) -> float:
        """What a cluster's other workgroups are reached for, in issue slots."""
        count = whole_number(workgroups, "workgroups =", 1, error=ConversionError)
        if count == 1:
            return 0
        reached = sum([reached_bytes(program, count) for program in chain])
        return reached / CLUSTER_BYTES * self.unit

    def in_memory(self, programs: Sequence[Program]) -> int:
        """What the stores and loads of programs cost at least, however many instructions they are; 0 where no rate is known.

        >>> from layoutalg.conversion.program.steps import Address
        >>> word = Program(1, 32, 32, 1, 1, (0,), (Store((0,), Address()), Load((1,), Address())), (1,), 64)
        >>> cost_of("sm_80").in_memory([word]), cost_of("generic").in_memory([word])
        (8, 0)
        """
        chain = _chain(programs)
        return round(sum([program_cycles(program, self.name) for program in chain]) * self.unit) if self.unit else 0

    def _parts(self, chain: Sequence[Program], found: Listings) -> Parts:
        charges, known = charges_of(chain, waits=not self.unit, vendor=found.vendor), rates(self.name)
        issued = _issued(found.instructions, charges)
        if known is None or not self.unit:
            return Parts(_issued(found.prices, charges), 0, 0, 0)
        in_alu = charges["dpp"] + charges["broadcast"] if known.rows else 0
        shuffles = charges["shuffle"] - in_alu
        accesses = ["ds_access"] if found.vendor == "amd" else ["store", "load"]
        messages = shuffles + sum([charges[name] for name in (*accesses, "barrier")])
        cycles = shuffles * known.shuffle + sum([program_cycles(program, self.name) for program in chain])
        return Parts(issued, (issued - messages) * known.alu, cycles * self.unit, cycles)

    def _listed(self, programs: Sequence[Program]) -> tuple[Sequence[Program], Listings | None]:
        """The programs, checked, and the chip's prices for their lanes, where its instructions were counted."""
        chain = _chain(programs)
        return chain, prices_of(self.name, chain[0].lanes) if self.counted and chain else None

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


def rank(slots: int, instructions: float) -> tuple[int, float]:
    """What ways are ordered by, the best first: the sum of their slots and instructions, in whole numbers, then the latter.

    >>> rank(64, 20) < rank(60, 60), rank(64, 123) < rank(288, 42), rank(80, 18) < rank(64, 34)
    (True, True, True)
    >>> rank(8, 5.9) < rank(8, 6.1)
    True
    """
    return whole_number(slots, "slots =", 0) + whole_number(round(instructions), "instructions =", 0), instructions


def _chain(programs: Sequence[Program]) -> Sequence[Program]:
    """The programs, checked."""
    chain = listed(programs, "programs", error=ConversionError)
    for program in chain:
        instance_of(program, Program, "program", ConversionError)
    return chain


def _issued(instructions: Mapping[str, float], charges: Mapping[str, int]) -> float:
    return fsum([instructions[name] * count for name, count in charges.items()])  # whatever order the charges come in


def _is_broadcast(step: Shuffle) -> bool:
    """Whether all lanes read the same one, in every subgroup."""
    return not any(step.sg) and not step.others and len(set(step.lanes)) == 1


def cost_of(target: str | None, pressure: str = "all") -> Cost:
    """The prices of a chip; None for a GPU in general. `pressure` names the regime: "all" or "alone".

    Raises `PlanError` for an unknown chip, naming the known ones, and `ConversionError` for another regime.

    >>> cost_of("i486")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'i486': expected one of pvc, bmg, lnl, ptl, dg2, acm, acm-g10, acm-g11, ats-m150,
    gfx90a, gfx942, gfx950, gfx1100, sm_80, sm_90, generic, or another name of one, such as a100, cuda:80, mi300x, battlemage
    """
    chip = target_info("generic" if target is None else target)
    one_of(pressure, PRESSURES, "pressure =", ConversionError)
    known, counted = rates(chip.name), prices_of(chip.name, chip.subgroup_size) is not None
    unit = 0 if known is None or not counted else known.slots if pressure == "all" else known.alone
    if chip.has_dpas:  # Intel's: lanes are registers of one file, and a shuffle is an indirect move with its address
        return Cost(chip.name, 3, slm_bytes=chip.slm_bytes, broadcast=1, at_once=16, unit=unit, counted=counted)
    if target is None or chip.name == "generic":
        return Cost(chip.name, shuffle=32, broadcast=8, message=64, word=32, barrier=128, slm_bytes=chip.slm_bytes)
    return Cost(chip.name, shuffle=8, message=16, word=8, slm_bytes=chip.slm_bytes, counted=counted, unit=unit)
