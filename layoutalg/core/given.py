"""The parts of a layout as a caller gives them, checked in one pass.

>>> given_factors([[(2, 4, "sg"), [16, 1, "reg"]]])
Traceback (most recent call last):
layoutalg.core.errors.LayoutError: factor [16, 1, 'reg']: expected (extent, stride, axis)

Programs write the same factors again and again, `(16, 1, "lane")` and its like. So a factor of two whole numbers along a usual
axis is looked at once: the same three values, soon after, give the same object. Equal values of another type are checked anew,
because True and 16.0 are not extents:

>>> dims = given_factors([[(2, 4, "sg"), (16, 1, "reg")], [(16, 1, "reg")]])
>>> dims[0][1] is dims[1][0]
True
>>> given_factors([[(16.0, 1, "reg")]])
Traceback (most recent call last):
layoutalg.core.errors.LayoutError: extent 16.0: expected a whole number, got float
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor, as_factor, as_name, default_names, size_of
from layoutalg.core.limits import MAX_EXTENT, MAX_SIZE, MAX_START, MOST_GIVEN
from layoutalg.core.messages import number_text, shown
from layoutalg.core.whole_numbers import as_whole, listed

__all__ = [
    "MACHINE",
    "default_labels",
    "given_factors",
    "given_labels",
    "given_replicas",
    "given_starts",
    "known_factors",
    "readable_again",
]

MACHINE = ("sg", "lane", "reg")
"""The axes of a GPU's machine, outermost first: subgroup, lane, register."""

_AXES = frozenset((*MACHINE, "addr", *default_names(8)))
"""Axes whose names need no check."""
_SEEN: dict[tuple[Any, ...], Factor] = {}
"""Factors that were found right lately, none of more than `_SMALL` values: `_MOST_SEEN` at most, then it begins anew."""
_MOST_SEEN = 512
_FEW, _SMALL = 3, 1 << 20
"""So many factors, each of so many values, are never too many elements."""
_LABELS = [(default_names(rank), (0,) * rank) for rank in range(9)]
_new = cast("Any", tuple).__new__


def given_factors(dims: Any, xor: bool = False) -> tuple[tuple[Factor, ...], ...]:
    """The factors of each dimension: an iterable of iterables of what `FactorLike` says.

    Raises `LayoutError` where something else stands for a factor, and `XorFoundError` for a factor that flips places, unless
    `xor` is true.

    >>> given_factors([[(16, 1, "lane")], []])
    ((Factor(extent=16, stride=1, axis='lane'),), ())
    """
    known = known_factors(dims)
    if known is not None:
        return known
    every: list[tuple[Factor, ...]] = []
    for given in dims if dims.__class__ is list and len(dims) < MOST_GIVEN else listed(dims, "dimensions"):
        few = (given.__class__ is list or given.__class__ is tuple) and len(given) <= _FEW
        found: list[Factor] = []
        for one in given if few else listed(given, "factors"):
            # A Factor that a caller made by hand was not checked; an XorFactor cannot be taken apart. bool is not int here.
            kind = one.__class__
            if (kind is tuple or kind is Factor) and len(one) == 3:
                extent, stride, axis = one
                if extent.__class__ is int and stride.__class__ is int and axis.__class__ is str:
                    found.append(_looked_at(one, xor))
                    few = few and extent <= _SMALL
                    continue
            found.append(as_factor(one, xor))
            few = False
        if not few and len(found) > 2 and _whole_size(found) > MAX_SIZE:
            raise LayoutError(f"a dimension of {number_text(size_of(found))} elements: expected at most 2^62")
        every.append(tuple(found))
    return tuple(every)


def known_factors(dims: Any) -> tuple[tuple[Factor, ...], ...] | None:
    """The factors of these dimensions, if each was checked a short time ago and no dimension has many; else None.

    >>> given_factors([[(16, 1, "lane")]]) == known_factors([[(16, 1, "lane")]]), known_factors([[(16.0, 1, "lane")]])
    (True, None)
    """
    if (dims.__class__ is not list and dims.__class__ is not tuple) or len(dims) > MOST_GIVEN:
        return None
    every: list[tuple[Factor, ...]] = []
    try:
        for given in dims:
            if (given.__class__ is not list and given.__class__ is not tuple) or len(given) > _FEW:
                return None
            found: list[Factor] = []
            for one in given:
                found.append(_SEEN[one])  # equal values, perhaps of another type: True is 1, and 16.0 is 16
                if one[0].__class__ is not int or one[1].__class__ is not int:
                    return None
            every.append(tuple(found))
    except (KeyError, TypeError):  # not seen; a list of places has no hash
        return None
    return tuple(every)


def readable_again(dims: Any) -> Any:
    """The same factors of dimensions, in lists where they came as something that can be read once.

    >>> readable_again(iter([iter([(4, 1, "lane")]), ()]))
    [((4, 1, 'lane'),), ()]
    """
    if dims.__class__ is list or dims.__class__ is tuple:
        for given in dims:
            if given.__class__ is not list and given.__class__ is not tuple:
                break
        else:
            return dims
    return [
        one if isinstance(one, (list, tuple)) else listed(one, "factors")
        for one in cast("Sequence[Any]", listed(dims, "dimensions"))
    ]


def given_replicas(replicas: object, xor: bool = False) -> tuple[Factor, ...]:
    """The factors that belong to no dimension.

    >>> given_replicas([(2, 16, "lane")])
    (Factor(extent=2, stride=16, axis='lane'),)
    """
    copies = tuple([as_factor(one, xor) for one in listed(replicas, "replicas")])
    for factor in copies:
        if factor[2] is None and factor.extent != 1:
            raise LayoutError(f"replica {factor}: a replica needs an axis to be repeated along")
    return copies


def _looked_at(given: tuple[int, int, str], xor: bool) -> Factor:
    """The factor of two whole numbers and a text, checked; a usual one is known from then on."""
    extent, stride, axis = given
    if not (0 < extent <= MAX_EXTENT and 0 < stride <= MAX_START and axis in _AXES):
        return as_factor(given, xor)
    factor: Factor = _new(Factor, given)
    if extent <= _SMALL:
        if len(_SEEN) >= _MOST_SEEN:
            _SEEN.clear()
        _SEEN[factor] = factor
    return factor


def _whole_size(factors: Iterable[Factor]) -> int:
    """The elements of a dimension; 0 where an extent is a symbol."""
    size = 1
    for factor in factors:
        size *= factor[0] if type(factor[0]) is int else 0
    return size


def default_labels(rank: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names and origins of so many dimensions that have none of their own.

    >>> default_labels(2)
    (('d0', 'd1'), (0, 0))
    """
    return _LABELS[rank] if rank < len(_LABELS) else (default_names(rank), (0,) * rank)


def given_labels(
    rank: int, names: Iterable[str] | None, origins: Iterable[int] | None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names and origins of so many dimensions.

    >>> given_labels(2, ("row", "row"), None)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: dimension names ['row', 'row']: a name stands twice
    """
    starts = (0,) * rank if origins is None else tuple([as_whole(o, "origin") for o in listed(origins, "origins")])
    labels = default_names(rank) if names is None else tuple([as_name(n, "dimension") for n in listed(names, "names")])
    if len(labels) != rank or len(starts) != rank:
        raise LayoutError(f"{rank} dimensions with {len(labels)} names and {len(starts)} origins")
    if len(set(labels)) != rank:
        raise LayoutError(f"dimension names {list(labels)}: a name stands twice")
    return labels, starts


def given_starts(offsets: object) -> tuple[tuple[str, int], ...]:
    """The offsets, sorted, without those of 0.

    >>> given_starts({"lane": 3, "addr": 0})
    (('lane', 3),)
    """
    try:
        pairs: dict[Any, Any] = dict(cast("Mapping[Any, Any]", offsets))
    except (TypeError, ValueError):
        raise LayoutError(f"offsets {shown(offsets)}: expected an offset per axis, such as {{'addr': 64}}") from None
    found = [(as_name(axis, "axis"), as_whole(start, f"offset of {axis}")) for axis, start in pairs.items()]
    return tuple(sorted((axis, start) for axis, start in found if start))
