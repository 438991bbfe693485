"""What two layouts of a conversion have in common with simpler ones, which the strategies can convert.

- Registers that both leave empty below their first are left out: a layout that starts at register 2 is one that starts at 0.
- A factor that the source has nowhere (`2@_`) is one value for all of its digits: the destination's part of it is replicas.
- Lanes and subgroups that a layout leaves empty (gaps, offsets) hold nothing; the machine is as large as the larger one.
  Elements that go through memory do so as if both layouts began at 0, in a program whose lanes are then counted from where
  each layout begins (`shifted`).

>>> found = normalized(Layout.parse("d0 = 4@lane 2@_"), Layout.parse("d0 = 2@lane:2 2@lane 2@reg | offset 3@reg"))
>>> print(found.source, "to", found.destination, found.starts)
d0 = 4@lane to d0 = 4@lane | replicas 2@reg (0, 3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import lcm, prod
from typing import NamedTuple

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Address, Load, Step, Store
from layoutalg.conversion.strategies.common_factors import common_factors
from layoutalg.core.errors import ConversionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.memory.accesses import held_elements

__all__ = ["Normalized", "filled", "leaves_empty", "normalized", "shifted", "trimmed", "with_starts"]


class Normalized(NamedTuple):
    """Two layouts that say the same as those of a conversion, and the registers below the first of each."""

    source: Layout
    destination: Layout
    starts: tuple[int, int]


def normalized(source: Layout, destination: Layout) -> Normalized:
    """The simpler layouts (see this module).

    Raises `ConversionError` where a slot of the destination would have to hold several elements that the source tells apart,
    and for dimensions that do not begin at the same coordinate.

    >>> normalized(Layout.parse("d0 = 2@lane 2@reg"), Layout.parse("d0 = 2@lane 2@_"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: d0 % 2: 2@reg becomes 2@_, which is one slot for 2 elements; a slot holds one element
    """
    if source.origins != destination.origins:
        raise ConversionError(
            f"dimensions that begin at {source.origins} and {destination.origins}: expected two layouts of one tensor "
            f"(source {source}, destination {destination})"
        )
    if source.flips is not None or destination.flips is not None:
        return Normalized(source, destination, (0, 0))
    shared = any(
        one.axis is None and one.extent != 1 for side in (source, destination) for dim in side.dims for one in dim
    )
    if not shared and not source.offsets and not destination.offsets and not any(source.origins):
        return Normalized(source, destination, (0, 0))
    rows = [list(map(list, side.dims)) for side in (source, destination)]
    copies: list[Factor] = []
    if shared:
        rows, copies = _without_shared(source, destination)
    sides = [
        Layout(
            dims,
            (*side.replicas, *more),
            {axis: start for axis, start in side.offsets.items() if axis != "reg"},
            names=side.names,
            codomain=side.codomain,
        )
        for side, dims, more in zip((source, destination), rows, ([], copies), strict=True)
    ]
    return Normalized(sides[0], sides[1], (source.offsets.get("reg", 0), destination.offsets.get("reg", 0)))


def _without_shared(source: Layout, destination: Layout) -> tuple[list[list[list[Factor]]], list[Factor]]:
    """The dimensions of both without the digits that the source has nowhere; what the destination has for them."""
    rows: list[list[list[Factor]]] = [[], []]
    copies: list[Factor] = []
    for name, size, before, after in zip(
        source.names, source.shape, source.canonical().dims, destination.canonical().dims, strict=True
    ):
        if all(factor.axis is not None for factor in (*before, *after)):
            rows[0].append(list(before))
            rows[1].append(list(after))
            continue
        factors = common_factors(before, after)
        texts = [" ".join(map(str, side)) or "1" for side in (before, after)]
        if prod(factor.extent for factor in factors) < size:
            raise ConversionError(
                f"{name}: {texts[0]} becomes {texts[1]}, which have no digits in common, and some elements share a slot"
            )
        for side in rows:
            side.append([])
        for weight, extent, old, new in reversed(factors):
            if old.axis is None and new.axis is not None:
                copies.append(new)
            elif old.axis is not None and new.axis is None:
                which = f"{name}{f' // {weight}' * (weight > 1)}{f' % {extent}' * (weight * extent < size)}"
                raise ConversionError(
                    f"{which}: {old} becomes {new}, which is one slot for {extent} elements; a slot holds one element"
                )
            elif old.axis is not None:
                rows[0][-1].append(old)
                rows[1][-1].append(new)
    return rows, copies


def leaves_empty(layout: Layout, axis: str) -> bool:
    """Whether some of an axis, up to its last, hold nothing: it has gaps, or starts above 0.

    >>> leaves_empty(Layout.parse("d0 = 4@lane:2"), "lane"), leaves_empty(Layout.parse("d0 = 4@lane"), "lane")
    (True, False)
    """
    if layout.flips is not None:
        held = held_elements(layout)
        used = (held >= 0).any(tuple(i for i, one in enumerate(MACHINE) if one != axis))
        return layout.offsets.get(axis, 0) > 0 or not bool(used.all())
    factors = [factor for factors in (*layout.dims, layout.replicas) for factor in factors if factor.axis == axis]
    span = 1 + sum((factor.extent - 1) * factor.stride for factor in factors)
    return layout.offsets.get(axis, 0) > 0 or prod(factor.extent for factor in factors) < span


def with_starts(programs: Sequence[Program], starts: tuple[int, int]) -> tuple[Program, ...]:
    """Programs that leave out so many registers of the source, and of the destination, below the first."""
    found = list(programs)
    cells = max(found[0].element_bits // WORD, 1)
    if starts[0]:
        pack = tuple(-1 if cell < 0 else cell + starts[0] * cells for cell in found[0].pack)
        found[0] = replace(found[0], source_registers=found[0].source_registers + starts[0], pack=pack)
    if starts[1]:
        unpack = (*[-1] * (starts[1] * cells), *found[-1].unpack)
        found[-1] = replace(found[-1], registers=found[-1].registers + starts[1], unpack=unpack)
    return tuple(found)


def filled(layout: Layout, counts: dict[str, int]) -> Layout:
    """The layout with copies where it has gaps, up to so many of each axis, and no offsets: one that has an inverse.

    (What is stored in memory is stored by the lanes, subgroups and registers that have it, which are the first of its copies.)

    Raises `ConversionError` where the numbers that hold something are no digits.

    >>> filled(Layout.parse("d0 = 4@lane:2"), {"lane": 8})
    Layout.parse('d0 = 4@lane:2 | replicas 2@lane')
    """
    copies: list[Factor] = []
    for axis, count in counts.items():
        place = 1
        factors = [factor for factors in (*layout.dims, layout.replicas) for factor in factors]
        for stride, extent in sorted(
            (one.stride, one.extent) for one in factors if one.axis == axis and one.extent > 1
        ):
            if stride % place:
                raise ConversionError(
                    f"{layout}: {extent}@{axis}:{stride} overlaps other factors of {axis}, and elements go through shared "
                    "memory; expected strides that are multiples of what is below them"
                )
            if stride > place:
                copies.append(Factor(stride // place, place, axis))
            place = stride * extent
        if place < count:
            copies.append(Factor(-(-count // place), place, axis))
    return Layout(layout.dims, (*layout.replicas, *copies), names=layout.names, codomain=layout.codomain)


def trimmed(program: Program, subgroups: int, lanes: int, registers: tuple[int, int]) -> Program:
    """A program of `filled` layouts for the machine that there is, which has no more than theirs."""
    cells = max(program.element_bits // WORD, 1)
    steps = tuple(
        step._replace(where=tuple(mask & (1 << lanes) - 1 for mask in step.where[:subgroups]))
        if isinstance(step, Store) and step.where is not None
        else step
        for step in program.steps
    )
    return replace(
        program,
        subgroups=subgroups,
        lanes=lanes,
        source_registers=registers[0],
        registers=registers[1],
        pack=tuple(cell if cell < registers[0] * cells else -1 for cell in program.pack),
        steps=steps,
        unpack=program.unpack[: registers[1] * cells],
    )


def shifted(program: Program, source: Layout, destination: Layout) -> Program:
    """A program of layouts without offsets, through memory, for those that begin where these two do.

    Lane l stores what lane l - s did, for a source that starts at lane s; lanes below it store nothing. It loads what lane
    l - t did, for a destination that starts at t: addresses add -t to its number, modulo what they have of it, so that lanes
    below load from the same places as others.

    >>> from layoutalg.conversion.strategies.padded import through_padded_memory
    >>> layout = filled(Layout.parse("d0 = 3@lane"), {"lane": 4})
    >>> ends = (Layout.parse("d0 = 3@lane | offset 1@lane"), Layout.parse("d0 = 3@lane | offset 2@lane"))
    >>> store, _, load = shifted(through_padded_memory(layout, layout, 32), *ends).steps
    >>> bin(store.where[0]), str(store.address), str(load.address)
    ('0b1110', '((lane + 2) % 3)', '((lane + 1) % 3)')
    """
    first, last = (layout.offsets for layout in (source, destination))
    if not first and not last:
        return program
    everyone = (1 << program.lanes) - 1
    steps: list[Step] = []
    for step in program.steps:
        if isinstance(step, Store) and first:
            masks = step.where or (everyone,) * program.subgroups
            masks = ((0,) * first.get("sg", 0) + masks)[: program.subgroups]
            where = tuple([mask << first.get("lane", 0) & everyone for mask in masks])
            steps.append(step._replace(where=where, address=_counted_from(step.address, first)))
        elif isinstance(step, Load):
            steps.append(step._replace(address=_counted_from(step.address, last)))
        else:
            steps.append(step)
    return replace(program, steps=tuple(steps))


def _counted_from(address: Address, starts: Mapping[str, int]) -> Address:
    """The address that lanes and subgroups have who are counted from there, modulo what it has of their numbers."""
    plus: list[tuple[str, int]] = []
    for axis, start in starts.items():
        period = lcm(*(divisor * extent for one, divisor, extent, _ in address.factors if one == axis))
        if start % period:
            plus.append((axis, -start % period))
    return address._replace(plus=tuple(plus))
