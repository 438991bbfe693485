"""Intel's matrix extension of x86: tiles, loaded, multiplied and stored. LLVM 22 says `amx`, 23 and 24 say `x86.amx`.

    %a = amx.tile_load %pa[%row, %k] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %b = amx.tile_load %pb[%k, %col] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    amx.tile_store %pc[%row, %col], %d : memref<?x?xf32>, !amx.tile<16x16xf32>

The operations of both dialects stand in one table, `layoutalg/ir/operations/amx+x86.txt`.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>"
>>> print(write_module(read_module(text)).splitlines()[1].strip())
%z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, MemRefType
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from layoutalg.ir.operations.classes import define

__all__ = ["AMX", "X86", "TileType", "X86TileType"]


class _Tile(ParametrizedAttribute, TypeAttribute, ABC):
    """What the two tile types share."""

    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    def get_shape(self) -> tuple[int, ...]:
        """Rows and columns, in elements."""
        return tuple(size.data for size in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<16x32xbf16>`."""
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
        return ArrayAttr([IntAttr(size) for size in shape]), element

    def print_parameters(self, printer: Printer) -> None:
        """Write `<16x32xbf16>`."""
        with printer.in_angle_brackets():
            printer.print_dimension_list(self.get_shape())
            printer.print_string("x")
            printer.print_attribute(self.element_type)


@irdl_attr_definition
class TileType(_Tile):
    """`!amx.tile<16x32xbf16>`: 16 rows of 64 bytes."""

    name = "amx.tile"

    shape: ArrayAttr[IntAttr]  # declared where the class is, since xDSL compares the fields of that class
    element_type: Attribute


@irdl_attr_definition
class X86TileType(_Tile):
    """`!x86.amx.tile<16x32xbf16>`, the same in LLVM 23 and 24."""

    name = "x86.amx.tile"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute


_TYPES = {
    "TILE": TileType | X86TileType,
    "REAL_TILE": TileType | X86TileType,
    "BYTE_TILE": TileType | X86TileType,
    "tile of 32-bit float values": TileType | X86TileType,
    "tile of 32-bit signless integer values": TileType | X86TileType,
    "memref of ANY values": MemRefType,
}

AMX = Dialect("amx", list(define(__name__, "amx", types=_TYPES, assumed=True)), [TileType])
"""AMX as LLVM 22 names it."""

X86 = Dialect("x86", list(define(__name__, "x86", types=_TYPES, assumed=True)), [X86TileType])
"""AMX as LLVM 23 and 24 name it, inside the dialect `x86`."""
