"""IREE's vector extensions: layouts of values, distributed vectors, gathers and scatters.

    %b = iree_vector_ext.to_layout %a to layout(#nested) : vector<64x64xf16>
    %c = iree_vector_ext.transfer_gather %source[%i, %j] [%rows : vector<4xindex>], %pad
           <{indexing_maps = [affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>]}>
           : memref<4096x64xf16>, vector<4x64xf16>

`#iree_vector_ext.nested_layout` is read by `layoutalg.nested`. What IREE 3.2 writes as `{...}` its newest version wants as
`<{...}>`, as LLVM 24 does; both are read, and written for the version that is asked for.

>>> from layoutalg.ir import read_module, write_module
>>> text = '%a = "test.op"() : () -> vector<4x2xf16> %b = iree_vector_ext.to_simd %a : vector<4x2xf16> -> vector<16x8xf16>'
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%b = iree_vector_ext.to_simd %a : vector<4x2xf16> -> vector<16x8xf16>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    ContainerType,
    ShapedType,
    i1,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.dialects.text_attributes import TextAttribute
from layoutalg.ir.operations.classes import define
from layoutalg.ir.operations.declared import declared_operation
from layoutalg.ir.operations.old_spellings import note_old_spelling

if TYPE_CHECKING:
    from layoutalg.nested import NestedLayoutAttr as NestedLayout

__all__ = ["IREE_VECTOR_EXT", "OPERATIONS", "NestedLayoutAttr", "ToLayoutOp"]


@irdl_attr_definition
class NestedLayoutAttr(TextAttribute):
    """`#iree_vector_ext.nested_layout<...>`."""

    name = "iree_vector_ext.nested_layout"

    @classmethod
    def read(cls, text: str) -> NestedLayout:
        """The layout that a text says."""
        from layoutalg.nested import parse_nested

        return parse_nested(text)

    @property
    def value(self) -> NestedLayout:
        """What the text says, as a value of layoutalg.nested."""
        return self.read(str(self))


@irdl_custom_directive
class IndexVectors(CustomDirective):
    """`[%rows, %columns : vector<4xindex>, vector<8xindex>]`: index vectors with their types, or nothing.

    An older form has one entry per dimension, `[None, %rows : vector<4xindex>]`, `None` for dimensions that are contiguous.
    """

    vectors: VariadicOperandVariable
    types: TypeDirective
    indexed: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read either form."""
        operands: list[UnresolvedOperand] = []
        types: list[Attribute] = []
        flags: list[Attribute] = []

        def entry() -> None:
            if parser.parse_optional_keyword("None") is not None:
                flags.append(BoolAttr(0, i1))
                return
            operand = parser.parse_optional_unresolved_operand()
            if operand is None:
                types.append(parser.parse_type())
                return
            operands.append(operand)
            flags.append(BoolAttr(-1, i1))
            if parser.parse_optional_punctuation(":") is not None:
                types.append(parser.parse_type())

        start = parser.pos
        parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, entry)
        if len(types) != len(operands):
            parser.raise_error(f"{len(operands)} index vectors and {len(types)} types", start)
        self.vectors.set(state, operands)
        self.types.inner.set_types(state, types)
        if len(flags) != len(operands):
            self.indexed.set(state, ArrayAttr(flags))
            note_old_spelling(parser, "`[None, ...]`", "index vectors alone, and `indexing_maps`")

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the form that was read."""
        vectors = self.vectors.get(op)
        indexed = self.indexed.get(op)
        if isa(indexed, ArrayAttr[Attribute]):
            remaining = iter(vectors)
            printer.print_string(" ")
            with printer.in_square_brackets():
                for number, flag in enumerate(indexed):
                    printer.print_string(", " if number else "")
                    if flag == BoolAttr(0, i1):
                        printer.print_string("None")
                        continue
                    vector = next(remaining)
                    printer.print_ssa_value(vector)
                    printer.print_string(" : ")
                    printer.print_attribute(vector.type)
        elif vectors:
            printer.print_string(" ")
            with printer.in_square_brackets():
                printer.print_list(vectors, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(vectors.types, printer.print_attribute)
        state.should_emit_space = True
        state.last_was_punctuation = False


@irdl_custom_directive
class TypesAndMask(CustomDirective):
    """`memref<64xf16>, vector<4xf16>, vector<4xi1>`: two types, and the mask's where there is a mask."""

    first: TypeDirective
    second: TypeDirective
    mask: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read two or three types."""
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) not in (2, 3):
            parser.raise_error(f"expected two types, and a third of the mask; found {len(types)}", start)
        self.first.inner.set_types(state, types[:1])
        self.second.inner.set_types(state, types[1:2])
        self.mask.inner.set_types(state, types[2:])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types."""
        types = [*self.first.get(op), *self.second.get(op), *self.mask.get(op)]
        state.print_whitespace(printer)
        printer.print_list(types, printer.print_attribute)


@irdl_custom_directive
class ElementType(CustomDirective):
    """The type of the padding, which the text leaves out: that of the elements in memory."""

    padding: TypeDirective
    base: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Take the type from the memory's, which was just read."""
        index = next(i for i, (name, _) in enumerate(state.op_type.get_irdl_definition().operands) if name == "base")
        (base,) = state.operand_types[index] or (None,)
        if not isinstance(base, ContainerType):
            parser.raise_error("expected a memref, tensor or vector type")
        self.padding.inner.set_types(state, [cast("ContainerType[Attribute]", base).get_element_type()])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write nothing."""


@irdl_custom_directive
class SameShapedType(SameType):
    """As `SameType`; what has no shape is refused while it is read, as IREE does."""

    shown: TypeDirective
    other: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the type, and give it to both."""
        start = parser.pos
        super().parse(parser, state)
        kinds = state.operand_types[0]
        if kinds is None or not isinstance(kinds[0], ShapedType):
            parser.raise_error("invalid kind of type specified", start)


@declared_operation
class ToLayoutOp(IRDLOperation):
    """Give a value a layout; with `shared_memory_conversion`, through shared memory."""

    name = "iree_vector_ext.to_layout"

    input = operand_def()
    layout = prop_def()
    shared_memory_conversion = opt_prop_def(Attribute)
    mma_kind = opt_attr_def(Attribute)
    output = result_def()

    traits = traits_def(Pure())
    custom_directives = (SameShapedType,)

    assembly_format = """
        $input `to` `layout` `(` $layout `)` attr-dict `:` custom<SameShapedType>(type($input), type($output))
    """

    def __post_init__(self) -> None:
        """Keep `mma_kind` where today's IREE has it; it is inherent in the generic form of IREE 3.2."""
        kind = self.properties.pop("mma_kind", None)
        if kind is not None:
            self.attributes["mma_kind"] = kind
        super().__post_init__()


OPERATIONS = define(__name__, "iree_vector_ext", directives=(ElementType, IndexVectors, TypesAndMask), assumed=True)
"""The classes, in the order of the table."""

IREE_VECTOR_EXT = Dialect(
    "iree_vector_ext",
    [ToLayoutOp, *OPERATIONS],
    [NestedLayoutAttr],
)
"""The operations and the layout attribute."""
