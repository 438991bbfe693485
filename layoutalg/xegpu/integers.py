"""Integers with a type: LLVM keeps `2 : i32` as it was written, and prints an i64 as the attribute at hand does.

>>> integer_text(2, "i32"), integer_text(2, "i64"), integers_text((32, 1), ("i64", "i32"))
('2 : i32', '2 : i64', '[32, 1 : i32]')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import number_text, shown
from layoutalg.core.reader import Reader

__all__ = ["integer_text", "integers_text", "read_integer", "read_integers", "verify_integer"]

_KIND = re.compile(r"([su]?)i([1-9][0-9]?)|index")


def verify_integer(name: str, value: object, kind: object) -> None:
    """Check that a value is a whole number of its type.

    Raises `VerificationError`, in LLVM's words for a value that its type cannot hold.

    >>> verify_integer("array_length", 300, "i8")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: array_length = 300 : i8: integer constant out of range for attribute
    """
    match = _KIND.fullmatch(kind) if isinstance(kind, str) else None
    bits = 64 if match is None or match[2] is None else int(match[2])
    if match is None or not 2 <= bits <= 64:
        raise VerificationError(f"{name}: type {shown(kind)}: expected i64, i2 to i63, or index")
    if type(value) is not int:
        raise VerificationError(f"{name} = {shown(value)}: expected a whole number")
    low = 0 if match[1] == "u" else -(2 ** (bits - 1))
    high = 2**bits - 1 if match[1] == "u" else 2 ** (bits - 1) - 1  # LLVM wraps 200 : i8 to -56
    if not low <= value <= high:
        raise VerificationError(f"{name} = {number_text(value)} : {kind}: integer constant out of range for attribute")


def integer_text(value: int, kind: str) -> str:
    """An integer with its type."""
    return f"{value} : {kind}"


def integers_text(values: Sequence[int], kinds: Sequence[str] | None) -> str:
    """A list of integers, each with its type unless that is i64 (None: all are)."""
    known = ("i64",) * len(values) if kinds is None else kinds
    return f"[{', '.join(str(v) if k == 'i64' else integer_text(v, k) for v, k in zip(values, known, strict=True))}]"


def read_integer(reader: Reader) -> tuple[int, str]:
    """Read an integer and its type, i64 unless one is written.

    >>> read_integer(Reader("2 : i32")), read_integer(Reader("2"))
    ((2, 'i32'), (2, 'i64'))
    """
    start = reader.skip()
    value = reader.integer()
    kind = "i64"
    if reader.accept(":"):
        at = reader.skip()
        kind = reader.word("an integer type")
        match = _KIND.fullmatch(kind)
        if match is None or not 2 <= int(match[2] or 64) <= 64:
            reader.fail("an integer type of 2 to 64 bits, such as i64", at=at)
        try:
            verify_integer("value", value, kind)
        except VerificationError:
            reader.fail(f"an integer of type {kind}", f"found {value}", at=start)
    return value, kind


def read_integers(reader: Reader) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Read `[32, 1 : i32]`: the values, and their types."""
    reader.expect("[")
    if reader.accept("]"):
        return (), ()
    found = [read_integer(reader)]
    while reader.accept(","):
        found.append(read_integer(reader))
    if not reader.accept("]"):
        reader.fail("',' or ']'")
    return tuple(value for value, _ in found), tuple(kind for _, kind in found)
