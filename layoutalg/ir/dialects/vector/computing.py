"""Vector operations that read and print themselves: reductions, products, and the region of a mask.

    %s = vector.multi_reduction <add>, %v, %zero [1] : vector<8x16xf32> to vector<8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = '%v = "test.op"() : () -> vector<8xf32> %m = vector.constant_mask [3] : vector<8xi1> '
>>> text += "%s = vector.mask %m { vector.reduction <add>, %v : vector<8xf32> into f32 } : vector<8xi1> -> f32"
>>> print(write_module(read_module(text)).splitlines()[3].strip())
%s = vector.mask %m { vector.reduction <add>, %v : vector<8xf32> into f32 } : vector<8xi1> -> f32
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import parse_operand_list, print_attributes, split_attributes
from layoutalg.ir.dialects.flags import FastMathFlagsAttr
from layoutalg.ir.dialects.vector.attributes import (
    CombiningKindAttr,
    CombiningKindFlag,
    IteratorType,
    IteratorTypeAttr,
)
from layoutalg.ir.dialects.vector.operations import YieldOp

__all__ = [
    "ContractionOp",
    "MaskOp",
    "OuterProductOp",
    "ReductionOp",
]

_ADD = CombiningKindAttr(CombiningKindFlag.ADD)
_NO_FAST_MATH = FastMathFlagsAttr("none")


@irdl_op_definition
class ReductionOp(IRDLOperation):
    """All elements of a vector of one dimension, and an accumulator, combined into one."""

    name = "vector.reduction"

    vector = operand_def()
    acc = opt_operand_def()
    dest = result_def()
    kind = prop_def(CombiningKindAttr)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ReductionOp:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {"kind": CombiningKindAttr(CombiningKindAttr.parse_parameter(parser))}
        parser.parse_punctuation(",")
        vector = parser.parse_unresolved_operand()
        added = parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") is not None else None
        if parser.parse_optional_keyword("fastmath") is not None:
            properties["fastmath"] = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        parser.parse_keyword("into")
        made = parser.parse_type()
        operands = [
            [parser.resolve_operand(vector, kind)],
            [] if added is None else [parser.resolve_operand(added, made)],
        ]
        return cls.build(operands=operands, result_types=[made], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        self.kind.print_parameter(printer)
        for operand in self.operands:
            printer.print_string(", ")
            printer.print_ssa_value(operand)
        if self.fastmath != _NO_FAST_MATH:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)
        printer.print_string(" into ")
        printer.print_attribute(self.dest.type)


@irdl_op_definition
class ContractionOp(IRDLOperation):
    """A product of two vectors summed over the dimensions that their maps share, added to a third."""

    name = "vector.contract"

    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    indexing_maps = prop_def(ArrayAttr)
    iterator_types = prop_def(ArrayAttr)
    kind = prop_def(CombiningKindAttr, default_value=_ADD)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ContractionOp:
        """Read LLVM's syntax; the iterators are written as strings."""
        written = parser.parse_attribute()
        if not isinstance(written, DictionaryAttr):
            parser.raise_error("expected a dictionary with the maps and the iterators of the contraction")
        operands = parse_operand_list(parser, 3)
        dictionary = {**written.data, **parser.parse_optional_attr_dict()}
        parser.parse_punctuation(":")
        kinds = [parser.parse_type()]
        parser.parse_punctuation(",")
        kinds.append(parser.parse_type())
        parser.parse_keyword("into")
        kinds.append(parser.parse_type())
        iterators = dictionary.get("iterator_types")
        if isa(iterators, ArrayAttr[StringAttr]):
            try:
                dictionary["iterator_types"] = ArrayAttr([IteratorTypeAttr(IteratorType(i.data)) for i in iterators])
            except ValueError:
                parser.raise_error(f"expected iterators 'parallel' and 'reduction', found {iterators}")
        properties, attributes = split_attributes(cls, {}, dictionary)
        resolved = [parser.resolve_operand(o, kind) for o, kind in zip(operands, kinds, strict=True)]
        return cls.build(operands=resolved, result_types=[kinds[2]], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        shown = dict(self.properties) | {"kind": self.kind}
        if self.fastmath == _NO_FAST_MATH:
            shown.pop("fastmath", None)
        if isa(self.iterator_types, ArrayAttr[IteratorTypeAttr]):
            shown["iterator_types"] = ArrayAttr([StringAttr(i.data.value) for i in self.iterator_types])
        printer.print_op_attributes({name: shown[name] for name in sorted(shown)})
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list([self.lhs.type, self.rhs.type], printer.print_attribute)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class OuterProductOp(IRDLOperation):
    """Every element of one vector times every element of another (or one scalar), combined with an accumulator."""

    name = "vector.outerproduct"

    lhs = operand_def()
    rhs = operand_def()
    acc = opt_operand_def()
    kind = prop_def(CombiningKindAttr, default_value=_ADD)
    result = result_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> OuterProductOp:
        """Read LLVM's syntax; the result's type follows from the operands'."""
        start = parser.pos
        operands = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(",") is not None:
            operands.append(parser.parse_unresolved_operand())
        properties, attributes = split_attributes(cls, {}, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        left = parser.parse_type()
        parser.parse_punctuation(",")
        right = parser.parse_type()
        if not isa(left, VectorType[Attribute]) or not left.get_shape() or len(operands) not in (2, 3):
            parser.raise_error("expected two operands of vector types, and perhaps an accumulator", start, parser.pos)
        made = left
        if isa(right, VectorType[Attribute]):
            scalable = ArrayAttr([left.scalable_dims.data[0], *right.scalable_dims.data[:1]])
            made = VectorType(left.element_type, [left.get_shape()[0], *right.get_shape()[:1]], scalable)
        resolved = [parser.resolve_operand(o, kind) for o, kind in zip(operands, (left, right, made), strict=False)]
        return cls.build(
            operands=[resolved[0], resolved[1], resolved[2:]],
            result_types=[made],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, inherent=True, hidden=["kind"] if self.kind == _ADD else [])
        printer.print_string(" : ")
        printer.print_list([self.lhs.type, self.rhs.type], printer.print_attribute)


@irdl_op_definition
class MaskOp(IRDLOperation):
    """One operation that takes part only where the mask is true."""

    name = "vector.mask"

    mask = operand_def()
    passthru = opt_operand_def()
    mask_region = region_def()
    masked_results = var_result_def()

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> MaskOp:
        """Read LLVM's syntax; what the region gives is its only operation's results."""
        operands = [parser.parse_unresolved_operand()]
        if parser.parse_optional_punctuation(",") is not None:
            operands.append(parser.parse_unresolved_operand())
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        block = region.blocks[0]
        last = block.last_op
        if not isinstance(last, YieldOp):
            block.add_op(YieldOp.build(operands=[last.results if last is not None else []]))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kinds = [parser.parse_type()]
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            results = [parser.parse_type()] if found is None else list(found)
        kinds += results[:1]
        resolved = [parser.resolve_operand(o, kind) for o, kind in zip(operands, kinds, strict=False)]
        return cls.build(
            operands=[resolved[0], resolved[1:]], result_types=[results], attributes=attributes, regions=[region]
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" { ")
        *operations, last = self.mask_region.blocks[0].ops
        implied = len(operations) == 1 and list(last.operands) == list(operations[0].results)
        if implied and type(operations[0]).print is not Operation.print:  # LLVM leaves its name and the yield out
            printer.print_string(operations[0].name)
            operations[0].print(printer)
            printer.print_string(" ")
        else:
            for operation in (*operations, last):
                printer.print_op(operation)
                printer.print_string(" ")
        printer.print_string("}")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.mask.type)
        if self.results:
            printer.print_string(" -> ")
            printer.print_list([result.type for result in self.results], printer.print_attribute)
