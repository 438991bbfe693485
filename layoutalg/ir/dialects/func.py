"""Functions, their calls and returns, with LLVM's syntax.

    func.func private @norm(memref<*xf32> {llvm.noalias}) -> f32 attributes {llvm.emit_c_interface}

>>> from layoutalg.ir import read_module
>>> module = read_module("func.func private @g() func.func @f() { %g = constant @g : () -> () return }")
>>> print(list(list(module.ops)[1].body.block.ops)[0].results[0].type)
() -> ()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
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
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface

from layoutalg.ir.assembly import print_attributes

__all__ = ["FUNC", "CallIndirectOp", "CallOp", "ConstantOp", "FuncOp", "Function", "ReturnOp"]

_OWN = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")


class Function(IRDLOperation):
    """A function in the syntax of `func.func`."""

    body = region_def()
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {}
        visibility = parser.parse_optional_visibility_keyword()
        if visibility is not None:
            properties["sym_visibility"] = visibility
        properties["sym_name"] = parser.parse_symbol_name()
        written = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_input(parser))
        named = [argument for argument, _ in written if isinstance(argument, Parser.Argument)]
        types = [a.type if isinstance(a, Parser.Argument) else a for a, _ in written]
        if named and len(named) != len(written):
            parser.raise_error("expected names for all arguments or for none")
        outputs = _parse_outputs(parser)
        properties["function_type"] = FunctionType.from_lists(types, [kind for kind, _ in outputs])
        for key, own in (("arg_attrs", [own for _, own in written]), ("res_attrs", [own for _, own in outputs])):
            if any(own):
                properties[key] = ArrayAttr([DictionaryAttr(attributes) for attributes in own])
        dictionary = parser.parse_optional_attr_dict_with_keyword(_OWN)
        body = parser.parse_optional_region(named or None)
        return cls.build(
            properties=properties,
            attributes=dict(dictionary.data) if dictionary is not None else {},
            regions=[Region() if body is None else body],
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            names = self.body.blocks[0].args if self.body.blocks else ()
            for position, kind in enumerate(self.function_type.inputs):
                printer.print_string(", " if position else "")
                if names:
                    printer.print_ssa_value(names[position])
                    printer.print_string(": ")
                printer.print_attribute(kind)
                _print_own(printer, self.arg_attrs, position)
        outputs = self.function_type.outputs.data
        if outputs:
            bare = len(outputs) == 1 and self.res_attrs is None and not isinstance(outputs[0], FunctionType)
            printer.print_string(" -> " if bare else " -> (")
            for position, kind in enumerate(outputs):
                printer.print_string(", " if position else "")
                printer.print_attribute(kind)
                _print_own(printer, self.res_attrs, position)
            printer.print_string("" if bare else ")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if self.body.blocks:
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


@irdl_op_definition
class FuncOp(Function):
    """A function; without a body, one that is defined elsewhere."""

    name = "func.func"


_Written = tuple[Parser.Argument | Attribute, dict[str, Attribute]]


def _parse_input(parser: Parser) -> _Written:
    """Read `%x : f32 {note}`, or without the name."""
    found = parser.parse_optional_argument() or parser.parse_type()
    own = parser.parse_optional_dictionary_attr_dict()
    parser.parse_optional_location()
    return found, own


def _parse_outputs(parser: Parser) -> Sequence[tuple[Attribute, dict[str, Attribute]]]:
    """Read `-> f32` or `-> (f32 {note}, i32)` if it is there."""
    if parser.parse_optional_punctuation("->") is None:
        return ()
    found = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, lambda: (parser.parse_type(), parser.parse_optional_dictionary_attr_dict())
    )
    return [(parser.parse_type(), {})] if found is None else found


def _print_own(printer: Printer, attributes: ArrayAttr | None, position: int) -> None:
    own = attributes.data[position] if attributes is not None and position < len(attributes.data) else None
    printer.print_op_attributes(own.data if isinstance(own, DictionaryAttr) else {})


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Leave the function."""

    name = "func.return"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[values])


def _parse_arguments(parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute], FunctionType]:
    """Read `(%x, %y) {...} : (i32, i32) -> i32`: the arguments of a call, its attributes, and the function's type."""
    operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    kind = parser.parse_function_type()
    return parser.resolve_operands(operands, kind.inputs.data, start), attributes, kind


def _print_arguments(printer: Printer, call: IRDLOperation, arguments: Sequence[SSAValue]) -> None:
    with printer.in_parens():
        printer.print_list(arguments, printer.print_ssa_value)
    print_attributes(printer, call)
    printer.print_string(" : ")
    printer.print_function_type([argument.type for argument in arguments], call.result_types)


@irdl_op_definition
class CallOp(IRDLOperation):
    """Call a function by its name."""

    name = "func.call"

    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttrConstr)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    res = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        """Read LLVM's syntax."""
        start = parser.pos
        callee = parser.parse_attribute()
        if not isinstance(callee, SymbolRefAttr):
            parser.raise_error("expected the name of a function", start, parser.pos)
        arguments, attributes, kind = _parse_arguments(parser)
        return cls.build(
            operands=[arguments],
            result_types=[kind.outputs.data],
            properties={"callee": callee},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        _print_arguments(printer, self, self.arguments)


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
        arguments, attributes, kind = _parse_arguments(parser)
        return cls.build(
            operands=[parser.resolve_operand(callee, kind), arguments],
            result_types=[kind.outputs.data],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.callee)
        _print_arguments(printer, self, self.callee_operands)


FUNC = Dialect("func", [CallIndirectOp, CallOp, ConstantOp, FuncOp, ReturnOp])
"""The dialect."""
