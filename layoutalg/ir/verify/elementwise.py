"""LLVM's rules of arith and math: types of operands, and that they agree.

    %c = arith.addi %a, %b : (vector<4xi32>, vector<8xi32>) -> vector<4xi32>

is refused with "requires the same type for all operands and results".
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType

from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, is_memref, is_vector, rank_of, shape_of, typed, width_of
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []

_CASTS = (
    "extf",
    "truncf",
    "extsi",
    "extui",
    "trunci",
    "sitofp",
    "uitofp",
    "fptosi",
    "fptoui",
    "bitcast",
    "index_cast",
    "index_castui",
)


@rule("arith.compare.result", "arith.cmpi", "arith.cmpf")
def _compared(subject: Subject) -> str | None:
    given, result = subject.type("lhs"), subject.type("result")
    if shape_of(given) == shape_of(result) and rank_of(given) == rank_of(result):
        return None
    return "failed to verify that result type has i1 element type and same shape as operands"


@rule("arith.compare.operands", "arith.cmpi", "arith.cmpf")
def _comparable(subject: Subject) -> str | None:
    return None if subject.type("lhs") == subject.type("rhs") else "requires all operands to have the same type"


def _is_tensor(kind: Any) -> bool:
    return isinstance(kind, TensorType)


@rule("arith.select.condition", "arith.select")
def _condition(subject: Subject) -> str | None:
    condition: Any = subject.type("condition")
    result: Any = subject.type("result")
    if not is_vector(condition) and rank_of(condition) == 0:
        return None
    tensors = _is_tensor(result) and _is_tensor(condition)
    shaped = is_vector(result) or tensors
    if not shaped or rank_of(condition) != rank_of(result) or shape_of(condition) != shape_of(result):
        return "failed to verify that condition is signless i1 or has matching shape"
    if tensors and condition.encoding != result.encoding:
        wanted: Any = TensorType(condition.element_type, result.get_shape(), result.encoding)
        said = "expected condition type to have the same shape as the result type"
        return f"{said}, expected '{wanted}', but got '{condition}'"
    return None


@rule("arith.constant.type", "arith.constant")
def _constant(subject: Subject) -> str | None:
    value: Any = subject.attribute("value")
    if value is None:
        return "requires attribute 'value'"
    kind = getattr(value, "type", None)
    if kind is None or kind == subject.type("result"):
        return None
    return "failed to verify that all of {value, result} have same type"


@rule("arith.constant.signless", "arith.constant")
def _signless(subject: Subject) -> str | None:
    kind = element_of(subject.type("result"))
    if str(kind).startswith(("si", "ui")):
        return "integer return type must be signless"
    return None


_WIDER = ("arith.extf", "arith.extsi", "arith.extui")
_NARROWER = ("arith.truncf", "arith.trunci")


@rule("arith.cast.shape", *(f"arith.{name}" for name in _CASTS))
def _same_shape(subject: Subject) -> str | None:
    given, made = subject.type("in"), subject.type("out")
    if shape_of(given) == shape_of(made) and rank_of(given) == rank_of(made):
        return None
    return "requires the same shape for all operands and results"


@rule("arith.cast", *(f"arith.{name}" for name in _CASTS))
def _cast(subject: Subject) -> str | None:
    given, made = subject.type("in"), subject.type("out")
    wide, narrow = width_of(element_of(given)), width_of(element_of(made))
    name = subject.name
    wrong = (
        (name in _WIDER and wide >= narrow)
        or (name in _NARROWER and wide <= narrow)
        or (name == "arith.bitcast" and wide != narrow)
        or ("index" in name and (str(element_of(given)) == "index") == (str(element_of(made)) == "index"))
        or is_memref(given) != is_memref(made)
    )
    return f"operand type {typed(given)} and result type {typed(made)} are cast incompatible" if wrong else None
