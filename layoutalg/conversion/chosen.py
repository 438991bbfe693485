"""The way that is taken, found without making all others: those that cannot be cheaper are not made.

A 16x16 tile of 32 bits, transposed, takes 15 shuffles. A bit at a time it would take 32, and through memory every word would
be stored and loaded; by the prices of a GPU in general neither can be cheaper, so only one program is made:

>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> found = chosen_of(rows, columns, 32, "generic", None)
>>> found.name, found == candidates_of(rows, columns, 32, "generic", None)[0]
('an exchange in registers and lanes', True)

Programs depend on the bits of both layouts alone: conversions that rename bits alike share them.
"""

from __future__ import annotations

from functools import lru_cache

from layoutalg.conversion.candidates import Candidate, candidates_of
from layoutalg.conversion.cost import Cost, cost_of
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern, pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import ways
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_STEPS
from layoutalg.memory.machine_bits import view

__all__ = ["chosen_of"]


@lru_cache(maxsize=64)
def chosen_of(
    source: Layout,
    destination: Layout,
    element_bits: int,
    target: str,
    slm_limit: int | None,
    level: str = "workgroup",
    workgroups: int = 1,
    regions: bool = False,
) -> Candidate:
    """The first of `candidates_of` the same.

    >>> chosen_of(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane"), 32, "pvc", None).name
    'nothing moves'
    """
    cost = cost_of(target)
    if cost.name == "generic" and workgroups == 1:  # where listings were counted, a price of each way is needed
        a, b = view(source), view(destination)
        pattern = None if a is None or b is None else pattern_of(a, b, element_bits)
        if pattern is not None and (pattern.exchanged or pattern.moving_bits):
            found = _exchange(pattern, cost)
            if found is not None:
                return found
    return candidates_of(source, destination, element_bits, target, slm_limit, level, workgroups, regions)[0]


@lru_cache(maxsize=64)
def _exchange(pattern: Pattern, cost: Cost) -> Candidate | None:
    """The exchange with the fewest shuffles, where no other way can be cheaper."""
    first, *others = ways(pattern)
    program: Program = first.make()
    if len(program.steps) > MOST_STEPS:
        return None
    price = cost.of(program)
    # What lanes exchange passes through memory twice, in words as full as they can be.
    words = (1 << pattern.register_bits) // pattern.parts
    least = [2 * words * cost.word + cost.barrier]
    least += [way.shuffles * cost.shuffle + way.selects * cost.select for way in others]
    return Candidate(first.name, (program,), price) if price <= min(least) else None
