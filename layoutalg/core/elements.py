"""Element types: how MLIR spells them, how many bits they have, and which numpy type holds them.

>>> element_bits("bf16"), element_bits("tf32"), element_bits("ui8")
(16, 32, 8)
>>> numpy_type("f16"), numpy_type("i8"), numpy_type("bf16").itemsize, numpy_type("f8E5M2FNUZ").name
(dtype('float16'), dtype('int8'), 2, 'float8_e5m2fnuz')
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.reader import Reader

if TYPE_CHECKING:
    import numpy as np

__all__ = ["element_bits", "moved_bits", "numpy_type", "read_element", "usual_elements"]

_FLOATS = {
    "f64": 64,
    "f32": 32,
    "tf32": 32,
    "f16": 16,
    "bf16": 16,
    "f8E5M2": 8,
    "f8E4M3": 8,
    "f8E4M3FN": 8,
    "f8E4M3B11FNUZ": 8,
    "f8E4M3FNUZ": 8,
    "f8E5M2FNUZ": 8,
    "f8E3M4": 8,
    "f8E8M0FNU": 8,
    "f6E3M2FN": 6,
    "f6E2M3FN": 6,
    "f4E2M1FN": 4,
}
"""MLIR's float types with the bits that an element takes; tf32 is kept in 32 bits (19 are used)."""

_SPELLINGS = {"fp32": "f32", "float": "f32", "fp16": "f16"}
"""How the RFC of XeGPU writes some of them."""

_INTEGER = re.compile(r"(s|u)?i([1-9][0-9]{0,3})")
_RFC_INTEGER = re.compile(r"(u)?int(8|16|32|64)")


_NUMPY = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "index": "int64",
}
_SMALL = {"bf16": "bfloat16"} | {
    f"f8{kind}": f"float8_{kind.lower()}"
    for kind in ("E5M2", "E4M3FN", "E5M2FNUZ", "E4M3FNUZ", "E4M3B11FNUZ", "E4M3", "E3M4", "E8M0FNU")
}


def usual_elements() -> tuple[str, ...]:
    """The types that people ask for: floats, integers of a power of two bits.

    >>> usual_elements()[:3], usual_elements()[-1]
    (('f64', 'f32', 'tf32'), 'u64')
    """
    return (*_FLOATS, *(f"{sign}{bits}" for sign in "isu" for bits in (4, 8, 16, 32, 64)))


def element_bits(element: str) -> int:
    """The size of an element type, in bits.

    Raises `VerificationError` for what is not an element type of a tensor (`index` has no size).

    >>> element_bits("i4")
    4
    >>> element_bits("index")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: element type 'index': expected a float (f16, bf16, tf32, ...)
    or an integer type (i8, ui8, ...); LLVM 22 crashes on it
    """
    if isinstance(element, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        bits = _FLOATS.get(element)
        if bits is not None:
            return bits
        integer = _INTEGER.fullmatch(element)
        if integer is not None and int(integer.group(2)) <= 64:
            return int(integer.group(2))
    raise VerificationError(
        f"element type {shown(element)}: expected a float (f16, bf16, tf32, ...) or an integer type (i8, ui8, ...)"
        + ("; LLVM 22 crashes on it" if shown(element) == "'index'" else "")
    )


def moved_bits(element: str) -> int:
    """The bits of an element while a conversion moves it: 8, 16, 32 or 64. Smaller ones take the next size, an index 64.

    Raises `VerificationError` for what is not an element type.

    >>> moved_bits("bf16"), moved_bits("index"), moved_bits("i1"), moved_bits("f6E3M2FN"), moved_bits("i12")
    (16, 64, 8, 8, 16)
    """
    bits = 64 if element == "index" else element_bits(element)
    return next(size for size in (8, 16, 32, 64) if bits <= size)


def read_element(reader: Reader) -> str:
    """Read an element type; the RFC's `fp32`, `float`, `uint8` are read as MLIR's `f32`, `f32`, `ui8`.

    >>> read_element(Reader("uint16"))
    'ui16'
    """
    start = reader.skip()
    word = reader.word("an element type, such as f16")
    word = _SPELLINGS.get(word, word)
    rfc = _RFC_INTEGER.fullmatch(word)
    if rfc is not None:
        word = f"{'u' if rfc.group(1) else ''}i{rfc.group(2)}"
    if word != "index" and word not in _FLOATS and _INTEGER.fullmatch(word) is None:
        reader.fail("an element type, such as f16", at=start)
    return word


def numpy_type(element: str) -> np.dtype[Any]:
    """The numpy type that holds elements of an MLIR type; the small floats are those of ml_dtypes.

    Raises `LayoutError` for a type that numpy cannot hold.

    >>> numpy_type("tf32")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: numpy has no elements of type 'tf32'
    """
    import numpy as np

    given: Any = element
    if isinstance(given, str) and element in _NUMPY:
        return np.dtype(_NUMPY[element])
    if isinstance(given, str) and element in _SMALL:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _SMALL[element]))
    raise LayoutError(f"numpy has no elements of type {shown(element)}")
