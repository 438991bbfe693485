"""Numbers of things and names of axes in words: "1 word", "3 words", "subgroup".

>>> counted(2, "cycle"), spoken("sg"), spoken("addr")
('2 cycles', 'subgroup', 'addr')
"""

from __future__ import annotations

__all__ = ["counted", "spoken"]

_SPOKEN = {
    "sg": "subgroup",
    "reg": "register",
    "tmem_lane": "tensor memory lane",
    "tmem_column": "tensor memory column",
}


def counted(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def spoken(axis: str) -> str:
    """An axis in words."""
    return _SPOKEN.get(axis, axis)
