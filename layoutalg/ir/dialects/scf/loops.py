"""Loops: `scf.for`, which counts, and `scf.while` with `scf.condition`, which asks.

    %0 = scf.for %i = %lb to %ub step %st iter_args(%sum = %zero) -> (f32) { ... scf.yield %next : f32 }

>>> from layoutalg.ir import read_module
>>> module = read_module("%c = arith.constant 1 : index scf.for %i = %c to %c step %c { }")
>>> loop = list(module.ops)[1]
>>> loop.body.block.args[0].type, loop.body.block.last_op.name
(IndexType(), 'scf.yield')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.scf.branches import parse_result_types, parse_yielding_region

__all__ = ["ForOp", "WhileOp", "parse_assignments", "print_assignments"]

_Assigned = tuple[list[Parser.UnresolvedArgument], list[UnresolvedOperand]]


def parse_assignments(parser: Parser) -> _Assigned:
    """Read `(%a = %x, %b = %y)`: names of block arguments, and what they are first."""
    names: list[Parser.UnresolvedArgument] = []
    values: list[UnresolvedOperand] = []

    def assignment() -> None:
        names.append(parser.parse_argument(expect_type=False))
        parser.parse_punctuation("=")
        values.append(parser.parse_unresolved_operand())

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, assignment)
    return names, values


def print_assignments(printer: Printer, names: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    """Write `(%a = %x, %b = %y)`."""
    with printer.in_parens():
        for position, (name, value) in enumerate(zip(names, values, strict=False)):
            printer.print_string(", " if position else "")
            printer.print_ssa_value(name)
            printer.print_string(" = ")
            printer.print_ssa_value(value)


@irdl_op_definition
class ForOp(IRDLOperation):
    """A region for every number from a first one up to a last one that is left out."""

    name = "scf.for"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lb = operand_def(T)
    ub = operand_def(T)
    step = operand_def(T)
    iter_args = var_operand_def()
    unsigned_cmp = opt_prop_def(UnitAttr, prop_name="unsignedCmp")
    res = var_result_def()
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("unsigned") is not None:
            properties["unsignedCmp"] = UnitAttr()
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        bounds = [parser.parse_unresolved_operand()]
        for word in ("to", "step"):
            parser.parse_keyword(word)
            bounds.append(parser.parse_unresolved_operand())
        start = parser.pos
        names, values = ([], [])
        types: list[Attribute] = []
        if parser.parse_optional_keyword("iter_args") is not None:
            names, values = parse_assignments(parser)
            types = parse_result_types(parser)
        kind: Attribute = IndexType()
        if parser.parse_optional_punctuation(":") is not None:
            kind = parser.parse_type()
        first = parser.resolve_operands(values, types, start)
        operands = [parser.resolve_operand(bound, kind) for bound in bounds]
        carried = [name.resolve(type_) for name, type_ in zip(names, types, strict=True)]
        region = parse_yielding_region(parser, [variable.resolve(kind), *carried])
        return cls.build(
            operands=[*operands, first],
            result_types=[types],
            properties=properties,
            regions=[region],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        variable, *carried = self.body.block.args
        printer.print_string(" unsigned " if self.unsigned_cmp is not None else " ")
        printer.print_ssa_value(variable)
        for word, bound in ((" = ", self.lb), (" to ", self.ub), (" step ", self.step)):
            printer.print_string(word)
            printer.print_ssa_value(bound)
        if self.iter_args:
            printer.print_string(" iter_args")
            print_assignments(printer, carried, self.iter_args)
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.iter_args.types, printer.print_attribute)
        if not isinstance(variable.type, IndexType):
            printer.print_string(" : ")
            printer.print_attribute(variable.type)
        printer.print_string(" ")
        printer.print_region(
            self.body,
            print_entry_block_args=False,
            print_empty_block=False,
            print_block_terminators=bool(self.iter_args),
        )
        print_attributes(printer, self)


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Two regions in turn: the first says whether and with which values the second follows."""

    name = "scf.while"

    arguments = var_operand_def()
    res = var_result_def()
    before_region = region_def("single_block")
    after_region = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        """Read LLVM's syntax."""
        names, values = ([], []) if parser.parse_optional_punctuation(":") is not None else parse_assignments(parser)
        if names:
            parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_function_type()
        operands = parser.resolve_operands(values, kind.inputs.data, start)
        arguments = [name.resolve(type_) for name, type_ in zip(names, kind.inputs.data, strict=True)]
        before = parser.parse_region(arguments or None)
        parser.parse_keyword("do")
        after = parse_yielding_region(parser)
        written = parser.parse_optional_attr_dict_with_keyword()
        return cls.build(
            operands=[operands],
            result_types=[kind.outputs.data],
            regions=[before, after],
            attributes=dict(written.data) if written is not None else {},
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        if self.arguments:
            printer.print_string(" ")
            print_assignments(printer, self.before_region.block.args, self.arguments)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        printer.print_string(" ")
        printer.print_region(self.before_region, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.after_region)
        printer.print_op_attributes(self.attributes, print_keyword=True)
