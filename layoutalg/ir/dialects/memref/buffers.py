"""Whole buffers: made, ended, copied, and those that belong to the module.

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
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
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
    IsTerminator,
    MemoryAllocEffect,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.hints import isa

from layoutalg.core.llvm_versions import rules
from layoutalg.ir.assembly import print_attributes, split_attributes
from layoutalg.ir.dialects.inherent import inherent, parse_inherent, print_inherent
from layoutalg.ir.versions import printed_for

__all__ = [
    "AllocOp",
    "AllocaOp",
    "AllocaScopeOp",
    "AllocaScopeReturnOp",
    "CopyOp",
    "DeallocOp",
    "GetGlobalOp",
    "GlobalOp",
    "ReallocOp",
]


@inherent("alignment")
@irdl_op_definition
class AllocOp(IRDLOperation):
    """A new buffer, on the heap or wherever its memory space is."""

    name = "memref.alloc"

    dynamic_sizes = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    memref = result_def()
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(MemoryAllocEffect())

    assembly_format = "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"


@inherent("alignment")
@irdl_op_definition
class AllocaOp(IRDLOperation):
    """A new buffer that lasts as long as the function (or the scope) runs."""

    name = "memref.alloca"

    dynamic_sizes = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    memref = result_def()
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(MemoryAllocEffect())

    assembly_format = "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"


@inherent("alignment")
@irdl_op_definition
class ReallocOp(IRDLOperation):
    """A buffer of another size with the same elements."""

    name = "memref.realloc"

    source = operand_def()
    dynamic_result_size = opt_operand_def(IndexType)
    result = result_def()
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryAllocEffect(), MemoryFreeEffect())

    assembly_format = "$source (`(` $dynamic_result_size^ `)`)? attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class DeallocOp(IRDLOperation):
    """The end of a buffer."""

    name = "memref.dealloc"

    memref = operand_def()

    traits = traits_def(MemoryFreeEffect())

    assembly_format = "$memref attr-dict `:` type($memref)"


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
class AllocaScopeReturnOp(IRDLOperation):
    """The end of the region of `memref.alloca_scope`."""

    name = "memref.alloca_scope.return"

    ops = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "attr-dict ($ops^ `:` type($ops))?"


@irdl_op_definition
class GetGlobalOp(IRDLOperation):
    """A buffer of the module."""

    name = "memref.get_global"

    memref = result_def()
    name_ = prop_def(SymbolRefAttr, prop_name="name")

    traits = traits_def(NoMemoryEffect())

    assembly_format = "$name `:` type($memref) attr-dict"

    def __init__(self, name: str | SymbolRefAttr, return_type: Attribute):
        symbol = SymbolRefAttr(name) if isinstance(name, str) else name
        super().__init__(result_types=[return_type], properties={"name": symbol})


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
class CopyOp(IRDLOperation):
    """Copy a buffer into another one."""

    name = "memref.copy"

    source = operand_def()
    destination = operand_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$source `,` $destination attr-dict `:` type($source) `to` type($destination)"
