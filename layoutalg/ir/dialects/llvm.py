"""The llvm dialect: xDSL's operations and those that kernels use and it lacks, with LLVM's syntax.

    %0 = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<4>

>>> from layoutalg.ir import read_module
>>> print(list(read_module("%v = llvm.mlir.poison : vector<4xf32>").ops)[0].results[0].type)
vector<4xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.llvm import LLVM as XDSL
from xdsl.dialects.llvm import LLVM_CALLING_CONVS
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.core.llvm_versions import rules
from layoutalg.ir.dialects.type_directives import ElementOf
from layoutalg.ir.operations.classes import define
from layoutalg.ir.operations.inherent import parse_inherent
from layoutalg.ir.operations.old_spellings import note_refused_spelling
from layoutalg.ir.versions import printed_for

__all__ = ["COMBINATIONS", "LLVM", "AtomicRmwOp", "FenceOp"]

LLVM_CALLING_CONVS.update(("spir_funccc", "spir_kernelcc", "intel_ocl_bicc"))
"""Calling conventions of kernels, which xDSL's table lacks: its parser refuses what is not there."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Order the accesses to memory before it and after it, as all threads of the scope see them.

    llvm.fence syncscope("wavefront") acq_rel
    """

    name = "llvm.fence"

    ordering = prop_def(IntegerAttr.constr(i64))
    syncscope = opt_prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        """Read LLVM's form: the scope, if it is not the whole system, and the ordering."""
        properties = _order(parser)
        return cls(properties=properties, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Write LLVM's form."""
        _print_order(printer, self.syncscope, self.ordering.value.data)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AtomicRmwOp(IRDLOperation):
    """Combine a value with the one at an address, as one step; the result is what was there.

    %old = llvm.atomicrmw add %p, %one syncscope("device") acq_rel : !llvm.ptr<1>, i32
    """

    name = "llvm.atomicrmw"

    ptr = operand_def()
    val = operand_def()
    res = result_def()
    bin_op = prop_def(IntegerAttr.constr(i64))
    ordering = prop_def(IntegerAttr.constr(i64))
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    volatile_ = opt_prop_def(UnitAttr)

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRmwOp:
        """Read LLVM's form: what is done, where and with what, then the scope, if it is not the whole system, and the order."""
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        word = parser.parse_identifier("an atomic operation")
        if word not in COMBINATIONS:
            parser.raise_error(f"atomic operation {word}: expected one of {', '.join(COMBINATIONS)}")
        properties["bin_op"] = IntegerAttr(COMBINATIONS.index(word), i64)
        pointer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        properties |= _order(parser) | _alignment(parser)
        attributes = parser.parse_optional_attr_dict()
        if "alignment" in attributes:
            properties["alignment"] = attributes.pop("alignment")
            note_refused_spelling(parser, (24,), _STRICT)
        parser.parse_punctuation(":")
        kinds = parser.parse_type(), (parser.parse_punctuation(","), parser.parse_type())[1]
        operands = [parser.resolve_operand(one, kind) for one, kind in zip((pointer, value), kinds, strict=True)]
        return cls(operands=operands, result_types=[kinds[1]], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's form."""
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        number = self.bin_op.value.data
        word = COMBINATIONS[number] if 0 <= number < len(COMBINATIONS) else str(number)
        printer.print_string(f" {word} ")
        printer.print_operand(self.ptr)
        printer.print_string(", ")
        printer.print_operand(self.val)
        _print_order(printer, self.syncscope, self.ordering.value.data)
        if self.alignment is not None and rules(printed_for(printer)).strict_properties:
            printer.print_string(f" <alignment = {self.alignment.value.data}>")
            printer.print_op_attributes(self.attributes)
        else:
            more = {} if self.alignment is None else {"alignment": self.alignment}
            printer.print_op_attributes(self.attributes | more)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)


def _order(parser: Parser) -> dict[str, Attribute]:
    """The scope, if one is written, and the ordering."""
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("syncscope") is not None:
        with parser.in_parens():
            properties["syncscope"] = StringAttr(parser.parse_str_literal())
    word = parser.parse_identifier("an ordering")
    if word not in _ORDERINGS:
        parser.raise_error(f"ordering {word}: expected one of {', '.join(_ORDERINGS)}")
    properties["ordering"] = IntegerAttr(_ORDERINGS[word], i64)
    return properties


def _alignment(parser: Parser) -> dict[str, Attribute]:
    """The alignment as LLVM 24 writes it, `<alignment = 4>`, or as a dictionary of properties."""
    found = parse_inherent(parser, ())
    if not found and parser.parse_optional_punctuation("<") is not None:
        parser.parse_keyword("alignment")
        parser.parse_punctuation("=")
        found["alignment"] = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        parser.parse_punctuation(">")
        note_refused_spelling(parser, (22, 23), "expected ':'")
    return found


def _print_order(printer: Printer, syncscope: StringAttr | None, number: int) -> None:
    if syncscope is not None:
        printer.print_string(" syncscope(")
        printer.print_attribute(syncscope)
        printer.print_string(")")
    printer.print_string(" " + next((word for word, one in _ORDERINGS.items() if one == number), str(number)))


_STRICT = (
    "custom op 'llvm.atomicrmw' inherent attribute 'alignment' cannot be parsed from attr-dict when strict properties in "
    "assembly format is enabled"
)

COMBINATIONS = (
    "xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
    "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat",
)  # fmt: skip
"""What LLVM's atomic operations do, in the order of their numbers."""

_ORDERINGS = {"not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7}
"""LLVM's orderings of atomic operations, by their numbers."""


LLVM = Dialect(
    "llvm",
    [*XDSL.operations, FenceOp, AtomicRmwOp, *define(__name__, "llvm", directives=(ElementOf,))],
    list(XDSL.attributes),
)
"""xDSL's dialect, the operations above, and those of the table."""
