"""The banks of shared memory that are assumed where nobody says otherwise: 32 of 4 bytes, as on most GPUs; and how they serve.

`layoutalg.memory.conflicts` has the model and its sources, `layoutalg.hardware.chips` the chips that have more.

>>> BANKS * BANK_BYTES          # bytes that are served in a cycle
128

A bank serves one word a cycle. Lanes 0 and 1 touch word 3, lane 2 word 7, and with four banks both words are in bank 3, which
needs two cycles:

>>> served([3, 3, 7], banks=4)[3]
{3: [0, 1], 7: [2]}
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["BANKS", "BANK_BYTES", "served"]

BANKS = 32
"""How many there are."""
BANK_BYTES = 4
"""The bytes of a bank's word."""


def served(words: Sequence[int], spread: int = 1, banks: int = BANKS, first: int = 0) -> list[dict[int, list[int]]]:
    """The words of each bank in the order in which they are served, a cycle each, with the lanes that touch each.

    `words` has the first word of each lane from lane `first` on (-1: none), and each touches `spread` of them.
    """
    found: list[dict[int, list[int]]] = [{} for _ in range(banks)]
    for lane, word in enumerate(words, first):
        for touched in range(word, word + spread) if word >= 0 else ():
            found[touched % banks].setdefault(touched, []).append(lane)
    return found
