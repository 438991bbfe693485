"""Modules of kernels, their functions, and what compiling makes of them.

    gpu.module @gemm [#xevm.target<chip = "pvc">] {
      gpu.func @gemm(%a : i64) workgroup(%w : memref<32xf32, 3>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
        gpu.return
      }
    }

`known_block_size` is a property of the function, though it is written among the attributes; so are `known_grid_size`
and `known_cluster_size`. Everything else in the braces is an attribute that the function carries.

>>> from layoutalg.ir import read_module
>>> module = read_module("gpu.module @m { gpu.func @f() kernel { gpu.return } }")
>>> [operation.sym_name.data for operation in module.ops.first.body.ops]
['f']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator, SymbolOpInterface, SymbolTable

from layoutalg.ir.assembly import print_attributes, split_attributes

__all__ = ["BinaryOp", "FuncOp", "ModuleOp", "parse_attributions", "print_attributions"]


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """The kernels that one compilation for a device takes."""

    name = "gpu.module"

    body = region_def("single_block")
    sym_name = prop_def(StringAttr)
    targets = opt_prop_def(ArrayAttr)
    offloading_handler = opt_prop_def(prop_name="offloadingHandler")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    @classmethod
    def of(cls, name: str, operations: Sequence[Operation]) -> ModuleOp:
        """A module of this name that holds these functions."""
        return cls.build(properties={"sym_name": StringAttr(name)}, regions=[Region(Block(operations))])

    @classmethod
    def parse(cls, parser: Parser) -> ModuleOp:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        properties |= _parse_handler(parser)
        targets = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        if targets is not None:
            properties["targets"] = ArrayAttr(targets)
        written = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.build(properties=properties, attributes=dict(written.data) if written else {}, regions=[region])

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        _print_handler(printer, self.offloading_handler)
        if self.targets is not None:
            printer.print_string(" ")
            printer.print_attribute(self.targets)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class BinaryOp(IRDLOperation):
    """What compiling made of a module: one object for each target."""

    name = "gpu.binary"

    sym_name = prop_def(StringAttr)
    offloading_handler = opt_prop_def(prop_name="offloadingHandler")
    objects = prop_def(ArrayAttr)

    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> BinaryOp:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        properties |= _parse_handler(parser)
        attributes = parser.parse_optional_attr_dict()
        objects = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        return cls.build(properties={**properties, "objects": ArrayAttr(objects)}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        _print_handler(printer, self.offloading_handler)
        print_attributes(printer, self)
        printer.print_string(" ")
        printer.print_attribute(self.objects)


def _parse_handler(parser: Parser) -> dict[str, Attribute]:
    """Read `<#gpu.select_object<0>>`, who chooses among the objects, if it is there."""
    if parser.parse_optional_punctuation("<") is None:
        return {}
    handler = parser.parse_attribute()
    parser.parse_punctuation(">")
    return {"offloadingHandler": handler}


def _print_handler(printer: Printer, handler: Attribute | None) -> None:
    if handler is not None:
        printer.print_string(" ")
        with printer.in_angle_brackets():
            printer.print_attribute(handler)


_NOTHING: Mapping[str, Attribute] = {}


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function of the device; with `gpu.kernel`, one that the host can launch."""

    name = "gpu.func"

    body = region_def()
    sym_name = attr_def(StringAttr)
    kernel = opt_attr_def(UnitAttr, attr_name="gpu.kernel")
    workgroup_attributions = opt_attr_def(IntegerAttr)
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    workgroup_attrib_attrs = opt_prop_def(ArrayAttr)
    private_attrib_attrs = opt_prop_def(ArrayAttr)
    known_block_size = opt_prop_def(DenseArrayBase)
    known_grid_size = opt_prop_def(DenseArrayBase)
    known_cluster_size = opt_prop_def(DenseArrayBase)

    traits = traits_def(IsolatedFromAbove(), HasParent(ModuleOp), SymbolOpInterface())

    @classmethod
    def create(
        cls,
        *,
        properties: Mapping[str, Attribute] = _NOTHING,
        attributes: Mapping[str, Attribute] = _NOTHING,
        **others: Any,
    ) -> FuncOp:
        """The function; its name, `kernel` and the number of shared buffers may be properties, as LLVM 23 and 24 have them."""
        properties, attributes = dict(properties), dict(attributes)
        for name in ("sym_name", "kernel", "workgroup_attributions"):
            if name in properties:
                attributes["gpu.kernel" if name == "kernel" else name] = properties.pop(name)
        attributes.setdefault("workgroup_attributions", IntegerAttr(0, 64))
        return super().create(properties=properties, attributes=attributes, **others)

    @classmethod
    def kernel_of(cls, name: str, body: Region, block_size: Sequence[int], subgroup_size: int) -> FuncOp:
        """A kernel with this body, launched with this many work-items per workgroup."""
        return cls.build(
            properties={
                "function_type": FunctionType.from_lists(body.block.arg_types, []),
                "known_block_size": DenseArrayBase.from_list(i32, list(block_size)),
            },
            attributes={
                "sym_name": StringAttr(name),
                "gpu.kernel": UnitAttr(),
                "intel_reqd_sub_group_size": IntegerAttr(subgroup_size, i32),
                "workgroup_attributions": IntegerAttr(0, 64),
            },
            regions=[body],
        )

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        """Read LLVM's syntax."""
        name = parser.parse_symbol_name()
        arguments, argument_attributes = _parse_arguments(parser)
        outputs, output_attributes = _parse_outputs(parser)
        shared, shared_attributes = parse_attributions(parser, "workgroup")
        private, private_attributes = parse_attributions(parser, "private")
        kernel = parser.parse_optional_keyword("kernel") is not None
        dictionary = parser.parse_optional_attr_dict_with_keyword(("sym_name", "function_type"))
        properties, attributes = split_attributes(cls, {}, dictionary.data if dictionary else {})
        properties["function_type"] = FunctionType.from_lists([argument.type for argument in arguments], outputs)
        for key, written in (
            ("arg_attrs", argument_attributes),
            ("res_attrs", output_attributes),
            ("workgroup_attrib_attrs", shared_attributes),
            ("private_attrib_attrs", private_attributes),
        ):
            if any(written):
                properties[key] = ArrayAttr([DictionaryAttr(own) for own in written])
        attributes |= {"sym_name": name, "workgroup_attributions": IntegerAttr(len(shared), 64)}
        if kernel:
            attributes["gpu.kernel"] = UnitAttr()
        region = parser.parse_region([*arguments, *shared, *private])
        return cls.build(properties=properties, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        count = len(self.function_type.inputs)
        shared = 0 if self.workgroup_attributions is None else self.workgroup_attributions.value.data
        arguments = self.body.blocks[0].args
        with printer.in_parens():
            _print_arguments(printer, arguments[:count], self.arg_attrs, ": ")
        outputs = self.function_type.outputs.data
        if outputs:
            printer.print_string(" -> ")
            with printer.in_parens():
                for position, output in enumerate(outputs):
                    printer.print_string(", " if position else "")
                    printer.print_attribute(output)
                    _print_own(printer, self.res_attrs, position)
        print_attributions(printer, "workgroup", arguments[count : count + shared], self.workgroup_attrib_attrs)
        print_attributions(printer, "private", arguments[count + shared :], self.private_attrib_attrs)
        if self.kernel is not None:
            printer.print_string(" kernel")
        shown = {**self.attributes, **self.properties}
        for name in _WRITTEN_ELSEWHERE:
            shown.pop(name, None)
        printer.print_op_attributes({name: shown[name] for name in sorted(shown)}, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=True)


_WRITTEN_ELSEWHERE = (
    "sym_name",
    "function_type",
    "gpu.kernel",
    "workgroup_attributions",
    "arg_attrs",
    "res_attrs",
    "workgroup_attrib_attrs",
    "private_attrib_attrs",
)

_Written = tuple[list[Parser.Argument], list[dict[str, Attribute]]]


def _parse_argument(parser: Parser) -> tuple[Parser.Argument, dict[str, Attribute]]:
    return parser.parse_argument(), parser.parse_optional_dictionary_attr_dict()


def _parse_arguments(parser: Parser) -> _Written:
    written = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
    return [argument for argument, _ in written], [attributes for _, attributes in written]


def _parse_outputs(parser: Parser) -> tuple[list[Attribute], list[dict[str, Attribute]]]:
    """Read `-> f32` or `-> (f32 {note}, i32)` if it is there."""
    if parser.parse_optional_punctuation("->") is None:
        return [], []
    found = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, lambda: (parser.parse_type(), parser.parse_optional_dictionary_attr_dict())
    )
    if found is None:
        return [parser.parse_type()], []
    return [kind for kind, _ in found], [attributes for _, attributes in found]


def parse_attributions(parser: Parser, keyword: str) -> _Written:
    """Read `workgroup(%w : memref<32xf32, 3>)`: buffers that a function or a launch has for itself."""
    return ([], []) if parser.parse_optional_keyword(keyword) is None else _parse_arguments(parser)


def print_attributions(
    printer: Printer, keyword: str, arguments: Sequence[SSAValue], attributes: ArrayAttr | None
) -> None:
    """Write `workgroup(%w : memref<32xf32, 3>)`, or nothing without buffers."""
    if arguments:
        printer.print_string(f" {keyword}")
        with printer.in_parens():
            _print_arguments(printer, arguments, attributes, " : ")


def _print_arguments(
    printer: Printer, arguments: Sequence[SSAValue], attributes: ArrayAttr | None, between: str
) -> None:
    for position, argument in enumerate(arguments):
        printer.print_string(", " if position else "")
        printer.print_ssa_value(argument)
        printer.print_string(between)
        printer.print_attribute(argument.type)
        _print_own(printer, attributes, position)


def _print_own(printer: Printer, attributes: ArrayAttr | None, position: int) -> None:
    own = attributes.data[position] if attributes is not None and position < len(attributes.data) else None
    printer.print_op_attributes(own.data if isinstance(own, DictionaryAttr) else {})
