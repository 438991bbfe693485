"""The first element whose lowest owners differ in two layouts; one of them, or both, flips places (XOR).

>>> swizzled, rows = Layout.parse("d0 = 2@(addr:2), d1 = 2@(addr:2^addr) 2@(addr)"), Layout.parse("d0 = 2@addr:2, d1 = 4@addr")
>>> first_unlike(swizzled, rows, ("addr",))
(0, 2)

Where an axis counts in powers of two, its coordinate is a map of the bits of an element's coordinates, linear under XOR in
both layouts. Two such maps that agree on 0 and on every single bit below an element agree on it, so the first element that
tells them apart is 0 or has one bit. Without XOR the same holds for sums. Otherwise elements are tried in turn, and of rows
that move alike one alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from layoutalg.core.errors import SizeError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_COMPARED_ELEMENTS
from layoutalg.core.moves import Moves, lowest_moves

__all__ = ["first_unlike"]

_Pair = tuple[Moves, Moves]


def first_unlike(a: Layout, b: Layout, axes: Sequence[str]) -> tuple[int, ...]:
    """The first element, row-major and counted from 0, whose lowest owners differ; the first of all where none do.

    Raises `SizeError` where more than 2^24 elements would have to be tried.
    """
    nowhere = Moves(0, 0, ((),) * a.rank, ())
    pairs = [(lowest_moves(a).get(axis, nowhere), lowest_moves(b).get(axis, nowhere)) for axis in axes]
    shape: tuple[int, ...] = tuple(map(int, a.shape))
    if not shape or all(_of_bits(pair) for pair in pairs):
        found = (x for x in _single_bits(shape) if any(one.at(x) != other.at(x) for one, other in pairs))
    elif prod(shape) > MOST_COMPARED_ELEMENTS:
        raise SizeError(
            f"{prod(shape)} elements: at most 2^24 are compared where XOR meets other digits (of {a} and {b})"
        )
    else:
        found = _tried(pairs, shape)
    return next(found, (0,) * a.rank)


def _single_bits(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """0 and the elements with one bit, row-major."""
    yield (0,) * len(shape)
    for d in reversed(range(len(shape))):
        for bit in range((shape[d] - 1).bit_length()):
            yield (*(0,) * d, 1 << bit, *(0,) * (len(shape) - d - 1))


def _of_bits(pair: _Pair) -> bool:
    """Whether both coordinates on an axis are maps of bits: sums in both, or linear under XOR in both."""
    one, other = pair
    if any(not _is_power(n) for moves in pair for row in moves.dims for step in row for n in (step.place, step.extent)):
        return False
    if not one.weights and not other.weights:
        return True
    return one.start == other.start and all(map(_is_binary, pair))


def _is_binary(moves: Moves) -> bool:
    """Whether the digits along an axis are bits of the coordinate, apart from one another."""
    digits = [(step.added, step.extent) for row in moves.dims for step in row if step.added]
    reached = 1
    for weight, extent in sorted([*digits, *((weight, 2) for _, weight in moves.weights)]):
        if not _is_power(weight) or weight < reached:
            return False
        reached = weight * extent
    return True


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _tried(pairs: Sequence[_Pair], shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The elements whose owners differ, by trying them: a row at a time, rows that move alike once."""
    last = len(shape) - 1
    alike: set[tuple[tuple[int, int, int], ...]] = set()
    for row in product(*map(range, shape[:last])):
        key: list[tuple[int, int, int]] = []
        for one, other in pairs:
            (added, flipped), (more, others) = (_moved(moves, row) for moves in (one, other))
            key.append((added - more, flipped, others))
        if tuple(key) in alike:
            continue
        for x in range(shape[last]):
            if any(one.at((*row, x)) != other.at((*row, x)) for one, other in pairs):
                yield (*row, x)
        alike.add(tuple(key))


def _moved(moves: Moves, row: Sequence[int]) -> tuple[int, int]:
    """What the coordinates of a row add and flip together."""
    added = flipped = 0
    for d, x in enumerate(row):
        more, bits = moves.of(d, x)
        added, flipped = added + more, flipped ^ bits
    return added, flipped
