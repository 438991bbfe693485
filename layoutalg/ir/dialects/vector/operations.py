"""The operations of `vector.txt` as classes."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.flags import FastMathFlagsAttr
from layoutalg.ir.dialects.type_directives import ElementOf, Elements, Same, Shuffled
from layoutalg.ir.dialects.vector.attributes import CombiningKindAttr, PrintPunctuationAttr
from layoutalg.ir.dialects.vector.directives import ReducedDimensions
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]


def _has_its_elements(operation: Any) -> None:
    """Check that `vector.from_elements` has as many scalars as its vector has elements, of their type."""
    kind: Attribute = operation.result.type
    if not isa(kind, VectorType[Attribute]):
        raise VerifyException(f"{kind} is not a vector type")
    count = prod(kind.get_shape())
    if len(operation.elements) != count or any(element.type != kind.element_type for element in operation.elements):
        types = ", ".join(str(element.type) for element in operation.elements)
        raise VerifyException(f"{kind} is made of {count} values of type {kind.element_type}, not of ({types})")


OPERATIONS = define(
    __name__,
    "vector",
    attributes={"fastmath": FastMathFlagsAttr, "kind": CombiningKindAttr, "punctuation": PrintPunctuationAttr},
    directives=(DynamicIndexList, ElementOf, Elements, ReducedDimensions, Same, Shuffled),
    fields={"vector.from_elements": {"verify_": _has_its_elements}},
)
"""The classes, in the order of the table."""
