"""The names that a name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutalg.instructions.registry import Row

__all__ = ["nearest"]


def nearest(name: str, rows: Iterable[Row], most: int = 3) -> tuple[str, ...]:
    """The names nearest to `name`, best first.

    >>> from layoutalg.instructions.registry import rows
    >>> nearest("SM80_16x8x16_F32F16F16F32", rows().values())[0]
    'SM80_16x8x16_F32F16F16F32_TN'
    """
    names = [one for row in rows for one in (row.name, row.dotted, *row.aliases) if one]
    return tuple(get_close_matches(name, names, most, 0.6))
