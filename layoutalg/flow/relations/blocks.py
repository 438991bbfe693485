"""Blocks of memory: a load delivers what a 2D block message delivers, a store takes what one takes.

The chip has plain messages, messages that pack rows (VNNI) and messages that transpose. A layout fits when it consists of tiles
of one of them. On pvc, 16x16 elements of f16 can come in three ways, of which the first two are one map under two names:

>>> from layoutalg.ir import read_module
>>> text = '%t = "test.op"() : () -> !xegpu.tensor_desc<16x16xf16>'
>>> load = "%a = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf16> -> vector<16x16xf16>"
>>> [demand] = load_nd(read_module(text + load).body.block.last_op).demands
>>> for choice in demand.choices("lane", None, "pvc", 24):
...     print(choice.attribute, choice.cost, choice.why)
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]> 16 1 x read_16b_16r16x1c
#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]> 16 1 x read_16b_16r16x1c
#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 2]> 16 1 x read_transpose_32b_16r8x1c

LLVM takes any lane layout on a load, and loads as the message does. That is what a demand finds:

>>> print(demand.problem(LayoutAttr(lane_layout=(2, 8), lane_data=(1, 1)), None, "pvc"))
no 2D block message of pvc delivers 16-bit elements so: dimension 0 of a 16x16 tile is 8@reg:2 2@lane:8, expected 16@reg;
LLVM ignores such a layout and loads rows of 16 lanes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from layoutalg.conversion import cost_of
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.levels import DEFAULT_TARGET, levels_of
from layoutalg.flow.relations.demands import (
    OneValue,
    accepted,
    bits_of,
    grids,
    instruction_tile,
    placed,
    words,
)
from layoutalg.flow.relations.relation import Choice, Relation, relates
from layoutalg.flow.relations.units import misfit
from layoutalg.hardware import TargetInfo, target_info
from layoutalg.hardware.messages import Delivery, Message, Way, messages_for, messages_of
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["WRITER", "BlockDemand", "MovedBlock", "slots_of", "way_of"]

_CACHED = 1 << 12
_MOST_BITS = 512 * 8
"""What a 1-D block message moves at most (vISA's documentation, LSC untyped transposed loads: 64 elements of 64 bits)."""
_IN_ROWS = ("plain", "store")
WRITER = "spirv"
"""Which of the chip's messages are asked about: those that `lower` writes (see `layoutalg.hardware.messages`)."""


@relates("xegpu.load_nd")
def load_nd(op: Any) -> Relation:
    """The value comes as a message delivers it."""
    return Relation(demands=(BlockDemand(op, None),)) if _is_whole(op, op.results[0].type) else Relation()


@relates("xegpu.store_nd")
def store_nd(op: Any) -> Relation:
    """The value is stored as a message takes it."""
    return Relation(demands=(BlockDemand(op, 0),)) if _is_whole(op, op.operands[0].type) else Relation()


@relates("xegpu.prefetch_nd", "xegpu.create_nd_tdesc", "xegpu.update_nd_offset")
def no_value(op: Any) -> Relation:
    """Descriptors are not spread over lanes."""
    return Relation()


def _is_whole(op: Any, kind: Any) -> bool:
    """Whether a value is the block of a subgroup or of a workgroup; at lane level it is a fragment."""
    descriptor = op.descriptor.type
    whole = prod(descriptor.get_shape()) * _array_length(descriptor) if isinstance(descriptor, TensorDescType) else 0
    return prod(kind.get_shape()) == whole


def _array_length(descriptor: Any) -> int:
    encoding = getattr(descriptor.encoding, "value", None)
    return int(getattr(encoding, "array_length", 1))


def way_of(op: Any) -> Way:
    """What an operation does with a block: stores it, loads it, or loads it packed, as operand B of a product takes it."""
    if op.name == "xegpu.store_nd":
        return "store"
    packed = getattr(op, "packed", None) is not None
    return "packed" if packed or any(map(_multiplied, op.results)) else "load"


def _multiplied(value: Any) -> bool:
    """Whether a value, or a block of it, is B of a product."""
    return any(
        (use.operation.name == "xegpu.dpas" and use.index == 1)
        or (use.operation.name == "vector.extract" and use.index == 0 and _multiplied(use.operation.results[0]))
        for use in value.uses
    )


@lru_cache(maxsize=64)
def _lane_layouts(bits: int, chip: TargetInfo, way: Way) -> tuple[LayoutAttr, ...]:
    """What LLVM writes for plain, packed and transposed blocks, in this order; then what other messages of the chip deliver."""
    packed, lanes = max(32 // bits, 1), chip.subgroup_size
    pairs = [
        ((1, lanes), (1, max(16 // bits, 1))),
        ((1, lanes), (packed, 1)),
        ((lanes, 1), (1, packed)),
        ((1, lanes), (1, 1)),
    ]
    for message in messages_of(chip, bits, way, WRITER):
        own = [_lanes_of_one(factors) for factors in message.layout.dims]
        data = (1, message.unit // bits) if message.kind == "transposed" else tuple([below for _, below in own])
        pairs.append(((own[0][0], own[1][0]), (data[0], data[1])))
    return tuple(LayoutAttr(lane_layout=each, lane_data=data) for each, data in dict.fromkeys(pairs))


def _lanes_of_one(factors: tuple[Factor, ...]) -> tuple[int, int]:
    """The lanes along a dimension of a message, and the neighbours that one of them has."""
    lanes = prod([int(factor.extent) for factor in factors if factor.axis == "lane"])
    last = max([at for at, factor in enumerate(factors) if factor.axis == "lane"], default=len(factors))
    return lanes, prod([int(factor.extent) for factor in factors[last + 1 :]])


def _delivered(layout: Layout, block: MovedBlock, chip: TargetInfo) -> Delivery | None:
    """The messages that are written for a block; None where none move it in this layout."""
    found = messages_for(block.in_memory(layout), block.bits, block.way, chip, WRITER)
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class BlockDemand(OneValue):
    """What a block message delivers (`number` is None) or takes.

    >>> from layoutalg.ir import read_module
    >>> text = '%a, %t = "test.op"() : () -> (vector<32x32xf32>, !xegpu.tensor_desc<32x32xf32>)'
    >>> store = "xegpu.store_nd %a, %t[0, 0] : vector<32x32xf32>, !xegpu.tensor_desc<32x32xf32>"
    >>> [demand] = store_nd(read_module(text + store).body.block.last_op).demands
    >>> for choice in demand.choices("lane", None, "pvc", 24) + demand.choices("inst", None, "pvc", 24)[:1]:
    ...     print(choice.attribute, choice.cost, choice.why)
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]> 128 8 x store of 8x16
    #xegpu.layout<inst_data = [8, 16]> 128 8 x store of 8x16
    """

    @property
    def block(self) -> MovedBlock:
        """What is moved, without the operation."""
        user: Any = self.user
        packed, transposed = (getattr(user, name, None) is not None for name in ("packed", "transpose"))
        shape, tile = self.shape, tuple(user.descriptor.type.get_shape())
        packed, transposed = packed and len(shape) > len(tile), transposed and len(shape) == len(tile)
        return MovedBlock(shape, tile, bits_of(self.element), way_of(user), packed, transposed)

    def problem(self, attribute: Distributed, machine: Machine | None, target: str | None) -> str | None:
        """Why no message moves the block in this layout; None where one does."""
        return _problem(attribute, self.block, machine, _chip(target))

    def choices(self, level: str, machine: Machine | None, target: str | None, llvm: int) -> tuple[Choice, ...]:
        """The lane layouts of the chip's messages, the tiles that one message moves, or grids of subgroups."""
        return _choices(self.block, level, machine, _chip(target), llvm)

    def price(self, attribute: Distributed, machine: Machine | None, target: str | None) -> int:
        """The issue slots of the messages of one subgroup; 0 for a layout that no message moves."""
        return _price(attribute, self.block, machine, _chip(target))

    def messages(self, attribute: Distributed, machine: Machine | None, target: str | None) -> str | None:
        """The message that each subgroup sends for a layout, and how many; None if no 2D block message moves it."""
        chip = _chip(target)
        layout = placed(attribute, self.block.shape_in(attribute), machine, _lanes(machine, chip))
        best = None if isinstance(layout, str) or layout.rank < 2 else _delivered(layout, self.block, chip)
        return None if best is None else f"{best.count} x {best.message.name}"


class MovedBlock(NamedTuple):
    """A value that a block message moves: its shape, that of the block in memory, and how the one is the other.

    `packed`: rows that are packed together are the value's last dimension. `transposed`: the value is the block transposed.

    >>> MovedBlock((16, 16), (16, 16), 16, "load").transposed
    False
    """

    shape: tuple[int, ...]
    tile: tuple[int, ...]
    bits: int
    way: Way
    packed: bool = False
    transposed: bool = False

    def shape_in(self, attribute: Distributed) -> tuple[int, ...]:
        """The shape that a layout is about: a descriptor of several blocks has a layout of one."""
        if isinstance(attribute, LayoutAttr | SliceAttr) and attribute.rank != len(self.shape):
            return self.tile
        return self.shape

    def in_value(self, tile: tuple[Any, ...]) -> tuple[Any, ...]:
        """The shape that a tile of memory has in the value."""
        return tile[::-1] if self.transposed else tile

    def in_memory(self, layout: Layout) -> Layout:
        """The layout of the block in memory, of a layout of the value."""
        own = layout.rank == len(self.shape)
        return _block_of(layout, own and self.packed, own and self.transposed)


def _chip(target: str | None) -> TargetInfo:
    """The row of a chip: what is kept of an answer is kept for the row, not for its name."""
    return target_info(DEFAULT_TARGET if target is None else target)


def _lanes(machine: Machine | None, chip: TargetInfo) -> int:
    return chip.subgroup_size if machine is None or machine.lanes is None else machine.lanes


@lru_cache(maxsize=_CACHED)
def _price(attribute: Distributed, block: MovedBlock, machine: Machine | None, chip: TargetInfo) -> int:
    lanes = _lanes(machine, chip)
    layout = placed(attribute, block.shape_in(attribute), machine, lanes)
    if isinstance(layout, str):
        return 0
    held = int(layout.axes.get("reg", 1)) // (1 if "lane" in levels_of(attribute) else lanes)
    if layout.rank == 1:
        cost = cost_of(chip.name)
        return -(-held * lanes * block.bits // _MOST_BITS) * cost.message + -(-held * block.bits // 32) * cost.word
    best = _delivered(layout, block, chip)
    return 0 if best is None else slots_of(best, chip)


def slots_of(delivery: Delivery, chip: TargetInfo) -> int:
    """The issue slots of the messages of one subgroup: each message, the words of a lane, and elements that change words.

    >>> layout = Layout.parse("d0 = 32@reg, d1 = 16@lane")
    >>> slots_of(messages_for(layout, 32, "store", "pvc")[0], target_info("pvc"))
    64
    """
    cost, message = cost_of(chip.name), delivery.message
    words = -(-delivery.count * message.registers * message.block.bits // 32)
    return delivery.count * cost.message + words * cost.word + delivery.moved * cost.move


@lru_cache(maxsize=_CACHED)
def _choices(block: MovedBlock, level: str, machine: Machine | None, chip: TargetInfo, llvm: int) -> tuple[Choice, ...]:
    found = _candidates(block, level, machine, chip)
    return accepted((one for one in found if _problem(one.attribute, block, machine, chip) is None), block.shape, llvm)


def _candidates(block: MovedBlock, level: str, machine: Machine | None, chip: TargetInfo) -> Iterator[Choice]:
    lanes, rank = _lanes(machine, chip), len(block.shape)
    if rank == 1 and level == "lane":
        attribute = LayoutAttr(lane_layout=(lanes,), lane_data=(1,))
        yield Choice(attribute, _price(attribute, block, machine, chip), "neighbours in neighbouring lanes")
    elif level == "lane":
        for attribute in _of_value(_lane_layouts(block.bits, chip, block.way), block):
            layout = placed(attribute, block.shape, machine, lanes)
            best = None if isinstance(layout, str) else _delivered(layout, block, chip)
            if best is not None:
                why = f"{best.count} x {best.message.name}"
                yield Choice(attribute, _price(attribute, block, machine, chip), why)
    elif rank == 2 and level == "inst":
        yield from _tile_choices(block, chip, lanes)
    elif level == "workgroup" and rank <= 2:
        subgroups = 1 if machine is None else machine.subgroups or 1
        for grid in grids(block.shape, subgroups, (1, lanes)[2 - rank :]):
            held = words(grid.sg_data or (), block.bits, lanes)
            yield Choice(grid, held, f"{'x'.join(map(str, grid.sg_layout or ()))} subgroups")


def _of_value(found: tuple[LayoutAttr, ...], block: MovedBlock) -> Iterator[LayoutAttr]:
    """Layouts of a block as those of the value: with a dimension for blocks side by side, and one for packed rows."""
    for one in found:
        (down, across), (rows, columns) = one.lane_layout or (1, 1), one.lane_data or (1, 1)
        together = block.shape[-1] if block.packed else 1
        if block.packed and (rows % together or down != 1):
            continue
        before, after = (1,) * (len(block.shape) - 2 - block.packed), (1,) * block.packed
        data = (*before, rows // together, columns, *((together,) if block.packed else ()))
        yield LayoutAttr(lane_layout=(*before, down, across, *after), lane_data=data)


def _tile_choices(block: MovedBlock, chip: TargetInfo, lanes: int) -> Iterator[Choice]:
    """Tiles of one message: as many rows as divide the block, the fewest messages first."""
    cost, found = cost_of(chip.name), dict[tuple[int, ...], tuple[int, str]]()
    for message in messages_of(chip, block.bits, block.way, WRITER):
        tile = block.in_value(message.shape)
        if all(size % part == 0 for size, part in zip(block.shape, tile, strict=True)):
            count = prod(block.shape) // prod(tile)
            price = count * cost.message + words(block.shape, block.bits, lanes) * cost.word
            found.setdefault(tile, (price, f"{count} x {message.name}"))
    for tile, (price, why) in sorted(found.items(), key=lambda one: one[1][0]):
        yield Choice(LayoutAttr(inst_data=tile), price, why)


@lru_cache(maxsize=_CACHED)
def _problem(attribute: Distributed, what: MovedBlock, machine: Machine | None, chip: TargetInfo) -> str | None:
    if chip.surface is None or chip.blocks is None:
        return f"{chip} has no 2D block messages"
    lanes, way, bits = _lanes(machine, chip), what.way, what.bits
    layout = placed(attribute, what.shape_in(attribute), machine, lanes)
    if isinstance(layout, str):
        return layout
    moves, said = "takes" if way == "store" else "delivers", "lane" in levels_of(attribute)
    if layout.rank == 1:
        problem = misfit(layout, Layout([[Factor(lanes, 1, "lane")]]), said)
        return None if problem is None else f"a 1-D block message {moves} neighbours in neighbouring lanes: {problem}"
    block, tile = what.in_memory(layout), instruction_tile(attribute)
    there = messages_of(chip, bits, way)
    if not there or lanes != chip.subgroup_size:
        return f"{chip} has no 2D block messages for {lanes} lanes and elements of {bits} bits"
    if tile is not None and len(tile) == 2:
        exact = tuple(one for one in there if what.in_value(one.shape) == tile)
        if not exact:
            size, kind = "x".join(map(str, tile)), "store" if way == "store" else "load"
            return f"no {kind} message of {chip} moves {size} elements of {bits} bits; there are {_sizes(there)}"
        there = exact
    if not said:
        fits = any(misfit(block, one.layout, lanes=False) is None for one in there)
        return (
            None if fits else f"no 2D block message of {chip} {moves} {bits}-bit elements so: {_closest(block, there)}"
        )
    of_chip = [one for one in messages_for(block, bits, way, chip) if one.message in there]
    if of_chip and messages_for(block, bits, way, chip, WRITER):
        return None
    if of_chip:
        return (
            f"{of_chip[0].message.name} of {chip} {moves} {bits}-bit elements so, {of_chip[0].message.registers} of a lane; "
            "LLVM's SPIR-V backend stops at 16"
        )
    ignored = "" if way == "store" else f"; LLVM ignores such a layout and loads rows of {lanes} lanes"
    return f"no 2D block message of {chip} {moves} {bits}-bit elements so: {_closest(block, there)}{ignored}"


def _sizes(there: tuple[Message, ...]) -> str:
    return ", ".join(
        [f"{rows}x{width}" for rows, width in sorted({one.shape for one in there if one.kind in _IN_ROWS})]
    )


def _closest(block: Layout, there: tuple[Message, ...]) -> str:
    """What is wrong beside a plain message, of as many rows as the block has."""
    plain = [one for one in there if one.kind in _IN_ROWS] or list(there)
    fitting = [one for one in plain if all(n % m == 0 for n, m in zip(block.shape, one.shape, strict=True))]
    return misfit(block, (fitting or plain)[0].layout) or "some registers hold nothing, or a copy"


@lru_cache(maxsize=_CACHED)
def _block_of(layout: Layout, packed: bool, transposed: bool) -> Layout:
    """The block in memory of a value.

    A value is [rows, columns] or [blocks, rows, columns]; rows that are packed together are a dimension more, the last.
    """
    dims = list(layout.dims)
    if packed:
        together = dims.pop()
        dims[-2] += together
    if len(dims) == 3:
        dims = [dims[1], dims[0] + dims[2]]
    return Layout(dims[::-1] if transposed else dims, layout.replicas, layout.offsets)
