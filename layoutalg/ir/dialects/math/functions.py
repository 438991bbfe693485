"""Functions of one float: powers, logarithms, angles, rounding.

>>> from layoutalg.ir import read_module
>>> print(list(read_module("%x = arith.constant 1.0 : f32 %y = math.sqrt %x : f32").ops)[1].result.type)
f32
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

__all__ = [
    "AbsFOp",
    "AcosOp",
    "AcoshOp",
    "AsinOp",
    "AsinhOp",
    "AtanOp",
    "AtanhOp",
    "CbrtOp",
    "CeilOp",
    "CosOp",
    "CoshOp",
    "ErfOp",
    "ErfcOp",
    "Exp2Op",
    "ExpM1Op",
    "ExpOp",
    "FloorOp",
    "Log1POp",
    "Log2Op",
    "Log10Op",
    "LogOp",
    "RoundEvenOp",
    "RoundOp",
    "RsqrtOp",
    "SinOp",
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
