"""Changes of layout: at subgroup and workgroup level a value is the whole tensor, so it stays as it is.

At lane level the elements move between the lanes of a subgroup. A fragment of the layout's rank says how large the tensor is
(`vector<8x1xf32>` over `lane_layout = [1, 16]` is 8x16); where each element was and where it goes are the two layouts' maps.
Its registers are its elements in row-major order, before and after.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.operations.declared import property_of

__all__: list[str] = []


@compiled_by("xegpu.convert_layout")
def convert_layout(op: Operation, compiling: Compiling) -> Step:
    """The same tensor, held by others."""
    source, target = (property_of(op, name) for name in ("input_layout", "target_layout"))
    if compiling.level != "lane" or source == target:
        return lambda run, values: (values[0],)
    fragment = value_shape(op.operands[0].type)
    shape = _tensor(op, source, fragment)
    before, after = (_layout(op, attribute, shape, compiling.lanes) for attribute in (source, target))
    if before.axes.get("reg", 1) != after.axes.get("reg", 1) or value_shape(op.results[0].type) != fragment:
        counts = (f"{layout.axes.get('reg', 1)} registers" for layout in (before, after))
        fail(op, f"{op.operands[0].type} of a {'x'.join(map(str, shape))} tensor has {' and '.join(counts)}")
    held = after.fragment_map()[0]
    coordinates = tuple(np.moveaxis(held, -1, 0))
    lane, register = (before.owner_map(axis)[coordinates] for axis in ("lane", "reg"))

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value = run.machine.spread(values[0])
        flat = value.reshape(*value.shape[:3], prod(fragment))
        return (flat[:, :, lane, register].reshape(*value.shape[:3], *fragment),)

    return step


@compiled_by("iree_vector_ext.to_layout")
def to_layout(op: Operation, compiling: Compiling) -> Step:
    """The same tensor, where a value is a whole tensor."""
    if compiling.level == "lane":
        fail(op, "is not simulated at lane level, where a value is a fragment")
    return lambda run, values: (values[0],)


def _tensor(op: Operation, attribute: Attribute | None, fragment: tuple[int, ...]) -> tuple[int, ...]:
    """The tensor whose fragment this is: so many times larger as there are lanes in each dimension of the source."""
    over = getattr(_value(op, attribute), "lane_layout", None)
    if over is None or len(over) != len(fragment):
        fail(op, f"a fragment of {len(fragment)} dimensions does not say the shape of a tensor with {attribute}")
    return tuple(extent * count for extent, count in zip(fragment, over, strict=True))


def _layout(op: Operation, attribute: Attribute | None, shape: tuple[int, ...], lanes: int) -> Layout:
    """The layout of a tensor of this shape, or why it has none."""
    try:
        layout: Layout = _value(op, attribute).layout(shape, Machine(lanes=lanes, subgroups=1))
    except LayoutError as problem:
        fail(op, str(problem))
    return layout


def _value(op: Operation, attribute: Attribute | None) -> Any:
    if not isinstance(attribute, LayoutAttr | SliceAttr):
        fail(op, "at lane level both layouts are needed to know which elements move")
    return attribute.value
