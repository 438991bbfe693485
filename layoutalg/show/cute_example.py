"""The example that a picture of CuTe's algebra explains itself by: cells that are outlined in each layout, and why.

>>> divided = example_of("zipped_divide", (CuteLayout((8, 6), (1, 8)),), CuteLayout(((2, 3), (4, 2)), ((1, 8), (2, 24))))
>>> divided.told
'outlined: one tile: column 1 of R, and where A has its values'
>>> sorted(divided.cells[0])                    # of A, by index: rows 2 and 3 of columns 0, 1 and 2
[2, 3, 10, 11, 18, 19]
>>> a, b, r = CuteLayout((6, 2), (8, 2)), CuteLayout((4, 3), (3, 1)), CuteLayout(((2, 2), 3), ((24, 2), 8))
>>> example_of("composition", (a, b), r).told
'outlined: B at (1,1) is 4, A at index 4 is 32, so R at ((1,0),1) is 32'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any, cast

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_SHOWN_VALUES
from layoutalg.cute.coordinates import idx2crd
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.in_words import sum_in_words
from layoutalg.cute.nested_tuples import leaves_of, tuple_text
from layoutalg.cute.tiling import logical_product

__all__ = ["COPIED", "COPIES", "COVERED", "RESULT", "AlgebraExample", "Values", "coordinate_text", "example_of"]

COPIES = ("logical_product", "zipped_product", "tiled_product", "flat_product")
"""Operations whose second layout says where the copies are: its coordinates are the result's columns."""
COPIED = ("blocked_product", "raked_product")
"""Operations whose result has parts of several copies in a column: hues are the columns of the logical product."""
RESULT, COVERED = -1, -2
"""The number of the result, where inputs are 0, 1 and so on; and of the copies of a complement."""
_BY_TILES = ("zipped_divide", "tiled_divide")
_OTHER_VALUES = ("upcast", "downcast", "recast", "nullspace", "complement", "left_inverse", "right_inverse")
"""Operations whose result counts something else than the first layout does."""
_INVERSES = ("right_inverse", "left_inverse")


@dataclass(frozen=True, slots=True)
class Values:
    """A layout as a grid of values: mode 0 down, the other modes across."""

    layout: CuteLayout
    rows: int
    columns: int

    @classmethod
    def of(cls, layout: CuteLayout) -> Values:
        """The grid of a layout; `SizeError` above 2^14 values.

        >>> Values.of(CuteLayout((4, (3, 2)), (6, (1, 3)))).columns
        6
        """
        modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
        sizes = [prod([n for n, _ in leaves_of(one, one)]) for one in modes]
        if prod(sizes) > MOST_SHOWN_VALUES:
            raise SizeError(f"{layout}: over {MOST_SHOWN_VALUES} values, the limit of a picture")
        return cls(layout, *((sizes[0], prod(sizes[1:])) if len(sizes) > 1 else (1, prod(sizes))))

    def value(self, index: int) -> Any:
        """The value at an index."""
        return self.layout(index)

    @property
    def count(self) -> int:
        """How many values there are."""
        return self.rows * self.columns

    @property
    def shapes(self) -> tuple[Any, Any]:
        """The shapes of the rows and of the columns."""
        return _sides(self.layout.shape, 1)

    @property
    def strides(self) -> tuple[Any, Any]:
        """The strides of the rows and of the columns."""
        return _sides(self.layout.stride, 0)


def _sides(whole: Any, none: int) -> tuple[Any, Any]:
    """Mode 0, and the others; of one mode that mode is the second."""
    modes: tuple[Any, ...] = cast("Any", whole) if isinstance(whole, tuple) else ()
    if len(modes) < 2:
        return none, cast("Any", whole)
    return modes[0], modes[1] if len(modes) == 2 else modes[1:]


@dataclass(frozen=True, slots=True)
class AlgebraExample:
    """What is outlined: the indices of each layout by its number (`RESULT` for the result), and a sentence about it."""

    told: str
    cells: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    offset: int | None = None
    """The offset that a swizzle changes there."""


def coordinate_text(index: int, shape: Any) -> str:
    """The coordinate of an index.

    >>> coordinate_text(5, ((2, 2), 3))
    '((1,0),1)'
    """
    return tuple_text(cast("Any", idx2crd(index, shape)))


@lru_cache(8)
def example_of(operation: str, inputs: tuple[CuteLayout, ...], result: CuteLayout | None) -> AlgebraExample:
    """The example of an operation's layouts; without one, a value of the result, or of the first input, added up."""
    by = result if result is not None else inputs[0]
    last, first = Values.of(by), Values.of(inputs[0]) if inputs else None
    found: AlgebraExample | None = None
    if by.swizzle is not None:
        return _swizzled(last, first if result is not None else None)
    if result is not None and first is not None:
        second = Values.of(inputs[1]) if len(inputs) > 1 else None
        found = _related(operation, first, second, last)
    return found or _added_up(last, None if operation in _OTHER_VALUES else first, alone=result is None or not inputs)


def _related(operation: str, first: Values, second: Values | None, last: Values) -> AlgebraExample | None:
    """What ties a value of the result to the inputs."""
    if operation == "composition" and second is not None:
        return _composed(first, second, last)
    if operation in (*COPIES, *COPIED) and second is not None and second.count > 1:
        copies = last if operation in COPIES else Values.of(logical_product(first.layout, second.layout))
        if copies.columns == second.count and type(copies.value(copies.rows)) is int:
            moved = {copies.value(index) for index in range(copies.rows, 2 * copies.rows)}
            told = f"outlined: copy 1 of A in R: A's values + {copies.value(copies.rows) - first.value(0)}; and its place in B"
            return _outlined(told, {1: [1], RESULT: _having(last, moved)})
    tile: Sequence[int] = ()
    which = "column 1 of R"
    if operation in _BY_TILES or (operation == "logical_divide" and last.columns > 1 and first.rows == 1):
        tile = range(last.rows, 2 * last.rows) if last.columns > 1 else ()
    elif operation == "logical_divide":
        tile, which = _first_tile(last), "rests 0 in R"
    if tile:
        told = f"outlined: one tile: {which}, and where A has its values"
        return _outlined(told, {0: _having(first, {last.value(index) for index in tile}), RESULT: tile})
    if operation == "complement" and last.count > 1:
        return _outlined(
            f"outlined: {last.value(1)} of R, and the copy of A that it moves", {RESULT: [1], COVERED: [1]}
        )
    if operation in _INVERSES and last.count > 1:
        at = last.value(1)
        if type(at) is int and 0 <= at < first.count and first.value(at) == 1:
            told = f"outlined: A at {coordinate_text(at, first.layout.shape)}, its index {at}, is 1, so R at 1 is {at}"
            return _outlined(told, {0: [at], RESULT: [1]})
    return None


def _having(found: Values, values: Collection[Any]) -> list[int]:
    """The indices at which a layout has some values."""
    return [index for index in range(found.count) if found.value(index) in values]


def _first_tile(found: Values) -> list[int]:
    """The indices of a layout whose modes are (tile, rest), at which all rests are 0."""
    shape: Any = found.layout.shape
    modes: list[Any] = [*shape] if isinstance(shape, tuple) else []
    if not modes or not all(isinstance(mode, tuple) and len(cast("Any", mode)) > 1 for mode in modes):
        return []
    indices, place = [0], 1
    for tile, *rest in modes:
        inside, outside = (prod([n for n, _ in leaves_of(one, one)]) for one in (tile, tuple(rest)))
        indices = [index + place * at for at in range(inside) for index in indices]
        place *= inside * outside
    return indices


def _swizzled(last: Values, first: Values | None) -> AlgebraExample:
    """An offset that a swizzle changes: the first with a bit that the XOR clears, or any that it moves."""
    layout = last.layout
    plain = CuteLayout(layout.shape, layout.stride)
    offsets = [layout.offset + cast("int", plain(index)) for index in range(last.count)]
    moved = [index for index, at in enumerate(offsets) if last.value(index) != at]
    index = next((index for index in moved if last.value(index) < offsets[index]), moved[0] if moved else None)
    if index is None:
        return AlgebraExample("the swizzle moves none of these offsets")
    at, place = offsets[index], coordinate_text(index, layout.shape)
    whole = first is not None and first.count == last.count and first.value(index) == at
    told = f"{'A at ' if whole else ''}{place} has offset {at}, and the swizzle makes it {last.value(index)}"
    return replace(_outlined(f"outlined: {told}", {RESULT: [index], **({0: [index]} if whole else {})}), offset=at)


def _composed(first: Values, second: Values, last: Values) -> AlgebraExample | None:
    """R(c) = A(B(c)), at the first index where no coordinate of B is 0."""
    index = _ones(second)
    at = second.value(index)
    if type(at) is not int or not 0 <= at < first.count or index >= last.count:
        return None
    told = (
        f"outlined: B at {coordinate_text(index, second.layout.shape)} is {at}, A at index {at} is {first.value(at)}, "
        f"so R at {coordinate_text(index, last.layout.shape)} is {last.value(index)}"
    )
    return _outlined(told, {0: [at], 1: [index], RESULT: [index]})


def _ones(found: Values, last: int = 1) -> int:
    """The index whose digits are all 1, the last one `last`, as far as extents go."""
    shape: Any = found.layout.shape
    index, place = 0, 1
    leaves = [n for n, _ in leaves_of(shape, shape)]
    for number, n in enumerate(leaves):
        index += place * min(last if number == len(leaves) - 1 else 1, n - 1)
        place *= n
    return index


def _added_up(found: Values, first: Values | None, *, alone: bool) -> AlgebraExample:
    """One value as a sum of strides, and where the first input has it."""
    layout = found.layout
    index = _ones(found, 2)
    told = sum_in_words(cast("Any", idx2crd(index, layout.shape)), layout.stride)
    if not told:
        return AlgebraExample("")
    if alone:
        return _outlined(f"outlined: {told}", {RESULT: [index], 0: [index]})
    value = found.value(index)
    there = [] if first is None else _having(first, [value])[:1]
    more = f", and where A has {value}" if there else ""
    return _outlined(f"outlined: R at {told}{more}", {RESULT: [index], 0: there})


def _outlined(told: str, cells: Mapping[int, Iterable[int]]) -> AlgebraExample:
    return AlgebraExample(told, {number: frozenset(some) for number, some in cells.items()})
