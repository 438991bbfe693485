"""The way that is taken, found without making all others: those that cannot be cheaper are not made.

A 16x16 tile of 32 bits, transposed, takes 15 shuffles. A bit at a time it would take 32, and through memory every word would
be stored and loaded; by the prices of a GPU in general neither can be cheaper, so only one program is made. Where a chip's
listings were counted and its rates are known, each way has a least cost that is known before it is made: an exchange that of
its shuffles and selects (`exchange_bounds`), memory that of its accesses (`strategies.foreseen`). Those that could be
cheapest are made first, and no others once one is below them.

>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> found = cheapest_of(rows, columns, 32, "generic")
>>> found.name, found == candidates_of(rows, columns, 32, "generic")[0]
('an exchange in registers and lanes', True)

Programs depend on the bits of both layouts alone: conversions that rename bits alike share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from heapq import heapify, heappop, heappush
from math import fsum

from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.candidates import UNASKED, Settings, candidates_of, held
from layoutalg.conversion.cheapest_by_table import cheapest_by_table
from layoutalg.conversion.cost import Cost, rank
from layoutalg.conversion.exchange_bounds import ROUNDING, least_of
from layoutalg.conversion.mixed_ways import mixed_way
from layoutalg.conversion.normalize import normalized
from layoutalg.conversion.prices import prices_of
from layoutalg.conversion.program.access_conflicts import access_cycles
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern, pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import ways
from layoutalg.conversion.strategies.copies import told_apart
from layoutalg.conversion.strategies.foreseen import Foreseen
from layoutalg.conversion.strategies.through_memory import fits
from layoutalg.conversion.ways_by_bits import Memory, Unmade, exchanges, memory_ways
from layoutalg.conversion.ways_by_table import moves_words
from layoutalg.conversion.ways_of_copies import ways_of_copies
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_STEPS
from layoutalg.hardware.shared_memory import served
from layoutalg.memory.machine_bits import View, view

__all__ = ["cheapest_of"]

_WORD_BYTES = 4


@lru_cache(maxsize=64)
def cheapest_of(
    source: Layout,
    destination: Layout,
    element_bits: int,
    target: str,
    settings: Settings = UNASKED,
) -> Candidate:
    """The first of `candidates_of` the same."""
    memory = settings.memory_of(target)
    cost = memory.cost
    if settings.workgroups == 1 and not settings.regions and (cost.unit or not cost.counted):
        a, b, starts = normalized(source, destination)
        pair = view(a), view(b)
        pattern = None if pair[0] is None or pair[1] is None else pattern_of(pair[0], pair[1], element_bits)
        if pair[0] is not None and pair[1] is not None and pattern is not None and _moves(pattern):
            if not cost.counted:
                found = _exchange(pattern, cost)
            else:
                found = _first_or_mixed(pair[0], pair[1], element_bits, pattern, memory, cost)
            if found is not None:
                return found
        if pair[0] is not None and pair[1] is not None and cost.unit and not any(starts):
            as_held = partial(held, source, destination, element_bits, target, settings)
            found = _of_copies(pair[0], pair[1], element_bits, memory, as_held)
            if found is not None:
                return found
        if cost.unit and not any(starts):
            found = cheapest_by_table(a, b, element_bits, memory)
            if found is not None:
                return found
    return candidates_of(source, destination, element_bits, target, settings)[0]


def _moves(pattern: Pattern) -> bool:
    return bool(pattern.exchanged) or pattern.moving_bits > 0


@lru_cache(maxsize=64)
def _exchange(pattern: Pattern, cost: Cost) -> Candidate | None:
    """The cheapest exchange in registers and lanes, where none through memory can be cheaper."""
    found: Candidate | None = None
    for way in ways(pattern):
        least = way.shuffles * cost.shuffle + way.selects * cost.select
        if found is None or least < found.cost:
            program = way.make()
            if len(program.steps) > MOST_STEPS:
                return None
            price = cost.of(program)
            if found is None or price < found.cost:
                found = Candidate(way.name, (program,), price)
    # Through memory every word goes twice, as full as it can be.
    through_memory = 2 * ((1 << pattern.register_bits) // pattern.parts) * cost.word
    return found if found is not None and found.cost <= through_memory else None


def _first_or_mixed(
    a: View, b: View, element_bits: int, pattern: Pattern, memory: Memory, cost: Cost
) -> Candidate | None:
    """The best way, a mixed one among them (`mixed_ways`); None where some way cannot be made."""
    first = _first(a, b, element_bits, pattern, memory, cost)
    if first is None:
        return None
    found, lowest = first
    best = partial(_in_memory, element_bits, memory, cost)
    mixed = mixed_way(a, b, element_bits, memory, lowest[0], best, pattern=pattern)
    return found if mixed is None else Candidate(mixed.name, (mixed.program,), mixed.price[0])


def _of_copies(
    a: View,
    b: View,
    element_bits: int,
    memory: Memory,
    as_held: Callable[[], Mapping[str, tuple[Candidate, tuple[int, float]]]],
) -> Candidate | None:
    """The best way where all copies of both sides can be told apart; None where they cannot, or some way cannot be made.

    Ways for the layouts as they are have no bounds, and are all made; of the others those alone that could be better.
    """
    apart = told_apart(a, b)
    if apart is None or len(apart[0].places) != sum(apart[0].widths.values()) or apart[0].widths != apart[1].widths:
        return None
    known = as_held()
    found, lowest = min(known.values(), key=lambda one: one[1])
    if not any(program.slm_bytes or moves_words((program,)) for one, _ in known.values() for program in one.programs):
        return None
    cost, pattern = memory.cost, pattern_of(*apart, element_bits)
    listed = [
        (one, *_least(one, apart[0], element_bits, pattern, cost)) for one in ways_of_copies(a, b, element_bits, memory)
    ]
    better = _cheapest(listed, apart[0], memory, lowest)
    if better is None:
        return None
    found, lowest = min([(found, lowest), *better], key=lambda one: one[1])
    best = partial(_in_memory, element_bits, memory, cost)
    others = [one.programs for one, _ in known.values()]
    mixed = mixed_way(a, b, element_bits, memory, lowest[0], best, others)
    return found if mixed is None else Candidate(mixed.name, (mixed.program,), mixed.price[0])


def _least(one: Unmade, a: View, element_bits: int, pattern: Pattern | None, cost: Cost) -> tuple[int, int]:
    """The slots and instructions of a way, at least."""
    if pattern is not None and one.exchange is not None:
        return least_of(one.exchange, pattern, cost)
    return (_least_through_memory(a, element_bits, cost), 0) if one.foreseen else (0, 0)


def _first(
    a: View, b: View, element_bits: int, pattern: Pattern, memory: Memory, cost: Cost, *, in_memory: bool = False
) -> tuple[Candidate, tuple[int, float]] | None:
    """The best way by counted instructions and known rates, and its `cost.rank`; None where some way cannot be made.

    `in_memory`: of those alone that move everything through memory.
    """
    inside = [] if in_memory else exchanges(a, b, element_bits, pattern, memory)
    listed = [(one, *least_of(one.exchange, pattern, cost)) for one in inside]
    if memory.most:
        passed = _least_through_memory(a, element_bits, cost)
        if not fits(a, b, element_bits, memory.by_bits(a, b, element_bits)):
            return None
        listed += [(one, passed, 0) for group in memory_ways(a, b, element_bits, memory) for one in group]
    best = _cheapest(listed, a, memory, None)
    return None if best is None else min(best, key=lambda found: found[1])


def _cheapest(
    listed: Sequence[tuple[Unmade, int, int]], a: View, memory: Memory, lowest: tuple[int, float] | None
) -> list[tuple[Candidate, tuple[int, float]]] | None:
    """Of ways and their least slots and instructions, the best and some others, with their ranks; None if one cannot be made.

    Ways of one name are one, the first of the best. What cannot rank below `lowest` is not made.
    """
    cost, made = memory.cost, dict[int, tuple[Candidate, tuple[int, float]]]()
    prices = _instructions(cost, 1 << a.widths["lane"])
    waiting = [(slots + instructions, number, 0) for number, (_, slots, instructions) in enumerate(listed)]
    heapify(waiting)
    while waiting:
        least, number, asked = heappop(waiting)
        if lowest is not None and least > lowest[0]:
            break
        way, slots, _ = listed[number]
        if asked < len(way.foreseen):
            more = min([_foreseen(one, a, slots, cost, prices) for one in way.foreseen[asked]()])
            heappush(waiting, (max(least, more), number, asked + 1))
            continue
        try:
            programs = way.make()
        except LayoutError:
            return None
        if sum([len(program.steps) for program in programs]) > MOST_STEPS:
            return None
        if all(program.slm_bytes <= memory.most for program in programs):
            if lowest is not None and not way.foreseen and cost.in_memory(programs) > lowest[0]:
                continue
            price = cost.priced(programs)
            made[number] = Candidate(way.name, programs, price[0]), rank(*price)
            lowest = min(lowest or rank(*price), rank(*price))
    best: dict[str, tuple[Candidate, tuple[int, float]]] = {}
    for _, (one, order) in sorted(made.items()):
        if one.name not in best or order < best[one.name][1]:
            best[one.name] = one, order
    return list(best.values())


def _in_memory(element_bits: int, memory: Memory, cost: Cost, a: View, b: View, pattern: Pattern) -> Program | None:
    found = _first(a, b, element_bits, pattern, memory, cost, in_memory=True)
    return None if found is None else found[0].programs[0]


def _least_through_memory(a: View, element_bits: int, cost: Cost) -> int:
    """Every word goes twice, as full as it can be, past as many banks as a chip stores to and loads from."""
    words, lanes = (element_bits << a.widths["reg"]) // WORD, 1 << a.widths["lane"]
    banks = [served(cost.name, _WORD_BYTES, lanes, reading=reading).banks for reading in (False, True)]
    return round(sum([words * lanes / one for one in banks]) * cost.unit - ROUNDING)


def _instructions(cost: Cost, lanes: int) -> Mapping[str, float]:
    """What a chip's listings have for each charge; nothing where none were read, or where one takes others away."""
    listings = prices_of(cost.name, lanes)
    return {} if listings is None or min(listings.instructions.values()) < 0 else listings.instructions


def _foreseen(found: Foreseen, a: View, slots: int, cost: Cost, prices: Mapping[str, float]) -> int:
    """What a way ranks at, at least, that costs so many slots at least, by what is known of it before it is made."""
    if not prices:
        return slots
    issued = fsum([prices[name] * count for name, count in found.charges.items() if count])
    memory = max(slots, found.cycles * cost.unit)
    if found.accesses is not None:
        steps = [step for step, _ in found.accesses]
        cycles = access_cycles(steps, 1 << a.widths["sg"], 1 << a.widths["lane"], cost.name)
        memory = sum([one * times for one, (_, times) in zip(cycles, found.accesses, strict=True)]) * cost.unit
    least = round(max(issued, memory) - ROUNDING)
    return rank(max(least, slots), round(issued - ROUNDING))[0]
