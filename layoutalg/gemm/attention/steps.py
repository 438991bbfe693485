"""Which keys a subgroup goes through, in which steps.

A step of 64 keys has no mask, so all queries of the subgroup must see all its keys. What is left goes in steps of 32 keys with
a mask; they come first.

By hand, with a causal mask and as many keys as queries: the 16 queries from 64 on see the keys 0 to 64 at least and 79 at most.
The keys 0 to 63 are one step without a mask, and 64 to 79 are one with a mask.

>>> problem = AttentionProblem.of(256, 256, 64, causal=True)
>>> visible(problem, 16, 64), steps_of(problem, 16, 64)
((64, 80), Steps(masked=1, seen=1))
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.gemm.attention.problem import AttentionProblem

__all__ = ["KEYS", "MASKED_KEYS", "Share", "Step", "Steps", "all_steps", "shared", "steps_of", "visible"]

KEYS, MASKED_KEYS = 64, 32
"""Keys of a step. A mask needs registers: with 64 keys under it a head of 128 would spill."""


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


def shared(depth_blocks: int, subgroups: int) -> Share:
    """How the blocks of a step are shared; in the last round some subgroups may have none.

    >>> shared(4, 8), shared(5, 8)
    (Share(blocks=4, columns=2, rounds=1), Share(blocks=6, columns=3, rounds=2))
    """
    depth_blocks = whole_number(depth_blocks, "depth_blocks =", error=PlanError)
    subgroups = whole_number(subgroups, "subgroups =", error=PlanError)
    columns = -(-depth_blocks // 2)
    blocks = KEYS // 32 * columns
    return Share(blocks, columns, -(-2 * blocks // subgroups))


def visible(problem: AttentionProblem, rows: int, row: int) -> tuple[int, int]:
    """Of the subgroup with `rows` queries from `row` on: how many keys go without a mask, and where its keys end."""
    first, last = problem.last_key(row) + 1, problem.last_key(row + rows - 1) + 1
    full = max(first, 0) // KEYS * KEYS
    return full, max(last, full)


def steps_of(problem: AttentionProblem, rows: int, row: int) -> Steps:
    """The steps of the subgroup with `rows` queries from `row` on."""
    full, end = visible(problem, rows, row)
    return Steps(-(-(end - full) // MASKED_KEYS), full // KEYS)


def all_steps(problem: AttentionProblem, rows: int, count: int) -> Steps:
    """The steps of `count` subgroups together, those past the last query included, without counting each.

    >>> all_steps(AttentionProblem.of(256, 256, 64, causal=True), 16, 16)
    Steps(masked=24, seen=24)
    """
    if not problem.causal:
        return steps_of(problem, rows, 0) * count
    # With a causal mask the first subgroups may see nothing, and the next one a part. From then on the keys grow with the rows
    # until the queries end: the steps repeat every 64 rows, with one more each time.
    unseen = max(0, -problem.shift)
    begin = min(count, -(-unseen // rows))
    end = max(begin, problem.queries // rows)
    total = Steps(0, 0)
    period = KEYS // rows
    for place in range(begin, min(begin + period, end)):
        times = -(-(end - place) // period)
        one = steps_of(problem, rows, place * rows)
        total += Steps(one.masked * times, one.seen * times + times * (times - 1) // 2)
    for place in (*range(min(unseen // rows, begin), begin), *range(end, count)):
        total += steps_of(problem, rows, place * rows)
    return total
