"""What a workgroup or a subgroup does together, with a region: reduce, or let one lane work.

    %r = gpu.all_reduce add %x {} : (f32) -> f32

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("gpu.barrier memfence [#gpu.address_space<workgroup>]"), llvm=23).splitlines()[1].strip())
gpu.barrier memfence [#gpu.address_space<workgroup>]
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Block, SSAValue
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
from xdsl.traits import RecursiveMemoryEffect

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.gpu.attributes import (
    AllReduceOperationAttr,
)
from layoutalg.ir.dialects.gpu.directives import ReductionKind
from layoutalg.ir.dialects.gpu.operations import YieldOp

__all__ = [
    "AllReduceOp",
    "WarpExecuteOnLane0Op",
]


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """The values of all work-items of the workgroup combined, the same for all of them."""

    name = "gpu.all_reduce"

    value = operand_def()
    op = opt_prop_def(AllReduceOperationAttr)
    uniform = opt_prop_def(UnitAttr)
    body = region_def()
    result = result_def()

    custom_directives = (ReductionKind,)

    assembly_format = (
        "custom<ReductionKind>($op) $value (`uniform` $uniform^)? $body attr-dict "
        "`:` functional-type(operands, results)"
    )


@irdl_op_definition
class WarpExecuteOnLane0Op(IRDLOperation):
    """A region that lane 0 executes alone, on what all lanes hold together."""

    name = "gpu.warp_execute_on_lane_0"

    laneid = operand_def(IndexType)
    args = var_operand_def()
    warp_size = prop_def(IntegerAttr)
    results_ = var_result_def()
    warp_region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> WarpExecuteOnLane0Op:
        """Read LLVM's syntax."""
        with parser.in_parens():
            lane = parser.parse_operand(IndexType())
        with parser.in_square_brackets():
            size = parser.parse_integer(allow_boolean=False)
        values: Sequence[SSAValue] = ()
        if parser.parse_optional_keyword("args") is not None:
            with parser.in_parens():
                operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
                parser.parse_punctuation(":")
                start = parser.pos
                types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
                values = parser.resolve_operands(operands, types, start)
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            results += parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        if not isinstance(region.blocks[-1].last_op, YieldOp):
            region.blocks[-1].add_op(YieldOp.build(operands=[[]]))
        attributes = parser.parse_optional_attr_dict()
        return cls.build(
            operands=[lane, values],
            result_types=[results],
            properties={"warp_size": IntegerAttr(size, 64)},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        with printer.in_parens():
            printer.print_ssa_value(self.laneid)
        printer.print_string(f"[{self.warp_size.value.data}]")
        if self.args:
            printer.print_string(" args(")
            printer.print_list(self.args, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(self.args.types, printer.print_attribute)
            printer.print_string(")")
        if self.results:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list([result.type for result in self.results], printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.warp_region, print_block_terminators=bool(self.results))
        print_attributes(printer, self)
