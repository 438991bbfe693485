"""Which 2D block messages move a block that is held in a layout, how many, and which register each of their registers is.

A subgroup has 32x32 elements of f32, a column of every 16 in each lane. On pvc a message moves at most 32 rows of 16, so two
messages load it:

>>> rows = Layout.parse("d0 = 32@reg:2, d1 = 2@reg 16@lane")
>>> first, *others = messages_for(rows, 32, "load", "pvc")
>>> first.message.name, first.count, first.origins
('read_32b_32r16x1c', 2, ((0, 0), (0, 16)))

The order of registers is part of the answer, not of the question: in a lane of this layout a row has two neighbours, one of
each message.

>>> first.registers[1][:4], first.in_order
((1, 3, 5, 7), False)

What a text can say is less than what the chip has. LLVM's SPIR-V backend stops at vectors of more than 16 elements:

>>> messages_for(rows, 32, "load", "pvc", "spirv")[0].message.name
'read_32b_16r16x1c'

Memory is transposed in units of 32 bits; two f16 of a row stay together:

>>> down = Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> [(one.message.name, one.message.unit) for one in messages_for(down, 16, "load", "pvc")][0]
('read_transpose_32b_16r8x1c', 32)

The law: register `i` of copy `j` holds, in every lane, the element that the layout has in register `registers[j][i]`. Whether a
message moves a layout is decided on factors, in time that does not depend on the sizes; registers are index tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from layoutalg.core.errors import PlanError, VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.hardware.block_messages import BlockLoad, BlockStore
from layoutalg.hardware.chips import TargetInfo, target_info

__all__ = ["WRITERS", "Delivery", "Message", "Part", "Way", "Writer", "messages_for", "messages_of", "parts_of"]

Way = Literal["load", "packed", "store"]
"""What is done: "packed" is a load for a matrix instruction that wants rows packed to 32 bits, where that is possible."""
Kind = Literal["plain", "packed", "transposed", "store"]
_CACHED = 1 << 12


@dataclass(frozen=True, slots=True)
class Writer:
    """What a text can say of a chip's messages: the most elements of a lane, and its most bytes where rows are packed.

    `packed_for_all` is false where packed rows of more elements than `longest` come through for the matrix instruction alone.
    """

    longest: int
    packed_bytes: int
    packed_for_all: bool = True


WRITERS = {
    "": Writer(1 << 30, 1 << 30),
    "ocloc": Writer(1 << 30, 1 << 30),
    "spirv": Writer(16, 64),
    "spirv22": Writer(16, 32, packed_for_all=False),
}
"""By name: "" is the chip itself, "ocloc" the builtins of Intel's compiler, "spirv" the text and the SPIR-V backend of LLVM 23
and later, "spirv22" those of LLVM 22. tests/oracle/test_messages.py compiles every message that they have."""


@dataclass(frozen=True, slots=True)
class Message:
    """A 2D block message of a chip.

    >>> message = messages_of("pvc", 16, "load")[0]
    >>> message.name, message.kind, message.rows, message.width, message.count, message.registers
    ('read_16b_32r16x2c', 'plain', 32, 16, 2, 64)
    """

    kind: Kind
    block: BlockLoad | BlockStore

    @property
    def name(self) -> str:
        """What OpenCL calls a load; a store's size.

        >>> messages_of("pvc", 32, "store")[0].name
        'store of 8x16'
        """
        return self.block.name if isinstance(self.block, BlockLoad) else f"store of {self.rows}x{self.width}"

    @property
    def rows(self) -> int:
        """The rows of a block in memory."""
        return self.block.rows

    @property
    def width(self) -> int:
        """The elements of a row of one block."""
        return self.block.width

    @property
    def count(self) -> int:
        """The blocks side by side."""
        return self.block.count if isinstance(self.block, BlockLoad) else 1

    @property
    def unit(self) -> int:
        """The bits that stay together: those of an element, or of a transposed unit of several."""
        transposed = isinstance(self.block, BlockLoad) and self.block.transpose_bits
        return transposed or self.block.bits

    @property
    def registers(self) -> int:
        """The elements of a lane."""
        return self.rows * self.width * self.count // self.block.subgroup_size

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of all of it."""
        return self.rows, self.width * self.count

    @property
    def layout(self) -> Layout:
        """From the block in memory to lanes and registers."""
        return self.block.layout


class Part(NamedTuple):
    """A unit in what is held: the row and column of units, and which registers are which of the unit's `places`.

    >>> Part(0, 1, (8, 9), (0, 1)).registers
    (8, 9)
    """

    row: int
    column: int
    registers: tuple[int, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """So many copies of a message that move a subgroup's block in a layout.

    >>> layout = Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane")
    >>> [found] = [one for one in messages_for(layout, 32, "store", "pvc") if one.message.rows == 4]
    >>> found.count, found.origins, found.registers
    (2, ((0, 0), (4, 0)), ((0, 1, 2, 3), (4, 5, 6, 7)))
    """

    layout: Layout
    message: Message
    count: int

    @property
    def origins(self) -> tuple[tuple[int, int], ...]:
        """The row and column where each of subgroup 0's copies begins, in the order of their first registers."""
        rows, width = self.message.shape
        return tuple([(part.row * rows, part.column * width) for part in self._parts])

    @property
    def registers(self) -> tuple[tuple[int, ...], ...]:
        """For each copy, which of the layout's registers each of its registers is."""
        return tuple([part.registers for part in self._parts])

    @property
    def order(self) -> tuple[int, ...]:
        """The registers of all copies, one after the other."""
        return tuple([register for part in self._parts for register in part.registers])

    @property
    def in_order(self) -> bool:
        """Whether the copies, one after the other, are the layout's registers as they are counted."""
        return self.order == tuple(range(len(self.order)))

    @property
    def moved(self) -> int:
        """The elements that are not where words of 32 bits have them: what costs a move each, beyond a new name.

        >>> pairs = Layout.parse("d0 = 2@reg:8 8@reg, d1 = 16@lane"), Layout.parse("d0 = 8@reg 2@reg:8, d1 = 16@lane")
        >>> [messages_for(one, 16, "load", "pvc")[0].moved for one in pairs]
        [0, 16]
        """
        return _moved(self.layout, self.message)

    @property
    def _parts(self) -> tuple[Part, ...]:
        return _placed(self.layout, self.message)


def messages_of(chip: TargetInfo | str, bits: int, way: Way, writer: str = "") -> tuple[Message, ...]:
    """The messages of a chip that a writer can say, for elements of so many bits: of each kind, the largest first.

    Messages that leave lanes out are not among them: no layout has elements in some lanes alone.

    Raises `PlanError` for a chip or a writer that is not known.

    >>> [one.name for one in messages_of("pvc", 8, "packed", "spirv") if one.kind == "packed"]
    ['read_transform_8b_32r16x2c', 'read_transform_8b_32r16x1c']
    >>> messages_of("dg2", 16, "load")
    ()
    """
    return _messages_of(target_info(chip) if isinstance(chip, str) else chip, bits, way, writer)


@lru_cache(maxsize=256)
def _messages_of(chip: TargetInfo, bits: int, way: Way, writer: str) -> tuple[Message, ...]:
    limits = WRITERS.get(writer)
    if limits is None:
        raise PlanError(f"writer = {shown(writer)}: expected one of {', '.join(map(repr, WRITERS))}")
    kinds: dict[Way, tuple[Kind, ...]] = {
        "load": ("plain", "transposed", "packed"),
        "packed": ("packed", "plain", "transposed"),
        "store": ("store",),
    }
    found: list[Message] = []
    for kind in kinds[way]:
        there = [one for one in _of_kind(chip, bits, kind) if _can_say(limits, one, way)]
        found += sorted(there, key=lambda one: (-prod(one.shape), one.count))
    return tuple(found)


def _of_kind(chip: TargetInfo, bits: int, kind: Kind) -> Iterator[Message]:
    lanes = chip.subgroup_size
    for unit, rows, width, count in () if chip.blocks is None else chip.blocks.all_sizes(kind):
        if unit != bits and (kind != "transposed" or unit % bits):
            continue
        block: BlockLoad | BlockStore
        if kind == "store":
            block = BlockStore(rows, width, bits, lanes)
        else:
            transposes = kind == "transposed"
            own = width * unit // bits
            block = BlockLoad(rows, own, bits, count, kind == "packed", transposes, unit if transposes else 0, lanes)
        try:
            full = int(block.layout.axes.get("lane", 1)) == lanes
        except VerificationError:
            continue
        if full:
            yield Message(kind, block)


def _can_say(limits: Writer, message: Message, way: Way) -> bool:
    bits = message.block.bits
    if message.kind == "packed" and (limits.packed_for_all or way == "packed"):
        return message.registers * bits <= limits.packed_bytes * 8
    return message.registers * bits // message.unit <= limits.longest


def messages_for(layout: Layout, bits: int, way: Way, chip: TargetInfo | str, writer: str = "") -> tuple[Delivery, ...]:
    """The messages that move a block of two dimensions, held in a layout: the fewest first, of as many those that rename least.

    A packed load comes before others where `way` is "packed", and after them where it is not: what is packed, only a matrix
    instruction takes as it is. Every subgroup moves its own part; `origins` are those of subgroup 0.

    >>> [one.message.name for one in messages_for(Layout.parse("d0 = 16@reg, d1 = 16@lane"), 16, "packed", "pvc")][:3]
    ['read_transform_16b_16r16x1c', 'read_16b_16r16x1c', 'read_16b_8r16x1c']
    >>> messages_for(Layout.parse("d0 = 4@lane, d1 = 4@lane:4"), 32, "load", "pvc")
    ()
    """
    return _messages_for(layout, bits, way, target_info(chip) if isinstance(chip, str) else chip, writer)


@lru_cache(maxsize=_CACHED)
def _messages_for(layout: Layout, bits: int, way: Way, chip: TargetInfo, writer: str) -> tuple[Delivery, ...]:
    pattern = _pattern(layout)
    found: list[Delivery] = []
    for message in () if pattern is None else _messages_of(chip, bits, way, writer):
        copies = 0 if pattern is None else _copies(pattern, message.layout)
        if copies:
            found.append(Delivery(layout, message, copies))
    first = "packed" if way == "packed" else ""
    last = "packed" if way == "load" else ""

    def rank(one: Delivery) -> tuple[int, int]:
        kind = one.message.kind
        return (kind == last) - (kind == first), one.count

    ordered: list[Delivery] = []
    for _, alike in groupby(sorted(found, key=rank), key=rank):
        group = list(alike)
        ordered += group if len(group) == 1 else sorted(group, key=lambda one: (not one.in_order, one.moved))
    return tuple(ordered)


_Digits = tuple[tuple[int, int, str | None], ...]
"""Digits of a dimension, major to minor: extent, stride and axis; those of registers have neither stride nor axis."""


class _Pattern(NamedTuple):
    """Which subgroup and lane has what, registers forgotten; `elements` are those that one subgroup has."""

    dims: tuple[_Digits, ...]
    elements: int


@lru_cache(maxsize=_CACHED)
def _pattern(layout: Layout) -> _Pattern | None:
    """Subgroups and lanes of a layout of numbers; None for one that no message moves, whatever its sizes."""
    if layout.rank != 2 or any(layout.origins) or any(layout.offsets.values()):
        return None
    if any(factor.extent != 1 and factor.axis != "sg" for factor in layout.replicas):
        return None
    if not all(isinstance(factor.extent, int) for factor in layout.replicas):
        return None
    dims = [_digits(factors) for factors in layout.dims]
    copies = prod([int(factor.extent) for factor in layout.replicas])
    if any(dim is None for dim in dims):
        return None
    whole = prod([extent for dim in dims if dim for extent, _, _ in dim])
    sizes = {axis: int(size) for axis, size in layout.axes.items()}
    elements = whole * copies // sizes.get("sg", 1)
    if elements != sizes.get("lane", 1) * sizes.get("reg", 1):  # registers that hold nothing
        return None
    return _Pattern(tuple([dim for dim in dims if dim is not None]), elements)


def _digits(factors: tuple[Factor, ...]) -> _Digits | None:
    """The digits of a dimension, neighbours that count on as one made one; None where one is a symbol or on another axis."""
    found: list[tuple[int, int, str | None]] = []
    for factor in factors:
        extent, stride = factor.extent, factor.stride
        if not isinstance(extent, int) or not isinstance(stride, int) or factor.axis not in ("sg", "lane", "reg"):
            return None
        _push(found, (extent, stride, factor.axis) if factor.axis != "reg" else (extent, 0, None))
    return tuple(found)


def _push(found: list[tuple[int, int, str | None]], digit: tuple[int, int, str | None]) -> None:
    extent, stride, axis = digit
    if extent == 1:
        return
    if found and found[-1][2] == axis and found[-1][1] == extent * stride:
        found[-1] = (found[-1][0] * extent, stride, axis)
    else:
        found.append(digit)


def _copies(pattern: _Pattern, unit: Layout) -> int:
    """How many units a subgroup has; 0 where the layout does not consist of them."""
    wanted = _pattern(unit)
    if wanted is None:
        return 0
    for digits, own in zip(pattern.dims, wanted.dims, strict=True):
        parts = _split(digits, prod([extent for extent, _, _ in own]))
        if parts is None:
            return 0
        above, below = parts
        if below != own or any(axis == "lane" for _, _, axis in above):
            return 0
    return pattern.elements // wanted.elements


def _split(digits: _Digits, size: int) -> tuple[_Digits, _Digits] | None:
    """Digits above and below a tile of so many elements; None where one digit goes across its border unevenly."""
    above: list[tuple[int, int, str | None]] = []
    below: list[tuple[int, int, str | None]] = []
    left = size
    for extent, stride, axis in reversed(digits):
        inner = extent if left % extent == 0 else left
        if extent % inner:
            return None
        left //= inner
        below.insert(0, (inner, stride, axis))
        above.insert(0, (extent // inner, stride * inner, axis))
    merged: list[_Digits] = []
    for part in (above, below):
        kept: list[tuple[int, int, str | None]] = []
        for digit in part:
            _push(kept, digit)
        merged.append(tuple(kept))
    return (merged[0], merged[1]) if left == 1 else None


@lru_cache(maxsize=_CACHED)
def _placed(layout: Layout, message: Message) -> tuple[Part, ...]:
    """The copies of a message in a layout that consists of them, in the order of their first registers."""
    one = layout.canonical()
    held = np.asarray(one.coords()).reshape(1, -1, 2)
    found = _parts(held, message.layout)
    return () if found is None else tuple(sorted(found, key=lambda part: part.registers[0]))


@lru_cache(maxsize=_CACHED)
def _moved(layout: Layout, message: Message) -> int:
    together = 32 // message.block.bits
    if together <= 1:
        return 0
    order = np.array([part.registers for part in _placed(layout, message)], np.int64).reshape(-1)
    if order.size % together:
        return 0 if bool((order == np.arange(order.size)).all()) else int(order.size)
    words = order.reshape(-1, together)
    kept = (words[:, 0] % together == 0) & (words == words[:, :1] + np.arange(together)).all(axis=1)
    return int((~kept).sum()) * together


def parts_of(
    held: Layout, unit: Layout, *, transposed: bool = False, every: int = 1, inside: tuple[int, int] = (0, 0)
) -> tuple[Part, ...] | None:
    """Which registers of what is held are which registers of which unit, in the unit's lanes; None where some are not.

    `held` is about a block in memory, `unit` about a tile of a matrix. The block begins at row and column `inside` of a unit.
    It takes every so many-th row (`every`); where it is `transposed`, it has the matrix with rows and columns exchanged.

    >>> from layoutalg.hardware import block_load, dpas
    >>> [part.registers[0] for part in parts_of(block_load(32, 16, 16, 2).layout, dpas("f16", "f16").a)]
    [0, 32, 8, 40, 16, 48, 24, 56]
    """
    at = held.fragment_map()[0] * (every, 1)
    return _parts((at[..., ::-1] if transposed else at) + inside, unit)


def _parts(at: Any, unit: Layout) -> tuple[Part, ...] | None:
    """The units in elements `[lane, register, 2]`, in the order of rows and columns of units."""
    size = np.array([int(extent) for extent in unit.shape])
    place, within = at // size, at % size
    lane = unit.owner_map("lane")[within[..., 0], within[..., 1]]
    reg = unit.owner_map("reg")[within[..., 0], within[..., 1]]
    same = (place == place[:1]).all() and (reg == reg[:1]).all()
    if not same or not np.array_equal(lane, np.broadcast_to(np.arange(len(lane))[:, None], lane.shape)):
        return None
    down, across, targets = place[0, :, 0], place[0, :, 1], reg[0]
    order = np.lexsort((targets, across, down))
    down, across, targets = down[order], across[order], targets[order]
    new = np.flatnonzero(np.r_[True, (np.diff(down) != 0) | (np.diff(across) != 0)])
    bounds = [*new.tolist(), len(order)]
    registers, places = order.tolist(), targets.tolist()
    return tuple(
        [
            Part(int(down[start]), int(across[start]), tuple(registers[start:end]), tuple(places[start:end]))
            for start, end in pairwise(bounds)
        ]
    )
