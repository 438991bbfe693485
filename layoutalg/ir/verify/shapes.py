"""Shapes and lists, as rules ask for them and as LLVM writes them.

>>> from xdsl.dialects.builtin import VectorType, f16
>>> tile = VectorType(f16, [8, 16])
>>> shape_of(tile), written(shape_of(tile)), count_of(tile)
((8, 16), '[8, 16]', 128)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from re import compile as pattern
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute

from layoutalg.ir.dialects.amx import TileType, X86TileType
from layoutalg.ir.dialects.xegpu.attributes import MemDescType, TensorDescType

__all__ = [
    "count_of",
    "element_of",
    "is_memref",
    "is_tensor",
    "is_vector",
    "list_length",
    "numbers",
    "rank_of",
    "shape_of",
    "typed",
    "width_of",
    "written",
]


def is_vector(kind: Any) -> bool:
    """Whether a type is a vector.

    >>> from xdsl.dialects.builtin import VectorType, f16
    >>> is_vector(VectorType(f16, [8])), is_vector(f16)
    (True, False)
    """
    return isinstance(kind, VectorType)


def is_memref(kind: Any) -> bool:
    """Whether a type is a memref with a rank.

    >>> from xdsl.dialects.builtin import MemRefType, f16
    >>> is_memref(MemRefType(f16, [8])), is_memref(f16)
    (True, False)
    """
    return isinstance(kind, MemRefType)


def is_tensor(kind: Any) -> bool:
    """Whether a type is a tensor with a rank.

    >>> from xdsl.dialects.builtin import TensorType, f16
    >>> is_tensor(TensorType(f16, [8])), is_tensor(f16)
    (True, False)
    """
    return isinstance(kind, TensorType)


def shape_of(kind: Attribute | None) -> tuple[int, ...]:
    """The sizes of a vector, tensor, memref or descriptor; `(1,)` for a scalar, as XeGPU's verifier has it.

    >>> from xdsl.dialects.builtin import f16
    >>> shape_of(f16)
    (1,)
    """
    found: Any = kind
    return tuple(found.get_shape()) if isinstance(kind, _SHAPED) else (1,)


_SHAPED = (VectorType, MemRefType, TensorType, TensorDescType, MemDescType, TileType, X86TileType)


def rank_of(kind: Attribute | None) -> int:
    """The number of dimensions; 0 for a scalar.

    >>> from xdsl.dialects.builtin import f16
    >>> rank_of(f16)
    0
    """
    found: Any = kind
    return len(found.get_shape()) if isinstance(kind, _SHAPED) else 0


def count_of(kind: Attribute | None) -> int:
    """The number of elements of a shaped type; 1 for a scalar.

    >>> count_of(None)
    1
    """
    return prod(shape_of(kind))


def element_of(kind: Attribute | None) -> Attribute | None:
    """The element type of a shaped type; a scalar itself.

    >>> from xdsl.dialects.builtin import VectorType, f16
    >>> element_of(VectorType(f16, [4]))
    Float16Type()
    """
    found: Any = kind
    return found.element_type if isinstance(kind, (*_SHAPED, UnrankedMemRefType, UnrankedTensorType)) else kind


@lru_cache(maxsize=1024)
def width_of(kind: Attribute | None) -> int:
    """The bits of an element; 0 for what has no width (index).

    >>> from xdsl.dialects.builtin import bf16, i8
    >>> width_of(bf16), width_of(i8)
    (16, 8)
    """
    text = str(kind)
    if text == "tf32":
        return 19
    digits = text.lstrip("bsuif")
    number = digits[: len(digits) - len(digits.lstrip("0123456789"))]
    return int(number) if number and text != "index" else 0


def written(numbers: Sequence[int]) -> str:
    """A list as LLVM writes it.

    >>> written((8, 16))
    '[8, 16]'
    """
    return f"[{', '.join(map(str, numbers))}]"


def numbers(found: Attribute | None) -> tuple[int, ...]:
    """The integers of `array<i64: ...>` or of `[1, 0]`; empty without it.

    >>> from xdsl.dialects.builtin import DenseArrayBase, i64
    >>> numbers(DenseArrayBase.from_list(i64, [1, 0])), numbers(None)
    ((1, 0), ())
    """
    listed: Any = found
    if isinstance(found, DenseArrayBase):
        return tuple(int(n) for n in listed.get_values())
    if isinstance(found, ArrayAttr):
        return tuple(one.value.data for one in listed.data if isinstance(one, IntegerAttr))
    return ()


def typed(kind: Attribute) -> str:
    """A type as LLVM writes it in a diagnostic: a memory space is a bare number.

    >>> from xdsl.dialects.builtin import IntegerAttr, MemRefType, i8, i64
    >>> typed(MemRefType(i8, [64], memory_space=IntegerAttr(3, i64)))
    "'memref<64xi8, 3>'"
    """
    return f"'{_SPACE.sub(_BARE, str(kind))}'"


_SPACE, _BARE = pattern(r", (\d+) : i64>"), r", \1>"


def list_length(constants: tuple[int, ...] | None, values: Sequence[object]) -> int | None:
    """How long a list like `[%m, 16]` is, or None where its numbers and its values do not belong together.

    >>> list_length((DYNAMIC_INDEX, 16), ["%m"]), list_length((16,), ["%m"]), list_length(None, ["%m"])
    (2, None, 1)
    """
    if constants is None:
        return len(values)
    return len(constants) if constants.count(DYNAMIC_INDEX) == len(values) else None
