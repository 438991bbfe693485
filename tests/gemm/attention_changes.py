"""Changes of the text of attention kernels, and whether the simulator sees them in the result or refuses the launch."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from layoutalg.gemm.attention import Attention
from layoutalg.simulate import SimulationError
from tests.gemm.attention_runs import Array, same_bits

Change = Callable[[str], str]


def place_of(marks: tuple[str, ...], text: str) -> int:
    """Where the last one of some marks is, each behind the one before."""
    start = 0
    for mark in marks:
        start = text.index(mark, start)
    return start


def replaced(pattern: str, by: str, *, behind: tuple[str, ...] = ()) -> Change:
    """Other text for the first place that a pattern matches, behind marks."""

    def change(text: str) -> str:
        start = place_of(behind, text)
        made, found = re.subn(pattern, by, text[start:], count=1)
        assert found, pattern
        return text[:start] + made

    return change


def swapped(pattern: str, *, behind: tuple[str, ...] = ()) -> Change:
    """What the first two matches of a pattern have in their group, exchanged."""

    def change(text: str) -> str:
        one, other, *_ = re.compile(pattern).finditer(text, place_of(behind, text))
        assert one[1] != other[1]
        between = text[one.end(1) : other.start(1)]
        return text[: one.start(1)] + other[1] + between + one[1] + text[other.end(1) :]

    return change


def change_is_seen(plan: Attention, change: Change, arrays: Sequence[Array], expected: Array) -> bool:
    """Whether the kernel with a change gives another result on some arrays, or is refused."""
    text = plan.emit()
    wrong = change(text)
    assert wrong != text
    q, k, v = arrays
    try:
        return not same_bits(plan.simulate(q, k, v, wrong), expected)
    except SimulationError:
        return True
