"""Agreement: the shape and the machine that several values share, before they are compared or converted.

The XeGPU layout uses 8 lanes, the other side 16, so they agree on 16, and lanes 8 to 15 of the first hold copies:

>>> few = la.parse("#xegpu.layout<lane_layout = [8], lane_data = [1]>")
>>> one, other = agree((few, Layout.parse("d0 = 8@reg | replicas 16@lane")))
>>> print(one.operand.layout)
d0 = 8@lane | replicas 2@lane:8
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from layoutalg.core.errors import ConversionError, DistributionError
from layoutalg.core.notation import Distributed, Machine, Operand, as_machine, single_operand

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["AgreedValue", "agree", "readings"]

_MACHINE = {"lane", "reg", "sg"}
_OPEN = as_machine(None)


class AgreedValue(NamedTuple):
    """A value, and the shape and machine to ask it for; `operand` is None where it has coordinates and no exact layout.

    >>> agree((Layout.parse("d0 = 4@lane"),))[0].machine.lanes
    4
    """

    value: Distributed
    shape: Sequence[Any] | None
    machine: Machine
    operand: Operand | None

    def coordinates(self) -> NDArray[Any]:
        """The coordinates that each work-item holds (see `Distributed.coordinates`)."""
        return self.value.coordinates(self.shape, self.machine)


def agree(
    values: Sequence[Distributed], shape: Sequence[Any] | None = None, machine: Machine | None = None
) -> tuple[AgreedValue, ...]:
    """The shape and machine to ask each of several values for, so that all are about one tensor on one machine.

    A value that leaves the shape open is asked with `shape`, or with the shape of another value; so is a text of CuTe that may
    be read in two ways. What `machine` leaves open
    is what the values themselves say, the largest number of each: one that uses fewer lanes or subgroups holds copies in the
    others. A value that does not go into that machine is asked as it says itself.

    Raises what `operands` raises; `ConversionError` where no value says the shape, for a value with several operands, and where
    lanes are needed and only subgroups are said.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> few, all16 = LayoutAttr(lane_layout=(8,), lane_data=(1,)), Layout.parse("d0 = 8@lane | replicas 2@lane:8")
    >>> [str(one.operand.layout) for one in agree((few, all16))]
    ['d0 = 8@lane | replicas 2@lane:8', 'd0 = 8@lane | replicas 2@lane:8']
    """
    given = as_machine(machine)
    shapes: list[Sequence[Any] | None] = [shape] * len(values)
    if shape is None and any(value.needs_shape for value in values):
        known = next((value.tensor_shape() for value in values if not value.needs_shape), None)
        if known is None:
            raise ConversionError(f"{values[0]} needs a shape, such as 32x64")
        shapes = [known if value.needs_shape else None for value in values]
    elif shape is None:
        shapes = _shapes_of_readings(values)
    found: list[Operand | None] = [None] * len(values)
    reached = [(0, 0)] * len(values)
    on = given
    for i, value in enumerate(values):
        if not value.needs_machine:
            found[i] = operand = single_operand(value, shapes[i], on)
            reached[i] = _reach(operand)
    open_ones = [i for i, value in enumerate(values) if value.needs_machine]
    if open_ones:
        on = _filled(given, reached)
        for i in open_ones:
            value = values[i]
            if on.lanes is None and given.subgroups is None and (on.subgroups or 1) > 1:
                said = next(other for other, (_, subgroups) in zip(values, reached, strict=True) if subgroups > 1)
                raise ConversionError(
                    f"{said} deals out subgroups and no lanes: say their number, subgroup_size or machine"
                )
            with suppress(DistributionError):  # it may have coordinates all the same
                found[i] = operand = single_operand(value, shapes[i], on)
                reached[i] = _reach(operand)
    on = _filled(given, reached)
    asked: list[AgreedValue] = []
    for value, sizes, operand, alone in zip(values, shapes, found, reached, strict=True):
        machine = on
        if operand is not None and alone != (on.lanes or 0, on.subgroups or 0):
            try:
                operand = single_operand(value, sizes, on)
            except DistributionError:
                machine = _filled(given, [alone])  # it does not go into that machine: it stays as it says itself
        asked.append(AgreedValue(value, sizes, machine, operand))
    return tuple(asked)


def _shapes_of_readings(values: Sequence[Distributed]) -> list[Sequence[Any] | None]:
    """For each value that may be read in two ways: the shape of one of registers with as many elements; None: its own.

    >>> _shapes_of_readings((la.parse("((4,8),(2,2)):((32,1),(16,8))"), la.parse("SM80_16x8x16_F32F16F16F32_TN.C")))
    [(16, 8), None]
    """
    if not any(value.how_read() for value in values):
        return [None] * len(values)
    sure = [value for value in values if not value.how_read() and not value.needs_machine]
    said = next(
        (one.tensor_shape() for one in sure if _MACHINE & {*single_operand(one, None, _OPEN).layout.axes}), None
    )
    if said is None:
        return [None] * len(values)
    return [said if value.how_read() and prod(value.tensor_shape()) == prod(said) else None for value in values]


def _filled(given: Machine, reached: Sequence[tuple[int, int]]) -> Machine:
    """A machine, with what it leaves open taken from the largest numbers of lanes and subgroups (0: none said)."""
    if given.lanes is not None and given.subgroups is not None:
        return given
    most = Machine(max([one[0] for one in reached]) or None, max([one[1] for one in reached]) or None)
    return most if given == Machine() else given | most


def _reach(operand: Operand) -> tuple[int, int]:
    """How many lanes and subgroups a layout on the machine reaches; 0 where it says none, as one of memory does."""
    layout = operand.layout
    if layout.flips is not None:
        spans = {axis: int(span) for axis, span in layout.spans().items() if axis in _MACHINE}
        at_least = 1 if spans else 0
        return spans.get("lane", 0 if "sg" in spans else at_least), spans.get("sg", at_least)
    lanes = subgroups = 1
    axes: set[str | None] = set()
    for factors in (*layout.dims, layout.replicas):
        for extent, stride, axis in factors:
            axes.add(axis)
            if type(extent) is type(stride) is int:
                if axis == "lane":
                    lanes += (extent - 1) * stride
                elif axis == "sg":
                    subgroups += (extent - 1) * stride
    if not axes & _MACHINE:
        return 0, 0
    return lanes if "lane" in axes or "sg" not in axes else 0, subgroups


def readings(values: Sequence[Distributed], shape: Sequence[Any] | None, machine: Machine | None) -> list[str]:
    """How each value was read that may be read in two ways, of those that agree on a shape and a machine.

    >>> readings((la.parse("(32,8):(1,32)"),), (16, 16), None)
    ['(32,8):(1,32) is read as threads and values: its modes are 32x8, and the tensor is 16x16']
    """
    if not any(value.how_read() for value in values):
        return []
    found = [(one.value, one.value.how_read(one.shape, one.machine)) for one in agree(values, shape, machine)]
    return [f"{value} is read as {how}" for value, how in found if how]
