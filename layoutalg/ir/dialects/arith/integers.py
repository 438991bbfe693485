"""Integer arithmetic: sums, products, quotients, bits, shifts.

    %0 = arith.addi %a, %b overflow<nsw, nuw> : i32

>>> from layoutalg.ir import read_module, write_module
>>> text = "%a = arith.constant 3 : i32 %b = arith.shrui %a, %a exact : i32"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%b = arith.shrui %a, %a exact : i32
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import IntegerOverflowAttr
from xdsl.dialects.builtin import UnitAttr
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

__all__ = [
    "AddUIExtendedOp",
    "AddiOp",
    "AndIOp",
    "CeilDivSIOp",
    "CeilDivUIOp",
    "DivSIOp",
    "DivUIOp",
    "FloorDivSIOp",
    "MaxSIOp",
    "MaxUIOp",
    "MinSIOp",
    "MinUIOp",
    "MulSIExtendedOp",
    "MulUIExtendedOp",
    "MuliOp",
    "OrIOp",
    "RemSIOp",
    "RemUIOp",
    "ShLIOp",
    "ShRSIOp",
    "ShRUIOp",
    "SubiOp",
    "XOrIOp",
]


class _IntegerOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(
        self, operand1: Operation | SSAValue, operand2: Operation | SSAValue, result_type: Attribute | None = None
    ):
        made = SSAValue.get(operand1).type if result_type is None else result_type
        super().__init__(operands=[operand1, operand2], result_types=[made])


class _OverflowOp(_IntegerOp, ABC):
    """An operation that may promise not to overflow."""

    overflow_flags = prop_def(IntegerOverflowAttr, default_value=IntegerOverflowAttr("none"), prop_name="overflowFlags")

    assembly_format = "$lhs `,` $rhs (`overflow` `` $overflowFlags^)? attr-dict `:` type($result)"


class _ExactOp(_IntegerOp, ABC):
    """An operation that may promise to lose nothing."""

    is_exact = opt_prop_def(UnitAttr, prop_name="isExact")

    assembly_format = "$lhs `,` $rhs (`exact` $isExact^)? attr-dict `:` type($result)"


@irdl_op_definition
class AddiOp(_OverflowOp):
    """The sum."""

    name = "arith.addi"


@irdl_op_definition
class SubiOp(_OverflowOp):
    """The difference."""

    name = "arith.subi"


@irdl_op_definition
class MuliOp(_OverflowOp):
    """The product."""

    name = "arith.muli"


@irdl_op_definition
class ShLIOp(_OverflowOp):
    """Bits moved up."""

    name = "arith.shli"


@irdl_op_definition
class DivSIOp(_ExactOp):
    """The quotient, signed, rounded to zero."""

    name = "arith.divsi"


@irdl_op_definition
class DivUIOp(_ExactOp):
    """The quotient, unsigned."""

    name = "arith.divui"


@irdl_op_definition
class ShRSIOp(_ExactOp):
    """Bits moved down, with copies of the sign."""

    name = "arith.shrsi"


@irdl_op_definition
class ShRUIOp(_ExactOp):
    """Bits moved down, with zeros."""

    name = "arith.shrui"


@irdl_op_definition
class CeilDivSIOp(_IntegerOp):
    """The quotient, signed, rounded up."""

    name = "arith.ceildivsi"


@irdl_op_definition
class CeilDivUIOp(_IntegerOp):
    """The quotient, unsigned, rounded up."""

    name = "arith.ceildivui"


@irdl_op_definition
class FloorDivSIOp(_IntegerOp):
    """The quotient, signed, rounded down."""

    name = "arith.floordivsi"


@irdl_op_definition
class RemSIOp(_IntegerOp):
    """The remainder, signed."""

    name = "arith.remsi"


@irdl_op_definition
class RemUIOp(_IntegerOp):
    """The remainder, unsigned."""

    name = "arith.remui"


@irdl_op_definition
class AndIOp(_IntegerOp):
    """The bits that both have."""

    name = "arith.andi"


@irdl_op_definition
class OrIOp(_IntegerOp):
    """The bits that one has."""

    name = "arith.ori"


@irdl_op_definition
class XOrIOp(_IntegerOp):
    """The bits that only one has."""

    name = "arith.xori"


@irdl_op_definition
class MaxSIOp(_IntegerOp):
    """The larger one, signed."""

    name = "arith.maxsi"


@irdl_op_definition
class MaxUIOp(_IntegerOp):
    """The larger one, unsigned."""

    name = "arith.maxui"


@irdl_op_definition
class MinSIOp(_IntegerOp):
    """The smaller one, signed."""

    name = "arith.minsi"


@irdl_op_definition
class MinUIOp(_IntegerOp):
    """The smaller one, unsigned."""

    name = "arith.minui"


@irdl_op_definition
class AddUIExtendedOp(IRDLOperation):
    """The sum, unsigned, and whether it overflowed."""

    name = "arith.addui_extended"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    sum = result_def(T)
    overflow = result_def()

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)"


class _ExtendedProductOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    low = result_def(T)
    high = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs)"


@irdl_op_definition
class MulSIExtendedOp(_ExtendedProductOp):
    """The product in two words, signed."""

    name = "arith.mulsi_extended"


@irdl_op_definition
class MulUIExtendedOp(_ExtendedProductOp):
    """The product in two words, unsigned."""

    name = "arith.mului_extended"
