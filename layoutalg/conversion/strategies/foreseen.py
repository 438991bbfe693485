"""What a way through shared memory is charged for at least, known before its program is made.

Its accesses are counted from bits alone. Lanes that store 16 rows of words and load columns of them four at a time take 16
stores and 4 loads; all but the first of each come further on in memory:

>>> found = least_charges(Side(16, 1), Side(4, 4), rounds=1, subgroups=1)
>>> found["store"], found["load"], found["store_word"], found["offset"], found["fence"]
(16, 4, 16, 18, 1)

The law: `conversion.charges` charges the program for at least as much. So a way whose least charges cost more than another way
does is not made (`conversion.cheapest`).
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.conversion.program.steps import WORD, Load, Store

__all__ = ["Foreseen", "Side", "least_charges"]

_MESSAGE = 8
"""The words of each lane in a message, at most: `charges` takes no more for any number of lanes."""
_LINE = 4
"""The words that a block load moves at once for each lane, as in `charges`."""


class Side(NamedTuple):
    """The accesses of one side: how many, of how many places of `bits` each; `copied` of these lie in other registers first."""

    times: int
    words: int
    bits: int = WORD
    matrix: str = ""
    copied: int = 0


class Foreseen(NamedTuple):
    """Least charges by their names; and accesses, where they are known: one of each kind, and how often it is made."""

    charges: dict[str, int]
    accesses: tuple[tuple[Store | Load, int], ...] | None = None


def least_charges(stores: Side, loads: Side, rounds: int, subgroups: int) -> dict[str, int]:
    """What a program is charged for at least whose elements go in so many rounds (see this module).

    `subgroups` are those that wait for one another at its barriers.
    """
    found = {"memory": 1, "barrier" if subgroups > 1 else "fence": 1, "offset": -2 * rounds, "block": 0}
    for kind, side in (("store", stores), ("load", loads)):
        messages = -(-side.words // _MESSAGE)
        if side.matrix == "block" and kind == "load":
            messages = -(-side.words * side.bits // (_LINE * WORD))
        found[kind] = messages * side.times
        found[f"{kind}_word"] = side.words * side.times
        found["offset"] += messages * side.times  # but for those at the beginning of each round
        found["block"] += side.times * (side.matrix == "block")
    found["offset"] = max(found["offset"], 0)
    found["payload"] = stores.copied * stores.times
    return found
