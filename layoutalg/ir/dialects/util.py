"""IREE's functions, and what the compiler is told about values.

>>> from layoutalg.ir import read_module, write_module
>>> text = "util.func private @f(%a: index) { %b = util.optimization_barrier %a : index util.return }"
>>> print(write_module(read_module(text)).splitlines()[1].strip())
util.func private @f(%a: index) {
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.dialects.func import Function
from layoutalg.ir.dialects.iree_directives import Assumptions, Barred
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS", "UTIL", "UtilFuncOp"]

OPERATIONS = define(__name__, "util", directives=(Assumptions, Barred, SameType))
"""The classes, in the order of the table."""


@irdl_op_definition
class UtilFuncOp(Function):
    """A function; its syntax is that of `func.func`."""

    name = "util.func"


UTIL = Dialect("util", [UtilFuncOp, *OPERATIONS])
"""The dialect."""
