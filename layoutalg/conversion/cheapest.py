"""The way that is taken, found without making all others: those that cannot be cheaper are not made.

A 16x16 tile of 32 bits, transposed, takes 15 shuffles. A bit at a time it would take 32, and through memory every word would
be stored and loaded; by the prices of a GPU in general neither can be cheaper, so only one program is made. Where a chip's
listings were counted, every way in registers and lanes is made, and memory only if it could be cheaper; NVIDIA's and AMD's,
where memory may be, have all ways made.

>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> found = cheapest_of(rows, columns, 32, "generic", None)
>>> found.name, found == candidates_of(rows, columns, 32, "generic", None)[0]
('an exchange in registers and lanes', True)

Programs depend on the bits of both layouts alone: conversions that rename bits alike share them.
"""

from __future__ import annotations

from functools import lru_cache

from layoutalg.conversion.candidates import Candidate, candidates_of
from layoutalg.conversion.cost import Cost, cost_of
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern, pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import ways
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_STEPS
from layoutalg.hardware.shared_memory import CYCLE_BYTES, rates
from layoutalg.memory.machine_bits import view

__all__ = ["cheapest_of"]

_WORD_BYTES = 4


@lru_cache(maxsize=64)
def cheapest_of(
    source: Layout,
    destination: Layout,
    element_bits: int,
    target: str,
    slm_limit: int | None,
    level: str = "workgroup",
    workgroups: int = 1,
    regions: bool = False,
    pressure: str = "all",
    portable: bool = False,
) -> Candidate:
    """The first of `candidates_of` the same."""
    cost, known = cost_of(target, pressure), rates(target)
    if workgroups == 1 and not regions and (known is None or not known.shuffle):
        a, b = view(source), view(destination)
        pattern = None if a is None or b is None else pattern_of(a, b, element_bits)
        if pattern is not None and (pattern.exchanged or pattern.moving_bits):
            found = _exchange(pattern, cost)
            if found is not None:
                return found
    settings = slm_limit, level, workgroups, regions, pressure, portable
    return candidates_of(source, destination, element_bits, target, *settings)[0]


@lru_cache(maxsize=64)
def _exchange(pattern: Pattern, cost: Cost) -> Candidate | None:
    """The cheapest exchange in registers and lanes, where none through memory can be cheaper."""
    found: Candidate | None = None
    for way in ways(pattern):
        least = 0 if cost.counted else way.shuffles * cost.shuffle + way.selects * cost.select
        if found is None or least < found.cost:
            program = way.make()
            if len(program.steps) > MOST_STEPS:
                return None
            price = cost.of(program)
            if found is None or price < found.cost:
                found = Candidate(way.name, (program,), price)
    # Through memory every word goes twice, as full as it can be.
    words, lanes = 2 * ((1 << pattern.register_bits) // pattern.parts), 1 << pattern.lane_bits
    # Of ways that cost the same, the one with fewer instructions is taken: where these were counted, memory may be that one.
    passed = int(words * lanes * _WORD_BYTES / CYCLE_BYTES * cost.unit) - 1
    through_memory = passed if cost.counted else words * cost.word
    return found if found is not None and found.cost <= through_memory else None
