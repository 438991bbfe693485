"""Which NVIDIA chips have an instruction: those from a first one on, or one family alone (the `a` of PTX's targets).

>>> since("sm_89")
('sm_89', 'sm_90', 'sm_100', 'sm_103', 'sm_120', 'sm_121')
"""

from __future__ import annotations

from layoutalg.core.whole_numbers import one_of

__all__ = ["since"]

_CHIPS = ("sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121")


def since(first: str) -> tuple[str, ...]:
    """The chips from `first` on.

    >>> since("sm_121")
    ('sm_121',)
    """
    one_of(first, _CHIPS, "chip")
    return _CHIPS[_CHIPS.index(first) :]
