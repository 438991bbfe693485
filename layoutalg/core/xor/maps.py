"""Maps of layouts with XOR at the speed of memory: a short vector for each dimension, and one broadcast XOR of them.

>>> Layout.parse("d0 = 2@(lane:2^lane), d1 = 2@(lane)").owner_map("lane").tolist()
[[0, 1], [3, 2]]

Where an axis counts in powers of two alone, all its digits are bits of one number, and XOR is all there is. Otherwise the
XORed places are numbered, XORed as bits of that number, looked up, and added to what the other digits count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.factors import Place, XorFactor
from layoutalg.core.gf2 import modulo, reduced
from layoutalg.core.lazy import once
from layoutalg.core.xor.digits import Digit, Digits, digits_of, named

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["fill", "fill_lowest", "flipped_copies", "lowest_owner", "places_at", "places_of"]

_L = TypeVar("_L", bound="Relation")
_Vector = NDArray[np.signedinteger[Any]]


class _Axis(NamedTuple):
    """How one axis counts."""

    name: str
    bits: dict[int, int]
    """The bit that stands for each XORed place, by its weight."""
    binary: bool
    """Whether all digits are powers of two of powers of two: then the bits are the weights."""
    weights: list[int]
    """The weights of the XORed places, ascending."""


def _axis_of(digits: Digits, name: str) -> _Axis:
    """How an axis counts."""
    row = digits.on_axis.get(name, [])
    binary = bool(row) and all(not (weight & (weight - 1) or extent & (extent - 1)) for weight, extent in row)
    weights = [weight for weight, _ in row if (name, weight) in digits.places]
    return _Axis(name, {w: w if binary else 1 << i for i, w in enumerate(weights)}, binary, weights)


def _vectors(
    row: Sequence[Digit], axis: _Axis, pick: _Vector | None, dtype: np.dtype[Any]
) -> tuple[_Vector | None, _Vector | None]:
    """What the values of a dimension XOR onto an axis, and what they add to it; None for nothing."""
    found: list[_Vector] = [np.zeros(1, dtype), np.zeros(1, dtype)]
    used = [False, False]
    for digit in reversed(row):
        step = kind = 0
        for name, weight in digit.moves:
            if name == axis.name:
                if digit.flips:
                    step ^= axis.bits[weight]
                else:
                    step, kind = weight, 0 if axis.binary else 1
        values = np.arange(digit.extent, dtype=dtype) * dtype.type(step)
        used[kind] |= bool(step)
        if kind:
            found = [np.repeat(found[0], digit.extent), (found[1][:, None] + values).reshape(-1)]
        else:
            found = [(found[0][:, None] ^ values).reshape(-1), np.repeat(found[1], digit.extent)]
    chosen = found if pick is None else [one[pick] for one in found]
    return chosen[0] if used[0] else None, chosen[1] if used[1] else None


def _fill_axis(
    rows: Sequence[tuple[Sequence[Digit], _Vector | None]],
    axis: _Axis,
    flips: Iterable[Place],
    start: int,
    out: _Vector,
) -> None:
    """Write the coordinates on one axis over all values (or the picked ones) of each dimension into `out`."""
    dtype = out.dtype
    found = [_vectors(row, axis, pick, dtype) for row, pick in rows]

    def spread(at: int, vector: _Vector) -> _Vector:
        return vector.reshape((-1,) + (1,) * (len(rows) - 1 - at))

    flipped = 0
    for name, weight in flips:
        if name == axis.name:
            flipped ^= axis.bits[weight]
    xors = [spread(i, one) for i, (one, _) in enumerate(found) if one is not None]
    if flipped:
        xors[:1] = [xors[0] ^ dtype.type(flipped)] if xors else [np.array(flipped, dtype)]
    if len(xors) > 1:
        head = xors[0]
        for one in xors[1:-1]:
            head = head ^ one
        np.bitwise_xor(head, xors[-1], out=out)
    else:
        out[...] = xors[0] if xors else 0
    if xors and not axis.binary:
        table = np.zeros(1, dtype)
        for weight in axis.weights:
            table = np.concatenate([table, table + dtype.type(weight)])
        out[...] = table[out]
    for i, (_, one) in enumerate(found):
        if one is not None:
            out += spread(i, one)
    if start:
        out += dtype.type(start)


def lowest_owner(layout: Relation) -> tuple[Digits, list[Place]]:
    """The digits and flips of each element's lowest owner, in the order of the codomain: columns modulo the replicas."""
    return once(layout.kept, "lowest owner", lambda: _lowest_owner(layout))


def _lowest_owner(layout: Relation) -> tuple[Digits, list[Place]]:
    digits = digits_of(layout)
    if not any(copy.flips for copy in digits.replicas):
        return digits, list(layout.flips or ())
    rank = {axis: i for i, axis in enumerate(layout.codomain)}  # the first axis is the most significant
    places = sorted(digits.places, key=lambda place: (-rank[place[0]], place[1]))
    bit = {place: 1 << i for i, place in enumerate(places)}

    def vector(moves: Iterable[Place]) -> int:
        return sum(bit[place] for place in moves)

    copies = reduced(vector(copy.moves) for copy in digits.replicas if copy.flips)

    def lowest(digit: Digit) -> Digit:
        moves = named(modulo(vector(digit.moves), copies), places)
        return digit._replace(moves=tuple(moves), flips=sum(digits.places[place] for place in moves))

    rows = [[lowest(one) if one.flips else one for one in row] for row in digits.dims]
    return digits._replace(dims=rows), named(modulo(vector(layout.flips or ()), copies), places)


def fill_lowest(layout: Relation, axis: str, out: _Vector) -> None:
    """Write where the lowest owner of each element is on an axis."""
    digits, flips = lowest_owner(layout)
    _fill_axis([(row, None) for row in digits.dims], _axis_of(digits, axis), flips, layout.offsets.get(axis, 0), out)


def fill(layout: Relation, axes: Sequence[str], picks: Sequence[_Vector | None], out: _Vector) -> None:
    """Write where the elements are on each of `axes` (`out[axis]`), of each dimension all values or the picked ones."""
    digits = digits_of(layout)
    starts = layout.offsets
    for i, axis in enumerate(axes):
        rows = list(zip(digits.dims, picks, strict=True))
        _fill_axis(rows, _axis_of(digits, axis), layout.flips or (), starts.get(axis, 0), out[i])


def places_at(layout: Relation, counted: Sequence[NDArray[np.int64]]) -> dict[str, Any]:
    """The lowest owner of many elements, whose coordinates count from 0: an array for each axis."""
    digits, flips = lowest_owner(layout)
    found: dict[str, Any] = {}
    for name in layout.codomain:
        axis = _axis_of(digits, name)
        bits: Any = 0
        for place in flips:
            bits ^= axis.bits[place[1]] if place[0] == name else 0
        total: Any = layout.offsets.get(name, 0)
        for values, row in zip(counted, digits.dims, strict=True):
            for digit in row:
                for along, weight in digit.moves:
                    if along == name:
                        value = values // digit.place % digit.extent
                        bits, total = (
                            (bits ^ value * axis.bits[weight], total) if digit.flips else (bits, total + value * weight)
                        )
        for weight, bit in axis.bits.items():
            total = total + (bits // bit % 2) * weight
        found[name] = total
    return found


def flipped_copies(layout: _L) -> list[_L]:
    """The layout once for each value of the replicas that flip places, each copy with its own flips instead."""
    form = layout.canonical()
    plain = tuple(one for one in form.replicas if type(one) is not XorFactor)
    sides = [frozenset(form.flips or ())]
    for one in form.replicas:
        if type(one) is XorFactor:
            sides += [flips ^ frozenset(one.places) for flips in sides]
    offsets = tuple(sorted(form.offsets.items()))
    codomain = layout.codomain
    return [
        form.as_written(form.dims, plain, offsets, form.names, form.origins, codomain, tuple(sorted(flips)))
        for flips in sides
    ]


def places_of(layout: Relation, element: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position of the codomain that holds an element (its coordinates counted from 0), ascending."""
    digits = digits_of(layout)
    flipped = frozenset(layout.flips or ())
    at = {axis: layout.offsets.get(axis, 0) for axis in layout.codomain}
    for value, row in zip(element, digits.dims, strict=True):
        for one in row:
            count = value // one.place % one.extent
            if one.flips and count:
                flipped = flipped.symmetric_difference(one.moves)
            elif not one.flips:
                for axis, stride in one.moves:
                    at[axis] += count * stride
    order = list(at)
    found = {(flipped, tuple(at.values()))}
    for copy in digits.replicas:
        if copy.flips:
            found |= {(flips.symmetric_difference(copy.moves), place) for flips, place in found}
        else:
            ((axis, stride),) = copy.moves
            column = order.index(axis)
            found = {
                (flips, (*place[:column], place[column] + count * stride, *place[column + 1 :]))
                for flips, place in found
                for count in range(copy.extent)
            }
    return sorted(
        {
            tuple(value + sum(w for name, w in flips if name == axis) for axis, value in zip(order, place, strict=True))
            for flips, place in found
        }
    )
