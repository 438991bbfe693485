"""What a work-item needs of a tensor and does not hold: one layout says what is needed, the other what is held.

A lane that adds two tiles needs of both what it makes of the result. Here the second tile has a row in every lane, and the
result a column, so lane 1 lacks element (0, 1), which is in lane 0:

>>> columns, rows = Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg")
>>> print(missing(columns, rows))
lane 1 needs element (0, 1), which is in lane 0
>>> missing(columns, columns)

Registers do not count, and neither do copies that are held beyond what is needed:

>>> missing(columns, Layout.parse("d0 = 2@reg:2, d1 = 2@reg | replicas 2@lane"))

The places of an element are `start + f0(x0) + f1(x1) + ... + copies`, so whether one is missing depends on the difference of
the two sums alone. Each dimension has few differences, and they are tried, not the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from layoutalg.compare.owners import Owner, copies_of, first_owners, places_text
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_COMPARED_ENTRIES
from layoutalg.core.whole_numbers import instance_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Missing", "missing", "missing_pairs"]

_REGISTERS = "reg"
_MOST_DIFFERENCES = 1 << 22
_SHOWN_HOLDERS = 16


@dataclass(frozen=True, slots=True)
class Missing:
    """The first element (row-major) that a work-item needs and does not hold, the first such work-item, and who holds it.

    `needed_by` and the `holders` have one coordinate per axis of `axes`; at most 16 holders are listed.

    >>> Missing((0, 1), ("lane",), (1,), ((0,),)).where
    'lane 1'
    """

    element: tuple[int, ...]
    axes: tuple[str, ...]
    needed_by: Owner
    holders: tuple[Owner, ...]

    @property
    def where(self) -> str:
        """The work-item that needs the element, in words.

        >>> Missing((0,), ("sg", "lane"), (1, 3), ()).where
        'subgroup 1, lane 3'
        """
        return places_text([self.needed_by], self.axes).removeprefix("in ")

    @property
    def held(self) -> str:
        """Who holds the element, in words.

        >>> Missing((0,), ("sg", "lane"), (1, 3), ((0, 3),)).held
        'in subgroup 0, lane 3'
        """
        return places_text(self.holders, self.axes) if self.holders else "nowhere"

    def __str__(self) -> str:
        return f"{self.where} needs element {self.element}, which is {self.held}"


def missing(needed: Layout, held: Layout) -> Missing | None:
    """The first element that some work-item needs and does not hold; None where every one holds what it needs.

    Both are layouts of one tensor; `needed` may cover a part of it (its origins say which). Registers are left out.

    Raises `ConversionError` for layouts of tensors that do not lie within each other and for symbolic ones, `SizeError`
    where more than 2^22 differences have to be tried.

    >>> some = Layout.parse("d0 = 4@lane | origin 4@d0")
    >>> print(missing(some, Layout.parse("d0 = 8@lane")))
    lane 0 needs element (4,), which is in lane 4
    """
    instance_of(needed, Layout, "needed", ConversionError)
    instance_of(held, Layout, "held", ConversionError)
    return _missing(needed, held)


@lru_cache(maxsize=1 << 14)
def _missing(needed: Layout, held: Layout) -> Missing | None:
    a, b = _on_work_items(needed), _on_work_items(held)
    if a.rank != b.rank or any(
        low < start or low + size > start + whole
        for low, size, start, whole in zip(a.origins, a.shape, b.origins, b.shape, strict=True)
    ):
        raise ConversionError(f"missing: {needed} is not a part of the tensor of {held}")
    if a == b:
        return None
    used = {axis for layout in (a, b) for axis in layout.axes}
    axes = tuple([axis for axis in MACHINE if axis in used] + sorted(used.difference(MACHINE)))
    if not axes:
        return None
    return _first(a, b, axes)


def _on_work_items(layout: Layout) -> Layout:
    """The layout without its registers, in canonical form."""
    layout.require_numbers("comparing what is needed with what is held")
    layout.require_strides("a layout that is compared work-item by work-item")
    dims = tuple(tuple([Factor(f.extent) if f.axis == _REGISTERS else f for f in factors]) for factors in layout.dims)
    return Layout(
        dims,
        [factor for factor in layout.replicas if factor.axis != _REGISTERS],
        {axis: start for axis, start in layout.offsets.items() if axis != _REGISTERS},
        origins=layout.origins,
    ).canonical()


def _first(needed: Layout, held: Layout, axes: tuple[str, ...]) -> Missing | None:
    """Try the differences between the two places of an element: few per dimension, each with its first element."""
    import numpy as np

    steps = _steps(needed, held, axes)
    copies_needed, copies_held = (_codes(copies_of(one, axes, _MOST_DIFFERENCES), steps) for one in (needed, held))
    start = _code([needed.offsets.get(axis, 0) - held.offsets.get(axis, 0) for axis in axes], steps)
    differences: list[NDArray[Any]] = []
    firsts: list[NDArray[Any]] = []
    for d in range(needed.rank):
        size = int(needed.shape[d])
        here = _moves(needed.dims[d], np.arange(size), axes, steps)
        inside = np.arange(size) + (needed.origins[d] - held.origins[d])
        values, first = np.unique(here - _moves(held.dims[d], inside, axes, steps), return_index=True)
        order = np.argsort(first)
        differences.append(values[order])
        firsts.append(first[order])
    count = prod(len(one) for one in differences)
    if count > _MOST_DIFFERENCES:
        raise SizeError(f"missing: {count} differences to try between {needed} and {held}: over 2^22")
    total: Any = np.array(start, np.int64)
    for d, values in enumerate(differences):
        total = total + values.reshape((-1,) + (1,) * (len(differences) - 1 - d))
    # What is asked of an element is asked of every difference once.
    asked, back = np.unique(total.reshape(-1), return_inverse=True)
    lacks = np.array([not np.isin(copies_needed + one, copies_held).all() for one in asked], np.bool_)
    wrong = lacks[back.reshape(-1)].reshape(total.shape)
    if not wrong.any():
        return None
    # Differences are in the order of their first elements, so the first wrong one has the first wrong element.
    at = np.unravel_index(int(wrong.reshape(-1).argmax()), total.shape) if total.shape else ()
    element = tuple([int(first[k]) + o for first, k, o in zip(firsts, at, needed.origins, strict=True)])
    return _told(needed, held, element, axes)


def _told(needed: Layout, held: Layout, element: tuple[int, ...], axes: tuple[str, ...]) -> Missing:
    wanting, holding = _places(needed, element, axes), _places(held, element, axes)
    known = set(holding)
    return Missing(element, axes, next(one for one in wanting if one not in known), tuple(holding[:_SHOWN_HOLDERS]))


def _places(layout: Layout, element: tuple[int, ...], axes: tuple[str, ...]) -> list[Owner]:
    inside = [x - o for x, o in zip(element, layout.origins, strict=True)]
    start = first_owners(layout, inside, axes)
    copies = copies_of(layout, axes, _MOST_DIFFERENCES)
    return [tuple([x + y for x, y in zip(start, copy, strict=True)]) for copy in copies]


def _steps(needed: Layout, held: Layout, axes: tuple[str, ...]) -> list[int]:
    """The weight of each axis in a number that stands for a difference of places: sums of differences stay apart."""
    reach = [0] * len(axes)
    for layout in (needed, held):
        spans = layout.spans()
        for i, axis in enumerate(axes):
            reach[i] += int(spans.get(axis, 1)) + abs(layout.offsets.get(axis, 0))
    steps = [1]
    for size in reach[:0:-1]:
        steps.insert(0, steps[0] * (4 * size + 1))
    if steps[0] * 4 * (reach[0] + 1) >= 2**62:
        raise SizeError(f"missing: places of {needed} and {held} do not fit into 64 bits")
    return steps


def _code(place: Sequence[int], steps: Sequence[int]) -> int:
    return sum(x * step for x, step in zip(place, steps, strict=True))


def _codes(places: Sequence[Owner], steps: Sequence[int]) -> NDArray[Any]:
    import numpy as np

    return np.array(places, np.int64).reshape(len(places), len(steps)) @ np.array(steps, np.int64)


def _moves(factors: tuple[Factor, ...], values: NDArray[Any], axes: tuple[str, ...], steps: Sequence[int]) -> Any:
    """How far each value of a dimension moves, as numbers."""
    import numpy as np

    rest, moved = values.astype(np.int64), np.zeros(values.shape, np.int64)
    for extent, stride, axis in reversed(factors):
        rest, digit = np.divmod(rest, extent)
        if axis is not None:
            moved += digit * (stride * steps[axes.index(axis)])
    return moved


def missing_pairs(needed: NDArray[Any], held: NDArray[Any], rank: int, axes: tuple[str, ...]) -> Missing | None:
    """The same for relations that are written out: rows of an element's coordinates and a place's, in any order.

    >>> import numpy as np
    >>> print(missing_pairs(np.array([[0, 1], [1, 1]]), np.array([[0, 1], [1, 0]]), 1, ("lane",)))
    lane 1 needs element (1,), which is in lane 0
    """
    import numpy as np

    if len(needed) + len(held) > MOST_COMPARED_ENTRIES * 32:
        raise SizeError(f"missing: {len(needed) + len(held)} pairs of an element and a place: over 2^23")
    both: Any = np.concatenate([needed, held])
    rows = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    lacking = needed[~np.isin(rows[: len(needed)], rows[len(needed) :])]
    if not len(lacking):
        return None
    first = min(_listed(lacking))
    element, place = first[:rank], first[rank:]
    holders = held[(held[:, :rank] == np.array(element)).all(axis=1)][:, rank:]
    return Missing(element, axes, place, tuple(sorted(_listed(holders))[:_SHOWN_HOLDERS]))


def _listed(rows: NDArray[Any]) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]
