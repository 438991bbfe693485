"""Where in shared memory chunks lie so that lanes meet in no bank: an order of their bits, and padding behind lines.

A chunk is what an access moves for a lane, or a row of a matrix. Each further bit of a cell's number adds a multiple of chunks;
behind every line of 2^p of them some are left out. 32 x 32 words, four in a chunk: a lane stores the chunks of a row, and loads
from the rows r; with one chunk left out behind eight, the weights are

    bit of a chunk's number            0   1   2   3    4    5    6    7
    bytes                             16  32  64 144  288  576 1152 2304

and eight lanes come to eight groups of four banks on both sides, be they told apart by the bits 0, 1, 2 or 3, 4, 5:

>>> cycles_of((144, 288, 576, 1152, 2304), 16), cycles_of((16, 32, 64, 144, 288), 16), cycles_of((128, 256, 512, 0, 0), 16)
(4, 4, 32)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from layoutalg.conversion.program.steps import VECTOR, WORD
from layoutalg.conversion.strategies.renaming import sums
from layoutalg.conversion.strategies.through_memory import sum_factors
from layoutalg.core.banks import BANKS
from layoutalg.hardware.shared_memory import Served

__all__ = ["Placed", "Touch", "cycles_of", "placed"]

_BYTES = WORD // 8
_FEW = 3
"""The operations of addresses up to which no other order is tried."""
_QUAD_BITS = 2
"""Where lanes are served in another order, they are so in fours."""
_IN_ORDER = Served(BANKS, ())


class Touch(NamedTuple):
    """What one side's accesses touch: the bytes of one, how often, and which bit each bit of the lane's number is.

    `lanes` has an index of an address bit's owner for each bit of the lane's number, or -1 for a bit that changes nothing.
    `taking` counts the lanes, from 0 on, whose addresses matter; `by` says which are served together. `groups` are the same as
    `lanes` for the subgroup's number, where its operations are counted.
    """

    size: int
    times: int
    lanes: tuple[int, ...]
    taking: int
    by: Served
    groups: tuple[int, ...] = ()


class Placed(NamedTuple):
    """The bytes that each bit adds to an address, those in all, and the cycles of all accesses of both sides."""

    weights: dict[int, int]
    size: int
    cycles: int


def cycles_of(weights: tuple[int, ...], size: int, taking: int = 0, by: Served = _IN_ORDER) -> int:
    """The cycles of one access of `size` bytes, where bit i of the lane adds `weights[i]` bytes to the address.

    As many lanes are served together as fill all banks once; `taking` of them take part (0: all).
    """
    count = taking or 1 << len(weights)
    repeated = 32 if by.order else by.together(size)  # lanes beyond come to the same banks, all as far on
    times = 1
    while count > repeated and weights[count.bit_length() - 2] % _BYTES == 0:
        count, times = count // 2, times * 2
    return times * _cycles(weights[: count.bit_length() - 1], size, by)


@lru_cache(maxsize=65536)
def _cycles(weights: tuple[int, ...], size: int, by: Served) -> int:
    starts = sums(weights)
    if by.order:
        starts = [starts[lane] for lane in by.order[: len(starts)]]
    together = min(by.together(size), len(starts))
    whole = max(size, _BYTES) if all(weight % size == 0 for weight in weights) else 0
    slots = by.banks * _BYTES // whole if whole else by.banks  # aligned accesses fill the same banks, or others
    found = 0
    for first in range(0, len(starts), together):
        some = starts[first : first + together]
        if whole:
            units = {at // whole for at in some}
            if len({one % slots for one in units}) == len(units):
                found += 1
                continue
        else:
            units = {word for at in some for word in range(at // _BYTES, (at + size - 1) // _BYTES + 1)}
        counts = [0] * slots
        for one in units:
            counts[one % slots] += 1
        found += max(counts)
    return found


def placed(
    chunk: Sequence[int],
    upper: Sequence[int],
    bits: int,
    sides: Sequence[Touch],
    prefer: Sequence[Sequence[int]],
    masks_shifted: bool,
    joined: Sequence[int] = (),
    copied: int = 0,
) -> Placed:
    """The placement with the fewest cycles, of those the one whose addresses take the fewest operations, then the smallest.

    `chunk` are the bits inside a chunk, low ones first, `upper` the others; `prefer` are orders of them to be tried. With
    `masks_shifted` a chip shifts and masks in one operation. Accesses that the bits `joined` tell apart are joined two and two,
    nearest first: unless those are the ones that the first of the bits tells apart, `copied` words are copied.
    """
    inside = {bit: bits // 8 << i for i, bit in enumerate(chunk)}
    unit = bits // 8 << len(chunk)
    best: tuple[int, int, int] | None = None
    chosen: tuple[tuple[int, ...], list[int]] | None = None
    leasts = [side.times * max(1, _distinct(side) // side.by.together(side.size)) for side in sides]
    least = sum(leasts)
    # What the bits of each side add is looked up in a list: those in an order, then those inside a chunk, then nothing.
    lines = _weights_of_lines(len(upper), unit)
    banks = [side.by.banks * _BYTES for side in sides]
    after = {bit: len(upper) + i for i, bit in enumerate(chunk)} | {-1: len(upper) + len(chunk)}
    constant = [*inside.values(), 0]
    known = [dict[tuple[int, ...], int]() for _ in sides]
    taken = sum(inside.values()) + bits // 8
    served = [min(_served_bits(side), side.taking.bit_length() - 1) for side in sides]
    tried = set[tuple[int, ...]]()
    for order in _orders(upper, sides, prefer):
        if order in tried:
            continue
        tried.add(order)
        at = after | {bit: i for i, bit in enumerate(order)}
        lanes = [[at[bit] for bit in side.lanes] for side in sides]
        groups = [[at[bit] for bit in side.groups] for side in sides]
        together = [
            (place, size)
            for places, count, size in zip(lanes, served, banks, strict=True)
            for place in places[:count]
            if place < len(upper)
        ]
        for own in lines:
            if best is not None and best[0] <= least and 0 in [own[place] % size for place, size in together]:
                continue  # two lanes meet in a bank that differ in one of these bits
            weights = [*own, *constant]
            of_lanes: list[tuple[int, ...]] = []
            cycles = least
            for side, places, fewest, counted in zip(sides, lanes, leasts, known, strict=True):
                one = tuple([weights[place] for place in places])
                of_lanes.append(one)
                found = counted.get(one)
                if found is None:
                    found = counted[one] = cycles_of(one, side.size, side.taking, side.by)
                cycles += side.times * found - fewest
                if best is not None and cycles > best[0]:
                    break
            if best is not None and cycles > best[0]:
                continue
            of_groups = [tuple([weights[place] for place in places]) for places in groups]
            operations = sum([_operations(one, other, masks_shifted) for one, other in (of_lanes, of_groups)])
            if joined and min(joined, key=lambda bit: weights[at[bit]]) != joined[0]:
                operations += copied
            score = cycles, operations, sum(own) + taken
            if best is None or score < best:
                best, chosen = score, (order, own)
        if best is not None and best[0] <= least and best[1] <= _FEW:
            break
    assert best is not None
    assert chosen is not None
    return Placed(inside | dict(zip(*chosen, strict=True)), best[2], best[0])


def _distinct(side: Touch) -> int:
    """The lanes that touch different bytes."""
    return max(1, side.taking >> side.lanes[: side.taking.bit_length() - 1].count(-1))


def _weights_of_lines(count: int, unit: int) -> list[list[int]]:
    """What each of so many bits above a chunk adds to an address, the lowest first: for each of `_lines`."""
    return [
        [(unit << i) + (pad << i - line if i >= line else 0) for i in range(count)] for line, pad in _lines(count, unit)
    ]


def _lines(count: int, unit: int) -> Iterator[tuple[int, int]]:
    """Lines of 2^n units and the bytes that are left out behind each: none, then those that change banks.

    A unit that fills all banks is a line of its own: 16 bytes are left out behind it, or a few times as many.
    """
    yield count, 0
    filling = unit >= BANKS * _BYTES
    step = VECTOR * _BYTES if filling else unit
    for line in sorted(range(0 if filling else 1, count), key=lambda n: abs((unit << n) - BANKS * _BYTES)):
        for pad in (step, 2 * step, 4 * step, 8 * step):
            if pad < BANKS * _BYTES and pad <= unit << line:
                yield line, pad


def _served_bits(side: Touch) -> int:
    """The low bits of the lane's number such that lanes which differ in these alone are served together."""
    return _QUAD_BITS if side.by.order else side.by.together(side.size).bit_length() - 1


def _orders(upper: Sequence[int], sides: Sequence[Touch], prefer: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """The orders to be tried: those of the sides, then bits that lanes of both sides served together differ in first.

    Then the order of their numbers, from each bit on: dimension by dimension, any of them first.
    """
    for one in prefer:
        yield tuple(one)
    together = [[bit for bit in _together(side) if bit in upper] for side in sides]
    both = [bit for bit in together[0] if bit in together[1]]
    for first, second in (together, together[::-1]):
        for start in ([*both, *first, *second], first):
            for one in prefer:
                yield tuple(dict.fromkeys([*start, *one]))
    numbered = sorted(upper)
    for i in range(len(numbered)):
        yield tuple(numbered[i:] + numbered[:i])


def _together(side: Touch) -> list[int]:
    count = side.by.together(side.size).bit_length() - 1
    if side.by.order:  # fours, and then others
        count += 1
    return [bit for bit in side.lanes[:count] if bit >= 0]


def _operations(one: tuple[int, ...], other: tuple[int, ...], masks_shifted: bool) -> int:
    """About how many operations compute the addresses of both sides: multiplications, shifts and remainders, each once."""
    return len(_operations_of(one, masks_shifted) | _operations_of(other, masks_shifted))


@lru_cache(maxsize=16384)
def _operations_of(weights: tuple[int, ...], masks_shifted: bool) -> frozenset[tuple[int, ...]]:
    """The operations that compute the address of one side; a sum is part of a multiplication."""
    found: set[tuple[int, ...]] = set()
    count = len(weights)
    for _, divisor, extent, stride in sum_factors("lane", weights):
        masked = divisor * extent < 1 << count
        found.add((divisor, extent, stride))
        in_place = masked and stride % divisor == 0  # multiplied by less, without a shift
        if divisor > 1 and not in_place and not (masked and masks_shifted):
            found.add((divisor,))
        if masked:
            found.add((divisor, extent, int(in_place), 0))
        if masks_shifted and extent == 2 and stride & (stride - 1):  # LLVM selects between 0 and the stride
            found.add((divisor, extent, stride, 0))
    return frozenset(found)
