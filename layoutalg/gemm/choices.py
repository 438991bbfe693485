"""What a caller has chosen of a tiling, and what can't be chosen for a problem; the rest is left to `layoutalg.gemm.search`.

By hand, for f16 on pvc, whose matrix instruction is 8x16x16: a step of 24 along k is one instruction and a half.

>>> from layoutalg.gemm.problem import Problem
>>> check_choices(Problem.of(64, 64, 64), Choices(k_step=24))
Traceback (most recent call last):
layoutalg.core.errors.PlanError: k_step = 24: 24 is no multiple of 16; intel_sub_group_f16_f16_matrix_mad_k16 is 8x16x16
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import one_of
from layoutalg.gemm.edges import edges, loop_edges
from layoutalg.gemm.matrix_in_memory import whole_number
from layoutalg.gemm.options import PREFETCHES, REDUCTIONS, TRANSPOSES
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.roles import ROLES, exchanged
from layoutalg.gemm.sharing import check_lines
from layoutalg.gemm.tiling import MOST_AHEAD, MOST_PARTS, REGISTERS, Tiling, pair, register_file, runs_of
from layoutalg.hardware import xe_chip

__all__ = ["Choices", "check_choices", "check_turns_nothing"]


@dataclass(frozen=True)
class Choices:
    """What a caller has chosen already; None leaves the choice to the search. The fields are those of `Tiling`.

    Raises `PlanError` for values that no kernel has.

    >>> Choices(registers=256).prefetch is None
    True
    """

    tile: tuple[int, int] | None = None
    subgroups: tuple[int, int] | None = None
    k_step: int | None = None
    registers: int | None = None
    prefetch: str | None = None
    distance: int | None = None
    split_k: int | None = None
    transpose: str | None = None
    reduction: str | None = None
    stream_k: int | None = None

    @classmethod
    def of(cls, tiling: Tiling) -> Choices:
        """All that a tiling has.

        >>> from layoutalg.gemm.tiling import Tile
        >>> Choices.of(Tiling(Tile(8, 32, 16))).k_step
        16
        """
        tile, prefetched = tiling.tile, tiling.prefetch != "none"
        distance = tiling.distance if prefetched else None
        chosen = tiling.subgroups, tile.k, tiling.registers, tiling.prefetch, distance, tiling.split_k, tiling.transpose
        added = tiling.reduction if tiling.split_k > 1 or tiling.stream_k else None
        return cls((tile.m, tile.n), *chosen, added, tiling.stream_k)

    def __post_init__(self) -> None:
        for name in ("tile", "subgroups"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, pair(name, given))
        if self.k_step is not None:
            object.__setattr__(self, "k_step", whole_number("k_step", self.k_step))
        if self.registers is not None:
            object.__setattr__(self, "registers", register_file(self.registers))
        if self.prefetch is not None:
            one_of(self.prefetch, PREFETCHES, "prefetch", PlanError)
        if self.distance is not None:
            object.__setattr__(self, "distance", whole_number("distance", self.distance, MOST_AHEAD))
        if self.split_k is not None:
            object.__setattr__(self, "split_k", whole_number("split_k", self.split_k, MOST_PARTS))
        if self.stream_k is not None:
            object.__setattr__(self, "stream_k", runs_of(self.stream_k))
        if self.reduction is not None:
            one_of(self.reduction, REDUCTIONS, "reduction", PlanError)
        if self.transpose is not None:
            one_of(self.transpose, TRANSPOSES, "transpose", PlanError)


def check_choices(problem: Problem, choices: Choices) -> None:
    """Refuse choices that no matrix instruction, no message and no workgroup of the chip has.

    Raises `PlanError`: says what would do.
    """
    unit = problem.dpas
    block, why = (unit.m, unit.n), f"{unit.builtin} is {unit.m}x{unit.n}x{unit.k}"
    if choices.transpose == ROLES:
        problem, block, why = exchanged(problem), block[::-1], f"{why}, and the loop computes C^T"
    rows, columns = choices.tile or block
    for what, size, step in (
        ("tile", rows, block[0]),
        ("tile", columns, block[1]),
        ("k_step", choices.k_step or unit.k, unit.k),
    ):
        if size % step:
            name = f"tile {rows}x{columns}" if what == "tile" else f"k_step = {size}"
            raise PlanError(f"{name}: {size} is no multiple of {step}; {why}")
    if choices.prefetch not in (None, "none"):
        for name in loop_edges(problem):
            raise PlanError(
                f"prefetch {choices.prefetch}: lanes load {name}, and nothing is prefetched; prefetch none would do. "
                f"Of {name}, {edges(problem)[name]}"
            )
        if choices.prefetch == "lines":
            check_lines(problem)
    down, across = choices.subgroups or (1, 1)
    most = xe_chip(problem.target).threads(choices.registers or min(REGISTERS))
    if down * across > most:
        raise PlanError(f"subgroups {down}x{across}: a workgroup has at most {most} on {problem.target}")


def check_turns_nothing(transpose: str | None) -> None:
    """Refuse ways to transpose for products that have nothing transposed."""
    if transpose not in (None, "registers"):
        raise PlanError(f"transpose {transpose}: A of a gated pair lies as m x k; transpose registers would do")
