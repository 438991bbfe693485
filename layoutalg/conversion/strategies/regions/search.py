"""The cheapest sequence of stages of region moves from one arrangement of bits to another: A* over arrangements.

An arrangement says what is at each address bit of a register: the number of a tensor's bit, or `SAME` where the register holds
the same for both values (a replica), or `ANY` where it does not matter. The tensor's other bits are in the number of the
register, in any order: registers are renamed for nothing. 16 words of 16 lanes, of which a transpose makes lanes:

>>> found = cheapest(Task(6, 2, (ANY, ANY, 0, 1, 2, 3), (ANY, ANY, 4, 5, 6, 7), 8, 4, 4))
>>> [(stage.after, stage.template.shape.region, stage.moves) for stage in found]
[((-2, -2, 1, 2, 3, 4), (2, 1, 0), 16), ((-2, -2, 2, 3, 4, 5), (2, 1, 0), 16), ((-2, -2, 3, 4, 5, 6), (2, 1, 0), 16),
 ((-2, -2, 4, 5, 6, 7), (2, 1, 0), 16)]

A region spans two neighbouring registers, so the bit that tells them apart must be the lowest of the register's number. Where
moves read two registers that the moves before have written as two others, registers are copied in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations, count, permutations
from typing import NamedTuple

from layoutalg.conversion.strategies.regions.distances import index, least_moves
from layoutalg.conversion.strategies.regions.shapes import COPY, ENTERS, PAIR, Template, templates

__all__ = ["ANY", "FREE", "NEITHER", "SAME", "Stage", "Task", "cheapest"]

SAME = -1
"""In an arrangement: what the register holds does not depend on this bit."""
ANY = -2
"""In an arrangement: it does not matter."""
FREE = -1
"""Any bit can tell neighbouring registers apart: they have no order yet."""
NEITHER = -2
"""No bit does: the registers are not neighbours."""

_OTHER = -3
_WORD = 2
_MOST_STAGES = 30_000
"""The stages that are looked at: a third of a second."""


class Task(NamedTuple):
    """From an arrangement to another, of 2^width bytes in a register, elements of at least 2^least bytes and `bits` bits.

    `below` and `wanted_below` are the bits that tell neighbouring registers apart at the beginning and at the end.
    """

    width: int
    least: int
    source: tuple[int, ...]
    wanted: tuple[int, ...]
    bits: int
    below: int = NEITHER
    wanted_below: int = NEITHER


class Stage(NamedTuple):
    """Moves of one shape that bring all registers from one arrangement to the next.

    `pair` and `above` are the bits that tell two registers of the source, and of the destination, apart (`FREE`: one
    register is enough); `moves` is how many there are.

    >>> Stage(templates(6, 2)[0], (), (), FREE, FREE, 4).moves
    4
    """

    template: Template
    before: tuple[int, ...]
    after: tuple[int, ...]
    pair: int
    above: int
    moves: int


class _State(NamedTuple):
    """An arrangement, and the bit that tells neighbouring registers apart."""

    now: tuple[int, ...]
    below: int


@lru_cache(maxsize=1024)
def cheapest(task: Task) -> tuple[Stage, ...] | None:
    """The stages with the fewest moves; None where too many arrangements would have to be looked at.

    Moves of half a register are used where whole ones do not lead there: lanes of a single register in another order.
    """
    found = _cheapest(_Ways(task, halves=False))
    if found is None and task.least == _WORD:
        found = _cheapest(_Ways(task, halves=True))
    return found


def _cheapest(ways: _Ways) -> tuple[Stage, ...] | None:
    task = ways.task
    start = _State(task.source, task.below)
    costs, parents = {ways.key(start): 0}, dict[_State, tuple[_State, Stage]]()
    order = count()
    queue = [(ways.least_cost(task.source), 0, 0, 0, start)]
    done: set[_State] = set()
    looked_at = 0
    while queue:
        _, _, _, so_far, state = heappop(queue)
        key = ways.key(state)
        if key in done:
            continue
        done.add(key)
        if ways.reached(state):
            return _path(parents, state)
        if looked_at > _MOST_STAGES:
            return None
        for stage in ways.stages(state):
            looked_at += 1
            following = _State(stage.after, stage.above)
            cost, name = so_far + stage.moves, ways.key(following)
            if cost < costs.get(name, 1 << 60):
                costs[name] = cost
                parents[following] = state, stage
                left = ways.least_cost(stage.after)
                heappush(queue, (cost + left, left, next(order), cost, following))
    return None


def _path(parents: dict[_State, tuple[_State, Stage]], state: _State) -> tuple[Stage, ...]:
    found: list[Stage] = []
    while state in parents:
        state, stage = parents[state]
        found.append(stage)
    return tuple(found[::-1])


class _Ways:
    """What can be done in a task, and how much it takes at least."""

    def __init__(self, task: Task, *, halves: bool) -> None:
        self.task = task
        self.entering = [what for what in task.wanted if what >= 0]
        own = {*self.entering, task.wanted_below}
        self.names = {bit: bit if bit in own else _OTHER for bit in range(task.bits)} | {SAME: SAME, ANY: ANY}
        same = SAME in task.wanted
        self.templates = [one for one in templates(task.width, task.least, halves) if same or COPY not in one.comes]
        self.least_moves = least_moves(task.width, task.least, copies=same, halves=halves)
        homes = [(what, place) for place, what in enumerate(task.wanted) if what >= 0]
        homes += homes[:1] * (3 - len(homes)) if homes else []
        self.triples = list(combinations(homes, 3))
        self.fewest_registers = 1 << max(task.bits - task.width + task.least, 0)

    def key(self, state: _State) -> _State:
        """The same for states that differ in bits of which none is wanted in a place of its own."""
        names = self.names
        return _State(tuple([names[what] for what in state.now]), names[state.below])

    def reached(self, state: _State) -> bool:
        """Whether this is what is wanted."""
        task, (now, below) = self.task, state
        if any(what >= 0 if one == ANY else what != one for what, one in zip(now, task.wanted, strict=True)):
            return False
        return below in (FREE, task.wanted_below) or (now == task.source and below == task.below)

    def least_cost(self, now: tuple[int, ...]) -> int:
        """A lower bound of the moves that are still needed."""
        wrong = any(what >= 0 if one == ANY else what != one for what, one in zip(now, self.task.wanted, strict=True))
        width = self.task.width
        places = dict(zip(now, range(width), strict=True))
        most = int(wrong)
        for (a, x), (b, y), (c, z) in self.triples:
            at = places.get(a, width), places.get(b, width), places.get(c, width)
            most = max(most, self.least_moves[index(at, (x, y, z), width)])
        return most * self.fewest_registers

    def stages(self, state: _State) -> Iterator[Stage]:
        """All stages from a state."""
        task, (now, below) = self.task, state
        outside = [bit for bit in range(task.bits) if bit not in now]
        useful = [bit for bit in outside if bit in self.entering]
        useful += [bit for bit in outside if bit not in self.entering][:1]
        for template in self.templates:
            pairs = [FREE] if not template.pair else useful if below == FREE else [below] * (below in outside)
            holes = template.comes.count(ENTERS)
            for pair in pairs:
                left = [bit for bit in useful if bit != pair]
                for chosen in permutations(left, holes) if holes else ((),):
                    entering = iter(chosen)
                    after = tuple(
                        [
                            now[what]
                            if what >= 0
                            else SAME
                            if what == COPY
                            else pair
                            if what == PAIR
                            else next(entering)
                            for what in template.comes
                        ]
                    )
                    above = FREE
                    if template.above is not None:
                        above = pair if template.above == PAIR else now[template.above]
                        if above < 0 or above in after:
                            continue
                    if after == now and above == FREE and below == FREE:
                        continue
                    inside = sum(what >= 0 for what in after)
                    moves = template.shape.moves(task.width) << (task.bits - inside)
                    yield Stage(template, now, after, pair, above, moves)
