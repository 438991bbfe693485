"""Functions: xDSL's dialect with what it lacks, functions as values.

    %f = constant @norm : (f32) -> f32
    %y = call_indirect %f(%x) : (f32) -> f32

>>> from layoutalg.ir import read_module
>>> module = read_module("func.func private @g() func.func @f() { %g = constant @g : () -> () return }")
>>> print(list(list(module.ops)[1].body.block.ops)[0].results[0].type)
() -> ()
"""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, FunctionType
from xdsl.dialects.func import CallOp, Func, FuncOp, ReturnOp
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from layoutalg.ir.assembly import parse_attributes, print_attributes

__all__ = ["FUNC", "CallIndirectOp", "CallOp", "ConstantOp", "FuncOp", "ReturnOp"]


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A function as a value."""

    name = "func.constant"

    value = prop_def(FlatSymbolRefAttrConstr)
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict $value `:` type($result)"


@irdl_op_definition
class CallIndirectOp(IRDLOperation):
    """Call a function that is a value."""

    name = "func.call_indirect"

    callee = operand_def()
    callee_operands = var_operand_def()
    results_ = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> CallIndirectOp:
        """Read LLVM's syntax."""
        callee = parser.parse_unresolved_operand()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_function_type()
        return cls.build(
            operands=[
                parser.resolve_operand(callee, kind),
                parser.resolve_operands(operands, kind.inputs.data, start),
            ],
            result_types=[kind.outputs.data],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.callee)
        with printer.in_parens():
            printer.print_list(self.callee_operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        results = [result.type for result in self.results]
        printer.print_attribute(FunctionType.from_lists(self.callee_operands.types, results))


FUNC = Dialect("func", [*Func.operations, CallIndirectOp, ConstantOp])
"""xDSL's dialect and the operations above."""
