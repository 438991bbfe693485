"""The xevm dialect: what LLVM's pipeline makes of XeGPU at lane level, with LLVM's syntax.

    %0 = xevm.blockload2d %p, %w, %h, %pitch, %x, %y <{elem_size_in_bits = 16 : i32, ...}> : (!llvm.ptr<1>, i32, ...) -> ...
    %1 = xevm.mma %a, %b, %c {shape = <m = 8, n = 16, k = 16>, types = <d = f32, a = f16, b = f16, c = f32>} : ...

Cache hints and memory spaces are attributes whose text is kept.

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%l = xevm.lane_id : i32")).splitlines()[1].strip())
%l = xevm.lane_id : i32
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.xevm_scaled import ATTRIBUTES, SCALED

__all__ = [
    "XEVM",
    "BlockLoad2dOp",
    "BlockLoadOp",
    "BlockPrefetch2dOp",
    "BlockStore2dOp",
    "BlockStoreOp",
    "GroupCountXOp",
    "GroupCountYOp",
    "GroupCountZOp",
    "GroupIdXOp",
    "GroupIdYOp",
    "GroupIdZOp",
    "LaneIdOp",
    "LocalIdXOp",
    "LocalIdYOp",
    "LocalIdZOp",
    "LocalSizeXOp",
    "LocalSizeYOp",
    "LocalSizeZOp",
    "MMAOp",
    "MMAShapeAttr",
    "MMATypesAttr",
    "MemfenceOp",
    "PrefetchOp",
    "SubgroupIdOp",
    "SubgroupSizeOp",
]


@irdl_attr_definition
class MMAShapeAttr(ParametrizedAttribute):
    """`#xevm.mma_shape<m = 8, n = 16, k = 16>`: the extents of a product."""

    name = "xevm.mma_shape"

    m: IntAttr
    n: IntAttr
    k: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<m = 8, n = 16, k = 16>`."""
        with parser.in_angle_brackets():
            found: list[Attribute] = []
            for letter in "mnk":
                if found:
                    parser.parse_punctuation(",")
                parser.parse_keyword(letter)
                parser.parse_punctuation("=")
                found.append(IntAttr(parser.parse_integer(allow_boolean=False)))
        return found

    def print_parameters(self, printer: Printer) -> None:
        """Write `<m = 8, n = 16, k = 16>`."""
        printer.print_string(f"<m = {self.m.data}, n = {self.n.data}, k = {self.k.data}>")


@irdl_attr_definition
class MMATypesAttr(ParametrizedAttribute):
    """`#xevm.mma_types<d = f32, a = f16, b = f16, c = f32>`: the element types of a product; c only with an accumulator."""

    name = "xevm.mma_types"

    types: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<d = f32, a = f16, b = f16, c = f32>`."""
        with parser.in_angle_brackets():
            found: list[Attribute] = []
            for letter in "dabc":
                if found and parser.parse_optional_punctuation(",") is None:
                    break
                parser.parse_keyword(letter)
                parser.parse_punctuation("=")
                found.append(StringAttr(parser.parse_identifier("an element type, such as f16 or s8")))
        return [ArrayAttr(found)]

    def print_parameters(self, printer: Printer) -> None:
        """Write `<d = f32, a = f16, b = f16, c = f32>`."""
        with printer.in_angle_brackets():
            for position, (letter, kind) in enumerate(zip("dabc", self.types.data, strict=False)):
                printer.print_string(f"{', ' if position else ''}{letter} = ")
                printer.print_string(kind.data if isinstance(kind, StringAttr) else str(kind))


class _CallOp(IRDLOperation, ABC):
    """An operation that is written like a call: operands, `<{...}>`, and all types."""

    arguments = var_operand_def()
    results_ = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> _CallOp:
        """Read LLVM's syntax."""
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        properties = parser.parse_optional_properties_dict()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        results = [parser.parse_type()] if parser.parse_optional_punctuation("->") is not None else []
        resolved = parser.resolve_operands(operands, types, start)
        return cls.build(operands=[resolved], result_types=[results], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.arguments, printer.print_ssa_value)
        _print_properties(printer, self)
        print_attributes(printer, self)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list(self.arguments.types, printer.print_attribute)
        if self.results:
            printer.print_string(" -> ")
            printer.print_attribute(self.results[0].type)


def _print_properties(printer: Printer, operation: IRDLOperation) -> None:
    """Write `<{...}>`, or nothing without inherent attributes."""
    if operation.properties:
        printer.print_string(" ")
        with printer.in_angle_brackets():
            printer.print_attr_dict({name: operation.properties[name] for name in sorted(operation.properties)})


class _Block2dOp(_CallOp, ABC):
    elem_size_in_bits = opt_prop_def(IntegerAttr)
    tile_width = opt_prop_def(IntegerAttr)
    tile_height = opt_prop_def(IntegerAttr)
    v_blocks = opt_prop_def(IntegerAttr)
    transpose = opt_prop_def(BoolAttr)
    pack_register = opt_prop_def(BoolAttr)
    cache_control = opt_prop_def()


@irdl_op_definition
class BlockLoad2dOp(_Block2dOp):
    """Read a block of a surface."""

    name = "xevm.blockload2d"

    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class BlockStore2dOp(_Block2dOp):
    """Write a block of a surface."""

    name = "xevm.blockstore2d"

    traits = traits_def(MemoryWriteEffect())


@irdl_op_definition
class BlockPrefetch2dOp(_Block2dOp):
    """Ask for a block of a surface to be brought into the cache."""

    name = "xevm.blockprefetch2d"

    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class BlockLoadOp(_CallOp):
    """Read neighbours, one after the other over the lanes."""

    name = "xevm.blockload"

    cache_control = opt_prop_def()

    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class BlockStoreOp(_CallOp):
    """Write neighbours, one after the other over the lanes."""

    name = "xevm.blockstore"

    cache_control = opt_prop_def()

    traits = traits_def(MemoryWriteEffect())


@irdl_op_definition
class PrefetchOp(_CallOp):
    """Ask for an address to be brought into the cache."""

    name = "xevm.prefetch"

    addrspace = opt_prop_def()
    cache_control = opt_prop_def()

    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class MemfenceOp(IRDLOperation):
    """Let others see what was written."""

    name = "xevm.memfence"

    scope = opt_prop_def()
    addrspace = opt_prop_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> MemfenceOp:
        """Read LLVM's syntax."""
        properties = parser.parse_optional_properties_dict()
        return cls.build(properties=properties, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        _print_properties(printer, self)
        print_attributes(printer, self)


@irdl_op_definition
class MMAOp(IRDLOperation):
    """A product of two matrices, added to a third."""

    name = "xevm.mma"

    arguments = var_operand_def()
    shape = opt_prop_def(MMAShapeAttr)
    types = opt_prop_def(MMATypesAttr)
    d = result_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> MMAOp:
        """Read LLVM's syntax."""
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        properties: dict[str, Attribute] = {}
        with parser.in_braces():
            parser.parse_keyword("shape")
            parser.parse_punctuation("=")
            properties["shape"] = MMAShapeAttr.new(MMAShapeAttr.parse_parameters(parser))
            parser.parse_punctuation(",")
            parser.parse_keyword("types")
            parser.parse_punctuation("=")
            properties["types"] = MMATypesAttr.new(MMATypesAttr.parse_parameters(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_function_type()
        resolved = parser.resolve_operands(operands, kind.inputs.data, start)
        return cls.build(
            operands=[resolved], result_types=list(kind.outputs.data), properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.arguments, printer.print_ssa_value)
        printer.print_string(" {shape = ")
        if self.shape is not None:
            self.shape.print_parameters(printer)
        printer.print_string(", types = ")
        if self.types is not None:
            self.types.print_parameters(printer)
        printer.print_string("}")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_operation_type(self)


class _NumberOp(IRDLOperation, ABC):
    """A number that the hardware gives."""

    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class LaneIdOp(_NumberOp):
    """Which lane of the subgroup this is."""

    name = "xevm.lane_id"


@irdl_op_definition
class SubgroupIdOp(_NumberOp):
    """Which subgroup of the workgroup this is."""

    name = "xevm.subgroup_id"


@irdl_op_definition
class SubgroupSizeOp(_NumberOp):
    """How many lanes a subgroup has."""

    name = "xevm.subgroup_size"


@irdl_op_definition
class LocalIdXOp(_NumberOp):
    """Which work-item of the workgroup this is, along x."""

    name = "xevm.local_id.x"


@irdl_op_definition
class LocalIdYOp(_NumberOp):
    """Which work-item of the workgroup this is, along y."""

    name = "xevm.local_id.y"


@irdl_op_definition
class LocalIdZOp(_NumberOp):
    """Which work-item of the workgroup this is, along z."""

    name = "xevm.local_id.z"


@irdl_op_definition
class LocalSizeXOp(_NumberOp):
    """How many work-items a workgroup has, along x."""

    name = "xevm.local_size.x"


@irdl_op_definition
class LocalSizeYOp(_NumberOp):
    """How many work-items a workgroup has, along y."""

    name = "xevm.local_size.y"


@irdl_op_definition
class LocalSizeZOp(_NumberOp):
    """How many work-items a workgroup has, along z."""

    name = "xevm.local_size.z"


@irdl_op_definition
class GroupIdXOp(_NumberOp):
    """Which workgroup this is, along x."""

    name = "xevm.group_id.x"


@irdl_op_definition
class GroupIdYOp(_NumberOp):
    """Which workgroup this is, along y."""

    name = "xevm.group_id.y"


@irdl_op_definition
class GroupIdZOp(_NumberOp):
    """Which workgroup this is, along z."""

    name = "xevm.group_id.z"


@irdl_op_definition
class GroupCountXOp(_NumberOp):
    """How many workgroups there are, along x."""

    name = "xevm.group_count.x"


@irdl_op_definition
class GroupCountYOp(_NumberOp):
    """How many workgroups there are, along y."""

    name = "xevm.group_count.y"


@irdl_op_definition
class GroupCountZOp(_NumberOp):
    """How many workgroups there are, along z."""

    name = "xevm.group_count.z"


XEVM = Dialect(
    "xevm",
    [
        BlockLoad2dOp,
        BlockLoadOp,
        BlockPrefetch2dOp,
        BlockStore2dOp,
        BlockStoreOp,
        GroupCountXOp,
        GroupCountYOp,
        GroupCountZOp,
        GroupIdXOp,
        GroupIdYOp,
        GroupIdZOp,
        LaneIdOp,
        LocalIdXOp,
        LocalIdYOp,
        LocalIdZOp,
        LocalSizeXOp,
        LocalSizeYOp,
        LocalSizeZOp,
        MMAOp,
        MemfenceOp,
        PrefetchOp,
        SubgroupIdOp,
        SubgroupSizeOp,
        *SCALED,
    ],
    [MMAShapeAttr, MMATypesAttr, *ATTRIBUTES],
)
"""The dialect."""
