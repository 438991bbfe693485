"""Arrays that a caller gave, as a plan's matrices hold them: of the planned shape, in the type of the elements.

>>> held("A", numbers("A", [[1, 2], [3, 4]], (2, 2)), "f16").dtype
dtype('float16')
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.gemm.product import mlir_type

__all__ = ["held", "numbers"]


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of numbers of this shape.

    Raises:
        PlanError: it is something else.

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


def held(name: str, given: NDArray[Any], element: str) -> NDArray[Any]:
    """Numbers as elements of a type of the problem; floats are rounded, what is too large is refused.

    Raises:
        PlanError: a number does not fit.

    >>> held("A", np.array([300]), "u8")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: A has the value 300, which u8 cannot hold
    """
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
