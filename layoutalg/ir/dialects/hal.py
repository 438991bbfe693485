"""What a kernel of IREE is wrapped into, and what the host gives to it: numbers, buffers, its workgroup's number.

    %id = hal.interface.workgroup.id[0] : index
    %m = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<16x32xf16>

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%n = hal.interface.workgroup.id[1] upper_bound 64 : index")).splitlines()[1].strip())
%n = hal.interface.workgroup.id[1] upper_bound 64 : index

The law: `write_module(read_module(text))` is a fixed point.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, i1
from xdsl.ir import Attribute, Dialect, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.dialects.iree_directives import Flags, HostRegion, Layout, Target, Visibility, read_signature
from layoutalg.ir.operations.classes import define

__all__ = ["HAL", "OPERATIONS", "ConditionOp", "ConstantBlockOp"]


def _print_arguments(printer: Printer, region: Region) -> None:
    with printer.in_parens():
        printer.print_list(region.blocks[0].args if region.blocks else (), printer.print_block_argument)


def _print_attributes(printer: Printer, operation: IRDLOperation) -> None:
    if operation.attributes:
        printer.print_string(" ")
        printer.print_op_attributes(operation.attributes, print_keyword=True)


def _kinds(arguments: Sequence[Parser.Argument]) -> Sequence[Attribute]:
    return [argument.type for argument in arguments]


@irdl_op_definition
class ConditionOp(IRDLOperation):
    """`hal.executable.condition(%device: !hal.device) -> i1 {...}`: whether a device can run the kernels of a target."""

    name = "hal.executable.condition"

    function_type = prop_def(FunctionType)
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> ConditionOp:
        """Read IREE's syntax."""
        arguments, kinds = read_signature(parser)
        if kinds != [i1]:
            parser.raise_error("target condition region must return one i1")
        region = parser.parse_region(arguments)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        signature = FunctionType.from_lists(_kinds(arguments), kinds)
        return cls.build(
            properties={"function_type": signature},
            regions=[region],
            attributes={} if attributes is None else attributes.data,
        )

    def print(self, printer: Printer) -> None:
        """Write IREE's syntax."""
        _print_arguments(printer, self.body)
        printer.print_string(" -> i1 ")
        printer.print_region(self.body, print_entry_block_args=False)
        _print_attributes(printer, self)


@irdl_op_definition
class ConstantBlockOp(IRDLOperation):
    """`hal.executable.constant.block(%device: !hal.device) -> (i32, i32) as ("a", "b") {...}`: what the host computes."""

    name = "hal.executable.constant.block"

    function_type = prop_def(FunctionType)
    keys = prop_def(ArrayAttr[StringAttr])
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> ConstantBlockOp:
        """Read IREE's syntax; one constant's key has no brackets."""
        arguments, kinds = read_signature(parser)
        parser.parse_keyword("as")
        keys = (
            [parser.parse_str_literal()]
            if len(kinds) == 1
            else parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_str_literal)
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.build(
            properties={
                "function_type": FunctionType.from_lists(_kinds(arguments), kinds),
                "keys": ArrayAttr([StringAttr(key) for key in keys]),
            },
            regions=[parser.parse_region(arguments)],
            attributes={} if attributes is None else attributes.data,
        )

    def print(self, printer: Printer) -> None:
        """Write IREE's syntax."""
        _print_arguments(printer, self.body)
        kinds, keys = self.function_type.outputs.data, self.keys.data
        for before, some in ((" -> ", kinds), (" as ", keys)):
            if len(kinds) == 1:
                printer.print_string(before)
                printer.print_attribute(some[0])
            elif some or before == " as ":
                printer.print_string(before)
                with printer.in_parens():
                    printer.print_list(some, printer.print_attribute)
        _print_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


OPERATIONS = (
    *define(__name__, "hal", directives=(Flags, HostRegion, Layout, Target, Visibility)),
    ConditionOp,
    ConstantBlockOp,
)
"""The classes of the table, and those that read themselves."""

HAL = Dialect("hal", list(OPERATIONS))
"""The dialect."""
