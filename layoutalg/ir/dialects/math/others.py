"""Functions of integers and of several values, and classes of floats.

>>> from layoutalg.ir import read_module
>>> print(list(read_module("%x = arith.constant 1.0 : f32 %y = math.isnan %x : f32").ops)[1].result.type)
i1
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from layoutalg.ir.dialects.type_directives import TruthOf

__all__ = [
    "AbsIOp",
    "Atan2Op",
    "ClampFOp",
    "CopySignOp",
    "CountLeadingZerosOp",
    "CountTrailingZerosOp",
    "CtPopOp",
    "FPowIOp",
    "FmaOp",
    "IPowIOp",
    "IsFiniteOp",
    "IsInfOp",
    "IsNaNOp",
    "IsNormalOp",
    "PowFOp",
    "SincosOp",
]

_NO_FAST_MATH = FastMathFlagsAttr("none")


class _IntegerOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


class _BinaryOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _ClassOp(IRDLOperation, ABC):
    """Whether a value belongs to a class of floats."""

    operand = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (TruthOf,)

    assembly_format = (
        "$operand (`fastmath` `` $fastmath^)? attr-dict `:` custom<TruthOf>(type($operand), type($result))"
    )


@irdl_op_definition
class AbsIOp(_IntegerOp):
    """The absolute value."""

    name = "math.absi"


@irdl_op_definition
class CountLeadingZerosOp(_IntegerOp):
    """How many zeros stand in front."""

    name = "math.ctlz"


@irdl_op_definition
class CountTrailingZerosOp(_IntegerOp):
    """How many zeros stand at the end."""

    name = "math.cttz"


@irdl_op_definition
class CtPopOp(_IntegerOp):
    """How many bits are set."""

    name = "math.ctpop"


@irdl_op_definition
class Atan2Op(_BinaryOp):
    """The angle of a point."""

    name = "math.atan2"


@irdl_op_definition
class CopySignOp(_BinaryOp):
    """The size of one with the sign of the other."""

    name = "math.copysign"


@irdl_op_definition
class PowFOp(_BinaryOp):
    """One to the power of the other."""

    name = "math.powf"


@irdl_op_definition
class IsFiniteOp(_ClassOp):
    """Whether it is neither infinite nor a NaN."""

    name = "math.isfinite"


@irdl_op_definition
class IsInfOp(_ClassOp):
    """Whether it is infinite."""

    name = "math.isinf"


@irdl_op_definition
class IsNaNOp(_ClassOp):
    """Whether it is a NaN."""

    name = "math.isnan"


@irdl_op_definition
class IsNormalOp(_ClassOp):
    """Whether it is neither zero, denormal, infinite nor a NaN."""

    name = "math.isnormal"


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """The value, or the bound that it lies beyond."""

    name = "math.clampf"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    min = operand_def(T)
    max = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$value `to` ` ` `[` $min `,` $max `]` (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


@irdl_op_definition
class FmaOp(IRDLOperation):
    """a * b + c, rounded once."""

    name = "math.fma"

    T: ClassVar = VarConstraint("T", AnyAttr())

    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


@irdl_op_definition
class FPowIOp(IRDLOperation):
    """A float to the power of an integer."""

    name = "math.fpowi"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs) `,` type($rhs)"


@irdl_op_definition
class IPowIOp(IRDLOperation):
    """An integer to the power of an integer."""

    name = "math.ipowi"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"


@irdl_op_definition
class SincosOp(IRDLOperation):
    """The sine and the cosine."""

    name = "math.sincos"

    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    sin = result_def(T)
    cos = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"
