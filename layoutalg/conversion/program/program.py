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
64 bits are two words. Through shared local memory words go by `Store`, `Barrier` and `Load`, at addresses counted in words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import ConversionError

__all__ = ["Address", "Barrier", "Load", "Program", "Rotate", "Select", "Shuffle", "Step", "Store"]

WORD = 32
"""The bits of a word."""
BANKS = 32
"""The banks of shared local memory, each a word wide (see `memory.conflicts`)."""
VECTOR = 4
"""The words that a lane moves in one access to it, at most: 16 bytes."""
NEW: Any = vars(tuple)["__new__"]
"""`NEW(Select, fields)` is `Select(*fields)`, three times as fast: for planners, which make thousands of steps."""


class Select(NamedTuple):
    """Word `to` is word `on` where the bit of this lane (or subgroup) is set in `mask`, else word `off`.

    `axis` is "lane" or "sg": whose number is looked up in the mask.

    >>> Select(2, 0, 1, "lane", 0b10).reads
    (0, 1)
    """

    to: int
    on: int
    off: int
    axis: str
    mask: int

    @property
    def reads(self) -> tuple[int, ...]:
        """The words that it needs.

        >>> Select(2, 0, 1, "lane", 0b10).reads
        (0, 1)
        """
        return self.on, self.off


class Shuffle(NamedTuple):
    """Word `to` of lane l is word `word` of lane `lanes[l]` in the same subgroup.

    Where subgroups differ, bit i of the subgroup's number brings in `sg[i]` by XOR, or `others` says for sets of subgroups
    (as masks) whose lanes they read instead.

    >>> shuffle = Shuffle(3, 2, (1, 0), others=((0b10, (0, 1)),))
    >>> shuffle.sources(2).tolist()
    [[1, 0], [0, 1]]
    """

    to: int
    word: int
    lanes: tuple[int, ...]
    sg: tuple[int, ...] = ()
    others: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def sources(self, subgroups: int) -> NDArray[np.int64]:
        """The lane that each lane of each subgroup reads: `[subgroup, lane]`.

        >>> Shuffle(1, 0, (0, 1), sg=(1,)).sources(2).tolist()
        [[0, 1], [1, 0]]
        """
        numbers = np.arange(subgroups)
        found = Address(xor=True, sg=self.sg).of(numbers, np.zeros(1, np.int64)) ^ np.array(self.lanes, np.int64)
        for mask, lanes in self.others:
            found[_bits(mask, subgroups)] = lanes
        return found


class Rotate(NamedTuple):
    """Word `to` is word `word` rotated right by `bits`: another of its parts is the lowest.

    >>> Rotate(3, 2, 16).bits
    16
    """

    to: int
    word: int
    bits: int


@dataclass(frozen=True, slots=True)
class Address:
    """An address in words, from the numbers of lane and subgroup: sums of factors, or XORs of bits.

    With `xor`, bit i of the lane's number brings in `lane[i]`, bit i of the subgroup's `sg[i]`, all joined by XOR with `base`.
    Otherwise `factors` are (axis, divisor, extent, stride): `(number // divisor) % extent * stride` is added to `base`.

    >>> Address(1, xor=True, lane=(2, 4)).of(np.array([0]), np.array([0, 1, 2, 3])).tolist()
    [[1, 3, 5, 7]]
    >>> Address(0, factors=(("lane", 1, 2, 10), ("sg", 1, 4, 1))).of(np.array([3]), np.array([0, 1])).tolist()
    [[3, 13]]
    """

    base: int = 0
    xor: bool = False
    lane: tuple[int, ...] = ()
    sg: tuple[int, ...] = ()
    factors: tuple[tuple[str, int, int, int], ...] = ()

    def __str__(self) -> str:
        """The address as an expression, in words.

        >>> str(Address(3, xor=True, lane=(1, 5)))
        '3 ^ lane[0] ^ 5*lane[1]'
        >>> str(Address(0, factors=(("lane", 1, 2, 10), ("sg", 2, 4, 1))))
        '10*(lane % 2) + (sg // 2 % 4)'
        """
        terms: list[tuple[int, str]] = []
        if self.xor:
            for axis, columns in (("lane", self.lane), ("sg", self.sg)):
                terms += [(column, f"{axis}[{bit}]") for bit, column in enumerate(columns) if column]
        else:
            for axis, divisor, extent, stride in self.factors:
                terms.append((stride, f"({axis} % {extent})" if divisor == 1 else f"({axis} // {divisor} % {extent})"))
        texts = [text if times == 1 else f"{times}*{text}" for times, text in terms]
        return (" ^ " if self.xor else " + ").join([str(self.base), *texts] if self.base or not texts else texts)

    def of(self, sg: NDArray[np.int64], lane: NDArray[np.int64]) -> NDArray[np.int64]:
        """The addresses of some subgroups' lanes: `[subgroup, lane]`.

        >>> Address(8).of(np.arange(1), np.arange(2)).tolist()
        [[8, 8]]
        """
        found = np.full((len(sg), len(lane)), self.base, np.int64)
        if self.xor:
            for numbers, terms in ((sg[:, None], self.sg), (lane[None, :], self.lane)):
                for bit, term in enumerate(terms):
                    found = found ^ (numbers >> bit & 1) * term
            return found
        for axis, divisor, extent, stride in self.factors:
            numbers = sg[:, None] if axis == "sg" else lane[None, :]
            found = found + numbers // divisor % extent * stride
        return found


class Store(NamedTuple):
    """Each lane writes `words` to shared local memory, at consecutive words from `address`.

    `where` restricts it to the lanes whose bit is set, per subgroup (None: all of them).

    >>> Store((0, 1), Address(0, xor=True, lane=(2,))).words
    (0, 1)
    """

    words: tuple[int, ...]
    address: Address
    where: tuple[int, ...] | None = None


class Load(NamedTuple):
    """Each lane reads words `to` (new ones, consecutive) from consecutive words from `address`.

    >>> Load((4, 5), Address(0)).to
    (4, 5)
    """

    to: tuple[int, ...]
    address: Address


class Barrier(NamedTuple):
    """All subgroups wait for one another; what was stored before can be loaded after.

    >>> Barrier()
    Barrier()
    """


Step: TypeAlias = Select | Shuffle | Rotate | Store | Load | Barrier


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a conversion, with the shape of what they work on.

    `subgroups` and `lanes` execute it, on elements of `element_bits` (8, 16, 32 or 64); `source_registers` and
    `registers` count elements per lane before and after. A cell is an element, or half of one of 64 bits (low half first).
    `pack[i]` is the source cell in part i of the words from 0 on, low part first (-1: nothing); `unpack[j]` is where
    destination cell j is at the end: `word * parts + part` (-1: nothing). `slm_words` is the shared memory in words.

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
    slm_words: int = 0

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
        memory: NDArray[np.uint32] = np.zeros(self.slm_words, np.uint32)
        sg, lane = np.arange(self.subgroups), np.arange(self.lanes)
        for step in self.steps:
            if done is not None:
                done[type(step)] += 1
            match step:
                case Select(to, on, off, axis, mask):
                    chosen = (
                        _bits(mask, self.lanes)[None, :] if axis == "lane" else _bits(mask, self.subgroups)[:, None]
                    )
                    words[to] = np.where(chosen, words[on], words[off])
                case Shuffle(to, word):
                    words[to] = np.take_along_axis(words[word], step.sources(self.subgroups), 1)
                case Rotate(to, word, bits):
                    words[to] = words[word] >> np.uint32(bits) | words[word] << np.uint32(WORD - bits)
                case Store(stored, address, where):
                    at = address.of(sg, lane)
                    active = None if where is None else np.stack([_bits(mask, self.lanes) for mask in where])
                    for i, word in enumerate(stored):
                        if active is None:
                            memory[at + i] = words[word]
                        else:
                            memory[(at + i)[active]] = words[word][active]
                case Load(loaded, address):
                    at = address.of(sg, lane)
                    for i, word in enumerate(loaded):
                        words[word] = memory[at + i]
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


def _bits(mask: int, count: int) -> NDArray[np.bool_]:
    return np.array([mask >> i & 1 for i in range(count)], bool)


def _joined(cells: NDArray[Any], pack: tuple[int, ...], parts: int) -> list[NDArray[np.uint32]]:
    """The words that a list of cells makes, low part first."""
    if not pack:
        return []
    chosen = np.array(pack, np.int64)
    gathered = np.where(chosen >= 0, cells[..., chosen], 0).astype(cells.dtype)
    words = np.ascontiguousarray(gathered).view("<u4")
    return [words[..., i] for i in range(len(pack) // parts)]
