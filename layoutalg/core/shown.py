"""What a message shows of a value that a caller gave: one line, and only the beginning of a long one.

>>> shown([1] * 100), shown("d0 = 4@lane")
('[1, 1, 1, 1, 1, 1, ...]', "'d0 = 4@lane'")
"""

from __future__ import annotations

import reprlib

__all__ = ["shown"]


def shown(value: object) -> str:
    """The value in a line; Python prints no number of more than 4,300 digits, so a huge one is only called so.

    >>> shown(10**5000), shown({"a": 10**5000})
    ('(a huge number)', '(a dict)')
    """
    if type(value) is int and abs(value) > 2**64:
        return "(a huge number)"
    try:
        return " ".join(reprlib.repr(value).split())
    except Exception:  # what a stranger's __repr__ raises
        return f"(a {type(value).__name__})"
