"""Numbers of things and names of axes in words: "1 word", "3 words", "subgroup".

>>> counted(2, "cycle"), spoken("sg"), spoken("addr")
('2 cycles', 'subgroup', 'addr')
"""

from __future__ import annotations

__all__ = ["counted", "spoken"]


def counted(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def spoken(axis: str) -> str:
    """An axis in words."""
    return {"sg": "subgroup", "reg": "register"}.get(axis, axis)
