"""Operations that work element by element: every operand that has the result's shape is spread as the result is."""

from __future__ import annotations

from xdsl.ir import Operation

from layoutalg.propagation.relations.relation import Relation, relates, same_shape

__all__: list[str] = []

_ARITH = (
    "addf", "subf", "mulf", "divf", "remf", "negf", "maximumf", "minimumf", "maxnumf", "minnumf", "cmpf", "select",
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "cmpi",
    "maxsi", "maxui", "minsi", "minui", "ceildivsi", "ceildivui", "floordivsi", "extf", "truncf", "extsi", "extui", "trunci",
    "sitofp", "uitofp", "fptosi", "fptoui", "index_cast", "index_castui", "bitcast",
)  # fmt: skip


@relates(*(f"arith.{name}" for name in _ARITH), "vector.fma", "math.exp", "math.sqrt", "math.absf", "math.tanh")
def elementwise(op: Operation) -> Relation:
    """Same coordinates."""
    return Relation(tuple(tie for number in range(len(op.operands)) for tie in same_shape(op, number, op.results[0])))


@relates("arith.constant")
def constant(op: Operation) -> Relation:
    """Every work-item makes what it needs."""
    return Relation()
