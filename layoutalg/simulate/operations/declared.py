"""How operations are read where they are compiled: by their properties in LLVM's generic form, which all spellings share.

>>> from layoutalg.ir import read_module
>>> constant = read_module("%a = arith.constant dense<1> : vector<4xi8>").body.block.first_op
>>> element_of(constant.results[0]).name, print(property_of(constant, "value"))
dense<1> : vector<4xi8>
('i8', None)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast, overload

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
from xdsl.ir import Attribute, Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.ir.assembly import property_of
from layoutalg.simulate.compiling import Step
from layoutalg.simulate.machine import Array, Run
from layoutalg.simulate.values.elements import Element, element

__all__ = ["element_of", "pointwise", "property_of", "undefined", "whole_numbers", "word"]

_WORD = re.compile(r"[a-z_0-9]+")


def whole_numbers(operation: Operation, name: str) -> tuple[int, ...]:
    """A list of integers among the properties, in whichever of MLIR's forms it is kept.

    >>> from xdsl.dialects.builtin import IntAttr
    >>> from xdsl.dialects.test import TestOp
    >>> whole_numbers(TestOp(attributes={"sizes": ArrayAttr([IntAttr(4)])}), "sizes")
    (4,)
    """
    found: Any = property_of(operation, name)
    match found:
        case DenseArrayBase():
            return tuple(int(number) for number in found.get_values())
        case ArrayAttr(data=entries):
            return tuple(_number(entry, name) for entry in cast("tuple[Any, ...]", entries))
        case _:
            raise LayoutError(f"{name}: expected a list of integers, not {found}")


def _number(entry: Any, name: str) -> int:
    data: object = getattr(getattr(entry, "value", entry), "data", None)
    if not isinstance(data, int):
        raise LayoutError(f"{name}: {entry} is not an integer")
    return data


def word(operation: Operation, name: str, choices: tuple[str, ...] | list[str]) -> str:
    """The word of an enumeration that a property has, such as `add` of `#vector.kind<add>`.

    >>> from xdsl.dialects.builtin import StringAttr
    >>> from xdsl.dialects.test import TestOp
    >>> word(TestOp(attributes={"kind": StringAttr("add")}), "kind", ("add", "mul"))
    'add'
    """
    found = property_of(operation, name)
    words = _WORD.findall(str(found))
    for choice in words[::-1]:
        if choice in choices:
            return choice
    raise LayoutError(f"{name} = {found}: expected one of {', '.join(choices)}")


def element_of(value: SSAValue | Attribute) -> Element:
    """How the elements of a value are held."""
    kind = value.type if isinstance(value, SSAValue) else value
    return element(str(getattr(kind, "element_type", kind)))


@overload
def pointwise(function: Callable[[Array], Array]) -> Step: ...
@overload
def pointwise(function: Callable[[Array, Array], Array]) -> Step: ...
@overload
def pointwise(function: Callable[[Array, Array, Array], Array]) -> Step: ...
def pointwise(function: Callable[..., Array]) -> Step:
    """The step of an operation that computes its one result from the values of its operands."""
    return lambda run, values: (function(*values),)


def undefined(run: Run, operation: Operation, where: Array, problem: str, shown: Array | None = None) -> None:
    """Report `run.undefined` if some work-item that is active meets a case in which LLVM leaves the result open.

    `{}` in the problem becomes the first entry of `shown` that meets it.

    >>> from layoutalg.simulate.machine import Machine
    >>> from xdsl.dialects.test import TestOp
    >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None)
    >>> undefined(run, TestOp(), np.full((1, 1, 16), True), "division by zero")
    >>> run.findings[0].rule, run.findings[0].message
    ('run.undefined', 'division by zero')
    """
    if not where.any():
        return
    if run.active is not None:
        active = run.active.reshape(*run.active.shape, *(1,) * (where.ndim - run.active.ndim))
        where = np.logical_and(where, active)
        if not where.any():
            return
    if shown is not None:
        problem = problem.replace("{}", str(np.broadcast_to(shown, where.shape)[where].reshape(-1)[0]))
    run.report(operation, "run.undefined", problem)
