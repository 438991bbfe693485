"""Which versions of LLVM kernels are written for.

>>> checked_version(24)
24
"""

from __future__ import annotations

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole

__all__ = ["checked_version"]


def checked_version(llvm: object) -> int:
    """A version of LLVM that kernels are written for.

    Raises `PlanError` for others.
    """
    from layoutalg.core.llvm_versions import llvm_versions

    known, number = llvm_versions(), found_whole(llvm)
    if number is None or number not in known:
        raise PlanError(f"llvm = {shown(llvm)}: kernels are written for {', '.join(map(str, known))}")
    return number
