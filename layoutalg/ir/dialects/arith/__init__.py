"""Arithmetic on integers, floats, and vectors of them, with LLVM's syntax.

    %0 = arith.addi %a, %b overflow<nsw> : i32
    %1 = arith.truncf %x to_nearest_even : f32 to bf16

>>> from layoutalg.ir import read_module
>>> print(list(read_module("%c = arith.constant dense<0xFF800000> : vector<8xf32>").ops)[0].value)
dense<0xff800000> : vector<8xf32>
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.arith.operations import OPERATIONS, CmpfOp, CmpiOp, ConstantOp, SelectOp
from layoutalg.ir.dialects.flags import FastMathFlagsAttr, IntegerOverflowAttr

__all__ = ["ARITH", "CmpfOp", "CmpiOp", "ConstantOp", "FastMathFlagsAttr", "IntegerOverflowAttr", "SelectOp"]

ARITH = Dialect("arith", list(OPERATIONS), [FastMathFlagsAttr, IntegerOverflowAttr])
"""The dialect."""
