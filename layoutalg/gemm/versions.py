"""Which versions of LLVM kernels are written for.

>>> checked_version(24)
24
"""

from __future__ import annotations

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole

__all__ = ["checked_version", "version_with_large_blocks"]


def checked_version(llvm: object) -> int:
    """A version of LLVM that kernels are written for.

    Raises `PlanError` for others.
    """
    from layoutalg.core.llvm_versions import llvm_versions

    known, number = llvm_versions(), found_whole(llvm)
    if number is None or number not in known:
        raise PlanError(f"llvm = {shown(llvm)}: kernels are written for {', '.join(map(str, known))}")
    return number


def version_with_large_blocks(llvm: object, planned: str) -> int:
    """A version of LLVM whose loads may bring more than 16 elements to a lane.

    Raises `PlanError` for others; `planned` says what needs such loads.

    >>> version_with_large_blocks(22, "attention is")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: LLVM 22 does not lower loads of more than 16 elements: attention is planned for \
LLVM 23 and 24
    >>> version_with_large_blocks(25, "attention is")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: llvm = 25: attention is planned for LLVM 23 and 24
    """
    from layoutalg.core.llvm_versions import llvm_versions, rules

    known, number = llvm_versions(), found_whole(llvm)
    taken = " and ".join(str(one) for one in known if rules(one).large_blocks)
    if number is None or number not in known:
        raise PlanError(f"llvm = {shown(llvm)}: {planned} planned for LLVM {taken}")
    if not rules(number).large_blocks:
        raise PlanError(
            f"LLVM {number} does not lower loads of more than 16 elements: {planned} planned for LLVM {taken}"
        )
    return number
