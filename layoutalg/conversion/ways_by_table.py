"""The ways inside a subgroup that are planned slot by slot, each with its name.

Where some factor is no power of two there are only such ways: a schedule from tables, words that are filled by pairs of lanes,
and, where these take more shuffles than the bound, what goes over other lanes. Here each of 15 lanes has 15 elements of 16
bits, keeps one, and gives the other 14 to other lanes:

>>> rows, columns = Layout.parse("d0 = 15@reg, d1 = 15@lane"), Layout.parse("d0 = 15@lane, d1 = 15@reg")
>>> for name, (program,) in ways_by_table(rows, columns, 16):
...     print(program.count(Shuffle), name)
14 an exchange in registers and lanes, scheduled from tables
14 an exchange in registers and lanes, words filled by pairs of lanes
10 an exchange in registers and lanes, over other lanes

A way is a list of programs, one after another. None of these uses shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, LaneSwap, Shuffle
from layoutalg.conversion.strategies.broadcasts import broadcasts
from layoutalg.conversion.strategies.multi_hop import relayed
from layoutalg.conversion.strategies.passed_on import passed_on
from layoutalg.conversion.strategies.table_bounds import fewest_by_table
from layoutalg.conversion.strategies.tables import Slots, exchange_by_table, slot_tables, stays_by_table
from layoutalg.conversion.strategies.words_by_pair import exchange_by_pair
from layoutalg.core.errors import SizeError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_BROADCASTS

__all__ = [
    "INSIDE",
    "SCHEDULED",
    "broadcasts_weighed",
    "by_broadcasts",
    "by_passing_on",
    "moves_words",
    "ways_by_table",
]

INSIDE = "an exchange in registers and lanes"

SCHEDULED = f"{INSIDE}, scheduled from tables"

_PATTERNS_OF = 3
"""Ways whose shuffles say whom lanes may hear where elements are passed on."""


def ways_by_table(source: Layout, destination: Layout, element_bits: int) -> list[tuple[str, tuple[Program, ...]]]:
    """The ways inside a subgroup, slot by slot: none where elements cross subgroups.

    >>> ways_by_table(Layout.parse("d0 = 3@sg"), Layout.parse("d0 = 3@reg | replicas 3@sg"), 16)
    []
    """
    tables = slot_tables(source, destination)
    if not stays_by_table(*tables):
        return []
    program = exchange_by_table(*tables, element_bits)
    found = [(SCHEDULED, (program,))]
    found += broadcasts_weighed(tables, element_bits, program.count(Shuffle))
    if not program.count(Shuffle) or element_bits >= WORD:
        return found
    least = fewest_by_table(*tables, element_bits)
    shared = exchange_by_pair(*tables, element_bits)
    if shared is not None:
        found.append((f"{INSIDE}, words filled by pairs of lanes", (shared,)))
        fewest = min(program.count(Shuffle), shared.count(Shuffle))
        over = relayed(*tables, element_bits, least, fewest)
        if over is not None:
            found.append((f"{INSIDE}, over other lanes", (over,)))
    found += by_passing_on(tables, element_bits, least, found)
    return found


def by_passing_on(
    tables: tuple[Slots, Slots], element_bits: int, least: int, others: Sequence[tuple[str, tuple[Program, ...]]]
) -> list[tuple[str, tuple[Program, ...]]]:
    """The way of `strategies.passed_on`, where it takes fewer shuffles than any of the others that are inside a subgroup.

    `least` shuffles are the bound: where another way has no more, nothing is looked for.

    >>> all_for_all = slot_tables(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg | replicas 4@lane"))
    >>> others = [("three lanes are heard", (exchange_by_table(*all_for_all, 16),))]
    >>> [program.count(Shuffle) for _, (program,) in (*others, *by_passing_on(all_for_all, 16, 2, others))]
    [3, 2]
    >>> by_passing_on(all_for_all, 16, 3, others)
    []
    """
    inside = [way for _, way in others if not any(program.slm_bytes for program in way)]
    fewest = min((sum(program.count(Shuffle) for program in way) for way in inside), default=0)
    if element_bits >= WORD or fewest <= least:
        return []
    patterns = {
        step.lanes: None
        for way in inside[:_PATTERNS_OF]
        if len(way) == 1
        for step in way[0].steps
        if isinstance(step, Shuffle) and not step.sg and not step.others
    }
    program = passed_on(*tables, element_bits, least, fewest, tuple(patterns))
    return [] if program is None else [(f"{INSIDE}, passed on", (program,))]


def broadcasts_weighed(
    tables: tuple[Slots, Slots], element_bits: int, shuffles: int
) -> list[tuple[str, tuple[Program, ...]]]:
    """The way by broadcasts that is weighed beside one of so many shuffles.

    >>> broadcasts_weighed(slot_tables(Layout.parse("d0 = 3@lane 3@reg"), Layout.parse("d0 = 3@reg 3@lane")), 32, 2)
    []
    """
    return by_broadcasts(tables, element_bits, min(MOST_BROADCASTS, 4 * shuffles))


def by_broadcasts(
    tables: tuple[Slots, Slots], element_bits: int, most: int = MOST_BROADCASTS
) -> list[tuple[str, tuple[Program, ...]]]:
    """The way of `strategies.broadcasts` with at most so many of them, if there is one.

    >>> all_for_all = Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg | replicas 4@lane")
    >>> [name for name, _ in by_broadcasts(slot_tables(*all_for_all), 32)]
    ['an exchange in registers and lanes, by broadcasts']
    """
    try:
        program = broadcasts(*tables, element_bits, most)
    except SizeError:
        return []
    return [] if program is None else [(f"{INSIDE}, by broadcasts", (program,))]


def moves_words(programs: Sequence[Program]) -> bool:
    """Whether words go to other lanes.

    >>> moves_words(ways_by_table(Layout.parse("d0 = 3@lane 3@reg"), Layout.parse("d0 = 3@reg 3@lane"), 32)[0][1])
    True
    """
    return any(program.count(Shuffle) + program.count(LaneSwap) for program in programs)
