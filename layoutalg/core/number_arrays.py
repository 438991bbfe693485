"""Arrays of whole numbers that a caller gave: coordinates of elements, places of a layout's inputs.

A list, a range or an array is one after a check: of whole numbers, not more of them than fit in memory. Several broadcast.

>>> whole_array(range(3), "lane").tolist(), together({"lane": np.arange(3), "reg": np.arange(2)[:, None]}, LayoutError)
([0, 1, 2], (2, 3))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.limits import MOST_COORDINATES
from layoutalg.core.messages import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["count_of", "together", "whole_array"]


def count_of(given: object) -> int:
    """How many values a list, a range or an array has; 1 for another value.

    >>> count_of(range(10)), count_of(7)
    (10, 1)
    """
    size = getattr(given, "size", None)
    if isinstance(size, int):
        return size  # an array may be broadcast: its size says nothing of its memory
    try:
        return len(cast("Sequence[object]", given)) if isinstance(given, Sequence) else 1
    except OverflowError:  # a range of more than 2^63
        return MOST_COORDINATES + 1


def whole_array(given: object, what: str, error: type[LayoutError] = LayoutError) -> NDArray[np.int64]:
    """Whole numbers as an array; `what` begins the message.

    Raises `error` for what is not a whole number or an array of them; `SizeError` for more than 2^24.

    >>> whole_array([1.5], "coordinates along d0")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: coordinates along d0 [1.5]: expected whole numbers or an integer array of them
    """
    import numpy as np

    if count_of(given) > MOST_COORDINATES:
        raise SizeError(f"more than {MOST_COORDINATES} {what}: ask for a part at a time")
    try:
        values = np.asarray(given)
    except (ValueError, TypeError, RecursionError, MemoryError):
        values = np.asarray("")
    if values.dtype.kind not in "iu":
        raise error(f"{what} {shown(given)}: expected whole numbers or an integer array of them")
    if values.size > MOST_COORDINATES:
        raise SizeError(f"more than {MOST_COORDINATES} {what}: ask for a part at a time")
    return values.astype(np.int64)


def together(arrays: Mapping[str, NDArray[np.int64]], error: type[LayoutError]) -> tuple[int, ...]:
    """The shape of named arrays that broadcast.

    Raises `error` for shapes that do not.

    >>> together({"d0": np.arange(3), "d1": np.arange(2)}, LayoutError)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: arrays of the shapes [3] along d0, [2] along d1: expected arrays that numpy broadcasts
    """
    import numpy as np

    try:
        return np.broadcast_shapes(*[values.shape for values in arrays.values()])
    except ValueError:
        said = ", ".join(f"{list(values.shape)} along {name}" for name, values in arrays.items())
        raise error(f"arrays of the shapes {said}: expected arrays that numpy broadcasts") from None
