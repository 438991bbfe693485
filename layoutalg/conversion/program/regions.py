"""Register regions: moves between flat registers, in which a value of a subgroup lies across lanes.

In Intel's register file word w of lane l is at byte 4 * (16 * w + l), for 16 lanes. A `mov` takes elements from a region
`<V;W,H>`: rows of W elements that are H apart; rows begin V apart. So two words are exchanged between odd and even lanes:

>>> even = Move(4, 16, Place(1, 0), 1, Place(0, 0), (2, 1, 0))          # the even lanes of both words
>>> odd = Move(4, 16, Place(1, 64), 1, Place(0, 4), (2, 1, 0))          # the odd ones
>>> step = Regions((2, 3), (0, 1), 64, (), (even, odd))
>>> words = np.arange(32, dtype="u4").reshape(2, 1, 16)
>>> step.moved(list(words))[0].tolist()
[[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]]

`layoutalg.conversion.lowering.visa` writes a step as Intel's virtual assembly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Move", "Place", "Regions"]


class Place(NamedTuple):
    """A byte of an array of registers: 0 are the words that come in, the last are those that go out.

    >>> Place(0, 64).byte
    64
    """

    array: int
    byte: int


class Move(NamedTuple):
    """One `mov` of `length` elements of so many bytes.

    They go to places `stride` elements apart, and come from a region `<V;W,H>`, counted in elements.

    >>> Move(4, 4, Place(1, 0), 2, Place(0, 0), (1, 2, 8)).bytes_read.tolist()
    [0, 32, 4, 36]
    """

    element: int
    length: int
    to: Place
    stride: int
    source: Place
    region: tuple[int, int, int]

    @property
    def bytes_read(self) -> NDArray[np.int64]:
        """Where its elements come from: the first byte of each.

        >>> Move(1, 4, Place(1, 0), 4, Place(0, 3), (4, 1, 0)).bytes_read.tolist()
        [3, 7, 11, 15]
        """
        apart, width, inside = self.region
        numbers = np.arange(self.length)
        return self.source.byte + self.element * (numbers // width * apart + numbers % width * inside)

    @property
    def bytes_written(self) -> NDArray[np.int64]:
        """Where they go: the first byte of each.

        >>> Move(1, 4, Place(1, 2), 4, Place(0, 3), (4, 1, 0)).bytes_written.tolist()
        [2, 6, 10, 14]
        """
        return self.to.byte + self.element * self.stride * np.arange(self.length)


class Regions(NamedTuple):
    """Words `to` are made of `words` by moves between flat registers of `register` bytes.

    `temporaries` are the bytes of the arrays between the first (the words that come in) and the last (those that go out).

    >>> Regions((1,), (0,), 64, (), (Move(4, 16, Place(1, 0), 1, Place(0, 12), (0, 1, 0)),)).reads
    (0,)
    """

    to: tuple[int, ...]
    words: tuple[int, ...]
    register: int
    temporaries: tuple[int, ...]
    moves: tuple[Move, ...]

    @property
    def reads(self) -> tuple[int, ...]:
        """The words that it needs.

        >>> Regions((2,), (0, 1), 64, (), ()).reads
        (0, 1)
        """
        return self.words

    def moved(self, words: Sequence[NDArray[np.uint32]]) -> list[NDArray[np.uint32]]:
        """What it makes of words, `[sg, lane]` each.

        >>> copy = Move(4, 16, Place(1, 0), 1, Place(0, 12), (0, 1, 0))       # lane 3, to all
        >>> Regions((1,), (0,), 64, (), (copy,)).moved([np.arange(16, dtype="u4")[None]])[0].tolist()
        [[3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]]
        """
        subgroups, lanes = words[0].shape
        given = np.stack(words, 1).astype("<u4").view("u1").reshape(subgroups, -1)
        made = np.zeros((subgroups, 4 * lanes * len(self.to)), "u1")
        arrays = [given, *[np.zeros((subgroups, size), "u1") for size in self.temporaries], made]
        for move in self.moves:
            inside = np.arange(move.element)
            source = (move.bytes_read[:, None] + inside).reshape(-1)
            target = (move.bytes_written[:, None] + inside).reshape(-1)
            arrays[move.to.array][:, target] = arrays[move.source.array][:, source]
        return list(np.ascontiguousarray(made).view("<u4").reshape(subgroups, -1, lanes).transpose(1, 0, 2))
