"""What one `mov` of Intel's register file does: which bits of an address it takes where.

A register of 64 bytes has 6 address bits: 2 inside a word, 4 for the lane. `mov (16) dst<1>:ud src<2;1,0>:ud` reads every
other word of two registers. Bits 1 to 4 of the source, counted in words, become bits 0 to 3 of the destination:

>>> shape = Shape(element=2, length=4, stride=0, bits=(1, 2, 3, 4), region=(2, 1, 0))
>>> shape in shapes(6, 2)
True

So address bits 3, 4, 5 of the source are bits 2, 3, 4 of the destination, and the bit that tells the two registers apart is
bit 5. What was bit 2 (odd or even) goes to the register's number: two moves, from the first and from the second word.

A source region `<V;W,H>` is rows of W elements, H apart, that begin V apart. A row stays in its register, a region in two
neighbours. Elements below 32 bits have more rules on Xe-HPC and later; where they are broken, Intel's compiler puts a second
move beside the first. The shapes here are those that it leaves alone: 330 shapes were compiled for pvc and bmg by IGC
1.0.12504 and 2.40.14, and `one_move` is the rule that tells those of one instruction from those of two. Strides of 0, which
repeat elements, are used for whole words alone. Rows that begin inside one another, such as `<1;8,2>`, are not used: both
compilers take such a region for the same elements in order when they merge a move with the one before it, and the result is
wrong (`mov (32) b<2>:uw a<1;8,4>:uw` after a move that makes a).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise, product
from typing import NamedTuple

from layoutalg.core.limits import MOST_LANES
from layoutalg.core.whole_numbers import whole_number, whole_numbers

__all__ = ["COPY", "ENTERS", "Shape", "Template", "one_move", "shapes", "templates"]

COPY = -1
"""In a shape's bits and in a template: the same for both values of this bit (a stride of 0)."""
ENTERS = -2
"""In a template: a bit of the register's number comes here."""
PAIR = -3
"""In a template: the bit that tells the two registers of the source apart comes here."""

_WIDEST, _FARTHEST = 4, 5
"""Rows have at most 16 elements and begin at most 32 apart, as powers of two."""
_STRIDES = 3
"""Elements of a row, and of the destination, are 1, 2 or 4 apart."""


class Shape(NamedTuple):
    """A `mov` by the bits of addresses: 2^length elements of 2^element bytes, 2^stride elements apart in the destination.

    `bits[i]` is the address bit, counted in elements, that bit i of the element's number is in the source; `region` is how
    vISA writes that.
    """

    element: int
    length: int
    stride: int
    bits: tuple[int, ...]
    region: tuple[int, int, int]

    def moves(self, width: int) -> int:
        """How many of them fill a register of 2^width bytes."""
        return 1 << (width - self.element - self.length)


class Template(NamedTuple):
    """What a stage of moves of one shape does: what comes to each address bit of a register.

    `comes[i]` is an address bit of the source, or `ENTERS`, `PAIR`, `COPY`. `pair` says that the source is two registers;
    `above` is what tells the two registers of the destination apart, None where it is one.

    >>> [one.comes for one in templates(6, 2) if one.shape == Shape(2, 4, 0, (1, 2, 3, 4), (2, 1, 0))]
    [(0, 1, 3, 4, 5, -3)]
    """

    comes: tuple[int, ...]
    pair: bool
    above: int | None
    shape: Shape


def one_move(element: int, stride: int, bits: tuple[int, ...]) -> bool:
    """Whether the compiler leaves such a move alone.

    It does where the elements of the destination are at least 4 bytes apart. Below, those that fill a word must lie in
    the source as they do in the destination or, where the whole region has one stride, at most 4 bytes apart.

    >>> one_move(2, 0, (0, 2, 3, 4)), one_move(1, 0, (0, 2, 3, 4)), one_move(1, 0, (2, 3, 4, 5))
    (True, True, False)
    """
    if whole_number(element, "element =", 0) + whole_number(stride, "stride =", 0) >= 2:
        return True
    bits = whole_numbers(bits, "bits", PAIR, MOST_LANES)
    even = all(after == before + 1 for before, after in pairwise(bits))
    if element == 1:
        return bits[0] <= 1 if even else bits[0] == 0
    if stride == 1:
        return even or bits[0] <= 1
    return bits[0] <= 2 if even else bits[:2] == (0, 1)


@lru_cache(maxsize=16)
def shapes(width: int, least: int, halves: bool = False) -> tuple[Shape, ...]:
    """The shapes of moves in registers of 2^width bytes, of elements of at least 2^least bytes: one for each effect.

    With `halves` also moves of half as many elements as fill a register.
    """
    found: dict[tuple[int, int, int, tuple[int, ...]], Shape] = {}
    for element in range(least, 3):
        for length in range(width - 2 - halves, width - (element == 2)):
            for stride in range(_STRIDES):
                if element + stride + length > width + 1:
                    continue
                whole = element == 2 and length == width - element
                copies = _copies(length, width - element) if whole else ()
                regions = chain(_regions(length, width - element), copies)
                for bits, region in regions:
                    if one_move(element, stride, bits):
                        key = element, length, stride, bits
                        found.setdefault(key, Shape(*key, region))
    return tuple(found.values())


def _regions(length: int, top: int) -> Iterator[tuple[tuple[int, ...], tuple[int, int, int]]]:
    """The source regions of 2^length elements, where a register has 2^top: their bits, and how they are written."""
    for rows in range(_FARTHEST + 1):  # rows of one element
        yield from _within(tuple(range(rows, rows + length)), (1 << rows, 1, 0), top)
    for inside in range(1, min(length, _WIDEST + 1)):
        beside = length - inside
        for apart in range(_STRIDES):
            if apart + inside > top:
                continue
            row = tuple(range(apart, apart + inside))
            written = (1 << inside, 1 << apart)
            for rows in range(_FARTHEST + 1):
                yield from _within(row + tuple(range(rows, rows + beside)), (1 << rows, *written), top)


def _copies(length: int, top: int) -> Iterator[tuple[tuple[int, ...], tuple[int, int, int]]]:
    """The regions that repeat elements, with a stride of 0."""
    yield (COPY,) * length, (0, 1, 0)
    for inside in range(1, min(length, _WIDEST + 1)):
        beside = length - inside
        for apart in range(_STRIDES):
            if apart + inside <= top:
                row = tuple(range(apart, apart + inside))
                yield from _within(row + (COPY,) * beside, (0, 1 << inside, 1 << apart), top)
        for rows in range(_FARTHEST + 1):
            bits = (COPY,) * inside + tuple(range(rows, rows + beside))
            yield from _within(bits, (1 << rows, 1 << inside, 0), top)


def _within(
    bits: tuple[int, ...], region: tuple[int, int, int], top: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, int, int]]]:
    real = [bit for bit in bits if bit >= 0]
    if max(real) <= top and all(before < after for before, after in pairwise(real)):
        yield bits, region


@lru_cache(maxsize=16)
def templates(width: int, least: int, halves: bool = False) -> tuple[Template, ...]:
    """What stages of moves can do in registers of 2^width bytes, to elements of at least 2^least bytes.

    Bits of the destination's address that a move does not run through are constant in it, and take any bit that is left.
    """
    found: dict[tuple[tuple[int, ...], bool, int | None], Template] = {}
    for shape in shapes(width, least, halves):
        element, start = shape.element, shape.element + shape.stride
        comes: list[int | None] = [*range(element), *[None] * (width - element)]
        above: int | None = None
        taken = set(range(element))
        for i, bit in enumerate(shape.bits):
            what = bit if bit < 0 else PAIR if element + bit == width else element + bit
            taken.add(what)
            if start + i == width:
                above = what
            else:
                comes[start + i] = what
        if above == COPY:
            continue
        pair = PAIR in taken
        left = [bit for bit in range(width) if bit not in taken]
        open_bits = [i for i, what in enumerate(comes) if what is None]
        for chosen in product([*left, ENTERS], repeat=len(open_bits)):
            real = [bit for bit in chosen if bit >= 0]
            if len(set(real)) < len(real):
                continue
            filled = list(comes)
            for i, what in zip(open_bits, chosen, strict=True):
                filled[i] = what
            key = tuple(what for what in filled if what is not None), pair, above
            one = Template(*key, shape)
            if key not in found or shape.moves(width) < found[key].shape.moves(width):
                found[key] = one
    return tuple(sorted(found.values(), key=lambda one: one.shape.moves(width)))
