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

A tensor of Triton has its layout in its type, and `iree_vector_ext.to_layout` gives one to its result:

>>> text = '%x = "my.load"() : () -> tensor<4xf32, #ttg.linear<{lane = [[1], [2]]}>>'
>>> for statement in statements_of(read_module(text).body.block.first_op):
...     print(statement.name, statement.attribute)
type #ttg.linear<{register = [], lane = [[1], [2]], warp = [], block = []}>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import NoneAttr, TensorType, UnregisteredAttr, UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import LONGEST_SHOWN, shortened
from layoutalg.core.notation import Distributed
from layoutalg.core.plurals import counted
from layoutalg.flow.relations import shape_of
from layoutalg.ir.dialects.iree_vector_ext import NestedLayoutAttr
from layoutalg.ir.dialects.triton.types import EncodingAttr
from layoutalg.ir.dialects.unread import UnreadOp
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr, TensorDescType
from layoutalg.ir.findings import OURS, Finding
from layoutalg.ir.places import place_of
from layoutalg.ir.well_formed import MALFORMED
from layoutalg.notations import parse

__all__ = ["CONVERTING", "WrittenLayout", "about_nothing", "called", "statement_in_type", "statements_of"]

CONVERTING = {
    "xegpu.convert_layout": ("input_layout", "target_layout"),
    "ttg.convert_layout": ("type", "type"),
    "iree_vector_ext.to_layout": ("layout", "layout"),
}
"""Operations that move a value from one layout to another, and which statements say the two."""

_NUMBERED = re.compile(r"layout_(result|operand)_([0-9]+)")
_MOST_DIGITS = 4
_LAYOUTS = (LayoutAttr, SliceAttr, NestedLayoutAttr)
_OPERANDS = {
    "xegpu.dpas": {"layout_a": "lhs", "layout_b": "rhs", "layout_cd": "acc"},
    "xegpu.dpas_mx": {
        "layout_a": "a", "layout_b": "b", "layout_cd": "acc", "layout_a_scale": "scale_a", "layout_b_scale": "scale_b",
    },
    "xegpu.convert_layout": {"input_layout": "source"},
}  # fmt: skip
"""Attributes that say how an operand is wanted."""
_RESULTS = {"layout_cd", "target_layout"}
"""Attributes of these operations that say what the result is."""


@dataclass(frozen=True, slots=True)
class WrittenLayout:
    """A layout that an operation states: of its operand `number`, or of a result (`number` is None).

    `name` is the attribute's (`layout_a`); `descriptor` or `type` where the type of the descriptor or of the value says it.
    """

    user: Operation
    number: int | None
    value: SSAValue
    name: str
    attribute: Distributed


def called(operation: Operation) -> str:
    """What the text calls an operation, of a dialect that is not known too."""
    if isinstance(operation, UnreadOp):
        return operation.called
    return operation.op_name.data if isinstance(operation, UnregisteredOp) else operation.name


def statements_of(operation: Operation) -> Iterator[WrittenLayout]:
    """What an operation states, its attributes before its descriptor and the types of its results."""
    for held in (operation.properties, operation.attributes):
        for name, attribute in held.items():
            if isinstance(attribute, _LAYOUTS):
                value = _value(attribute)
                for number, about in _about(operation, name):
                    yield WrittenLayout(operation, number, about, name, value)
    if operation.name.startswith("xegpu."):
        yield from _of_descriptor(operation)
    for result in operation.results:
        yield from statement_in_type(operation, result)


def _of_descriptor(operation: Operation) -> Iterator[WrittenLayout]:
    """What the descriptor says of the value that goes through it; of a packed or transposed value it says nothing."""
    for kind in (operand.type for operand in operation.operands):
        if isinstance(kind, TensorDescType):
            if isinstance(kind.layout, LayoutAttr | SliceAttr) and "transpose" not in operation.properties:
                for number, about in _about(operation, "layout"):
                    if shape_of(about) == kind.get_shape():
                        yield WrittenLayout(operation, number, about, "descriptor", _value(kind.layout))
            break


def statement_in_type(user: Operation, value: SSAValue) -> Iterator[WrittenLayout]:
    """The layout that a tensor's own type says."""
    kind = value.type
    if isinstance(kind, TensorType) and not isinstance(kind.encoding, NoneAttr):
        found = _encoding(kind.encoding)
        if found is not None:
            yield WrittenLayout(user, None, value, "type", found)


@lru_cache(maxsize=4096)
def _value(attribute: Any) -> Distributed:
    return attribute.value


@lru_cache(maxsize=4096)
def _encoding(attribute: Attribute) -> Distributed | None:
    if isinstance(attribute, _LAYOUTS):
        return _value(attribute)
    if not isinstance(attribute, UnregisteredAttr | EncodingAttr):
        return None
    try:
        return parse(str(attribute))
    except LayoutError:
        return None


def about_nothing(module: Operation) -> Iterator[Finding]:
    """A warning for each statement about a result or an operand that an operation does not have. LLVM ignores them too."""
    for operation in module.walk():
        for held in (operation.properties, operation.attributes):
            for name, attribute in held.items():
                numbered = _NUMBERED.fullmatch(name) if isinstance(attribute, _LAYOUTS) else None
                if numbered is not None:
                    count = len(operation.results if numbered[1] == "result" else operation.operands)
                    if _number(numbered[2]) >= count:
                        message = f"{shortened(name, LONGEST_SHOWN)} is about nothing: {_there(numbered[1], count)}"
                        where = place_of(operation)
                        yield Finding("layouts.number", message, called(operation), where, OURS, "warning", (_IGNORED,))


_IGNORED = "it is ignored, here and by LLVM 22 to 24"


def _there(what: str, count: int) -> str:
    if not count:
        return f"there are no {what}s"
    last = "" if count == 1 else f" to layout_{what}_{count - 1}"
    return f"there {'is' if count == 1 else 'are'} {counted(count, what)}, layout_{what}_0{last}"


def _number(digits: str) -> int:
    """The number of a result or operand; one beyond all where it has too many digits."""
    return int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _about(operation: Any, name: str) -> Iterator[tuple[int | None, SSAValue]]:
    """The operand (with its number) or the result that an attribute of this name is about."""
    operands, results = operation.operands, operation.results
    known = _OPERANDS.get(operation.name)
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None:
        number = _number(numbered[2])
        if numbered[1] == "result" and number < len(results):
            yield None, results[number]
        elif numbered[1] == "operand" and number < len(operands):
            yield number, operands[number]
    elif known is not None:
        if name in _RESULTS and results:
            yield None, results[0]
        if name in known:
            try:
                # One value may be several operands, so the fields before it are counted.
                number = sum(
                    getattr(operation, field) is not None for field in [*known.values()][: [*known].index(name)]
                )
                wanted = getattr(operation, known[name])
            except MALFORMED:  # an operation in the generic form may lack operands
                return
            if isinstance(wanted, SSAValue):
                yield number, wanted
    elif name == "layout":
        if results:
            yield None, results[0]
        elif operands:
            yield 0, operands[0]
