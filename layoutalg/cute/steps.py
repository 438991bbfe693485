"""What an operation says while it works: words, and the layout that they are about.

>>> print(Step("the factors of A, merged", "12:1"))
the factors of A, merged: 12:1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Say", "Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an operation: why, and what it gives.

    >>> print(Step("nothing is left", None))
    nothing is left
    """

    words: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.words}" if self.value is None else f"{self.words}: {self.value}"


Say: TypeAlias = Callable[[str, Any], None]
"""What is told of a step: words, and a layout or None. Operations that tell nobody have None in its place."""
