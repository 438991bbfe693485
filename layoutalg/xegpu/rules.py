"""What depends on the version of LLVM: one row per version.

LLVM goes on changing how an XeGPU layout is read. Everything that does is a field here, LLVM 22 the default, so that the
next version is a row and not a rewrite.

>>> rules(22).lane_wrap, rules(23).lane_wrap
(False, True)
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import LayoutError

__all__ = ["DEFAULT_LLVM", "Rules", "llvm_versions", "rules"]

DEFAULT_LLVM = 22
"""The version whose rules hold unless another is asked for: 22.1.8 is what the tests run."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How one version of LLVM reads a layout.

    `lane_wrap`: whether a tile that is smaller than `lane_layout * lane_data` is accepted, and held by several lanes. From
    LLVM's main branch after 22 (llvm-project pull requests 201667 and 215645); not run here.

    >>> Rules(llvm=22, lane_wrap=False).llvm
    22
    """

    llvm: int
    lane_wrap: bool


_ROWS = {row.llvm: row for row in (Rules(22, lane_wrap=False), Rules(23, lane_wrap=True))}


def rules(llvm: int = DEFAULT_LLVM) -> Rules:
    """The row of a version.

    Raises `LayoutError` for a version that is not in the table.

    >>> rules(3)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: LLVM 3: the rules of LLVM 22, 23 are known
    """
    row = _ROWS.get(llvm)
    if row is None:
        raise LayoutError(f"LLVM {llvm}: the rules of LLVM {', '.join(map(str, _ROWS))} are known")
    return row


def llvm_versions() -> tuple[int, ...]:
    """The versions whose rules are known.

    >>> 22 in llvm_versions()
    True
    """
    return tuple(_ROWS)
