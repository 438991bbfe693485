"""A kernel's memref arguments: an array at an address, with the sizes that the type leaves open.

>>> from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, f32
>>> from xdsl.dialects.test import TestOp
>>> array = np.zeros((4, 8), np.float32)
>>> argument_view(TestOp(), MemRefType(f32, [DYNAMIC_INDEX, 8]), BoundArray(1 << 40, array), 0).sizes
(4, 8)
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation

from layoutalg.core.messages import shown
from layoutalg.simulate.machine import fail
from layoutalg.simulate.memory.views import View, dtype_of, memory_space, static_view

__all__ = ["BoundArray", "argument_view"]


@dataclass(frozen=True, eq=False)
class BoundArray:
    """An array and its address.

    >>> BoundArray(1 << 40, np.zeros(4)).array.shape
    (4,)
    """

    address: int
    array: NDArray[Any]


def argument_view(op: Operation, kind: MemRefType[Attribute], argument: object, number: int) -> View:
    """The memref that a kernel is given: of an array, or of an address where the type says all sizes.

    >>> from xdsl.dialects.builtin import f32
    >>> from xdsl.dialects.test import TestOp
    >>> argument_view(TestOp(), MemRefType(f32, [4]), 1 << 40, 0).base.item() == 1 << 40
    True
    """
    sizes, strides, offset = static_view(kind)
    dtype = dtype_of(kind.element_type)
    if memory_space(kind) != "global":
        fail(op, f"argument {number} is {kind}; a kernel is given global memory")
    if isinstance(argument, BoundArray):
        shape, given = argument.array.shape, argument.array.dtype
        if given.itemsize != dtype.itemsize:
            fail(op, f"argument {number} is an array of {given}, and {kind} is asked for")
        if len(shape) != len(sizes) or any(n not in (DYNAMIC_INDEX, m) for n, m in zip(sizes, shape, strict=True)):
            fail(op, f"argument {number} is an array of {'x'.join(map(str, shape))}, and {kind} is asked for")
        address, found = argument.address, View.row_major(np.zeros((1, 1, 1), np.int64), shape)
    else:
        if DYNAMIC_INDEX in sizes:
            fail(op, f"argument {number}: {kind} needs an array, whose sizes are known")
        try:
            address = index(argument)  # pyright: ignore[reportArgumentType]
        except TypeError:
            fail(op, f"argument {number} is {shown(argument)}; an array is needed for {kind}")
        found = View.row_major(np.zeros((1, 1, 1), np.int64), sizes)
    if offset not in (0, DYNAMIC_INDEX):
        fail(op, f"argument {number}: {kind} begins {offset} elements after its array")
    steps = tuple(own if said == DYNAMIC_INDEX else said for said, own in zip(strides, found.strides, strict=True))
    if isinstance(argument, BoundArray) and steps != found.strides:
        fail(op, f"argument {number} is an array with strides {list(found.strides)}, and {kind} is asked for")
    return View(np.full((1, 1, 1), address, np.int64), 0, found.sizes, steps, dtype.itemsize)
