"""XeGPU operations on scattered points: every lane names its own offsets.

At subgroup level an offset vector has one entry per lane (`vector<16xindex>`); at lane level each lane has its own
(`vector<1xindex>`), and the source is a plain pointer or memref:

    %x = xegpu.load %p[%offset], %mask <{chunk_size = 8 : i64}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>

reads 8 consecutive elements from `p + offset` in every lane whose mask is set.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%p = arith.constant 64 : i64 %o = arith.constant dense<3> : vector<1xindex>"
>>> module = read_module(text + "xegpu.prefetch %p[%o] <{offset_align_byte = 4}> : i64, vector<1xindex>")
>>> write_module(module).splitlines()[3].strip()
'xegpu.prefetch %p[%o] <{offset_align_byte = 4 : i64}> : i64, vector<1xindex>'
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from layoutalg.ir.assembly import (
    parse_attributes,
    parse_operand_list,
    parse_properties,
    parse_result,
    parse_types,
    print_attributes,
    print_tail,
    print_types,
    split_attributes,
)
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.dialects.xegpu.memory_operations import CachedOp

__all__ = ["OPERATIONS", "AtomicRmwOp", "CreateDescOp", "LoadOp", "PrefetchOp", "StoreOp", "UpdateOffsetOp"]

Scalar = AnyFloat | IntegerType | IndexType
Value = VectorType[Scalar] | AnyFloat | IntegerType | IndexType
Points = TensorDescType | MemRefType | IntegerType

# The names of arith's atomic kinds, in the order of their numbers.
ATOMIC_KINDS = (
    "addf", "addi", "andi", "assign", "maximumf", "maxnumf", "maxs", "maxu",
    "minimumf", "minnumf", "mins", "minu", "mulf", "muli", "ori", "xori",
)  # fmt: skip


def _parse_points(parser: Parser, *, masked: bool = True) -> list[UnresolvedOperand]:
    """Read `%source, %mask` or `%source[%offsets], %mask`."""
    operands = [parser.parse_unresolved_operand()]
    if parser.parse_optional_punctuation("[") is not None:
        operands.append(parser.parse_unresolved_operand())
        parser.parse_punctuation("]")
    if masked:
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
    return operands


def _print_points(printer: Printer, source: SSAValue, offsets: SSAValue | None, mask: SSAValue | None = None) -> None:
    printer.print_ssa_value(source)
    if offsets is not None:
        with printer.in_square_brackets():
            printer.print_ssa_value(offsets)
    if mask is not None:
        printer.print_string(", ")
        printer.print_ssa_value(mask)


def _parse_tail(
    parser: Parser, operation: type[IRDLOperation], operands: Sequence[UnresolvedOperand]
) -> tuple[list[SSAValue], dict[str, Attribute], dict[str, Attribute]]:
    """Read `<{...}> {...} : types`: the operands, the properties and the other attributes."""
    properties, attributes = split_attributes(operation, parse_properties(parser), parse_attributes(parser))
    return parse_types(parser, operands), properties, attributes


@irdl_op_definition
class CreateDescOp(IRDLOperation):
    """Describe scattered points of memory, one offset (in elements) per lane."""

    name = "xegpu.create_tdesc"

    source = operand_def(MemRefType | IntegerType)
    offsets = operand_def(VectorType[Scalar])
    descriptor = result_def(TensorDescType)

    assembly_format = "$source `,` $offsets attr-dict `:` type($source) `,` type($offsets) `->` type($descriptor)"


@irdl_op_definition
class UpdateOffsetOp(IRDLOperation):
    """Move every point of a scattered descriptor by its own number of elements."""

    name = "xegpu.update_offset"

    descriptor = operand_def(TensorDescType)
    offsets = operand_def(VectorType[Scalar])
    result = result_def(TensorDescType)

    @classmethod
    def parse(cls, parser: Parser) -> UpdateOffsetOp:
        """Read LLVM's syntax."""
        operands, properties, attributes = _parse_tail(parser, cls, parse_operand_list(parser, 2))
        return cls.build(
            operands=operands, result_types=[operands[0].type], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_tail(printer, self, self.operand_types)


class _ChunkedOp(CachedOp, ABC):
    """A gather or scatter: each lane moves `chunk_size` neighbouring elements."""

    chunk_size = opt_prop_def(IntegerAttr)


@irdl_op_definition
class LoadOp(_ChunkedOp):
    """Gather: every lane whose mask is set reads its points."""

    name = "xegpu.load"

    source = operand_def(Points)
    offsets = opt_operand_def(Value)
    mask = operand_def(Value)
    value = result_def(Value)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        """Read LLVM's syntax."""
        operands, properties, attributes = _parse_tail(parser, cls, _parse_points(parser))
        place, types = [operands[0], operands[1:-1], operands[-1]], parse_result(parser)
        return cls.build(operands=place, result_types=types, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        _print_points(printer, self.source, self.offsets, self.mask)
        print_tail(printer, self, self.operand_types, self.value.type)


@irdl_op_definition
class StoreOp(_ChunkedOp):
    """Scatter: every lane whose mask is set writes its points."""

    name = "xegpu.store"

    value = operand_def(Value)
    dest = operand_def(Points)
    offsets = opt_operand_def(Value)
    mask = operand_def(Value)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        """Read LLVM's syntax."""
        points = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        points += _parse_points(parser)
        operands, properties, attributes = _parse_tail(parser, cls, points)
        return cls.build(
            operands=[operands[0], operands[1], operands[2:-1], operands[-1]],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_points(printer, self.dest, self.offsets, self.mask)
        print_tail(printer, self, self.operand_types)


@irdl_op_definition
class PrefetchOp(CachedOp):
    """Bring scattered points into the caches."""

    name = "xegpu.prefetch"

    source = operand_def(Points)
    offsets = opt_operand_def(Value)
    offset_align_byte = opt_prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        """Read LLVM's syntax."""
        operands, properties, attributes = _parse_tail(parser, cls, _parse_points(parser, masked=False))
        return cls.build(operands=[operands[0], operands[1:]], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        _print_points(printer, self.source, self.offsets)
        print_tail(printer, self, self.operand_types)


@irdl_op_definition
class AtomicRmwOp(IRDLOperation):
    """Read, modify and write scattered points, free from data races."""

    name = "xegpu.atomic_rmw"

    descriptor = operand_def(TensorDescType)
    mask = operand_def(Value)
    value = operand_def(Value)
    kind = prop_def(IntegerAttr)
    result = result_def(Value)

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRmwOp:
        """Read LLVM's syntax."""
        kind = ATOMIC_KINDS.index(parser.parse_keyword_in(ATOMIC_KINDS))
        operands, properties, attributes = _parse_tail(parser, cls, parse_operand_list(parser, 3))
        types, properties = parse_result(parser), {"kind": IntegerAttr(kind, 64), **properties}
        return cls.build(operands=operands, result_types=types, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(f" {ATOMIC_KINDS[self.kind.value.data]} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        print_types(printer, self.operand_types, self.result.type)


OPERATIONS: tuple[type[Operation], ...] = (
    AtomicRmwOp,
    CreateDescOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    UpdateOffsetOp,
)
