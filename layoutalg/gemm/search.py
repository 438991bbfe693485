"""All tilings of a problem that the tables and the register file allow, ranked by the time that the roofline predicts.

For 4096x4096x4096 in f16 on B580 the search finds the form that was measured as the best one, and says why others lost:

>>> found = search(Problem.of(4096, 4096, 4096, target="bmg"))
>>> print(found.best.tiling)
32x64x64 per subgroup, 8x4 subgroups, 256 registers, shared prefetch 1 step ahead

The candidates: tiles of 8 to 64 rows and 16 to 64 columns whose accumulators and operands fit into the registers, steps of one
to eight instructions along k, workgroups of 1 to as many subgroups as a core has threads for (powers of two), 128 and 256
registers, every form of prefetch. What a caller fixes (`Choices`) the search leaves alone:

>>> search(Problem.of(64, 64, 64), Choices(tile=(16, 32), registers=128)).best.tiling.tile.n
32

Among equals the larger tile wins, then the wider one, then the names in order: the same question has the same answer always.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.reasons import reason
from layoutalg.gemm.roofline import Forms, Roofline, Times, roofline, times
from layoutalg.gemm.tiling import PREFETCHES, REGISTERS, Tile, Tiling
from layoutalg.hardware import XeChip, xe_chip

__all__ = ["Candidate", "Choices", "Found", "search"]

ROWS = (8, 16, 24, 32, 40, 48, 56, 64)
COLUMNS = (16, 32, 48, 64)
DEPTHS = (1, 2, 4, 8)
"""Instructions along k in one step of the loop."""
GRID = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Choices:
    """What a caller has chosen already; None leaves the choice to the search. The fields are those of `Tiling`.

    >>> Choices(registers=256).prefetch is None
    True
    """

    tile: tuple[int, int] | None = None
    subgroups: tuple[int, int] | None = None
    k_step: int | None = None
    registers: int | None = None
    prefetch: str | None = None
    distance: int | None = None


@dataclass(frozen=True)
class Candidate:
    """A tiling, what is predicted for it, and why it lost (nothing for the best one).

    `instructions` are those of a step of the loop, `clocks` those of the whole problem on the chip.

    >>> first, second = search(Problem.of(4096, 4096, 4096, target="bmg"))[:2]
    >>> first.reason, first.clocks <= second.clocks
    ('', True)
    """

    tiling: Tiling
    instructions: float
    clocks: float
    limit: str
    reason: str


@dataclass(frozen=True, eq=False)
class Found(Sequence[Candidate]):
    """All candidates, the best one first. Candidates are made when they are asked for.

    >>> found = search(Problem.of(512, 512, 512, target="bmg"))
    >>> len(found) > 1000, found[0] == found.best
    (True, True)
    """

    problem: Problem
    chip: XeChip
    forms: Forms
    times: Times
    order: NDArray[np.intp] = field(repr=False)

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, index: int | slice) -> Candidate | tuple[Candidate, ...]:
        if isinstance(index, slice):
            return tuple(self._made(int(row)) for row in self.order[index])
        return self._made(int(self.order[index]))

    @property
    def best(self) -> Candidate:
        """The candidate with the least time.

        >>> search(Problem.of(4096, 4096, 4096, target="pvc")).best.tiling.registers
        256
        """
        return self[0]

    def roofline(self, tiling: Tiling, instructions: float) -> Roofline:
        """The roofline of a tiling on the chip of the search.

        >>> found = search(Problem.of(512, 512, 512, target="bmg"))
        >>> found.roofline(found.best.tiling, found.best.instructions).limit
        'issue'
        """
        return roofline(self.problem, tiling, instructions, self.chip)

    def runners_up(self, count: int = 5) -> tuple[Candidate, ...]:
        """The next candidates, one for each tile and form of prefetch: the best of those that differ in more than the grid.

        >>> [len({(c.tiling.tile.m, c.tiling.tile.n) for c in search(Problem.of(64, 64, 64)).runners_up(3)})]
        [3]
        """
        seen = {self._kind(int(self.order[0]))}
        chosen: list[Candidate] = []
        for row in self.order[1:]:
            kind = self._kind(int(row))
            if kind not in seen:
                seen.add(kind)
                chosen.append(self._made(int(row)))
            if len(chosen) == count:
                break
        return tuple(chosen)

    def _kind(self, row: int) -> tuple[float, ...]:
        forms = self.forms
        return float(forms.m[row]), float(forms.n[row])

    def _made(self, row: int) -> Candidate:
        forms = self.forms
        m, n, k, rows, columns, registers, prefetch, distance = (
            int(column[row])
            for column in (
                forms.m, forms.n, forms.k, forms.rows, forms.columns, forms.registers, forms.prefetch, forms.distance
            )
        )  # fmt: skip
        tiling = Tiling(Tile(m, n, k), (rows, columns), registers, PREFETCHES[prefetch], distance)
        limits = {name: float(clocks[row]) for name, clocks in self.times.limits.items()}
        best = int(self.order[0])
        why = "" if row == best else reason(self.problem, self.forms, self.times, row, best)
        return Candidate(
            tiling,
            float(forms.instructions[row]),
            float(self.times.clocks[row]),
            max(reversed(limits), key=lambda name: limits[name]),
            why,
        )


def search(problem: Problem, choices: Choices | None = None, llvm: int = 24, chip: XeChip | None = None) -> Found:
    """All tilings of a problem, ranked. `chip` stands in for the product that the target names.

    Raises:
        PlanError: where nothing fits what was chosen; says what would.
        LayoutError: for arguments of other types.

    >>> search(Problem.of(64, 64, 64), Choices(tile=(64, 128)))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: tile 64x128: its accumulators alone are 512 registers, and a thread has 256 at most
    """
    instance_of(problem, Problem, "problem", PlanError)
    choices = Choices() if choices is None else choices
    instance_of(choices, Choices, "choices", PlanError)
    return _search(problem, choices, llvm, xe_chip(problem.target) if chip is None else chip)


@lru_cache(maxsize=256)
def _search(problem: Problem, choices: Choices, llvm: int, chip: XeChip) -> Found:
    forms = _forms(problem, choices, llvm, chip)
    found = times(problem, forms, chip)
    # The last key counts most: time (to a hundredth of a per cent, below which nothing here means anything), bytes, size.
    clocks = np.round(np.log(found.clocks) * 1e4)
    keys = (
        forms.prefetch, forms.registers, forms.k, forms.columns, forms.rows, -forms.n, -forms.m * forms.n,
        np.round(np.log(found.l3_bytes) * 1e4), clocks,
    )  # fmt: skip
    return Found(problem, chip, forms, found, np.lexsort(keys))


def _forms(problem: Problem, choices: Choices, llvm: int, chip: XeChip) -> Forms:
    """All tilings that fit, with the instructions of a step of each."""
    columns: list[NDArray[np.float64]] = []
    for tile, registers in _tiles(problem, choices, llvm):
        room = chip.threads(registers)
        grids = [choices.subgroups] if choices.subgroups else [(r, c) for r in GRID for c in GRID if r * c <= room]
        rows, across = np.array(grids, dtype=np.float64).T
        for prefetch in (choices.prefetch,) if choices.prefetch else PREFETCHES:
            distance = choices.distance or 1
            count = instructions(problem, Tiling(tile, (1, 1), registers, prefetch, distance), rows, across, llvm)
            fixed = (tile.m, tile.n, tile.k, registers, PREFETCHES.index(prefetch), distance)
            m, n, k, held, kind, ahead = (np.full(len(grids), float(one)) for one in fixed)
            columns.append(np.array((m, n, k, rows, across, held, kind, ahead, count)))
    return Forms(*np.concatenate(columns, axis=1))


def _tiles(problem: Problem, choices: Choices, llvm: int) -> Iterator[tuple[Tile, int]]:
    """Every tile that fits, with its registers."""
    depth = problem.dpas.k
    tiles = [choices.tile] if choices.tile else [(m, n) for m in ROWS for n in COLUMNS]
    depths = [choices.k_step] if choices.k_step else [depth * times for times in DEPTHS]
    least = None
    for m, n in tiles:
        for registers in (choices.registers,) if choices.registers else REGISTERS:
            for k in depths:
                if k >= 2 * problem.k and k > depth and not choices.k_step:
                    continue
                tile = Tile(m, n, k)
                used = registers_used(problem, tile, registers)
                if used <= registers:
                    yield tile, registers
                least = used if least is None else min(least, used)
    if least is None:
        raise PlanError("nothing to search")
