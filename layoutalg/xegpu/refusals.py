"""Why LLVM refuses a layout on a shape, and the nearest shape and the nearest attribute that it takes.

LLVM says that data cannot be evenly distributed, and leaves the arithmetic to the reader. The arithmetic is short: at each
level, `size` elements of a dimension go to `count` work-items in blocks of `data`.

>>> from layoutalg.xegpu.attributes import LayoutAttr
>>> found = refusal(LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1)), (16, 8))
>>> print(found.reason)
dimension 1 has 8 columns: 16 lanes of 1 need a multiple of 16, or exactly 1
>>> found.shape, str(found.attribute)
((16, 16), '#xegpu.layout<lane_layout = [2, 8], lane_data = [2, 1]>')

The rule itself is `Distribution.misfit`, which verdicts ask too. What would fit is found by asking the verdict: of shapes that
differ where the layout does not fit, and of attributes with as many work-items, first those that change one field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import gcd, lcm, log2
from typing import TYPE_CHECKING

from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.xegpu.distribution import Misfit, as_numbers

if TYPE_CHECKING:
    from layoutalg.xegpu.attributes import DistributeLayout, LayoutAttr

__all__ = ["Refusal", "refusal"]

Ints = tuple[int, ...]
_MOST_TRIED = 1024
"""So many shapes and attributes are tried at each step: a tenth of a second, where none fits."""
_FIELDS: dict[str, tuple[str, ...]] = {
    "sg": ("sg_layout", "sg_data"),
    "inst": ("inst_data",),
    "lane": ("lane_layout", "lane_data"),
}

_OF = {
    "": "",
    "subgroup": " of what a subgroup holds",
    "instruction": " of an instruction's tile",
    "lane": " of what a lane holds",
}


@dataclass(frozen=True)
class Refusal:
    """Why an attribute does not fit a shape: the reason, and the nearest shape and attribute that do, where there are any.

    >>> from layoutalg.xegpu.attributes import LayoutAttr
    >>> print(refusal(LayoutAttr(sg_layout=(4,), sg_data=(16,)), (48,)))
    dimension 0 has 48 elements: 4 subgroups of 16 need a multiple of 64, or exactly 16; 64 would fit, or sg_data = [12]
    """

    reason: str
    shape: Ints | None = None
    attribute: DistributeLayout | None = None
    changed: str = ""
    """The fields of `attribute` that differ, as they are written."""

    def __str__(self) -> str:
        shape = "" if self.shape is None else f"{'x'.join(map(str, self.shape))} would fit"
        either = ", or ".join(part for part in (shape, self.changed) if part)
        if either and not shape:
            either += " would fit"
        return f"{self.reason}; {either}" if either else self.reason


def refusal(attribute: DistributeLayout, shape: Sequence[int], llvm: int = DEFAULT_LLVM) -> Refusal | None:
    """Why a version of LLVM refuses an attribute on a tensor of `shape`; None where it takes it.

    Raises `LayoutError` as `DistributeLayout.check` does.

    >>> from layoutalg.xegpu.attributes import LayoutAttr
    >>> refusal(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16)) is None
    True
    >>> print(refusal(LayoutAttr(lane_layout=(1, 16)), (8, 16)))
    lane_layout stands without lane_data; lane_data = [1, 1] would fit
    """
    if attribute.check(shape, llvm) is None:
        return None
    sizes = as_numbers(shape)
    found = attribute.distribution()
    if len(sizes) != found.rank:
        return Refusal(
            f"the layout is of {found.rank} dimensions, and the shape {'x'.join(map(str, sizes))} has {len(sizes)}"
        )
    version = rules(llvm)
    misfit = found.misfit(sizes, version)
    alone = next((level for level in ("sg", "lane") if _half(attribute.parent_layout(), level)), None)
    if version.data_with_layout and alone is not None:
        reason, level = f"{alone}_layout stands without {alone}_data", alone
    elif misfit is not None:
        reason, level = said(misfit, len(sizes)), misfit.level
    else:
        return None  # refused for what is not the shape's
    fits = None if version.data_with_layout and alone is not None else _nearest_shape(attribute, sizes, llvm)
    nearest = _nearest_attribute(attribute, sizes, llvm, level)
    return Refusal(reason, fits, nearest, "" if nearest is None else _changed(attribute, nearest))


def said(misfit: Misfit, rank: int) -> str:
    """A misfit in words.

    >>> said(Misfit("inst", 0, 24, 1, 16, of="subgroup"), 2)
    'dimension 0 of what a subgroup holds has 24 rows: inst_data[0] = 16 does not divide it'
    """
    elements = ("rows", "columns")[misfit.dimension] if rank == 2 else "elements"
    if misfit.size == 1:
        elements = elements.removesuffix("s")
    begins = f"dimension {misfit.dimension}{_OF[misfit.of]} has {misfit.size} {elements}"
    if misfit.count == 1:
        return f"{begins}: {misfit.level}_data[{misfit.dimension}] = {misfit.data} does not divide it"
    items = {"sg": "subgroups", "lane": "lanes"}[misfit.level]
    if misfit.data is None:
        return f"{begins}: {misfit.count} {items} do not divide it"
    shared = f", or exactly {misfit.data}" if misfit.shared else ""
    return f"{begins}: {misfit.count} {items} of {misfit.data} need a multiple of {misfit.count * misfit.data}{shared}"


def _half(layout: LayoutAttr, level: str) -> bool:
    ids, data = (getattr(layout, name) for name in _FIELDS[level])
    return (ids is None) != (data is None)


def _nearest_shape(attribute: DistributeLayout, sizes: Ints, llvm: int) -> Ints | None:
    """The nearest shape that a version of LLVM takes, of those whose sizes are kept or next to a whole number of units."""
    found = attribute.distribution()
    ones = (1,) * found.rank
    blocks = [field or ones for field in (found.sg_data, found.inst_data, found.lane_data)]
    choices: list[list[int]] = []
    for d, size in enumerate(sizes):
        groups, lanes = (field[d] if field else 1 for field in (found.sg_layout, found.lane_layout))
        unit = groups * lcm(*(each[d] for each in blocks), lanes * (found.lane_data or ones)[d])
        below = size // unit * unit
        near = {size, below, below + unit, *(each[d] for each in blocks)} - {0}
        choices.append(sorted(near, key=lambda other: (abs(log2(other / size)), other < size)))
    tried = islice(product(*choices), _MOST_TRIED)
    fitting = [shape for shape in tried if attribute.check(shape, llvm) is None]
    return min(fitting, key=lambda shape: _distance(shape, sizes), default=None)


def _distance(numbers: Sequence[int], given: Sequence[int]) -> tuple[int, float, int]:
    """How many numbers differ, by how much, and how many are smaller: of two that are as near, people want the larger."""
    pairs = [(number, before) for number, before in zip(numbers, given, strict=True) if number != before]
    return len(pairs), sum(abs(log2(number / before)) for number, before in pairs), sum(a < b for a, b in pairs)


def _nearest_attribute(attribute: DistributeLayout, sizes: Ints, llvm: int, level: str) -> DistributeLayout | None:
    """The nearest attribute with as many work-items that a version of LLVM takes: changed at `level`, else at one more."""
    others = [
        one for one in _FIELDS if one != level and getattr(attribute.parent_layout(), _FIELDS[one][0]) is not None
    ]
    for levels in ((level,), *((level, other) for other in others)):
        tried = islice(_variants(attribute, sizes, levels), _MOST_TRIED)
        fitting = [one for one in tried if one.check(sizes, llvm) is None]
        if fitting:
            return min(fitting, key=lambda one: _changes(attribute.parent_layout(), one.parent_layout()))
    return None


def _changes(given: LayoutAttr, other: LayoutAttr) -> tuple[int, float]:
    """How many fields of two layouts differ, and by how much their numbers do; a field that is added counts as one."""
    fields, distance = 0, 0.0
    for name in (name for names in _FIELDS.values() for name in names):
        before, after = getattr(given, name), getattr(other, name)
        if before != after:
            fields += 1
            distance += _distance(after, before or (1,) * len(after))[1]
    return fields, distance


def _variants(attribute: DistributeLayout, sizes: Ints, levels: Sequence[str]) -> Iterator[DistributeLayout]:
    """The attribute with other fields at these levels: work-items dealt otherwise over the dimensions, or other blocks."""
    parent = attribute.parent_layout()
    kept = attribute.distribution().kept or tuple(range(attribute.rank))
    for fields in product(*(_fields_of(parent, level, kept, sizes) for level in levels)):
        yield attribute.around(replace(parent, **{name: value for one in fields for name, value in one.items()}))


def _fields_of(parent: LayoutAttr, level: str, kept: Ints, sizes: Ints) -> list[dict[str, Ints]]:
    rank = next(len(field) for field in (parent.sg_layout, parent.inst_data, parent.lane_layout) if field is not None)
    within = dict(zip(kept, sizes, strict=True))
    if level == "inst":
        given = parent.inst_data or (1,) * rank
        return [{"inst_data": one} for one in islice(_blocks(given, within), _MOST_TRIED)]
    ids, blocks = f"{level}_layout", f"{level}_data"
    layout, data = getattr(parent, ids), getattr(parent, blocks) or (1,) * rank
    held = within if level == "sg" or parent.inst_data is None else dict(enumerate(parent.inst_data))
    found: list[dict[str, Ints]] = []
    for dealt in _dealt(layout, kept):
        shares = {d: max(1, size // dealt[d]) for d, size in held.items()}
        found += [{ids: dealt, blocks: one} for one in islice(_blocks(data, shares), _MOST_TRIED)]
    return found


def _dealt(layout: Ints, kept: Ints) -> Iterator[Ints]:
    """The ways to deal as many ids over the dimensions that are kept: the given one first."""
    yield layout
    if len(kept) != 2:
        return
    first, second = kept
    number = layout[first] * layout[second]
    for one in range(1, min(number, _MOST_TRIED) + 1):
        if number % one == 0 and one != layout[first]:
            yield tuple(one if d == first else number // one if d == second else n for d, n in enumerate(layout))


def _blocks(given: Ints, shares: dict[int, int]) -> Iterator[Ints]:
    """Other blocks: in each dimension as it is, one element, what it has in common with a share, or the whole share."""
    choices = [
        [n] if d not in shares else list(dict.fromkeys((n, gcd(n, shares[d]), shares[d], 1)))
        for d, n in enumerate(given)
    ]
    return product(*choices)


def _changed(attribute: DistributeLayout, other: DistributeLayout) -> str:
    before, after = attribute.parent_layout(), other.parent_layout()
    names = (name for names in _FIELDS.values() for name in names)
    fields = ((name, getattr(after, name)) for name in names if getattr(after, name) != getattr(before, name))
    return ", ".join(f"{name} = {list(value)}" for name, value in fields)
