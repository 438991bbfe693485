"""What a load delivers: 2D block messages and gathers, as layouts from the memory tile to lanes and registers.

One rule gives all of them (SPV_INTEL_2d_block_io rev 1, "Mapping Block Data to Invocations"). A row as wide as the
subgroup gives each lane one element; a narrower row leaves room for the next rows in the same register; of a wider row
each lane takes neighbours. Blocks of an array follow one another. On 16 lanes, 8 rows of 16, of 8 and of 32 elements:

>>> print(row_fragment(8, 16, 16)); print(row_fragment(8, 8, 16)); print(row_fragment(8, 32, 16))
d0 = 8@reg, d1 = 16@lane
d0 = 4@reg 2@lane:8, d1 = 8@lane
d0 = 8@reg:2, d1 = 16@lane 2@reg

`packed` (VNNI, "transform") puts 32 bits' worth of a column's rows into one register, lowest row lowest: the registers,
counted in elements, are the same as without. `transpose` distributes the transposed tile by the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, Operand, one_operand, own_sizes
from layoutalg.core.whole_numbers import as_flag
from layoutalg.core.work_items import cover, machine_for
from layoutalg.hardware.block_tables import BlockSizes
from layoutalg.hardware.chips import TargetInfo, target_info

__all__ = ["BlockLoad", "BlockStore", "block_load", "block_store", "gather", "row_fragment"]


def row_fragment(rows: int, width: int, subgroup_size: int) -> Layout:
    """How rows of elements spread over a subgroup's registers: the rule that all messages and operands follow.

    Raises `VerificationError` where rows and lanes do not fit one another.

    >>> print(row_fragment(8, 16, 8))
    d0 = 8@reg:2, d1 = 8@lane 2@reg
    """
    for name, value in (("rows", rows), ("width", width), ("subgroup_size", subgroup_size)):
        _whole(name, value)
    if width <= subgroup_size:
        abreast = subgroup_size // width
        if subgroup_size % width or (rows % abreast and abreast % rows):
            raise VerificationError(f"{rows} rows of {width} elements do not fill {subgroup_size} lanes")
        together = min(rows, abreast)
        down = [Factor(rows // together, 1, "reg"), Factor(together, width, "lane")]
        return Layout([down, [Factor(width, 1, "lane")]]).canonical()
    each = width // subgroup_size
    if width % subgroup_size:
        raise VerificationError(f"rows of {width} elements do not spread evenly over {subgroup_size} lanes")
    across = [Factor(subgroup_size, 1, "lane"), Factor(each, 1, "reg")]
    return Layout([[Factor(rows, each, "reg")], across]).canonical()


@dataclass(frozen=True, slots=True)
class BlockLoad(Distributed):
    """A 2D block load of `count` blocks side by side, each `rows` x `width` elements of `bits` bits.

    >>> block_load(16, 16, 16, transform=True).name
    'read_transform_16b_16r16x1c'
    """

    rows: int
    width: int
    bits: int
    count: int = 1
    transform: bool = False
    transpose: bool = False
    transpose_bits: int = 0
    subgroup_size: int = 16

    @property
    def name(self) -> str:
        """The name that the OpenCL extension has for the message.

        >>> block_load(8, 16, 16, count=2).name
        'read_16b_8r16x2c'
        """
        kind = "transform_" if self.transform else "transpose_" if self.transpose else ""
        bits, width = self.bits, self.width
        if self.transpose:
            bits, width = self._unit, self.width * self.bits // self._unit
        return f"read_{kind}{bits}b_{self.rows}r{width}x{self.count}c"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """From the memory tile to lanes and registers, to draw.

        >>> block_load(8, 16, 16).operands()[0].name
        'read_16b_8r16x1c'
        """
        own_sizes(self.name, self.layout.shape, shape)
        on = machine_for(machine, self.subgroup_size, self.name)
        return one_operand(self.name, cover(self.layout, on, self.name))

    @property
    def _unit(self) -> int:
        """The bits that a transposed load moves as one."""
        return self.transpose_bits or self.bits

    @property
    def layout(self) -> Layout:
        """From the memory tile (`rows` x `width * count` elements) to lanes and registers (counted in elements).

        >>> block_load(16, 16, 16, transpose=True, transpose_bits=32).layout
        Layout.parse('d0 = 16@lane, d1 = 16@reg')
        >>> block_load(8, 16, 16, count=2).layout
        Layout.parse('d0 = 8@reg, d1 = 2@reg:8 16@lane')
        """
        if self.transpose:
            units = self.width * self.bits // self._unit
            transposed = row_fragment(units, self.rows, self.subgroup_size)
            inside = Layout([[], [Factor(self._unit // self.bits, 1, "reg")]])
            return (transposed.permute((1, 0)) * inside).canonical()
        one = row_fragment(self.rows, self.width, self.subgroup_size)
        return one.tile((1, self.count)).canonical()

    @property
    def registers(self) -> int:
        """The elements that each lane gets.

        >>> block_load(8, 32, 8).registers
        16
        """
        return self.rows * self.width * self.count // self.subgroup_size


@dataclass(frozen=True, slots=True)
class BlockStore(Distributed):
    """A 2D block store of `rows` x `width` elements of `bits` bits.

    >>> block_store(8, 16, 32).layout
    Layout.parse('d0 = 8@reg, d1 = 16@lane')
    """

    rows: int
    width: int
    bits: int
    subgroup_size: int = 16

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """From the memory tile to the lanes and registers that it is stored from, to draw.

        >>> block_store(8, 16, 32).operands()[0].name
        '2D block store of 8x16, 32 bits'
        """
        own_sizes(self, self.layout.shape, shape)
        name = f"2D block store of {self.rows}x{self.width}, {self.bits} bits"
        return one_operand(name, cover(self.layout, machine_for(machine, self.subgroup_size, name), name))

    @property
    def layout(self) -> Layout:
        """From the memory tile to the lanes and registers that it is stored from.

        >>> block_store(4, 32, 8).layout
        Layout.parse('d0 = 4@reg:2, d1 = 16@lane 2@reg')
        """
        return row_fragment(self.rows, self.width, self.subgroup_size)


def block_load(
    rows: int,
    width: int,
    bits: int,
    count: int = 1,
    transform: bool = False,
    transpose: bool = False,
    transpose_bits: int | None = None,
    subgroup_size: int | None = None,
    target: str = "pvc",
) -> BlockLoad:
    """The 2D block load of a tile; `transform` is VNNI packing, `transpose_bits` the RFC's `transpose_bit_width`.

    Raises `VerificationError` where the chip has no such message (the error lists those it has).

    >>> block_load(8, 16, 16).layout
    Layout.parse('d0 = 8@reg, d1 = 16@lane')
    >>> block_load(8, 24, 16)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: 2D block load of 8 rows x 24 elements of 16 bits: no such
    message; of 16 bits there are 16 wide x 1, 2, 4, 8, 16, 32 rows x 1, 2 blocks
    """
    chip = target_info(target)
    transform, transpose = (
        as_flag(transform, "transform", VerificationError),
        as_flag(transpose, "transpose", VerificationError),
    )
    if transform and transpose:
        raise VerificationError("transform and transpose cannot be combined in one 2D block load")
    lanes = chip.subgroup_size if subgroup_size is None else subgroup_size
    sizes = (("rows", rows), ("width", width), ("bits", bits), ("count", count), ("subgroup_size", lanes))
    for name, value in (*sizes, ("transpose_bits", bits if transpose_bits is None else transpose_bits)):
        _whole(name, value)
    if transpose_bits is not None and not transpose:
        raise VerificationError("transpose_bits without transpose: expected both")
    unit = (transpose_bits or bits) if transpose else bits
    if unit % bits or width * bits % unit:
        raise VerificationError(f"transpose in units of {unit} bits: expected a multiple of {bits} that divides a row")
    kind = "transform" if transform else "transpose" if transpose else ""
    what = f"2D block {kind + ' ' if kind else ''}load of {rows} rows x {width} elements of {bits} bits"
    table = _of(chip, "packed" if transform else "transposed" if transpose else "plain", what)
    _require(table, unit, width * bits // unit, rows, count, what + (f" in units of {unit}" if unit != bits else ""))
    _require_lanes(chip, lanes, what)
    return BlockLoad(rows, width, bits, count, transform, transpose, unit if transpose else 0, lanes)


def block_store(rows: int, width: int, bits: int, subgroup_size: int | None = None, target: str = "pvc") -> BlockStore:
    """The 2D block store of a tile.

    Raises `VerificationError` where the chip has no such message.

    >>> block_store(8, 16, 16).rows
    8
    """
    chip = target_info(target)
    lanes = chip.subgroup_size if subgroup_size is None else subgroup_size
    for name, value in (("rows", rows), ("width", width), ("bits", bits), ("subgroup_size", lanes)):
        _whole(name, value)
    what = f"2D block store of {rows} rows x {width} elements of {bits} bits"
    _require(_of(chip, "store", what), bits, width, rows, 1, what)
    _require_lanes(chip, lanes, what)
    return BlockStore(rows, width, bits, lanes)


def _of(chip: TargetInfo, kind: str, what: str) -> tuple[BlockSizes, ...]:
    """The chip's messages of a kind; an error for a chip without block messages."""
    if chip.blocks is None:
        raise VerificationError(f"{what}: {chip} has no 2D block messages")
    return chip.blocks.rows_of(kind)


def _require_lanes(chip: TargetInfo, lanes: int, what: str) -> None:
    if lanes != chip.subgroup_size:
        raise VerificationError(
            f"{what} on {shown(lanes)} lanes: only chips with {chip.subgroup_size} lanes have 2D block messages"
        )


def gather(lanes: int, chunk_size: int = 1) -> Layout:
    """What a gather delivers: lane i has the `chunk_size` consecutive elements from its own offset on.

    Raises `VerificationError` for what is not a whole number of at least 1.

    >>> print(gather(16, 4))
    d0 = 16@lane, d1 = 4@reg
    """
    for name, value in (("lanes", lanes), ("chunk_size", chunk_size)):
        _whole(name, value)
    dims = [[Factor(lanes, 1, "lane")]]
    return Layout(dims if chunk_size == 1 else [*dims, [Factor(chunk_size, 1, "reg")]])


def _whole(name: str, value: object) -> None:
    if type(value) is not int or not 1 <= value <= MAX_EXTENT:
        raise VerificationError(f"{name} = {shown(value)}: expected a whole number of at least 1")


def _require(table: tuple[BlockSizes, ...], bits: int, width: int, rows: int, count: int, what: str) -> None:
    if any((sizes.bits, sizes.width) == (bits, width) and sizes.has(rows, count) for sizes in table):
        return
    blocks = "" if count == 1 else f" x {count} blocks"
    there = [sizes.sizes for sizes in table if sizes.bits == bits]
    offer = (
        f"of {bits} bits there are {'; '.join(there)}"
        if there
        else f"there are {', '.join(sorted({f'{sizes.bits}' for sizes in table}))} bits"
    )
    raise VerificationError(f"{what}{blocks}: no such message; {offer}")
