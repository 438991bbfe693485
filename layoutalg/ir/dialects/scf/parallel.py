"""Loops whose steps have no order: `scf.parallel` with `scf.reduce`, and `scf.forall`.

    scf.forall (%i, %j) in (8, 16) { ... } {mapping = [#gpu.block<x>, #gpu.block<y>]}

>>> from layoutalg.ir import read_module
>>> module = read_module("scf.forall (%i) = (0) to (64) step (8) { }")
>>> list(module.ops)[0].static_step.get_values()
(8,)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, IntegerType, i64
from xdsl.dialects.utils.dynamic_index_list import parse_dynamic_index_list_without_types, print_dynamic_index_list
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, RecursiveMemoryEffect

from layoutalg.ir.assembly import print_attributes, split_attributes
from layoutalg.ir.dialects.scf.loops import parse_assignments, print_assignments

__all__ = ["ForallOp", "InParallelOp", "ParallelOp", "ReduceOp"]

_INDEX = IndexType()


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """The values that the steps of a `scf.parallel` combine, and how."""

    name = "scf.reduce"

    args = var_operand_def()
    reductions = var_region_def("single_block")

    traits = traits_def(IsTerminator(), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        """Read LLVM's syntax."""
        operands: Sequence[SSAValue] = ()
        if parser.parse_optional_punctuation("(") is not None:
            values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
            parser.parse_punctuation(":")
            start = parser.pos
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation(")")
            operands = parser.resolve_operands(values, types, start)
        regions: list[Region] = []
        for _ in operands:
            if regions:
                parser.parse_optional_punctuation(",")
            regions.append(parser.parse_region())
        return cls.build(operands=[operands], regions=[regions], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        if self.args:
            with printer.in_parens():
                printer.print_list(self.args, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(self.args.types, printer.print_attribute)
        for position, region in enumerate(self.reductions):
            printer.print_string(", " if position else " ")
            printer.print_region(region)
        print_attributes(printer, self)


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """A region for every point of a grid, in any order."""

    name = "scf.parallel"

    lowerBound = var_operand_def(_INDEX)  # noqa: N815 (xDSL's names)
    upperBound = var_operand_def(_INDEX)  # noqa: N815
    step = var_operand_def(_INDEX)
    initVals = var_operand_def()  # noqa: N815
    res = var_result_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        """Read LLVM's syntax."""
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        bounds: list[list[SSAValue]] = []
        parser.parse_punctuation("=")
        for word in ("", "to", "step"):
            if word:
                parser.parse_keyword(word)
            bounds.append([*_parse_values(parser)])
        values: list[UnresolvedOperand] = []
        if parser.parse_optional_keyword("init") is not None:
            values += parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        results: list[Attribute] = []
        start = parser.pos
        if parser.parse_optional_punctuation("->") is not None:
            found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            results += [parser.parse_type()] if found is None else found
        first = parser.resolve_operands(values, results, start)
        region = parser.parse_region([name.resolve(_INDEX) for name in names])
        _end(region, ReduceOp)
        return cls.build(
            operands=[*bounds, first],
            result_types=[results],
            regions=[region],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        for word, values in (
            ("", self.body.block.args),
            (" = ", self.lowerBound),
            (" to ", self.upperBound),
            (" step ", self.step),
        ):
            printer.print_string(word)
            with printer.in_parens():
                printer.print_list(values, printer.print_ssa_value)
        if self.initVals:
            printer.print_string(" init ")
            with printer.in_parens():
                printer.print_list(self.initVals, printer.print_ssa_value)
        if self.results:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list([result.type for result in self.results], printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        print_attributes(printer, self)


def _parse_values(parser: Parser) -> Sequence[SSAValue]:
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_operand(_INDEX))


def _end(region: Region, terminator: type[ReduceOp | InParallelOp]) -> None:
    """Put a terminator that was left out."""
    if not region.blocks:
        region.add_block(Block())
    if not isinstance(region.blocks[-1].last_op, terminator):
        made: Operation = (
            ReduceOp.build(operands=[[]], regions=[[]])
            if terminator is ReduceOp
            else InParallelOp.build(regions=[Region(Block())])
        )
        region.blocks[-1].add_op(made)


@irdl_op_definition
class InParallelOp(IRDLOperation):
    """What the steps of a `scf.forall` put into the shared outputs."""

    name = "scf.forall.in_parallel"

    region = region_def("single_block")

    traits = traits_def(IsTerminator(), NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> InParallelOp:
        """Read LLVM's syntax."""
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.build(regions=[region], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_region(self.region)
        print_attributes(printer, self)


@irdl_op_definition
class ForallOp(IRDLOperation):
    """A region for every point of a grid, in any order; a mapping says which hardware has which points."""

    name = "scf.forall"

    dynamic_lower_bound = var_operand_def(_INDEX)
    dynamic_upper_bound = var_operand_def(_INDEX)
    dynamic_step = var_operand_def(_INDEX)
    outputs = var_operand_def()
    static_lower_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticLowerBound")
    static_upper_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticUpperBound")
    static_step = prop_def(DenseArrayBase.constr(i64), prop_name="staticStep")
    mapping = opt_prop_def(ArrayAttr)
    results_ = var_result_def()
    region = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> ForallOp:
        """Read LLVM's syntax."""
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        if parser.parse_optional_keyword("in") is not None:
            count = len(names)
            lower, step = _constant([0] * count), _constant([1] * count)
            upper = _parse_bounds(parser)
        else:
            parser.parse_punctuation("=")
            lower = _parse_bounds(parser)
            parser.parse_keyword("to")
            upper = _parse_bounds(parser)
            parser.parse_keyword("step")
            step = _parse_bounds(parser)
        start = parser.pos
        shared, values = ([], [])
        types: list[Attribute] = []
        if parser.parse_optional_keyword("shared_outs") is not None:
            shared, values = parse_assignments(parser)
            parser.parse_punctuation("->")
            listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            types += [parser.parse_type()] if listed is None else listed
        outputs = parser.resolve_operands(values, types, start)
        arguments = [name.resolve(_INDEX) for name in names]
        arguments += [name.resolve(kind) for name, kind in zip(shared, types, strict=True)]
        region = parser.parse_region(arguments)
        _end(region, InParallelOp)
        properties, attributes = split_attributes(cls, {}, parser.parse_optional_attr_dict())
        properties |= {"staticLowerBound": lower[1], "staticUpperBound": upper[1], "staticStep": step[1]}
        return cls.build(
            operands=[lower[0], upper[0], step[0], outputs],
            result_types=[types],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        count = len(self.static_upper_bound)
        arguments = self.region.block.args
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(arguments[:count], printer.print_ssa_value)
        plain = set(self.static_lower_bound.get_values()) <= {0} and set(self.static_step.get_values()) <= {1}
        if plain:
            printer.print_string(" in ")
            _print_bounds(printer, self.dynamic_upper_bound, self.static_upper_bound)
        else:
            for word, values, numbers in (
                (" = ", self.dynamic_lower_bound, self.static_lower_bound),
                (" to ", self.dynamic_upper_bound, self.static_upper_bound),
                (" step ", self.dynamic_step, self.static_step),
            ):
                printer.print_string(word)
                _print_bounds(printer, values, numbers)
        if self.outputs:
            printer.print_string(" shared_outs")
            print_assignments(printer, arguments[count:], self.outputs)
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.outputs.types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.region, print_entry_block_args=False)
        shown = {**self.attributes, **({} if self.mapping is None else {"mapping": self.mapping})}
        printer.print_op_attributes({name: shown[name] for name in sorted(shown)})


_Bounds = tuple[list[SSAValue], DenseArrayBase]


def _constant(numbers: list[int]) -> _Bounds:
    return [], DenseArrayBase.from_list(i64, numbers)


def _parse_bounds(parser: Parser) -> _Bounds:
    """Read `(%n, 16)`."""
    values, numbers = parse_dynamic_index_list_without_types(parser, DYNAMIC_INDEX, delimiter=parser.Delimiter.PAREN)
    return [parser.resolve_operand(v, _INDEX) for v in values], DenseArrayBase.from_list(i64, numbers)


def _print_bounds(printer: Printer, values: Sequence[SSAValue], numbers: DenseArrayBase[IntegerType]) -> None:
    print_dynamic_index_list(printer, DYNAMIC_INDEX, values, numbers.get_values(), delimiter=Parser.Delimiter.PAREN)
