"""The pieces of syntax that gpu operations share: asynchronous tokens, dimensions, how values are combined.

    %t = gpu.memcpy async [%s] %to, %from : memref<8xf32>, memref<8xf32>

`async` in front of an operation says that it gives a token when it starts; `[%s]` are the tokens that it waits for.

>>> from layoutalg.ir import read_module
>>> text = "%s = gpu.wait async %t = gpu.wait async [%s]"
>>> [str(result.type) for operation in read_module(text).ops for result in operation.results]
['!gpu.async.token', '!gpu.async.token']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i32
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OptionalOperandVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.gpu.attributes import (
    AllReduceOperation,
    AllReduceOperationAttr,
    BarrierScopeAttr,
    BroadcastType,
    BroadcastTypeAttr,
)

__all__ = [
    "AsyncDependencies",
    "Broadcast",
    "Cluster",
    "PrintedValues",
    "ReductionKind",
    "Scope",
    "UpperBound",
    "print_async",
]


def print_async(printer: Printer, given: bool, tokens: Sequence[SSAValue]) -> None:
    """Write ` async [%s, %t]`: whether the operation gives a token, and the tokens that it waits for."""
    printer.print_string(" async" if given else "")
    if tokens:
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(tokens, printer.print_ssa_value)


@irdl_custom_directive
class AsyncDependencies(CustomDirective):
    """`async [%s, %t]`: whether the operation gives a token, and the tokens that it waits for."""

    token: TypeDirective
    dependencies: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read what is there of it."""
        given = parser.parse_optional_keyword("async") is not None
        self.token.set(state, (AsyncTokenType(),) if given else ())
        found = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        self.dependencies.set(state, found or [])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write what is there of it."""
        print_async(printer, bool(self.token.get(op)), self.dependencies.get(op))
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class UpperBound(CustomDirective):
    """`upper_bound 64`, a number that the result stays below, or nothing."""

    bound: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the bound if there is one."""
        if parser.parse_optional_keyword("upper_bound") is not None:
            self.bound.set(state, IntegerAttr(parser.parse_integer(allow_boolean=False), IndexType()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the bound if there is one."""
        bound = self.bound.get(op)
        if isinstance(bound, IntegerAttr):
            state.print_whitespace(printer)
            printer.print_string(f"upper_bound {bound.value.data}")


@irdl_custom_directive
class ReductionKind(CustomDirective):
    """`add`, how values are combined, or nothing."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word if there is one."""
        word = parser.parse_optional_str_enum(AllReduceOperation)
        if word is not None:
            self.kind.set(state, AllReduceOperationAttr(word))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word if there is one."""
        kind = self.kind.get(op)
        if isinstance(kind, AllReduceOperationAttr):
            state.print_whitespace(printer)
            printer.print_string(str(kind.data))


@irdl_custom_directive
class Cluster(CustomDirective):
    """`cluster(size = 8, stride = 4)`: which lanes of a subgroup combine their values; nothing for all of them."""

    size: AttributeVariable
    stride: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the cluster if there is one."""
        if parser.parse_optional_keyword("cluster") is None:
            return
        with parser.in_parens():
            self._number(parser, state, "size", self.size)
            if parser.parse_optional_punctuation(",") is not None:
                self._number(parser, state, "stride", self.stride)

    def _number(self, parser: Parser, state: ParsingState, word: str, into: AttributeVariable) -> None:
        parser.parse_keyword(word)
        parser.parse_punctuation("=")
        into.set(state, IntegerAttr(parser.parse_integer(allow_boolean=False), i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the cluster if there is one."""
        size, stride = self.size.get(op), self.stride.get(op)
        if not isa(size, IntegerAttr[IntegerType]):
            return
        printer.print_string(f" cluster(size = {size.value.data}")
        if isa(stride, IntegerAttr[IntegerType]) and stride.value.data != 1:
            printer.print_string(f", stride = {stride.value.data}")
        printer.print_string(")")
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Scope(CustomDirective):
    """`scope <subgroup>`: who waits for each other, or nothing for the workgroup."""

    scope: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the scope if there is one."""
        if parser.parse_optional_keyword("scope") is not None:
            self.scope.set(state, BarrierScopeAttr(BarrierScopeAttr.parse_parameter(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the scope unless it is the workgroup."""
        scope = self.scope.get(op)
        if isinstance(scope, BarrierScopeAttr) and scope != self.scope.default_value:
            printer.print_string(" scope ")
            scope.print_parameter(printer)


@irdl_custom_directive
class Broadcast(CustomDirective):
    """`specific_lane %n`: whose value all lanes receive."""

    kind: AttributeVariable
    lane: OptionalOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word, and the lane if there is one."""
        self.kind.set(state, BroadcastTypeAttr(parser.parse_str_enum(BroadcastType)))
        lane = parser.parse_optional_unresolved_operand()
        self.lane.set(state, lane)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word, and the lane if there is one."""
        state.print_whitespace(printer)
        printer.print_string(str(cast("BroadcastTypeAttr", self.kind.get(op)).data))
        lane = self.lane.get(op)
        if lane is not None:
            printer.print_string(" ")
            printer.print_ssa_value(lane)


_TYPED_VALUES = re.compile(r"\s*+(?:%[\w$.-]++(?:#\d++)?\s*+,?\s*+)++:\s*+[a-z!]")
"""Values with their types, and not the results of the next operation."""


@irdl_custom_directive
class PrintedValues(CustomDirective):
    """`, %x, %n : f32, i32`: what a format prints; without the first comma, as LLVM 19 wrote it, too."""

    values: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the values and their types if there are any."""
        operands: list[UnresolvedOperand] = []
        types: list[Attribute] = []
        text = parser.lexer.input.content
        if parser.parse_optional_punctuation(",") is not None or _TYPED_VALUES.match(text, parser.pos):
            operands += parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
            parser.parse_punctuation(":")
            types += parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        self.values.set(state, operands)
        self.types.set(state, types)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the values and their types if there are any."""
        values = self.values.get(op)
        if values:
            printer.print_string(", ")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(self.types.get(op), printer.print_attribute)
