"""Regions that run or don't: `scf.if`, `scf.index_switch`, `scf.execute_region`; and `scf.yield`, which ends them.

    %0 = scf.if %c -> (f32) { scf.yield %x : f32 } else { scf.yield %y : f32 }

LLVM leaves out a `scf.yield` that gives nothing; reading puts it back:

>>> from layoutalg.ir import read_module
>>> module = read_module("%c = arith.constant true scf.if %c { }")
>>> list(module.ops)[1].true_region.block.last_op.name
'scf.yield'
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, RecursiveMemoryEffect

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.scf.operations import YieldOp

__all__ = ["ExecuteRegionOp", "IfOp", "IndexSwitchOp", "YieldOp", "parse_result_types", "parse_yielding_region"]


def parse_yielding_region(parser: Parser, arguments: Sequence[Parser.Argument] = ()) -> Region:
    """Read a region; where no terminator is written, it ends with a `scf.yield` of nothing."""
    region = parser.parse_region(arguments or None)
    if not region.blocks:
        region.add_block(Block())
    last = region.blocks[-1].last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=False):
        region.blocks[-1].add_op(YieldOp.create())
    return region


def parse_result_types(parser: Parser) -> list[Attribute]:
    """Read `-> (f32, i32)` or `-> f32` if it is there."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if found is None:
        return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return list(found)


def _print_result_types(printer: Printer, operation: IRDLOperation) -> None:
    if operation.results:
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list([result.type for result in operation.results], printer.print_attribute)


@irdl_op_definition
class IfOp(IRDLOperation):
    """One of two regions."""

    name = "scf.if"

    output = var_result_def()
    cond = operand_def(i1)
    true_region = region_def("single_block")
    false_region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        """Read LLVM's syntax."""
        condition = parser.parse_operand(i1)
        results = parse_result_types(parser)
        regions = [parse_yielding_region(parser)]
        regions.append(parse_yielding_region(parser) if parser.parse_optional_keyword("else") is not None else Region())
        return cls.build(
            operands=[condition], result_types=[results], regions=regions, attributes=parser.parse_optional_attr_dict()
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        _print_result_types(printer, self)
        printer.print_string(" ")
        ends = bool(self.results)
        printer.print_region(self.true_region, print_entry_block_args=False, print_block_terminators=ends)
        if self.false_region.blocks:
            printer.print_string(" else ")
            printer.print_region(self.false_region, print_entry_block_args=False, print_block_terminators=ends)
        print_attributes(printer, self)


@irdl_op_definition
class ExecuteRegionOp(IRDLOperation):
    """A region of several blocks, once."""

    name = "scf.execute_region"

    outs = var_result_def()
    region = region_def()
    no_inline = opt_prop_def(UnitAttr)

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> ExecuteRegionOp:
        """Read LLVM's syntax."""
        results = parse_result_types(parser)
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("no_inline") is not None:
            properties["no_inline"] = UnitAttr()
        region = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        return cls.build(result_types=[results], regions=[region], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        _print_result_types(printer, self)
        printer.print_string(" no_inline " if self.no_inline is not None else " ")
        printer.print_region(self.region, print_entry_block_args=False)
        print_attributes(printer, self)


@irdl_op_definition
class IndexSwitchOp(IRDLOperation):
    """The region whose number is the operand, or the default one."""

    name = "scf.index_switch"

    arg = operand_def(IndexType())
    cases = prop_def(DenseArrayBase.constr(i64))
    output = var_result_def()
    default_region = region_def("single_block")
    case_regions = var_region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> IndexSwitchOp:
        """Read LLVM's syntax."""
        number = parser.parse_operand(IndexType())
        attributes = parser.parse_optional_attr_dict()
        results = parse_result_types(parser)
        cases: list[int] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword("case") is not None:
            cases.append(parser.parse_integer(allow_boolean=False))
            regions.append(parse_yielding_region(parser))
        parser.parse_keyword("default")
        default = parse_yielding_region(parser)
        return cls.build(
            operands=[number],
            result_types=[results],
            properties={"cases": DenseArrayBase.from_list(i64, cases)},
            attributes=attributes,
            regions=[default, regions],
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.arg)
        print_attributes(printer, self)
        if self.results:
            printer.print_string(" -> ")
            printer.print_list([result.type for result in self.results], printer.print_attribute)
        for case, region in zip(self.cases.get_values(), self.case_regions, strict=False):
            printer.print_string("\n")
            printer.print_string(f"case {case} ")
            printer.print_region(region)
        printer.print_string("\n")
        printer.print_string("default ")
        printer.print_region(self.default_region)
