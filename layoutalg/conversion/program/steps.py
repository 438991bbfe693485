"""The steps of a conversion: what all lanes of all subgroups execute together, on words of 32 bits.

A select chooses by the number of lane or subgroup, a shuffle takes a word of another lane, a byte permute makes a word of two;
words, or the low bits of them, go through shared local memory by `Store`, `Barrier` and `Load`, at addresses counted in what is
moved: words, halves or bytes.

>>> Shuffle(1, 0, (1, 0)).sources(1).tolist()
[[1, 0]]
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.regions import Regions

__all__ = [
    "VECTOR",
    "WORD",
    "Address",
    "Barrier",
    "LaneSwap",
    "Load",
    "Permute",
    "Regions",
    "Select",
    "Shuffle",
    "Step",
    "Store",
    "lane_bits",
]

WORD = 32
"""The bits of a word."""
VECTOR = 4
"""The words that a lane moves in one access to it, at most: 16 bytes."""
NEW: Any = vars(tuple)["__new__"]
"""`NEW(Select, fields)` is `Select(*fields)`, three times as fast: for planners, which make thousands of steps."""


def lane_bits(mask: int, count: int) -> NDArray[np.bool_]:
    """Which of the first numbers have their bit set in a mask."""
    return np.array([mask >> i & 1 for i in range(count)], bool)


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
            found[lane_bits(mask, subgroups)] = lanes
        return found


class Permute(NamedTuple):
    """Word `to` is put together from bytes of words `low` and `high`, as a selector says: a byte permute.

    Byte j of the result (0 is the lowest) is byte `selector >> 4 * j & 7` of the eight that `low` (0 to 3) and `high` (4 to 7)
    have. `selectors` has one for all lanes, or one for each lane of a subgroup. It is `prmt` on NVIDIA's GPUs and
    `v_perm_b32` on AMD's; elsewhere it is written with shifts, and with a select for each further selector.

    >>> Permute(2, 0, 1, (0x5410,)).selectors           # the lower halves of two words
    (21520,)
    """

    to: int
    low: int
    high: int
    selectors: tuple[int, ...]

    @property
    def reads(self) -> tuple[int, ...]:
        """The words that it needs.

        >>> Permute(2, 0, 0, (0x1032,)).reads
        (0, 0)
        """
        return self.low, self.high

    def permuted(self, low: NDArray[np.uint32], high: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """What it makes of two words, `[sg, lane]`.

        >>> hex(Permute(2, 0, 1, (0x5410,)).permuted(*np.array([[[0x11112222]], [[0x33334444]]], "u4"))[0, 0])
        '0x44442222'
        """
        both = np.stack([low, high], -1).astype("<u4").view("u1")  # [sg, lane, 8]
        wanted = np.array(self.selectors, np.int64)[:, None] >> np.arange(0, 16, 4) & 7
        chosen = np.take_along_axis(both, np.broadcast_to(wanted, (*both.shape[:2], 4)), -1)
        return np.ascontiguousarray(chosen).view("<u4")[..., 0]


class LaneSwap(NamedTuple):
    """Two words change places with a bit of the lane's number: words `to` are those of the lanes without and with that bit.

    Word `to[0]` is, of the lanes whose bit `bit` is 0, word `words[0]` where the own bit is 0 and `words[1]` where it is 1;
    word `to[1]` likewise of the lanes whose bit is 1. It is `v_permlane16_swap_b32` (bit 4) and `v_permlane32_swap_b32`
    (bit 5) on AMD's gfx950 (CDNA 4 instruction set guide).

    >>> LaneSwap((2, 3), (0, 1), 4).words
    (0, 1)
    """

    to: tuple[int, int]
    words: tuple[int, int]
    bit: int

    def swapped(self, one: NDArray[np.uint32], other: NDArray[np.uint32]) -> list[NDArray[np.uint32]]:
        """What it makes of two words, `[sg, lane]`.

        >>> [row.tolist() for row in LaneSwap((2, 3), (0, 1), 1).swapped(*np.array([[[0, 1, 2, 3]], [[4, 5, 6, 7]]], "u4"))]
        [[[0, 1, 4, 5]], [[2, 3, 6, 7]]]
        """
        lane: NDArray[np.int64] = np.arange(one.shape[1], dtype=np.int64)
        mask = 1 << self.bit
        upper: NDArray[np.bool_] = lane & mask != 0
        return [np.where(upper, other[:, source], one[:, source]) for source in (lane & ~mask, lane | mask)]


class Address(NamedTuple):
    """An address, counted in what is moved there, from the numbers of lane and subgroup: sums of factors, or XORs of bits.

    With `xor`, bit i of the lane's number brings in `lane[i]`, bit i of the subgroup's `sg[i]`, all joined by XOR with `base`.
    Otherwise `factors` are (axis, divisor, extent, stride): `(number // divisor) % extent * stride` is added to `base`, where
    the number is that of the axis with what `plus` adds to it: (axis, number) for axes that do not count from 0.

    >>> Address(1, xor=True, lane=(2, 4)).of(np.array([0]), np.array([0, 1, 2, 3])).tolist()
    [[1, 3, 5, 7]]
    >>> Address(0, factors=(("lane", 1, 2, 10), ("sg", 1, 4, 1))).of(np.array([3]), np.array([0, 1])).tolist()
    [[3, 13]]
    >>> Address(0, factors=(("lane", 1, 4, 10),), plus=(("lane", 3),)).of(np.array([0]), np.array([0, 1, 2])).tolist()
    [[30, 0, 10]]
    """

    base: int = 0
    xor: bool = False
    lane: tuple[int, ...] = ()
    sg: tuple[int, ...] = ()
    factors: tuple[tuple[str, int, int, int], ...] = ()
    plus: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """The address as an expression.

        >>> str(Address(3, xor=True, lane=(1, 5)))
        '3 ^ lane[0] ^ 5*lane[1]'
        >>> str(Address(0, factors=(("lane", 1, 2, 10), ("sg", 2, 4, 1))))
        '10*(lane % 2) + (sg // 2 % 4)'
        >>> str(Address(0, factors=(("lane", 2, 4, 1),), plus=(("lane", 5),)))
        '((lane + 5) // 2 % 4)'
        """
        terms: list[tuple[int, str]] = []
        if self.xor:
            for axis, columns in (("lane", self.lane), ("sg", self.sg)):
                terms += [(column, f"{axis}[{bit}]") for bit, column in enumerate(columns) if column]
        else:
            more = dict(self.plus)
            for axis, divisor, extent, stride in self.factors:
                number = f"({axis} + {more[axis]})" if axis in more else axis
                terms.append((stride, f"({number}{f' // {divisor}' * (divisor > 1)} % {extent})"))
        texts = [text if times == 1 else f"{times}*{text}" for times, text in terms]
        return (" ^ " if self.xor else " + ").join([str(self.base), *texts] if self.base or not texts else texts)

    def scaled(self, times: int) -> Address:
        """The same place in smaller units, `times` of them to one of these.

        >>> str(Address(1, factors=(("lane", 1, 4, 9),)).scaled(4))
        '4 + 36*(lane % 4)'
        """
        factors = tuple([(axis, divisor, extent, stride * times) for axis, divisor, extent, stride in self.factors])
        lane, sg = (tuple([term * times for term in terms]) for terms in (self.lane, self.sg))
        return Address(self.base * times, self.xor, lane, sg, factors, self.plus)

    def based(self, base: int) -> Address:
        """The same address with another constant.

        >>> Address(8, xor=True, lane=(1,)).based(0)
        Address(base=0, xor=True, lane=(1,), sg=(), factors=(), plus=())
        """
        return NEW(Address, (base, *self[1:]))

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
        more = dict(self.plus)
        for axis, divisor, extent, stride in self.factors:
            numbers = (sg[:, None] if axis == "sg" else lane[None, :]) + more.get(axis, 0)
            found = found + numbers // divisor % extent * stride
        return found


class Store(NamedTuple):
    """Each lane writes `words` to shared local memory, to consecutive places from `address` on.

    `where` restricts it to the lanes whose bit is set, per subgroup (None: all of them). A place is `bits` wide, 8, 16 or
    32: the low bits of each word are written, and `address` counts such places.

    >>> Store((0, 1), Address(0, xor=True, lane=(2,))).words
    (0, 1)
    """

    words: tuple[int, ...]
    address: Address
    where: tuple[int, ...] | None = None
    bits: int = WORD
    matrix: str = ""
    """The instruction's map, where it is one of `matrices.MATRICES`: then `address` says where a row begins."""


class Load(NamedTuple):
    """Each lane reads words `to` (new ones, consecutive) from consecutive places from `address` on.

    A place is `bits` wide, as for `Store`; the rest of a word is 0.

    >>> Load((4, 5), Address(0)).to
    (4, 5)
    """

    to: tuple[int, ...]
    address: Address
    bits: int = WORD
    matrix: str = ""
    """The instruction's map, as for `Store`."""


class Barrier(NamedTuple):
    """All subgroups of the workgroup wait for one another; what was stored before can be loaded after.

    With the scope "subgroup" the lanes of each subgroup wait for one another alone. Where they run in step, that only keeps the
    order of stores and loads.

    >>> Barrier().scope
    'workgroup'
    """

    scope: str = "workgroup"


Step: TypeAlias = Select | Shuffle | Permute | LaneSwap | Regions | Store | Load | Barrier
