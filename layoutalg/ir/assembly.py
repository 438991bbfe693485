"""The pieces of MLIR syntax that several operations share: index lists, property dictionaries, keyword arguments.

LLVM writes a list of indices that are partly known as `[%m, 16, %n]`. In the operation it is two things: the values
`%m, %n` (operands) and the array `[?, 16, ?]` (a property), with `-2^63` standing for "take the next value". Small
enough to check by hand: `[%m, 16]` is the operands `(%m)` and the property `array<i64: -9223372036854775808, 16>`.
The law: what `print_index_list` writes, `parse_index_list` reads back as the same operands and the same array.

Inherent attributes (properties) are written `<{...}>`; the optional `{...}` after it holds the attributes that the
operation does not know. LLVM accepts a property in either place and prints it in the first; so do we.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = [
    "parse_attributes",
    "parse_index_list",
    "parse_operand_list",
    "parse_optional_index_list",
    "parse_properties",
    "parse_result",
    "parse_types",
    "print_attributes",
    "print_index_list",
    "print_keyword_list",
    "print_properties",
    "print_tail",
    "print_types",
    "split_attributes",
    "static_numbers",
    "verify_index_lists",
]

HIDDEN = ("const_offsets", "const_shape", "const_strides", "operandSegmentSizes")


IndexList = tuple[list[SSAValue], DenseArrayBase[IntegerType]]


def parse_optional_index_list(parser: Parser) -> IndexList | None:
    """Read `[%m, 16]` if it is there: the values that were named, and the array with a marker in their places.

    >>> from xdsl.context import Context
    >>> values, numbers = parse_optional_index_list(Parser(Context(), "[3, 16]"))
    >>> values, str(numbers)
    ([], 'array<i64: 3, 16>')
    """
    entries = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _index(parser))
    if entries is None:
        return None
    operands = [entry for entry in entries if isinstance(entry, UnresolvedOperand)]
    values: list[SSAValue] = [parser.resolve_operand(operand, IndexType()) for operand in operands]
    numbers = [entry if isinstance(entry, int) else DYNAMIC_INDEX for entry in entries]
    return values, DenseArrayBase.from_list(i64, numbers)


def parse_index_list(parser: Parser) -> IndexList:
    """Read `[%m, 16]`, which must be there.

    >>> from xdsl.context import Context
    >>> str(parse_index_list(Parser(Context(), "[0, -16]"))[1])
    'array<i64: 0, -16>'
    """
    found = parse_optional_index_list(parser)
    return parser.raise_error("expected a list of indices like [%m, 16]") if found is None else found


def _index(parser: Parser) -> UnresolvedOperand | int:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_integer(allow_boolean=False) if operand is None else operand


def parse_operand_list(parser: Parser, count: int) -> list[UnresolvedOperand]:
    """Read `count` operands with commas between them; their types come later in the text.

    >>> from xdsl.context import Context
    >>> [operand.operand_name for operand in parse_operand_list(Parser(Context(), "%a, %b : f16"), 2)]
    ['a', 'b']
    """
    operands = [parser.parse_unresolved_operand()]
    while len(operands) < count:
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
    return operands


def parse_types(parser: Parser, operands: Sequence[UnresolvedOperand]) -> list[SSAValue]:
    """Read `: f16, f16`, the types of operands whose names were read before, and give their values.

    >>> from xdsl.context import Context
    >>> parser = Parser(Context(), "%a : index")
    >>> [value.type for value in parse_types(parser, [parser.parse_unresolved_operand()])]
    [IndexType()]
    """
    parser.parse_punctuation(":")
    position = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return list(parser.resolve_operands(operands, types, position))


def parse_result(parser: Parser) -> list[Attribute]:
    """Read `-> f16`, the type of an operation's only result.

    >>> from xdsl.context import Context
    >>> parse_result(Parser(Context(), "-> index"))
    [IndexType()]
    """
    parser.parse_punctuation("->")
    return [parser.parse_type()]


def parse_properties(parser: Parser) -> dict[str, Attribute]:
    """Read `<{...}>` if it is there.

    >>> from xdsl.context import Context
    >>> list(parse_properties(Parser(Context(), "<{packed}>")))
    ['packed']
    """
    return parser.parse_optional_properties_dict()


def parse_attributes(parser: Parser) -> dict[str, Attribute]:
    """Read `{...}` if it is there.

    >>> from xdsl.context import Context
    >>> parse_attributes(Parser(Context(), ": f16"))
    {}
    """
    return parser.parse_optional_attr_dict()


def split_attributes(
    operation: type[IRDLOperation], properties: Mapping[str, Attribute], attributes: Mapping[str, Attribute]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Sort what was written into the operation's properties and the rest, wherever it was written.

    >>> from layoutalg.ir.dialects.xegpu.block import LoadNdOp
    >>> from xdsl.dialects.builtin import UnitAttr
    >>> split_attributes(LoadNdOp, {}, {"packed": UnitAttr(), "note": UnitAttr()})
    ({'packed': UnitAttr()}, {'note': UnitAttr()})
    """
    known = set(operation.get_irdl_definition().properties)
    inherent = {name: value for name, value in attributes.items() if name in known}
    rest = {name: value for name, value in attributes.items() if name not in known}
    return {**inherent, **properties}, rest


def verify_index_lists(operation: Operation) -> None:
    """Check that the lists with known numbers and with values of an operation belong together.

    `const_offsets` (and `const_shape`, `const_strides`) hold 64-bit integers, a marker wherever a value of `offsets`
    stands.

    Raises:
        VerifyException: they do not.

    >>> from xdsl.dialects.test import TestOp
    >>> verify_index_lists(TestOp())
    """
    for field in ("offsets", "shape", "strides"):
        numbers: Any = operation.properties.get(f"const_{field}")
        values: Any = getattr(operation, field, ())
        if numbers is None:
            continue
        if numbers.name != DenseArrayBase.name or numbers.elt_type != i64:
            raise VerifyException(f"const_{field} = {numbers}: expected an array of i64")
        markers = static_numbers(numbers).count(DYNAMIC_INDEX)
        if markers != len(values):
            raise VerifyException(f"const_{field} has {markers} places for values, and there are {len(values)}")


def static_numbers(array: DenseArrayBase | None) -> list[int]:
    """The numbers of an integer array; an empty list without an array.

    >>> static_numbers(DenseArrayBase.from_list(i64, [1, 0]))
    [1, 0]
    """
    if array is None or not isinstance(array.elt_type, IntegerType):
        return []
    return list(cast("DenseArrayBase[IntegerType]", array).get_values())


def print_index_list(printer: Printer, values: Sequence[SSAValue], numbers: DenseArrayBase | None) -> None:
    """Write `[%m, 16]`, or nothing without a list.

    >>> print_index_list(Printer(), [], DenseArrayBase.from_list(i64, [3, 16]))
    [3, 16]
    """
    if numbers is None:
        return
    remaining = iter(values)
    with printer.in_square_brackets():
        printer.print_list(
            static_numbers(numbers),
            lambda n: _print_index(printer, n, remaining),
        )


def _print_index(printer: Printer, number: int, values: Iterable[SSAValue]) -> None:
    if number == DYNAMIC_INDEX:
        printer.print_ssa_value(next(iter(values)))
    else:
        printer.print_string(str(number))


def print_keyword_list(
    printer: Printer, keyword: str, values: Sequence[SSAValue], numbers: DenseArrayBase | None
) -> None:
    """Write `, shape : [%m, 16]`, or nothing without a list.

    >>> print_keyword_list(Printer(), "shape", [], DenseArrayBase.from_list(i64, [3, 16]))
    , shape : [3, 16]
    """
    if numbers is None:
        return
    printer.print_string(f", {keyword} : ")
    print_index_list(printer, values, numbers)


def print_properties(printer: Printer, operation: IRDLOperation, hidden: Sequence[str] = ()) -> None:
    """Write `<{...}>` in the order of the names, as LLVM does, without what the syntax shows elsewhere.

    >>> from layoutalg.ir.dialects.xegpu.block import StoreNdOp
    >>> from xdsl.dialects.builtin import UnitAttr
    >>> print_properties(Printer(), StoreNdOp.create(properties={"packed": UnitAttr(), "again": UnitAttr()}))
     <{again, packed}>
    """
    shown = {
        name: operation.properties[name]
        for name in sorted(operation.properties)
        if name not in HIDDEN and name not in hidden
    }
    if shown:
        printer.print_string(" ")
        with printer.in_angle_brackets():
            printer.print_attr_dict(shown)


def print_attributes(
    printer: Printer, operation: IRDLOperation, *, inherent: bool = False, hidden: Sequence[str] = ()
) -> None:
    """Write `{...}`; with `inherent`, the properties too (operations whose syntax has no `<{...}>`).

    >>> from layoutalg.ir.dialects.xegpu.block import DpasOp
    >>> from xdsl.dialects.builtin import UnitAttr
    >>> print_attributes(Printer(), DpasOp.create(properties={"layout_a": UnitAttr()}), inherent=True)
     {layout_a}
    """
    shown = dict(operation.attributes)
    if inherent:
        shown |= {name: value for name, value in operation.properties.items() if name not in HIDDEN}
    printer.print_op_attributes({name: shown[name] for name in sorted(shown) if name not in hidden})


def print_types(printer: Printer, types: Sequence[Attribute], result: Attribute | None = None) -> None:
    """Write ` : types`, and ` -> type` for an operation with a result.

    >>> print_types(Printer(), [i64, i64], i64)
     : i64, i64 -> i64
    """
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)
    if result is not None:
        printer.print_string(" -> ")
        printer.print_attribute(result)


def print_tail(
    printer: Printer, operation: IRDLOperation, types: Sequence[Attribute], result: Attribute | None = None
) -> None:
    """Write what most operations end with: `<{...}> {...} : types -> type`.

    >>> from layoutalg.ir.dialects.xegpu.block import PrefetchNdOp
    >>> from xdsl.dialects.builtin import UnitAttr
    >>> print_tail(Printer(), PrefetchNdOp.create(attributes={"note": UnitAttr()}), [i64])
     {note} : i64
    """
    print_properties(printer, operation)
    print_attributes(printer, operation)
    print_types(printer, types, result)
