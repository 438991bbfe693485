"""Do two layouts mean the same, whatever their notations? And if not, which element shows it.

>>> from layoutalg.xegpu import LayoutAttr
>>> columns = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
>>> bool(same(columns, LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1)), shape=(16, 16)))
True
>>> print(same(Layout.parse("row = 8@lane 2@reg"), Layout.parse("d0 = 2@reg 8@lane")))
element (1,) is in lane 0, register 1 in the first and in lane 1, register 0 in the second
>>> print(same(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane | replicas 2@lane:4")))
element (0,) is in lane 0 in the first and in lanes 0 and 4 in the second: only the second holds copies

No element is enumerated. The places of an element are `start + f0(x0) + f1(x1) + ... + replicas`, so two layouts that
agree on the start and on the replicas differ first (in row-major order) along one dimension, the last one whose factors
differ; and there at the value where, reading factors minor to major, one list of factors moves on otherwise than the other.
Names of dimensions do not count, only their positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from layoutalg.compare.first_unlike import first_unlike
from layoutalg.compare.owners import Owner, Places, copies_of, first_owners, owners_text
from layoutalg.core.agreement import AgreedValue, agree
from layoutalg.core.errors import ConversionError, DistributionError
from layoutalg.core.factors import Factor, XorFactor, merge_factors, xor_factor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_OWNERS_COUNTED as _COUNTED
from layoutalg.core.limits import MOST_OWNERS_LISTED as _LISTED
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.replicas import same_replicas
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.notations import machine_of, value_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.compare.picture import DifferencePicture

_Table: TypeAlias = "NDArray[Any]"
"""The address of each element."""

__all__ = ["Same", "same"]


@dataclass(frozen=True, slots=True, repr=False)
class Same(NotebookAnswer):
    """The answer: true, or false with the first element (row-major) that lives elsewhere, and a sentence that says so.

    `first` and `second` are the element's owners in each layout, ascending, one coordinate per axis of `axes`; at most 16
    of as many as `copies` says. All are empty, and `element` is None, where the shapes already differ; `note` is what else
    there is to say.

    >>> answer = same(Layout.parse("d0 = 2@reg 4@lane"), Layout.parse("d0 = 4@lane 2@reg"))
    >>> bool(answer), answer.element, answer.axes, answer.first, answer.second
    (False, (1,), ('lane', 'reg'), ((1, 0),), ((0, 1),))
    """

    equal: bool
    note: str = ""
    element: tuple[int, ...] | None = None
    axes: tuple[str, ...] = ()
    first: tuple[Owner, ...] = ()
    second: tuple[Owner, ...] = ()
    copies: tuple[int, int] = (1, 1)
    sides: tuple[Any, ...] = field(default=(), compare=False)
    """What was compared: two layouts, relations written out, or tables of addresses."""

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return self.explanation

    @property
    def explanation(self) -> str:
        """One sentence for a person.

        >>> same(Layout.parse("d0 = 2@lane"), Layout.parse("d0 = 2@reg")).explanation
        'element (1,) is in lane 1, register 0 in the first and in lane 0, register 1 in the second'
        """
        if self.element is None:
            return self.note
        here, there = (
            owners_text(owners, self.axes, count)
            for owners, count in zip((self.first, self.second), self.copies, strict=True)
        )
        if self.first and self.second:
            there = there.removeprefix("is ")
        return f"element {self.element} {here} in the first and {there} in the second{self.note}"

    def picture(self, *, start: Sequence[int] | None = None, title: str | None = None) -> DifferencePicture:
        """What becomes of each element: the same places, others, copies more or fewer, nobody; with the number of each.

        A large tensor is a map and a window of cells, around the element `start` (the first that is not the same, unless
        given).

        Raises `ConversionError` where ranks differ, `SizeError` above 2^20 places.

        >>> same(Layout.parse("d0 = 2@lane"), Layout.parse("d0 = 2@reg")).picture().key()
        [('same: 1', '#eeeeee'), ('moved: 1', '#be5390')]
        """
        from layoutalg.compare.difference import difference_of
        from layoutalg.compare.picture import DifferencePicture
        from layoutalg.viz.svg import legal

        instance_of(title, (str, type(None)), "title")
        first, second = self.sides
        found = difference_of(first, second)
        at = None if start is None else found.number_of([whole_number(x, "start =", 0) for x in listed(start, "start")])
        sides = f"first: {_name(first)}; second: {_name(second)}"
        if title is None:
            return DifferencePicture((), legal(sides), difference=found, start=at)
        return DifferencePicture((), legal(title), difference=found, start=at, sides=legal(sides))


def _name(side: Any) -> str:
    return str(side) if isinstance(side, Layout) else f"places of {'x'.join(map(str, side.shape))} elements"


_YES = Same(True, "the same map")


def same(
    a: Distributed | str,
    b: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    subgroup_size: int | None = None,
    workgroup_size: int | None = None,
) -> Same:
    """Whether `a` and `b` mean the same map; each a `Layout`, a value of any notation, or its text.

    `shape` is needed where neither side says it; a linear layout is resized to it, and a CuTe text without a tile is read as
    threads and values of it where the other side is on the machine. What `machine` leaves open is what the two sides say
    themselves (of two nested layouts, 64 lanes): one that uses fewer lanes or subgroups holds copies in the others.
    `subgroup_size` and `workgroup_size` are another way to say the machine, in threads. A nested layout without an exact
    `Layout` is compared by its threads' coordinates; memory that a swizzle leaves no factors by its addresses.

    Raises `ConversionError` for what has no layout (or several) and for symbolic sizes, the notation's own error where it
    has none for this shape, `SizeError` where places have to be counted through and are too many.

    >>> from layoutalg.nested import NestedLayoutAttr
    >>> rows = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (1, 16), (8, 1), (0, 0), (0, 1))
    >>> print(same(rows, "d0 = 8@reg, d1 = 16@lane"))
    the same map
    """
    if isinstance(a, Layout) and isinstance(b, Layout) and shape is machine is None:
        return replace(_compare_layouts(a.canonical(), b.canonical()), sides=(a, b))
    on = machine_of(machine, subgroup_size, workgroup_size)
    if shape is not None and not isinstance(shape, (tuple, list)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"shape = {shown(shape)}: expected a list of whole numbers")
    pair = value_of(a), value_of(b)
    if pair[0] == pair[1]:
        (one,) = agree(pair[:1], shape, on)
        return replace(_YES, sides=(_side(one),) * 2)
    one, two = (_side(asked) for asked in agree(pair, shape, on))
    return replace(_compare_sides(one, two), sides=(one, two))


def _compare_sides(one: Layout | Places | _Table, two: Layout | Places | _Table) -> Same:
    if isinstance(one, Layout) and isinstance(two, Layout):
        return _compare_layouts(one.canonical(), two.canonical())
    if isinstance(one, (Layout, Places)) and isinstance(two, (Layout, Places)):
        return _compare_places(one, two)
    if isinstance(one, Places) or isinstance(two, Places):
        raise ConversionError("same: addresses of memory are compared with memory, not with what is on the machine")
    return _compare_addresses(one, two)


def _side(asked: AgreedValue) -> Layout | Places | _Table:
    """One side: its layout, or where it has none the places that its coordinates say, or its addresses."""
    if asked.operand is not None:
        return asked.operand.layout
    try:
        held = asked.coordinates()
    except DistributionError:
        return asked.value.addresses(asked.shape)
    return Places.of_map(held, asked.shape or asked.value.tensor_shape())


def _compare_layouts(a: Layout, b: Layout) -> Same:
    """Two layouts in canonical form."""
    if a.flips is not None or b.flips is not None:
        return _compare_with_xor(a, b)
    equal_copies = a.replicas == b.replicas or same_replicas(a.replicas, b.replicas)
    equal_starts = a.offsets == b.offsets
    if equal_copies and equal_starts and a.dims == b.dims and a.origins == b.origins:
        return _YES
    used = {axis for axis, _ in (*a.offsets.items(), *b.offsets.items())}
    for layout in (a, b):
        for factors in (*layout.dims, layout.replicas):
            for factor in factors:
                extent, stride, axis = factor
                if type(extent) is not int or type(stride) is not int:
                    raise ConversionError(
                        f"{factor} is symbolic, and a number is needed to compare places (in {layout})"
                    )
                if axis is not None:
                    used.add(axis)
    if a.shape != b.shape:
        return Same(False, f"the first has shape {list(a.shape)} and the second {list(b.shape)}")
    if a.origins != b.origins:
        return Same(False, f"the first starts at element {a.origins} and the second at {b.origins}")
    element = [0] * a.rank
    if equal_copies and equal_starts:
        d = next(d for d in range(a.rank - 1, -1, -1) if a.dims[d] != b.dims[d])
        element[d] = _first_step(a.dims[d], b.dims[d])
    axes = tuple([axis for axis in MACHINE if axis in used] + sorted(used.difference(MACHINE)))
    first, here = _owners(a, element, axes)
    second, there = _owners(b, element, axes)
    note = ""
    if not equal_copies:
        note = _copies_note(here, there)
    elif _same_work_items(a, b):
        note = _REORDERED
    if any(a.origins):
        element = [x + o for x, o in zip(element, a.origins, strict=True)]
    return Same(False, note, tuple(element), axes, first, second, (here, there))


def _compare_with_xor(a: Layout, b: Layout) -> Same:
    """The first element whose lowest owners differ in two layouts, at least one of which has XOR."""
    if a.shape != b.shape:
        return Same(False, f"the first has shape {list(a.shape)} and the second {list(b.shape)}")
    if a.origins != b.origins:
        return Same(False, f"the first starts at element {a.origins} and the second at {b.origins}")
    if a == b:
        return _YES
    used = {*a.axes, *b.axes}
    axes = tuple([axis for axis in MACHINE if axis in used] + sorted(used.difference(MACHINE)))

    first = first_unlike(a, b, axes)
    element = tuple([x + o for x, o in zip(first, a.origins, strict=True)])
    sides: list[tuple[tuple[Owner, ...], int]] = []
    for layout in (a, b):
        at = [dict(zip(layout.codomain, owner, strict=True)) for owner in layout.owners(element)]
        found = sorted(tuple([owner.get(axis, 0) for axis in axes]) for owner in at)
        sides.append((tuple(found[:_LISTED]), len(found)))
    (one, here), (other, there) = sides
    note = _copies_note(here, there) if here != there else ""
    if not note and _registers_dropped(a) == _registers_dropped(b):
        note = _REORDERED
    return Same(False, note, element, axes, one, other, (here, there))


def _registers_dropped(layout: Layout) -> Layout:
    """The layout without its registers: who holds an element, wherever."""

    def kept(factor: Factor) -> Factor:
        if isinstance(factor, XorFactor):
            places = [place for place in factor.places if place[0] != "reg"]
            return xor_factor(places) if places else Factor(2)
        return Factor(factor.extent) if factor.axis == "reg" else factor

    replicas = [one for one in map(kept, layout.replicas) if one[2] is not None]
    starts = {axis: start for axis, start in layout.offsets.items() if axis != "reg"}
    flips = None if layout.flips is None else [place for place in layout.flips if place[0] != "reg"]
    return Layout([map(kept, fs) for fs in layout.dims], replicas, starts, origins=layout.origins, flips=flips)


def _owners(layout: Layout, element: Sequence[int], axes: tuple[str, ...]) -> tuple[tuple[Owner, ...], int]:
    """The lowest places of an element, and how many there are."""
    start = first_owners(layout, element, axes)
    if not layout.replicas:
        return (start,), 1
    count = prod([f.extent for f in layout.replicas])
    copies = copies_of(layout, axes, _COUNTED)
    count = len(copies) if count <= _COUNTED else count
    return tuple([tuple([x + y for x, y in zip(start, copy, strict=True)]) for copy in copies[:_LISTED]]), count


_REORDERED = "; the same work-items hold the same elements, in another register order"


def _copies_note(first: int, second: int) -> str:
    if first == 1 or second == 1:
        return f": only the {'second' if first == 1 else 'first'} holds copies"
    return f": {first} copies in the first, {second} in the second" if first != second else ""


def _first_step(a: tuple[Factor, ...], b: tuple[Factor, ...]) -> int:
    """The smallest value of a dimension that two different lists of merged factors (major to minor) move differently.

    Up to the place where the lists part they are one function. There either the next factors move differently, or one ends
    sooner, and what follows it goes on otherwise than the longer one: else the two would have been merged.
    """
    place = 1
    for (n, s, axis), (m, t, along) in zip(reversed(a), reversed(b), strict=False):
        if s != t or axis != along:
            return place
        if n != m:
            return place * min(n, m)
        place *= n
    return place


def _same_work_items(a: Layout, b: Layout) -> bool:
    """Whether two layouts with the same replicas agree on who holds an element, whatever the register."""
    if any(f.axis is None for layout in (a, b) for factors in layout.dims for f in factors):
        return False  # where several elements share a register, it is more than the order that differs
    for one, two in zip(a.dims, b.dims, strict=True):
        if one != two and _without_registers(one) != _without_registers(two):
            return False
    starts, others = a.offsets, b.offsets
    return all(starts.get(axis, 0) == others.get(axis, 0) for axis in {*starts, *others} - {"reg"})


def _without_registers(factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
    return merge_factors([Factor(f.extent) if f.axis == "reg" else f for f in factors])


def _compare_places(one: Layout | Places, two: Layout | Places) -> Same:
    """Two maps that have to be counted through, because one at least has no closed form."""
    shape, others = one.shape, two.shape
    if shape != others:
        return Same(False, f"the first has shape {list(shape)} and the second {list(others)}")
    for layout in (one, two):
        if isinstance(layout, Layout) and (set(layout.axes) - set(MACHINE) or any(layout.origins)):
            raise ConversionError(f"same: {layout} is not a map of a tensor onto the machine, and threads are")
    a, b = (p if isinstance(p, Places) else Places.of_layout(p, shape) for p in (one, two))
    element = a.first_difference(b)
    if element is None:
        return _YES
    first, second = a.owners(element), b.owners(element)
    held, others = a.without_registers(), b.without_registers()
    note = _REORDERED if held.shape == others.shape and (held == others).all() else ""
    if not note and len(first) != len(second) and first and second:
        note = _copies_note(len(first), len(second))
    counts = len(first), len(second)
    return Same(False, note, element, MACHINE, tuple(first[:_LISTED]), tuple(second[:_LISTED]), counts)


def _compare_addresses(one: Layout | _Table, two: Layout | _Table) -> Same:
    """Two memory layouts, address by address: one of them, or both, cannot be written in factors."""
    import numpy as np

    axis = "addr"
    sides: list[_Table] = []
    for side in (one, two):
        if isinstance(side, Layout):
            if len(side.axes) > 1 or side.replicas or any(side.origins) or set(side.axes) & set(MACHINE):
                raise ConversionError(
                    f"same: addresses are compared with one address for each element (not with {side})"
                )
            axis = next(iter(side.axes), axis)
            side = side.addresses()
        sides.append(side)
    here, there = sides
    if here.shape != there.shape:
        return Same(False, f"the first has shape {list(here.shape)} and the second {list(there.shape)}")
    differ = np.argwhere(here != there)
    if not len(differ):
        return _YES
    element = tuple(int(x) for x in differ[0])
    return Same(False, "", element, (axis,), ((int(here[element]),),), ((int(there[element]),),))
