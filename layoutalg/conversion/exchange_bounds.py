"""What an exchange costs at least, known before its program is made: its shuffles, selects and permutes alone.

On pvc a shuffle by an XOR of lane numbers is moves of registers, each an instruction of the engine; a select is one more. Two
ways to transpose a 16x16 tile, what each costs at least, and what its program costs:

>>> from layoutalg.conversion.cost import cost_of
>>> from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
>>> from layoutalg.conversion.strategies.bit_exchange.ways import ways
>>> from layoutalg.memory.machine_bits import view
>>> rows, columns = (view(Layout.parse(text)) for text in ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"))
>>> pattern, cost = pattern_of(rows, columns, 32), cost_of("pvc")
>>> [(least_of(way, pattern, cost)[0], cost.of(way.make())) for way in ways(pattern)]
[(229, 234), (195, 200)]

The law: `Cost.parts` of the program is at least as much, each part of it. So a way whose least costs are above another's price
is not made.
"""

from __future__ import annotations

from layoutalg.conversion.cost import Cost, Parts
from layoutalg.conversion.prices import prices_of
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern
from layoutalg.conversion.strategies.bit_exchange.ways import Way
from layoutalg.hardware.shared_memory import rates

__all__ = ["ROUNDING", "least_busy", "least_of"]

ROUNDING = 1e-6
"""Sums of prices in another order differ by less."""
_NEAR = 4
"""The bits of a lane's number that shuffles by XOR are charged for one by one (`conversion.charges`)."""


def least_busy(way: Way, pattern: Pattern, cost: Cost) -> Parts | None:
    """What an exchange keeps engine, ALUs and shared memory busy for, at least; None where no listing or no rate is known.

    >>> from layoutalg.conversion.cost import cost_of
    >>> from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
    >>> from layoutalg.conversion.strategies.bit_exchange.ways import ways
    >>> from layoutalg.memory.machine_bits import view
    >>> both = [view(Layout.parse(text)) for text in ("d0 = 32@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 32@reg")]
    >>> pattern = pattern_of(*both, 32)
    >>> ways(pattern)[0].shuffles, least_busy(ways(pattern)[0], pattern, cost_of("sm_90")).memory
    (31, 124.0)
    """
    found, known = prices_of(cost.name, 1 << pattern.lane_bits), rates(cost.name)
    if found is None or known is None:
        return None
    price = found.instructions
    near = [price[f"xor_{1 << bit}"] for bit in range(_NEAR)]
    sent = 0.0
    for distance, count in way.distances:
        own = [near[bit] for bit in range(_NEAR) if distance >> bit & 1]
        sent += count * (price["indexed"] if distance >> _NEAR else sum(own))
    if not way.distances:
        sent = way.shuffles * min(price["indexed"], *near)
    issued = way.shuffles * price["shuffle"] + sent + way.selects * price["select"] + way.permutes * price["permute"]
    # Where a shuffle is less than an instruction, more of them could leave fewer to the ALUs.
    in_alu = (issued - way.shuffles) * known.alu if price["shuffle"] >= 1 else 0
    cycles = 0 if known.rows else way.shuffles * known.shuffle  # rows: ALUs do some of them
    return Parts(issued, in_alu, cycles * cost.unit, cycles)


def least_of(way: Way | None, pattern: Pattern, cost: Cost) -> tuple[int, int]:
    """The slots and the instructions of an exchange, at least; 0 for None, and where no listing or no rate is known.

    >>> from layoutalg.conversion.cost import cost_of
    >>> from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
    >>> from layoutalg.memory.machine_bits import view
    >>> one = view(Layout.parse("d0 = 2@reg, d1 = 16@lane"))
    >>> least_of(None, pattern_of(one, one, 32), cost_of("pvc"))
    (0, 0)
    """
    busy = None if way is None else least_busy(way, pattern, cost)
    if busy is None:
        return 0, 0
    return round(max(busy.issued, busy.alu, busy.memory) - ROUNDING), round(busy.issued - ROUNDING)
