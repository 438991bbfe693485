"""The versions of IREE whose spellings are printed.

>>> check_dialect(None)
'iree-3.13'
"""

from __future__ import annotations

from layoutalg.core.errors import VerificationError

__all__ = ["IREE_3_2", "NEWEST", "check_dialect"]

IREE_3_2 = "iree-3.2"
"""IREE 3.2: its parser takes every spelling of the dialect's page."""
NEWEST = "iree-3.13"
"""The newest version that layoutalg was compared with: what is printed unless another is asked for."""


def check_dialect(dialect: str | None) -> str:
    """The version that a name stands for, None being the newest.

    Raises `VerificationError` with the versions there are.

    >>> check_dialect("iree-2")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: dialect 'iree-2': expected iree-3.13 (the newest) or iree-3.2
    """
    if dialect is None:
        return NEWEST
    if not isinstance(dialect, str) or dialect not in (IREE_3_2, NEWEST):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"dialect {dialect!r:.60}: expected {NEWEST} (the newest) or {IREE_3_2}")
    return dialect
