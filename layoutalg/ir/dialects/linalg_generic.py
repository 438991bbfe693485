"""`linalg.generic`: a loop nest with a map for each operand and a body on elements.

    #trait = {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    %s = linalg.generic #trait ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    } -> tensor<4xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = '''#trait = {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
... %b = "test.op"() : () -> tensor<4xf32>
... %s = linalg.generic #trait outs(%b : tensor<4xf32>) { ^bb0(%y: f32): linalg.yield %y : f32 } -> (tensor<4xf32>)'''
>>> print(write_module(read_module(text)).splitlines()[2].partition(" ins")[0].strip()[:56])
%s = linalg.generic {indexing_maps = [affine_map<(d0) ->
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.assembly import entries_of

__all__ = ["GenericOp", "parse_sides", "print_sides"]


def parse_sides(parser: Parser) -> tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[Attribute]]:
    """Read `ins(%a : T) outs(%b : T) -> T`; without `ins`, no inputs."""
    inputs: Sequence[SSAValue] = _parse_values(parser) if parser.parse_optional_keyword("ins") is not None else ()
    parser.parse_keyword("outs")
    return inputs, _parse_values(parser), _parse_results(parser)


def _parse_results(parser: Parser) -> Sequence[Attribute]:
    """Read `-> T` or `-> (T, U)`, or nothing; after a body, the list needs no brackets."""
    if parser.parse_optional_punctuation("->") is None:
        return ()
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if listed is None else listed


def _parse_values(parser: Parser) -> Sequence[SSAValue]:
    """Read `(%a, %b : T, U)`."""
    with parser.in_parens():
        start = parser.pos
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        if not names:
            return []
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return parser.resolve_operands(names, types, start)


def print_sides(
    printer: Printer, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], results: Sequence[Attribute]
) -> None:
    """Write ` ins(...) outs(...) -> types`."""
    for word, values in (("ins", inputs), ("outs", outputs)):
        if not values:
            continue
        printer.print_string(f" {word}(")
        printer.print_list(values, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list([value.type for value in values], printer.print_attribute)
        printer.print_string(")")
    if len(results) == 1:
        printer.print_string(" -> ")
        printer.print_attribute(results[0])
    elif results:
        printer.print_string(" -> (")
        printer.print_list(results, printer.print_attribute)
        printer.print_string(")")


@irdl_op_definition
class GenericOp(IRDLOperation):
    """A loop nest with a map for each operand and a body on elements."""

    name = "linalg.generic"

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    body = region_def("single_block")
    indexing_maps = prop_def(ArrayAttr)
    iterator_types = prop_def(ArrayAttr)
    doc = opt_prop_def(StringAttr)
    library_call = opt_prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> GenericOp:
        """Read the trait (a dictionary or its alias), the operands, attributes, the body and the results."""
        start = parser.pos
        trait = parser.parse_attribute()
        if not isinstance(trait, DictionaryAttr):
            parser.raise_error("expected a dictionary with indexing_maps and iterator_types", start)
        given = dict(trait.data)
        for name in ("indexing_maps", "iterator_types"):
            if not isinstance(given.get(name), ArrayAttr):
                parser.raise_error(f"expected {name} for linalg.generic", start)
        properties = {name: value for name, value in given.items() if name in _OWN}
        properties["iterator_types"] = _iterators(parser, given["iterator_types"], start)
        inputs: Sequence[SSAValue] = _parse_values(parser) if parser.parse_optional_keyword("ins") is not None else ()
        outputs: Sequence[SSAValue] = _parse_values(parser) if parser.parse_optional_keyword("outs") is not None else ()
        attributes = {name: value for name, value in given.items() if name not in _OWN}
        if parser.parse_optional_keyword("attrs") is not None:
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        body = parser.parse_region()
        return cls.build(
            operands=[inputs, outputs],
            result_types=[_parse_results(parser)],
            regions=[body],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write the same, with the trait's dictionary in full."""
        kinds = entries_of(self.iterator_types)
        words = [StringAttr(str(one.data)) for one in kinds if isinstance(one, IteratorTypeAttr)]
        known = len(words) == len(kinds)
        trait: dict[str, Attribute] = {name: value for name, value in self.properties.items() if name in _OWN}
        trait["iterator_types"] = ArrayAttr(words) if known else self.iterator_types
        printer.print_string(" ")
        printer.print_attr_dict(trait)
        print_sides(printer, self.inputs, self.outputs, ())
        if self.attributes:
            printer.print_string(" attrs = ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body)
        print_sides(printer, (), (), [result.type for result in self.res])


_OWN = ("indexing_maps", "iterator_types", "doc", "library_call")


def _iterators(parser: Parser, written: Attribute, start: int) -> ArrayAttr:
    """The kinds of loops, written as words or as attributes."""
    found: list[Attribute] = []
    for one in entries_of(written):
        if isinstance(one, StringAttr) and one.data in set(IteratorType):
            found.append(IteratorTypeAttr(IteratorType(one.data)))
        elif isinstance(one, IteratorTypeAttr):
            found.append(one)
        else:
            parser.raise_error(f"unknown iterator type {one}", start)
    return ArrayAttr(found)
