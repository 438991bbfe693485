"""`#iree_vector_ext.nested_layout`: IREE's layouts of threads, five tiles deep.

A dimension is cut into subgroup x batch x outer x thread x element tiles, from the outside in. Subgroups and threads are
picked from the flat thread id of the workgroup by strides, the rest are a thread's own registers. The example of IREE's
page, a 64x64 tensor on two subgroups of 64 threads:

>>> attr = NestedLayoutAttr((2, 1), (2, 4), (1, 1), (16, 4), (1, 4), (1, 0), (1, 16))
>>> attr.shape
(64, 64)
>>> attr.layout((64, 64), subgroup_size=64)
Layout.parse('d0 = 2@sg 2@reg:16 16@lane, d1 = 4@reg:4 4@lane:16 4@reg')

With `tid` the flat thread id (also for the threads of a subgroup: a thread tile may reach past one subgroup),

    coordinate        = (((s*B + b)*O + o)*T + t)*E + e
    virtual subgroup  = (tid // (subgroup_size * subgroup_stride)) % S
    virtual thread    = (tid // thread_stride) % T

and 0 where the stride is 0. Measured with iree-opt 3.13.0 on 411 layouts. Threads that differ only in digits of `tid` that
no tile uses hold the same data; a tile of more than one with stride 0, or beyond the last thread, belongs to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import mul
from typing import Any, cast

from numpy.typing import NDArray

from layoutalg.core.errors import (
    ConversionError,
    DistributionError,
    SizeError,
    VerificationError,
)
from layoutalg.core.extents import Extent, as_ints
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine, Notation, Operand, as_machine, one_operand
from layoutalg.core.reader import MAX_EXTENT, Reader
from layoutalg.nested.distribution import exact_layout

__all__ = ["NestedLayoutAttr", "parse_nested", "read_nested", "read_notation"]

Ints = tuple[int, ...]

_TILES = ("subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile")
_STRIDES = ("subgroup_strides", "thread_strides")
_FIELDS = (*_TILES, *_STRIDES)
_GAP = "[ \\t\\r\\n]*"
_LISTS = f"{_GAP},{_GAP}".join(rf"{name}{_GAP}={_GAP}\[([0-9, ]*)\]" for name in _FIELDS)
_USUAL = re.compile(f"{_GAP}<{_GAP}{_LISTS}{_GAP}>")
"""The usual text, read at once; whatever else goes through the `Reader` word by word."""
_DIGITS = re.compile("[0-9]+")
_LONGEST_USUAL = 4096
_MOST_COORDINATES = 2**20


@dataclass(frozen=True, slots=True)
class NestedLayoutAttr(Notation):
    """The seven lists of a nested layout, each as long as the tensor's rank; the stride of a unit tile is kept as 0.

    Raises `VerificationError` in IREE's words for lists of different lengths, and for what IREE does not check: a tile
    below 1, a negative stride.

    >>> NestedLayoutAttr((1,), (1,), (1,), (16, 2), (4,), (0,), (1,))
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
            raise VerificationError(f"a tensor of shape {list(self.shape)}: a dimension over 2^31 (IREE accepts this)")
        for tile, name in ((self.subgroup_tile, "subgroup_strides"), (self.thread_tile, "thread_strides")):
            if 1 in tile:
                strides = [0 if n == 1 else s for n, s in zip(tile, getattr(self, name), strict=True)]
                object.__setattr__(self, name, tuple(strides))

    @classmethod
    def _of_numbers(cls, numbers: Ints, rank: int) -> NestedLayoutAttr | None:
        """From the fields' numbers one after another, as a text has them; None for what needs a closer look."""
        if rank and (min(numbers[: 5 * rank]) < 1 or max(numbers) > MAX_EXTENT):
            return None
        found = object.__new__(cls)
        start = 0
        for name in _FIELDS:
            _set(found, name, numbers[start : start + rank])
            start += rank
        found._normalize()
        return found

    def _check_fields(self) -> None:
        """Field by field: lists become tuples, what is wrong is named."""
        rank = len(as_ints("subgroup_tile", self.subgroup_tile))
        for name in _FIELDS:
            values = as_ints(name, getattr(self, name))
            object.__setattr__(self, name, values)
            low = 1 if name in _TILES else 0
            if values and (min(values) < low or max(values) > MAX_EXTENT):
                wrong = min(values) if min(values) < low else max(values)
                raise VerificationError(
                    f"{name} = {list(values)}: expected {low} to 2^31, got {wrong} (IREE accepts this)"
                )
            if rank != len(values):
                raise VerificationError("all fields must have the same rank as the layout")

    def __str__(self) -> str:
        lists = ", ".join(f"{name} = {list(getattr(self, name))}" for name in _FIELDS)
        return f"#iree_vector_ext.nested_layout<{lists}>"

    @property
    def rank(self) -> int:
        """The rank of the tensors that the layout distributes.

        >>> NestedLayoutAttr((1,), (1,), (1,), (16,), (4,), (0,), (1,)).rank
        1
        """
        return len(self.subgroup_tile)

    @property
    def shape(self) -> Ints:
        """The one shape that the layout distributes: the product of the five tiles per dimension.

        >>> NestedLayoutAttr((2,), (3,), (1,), (16,), (4,), (1,), (1,)).shape
        (384,)
        """
        levels = zip(
            self.subgroup_tile, self.batch_tile, self.outer_tile, self.thread_tile, self.element_tile, strict=True
        )
        return tuple([s * b * o * t * e for s, b, o, t, e in levels])

    @property
    def packed_shape(self) -> Ints:
        """The tensor with all five levels apart, level major: [S.., B.., O.., T.., E..].

        >>> NestedLayoutAttr((2,), (3,), (1,), (16,), (4,), (1,), (1,)).packed_shape
        (2, 3, 1, 16, 4)
        """
        return tuple(size for name in _TILES for size in getattr(self, name))

    @property
    def distributed_shape(self) -> Ints:
        """The shape of one thread's vector: [B.., O.., E..]; its row-major position is the register.

        >>> NestedLayoutAttr((2,), (3,), (1,), (16,), (4,), (1,), (1,)).distributed_shape
        (3, 1, 4)
        """
        return self.batch_tile + self.outer_tile + self.element_tile

    def check(self, shape: Sequence[int]) -> str | None:
        """IREE's verdict for a vector of `shape`: None where it fits, else its diagnostic.

        >>> NestedLayoutAttr((1, 1), (1, 1), (1, 1), (4, 16), (1, 1), (0, 0), (16, 1)).check((16, 16))[:40]
        'Vector shape: [16, 16] does not match th'
        """
        shape = as_ints("shape", shape)
        if len(shape) != self.rank:
            return f"Rank of vector ({len(shape)}) does not match rank of layout ({self.rank})."
        for d, (expected, actual) in enumerate(zip(self.shape, shape, strict=True)):
            if expected != actual:
                text = str(self).removeprefix("#iree_vector_ext.")
                return (
                    f"Vector shape: {list(shape)} does not match the layout ({text}) at dim {d}. "
                    f"Dimension expected by layout: {expected} actual: {actual}"
                )
        return None

    def thread_ids(self, tid: int, subgroup_size: int = 64) -> tuple[Ints, Ints]:
        """The virtual subgroup and the virtual thread, per dimension, of a flat thread id.

        >>> NestedLayoutAttr((2, 1), (2, 4), (1, 1), (16, 4), (1, 4), (1, 0), (1, 16)).thread_ids(64 + 17)
        ((1, 0), (1, 1))
        """
        self.threads(subgroup_size)
        if type(tid) is not int or tid < 0:
            raise DistributionError(f"thread {tid!r}: expected a whole number of at least 0")
        subgroups = zip(self.subgroup_tile, self.subgroup_strides, strict=True)
        threads = zip(self.thread_tile, self.thread_strides, strict=True)
        return (
            tuple(tid // (subgroup_size * s) % n if s else 0 for n, s in subgroups),
            tuple(tid // s % n if s else 0 for n, s in threads),
        )

    def thread_coords(
        self, shape: Sequence[int], subgroup_size: int = 64, workgroup_size: int | None = None
    ) -> dict[int, list[Ints]]:
        """The coordinates that each thread holds, in register order: `{thread id: [coordinate, ...]}`.

        What IREE materialises, whether or not it covers the tensor. (A layout whose strides do not nest it leaves
        undistributed; these are then the coordinates that the strides say.) `workgroup_size` is the number of threads, by
        default the fewest subgroups that the tiles reach.

        Raises `VerificationError` with IREE's diagnostic for a shape that does not fit, `SizeError` over 2^20 entries.

        >>> NestedLayoutAttr((1,), (2,), (1,), (4,), (1,), (0,), (1,)).thread_coords((8,), 4)[3]
        [(3,), (7,)]
        """
        from layoutalg.nested.coordinates import thread_map

        self._require(shape)
        threads = self.threads(subgroup_size, workgroup_size)
        if threads * prod(self.distributed_shape) > _MOST_COORDINATES:
            raise SizeError(f"{threads} threads with {prod(self.distributed_shape)} registers each: over 2^20 entries")
        held = thread_map(self, range(threads), subgroup_size).tolist()
        return {tid: [tuple(c) for c in coords] for tid, coords in enumerate(held)}

    def coords_of(self, tid: int, subgroup_size: int = 64) -> list[Ints]:
        """The coordinates that one thread holds, in register order.

        Raises `DistributionError` for a negative thread, `SizeError` over 2^20 registers.

        >>> NestedLayoutAttr((1,), (2,), (1,), (4,), (1,), (0,), (1,)).coords_of(3)
        [(3,), (7,)]
        """
        from layoutalg.nested.coordinates import thread_map

        self.threads(subgroup_size, None)
        if type(tid) is not int or not 0 <= tid <= MAX_EXTENT:
            raise DistributionError(f"thread {tid!r}: expected a whole number of at least 0")
        if prod(self.distributed_shape) > _MOST_COORDINATES:
            raise SizeError(f"{prod(self.distributed_shape)} registers per thread: over 2^20 entries")
        return [tuple(c) for c in thread_map(self, range(tid, tid + 1), subgroup_size)[0].tolist()]

    def uncovered(self, shape: Sequence[int], subgroup_size: int = 64, workgroup_size: int | None = None) -> list[Ints]:
        """The elements that no thread holds, in row-major order.

        Raises as `thread_coords` does; `coordinates.uncovered` counts in larger maps.

        >>> NestedLayoutAttr((1,), (1,), (1,), (4,), (1,), (0,), (0,)).uncovered((4,), 4)
        [(1,), (2,), (3,)]
        """
        from layoutalg.nested.coordinates import uncovered

        self._require(shape)
        threads = self.threads(subgroup_size, workgroup_size)
        if prod(self.shape) > _MOST_COORDINATES:
            raise SizeError(f"a tensor of shape {list(self.shape)}: over 2^20 elements to list")
        return [tuple(element) for element in uncovered(self, threads, subgroup_size, prod(self.shape))[1].tolist()]

    def tensor_shape(self) -> Ints:
        """The shape of the tensor: `shape`.

        >>> NestedLayoutAttr((1,), (1,), (1,), (16,), (4,), (0,), (1,)).tensor_shape()
        (64,)
        """
        return self.shape

    @property
    def needs_machine(self) -> bool:
        """True: the attribute counts threads, and does not say how many a subgroup has (64 unless told).

        >>> NestedLayoutAttr((1,), (1,), (1,), (16,), (4,), (0,), (1,)).needs_machine
        True
        """
        return True

    def layout(
        self,
        shape: Sequence[Extent] | None = None,
        machine: Machine | int | None = None,
        workgroup_size: int | None = None,
        *,
        subgroup_size: int | None = None,
    ) -> Layout:
        """The exact relation from the tensor to subgroups, lanes and registers; idle digits of the thread id are replicas.

        `machine` has 64 lanes and the fewest subgroups that the tiles reach, where it leaves that open. `subgroup_size` and
        `workgroup_size` are another way to say it, in threads.

        Raises `DistributionError` where there is none: a tile that nobody owns (stride 0, or beyond the last thread), or
        strides that do not nest; `thread_coords` still has the coordinates.

        >>> attr = NestedLayoutAttr((1,), (1,), (1,), (16,), (4,), (0,), (1,))
        >>> print(attr.layout((64,), subgroup_size=32))
        d0 = 16@lane 4@reg | replicas 2@lane:16
        """
        if shape is not None:
            self._require(cast("Sequence[int]", shape))
        lanes, threads = self._sizes(machine, subgroup_size, workgroup_size)
        return exact_layout(self, lanes, threads)

    def _sizes(
        self, machine: Machine | int | None, subgroup_size: int | None = None, workgroup_size: int | None = None
    ) -> tuple[int, int]:
        """The threads of a subgroup and of the workgroup."""
        on = as_machine(machine)
        lanes = subgroup_size if subgroup_size is not None else on.lanes if on.lanes is not None else _USUAL_LANES
        if workgroup_size is None and on.threads is not None:
            workgroup_size = on.threads
        elif workgroup_size is None and on.subgroups is not None:
            self.threads(lanes)
            workgroup_size = lanes * on.subgroups
        return lanes, self.threads(lanes, workgroup_size)

    def coordinates(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> NDArray[Any]:
        """The coordinates that every thread holds, `[sg, lane, reg, rank]`, whether or not they cover the tensor.

        >>> NestedLayoutAttr((1,), (2,), (1,), (4,), (1,), (0,), (1,)).coordinates((8,), Machine(lanes=4))[0, 3].tolist()
        [[3], [7]]
        """
        import numpy as np

        from layoutalg.nested.coordinates import thread_map

        if shape is not None:
            self._require(shape)
        lanes, threads = self._sizes(machine)
        if threads * prod(self.distributed_shape) > _MOST_COORDINATES:
            raise SizeError(f"{threads} threads with {prod(self.distributed_shape)} registers each: over 2^20 entries")
        found = thread_map(self, range(threads), lanes)
        if threads % lanes:  # the last subgroup is not full: its other lanes hold nothing
            missing = np.full((-threads % lanes, *found.shape[1:]), -1, found.dtype)
            found = np.concatenate((found, missing))
        return found.reshape(-1, lanes, *found.shape[1:])

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout on its own shape; the instruction tile is one batch. Raises as `layout` does.

        >>> NestedLayoutAttr((1,), (2,), (1,), (64,), (4,), (0,), (1,)).operands()[0].tile
        (256,)
        """
        layout = self.layout(shape, machine)
        batch = tuple(map(prod, zip(self.outer_tile, self.thread_tile, self.element_tile, strict=True)))
        return one_operand(self, layout, batch)

    def threads(self, subgroup_size: int = 64, workgroup_size: int | None = None) -> int:
        """The threads of a workgroup: as given, or the fewest subgroups that the tiles reach.

        Raises `DistributionError` for sizes that are no whole numbers of at least 1.

        >>> NestedLayoutAttr((2,), (1,), (1,), (16,), (1,), (1,), (1,)).threads(subgroup_size=32)
        64
        """
        for name, value in (("subgroup_size", subgroup_size), ("workgroup_size", workgroup_size)):
            if value is None and name == "workgroup_size":
                continue
            if type(value) is not int or not 1 <= value <= MAX_EXTENT:
                raise DistributionError(f"{name} = {value!r}: expected a whole number of at least 1")
        if workgroup_size is not None:
            return workgroup_size
        groups = max(map(mul, self.subgroup_tile, self.subgroup_strides), default=1)
        threads = max(map(mul, self.thread_tile, self.thread_strides), default=1)
        return max(groups, -(-threads // subgroup_size), 1) * subgroup_size

    def _require(self, shape: Sequence[int]) -> None:
        given: object = shape
        if type(given) is tuple and cast("Ints", given) == self.shape:
            return
        problem = self.check(shape)
        if problem is not None:
            raise VerificationError(problem)

    # Derived layouts

    def permute(self, order: Sequence[int]) -> NestedLayoutAttr:
        """Reorder the dimensions: dimension i of the result is dimension `order[i]`.

        >>> NestedLayoutAttr((2, 1), (1, 1), (1, 1), (4, 8), (1, 2), (1, 0), (8, 1)).permute((1, 0)).shape
        (16, 8)
        """
        order = as_ints("order", order)
        if sorted(order) != list(range(self.rank)):
            raise VerificationError(f"permute by {list(order)}: expected an order of the dimensions 0..{self.rank - 1}")
        return self._picked(order)

    def project(self, dropped: Sequence[int]) -> NestedLayoutAttr:
        """Drop dimensions: threads that differ in them hold the same data.

        >>> NestedLayoutAttr((2, 1), (1, 1), (1, 1), (4, 8), (1, 2), (1, 0), (8, 1)).project([0]).shape
        (16,)
        """
        dropped = as_ints("dropped", dropped)
        for d in dropped:
            if not 0 <= d < self.rank:
                raise VerificationError(f"project {list(dropped)}: expected dimensions of 0..{self.rank - 1}")
        return self._picked([d for d in range(self.rank) if d not in dropped])

    def apply(self, dims: Sequence[int | None]) -> NestedLayoutAttr:
        """The layout of a view whose dimension i is dimension `dims[i]`, or (None) one that no thread tells apart.

        >>> NestedLayoutAttr((2,), (1,), (1,), (4,), (2,), (1,), (1,)).apply([None, 0]).shape
        (1, 16)
        """
        as_ints("dims", [0 if d is None else d for d in dims] if isinstance(dims, (tuple, list)) else dims)
        for d in dims:
            if d is not None and not 0 <= d < self.rank:
                raise VerificationError(f"apply {list(dims)}: expected dimensions of 0..{self.rank - 1}, or None")
        return self._picked(dims)

    def append(self, other: NestedLayoutAttr) -> NestedLayoutAttr:
        """The dimensions of `other` after these.

        >>> one = NestedLayoutAttr((2,), (1,), (1,), (4,), (2,), (1,), (1,))
        >>> one.append(one).shape
        (16, 16)
        """
        if not isinstance(other, NestedLayoutAttr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"append of a {type(other).__name__}: expected a nested layout")
        return NestedLayoutAttr(*(getattr(self, name) + getattr(other, name) for name in _FIELDS))

    def reshape(self, shape: Sequence[int]) -> NestedLayoutAttr:
        """The same elements, row-major, in another shape: each thread's registers hold what they held, in the same order.

        Right by meaning, for every size of the subgroup; which register tile is called batch, outer or element may change,
        their order does not. (IREE 3.13 works on the tiles' sizes alone, and gives many layouts
        that mean something else.)

        Raises `DistributionError` for a layout that is none exactly, `CompositionError` and `ConversionError` where the
        tiles do not split at the new shape, or no nested layout means the result.

        >>> NestedLayoutAttr((1,), (2,), (1,), (16,), (4,), (0,), (1,)).reshape((2, 64)).thread_tile
        (1, 16)
        """
        from layoutalg.nested.from_layout import to_nested

        sizes = as_ints("shape", shape)
        # More lanes than threads reach: a subgroup then never continues what its threads count.
        lanes = 2 * max([1, *(n * s for n, s in zip(self.thread_tile, self.thread_strides, strict=True))])
        subgroups = max([1, *(n * s for n, s in zip(self.subgroup_tile, self.subgroup_strides, strict=True))])
        if lanes * subgroups > MAX_EXTENT:
            raise SizeError(f"its threads reach {lanes // 2} and its subgroups {subgroups}: too far to reshape {self}")
        found = to_nested(self.layout(self.shape, Machine(lanes, subgroups)).reshape(sizes))
        for d, stride in enumerate(found.thread_strides):
            if stride >= lanes:
                raise ConversionError(
                    f"reshape to {list(shape)}: in dimension {d} subgroups would count inside registers or threads, and a "
                    f"nested layout counts them outside (of {self})"
                )
        return found

    def recombine(
        self, other: NestedLayoutAttr, mine: Sequence[int], others: Sequence[int], result: Sequence[int]
    ) -> NestedLayoutAttr:
        """The layout of a contraction's result: each of its loop dimensions comes from the operand that has it.

        `mine`, `others` and `result` name the loop dimension of every dimension. Raises `VerificationError` where a
        dimension is in neither operand, or in both and they disagree.

        >>> a = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (16, 4), (1, 4), (0, 0), (1, 16))
        >>> b = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (4, 16), (4, 1), (0, 0), (16, 1))
        >>> a.recombine(b, mine=(0, 2), others=(2, 1), result=(0, 1)).thread_strides
        (1, 1)
        """
        mine, others, result = (as_ints(n, v) for n, v in (("mine", mine), ("others", others), ("result", result)))
        if not isinstance(other, NestedLayoutAttr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"recombine with a {type(other).__name__}: expected a nested layout")
        if len(mine) != self.rank or len(others) != other.rank:
            raise VerificationError(
                f"recombine of ranks {self.rank} and {other.rank} by {list(mine)} and {list(others)}"
            )
        columns: list[NestedLayoutAttr] = []
        for loop in result:
            found = [
                one._picked([where.index(loop)]) for one, where in ((self, mine), (other, others)) if loop in where
            ]
            if not found or any(column != found[0] for column in found):
                raise VerificationError(
                    f"recombine: the operands {'disagree on' if found else 'lack'} dimension {loop}"
                )
            columns.append(found[0])
        empty = NestedLayoutAttr((), (), (), (), (), (), ())
        for column in columns:
            empty = empty.append(column)
        return empty

    def _picked(self, dims: Sequence[int | None]) -> NestedLayoutAttr:
        def pick(name: str) -> Ints:
            values: Ints = getattr(self, name)
            return tuple((1 if name in _TILES else 0) if d is None else values[d] for d in dims)

        return NestedLayoutAttr(*(pick(name) for name in _FIELDS))


_USUAL_LANES = 64
"""Of AMD's data-centre chips: what IREE takes where nothing else is said."""
_set = object.__setattr__


def read_nested(reader: Reader) -> NestedLayoutAttr:
    """Read the attribute's body, from `<` on: seven lists in their order, `[]` allowed.

    >>> body = "<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [4], element_tile = [2], "
    >>> read_nested(Reader(body + "subgroup_strides = [0], thread_strides = [1]>")).shape
    (8,)
    """
    usual = _USUAL.match(reader.text, reader.position)
    if usual is not None and usual.end() - usual.start() < _LONGEST_USUAL:
        ranks = {text.count(",") for text in usual.groups()}
        numbers = tuple(map(int, _DIGITS.findall(reader.text, usual.start(), usual.end())))
        rank = len(numbers) // 7
        if ranks == {max(rank - 1, 0)} and len(numbers) == 7 * rank:
            found = NestedLayoutAttr._of_numbers(numbers, rank)  # pyright: ignore[reportPrivateUsage]
            if found is not None:
                reader.position = usual.end()
                return found
    reader.expect("<")
    lists: list[Ints] = []
    for i, name in enumerate(_FIELDS):
        if i:
            reader.expect(",")
        reader.one_of((name,))
        reader.expect("=")
        lists.append(reader.integers(-(2**63), 2**63 - 1))
    reader.expect(">")
    return NestedLayoutAttr(*lists)


def read_notation(reader: Reader) -> NestedLayoutAttr:
    """Read the whole attribute, and leave the reader behind it (`read_nested` reads its body).

    >>> read_notation(Reader(str(NestedLayoutAttr((), (), (), (), (), (), ())))).shape
    ()
    """
    reader.expect("#iree_vector_ext.nested_layout")
    return read_nested(reader)


def parse_nested(text: str) -> NestedLayoutAttr:
    """Read `#iree_vector_ext.nested_layout<...>`.

    Raises `ParseError` with line and column, `VerificationError` for what breaks a rule.

    >>> parse_nested("#iree_vector_ext.nested_layout<subgroup_tile = []>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 50: expected ',', found '>'
    """
    reader = Reader(text)
    value = read_notation(reader)
    reader.finish()
    return value
