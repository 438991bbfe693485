"""Conversions of Triton and IREE as functions: from a lane's fragment to its fragment, one for each conversion of a module.

A `ttg.convert_layout` says both layouts in its types. An `iree_vector_ext.to_layout` gives a layout to a value that may have
one from another `to_layout` before it, through elementwise operations too. Such modules are not rewritten: their compilers
decide what they become at lane level. Each conversion gets a function, with the name and the place of the operation.

>>> from layoutalg.ir import read_module
>>> module = read_module('''
... #rows = #ttg.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2]]}>
... #columns = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0]]}>
... %x = "tt.load"() : () -> tensor<4x4xf32, #rows>
... %y = "ttg.convert_layout"(%x) : (tensor<4x4xf32, #rows>) -> tensor<4x4xf32, #columns>''')
>>> [function], findings = conversion_functions(module)
>>> function.name, str(function.place), function.plan.shuffles, findings
('convert_y', 'text:5:6', 3, ())
>>> print(function.text().splitlines()[2].strip().partition(" attributes")[0])
gpu.func @convert_y(%source: vector<4xf32>) -> (vector<4xf32>)

A conversion whose layouts are not read (`#ttg.blocked`, `#ttg.nvidia_mma`) is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.conversion import ConversionPlan, convert
from layoutalg.core.errors import ConversionError, LayoutError, ParseError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed
from layoutalg.core.reader import Reader
from layoutalg.flow.relations import relation_of
from layoutalg.flow.written_layouts import called
from layoutalg.ir import Finding, Place, place_of
from layoutalg.ir.dialects.iree_vector_ext import NestedLayoutAttr
from layoutalg.ir.dialects.unread import UnreadOp
from layoutalg.lowering.exchanges import moved_bits
from layoutalg.notations import read_value

__all__ = ["ConversionFunction", "conversion_functions"]

_TRITON = ("ttg.convert_layout", "triton_gpu.convert_layout")
_IREE = "iree_vector_ext.to_layout"
_TENSOR = re.compile(r"tensor<((?:[0-9]{1,9}x){1,8})([a-z][A-Za-z0-9]{0,15})\s*,\s*")
_NOT_IN_NAMES = re.compile(r"\W")


@dataclass(frozen=True, slots=True)
class ConversionFunction:
    """One conversion of a module: the name of its function, the operation and where it stands, its plan and element type.

    >>> import layoutalg as la
    >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
    >>> ConversionFunction("convert_y", "ttg.convert_layout", None, plan, "f32").plan.kind
    'shuffles'
    """

    name: str
    operation: str
    place: Place | None
    plan: ConversionPlan
    element: str

    def text(self) -> str:
        """A module with the function (see `ConversionPlan.emit`).

        Raises `ConversionError` for tables of more than 64 subgroups or lanes.

        >>> import layoutalg as la
        >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg")
        >>> "gpu.func @convert_y" in ConversionFunction("convert_y", "ttg.convert_layout", None, plan, "f32").text()
        True
        """
        return self.plan.emit(self.element, name=self.name)


def conversion_functions(
    module: Operation, target: str | None = None
) -> tuple[tuple[ConversionFunction, ...], tuple[Finding, ...]]:
    """The functions of a module's conversions in Triton and IREE, in the order of the text, and what could not be read.

    A `to_layout` of a value that has no layout yet converts nothing.

    Raises `PlanError` for an unknown target.

    >>> from layoutalg.ir import read_module
    >>> conversion_functions(read_module("gpu.barrier"))
    ((), ())
    """
    found: list[ConversionFunction] = []
    findings: list[Finding] = []
    taken: dict[str, int] = {}
    for operation in module.walk():
        name = called(operation)
        if name not in (*_TRITON, _IREE):
            continue
        try:
            ends = _of_iree(operation) if name == _IREE else _of_triton(operation)
            if ends is None:
                continue
            source, result, shape, element = ends
            plan = convert(source, result, shape, element_bits=moved_bits(element), target=target)
            made = ConversionFunction(_name(operation, taken), name, place_of(operation), plan, element)
            made.text()
        except LayoutError as problem:
            message = f"has no function: {problem}"
            findings.append(Finding("lower.conversion_function", message, name, place_of(operation)))
            continue
        found.append(made)
    return tuple(found), tuple(findings)


_Ends = tuple[Distributed, Distributed, tuple[int, ...], str]


def _of_triton(operation: Operation) -> _Ends:
    """The layouts in the types of a Triton conversion, which may stand in text that is not read."""
    if isinstance(operation, UnreadOp):
        text = operation.text.data
    else:
        kinds = [value.type for value in (*operation.operands[:1], *operation.results[:1])]
        text = " ".join(str(kind) for kind in kinds if isa(kind, TensorType[Attribute]))
    ends = list(_tensors(text))
    if len(ends) != 2:
        raise ConversionError(f"expected a tensor with a layout before and one after, found {len(ends)}")
    (shape, element, source), (other, _, result) = ends
    if shape != other:
        sizes = ["x".join(map(str, one)) for one in (shape, other)]
        raise ConversionError(f"a tensor of {sizes[0]} and one of {sizes[1]}")
    return source, result, shape, element


def _tensors(text: str) -> Iterator[tuple[tuple[int, ...], str, Distributed]]:
    """The tensors with a layout in a text: shape, element type and layout."""
    position = 0
    while (match := _TENSOR.search(text, position)) is not None:
        reader = Reader(text)
        reader.position = match.end()
        try:
            layout = read_value(reader)
        except ParseError:
            beginning = text[match.end() :].partition("<")[0]
            raise ConversionError(f"layouts {beginning}<...> are not read; #ttg.linear<...> is") from None
        reader.expect(">")
        position = reader.position
        yield tuple([int(size) for size in match[1].split("x")[:-1]]), match[2], layout


def _of_iree(operation: Operation) -> _Ends | None:
    """The layout that the operand has from an earlier `to_layout`, and the new one."""
    result = operation.properties.get("layout")
    kind = operation.results[0].type
    if not isa(kind, VectorType[Attribute]) and not isa(kind, TensorType[Attribute]):
        raise ConversionError(f"a value of type {shown(str(kind))}: expected a vector or a tensor")
    source = _layout_before(operation.operands[0])
    if source is None:
        return None
    if not isinstance(result, NestedLayoutAttr):
        raise ConversionError(f"{result} is not a layout that is read")
    return source, result.value, tuple(kind.get_shape()), str(kind.get_element_type())


def _layout_before(value: SSAValue) -> Distributed | None:
    """The layout of a value that a `to_layout` gives, or of the values that an elementwise operation makes it of."""
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        owner = one.owner
        if one in seen or not isinstance(owner, Operation):
            continue
        seen.add(one)
        if owner.name == _IREE:
            stated = owner.properties.get("layout")
            if isinstance(stated, NestedLayoutAttr):
                return stated.value
            raise ConversionError(f"{stated} is not a layout that is read")
        relation = relation_of(owner)
        ties = () if relation is None else relation.ties
        waiting += [tie.operand for tie in ties if tie.result is one and _keeps(tie.relation.shape, tie.operand)]
    return None


def _keeps(shape: Sequence[object], operand: SSAValue) -> bool:
    """Whether an operand has the shape of the result: that of an elementwise operation."""
    kind = operand.type
    return isa(kind, VectorType[Attribute]) and tuple(kind.get_shape()) == tuple(shape)


def _name(operation: Operation, taken: dict[str, int]) -> str:
    """A name for the function: that of the result, with a number where another one has it."""
    hint = operation.results[0].name_hint if operation.results else None
    place = place_of(operation)
    own = hint or ("value" if place is None else f"line{place.line}")
    name = f"convert_{_NOT_IN_NAMES.sub('_', own)}"
    times = taken[name] = taken.get(name, 0) + 1
    return name if times == 1 else f"{name}_{times}"
