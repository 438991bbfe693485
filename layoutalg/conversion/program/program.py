"""A conversion as a program: steps that all lanes of all subgroups execute together, on words of 32 bits.

Two lanes with two registers each, transposed: lane l holds e[l, 0] and e[l, 1], and wants e[0, l] and e[1, l]. One word
stays, one is exchanged; which is which depends on the lane:

    w0, w1 = the registers
    w2 = in lane 1 w0, else w1          what the other lane wants
    w3 = w2 of the other lane
    w4 = in lane 1 w3, else w0          the new register 0
    w5 = in lane 1 w1, else w3          the new register 1

>>> steps = (Select(2, 0, 1, "lane", 0b10), Shuffle(3, 2, (1, 0)), Select(4, 3, 0, "lane", 0b10), Select(5, 1, 3, "lane", 0b10))
>>> transpose = Program(1, 2, 32, 2, 2, pack=(0, 1), steps=steps, unpack=(4, 5))
>>> transpose.run(np.array([[[11, 12], [21, 22]]], np.int32)).tolist()
[[[11, 21], [12, 22]]]
>>> transpose.count(Shuffle), transpose.count(Select)
(1, 3)

Every step makes new words (numbers count up) out of words that there are. Elements below 32 bits are packed: `pack` says
which elements lie in which word, the same in all lanes, `unpack` where each destination element is at the end. Elements of
64 bits are two words. Through shared local memory words go by `Store`, `Barrier` and `Load`, or the low half or byte of each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.matrices import matrix_bytes
from layoutalg.conversion.program.steps import (
    WORD,
    Barrier,
    LaneSwap,
    Load,
    Permute,
    Regions,
    Select,
    Shuffle,
    Step,
    Store,
    lane_bits,
)
from layoutalg.core.errors import ConversionError

__all__ = ["Program"]


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a conversion, with the shape of what they work on.

    `subgroups` and `lanes` execute it, on elements of `element_bits` (8, 16, 32 or 64); `source_registers` and
    `registers` count elements per lane before and after. A cell is an element, or half of one of 64 bits (low half first).
    `pack[i]` is the source cell in part i of the words from 0 on, low part first (-1: nothing); `unpack[j]` is where
    destination cell j is at the end: `word * parts + part` (-1: nothing). `slm_bytes` is the shared memory.

    >>> Program(1, 4, 16, 2, 2, pack=(0, 1), steps=(), unpack=(1, 0)).run(np.array([[[1, 2]] * 4], np.int16))[0, 0].tolist()
    [2, 1]
    """

    subgroups: int
    lanes: int
    element_bits: int
    source_registers: int
    registers: int
    pack: tuple[int, ...]
    steps: tuple[Step, ...]
    unpack: tuple[int, ...]
    slm_bytes: int = 0

    @property
    def cell_bits(self) -> int:
        """The bits of a cell.

        >>> Program(1, 4, 64, 1, 1, pack=(0, 1), steps=(), unpack=(0, 1)).cell_bits
        32
        """
        return min(self.element_bits, WORD)

    @property
    def parts(self) -> int:
        """The cells of a word.

        >>> Program(1, 4, 8, 4, 4, pack=(0, 1, 2, 3), steps=(), unpack=(0, 1, 2, 3)).parts
        4
        """
        return WORD // self.cell_bits

    def count(self, kind: type) -> int:
        """How many steps of one kind there are.

        >>> Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)).count(Shuffle)
        1
        """
        return list(map(type, self.steps)).count(kind)

    @property
    def moves(self) -> int:
        """Words that packing and unpacking put together: those that are not what a bitcast of the registers gives.

        In a program without steps also words that come to another register: elsewhere that is only a name.

        >>> Program(1, 4, 16, 2, 2, pack=(0, 1), steps=(), unpack=(1, 0)).moves
        1
        """
        parts = self.parts
        if not self.steps:
            # A word that was packed elsewhere, and comes back to its place, has not moved.
            cells = [self.pack[place] if place >= 0 else -1 for place in self.unpack]
            return sum(
                cells[i : i + parts] != list(range(i, min(i + parts, len(cells)))) for i in range(0, len(cells), parts)
            )
        if parts == 1:
            return 0
        groups = [cells[i : i + parts] for cells in (self.pack, self.unpack) for i in range(0, len(cells), parts)]
        return sum(one[0] % parts != 0 or one != tuple(range(one[0], one[0] + len(one))) for one in groups)

    @property
    def idle(self) -> bool:
        """Whether it leaves every register as it is.

        >>> Program(1, 4, 32, 2, 2, pack=(0, 1), steps=(), unpack=(0, 1)).idle
        True
        """
        return not self.steps and not self.moves and self.registers == self.source_registers

    def run(self, fragments: NDArray[Any], done: Counter[type] | None = None) -> NDArray[Any]:
        """Execute the steps on an array `[sg, lane, reg]`; `done` counts what was executed.

        Raises `ConversionError` for an array of another shape or element size.

        >>> Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)).run(np.array([[[1], [2]]], "f4"))
        array([[[2.],
                [1.]]], dtype=float32)
        """
        shape = (self.subgroups, self.lanes, self.source_registers)
        if not _fits(fragments, shape, self.element_bits):
            found = getattr(fragments, "shape", None)
            raise ConversionError(
                f"fragments of shape {found}, {getattr(getattr(fragments, 'dtype', None), 'name', type(fragments).__name__)}: "
                f"expected [sg, lane, reg] = {list(shape)} of {self.element_bits} bits"
            )
        cells = np.ascontiguousarray(fragments).view(f"<u{self.cell_bits // 8}")
        words = dict(enumerate(_joined(cells, self.pack, self.parts)))
        memory: NDArray[np.uint8] = np.zeros(self.slm_bytes, np.uint8)
        sg, lane = np.arange(self.subgroups), np.arange(self.lanes)
        for step in self.steps:
            if done is not None:
                done[type(step)] += 1
            match step:
                case Select(to, on, off, axis, mask):
                    chosen = (
                        lane_bits(mask, self.lanes)[None, :]
                        if axis == "lane"
                        else lane_bits(mask, self.subgroups)[:, None]
                    )
                    words[to] = np.where(chosen, words[on], words[off])
                case Shuffle(to, word):
                    words[to] = np.take_along_axis(words[word], step.sources(self.subgroups), 1)
                case Permute(to, low, high):
                    words[to] = step.permuted(words[low], words[high])
                case LaneSwap(made, (one, other)):
                    words.update(zip(made, step.swapped(words[one], words[other]), strict=True))
                case Regions(made, read):
                    words.update(zip(made, step.moved([words[word] for word in read]), strict=True))
                case Store(stored, address, where, bits, matrix):
                    at = _bytes_at(address.of(sg, lane), len(stored), bits, matrix)
                    low = np.stack([words[word] for word in stored], -1).astype("<u4").view(np.uint8)
                    low = low.reshape(*at.shape[:3], WORD // 8)[..., : bits // 8]
                    active = ... if where is None else np.stack([lane_bits(mask, self.lanes) for mask in where])
                    memory[at[active]] = low[active]
                case Load(loaded, address, bits, matrix):
                    at = _bytes_at(address.of(sg, lane), len(loaded), bits, matrix)
                    found = np.zeros((*at.shape[:3], WORD // 8), np.uint8)
                    found[..., : bits // 8] = memory[at]
                    words.update(zip(loaded, np.moveaxis(found.view("<u4")[..., 0], -1, 0), strict=True))
                case Barrier():
                    pass
        made = np.stack([words[i] for i in range(len(words))], -1) if words else np.zeros((*shape[:2], 0), np.uint32)
        parted = made.astype("<u4").view(f"<u{self.cell_bits // 8}")
        unpack = np.array(self.unpack, np.int64)
        result = np.where(unpack >= 0, parted[..., unpack], 0).astype(parted.dtype)
        return np.ascontiguousarray(result).view(fragments.dtype).reshape(*shape[:2], self.registers)


def _fits(fragments: Any, shape: tuple[int, ...], bits: int) -> bool:
    """Whether this is an array of this shape, of plain elements of so many bits."""
    kind: Any = getattr(fragments, "dtype", None) if type(fragments).__module__ == "numpy" else None
    return kind is not None and fragments.shape == shape and kind.itemsize * 8 == bits and not kind.hasobject


def _bytes_at(places: NDArray[np.int64], count: int, bits: int, matrix: str) -> NDArray[np.int64]:
    """The bytes of so many consecutive places of memory, from those given on: `[sg, lane, place, byte]`."""
    if matrix:
        return matrix_bytes(matrix, places * (bits // 8), count, bits)
    return (places[..., None, None] + np.arange(count)[:, None]) * (bits // 8) + np.arange(bits // 8)


def _joined(cells: NDArray[Any], pack: tuple[int, ...], parts: int) -> list[NDArray[np.uint32]]:
    """The words that a list of cells makes, low part first."""
    if not pack:
        return []
    chosen = np.array(pack, np.int64)
    gathered = np.where(chosen >= 0, cells[..., chosen], 0).astype(cells.dtype)
    words = np.ascontiguousarray(gathered).view("<u4")
    return [words[..., i] for i in range(len(pack) // parts)]
