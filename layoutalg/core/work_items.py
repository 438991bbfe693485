"""The factors of a layout as the machine counts them: for every notation that deals a tensor out to work-items.

A layout lists factors by dimension; a notation such as XeGPU's or IREE's lists subgroups, lanes and registers, each counting
from 0 without gap or overlap. `machine_factors` turns one into the other, `level_steps` gives the strides of factors that count
level by level, and `cover` puts a layout on a whole machine: work-items that are left over hold copies, or the machine is
refused because the copies would not come out even.

>>> tile = Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
>>> factors = machine_factors(tile, "this notation")
>>> factors["sg"]      # (stride, extent, place in its dimension, dimension), minor to major
[(1, 4, 16, 1), (4, 2, 16, 0)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from layoutalg.core.errors import ConversionError, DistributionError
from layoutalg.core.extents import Extent, multiply
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.notation import Machine, as_machine

__all__ = ["MachineFactor", "cover", "cover_all", "level_steps", "machine_factors", "machine_for", "refuse"]

MachineFactor: TypeAlias = tuple[int, int, int, int]
"""A factor on an axis: its stride there, its extent, its stride in its dimension, and which that is (-1: a replica)."""


def machine_factors(
    layout: Layout, notation: str, copies: tuple[str, ...] = ("sg", "lane")
) -> dict[str, list[MachineFactor]]:
    """The factors on `sg`, `lane` and `reg`, minor to major, replicas among them.

    Raises `ConversionError` for what no notation of work-items has: symbols, factors that move along no axis or another one,
    copies along another axis than `copies`, an offset, an axis with a gap or an overlap, over 2^31 threads or registers.
    `notation` is who says so.

    >>> machine_factors(Layout.parse("d0 = 4@lane:2"), "XeGPU")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: dimension d0: lane counts 1 values that leave a gap below 4@lane:2, and XeGPU
    gives every one of them a share (in d0 = 4@lane:2)
    """
    layout.require_strides(notation)
    form = layout.canonical()
    found: dict[str, list[MachineFactor]] = {"sg": [], "lane": [], "reg": []}
    for d, factors in enumerate(form.dims):
        place = 1
        for factor in reversed(factors):
            extent, stride, axis = factor
            if type(extent) is not int or type(stride) is not int:
                refuse(layout, d, f"{factor} is symbolic, and {notation} needs numbers")
            if axis is None:
                refuse(
                    layout, d, f"{factor} moves along no axis, and {notation} gives every element a place of its own"
                )
            if axis not in found:
                refuse(layout, d, f"{factor} moves along {axis!r}, and {notation} knows sg, lane and reg only")
            found[axis].append((stride, extent, place, d))
            place *= extent
    for factor in form.replicas:
        extent, stride, axis = factor
        if type(extent) is not int or type(stride) is not int or axis not in copies:
            refuse(layout, None, f"replica {factor}: {notation} repeats data over a number of {', '.join(copies)} only")
        found[axis].append((stride, extent, 0, -1))
    if form.offsets or any(form.origins):
        refuse(layout, None, f"it starts at an offset or an origin, and {notation} starts at 0")
    threads = 1
    for axis, counted in found.items():
        counted.sort()
        count = 1
        for stride, extent, _, d in counted:
            if stride != count:
                problem = "overlap with" if stride < count else "leave a gap below"
                what = f"{axis} counts {count} values that {problem} {Factor(extent, stride, axis)}"
                refuse(layout, d, f"{what}, and {notation} gives every one of them a share")
            count *= extent
        threads = max(threads, count) if axis == "reg" else threads * count
    if threads > MAX_EXTENT:
        refuse(layout, None, "it has over 2^31 registers or threads")
    return found


def level_steps(*levels: Sequence[Extent]) -> list[list[Extent]]:
    """The strides of factors that count level by level, the first level fastest, each row-major over its dimensions.

    >>> level_steps((1, 4), (2, 3))
    [[4, 1], [12, 4]]
    """
    found: list[list[Extent]] = []
    place: Extent = 1
    for level in levels:
        steps: list[Extent] = []
        for extent in reversed(level):
            steps.append(place)
            place = place * extent if type(place) is type(extent) is int else multiply(place, extent)
        steps.reverse()
        found.append(steps)
    return found


def refuse(layout: Layout, dim: int | None, problem: str) -> NoReturn:
    """Raise the `ConversionError` for a dimension of a layout (None, or -1, for the whole)."""
    where = "" if dim is None or not 0 <= dim < layout.rank else f"dimension {layout.names[dim]}: "
    raise ConversionError(f"{where}{problem} (in {layout})")


def cover(layout: Layout, machine: Machine, notation: object) -> Layout:
    """The layout on a whole machine: the lanes and subgroups that it does not use hold copies.

    Raises `DistributionError` where the machine has fewer work-items than the layout uses, or not a multiple of them.

    >>> cover(Layout.parse("d0 = 8@lane 2@reg"), Machine(lanes=16, subgroups=2), "this layout")
    Layout.parse('d0 = 8@lane 2@reg | replicas 2@lane:8 2@sg')
    >>> cover(Layout.parse("d0 = 3@lane"), Machine(lanes=16), "it")
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: a machine of 16 lanes: it uses 3, and 16 is not a multiple of that
    """
    spans: Any = None
    copies: list[Factor] = []
    machine = machine | Machine()  # threads and lanes say the subgroups
    lanes, subgroups, threads = machine.lanes, machine.subgroups, machine.threads
    if lanes and subgroups and threads not in (None, lanes * subgroups):
        raise DistributionError(
            f"a machine of {threads} threads in {subgroups} subgroups of {lanes}: {notation} needs whole subgroups"
        )
    for axis, count, word in (("sg", machine.subgroups, "subgroups"), ("lane", machine.lanes, "lanes")):
        if count is None:
            continue
        spans = layout.spans() if spans is None else spans
        used = spans.get(axis, 1)
        if used == count:
            continue
        if type(used) is not int or count % used:
            more = type(used) is int and used > count
            problem = "more than there are" if more else f"and {count} is not a multiple of that"
            raise DistributionError(f"a machine of {count} {word}: {notation} uses {used}, {problem}")
        copies.append(Factor(count // used, used, axis))
    if not copies:
        return layout
    return Layout(
        layout.dims,
        (*layout.replicas, *copies),
        layout.offsets,
        names=layout.names,
        origins=layout.origins,
        codomain=layout.codomain_order,
        flips=layout.flips,
    ).canonical()


def machine_for(machine: Machine | None, lanes: int, who: object) -> Machine:
    """The machine that an instruction of so many lanes runs on.

    Raises `DistributionError` for a machine whose subgroups have another number of lanes.

    >>> machine_for(Machine(lanes=16), 32, "WMMA")
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: a machine of 16 lanes: WMMA is executed by 32 lanes together
    """
    on = as_machine(machine)
    if on.lanes not in (None, lanes):
        raise DistributionError(f"a machine of {on.lanes} lanes: {who} is executed by {lanes} lanes together")
    return on | Machine(lanes=lanes)


def cover_all(layouts: tuple[Layout, ...], machine: Machine, who: object) -> tuple[Layout, ...]:
    """Layouts on a whole machine: subgroups that they do not use hold copies."""
    return tuple(cover(layout, machine, who) for layout in layouts)
