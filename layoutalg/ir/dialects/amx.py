"""Intel's matrix extension of x86: tiles, loaded, multiplied and stored. LLVM 22 says `amx`, 23 and 24 say `x86.amx`.

    %a = amx.tile_load %pa[%row, %k] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %b = amx.tile_load %pb[%k, %col] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    amx.tile_store %pc[%row, %col], %d : memref<?x?xf32>, !amx.tile<16x16xf32>

The operations of both dialects are declared once: `TileLoad` has the operands and the syntax, `TileLoadOp` is LLVM 22's
operation and `X86TileLoadOp` that of LLVM 23 and 24.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>"
>>> print(write_module(read_module(text)).splitlines()[1].strip())
%z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, MemRefType, UnitAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.operations.declared import INDEX, declared_operation

__all__ = [
    "AMX",
    "X86",
    "TileLoad",
    "TileLoadOp",
    "TileMulF",
    "TileMulFOp",
    "TileMulI",
    "TileMulIOp",
    "TileStore",
    "TileStoreOp",
    "TileType",
    "TileZero",
    "TileZeroOp",
    "X86TileLoadOp",
    "X86TileMulFOp",
    "X86TileMulIOp",
    "X86TileStoreOp",
    "X86TileType",
    "X86TileZeroOp",
]


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


ANY_TILE = TileType | X86TileType


class TileZero(IRDLOperation, ABC):
    """A tile of zeros; its memory effect asks for a tile register of its own."""

    res = result_def(ANY_TILE)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = "attr-dict `:` type($res)"


class TileLoad(IRDLOperation, ABC):
    """Load the rows of a tile, `stride` elements apart (unless given, those of the memref).

    The write effect, which LLVM declares, asks for a tile register of its own.
    """

    base = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    stride = opt_operand_def(INDEX)
    res = result_def(ANY_TILE)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$base `[` $indices `]` (`,` $stride^)? attr-dict `:` type($base) `into` type($res)"


class TileStore(IRDLOperation, ABC):
    """Store the rows of a tile, `stride` elements apart (unless given, those of the memref)."""

    base = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    val = operand_def(ANY_TILE)
    stride = opt_operand_def(INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    assembly_format = "$base `[` $indices `]` `,` $val (`,` $stride^)? attr-dict `:` type($base) `,` type($val)"


class TileMulF(IRDLOperation, ABC):
    """Add the product of two tiles of pairs of f16 or bf16 to a tile of f32."""

    lhs = operand_def(ANY_TILE)
    rhs = operand_def(ANY_TILE)
    acc = operand_def(ANY_TILE)
    res = result_def(ANY_TILE)

    traits = traits_def(Pure())
    custom_directives = (SameType,)

    assembly_format = """
        $lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` custom<SameType>(type($acc), type($res))
    """


class TileMulI(IRDLOperation, ABC):
    """Add the product of two tiles of fours of i8 to a tile of i32; `zext` takes an operand as unsigned."""

    lhs = operand_def(ANY_TILE)
    rhs = operand_def(ANY_TILE)
    acc = operand_def(ANY_TILE)
    is_zext_lhs = opt_prop_def(UnitAttr, prop_name="isZextLhs")
    is_zext_rhs = opt_prop_def(UnitAttr, prop_name="isZextRhs")
    res = result_def(ANY_TILE)

    traits = traits_def(Pure())
    custom_directives = (SameType,)

    assembly_format = """
        $lhs (`zext` $isZextLhs^)? `,` $rhs (`zext` $isZextRhs^)? `,` $acc attr-dict
        `:` type($lhs) `,` type($rhs) `,` custom<SameType>(type($acc), type($res))
    """


@declared_operation
class TileZeroOp(TileZero):
    """`amx.tile_zero` of LLVM 22."""

    name = "amx.tile_zero"


@declared_operation
class TileLoadOp(TileLoad):
    """`amx.tile_load` of LLVM 22."""

    name = "amx.tile_load"


@declared_operation
class TileStoreOp(TileStore):
    """`amx.tile_store` of LLVM 22."""

    name = "amx.tile_store"


@declared_operation
class TileMulFOp(TileMulF):
    """`amx.tile_mulf` of LLVM 22."""

    name = "amx.tile_mulf"


@declared_operation
class TileMulIOp(TileMulI):
    """`amx.tile_muli` of LLVM 22."""

    name = "amx.tile_muli"


@declared_operation
class X86TileZeroOp(TileZero):
    """`x86.amx.tile_zero` of LLVM 23 and 24."""

    name = "x86.amx.tile_zero"


@declared_operation
class X86TileLoadOp(TileLoad):
    """`x86.amx.tile_load` of LLVM 23 and 24."""

    name = "x86.amx.tile_load"


@declared_operation
class X86TileStoreOp(TileStore):
    """`x86.amx.tile_store` of LLVM 23 and 24."""

    name = "x86.amx.tile_store"


@declared_operation
class X86TileMulFOp(TileMulF):
    """`x86.amx.tile_mulf` of LLVM 23 and 24."""

    name = "x86.amx.tile_mulf"


@declared_operation
class X86TileMulIOp(TileMulI):
    """`x86.amx.tile_muli` of LLVM 23 and 24."""

    name = "x86.amx.tile_muli"


AMX = Dialect("amx", [TileLoadOp, TileMulFOp, TileMulIOp, TileStoreOp, TileZeroOp], [TileType])
"""AMX as LLVM 22 names it."""

X86 = Dialect("x86", [X86TileLoadOp, X86TileMulFOp, X86TileMulIOp, X86TileStoreOp, X86TileZeroOp], [X86TileType])
"""AMX as LLVM 23 and 24 name it, inside the dialect `x86`."""
