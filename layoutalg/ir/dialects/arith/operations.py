"""The operations of `arith.txt` as classes."""

from __future__ import annotations

from layoutalg.ir.dialects.arith.directives import Constant, FloatPredicate, IntegerPredicate, RoundingMode, Selected
from layoutalg.ir.dialects.flags import FastMathFlagsAttr, IntegerOverflowAttr
from layoutalg.ir.dialects.type_directives import TruthOf
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]

OPERATIONS = define(
    __name__,
    "arith",
    attributes={"fastmath": FastMathFlagsAttr, "overflow": IntegerOverflowAttr},
    directives=(Constant, FloatPredicate, IntegerPredicate, RoundingMode, Selected, TruthOf),
)
"""The classes, in the order of the table."""
