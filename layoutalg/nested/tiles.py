"""The five tiles and two lists of strides of a nested layout, as numbers: their rules, their shapes, layouts derived from them.

>>> tiles = NestedTiles((2, 1), (2, 4), (1, 1), (16, 4), (1, 4), (1, 0), (1, 16))
>>> tiles.shape, tiles.distributed_shape
((64, 64), (2, 4, 1, 1, 1, 4))
>>> tiles.permute((1, 0)).thread_strides
(16, 1)

Everything here is picked or counted dimension by dimension; who holds what is for `distribution` and `coordinates` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import LONGEST_ATTRIBUTE, MAX_EXTENT
from layoutalg.core.messages import number_text, shown
from layoutalg.core.whole_numbers import as_ints

__all__ = ["FIELDS", "NestedTiles"]

Ints = tuple[int, ...]

_TILES = ("subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile")
_STRIDES = ("subgroup_strides", "thread_strides")
FIELDS = (*_TILES, *_STRIDES)
"""The names of the seven lists, in the order of the text."""

_set = object.__setattr__


@dataclass(frozen=True, slots=True)
class NestedTiles:
    """Seven lists, each as long as the tensor's rank; the stride of a unit tile is kept as 0.

    Raises `VerificationError` as `NestedLayoutAttr` does.

    >>> NestedTiles((1,), (1,), (1,), (16, 2), (4,), (0,), (1,))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: all fields must have the same rank as the layout
    """

    subgroup_tile: Ints
    batch_tile: Ints
    outer_tile: Ints
    thread_tile: Ints
    element_tile: Ints
    subgroup_strides: Ints
    thread_strides: Ints

    def __post_init__(self) -> None:
        self._check_fields()
        self._normalize()

    def _normalize(self) -> None:
        """Bound the shape, and forget the strides of unit tiles."""
        levels = (*self.subgroup_tile, *self.batch_tile, *self.outer_tile, *self.thread_tile, *self.element_tile)
        if prod(levels) > MAX_EXTENT and max(self.shape) > MAX_EXTENT:
            raise VerificationError(
                f"a tensor of shape {shown(list(self.shape))}: a dimension over 2^31 (IREE accepts this)"
            )
        for tile, name in ((self.subgroup_tile, "subgroup_strides"), (self.thread_tile, "thread_strides")):
            if 1 in tile:
                strides = [0 if n == 1 else s for n, s in zip(tile, getattr(self, name), strict=True)]
                object.__setattr__(self, name, tuple(strides))

    @classmethod
    def _of_numbers(cls, numbers: Ints, rank: int) -> Self | None:
        """From the fields' numbers one after another, as a text has them; None for what needs a closer look."""
        if rank and (min(numbers[: 5 * rank]) < 1 or max(numbers) > MAX_EXTENT):
            return None
        found = object.__new__(cls)
        start = 0
        for name in FIELDS:
            _set(found, name, numbers[start : start + rank])
            start += rank
        found._normalize()
        return found

    def _check_fields(self) -> None:
        """Field by field: lists become tuples, what is wrong is named."""
        rank = len(as_ints("subgroup_tile", self.subgroup_tile))
        for name in FIELDS:
            values = as_ints(name, getattr(self, name))
            object.__setattr__(self, name, values)
            low = 1 if name in _TILES else 0
            if values and (min(values) < low or max(values) > MAX_EXTENT):
                wrong = min(values) if min(values) < low else max(values)
                raise VerificationError(
                    f"{name} = {shown(list(values))}: expected {low} to 2^31, got {number_text(wrong)} (IREE accepts this)"
                )
            if rank != len(values):
                raise VerificationError("all fields must have the same rank as the layout")

    def __str__(self) -> str:
        lists = ", ".join(f"{name} = {list(getattr(self, name))}" for name in FIELDS)
        return f"#iree_vector_ext.nested_layout<{lists}>"

    def fields(self) -> tuple[Ints, ...]:
        """The seven lists, in the order of the text.

        >>> NestedTiles((2,), (3,), (1,), (16,), (4,), (1,), (1,)).fields()[3]
        (16,)
        """
        return tuple(getattr(self, name) for name in FIELDS)

    @property
    def rank(self) -> int:
        """The rank of the tensors that the layout distributes.

        >>> NestedTiles((1,), (1,), (1,), (16,), (4,), (0,), (1,)).rank
        1
        """
        return len(self.subgroup_tile)

    @property
    def shape(self) -> Ints:
        """The one shape that the layout distributes: the product of the five tiles per dimension.

        >>> NestedTiles((2,), (3,), (1,), (16,), (4,), (1,), (1,)).shape
        (384,)
        """
        levels = zip(
            self.subgroup_tile, self.batch_tile, self.outer_tile, self.thread_tile, self.element_tile, strict=True
        )
        return tuple([s * b * o * t * e for s, b, o, t, e in levels])

    @property
    def packed_shape(self) -> Ints:
        """The tensor with all five levels apart, level major: [S.., B.., O.., T.., E..].

        >>> NestedTiles((2,), (3,), (1,), (16,), (4,), (1,), (1,)).packed_shape
        (2, 3, 1, 16, 4)
        """
        return tuple(size for name in _TILES for size in getattr(self, name))

    @property
    def distributed_shape(self) -> Ints:
        """The shape of one thread's vector: [B.., O.., E..]; its row-major position is the register.

        >>> NestedTiles((2,), (3,), (1,), (16,), (4,), (1,), (1,)).distributed_shape
        (3, 1, 4)
        """
        return self.batch_tile + self.outer_tile + self.element_tile

    def check(self, shape: Sequence[int]) -> str | None:
        """IREE's verdict for a vector of `shape`: None where it fits, else its diagnostic.

        >>> NestedTiles((1, 1), (1, 1), (1, 1), (4, 16), (1, 1), (0, 0), (16, 1)).check((16, 16))[:40]
        'Vector shape: [16, 16] does not match th'
        """
        shape = as_ints("shape", shape)
        if len(shape) != self.rank:
            return f"Rank of vector ({len(shape)}) does not match rank of layout ({self.rank})."
        for d, (expected, actual) in enumerate(zip(self.shape, shape, strict=True)):
            if expected != actual:
                text = str(self).removeprefix("#iree_vector_ext.")
                return (
                    f"Vector shape: {shown(list(shape), LONGEST_ATTRIBUTE)} does not match the layout ({text}) at dim {d}. "
                    f"Dimension expected by layout: {expected} actual: {number_text(actual)}"
                )
        return None

    def fitting(self, shape: Sequence[int]) -> str:
        """Why `check` refuses a shape, in numbers, and what would fit; "" where it fits or has another rank.

        >>> NestedTiles((1, 1), (1, 1), (1, 1), (4, 16), (1, 1), (0, 0), (16, 1)).fitting((16, 16))
        'batch_tile = [4, 1] would fit'
        >>> NestedTiles((1, 1), (1, 1), (1, 1), (4, 16), (1, 1), (0, 0), (16, 1)).fitting((2, 16))
        'dimension 0 has 2 elements: tiles of 4 (4 threads of 1) need a multiple of 4; 4x16 would fit'
        """
        shape = as_ints("shape", shape)
        if len(shape) != self.rank or self.check(shape) is None or max(shape, default=0) > MAX_EXTENT:
            return ""
        units = [whole // batch for whole, batch in zip(self.shape, self.batch_tile, strict=True)]
        wrong = next((d for d, unit in enumerate(units) if shape[d] % unit or shape[d] < 1), None)
        if wrong is None:
            batches = [size // unit for size, unit in zip(shape, units, strict=True)]
            return f"batch_tile = {batches} would fit"
        levels = (("subgroups", self.subgroup_tile), ("outer tiles", self.outer_tile), ("threads", self.thread_tile))
        counts = " of ".join(f"{tile[wrong]} {name}" for name, tile in levels if tile[wrong] > 1)
        parts = f" ({counts} of {self.element_tile[wrong]})" if counts else ""
        return (
            f"dimension {wrong} has {number_text(shape[wrong])} elements: tiles of {units[wrong]}{parts} need a multiple of "
            f"{units[wrong]}; {'x'.join(map(str, self.shape))} would fit"
        )

    # Derived layouts

    def permute(self, order: Sequence[int]) -> Self:
        """Reorder the dimensions: dimension i of the result is dimension `order[i]`.

        >>> NestedTiles((2, 1), (1, 1), (1, 1), (4, 8), (1, 2), (1, 0), (8, 1)).permute((1, 0)).shape
        (16, 8)
        """
        order = as_ints("order", order)
        if sorted(order) != list(range(self.rank)):
            raise VerificationError(
                f"permute by {shown(list(order))}: expected an order of the dimensions 0..{self.rank - 1}"
            )
        return self._picked(order)

    def project(self, dropped: Sequence[int]) -> Self:
        """Drop dimensions: threads that differ in them hold the same data.

        >>> NestedTiles((2, 1), (1, 1), (1, 1), (4, 8), (1, 2), (1, 0), (8, 1)).project([0]).shape
        (16,)
        """
        dropped = as_ints("dropped", dropped)
        for d in dropped:
            if not 0 <= d < self.rank:
                raise VerificationError(f"project {shown(list(dropped))}: expected dimensions of 0..{self.rank - 1}")
        return self._picked([d for d in range(self.rank) if d not in dropped])

    def apply(self, dims: Sequence[int | None]) -> Self:
        """The layout of a view whose dimension i is dimension `dims[i]`, or (None) one that no thread tells apart.

        >>> NestedTiles((2,), (1,), (1,), (4,), (2,), (1,), (1,)).apply([None, 0]).shape
        (1, 16)
        """
        as_ints("dims", [0 if d is None else d for d in dims] if isinstance(dims, (tuple, list)) else dims)
        for d in dims:
            if d is not None and not 0 <= d < self.rank:
                raise VerificationError(
                    f"apply {shown(list(dims))}: expected dimensions of 0..{self.rank - 1}, or None"
                )
        return self._picked(dims)

    def append(self, other: NestedTiles) -> Self:
        """The dimensions of `other` after these.

        >>> one = NestedTiles((2,), (1,), (1,), (4,), (2,), (1,), (1,))
        >>> one.append(one).shape
        (16, 16)
        """
        if not isinstance(other, NestedTiles):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"append of a {type(other).__name__}: expected a nested layout")
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in FIELDS))

    def recombine(self, other: NestedTiles, mine: Sequence[int], others: Sequence[int], result: Sequence[int]) -> Self:
        """The layout of a contraction's result: each of its loop dimensions comes from the operand that has it.

        `mine`, `others` and `result` name the loop dimension of every dimension. Raises `VerificationError` where a
        dimension is in neither operand, or in both and they disagree.

        >>> a = NestedTiles((1, 1), (1, 1), (1, 1), (16, 4), (1, 4), (0, 0), (1, 16))
        >>> b = NestedTiles((1, 1), (1, 1), (1, 1), (4, 16), (4, 1), (0, 0), (16, 1))
        >>> a.recombine(b, mine=(0, 2), others=(2, 1), result=(0, 1)).thread_strides
        (1, 1)
        """
        mine, others, result = (as_ints(n, v) for n, v in (("mine", mine), ("others", others), ("result", result)))
        if not isinstance(other, NestedTiles):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"recombine with a {type(other).__name__}: expected a nested layout")
        if len(mine) != self.rank or len(others) != other.rank:
            raise VerificationError(
                f"recombine of ranks {self.rank} and {other.rank} by {shown(list(mine))} and {shown(list(others))}"
            )
        columns: list[NestedTiles] = []
        for loop in result:
            held = [one._picked([where.index(loop)]) for one, where in ((self, mine), (other, others)) if loop in where]
            if not held or any(column != held[0] for column in held):
                raise VerificationError(
                    f"recombine: the operands {'disagree on' if held else 'lack'} dimension {number_text(loop)}"
                )
            columns.append(held[0])
        found = type(self)((), (), (), (), (), (), ())
        for column in columns:
            found = found.append(column)
        return found

    def _picked(self, dims: Sequence[int | None]) -> Self:
        def pick(name: str) -> Ints:
            values: Ints = getattr(self, name)
            return tuple((1 if name in _TILES else 0) if d is None else values[d] for d in dims)

        return type(self)(*(pick(name) for name in FIELDS))
