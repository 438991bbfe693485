"""The pieces of syntax that memref operations alone have: kinds of atomic updates, hints of a prefetch, permutations.

    memref.atomic_rmw addf %v, %m[%i] : (f32, memref<4xf32>) -> f32
    memref.prefetch %m[%i], read, locality<3>, data : memref<4xf32>
    memref.transpose %m (d0, d1) -> (d1, d0) : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>

The kind of an update is a number in the generic form, LLVM's `arith::AtomicRMWKind`:

>>> [ATOMIC_KINDS.index(name) for name in ("addf", "addi", "ori")]
[0, 1, 14]
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, BoolAttr, IntegerAttr, IntegerType, i32, i64
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

__all__ = ["ATOMIC_KINDS", "AtomicKind", "PermutationMap", "PrefetchFlags"]

ATOMIC_KINDS = (
    "addf",
    "addi",
    "andi",
    "assign",
    "maximumf",
    "maxnumf",
    "maxs",
    "maxu",
    "minimumf",
    "minnumf",
    "mins",
    "minu",
    "mulf",
    "muli",
    "ori",
    "xori",
)


@irdl_custom_directive
class AtomicKind(CustomDirective):
    """How an atomic update combines, e.g. `addf`."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read a keyword."""
        start = parser.pos
        word = parser.parse_optional_str_literal() or parser.parse_identifier()  # as LLVM, which writes the word alone
        if word not in ATOMIC_KINDS:
            parser.raise_error(f"expected one of {', '.join(ATOMIC_KINDS)}", start, parser.pos)
        self.kind.set(state, IntegerAttr(ATOMIC_KINDS.index(word), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the keyword."""
        kind = self.kind.get(op)
        state.print_whitespace(printer)
        if isa(kind, IntegerAttr[IntegerType]) and 0 <= kind.value.data < len(ATOMIC_KINDS):
            printer.print_string(ATOMIC_KINDS[kind.value.data])
        else:
            raise ValueError(f"{op.name}: {kind} is not a kind of atomic update")


@irdl_custom_directive
class PrefetchFlags(CustomDirective):
    """`read, locality<3>, data`: what the element is wanted for, how long, in which cache."""

    write: AttributeVariable
    locality: AttributeVariable
    data: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the three hints."""
        self.write.set(state, BoolAttr.from_bool(_one_of(parser, "write", "read")))
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            hint = parser.parse_integer(allow_boolean=False)
        self.locality.set(state, IntegerAttr(hint, i32))
        parser.parse_punctuation(",")
        self.data.set(state, BoolAttr.from_bool(_one_of(parser, "data", "instr")))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the three hints."""
        state.print_whitespace(printer)
        hint = self.locality.get(op)
        write = "write" if self.write.get(op) == BoolAttr.from_bool(True) else "read"
        cache = "data" if self.data.get(op) == BoolAttr.from_bool(True) else "instr"
        number = hint.value.data if isinstance(hint, IntegerAttr) else 0
        printer.print_string(f"{write}, locality<{number}>, {cache}")


def _one_of(parser: Parser, yes: str, no: str) -> bool:
    """Read one of two keywords: whether it is the first."""
    if parser.parse_optional_keyword(yes) is not None:
        return True
    parser.parse_keyword(no)
    return False


@irdl_custom_directive
class PermutationMap(CustomDirective):
    """`(d0, d1) -> (d1, d0)`: an affine map without the word around it."""

    map: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read a map."""
        self.map.set(state, AffineMapAttr(parser.parse_affine_map()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the map."""
        state.print_whitespace(printer)
        written = self.map.get(op)
        printer.print_string(str(written.data) if isinstance(written, AffineMapAttr) else "")
