"""Elementary functions, with LLVM's syntax.

    %0 = math.exp2 %x fastmath<fast> : vector<8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = "%x = arith.constant 1.0 : f32 %y = math.exp2 %x fastmath<afn> : f32"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%y = math.exp2 %x fastmath<afn> : f32
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Dialect
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
    "MATH",
    "AbsFOp",
    "AbsIOp",
    "AcosOp",
    "AcoshOp",
    "AsinOp",
    "AsinhOp",
    "Atan2Op",
    "AtanOp",
    "AtanhOp",
    "CbrtOp",
    "CeilOp",
    "ClampFOp",
    "CopySignOp",
    "CosOp",
    "CoshOp",
    "CountLeadingZerosOp",
    "CountTrailingZerosOp",
    "CtPopOp",
    "ErfOp",
    "ErfcOp",
    "Exp2Op",
    "ExpM1Op",
    "ExpOp",
    "FPowIOp",
    "FloorOp",
    "FmaOp",
    "IPowIOp",
    "IsFiniteOp",
    "IsInfOp",
    "IsNaNOp",
    "IsNormalOp",
    "Log1POp",
    "Log2Op",
    "Log10Op",
    "LogOp",
    "PowFOp",
    "RoundEvenOp",
    "RoundOp",
    "RsqrtOp",
    "SinOp",
    "SincosOp",
    "SinhOp",
    "SqrtOp",
    "TanOp",
    "TanhOp",
    "TruncOp",
]

_NO_FAST_MATH = FastMathFlagsAttr("none")


class _UnaryOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


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
class AbsFOp(_UnaryOp):
    """The absolute value."""

    name = "math.absf"


@irdl_op_definition
class AcosOp(_UnaryOp):
    """The angle with this cosine."""

    name = "math.acos"


@irdl_op_definition
class AcoshOp(_UnaryOp):
    """The inverse of `math.cosh`."""

    name = "math.acosh"


@irdl_op_definition
class AsinOp(_UnaryOp):
    """The angle with this sine."""

    name = "math.asin"


@irdl_op_definition
class AsinhOp(_UnaryOp):
    """The inverse of `math.sinh`."""

    name = "math.asinh"


@irdl_op_definition
class AtanOp(_UnaryOp):
    """The angle with this tangent."""

    name = "math.atan"


@irdl_op_definition
class AtanhOp(_UnaryOp):
    """The inverse of `math.tanh`."""

    name = "math.atanh"


@irdl_op_definition
class CbrtOp(_UnaryOp):
    """The cube root."""

    name = "math.cbrt"


@irdl_op_definition
class CeilOp(_UnaryOp):
    """Rounded up."""

    name = "math.ceil"


@irdl_op_definition
class CosOp(_UnaryOp):
    """The cosine."""

    name = "math.cos"


@irdl_op_definition
class CoshOp(_UnaryOp):
    """The hyperbolic cosine."""

    name = "math.cosh"


@irdl_op_definition
class ErfOp(_UnaryOp):
    """The error function."""

    name = "math.erf"


@irdl_op_definition
class ErfcOp(_UnaryOp):
    """One minus the error function."""

    name = "math.erfc"


@irdl_op_definition
class ExpOp(_UnaryOp):
    """e to this power."""

    name = "math.exp"


@irdl_op_definition
class Exp2Op(_UnaryOp):
    """2 to this power."""

    name = "math.exp2"


@irdl_op_definition
class ExpM1Op(_UnaryOp):
    """e to this power, minus 1."""

    name = "math.expm1"


@irdl_op_definition
class FloorOp(_UnaryOp):
    """Rounded down."""

    name = "math.floor"


@irdl_op_definition
class LogOp(_UnaryOp):
    """The natural logarithm."""

    name = "math.log"


@irdl_op_definition
class Log10Op(_UnaryOp):
    """The logarithm to base 10."""

    name = "math.log10"


@irdl_op_definition
class Log1POp(_UnaryOp):
    """The natural logarithm of this plus 1."""

    name = "math.log1p"


@irdl_op_definition
class Log2Op(_UnaryOp):
    """The logarithm to base 2."""

    name = "math.log2"


@irdl_op_definition
class RoundOp(_UnaryOp):
    """Rounded to the nearest, halves away from zero."""

    name = "math.round"


@irdl_op_definition
class RoundEvenOp(_UnaryOp):
    """Rounded to the nearest, halves to the even one."""

    name = "math.roundeven"


@irdl_op_definition
class RsqrtOp(_UnaryOp):
    """One over the square root."""

    name = "math.rsqrt"


@irdl_op_definition
class SinOp(_UnaryOp):
    """The sine."""

    name = "math.sin"


@irdl_op_definition
class SinhOp(_UnaryOp):
    """The hyperbolic sine."""

    name = "math.sinh"


@irdl_op_definition
class SqrtOp(_UnaryOp):
    """The square root."""

    name = "math.sqrt"


@irdl_op_definition
class TanOp(_UnaryOp):
    """The tangent."""

    name = "math.tan"


@irdl_op_definition
class TanhOp(_UnaryOp):
    """The hyperbolic tangent."""

    name = "math.tanh"


@irdl_op_definition
class TruncOp(_UnaryOp):
    """Rounded to zero."""

    name = "math.trunc"


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


MATH = Dialect(
    "math",
    [
        AbsFOp,
        AbsIOp,
        AcosOp,
        AcoshOp,
        AsinOp,
        AsinhOp,
        Atan2Op,
        AtanOp,
        AtanhOp,
        CbrtOp,
        CeilOp,
        ClampFOp,
        CopySignOp,
        CosOp,
        CoshOp,
        CountLeadingZerosOp,
        CountTrailingZerosOp,
        CtPopOp,
        ErfOp,
        ErfcOp,
        Exp2Op,
        ExpM1Op,
        ExpOp,
        FPowIOp,
        FloorOp,
        FmaOp,
        IPowIOp,
        IsFiniteOp,
        IsInfOp,
        IsNaNOp,
        IsNormalOp,
        Log10Op,
        Log1POp,
        Log2Op,
        LogOp,
        PowFOp,
        RoundEvenOp,
        RoundOp,
        RsqrtOp,
        SinOp,
        SincosOp,
        SinhOp,
        SqrtOp,
        TanOp,
        TanhOp,
        TruncOp,
    ],
)
"""The dialect."""
