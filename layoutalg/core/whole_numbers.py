"""Checking whole numbers, and lists of them, that a text or a caller gives; and showing whatever was given instead.

>>> whole_numbers([16, 8], "tile", 1, 2**31), whole_number(3, "count", 1, 8)
((16, 8), 3)
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any, cast

from layoutalg.core.errors import VerificationError

__all__ = ["shown", "whole_number", "whole_numbers"]


def whole_numbers(values: object, what: str, low: int, high: int, count: int | None = None) -> tuple[int, ...]:
    """A list or tuple of whole numbers from `low` to `high`, as many as `count` says, as a tuple.

    Raises `VerificationError` for anything else; of a large value only the beginning is shown.

    >>> whole_numbers([16, True], "tile", 1, 2**31)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: tile [16, True]: expected whole numbers from 1 to 2147483648
    """
    if isinstance(values, (tuple, list)):
        found = tuple(cast("Sequence[Any]", values))
        if all(type(value) is int and low <= value <= high for value in found) and count in (None, len(found)):
            return found
    raise VerificationError(f"{what} {_Short().repr(values)}: expected whole numbers from {low} to {high}")


def whole_number(value: object, what: str, low: int, high: int, hint: str = "") -> int:
    """A whole number from `low` to `high`; a truth value is not one.

    Raises `VerificationError` for anything else; `hint` is what its message ends with.

    >>> whole_number(16, "start_row", 0, 15)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: start_row = 16: expected a whole number from 0 to 15
    """
    if type(value) is int and low <= value <= high:
        return value
    raise VerificationError(f"{what} = {shown(value)}: expected a whole number from {low} to {high}{hint}")


def shown(value: object, most: int = 60) -> str:
    """Anything as an error shows it: its `repr`, at most `most` characters, whatever its size.

    >>> shown("tmm0"), shown(10**5000), len(shown("x" * 1000))
    ("'tmm0'", 'a huge number', 60)
    """
    return _Short().repr(value)[:most]


class _Short(reprlib.Repr):
    """`repr` that takes only the beginning of long values; Python refuses to print integers of over 4300 digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 1000

    def repr_int(self, x: int, level: int) -> str:
        return "a huge number" if abs(x) > 2**64 else str(x)
