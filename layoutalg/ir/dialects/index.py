"""Arithmetic of sizes and positions, with LLVM's syntax.

    %0 = index.add %a, %b
    %1 = index.castu %0 : index to i32

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%c = index.constant 42")).splitlines()[1].strip())
%c = index.constant 42
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

__all__ = [
    "INDEX",
    "AddOp",
    "AndOp",
    "BoolConstantOp",
    "CastSOp",
    "CastUOp",
    "CeilDivSOp",
    "CeilDivUOp",
    "CmpOp",
    "ConstantOp",
    "DivSOp",
    "DivUOp",
    "FloorDivSOp",
    "IndexCmpPredicate",
    "IndexCmpPredicateAttr",
    "MaxSOp",
    "MaxUOp",
    "MinSOp",
    "MinUOp",
    "MulOp",
    "OrOp",
    "RemSOp",
    "RemUOp",
    "ShlOp",
    "ShrSOp",
    "ShrUOp",
    "SizeOfOp",
    "SubOp",
    "XOrOp",
]

_INDEX = IndexType()


class IndexCmpPredicate(StrEnum):
    """How two numbers are compared, signed or unsigned."""

    Eq = "eq"
    Ne = "ne"
    Slt = "slt"
    Sle = "sle"
    Sgt = "sgt"
    Sge = "sge"
    Ult = "ult"
    Ule = "ule"
    Ugt = "ugt"
    Uge = "uge"


@irdl_attr_definition
class IndexCmpPredicateAttr(EnumAttribute[IndexCmpPredicate], SpacedOpaqueSyntaxAttribute):
    """`#index<cmp_predicate slt>`."""

    name = "index.cmp_predicate"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> IndexCmpPredicate:
        """Read `slt` or `<slt>`."""
        bracketed = parser.parse_optional_punctuation("<") is not None
        found = parser.parse_str_enum(IndexCmpPredicate)
        if bracketed:
            parser.parse_punctuation(">")
        return found


class _BinaryOp(IRDLOperation, ABC):
    lhs = operand_def(_INDEX)
    rhs = operand_def(_INDEX)
    result = result_def(_INDEX)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict"


@irdl_op_definition
class AddOp(_BinaryOp):
    """The sum."""

    name = "index.add"


@irdl_op_definition
class SubOp(_BinaryOp):
    """The difference."""

    name = "index.sub"


@irdl_op_definition
class MulOp(_BinaryOp):
    """The product."""

    name = "index.mul"


@irdl_op_definition
class DivSOp(_BinaryOp):
    """The quotient, signed, rounded to zero."""

    name = "index.divs"


@irdl_op_definition
class DivUOp(_BinaryOp):
    """The quotient, unsigned."""

    name = "index.divu"


@irdl_op_definition
class CeilDivSOp(_BinaryOp):
    """The quotient, signed, rounded up."""

    name = "index.ceildivs"


@irdl_op_definition
class CeilDivUOp(_BinaryOp):
    """The quotient, unsigned, rounded up."""

    name = "index.ceildivu"


@irdl_op_definition
class FloorDivSOp(_BinaryOp):
    """The quotient, signed, rounded down."""

    name = "index.floordivs"


@irdl_op_definition
class RemSOp(_BinaryOp):
    """The remainder, signed."""

    name = "index.rems"


@irdl_op_definition
class RemUOp(_BinaryOp):
    """The remainder, unsigned."""

    name = "index.remu"


@irdl_op_definition
class MaxSOp(_BinaryOp):
    """The larger one, signed."""

    name = "index.maxs"


@irdl_op_definition
class MaxUOp(_BinaryOp):
    """The larger one, unsigned."""

    name = "index.maxu"


@irdl_op_definition
class MinSOp(_BinaryOp):
    """The smaller one, signed."""

    name = "index.mins"


@irdl_op_definition
class MinUOp(_BinaryOp):
    """The smaller one, unsigned."""

    name = "index.minu"


@irdl_op_definition
class ShlOp(_BinaryOp):
    """Bits moved up."""

    name = "index.shl"


@irdl_op_definition
class ShrSOp(_BinaryOp):
    """Bits moved down, with copies of the sign."""

    name = "index.shrs"


@irdl_op_definition
class ShrUOp(_BinaryOp):
    """Bits moved down, with zeros."""

    name = "index.shru"


@irdl_op_definition
class AndOp(_BinaryOp):
    """The bits that both have."""

    name = "index.and"


@irdl_op_definition
class OrOp(_BinaryOp):
    """The bits that one has."""

    name = "index.or"


@irdl_op_definition
class XOrOp(_BinaryOp):
    """The bits that only one has."""

    name = "index.xor"


@irdl_op_definition
class CmpOp(IRDLOperation):
    """Whether two numbers compare so."""

    name = "index.cmp"

    pred = prop_def(IndexCmpPredicateAttr)
    lhs = operand_def(_INDEX)
    rhs = operand_def(_INDEX)
    result = result_def(i1)

    traits = traits_def(Pure())

    assembly_format = "$pred `` `(` $lhs `,` $rhs `)` attr-dict"


class _CastOp(IRDLOperation, ABC):
    input = operand_def()
    output = result_def()

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($output)"


@irdl_op_definition
class CastSOp(_CastOp):
    """A number in another width, signed."""

    name = "index.casts"


@irdl_op_definition
class CastUOp(_CastOp):
    """A number in another width, unsigned."""

    name = "index.castu"


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A number."""

    name = "index.constant"

    value = prop_def(IntegerAttr.constr(_INDEX))
    result = result_def(_INDEX)

    traits = traits_def(Pure())

    assembly_format = "attr-dict $value"


@irdl_op_definition
class BoolConstantOp(IRDLOperation):
    """True or false."""

    name = "index.bool.constant"

    value = prop_def(BoolAttr)
    result = result_def(i1)

    traits = traits_def(Pure())

    assembly_format = "attr-dict $value"


@irdl_op_definition
class SizeOfOp(IRDLOperation):
    """The width of the machine's index in bits."""

    name = "index.sizeof"

    result = result_def(_INDEX)

    traits = traits_def(Pure())

    assembly_format = "attr-dict"


INDEX = Dialect(
    "index",
    [
        AddOp,
        AndOp,
        BoolConstantOp,
        CastSOp,
        CastUOp,
        CeilDivSOp,
        CeilDivUOp,
        CmpOp,
        ConstantOp,
        DivSOp,
        DivUOp,
        FloorDivSOp,
        MaxSOp,
        MaxUOp,
        MinSOp,
        MinUOp,
        MulOp,
        OrOp,
        RemSOp,
        RemUOp,
        ShlOp,
        ShrSOp,
        ShrUOp,
        SizeOfOp,
        SubOp,
        XOrOp,
    ],
    [IndexCmpPredicateAttr],
)
"""The dialect."""
