"""XeGPU operations of a workgroup: matrices in shared local memory, fences and named barriers.

    %d = xegpu.create_mem_desc %slm : memref<256xi8, 3> -> !xegpu.mem_desc<16x8xf16>
    xegpu.store_matrix %x, %d[0, 0] : vector<8x8xf16>, !xegpu.mem_desc<16x8xf16>
    xegpu.fence memory_kind = slm, fence_scope = workgroup
    %y = xegpu.load_matrix %d[8, 0] : !xegpu.mem_desc<16x8xf16> -> vector<8x8xf16>

A `mem_desc` gives 256 bytes of shared local memory the shape of 16 rows of 8 f16.

>>> from layoutalg.ir import read_module, write_module
>>> write_module(read_module("xegpu.fence memory_kind=slm, fence_scope=workgroup")).splitlines()[1].strip()
'xegpu.fence memory_kind = slm, fence_scope = workgroup'
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.assembly import (
    parse_attributes,
    parse_index_list,
    parse_properties,
    parse_result,
    parse_types,
    print_attributes,
    print_index_list,
    print_tail,
    print_types,
    split_attributes,
)
from layoutalg.ir.dialects.xegpu.attributes import (
    FenceScope,
    FenceScopeAttr,
    LayoutAttr,
    MemDescType,
    MemorySpace,
    MemorySpaceAttr,
    NbarrierType,
    SliceAttr,
)
from layoutalg.ir.dialects.xegpu.memory_operations import PlacedOp

__all__ = [
    "OPERATIONS",
    "AllocNbarrierOp",
    "CreateMemDescOp",
    "FenceOp",
    "InitNbarrierOp",
    "LoadMatrixOp",
    "MemDescSubviewOp",
    "NbarrierArriveOp",
    "NbarrierWaitOp",
    "StoreMatrixOp",
]

Value = VectorType[AnyFloat | IntegerType | IndexType] | AnyFloat | IntegerType


@irdl_op_definition
class CreateMemDescOp(IRDLOperation):
    """Give a buffer of shared local memory the shape of a matrix."""

    name = "xegpu.create_mem_desc"

    source = operand_def(MemRefType)
    mem_desc = result_def(MemDescType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($mem_desc)"


@irdl_op_definition
class MemDescSubviewOp(PlacedOp):
    """A smaller matrix inside a matrix of shared local memory."""

    name = "xegpu.mem_desc_subview"

    source = operand_def(MemDescType)
    result = result_def(MemDescType)

    @classmethod
    def parse(cls, parser: Parser) -> MemDescSubviewOp:
        """Read LLVM's syntax."""
        source = parser.parse_unresolved_operand()
        values, numbers = parse_index_list(parser)
        attributes = parse_attributes(parser)
        matrix = parse_types(parser, [source])
        return cls.build(
            operands=[matrix, values],
            result_types=parse_result(parser),
            properties={"const_offsets": numbers},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_index_list(printer, self.offsets, self.const_offsets)
        print_attributes(printer, self)
        print_types(printer, [self.source.type], self.result.type)


@irdl_op_definition
class LoadMatrixOp(PlacedOp):
    """Load a block of a matrix in shared local memory."""

    name = "xegpu.load_matrix"

    mem_desc = operand_def(MemDescType)
    layout = opt_prop_def(LayoutAttr | SliceAttr)
    subgroup_block_io = opt_prop_def(UnitAttr)
    value = result_def(Value)

    @classmethod
    def parse(cls, parser: Parser) -> LoadMatrixOp:
        """Read LLVM's syntax."""
        matrix = parser.parse_unresolved_operand()
        values, numbers = parse_index_list(parser)
        properties, attributes = split_attributes(cls, parse_properties(parser), parse_attributes(parser))
        parser.parse_punctuation(":")
        matrix_type, *_ = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.build(
            operands=[parser.resolve_operand(matrix, matrix_type), values],
            result_types=parse_result(parser),
            properties={"const_offsets": numbers, **properties},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.mem_desc)
        print_index_list(printer, self.offsets, self.const_offsets)
        print_tail(printer, self, self.operand_types, self.value.type)


@irdl_op_definition
class StoreMatrixOp(PlacedOp):
    """Store a block of a matrix in shared local memory."""

    name = "xegpu.store_matrix"

    value = operand_def(Value)
    mem_desc = operand_def(MemDescType)
    layout = opt_prop_def(LayoutAttr | SliceAttr)
    subgroup_block_io = opt_prop_def(UnitAttr)

    @classmethod
    def parse(cls, parser: Parser) -> StoreMatrixOp:
        """Read LLVM's syntax."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        matrix = parser.parse_unresolved_operand()
        values, numbers = parse_index_list(parser)
        properties, attributes = split_attributes(cls, parse_properties(parser), parse_attributes(parser))
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) < 2:
            parser.raise_error("expected the types of the value and of the matrix", position)
        return cls.build(
            operands=[parser.resolve_operand(value, types[0]), parser.resolve_operand(matrix, types[1]), values],
            properties={"const_offsets": numbers, **properties},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        printer.print_ssa_value(self.mem_desc)
        print_index_list(printer, self.offsets, self.const_offsets)
        print_tail(printer, self, self.operand_types)


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Order the memory accesses before it and after it."""

    name = "xegpu.fence"

    memory_kind = prop_def(MemorySpaceAttr)
    fence_scope = prop_def(FenceScopeAttr)

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        """Read LLVM's syntax."""
        parser.parse_keyword("memory_kind")
        parser.parse_punctuation("=")
        kind = MemorySpaceAttr(parser.parse_str_enum(MemorySpace))
        parser.parse_punctuation(",")
        parser.parse_keyword("fence_scope")
        parser.parse_punctuation("=")
        scope = FenceScopeAttr(parser.parse_str_enum(FenceScope))
        return cls.build(properties={"memory_kind": kind, "fence_scope": scope}, attributes=parse_attributes(parser))

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(f" memory_kind = {self.memory_kind.data.value}")
        printer.print_string(f", fence_scope = {self.fence_scope.data.value}")
        print_attributes(printer, self)


@irdl_op_definition
class AllocNbarrierOp(IRDLOperation):
    """Reserve named barriers for the workgroup."""

    name = "xegpu.alloc_nbarrier"

    nbarrier_num = prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> AllocNbarrierOp:
        """Read LLVM's syntax."""
        count = IntegerAttr(parser.parse_integer(allow_boolean=False), 64)
        return cls.build(properties={"nbarrier_num": count}, attributes=parse_attributes(parser))

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(f" {self.nbarrier_num.value.data}")
        print_attributes(printer, self)


@irdl_op_definition
class InitNbarrierOp(IRDLOperation):
    """Bind the subgroup to a named barrier."""

    name = "xegpu.init_nbarrier"

    nbarrier_id = operand_def(IntegerType)
    participants = operand_def(IntegerType)
    result = result_def(NbarrierType)

    assembly_format = (
        "$nbarrier_id `,` $participants attr-dict `:` type($nbarrier_id) `,` type($participants) `->` type($result)"
    )


@irdl_op_definition
class NbarrierArriveOp(IRDLOperation):
    """Tell a named barrier that this subgroup has produced its data."""

    name = "xegpu.nbarrier_arrive"

    nbarrier = operand_def(NbarrierType)

    assembly_format = "$nbarrier attr-dict `:` type($nbarrier)"


@irdl_op_definition
class NbarrierWaitOp(IRDLOperation):
    """Wait until every producer has arrived."""

    name = "xegpu.nbarrier_wait"

    nbarrier = operand_def(NbarrierType)

    assembly_format = "$nbarrier attr-dict `:` type($nbarrier)"


OPERATIONS: tuple[type[Operation], ...] = (
    AllocNbarrierOp,
    CreateMemDescOp,
    FenceOp,
    InitNbarrierOp,
    LoadMatrixOp,
    MemDescSubviewOp,
    NbarrierArriveOp,
    NbarrierWaitOp,
    StoreMatrixOp,
)
