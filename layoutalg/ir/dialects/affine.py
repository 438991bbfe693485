"""The affine dialect: xDSL's operations and those that it lacks, with LLVM's syntax.

    %0 = affine.max affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n]
    %1:2 = affine.delinearize_index %i into (4, 8) : index, index

>>> from layoutalg.ir import read_module
>>> module = read_module("%i = arith.constant 7 : index %m = affine.max affine_map<(d0) -> (d0, 4)>(%i)")
>>> list(module.ops)[1].map.data.num_dims
1
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.affine import Affine, YieldOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    BoolAttr,
    DenseArrayBase,
    IndexType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils.dynamic_index_list import (
    parse_dynamic_index_list_without_types,
    print_dynamic_index_list,
)
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect

from layoutalg.ir.assembly import print_attributes

__all__ = ["AFFINE", "ApplyOp", "DelinearizeIndexOp", "IfOp", "LinearizeIndexOp", "MaxOp", "MinOp"]

_INDEX = IndexType()


def _parse_operands(parser: Parser) -> list[SSAValue]:
    """Read `(%i)[%n]`: dimensions and symbols."""
    operands: list[SSAValue] = []
    for delimiter in (parser.Delimiter.PAREN, parser.Delimiter.SQUARE):
        operands += parser.parse_optional_comma_separated_list(delimiter, lambda: parser.parse_operand(_INDEX)) or []
    return operands


def _print_operands(printer: Printer, operands: Sequence[SSAValue], dimensions: int) -> None:
    """Write `(%i)[%n]`."""
    with printer.in_parens():
        printer.print_list(operands[:dimensions], printer.print_ssa_value)
    if operands[dimensions:]:
        with printer.in_square_brackets():
            printer.print_list(operands[dimensions:], printer.print_ssa_value)


class _MapOp(IRDLOperation, ABC):
    """A map of dimensions and symbols, e.g. `affine.min affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n]`."""

    mapOperands = var_operand_def(_INDEX)  # noqa: N815 (xDSL's name)
    map = prop_def(AffineMapAttr)
    result = result_def(_INDEX)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> _MapOp:
        """Read LLVM's syntax."""
        start = parser.pos
        written = parser.parse_attribute()
        if not isinstance(written, AffineMapAttr):
            parser.raise_error("expected an affine map", start, parser.pos)
        return cls.build(
            operands=[_parse_operands(parser)],
            result_types=[_INDEX],
            properties={"map": written},
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_attribute(self.map)
        _print_operands(printer, self.mapOperands, self.map.data.num_dims)
        print_attributes(printer, self)


@irdl_op_definition
class ApplyOp(_MapOp):
    """What a map gives."""

    name = "affine.apply"


@irdl_op_definition
class MinOp(_MapOp):
    """The smallest of what a map gives."""

    name = "affine.min"


@irdl_op_definition
class MaxOp(_MapOp):
    """The largest of what a map gives."""

    name = "affine.max"


@irdl_op_definition
class DelinearizeIndexOp(IRDLOperation):
    """The digits of a number in a mixed base; the first digit may have no bound."""

    name = "affine.delinearize_index"

    linear_index = operand_def(_INDEX)
    dynamic_basis = var_operand_def(_INDEX)
    static_basis = prop_def(DenseArrayBase.constr(i64))
    multi_index = var_result_def(_INDEX)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> DelinearizeIndexOp:
        """Read LLVM's syntax."""
        number = parser.parse_operand(_INDEX)
        parser.parse_keyword("into")
        values, numbers = parse_dynamic_index_list_without_types(
            parser, DYNAMIC_INDEX, delimiter=parser.Delimiter.PAREN
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.build(
            operands=[number, [parser.resolve_operand(value, _INDEX) for value in values]],
            result_types=[results],
            properties={"static_basis": DenseArrayBase.from_list(i64, numbers)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.linear_index)
        printer.print_string(" into ")
        numbers = self.static_basis.get_values()
        print_dynamic_index_list(printer, DYNAMIC_INDEX, self.dynamic_basis, numbers, delimiter=Parser.Delimiter.PAREN)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list([result.type for result in self.results], printer.print_attribute)


@irdl_op_definition
class LinearizeIndexOp(IRDLOperation):
    """The number with these digits in a mixed base; `disjoint` promises that each digit is below its base."""

    name = "affine.linearize_index"

    multi_index = var_operand_def(_INDEX)
    dynamic_basis = var_operand_def(_INDEX)
    static_basis = prop_def(DenseArrayBase.constr(i64))
    disjoint = opt_prop_def()
    linear_index = result_def(_INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> LinearizeIndexOp:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("disjoint") is not None:
            properties["disjoint"] = UnitAttr()
        digits = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(_INDEX))
        parser.parse_keyword("by")
        values, numbers = parse_dynamic_index_list_without_types(
            parser, DYNAMIC_INDEX, delimiter=parser.Delimiter.PAREN
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        made = parser.parse_type()
        properties["static_basis"] = DenseArrayBase.from_list(i64, numbers)
        return cls.build(
            operands=[digits, [parser.resolve_operand(value, _INDEX) for value in values]],
            result_types=[made],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" disjoint [" if self.disjoint not in (None, BoolAttr.from_bool(False)) else " [")
        printer.print_list(self.multi_index, printer.print_ssa_value)
        printer.print_string("] by ")
        numbers = self.static_basis.get_values()
        print_dynamic_index_list(printer, DYNAMIC_INDEX, self.dynamic_basis, numbers, delimiter=Parser.Delimiter.PAREN)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.linear_index.type)


@irdl_op_definition
class IfOp(IRDLOperation):
    """One of two regions, by whether a point lies in a set."""

    name = "affine.if"

    args = var_operand_def(_INDEX)
    condition = prop_def(AffineSetAttr)
    res = var_result_def()
    then_region = region_def("single_block")
    else_region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        """Read LLVM's syntax."""
        start = parser.pos
        condition = parser.parse_attribute()
        if not isinstance(condition, AffineSetAttr):
            parser.raise_error("expected an affine set", start, parser.pos)
        operands = _parse_operands(parser)
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            results += [parser.parse_type()] if found is None else found
        regions = [_yielding(parser)]
        regions.append(_yielding(parser) if parser.parse_optional_keyword("else") is not None else Region())
        return cls.build(
            operands=[operands],
            result_types=[results],
            properties={"condition": condition},
            regions=regions,
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        count = self.condition.data.num_dims
        printer.print_string(" ")
        printer.print_attribute(self.condition)
        _print_operands(printer, self.args, count)
        if self.results:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list([result.type for result in self.results], printer.print_attribute)
        printer.print_string(" ")
        ends = bool(self.results)
        printer.print_region(self.then_region, print_block_terminators=ends)
        if self.else_region.blocks:
            printer.print_string(" else ")
            printer.print_region(self.else_region, print_block_terminators=ends)
        print_attributes(printer, self)


def _yielding(parser: Parser) -> Region:
    """Read a region; where no terminator is written, it ends with an `affine.yield` of nothing."""
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    if not isinstance(region.blocks[-1].last_op, YieldOp):
        region.blocks[-1].add_op(YieldOp.get())
    return region


_OWN = (ApplyOp, DelinearizeIndexOp, IfOp, LinearizeIndexOp, MaxOp, MinOp)
_OWN_NAMES = {operation.name for operation in _OWN}

AFFINE = Dialect(
    "affine",
    [*_OWN, *(operation for operation in Affine.operations if operation.name not in _OWN_NAMES)],
    list(Affine.attributes),
)
"""The operations above, and xDSL's for the rest."""
