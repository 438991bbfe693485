"""Numbers of things in words: "1 word", "3 words".

>>> counted(2, "cycle")
'2 cycles'
"""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
