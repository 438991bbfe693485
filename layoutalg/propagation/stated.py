"""The layouts that a module states: about a value where it is made, or about an operand where it is used.

`layout_result_0` is about a result; so is `layout` on a load, and the layout of the descriptor that it loads through. On a
store `layout` is about what is stored. `layout_a`, `layout_b` and `layout_cd` of a dpas, and `input_layout` of a conversion,
say how an operand is wanted.

>>> from layoutalg.ir import read_module
>>> text = '''func.func @f(%x: vector<8x16xf32>) {
...   %7 = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [8, 2], lane_data = [1, 1]>}> : vector<8x16xf32>
...   func.return }'''
>>> conversion = next(op for op in read_module(text).walk() if op.name == "xegpu.convert_layout")
>>> for statement in statements_of(conversion):
...     print(statement.name, statement.number, statement.attribute)
input_layout 0 #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
target_layout None #xegpu.layout<lane_layout = [8, 2], lane_data = [1, 1]>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from layoutalg.core.notation import Distributed
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr, TensorDescType

__all__ = ["Statement", "statements_of"]

_NUMBERED = re.compile(r"layout_(result|operand)_([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Statement:
    """A layout that an operation states: of its operand `number`, or of a result (`number` is None).

    `name` is the attribute's (`layout_a`), or `descriptor` where the type of the descriptor says it.
    """

    user: Operation
    number: int | None
    value: SSAValue
    name: str
    attribute: Distributed


def statements_of(operation: Operation) -> Iterator[Statement]:
    """What an operation states, its attributes before its descriptor.

    >>> from xdsl.dialects.test import TestOp
    >>> list(statements_of(TestOp()))
    []
    """
    held: dict[str, Attribute] = {**operation.properties, **operation.attributes}
    for name, attribute in held.items():
        if isinstance(attribute, LayoutAttr | SliceAttr):
            for number, value in _about(operation, name):
                yield Statement(operation, number, value, name, attribute.value)
    for kind in (operand.type for operand in operation.operands):
        if isinstance(kind, TensorDescType) and isinstance(kind.layout, LayoutAttr | SliceAttr):
            for about, value in _about(operation, "layout"):
                yield Statement(operation, about, value, "descriptor", kind.layout.value)
            break


def _about(operation: Any, name: str) -> Iterator[tuple[int | None, SSAValue]]:
    """The operand (with its number) or the result that an attribute of this name is about."""
    operands, results = operation.operands, operation.results
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None:
        number = int(numbered[2])
        if numbered[1] == "result" and number < len(results):
            yield None, results[number]
        elif numbered[1] == "operand" and number < len(operands):
            yield number, operands[number]
    elif operation.name == "xegpu.dpas":
        if name in ("layout_a", "layout_b"):
            number = ("layout_a", "layout_b").index(name)
            yield number, operands[number]
        elif name == "layout_cd":
            yield None, results[0]
            if operation.acc is not None:
                yield 2, operation.acc
    elif operation.name == "xegpu.convert_layout":
        if name == "input_layout":
            yield 0, operands[0]
        elif name == "target_layout":
            yield None, results[0]
    elif name == "layout":
        if results:
            yield None, results[0]
        elif operands:
            yield 0, operands[0]
