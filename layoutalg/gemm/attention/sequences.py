"""Sequences of different lengths, packed one behind the other: where each begins, and what a subgroup of it has to know.

Q and O have the rows of all sequences, K and V their keys, in the order "bshd". `starts_q` and `starts_k` are arrays of i32 in
memory with one number more than there are sequences: sequence s has the rows starts[s] to starts[s + 1] - 1, as
FlashAttention's `cu_seqlens` says it. z of the grid counts the heads of a sequence, then sequences. x is for the longest one:
a subgroup whose rows are behind its sequence leaves at once.

Each sequence is a matrix of its own, which ends where it does. So messages give 0 for what is behind and write nothing there,
as they do at the end of an array. Sizes, offsets and lengths are no part of the kernel's text.

>>> from layoutalg.gemm.attention import plan_attention
>>> plan = plan_attention(300, 200, 64, heads=2, order="bshd", starts_q=(0, 100, 300), starts_k=(0, 150, 200), target="bmg")
>>> plan.grid, [(one.queries, one.keys) for one in plan.problem.sequences]
((2, 1, 4), [(100, 150), (200, 50)])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole

if TYPE_CHECKING:
    from layoutalg.gemm.attention.writing import KernelWriter

__all__ = ["Starts", "checked_starts", "write_sequence"]

Starts = tuple[int, ...]
_MOST = 65536


def checked_starts(name: str, given: object, rows: int) -> Starts:
    """Where sequences begin, as whole numbers from 0 to the number of rows that never fall.

    Raises `PlanError`: says which number is at fault.

    >>> checked_starts("starts_q", [0, 5, 3], 5)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: starts_q[2] = 3: a sequence does not end before it begins, at 5
    """
    try:
        numbers = None if isinstance(given, (str, bytes)) else iter(cast("Iterable[object]", given))
    except TypeError:
        numbers = None
    if numbers is None:
        raise PlanError(f"{name} = {shown(given)}: expected where sequences begin, such as (0, {rows})")
    found: list[int] = []
    for place, one in enumerate(numbers):
        number = found_whole(one)
        if number is None or not 0 <= number <= rows:
            raise PlanError(
                f"{name}[{place}] = {shown(one)}: expected a whole number from 0 to {rows}, the number of rows"
            )
        if found and number < found[-1]:
            raise PlanError(f"{name}[{place}] = {number}: a sequence does not end before it begins, at {found[-1]}")
        if place >= _MOST:
            raise PlanError(f"{name} has more than {_MOST} numbers")
        found.append(number)
    if len(found) < 2 or (found[0], found[-1]) != (0, rows):
        ends = f"{found[0]} to {found[-1]}" if found else "nothing"
        raise PlanError(f"{name} goes from {ends}: the first sequence begins at 0, and the last one ends at {rows}")
    return tuple(found)


def write_sequence(kernel: KernelWriter) -> None:
    """What the subgroup's sequence has: the number of its rows and keys, where they begin, and the head."""
    place = kernel.let("gpu.block_id z", (), "index")
    heads = kernel.number(kernel.problem.heads, "index")
    number = kernel.cast(kernel.binary("divui", place, heads), "i32", "sequence")
    kernel.head = kernel.binary("remui", place, heads, "head")
    behind = kernel.binary("addi", number, kernel.number(1))
    for array, count, matrices in (("starts_q", "queries", "QO"), ("starts_k", "keys", "KV")):
        begin = kernel.loaded_number(array, number, f"begin_{array[-1]}")
        kernel.arguments[count] = kernel.binary(
            "subi", kernel.loaded_number(array, behind, f"end_{array[-1]}"), begin, count
        )
        kernel.begins |= dict.fromkeys(matrices, begin)
