"""IREE's parallel control flow: what the workers of a scope do, and what they share.

    %r = pcf.loop scope(#iree_gpu.lane_scope) count(%n) execute(%ref = %init)[%i: index] : (!pcf.sref<4xf32>)
           -> (tensor<4xf32>) {
      pcf.write_slice %v into %ref[%i] [1] [1] : tensor<1xf32> into !pcf.sref<4xf32>
      pcf.return
    }

>>> from layoutalg.ir import read_module, write_module
>>> text = "pcf.generic scope(#iree_gpu.lane_scope) execute[%i: index, %n: index] { pcf.return }"
>>> print(write_module(read_module(text)).splitlines()[1].strip())
pcf.generic scope(#iree_gpu.lane_scope) execute[%i: index, %n: index] {
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, BoolAttr, IntegerAttr, ShapedType, i1, i64
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    RegionVariable,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.directives import IndexList
from layoutalg.ir.dialects.iree_directives import print_spaced
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS", "PCF"]


@irdl_custom_directive
class Sync(CustomDirective):
    """`sync true`, or nothing: whether the workers wait for one another at the end."""

    truth: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word and the value if they are there."""
        if parser.parse_optional_keyword("sync") is not None:
            self.truth.set(state, BoolAttr.from_bool(parser.parse_boolean()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word and the value where the workers wait."""
        if self.truth.get(op) == BoolAttr.from_bool(True):
            print_spaced(printer, state, "sync true")
            state.should_emit_space, state.last_was_punctuation = True, False


class _Body(CustomDirective):
    """What the workers of a scope do: `execute(%ref = %init, %new)[%i: index] : (T, U) -> (V, W{%d}) {...}`."""

    inits: VariadicOperandVariable
    init_types: TypeDirective
    sizes: VariadicOperandVariable
    results: TypeDirective
    tied: AttributeVariable
    region: RegionVariable

    def read_body(self, parser: Parser, state: ParsingState, leading: Sequence[Parser.Argument]) -> int:
        """Read `execute...`; how many arguments the workers' numbers are."""
        parser.parse_keyword("execute")
        names: list[UnresolvedOperand] = []
        inits: list[UnresolvedOperand | None] = []

        def reference() -> None:
            names.append(parser.parse_unresolved_operand())
            tied = parser.parse_optional_punctuation("=") is not None
            inits.append(parser.parse_unresolved_operand() if tied else None)

        parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, reference)
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_argument)
        references: list[Parser.Argument] = []
        kinds: list[Attribute] = []
        sizes: list[UnresolvedOperand] = []
        if names:
            parser.parse_punctuation(":")
            start = parser.pos
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            if len(types) != len(names):
                parser.raise_error(f"{len(names)} references and {len(types)} types", start)
            references = [Parser.Argument(name.span, kind) for name, kind in zip(names, types, strict=True)]
            parser.parse_punctuation("->")

            def result() -> None:
                kinds.append(parser.parse_type())
                braces = parser.Delimiter.BRACES
                sizes.extend(parser.parse_optional_comma_separated_list(braces, parser.parse_unresolved_operand) or ())

            start = parser.pos
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, result)
            if len(kinds) != len(names):
                parser.raise_error(f"{len(names)} references and {len(kinds)} results", start)
        pairs = zip(inits, kinds, strict=True)
        self.inits.set(state, [init for init in inits if init is not None])
        self.init_types.inner.set_types(state, [kind for init, kind in pairs if init is not None])
        self.sizes.set(state, sizes)
        self.results.inner.set_types(state, kinds)
        self.tied.set(state, ArrayAttr([BoolAttr.from_bool(init is not None) for init in inits]))
        self.region.set(state, parser.parse_region([*leading, *references, *indices]))
        return len(indices)

    def print_body(self, printer: Printer, state: PrintingState, op: IRDLOperation, leading: int) -> None:
        """Write `execute...`."""
        region = self.region.get(op)
        kinds: Sequence[Attribute] = self.results.get(op)
        arguments: Sequence[SSAValue] = region.blocks[0].args[leading:] if region.blocks else ()
        references, indices = arguments[: len(kinds)], arguments[len(kinds) :]
        tied: Any = self.tied.get(op)
        flags = [flag == BoolAttr.from_bool(True) for flag in tied.data] if isa(tied, ArrayAttr[Attribute]) else []
        flags += [False] * (len(kinds) - len(flags))
        inits, sizes = iter(self.inits.get(op)), iter(self.sizes.get(op))
        print_spaced(printer, state, "execute")
        if kinds:
            printer.print_string("(")
            for place, (reference, flag) in enumerate(zip(references, flags, strict=True)):
                printer.print_string(", " if place else "")
                printer.print_ssa_value(reference)
                if flag:
                    printer.print_string(" = ")
                    printer.print_ssa_value(next(inits))
            printer.print_string(")")
        with printer.in_square_brackets():
            printer.print_list(indices, printer.print_block_argument)
        if kinds:
            printer.print_string(" : (")
            printer.print_list([one.type for one in references], printer.print_attribute)
            printer.print_string(") -> (")
            for place, (kind, flag) in enumerate(zip(kinds, flags, strict=True)):
                printer.print_string(", " if place else "")
                printer.print_attribute(kind)
                open_sizes = (
                    0 if flag or not isinstance(kind, ShapedType) else list(kind.get_shape()).count(DYNAMIC_INDEX)
                )
                if open_sizes:
                    with printer.in_braces():
                        printer.print_list([next(sizes) for _ in range(open_sizes)], printer.print_ssa_value)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(region, print_entry_block_args=False)
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class LoopBody(_Body):
    """The body of `pcf.loop`."""

    inits: VariadicOperandVariable
    init_types: TypeDirective
    sizes: VariadicOperandVariable
    results: TypeDirective
    tied: AttributeVariable
    region: RegionVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the body."""
        self.read_body(parser, state, ())

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the body."""
        self.print_body(printer, state, op, 0)


@irdl_custom_directive
class ExecutionBody(_Body):
    """The body of `pcf.generic`; `-> (%a: T)` in front are what the initializer gives."""

    inits: VariadicOperandVariable
    init_types: TypeDirective
    sizes: VariadicOperandVariable
    results: TypeDirective
    tied: AttributeVariable
    region: RegionVariable
    leading: AttributeVariable
    counted: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the body."""
        given: Sequence[Parser.Argument] = ()
        if parser.parse_optional_punctuation("->") is not None:
            given = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        self.leading.set(state, IntegerAttr(len(given), i64))
        self.counted.set(state, IntegerAttr(self.read_body(parser, state, given), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the body."""
        number: Any = self.leading.get(op)
        leading = 0 if number is None else number.value.data
        if leading:
            print_spaced(printer, state, "-> (")
            printer.print_list(self.region.get(op).blocks[0].args[:leading], printer.print_block_argument)
            printer.print_string(")")
            state.should_emit_space, state.last_was_punctuation = True, False
        self.print_body(printer, state, op, leading)


@irdl_op_definition
class CondReturnOp(IRDLOperation):
    """The end of what a worker does where the condition is true; else it goes on with a block."""

    name = "pcf.br.cond_return"

    condition = operand_def(i1)
    dest_operands = var_operand_def()
    dest = successor_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "$condition $dest (`(` $dest_operands^ `:` type($dest_operands) `)`)? attr-dict"


OPERATIONS = (*define(__name__, "pcf", directives=(ExecutionBody, IndexList, LoopBody, Sync)), CondReturnOp)
"""The classes of the table, and the one with a successor."""

PCF = Dialect("pcf", list(OPERATIONS))
"""The dialect."""
