"""Classes of operations made from the rows of a table: `define`.

A dialect says what the words of its table stand for, and gets its operations as classes, which are like those that xDSL's
`irdl_op_definition` makes: each operand, result and attribute is a field.

>>> from layoutalg.ir import read_module
>>> compare = list(read_module('%a = index.constant 1 %c = index.cmp slt(%a, %a)').ops)[1]
>>> type(compare).__name__, compare.lhs.type, compare.pred.data.value
('CmpOp', IndexType(), 'slt')

Reading asks nothing of the types: what is wrong with them is for the verifier to say.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import xdsl.traits as xdsl_traits
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.utils import BitEnumAttribute, EnumAttribute
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    SameVariadicResultSize,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.irdl.declarative_assembly_format import CustomDirective
from xdsl.utils.exceptions import VerifyException

from layoutalg.ir.operations.declared import Assumed, with_llvm_syntax
from layoutalg.ir.operations.program import quick_check
from layoutalg.ir.operations.rows import Row, Shape, Value, rows_of

__all__ = ["ATTRIBUTES", "TRAITS", "define"]

Constraint = Any
"""What xDSL takes for one: a class of attributes, an attribute, or a constraint."""

ATTRIBUTES: dict[str, Constraint] = {
    "affine_map": AffineMapAttr,
    "any": AnyAttr(),
    "bool": BoolAttr,
    "cmpf": IntegerAttr,
    "cmpi": IntegerAttr,
    "i32": IntegerAttr.constr(i32),
    "i64": IntegerAttr.constr(i64),
    "i64s": DenseArrayBase.constr(i64),
    "index": IntegerAttr.constr(IndexType()),
    "integer": IntegerAttr,
    "list": ArrayAttr,
    "numbers": DenseArrayBase,
    "string": StringAttr,
    "symbol": SymbolRefAttr,
    "symbol_name": SymbolNameConstraint(),
    "dictionary": DictionaryAttr,
    "unit": UnitAttr,
}
"""The words for attributes that every table may use."""

TRAITS: dict[str, xdsl_traits.OpTrait] = {
    "ConstantLike": xdsl_traits.ConstantLike(),
    "MemAlloc": xdsl_traits.MemoryAllocEffect(),
    "MemFree": xdsl_traits.MemoryFreeEffect(),
    "MemRead": xdsl_traits.MemoryReadEffect(),
    "MemWrite": xdsl_traits.MemoryWriteEffect(),
    "NoTerminator": xdsl_traits.NoTerminator(),
    "NoMemoryEffect": xdsl_traits.NoMemoryEffect(),
    "Pure": xdsl_traits.Pure(),
    "Terminator": xdsl_traits.IsTerminator(),
}
"""The traits that xDSL has too."""


@dataclass(frozen=True)
class StandsIn(xdsl_traits.OpTrait):
    """An operation that stands in certain others alone.

    >>> from layoutalg.ir.dialects.gpu import GPU
    >>> [operation.name for operation in GPU.operations if StandsIn(("gpu.func",)) in operation.traits.traits]
    ['gpu.return']
    """

    parents: tuple[str, ...]

    def verify(self, op: Operation) -> None:
        """Refuse another parent."""
        parent = op.parent_op()
        if parent is not None and parent.name not in self.parents:
            raise VerifyException(f"'{op.name}' expects parent op {' or '.join(map(repr, self.parents))}")


_TYPES: dict[str, Attribute] = {
    "1-bit signless integer": i1,
    "8-bit signless integer": i8,
    "32-bit signless integer": i32,
    "64-bit signless integer": i64,
    "index": IndexType(),
}
"""Words that say one type."""

_NAMED = re.compile(r"\$(\w+)")

_DEFINITIONS = {
    ("operand", "1"): operand_def,
    ("operand", "?"): opt_operand_def,
    ("operand", "*"): var_operand_def,
    ("result", "1"): result_def,
    ("result", "?"): opt_result_def,
    ("result", "*"): var_result_def,
}


def define(
    module: str,
    dialect: str,
    *,
    attributes: Mapping[str, Constraint] | None = None,
    types: Mapping[str, Constraint] | None = None,
    directives: Iterable[type[CustomDirective]] = (),
    fields: Mapping[str, Mapping[str, object]] | None = None,
    assumed: bool = False,
) -> tuple[type[IRDLOperation], ...]:
    """Make the operations of a dialect's table and put their classes into a module.

    Args:
        module: the module's `__name__`
        dialect: the table's name
        attributes: what the table's own words for attributes stand for
        types: what the reader asks of a type of these words; of others it asks nothing
        directives: the custom directives that the syntax names
        fields: what a class has beside its row, by the name of the operation
        assumed: whether a type that the syntax leaves out is for the verifier alone, where the generic form says another

    >>> define(__name__, "a dialect without a table")
    ()
    """
    words = {**ATTRIBUTES, **(attributes or {})}
    known = {directive.__name__: directive for directive in directives}
    made: list[type[IRDLOperation]] = []
    for row in rows_of(dialect).values():
        if row.custom:
            continue
        body = _body(row, words, types or {}, known, assumed)
        more = (fields or {}).get(row.name, {})
        body |= {"__module__": module, "__qualname__": row.class_name}
        body |= {name: value for name, value in more.items() if callable(value)}
        operation = irdl_op_definition(type(row.class_name, (IRDLOperation,), body))
        for name in more.keys() - body.keys():
            setattr(operation, name, more[name])
        if not body.keys() & {"verify_", "__post_init__"}:
            quick_check(operation)
        made.append(with_llvm_syntax(operation, row.shape.syntax, row.shape.inherent, row.shape.inherent_style))
    vars(sys.modules[module]).update({operation.__name__: operation for operation in made})
    return tuple(made)


def _body(
    row: Row,
    words: Mapping[str, Constraint],
    types: Mapping[str, Constraint],
    directives: Mapping[str, type[CustomDirective]],
    assumed: bool,
) -> dict[str, Any]:
    """The class body that a person would write."""
    shape = row.shape
    body: dict[str, Any] = {"name": row.name, "__doc__": row.says}
    alike = _alike(shape)
    for kind, values in (("operand", shape.operands), ("result", shape.results)):
        for value in values:
            constraint = alike.get(value.name)
            if constraint is None:
                constraint = _constraint(value, types, assumed)
            body[value.field] = _DEFINITIONS[kind, value.count](constraint)
    for one in shape.regions:
        body[one.field] = region_def() if one.count == "1" else var_region_def()
    for one in shape.attributes:
        default = None if one.default is None else _default(words[one.word], one.default)
        made = opt_prop_def if one.optional else prop_def
        name = None if one.field == one.name else one.name
        body[one.field] = made(words[one.word], default_value=default, prop_name=name)
    options: list[Any] = [ParsePropInAttrDict()]
    options += [AttrSizedOperandSegments(as_property=True)] if shape.has("AttrSizedOperandSegments") else []
    options += [AttrSizedResultSegments(as_property=True)] if shape.has("AttrSizedResultSegments") else []
    options += [SameVariadicOperandSize()] if shape.has("SameVariadicOperandSize") else []
    options += [SameVariadicResultSize()] if shape.has("SameVariadicResultSize") else []
    body["irdl_options"] = tuple(options)
    body["traits"] = traits_def(*_traits(shape))
    body["custom_directives"] = tuple(found for name, found in directives.items() if f"custom<{name}>" in shape.syntax)
    fields = {value.name: value.field for value in (*shape.operands, *shape.results, *shape.regions)}
    syntax = shape.syntax.replace("prop-dict", "")
    body["assembly_format"] = _NAMED.sub(lambda match: f"${fields.get(match[1], match[1])}", syntax)
    return body


def _traits(shape: Shape) -> Iterator[xdsl_traits.OpTrait]:
    for name, given in shape.traits:
        if name == "HasParent":
            yield StandsIn(given)
        elif name in TRAITS:
            yield TRAITS[name]


def _alike(shape: Shape) -> dict[str, AttrConstraint]:
    """A constraint for each of the values whose types a trait says to be the same."""
    found: dict[str, AttrConstraint] = {}
    for number, (trait, names) in enumerate(shape.traits):
        listed: Sequence[str] = ()
        if trait in ("AllTypesMatch", "InferredType"):
            listed = names
        elif trait == "SameOperandsAndResultType":
            listed = [value.name for value in (*shape.operands, *shape.results)]
        elif trait == "SameTypeOperands":
            listed = [value.name for value in shape.operands]
        found |= {name: VarConstraint(f"T{number}", AnyAttr()) for name in listed}
    return found


def _constraint(value: Value, types: Mapping[str, Constraint], assumed: bool) -> Constraint:
    single = _TYPES.get(value.words)
    if single is not None:
        return Assumed(single) if assumed else single
    return types.get(value.words, AnyAttr())


def _default(constraint: Constraint, text: str) -> Attribute:
    """`none` as an attribute of the class that a word stands for."""
    if constraint is BoolAttr:
        return BoolAttr.from_bool(text == "true")
    if constraint is IntegerAttr:
        number, _, width = text.partition(" : i")
        return IntegerAttr(int(number), IntegerType(int(width)))
    if isinstance(constraint, type) and issubclass(constraint, EnumAttribute):
        return cast(Any, constraint)(cast(Any, constraint).enum_type(text))
    if isinstance(constraint, type) and issubclass(constraint, BitEnumAttribute):
        return cast(Any, constraint)(text)
    raise ValueError(f"{text!r}: attributes of {constraint} have no default")
