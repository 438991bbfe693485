"""What an XOR does, in words: the bits of coordinates that are XORed, and one element worked out.

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> tile = tensor_grid(Operand("C", Layout.parse("d0 = 2@(lane:2) 2@(lane), d1 = 4@lane")))
>>> for sentence in told_of_xor(tile, tile.title):
...     print(sentence)
lane bits 0-1 are d1 bits 0-1 XOR d0 bits 0-1
element (1, 3): 3 from d1 XOR 1 from d0 = lane 2
in bits: 11 XOR 01 = 10
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice

from layoutalg.core.factors import XorFactor
from layoutalg.core.moves import Moves, lowest_moves
from layoutalg.core.plurals import counted, spoken
from layoutalg.viz.grid import Grid

__all__ = ["bits_that_meet", "meeting_cell", "told_of_xor"]

_BITS, _TRIED, _MEETINGS = 10, 4096, 3
"""Bits of a number that is written out in binary; cells that are tried as an example; sentences about bits that meet."""


def told_of_xor(grid: Grid, title: str, preferred: Sequence[int] = ()) -> list[str]:
    """Sentences about the XORs of a grid: what the picture's title writes, which bits meet, an element; none without XOR.

    The element is one of the `preferred` cells, if one of them shows what an XOR does.
    """
    axis = _axis(grid)
    if axis is None:
        return []
    moves = lowest_moves(grid.layout)[axis]
    factors = (one for row in grid.layout.dims for one in row if isinstance(one, XorFactor) and len(one.places) > 1)
    written = next((one for one in factors if str(one) in title), None)
    found: list[str] = []
    if written is not None:
        flips = ""
        for i, (to, weight) in enumerate(written.places):
            again = i and to == written.places[i - 1][0]
            flips += f"{' and' * (i > 0)}{'' if again else f' {_word(to)}'} by {weight}"
        found.append(f"{written}: a bit that flips{flips} (XOR)")
    found += bits_that_meet(grid)
    at = meeting_cell(grid, preferred)
    if at is not None:
        element, parts, value = _worked(grid, moves, at)
        given = " XOR ".join(f"{number} from {what}" for what, number in parts)
        wide = max(value, *(number for _, number in parts)).bit_length()
        binary = " XOR ".join(f"{number:0{wide}b}" for _, number in parts)
        found.append(f"element ({', '.join(map(str, element))}): {given} = {_word(axis)} {value}")
        found += [f"in bits: {binary} = {value:0{wide}b}"] * (wide <= _BITS)
    return found


def bits_that_meet(grid: Grid) -> list[str]:
    """Which bits of coordinates are XORed into each bit of a place; an empty list without XOR.

    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> bits_that_meet(tensor_grid(Operand("memory", Layout.parse("d0 = 2@(addr:2^addr), d1 = 2@(addr)")), 1, 1))
    ['address bit 0 is d1 bit 0 XOR d0 bit 0']
    """
    axis = _axis(grid)
    if axis is None:
        return []
    moves = lowest_moves(grid.layout)[axis]
    name, runs = _less(_word(axis), moves.start), [*_meetings(grid, moves)]
    found = [
        f"{name} {_bits(here, count)} {'is' if count == 1 else 'are'} {text}" for here, count, text in runs[:_MEETINGS]
    ]
    return found + [f"and so on for {counted(len(runs) - _MEETINGS, 'more bit')}"] * (len(runs) > _MEETINGS)


def meeting_cell(grid: Grid, preferred: Iterable[int] = ()) -> int | None:
    """A cell in whose XOR a bit cancels out, so that it differs from a sum; None without such a cell."""
    axis = _axis(grid)
    if axis is None:
        return None
    moves = lowest_moves(grid.layout)[axis]
    count = grid.shape[0] * grid.shape[1]
    second = None
    for cell in islice((*preferred, *range(count)), _TRIED):
        _, parts, value = _worked(grid, moves, cell)
        numbers = [number for _, number in parts]
        if len(numbers) < 2 or min(numbers) <= 0 or reduce(int.__xor__, numbers) != value:
            continue
        if value and sum(numbers) != value:
            return cell
        second = cell if second is None else second
    return second


def _axis(grid: Grid) -> str | None:
    """The first axis that several bits flip together."""
    if not grid.tensor or grid.shows or grid.layout.flips is None:
        return None
    moves = lowest_moves(grid.layout)
    return next((axis for axis in grid.axes if any(True for _ in _meetings(grid, moves[axis]))), None)


def _meetings(grid: Grid, moves: Moves) -> Iterator[tuple[int, int, str]]:
    """The weights of places that several bits flip: the first of neighbours, how many, and which bits meet there."""
    found: list[tuple[int, list[tuple[int, int]], bool]] = []  # the last: whether the place is flipped for all elements
    names = [*map(_less, grid.layout.names, grid.layout.origins)]
    for bit, weight in sorted(moves.weights, key=lambda one: one[1]):
        sources = [(d, step.place) for d, steps in enumerate(moves.dims) for step in steps if step.flipped & bit]
        if len(sources) > 1:
            found.append((weight, sorted(sources, key=lambda one: (-one[0], one[1])), bool(moves.flips & bit)))
    while found:
        (weight, sources, flipped), count = found[0], 1
        while _is_bit(weight, *(place for _, place in sources)) and found[count : count + 1] == [
            (weight << count, [(d, place << count) for d, place in sources], flipped)
        ]:
            count += 1
        met = " XOR ".join(f"{names[d]} {_bits(place, count)}" for d, place in sources)
        yield weight, count, met + ", flipped" * flipped
        found = found[count:]


def _is_bit(*weights: int) -> bool:
    """Whether each weight is a power of two: digits of others are no bits of a number."""
    return all(weight & weight - 1 == 0 for weight in weights)


def _less(name: str, start: int) -> str:
    """A number that counts from a start, as counted from 0."""
    return f"({name} {'-' if start > 0 else '+'} {abs(start)})" if start else name


def _bits(weight: int, count: int) -> str:
    low = weight.bit_length() - 1
    if not _is_bit(weight):
        return f"digit of weight {weight}"
    return f"bit {low}" if count == 1 else f"bits {low}-{low + count - 1}"


def _worked(grid: Grid, moves: Moves, cell: int) -> tuple[list[int], list[tuple[str, int]], int]:
    """The element of a cell, what each of its coordinates gives alone (of one coordinate its bits), and its number."""
    row, column = divmod(cell, grid.shape[1])
    element = [plane.rows[row][column] for plane in grid.element.values()]
    indices = [x - origin for x, origin in zip(element, grid.layout.origins, strict=True)]
    zeros = [0] * len(indices)

    def alone(d: int, x: int) -> int:
        return moves.at([*zeros[:d], x, *zeros[d + 1 :]])

    names = grid.layout.names
    moved = [d for d in reversed(range(len(indices))) if indices[d]]
    parts = [(names[d], alone(d, indices[d])) for d in moved]
    if len(moved) == 1:
        (d,) = moved
        bits = [1 << i for i in range(indices[d].bit_length()) if indices[d] >> i & 1]
        parts = [(f"{names[d]} bit {one.bit_length() - 1}", alone(d, one)) for one in bits]
    return element, parts, moves.at(indices)


def _word(axis: str) -> str:
    return "address" if axis == "addr" else spoken(axis)
