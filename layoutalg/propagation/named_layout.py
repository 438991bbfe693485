"""One layout of one tensor: the attribute that says it, and who then holds what.

Two attributes that mean the same have the same `map`, whatever their text: no conversion is placed between two names of one
map. The `key` adds the tile of one instruction, which changes the order of registers alone: operations take whole tiles.

>>> from layoutalg.xegpu import LayoutAttr
>>> rows = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (16, 16))
>>> pairs = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1)), (16, 16))
>>> rows.key == pairs.key, rows.key
(True, 'lane: d0 = 16@reg, d1 = 16@lane')

A layout that is carried across an operation (`carry_back`, `carry_on`) needs an attribute again. The result's own attribute
is tried first, then its dimensions permuted, then a slice of it; `to_xegpu` finds the attribute where none of them means the
map. What a version of LLVM does not accept is not a candidate.

>>> from layoutalg.core.layout import Layout
>>> transpose = Layout.parse("d0 = 16@d1, d1 = 8@d0")
>>> columns = if_accepted(LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1)), (16, 8))
>>> print(carry_back(transpose, columns, (8, 16), 24).attribute)
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1], order = [0, 1]>
>>> broadcast = Layout.parse("d0 = 8@_, d1 = 16@d0")
>>> print(carry_back(broadcast, if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16)), (16,), 24).attribute)
#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from layoutalg.core.carrying import REGISTERS
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.levels import layout_at, levels_of, unblocked
from layoutalg.flow.relations import given, needed, settled, without
from layoutalg.xegpu import LayoutAttr, SliceAttr, to_xegpu

__all__ = [
    "NamedLayout",
    "agree",
    "as_written",
    "attribute_for",
    "carry_back",
    "carry_on",
    "if_accepted",
    "is_whole",
    "on_descriptor",
]

_CACHED = 1 << 16
_OPEN = Machine()
_AXES = frozenset(("sg", "lane"))
"""Work-items that a layout may leave out; tiles of instructions are an order of registers."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedLayout:
    """A layout of a tensor of this shape: how it is written and what it means.

    `map` is who holds what (without lanes: which subgroup), in words that equal maps share; `key` has the instruction tile too.
    """

    attribute: Distributed
    shape: tuple[int, ...]
    layout: Layout
    levels: tuple[str, ...]
    map: str
    tile: tuple[int, ...] | None
    key: str


@lru_cache(maxsize=_CACHED)
def as_written(attribute: Distributed, shape: tuple[int, ...]) -> NamedLayout | None:
    """What somebody wrote, whether a version of LLVM accepts it or not; None where it has no layout of the shape."""
    try:
        layout = layout_at(attribute, shape, _OPEN)
        plain = layout_at(unblocked(attribute), shape, _OPEN)
    except LayoutError:
        return None
    levels = tuple(sorted(levels_of(attribute) & _AXES))
    means = f"{' '.join(levels)}: {plain.canonical() if 'lane' in levels else without(plain, ['reg']).canonical()}"
    tile = attribute.distribution().inst_data if isinstance(attribute, LayoutAttr | SliceAttr) else None
    return NamedLayout(attribute, shape, layout, levels, means, tile, means if tile is None else f"{means} by {tile}")


@lru_cache(maxsize=_CACHED)
def if_accepted(attribute: Distributed, shape: tuple[int, ...], llvm: int = DEFAULT_LLVM) -> NamedLayout | None:
    """The layout that an attribute says of a tensor, where that version of LLVM accepts it; None otherwise."""
    found = as_written(attribute, shape)
    if found is None or (isinstance(attribute, LayoutAttr | SliceAttr) and attribute.check(shape, llvm) is not None):
        return None
    return found


@lru_cache(maxsize=_CACHED)
def carry_back(
    relation: Layout, result: NamedLayout, operand: tuple[int, ...], llvm: int = DEFAULT_LLVM
) -> NamedLayout | None:
    """What an operand of this shape must be spread like, for a result that is spread so; None where no attribute says it."""
    layout = _needed(relation, result.layout, operand)
    if layout is not None:
        return attribute_for(layout, result, operand, llvm)
    layout = _around(relation, result.layout, operand)
    found = None if layout is None else attribute_for(layout, result, operand, llvm)
    made = None if found is None else carry_on(relation, found, result.shape, llvm)
    return found if made is not None and agree(made, result) else None


@lru_cache(maxsize=_CACHED)
def is_whole(relation: Layout, operand: tuple[int, ...]) -> bool:
    """Whether all of an operand goes into the result, so that the result's layout says the operand's.

    >>> is_whole(Layout.parse("d0 = 8@d1, d1 = 16@d0"), (16, 8)), is_whole(Layout.parse("d0 = 4@d0 | offset 4@d0"), (16,))
    (True, False)
    """
    reached = dict.fromkeys((f"d{dim}" for dim in range(len(operand))), 1)
    for factor in (*(one for factors in relation.dims for one in factors), *relation.replicas):
        if factor.axis in reached:
            reached[factor.axis] *= int(factor.extent)
    return not relation.offsets and list(reached.values()) == list(operand)


def _needed(relation: Layout, result: Layout, operand: tuple[int, ...]) -> Layout | None:
    """What is needed of an operand, where that is all of it."""
    try:
        layout = needed(relation, result)
    except LayoutError:
        return None
    return None if layout.shape != operand or any(layout.origins) or layout.offsets else layout


def _around(relation: Layout, result: Layout, operand: tuple[int, ...]) -> Layout | None:
    """An operand of which the result is a part: what the part lacks is in further registers of the same work-items.

    Of 16 elements the even ones, two per lane: a lane has four neighbours, of which it takes two.
    """
    dims: list[list[Factor]] = [[Factor(size)] if size != 1 else [] for size in operand]
    if relation.replicas or relation.rank != result.rank or any(relation.origins) or any(result.origins):
        return None
    for factors, held_there in zip(relation.dims, result.dims, strict=True):
        if not factors:
            continue
        if len(factors) != 1 or factors[0].axis is None:
            return None
        dim, size, step = int(factors[0].axis[1:]), int(factors[0].extent), int(factors[0].stride)
        if all(factor.axis == REGISTERS for factor in held_there):
            continue  # a work-item that has all of the part has all of the operand
        if operand[dim] % (size * step):
            return None
        outside = operand[dim] // (size * step)
        dims[dim] = [Factor(outside), *held_there, Factor(step)]
    kept = [[factor for factor in factors if factor.extent != 1] for factors in dims]
    return settled(Layout(kept, result.replicas))


@lru_cache(maxsize=_CACHED)
def carry_on(
    relation: Layout, operand: NamedLayout, result: tuple[int, ...], llvm: int = DEFAULT_LLVM
) -> NamedLayout | None:
    """How a result of this shape is spread, when its operand is spread so; None where no attribute says it.

    >>> total = Layout.parse("d0 = 8@d0 | replicas 16@d1")
    >>> rows = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    >>> print(carry_on(total, rows, (8,)).attribute)
    #xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [1]>
    """
    try:
        layout = given(relation, operand.layout)
    except LayoutError:
        return None
    if layout.shape != result or any(layout.origins) or layout.offsets or _idle(layout, operand.layout):
        return None
    return attribute_for(layout, operand, result, llvm)


def _idle(result: Layout, operand: Layout) -> bool:
    """Whether work-items that have something of the operand have nothing of the result: the columns that a slice leaves out.

    An attribute cannot say that. Lanes that `lane_layout` does not use hold copies.
    """
    reached, used = result.spans(), operand.spans()
    return any(reached.get(axis, 1) != used.get(axis, 1) for axis in _AXES)


def attribute_for(layout: Layout, like: NamedLayout, shape: tuple[int, ...], llvm: int) -> NamedLayout | None:
    """The attribute that means a layout, written as near to `like` as it can be.

    >>> rows = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    >>> print(attribute_for(Layout.parse("d0 = 32@reg, d1 = 16@lane"), rows, (32, 16), 24).attribute)
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    """
    for attribute in _forms(like.attribute, len(like.shape), len(shape)):
        found = if_accepted(attribute, shape, llvm)
        if found is not None and found.levels == like.levels and _same(found, layout):
            return found
    return next(_anew(layout, like.levels, shape, llvm), None)


def _anew(layout: Layout, levels: tuple[str, ...], shape: tuple[int, ...], llvm: int) -> Iterator[NamedLayout]:
    """Attributes of these levels that mean a layout, found from the layout alone."""
    try:
        attribute = to_xegpu(layout, llvm=llvm)
    except LayoutError:
        return
    for form in (_usual(attribute), attribute):
        found = if_accepted(_at_levels(form, levels, shape), shape, llvm)
        if found is not None and found.levels == levels and _same(found, layout):
            yield found


@lru_cache(maxsize=_CACHED)
def on_descriptor(known: NamedLayout, llvm: int) -> NamedLayout | None:
    """The same layout in an attribute that a version of LLVM reads on a descriptor: LLVM 22 reads no slices there.

    None where no other attribute means it.

    >>> rows = SliceAttr(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (0,))
    >>> for llvm in (22, 24):
    ...     print(on_descriptor(if_accepted(rows, (32,)), llvm).attribute)
    #xegpu.layout<lane_layout = [16], lane_data = [1]>
    #xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>
    """
    if rules(llvm).slice_in_descriptor or not isinstance(known.attribute, SliceAttr):
        return known
    found = _anew(known.layout, known.levels, known.shape, llvm)
    return next((one for one in found if isinstance(one.attribute, LayoutAttr) and one.key == known.key), None)


def _at_levels(
    attribute: LayoutAttr | SliceAttr, levels: tuple[str, ...], shape: tuple[int, ...]
) -> LayoutAttr | SliceAttr:
    """The same with one subgroup, or one lane, where a layout uses no more: without the field, it would say nothing of them.

    >>> print(_at_levels(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), ("lane", "sg"), (8, 16)))
    #xegpu.layout<sg_layout = [1, 1], sg_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>
    """
    if isinstance(attribute, SliceAttr):
        rest = iter(shape)
        rank = len(shape) + len(attribute.dims)
        sizes = tuple(1 if dim in attribute.dims else next(rest) for dim in range(rank))
        return SliceAttr(_at_levels(attribute.parent, levels, sizes), attribute.dims)
    ones = (1,) * len(shape)
    if "sg" in levels and attribute.sg_layout is None:
        attribute = replace(attribute, sg_layout=ones, sg_data=shape)
    if "lane" in levels and attribute.lane_layout is None:
        attribute = replace(attribute, lane_layout=ones, lane_data=ones)
    return attribute


def _same(found: NamedLayout, layout: Layout) -> bool:
    """Whether a layout that was found means this one; without lanes, whether subgroups have the same.

    Instruction tiles alone are an order of registers: what counts is the tile, not the order of tiles.
    """
    if "lane" in found.levels or (not found.levels and found.tile is None):
        return found.layout == layout
    if not found.levels:
        return found.layout == layout or _tile_of(layout, found.tile or ()) == found.tile
    return without(found.layout, ["reg"]) == without(layout, ["reg"])


def _tile_of(layout: Layout, like: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of the tile whose registers come first, as many as `like` has elements.

    >>> _tile_of(Layout.parse("d0 = 4@reg:128 16@reg, d1 = 2@reg:512 8@reg:16"), (16, 8))
    (16, 8)
    """
    size = prod(like)
    inside = [[int(one.extent) for one in factors if int(one.stride) < size] for factors in layout.dims]
    return tuple(prod(extents) for extents in inside)


def _forms(attribute: Distributed, rank: int, wanted: int) -> Iterator[Distributed]:
    """Attributes that are written like this one, for a tensor of another rank or with its dimensions in another order."""
    if not isinstance(attribute, LayoutAttr | SliceAttr):
        return
    if rank == wanted:
        yield attribute
        if isinstance(attribute, LayoutAttr) and rank == 2:
            yield _turned(attribute)
    elif rank > wanted:
        if wanted == 1 or rank == wanted + 1:
            dropped = [(dim,) for dim in range(rank)] if rank == wanted + 1 else []
        else:
            dropped = [tuple(range(rank - wanted)), tuple(range(wanted, rank))]
        for dims in dropped:
            yield SliceAttr(attribute, dims)
    elif isinstance(attribute, SliceAttr) and attribute.parent.rank == wanted:
        yield attribute.parent


def _turned(attribute: LayoutAttr) -> LayoutAttr:
    """A layout of two dimensions with the two exchanged; the ids still count through the same elements."""

    def other(field: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if field is None else field[::-1]

    order = (0, 1) if attribute.order in (None, (1, 0)) else None
    fields = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data")
    turned = replace(attribute, **{name: other(getattr(attribute, name)) for name in fields})
    return turned if turned.sg_layout is None and turned.lane_layout is None else replace(turned, order=order)


def _usual(attribute: LayoutAttr | SliceAttr) -> LayoutAttr | SliceAttr:
    """With `lane_data` of 1 in every dimension, as LLVM writes it where that means the same."""
    if isinstance(attribute, SliceAttr):
        return SliceAttr(_usual(attribute.parent), attribute.dims)
    if attribute.lane_layout is None:
        return attribute
    return replace(attribute, lane_data=(1,) * len(attribute.lane_layout))


@lru_cache(maxsize=_CACHED)
def agree(one: NamedLayout, other: NamedLayout) -> bool:
    """Whether two layouts of a tensor are the same map, at the levels that both say, in the same tiles where both have them.

    >>> rows, tiles = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), LayoutAttr(inst_data=(8, 16))
    >>> agree(if_accepted(rows, (8, 16)), if_accepted(tiles, (8, 16)))
    True
    >>> agree(if_accepted(tiles, (8, 16)), if_accepted(LayoutAttr(inst_data=(4, 16)), (8, 16)))
    False
    """
    if one.tile is not None and other.tile is not None and one.tile != other.tile:
        return False
    if one.levels == other.levels:
        return one.map == other.map
    common = set(one.levels) & set(other.levels)
    if not common:
        return True  # registers alone are left, and those of a subgroup and of a lane do not compare
    gone = {*_AXES - common, "reg"}
    return without(one.layout, gone) == without(other.layout, gone)
