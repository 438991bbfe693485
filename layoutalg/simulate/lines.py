"""Cache lines: which ones the workgroups of a launch asked for in advance, and when their loads needed them.

A line is 64 bytes of memory. A prefetch is in time where it comes at least one step of the loop before the first load of
the line; another one of the same line by the same workgroup is wasted, and so is one whose line the workgroup never loads.
A 2-D prefetch is clipped at the edges of its matrix like a load: what lies outside asks for nothing.

Where rows are not a whole number of lines apart, a line holds the end of one block's row and the beginning of another's, and
both blocks ask for it. That is not asking twice: what is compared are the pieces of 16 bytes (`PIECE`) that messages name.

By hand: a workgroup prefetches line 7 in steps 1 and 2, and loads it in step 3; it loads line 9 in step 3, and nothing asked
for that in advance.

>>> log = LineLog(workgroups=1)
>>> log.record("prefetch", np.array([0]), np.array([28]), step=1)
>>> log.record("prefetch", np.array([0]), np.array([28]), step=2)
>>> log.record("load", np.array([0, 0]), np.array([28, 36]), step=3)
>>> lines = log.lines(first=0)
>>> lines.line.tolist(), lines.asked.tolist(), lines.ahead.tolist()
([7, 9], [2, 0], [2, 0])
>>> len(lines.asked_twice), len(lines.late), lines.not_prefetched(distance=1).line.tolist()
(1, 0, [9])

Steps are the iterations of loops that have loads in them, counted from 1 through the whole kernel; what stands in no loop is in
step 0. All subgroups of a workgroup run in step here. On the hardware they drift apart, within what the cache forgives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import whole_number
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place, place_of

__all__ = ["LINE", "PIECE", "LineLog", "Lines"]

Array = NDArray[Any]
LINE = 64
"""Bytes of a cache line of Intel's GPUs."""
PIECE = 16
"""Bytes that messages are compared by: rows of a matrix begin at multiples of 16 bytes, and so do blocks in them."""
MOST_PIECES = 1 << 26
"""Pieces that the messages of a launch may name in all: 1 GiB while they are counted."""
_ARRAYS = ("workgroup", "line", "asked", "asked_at", "loaded_at", "ahead", "is_late", "missed_at")
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines that workgroups loaded or prefetched, each once for a workgroup; all arrays have one entry for each.

    `line` is the address by 64; `asked` how often it was prefetched; `asked_at` and `loaded_at` the steps of the first prefetch
    and the first load (-1: never). `ahead` is the smallest number of steps between them, 0 where the prefetch came in the same
    step or behind the load (`is_late`), or where one of them is missing. `missed_at` is the last step in which something was
    loaded first that nothing asked for (-1: none). `outside` are prefetches that asked for nothing: the operation, its place,
    how many subgroups sent it, and the first workgroup.

    >>> len(LineLog(workgroups=1).lines(first=0))
    0
    """

    workgroup: Array
    line: Array
    asked: Array
    asked_at: Array
    loaded_at: Array
    ahead: Array
    is_late: Array
    missed_at: Array
    outside: tuple[tuple[str, Place | None, int, int], ...] = ()
    describe: Callable[[int], str] = field(default=hex, repr=False)

    def __len__(self) -> int:
        return len(self.line)

    def where(self, chosen: Array) -> Lines:
        """The lines of a mask."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _ARRAYS})

    @property
    def asked_twice(self) -> Lines:
        """Those that their workgroup prefetched more than once."""
        return self.where(self.asked > 1)

    @property
    def late(self) -> Lines:
        """Those whose prefetch came in the step of their first load, or behind it."""
        return self.where(self.is_late)

    @property
    def never_loaded(self) -> Lines:
        """Those that were prefetched, and that no load of the workgroup reads."""
        return self.where((self.asked > 0) & (self.loaded_at < 0))

    def not_prefetched(self, distance: int) -> Lines:
        """Those that a loop loads after its first `distance` steps, and that nobody prefetched before.

        Raises `LayoutError` for a distance that is not a whole number of at least 0.
        """
        distance = whole_number(distance, "distance", 0)
        return self.where(self.missed_at > distance)

    def findings(self, distance: int = 1) -> tuple[Finding, ...]:
        """What is wrong with the prefetches of a kernel that asks `distance` steps ahead, each with its first line.

        >>> log = LineLog(workgroups=1)
        >>> log.record("prefetch", np.array([0]), np.array([28]), step=1)
        >>> print(log.lines(first=0).findings()[0].message)
        1 line is prefetched and never loaded: workgroup 0 asks in step 1 for 0x1c0
        """
        found: list[Finding] = []

        def say(rule: str, lines: Lines, problem: str, when: Callable[[int], str]) -> None:
            if len(lines):
                count = f"{len(lines)} line{'s are' if len(lines) > 1 else ' is'}"
                first = f"workgroup {int(lines.workgroup[0])} {when(0)} {self.describe(int(lines.line[0]) * LINE)}"
                found.append(Finding(rule, f"{count} {problem}: {first}", "prefetch", None, level="warning"))

        twice, late, unused = self.asked_twice, self.late, self.never_loaded
        missing = self.not_prefetched(distance)
        say("prefetch.twice", twice, "prefetched more than once", lambda i: f"asks {int(twice.asked[i])} times for")
        say(
            "prefetch.late",
            late,
            "prefetched too late",
            lambda i: f"asks in step {int(late.asked_at[i])} and loads in step {int(late.loaded_at[i])}",
        )
        asks: Callable[[int], str] = lambda i: f"asks in step {int(unused.asked_at[i])} for"  # noqa: E731
        say("prefetch.unused", unused, "prefetched and never loaded", asks)
        loads: Callable[[int], str] = lambda i: f"loads in step {int(missing.missed_at[i])}"  # noqa: E731
        say("prefetch.missing", missing, "loaded in the loop without a prefetch", loads)
        for name, place, count, group in self.outside:
            problem = f"{count} subgroups prefetch outside the matrix, the first of them in workgroup {group}"
            found.append(Finding("prefetch.outside", problem, name, place, level="warning"))
        return tuple(found)

    @classmethod
    def joined(cls, parts: Sequence[Lines]) -> Lines:
        """The lines of several groups of workgroups.

        >>> len(Lines.joined([LineLog(workgroups=1).lines(first=number) for number in (0, 1)]))
        0
        """
        outside: dict[tuple[str, Place | None], tuple[int, int]] = {}
        for part in parts:
            for name, place, count, group in part.outside:
                before, first = outside.get((name, place), (0, group))
                outside[name, place] = before + count, first
        return replace(
            parts[0],
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS},
            outside=tuple((name, place, *numbers) for (name, place), numbers in outside.items()),
        )


class LineLog:
    """The pieces of lines that the messages of one group of workgroups name, as they are executed.

    >>> log = LineLog(workgroups=2)
    >>> log.record("load", np.array([0, 1]), np.array([3, 3]), step=0)
    >>> log.lines(first=10).workgroup.tolist()
    [10, 11]
    """

    def __init__(self, workgroups: int) -> None:
        self.workgroups = workgroups
        self.order = 0
        self.pieces = 0
        self._keys: dict[str, list[Array]] = {"load": [], "prefetch": []}
        self._times: dict[str, list[tuple[int, int]]] = {"load": [], "prefetch": []}
        self._often: list[Array] = []
        self._outside: dict[Operation, list[int]] = {}

    def record(self, kind: Literal["load", "prefetch"], workgroup: Array, piece: Array, step: int) -> None:
        """Note that messages of these workgroups (counted from 0 in this group) name these pieces (addresses by 16).

        Raises `LayoutError` where a launch names too many.

        >>> LineLog(workgroups=1).record("load", np.array([0]), np.array([3]), step=0)
        """
        self.order += 1
        keys, often = np.unique(piece.astype(np.int64) * self.workgroups + workgroup, return_counts=True)
        self.pieces += keys.size
        if self.pieces > MOST_PIECES:
            size = f"{MOST_PIECES * PIECE >> 30} GiB"
            raise LayoutError(f"the messages of this launch name more than {size} of cache lines; count messages alone")
        self._keys[kind].append(keys)
        self._times[kind].append((self.order, step))
        if kind == "prefetch":
            self._often.append(often)

    def note_outside(self, operation: Operation, count: int, workgroup: int) -> None:
        """Note that subgroups prefetch what lies outside its matrix."""
        known = self._outside.setdefault(operation, [0, workgroup])
        known[0] += count

    def lines(self, first: int, describe: Callable[[int], str] = hex) -> Lines:
        """What was noted; the group's workgroups are counted from `first` in the launch.

        >>> len(LineLog(workgroups=1).lines(first=0))
        0
        """
        loaded, load_order, load_step, _ = self._first("load")
        asked, ask_order, ask_step, often = self._first("prefetch")
        keys = np.union1d(loaded, asked)
        by_load, by_ask = np.searchsorted(keys, loaded), np.searchsorted(keys, asked)

        def spread(places: Array, values: Array, otherwise: int) -> Array:
            made = np.full(keys.size, otherwise, np.int64)
            made[places] = values
            return made

        ordered = spread(by_load, load_order, _NEVER), spread(by_ask, ask_order, _NEVER)
        steps = spread(by_load, load_step, -1), spread(by_ask, ask_step, -1)
        both = (steps[0] >= 0) & (steps[1] >= 0)
        # What is loaded behind the loops is in step 0; the order says that the prefetch came before.
        late = both & ((ordered[1] > ordered[0]) | ((steps[0] == steps[1]) & (steps[0] > 0)))
        ahead = np.where(both & ~late, np.maximum(steps[0] - steps[1], 0), 0)
        missed = np.where((steps[0] >= 0) & (steps[1] < 0), steps[0], -1)
        piece, workgroup = np.divmod(keys, self.workgroups)
        groups, first_piece = np.unique(piece * PIECE // LINE * self.workgroups + workgroup, return_inverse=True)
        order = np.argsort(first_piece, kind="stable")
        starts = np.searchsorted(first_piece[order], np.arange(groups.size))

        def of_lines(values: Array, combine: np.ufunc) -> Array:
            return combine.reduceat(values[order], starts) if groups.size else values[:0]

        def earliest(values: Array) -> Array:
            found = of_lines(np.where(values < 0, _NEVER, values), np.minimum)
            return np.where(found == _NEVER, -1, found)

        line, workgroup = np.divmod(groups, self.workgroups)
        nearest = earliest(np.where(both, ahead, -1))
        outside = tuple(
            (operation.name, place_of(operation), count, group + first)
            for operation, (count, group) in self._outside.items()
        )
        return Lines(
            workgroup + first,
            line,
            of_lines(spread(by_ask, often, 0), np.maximum),
            earliest(steps[1]),
            earliest(steps[0]),
            np.maximum(nearest, 0),
            of_lines(late, np.logical_or),
            of_lines(missed, np.maximum),
            outside,
            describe,
        )

    def _first(self, kind: str) -> tuple[Array, Array, Array, Array]:
        """Every piece of a kind with the order and the step of its first message, and how often it was named."""
        parts, nothing = self._keys[kind], np.zeros(0, np.int64)
        if not parts:
            return nothing, nothing, nothing, nothing
        keys, first, inverse = np.unique(np.concatenate(parts), return_index=True, return_inverse=True)
        sizes = [part.size for part in parts]
        times = np.repeat(np.array(self._times[kind], np.int64), sizes, axis=0)[first]
        often = np.bincount(inverse, np.concatenate(self._often), keys.size) if kind == "prefetch" else nothing
        return keys, times[:, 0], times[:, 1], often.astype(np.int64)
