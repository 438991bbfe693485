"""The ways to convert copies that are told apart (`strategies.copies`). A way is made only when it is asked for.

Lanes 4 to 7 hold what lanes 0 to 3 hold, before and after. As copies, one lane of each two stores a word. Told apart, every
lane stores its own, and none has to be left out:

>>> from layoutalg.conversion.cost import cost_of
>>> from layoutalg.memory.machine_bits import view
>>> both = [view(Layout.parse(f"d0 = {text} | replicas 2@lane:4")) for text in ("4@reg 4@lane", "4@lane 4@reg")]
>>> memory = Memory.of_chip(cost_of("bmg"), None, "workgroup", 1, False)
>>> for one in ways_of_copies(*both, 32, memory)[:3]:
...     print(one.name)
an exchange in registers and lanes
an exchange in registers and lanes, a bit at a time
everything goes through shared memory

Through memory each copy has a place of its own, so it takes as much more: such ways are weighed only where the rates of a
chip are known (`conversion.cost`), and never above the limit of the conversion.
"""

from __future__ import annotations

from functools import partial

from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
from layoutalg.conversion.strategies.copies import told_apart
from layoutalg.conversion.strategies.cross_subgroup import across_name, across_subgroups
from layoutalg.conversion.strategies.exchange import stays_in_subgroup
from layoutalg.conversion.strategies.through_memory import fits
from layoutalg.conversion.ways_by_bits import Memory, Unmade, exchanges, memory_ways
from layoutalg.memory.machine_bits import View

__all__ = ["ways_of_copies"]


def ways_of_copies(source: View, destination: View, element_bits: int, memory: Memory) -> list[Unmade]:
    """The ways that there are beside those for layouts as they are; none where no copies can be told apart.

    Two may make the same program; one may need more memory than there is, because of padding.
    """
    apart = told_apart(source, destination)
    if apart is None:
        return []
    pattern = pattern_of(*apart, element_bits)
    found = [] if pattern is None else exchanges(*apart, element_bits, pattern, memory)
    if not memory.forms or not memory.most:
        return found
    if not stays_in_subgroup(*apart):
        ways = across_subgroups(*apart, element_bits, memory.by_bits(*apart, element_bits))
        found += [Unmade(across_name(way), partial(tuple, way)) for way in ways]
    if not fits(*apart, element_bits, memory.by_bits(*apart, element_bits)):
        return found
    return found + [one for group in memory_ways(*apart, element_bits, memory) for one in group]
