"""Conversions between types, comparisons, selections, constants.

    %0 = arith.truncf %x to_nearest_even : f32 to bf16
    %1 = arith.select %mask, %v, %w : vector<8xi1>, vector<8xf16>

>>> from layoutalg.ir import read_module
>>> text = '%v = "test.op"() : () -> vector<8xf16> %c = arith.cmpf olt, %v, %v : vector<8xf16>'
>>> print(list(read_module(text).ops)[1].result.type)
vector<8xi1>
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
    IntegerOverflowAttr,
)
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue, TypedAttribute
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
from xdsl.traits import ConstantLike, Pure

from layoutalg.ir.dialects.arith.directives import Constant, FloatPredicate, IntegerPredicate, RoundingMode, Selected
from layoutalg.ir.dialects.type_directives import TruthOf, truth_type

__all__ = [
    "BitcastOp",
    "CmpfOp",
    "CmpiOp",
    "ConstantOp",
    "ConvertFOp",
    "ExtFOp",
    "ExtSIOp",
    "ExtUIOp",
    "FPToSIOp",
    "FPToUIOp",
    "IndexCastOp",
    "IndexCastUIOp",
    "SIToFPOp",
    "ScalingExtFOp",
    "ScalingTruncFOp",
    "SelectOp",
    "TruncFOp",
    "TruncIOp",
    "UIToFPOp",
]

_NO_FAST_MATH = FastMathFlagsAttr("none")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A number, or a vector or tensor of numbers."""

    name = "arith.constant"

    value = prop_def()
    result = result_def()

    traits = traits_def(Pure(), ConstantLike())
    custom_directives = (Constant,)

    assembly_format = "attr-dict custom<Constant>($value, type($result))"

    def __init__(self, value: TypedAttribute, value_type: Attribute | None = None):
        made = value.get_type() if value_type is None else value_type
        super().__init__(result_types=[made], properties={"value": value})


class _CastOp(IRDLOperation, ABC):
    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, value: Operation | SSAValue, target_type: Attribute):
        super().__init__(operands=[value], result_types=[target_type])


class _NonNegativeOp(_CastOp, ABC):
    """A conversion whose operand may be promised not to be negative."""

    non_neg = opt_prop_def(UnitAttr, prop_name="nonNeg")

    assembly_format = "$input (`nneg` $nonNeg^)? attr-dict `:` type($input) `to` type($result)"


@irdl_op_definition
class ExtSIOp(_CastOp):
    """A wider integer, signed."""

    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(_NonNegativeOp):
    """A wider integer, unsigned."""

    name = "arith.extui"


@irdl_op_definition
class FPToSIOp(_CastOp):
    """A float as a signed integer, rounded to zero."""

    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(_CastOp):
    """A float as an unsigned integer, rounded to zero."""

    name = "arith.fptoui"


@irdl_op_definition
class SIToFPOp(_CastOp):
    """A signed integer as a float."""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(_NonNegativeOp):
    """An unsigned integer as a float."""

    name = "arith.uitofp"


@irdl_op_definition
class IndexCastOp(_CastOp):
    """An index as an integer or back, signed."""

    name = "arith.index_cast"


@irdl_op_definition
class IndexCastUIOp(_NonNegativeOp):
    """An index as an integer or back, unsigned."""

    name = "arith.index_castui"


@irdl_op_definition
class BitcastOp(_CastOp):
    """The same bits as a value of another type."""

    name = "arith.bitcast"


@irdl_op_definition
class TruncIOp(_CastOp):
    """The low bits of an integer."""

    name = "arith.trunci"

    overflow_flags = prop_def(IntegerOverflowAttr, default_value=IntegerOverflowAttr("none"), prop_name="overflowFlags")

    assembly_format = "$input (`overflow` `` $overflowFlags^)? attr-dict `:` type($input) `to` type($result)"


@irdl_op_definition
class ExtFOp(_CastOp):
    """A wider float."""

    name = "arith.extf"

    fastmath = opt_prop_def(FastMathFlagsAttr)

    assembly_format = "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"


class _RoundedCastOp(_CastOp, ABC):
    roundingmode = opt_prop_def(IntegerAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)

    custom_directives = (RoundingMode,)

    assembly_format = (
        "$input custom<RoundingMode>($roundingmode) (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` "
        "type($result)"
    )


@irdl_op_definition
class TruncFOp(_RoundedCastOp):
    """A narrower float."""

    name = "arith.truncf"


@irdl_op_definition
class ConvertFOp(_RoundedCastOp):
    """A float of another format of the same width (LLVM 23 and later)."""

    name = "arith.convertf"


@irdl_op_definition
class ScalingExtFOp(IRDLOperation):
    """A wider float times a power of two."""

    name = "arith.scaling_extf"

    input = operand_def()
    scale = operand_def()
    fastmath = opt_prop_def(FastMathFlagsAttr)
    out = result_def()

    traits = traits_def(Pure())

    assembly_format = (
        "$input `,` $scale (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `,` type($scale) `to` type($out)"
    )


@irdl_op_definition
class ScalingTruncFOp(IRDLOperation):
    """A narrower float, divided by a power of two first."""

    name = "arith.scaling_truncf"

    input = operand_def()
    scale = operand_def()
    roundingmode = opt_prop_def(IntegerAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    out = result_def()

    traits = traits_def(Pure())
    custom_directives = (RoundingMode,)

    assembly_format = (
        "$input `,` $scale custom<RoundingMode>($roundingmode) (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `,` "
        "type($scale) `to` type($out)"
    )


@irdl_op_definition
class CmpiOp(IRDLOperation):
    """Whether two integers compare so."""

    name = "arith.cmpi"

    T: ClassVar = VarConstraint("T", AnyAttr())

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (IntegerPredicate, TruthOf)

    assembly_format = (
        "custom<IntegerPredicate>($predicate) `,` $lhs `,` $rhs attr-dict `:` "
        "custom<TruthOf>(type($lhs), type($result))"
    )

    def __init__(self, operand1: Operation | SSAValue, operand2: Operation | SSAValue, arg: int | str):
        number = arg if isinstance(arg, int) else CMPI_COMPARISON_OPERATIONS.index(arg)
        super().__init__(
            operands=[operand1, operand2],
            result_types=[truth_type(SSAValue.get(operand1).type)],
            properties={"predicate": IntegerAttr(number, 64)},
        )


@irdl_op_definition
class CmpfOp(IRDLOperation):
    """Whether two floats compare so."""

    name = "arith.cmpf"

    T: ClassVar = VarConstraint("T", AnyAttr())

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FAST_MATH)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (FloatPredicate, TruthOf)

    assembly_format = (
        "custom<FloatPredicate>($predicate) `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` "
        "custom<TruthOf>(type($lhs), type($result))"
    )

    def __init__(
        self,
        operand1: Operation | SSAValue,
        operand2: Operation | SSAValue,
        arg: int | str,
        fastmath: FastMathFlagsAttr = _NO_FAST_MATH,
    ):
        number = arg if isinstance(arg, int) else CMPF_COMPARISON_OPERATIONS.index(arg)
        super().__init__(
            operands=[operand1, operand2],
            result_types=[truth_type(SSAValue.get(operand1).type)],
            properties={"predicate": IntegerAttr(number, 64), "fastmath": fastmath},
        )


@irdl_op_definition
class SelectOp(IRDLOperation):
    """One of two values, for the whole or element by element."""

    name = "arith.select"

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def()
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    custom_directives = (Selected,)

    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` custom<Selected>(type($cond), type($result))"

    def __init__(self, operand1: Operation | SSAValue, operand2: Operation | SSAValue, operand3: Operation | SSAValue):
        made = SSAValue.get(operand2).type
        super().__init__(operands=[operand1, operand2, operand3], result_types=[made])
