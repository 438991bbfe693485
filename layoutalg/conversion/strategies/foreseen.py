"""What a way through shared memory is charged for at least, known before its program is made.

Its accesses are counted from bits alone. Lanes that store 16 rows of words and load columns of them four at a time take 16
stores and 4 loads; all but the first of each come further on in memory:

>>> found = least_charges(Side(16, 1), Side(4, 4, run=4), rounds=1, subgroups=1, lanes=16)
>>> found["store"], found["load"], found["store_word"], found["offset"], found["fence"]
(16, 4, 16, 18, 1)

The law: `conversion.charges` charges the program for at least as much. So a way whose least charges cost more than another way
does is not made (`conversion.cheapest`).
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.conversion.program.steps import WORD, Load, Store
from layoutalg.conversion.word_places import GROUP, message_words

__all__ = ["Foreseen", "Side", "least_charges", "wanted_words"]

_MESSAGE = 8
"""The words of each lane in a message, at most: `charges` takes no more for any number of lanes."""
_LINE = 4
"""The words that a block load moves at once for each lane, as in `charges`."""
_VECTOR_BYTES = 16
_BYTE = 8


class Side(NamedTuple):
    """The accesses of one side: how many, of how many places of `bits` each.

    Of stores, `copied` words of each lie in other registers first; `upper` elements, of all, are not lowest in theirs. Of
    loads, `run` words of each lie side by side in the result, which has `whole` words that were loaded as they are. Where
    elements smaller than a word are loaded one by one, `joined` words of the result are put together from them.
    """

    times: int
    words: int
    bits: int = WORD
    matrix: str = ""
    copied: int = 0
    upper: int = 0
    run: int = 1
    whole: int = 0
    joined: int = 0


class Foreseen(NamedTuple):
    """Least charges by their names; and accesses, where they are known: one of each kind, and how often it is made.

    Where lanes meet in banks wherever things have their places, all accesses take `cycles` at least.
    """

    charges: dict[str, int]
    accesses: tuple[tuple[Store | Load, int], ...] | None = None
    cycles: float = 0


def wanted_words(loads: Side, parts: list[int], vector: list[int], within: int, cells: int) -> Side:
    """Loads, with how their words lie in the result of so many cells: as they are if its words are theirs.

    `parts` and `vector` are the bits of a register's number that tell the cells of a word apart, and the words of a load, low
    ones first; of the result, the first `within` bits tell the cells of a word apart.

    >>> wanted_words(Side(2, 8), [], [0, 1, 3], 0, 16).run, wanted_words(Side(2, 2), [], [1], 0, 4).run
    (4, 1)
    """
    if parts != [*range(within)]:
        return loads
    run = next((place for place, bit in enumerate(vector) if bit != place + within), len(vector))
    return loads._replace(run=1 << run, whole=cells >> within)


def least_charges(stores: Side, loads: Side, rounds: int, subgroups: int, lanes: int) -> dict[str, int]:
    """What a program is charged for at least whose elements go in so many rounds (see this module).

    `subgroups` are those that wait for one another at its barriers.
    """
    found = {"memory": 1, "barrier" if subgroups > 1 else "fence": 1, "block": 0, "address": 1, "ds_access": 0}
    offsets = narrow = 0
    for kind, side in (("store", stores), ("load", loads)):
        messages = -(-side.words // _MESSAGE)
        if side.matrix == "block" and kind == "load":
            messages = -(-side.words * side.bits // (_LINE * WORD))
        found[kind] = messages * side.times
        found[f"{kind}_word"] = side.words * side.times
        offsets += max(messages * side.times - rounds, 0)  # but for those at the beginning of each round
        found["block"] += side.times * (side.matrix == "block")
        found["ds_access"] += _least_paired(side)
        narrow += side.words * side.times if side.bits < WORD and not side.matrix else 0
    found["offset"] = offsets
    found["offset_computed"] = offsets if found["block"] else 0
    found["block_memory"] = int(found["block"] > 0)
    found["payload"] = stores.copied * stores.times
    if stores.bits < WORD:
        found["stored_byte"] = stores.words * stores.times if stores.bits < 2 * _BYTE else 0
        found["upper_byte" if stores.bits == _BYTE else "upper"] = stores.upper
    found["narrow"] = narrow
    if loads.words > loads.run:
        for name, most, weight in (
            ("regrouped", GROUP, 1),
            ("rearranged", message_words(lanes), 1),
            ("result", GROUP, 2),
        ):
            if min(loads.words, most) > loads.run and (name != "result" or loads.matrix == "block"):
                found[name] = weight * loads.whole
    if loads.joined:
        parts = WORD // loads.bits
        found["byte" if parts > 2 and loads.matrix != "block" else "half"] = parts * loads.joined
        found["joined"] = (parts - 1) * loads.joined
    return found


def _least_paired(side: Side) -> int:
    """The instructions of AMD's chips that a side's accesses are at least, where two of up to 8 bytes may be one.

    >>> _least_paired(Side(16, 1)), _least_paired(Side(16, 4)), _least_paired(Side(16, 1, 16))
    (8, 16, 16)
    """
    if side.bits < WORD or side.matrix:
        return side.times
    return max(-(-side.times // 2), -(-side.times * side.words * side.bits // _BYTE // _VECTOR_BYTES))
