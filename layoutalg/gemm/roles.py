"""Both operands transposed: the loop computes C^T = B^T A^T, whose operands lie in memory as they are.

A in memory as k x m is B of a product of n x m, and B in memory as n x k is A of it. So the loop is that of a plain product:
its messages need no transposition, and a lane's accumulators, 8 rows of one column of C^T, are 8 neighbours in a row of C. Each
lane stores them itself. The products of a pair are the same numbers, so the bits of C are too.

By hand: C is 64x128, A lies in memory as 32x64, B as 128x32. The loop has a product of 128x64, its A is B, and its B is A:

>>> problem = Problem.of(64, 128, 32, trans_a=True, trans_b=True, bias="row")
>>> loop = exchanged(problem)
>>> [str(matrix) for matrix in loop.matrices[:2]], loop.bias
(['A is 128x32 f16', 'B is 32x64 f16'], 'column')

A tiling says sizes of C: tiles of 64x32 are 32x64 in the loop.

>>> tiling = Tiling(Tile(64, 32, 32), (4, 8), 256, transpose="roles")
>>> str(turned(tiling).tile), turned(tiling).subgroups
('32x64x32', (8, 4))

The law: `exchanged` and `turned` of what they give is what they were given, except for C's leading dimension.
"""

from __future__ import annotations

from dataclasses import replace

from layoutalg.core.errors import PlanError
from layoutalg.gemm.expressions import transposed
from layoutalg.gemm.gated import doubled, loop_of
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.tiling import Tile, Tiling

__all__ = ["ROLES", "check_roles", "exchanged", "in_loop", "other_name", "takes_roles", "turned"]

ROLES = "roles"
_TOGETHER = 8
"""Neighbours in a row of C that a lane stores together: the rows of a DPAS."""
_LINE = 64
_OTHER = {"row": "column", "column": "row", None: None}
_NAMES = {"a": "b", "b": "a", "m": "n", "n": "m"}


def why_not(problem: Problem) -> str:
    """Why a product's operands cannot change roles, and what would do; "" where they can."""
    if not (problem.trans_a and problem.trans_b):
        return "A and B change roles where both lie transposed in memory"
    if problem.edges:
        names = " and ".join(problem.edges)
        return (
            f"lanes move {names} element by element, and A and B change roles where block messages reach all matrices"
        )
    if problem.gated or problem.groups:
        return "gated and grouped products lie as the loop takes them"
    if problem.scaled:
        return f"scale = {problem.scale!r}: the loop of C^T has no scales; transpose registers has them"
    if problem.n % _TOGETHER:
        fit = -(-problem.n // _TOGETHER) * _TOGETHER
        why = f"a lane stores {_TOGETHER} neighbours of a row of C, and n = {problem.n} is no multiple of that"
        return f"{why}; n = {fit} would do"
    return ""


def takes_roles(problem: Problem) -> bool:
    """Whether the loop may compute C^T.

    >>> takes_roles(Problem.of(64, 72, 64, trans_a=True, trans_b=True)), takes_roles(Problem.of(64, 72, 64, trans_b=True))
    (True, False)
    """
    return not why_not(problem)


def check_roles(problem: Problem) -> None:
    """Refuse what only products with both operands transposed have.

    Raises `PlanError`: says why, and what would do.

    >>> check_roles(Problem.of(64, 76, 64, trans_a=True, trans_b=True))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: transpose roles: a lane stores 8 neighbours of a row of C, and n = 76 is no multiple of \
that; n = 80 would do
    """
    if why := why_not(problem):
        raise PlanError(f"transpose {ROLES}: {why}")


def other_name(name: str) -> str:
    """The name that an argument of the kernel, or an operand, has in the product of C^T.

    >>> [other_name(name) for name in ("a", "lda", "stride_b", "n", "ldc", "A")]
    ['b', 'ldb', 'stride_a', 'm', 'ldc', 'B']
    """
    start, last = name[:-1], name[-1]
    if start not in ("", "ld", "stride_"):
        return name
    if last in "AB":
        return "BA"["AB".index(last)]
    return start + _NAMES.get(last, last)


def exchanged(problem: Problem) -> Problem:
    """The product of C^T = B^T A^T. Its C has no rows in memory, so its leading dimension is only one that passes."""
    return replace(
        problem,
        m=problem.n,
        n=problem.m,
        a=problem.b,
        b=problem.a,
        lda=problem.ldb,
        ldb=problem.lda,
        ldc=-(-problem.m // _LINE) * _LINE,
        trans_a=not problem.trans_b,
        trans_b=not problem.trans_a,
        bias=_OTHER[problem.bias],
        epilogue=None if problem.epilogue is None else transposed(problem.epilogue),
    )


def turned(tiling: Tiling) -> Tiling:
    """The tiling of C^T."""
    tile, (rows, columns) = tiling.tile, tiling.subgroups
    other = "registers" if tiling.transpose == ROLES else ROLES
    return replace(tiling, tile=Tile(tile.n, tile.m, tile.k), subgroups=(columns, rows), transpose=other)


def in_loop(problem: Problem, tiling: Tiling) -> tuple[Problem, Tiling]:
    """The product and the tiling that the loop has: those of C^T where the roles are exchanged, twice as wide for a pair."""
    if problem.gated:
        return loop_of(problem), doubled(tiling)
    if tiling.transpose != ROLES:
        return problem, tiling
    check_roles(problem)
    return exchanged(problem), turned(tiling)
