"""Numbers as the hardware has them: element types, and integers that wrap around.

>>> wrap(np.array([2**31 - 1]) + 1, 32)
array([-2147483648])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from layoutalg.core import elements
from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown

__all__ = [
    "numpy_type",
    "signed_bits",
    "wrap",
]

Array = NDArray[Any]

_SIMULATED = ("f16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "index", "bf16")


def numpy_type(element: str) -> np.dtype[Any]:
    """The numpy type that holds elements of an MLIR type, in memory and in registers.

    Raises:
        LayoutError: the simulator has no such elements.

    >>> numpy_type("f16"), numpy_type("i32"), numpy_type("bf16").itemsize
    (dtype('float16'), dtype('int32'), 2)
    """
    if type(element) is not str or element not in _SIMULATED:
        given = element if type(element) is str else shown(element)
        raise LayoutError(f"elements of type {given} are not simulated; {', '.join(_SIMULATED)} are")
    return elements.numpy_type(element)


def signed_bits(kind: Attribute) -> int:
    """The width of an integer type; an index has 64 bits."""
    return kind.bitwidth if isa(kind, IntegerType) else 64


def wrap(value: Array, bits: int) -> Array:
    """The low bits of an integer, as a signed number of 64 bits.

    >>> wrap(np.array([2**31]), 32)
    array([-2147483648])
    """
    value = value.astype(np.int64, copy=False)
    if bits >= 64:
        return value
    half = np.int64(1) << np.int64(bits - 1)
    return ((value + half) & ((half << np.int64(1)) - 1)) - half
