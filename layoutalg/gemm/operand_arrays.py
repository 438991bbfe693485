"""Arrays that a caller gave, as a plan's matrices hold them: of the planned shape, in the type of the elements.

>>> held("A", [[1, 2], [3, 4]], (2, 2), "f16").dtype
dtype('float16')

What belongs to nobody (the padding of rows, C before a product that does not read it) is poisoned, so that reading it shows.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.gemm.product import Product, mlir_type

__all__ = ["POISON", "check_given", "held", "held_scales", "numbers", "poisoned"]

POISON = 85
"""What fills the padding of integers: far from the values that tests multiply, and 85 * 85 is odd. Floats have NaN."""


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of numbers of this shape.

    Raises `PlanError`: it is something else.

    >>> numbers("A", [[1, 2, 3]], (2, 2))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: A is planned as 2x2: expected 2 rows
    """
    planned = "x".join(map(str, shape))
    if isinstance(values, Sized) and not isinstance(values, np.ndarray) and _length(values) != shape[0]:
        raise PlanError(
            f"{name} is planned as {planned}: expected {shape[0]} {'rows' if len(shape) == 2 else 'entries'}"
        )
    try:
        given = np.asarray(values)
    except (ValueError, TypeError, RecursionError) as problem:
        raise PlanError(f"{name}: {problem}") from None
    if given.shape != shape:
        found = "x".join(map(str, given.shape)) or "a scalar"
        raise PlanError(f"{name} is planned as {planned}, and the array is {found}")
    if given.dtype.kind not in "biuf" and given.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        raise PlanError(f"{name} is an array of {given.dtype}; numbers are needed")
    return given


def poisoned(shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    """An array that nobody has written to."""
    return np.full(shape, POISON if kind.kind in "iu" else np.nan, kind)


def check_given(problem: Product, c: object, verb: str = "adds", **vectors: object) -> None:
    """Refuse a C, a bias or scales that the problem does not read, and miss what it does.

    Raises `PlanError`: says which.

    >>> from layoutalg.gemm import Problem
    >>> check_given(Problem.of(64, 64, 64, bias="row"), None, bias=None)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: bias: the plan adds one for every row of C; an array of 64 numbers is needed
    """
    if (c is None) == (problem.beta != 0):
        said = "read, and needed" if c is None else "not read; leave it out"
        raise PlanError(f"c: beta = {problem.beta:g}, so C is {said}")
    for name, given in vectors.items():
        side = getattr(problem, name)
        if (given is None) == (side is None):
            continue
        if side is None:
            both = " or scale='both'" if name == "scale" else ""
            raise PlanError(f"{name}: the plan has none; plan with {name}='row' or {name}='column'{both}")
        if side == "both":
            sizes = f"{problem.count('row')} and {problem.count('column')}"
            raise PlanError(
                f"{name}: the plan {verb} one for every row and for every column of C; a pair of {sizes} numbers is needed"
            )
        count = problem.count(side)
        raise PlanError(f"{name}: the plan {verb} one for every {side} of C; an array of {count} numbers is needed")


def held_scales(problem: Product, row: ArrayLike | None, column: ArrayLike | None) -> dict[str, NDArray[Any]]:
    """The scales of a GPU's plan by side, in f32: of rows [m, 1], of columns [1, n], in the order of the multiplications.

    Raises `PlanError`: scales that the problem does not read, or none where it does.

    >>> from layoutalg.gemm import Problem
    >>> held_scales(Problem.of(64, 64, 64, scale="row"), None, None)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: row_scale: the plan has one for every row of C; an array of 64 numbers is needed
    """
    found: dict[str, NDArray[Any]] = {}
    for side, given in (("row", row), ("column", column)):
        name = f"{side}_scale"
        if side in problem.scaled:
            count = problem.count(side)
            if given is None:
                raise PlanError(
                    f"{name}: the plan has one for every {side} of C; an array of {count} numbers is needed"
                )
            factors = held(name, given, (count,), "f32")
            found[side] = factors[:, None] if side == "row" else factors[None, :]
        elif given is not None:
            raise PlanError(f"{name}: the plan has none; plan with scale='{side}' or scale='both'")
    return found


def held(name: str, values: ArrayLike, shape: tuple[int, ...], element: str) -> NDArray[Any]:
    """An array of numbers of this shape, as elements of a type of the problem; floats are rounded.

    Raises `PlanError`: it is something else, or a number does not fit.

    >>> held("A", [300], (1,), "u8")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: A has the value 300, which u8 cannot hold
    """
    given = numbers(name, values, shape)
    kind = numpy_type(mlir_type(element))
    with np.errstate(over="ignore", invalid="ignore"):
        if kind.kind in "iu":
            bits, wide = kind.itemsize * 8, given.astype(np.float64)
            least, most = (0, 2**bits) if element[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
            lost = ~((wide >= least) & (wide < most) & (np.trunc(wide) == wide))
        else:
            lost = np.isinf(given.astype(kind).astype(np.float32)) & np.isfinite(given.astype(np.float64))
        if lost.any():
            raise PlanError(f"{name} has the value {given[lost][0]}, which {element} cannot hold")
        return given.astype(np.int64).astype(kind) if kind.kind in "iu" else given.astype(kind)


def _length(values: Sized) -> int:
    try:
        return len(values)
    except OverflowError:  # a range of more than 2^63
        return -1
