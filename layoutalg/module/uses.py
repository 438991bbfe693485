"""Every layout in a module: where it stands, of which value, with which shape.

>>> from layoutalg.ir import read_module
>>> text = '''func.func @f(%x: vector<8x16xf32>) -> vector<8x16xf32> {
...   %7 = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [8, 2], lane_data = [1, 1]>}> : vector<8x16xf32>
...   func.return %7 : vector<8x16xf32> }'''
>>> for use in layout_uses(read_module(text), Source(text)):
...     print(use.place, use.name, use.operand, use.shape, use.layout())
text:2:8 %7 input_layout (8, 16) d0 = 8@reg, d1 = 16@lane
text:2:8 %7 target_layout (8, 16) d0 = 8@lane:2, d1 = 8@reg 2@lane

One walk finds them: in the types of results, of operands and of functions' arguments, in attributes at any depth, and in what
the reader kept of operations that it could not read. `ABOUT` says which value an attribute is about. Where it has nothing, the
name says it: `layout_result_1` is about result 1, `layout` about the result, or the first operand where there is no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnregisteredAttr,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import DistributionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_NESTING, MOST_ALIASES, MOST_LAYOUTS
from layoutalg.core.notation import Distributed, Machine, single_operand
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import as_ints, instance_of
from layoutalg.ir.dialects.func import Function
from layoutalg.ir.dialects.gpu import FuncOp as GpuFuncOp
from layoutalg.ir.dialects.unread import UnreadOp
from layoutalg.ir.dialects.xegpu.attributes import MemDescType, TensorDescType
from layoutalg.ir.places import Place, place_of
from layoutalg.module.source import Source
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.kinds import MMAKind
from layoutalg.nested.gpu.operand import MMAOperand
from layoutalg.notations import notations, parse, read_value

__all__ = ["ABOUT", "LayoutUse", "aliases_of", "distributes", "layout_uses"]

ABOUT: dict[str, dict[str, str]] = {
    "xegpu.convert_layout": {"input_layout": "source", "target_layout": "result"},
    "xegpu.dpas": {"layout_a": "lhs", "layout_b": "rhs", "layout_cd": "result"},
}
"""Which operand or result an attribute is about, by the operation's name and the attribute's."""

PASSING = frozenset({"scf", "cf", "func", "builtin", "gpu"})
"""The dialects whose operations only pass values on: the layouts in their operands' types are those of definitions."""

_NEVER = (IntegerAttr, IntegerType, NoneAttr, StringAttr, SymbolRefAttr, UnitAttr, DenseArrayBase, FloatAttr)
"""Attributes that hold no others."""
_NUMBERED = re.compile(r"layout_(result|operand)_([0-9]{1,4})")
_SHAPED = re.compile(r"![\w.]+<((?:[0-9]{1,9}x){1,8})(\w+)[,>]")
_AT = re.compile(r"line [0-9]+, column [0-9]+: ")
_SIGIL = re.compile(r"[#!][A-Za-z_][\w$.]*")
_DEFINITION = re.compile(r"^[ \t]*([#!][A-Za-z_][\w$]*)[ \t]*=", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LayoutUse:
    """One layout in a module.

    `name` is the operation's first result as the text has it (`%7`), `operand` the operand, result or attribute (`layout_a`).
    `shape` (None: not known) and `element` are those of the tensor that is spread, `attribute` the value that spreads it:
    None where the text is not a layout that is read, and `problem` says why.

    >>> use = LayoutUse(None, "xegpu.load_nd", "%7", "layout", (8, 16), "f16", parse("#xegpu.layout<lane_layout = [1, 16]>"))
    >>> use.text, str(use.layout())
    ('#xegpu.layout<lane_layout = [1, 16]>', 'd0 = 8@reg, d1 = 16@lane')
    """

    place: Place | None
    operation: str
    name: str
    operand: str
    shape: tuple[int, ...] | None
    element: str | None
    attribute: Distributed | None
    text: str = ""
    problem: str = ""

    def _row(self) -> dict[str, object]:
        shape = "" if self.shape is None else "x".join(map(str, (*self.shape, self.element or "?")))
        named = {"line": "" if self.place is None else self.place.line, "operation": self.operation, "value": self.name}
        return {**named, "where": self.operand, "shape": shape, "layout": self.text, "problem": self.problem}

    def __post_init__(self) -> None:
        instance_of(self.place, (Place, type(None)), "place")
        for what in ("operation", "name", "operand", "text", "problem"):
            instance_of(getattr(self, what), str, what)
        if self.shape is not None:
            object.__setattr__(self, "shape", as_ints("shape", self.shape))
        instance_of(self.element, (str, type(None)), "element")
        instance_of(self.attribute, (Distributed, type(None)), "attribute")
        if not self.text:
            object.__setattr__(self, "text", str(self.attribute))

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The shape to ask the attribute with: None for one that has its own.

        >>> LayoutUse(None, "", "", "", (16, 64), "i8", parse("!amx.tile<16x64xi8>")).sizes
        """
        return self.shape if self.attribute is not None and self.attribute.needs_shape else None

    def layout(self, machine: Machine | None = None) -> Layout:
        """Who holds what.

        Raises `DistributionError` where the shape is not known or does not fit, `LayoutError` for what is not a layout.

        >>> LayoutUse(None, "", "", "", None, None, parse("#xegpu.layout<lane_layout = [1, 16]>")).layout()
        Traceback (most recent call last):
        layoutalg.core.errors.DistributionError: #xegpu.layout<lane_layout = [1, 16]>: the shape of the tensor is not known
        """
        if self.attribute is None:
            raise LayoutError(self.problem or f"{self.text}: not a layout")
        if self.shape is None and self.attribute.needs_shape:
            raise DistributionError(f"{self.text}: the shape of the tensor is not known")
        return single_operand(self.attribute, self.sizes, machine).layout


def layout_uses(module: Operation, source: Source) -> Iterator[LayoutUse]:
    """The layouts of a module that was read from a text, in the order of the text.

    Raises `LayoutError` for more than 2^18 of them.
    """
    count = 0
    for operation in module.walk():
        for use in _in_operation(operation, source):
            count += 1
            if count > MOST_LAYOUTS:
                raise LayoutError(f"more than {MOST_LAYOUTS} layouts in one module")
            yield use


def _in_operation(operation: Operation, source: Source) -> Iterator[LayoutUse]:
    carrying = [value for value in (*operation.operands, *operation.results) if _carries(value.type)]
    attributes = [
        (name, *found)
        for held in (operation.properties, operation.attributes)
        for name, attribute in held.items()
        if not isinstance(attribute, _NEVER)
        for found in _nested(name, attribute, 0)
    ]
    inside = list(operation.body.blocks)[:1] if isinstance(operation, (Function, GpuFuncOp)) else []
    if not carrying and not attributes and not inside:
        return
    place = place_of(operation)
    name, called = _first_name(operation, source, place), _operation_name(operation)
    for operand, attribute, about in _layouts_of(operation, carrying, attributes, inside):
        shape, element = _tensor(about)
        for part, value, text, problem in _read(attribute):
            own = None if value is None or value.needs_shape else _own_shape(value)
            yield LayoutUse(
                place, called, name, part or operand, own if own is not None else shape, element, value, text, problem
            )


def _layouts_of(
    operation: Operation,
    carrying: Sequence[SSAValue],
    attributes: Sequence[tuple[str, str, Attribute]],
    inside: Sequence[Block],
) -> Iterator[tuple[str, Attribute, Attribute]]:
    """The layouts of an operation: what they are called, and the type that they are about."""
    for block in inside:
        for number, argument in enumerate(block.args):
            if _carries(argument.type):
                yield argument.name_hint or f"argument {number}", _carried(argument.type), argument.type
    values = _values(operation)
    passing = operation.name.partition(".")[0] in PASSING
    names = {id(value): name for name, value in values.items()}
    for value in carrying:
        if value.owner is operation or not passing:
            yield names[id(value)], _carried(value.type), value.type
    for name, path, attribute in attributes:
        inner = _carried(attribute)
        about = _about(operation, name, values) if inner is attribute else None
        yield path, inner, attribute if about is None else about


def _carries(kind: Attribute) -> bool:
    """Whether a type says a layout."""
    if isinstance(kind, VectorType | IntegerType):
        return False
    if isinstance(kind, TensorDescType):
        return not isinstance(kind.layout, NoneAttr)
    if isinstance(kind, TensorType):
        return _may_distribute(kind.encoding)
    return isinstance(kind, MemDescType) or _may_distribute(kind)


def _carried(kind: Attribute) -> Attribute:
    """The layout in a type: the attribute inside it, or the type itself."""
    if isinstance(kind, TensorDescType):
        return kind.layout
    return kind.encoding if isinstance(kind, TensorType) else kind


def _may_distribute(attribute: Attribute) -> bool:
    """Whether an attribute or a type may be, or may hold, a text of a notation."""
    dialect = attribute.name.partition(".")[0]
    return isinstance(attribute, UnregisteredAttr) or dialect in _dialects()


@lru_cache(maxsize=1)
def _dialects() -> frozenset[str]:
    """The dialects whose attributes and types are layouts, from the beginnings that the notations list."""
    listed = [text for row in notations().values() for text in row.lists if text[0] in "#!"]
    return frozenset(text[1:].partition(".")[0] for text in listed)


def _nested(path: str, attribute: Attribute, depth: int) -> Iterator[tuple[str, Attribute]]:
    """The attributes inside arrays and dictionaries that may be layouts."""
    if isinstance(attribute, ArrayAttr) and depth < MAX_NESTING:
        for number, one in enumerate(cast("ArrayAttr[Attribute]", attribute).data):
            yield from _nested(f"{path}[{number}]", one, depth + 1)
    elif isinstance(attribute, DictionaryAttr) and depth < MAX_NESTING:
        for name, one in attribute.data.items():
            yield from _nested(f"{path}.{name}", one, depth + 1)
    elif _carries(found := cast("Attribute", attribute)):
        yield path, found


def _about(operation: Operation, name: str, values: Mapping[str, SSAValue]) -> Attribute | None:
    """The type of the value that an attribute is about; None where that is not known."""
    known = ABOUT.get(operation.name, {}).get(name)
    if known is not None and known in values:
        return values[known].type
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None:
        group = operation.results if numbered[1] == "result" else operation.operands
        number = int(numbered[2])
        return group[number].type if number < len(group) else None
    if name != "layout" or not (operation.results or operation.operands):
        return None
    return (operation.results or operation.operands)[0].type


def _values(operation: Operation) -> dict[str, SSAValue]:
    """The operands and results by the names that the dialect gives them, or by their numbers."""
    found: dict[str, SSAValue] = {}
    definition = operation.get_irdl_definition() if isinstance(operation, IRDLOperation) else None
    if definition is not None and not isinstance(operation, UnregisteredOp):
        for name, _ in (*definition.operands, *definition.results):
            try:
                value: Any = getattr(operation, name, None)
            except (IndexError, VerifyException, ValueError):  # other operands than the dialect wants
                continue
            if isinstance(value, SSAValue):
                found[name] = value
            elif value is not None:
                found |= {name if len(value) == 1 else f"{name}[{i}]": one for i, one in enumerate(value)}
    known = {id(value) for value in found.values()}
    for what, values in (("operand", operation.operands), ("result", operation.results)):
        for number, value in enumerate(values):
            if id(value) not in known:
                found[what if len(values) == 1 else f"{what} {number}"] = value
                known.add(id(value))
    return found


def _first_name(operation: Operation, source: Source, place: Place | None) -> str:
    """The operation's first result as the text calls it."""
    if not operation.results:
        return ""
    names = source.names(place) if place is not None else ()
    hint = operation.results[0].name_hint
    return names[0] if names else f"%{hint}" if hint else ""


def _operation_name(operation: Operation) -> str:
    """What the text calls an operation; nothing for text that is not one."""
    if isinstance(operation, UnreadOp):
        return operation.called
    return operation.op_name.data if isinstance(operation, UnregisteredOp) else operation.name


@lru_cache(maxsize=4096)
def _tensor(kind: Attribute) -> tuple[tuple[int, ...] | None, str | None]:
    """The shape and the element type of a value's type, where they are known."""
    if isinstance(kind, VectorType | TensorType | MemRefType | TensorDescType | MemDescType):
        shape, element = tuple(kind.get_shape()), str(cast("Any", kind).element_type)
        return (None if any(size < 0 for size in shape) else shape), element
    if _may_distribute(kind):
        shaped = _SHAPED.match(str(kind))
        if shaped is not None:
            return tuple(map(int, shaped[1].split("x")[:-1])), shaped[2]
    return None, None


def _own_shape(value: Distributed) -> tuple[int, ...] | None:
    try:
        shape = value.tensor_shape()
    except LayoutError:
        return None
    return tuple(int(size) for size in shape) if all(type(size) is int for size in shape) else None


_Found = tuple[str, Distributed | None, str, str]
"""What it is called (empty: what the attribute is called), the value, its text, and why it is not one."""


@lru_cache(maxsize=4096)
def _read(attribute: Attribute) -> tuple[_Found, ...]:
    """The values of an attribute or a type: one, one per operand of a product, or those inside it."""
    text = str(attribute)
    return _parsed(text) if _begins(text, 0) else tuple(_values_in(text))


def _parsed(text: str) -> tuple[_Found, ...]:
    try:
        value = parse(text)
    except LayoutError as error:
        return (("", None, text, _AT.sub("", str(error), count=1)),)
    return tuple(_parts(value, text))


def _parts(value: Distributed, text: str) -> Iterator[_Found]:
    if isinstance(value, MMAKind | DataTiledMMAAttr):
        for name in ("lhs", "rhs", "acc"):
            try:
                part = MMAOperand(value, name)
            except LayoutError as error:
                yield name, None, text, str(error)
            else:
                yield name, part, str(part), ""
    elif distributes(value):
        yield "", value, text, ""


def distributes(value: Distributed) -> bool:
    """Whether a value spreads a tensor: a cache hint, for one, does not."""
    return type(value).operands is not Distributed.operands


def _begins(text: str, position: int) -> bool:
    """Whether a value of a notation begins there, with a sigil."""
    if text[position : position + 1] not in ("#", "!"):
        return False
    return any(not row.whole and row.begins.match(text, position) for row in notations().values())


def _values_in(text: str) -> Iterator[_Found]:
    """The layouts that stand somewhere in the text of an attribute."""
    end = 0
    for found in _SIGIL.finditer(text):
        start = found.start()
        if start < end or not _begins(text, start):
            continue
        reader = Reader(text)
        reader.position = start
        try:
            value = read_value(reader)
        except LayoutError as error:
            end = found.end()
            yield "", None, found[0], _AT.sub("", str(error), count=1)
            continue
        end = max(reader.position, found.end())
        yield from _parts(value, str(value))


def aliases_of(text: str) -> dict[str, Any]:
    """The aliases that a text defines at the beginning of a line, as far as they are of a notation.

    >>> {name: str(value) for name, value in aliases_of("#a = #xegpu.layout<lane_layout = [16]>\\n#map = x").items()}
    {'#a': '#xegpu.layout<lane_layout = [16]>'}
    """
    reader = Reader(text)
    for found in _DEFINITION.finditer(text):
        if len(reader.aliases) >= MOST_ALIASES:
            break
        reader.position = found.end()
        if text[reader.skip() : reader.position + 1] not in ("#", "!"):
            continue
        try:
            reader.aliases[found[1]] = read_value(reader)
        except LayoutError:
            continue  # of another dialect: an operation that uses it is shown without it
    return reader.aliases
