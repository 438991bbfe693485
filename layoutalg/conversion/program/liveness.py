"""Liveness: which source cells and words a result needs.

A lane holds four elements of 16 bits, one in each of four words, and the result takes the lower half of the first and of the
third word, which a shuffle has brought: word 0 is needed in part 0, word 1 in nothing, word 2 as a whole, since a shuffle
moves whole words.

>>> from layoutalg.conversion.program.program import Program
>>> from layoutalg.conversion.program.steps import Shuffle
>>> program = Program(1, 2, 16, 4, 2, (0, -1, 1, -1, 2, -1, 3, -1), (Shuffle(4, 2, (1, 0)),), unpack=(0, 8))
>>> found = liveness_of(program)
>>> sorted(found.cells), sorted(found.words), sorted(found.parts)
([0, 2], [2], [0, 8])

LLVM 22 makes a vector that is loaded shorter where its last elements are not needed, and stops at no size: what it leaves
(1, 5 or 7 elements) is not a vector in SPIR-V, and the binary is invalid. So a vector is loaded where all of it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import LaneSwap, Permute, Regions, Select, Shuffle, Store

__all__ = ["Liveness", "liveness_of", "liveness_of_chain"]


@dataclass(frozen=True, slots=True)
class Liveness:
    """What one program needs: cells of the source, words as a whole (by a step), and parts of words (by the result).

    >>> found = Liveness(frozenset(), frozenset({3}), frozenset({0}))
    >>> found.has(3, parts=2), found.has(0, parts=2)
    (True, False)
    """

    cells: frozenset[int]
    words: frozenset[int]
    parts: frozenset[int]

    def has(self, word: int, parts: int) -> bool:
        """Whether all of a word of so many parts is needed."""
        return word in self.words or all(word * parts + part in self.parts for part in range(parts))


def liveness_of(program: Program, wanted: Iterable[int] | None = None) -> Liveness:
    """What the wanted cells of the destination (all of them, where nothing is said) depend on."""
    unpack = (
        program.unpack if wanted is None else [program.unpack[cell] for cell in wanted if cell < len(program.unpack)]
    )
    parts = frozenset(cell for cell in unpack if cell >= 0)
    words: set[int] = set()
    touched = {cell // program.parts for cell in parts}
    for step in reversed(program.steps):
        match step:
            case Select(to, on, off, _, _) if to in words or to in touched:
                words |= {on, off}
            case Shuffle(to, word, _, _) if to in words or to in touched:
                words.add(word)
            case Permute(to, low, high) if to in words or to in touched:
                words |= {low, high}
            case LaneSwap(to, read) if not words.union(touched).isdisjoint(to):
                words |= set(read)
            case Regions(to, read) if not words.union(touched).isdisjoint(to):
                words |= set(read)
            case Store(stored, _, _):
                words |= set(stored)
            case _:
                pass
    cells = (cell for i, cell in enumerate(program.pack) if i in parts or i // program.parts in words)
    return Liveness(frozenset(cell for cell in cells if cell >= 0), frozenset(words), parts)


def liveness_of_chain(chain: Sequence[Program]) -> list[Liveness]:
    """The same for programs one after another, where the last one's result is wanted."""
    found: list[Liveness] = []
    wanted: Iterable[int] | None = None
    for program in reversed(chain):
        found.append(liveness_of(program, wanted))
        wanted = found[-1].cells
    return found[::-1]
