"""The operations of `math.txt` as classes."""

from __future__ import annotations

from layoutalg.ir.dialects.flags import FastMathFlagsAttr
from layoutalg.ir.dialects.type_directives import TruthOf
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]

OPERATIONS = define(__name__, "math", attributes={"fastmath": FastMathFlagsAttr}, directives=(TruthOf,))
"""The classes, in the order of the table."""
