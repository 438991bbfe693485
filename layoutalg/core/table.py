"""Relations written out: exact index tables, for what has no closed form.

A `Table` is a layout as a list of pairs (coordinates of the domain, coordinates of the codomain). It is what composition
falls back to when factors have no common refinement: never a wrong answer, only a longer one. Reading 6 elements, dealt
out 2 x 3, in blocks of 4 has no strided form:

>>> outer, inner = Layout.parse("d0 = 2@lane 3@reg"), Layout.parse("d0 = 4@d0")
>>> table = compose_exactly(outer, inner)
>>> table.owners((3,))
[(1, 0)]
>>> Table.of(outer).inverse() == Table.of(outer.inverse())
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.algebra import compose
from layoutalg.core.errors import CompositionError, LayoutError, SizeError
from layoutalg.core.fragments import every_place
from layoutalg.core.limits import MAX_ENTRIES, MAX_START, MOST_TABLE_ENTRIES
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notebook import MOST_ROWS, table
from layoutalg.core.relation import Relation, as_layout
from layoutalg.core.whole_numbers import listed, whole_number

__all__ = ["Table", "compose_exactly"]

_L = TypeVar("_L", bound=Relation)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A relation as its list of pairs, sorted, each once.

    `names` and `axes` name the columns of `domain` (int64 `[pairs, rank]`) and `codomain` (int64 `[pairs, axes]`).

    >>> Table.of(Layout.parse("d0 = 2@lane | replicas 2@lane:2")).codomain.ravel().tolist()
    [0, 2, 1, 3]
    """

    names: tuple[str, ...]
    axes: tuple[str, ...]
    domain: NDArray[np.int64]
    codomain: NDArray[np.int64]

    def _repr_html_(self) -> str:
        pairs = np.concatenate([self.domain[:MOST_ROWS], self.codomain[:MOST_ROWS]], axis=1)
        return table([*self.names, *self.axes], pairs.tolist(), len(self.domain))

    @staticmethod
    def of(layout: Relation) -> Table:
        """Write a layout out. Raises `SizeError` over 2^23 entries.

        >>> Table.of(Layout.parse("d0 = 2@reg:5")).codomain.tolist()
        [[0], [5]]
        """
        as_layout(layout)
        layout.require_numbers("writing it out")
        used = layout.axes
        axes = tuple(axis for axis in layout.codomain if axis in used)
        copies = prod(f.extent for f in layout.replicas)
        shape = layout.shape
        _limit(prod(shape) * copies, layout.rank + len(axes), layout)
        origins = np.array(layout.origins, np.int64).reshape(1, -1)
        domain = np.indices(shape, np.int64).reshape(layout.rank, prod(shape)).T + origins
        found = every_place(layout)
        codomain = np.stack([found[axis] for axis in axes], -1) if axes else np.zeros((len(domain), 1, 0), np.int64)
        rows = np.repeat(domain, codomain.shape[1], axis=0)
        return Table._sorted(layout.names, axes, rows, codomain.reshape(len(rows), len(axes)))

    @staticmethod
    def _sorted(names: Sequence[str], axes: Sequence[str], domain: Any, codomain: Any) -> Table:
        pairs = _unique_rows(np.concatenate([domain, codomain], axis=1))
        pairs.setflags(write=False)
        return Table(tuple(names), tuple(axes), pairs[:, : len(names)], pairs[:, len(names) :])

    def inverse(self) -> Table:
        """The pairs the other way round.

        >>> Table.of(Layout.parse("d0 = 2@reg")).inverse().names
        ('reg',)
        """
        return Table._sorted(self.axes, self.names, self.codomain, self.domain)

    def compose(self, inner: Table) -> Table:
        """`self` after `inner`: every (x, z) with a y between them. Columns that a side lacks are 0 there.

        >>> lanes, view = Table.of(Layout.parse("d0 = 2@lane 3@reg")), Table.of(Layout.parse("d0 = 4@d0"))
        >>> lanes.compose(view).codomain.tolist()
        [[0, 0], [0, 1], [0, 2], [1, 0]]
        """
        if not isinstance(inner, Table):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"compose with {shown(inner)}: expected a Table, such as Table.of(layout)")
        middle = tuple(dict.fromkeys((*self.names, *inner.axes)))
        left, right = _columns(inner.codomain, inner.axes, middle), _columns(self.domain, self.names, middle)
        both = np.concatenate([left, right])
        numbers = _row_numbers(both)
        keys = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1) if numbers is None else numbers
        a, b = keys[: len(left)], keys[len(left) :]
        order = np.argsort(b, kind="stable")
        first, last = np.searchsorted(b[order], a, "left"), np.searchsorted(b[order], a, "right")
        counts = last - first
        pairs = int(counts.sum())
        _limit(pairs, len(inner.names) + len(self.axes), "the composition")
        rows = np.repeat(np.arange(len(a)), counts)
        within = np.arange(pairs) - np.repeat(np.cumsum(counts) - counts, counts)
        return Table._sorted(
            inner.names, self.axes, inner.domain[rows], self.codomain[order[np.repeat(first, counts) + within]]
        )

    def owners(self, element: Sequence[int]) -> list[tuple[int, ...]]:
        """Every position (in the order of `axes`) that is related to one element.

        >>> Table.of(Layout.parse("d0 = 4@lane")).owners((2,))
        [(2,)]
        """
        wanted = [whole_number(one, "coordinate", -MAX_START, MAX_START) for one in listed(element, "element")]
        if len(wanted) != len(self.names):
            raise LayoutError(f"element {shown(element)}: expected {len(self.names)} coordinates")
        hits = (self.domain == np.array(wanted, np.int64)).all(axis=1)
        return [tuple(row) for row in self.codomain[hits].tolist()]

    def fragment_map(self) -> NDArray[np.int64]:
        """The domain's coordinates of every slot: int64 `[axes..., rank]`, each axis from its lowest coordinate; -1 in a hole.

        Raises `LayoutError` where one slot holds several elements, `SizeError` over 2^28 entries.

        >>> outer, inner = Layout.parse("d0 = 2@lane 3@reg"), Layout.parse("d0 = 4@d0")
        >>> compose_exactly(outer, inner).fragment_map()[1].ravel().tolist()
        [3, -1, -1]
        """
        if not len(self.codomain):
            return np.full((0,) * len(self.axes) + (len(self.names),), -1, np.int64)
        low, high = self.codomain.min(axis=0, initial=2**62), self.codomain.max(axis=0, initial=-(2**62))
        sizes = [int(n) for n in high - low + 1]
        if prod(sizes) * max(1, len(self.names)) > MAX_ENTRIES:
            raise SizeError(f"a map of {' x '.join(map(str, sizes))} slots: over the limit of 2^28 entries")
        slots = np.zeros(len(self.codomain), np.int64)
        for column, size in zip((self.codomain - low).T, sizes, strict=True):
            slots = slots * size + column
        places, counts = np.unique(slots, return_counts=True)
        if counts.max() > 1:
            crowded = self.codomain[slots == places[counts > 1][0]][0].tolist()
            where = (
                ", ".join(f"{axis} {place}" for axis, place in zip(self.axes, crowded, strict=True)) or "the only one"
            )
            raise LayoutError(f"fragment map: one slot holds {counts.max()} elements, the first at {where}")
        result = np.full((prod(sizes), len(self.names)), -1, np.int64)
        result[slots] = self.domain
        return result.reshape(*sizes, len(self.names))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        (columns, pairs), (others, found) = self._plain(), other._plain()
        return columns == others and bool(np.array_equal(pairs, found))

    def __hash__(self) -> int:
        columns, pairs = self._plain()
        return hash((columns, pairs.tobytes()))

    def _plain(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], NDArray[np.int64]]:
        """A coordinate that is 0 throughout says nothing; the rest in the order of their names."""
        names = sorted(n for i, n in enumerate(self.names) if self.domain[:, i].any())
        axes = sorted(a for i, a in enumerate(self.axes) if self.codomain[:, i].any())
        sides = [_columns(self.domain, self.names, names), _columns(self.codomain, self.axes, axes)]
        return (tuple(names), tuple(axes)), _unique_rows(np.concatenate(sides, axis=1))


def compose_exactly(outer: _L, inner: _L) -> _L | Table:
    """`outer` after `inner`: a `Layout` where there is a closed form, a `Table` otherwise.

    >>> compose_exactly(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 2@d0"))
    Layout.parse('d0 = 2@lane')
    """
    try:
        return compose(outer, inner)
    except CompositionError:
        return Table.of(outer).compose(Table.of(inner))


def _columns(values: NDArray[np.int64], have: Sequence[str], want: Sequence[str]) -> NDArray[np.int64]:
    """Columns in the order of `want`; those that `values` lacks are 0."""
    result = np.zeros((len(values), len(want)), np.int64)
    for i, name in enumerate(want):
        if name in have:
            result[:, i] = values[:, list(have).index(name)]
    return result


def _limit(pairs: int, columns: int, of: object) -> None:
    if pairs * max(1, columns) > MOST_TABLE_ENTRIES:
        raise SizeError(f"{of} has {number_text(pairs)} pairs: over the limit of 2^23 entries for a table")


def _unique_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows in ascending order, each once."""
    numbers = _row_numbers(rows)
    return np.unique(rows, axis=0) if numbers is None else rows[np.unique(numbers, return_index=True)[1]]


def _row_numbers(rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Each row as one number, in the order of the rows: numbers sort ten times faster. None where 64 bits are too few."""
    if not rows.size:
        return None
    low = rows.min(axis=0)
    sizes = [int(most) - int(least) + 1 for most, least in zip(rows.max(axis=0), low, strict=True)]
    if prod(sizes) >= 2**63:
        return None
    numbers = np.zeros(len(rows), np.int64)
    for column, size in zip((rows - low).T, sizes, strict=True):
        numbers = numbers * size + column
    return numbers
