"""XeGPU operations on blocks: 2D descriptors, block loads and stores, DPAS, and the conversion between layouts.

The lane-level matrix product of one 8x16 tile, complete, as LLVM 22 reads and prints it:

    %a = xegpu.create_nd_tdesc %p, shape : [%m, %k], strides : [%k, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
    %x = xegpu.load_nd %a[%row, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
    %y = xegpu.load_nd %b[0, %col] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
    %z = xegpu.dpas %x, %y, %acc : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
    xegpu.store_nd %z, %c[%row, %col] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>

At lane level a vector is the fragment of one lane: of the 8x16 tile of A a lane holds 8 elements. The syntax follows
LLVM's definitions (mlir/docs, 'xegpu' dialect); the tests send what is printed here through `mlir-opt` and read back
what it prints.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%p = arith.constant 64 : i64 %t = xegpu.create_nd_tdesc %p, shape: [8, 32], strides: [32, 1] : i64"
>>> module = read_module(text + "-> !xegpu.tensor_desc<8x16xf16> xegpu.prefetch_nd %t[0,16] : !xegpu.tensor_desc<8x16xf16>")
>>> print(write_module(module), end="")
builtin.module {
  %p = arith.constant 64 : i64
  %t = xegpu.create_nd_tdesc %p, shape : [8, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
  xegpu.prefetch_nd %t[0, 16] : !xegpu.tensor_desc<8x16xf16>
}
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, IndexType, IntegerType, MemRefType, UnitAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.assembly import (
    parse_attributes,
    parse_index_list,
    parse_operand_list,
    parse_optional_index_list,
    parse_properties,
    parse_result,
    parse_types,
    print_attributes,
    print_index_list,
    print_keyword_list,
    print_tail,
    print_types,
    split_attributes,
)
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr, TensorDescType
from layoutalg.ir.dialects.xegpu.memory_operations import CachedOp, PlacedOp

__all__ = [
    "OPERATIONS",
    "ConvertLayoutOp",
    "CreateNdDescOp",
    "DpasOp",
    "LoadNdOp",
    "PrefetchNdOp",
    "StoreNdOp",
    "UpdateNdOffsetOp",
]

AnyVector = VectorType[AnyFloat | IntegerType | IndexType]
Memory = MemRefType[Attribute] | IntegerType


@irdl_op_definition
class CreateNdDescOp(IRDLOperation):
    """Describe a block of a 1-D or 2-D region of memory; a bare pointer needs `shape` and `strides` (in elements)."""

    name = "xegpu.create_nd_tdesc"

    source = operand_def(MemRefType | IntegerType)
    offsets = var_operand_def(IndexType)
    shape = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    const_offsets = opt_prop_def(DenseArrayBase)
    const_shape = opt_prop_def(DenseArrayBase)
    const_strides = opt_prop_def(DenseArrayBase)
    descriptor = result_def(TensorDescType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> CreateNdDescOp:
        """Read LLVM's syntax."""
        source = parser.parse_unresolved_operand()
        lists = {"const_offsets": parse_optional_index_list(parser), "const_shape": None, "const_strides": None}
        if parser.parse_optional_punctuation(",") is not None:
            for position, keyword in enumerate(("shape", "strides")):
                if position:
                    parser.parse_punctuation(",")
                parser.parse_keyword(keyword)
                parser.parse_punctuation(":")
                lists[f"const_{keyword}"] = parse_index_list(parser)
        attributes = parse_attributes(parser)
        memory = parse_types(parser, [source])
        return cls.build(
            operands=[*memory, *[found[0] if found else [] for found in lists.values()]],
            result_types=parse_result(parser),
            properties={name: found[1] for name, found in lists.items() if found is not None},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_index_list(printer, self.offsets, self.const_offsets)
        print_keyword_list(printer, "shape", self.shape, self.const_shape)
        print_keyword_list(printer, "strides", self.strides, self.const_strides)
        print_attributes(printer, self)
        print_types(printer, [self.source.type], self.descriptor.type)


class _BlockMemoryOp(CachedOp, ABC):
    """What loads, stores and prefetches of blocks share: where in the region, and what the caches do."""

    descriptor = operand_def(TensorDescType)
    offsets = var_operand_def(IndexType)
    const_offsets = opt_prop_def(DenseArrayBase)

    def print_place(self, printer: Printer) -> None:
        """Write `%descriptor[%row, %column]`."""
        printer.print_ssa_value(self.descriptor)
        print_index_list(printer, self.offsets, self.const_offsets)


def _parse_place(
    parser: Parser, operation: type[IRDLOperation]
) -> tuple[list[SSAValue], dict[str, Attribute], dict[str, Attribute]]:
    """Read `[%row, %column] <{...}> {...}`: the index operands, the properties and the other attributes."""
    found = parse_optional_index_list(parser)
    properties, attributes = split_attributes(operation, parse_properties(parser), parse_attributes(parser))
    if found is not None:
        properties["const_offsets"] = found[1]
    return found[0] if found else [], properties, attributes


@irdl_op_definition
class LoadNdOp(_BlockMemoryOp):
    """Load a block into registers; `packed` puts 32/bits rows of a column into one register (VNNI)."""

    name = "xegpu.load_nd"

    packed = opt_prop_def(UnitAttr)
    transpose = opt_prop_def(DenseArrayBase)
    value = result_def(AnyVector)

    @classmethod
    def parse(cls, parser: Parser) -> LoadNdOp:
        """Read LLVM's syntax."""
        descriptor = parser.parse_unresolved_operand()
        offsets, properties, attributes = _parse_place(parser, cls)
        source = parse_types(parser, [descriptor])
        return cls.build(
            operands=[source, offsets],
            result_types=parse_result(parser),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        self.print_place(printer)
        print_tail(printer, self, [self.descriptor.type], self.value.type)


@irdl_op_definition
class PrefetchNdOp(_BlockMemoryOp):
    """Bring a block into the caches."""

    name = "xegpu.prefetch_nd"

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchNdOp:
        """Read LLVM's syntax."""
        descriptor = parser.parse_unresolved_operand()
        offsets, properties, attributes = _parse_place(parser, cls)
        return cls.build(
            operands=[parse_types(parser, [descriptor]), offsets], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        self.print_place(printer)
        print_tail(printer, self, [self.descriptor.type])


@irdl_op_definition
class StoreNdOp(_BlockMemoryOp):
    """Store a block from registers."""

    name = "xegpu.store_nd"

    value = operand_def(AnyVector)

    @classmethod
    def parse(cls, parser: Parser) -> StoreNdOp:
        """Read LLVM's syntax."""
        stored = parse_operand_list(parser, 2)
        offsets, properties, attributes = _parse_place(parser, cls)
        value, descriptor = parse_types(parser, stored)
        return cls.build(operands=[value, descriptor, offsets], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        self.print_place(printer)
        print_tail(printer, self, (self.value.type, self.descriptor.type))


@irdl_op_definition
class UpdateNdOffsetOp(PlacedOp):
    """Move a descriptor by a number of elements in each dimension."""

    name = "xegpu.update_nd_offset"

    descriptor = operand_def(TensorDescType)
    result = result_def(TensorDescType)

    @classmethod
    def parse(cls, parser: Parser) -> UpdateNdOffsetOp:
        """Read LLVM's syntax."""
        descriptor = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        values, numbers = parse_index_list(parser)
        properties, attributes = {"const_offsets": numbers}, parse_attributes(parser)
        moved = parse_types(parser, [descriptor])
        types = [moved[0].type]
        return cls.build(operands=[moved, values], result_types=types, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.descriptor)
        printer.print_string(", ")
        print_index_list(printer, self.offsets, self.const_offsets)
        print_attributes(printer, self)
        print_types(printer, [self.result.type])


@irdl_op_definition
class DpasOp(IRDLOperation):
    """Multiply a tile of A by a tile of B and add the tile of C, all held in the registers of one subgroup."""

    name = "xegpu.dpas"

    lhs = operand_def(AnyVector)
    rhs = operand_def(AnyVector)
    acc = opt_operand_def(AnyVector)
    layout_a = opt_prop_def(LayoutAttr | SliceAttr)
    layout_b = opt_prop_def(LayoutAttr | SliceAttr)
    layout_cd = opt_prop_def(LayoutAttr | SliceAttr)
    result = result_def(AnyVector)

    @classmethod
    def of(cls, operands: Sequence[SSAValue | Operation], result_type: Attribute) -> DpasOp:
        """The product of operands `[a, b]` or `[a, b, acc]`."""
        a, b, *acc = operands
        return cls.build(operands=[a, b, acc], result_types=[result_type])

    @classmethod
    def parse(cls, parser: Parser) -> DpasOp:
        """Read LLVM's syntax."""
        operands = parse_operand_list(parser, 2)
        if parser.parse_optional_punctuation(",") is not None:
            operands.append(parser.parse_unresolved_operand())
        properties, attributes = split_attributes(cls, {}, parse_attributes(parser))
        lhs, rhs, *acc = parse_types(parser, operands)
        return cls.build(
            operands=[lhs, rhs, acc],
            result_types=parse_result(parser),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, inherent=True)
        print_types(printer, self.operand_types, self.result.type)


@irdl_op_definition
class ConvertLayoutOp(IRDLOperation):
    """Move a value from one distribution over subgroups and lanes to another."""

    name = "xegpu.convert_layout"

    source = operand_def(AnyVector)
    input_layout = prop_def(LayoutAttr | SliceAttr)
    target_layout = prop_def(LayoutAttr | SliceAttr)
    result = result_def(AnyVector)

    @classmethod
    def parse(cls, parser: Parser) -> ConvertLayoutOp:
        """Read LLVM's syntax."""
        source = parser.parse_unresolved_operand()
        properties, attributes = split_attributes(cls, parse_properties(parser), parse_attributes(parser))
        vector = parse_types(parser, [source])
        return cls.build(operands=vector, result_types=[vector[0].type], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_tail(printer, self, [self.source.type])


OPERATIONS: tuple[type[Operation], ...] = (
    ConvertLayoutOp,
    CreateNdDescOp,
    DpasOp,
    LoadNdOp,
    PrefetchNdOp,
    StoreNdOp,
    UpdateNdOffsetOp,
)
