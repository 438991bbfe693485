"""The vector dialect of xDSL 0.74, with the operation that it lacks: `vector.from_elements`.

    %v = vector.from_elements %a, %b : vector<2xi32>

>>> from layoutalg.ir import read_module, write_module
>>> text = "%a = arith.constant 1 : i32 %v = vector.from_elements %a, %a : vector<2xi32>"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%v = vector.from_elements %a, %a : vector<2xi32>
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.vector import Vector
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import parse_attributes, print_attributes

__all__ = ["VECTOR", "FromElementsOp"]


@irdl_op_definition
class FromElementsOp(IRDLOperation):
    """A vector made of scalars, in row-major order.

    >>> from xdsl.dialects.test import TestOp
    >>> from xdsl.dialects.builtin import i32
    >>> print(FromElementsOp.of(TestOp(result_types=[i32, i32]).results).result.type)
    vector<2xi32>
    """

    name = "vector.from_elements"

    elements = var_operand_def()
    result = result_def(VectorType)

    traits = traits_def(Pure())

    @classmethod
    def of(cls, elements: Sequence[SSAValue]) -> FromElementsOp:
        """The vector of one dimension that holds these scalars."""
        return cls.build(operands=[elements], result_types=[VectorType(elements[0].type, [len(elements)])])

    def verify_(self) -> None:
        """Check that there are as many scalars as the vector has elements, of their type."""
        kind: Attribute = self.result.type
        if not isa(kind, VectorType[Attribute]):
            raise VerifyException(f"{kind} is not a vector type")
        count = prod(kind.get_shape())
        if len(self.elements) != count or any(element.type != kind.element_type for element in self.elements):
            types = ", ".join(str(element.type) for element in self.elements)
            raise VerifyException(f"{kind} is made of {count} values of type {kind.element_type}, not of ({types})")

    @classmethod
    def parse(cls, parser: Parser) -> FromElementsOp:
        """Read LLVM's syntax."""
        start = parser.pos
        written = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(",") is not None:
            written.append(parser.parse_unresolved_operand())
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isa(kind, VectorType[Attribute]):
            parser.raise_error("expected a vector type", start)
        elements = [parser.resolve_operand(operand, kind.element_type) for operand in written]
        return cls.build(operands=[elements], result_types=[kind], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.elements, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


VECTOR = Dialect("vector", [*Vector.operations, FromElementsOp], list(Vector.attributes))
"""xDSL's dialect and the operation above."""
