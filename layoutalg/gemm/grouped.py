"""Grouped products: several products with the same n and k in one launch, as mixtures of experts need.

The rows of A are sorted by group: those of group g are rows starts[g] to starts[g + 1] - 1, and so are its rows of C. B has k x
n for each group, one after the other. `starts` is an argument of the kernel, groups + 1 numbers of 32 bits in memory, so one
plan serves every distribution of at most m rows (torch's `offs` are starts[1:]). A group may be empty. Rows that no group has
are neither read nor written.

A workgroup finds its group by itself. With T rows of C in a workgroup, group g gets the places from

    v[g] = starts[g] // T + g

on. It has at most v[g + 1] - v[g] blocks of T rows, because ceil(x / T) + floor(y / T) <= floor((x + y) / T) + 1. So v grows
with g, the group of place y is the last one with v[g] <= y, found in log2(groups) steps, and m // T + groups places are enough.
A place behind the last row of its group has nothing to do (at most one for each group), nor has one before the first group.

By hand, T = 32: groups of 40, 0 and 30 rows have starts 0, 40, 40, 70 and v = 0, 2, 3, 5. Places 0 and 1 have rows 0 and 32 of
the first group, place 2 nothing, place 3 has row 40, and place 4 nothing.

>>> [place(y, [0, 40, 40, 70], 32) for y in range(5)]
[(0, 0), (0, 32), (1, None), (2, 40), (2, None)]

The end of a group within a block needs no code: to the messages that load A and store C, the matrices end with the group.

The law: every row of every group has one place; the others have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import listed, whole_number
from layoutalg.gemm.operand_arrays import numbers, poisoned
from layoutalg.gemm.options import MOST_GROUPS

if TYPE_CHECKING:
    from layoutalg.gemm.problem import Problem
    from layoutalg.gemm.product import Product

__all__ = ["by_groups", "check_grouped", "checked_starts", "place", "random_starts"]

Array = NDArray[Any]


def place(y: int, starts: Sequence[int], tall: int) -> tuple[int, int | None]:
    """The group of the y-th place of the grid, and the first of its rows; None where it has nothing to do.

    Raises `LayoutError` for what are not whole numbers, and where no group starts.
    """
    y, tall = whole_number(y, "y =", 0), whole_number(tall, "tall =", 1)
    starts = [whole_number(start, "starts: ", 0) for start in listed(starts, "starts", MOST_GROUPS + 1)]
    if len(starts) < 2:
        raise PlanError(f"starts {starts}: expected where each group starts, and where the last one ends")
    group = max((g for g in range(len(starts) - 1) if starts[g] // tall + g <= y), default=0)
    row = starts[group] + (y - starts[group] // tall - group) * tall
    return group, row if starts[group] <= row < starts[group + 1] else None


def check_grouped(problem: Product) -> None:
    """Refuse what no grouped product has.

    Raises `PlanError`: says what would do.

    >>> from layoutalg.gemm.problem import Problem
    >>> Problem.of(64, 96, 64, groups=2, batch=3)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: batch = 3 with groups = 2: a batch of grouped products is planned as one of 6 groups
    """
    if problem.batch > 1:
        many = problem.batch * problem.groups
        raise PlanError(
            f"batch = {problem.batch} with groups = {problem.groups}: a batch of grouped products is planned as one of "
            f"{many} groups"
        )
    if problem.trans_a:
        raise PlanError(
            "trans_a with groups: grouped products are planned for an A that lies as m x k, sorted by group"
        )


def checked_starts(problem: Product, starts: ArrayLike | None) -> NDArray[np.int32]:
    """The starts that somebody gave for a problem.

    Raises `PlanError`: there are none, or their number, order or size does not suit.

    >>> from layoutalg.gemm.problem import Problem
    >>> checked_starts(Problem.of(64, 96, 64, groups=2), [0, 70, 64])
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: starts [0, 70, 64]: expected 3 numbers from 0 to m = 64, none below the one before
    """
    if not problem.groups:
        if starts is not None:
            raise PlanError("starts: the plan has no groups; plan with groups=...")
        return np.zeros(0, np.int32)
    if starts is None:
        raise PlanError(f"starts: the plan has {problem.groups} groups; {problem.groups + 1} numbers are needed")
    given = numbers("starts", starts, (problem.groups + 1,))
    whole = given.astype(np.float64)
    if not ((whole >= 0) & (whole <= problem.m) & (whole == np.trunc(whole))).all() or (np.diff(whole) < 0).any():
        shown = ", ".join(f"{one:g}" for one in whole[:8]) + (", ..." if whole.size > 8 else "")
        raise PlanError(
            f"starts [{shown}]: expected {problem.groups + 1} numbers from 0 to m = {problem.m}, none below the one before"
        )
    return given.astype(np.int32)


def by_groups(
    problem: Problem,
    starts: ArrayLike | None,
    computed: Callable[..., Array],
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    kind: np.dtype[Any] | None = None,
) -> Array:
    """C of a grouped product, by a function that computes one of a plain product; rows of no group are as before, or poison.

    Vectors of columns have n numbers for each group, one group after the other.
    """
    places, n = checked_starts(problem, starts), problem.n
    left = numbers("A", a, (problem.m, problem.k))
    shape = (problem.groups, problem.matrices[1].rows, problem.matrices[1].columns)
    right, old = numbers("B", b, shape), None if c is None else numbers("C", c, (problem.m, n))
    vectors = [None if one is None else np.asarray(one) for one in (bias, row_scale, column_scale)]
    sides = (problem.bias, "row", "column")
    result = poisoned((problem.m, n), kind or numpy_type({"s32": "i32"}.get(problem.c, problem.c)))
    if old is not None:
        result[:] = old.astype(result.dtype)
    for group, (first, end) in enumerate(zip(places[:-1].tolist(), places[1:].tolist(), strict=True)):
        if first == end:
            continue
        rows, columns = slice(first, end), slice(group * n, (group + 1) * n)
        one = replace(problem, m=end - first, groups=0)
        more = [
            None if vector is None else vector[rows if side == "row" else columns]
            for vector, side in zip(vectors, sides, strict=True)
        ]
        result[rows] = computed(one, left[rows], right[group], None if old is None else old[rows], *more)
    return result


def random_starts(problem: Product, random: np.random.Generator) -> NDArray[np.int32]:
    """Starts of groups of random sizes, some of them empty; a few rows belong to none.

    >>> from layoutalg.gemm.problem import Problem
    >>> random_starts(Problem.of(64, 96, 64, groups=4), np.random.default_rng(0)).size
    5
    """
    inner = np.sort(random.integers(0, problem.m + 1, problem.groups + 1))
    again = random.random(problem.groups + 1) < 0.25  # twice the same start is an empty group
    inner[1:] = np.where(again[1:], inner[:-1], inner[1:])
    if inner.min() == inner.max():  # one row at least
        inner[0], inner[-1] = 0, problem.m
    return np.sort(inner).astype(np.int32)
