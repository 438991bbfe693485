"""Values that are made of nothing: constants, counting along a dimension, masks; each work-item makes its own elements.

`vector.step` of 64 over 4 subgroups of 16 lanes is `16 * subgroup + lane`. The elements of a constant are
selected by the numbers of lane and subgroup, where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.layout import Layout
from layoutalg.lowering.fragments import picked, vector_size
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.registers import coordinates, sizes_of
from layoutalg.lowering.rules import Kernel, lowers

__all__: list[str] = []

_MOST_SELECTS = 4096
"""More selections than these in one constant are refused."""


@lowers("arith.constant")
def constant(op: Any, kernel: Kernel) -> None:
    """One number repeated is one in every piece; others are computed or selected."""
    result = op.results[0]
    if not kernel.is_spread(result):
        kernel.pass_on(op)
        return
    layout = kernel.layout(op, result)
    value: Any = op.value
    if value.name != DenseIntOrFPElementsAttr.name:
        refuse(op, "constant", f"is {str(value)[:40]}, which is not lowered")
    element = str(result.type.element_type)
    sizes = kernel.sizes(result, layout)
    if value.is_splat():
        text = str(value).partition("dense<")[2].rpartition("> :")[0]
        kernel.give(result, layout, _splats(kernel, text, element, sizes))
        return
    elements = [_chosen(op, kernel, numbers, element) for numbers in _held(value, layout)]
    kernel.give(result, layout, picked(kernel.writer, elements, range(len(elements)), sizes))


def _splats(kernel: Kernel, text: str, element: str, sizes: Sequence[int]) -> list[Value]:
    """One constant for each size of a piece."""
    made: dict[int, Value] = {}
    for size in sizes:
        if size not in made:
            width = vector_size(size)
            kind, splat = (element, text) if width is None else (f"vector<{size}x{element}>", f"dense<{text}>")
            form = f"arith.constant {splat}" if kind == "i1" else f"arith.constant {splat} : {kind}"
            made[size] = kernel.writer.value(form, (), element, width)
    return [made[size] for size in sizes]


def _held(constant: Any, layout: Layout) -> list[NDArray[Any]]:
    """The element of each register: `[subgroup, lane]`."""
    numbers: list[Any] = list(constant.get_values())
    texts = np.array(numbers, dtype=object).reshape(sizes_of(layout))
    here = coordinates(layout)
    held = texts[tuple(here[..., dim] for dim in range(here.shape[-1]))]
    return [held[:, :, register] for register in range(held.shape[2])]


def _chosen(op: Any, kernel: Kernel, numbers: NDArray[Any], element: str) -> Value:
    """The number of this work-item, out of those of all."""
    kinds: dict[Any, NDArray[np.bool_]] = {number: numbers == number for number in dict.fromkeys(numbers.flat)}
    if len(kinds) * kernel.subgroups > _MOST_SELECTS:
        refuse(op, "constant", f"has {len(kinds)} different numbers in one register, which are too many to select from")
    most, *others = sorted(kinds, key=lambda number: -int(kinds[number].sum()))
    found = _number(kernel, most, element)
    for number in others:
        masks = [sum(1 << lane for lane in np.flatnonzero(row).tolist()) for row in kinds[number]]
        if len(masks) == 1:  # at subgroup level: the same in every subgroup
            masks *= kernel.subgroups
        where = kernel.indices.active(tuple(masks))
        one = _number(kernel, number, element)
        found = one if where is None else kernel.indices.selected(where, one, found)
    return found


def _number(kernel: Kernel, number: Any, element: str) -> Value:
    if element == "i1":
        text = "true" if number else "false"
    elif isinstance(number, float):
        text = f"{number:e}" if np.isfinite(number) else _bits(number, element)
    else:
        text = str(int(number))
    kind = "" if element == "i1" else f" : {element}"
    return kernel.indices.early(("number", text, element), f"arith.constant {text}{kind}", element)


def _bits(number: float, element: str) -> str:
    """An infinity or NaN as its bits."""
    widths = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
    exponent, fraction = widths[element]
    bits = ((1 << exponent) - 1) << fraction
    if np.isnan(number):
        bits |= 1 << (fraction - 1)
    if number < 0:
        bits |= 1 << (exponent + fraction)
    return f"0x{bits:0{(exponent + fraction + 1) // 4}X}"


@lowers("vector.step")
def step(op: Any, kernel: Kernel) -> None:
    """Each element is its place."""
    result = op.results[0]
    layout = kernel.layout(op, result)
    places = [kernel.indices.index(place[0]) for place in kernel.places(layout)]
    kernel.give(result, layout, picked(kernel.writer, places, range(len(places)), kernel.sizes(result, layout)))


@lowers("vector.create_mask", "vector.constant_mask")
def mask(op: Any, kernel: Kernel) -> None:
    """An element is set where its place is below the bound in every dimension."""
    result = op.results[0]
    layout = kernel.layout(op, result)
    if op.name == "vector.create_mask":
        bounds = [kernel.scalar(value) for value in op.operands]
    else:
        bounds = [kernel.indices.constant(int(size), "index") for size in op.mask_dim_sizes.get_values()]
    values: list[Value] = []
    for place in kernel.places(layout):
        found: Value | None = None
        for coordinate, bound in zip(place, bounds, strict=True):
            below = kernel.compared("slt", kernel.indices.index(coordinate), bound)
            found = below if found is None else kernel.both(found, below)
        values.append(found if found is not None else kernel.indices.constant(1, "i1"))
    kernel.give(result, layout, picked(kernel.writer, values, range(len(values)), kernel.sizes(result, layout)))
