"""Which word each lane takes, from tables: selects by the bits of the lane's number, shared by all rows of a table.

In four lanes, row 0 is the lane's own number among words 0 to 3, row 1 the next one's. A select by bit 0 of the lane halves
the choice, a second one by bit 1 makes it, and the two rows share some of them:

>>> from layoutalg.conversion.program.builder import Builder
>>> builder = Builder(1, 4, 32, pack=[0, 1, 2, 3])
>>> choose(builder, np.array([[0, 1, 2, 3], [1, 2, 3, 0]]))
[8, 9]
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.strategies.renaming import bit_mask

__all__ = ["Slots", "choose", "ordered", "places_of"]

Slots: TypeAlias = NDArray[np.int64]
"""Numbers of elements, lanes, registers or words: `[sg, lane, reg]`, or `[row, lane]`; -1 for none."""


def choose(builder: Builder, table: Slots) -> list[int]:
    """For each row `[lane]` of a table of words, the word that has in each lane what the row says there (-1: any)."""
    distinct = (np.diff(np.sort(table, axis=1), axis=1, prepend=-1) != 0).sum(axis=1)
    few = distinct <= 2
    nodes, chosen = _tree(builder, table[~few])
    if sum(len(level) for level in nodes) > int((distinct[~few] - 1).sum()):
        few[:], nodes, chosen = True, [], table[:0, 0]
    found = np.full(len(table), -1, np.int64)
    found[~few] = chosen
    for bit, level in enumerate(nodes):
        off, on = level.T.tolist()
        builder.select_all(on, off, bit_mask(builder.lanes, bit))
    found[few] = [_chain(builder, row) for row in table[few].tolist()]
    return found.tolist()


def _tree(builder: Builder, table: Slots) -> tuple[list[Slots], Slots]:
    """A select for each bit of the lane, shared by the rows: the pairs (off, on) of each bit, and each row's last word.

    Rows that are rotated by their lanes share nearly all of it: n rows take n selects for each bit.
    """
    made = builder.next_word
    width = (table.shape[1] - 1).bit_length()
    table = np.pad(table, ((0, 0), (0, (1 << width) - table.shape[1])), constant_values=-1)
    nodes: list[Slots] = []
    for _ in range(width):
        off, on = table[:, 0::2], table[:, 1::2]
        differ = (off >= 0) & (on >= 0) & (off != on)
        keys, places = np.unique(off[differ] << 32 | on[differ], return_inverse=True)
        pairs = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
        table = np.maximum(off, on)
        for half, other, number in ((off, on, 0), (on, off, 1)):
            # Where one half may be anything, a pair that is needed elsewhere will do.
            whole = (half >= 0) & (other < 0)
            table[whole] = _of_pairs(pairs[:, number], half[whole], made)
        table[differ] = made + places.reshape(-1)
        nodes.append(pairs)
        made += len(keys)
    return nodes, table[:, 0]


def _chain(builder: Builder, row: list[int]) -> int:
    """The word of a row by a select for each further word of it."""
    masks: dict[int, int] = {}
    for lane, word in enumerate(row):
        if word >= 0:
            masks[word] = masks.get(word, 0) | 1 << lane
    first, *others = sorted(masks, key=lambda word: -masks[word].bit_count())
    for word in others:
        first = builder.select(word, first, "lane", masks[word])
    return first


def _of_pairs(firsts: Slots, words: Slots, made: int) -> Slots:
    """For each word the number of a pair that has it (pairs count from `made`), or the word itself."""
    order = ordered(firsts)
    places = np.minimum(places_of(firsts[order], words, "left"), max(len(firsts) - 1, 0))
    return np.where(firsts[order][places] == words, made + order[places], words) if len(firsts) else words


def ordered(values: Slots) -> Slots:
    """Where each value is, smallest first."""
    return np.argsort(values, kind="stable")


def places_of(values_in_order: Slots, values: Slots, side: Literal["left", "right"]) -> Slots:
    """Before which of some ordered numbers each value belongs."""
    return np.asarray(np.searchsorted(values_in_order, values, side), np.int64)
