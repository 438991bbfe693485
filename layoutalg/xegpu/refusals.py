"""Why LLVM refuses a layout on a shape, and the nearest shape and the nearest attribute that it takes.

LLVM says that data cannot be evenly distributed, and leaves the arithmetic to the reader. The arithmetic is short: at each
level, `size` elements of a dimension go to `count` work-items in blocks of `data`.

>>> from layoutalg.xegpu.attributes import LayoutAttr
>>> found = refusal(LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1)), (16, 8))
>>> print(found.reason)
dimension 1 has 8 columns: 16 lanes of 1 need a multiple of 16, or exactly 1
>>> found.shape, str(found.attribute)
((16, 16), '#xegpu.layout<lane_layout = [2, 8], lane_data = [2, 1]>')

The rule itself is `Distribution.misfit`, which verdicts ask too. What would fit is found by asking it: of shapes that differ
where the layout does not fit, and of attributes with as many work-items, first those that change one field. Slices are worked
in once, before the search: slices of slices take no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from math import gcd, lcm, log2, prod
from typing import TYPE_CHECKING

from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.llvm_versions import DEFAULT_LLVM, Rules, rules
from layoutalg.xegpu.distribution import Distribution, Misfit, as_numbers

if TYPE_CHECKING:
    from layoutalg.xegpu.attributes import DistributeLayout, LayoutAttr

__all__ = ["Refusal", "refusal"]

Ints = tuple[int, ...]
_MOST_TRIED = 4096
"""So many shapes and attributes are tried at each step: a tenth of a second in all, where none fits."""
_LARGEST = 2**31 - 1
"""The largest number in an attribute: MLIR reads 32 bits."""
_FIELDS: dict[str, tuple[str, ...]] = {
    "sg": ("sg_layout", "sg_data"),
    "inst": ("inst_data",),
    "lane": ("lane_layout", "lane_data"),
}
_NAMES = tuple(name for names in _FIELDS.values() for name in names)

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
            f"the layout has {found.rank} dimensions, and the shape {'x'.join(map(str, sizes))} has {len(sizes)}"
        )
    version = rules(llvm)
    misfit = found.misfit(sizes, version)
    alone = found.half if version.data_with_layout else None
    fits: Ints | None = None
    if alone is not None:
        reason, level = f"{alone}_layout stands without {alone}_data", alone
    elif misfit is not None:
        reason, level = said(misfit, len(sizes)), misfit.level
        fits = _nearest_shape(found, sizes, version)
    else:
        return None  # refused for what is not the shape's
    nearest = _nearest_attribute(attribute, sizes, version, level)
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


def _nearest_shape(found: Distribution, sizes: Ints, version: Rules) -> Ints | None:
    """The nearest shape that a version of LLVM takes, of those whose sizes are kept or next to a whole number of units."""
    ones = (1,) * found.rank
    blocks = [field or ones for field in (found.sg_data, found.inst_data, found.lane_data)]
    choices: list[list[int]] = []
    for d, size in enumerate(sizes):
        groups, lanes = (field[d] if field else 1 for field in (found.sg_layout, found.lane_layout))
        unit = groups * lcm(*(each[d] for each in blocks), lanes * (found.lane_data or ones)[d])
        below = size // unit * unit
        near = {n for n in (size, below, below + unit, *(each[d] for each in blocks)) if 0 < n <= MAX_EXTENT}
        choices.append(sorted(near, key=lambda other: (abs(log2(other / size)), other < size)))
    fitting = [shape for shape in islice(_nearby(choices), _MOST_TRIED) if found.accepts(shape, version)]
    return min(fitting, key=lambda shape: _distance(shape, sizes), default=None)


def _distance(numbers: Sequence[int], given: Sequence[int]) -> tuple[int, float, int]:
    """How many numbers differ, by how much, and how many are smaller: of two that are as near, people want the larger."""
    pairs = [(number, before) for number, before in zip(numbers, given, strict=True) if number != before]
    return len(pairs), sum(abs(log2(number / before)) for number, before in pairs), sum(a < b for a, b in pairs)


def _nearby(choices: Sequence[Sequence[int]]) -> Iterator[Ints]:
    """Every way to choose one of each, those first that change the fewest; the first choice of each is what was given.

    >>> list(_nearby([(8, 4), (16,), (2, 1)]))
    [(8, 16, 2), (4, 16, 2), (8, 16, 1), (4, 16, 1)]
    """
    given = tuple(one[0] for one in choices)
    several = [d for d, one in enumerate(choices) if len(one) > 1]
    for count in range(len(several) + 1):
        for places in combinations(several, count):
            for others in product(*(choices[d][1:] for d in places)):
                chosen = dict(zip(places, others, strict=True))
                yield tuple(chosen.get(d, n) for d, n in enumerate(given))


def _nearest_attribute(attribute: DistributeLayout, sizes: Ints, version: Rules, level: str) -> DistributeLayout | None:
    """The nearest attribute with as many work-items that a version of LLVM takes: changed at `level`, else at one more."""
    given, parent = attribute.distribution(), attribute.parent_layout()
    others = [one for one in _FIELDS if one != level and getattr(given, _FIELDS[one][0]) is not None]
    for levels in ((level,), *((level, other) for other in others)):
        tried = islice(_variants(given, sizes, levels), _MOST_TRIED)
        fitting = [one for one in tried if not (version.data_with_layout and one.half) and one.accepts(sizes, version)]
        if fitting:
            return attribute.around(_with_fields(parent, min(fitting, key=lambda one: _changes(given, one))))
    return None


def _with_fields(parent: LayoutAttr, found: Distribution) -> LayoutAttr:
    """A layout with the fields of a distribution in the dimensions that slices keep."""
    fields: dict[str, Ints] = {}
    for name in _NAMES:
        numbers, before = getattr(found, name), getattr(parent, name)
        if numbers is not None:
            kept = range(found.rank) if found.kept is None else found.kept
            rank = next(len(one) for one in (parent.sg_layout, parent.inst_data, parent.lane_layout) if one is not None)
            chosen = dict(zip(kept, numbers, strict=True))
            fields[name] = tuple(chosen.get(d, n) for d, n in enumerate(before or (1,) * rank))
    return replace(parent, **fields)


def _changes(given: Distribution, other: Distribution) -> tuple[int, float]:
    """How many fields of two layouts differ, and by how much their numbers do; a field that is added counts as one."""
    fields, distance = 0, 0.0
    for name in _NAMES:
        before, after = getattr(given, name), getattr(other, name)
        if before != after:
            fields += 1
            distance += _distance(after, before or (1,) * len(after))[1]
    return fields, distance


def _variants(given: Distribution, sizes: Ints, levels: Sequence[str]) -> Iterator[Distribution]:
    """The layout with other fields at these levels: work-items dealt otherwise over the dimensions, or other blocks."""
    for fields in product(*(_fields_of(given, level, sizes) for level in levels)):
        yield replace(given, **{name: value for one in fields for name, value in one.items()})


def _fields_of(given: Distribution, level: str, sizes: Ints) -> list[dict[str, Ints]]:
    ones = (1,) * given.rank
    if level != "sg" and given.sg_layout is not None:  # subgroups that share a block hold all of it
        of = given.sg_data or (0,) * given.rank
        sizes = tuple(
            n if n == one else max(1, n // count) for n, one, count in zip(sizes, of, given.sg_layout, strict=True)
        )
    if level == "inst":
        return [{"inst_data": one} for one in islice(_blocks(given.inst_data or ones, sizes), _MOST_TRIED)]
    ids, blocks = f"{level}_layout", f"{level}_data"
    layout, data = getattr(given, ids), getattr(given, blocks) or ones
    held = sizes if level == "sg" or given.inst_data is None else given.inst_data
    found: list[dict[str, Ints]] = []
    for dealt in _dealt(layout):
        shares = [max(1, size // count) for size, count in zip(held, dealt, strict=True)]
        found += [{ids: dealt, blocks: one} for one in islice(_blocks(data, shares), _MOST_TRIED)]
        if len(found) >= _MOST_TRIED:
            break
    return found


def _dealt(layout: Ints) -> Iterator[Ints]:
    """The ways to deal as many ids over two dimensions: the given one first."""
    yield layout
    if len(layout) != 2:
        return
    number = prod(layout)
    for one in range(1, min(number, _MOST_TRIED) + 1):
        if number % one == 0 and one != layout[0] and number // one <= _LARGEST:
            yield one, number // one


def _blocks(given: Ints, shares: Sequence[int]) -> Iterator[Ints]:
    """Other blocks: in each dimension as it is, what it has in common with a share, the whole share, or one element."""
    return _nearby(
        [
            list(dict.fromkeys((n, *(one for one in (gcd(n, share), share, 1) if one <= _LARGEST))))
            for n, share in zip(given, shares, strict=True)
        ]
    )


def _changed(attribute: DistributeLayout, other: DistributeLayout) -> str:
    before, after = attribute.parent_layout(), other.parent_layout()
    fields = ((name, getattr(after, name)) for name in _NAMES if getattr(after, name) != getattr(before, name))
    return ", ".join(f"{name} = {list(value)}" for name, value in fields)
