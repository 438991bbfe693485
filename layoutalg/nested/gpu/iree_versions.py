"""The versions of IREE whose spellings are printed.

>>> check_dialect(None)
'iree-3.13'
"""

from __future__ import annotations

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Notation
from layoutalg.core.notebook import told_text

__all__ = ["IREE_3_2", "NEWEST", "LaterAttr", "VersionedAttr", "check_dialect", "since_3_13"]

IREE_3_2 = "iree-3.2"
"""IREE 3.2: its parser takes every spelling of the dialect's page."""
NEWEST = "iree-3.13"
"""The newest version that layoutalg was compared with: what is printed unless another is asked for."""


def check_dialect(dialect: str | None) -> str:
    """The version that a name stands for, None being the newest.

    Raises `VerificationError` with the names of the versions.

    >>> check_dialect("iree-2")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: dialect 'iree-2': expected iree-3.13 (the newest) or iree-3.2
    """
    if dialect is None:
        return NEWEST
    if not isinstance(dialect, str) or dialect not in (IREE_3_2, NEWEST):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"dialect {shown(dialect)}: expected {NEWEST} (the newest) or {IREE_3_2}")
    return dialect


def since_3_13(text: str, dialect: str | None) -> str:
    """The text of an attribute that IREE 3.2 does not have.

    Raises `VerificationError` where that version is asked for.

    >>> since_3_13("#iree_gpu.lane_scope", "iree-3.2")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: IREE 3.2 has no lane_scope (of #iree_gpu.lane_scope)
    """
    if check_dialect(dialect) == IREE_3_2:
        name = text.removeprefix("#iree_gpu.").partition("<")[0]
        raise VerificationError(f"IREE 3.2 has no {name} (of {text})")
    return text


class VersionedAttr(Notation):
    """An attribute that both versions of IREE have, in the spelling of each or (those define `__str__` alone) in one.

    >>> from layoutalg.nested.gpu import LaneIdAttr
    >>> isinstance(LaneIdAttr(0), VersionedAttr), str(LaneIdAttr(0))
    (True, '#iree_gpu.lane_id<0>')
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return super()._repr_html_() or told_text(str(self))

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        Raises `VerificationError` where that version cannot say it.

        >>> from layoutalg.nested.gpu import LaneIdAttr
        >>> LaneIdAttr(0).text("iree-3.2")
        '#iree_gpu.lane_id<0>'
        """
        check_dialect(dialect)
        return str(self)


class LaterAttr(Notation):
    """An attribute that came after IREE 3.2; `str` prints it.

    >>> from layoutalg.nested.gpu import LaneScopeAttr
    >>> isinstance(LaneScopeAttr(), LaterAttr)
    True
    """

    __slots__ = ()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        Raises `VerificationError` for IREE 3.2, which has no such attribute.

        >>> from layoutalg.nested.gpu import LaneScopeAttr
        >>> LaneScopeAttr().text("iree-3.13")
        '#iree_gpu.lane_scope'
        """
        return since_3_13(str(self), dialect)
