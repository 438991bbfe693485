"""The `Layout` that bases say: who holds each element, from which element each place holds.

>>> from layoutalg.triton.bases import LinearBases
>>> print(layout_of(LinearBases.from_bases([("register", [[1]]), ("lane", [[3]])], ["dim0"])))
d0 = 2@(lane^reg) 2@(reg)
"""

from __future__ import annotations

from typing import Any

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.triton.bases import LinearBases

__all__ = ["AXES", "layout_of"]

AXES = {"register": "reg", "lane": "lane", "warp": "sg", "block": "block"}
"""The axis of a layout for each input of a tensor in registers."""


def layout_of(linear: LinearBases) -> Layout:
    """The layout of a tensor whose dimensions are the outputs; an offset in memory is `addr`, other inputs keep their names.

    Raises `ConversionError` where some element belongs to nobody.
    """
    sizes = tuple([size for _, size in linear.out_dims])
    names = [f"d{d}" for d in range(len(sizes))]
    axes: dict[str, list[Any]] = {}
    for name, bases in linear.bases:
        axis = AXES.get(name, "addr" if name == "offset" else name)
        if axis in axes:
            raise ConversionError(f"two inputs are {axis!r} of a layout: expected one of {name!r} and the other")
        rows = axes[axis] = list[Any]()
        for basis in reversed(bases):
            places = [
                (axis, 1 << bit)
                for axis, value in zip(names, basis, strict=True)
                for bit in range(value.bit_length())
                if value >> bit & 1
            ]
            rows.append((2, 1, places) if places else (2, 0, None))
    seen = Layout(axes.values(), names=axes, codomain=names)
    reach = seen.axes
    for d, (name, size) in enumerate(zip(names, sizes, strict=True)):
        if reach.get(name, 1) != size:
            missing = next(
                1 << i
                for i in range(size.bit_length())
                if not any(basis[d] >> i & 1 for _, bases in linear.bases for basis in bases)
            )
            raise ConversionError(f"no basis moves dimension {d} by {missing}: its other elements belong to nobody")
    try:
        found = seen.inverse()
    except LayoutError as error:
        raise ConversionError(f"{linear!r}: elements belong to nobody ({linear.unreached()})") from error
    return Layout.of_parts(found.dims, found.replicas, (), found.names, found.origins, None, found.flips)
