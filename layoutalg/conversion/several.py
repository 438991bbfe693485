"""Several conversions in one go: they store together, wait at one barrier, and the ways that are taken suit one another.

A subgroup needs two conversions at the same time. On bmg the first goes through shared memory, which is then busy for 128 slots
while the engine that issues instructions does little. Alone, the second goes half through memory too, and takes 66 slots:

>>> pairs = ("d0 = 16@lane, d1 = 16@reg", "d0 = 4@reg:4 4@lane, d1 = 4@lane:4 4@reg")
>>> plans = [la.convert("d0 = 16@reg, d1 = 16@lane", result, target="bmg") for result in pairs]
>>> both = convert_several(plans)
>>> both.barriers, both.cost, both.in_turn
(1, 128, 194)
>>> print(both.chosen[1].work)
16 shuffles, 48 selects

Together the first stores before the second shuffles, and loads after it: memory works while the lanes do. So a way that is not
the cheapest for itself may be the cheapest beside others: they are chosen so that instructions and slots of memory, of all
together, are cheapest by the rule of `conversion.cost`.

One program does them all, where that is cheaper; else one conversion is executed after the other (`is_in_turn`). A work-item's
fragment is the registers of all sources, one after another; so is the result:

>>> tile = np.arange(256, dtype=np.int32).reshape(1, 16, 16)
>>> [bool((one == plan.apply(tile)).all()) for one, plan in zip(both.apply([tile, tile]), plans)]
[True, True]

Each way keeps to its own plan's `slm_limit`. What all have in shared memory at a time is at most the largest of these limits,
which one of them may fill alone.

The law: `apply` gives what each plan's own `apply` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.conversion_plan import ConversionPlan
from layoutalg.conversion.cost import Cost, Parts, cost_of, rank
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier
from layoutalg.conversion.strategies.side_by_side import side_by_side
from layoutalg.conversion.symbolic_plan import SymbolicPlan
from layoutalg.core.errors import ConversionError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import as_flag, instance_of, listed

__all__ = ["SeveralConversions", "convert_several"]

_MOST = 64
"""The conversions that are done in one go, at most: more have more registers than a work-item."""


@dataclass(frozen=True, slots=True)
class SeveralConversions:
    """Conversions of the same subgroups, of elements of one size, for one chip, done in one go (see this module).

    Raises `ConversionError` for plans that differ in these, in their `pressure`, or that take more than one workgroup.

    >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
    >>> print(SeveralConversions((plan, plan)))
    2 conversions in one go, elements of 32 bits over 1 subgroup of 2 lanes
    d0 = 2@reg, d1 = 2@lane to d0 = 2@lane, d1 = 2@reg: an exchange in registers and lanes
    d0 = 2@reg, d1 = 2@lane to d0 = 2@lane, d1 = 2@reg: an exchange in registers and lanes
    70 issue slots on generic, 70 in turn
    """

    plans: tuple[ConversionPlan, ...]

    def __post_init__(self) -> None:
        plans = listed(self.plans, "plans", error=ConversionError)
        if not 1 <= len(plans) <= _MOST:
            raise ConversionError(f"{len(plans)} plans: expected 1 to {_MOST}")
        for plan in plans:
            instance_of(plan, ConversionPlan, "a plan", ConversionError)
            if isinstance(plan, SymbolicPlan):
                raise ConversionError(f"{plan.source} to {plan.destination} has symbols: expected numbers (substitute)")
            if plan.workgroups > 1:
                raise ConversionError("a plan for a cluster of workgroups: expected plans for one workgroup")
        object.__setattr__(self, "plans", tuple(plans))
        for what in ("target", "pressure", "element_bits"):
            said = list(dict.fromkeys([getattr(plan, what) for plan in plans]))
            if len(said) > 1:
                raise ConversionError(f"plans whose {what} is {said[0]} and {said[1]}: expected the same for all")
        for what in ("subgroups", "lanes"):
            said = list(dict.fromkeys([getattr(plan.programs[0], what) for plan in plans]))
            if len(said) > 1:
                raise ConversionError(f"plans for {said[0]} and {said[1]} {what}: expected the same for all")

    @property
    def chosen(self) -> tuple[Candidate, ...]:
        """The way of each, the best beside the others; each plan's own where they are executed in turn.

        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> [one.work for one in convert_several([plan]).chosen]
        ['1 shuffle, 3 selects']
        """
        return _found(self.plans).chosen

    @property
    def programs(self) -> tuple[Program, ...]:
        """What is executed, on the registers of all: one program, or several one after another.

        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> [program.source_registers for program in convert_several([plan, plan]).programs]
        [4]
        """
        return _found(self.plans).programs

    @property
    def is_in_turn(self) -> bool:
        """Whether the conversions are executed one after another, since no way to do them together is cheaper.

        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> convert_several([plan, plan]).is_in_turn
        False
        """
        return _found(self.plans).in_turn

    @property
    def cost(self) -> int:
        """What all cost in one go, in issue slots.

        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> convert_several([plan]).cost == plan.cost
        True
        """
        return self._cost.of_chain(self.programs)

    @property
    def in_turn(self) -> int:
        """What they cost one after another, each by its own plan.

        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> convert_several([plan, plan]).in_turn == 2 * plan.cost
        True
        """
        return sum([plan.chosen.cost for plan in self.plans])

    @property
    def slm_bytes(self) -> int:
        """The shared memory that is needed at a time, in bytes.

        >>> convert_several([la.convert("d0 = 4@lane", "d0 = 4@lane")]).slm_bytes
        0
        """
        return max([program.slm_bytes for program in self.programs])

    @property
    def barriers(self) -> int:
        """Barriers, of the workgroup or inside its subgroups.

        >>> across = la.convert("d0 = 2@sg 2@reg, d1 = 16@lane", "d0 = 2@reg 2@sg, d1 = 16@lane")
        >>> convert_several([across, across]).barriers
        1
        """
        between = max(sum([program.slm_bytes > 0 for program in self.programs]) - 1, 0)
        return sum([program.count(Barrier) for program in self.programs]) + between

    @property
    def _cost(self) -> Cost:
        return cost_of(self.plans[0].target, self.plans[0].pressure)

    def apply(self, fragments: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Execute all on an array `[sg, lane, reg]` of each; their elements may be of any type of the plans' size.

        Raises `ConversionError` for another number of arrays, or arrays of another shape or element size.

        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> [one.tolist() for one in convert_several([plan]).apply([np.array([[[1, 2], [3, 4]]], np.int32)])]
        [[[[1, 3], [2, 4]]]]
        """
        given: Sequence[Any] = listed(fragments, "fragments", error=ConversionError)
        if len(given) != len(self.plans):
            raise ConversionError(f"{len(given)} fragments for {len(self.plans)} conversions")
        plain = f"u{self.plans[0].element_bits // 8}"
        held: list[NDArray[Any]] = []
        for plan, fragment in zip(self.plans, given, strict=True):
            first = plan.programs[0]
            shape = first.subgroups, first.lanes, first.source_registers
            kind: Any = getattr(fragment, "dtype", None) if type(fragment) is np.ndarray else None
            if kind is None or kind.hasobject or fragment.shape != shape or kind.itemsize * 8 != plan.element_bits:
                found = f"{getattr(fragment, 'shape', None)}, {getattr(kind, 'name', type(fragment).__name__)}"
                raise ConversionError(
                    f"a fragment of shape {found}: expected [sg, lane, reg] = {list(shape)} of {plan.element_bits} bits"
                )
            held.append(np.ascontiguousarray(fragment).view(plain))
        made = np.concatenate(held, -1)
        for program in self.programs:
            made = program.run(made)
        ends = np.cumsum([plan.programs[-1].registers for plan in self.plans])[:-1]
        parts = np.split(made, ends, -1)
        return [np.ascontiguousarray(part).view(one.dtype) for part, one in zip(parts, given, strict=True)]

    def emit(
        self, element: str | None = None, *, kernel: bool = False, name: str = "convert", llvm: int = DEFAULT_LLVM
    ) -> str:
        """All as MLIR at lane level: a function, or a whole `kernel`, of the registers of all (see `ConversionPlan.emit`).

        Raises `ConversionError` as `ConversionPlan.emit` does.

        >>> plan = la.convert("d0 = 4@reg, d1 = 16@lane", "d0 = 4@lane, d1 = 4@lane:4 4@reg")
        >>> convert_several([plan, plan]).emit("f32").count("gpu.shuffle") == 2 * plan.shuffles
        True
        """
        from layoutalg.conversion.lowering.emit import emit_function, emit_kernel

        first = self.plans[0]
        kind = f"i{first.element_bits}" if element is None else element
        write = emit_kernel if as_flag(kernel, "kernel") else emit_function
        return write(self.programs, kind, name, first.target, llvm)

    def __str__(self) -> str:
        first = self.plans[0]
        groups, lanes = counted(first.programs[0].subgroups, "subgroup"), counted(first.programs[0].lanes, "lane")
        count = counted(len(self.plans), "conversion")
        how = "in turn" if self.is_in_turn else "in one go"
        lines = [f"{count} {how}, elements of {first.element_bits} bits over {groups} of {lanes}"]
        for plan, way in zip(self.plans, self.chosen, strict=True):
            lines.append(f"{plan.source} to {plan.destination}: {way.name}")
        if any(plan.unpriced for plan in self.plans):
            return "\n".join(lines)
        beside = "; together they cost no less" if self.is_in_turn else f", {self.in_turn} in turn"
        costs = f"{counted(self.cost, 'issue slot')} on {first.target}{beside}"
        if self.slm_bytes:
            costs += f"; {counted(self.slm_bytes, 'byte')} of shared memory, {counted(self.barriers, 'barrier')}"
        return "\n".join([*lines, costs])


def convert_several(plans: Sequence[ConversionPlan]) -> SeveralConversions:
    """The plans of several conversions, which need nothing of each other, as one: see `SeveralConversions`.

    Raises `ConversionError` for plans that cannot be executed together.

    >>> across = la.convert("d0 = 2@sg 2@reg, d1 = 16@lane", "d0 = 2@reg 2@sg, d1 = 16@lane")
    >>> both = convert_several([across, across])
    >>> both.barriers, both.slm_bytes == 2 * both.chosen[0].slm_bytes
    (1, True)
    """
    found = SeveralConversions(tuple(listed(plans, "plans", error=ConversionError)))
    _ = found.programs  # worked out once: what can't be done is an error here
    return found


class _Found(NamedTuple):
    """What is executed for several plans."""

    chosen: tuple[Candidate, ...]
    programs: tuple[Program, ...]
    in_turn: bool


@lru_cache(maxsize=64)
def _found(plans: tuple[ConversionPlan, ...]) -> _Found:
    """The cheapest by what is executed: together in one of the ways that look best beside one another, or in turn."""
    cost, limit = cost_of(plans[0].target, plans[0].pressure), _limit(plans)
    found: list[_Found] = []
    for ways in _ways(plans, limit):
        programs = [one.programs[0] for one in ways]
        before, after = _runs([one.source_registers for one in programs]), _runs([one.registers for one in programs])
        found.append(_Found(ways, (side_by_side(programs, before, after, limit),), in_turn=False))
    if len(plans) > 1 or not found:
        found.append(_Found(tuple([plan.chosen for plan in plans]), _in_turn(plans), in_turn=True))
    return min(found, key=lambda one: rank(*cost.priced(one.programs))) if len(found) > 1 else found[0]


def _in_turn(plans: Sequence[ConversionPlan]) -> tuple[Program, ...]:
    """Each plan's own programs, one after another, while the registers of the others stay what they are."""
    made: list[Program] = []
    held = [plan.programs[0].source_registers for plan in plans]
    for number, plan in enumerate(plans):
        for program in plan.programs:
            if program.idle and program.source_registers == program.registers:
                continue
            moved = [_kept(program, count) for count in held]
            moved[number] = program
            before = _runs(held)
            held[number] = program.registers
            made.append(side_by_side(moved, before, _runs(held), program.slm_bytes))
    return tuple(made) or (_kept(plans[0].programs[0], sum(held)),)


def _kept(like: Program, registers: int) -> Program:
    """A program for the work-items of another that changes nothing."""
    cells = tuple(range(registers * like.element_bits // like.cell_bits))
    filled = cells + (-1,) * (-len(cells) % like.parts)
    return Program(like.subgroups, like.lanes, like.element_bits, registers, registers, filled, (), cells)


def _runs(sizes: Sequence[int]) -> list[range]:
    """Numbers one after another, so many for each."""
    return [range(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]


def _limit(plans: Sequence[ConversionPlan]) -> int:
    """The shared memory that all may use at a time, in bytes: the most that one of them may use alone."""
    most = cost_of(plans[0].target).slm_bytes
    return max(
        [most if plan.slm_limit is None else plan.slm_limit for plan in plans if plan.level != "subgroup"] or [0]
    )


def _ways(plans: Sequence[ConversionPlan], limit: int) -> list[tuple[Candidate, ...]]:
    """Ways that may be cheapest together: each in turn becomes the best beside the others, from several beginnings."""
    cost = cost_of(plans[0].target, plans[0].pressure)
    pools: list[list[tuple[Candidate, Parts | None]]] = []
    for plan in plans:
        pool = [one for one in plan.candidates if len(one.programs) == 1 and one.slm_bytes <= limit]
        pools.append([(one, cost.parts(one.programs)) for one in pool])
    if not all(pools):
        return []
    if any(parts is None for pool in pools for _, parts in pool):
        return [tuple([pool[0][0] for pool in pools])]
    busy = [[parts for _, parts in pool if parts is not None] for pool in pools]
    begin = [[min(range(len(pool)), key=lambda i, pool=pool, at=at: pool[i][at]) for pool in busy] for at in range(3)]
    found = sorted(
        [_descended(busy, start) for start in ([0] * len(busy), *begin)], key=lambda one: _together(busy, one)
    )
    best = dict.fromkeys([tuple(one) for one in (found[0], [0] * len(busy))])
    return [tuple([pool[i][0] for pool, i in zip(pools, one, strict=True)]) for one in best]


def _together(busy: Sequence[Sequence[Parts]], chosen: Sequence[int]) -> tuple[int, float]:
    """What ways rank at whose instructions, and cycles of memory, are those of all."""
    sums = [sum(column) for column in zip(*[pool[i] for pool, i in zip(busy, chosen, strict=True)], strict=True)]
    parts = Parts(*sums)
    return rank(parts.slots, parts.issued)


def _descended(busy: Sequence[Sequence[Parts]], start: Sequence[int]) -> list[int]:
    found, changed = list(start), True
    while changed:
        changed = False
        for number, pool in enumerate(busy):
            tried = [[*found[:number], i, *found[number + 1 :]] for i in range(len(pool))]
            best = min(tried, key=lambda one: _together(busy, one))
            if _together(busy, best) < _together(busy, found):
                found, changed = best, True
    return found
