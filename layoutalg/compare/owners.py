"""Where elements live, in words and one by one: what `same` answers with, and what it counts where there is no closed form.

>>> places_text([(0, 0, 3), (0, 16, 3)], ("sg", "lane", "reg"))
'in subgroup 0, lanes 0 and 16, register 3'

`Places` is a relation written out. A nested layout whose threads leave tiles to nobody has no `Layout`, but it has these:

>>> from layoutalg.core.notation import Machine
>>> from layoutalg.nested import NestedLayoutAttr
>>> half = NestedLayoutAttr((1,), (1,), (1,), (2,), (2,), (0,), (0,))
>>> places = Places.of_map(half.coordinates((4,), Machine(lanes=2)), (4,))
>>> places.owners((1,)), places.owners((3,))
([(0, 0, 1), (0, 1, 1)], [])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from layoutalg.core.errors import SizeError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_COMPARED_ENTRIES as _MOST_ENTRIES
from layoutalg.core.plurals import spoken

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Owner", "Places", "copies_of", "first_owners", "owners_text", "places_text"]

Owner: TypeAlias = tuple[int, ...]
"""A place: one coordinate per axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Which threads and registers hold each element of a tensor of `shape`: those that nobody holds are not in `rows`."""

    shape: tuple[int, ...]
    rows: NDArray[Any]
    """An element's coordinates, then its subgroup, lane and register: a row for each place, in ascending order."""

    @staticmethod
    def of_map(held: NDArray[Any], shape: Sequence[int]) -> Places:
        """The coordinates that each work-item holds, `[sg, lane, reg, rank]`, the other way round; -1 is a slot without any.

        Raises `SizeError` over 2^18 registers in all.
        """
        subgroups, lanes, registers, rank = held.shape
        if subgroups * lanes * registers > _MOST_ENTRIES:
            raise SizeError(f"{subgroups * lanes} threads with {registers} registers: over 2^18 to count through")
        import numpy as np

        owners = np.indices((subgroups, lanes, registers)).reshape(3, -1).T
        elements = held.reshape(-1, rank)
        kept = (elements >= 0).all(1)
        return Places(tuple(shape), _ascending(np.concatenate((elements[kept], owners[kept]), 1)))

    @staticmethod
    def of_layout(layout: Layout, shape: Sequence[int]) -> Places:
        """A layout onto the machine, written out.

        Raises `SizeError` over 2^18 places.
        """
        count = prod(shape) * prod([f.extent for f in layout.replicas])
        if count > _MOST_ENTRIES:
            raise SizeError(f"{count} places: over 2^18 to count through (of {layout})")
        import numpy as np

        from layoutalg.core.fragments import every_place

        elements = np.indices(tuple(shape)).reshape(len(shape), prod(shape)).T
        owners: Any
        if any(abs(reach) > _NEAR for reach in (*layout.spans().values(), *layout.offsets.values())):
            copies = copies_of(layout, MACHINE)  # Python's own numbers: a place may be over 2^63
            starts = [first_owners(layout, element, MACHINE) for element in elements.tolist()]
            owners = np.array(starts, object)[:, None, :] + np.array(copies, object)
        else:
            places = every_place(layout)
            nowhere = np.zeros((len(elements), 1), np.int64)
            owners = np.stack(np.broadcast_arrays(*[places.get(axis, nowhere) for axis in MACHINE]), -1)
        rows = np.concatenate((elements.repeat(owners.shape[1], 0), owners.reshape(-1, len(MACHINE))), 1)
        return Places(tuple(shape), _ascending(rows))

    def owners(self, element: tuple[int, ...]) -> list[Owner]:
        """Every (subgroup, lane, register) that holds an element, ascending."""
        rank = len(self.shape)
        found = self.rows[(self.rows[:, :rank] == element).all(1), rank:]
        return [tuple(owner) for owner in found.tolist()]

    def first_difference(self, other: Places) -> tuple[int, ...] | None:
        """The first element, row-major, that has other owners in `other`; None if both have the same owners.

        >>> one, two = (Places.of_layout(Layout.parse(text), (4,)) for text in ("d0 = 4@lane", "d0 = 2@lane 2@reg"))
        >>> one.first_difference(two), one.first_difference(one)
        ((1,), None)
        """
        count, rank = min(len(self.rows), len(other.rows)), len(self.shape)
        differ = (self.rows[:count] != other.rows[:count]).any(1)
        at = int(differ.argmax()) if differ.any() else count
        rest = [rows[at, :rank].tolist() for rows in (self.rows, other.rows) if at < len(rows)]
        return tuple(min(rest)) if rest else None

    def without_registers(self) -> NDArray[Any]:
        """The work-items that hold each element, whatever the register: rows of coordinates, a subgroup and a lane."""
        rows = self.rows[:, :-1]
        changed = (rows[1:] != rows[:-1]).any(1)
        return rows[[True, *changed.tolist()][: len(rows)]]


_NEAR = 2**61
"""How far a place may be that 64 bits hold, with an offset."""


def _ascending(rows: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return rows[np.lexsort(rows.T[::-1])]


def first_owners(layout: Layout, element: Sequence[int], axes: Sequence[str]) -> Owner:
    """The lowest place of an element, counted from 0 in each dimension; one coordinate per axis.

    >>> first_owners(Layout.parse("d0 = 2@lane 4@reg | replicas 2@lane:2"), (5,), ("lane", "reg"))
    (1, 1)
    """
    place = dict.fromkeys(axes, 0) | layout.offsets
    for value, factors in zip(element, layout.dims, strict=True):
        rest = value
        for extent, stride, axis in reversed(factors):
            if not rest:
                break
            rest, digit = divmod(rest, extent)
            if axis is not None:
                place[axis] += digit * stride
    return tuple([place[axis] for axis in axes])


def copies_of(layout: Layout, axes: Sequence[str], most: int = _MOST_ENTRIES) -> list[Owner]:
    """How far the replicas move an element: all combinations, each once, ascending; or the lowest, at most `most`.

    >>> copies_of(Layout.parse("d0 = 2@reg | replicas 2@lane:8 2@lane"), ("lane", "reg"))
    [(0, 0), (1, 0), (8, 0), (9, 0)]
    """
    found: set[Owner] = {(0,) * len(axes)}
    if not layout.replicas:
        return [*found]
    columns = {axis: i for i, axis in enumerate(axes)}
    # The factors that count fastest first, so that the lowest places are there where not all are.
    for extent, stride, axis in sorted(layout.replicas, key=lambda f: (-columns[str(f.axis)], f.stride)):
        column = columns[str(axis)]
        extent = min(extent, max(1, most // len(found)))
        found = {
            (*copy[:column], copy[column] + digit * stride, *copy[column + 1 :])
            for copy in found
            for digit in range(extent)
        }
    return sorted(found)


def owners_text(owners: Sequence[Owner], axes: Sequence[str], count: int | None = None) -> str:
    """Where an element is, as the end of a sentence; `count` is the number of owners where not all are listed.

    >>> owners_text([], ("lane",)), owners_text([(5,)], ("lane",))
    ('belongs to nobody', 'is in lane 5')
    """
    return f"is {places_text(owners, axes, count)}" if owners else "belongs to nobody"


def places_text(owners: Sequence[Owner], axes: Sequence[str], count: int | None = None) -> str:
    """Some owners in words: those that differ in one coordinate only are listed together; of others, the first two.

    >>> places_text([(lane,) for lane in range(16)], ("lane",), 64)
    'in lanes 0 to 15 and 48 more'
    >>> places_text([(0, 0), (1, 1)], ("lane", "reg")), places_text([(0,)], ("addr",))
    ('in lane 0, register 0 and in lane 1, register 1', 'in addr 0')
    """
    if not axes:
        return "in the only place"
    words = [spoken(axis) for axis in axes]
    more = (len(owners) if count is None else count) - len(owners)
    if len(owners) == 1 and not more:
        return "in " + ", ".join([f"{word} {x}" for word, x in zip(words, owners[0], strict=True)])
    parting = [i for i in range(len(axes)) if any(owner[i] != owners[0][i] for owner in owners)]
    if len(parting) > 1:
        told = [", ".join(f"{word} {x}" for word, x in zip(words, owner, strict=True)) for owner in owners[:2]]
        more += len(owners) - len(told)
        return " and ".join(f"in {one}" for one in told) + (f" and in {more} more places" if more else "")
    parts: list[str] = []
    for i, word in enumerate(words):
        numbers = [owner[i] for owner in owners] if i in parting else [owners[0][i]]
        values = list(map(str, numbers))
        if len(values) > 4 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            parts.append(f"{word}s {values[0]} to {values[-1]}" + (f" and {more} more" if more else ""))
        elif len(values) > 1 or (more and i in parting):
            last = f"{more} more" if more else values.pop()
            parts.append(f"{word}s {', '.join(values)} and {last}")
        else:
            parts.append(f"{word} {values[0]}")
    return "in " + ", ".join(parts)
