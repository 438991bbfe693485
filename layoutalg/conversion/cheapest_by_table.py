"""The cheaper of two ways for words whose factors are no powers of two: scheduled from tables, or row by row through memory.

A tile of 16 x 255 words, transposed in 16 lanes, takes 239 shuffles and 4,142 selects from tables. Through memory it takes 510
messages. The steps of the first need not be written to know that it is the dearer one: on pvc a select is one instruction, so
that 4,142 of them alone rank above all that the second costs.

>>> from layoutalg.conversion.cost import cost_of
>>> rows, columns = Layout.parse("d0 = 16@lane 255@reg"), Layout.parse("d0 = 255@reg 16@lane")
>>> found = cheapest_by_table(rows, columns, 32, Memory.of_chip(cost_of("pvc"), None, "workgroup", 1, False))
>>> found.name, found.cost, Unwritten.of(*slot_tables(rows, columns), 32).counts
('everything goes through shared memory, row by row', 2040, (239, 4142))

The law: what is found is the first of `candidates_of` the same. Where those are others than these two ways, nothing is.
"""

from __future__ import annotations

from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.candidates import ROW_BY_ROW, row_by_row, splits
from layoutalg.conversion.cost import Cost, rank
from layoutalg.conversion.exchange_bounds import ROUNDING
from layoutalg.conversion.prices import prices_of
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.tables import Unwritten, slot_tables, stays_by_table
from layoutalg.conversion.ways_by_bits import Memory
from layoutalg.conversion.ways_by_table import SCHEDULED, broadcasts_weighed
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_STEPS
from layoutalg.memory.machine_bits import view

__all__ = ["cheapest_by_table"]


def cheapest_by_table(source: Layout, destination: Layout, element_bits: int, memory: Memory) -> Candidate | None:
    """The best way between layouts that no bits tell apart, by a chip's known rates; None where more ways have to be weighed.

    >>> from layoutalg.conversion.cost import cost_of
    >>> rows, columns = Layout.parse("d0 = 3@reg, d1 = 3@lane"), Layout.parse("d0 = 3@lane, d1 = 3@reg")
    >>> cheapest_by_table(rows, columns, 16, Memory.of_chip(cost_of("pvc"), None, "workgroup", 1, False))
    """
    cost = memory.cost
    if element_bits < WORD or not memory.most or source.flips is not None or destination.flips is not None:
        return None
    bits = view(source) is not None and view(destination) is not None
    if bits or next(splits(source, destination), None) is not None:
        return None
    try:
        tables = slot_tables(source, destination)
        if not stays_by_table(*tables):
            return None
        exchange = Unwritten.of(*tables, element_bits)
        shuffles, selects = exchange.counts
        if not shuffles or broadcasts_weighed(tables, element_bits, shuffles):
            return None
        through_memory = row_by_row(source, destination, element_bits, memory.of(source, element_bits))
    except LayoutError:
        return None
    if len(through_memory.steps) > MOST_STEPS:
        return None
    price = cost.priced([through_memory])
    if _least(shuffles, selects, tables[0].shape[1], cost) > rank(*price)[0]:
        return Candidate(ROW_BY_ROW, (through_memory,), price[0])
    program = exchange.program()
    ways: list[tuple[str, Program, tuple[int, float]]] = [(ROW_BY_ROW, through_memory, price)]
    if len(program.steps) <= MOST_STEPS:
        ways.insert(0, (SCHEDULED, program, cost.priced([program])))
    name, program, price = min(ways, key=lambda one: rank(*one[2]))
    return Candidate(name, (program,), price[0])


def _least(shuffles: int, selects: int, lanes: int, cost: Cost) -> int:
    """What a program of so many shuffles and selects ranks at, at least; 0 where some price is negative."""
    listed = prices_of(cost.name, lanes)
    if listed is None or min(listed.instructions.values()) < 0:
        return 0
    issued = shuffles * listed.instructions["shuffle"] + selects * listed.instructions["select"]
    least = round(issued - ROUNDING)
    return rank(least, least)[0]
