"""The operations of XeVM for small floats, which LLVM has from version 23 on: `truncf`, and products of scaled matrices.

    %b = xevm.truncf %a {src_etype = f16, dst_etype = bf8} : (vector<16xf16>) -> vector<16xi8>
    %d = xevm.mma_mx %a, %b, %sa, %sb, %c {shape = <m = 8, n = 16, k = 32>, types = <d = f32, a = bf8, b = bf8, c = f32>}
           : (vector<8xi16>, vector<8xi32>, vector<2xi8>, vector<2xi8>, vector<8xf32>) -> vector<8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = '%a = "test.op"() : () -> f16 %b = xevm.truncf %a {src_etype = f16, dst_etype = e2m1} : (f16) -> i8'
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%b = xevm.truncf %a {src_etype = f16, dst_etype = e2m1} : (f16) -> i8
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from layoutalg.ir.assembly import print_attributes

__all__ = ["ATTRIBUTES", "SCALED", "DstEtypeAttr", "MMAMxOp", "SrcEtypeAttr", "TruncfOp"]


class _EtypeAttr(Data[str], SpacedOpaqueSyntaxAttribute):
    """An element type by its name: `#xevm<src_etype src_etype = f16>` in generic form."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read `src_etype = f16`."""
        parser.parse_keyword(cls.name.partition(".")[2])
        parser.parse_punctuation("=")
        return parser.parse_identifier("an element type, such as f16 or bf8")

    def print_parameter(self, printer: Printer) -> None:
        """Write `src_etype = f16`."""
        printer.print_string(f"{self.name.partition('.')[2]} = {self.data}")


@irdl_attr_definition
class SrcEtypeAttr(_EtypeAttr):
    """The type that is rounded: f16 or bf16."""

    name = "xevm.src_etype"


@irdl_attr_definition
class DstEtypeAttr(_EtypeAttr):
    """The type that it is rounded to: bf8, f8 or e2m1."""

    name = "xevm.dst_etype"


ATTRIBUTES = (DstEtypeAttr, SrcEtypeAttr)
"""The attributes of the dialect that these operations have."""


def _parse(
    cls: type[IRDLOperation], parser: Parser, words: Mapping[str, Callable[[Parser], Attribute]]
) -> IRDLOperation:
    """Read operands, a dictionary with these words in this order, attributes and types."""
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    properties: dict[str, Attribute] = {}
    with parser.in_braces():
        for word, read in words.items():
            if properties:
                parser.parse_punctuation(",")
            parser.parse_keyword(word)
            parser.parse_punctuation("=")
            properties[word] = read(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    kind = parser.parse_function_type()
    operands = parser.resolve_operands(names, kind.inputs.data, start)
    return cls.create(
        operands=operands, result_types=list(kind.outputs.data), properties=properties, attributes=attributes
    )


def _print(printer: Printer, operation: IRDLOperation, words: Mapping[str, Callable[[Any], None]]) -> None:
    """Write the same."""
    printer.print_string(" ")
    printer.print_list(operation.operands, printer.print_ssa_value)
    printer.print_string(" {")
    for place, (word, write) in enumerate(words.items()):
        printer.print_string(f"{', ' if place else ''}{word} = ")
        write(operation.properties[word])
    printer.print_string("}")
    print_attributes(printer, operation)
    printer.print_string(" : ")
    printer.print_operation_type(operation)


@irdl_op_definition
class TruncfOp(IRDLOperation):
    """Floats rounded to 8 or 4 bits, in the bits of integers."""

    name = "xevm.truncf"

    src = operand_def()
    dst = result_def()
    src_etype = prop_def(SrcEtypeAttr)
    dst_etype = prop_def(DstEtypeAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> IRDLOperation:
        """Read LLVM's syntax."""
        return _parse(
            cls,
            parser,
            {
                "src_etype": lambda one: SrcEtypeAttr(one.parse_identifier("an element type")),
                "dst_etype": lambda one: DstEtypeAttr(one.parse_identifier("an element type")),
            },
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""

        def word(value: _EtypeAttr) -> None:
            printer.print_string(value.data)

        _print(printer, self, {"src_etype": word, "dst_etype": word})


def _attribute(name: str) -> Callable[[Parser], Attribute]:
    """What reads the parameters of an attribute of the dialect."""

    def read(parser: Parser) -> Attribute:
        kind: Any = parser.ctx.get_attr(name)
        return kind.new(kind.parse_parameters(parser))

    return read


@irdl_op_definition
class MMAMxOp(IRDLOperation):
    """A product of two matrices with scales, added to a third."""

    name = "xevm.mma_mx"

    a = operand_def()
    b = operand_def()
    scale_a = operand_def()
    scale_b = operand_def()
    c = opt_operand_def()
    d = result_def()
    shape = prop_def()
    types = prop_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> IRDLOperation:
        """Read LLVM's syntax."""
        words = {"shape": _attribute("xevm.mma_shape"), "types": _attribute("xevm.mma_types")}
        return _parse(cls, parser, words)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""

        def parameters(value: ParametrizedAttribute) -> None:
            value.print_parameters(printer)

        _print(printer, self, {"shape": parameters, "types": parameters})


SCALED = (MMAMxOp, TruncfOp)
"""The operations."""
