"""Checking lists of whole numbers that a text or a caller gives.

>>> whole_numbers([16, 8], "tile", 1, 2**31)
(16, 8)
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any, cast

from layoutalg.core.errors import VerificationError

__all__ = ["whole_numbers"]


def whole_numbers(values: object, what: str, low: int, high: int, count: int | None = None) -> tuple[int, ...]:
    """A list or tuple of whole numbers from `low` to `high`, as many as `count` says, as a tuple.

    Raises `VerificationError` for anything else; of a large value only the beginning is shown.

    >>> whole_numbers([16, True], "tile", 1, 2**31)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: tile [16, True]: expected whole numbers from 1 to 2147483648
    """
    shown = values
    if isinstance(values, (tuple, list)):
        found = tuple(cast("Sequence[Any]", values))
        if all(type(value) is int and low <= value <= high for value in found) and count in (None, len(found)):
            return found
    raise VerificationError(f"{what} {reprlib.repr(shown)}: expected whole numbers from {low} to {high}")
