"""Pieces of syntax for operations whose parse and print methods are written by hand: dictionaries, operands, static numbers.

Where LLVM writes `[%m, 16, %n]`, the operation has the values `%m, %n` (operands) and the array `[?, 16, ?]` (a property), with
`-2^63` standing for "take the next value". Small enough to check by hand: `[%m, 16]` has one marker and one value.
The law: in a list, there are as many markers as values (`verify_index_lists`). Declared syntax has directives for all this
(`layoutalg.ir.dialects.directives`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerType, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = [
    "entries_of",
    "parse_operand_list",
    "print_attributes",
    "property_of",
    "split_attributes",
    "static_numbers",
    "verify_index_lists",
]

HIDDEN = ("const_offsets", "const_shape", "const_strides", "operandSegmentSizes")


def property_of(operation: Operation, name: str) -> Attribute | None:
    """A property, or the attribute of that name where the operation was read from an older spelling; None without one.

    An attribute whose value is 0, or that is empty, is false: `properties.get(name) or attributes.get(name)` loses it.

    >>> from xdsl.dialects.builtin import IntegerAttr
    >>> from xdsl.dialects.test import TestOp
    >>> print(property_of(TestOp(properties={"kind": IntegerAttr(0, i64)}), "kind"), property_of(TestOp(), "kind"))
    0 : i64 None
    """
    found = operation.properties.get(name)
    return operation.attributes.get(name) if found is None else found


def entries_of(attribute: Attribute | None) -> Sequence[Any]:
    """The entries of an array; none where it is not one.

    >>> from xdsl.dialects.builtin import UnitAttr
    >>> len(entries_of(ArrayAttr([UnitAttr()]))), len(entries_of(UnitAttr()))
    (1, 0)
    """
    array: Any = attribute
    return array.data if isinstance(attribute, ArrayAttr) else ()


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


def split_attributes(
    operation: type[IRDLOperation], properties: Mapping[str, Attribute], attributes: Mapping[str, Attribute]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Sort what was written into the operation's properties and the rest, wherever it was written.

    >>> from layoutalg.ir.dialects.xegpu.operations import LoadNdOp
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
        if numbers is None:
            continue
        values: Any = getattr(operation, field, ())
        if numbers.name != DenseArrayBase.name or numbers.elt_type != i64:
            raise VerifyException(f"const_{field} = {numbers}: expected an array of i64")
        markers = static_numbers(numbers).count(DYNAMIC_INDEX)
        if markers != len(values):
            raise VerifyException(f"const_{field} has {markers} places for values, and there are {len(values)}")


def static_numbers(array: Attribute | None) -> list[int]:
    """The numbers of an integer array; an empty list without an array.

    >>> static_numbers(DenseArrayBase.from_list(i64, [1, 0]))
    [1, 0]
    """
    dense = cast("DenseArrayBase[IntegerType] | None", array if isinstance(array, DenseArrayBase) else None)
    if dense is None or not isinstance(cast("Attribute", dense.elt_type), IntegerType):
        return []
    return list(dense.get_values())


def print_attributes(
    printer: Printer, operation: IRDLOperation, *, inherent: bool = False, hidden: Sequence[str] = ()
) -> None:
    """Write `{...}`; with `inherent`, the properties too (operations whose syntax has no `<{...}>`).

    >>> from layoutalg.ir.dialects.xegpu.operations import DpasOp
    >>> from xdsl.dialects.builtin import UnitAttr
    >>> print_attributes(Printer(), DpasOp.create(properties={"layout_a": UnitAttr()}), inherent=True)
     {layout_a}
    """
    shown = dict(operation.attributes)
    if inherent:
        shown |= {name: value for name, value in operation.properties.items() if name not in HIDDEN}
    printer.print_op_attributes({name: shown[name] for name in sorted(shown) if name not in hidden})
