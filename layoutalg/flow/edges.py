"""Edges between values: whether the work-items that have an operation's result hold what it is made of.

A transpose whose operand and result have columns in lanes: lane 0 makes column 0 of the result, which is row 0 of the operand.
Of that it holds one element.

>>> columns = Layout.parse("d0 = 4@reg, d1 = 4@lane")
>>> transpose = Layout.parse("d0 = 4@d1, d1 = 4@d0")
>>> print(lacking(transpose, columns, columns, ("lane",)))
lane 0 needs element (0, 1), which is in lane 1

A sum over columns adds what every lane has, so each lane that gets the result has to have a part of it:

>>> total = Layout.parse("d0 = 4@d0 | replicas 4@d1")
>>> lacking(total, Layout.parse("d0 = 4@reg | replicas 4@lane"), columns, ("lane",), True)

Where a relation has no closed form together with a layout, both are written out and compared pair by pair. `edges_of` are
the edges of a flow; `lacks` asks about one of them.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from layoutalg.compare.missing import Missing, missing, missing_pairs
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import Tie, given, needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.flow.graph import Flow

__all__ = ["Edge", "Projected", "axes_of", "edges_of", "equal_coordinates", "lacking", "lacks", "projected"]

_BEYOND = {"work-item": ("sg", "lane"), "subgroup": ("sg",), "workgroup": ()}
"""The axes along which an operation of each reach moves nothing by itself."""
Projected = Layout
"""A layout without registers, on some of the axes of work-items."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A tie between two values of a flow, which it has by their numbers. Along an `equal` edge both are one tensor.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> text = "%x = arith.constant dense<0.0> : vector<8xf32> %z = math.exp %x : vector<8xf32>"
    >>> [(edge.operand, edge.result, edge.equal) for edge in edges_of(flow_of(read_module(text)))]
    [(0, 1, True)]
    """

    tie: Tie
    operand: int
    result: int
    equal: bool

    @property
    def passes_on(self) -> bool:
        """Whether the operand's layout says how the result is spread."""
        return self.tie.beside is None and (self.tie.reach == "work-item" or self.tie.combines)

    @property
    def passes_back(self) -> bool:
        """Whether the result's layout says how the operand is needed."""
        return self.tie.reach == "work-item" and (self.equal or not self.tie.combines)


def edges_of(flow: Flow) -> tuple[Edge, ...]:
    """The edges of a flow, in the order of its ties.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> edges_of(flow_of(read_module("gpu.barrier")))
    ()
    """
    found: list[Edge] = []
    for tie in flow.ties:
        if tie.operand in flow and tie.result in flow:
            operand, result = flow.value_of(tie.operand), flow.value_of(tie.result)
            equal = operand.shape == result.shape and equal_coordinates(tie.relation)
            found.append(Edge(tie, operand.number, result.number, equal))
    return tuple(found)


def axes_of(tie: Tie, one: AbstractSet[str], other: AbstractSet[str]) -> tuple[str, ...]:
    """The axes on which operand and result of a tie are compared, of layouts that say these levels."""
    beyond = ("sg", "lane") if _gathers(tie) else _BEYOND[tie.reach]
    return tuple([axis for axis in beyond if axis in one and axis in other])


def _gathers(tie: Tie) -> bool:
    """Whether work-items that get the result need a part of the operand each: a sum over the workgroup."""
    return tie.combines and tie.reach == "workgroup"


def lacks(tie: Tie, operand: Layout, result: Layout, axes: tuple[str, ...]) -> Missing | None:
    """The first element that a work-item needs across a tie and does not hold, counted on these axes (see `axes_of`).

    Raises `LayoutError` as `lacking`.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> text = "%x = arith.constant dense<0.0> : vector<8xf32> %z = math.exp %x : vector<8xf32>"
    >>> [tie] = flow_of(read_module(text)).ties
    >>> print(lacks(tie, Layout.parse("d0 = 8@lane"), Layout.parse("d0 = 4@lane 2@reg"), ("lane",)))
    lane 0 needs element (1,), which is in lane 1
    """
    return lacking(tie.relation, result, operand, axes, _gathers(tie), tie.covered)


@lru_cache(maxsize=1 << 14)
def equal_coordinates(relation: Layout) -> bool:
    """Whether a relation is between equal coordinates, of tensors of the same rank.

    >>> equal_coordinates(Layout.parse("d0 = 8@d0, d1 = 16@d1")), equal_coordinates(Layout.parse("d0 = 8@d1, d1 = 8@d0"))
    (True, False)
    """
    if len({factor.axis for factors in relation.dims for factor in factors}) != len(relation.dims):
        return False  # an axis of one element has a factor too: without it, the operand does not have the dimension
    form = relation.canonical()
    if form.replicas or form.offsets or any(form.origins):
        return False
    for d, factors in enumerate(form.dims):
        if len(factors) > 1 or (factors and (factors[0].axis != f"d{d}" or factors[0].stride != 1)):
            return False
    return True


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
        return missing(wanted, given(relation, held))
    try:
        found = missing(needed(relation, wanted), held)
    except LayoutError:
        return _written_out(relation, wanted, held, kept, covered)
    return found if found is None or covered is None else _written_out(relation, wanted, held, kept, covered)


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
