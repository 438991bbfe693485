"""What the data-tiled kinds count: intrinsics of a thread and subgroups, along m, n and k, and lists of operands.

>>> COUNTS[:2], INTERLEAVING[2]
(('intrinsics_m', 'subgroups_m'), 'operands_interleaving_intrinsics_k')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_ints, whole_number

__all__ = ["COUNTS", "INTERLEAVING", "TileCounts", "check_counts"]

COUNTS = ("intrinsics_m", "subgroups_m", "intrinsics_n", "subgroups_n", "intrinsics_k", "subgroups_k")
"""The fields that count."""
INTERLEAVING = tuple(f"operands_interleaving_intrinsics_{d}" for d in "mnk")
"""The fields that list operands, by number."""


@dataclass(frozen=True, slots=True)
class TileCounts:
    """Counts of one intrinsic per thread and of subgroups, along m, n and k; they are given by name.

    `operands_interleaving_intrinsics_*` list the operands, by number, that keep that count next to a thread's own elements in
    memory.
    """

    intrinsic: str
    _: KW_ONLY
    intrinsics_m: int = 1
    subgroups_m: int = 1
    intrinsics_n: int = 1
    subgroups_n: int = 1
    intrinsics_k: int = 1
    subgroups_k: int = 1
    operands_interleaving_intrinsics_m: tuple[int, ...] | None = field(default=None)
    operands_interleaving_intrinsics_n: tuple[int, ...] | None = field(default=None)
    operands_interleaving_intrinsics_k: tuple[int, ...] | None = field(default=None)


def check_counts(kind: TileCounts, lists: Iterable[str], operands: Sequence[str], note: str = "") -> None:
    """Check the counts of a data-tiled kind, and that its `lists` name some of the `operands`; lists become tuples.

    Raises `VerificationError` for a count below 1 and for an unknown operand.

    >>> from layoutalg.nested.gpu import DataTiledMMAAttr
    >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", operands_interleaving_intrinsics_k=(3,))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: operands_interleaving_intrinsics_k = [3]: expected operands of 0 (Lhs), 1 (Rhs),
    2 (Acc)
    """
    for name in COUNTS:
        what, hint = f"{name} =", " (IREE accepts this)"
        number = whole_number(getattr(kind, name), what, 1, MAX_EXTENT, VerificationError, hint)
        object.__setattr__(kind, name, number)
    for name in lists:
        given = getattr(kind, name)
        if given is not None:
            numbers = as_ints(name, given)
            if any(not 0 <= one < len(operands) for one in numbers):
                known = ", ".join(f"{i} ({operand})" for i, operand in enumerate(operands))
                raise VerificationError(f"{name} = {shown(list(numbers))}: expected operands of {known}{note}")
            object.__setattr__(kind, name, numbers)
