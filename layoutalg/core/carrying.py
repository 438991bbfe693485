"""Carrying a layout across an operation: what its operand must be spread like, or what its result then is.

How an operation's operand and result are related is itself a `Layout`: its dimensions are those of the result, its axes are
those of the operand. A broadcast of 16 elements to 8 rows, a transpose of 16x8, and a sum over the columns of 16x16:

>>> broadcast = Layout.parse("d0 = 8@_, d1 = 16@d0")
>>> transpose = Layout.parse("d0 = 8@d1, d1 = 16@d0")
>>> total = Layout.parse("d0 = 16@d0 | replicas 16@d1")

If the result of the transpose is spread like this, its operand is needed like that, and the other way round:

>>> result = Layout.parse("d0 = 8@reg, d1 = 16@lane")
>>> print(needed(transpose, result))
d0 = 16@lane, d1 = 8@reg
>>> print(given(transpose, needed(transpose, result)))
d0 = 8@reg, d1 = 16@lane

Both are compositions, after which registers are settled. Of several copies in one work-item one is kept, and where a
work-item needs all elements of a digit, they become registers:

>>> print(needed(broadcast, result))
d0 = 16@lane
>>> print(given(broadcast, Layout.parse("d0 = 16@lane")))
d0 = 8@reg, d1 = 16@lane
>>> print(given(total, Layout.parse("d0 = 16@reg, d1 = 16@lane")))
d0 = 16@reg | replicas 16@lane

A relation may be partial. Where a part of the operand is used, `needed` covers that part; `covering` adds the rest of the
operand, which is then spread in the same way. Where a part of the result is made (the rows that are inserted), the relation
starts at the first of them, and so does the layout that is `given`; `part_of` looks at the same part of another layout.

>>> rows_4_to_7 = Layout.parse("d0 = 4@d0, d1 = 16@d1 | offset 4@d0")
>>> print(needed(rows_4_to_7, Layout.parse("d0 = 4@lane:4, d1 = 4@lane 4@reg")))
d0 = 4@lane:4, d1 = 4@lane 4@reg | origin 4@d0
>>> print(needed(covering(rows_4_to_7, (16, 16)), Layout.parse("d0 = 4@lane:4, d1 = 4@lane 4@reg")))
d0 = 4@reg:4 4@lane:4, d1 = 4@lane 4@reg
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from layoutalg.core.algebra import compose, inverse
from layoutalg.core.errors import CompositionError, LayoutError
from layoutalg.core.extents import Extent, exact_quotient, multiply
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.relation import as_layout
from layoutalg.core.whole_numbers import as_flag, instance_of, listed

__all__ = ["REGISTERS", "covering", "given", "held_in_both", "needed", "part_of", "settled", "without"]

REGISTERS = "reg"


def needed(relation: Layout, result: Layout) -> Layout:
    """How the operand must be spread, for every work-item to have what its elements of the result are made of.

    The layout covers the elements that are needed alone: of an operand of which a slice is taken, the slice.

    Raises `CompositionError` where that has no closed form (`layoutalg.core.table` has it written out): factors without a
    common refinement, or needed elements with others between them (see `covering`).

    >>> print(needed(Layout.parse("d0 = 4@d0, d1 = 16@d1 | offset 4@d0"), Layout.parse("d0 = 4@reg, d1 = 16@lane")))
    d0 = 4@reg, d1 = 16@lane | origin 4@d0
    """
    _same_rank(relation, result, "result")
    try:
        back = inverse(relation)
    except CompositionError:
        raise
    except LayoutError as error:
        raise CompositionError(f"the elements that are needed are not a block of the operand: {error}") from None
    return settled(compose(result, back))


def given(relation: Layout, operand: Layout, *, combines: bool = True) -> Layout:
    """How the result is spread when every work-item works on what it has of the operand.

    Where several elements make one of the result (a reduction), it is where any of them is. An operation that does not combine
    the parts of several work-items (a bitcast to wider elements) needs them all in one: say `combines=False`.

    Raises `CompositionError` where that has no closed form, and for parts in several work-items that are not combined.

    >>> print(given(Layout.parse("d0 = 8@d0, d1 = 16@d1 2@_"), Layout.parse("d0 = 8@reg, d1 = 16@lane")))
    d0 = 8@reg:2, d1 = 16@lane 2@reg
    >>> print(given(Layout.parse("d0 = 8@d0:2 | replicas 2@d0"), Layout.parse("d0 = 16@lane"), combines=False))
    Traceback (most recent call last):
    layoutalg.core.errors.CompositionError: one element of the result is made of 2 that are in different work-items (2@lane):
    the operand is d0 = 16@lane
    """
    as_layout(relation, "relation")
    as_layout(operand, "operand's layout")
    combines = as_flag(combines, "combines")
    made = compose(operand, relation)
    if not combines and relation.replicas:
        parts = compose(operand, Layout([relation.replicas]))
        apart = next((factor for factor in parts.dims[0] if factor.axis not in (REGISTERS, None)), None)
        if apart is not None:
            raise CompositionError(
                f"one element of the result is made of {apart.extent} that are in different work-items ({apart}): "
                f"the operand is {operand}"
            )
    return settled(made)


def covering(relation: Layout, operand: Sequence[Extent]) -> Layout:
    """The relation with the rest of the operand added to what each element of the result is made of.

    `operand` is the operand's shape. What lies between the elements that are used, and around them, belongs to the same
    work-items: every other element of a deinterleave, the rows above and below a slice.

    Raises `CompositionError` where the part that is used is not one of equal parts of the operand.

    >>> print(covering(Layout.parse("d0 = 8@d0:2 | offset 1@d0"), (16,)))
    d0 = 8@d0:2 | replicas 2@d0
    >>> covering(Layout.parse("d0 = 4@d0 | offset 2@d0"), (16,))
    Traceback (most recent call last):
    layoutalg.core.errors.CompositionError: 4 elements from 2 on are not one of equal parts of dimension 0 with 16 elements
    """
    as_layout(relation, "relation")
    sizes, starts = listed(operand, "operand's shape"), relation.offsets
    added: list[Factor] = []
    for dim, size in enumerate(sizes):
        axis = f"d{dim}"
        moving = [
            f for factors in (*relation.dims, relation.replicas) for f in factors if f.axis == axis and f.extent != 1
        ]
        place: Extent = 1
        start = rest = starts.get(axis, 0)
        # Symbols, which have no order, come after the numbers.
        for factor in sorted(moving, key=lambda one: (0, one.stride) if isinstance(one.stride, int) else (1, 0)):
            between = exact_quotient(factor.stride, place)
            if between is None or (start and not (isinstance(between, int) and isinstance(factor.extent, int))):
                raise _not_a_part(relation, dim, size)
            if between != 1:
                added.append(Factor(between, place, axis))
            if start:
                rest //= between
                if rest % factor.extent:
                    raise _not_a_part(relation, dim, size)
                rest //= factor.extent
            place = multiply(factor.stride, factor.extent)
        above = exact_quotient(size, place)
        if above is None:
            raise _not_a_part(relation, dim, size)
        if above != 1:
            added.append(Factor(above, place, axis))
    names = [f"d{dim}" for dim in range(len(sizes))]
    return Layout(
        relation.dims, (*relation.replicas, *added), names=relation.names, origins=relation.origins, codomain=names
    )


def _not_a_part(relation: Layout, dim: int, size: Extent) -> CompositionError:
    axis = f"d{dim}"
    start, reach = relation.offsets.get(axis, 0), relation.spans().get(axis, 1)
    return CompositionError(
        f"{reach} elements from {start} on are not one of equal parts of dimension {dim} with {size} elements"
    )


def part_of(layout: Layout, like: Layout) -> Layout:
    """The part of a layout that another one covers: elements from its origins on, as many as it has.

    Raises `CompositionError` where the part is not a box of factors.

    >>> print(part_of(Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 4@reg, d1 = 16@lane | origin 4@d0")))
    d0 = 4@reg, d1 = 16@lane | origin 4@d0
    """
    _same_rank(layout, like, "part")
    names = layout.names
    view = Layout(
        [[Factor(size, 1, name)] for size, name in zip(like.shape, names, strict=True)],
        offsets={name: start for name, start in zip(names, like.origins, strict=True) if start},
        names=names,
        origins=like.origins,
    )
    return settled(compose(layout, view))


def _same_rank(relation: Layout, layout: Layout, what: str) -> None:
    as_layout(relation, "relation")
    as_layout(layout, f"{what}'s layout")
    if relation.rank != layout.rank:
        raise CompositionError(
            f"the {what} has {layout.rank} dimensions, the relation {relation.rank} ({layout}; {relation})"
        )


def settled(layout: Layout) -> Layout:
    """Registers counted without gaps and copies; digits that belong to no axis are registers, in row-major order.

    >>> print(settled(Layout.parse("d0 = 4@reg:8 3@_ | replicas 2@reg:4 2@lane")))
    d0 = 4@reg:3 3@reg | replicas 2@lane
    """
    as_layout(layout)
    places = [
        (dim, number, factor)
        for dim, factors in enumerate(layout.dims)
        for number, factor in enumerate(factors)
        if factor.extent != 1 and factor.axis in (REGISTERS, None)
    ]
    # Minor to major. What is new in a register goes where row-major order has it: just above what follows it there.
    order = sorted((place for place in places if place[2].axis is not None), key=_stride)
    for place in reversed(places):
        if place[2].axis is None:
            later = [at for at, other in enumerate(order) if other[:2] > place[:2]]
            order.insert(max(later, default=-1) + 1, place)
    strides: dict[tuple[int, int], Extent] = {}
    size: Extent = 1
    for dim, number, factor in order:
        strides[dim, number] = size
        size = multiply(size, factor.extent)

    def counted(dim: int, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
        return tuple(
            Factor(factor.extent, strides[dim, number], REGISTERS) if (dim, number) in strides else factor
            for number, factor in enumerate(factors)
        )

    return Layout(
        [counted(dim, factors) for dim, factors in enumerate(layout.dims)],
        [factor for factor in layout.replicas if factor.axis != REGISTERS],
        {axis: start for axis, start in layout.offsets.items() if axis != REGISTERS},
        names=layout.names,
        origins=layout.origins,
    )


def held_in_both(one: Layout, other: Layout) -> Layout:
    """The elements that a work-item holds in both of two layouts of one tensor on one machine.

    Raises `CompositionError` where that is not a layout: factors without a common refinement, or elements that nobody
    holds in both.

    >>> subgroups = Layout.parse("d0 = 2@sg 2@reg, d1 = 4@reg | replicas 4@lane")
    >>> print(held_in_both(subgroups, Layout.parse("d0 = 4@reg, d1 = 4@lane | replicas 2@sg")))
    d0 = 2@sg 2@reg, d1 = 4@lane
    """
    as_layout(one, "layout")
    as_layout(other, "layout")
    if one.shape != other.shape or one.offsets or other.offsets or any((*one.origins, *other.origins)):
        raise CompositionError(f"{one} and {other}: expected two layouts of one whole tensor")
    for layout in (one, other):
        factors = [factor for dim in (*layout.dims, layout.replicas) for factor in dim]
        if any(type(number) is not int for factor in factors for number in factor[:2]):
            raise CompositionError(f"{layout} has symbols; put numbers for them with substitute() first")
    dims = [_refined(*pair) for pair in zip(one.dims, other.dims, strict=True)]
    if any(found is None for found in dims):
        raise CompositionError(f"{one} and {other} have no common refinement, or nobody holds some element in both")
    whole = [list[Factor](found or ()) for found in dims]
    replicas: list[Factor] = []
    for axis in sorted({*one.axes, *other.axes} - {REGISTERS}):
        size, place = max(int(one.axes.get(axis, 1)), int(other.axes.get(axis, 1))), 1
        for factor in sorted((f for factors in whole for f in factors if f.axis == axis), key=attrgetter("stride")):
            gap = exact_quotient(factor.stride, place)
            if gap is None:
                raise CompositionError(f"{one} and {other}: nobody holds some element in both")
            if gap != 1:
                replicas.append(Factor(gap, place, axis))
            place = int(multiply(factor.stride, factor.extent))
        rest = exact_quotient(size, place)
        if rest is None:
            raise CompositionError(f"{one} and {other}: {axis} has {size} values, and {place} are counted")
        if rest != 1:
            replicas.append(Factor(rest, place, axis))
    return settled(Layout(whole, replicas))


def _refined(one: Sequence[Factor], other: Sequence[Factor]) -> list[Factor] | None:
    """The factors of a dimension that tell apart what either tells apart; None if they have no common factors."""
    left: list[Any] = [list(factor) for factor in one if factor.extent != 1]
    right: list[Any] = [list(factor) for factor in other if factor.extent != 1]
    found: list[Factor] = []
    while left and right:
        # From the minor end; the shorter of the two digits is the next one.
        (n, s, axis), (m, t, along) = left[-1], right[-1]
        extent = min(n, m)
        if n % extent or m % extent:
            return None
        if axis in (REGISTERS, None):
            found.append(
                Factor(extent, t if along not in (REGISTERS, None) else 0, None if along == REGISTERS else along)
            )
        elif along in (REGISTERS, None) or (axis == along and s == t):
            found.append(Factor(extent, s, axis))
        else:
            return None
        for factors, size, stride in ((left, n, s), (right, m, t)):
            factors[-1][:2] = [size // extent, stride * extent]
            if size == extent:
                factors.pop()
    return found[::-1]


def without(layout: Layout, axes: Iterable[str]) -> Layout:
    """The layout with these axes forgotten: who holds what, counted on the others alone.

    >>> print(without(Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane | replicas 2@lane:16"), ["reg", "lane"]))
    d0 = 2@sg 8@_, d1 = 16@_
    """
    as_layout(layout)
    forgotten = listed(axes, "axes")
    for axis in forgotten:
        instance_of(axis, str, "axis")
    gone = frozenset(forgotten)

    def kept(factors: tuple[Factor, ...]) -> list[Factor]:
        return [Factor(factor.extent, 0, None) if factor.axis in gone else factor for factor in factors]

    return Layout(
        [kept(factors) for factors in layout.dims],
        [factor for factor in layout.replicas if factor.axis not in gone],
        {axis: start for axis, start in layout.offsets.items() if axis not in gone},
        names=layout.names,
        origins=layout.origins,
    )


def _stride(place: tuple[int, int, Factor]) -> Any:
    """What registers are sorted by; symbolic strides come after numbers, in the order in which they are written."""
    stride = place[2].stride
    return (0, stride, ()) if isinstance(stride, int) else (1, 0, tuple(-at for at in place[:2]))
