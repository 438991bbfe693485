"""Operations in LLVM's own words: `declared_operation` takes an `assembly_format` as LLVM's definitions have it.

Dictionaries come in two kinds. Inherent attributes (properties) are those that the operation knows; they stand in `<{...}>`.
Everything else stands in `{...}`. LLVM 22 and 23 read inherent ones there as well, and write them there where the format has no
`prop-dict`; 24 reads and writes them in `<{...}>` alone. So we read both, and write what the version reads:

>>> from layoutalg.ir import read_module, write_module
>>> values = '%a, %b = "test.op"() : () -> (vector<8x16xf16>, vector<16x16xf16>)'
>>> product = "%c = xegpu.dpas %a, %b {layout_a = #xegpu.layout<inst_data = [8, 16]>}"
>>> module = read_module(f"{values} {product} : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>")
>>> for llvm in (23, 24):
...     print(write_module(module, llvm=llvm).splitlines()[2].split(" : ")[0].strip())
%c = xegpu.dpas %a, %b {layout_a = #xegpu.layout<inst_data = [8, 16]>}
%c = xegpu.dpas %a, %b <{layout_a = #xegpu.layout<inst_data = [8, 16]>}>

The law: what an operation writes for a version of LLVM, it reads back as the same properties and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, IRDLOperation, ParsePropInAttrDict, irdl_op_definition
from xdsl.irdl.constraints import InferenceContext, VerificationContext
from xdsl.irdl.declarative_assembly_format import (
    AttrDictDirective,
    DenseArrayAttributeVariable,
    FormatDirective,
    FormatProgram,
    ParsingState,
    PrintingState,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.mlir_lexer import MLIRTokenKind

from layoutalg.core.llvm_versions import rules
from layoutalg.ir.operations.inherent import InherentDictionary
from layoutalg.ir.operations.numbers import Numbers
from layoutalg.ir.operations.old_spellings import note_old_spelling, note_refused_spelling
from layoutalg.ir.operations.program import Program
from layoutalg.ir.versions import printed_for

__all__ = ["INDEX", "Assumed", "declared_operation", "with_llvm_syntax"]

OperationT = TypeVar("OperationT", bound=IRDLOperation)


@dataclass(frozen=True)
class Assumed(AttrConstraint):
    """A type that the syntax leaves out; what the generic form says instead is for the verifier.

    >>> Assumed(IndexType()).infer(VerificationContext())
    IndexType()
    """

    type: Attribute

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Accept any type."""

    def can_infer(self, var_constraint_names: object) -> bool:
        """The type is always known."""
        return True

    def infer(self, context: InferenceContext) -> Attribute:
        """The type that the syntax leaves out."""
        return self.type

    def mapping_type_vars(self, type_var_mapping: object) -> Assumed:
        """The constraint has no type variables."""
        return self


INDEX = Assumed(IndexType())
"""The type of the values in an index list."""


_BEGINNINGS = (MLIRTokenKind.L_BRACE, MLIRTokenKind.LESS, MLIRTokenKind.HASH_IDENT, MLIRTokenKind.BARE_IDENT)
"""What dictionaries begin with: `{`, `<{`, `#alias`, `attributes {`."""


class _Dictionaries(AttrDictDirective):
    """`prop-dict attr-dict`, or `attr-dict` of an operation whose inherent attributes have no other place.

    What the syntax shows elsewhere may stand here too, and then this is what counts, as in LLVM (up to 23).
    """

    separate: bool = False

    def parse(self, parser: Parser, state: ParsingState) -> None:
        definition = state.op_type.get_irdl_definition()
        start = parser.pos
        if parser._current_token.kind not in _BEGINNINGS and not hasattr(state.op_type, "OLD_OPERATION"):  # pyright: ignore[reportPrivateUsage]
            return
        written = self._inherent(parser)
        other = self._other(parser, state.op_type)
        plain = next((name for name in definition.properties if name in other), None)  # LLVM asks in this order
        if plain is not None and not _is_loose(state.op_type):
            reason = "cannot be parsed from attr-dict when strict properties in assembly format is enabled"
            message = f"custom op '{state.op_type.name}' inherent attribute '{plain}' {reason}"
            note_refused_spelling(parser, (24,), message)
        for name, value in written.items():
            if name in definition.properties:
                state.properties[name] = value
            elif name in getattr(state.op_type, "OLD_ATTRIBUTES", ()):
                state.attributes[name] = value
            else:
                note_old_spelling(parser, f"`{name} = {value}`", "nothing, LLVM drops it")
        for name, value in other.items():
            into = state.properties if name in definition.properties else state.attributes
            into[name] = value
        _read_as_today(parser, state)
        for name in (*written, *other):
            value = state.properties.get(name)
            if value is not None and name in definition.properties:
                try:
                    definition.properties[name].constr.verify(value, state.context)
                except VerifyException:
                    words = f"Invalid attribute `{name}` in property conversion: {value}"
                    parser.raise_error(f"invalid properties for op {state.op_type.name}: {words}", start)

    def _inherent(self, parser: Parser) -> dict[str, Attribute]:
        """Read `<{...}>`, which LLVM takes where inherent attributes have no place of their own."""
        if not self.separate and not self.expected_properties:
            return {}
        written = _inherent(parser)
        if written and not self.separate:
            note_refused_spelling(parser, (22, 23), "expected ':'")
        return written

    def _other(self, parser: Parser, op_type: type[IRDLOperation]) -> dict[str, Attribute]:
        if not self.with_keyword:
            alias = _alias_of_dictionary(parser, op_type)
            return parser.parse_optional_attr_dict() if alias is None else alias
        found = parser.parse_optional_attr_dict_with_keyword()
        return {} if found is None else dict(found.data)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        definition = op.get_irdl_definition()
        inherent = {
            name: value
            for name, value in sorted(op.properties.items())
            if name in self.expected_properties and value != definition.properties[name].default_value
        }
        other = {name: op.attributes[name] for name in sorted(op.attributes)}
        strict = rules(printed_for(printer)).strict_properties and not _is_loose(type(op))
        if inherent and (self.separate or strict):
            printer.print_string(" ")
            with printer.in_angle_brackets():
                printer.print_attr_dict(inherent)
        else:
            both = {**inherent, **other}
            other = {name: both[name] for name in sorted(both)}
        printed = printer.print_op_attributes(
            other, reserved_attr_names=self.reserved_attr_names, print_keyword=self.with_keyword
        )
        if printed or inherent:
            state.last_was_punctuation = False
            state.should_emit_space = True


def _is_loose(operation: type[Any]) -> bool:
    """Whether no compiler wants its inherent attributes in `<{...}>`: it went before LLVM 24, or its syntax is not strict."""
    return getattr(operation, "LOOSE", False)


def _alias_of_dictionary(parser: Parser, op_type: type[IRDLOperation]) -> dict[str, Attribute] | None:
    """Read `#trait`, an alias of a dictionary, as the pages of `vector.contract` and `iree_gpu.multi_mma` write it."""
    if parser.lexer.input.content[parser.pos : parser.pos + 1] != "#":
        return None
    start = parser.pos
    found = parser.parse_attribute()
    if isinstance(found, DictionaryAttr):
        return dict(found.data)
    if "attr-dict custom<" not in (op_type.assembly_format or ""):
        parser.raise_error("expected a dictionary of attributes", start)
    parser._resume_from(start)  # pyright: ignore[reportPrivateUsage] (it comes after the dictionary: `arith.constant #zero`)
    return None


def _inherent(parser: Parser) -> dict[str, Attribute]:
    """Read `<{a = 1, b}>`, or `<a = 1, b = unit>` as LLVM writes it from autumn 2026 on; nothing is an empty dictionary."""
    if parser.parse_optional_punctuation("<") is None:
        return {}
    found = parser.parse_optional_attr_dict()
    if not found:
        while (name := parser.parse_optional_identifier()) is not None:
            given = parser.parse_optional_punctuation("=") is not None
            found[name] = parser.parse_attribute() if given else UnitAttr()
            if parser.parse_optional_punctuation(",") is None:
                break
    parser.parse_punctuation(">")
    return found


def _read_as_today(parser: Parser, state: ParsingState) -> None:
    """Put what older pages write into today's inherent attributes, each with a note."""
    gone: str | None = getattr(state.op_type, "OLD_OPERATION", None)
    if gone is not None:
        note_old_spelling(parser, f"`{state.op_type.name}`", gone)
    for name, value in state.properties.items():
        if not isinstance(value, ArrayAttr):
            continue
        expected = state.op_type.get_irdl_definition().properties[name].constr.get_bases() or ()
        if DenseArrayBase in expected and isa(value, ArrayAttr[IntegerAttr]):  # `transpose = [1, 0]`
            numbers = [entry.value.data for entry in value]
            today = DenseArrayBase.from_list(i64, numbers)
            state.properties[name] = today
            note_old_spelling(parser, f"`{name} = {numbers}`", f"`{name} = {today}`")
    old: Mapping[str, tuple[str, Attribute] | None] = getattr(state.op_type, "OLD_ATTRIBUTES", {})
    for name, value in list(state.attributes.items()) if old else ():
        spelled = f"{name} = {value.value.data}" if isa(value, IntegerAttr[IntegerType]) else name
        if name not in old and spelled not in old:
            continue
        del state.attributes[name]
        new = old[spelled] if spelled in old else old[name]
        if new is None:
            note_old_spelling(parser, f"`{name} = {value}`", "nothing, LLVM has no such attribute any more")
        else:
            today, unit = new
            state.properties.setdefault(today, unit)
            note_old_spelling(parser, f"`{name} = {value}`", f"`{today}`")


class _SeparateDictionaries(_Dictionaries):
    separate = True


def declared_operation(cls: type[OperationT]) -> type[OperationT]:
    """Define an operation whose `assembly_format` is LLVM's, `prop-dict` included.

    >>> from xdsl.irdl import opt_prop_def
    >>> from xdsl.dialects.builtin import UnitAttr
    >>> @declared_operation
    ... class NoteOp(IRDLOperation):
    ...     name = "test.note"
    ...     loud = opt_prop_def(UnitAttr)
    ...     assembly_format = "prop-dict attr-dict"
    >>> print(NoteOp.build(properties={"loud": UnitAttr()}, attributes={"x": UnitAttr()}))
    test.note <{loud}> {x}
    """
    written = cls.assembly_format or ""
    options = vars(cls).get("irdl_options", ())  # xDSL adds those of the bases
    cls.irdl_options = (*options, ParsePropInAttrDict())  # pyright: ignore[reportAttributeAccessIssue]
    cls.assembly_format = re.sub(r"\bprop-dict\b", "", written)
    return with_llvm_syntax(irdl_op_definition(cls), written)


def with_llvm_syntax(
    operation: type[OperationT], written: str, inherent: tuple[str, ...] = (), style: str = ""
) -> type[OperationT]:
    """Let an operation read and print the syntax that LLVM's definition has.

    Args:
        operation: a class that xDSL has made of the syntax without `prop-dict`
        written: the syntax
        inherent: attributes that LLVM 24 writes behind the operands, and LLVM 22 and 23 in the dictionary
        style: what stands between several of those (`,`), or `()` for brackets around the value of each

    >>> from layoutalg.ir.dialects.index import SizeOfOp
    >>> with_llvm_syntax(SizeOfOp, "attr-dict").assembly_format
    'attr-dict'
    """
    definition = operation.get_irdl_definition()
    program = FormatProgram.from_str(definition.assembly_format or "", definition)
    kind = _SeparateDictionaries if "prop-dict" in written else _Dictionaries

    def replaced(step: FormatDirective) -> FormatDirective:
        if type(step) is DenseArrayAttributeVariable:
            return Numbers(step.name, step.is_property, step.is_optional, step.default_value, step.elt_type)
        if not isinstance(step, AttrDictDirective):
            return step
        own = (step.with_keyword, step.reserved_attr_names, step.expected_properties)
        return InherentDictionary(*own, inherent, style.strip("()"), style != "()") if inherent else kind(*own)

    own = Program(tuple(map(replaced, program.stmts)), definition)

    def parse(cls: type[OperationT], parser: Parser) -> OperationT:
        return own.parse(parser, cls)

    def print_(self: OperationT, printer: Printer) -> None:
        own.print(printer, self)

    operation.parse = classmethod(parse)  # pyright: ignore[reportAttributeAccessIssue]
    operation.print = print_  # pyright: ignore[reportAttributeAccessIssue]
    operation.assembly_format = written
    return operation
