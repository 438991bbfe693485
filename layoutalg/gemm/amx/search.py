"""Choosing the tiling of a product for AMX.

>>> problem = AmxProblem.of(512, 512, 512)
>>> print(search_amx(problem, AmxChoices(blocking=(1, 4))).best)
1x4 tiles, blocks of 256x256, 512 of k, columns first, A as it lies
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import as_flag, listed, one_of
from layoutalg.gemm.amx.packing import must_pack_a
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.tiling import ORDERS, TILE, AmxTiling, Blocking

__all__ = ["AmxChoices", "AmxFound", "search_amx"]


@dataclass(frozen=True)
class AmxChoices:
    """What the caller has chosen; None leaves it to the search. `blocks` is (m_block, n_block, k_block).

    >>> AmxChoices(order="rows").order
    'rows'
    """

    blocking: Sequence[int] | None = None
    blocks: Sequence[int] | None = None
    order: str | None = None
    pack_a: bool | None = None


@dataclass(frozen=True)
class AmxFound:
    """The best tiling.

    >>> search_amx(AmxProblem.of(64, 64, 64), AmxChoices()).best.k_block
    64
    """

    best: AmxTiling


def search_amx(problem: AmxProblem, choices: AmxChoices) -> AmxFound:
    """The tilings of a product, the best one first.

    Raises:
        PlanError: what was chosen doesn't fit.

    >>> search_amx(AmxProblem.of(64, 64, 64), AmxChoices(blocking=(3, 3)))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: a blocking of 3x3 tiles takes 13 of 8 tile registers: 9 of C, 3 to hold, 1 to stream
    """
    blocking = Blocking(2, 2)
    if choices.blocking is not None:
        given = listed(choices.blocking, "blocking", error=PlanError)
        if len(given) != 2:
            raise PlanError(f"blocking of {len(given)} numbers: expected two, tiles of rows and of columns")
        blocking = Blocking(*given)
    rows, columns = TILE * blocking.rows, TILE * blocking.columns
    blocks = (-(-min(problem.m, 256) // rows) * rows, -(-min(problem.n, 256) // columns) * columns, problem.k_padded)
    if choices.blocks is not None:
        blocks = tuple(listed(choices.blocks, "blocks", error=PlanError))
        if len(blocks) != 3:
            raise PlanError(f"blocks of {len(blocks)} numbers: expected three, rows and columns of C and a part of k")
    order = "columns" if choices.order is None else one_of(choices.order, ORDERS, "order", PlanError)
    why = must_pack_a(problem)
    pack_a = why is not None if choices.pack_a is None else as_flag(choices.pack_a, "pack_a", PlanError)
    if why is not None and not pack_a:
        raise PlanError(f"pack_a = False: {why}; A must be packed")
    return AmxFound(AmxTiling(blocking, *blocks, order, pack_a))
