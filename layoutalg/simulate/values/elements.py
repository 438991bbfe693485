"""How the elements of a value are held: one numpy type for each MLIR element type.

Floats are held in their own type (bf16 and f8 in those of ml_dtypes, tf32 in f32 with the 13 low bits zero). Integers are
signless in MLIR; they are held as the signed number of their bits, in the smallest numpy type that has them: i8 in int8,
i4 in int8 from -8 to 7, an index in int64. An i1 is a bool.

>>> element("i4"), element("bf16").dtype.name
(Element(name='i4', bits=4, dtype=dtype('int8'), is_float=False), 'bfloat16')
>>> settle(np.array([7 + 1, -9], np.int8), element("i4"))
array([-8,  7], dtype=int8)

The law: `as_signed` and `as_unsigned` of a value agree with its bits, whichever numpy type it comes in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core import elements
from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown

__all__ = ["Element", "as_signed", "as_unsigned", "element", "settle"]

Array = NDArray[Any]

_INTEGER = re.compile(r"(s|u)?i([1-9][0-9]?)")
_WIDTHS = (8, 16, 32, 64)
_FLOATS = ("f16", "f32", "f64", "bf16", "tf32", "f8E5M2", "f8E4M3", "f8E4M3FN", "f8E4M3B11FNUZ", "f8E4M3FNUZ",
           "f8E5M2FNUZ", "f8E3M4", "f8E8M0FNU")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its name in MLIR, the bits that it has in memory, and the numpy type that holds it.

    >>> element("tf32").bits, element("index").bits
    (32, 64)
    """

    name: str
    bits: int
    dtype: np.dtype[Any]
    is_float: bool

    @property
    def smallest(self) -> int:
        """The smallest integer of this width."""
        return -(1 << (self.bits - 1))

    @property
    def exact(self) -> bool:
        """Whether the numpy type has exactly the integer's bits, so that it wraps by itself."""
        return self.bits == self.dtype.itemsize * 8

    @property
    def unsigned_dtype(self) -> np.dtype[Any]:
        """The unsigned numpy type of the same size."""
        return np.dtype(f"u{self.dtype.itemsize}")


@lru_cache(maxsize=256)
def element(name: str) -> Element:
    """The element type with this name.

    Raises:
        LayoutError: no value of this type is simulated.

    >>> element("f80")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: elements of type f80 are not simulated; integers up to i64, index, f16, f32, f64, \
bf16, tf32 and the f8 types are
    """
    if name == "index":
        return Element(name, 64, np.dtype(np.int64), False)
    integer = _INTEGER.fullmatch(name)
    if integer is not None and int(integer.group(2)) <= 64:
        bits = int(integer.group(2))
        held = np.dtype(bool) if bits == 1 else np.dtype(f"i{next(w for w in _WIDTHS if w >= bits) // 8}")
        return Element(name, bits, held, False)
    if name == "tf32":
        return Element(name, 32, np.dtype(np.float32), True)
    if name in _FLOATS:
        return Element(name, elements.element_bits(name), elements.numpy_type(name), True)
    raise LayoutError(
        f"elements of type {shown(name).strip(chr(39))} are not simulated; integers up to i64, index, f16, f32, f64, "
        "bf16, tf32 and the f8 types are"
    )


def as_signed(value: Array) -> Array:
    """The numbers in 64 bits; a set i1 is -1."""
    return -value.astype(np.int64) if value.dtype == np.bool_ else value.astype(np.int64, copy=False)


def as_unsigned(value: Array, kind: Element) -> Array:
    """The numbers that the bits are without a sign, in 64 bits."""
    wide = as_signed(value).astype(np.uint64)
    return wide if kind.bits == 64 else wide & np.uint64((1 << kind.bits) - 1)


def settle(value: Array, kind: Element) -> Array:
    """The low bits of integers, held as their type is.

    >>> settle(np.array([2**31]), element("i32")), settle(np.array([2, 3]), element("i1"))
    (array([-2147483648], dtype=int32), array([False,  True]))
    """
    if kind.bits == 1:
        return value if value.dtype == np.bool_ else (value & value.dtype.type(1)) != 0
    if value.dtype == np.bool_:
        value = as_signed(value)
    value = value.astype(kind.dtype, copy=False)
    if kind.exact:
        return value
    spare = kind.dtype.type(kind.dtype.itemsize * 8 - kind.bits)
    return (value << spare) >> spare
