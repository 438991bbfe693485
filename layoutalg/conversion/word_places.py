"""Whether words lie in registers as messages and groups of registers want them, and how many are copied where they do not.

A message takes registers that lie one after another. Words 4 and 5 lie so; word 6 before 4 does not, and both are copied:

>>> copied_words((4, 5), 8), copied_words((6, 4), 8)
(0, 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["GROUP", "copied_again", "copied_words", "message_words", "moved_in_group", "words_apart"]

_MESSAGE = 128
"""The words of a message to shared memory, at most: 8 of 16 lanes, 4 of 32; and 4 of more lanes."""

_VECTORS = 2
"""The vectors that one shuffle of LLVM takes its words from, at most."""

GROUP = 4
"""The registers that are loaded or stored at once on NVIDIA's and AMD's chips, at most."""


def message_words(lanes: int) -> int:
    """The words of each of so many lanes in a message to shared memory, at most.

    >>> message_words(16), message_words(32), message_words(64)
    (8, 4, 4)
    """
    return max(min(_MESSAGE // lanes, 8), 4)


def moved_in_group(words: Sequence[int], given: int) -> int:
    """How many words of a group of registers that were given are copied: all, or those that lay elsewhere in their group.

    >>> moved_in_group((4, 5, 6, 7), 8), moved_in_group((0, 2, 1, 3), 8), moved_in_group((0, 9, 1, 8), 8)
    (0, 4, 1)
    """
    held = [(place, word) for place, word in enumerate(words) if 0 <= word < given]
    if len(held) == len(words):
        run = words[0] % len(words) == 0 and all(word == words[0] + place for place, word in held)
        return 0 if run else len(words)
    return sum(word % GROUP != place for place, word in held)


def copied_words(words: Sequence[int], given: int, size: int = 0) -> int:
    """How many words of a message are copied, since registers that were given do not lie there one after another.

    Those that were given by `size` at once lie anywhere, but together (0: they lie as they were given).

    >>> copied_words((4, 5, 6, 7), 8), copied_words((4, 6), 8), copied_words((9, 4), 8)
    (0, 2, 1)
    >>> copied_words((4, 5, 6, 7, 0, 1, 2, 3), 8), copied_words((4, 5, 6, 7, 0, 1, 2, 3), 8, 4)
    (8, 0)
    """
    if tuple(words) == tuple(range(words[0], words[0] + len(words))):
        return 0
    if size and len(words) % size == 0:
        starts = range(0, len(words), size)
        if all(words[i] % size == 0 and words[i : i + size] == (*range(words[i], words[i] + size),) for i in starts):
            return 0
    return sum(0 <= word < given for word in words)


def copied_again(places: Sequence[tuple[object, int]]) -> int:
    """How many words of a message are copied a second time, by Intel's compiler, each with its vector and its place in it.

    A message as long as the vectors that its words come from begins as a copy of one, and the words that lie elsewhere are
    copied over it, unless that one's words all stay where they are.

    >>> copied_again([(0, 0), (0, 2), (0, 1), (0, 3)]), copied_again([(0, 0), (1, 0), (0, 2), (1, 2)])
    (2, 0)
    """
    elsewhere = [vector for place, (vector, at) in enumerate(places) if at != place]
    vectors = {vector for vector, _ in places}
    return len(elsewhere) if len(vectors) <= _VECTORS and vectors == set(elsewhere) else 0


def words_apart(words: Sequence[int], loads: Mapping[int, tuple[int, ...]], most: int) -> int:
    """How many words of the result do not lie beside those that were loaded with them, in groups of registers.

    `loads` maps each loaded word to the words of its load. A group has `most` words at most. A word that was loaded alone lies
    right anywhere.

    >>> both = dict.fromkeys((4, 5, 6, 7), (4, 5, 6, 7)) | {8: (8,)}
    >>> words_apart((4, 5, 6, 7, 8), both, 4), words_apart((4, 6, 5, 7, 8), both, 4), words_apart((4, 6, 6, 7), both, 2)
    (0, 4, 2)
    """
    found, place, end = 0, 0, len(words)
    while place < end:
        loaded = loads.get(words[place], ())
        if len(loaded) > 1:
            count = min(len(loaded), most)
            first = loaded.index(words[place]) // count * count
            start = place // count * count
            group = loaded[first : first + count]
            if group == tuple(words[start : start + count]):
                place = start + len(group)
                continue
            found += 1
        place += 1
    return found
