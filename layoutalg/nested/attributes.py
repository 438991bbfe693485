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

and 0 where the stride is 0. Measured with iree-opt 3.13.0 on 411 layouts. Threads that differ only in factors of `tid` that
no tile uses hold the same data; a tile of more than one with stride 0, or beyond the last thread, belongs to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any, cast

from layoutalg.core.errors import ConversionError, DistributionError, SizeError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.layout import Layout
from layoutalg.core.limits import LONGEST_NESTED as _LONGEST_USUAL
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.limits import MOST_NESTED_COORDINATES as _MOST_COORDINATES
from layoutalg.core.limits import MOST_UNCOVERED as _MOST_UNCOVERED
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Note, Operand, ReportRequest, as_machine, one_operand
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import as_ints
from layoutalg.nested.distribution import exact_layout
from layoutalg.nested.regrouping import regroup
from layoutalg.nested.tiles import FIELDS, NestedTiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NestedLayoutAttr", "parse_nested", "read_nested", "read_notation"]

Ints = tuple[int, ...]

_GAP = "[ \\t\\r\\n]*"
_LISTS = f"{_GAP},{_GAP}".join(rf"{name}{_GAP}={_GAP}\[([0-9, ]*)\]" for name in FIELDS)
_USUAL = re.compile(f"{_GAP}<{_GAP}{_LISTS}{_GAP}>")
"""The usual text, read at once; whatever else goes through the `Reader` word by word."""
_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class NestedLayoutAttr(NestedTiles, Notation):
    """The seven lists of a nested layout, each as long as the tensor's rank; the stride of a unit tile is kept as 0.

    Raises `VerificationError` in IREE's words for lists of different lengths, and for what IREE does not check: a tile
    below 1, a negative stride.

    >>> NestedLayoutAttr((1,), (1,), (1,), (16, 2), (4,), (0,), (1,))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: all fields must have the same rank as the layout
    """

    def thread_ids(self, tid: int, subgroup_size: int = 64) -> tuple[Ints, Ints]:
        """The virtual subgroup and the virtual thread, per dimension, of a flat thread id.

        >>> NestedLayoutAttr((2, 1), (2, 4), (1, 1), (16, 4), (1, 4), (1, 0), (1, 16)).thread_ids(64 + 17)
        ((1, 0), (1, 1))
        """
        self.threads(subgroup_size)
        if type(tid) is not int or tid < 0:
            raise DistributionError(f"thread {shown(tid)}: expected a whole number of at least 0")
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
            raise DistributionError(f"thread {shown(tid)}: expected a whole number of at least 0")
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
        """The exact relation from the tensor to subgroups, lanes and registers; idle factors of the thread id are replicas.

        `machine` has 64 lanes and the fewest subgroups that the tiles reach, where it leaves that open. `subgroup_size` and
        `workgroup_size` are another way to say it, in threads.

        Raises `DistributionError` where no layout exists: for a tile that nobody owns (stride 0, or beyond the last thread), or
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
        return one_operand(self, layout, batch, sized=True)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """The shapes of IREE's own two views, and the elements that nobody holds where the threads do not cover the tensor."""
        if shape is not None:
            self._require(shape)
        shapes = (
            ("vector", "distributed_shape", self.distributed_shape),
            ("packed", "packed_shape", self.packed_shape),
        )
        found = [Note(label, "x".join(map(str, sizes)), key, list(sizes), instead=True) for label, key, sizes in shapes]
        lanes, threads = self._sizes(machine)
        try:
            exact_layout(self, lanes, threads)
        except DistributionError:
            with suppress(SizeError):  # too many to look at one by one
                found += self._uncovered_notes(threads, lanes)
        return tuple(found)

    def _uncovered_notes(self, threads: int, lanes: int) -> list[Note]:
        from layoutalg.nested.coordinates import uncovered

        count, first = uncovered(self, threads, lanes, _MOST_UNCOVERED)
        shown = " ".join(f"({', '.join(map(str, one))})" for one in first.tolist())
        more = " ..." if count > len(first) else ""
        return [
            Note("", "", "uncovered_count", count),
            Note("nobody", f"holds {count}: {shown}{more}", "uncovered", first.tolist()),
        ]

    def threads(self, subgroup_size: int = 64, workgroup_size: int | None = None) -> int:
        """The threads of a workgroup: as given, or the fewest subgroups that the tiles reach.

        Raises `DistributionError` for sizes that are not whole numbers of at least 1.

        >>> NestedLayoutAttr((2,), (1,), (1,), (16,), (1,), (1,), (1,)).threads(subgroup_size=32)
        64
        """
        for name, value in (("subgroup_size", subgroup_size), ("workgroup_size", workgroup_size)):
            if value is None and name == "workgroup_size":
                continue
            if type(value) is not int or not 1 <= value <= MAX_EXTENT:
                raise DistributionError(f"{name} = {shown(value)}: expected a whole number of at least 1")
        if workgroup_size is not None:
            return workgroup_size
        groups = max(map(mul, self.subgroup_tile, self.subgroup_strides), default=1)
        threads = max(map(mul, self.thread_tile, self.thread_strides), default=1)
        return max(groups, -(-threads // subgroup_size), 1) * subgroup_size

    def _require(self, shape: Sequence[int]) -> None:
        problem = self.check(shape)
        if problem is not None:
            raise VerificationError("; ".join(filter(None, (problem, self.fitting(shape)))))

    # Derived layouts

    def reshape(self, shape: Sequence[int]) -> NestedLayoutAttr:
        """The same elements, row-major, in another shape: each thread's registers hold what they held, in the same order.

        Right by meaning, for every size of the subgroup; which register tile is called batch, outer or element may change,
        their order does not. (IREE 3.13 works on the tiles' sizes alone, and gives many layouts
        that mean something else.)

        Raises `DistributionError` for an attribute without an exact layout, `CompositionError` and `ConversionError` where the
        tiles do not split at the new shape, or no nested layout means the result.

        >>> NestedLayoutAttr((1,), (2,), (1,), (16,), (4,), (0,), (1,)).reshape((2, 64)).thread_tile
        (1, 16)
        """
        sizes = as_ints("shape", shape)
        # More lanes than threads reach: a subgroup then never continues what its threads count.
        lanes = 2 * max([1, *(n * s for n, s in zip(self.thread_tile, self.thread_strides, strict=True))])
        subgroups = max([1, *(n * s for n, s in zip(self.subgroup_tile, self.subgroup_strides, strict=True))])
        if lanes * subgroups > MAX_EXTENT:
            raise SizeError(f"its threads reach {lanes // 2} and its subgroups {subgroups}: too far to reshape {self}")
        found = NestedLayoutAttr(*regroup(self.layout(self.shape, Machine(lanes, subgroups)).reshape(sizes)).fields())
        for d, stride in enumerate(found.thread_strides):
            if stride >= lanes:
                raise ConversionError(
                    f"reshape to {list(shape)}: in dimension {d} subgroups would count inside registers or threads, and a "
                    f"nested layout counts them outside (of {self})"
                )
        return found


_USUAL_LANES = 64
"""Of AMD's data-centre chips: what IREE takes where nothing else is said."""


def read_nested(reader: Reader) -> NestedLayoutAttr:
    """Read the attribute's body, from `<` on: seven lists in their order, `[]` allowed."""
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
    for i, name in enumerate(FIELDS):
        if i:
            reader.expect(",")
        reader.one_of((name,))
        reader.expect("=")
        lists.append(reader.integers(-(2**63), 2**63 - 1))
    reader.expect(">")
    return NestedLayoutAttr(*lists)


def read_notation(reader: Reader) -> NestedLayoutAttr:
    """Read the whole attribute, and leave the reader behind it (`read_nested` reads its body)."""
    if not reader.accept("nested_layout"):  # as IREE's messages write it
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
