"""The fewest shuffles that a conversion by tables needs, whatever the schedule: five things that are counted lane by lane.

A schedule is a number of shuffles. In each of them a lane shows one word, of at most P elements, and hears one other lane's;
many may hear the same. Elements are moved whole, over as many lanes as one likes. With s shuffles, then:

- **received**: a lane hears s words, so it wants at most s * P elements that it does not hold;
- **shown**: an element that somebody wants and does not hold is shown by one of its holders at least. A lane shows at most
  s * P elements, so there must be a choice of holders in which none has more (a flow; the cut that it is stuck at is a set of
  elements with too few holders);
- **reached**: what a lane knows after s shuffles comes from at most 2^s lanes, itself included, since each shuffle adds what
  one other lane knows;
- **filled**: a word has no more elements for a lane than whoever shows it knows. Where no lane holds more than e elements that
  a lane wants, words of the first shuffle have e of these at most, those of the second 2e, and so on up to P;
- **heard twice**: a lane hears s words directly from holders. Of the elements that it alone wants, and that have one holder,
  what does not fit into these (`c` elements of one holder fill words of P and a rest) is heard by some other lane first. All
  that is heard must have room: at most s * P elements in each lane.

Where lanes that hold copies of one element hold the same of all that is needed, such a group of lanes counts as one holder.

Fifteen lanes that transpose a 15x15 tile: each wants 14 elements of 14 lanes. Of 16 bits, seven words of two would hold them;
but with nine shuffles nine come directly, and five are heard twice: 19 elements for each lane, in 18 places.

>>> from layoutalg.conversion.strategies.tables import slot_tables
>>> tables = slot_tables(Layout.parse("d0 = 15@reg, d1 = 15@lane"), Layout.parse("d0 = 15@lane, d1 = 15@reg"))
>>> fewest_by_table(*tables, 32), fewest_by_table(*tables, 16)
(14, 10)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.schedule import spread
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.choosing import Slots
from layoutalg.conversion.strategies.tables import stays_by_table

__all__ = ["fewest_by_table"]

_MOST_COMPARED = 1 << 25
"""Products of two lanes and an element: some milliseconds."""


def fewest_by_table(source: Slots, destination: Slots, element_bits: int) -> int:
    """A number of shuffles that no schedule is below. Where elements cross subgroups, lanes of all of them count as one.

    >>> from layoutalg.conversion.strategies.tables import slot_tables
    >>> columns = Layout.parse("d0 = 4@lane, d1 = 2@lane:4 4@reg")
    >>> fewest_by_table(*slot_tables(Layout.parse("d0 = 4@reg, d1 = 8@lane"), columns), 16)
    2
    >>> one_for_all = Layout.parse("d0 = 2@lane 4@reg | replicas 4@lane:2"), Layout.parse("d0 = 8@lane")
    >>> fewest_by_table(*slot_tables(*one_for_all), 32)
    1
    """
    if not stays_by_table(source, destination):
        source, destination = (slots.reshape(1, -1, slots.shape[2]) for slots in (source, destination))
    kinds = {
        before.tobytes() + after.tobytes(): (before, after) for before, after in zip(source, destination, strict=True)
    }
    return max((_fewest(*kind, element_bits) for kind in kinds.values()), default=0)


def _fewest(before: Slots, after: Slots, element_bits: int) -> int:
    lanes = len(before)
    room, cells = max(WORD // element_bits, 1), max(element_bits // WORD, 1)
    size = int(max(before.max(initial=0), after.max(initial=0))) + 1
    here = np.arange(lanes, dtype=np.int64).reshape(-1, 1)
    held, wanted = (np.unique((here * size + slots)[slots >= 0]) for slots in (before, after))
    wanted = np.setdiff1d(wanted, held, assume_unique=True)
    if not len(wanted):
        return 0
    holder, element = np.divmod(held, size)
    copies = np.bincount(element, minlength=size)
    lane, need = np.divmod(wanted, size)
    received = np.bincount(lane, minlength=lanes)
    fewest = -(-int(received.max()) * cells // room)
    fewest = max(fewest, -(-_shown(holder, element, np.unique(need), lanes, size) * cells // room))
    if room > 1:
        fewest = max(fewest, _filled(received, _most_at_once(holder, element, lane, need, lanes), room))
    # Copies are in groups of lanes, mostly: lanes of one group hold the same, as far as anybody needs it.
    needed = np.zeros(size, np.bool_)
    needed[need] = True
    group = np.full(size, lanes, np.int64)
    np.minimum.at(group, element, holder)
    of_lane = np.unique(holder[needed[element]] * lanes + group[element[needed[element]]]) // lanes
    known = np.ones(len(need), np.bool_) if len(np.unique(of_lane)) == len(of_lane) else copies[need] == 1
    lane, need = lane[known], need[known]
    groups = np.unique(lane * lanes + group[need])
    fewest = max(fewest, int(np.bincount(groups // lanes, minlength=1).max()).bit_length())
    if room == 1:
        return fewest
    words = _words(lane * lanes + group[need], lanes, room)
    wanters = np.bincount(need, minlength=size)
    alone = wanters[need] == 1
    of_alone = _words(lane[alone] * lanes + group[need[alone]], lanes, room)
    different = int((wanters > 0).sum())
    while True:
        # What no lane that wants it hears directly, some lane hears for it.
        twice = int(of_alone.sum() - of_alone[:, :fewest].sum())
        twice = max(twice, different - int(words[:, :fewest].sum()))
        if lanes * fewest * room >= len(wanted) + twice:
            return fewest
        fewest += 1


def _most_at_once(holder: Slots, element: Slots, lane: Slots, need: Slots, lanes: int) -> Slots:
    """The most elements that each lane wants and one other lane holds; where that takes long to count, more."""
    needed, number = np.unique(need, return_inverse=True)
    there = np.isin(element, needed)
    holder, element = holder[there], np.searchsorted(needed, element[there])
    if lanes * lanes * len(needed) > _MOST_COMPARED:
        return np.full(lanes, np.bincount(holder).max(initial=0), np.int64)
    held, wanted = (np.zeros((lanes, len(needed)), np.float32) for _ in range(2))
    held[holder, element] = 1
    wanted[lane, number.reshape(-1)] = 1
    return (wanted @ held.T).max(1).astype(np.int64)


def _filled(wanted: Slots, at_once: Slots, room: int) -> int:
    """The shuffles that bring each lane so many elements, where words fill up as others get to know more of them."""
    knows, heard, shuffles = np.maximum(at_once, 1), np.zeros_like(wanted), 0
    while (heard < wanted).any():
        word = np.minimum(room, knows)
        heard, knows, shuffles = heard + word, knows + word, shuffles + 1
    return shuffles


def _words(pairs: Slots, lanes: int, room: int) -> Slots:
    """The elements in each word that holders fill for a lane, the fullest first: `[lane, word]`; 0 where there are no more."""
    pair, counts = np.unique(pairs, return_counts=True)
    full, rest = np.divmod(counts, room)
    owner = np.concatenate([np.repeat(pair, full), pair[rest > 0]]) // lanes
    fill = np.concatenate([np.full(int(full.sum()), room, np.int64), rest[rest > 0]])
    order = np.lexsort((-fill, owner))
    owner, fill = owner[order], fill[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    found = np.zeros((lanes, int(rank.max(initial=-1)) + 1), np.int64)
    found[owner, rank] = fill
    return found


def _shown(holder: Slots, element: Slots, needed: Slots, lanes: int, size: int) -> int:
    """The elements that the busiest lane shows, where each needed one is shown by the holder that makes this least."""
    asked = np.zeros(size, np.bool_)
    asked[needed] = True
    holder, element = holder[asked[element]], element[asked[element]]
    if len(element) == len(needed):
        return int(np.bincount(holder).max(initial=0))
    number = np.zeros(size, np.int64)
    number[needed] = np.arange(len(needed))
    table: NDArray[np.bool_] = np.zeros((len(needed), lanes), np.bool_)
    table[number[element], holder] = True
    # Elements with the same holders are one kind.
    packed = np.packbits(table, axis=1)
    kinds, counts = np.unique(packed, axis=0, return_counts=True)
    holders = [np.flatnonzero(row).tolist() for row in np.unpackbits(kinds, axis=1, count=lanes)]
    low = -(-len(needed) // int(table.any(0).sum()))
    high = int(sum(counts))
    while low < high:
        middle = (low + high) // 2
        if spread(holders, counts.tolist(), lanes, middle) is not None:
            high = middle
        else:
            low = middle + 1
    return low
