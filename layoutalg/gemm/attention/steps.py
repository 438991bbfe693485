"""Which keys a subgroup goes through, in which steps.

A step of 64 keys (32 for some heads, see `keys_of_step`) has no mask, so all queries of the subgroup must see all its keys.
What is left goes in steps of 32 keys with a mask; they come first.

By hand, with a causal mask and as many keys as queries: the 16 queries from 64 on see the keys 0 to 64 at least and 79 at most.
The keys 0 to 63 are one step without a mask, and 64 to 79 are one with a mask.

>>> problem = AttentionProblem.of(256, 256, 64, causal=True)
>>> visible(problem, 16, 64), steps_of(problem, 16, 64)
((64, 80), Steps(masked=1, seen=1))

With a window the keys before it are left out, and those where it begins have a mask as well:

>>> stretches(AttentionProblem.of(256, 256, 64, causal=True, window=100), 16, 240)
Stretches(begin=128, inner=192, full=192, end=256)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.gemm.attention.problem import AttentionProblem

__all__ = [
    "MASKED_KEYS",
    "Share",
    "Step",
    "Steps",
    "Stretches",
    "all_steps",
    "keys_of_step",
    "rows_of_subgroup",
    "shared",
    "steps_of",
    "stretches",
    "visible",
]

MASKED_KEYS = 32
"""Keys of a step with a mask, which needs registers."""


def keys_of_step(d: int) -> int:
    """Keys of a step without a mask, for heads of `d`: 64 where the registers of a subgroup allow it, else 32.

    By the listings of the current graphics compiler, which spills with 64 keys and O of 6 blocks of 16 columns or more for 16
    queries, of 16 blocks for 8 queries.

    >>> keys_of_step(64), keys_of_step(128), keys_of_step(192), keys_of_step(256)
    (64, 32, 64, 32)
    """
    columns = -(-whole_number(d, "d =", error=PlanError) // 16)
    return 64 if columns <= (5 if rows_of_subgroup(d) == 16 else 14) else 32


def rows_of_subgroup(d: int) -> int:
    """Queries of a subgroup for heads of `d`: 16, or 8 where the O of 16 does not fit the registers.

    >>> rows_of_subgroup(128), rows_of_subgroup(136)
    (16, 8)
    """
    return 16 if whole_number(d, "d =", error=PlanError) <= 128 else 8


@dataclass(frozen=True)
class Steps:
    """How many steps one subgroup takes, or several together: with a mask, and over keys that all its queries see.

    Adding and multiplying raise `PlanError` for what is not steps, or not a number of times.

    >>> Steps(1, 4) + Steps(2, 0)
    Steps(masked=3, seen=4)
    """

    masked: int
    seen: int

    def __add__(self, other: Steps) -> Steps:
        instance_of(other, Steps, "steps", PlanError)
        return Steps(self.masked + other.masked, self.seen + other.seen)

    def __mul__(self, count: int) -> Steps:
        count = whole_number(count, "count =", 0, error=PlanError)
        return Steps(self.masked * count, self.seen * count)


@dataclass(frozen=True)
class Step:
    """What one subgroup does in a step of `keys` keys: DPAS instructions, load messages, and the bytes that they move.

    >>> Step(64, 64, {"Q": 2, "K": 16, "V": 4}, 18432).messages
    22
    """

    keys: int
    dpas: int
    loads: dict[str, int]
    bytes: int

    @property
    def messages(self) -> int:
        """All load messages.

        >>> Step(32, 32, {"Q": 2, "K": 8, "V": 2}, 10240).messages
        12
        """
        return sum(self.loads.values())


@dataclass(frozen=True)
class Share:
    """What is prefetched in a step: `blocks` of 32 keys by 32 columns of K and as many of V, `columns` of them side by side.

    Each subgroup of a workgroup asks for `rounds` of them.
    """

    blocks: int
    columns: int
    rounds: int


def shared(d: int, subgroups: int) -> Share:
    """How the blocks of a step over heads of `d` are shared; in the last round some subgroups may have none.

    >>> shared(64, 8), shared(144, 8)
    (Share(blocks=4, columns=2, rounds=1), Share(blocks=10, columns=5, rounds=3))
    """
    subgroups = whole_number(subgroups, "subgroups =", error=PlanError)
    keys = keys_of_step(d)
    columns = -(-d // 32)
    blocks = keys // 32 * columns
    return Share(blocks, columns, -(-2 * blocks // subgroups))


@dataclass(frozen=True)
class Stretches:
    """The keys of a subgroup: those from `inner` to `full` go without a mask, from `begin` to `inner` and from `full` with one.

    >>> Stretches(0, 0, 64, 80).steps(64)
    Steps(masked=1, seen=1)
    """

    begin: int
    inner: int
    full: int
    end: int

    def steps(self, keys: int) -> Steps:
        """In steps of `keys` keys without a mask, and of 32 with one.

        >>> Stretches(96, 128, 192, 200).steps(32)
        Steps(masked=2, seen=2)
        """
        masked = (self.inner - self.begin) // MASKED_KEYS - (self.full - self.end) // MASKED_KEYS
        return Steps(masked, (self.full - self.inner) // whole_number(keys, "keys =", 1, error=PlanError))


def stretches(problem: AttentionProblem, rows: int, row: int) -> Stretches:
    """The keys of the subgroup with `rows` queries from `row` on.

    >>> stretches(AttentionProblem.of(256, 256, 64, causal=True), 16, 64)
    Stretches(begin=0, inner=0, full=64, end=80)
    """
    keys = keys_of_step(problem.d)
    full, end = visible(problem, rows, row)
    begin = problem.first_key(row) // MASKED_KEYS * MASKED_KEYS
    full = max(full, begin)
    inner = min(-(-problem.first_key(row + rows - 1) // keys) * keys, full)
    return Stretches(begin, inner, full, max(end, full))


def visible(problem: AttentionProblem, rows: int, row: int) -> tuple[int, int]:
    """Of the subgroup with `rows` queries from `row` on: how many keys go without a mask, and where its keys end."""
    first, last = problem.last_key(row) + 1, problem.last_key(row + rows - 1) + 1
    full = max(first, 0) // (keys := keys_of_step(problem.d)) * keys
    return full, max(last, full)


def steps_of(problem: AttentionProblem, rows: int, row: int) -> Steps:
    """The steps of the subgroup with `rows` queries from `row` on."""
    return stretches(problem, rows, row).steps(keys_of_step(problem.d))


def all_steps(problem: AttentionProblem, rows: int, count: int) -> Steps:
    """The steps of `count` subgroups together, those past the last query included, without counting each.

    >>> all_steps(AttentionProblem.of(256, 256, 64, causal=True), 16, 16)
    Steps(masked=24, seen=24)
    """
    if not problem.causal:
        return steps_of(problem, rows, 0) * count
    if problem.window is not None:
        return _steps_with_window(problem, rows, count, problem.window)
    # With a causal mask the first subgroups may see nothing, and the next one a part. From then on the keys grow with the rows
    # until the queries end: the steps repeat every 64 rows (or 32: as many as a step has keys), with one more each time.
    unseen = max(0, -problem.shift)
    begin = min(count, -(-unseen // rows))
    end = max(begin, min(count, problem.queries // rows))
    total = Steps(0, 0)
    period = keys_of_step(problem.d) // rows
    for place in range(begin, min(begin + period, end)):
        times = -(-(end - place) // period)
        one = steps_of(problem, rows, place * rows)
        total += Steps(one.masked * times, one.seen * times + times * (times - 1) // 2)
    for place in (*range(min(unseen // rows, begin), begin), *range(end, count)):
        total += steps_of(problem, rows, place * rows)
    return total


def _steps_with_window(problem: AttentionProblem, rows: int, count: int, window: int) -> Steps:
    """The same with a window. The first rows see fewer keys than it has, as if there were none; then the steps repeat."""
    free = min(count, max(0, (window - problem.shift) // rows))
    total = all_steps(replace(problem, window=None), rows, free)
    first = min(count, free + 1)
    end = max(first, min(count, problem.queries // rows))
    period = keys_of_step(problem.d) // rows
    for place in range(first, min(first + period, end)):
        total += steps_of(problem, rows, place * rows) * -(-(end - place) // period)
    for place in (*range(free, first), *range(end, count)):
        total += steps_of(problem, rows, place * rows)
    return total
