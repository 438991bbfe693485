"""Mixed ways of a chip: how much of a conversion is shuffled while the rest goes through shared memory.

On bmg shared memory takes a word in 4 slots on each way, where all subgroups convert at once; the engine that issues
instructions is free meanwhile. A part that is shuffled then costs little. 64 registers, two of whose bits change places with
bits of the lane's number:

>>> from layoutalg.conversion.cost import cost_of
>>> plan = la.convert("d0 = 64@reg, d1 = 16@lane", "d0 = 16@reg:4 4@lane, d1 = 4@lane:4 4@reg", target="bmg")
>>> for kind in ("while", "everything goes", "an exchange"):
...     one = next(one for one in plan.candidates if kind in one.name)
...     busy = cost_of("bmg").parts(one.programs)
...     print(f"{busy.issued:.0f} instructions, {busy.memory:.0f} slots of memory: {one.name.partition(',')[0]}")
244 instructions, 256 slots of memory: half goes through shared memory while the rest is shuffled
94 instructions, 512 slots of memory: everything goes through shared memory
386 instructions, 0 slots of memory: an exchange in registers and lanes

Shares are halves and quarters. Each part goes by the exchange and by the way through memory that rank first for it alone. One
mixed way is weighed at most, that of the share which an estimate finds best, and only where the estimate is well below the best
of the other ways: for most conversions none is made, and asking takes little time. One that saves less than a twentieth is not
taken.

Copies are told apart first (`strategies.copies`). But they make memory cheaper too: of lanes that hold the same one stores, and
those that want the same are served at once. So layouts that hold copies are split as they are besides, by an estimate from the
other ways of the whole, which are known by then.

A mixed way is offered where the rates of a chip are known and all subgroups convert at once (`conversion.cost`): while others
compute, memory takes few slots, and what has the fewest instructions is cheapest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from layoutalg.conversion.cost import Cost, rank
from layoutalg.conversion.cost import Parts as Busy
from layoutalg.conversion.exchange_bounds import ROUNDING, least_busy
from layoutalg.conversion.prices import Listings, prices_of
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern, pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import Way, ways
from layoutalg.conversion.strategies.copies import told_apart
from layoutalg.conversion.strategies.exchange import exchange, stays_in_subgroup
from layoutalg.conversion.strategies.mixed import Parts, mixed, parts_of
from layoutalg.conversion.ways_by_bits import Memory, memory_ways
from layoutalg.core.limits import MOST_STEPS
from layoutalg.hardware.shared_memory import rates, served
from layoutalg.memory.machine_bits import View

__all__ = ["MixedWay", "best_in_memory", "mixed_way"]

_NAMES = {
    (2, 1): "half goes through shared memory while the rest is shuffled",
    (4, 1): "three quarters go through shared memory while the rest is shuffled",
    (4, 3): "a quarter goes through shared memory while the rest is shuffled",
}
"""By the number of parts, and how many of them are shuffled."""
_LEAST_WORDS = 16
"""The words of a lane from which on a mixed way is weighed: below, addresses take most of what is saved. (Of what mixed ways
saved in 306 random conversions on bmg, sm_80 and gfx942, those with 8 words had a fiftieth.)"""
_MARGIN = 1.12
"""How much below the best other way an estimate must be: addresses, moves and conflicts come on top of it."""
_MARGIN_OF_COPIES = 1.08
"""The same where other ways of the whole are the estimate, with their addresses and conflicts."""
_SAVING = 1.05
"""How much below the best other way a mixed one must rank: it keeps two units busy, and prices are no surer than that."""
_ADDRESSES = 3
"""What the addresses of both sides take at least, in instructions."""
_WORD_BYTES, _VECTOR = 4, 4


class MixedWay(NamedTuple):
    """A mixed way: its name, its program, and the price of that (`Cost.priced`)."""

    name: str
    program: Program
    price: tuple[int, float]


BestInMemory = Callable[[View, View, Pattern], Program | None]
"""The way through memory that ranks first for a conversion; None where none can be made."""


def mixed_way(
    a: View,
    b: View,
    element_bits: int,
    memory: Memory,
    lowest: int,
    best: BestInMemory,
    others: Iterable[Sequence[Program]] = (),
    pattern: Pattern | None = None,
) -> MixedWay | None:
    """A mixed way that beats the best other way, whose rank is `lowest`; None where no mixed way does.

    `best` chooses how the parts that use shared memory do so. `others` are the other ways for layouts that hold copies;
    `pattern` is that of two which hold none, if it is known.
    """
    known, cost = rates(memory.cost.name), memory.cost
    if not memory.most or known is None or cost.unit != known.slots:
        return None
    if (1 << a.widths["reg"]) * element_bits < _LEAST_WORDS * _WORD_BYTES * 8:
        return None
    if pattern is not None and _is_hopeless(pattern, cost, lowest):
        return None
    apart = told_apart(a, b)
    found = _where_bits_are_renamed(*(apart or (a, b)), element_bits, memory, lowest, best)
    if found is not None:
        lowest = min(lowest, rank(*found.price)[0])
    return _of_copies(a, b, element_bits, memory, lowest, others) or found


def _is_hopeless(pattern: Pattern, cost: Cost, lowest: int) -> bool:
    """Whether every share has too high an estimate: a quarter of all, in whole words, takes a quarter of the whole exchange."""
    listed = prices_of(cost.name, 1 << pattern.lane_bits)
    if pattern.parts > 1 or listed is None:
        return False
    least = [busy for way in ways(pattern) if (busy := least_busy(way, pattern, cost)) is not None]
    rest = pattern._replace(register_bits=pattern.register_bits - 2)
    found = [Busy(*[one / 4 for one in busy]) for busy in least]
    return min([_shares(one, 4, rest, listed, cost)[0][0] for one in found]) * _MARGIN * (1 - ROUNDING) >= lowest


def _where_bits_are_renamed(
    a: View, b: View, element_bits: int, memory: Memory, lowest: int, best: BestInMemory
) -> MixedWay | None:
    """The mixed way where no copies are left."""
    cost = memory.cost
    quarters = parts_of(a, b, element_bits, 4)
    finest = quarters or parts_of(a, b, element_bits, 2)
    if finest is None:
        return None
    found = _least(finest, element_bits, memory, lowest)
    if found is None:
        return None
    parts = quarters if found.parts == 4 else finest if quarters is None else parts_of(a, b, element_bits, 2)
    pattern = None if parts is None else pattern_of(parts.source, parts.destination, element_bits)
    outside = None if parts is None or pattern is None else best(parts.source, parts.destination, pattern)
    if parts is None or pattern is None or outside is None:
        return None
    inside = found.inside if parts is finest else _exchange(ways(pattern), cost)
    limit = max(memory.by_bits(a, b, element_bits), outside.slm_bytes)
    program = mixed(inside, outside, parts, found.shuffled, limit)
    price = cost.priced([program])
    if len(program.steps) > MOST_STEPS or rank(*price)[0] * _SAVING >= lowest:
        return None
    return MixedWay(_NAMES[found.parts, found.shuffled], program, price)


def _of_copies(
    a: View, b: View, element_bits: int, memory: Memory, lowest: int, others: Iterable[Sequence[Program]]
) -> MixedWay | None:
    """The mixed way of layouts that hold copies, as they are, by an estimate from other ways of the whole."""
    cost = memory.cost
    if not stays_in_subgroup(a, b) or pattern_of(a, b, element_bits) is not None:
        return None
    alone = [(programs[0].slm_bytes > 0, busy) for programs in others if (busy := _busy(programs, cost)) is not None]
    pairs = [(one, two) for inside, one in alone if not inside for outside, two in alone if outside]
    found = [(_between(*pair, shuffled / count), count, shuffled) for pair in pairs for count, shuffled in _NAMES]
    for estimate, count, shuffled in sorted(found):
        if estimate * _MARGIN_OF_COPIES >= lowest:
            return None
        parts = parts_of(a, b, element_bits, count)
        if parts is not None:
            limit = memory.by_bits(a, b, element_bits)
            return _of_parts(parts, shuffled, element_bits, memory, lowest, limit)
    return None


def _busy(programs: Sequence[Program], cost: Cost) -> Busy | None:
    """What a way of one program keeps busy."""
    return cost.parts(programs) if len(programs) == 1 else None


def _between(inside: Busy, outside: Busy, share: float) -> float:
    """What a way ranks at that shuffles a share, if it took that share of either."""
    issued, alu, memory = (share * one + (1 - share) * two for one, two in zip(inside[:3], outside[:3], strict=True))
    return max(issued, alu, memory) + issued


def _of_parts(
    parts: Parts, shuffled: int, element_bits: int, memory: Memory, lowest: int, limit: int
) -> MixedWay | None:
    """The mixed way that shuffles so many parts, each by the best exchange, where it is better than others; else None."""
    a, b, cost = parts.source, parts.destination, memory.cost
    apart = told_apart(a, b)
    pattern = None if apart is None else pattern_of(*apart, element_bits)
    exchanges = [exchange(a, b, element_bits), *[way.make() for way in (ways(pattern) if pattern else ())]]
    outside = best_in_memory(element_bits, memory)(a, b, None)
    if outside is None:
        return None
    inside = min(exchanges, key=lambda one: rank(*cost.priced([one])))
    program = mixed(inside, outside, parts, shuffled, max(limit, outside.slm_bytes))
    price = cost.priced([program])
    if len(program.steps) > MOST_STEPS or rank(*price)[0] * _SAVING >= lowest:
        return None
    return MixedWay(_NAMES[len(parts.before), shuffled], program, price)


class _Estimate(NamedTuple):
    """What the mixed way ranks at by estimate that shuffles so many parts of all, and how one of the finest is shuffled."""

    rank: float
    parts: int
    shuffled: int
    inside: Program


def _least(finest: Parts, element_bits: int, memory: Memory, lowest: int) -> _Estimate | None:
    """The share with the least estimate, if that is below the lowest rank; the exchange is made where its least costs are."""
    pattern = pattern_of(finest.source, finest.destination, element_bits)
    listed = None if pattern is None else prices_of(memory.cost.name, 1 << pattern.lane_bits)
    if pattern is None or listed is None or not (pattern.exchanged or pattern.moving_bits):
        return None
    known, count = ways(pattern), len(finest.before)
    least = [busy for way in known if (busy := least_busy(way, pattern, memory.cost)) is not None]
    if min([_shares(one, count, pattern, listed, memory.cost)[0][0] for one in least]) * _MARGIN >= lowest:
        return None
    inside = _exchange(known, memory.cost)
    busy = memory.cost.parts([inside])
    if busy is None:
        return None
    (estimate, parts, shuffled), *_ = _shares(busy, count, pattern, listed, memory.cost)
    return _Estimate(estimate, parts, shuffled, inside) if estimate * _MARGIN < lowest else None


def _shares(busy: Busy, count: int, pattern: Pattern, listed: Listings, cost: Cost) -> list[tuple[float, int, int]]:
    """What each share ranks at by estimate, the least first: memory has no conflicts, and messages of 16 bytes a lane.

    `busy` is what one of `count` parts takes by shuffles.
    """
    price, lanes = listed.instructions, 1 << pattern.lane_bits
    words = count * ((1 << pattern.register_bits) // pattern.parts)
    banks = [served(cost.name, _WORD_BYTES, lanes, reading=reading).banks for reading in (False, True)]
    passed = sum([words * lanes / one for one in banks]) * cost.unit
    once = price["memory"] + price["fence"] + _ADDRESSES
    stored = words * (price["store"] + price["load"]) / _VECTOR
    found: list[tuple[float, int, int]] = []
    for parts, shuffled in _NAMES:
        if parts <= count:
            share = shuffled / parts
            times = share * count
            issued = times * busy.issued + once + (1 - share) * stored
            slots = max(issued, times * busy.alu, times * busy.memory + (1 - share) * passed)
            found.append((slots + issued, parts, shuffled))
    return sorted(found)


def _exchange(known: Sequence[Way], cost: Cost) -> Program:
    """The exchange that ranks first."""
    return min([way.make() for way in known], key=lambda one: rank(*cost.priced([one])))


def best_in_memory(element_bits: int, memory: Memory) -> Callable[[View, View, Pattern | None], Program | None]:
    """The choice of the first of all ways through memory, each made: for layouts that hold copies too."""

    def best(a: View, b: View, pattern: Pattern | None) -> Program | None:
        found: dict[str, tuple[Program, tuple[int, float]]] = {}
        for one in [one for group in memory_ways(a, b, element_bits, memory) for one in group]:
            (program,) = one.make()
            if program.slm_bytes <= memory.most:
                order = rank(*memory.cost.priced([program]))
                if one.name not in found or order < found[one.name][1]:
                    found[one.name] = program, order
        return min(found.values(), key=lambda way: way[1])[0] if found else None

    return best
