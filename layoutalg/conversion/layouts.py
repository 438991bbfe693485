"""The layouts that are converted: two of one tensor, each onto subgroups, lanes and registers.

>>> machine_counts(Layout.parse("d0 = 2@sg 16@lane, d1 = 4@reg"))
{'sg': 2, 'lane': 16, 'reg': 4}
"""

from __future__ import annotations

from typing import Any

from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_LANES, MOST_REGISTERS, MOST_SUBGROUPS
from layoutalg.core.messages import shown

__all__ = ["check_tensor", "machine_counts"]


def machine_counts(layout: Layout) -> dict[str, int]:
    """The subgroups, lanes and registers of a layout, after a check that it can be converted.

    Raises `ConversionError` for other axes and for negative offsets, `SizeError` for too many of one.
    """
    if layout.flips is None and any(
        type(n) is not int for factors in (*layout.dims, layout.replicas) for one in factors for n in one[:2]
    ):
        raise ConversionError(f"{layout} has symbols; put numbers for them with substitute() before converting it")
    axes: Any = layout.axes
    if not {*(layout.codomain_order or axes)} <= {*MACHINE}:
        lies = "; it says where elements lie, which `banks` takes as --memory" if "addr" in axes else ""
        raise ConversionError(f"{layout}: expected a layout onto sg, lane and reg{lies}")
    for axis, start in layout.offsets.items():
        if start < 0:
            raise ConversionError(f"{layout}: starts at {start} of {axis}; {axis} counts from 0")
    counts = {axis: axes.get(axis, 1) + layout.offsets.get(axis, 0) for axis in MACHINE}
    for axis, what, most in (
        ("sg", "subgroups", MOST_SUBGROUPS),
        ("lane", "lanes in a subgroup", MOST_LANES),
        ("reg", "registers in a lane", MOST_REGISTERS),
    ):
        if counts[axis] > most:
            raise SizeError(f"{counts[axis]} {what}: at most {most} are converted (layout {layout})")
    return counts


def check_tensor(source: object, destination: object) -> None:
    """Refuse what are not two layouts of one tensor.

    >>> check_tensor(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 8@lane"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: a tensor of 4 and one of 8: expected two layouts of one tensor
    """
    for layout in (source, destination):
        if not isinstance(layout, Layout):
            raise ConversionError(
                f"a plan from or to {shown(layout)}: expected two layouts; convert takes other values"
            )
    assert isinstance(source, Layout)
    assert isinstance(destination, Layout)
    if source.shape != destination.shape:
        sizes = ["x".join(map(str, one.shape)) or "()" for one in (source, destination)]
        raise ConversionError(f"a tensor of {sizes[0]} and one of {sizes[1]}: expected two layouts of one tensor")
