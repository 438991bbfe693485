"""The ways to convert what only renames bits, each made when it is asked for: exchanges in a subgroup, and through memory.

A tile of 4x4 words in four lanes, transposed: two exchanges, and two orders of its words in memory. None is made yet; the
first takes three shuffles.

>>> from layoutalg.conversion.cost import cost_of
>>> from layoutalg.conversion.program.steps import Shuffle
>>> from layoutalg.memory.machine_bits import view
>>> views = [view(Layout.parse(text)) for text in ("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg")]
>>> memory = Memory.of_chip(cost_of("generic"), None, "workgroup", 1, False)
>>> inside = exchanges(views[0], views[1], 32, pattern_of(views[0], views[1], 32), memory)
>>> [one.name for one in inside]
['an exchange in registers and lanes', 'an exchange in registers and lanes, a bit at a time']
>>> [one.name for group in memory_ways(views[0], views[1], 32, memory) for one in group]
['everything goes through shared memory', "everything goes through shared memory, in the destination's order"]
>>> inside[0].make()[0].count(Shuffle)
3

`candidates` makes them all; `cheapest` only those that could be the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Literal, NamedTuple

from layoutalg.conversion.cost import Cost
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern, pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import Way, ways
from layoutalg.conversion.strategies.foreseen import Foreseen
from layoutalg.conversion.strategies.lane_swaps import SWAPPING, by_lane_swaps
from layoutalg.conversion.strategies.memory_forms import forms_of
from layoutalg.conversion.strategies.through_memory import (
    fewest_bytes,
    foreseen,
    least_foreseen,
    storing,
    through_memory,
)
from layoutalg.core.layout import Layout
from layoutalg.hardware.chips import target_info
from layoutalg.memory.machine_bits import View

__all__ = ["THROUGH_MEMORY", "Memory", "Unmade", "exchanges", "memory_ways"]

THROUGH_MEMORY = "everything goes through shared memory"
_SWAPS = "swaps of lane bits 4 and 5 with registers"
_PLAIN = ", in the destination's order"
_COPIES = ", stored by all that hold it"


class Memory(NamedTuple):
    """The shared memory that may be used: `most` bytes; if it is to be spared, no more than the widest accesses need.

    `matrices` says that those may be loads of 8x8 matrices; `forms` is the chip whose accesses are weighed, if any,
    `blocks` whether block messages are among them. By `cost` parts of mixed ways are chosen.
    """

    most: int
    sparing: bool
    matrices: bool
    forms: str
    blocks: bool
    cost: Cost

    @staticmethod
    def of_chip(cost: Cost, slm_limit: int | None, level: str, workgroups: int, portable: bool) -> Memory:
        """The memory that a chip's workgroups have, or what a limit leaves, for what `candidates_of` is asked."""
        most = 0 if level == "subgroup" else workgroups * (cost.slm_bytes if slm_limit is None else slm_limit)
        matrices = target_info(cost.name).vendor not in ("intel", "amd")
        forms = cost.name if cost.unit else ""
        return Memory(most, sparing=slm_limit is None, matrices=matrices, forms=forms, blocks=not portable, cost=cost)

    def by_bits(self, a: View, b: View, element_bits: int) -> int:
        """The bytes that a conversion between two views may use at a time, without padding."""
        if not self.sparing:
            return self.most
        return min(self.most, fewest_bytes(a, b, element_bits, matrices=self.matrices))

    def of(self, layout: Layout, element_bits: int) -> int:
        """The bytes that a conversion of a layout's tensor may use at a time."""
        return min(self.most, -(-prod(layout.shape) * element_bits // 8)) if self.sparing else self.most


class Unmade(NamedTuple):
    """A way that is not made yet: its name, what makes it, and the exchange in it, if there is one (behind swaps too)."""

    name: str
    make: Callable[[], tuple[Program, ...]]
    exchange: Way | None = None
    foreseen: tuple[Callable[[], tuple[Foreseen, ...]], ...] = ()
    """What is known of its charges before it is made, what takes less time first: each time one of some, at least."""


def exchanges(a: View, b: View, element_bits: int, pattern: Pattern, memory: Memory) -> list[Unmade]:
    """The exchanges in registers and lanes that are weighed, by swaps of lanes too."""
    found = [Unmade(way.name, partial(_alone, way.make), way) for way in ways(pattern)]
    if memory.forms in SWAPPING:
        found += _ways_by_swaps(a, b, element_bits)
    return found


def memory_ways(a: View, b: View, element_bits: int, memory: Memory) -> Iterator[list[Unmade]]:
    """The ways through memory that are weighed, in groups: what makes the same program as one before it in its group goes."""
    limit, chip = memory.by_bits(a, b, element_bits), memory.forms
    yield [
        _way("", through_memory, a, b, element_bits, limit),
        _way(_PLAIN, through_memory, a, b, element_bits, limit, arranged=False),
    ]
    if not chip:
        return
    intel = target_info(chip).has_dpas
    for everyone in (False, True):
        if everyone and (intel or storing(a) is None):
            return
        also = _COPIES if everyone else ""
        if everyone:
            yield [
                _way(also, through_memory, a, b, element_bits, limit, everyone=True),
                _way(_PLAIN + also, through_memory, a, b, element_bits, limit, arranged=False, everyone=True),
            ]
        forms = forms_of(a, b, element_bits, chip, limit, blocks=memory.blocks, everyone=everyone)
        yield [
            Unmade(
                f"{THROUGH_MEMORY}, {name}{also}",
                partial(_alone, form),
                None,
                (partial(_one, form.least), partial(_one, form.placed)),
            )
            for name, form in forms
        ]
        orders: tuple[Literal["source", "destination"], ...] = ("source", "destination")
        if intel:  # its forms are as good, and every way takes time to weigh
            orders = ()
        for order in orders:
            name = f", in the {order}'s order with padding{also}"
            yield [_way(name, through_memory, a, b, element_bits, limit, padded=order, everyone=everyone)]


def _way(name: str, make: Callable[..., Program], *values: object, **named: object) -> Unmade:
    known = (partial(least_foreseen, *values, **named), partial(_one, partial(foreseen, *values, **named)))
    return Unmade(THROUGH_MEMORY + name, partial(_alone, partial(make, *values, **named)), foreseen=known)


def _one(known: Callable[[], Foreseen]) -> tuple[Foreseen, ...]:
    return (known(),)


def _alone(make: Callable[[], Program]) -> tuple[Program, ...]:
    return (make(),)


def _ways_by_swaps(a: View, b: View, element_bits: int) -> list[Unmade]:
    """Lane bits 4 and 5 by swaps, the others by any exchange that is left to do."""
    swapped = by_lane_swaps(a, b, element_bits)
    if swapped is None:
        return []
    program, left = swapped
    if left == b:
        return [Unmade(_SWAPS, lambda: (program,))]
    pattern = pattern_of(left, b, element_bits)
    rest = () if pattern is None else ways(pattern)
    return [Unmade(f"{_SWAPS}, then {way.name}", partial(_behind, program, way.make), way) for way in rest]


def _behind(program: Program, make: Callable[[], Program]) -> tuple[Program, ...]:
    return program, make()
