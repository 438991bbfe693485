"""Whether the work-items that have an operation's result hold what it is made of.

A transpose whose operand and result have columns in lanes: lane 0 makes column 0 of the result, which is row 0 of the operand.
Of that it holds one element.

>>> columns = Layout.parse("d0 = 4@reg, d1 = 4@lane")
>>> transpose = Layout.parse("d0 = 4@d1, d1 = 4@d0")
>>> print(lacking(transpose, columns, columns, ("lane",)))
lane 0 needs element (0, 1), which is in lane 1

A sum over columns adds what every lane has, so each lane that gets the result has to have a part of it:

>>> total = Layout.parse("d0 = 4@d0 | replicas 4@d1")
>>> lacking(total, Layout.parse("d0 = 4@reg | replicas 4@lane"), columns, ("lane",), True)

Where a relation has no closed form together with a layout, both are written out and compared pair by pair.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from layoutalg.compare.missing import Missing, missing, missing_pairs
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.propagation.relations import given, needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BEYOND", "Projected", "lacking", "projected"]

BEYOND = {"work-item": ("sg", "lane"), "subgroup": ("sg",), "workgroup": ()}
"""The axes along which an operation of each reach moves nothing by itself."""
Projected = Layout
"""A layout without registers, on some of the axes of work-items."""


@lru_cache(maxsize=1 << 14)
def projected(layout: Layout, kept: tuple[str, ...]) -> Projected:
    """The layout on these axes alone: what it does on others counts as one place.

    >>> print(projected(Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane | replicas 2@lane:16"), ("sg",)))
    d0 = 2@sg 8@_, d1 = 16@_
    """

    def on(factors: tuple[Factor, ...]) -> list[Factor]:
        return [factor if factor.axis in kept else Factor(factor.extent, 0, None) for factor in factors]

    return Layout(
        [on(factors) for factors in layout.dims],
        [factor for factor in layout.replicas if factor.axis in kept],
        {axis: start for axis, start in layout.offsets.items() if axis in kept},
        origins=layout.origins,
    ).canonical()


@lru_cache(maxsize=1 << 14)
def lacking(
    relation: Layout,
    result: Layout,
    operand: Layout,
    kept: tuple[str, ...],
    gathers: bool = False,
    covered: Layout | None = None,
) -> Missing | None:
    """The first element that a work-item needs of an operand and does not hold, counted on the axes in `kept`.

    With `gathers` the operation adds up what all work-items have; what is missing is then an element of the result that a
    work-item gets and has no part of. Elements of the result in `covered` are made of something else.

    Raises `LayoutError` where layouts have symbols, and where they have no closed form and are too large to write out.

    >>> rows, columns = Layout.parse("d0 = 4@lane, d1 = 4@reg"), Layout.parse("d0 = 4@reg, d1 = 4@lane")
    >>> print(lacking(Layout.parse("d0 = 4@d0, d1 = 4@d1"), columns, rows, ("lane",)))
    lane 1 needs element (0, 1), which is in lane 0
    """
    if not kept:
        return None
    wanted, held = projected(result, kept), projected(operand, kept)
    if gathers:
        return _no_part_of(relation, wanted, held)
    try:
        found = missing(needed(relation, wanted), held)
    except LayoutError:
        return _written_out(relation, wanted, held, kept, covered)
    return found if found is None or covered is None else _written_out(relation, wanted, held, kept, covered)


def _no_part_of(relation: Layout, result: Layout, operand: Layout) -> Missing | None:
    return missing(result, given(relation, operand))


def _written_out(
    relation: Layout, result: Layout, operand: Layout, kept: tuple[str, ...], covered: Layout | None
) -> Missing | None:
    """The same with every pair of an element and a place listed."""
    import numpy as np

    from layoutalg.core.table import Table

    wanted, dims = Table.of(result), tuple([f"d{d}" for d in range(operand.rank)])
    if covered is not None:
        made = tuple([f"d{d}" for d in range(result.rank)])
        others = _rows(Table.of(covered).inverse(), made, ())
        rows: Any = np.concatenate([wanted.domain, others])
        numbers = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        kept_rows = ~np.isin(numbers[: len(wanted.domain)], numbers[len(wanted.domain) :])
        wanted = Table(wanted.names, wanted.axes, wanted.domain[kept_rows], wanted.codomain[kept_rows])
    pairs = wanted.compose(Table.of(relation).inverse())
    return missing_pairs(_rows(pairs, dims, kept), _rows(Table.of(operand), dims, kept), len(dims), kept)


def _rows(table: Any, dims: tuple[str, ...], kept: tuple[str, ...]) -> NDArray[Any]:
    """An element's coordinates and a place's, with 0 for what a relation does not mention."""
    import numpy as np

    found = np.zeros((len(table.domain), len(dims) + len(kept)), np.int64)
    for values, names, wanted, start in (
        (table.domain, table.names, dims, 0),
        (table.codomain, table.axes, kept, len(dims)),
    ):
        for column, name in enumerate(names):
            if name in wanted:
                found[:, start + wanted.index(name)] = values[:, column]
    return found
