"""The operations on buffers that read and print themselves: scopes, those of the module, and updates with a region.

    memref.global "private" constant @table : memref<4xf32> = dense<1.0>

>>> from layoutalg.ir import read_module
>>> print(list(read_module("memref.global @table : memref<4xf32> = uninitialized").ops)[0].type)
memref<4xf32>
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.hints import isa

from layoutalg.core.llvm_versions import rules
from layoutalg.ir.assembly import print_attributes, split_attributes
from layoutalg.ir.dialects.memref.operations import AllocaScopeReturnOp
from layoutalg.ir.dialects.type_directives import ElementOf, element_type
from layoutalg.ir.operations.inherent import parse_inherent, print_inherent
from layoutalg.ir.versions import printed_for

__all__ = ["AllocaScopeOp", "DistinctObjectsOp", "GenericAtomicRMWOp", "GlobalOp"]


@irdl_op_definition
class AllocaScopeOp(IRDLOperation):
    """A region at whose end its `memref.alloca` are gone."""

    name = "memref.alloca_scope"

    res = var_result_def()
    scope = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> AllocaScopeOp:
        """Read LLVM's syntax."""
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        region = parser.parse_region()
        if region.blocks and not isinstance(region.blocks[-1].last_op, AllocaScopeReturnOp):
            region.blocks[-1].add_op(AllocaScopeReturnOp.build(operands=[[]]))
        return cls.build(result_types=[results], regions=[region], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        if self.results:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list([result.type for result in self.results], printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.scope, print_block_terminators=bool(self.results))
        print_attributes(printer, self)


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A buffer that belongs to the module: with contents, without (`uninitialized`), or defined elsewhere."""

    name = "memref.global"

    sym_name = prop_def(StringAttr)
    sym_visibility = opt_prop_def(StringAttr)
    type = prop_def()
    initial_value = opt_prop_def()
    constant = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(IntegerAttr)

    traits = traits_def(SymbolOpInterface())

    @staticmethod
    def get(
        sym_name: StringAttr,
        sym_type: Attribute,
        initial_value: Attribute,
        sym_visibility: StringAttr | None = None,
        constant: UnitAttr | None = None,
        alignment: int | IntegerAttr | None = None,
    ) -> GlobalOp:
        """A buffer with this name and type; it is private unless said otherwise."""
        return GlobalOp.build(
            properties={
                "sym_name": sym_name,
                "type": sym_type,
                "initial_value": initial_value,
                "sym_visibility": sym_visibility or StringAttr("private"),
                "constant": constant,
                "alignment": IntegerAttr(alignment, 64) if isinstance(alignment, int) else alignment,
            }
        )

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        """Read LLVM's syntax; what the contents' type is follows from the buffer's."""
        properties: dict[str, Attribute] = {}
        visibility = parser.parse_optional_str_literal() or parser.parse_optional_keyword("private")
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        if parser.parse_optional_keyword("constant") is not None:
            properties["constant"] = UnitAttr()
        properties["sym_name"] = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_type()
        if not isa(kind, MemRefType[Attribute]):
            parser.raise_error(f"expected a memref type, found {kind}", start, parser.pos)
        properties["type"] = kind
        if parser.parse_optional_punctuation("=") is not None:
            if parser.parse_optional_keyword("uninitialized") is not None:
                properties["initial_value"] = UnitAttr()
            else:
                properties["initial_value"] = _parse_contents(parser, TensorType(kind.element_type, kind.get_shape()))
        properties |= parse_inherent(parser, ("alignment",))
        properties, attributes = split_attributes(cls, properties, parser.parse_optional_attr_dict())
        return cls.build(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        if self.sym_visibility is not None:
            printer.print_attribute(self.sym_visibility)
            printer.print_string(" ")
        printer.print_string("constant " if self.constant is not None else "")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        if isinstance(self.initial_value, UnitAttr):
            printer.print_string(" = uninitialized")
        elif isa(self.initial_value, DenseIntOrFPElementsAttr):
            printer.print_string(" = ")
            self.initial_value.print_without_type(printer)
        elif self.initial_value is not None:
            printer.print_string(" = ")
            printer.print_attribute(self.initial_value)
        aligned: dict[str, Attribute] = {} if self.alignment is None else {"alignment": self.alignment}
        if rules(printed_for(printer)).strict_properties:
            print_inherent(printer, aligned, ("alignment",))
            aligned = {}
        shown = {**self.attributes, **aligned}
        printer.print_op_attributes({name: shown[name] for name in sorted(shown)})


def _parse_contents(parser: Parser, kind: TensorType) -> Attribute:
    """Read `dense<...>` for a tensor type that is not written."""
    if parser.parse_optional_keyword("dense") is not None:
        return parser.parse_dense_int_or_fp_elements_attr(cast(TensorType[AnyDenseElement], kind))
    return parser.parse_attribute()


@irdl_op_definition
class GenericAtomicRMWOp(IRDLOperation):
    """Replace an element by what the region makes of it, at once for all who do so."""

    name = "memref.generic_atomic_rmw"

    memref = operand_def()
    indices = var_operand_def(IndexType)
    result = result_def()
    atomic_body = region_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (ElementOf,)

    @classmethod
    def parse(cls, parser: Parser) -> GenericAtomicRMWOp:
        """Read LLVM's syntax."""
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType()))
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_type()
        made = element_type(parser, kind, start)
        region = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        operands = [parser.resolve_operand(memref, kind), indices]
        return cls.build(operands=operands, result_types=[made], regions=[region], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)
        printer.print_string(" ")
        printer.print_region(self.atomic_body)
        print_attributes(printer, self)


@irdl_op_definition
class DistinctObjectsOp(IRDLOperation):
    """The same buffers, which do not overlap."""

    name = "memref.distinct_objects"

    operands_ = var_operand_def()
    results_ = var_result_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> DistinctObjectsOp:
        """Read LLVM's syntax."""
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        resolved = parser.resolve_operands(operands, types, start)
        return cls.build(operands=[resolved], result_types=[types], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list([operand.type for operand in self.operands], printer.print_attribute)
