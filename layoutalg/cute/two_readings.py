"""Memory, or threads and values? A pair of shape and stride may be both, and its text does not say which.

`(32,8):(1,32)` is 32 rows of 8 elements in memory, column by column. It is as well 32 threads with 8 values each, where the
value is the column-major index in a tile of 256 elements, such as 16 x 16. What is known beside the text decides:

| sign | reading |
|---|---|
| it was said: `--as`, `read_as`, a `tile` beside the text | as said |
| a swizzle, a negative stride, a step along a coordinate | memory |
| other than two modes | memory |
| the tensor has another shape than the two modes | threads and values |
| the other side of a comparison is on the machine | threads and values |
| mode 0 has no number of threads that instructions have | memory |
| nothing | memory, and the answer says that it may be both |

>>> layout = la.parse("(32,8):(1,32)")
>>> reading_of(layout, None, False).kind, reading_of(layout, (16, 16), False).kind
('memory', 'tv')
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from layoutalg.core.errors import ConversionError
from layoutalg.core.messages import number_text, shown
from layoutalg.cute.nested_tuples import leaves_of

if TYPE_CHECKING:
    from layoutalg.cute.cute_layout import CuteLayout

__all__ = ["READINGS", "Reading", "checked_reading", "reading_of", "suggested_tile"]

READINGS = ("tv", "memory")
_WORDS = {"tv": "threads and values", "memory": "memory"}
_THREADS = (8, 16, 32, 64, 128, 256)
"""Threads that hold a tile together: a quad pair, Intel's subgroup, a warp, a wave, a warpgroup and two."""


class Reading(NamedTuple):
    """How a layout is read, why, and whether it may be the other as well.

    >>> str(Reading("memory", "it has 3 modes, and threads and values are two"))
    'memory: it has 3 modes, and threads and values are two'
    """

    kind: str
    why: str
    is_open: bool = False

    def __str__(self) -> str:
        return f"{_WORDS[self.kind]}: {self.why}"


def checked_reading(reading: object) -> str | None:
    """A reading that a caller gave.

    >>> checked_reading("tv"), checked_reading(None)
    ('tv', None)
    >>> checked_reading("registers")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: read as 'registers': expected 'tv' (threads and values) or 'memory'
    """
    if reading is None:
        return None
    if type(reading) is not str or reading not in READINGS:
        raise ConversionError(f"read as {shown(reading)}: expected 'tv' (threads and values) or 'memory'")
    return reading


def reading_of(cute: CuteLayout, shape: Sequence[Any] | None, on_machine: bool) -> Reading:
    """How a layout is read for a tensor of `shape`; `on_machine` says that lanes are named beside it.

    >>> print(reading_of(la.parse("(4,2,2):(1,4,8)"), None, False))
    memory: it has 3 modes, and threads and values are two
    >>> print(reading_of(la.parse("(32,8):(1,32)"), None, False))
    memory: nothing in the text decides. Or 32 threads with 8 values each: say --as tv and the tile, such as 16x16
    """
    if cute.reading is not None:
        return Reading(cute.reading, "as was said")
    if cute.tile is not None:
        return Reading("tv", f"of the tile {_by(cute.tile)} beside it")
    if cute.swizzle is not None:
        return Reading("memory", "it is swizzled")
    modes = cute.shape if isinstance(cute.shape, tuple) else (cute.shape,)
    strides = cute.stride if isinstance(cute.stride, tuple) else (cute.stride,)
    if any(not isinstance(s, int) or s < 0 for _, s in leaves_of(cute.shape, cute.stride)):
        return Reading("memory", "a stride is negative or a step along a coordinate")
    sizes = tuple([prod([n for n, _ in leaves_of(*mode)]) for mode in zip(modes, strides, strict=True)])
    if len(sizes) != 2:
        return Reading("memory", f"it has {len(sizes)} mode{'s' * (len(sizes) != 1)}, and threads and values are two")
    if shape is not None and tuple(shape) != sizes:
        return Reading("tv", f"its modes are {_by(sizes)}, and the tensor is {_by(shape)}")
    if shape is not None and on_machine:
        return Reading("tv", "the other side, or what was said of the machine, names lanes")
    if sizes[0] not in _THREADS:
        return Reading("memory", f"mode 0 has {number_text(sizes[0])} elements, and no instruction has as many threads")
    shared = any(not s and n > 1 for n, s in leaves_of(modes[0], strides[0]))
    why = "nothing in the text decides" if not shared else "nothing else was said, though mode 0 has a stride of 0"
    tile = _by(suggested_tile(cute))
    other = f"Or {sizes[0]} threads with {number_text(sizes[1])} value{'s' * (sizes[1] != 1)} each"
    return Reading("memory", f"{why}. {other}: say --as tv and the tile, such as {tile}", True)


def suggested_tile(cute: CuteLayout) -> tuple[int, int]:
    """A tile that threads and values of such a layout may index: as many elements as it has values, in two dimensions.

    >>> suggested_tile(la.parse("(32,8):(1,32)")), suggested_tile(la.parse("((4,8),(2,2)):((32,1),(16,8))"))
    ((16, 16), (16, 8))
    """
    count = 1
    for n, s in leaves_of(cute.shape, cute.stride):
        count *= n if s else 1
    columns = 1 << ((count & -count).bit_length() - 1) // 2
    return count // columns, columns


def _by(sizes: Sequence[object]) -> str:
    return "x".join([number_text(size) if type(size) is int else str(size) for size in sizes])
