"""Launches: of a kernel by its name, or of one that is written where it is launched.

    gpu.launch_func @kernels::@gemm blocks in (%x, %y, %one) threads in (%l, %one, %one) args(%a : memref<8xf32>)

>>> from layoutalg.ir import read_module
>>> module = read_module("%n = arith.constant 1 : index "
...                      "gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)")
>>> list(module.ops)[1].kernel.string_value()
'm.k'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, IntegerType, SymbolRefAttr, i32
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.gpu.directives import print_async
from layoutalg.ir.dialects.gpu.functions import parse_attributions, print_attributions

__all__ = ["LaunchFuncOp", "LaunchOp"]

_INDEX = IndexType()


def _parse_async(parser: Parser) -> tuple[list[Attribute], Sequence[SSAValue]]:
    """Read `async [%s]`: the result types and the tokens."""
    given: list[Attribute] = [AsyncTokenType()] if parser.parse_optional_keyword("async") is not None else []
    tokens = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_operand(AsyncTokenType())
    )
    return given, tokens or []


def _parse_sizes(parser: Parser) -> list[UnresolvedOperand]:
    """Read `in (%x, %y, %z)`."""
    parser.parse_keyword("in")
    start = parser.pos
    sizes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    if len(sizes) != 3:
        parser.raise_error(f"expected three sizes, found {len(sizes)}", start, parser.pos)
    return sizes


def _optional(value: SSAValue | None) -> list[SSAValue]:
    return [] if value is None else [value]


@irdl_op_definition
class LaunchFuncOp(IRDLOperation):
    """Launch a kernel of a `gpu.module`."""

    name = "gpu.launch_func"

    async_dependencies = var_operand_def(AsyncTokenType())
    grid_size_x = operand_def()
    grid_size_y = operand_def()
    grid_size_z = operand_def()
    block_size_x = operand_def()
    block_size_y = operand_def()
    block_size_z = operand_def()
    cluster_size_x = opt_operand_def()
    cluster_size_y = opt_operand_def()
    cluster_size_z = opt_operand_def()
    dynamic_shared_memory_size = opt_operand_def()
    kernel_operands = var_operand_def()
    async_object = opt_operand_def()
    kernel = prop_def(SymbolRefAttr)
    async_token = opt_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchFuncOp:
        """Read LLVM's syntax."""
        results, tokens = _parse_async(parser)
        stream: list[SSAValue] = []
        if parser.parse_optional_punctuation("<") is not None:
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            stream.append(parser.resolve_operand(operand, parser.parse_type()))
            parser.parse_punctuation(">")
        start = parser.pos
        kernel = parser.parse_attribute()
        if not isinstance(kernel, SymbolRefAttr):
            parser.raise_error("expected the name of a kernel, like @module::@kernel", start, parser.pos)
        sizes: dict[str, list[UnresolvedOperand]] = {"clusters": []}
        if parser.parse_optional_keyword("clusters") is not None:
            sizes["clusters"] = _parse_sizes(parser)
        for word in ("blocks", "threads"):
            parser.parse_keyword(word)
            sizes[word] = _parse_sizes(parser)
        kind: Attribute = _INDEX
        if parser.parse_optional_punctuation(":") is not None:
            kind = parser.parse_type()
        resolved = {word: [parser.resolve_operand(size, kind) for size in found] for word, found in sizes.items()}
        shared: list[SSAValue] = []
        if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
            shared.append(parser.parse_operand(i32))
        arguments: list[SSAValue] = []
        if parser.parse_optional_keyword("args") is not None:
            arguments += parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_typed(parser))
        clusters = [[size] for size in resolved["clusters"]] or [[], [], []]
        return cls.build(
            operands=[tokens, *resolved["blocks"], *resolved["threads"], *clusters, shared, arguments, stream],
            result_types=[results],
            properties={"kernel": kernel},
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        print_async(printer, self.async_token is not None, self.async_dependencies)
        if self.async_object is not None:
            printer.print_string(" ")
            with printer.in_angle_brackets():
                _print_typed(printer, self.async_object)
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        clusters = [*_optional(self.cluster_size_x), *_optional(self.cluster_size_y), *_optional(self.cluster_size_z)]
        if clusters:
            _print_sizes(printer, "clusters", clusters)
        _print_sizes(printer, "blocks", [self.grid_size_x, self.grid_size_y, self.grid_size_z])
        _print_sizes(printer, "threads", [self.block_size_x, self.block_size_y, self.block_size_z])
        if self.grid_size_x.type != _INDEX:
            printer.print_string(" : ")
            printer.print_attribute(self.grid_size_x.type)
        if self.dynamic_shared_memory_size is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_ssa_value(self.dynamic_shared_memory_size)
        if self.kernel_operands:
            printer.print_string(" args")
            with printer.in_parens():
                printer.print_list(self.kernel_operands, lambda operand: _print_typed(printer, operand))
        print_attributes(printer, self)


def _parse_typed(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def _print_sizes(printer: Printer, word: str, sizes: Sequence[SSAValue]) -> None:
    printer.print_string(f" {word} in ")
    with printer.in_parens():
        printer.print_list(sizes, printer.print_ssa_value)


_NOTHING: Mapping[str, Attribute] = {}
_WITHOUT_STREAM = 11
"""Kinds of operands of a launch before LLVM 24."""


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Launch a kernel whose body stands here.

    The body's arguments are the numbers of the workgroup and of the work-item, then how many there are of each; with
    clusters the same for these; then the buffers of the workgroup and those of the work-item.
    """

    name = "gpu.launch"

    async_dependencies = var_operand_def(AsyncTokenType())
    grid_size_x = operand_def(_INDEX)
    grid_size_y = operand_def(_INDEX)
    grid_size_z = operand_def(_INDEX)
    block_size_x = operand_def(_INDEX)
    block_size_y = operand_def(_INDEX)
    block_size_z = operand_def(_INDEX)
    cluster_size_x = opt_operand_def(_INDEX)
    cluster_size_y = opt_operand_def(_INDEX)
    cluster_size_z = opt_operand_def(_INDEX)
    dynamic_shared_memory_size = opt_operand_def(i32)
    async_object = opt_operand_def()
    module = opt_prop_def(SymbolRefAttr)
    function = opt_prop_def(SymbolRefAttr)
    workgroup_attributions = opt_attr_def(IntegerAttr)
    body = region_def()
    async_token = opt_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def create(
        cls,
        *,
        properties: Mapping[str, Attribute] = _NOTHING,
        attributes: Mapping[str, Attribute] = _NOTHING,
        **others: Any,
    ) -> LaunchOp:
        """The launch; LLVM 22 and 23 do not count the stream, 24 has the number of shared buffers as a property."""
        properties, attributes = dict(properties), dict(attributes)
        segments = properties.get("operandSegmentSizes")
        if isa(segments, DenseArrayBase[IntegerType]) and len(segments) == _WITHOUT_STREAM:
            properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [*segments.get_values(), 0])
        shared = properties.pop("workgroup_attributions", IntegerAttr(0, 64))
        attributes.setdefault("workgroup_attributions", shared)
        return super().create(properties=properties, attributes=attributes, **others)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        """Read LLVM's syntax."""
        results, tokens = _parse_async(parser)
        clusters: tuple[_Names, _Names, list[SSAValue]] = ([], [], [])
        if parser.parse_optional_keyword("clusters") is not None:
            clusters = _parse_assigned(parser)
        parser.parse_keyword("blocks")
        blocks = _parse_assigned(parser)
        parser.parse_keyword("threads")
        threads = _parse_assigned(parser)
        shared: list[SSAValue] = []
        if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
            shared.append(parser.parse_operand(i32))
        properties: dict[str, Attribute] = {}
        for word in ("module", "function"):
            if parser.parse_optional_keyword(word) is not None:
                with parser.in_parens():
                    properties[word] = parser.parse_attribute()
        workgroup, _ = parse_attributions(parser, "workgroup")
        private, _ = parse_attributions(parser, "private")
        names = [*blocks[0], *threads[0], *blocks[1], *threads[1], *clusters[0], *clusters[1]]
        arguments = [name.resolve(_INDEX) for name in names]
        region = parser.parse_region([*arguments, *workgroup, *private])
        attributes = {"workgroup_attributions": IntegerAttr(len(workgroup), 64), **parser.parse_optional_attr_dict()}
        optional = [[size] for size in clusters[2]] or [[], [], []]
        return cls.build(
            operands=[tokens, *blocks[2], *threads[2], *optional, shared, []],
            result_types=[results],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        print_async(printer, self.async_token is not None, self.async_dependencies)
        arguments = self.body.blocks[0].args
        clusters = [*_optional(self.cluster_size_x), *_optional(self.cluster_size_y), *_optional(self.cluster_size_z)]
        count = 18 if clusters else 12
        if clusters:
            _print_assigned(printer, "clusters", arguments[12:15], arguments[15:18], clusters)
        blocks = [self.grid_size_x, self.grid_size_y, self.grid_size_z]
        threads = [self.block_size_x, self.block_size_y, self.block_size_z]
        _print_assigned(printer, "blocks", arguments[:3], arguments[6:9], blocks)
        _print_assigned(printer, "threads", arguments[3:6], arguments[9:12], threads)
        if self.dynamic_shared_memory_size is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_ssa_value(self.dynamic_shared_memory_size)
        for word, symbol in (("module", self.module), ("function", self.function)):
            if symbol is not None:
                printer.print_string(f" {word}")
                with printer.in_parens():
                    printer.print_attribute(symbol)
        shared = self.workgroup_attributions.value.data if self.workgroup_attributions is not None else 0
        print_attributions(printer, "workgroup", arguments[count : count + shared], None)
        print_attributions(printer, "private", arguments[count + shared :], None)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        print_attributes(printer, self, hidden=["workgroup_attributions"])


_Names = list[Parser.UnresolvedArgument]


def _parse_assigned(parser: Parser) -> tuple[_Names, _Names, list[SSAValue]]:
    """Read `(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n)`: the numbers, the counts, the sizes."""
    start = parser.pos
    numbers = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_name(parser))
    parser.parse_keyword("in")
    counts: _Names = []
    sizes: list[SSAValue] = []

    def assigned() -> None:
        counts.append(_parse_name(parser))
        parser.parse_punctuation("=")
        sizes.append(parser.parse_operand(_INDEX))

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, assigned)
    if len(numbers) != 3 or len(sizes) != 3:
        parser.raise_error("expected three numbers and three sizes", start, parser.pos)
    return numbers, counts, sizes


def _parse_name(parser: Parser) -> Parser.UnresolvedArgument:
    return parser.parse_argument(expect_type=False)


def _print_assigned(
    printer: Printer, word: str, numbers: Sequence[SSAValue], counts: Sequence[SSAValue], sizes: Sequence[SSAValue]
) -> None:
    printer.print_string(f" {word}")
    with printer.in_parens():
        printer.print_list(numbers, printer.print_ssa_value)
    printer.print_string(" in (")
    for position, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        printer.print_string(", " if position else "")
        printer.print_ssa_value(count)
        printer.print_string(" = ")
        printer.print_ssa_value(size)
    printer.print_string(")")
