"""The two ends of a conversion: who holds what before and after, where the layouts leave the lanes open too.

Both of these say which subgroup has which block, and neither says which lane has what of it. So the lanes of a subgroup are
dealt along the last dimension of its block:

>>> from layoutalg.xegpu import LayoutAttr
>>> tiles, strips = LayoutAttr(sg_layout=(2, 2), sg_data=(16, 16)), LayoutAttr(sg_layout=(4, 1), sg_data=(8, 32))
>>> found = ends_of(tiles, strips, (32, 32), Machine(lanes=16))
>>> print(found.source, "to", found.result)
d0 = 2@sg:2 16@reg, d1 = 2@sg 16@lane to d0 = 4@sg 8@reg:2, d1 = 2@reg 16@lane
>>> print(*found.notes)
lanes assumed along the last dimension of each subgroup's block

Where one of the two says lanes (or subgroups) and the other one leaves them open, the other has the same:

>>> columns = LayoutAttr(sg_layout=(4, 1), sg_data=(8, 32), lane_layout=(8, 2), lane_data=(1, 1))
>>> print(ends_of(tiles, columns, (32, 32)).source)
d0 = 2@sg:2 2@reg:8 8@lane:2, d1 = 2@sg 8@reg 2@lane

`in_order` counts registers in the order of the elements: then two ends are equal if the same work-items hold the same
elements. Lanes are open in a notation whose value does not say them (`Distributed.levels`), and in a `Layout` without lanes
for a machine that has some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.notation import Distributed, Machine, single_operand
from layoutalg.memory.asked import distributions
from layoutalg.notations import has_value, value_of

__all__ = ["LANES_MISSING", "Ends", "completed", "ends_of", "ends_on_chip", "in_order"]

LANES_MISSING = (
    "neither layout says the lanes of a subgroup; say them: machine=Machine(lanes=16), or --subgroup-size 16 on the"
    " command line"
)
"""Why a conversion of whole subgroups has no price."""

_LEVELS = {"sg": "subgroups", "lane": "lanes"}
_SIDES = ("source", "result")


@dataclass(frozen=True, slots=True)
class Ends:
    """Who holds what before and after a conversion; `lanes` of a subgroup (None: not said); what was assumed."""

    source: Layout
    result: Layout
    lanes: int | None
    notes: tuple[str, ...] = ()


def ends_of(
    source: Distributed | str,
    result: Distributed | str,
    shape: Sequence[int] | None = None,
    machine: Machine | None = None,
    *,
    literally: bool = False,
) -> Ends:
    """The two ends of a conversion of a tensor.

    `literally` is how `convert` plans: extents may be symbols, and what only one of the two leaves open is not as the other
    says it; its work-items hold copies, as in `value.layout(shape, machine)`.

    Raises what `memory.asked.distributions` raises.
    """
    given: tuple[list[Any], list[str]] = ([source, result], [])
    values, notes = given if literally else completed(source, result, shape, machine)
    layouts = distributions(values, shape, machine, "converting it", symbols=literally)
    open_ones = [_leaves_lanes(one, layout, machine) for one, layout in zip(values, layouts, strict=True)]
    if all(open_ones):
        lanes: Any = None if machine is None else machine.lanes
    else:
        said = (layout.axes.get("lane", 1) for layout, is_open in zip(layouts, open_ones, strict=True) if not is_open)
        lanes = max(said, key=_size)
    if type(lanes) is int and lanes > 1 and (all(open_ones) or (any(open_ones) and not literally)):
        told: dict[str, str] = {}
        for number, name in enumerate(_SIDES):
            if open_ones[number] and _is_of_numbers(layouts[number]):
                layouts[number], told[name] = _dealt(layouts[number], lanes)
        if len(told) == 2 and len(set(told.values())) == 1:
            notes.append(told["source"])
        else:
            notes += [f"{name}: {words}" for name, words in told.items()]
    return Ends(layouts[0], layouts[1], lanes if type(lanes) is int else None, tuple(notes))


def ends_on_chip(
    source: Distributed | str,
    result: Distributed | str,
    shape: Sequence[int] | None,
    machine: Machine | None,
    lanes: int,
    *,
    literally: bool = False,
) -> Ends:
    """The ends on a chip whose subgroups have so many lanes: where nobody says the machine's, and both go into as many.

    Layouts that use fewer lanes then have copies in the others, as the chip does.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> rows, columns = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1))
    >>> [ends_on_chip(rows, columns, (16, 16), None, lanes).lanes for lanes in (16, 64)]
    [16, 64]
    """
    ends = ends_of(source, result, shape, machine, literally=literally)
    on = Machine() if machine is None else machine
    if on.lanes is not None or ends.lanes is None or ends.lanes >= lanes:
        return ends
    wider = ends_of(source, result, shape, replace(on, lanes=lanes), literally=literally)
    return wider if all(one.axes.get("lane", 1) == lanes for one in (wider.source, wider.result)) else ends


def completed(
    source: Distributed | str, result: Distributed | str, shape: Sequence[int] | None, machine: Machine | None
) -> tuple[list[Any], list[str]]:
    """Both values, each with the levels that it leaves open as the other one says them, where that fits; and that in words.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> tiles, lanes = LayoutAttr(sg_layout=(2, 1), sg_data=(16, 16)), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    >>> completed(tiles, lanes, (32, 16), None)[1]
    ['the source says no lanes: those of the result', 'the result says no subgroups: those of the source']
    """
    given: tuple[Any, Any] = (source, result)
    values = [value_of(one) if has_value(one) else one for one in given]
    found, notes = list(values), list[str]()
    if not all(isinstance(one, Distributed) for one in values):
        return found, notes
    for number, name in enumerate(_SIDES):
        whole = values[number].completed_by(values[1 - number])
        if whole != values[number] and _fits(whole, shape, machine):
            found[number] = whole
            more = whole.levels - values[number].levels
            added = " and ".join(word for level, word in _LEVELS.items() if level in more)
            notes.append(f"the {name} says no {added}: those of the {_SIDES[1 - number]}")
    return found, notes


def _size(extent: Any) -> int:
    return extent if type(extent) is int else 0


def _fits(value: Distributed, shape: Sequence[int] | None, machine: Machine | None) -> bool:
    try:
        single_operand(value, shape, machine)
    except LayoutError:
        return False
    return True


def _leaves_lanes(value: Any, layout: Layout, machine: Machine | None) -> bool:
    value = value_of(value)
    if isinstance(value, Layout):
        return machine is not None and machine.lanes is not None and "lane" not in layout.codomain
    return "lane" not in value.levels


def _is_of_numbers(layout: Layout) -> bool:
    """Whether a layout says subgroups and registers in numbers, and nothing else."""
    if layout.flips is not None:
        return False
    factors = [factor for factors in (*layout.dims, layout.replicas) for factor in factors]
    return (
        all(type(factor.extent) is int and type(factor.stride) is int for factor in factors)
        and all(factor.axis in MACHINE for factors in layout.dims for factor in factors if factor.extent != 1)
        and not any(layout.origins)
        and not layout.offsets
    )


def _dealt(layout: Layout, lanes: int) -> tuple[Layout, str]:
    """The layout with the elements of each subgroup dealt to its lanes, neighbours in the last dimension first; in words."""
    left, stride = lanes, 1
    taken: list[tuple[str, int]] = []
    dims: list[tuple[Factor, ...]] = []
    for name, factors in reversed(list(zip(layout.names, _without_registers(layout), strict=True))):
        block = int(factors[-1].extent) if factors and factors[-1].axis is None else 1
        count = gcd(block, left)
        if count > 1:
            factors = [*factors[:-1], Factor(block // count), Factor(count, stride, "lane")]
            taken.append((name, count))
            left, stride = left // count, stride * count
        dims.insert(0, tuple(factors))
    replicas = [factor for factor in layout.replicas if factor.axis == "sg"]
    if left > 1:
        replicas.append(Factor(left, stride, "lane"))
    made = in_order(_counted(dims, replicas, layout))
    if len(taken) == 1 and left == 1 and taken[0][0] == layout.names[-1]:
        return made, "lanes assumed along the last dimension of each subgroup's block"
    along = [f"{count} along {name}" for name, count in taken]
    copies = [f"{left} with copies"] if left > 1 else []
    return made, f"lanes assumed in each subgroup's block: {', '.join(along + copies)}"


def _without_registers(layout: Layout) -> list[list[Factor]]:
    """The factors of each dimension, where digits in registers (or in no lane yet) count along no axis."""
    dims: list[list[Factor]] = []
    for factors in layout.dims:
        kept: list[Factor] = []
        for factor in factors:
            if factor.axis == "sg":
                kept.append(factor)
            elif kept and kept[-1].axis is None:
                kept[-1] = Factor(int(kept[-1].extent) * int(factor.extent))
            else:
                kept.append(Factor(factor.extent))
        dims.append(kept)
    return dims


def _counted(dims: Sequence[Sequence[Factor]], replicas: Sequence[Factor], like: Layout) -> Layout:
    """A layout with registers for the digits along no axis, counted in row-major order."""
    size: int = 1
    counted: list[list[Factor]] = []
    for factors in reversed(dims):
        row: list[Factor] = []
        for factor in reversed(factors):
            if factor.axis is None and factor.extent != 1:
                row.insert(0, Factor(factor.extent, size, "reg"))
                size *= int(factor.extent)
            else:
                row.insert(0, factor)
        counted.insert(0, row)
    return Layout(counted, replicas, names=like.names)


def in_order(layout: Layout) -> Layout:
    """The layout with its registers counted in the order of the elements, and without copies in registers.

    Lanes and subgroups hold what they held. A layout that is not of subgroups, lanes and registers, in numbers, is as it was.

    >>> print(in_order(Layout.parse("d0 = 2@reg:4 2@sg, d1 = 2@reg 16@lane | replicas 2@reg:8")))
    d0 = 2@reg:2 2@sg, d1 = 2@reg 16@lane
    """
    if not _is_of_numbers(layout):
        return layout
    dims = [[Factor(one.extent) if one.axis == "reg" else one for one in factors] for factors in layout.dims]
    return _counted(dims, [one for one in layout.replicas if one.axis != "reg"], layout).canonical()
