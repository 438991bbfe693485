"""What work-items do together: exchange values between lanes, combine them, wait for each other.

    %0, %1 = gpu.shuffle xor %x, %offset, %width : f32
    %2 = gpu.subgroup_reduce add %x cluster(size = 4) : (f32) -> f32

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("gpu.barrier memfence [#gpu.address_space<workgroup>]"), llvm=23).splitlines()[1].strip())
gpu.barrier memfence [#gpu.address_space<workgroup>]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, UnitAttr, i1, i32
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
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
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure, RecursiveMemoryEffect

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.gpu.attributes import (
    AllReduceOperationAttr,
    BarrierScope,
    BarrierScopeAttr,
    BroadcastTypeAttr,
    ShuffleModeAttr,
)
from layoutalg.ir.dialects.gpu.directives import Broadcast, Cluster, PrintedValues, ReductionKind, Scope, ShuffleWord

__all__ = [
    "AllReduceOp",
    "BarrierOp",
    "DynamicSharedMemoryOp",
    "PrintfOp",
    "RotateOp",
    "ShuffleOp",
    "SubgroupBroadcastOp",
    "SubgroupReduceOp",
    "WarpExecuteOnLane0Op",
    "YieldOp",
]


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait for every work-item of the workgroup (or of the scope); memory of the named spaces is seen by all then."""

    name = "gpu.barrier"

    address_spaces = opt_prop_def(ArrayAttr)
    scope = prop_def(BarrierScopeAttr, default_value=BarrierScopeAttr(BarrierScope.Workgroup))

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (Scope,)

    assembly_format = "(`memfence` $address_spaces^)? custom<Scope>($scope) attr-dict"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Receive the value of another lane, and whether that lane exists."""

    name = "gpu.shuffle"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    shuffle_result = result_def(T)
    valid = result_def(i1)

    traits = traits_def(Pure())
    custom_directives = (ShuffleWord,)

    assembly_format = "custom<ShuffleWord>($mode) $value `,` $offset `,` $width attr-dict `:` type($value)"


@irdl_op_definition
class RotateOp(IRDLOperation):
    """Receive the value of the lane that stands some places further, and whether that lane exists."""

    name = "gpu.rotate"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    offset = prop_def(IntegerAttr.constr(i32))
    width = prop_def(IntegerAttr.constr(i32))
    rotate_result = result_def(T)
    valid = result_def(i1)

    traits = traits_def(Pure())

    assembly_format = "$value `,` $offset `,` $width attr-dict `:` type($value)"


@irdl_op_definition
class SubgroupBroadcastOp(IRDLOperation):
    """Receive the value of one lane, the same for all lanes."""

    name = "gpu.subgroup_broadcast"

    T: ClassVar = VarConstraint("T", AnyAttr())

    src = operand_def(T)
    lane = opt_operand_def(i32)
    broadcast_type = prop_def(BroadcastTypeAttr)
    result = result_def(T)

    traits = traits_def(Pure())
    custom_directives = (Broadcast,)

    assembly_format = "$src `,` custom<Broadcast>($broadcast_type, $lane) attr-dict `:` type($result)"


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
class SubgroupReduceOp(IRDLOperation):
    """The values of all lanes of the subgroup (or of a cluster of lanes) combined, the same for all of them."""

    name = "gpu.subgroup_reduce"

    value = operand_def()
    op = prop_def(AllReduceOperationAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr)
    cluster_stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i32))
    result = result_def()

    custom_directives = (ReductionKind, Cluster)

    assembly_format = (
        "custom<ReductionKind>($op) $value (`uniform` $uniform^)? custom<Cluster>($cluster_size, $cluster_stride) "
        "attr-dict `:` functional-type(operands, results)"
    )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """What the region of a gpu operation gives."""

    name = "gpu.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "attr-dict ($values^ `:` type($values))?"


@irdl_op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """The shared memory that the launch asked for, as bytes."""

    name = "gpu.dynamic_shared_memory"

    result_memref = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($result_memref)"


@irdl_op_definition
class PrintfOp(IRDLOperation):
    """Write values to the terminal of the host."""

    name = "gpu.printf"

    format = prop_def(StringAttr)
    args = var_operand_def()

    traits = traits_def(MemoryWriteEffect())
    custom_directives = (PrintedValues,)

    assembly_format = "$format attr-dict custom<PrintedValues>($args, type($args))"


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
