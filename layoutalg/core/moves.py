"""Where elements are, without arrays: what each coordinate adds along an axis, and which of its XORed places it flips.

The place of an element is a sum over its coordinates, so each dimension is asked alone, and a plane of many elements is a row
part and a column part:

>>> tile = Layout.parse("d0 = 2@(lane:2^lane), d1 = 2@(lane) 2@reg")
>>> lane = lowest_moves(tile)["lane"]
>>> [lane.of(0, x) for x in range(2)], [lane.of(1, x) for x in range(4)]
([(0, 0), (0, 3)], [(0, 0), (0, 0), (0, 1), (0, 1)])
>>> plane_of(lane, [(0, [0, 1])], [(1, [0, 1, 2, 3])]).rows
[[0, 0, 1, 1], [3, 3, 2, 2]]

Coordinates are numbers or arrays of them: the arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.limits import MAX_COPIES
from layoutalg.core.messages import number_text, shown
from layoutalg.core.whole_numbers import found_whole, listed
from layoutalg.core.xor.lowest import lowest_owner, places_of, xored_axis

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["Moves", "Plane", "limit_copies", "lowest_moves", "owners", "plane_of"]


class _Step(NamedTuple):
    """A digit of a dimension: what it adds along one axis for each of its values, or what it flips where it is 1."""

    place: int
    extent: int
    added: int
    flipped: int


class Moves(NamedTuple):
    """How the lowest owners of elements lie along one axis, dimension by dimension.

    >>> lowest_moves(Layout.parse("d0 = 4@lane | offset 8@lane"))["lane"].at((3,))
    11
    """

    start: int
    flips: int
    """The bits that are flipped for all elements."""
    dims: tuple[tuple[_Step, ...], ...]
    weights: tuple[tuple[int, int], ...]
    """The bits of the XORed places, and what each counts along the axis."""

    def of(self, d: int, coordinate: Any) -> tuple[Any, Any]:
        """What a coordinate of a dimension, counted from 0, adds and what it flips."""
        added: Any = 0
        flipped: Any = 0
        for place, extent, along, bits in self.dims[d]:
            digit = coordinate // place % extent
            added = added + digit * along
            if bits:
                flipped = flipped ^ digit * bits
        return added, flipped

    def at(self, element: Sequence[Any]) -> Any:
        """Where an element is whose coordinates count from 0."""
        total: Any = self.start
        flipped: Any = self.flips
        for d, coordinate in enumerate(element):
            added, bits = self.of(d, coordinate)
            total, flipped = total + added, flipped ^ bits
        return total + self.weigh(flipped)

    def weigh(self, flipped: Any) -> Any:
        """What flipped places count along the axis."""
        return sum((flipped // bit % 2 * weight for bit, weight in self.weights), 0)


def lowest_moves(layout: Relation) -> dict[str, Moves]:
    """The moves of every axis of the codomain to the lowest owner of each element.

    >>> lowest_moves(Layout.parse("d0 = 2@lane 4@reg"))["reg"].at((5,))
    1
    """
    if layout.flips is not None:
        return _xored_moves(layout)
    starts = layout.offsets
    dims: dict[str, list[list[_Step]]] = {axis: [] for axis in layout.codomain}
    for factors in layout.canonical().dims:
        for rows in dims.values():
            rows.append([])
        place = 1
        for extent, stride, axis in reversed(factors):
            if axis is not None:
                dims[axis][-1].append(_Step(place, extent, stride, 0))
            place *= extent
    return {axis: Moves(starts.get(axis, 0), 0, tuple(map(tuple, rows)), ()) for axis, rows in dims.items()}


def _xored_moves(layout: Relation) -> dict[str, Moves]:
    digits, flips = lowest_owner(layout)
    starts = layout.offsets
    found: dict[str, Moves] = {}
    for name in layout.codomain:
        bits = xored_axis(digits, name).bits
        flipped = 0
        for axis, weight in flips:
            flipped ^= bits[weight] if axis == name else 0
        dims: list[tuple[_Step, ...]] = []
        for row in digits.dims:
            steps: list[_Step] = []
            for digit in row:
                weights = [weight for axis, weight in digit.moves if axis == name]
                if digit.flips:
                    steps.append(_Step(digit.place, 2, 0, sum(bits[weight] for weight in weights)))
                elif weights:
                    steps.append(_Step(digit.place, digit.extent, weights[0], 0))
            dims.append(tuple(steps))
        found[name] = Moves(starts.get(name, 0), flipped, tuple(dims), tuple((bit, w) for w, bit in bits.items()))
    return found


@dataclass(frozen=True, eq=False)
class Plane:
    """A number for each row and column: the sum of what both add, and what the places count that just one of them flips.

    >>> Plane((0, 8), (0, 1, 2)).rows
    [[0, 1, 2], [8, 9, 10]]
    """

    down: Sequence[int]
    across: Sequence[int]
    flipped: tuple[Sequence[int], Sequence[int]] | None = None
    """What rows and columns flip."""
    weights: tuple[tuple[int, int], ...] = ()

    @cached_property
    def rows(self) -> Sequence[Sequence[int]]:
        """The numbers: `[row][column]`. Rows that are equal may be one list."""
        if self.flipped is not None:
            down, across = self.flipped
            bits = {here ^ there for here in {*down} for there in {*across}}
            count = {one: sum(weight for bit, weight in self.weights if one & bit) for one in bits}
            return [
                [a + b + count[here ^ there] for b, there in zip(self.across, across, strict=True)]
                for a, here in zip(self.down, down, strict=True)
            ]
        made = {start: [start + more for more in self.across] for start in {*self.down}}
        return [made[start] for start in self.down]

    @property
    def cells(self) -> Iterable[int]:
        """The numbers row by row."""
        return chain.from_iterable(self.rows)


def plane_of(
    moves: Moves, down: Sequence[tuple[int, Sequence[int]]], across: Sequence[tuple[int, Sequence[int]]]
) -> Plane:
    """The places along one axis of a plane of elements: of some dimensions the coordinates of its rows, of others its columns'.

    Each dimension stands with its coordinates, which count from 0; all sequences of a side are equally long, and a side without
    a dimension has one row or column.

    >>> plane_of(lowest_moves(Layout.parse("d0 = 4@reg"))["reg"], [], [(0, [1, 3])]).rows
    [[1, 3]]
    """
    (down_added, down_flipped), (across_added, across_flipped) = (_side(moves, side) for side in (down, across))
    added = [moves.start + one for one in down_added]
    if not moves.weights:
        return Plane(added, across_added)
    return Plane(added, across_added, ([moves.flips ^ one for one in down_flipped], across_flipped), moves.weights)


def _side(moves: Moves, side: Sequence[tuple[int, Sequence[int]]]) -> tuple[list[int], list[int]]:
    """What the rows, or the columns, add and flip."""
    added, flipped = [0], [0]
    for i, (d, coordinates) in enumerate(side):
        known = {x: moves.of(d, x) for x in {*coordinates}}
        found = [known[x] for x in coordinates]
        if i == 0:
            added, flipped = [a for a, _ in found], [f for _, f in found]
        else:
            added = [a + more for a, (more, _) in zip(added, found, strict=True)]
            flipped = [f ^ more for f, (_, more) in zip(flipped, found, strict=True)]
    return added, flipped


def owners(layout: Relation, element: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position of the codomain that holds one element, ascending (see `Layout.owners`).

    Raises `LayoutError` for an element outside the tensor.
    """
    layout.require_numbers("asking for a map")
    given = _element(layout, element)
    for value, origin, size, name in zip(given, layout.origins, layout.shape, layout.names, strict=True):
        if not origin <= value < origin + size:
            raise LayoutError(
                f"element {shown(tuple(given))}: {name} goes from {origin} to {origin + size - 1} (in {layout})"
            )
    limit_copies(layout)
    return places_of(layout, [value - origin for value, origin in zip(given, layout.origins, strict=True)])


def _element(layout: Relation, element: Sequence[int]) -> list[int]:
    """The coordinates of one element that a caller gave."""
    given = [found_whole(value) for value in listed(element, "element")]
    whole = [value for value in given if value is not None]
    if len(whole) != len(given):
        raise LayoutError(f"element {shown(element)}: expected {layout.rank} whole numbers (of {layout})")
    if len(whole) != layout.rank:
        raise LayoutError(f"element {shown(element)}: expected {layout.rank} coordinates (of {layout})")
    return whole


def limit_copies(layout: Relation) -> None:
    """Refuse to list more than 2^19 copies of an element."""
    count = prod(f.extent for f in layout.replicas)
    if count > MAX_COPIES:
        raise SizeError(f"{number_text(count)} copies of each element: at most {MAX_COPIES} are listed (in {layout})")
