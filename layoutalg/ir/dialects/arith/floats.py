"""Floating-point arithmetic.

    %0 = arith.mulf %a, %b fastmath<contract> : vector<8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = "%a = arith.constant 3.0 : f32 %b = arith.addf %a, %a fastmath<nnan,ninf> : f32"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%b = arith.addf %a, %a fastmath<nnan,ninf> : f32
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from layoutalg.ir.dialects.arith.directives import RoundingMode

__all__ = [
    "AddfOp",
    "DivfOp",
    "MaximumfOp",
    "MaxnumfOp",
    "MinimumfOp",
    "MinnumfOp",
    "MulfOp",
    "NegfOp",
    "RemfOp",
    "SubfOp",
]


class _FloatOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(
        self,
        operand1: Operation | SSAValue,
        operand2: Operation | SSAValue,
        flags: FastMathFlagsAttr | None = None,
        result_type: Attribute | None = None,
    ):
        made = SSAValue.get(operand1).type if result_type is None else result_type
        super().__init__(operands=[operand1, operand2], result_types=[made], properties={"fastmath": flags})


class _RoundedOp(_FloatOp, ABC):
    """An operation that may say how it rounds (LLVM 23 and later)."""

    roundingmode = opt_prop_def(IntegerAttr)

    custom_directives = (RoundingMode,)

    assembly_format = (
        "$lhs `,` $rhs custom<RoundingMode>($roundingmode) (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    )


@irdl_op_definition
class AddfOp(_RoundedOp):
    """The sum."""

    name = "arith.addf"


@irdl_op_definition
class SubfOp(_RoundedOp):
    """The difference."""

    name = "arith.subf"


@irdl_op_definition
class MulfOp(_RoundedOp):
    """The product."""

    name = "arith.mulf"


@irdl_op_definition
class DivfOp(_RoundedOp):
    """The quotient."""

    name = "arith.divf"


@irdl_op_definition
class RemfOp(_FloatOp):
    """The remainder of the quotient rounded to zero."""

    name = "arith.remf"


@irdl_op_definition
class MaximumfOp(_FloatOp):
    """The larger one; a NaN if one is a NaN."""

    name = "arith.maximumf"


@irdl_op_definition
class MinimumfOp(_FloatOp):
    """The smaller one; a NaN if one is a NaN."""

    name = "arith.minimumf"


@irdl_op_definition
class MaxnumfOp(_FloatOp):
    """The larger one; the other one if one is a NaN."""

    name = "arith.maxnumf"


@irdl_op_definition
class MinnumfOp(_FloatOp):
    """The smaller one; the other one if one is a NaN."""

    name = "arith.minnumf"


@irdl_op_definition
class NegfOp(IRDLOperation):
    """The value with its sign changed."""

    name = "arith.negf"

    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))

    traits = traits_def(Pure())

    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
