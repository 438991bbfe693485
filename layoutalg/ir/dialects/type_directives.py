"""Directives for declared formats in which one written type says another: `memref.load` writes the memref's type alone.

    custom<ElementOf>(type($memref), type($result))    # reads `memref<4xf32>`, the result is an f32
    custom<Same>(type($dest), type($result))           # reads one type for both
    custom<Elements>(type($vector), type($elements))   # reads `vector<4xf32>`, the elements are four f32

They ask nothing of the types but what they need to give the other one, so that an operation with wrong types is read and
can be refused by name.

>>> from layoutalg.ir import read_module
>>> text = '%m = "test.op"() : () -> memref<4xf32> %i = arith.constant 0 : index %s = memref.load %m[%i] : memref<4xf32>'
>>> print(list(read_module(text).ops)[2].results[0].type)
f32
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    ContainerType,
    DenseArrayBase,
    ShapedType,
    TensorType,
    i1,
)
from xdsl.dialects.builtin import VectorType as Vector
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.core.limits import MOST_MODULE_ELEMENTS

__all__ = ["ElementOf", "Elements", "Same", "Shuffled", "TruthOf", "element_type", "truth_type"]


def element_type(parser: Parser, kind: Attribute, start: int) -> Attribute:
    """The type of the elements of a vector, memref or tensor."""
    if isinstance(kind, ContainerType):
        return cast(ContainerType[Attribute], kind).get_element_type()
    return parser.raise_error(f"expected a vector, memref or tensor type, found {kind}", start, parser.pos)


def _write(printer: Printer, state: PrintingState, kind: Attribute) -> None:
    state.print_whitespace(printer)
    printer.print_attribute(kind)


@irdl_custom_directive
class ElementOf(CustomDirective):
    """Read the type of a container; the second type is that of its elements."""

    container: TypeDirective
    element: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read one type."""
        start = parser.pos
        kind = parser.parse_type()
        self.container.set(state, (kind,))
        self.element.set(state, (element_type(parser, kind, start),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the container's type."""
        _write(printer, state, self.container.get(op)[0])


@irdl_custom_directive
class Same(CustomDirective):
    """Read one type for two values."""

    first: TypeDirective
    second: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read one type."""
        kind = parser.parse_type()
        self.first.set(state, (kind,))
        self.second.set(state, (kind,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the first value's type."""
        _write(printer, state, self.first.get(op)[0])


@irdl_custom_directive
class Elements(CustomDirective):
    """Read the type of a vector; the other types are its elements', one each."""

    vector: TypeDirective
    elements: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read one type."""
        start = parser.pos
        kind = parser.parse_type()
        element = element_type(parser, kind, start)
        shape = kind.get_shape() if isinstance(kind, ShapedType) else ()
        count = prod(shape)
        if DYNAMIC_INDEX in shape or count > MOST_MODULE_ELEMENTS:
            parser.raise_error(f"{kind} does not have a known and reasonable number of elements", start, parser.pos)
        self.vector.set(state, (kind,))
        self.elements.set(state, (element,) * count)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the vector's type."""
        _write(printer, state, self.vector.get(op)[0])


@irdl_custom_directive
class Shuffled(CustomDirective):
    """Read the types of two vectors; the result has as many rows as the mask has numbers."""

    first: TypeDirective
    second: TypeDirective
    result: TypeDirective
    mask: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read two types."""
        start = parser.pos
        first: Attribute = parser.parse_type()
        parser.parse_punctuation(",")
        second = parser.parse_type()
        mask: Any = state.properties.get("mask")
        if not isinstance(first, Vector):
            parser.raise_error(f"expected a vector type, found {first}", start, parser.pos)
        rows = len(mask.get_values()) if isinstance(mask, DenseArrayBase) else 0
        made = _with_rows(cast("Vector[Attribute]", first), rows)
        self.first.set(state, (cast(Attribute, first),))
        self.second.set(state, (second,))
        self.result.set(state, (made,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write two types."""
        state.print_whitespace(printer)
        printer.print_list([*self.first.get(op), *self.second.get(op)], printer.print_attribute)


@lru_cache(maxsize=1024)
def _with_rows(kind: Vector[Attribute], rows: int) -> Vector[Attribute]:
    """A vector with another number of rows."""
    scalable = ArrayAttr([BoolAttr.from_bool(False), *kind.scalable_dims.data[1:]])
    return Vector(kind.element_type, [rows, *kind.get_shape()[1:]], scalable)


@lru_cache(maxsize=1024)
def truth_type(kind: Attribute) -> Attribute:
    """The type of "whether": i1, or a vector or tensor of i1."""
    if isinstance(kind, Vector):
        vector = cast("Vector[Attribute]", kind)
        return Vector(i1, vector.shape, vector.scalable_dims)
    if isinstance(kind, TensorType):
        tensor = cast("TensorType[Attribute]", kind)
        return TensorType(i1, tensor.shape, tensor.encoding)
    return i1


@irdl_custom_directive
class TruthOf(CustomDirective):
    """Read a type; the second one is i1 in the same shape."""

    value: TypeDirective
    truth: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read one type."""
        kind = parser.parse_type()
        self.value.set(state, (kind,))
        self.truth.set(state, (truth_type(kind),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the value's type."""
        _write(printer, state, self.value.get(op)[0])
