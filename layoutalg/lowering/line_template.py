"""An operation as a line of text in which the operands' names are left out, to be written for other values.

An addition of two tensors of a workgroup is, for a lane that holds 16 elements as two vectors, this line written twice:

>>> from layoutalg.ir import read_module
>>> from xdsl.dialects.builtin import f32
>>> text = "%a = arith.constant dense<1.0> : vector<16x16xf32> %b = arith.addf %a, %a fastmath<nnan> : vector<16x16xf32>"
>>> addition = read_module(text).body.block.last_op
>>> of_a_lane = piece_type(f32, 8)
>>> template_of(addition, [of_a_lane, of_a_lane], [of_a_lane]).text
'arith.addf %s, %s fastmath<nnan> : vector<8xf32>'

Layouts do not go with it: at lane level there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr
from layoutalg.ir.writing import ModulePrinter

__all__ = ["LineTemplate", "passed_on", "piece_type", "template_of", "without_layouts"]

_MARK = "\0"


@dataclass(frozen=True, slots=True)
class LineTemplate:
    """The text, with `%s` for each operand, and which operand of the operation that is."""

    text: str
    order: tuple[int, ...]


class _FormPrinter(ModulePrinter):
    """Writes a mark where a value's name would stand, and keeps the values in that order."""

    def __init__(self, stream: StringIO, llvm: int) -> None:
        super().__init__(stream, llvm)
        self.found: list[SSAValue] = []

    def print_ssa_value(self, value: SSAValue) -> str:
        self.found.append(value)
        self.print_string(_MARK)
        return _MARK


def piece_type(element: Attribute, size: int | None) -> Attribute:
    """The type of so many elements, a scalar for None."""
    return element if size is None else _vector(element, size)


@lru_cache(maxsize=256)
def _vector(element: Attribute, size: int) -> Attribute:
    return VectorType(element, [size])


def without_layouts(operation: Operation) -> dict[str, Attribute]:
    """The attributes of an operation that say no layout."""
    return {name: one for name, one in operation.attributes.items() if not isinstance(one, LayoutAttr | SliceAttr)}


def template_of(
    operation: Operation, operands: Sequence[Attribute], results: Sequence[Attribute], llvm: int = DEFAULT_LLVM
) -> LineTemplate:
    """The operation on operands of other types, with results of other types."""
    taken = Block(arg_types=operands).args
    properties = {
        name: one for name, one in operation.properties.items() if not isinstance(one, LayoutAttr | SliceAttr)
    }
    made = type(operation).create(
        operands=taken,
        result_types=results,
        properties=properties,
        attributes=without_layouts(operation),
    )
    return _printed(made, {value: number for number, value in enumerate(taken)}, llvm)


def passed_on(operation: Operation, llvm: int = DEFAULT_LLVM) -> LineTemplate:
    """The operation as it stands."""
    return _printed(operation, {value: number for number, value in enumerate(operation.operands)}, llvm)


def _printed(operation: Operation, numbers: dict[SSAValue, int], llvm: int) -> LineTemplate:
    stream = StringIO()
    printer = _FormPrinter(stream, llvm)
    printer.print_op(operation)
    text = stream.getvalue()
    results = len(operation.results)
    if results:
        text = text.partition(" = ")[2]
    order = tuple(numbers[value] for value in printer.found[results:])
    # A text without operands is written as it is, one with operands is a format.
    return LineTemplate(text.replace("%", "%%").replace(_MARK, "%s") if order else text, order)
