"""Element types of XeGPU's tensors: how they are spelled, and how many bits they have.

>>> element_bits("bf16"), element_bits("tf32"), element_bits("ui8")
(16, 32, 8)
"""

from __future__ import annotations

import re

from layoutalg.core.errors import VerificationError
from layoutalg.core.reader import Reader

__all__ = ["element_bits", "read_element"]

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
"""How the RFC writes some of them."""

_INTEGER = re.compile(r"(s|u)?i([1-9][0-9]{0,3})")
_RFC_INTEGER = re.compile(r"(u)?int(8|16|32|64)")


def element_bits(element: str) -> int:
    """The size of an element type, in bits.

    Raises `VerificationError` for what is no element type of a tensor (`index` has no size).

    >>> element_bits("i4")
    4
    >>> element_bits("index")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: element type 'index': expected a float (f16, bf16, tf32, ...)
    or an integer type (i8, ui8, ...); LLVM 22 crashes on it
    """
    if not isinstance(element, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"element type of a {type(element).__name__}: expected its name, such as f16")
    bits = _FLOATS.get(element)
    if bits is not None:
        return bits
    integer = _INTEGER.fullmatch(element)
    if integer is not None and int(integer.group(2)) <= 64:
        return int(integer.group(2))
    raise VerificationError(
        f"element type {element!r}: expected a float (f16, bf16, tf32, ...) or an integer type (i8, ui8, ...)"
        + ("; LLVM 22 crashes on it" if element == "index" else "")
    )


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
