"""The operations of Triton's tables, and those that read and print themselves: functions, groups of warps.

>>> from layoutalg.ir import read_module, write_module
>>> text = '''ttg.warp_specialize(%n)
... default { ttg.warp_yield }
... partition0(%m: i32) num_warps(4) { ttg.warp_return } : (i32) -> ()'''
>>> module = read_module("%n = arith.constant 4 : i32 " + text)
>>> print(list(module.ops)[1].partitionNumWarps)
array<i32: 4>
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i16, i32
from xdsl.ir import Attribute, Block, Dialect, Region
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.dialects.func import Function
from layoutalg.ir.dialects.triton.directives import DIRECTIVES
from layoutalg.ir.dialects.triton.types import (
    ENCODINGS,
    ArefType,
    AsyncTokenType,
    MemDescType,
    PointerType,
    SegmentType,
    TensorDescType,
)
from layoutalg.ir.operations.classes import define
from layoutalg.ir.operations.rows import rows_of

__all__ = ["AMDG", "GLUON", "NVWS", "PROTON", "PROTON_GPU", "ROCDL", "TRITON_GEN", "TT", "TTG", "TTI", "TTIG", "TTNG"]


def _table(dialect: str) -> tuple[type[IRDLOperation], ...]:
    types = {
        "Triton async token type": eq(AsyncTokenType()),
        "16-bit signless integer": eq(i16),
        "128-bit signless integer": eq(IntegerType(128)),
    }
    loose = {name: {"LOOSE": True} for name in rows_of(dialect)}
    return define(__name__, dialect, types=types, directives=(*DIRECTIVES, SameType), fields=loose)


def _of(dialect: str) -> list[type[Attribute]]:
    return [one for one in ENCODINGS if one.name.startswith(f"{dialect}.")]


@irdl_op_definition
class TritonFuncOp(Function):
    """A function; its syntax is that of `func.func`."""

    name = "tt.func"


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Elements along an axis, combined by a region."""

    name = "tt.reduce"

    srcs = var_operand_def()
    axis = prop_def()
    result = var_result_def()
    combine_op = region_def()


@irdl_op_definition
class ScanOp(IRDLOperation):
    """Elements along an axis, each combined with all before it."""

    name = "tt.scan"

    srcs = var_operand_def()
    axis = prop_def()
    reverse = prop_def()
    result = var_result_def()
    combine_op = region_def()


@irdl_op_definition
class MapElementwiseOp(IRDLOperation):
    """What a region computes of each element."""

    name = "tt.map_elementwise"

    srcs = var_operand_def()
    pack = prop_def()
    result = var_result_def()
    scalar_op = region_def()


@irdl_op_definition
class MaskOp(IRDLOperation):
    """What a region does where the condition is true."""

    name = "ttg.mask"

    pred = var_operand_def()
    result = var_result_def()
    region = region_def()


@irdl_op_definition
class WarpSpecializePartitionsOp(IRDLOperation):
    """What each group of warps does."""

    name = "ttg.warp_specialize.partitions"

    explicit_captures = var_operand_def()
    partition_regions = var_region_def()

    traits = traits_def(IsTerminator())


@irdl_op_definition
class WarpSpecializeOp(IRDLOperation):
    """Groups of warps that do different things: the default group, and partitions with so many warps each."""

    name = "ttg.warp_specialize"

    partitionNumWarps = prop_def(DenseArrayBase)  # noqa: N815 (Triton's name)
    warpGroupStartIds = opt_prop_def(DenseArrayBase)  # noqa: N815
    requestedRegisters = opt_prop_def(DenseArrayBase)  # noqa: N815
    actualRegisters = opt_prop_def(DenseArrayBase)  # noqa: N815
    default_passthrough = var_result_def()
    default_region = region_def()
    partition_op_holder = region_def()

    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> WarpSpecializeOp:
        """Read Triton's syntax."""
        start = parser.pos
        captures = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        dictionary = parser.parse_optional_attr_dict_with_keyword()
        attributes: dict[str, Attribute] = {} if dictionary is None else dict(dictionary.data)
        parser.parse_keyword("default")
        default = parser.parse_region()
        regions: list[Region] = []
        warps: list[int] = []
        while parser.parse_optional_keyword(f"partition{len(regions)}") is not None:
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            parser.parse_keyword("num_warps")
            with parser.in_parens():
                warps.append(parser.parse_integer())
            regions.append(parser.parse_region(arguments))
        parser.parse_punctuation(":")
        kind = parser.parse_function_type()
        operands = parser.resolve_operands(captures, kind.inputs.data, start)
        names = ("warpGroupStartIds", "requestedRegisters", "actualRegisters")
        properties = {name: attributes.pop(name) for name in names if name in attributes}
        properties["partitionNumWarps"] = DenseArrayBase.from_list(i32, warps)
        holder = WarpSpecializePartitionsOp.build(operands=[operands], regions=[regions])
        return cls.build(
            result_types=[kind.outputs.data],
            properties=properties,
            attributes=attributes,
            regions=[default, Region(Block([holder]))],
        )

    def print(self, printer: Printer) -> None:
        """Write Triton's syntax."""
        holder: Any = self.partition_op_holder.block.first_op
        captures: Any = holder.operands
        with printer.in_parens():
            printer.print_list(captures, printer.print_ssa_value)
        held = {name: one for name, one in self.properties.items() if name != "partitionNumWarps"} | self.attributes
        printer.print_op_attributes(held, print_keyword=True)
        printer.print_string(" default ")
        printer.print_region(self.default_region)
        counts: Any = self.partitionNumWarps
        for number, (region, warps) in enumerate(zip(holder.regions, counts.get_values(), strict=True)):
            printer.print_string(f" partition{number}")
            with printer.in_parens():
                printer.print_list(region.blocks[0].args, printer.print_block_argument)
            printer.print_string(f" num_warps({warps}) ")
            printer.print_region(region, print_entry_block_args=False)
        printer.print_string(" : ")
        printer.print_function_type([one.type for one in captures], self.result_types)


TT = Dialect("tt", [*_table("tt"), TritonFuncOp, ReduceOp, ScanOp, MapElementwiseOp], [PointerType, TensorDescType])
"""What a kernel says, before and after layouts are chosen."""
TTG = Dialect(
    "ttg",
    [*_table("ttg"), MaskOp, WarpSpecializeOp, WarpSpecializePartitionsOp],
    [AsyncTokenType, MemDescType, *_of("ttg")],
)
"""Layouts, shared memory, and groups of warps, on any GPU."""
TTNG = Dialect("ttng", [*_table("ttng")], _of("ttng"))
"""What NVIDIA's chips have besides."""
AMDG = Dialect("amdg", [*_table("amdg")])
"""What AMD's chips have besides."""
TTIG = Dialect("ttig", [*_table("ttig")], _of("ttig"))
"""What Intel's chips have besides."""
ROCDL = Dialect("rocdl", [*_table("rocdl")])
"""The little of LLVM's dialect for AMD's chips that Triton writes beside its own."""
GLUON = Dialect("gluon", [*_table("gluon")])
"""Layouts that the compiler is to find."""
NVWS = Dialect("nvws", [*_table("nvws")], [ArefType])
"""What groups of warps hand to one another on NVIDIA's chips, before it is shared memory and barriers."""
PROTON = Dialect("proton", [*_table("proton")])
"""What Triton's profiler measures."""
PROTON_GPU = Dialect("proton_gpu", [*_table("proton_gpu")], [SegmentType])
"""How it measures that."""
TRITON_GEN = Dialect("triton_gen", [*_table("triton_gen")])
"""Intel's instructions, as Triton's compiler for Intel's chips has them."""
TTI = Dialect("tti", [*_table("tti")])
"""What Triton's sanitizers watch."""
