"""Vector operations that move elements and compute nothing: broadcast, extract, insert, slices, shapes, transposes.

    %w = vector.transpose %v, [1, 0] : vector<8x16xf32> to vector<16x8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = '%v = "test.op"() : () -> vector<8xf32> %s = vector.extract_strided_slice %v '
>>> text += "{offsets = [2], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>"
>>> print(write_module(read_module(text), llvm=24).splitlines()[2].strip())
%s = vector.extract_strided_slice %v offsets = [2], sizes = [4], strides = [1] : vector<8xf32> to vector<4xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, VectorType, i64
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.inherent import inherent
from layoutalg.ir.dialects.type_directives import ElementOf, Elements, Same, Shuffled

__all__ = [
    "BitcastOp",
    "BroadcastOp",
    "DeinterleaveOp",
    "ExtractElementOp",
    "ExtractOp",
    "ExtractStridedSliceOp",
    "FromElementsOp",
    "InsertElementOp",
    "InsertOp",
    "InsertStridedSliceOp",
    "InterleaveOp",
    "ScalableExtractOp",
    "ScalableInsertOp",
    "ShapeCastOp",
    "ShuffleOp",
    "SplatOp",
    "ToElementsOp",
    "TransposeOp",
]


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Copy a scalar or a vector along new or stretched dimensions."""

    name = "vector.broadcast"

    source = operand_def()
    vector = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($vector)"

    def __init__(self, source: Operation | SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])


@irdl_op_definition
class SplatOp(IRDLOperation):
    """A vector of one scalar everywhere (LLVM 21 and before; today `vector.broadcast`)."""

    name = "vector.splat"

    input = operand_def()
    aggregate = result_def()

    traits = traits_def(Pure())
    custom_directives = (ElementOf,)

    assembly_format = "$input attr-dict `:` custom<ElementOf>(type($aggregate), type($input))"


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """The same bits as a vector of another element type."""

    name = "vector.bitcast"

    source = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: Operation | SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])


@irdl_op_definition
class ShapeCastOp(IRDLOperation):
    """The same elements in row-major order as a vector of another shape."""

    name = "vector.shape_cast"

    source = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """Dimension i of the result is dimension `permutation[i]` of the source."""

    name = "vector.transpose"

    vector = operand_def()
    permutation = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)"


@irdl_op_definition
class ExtractOp(IRDLOperation):
    """The element or the part of a vector at a position."""

    name = "vector.extract"

    static_position = prop_def(DenseArrayBase.constr(i64))
    vector = operand_def()
    dynamic_position = var_operand_def(IndexType)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (DynamicIndexList,)

    assembly_format = (
        "$vector `` custom<DynamicIndexList>($dynamic_position, $static_position)"
        " attr-dict `:` type($result) `from` type($vector)"
    )


@irdl_op_definition
class InsertOp(IRDLOperation):
    """A vector with an element or a part replaced."""

    name = "vector.insert"

    static_position = prop_def(DenseArrayBase.constr(i64))
    source = operand_def()
    dest = operand_def()
    dynamic_position = var_operand_def(IndexType)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (DynamicIndexList, Same)

    assembly_format = (
        "$source `,` $dest `` custom<DynamicIndexList>($dynamic_position, $static_position)"
        " attr-dict `:` type($source) `into` custom<Same>(type($dest), type($result))"
    )


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """The element of a vector at a dynamic position (LLVM 21 and before; today `vector.extract`)."""

    name = "vector.extractelement"

    vector = operand_def()
    position = opt_operand_def()
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (ElementOf,)

    assembly_format = (
        "$vector `[` ($position^ `:` type($position))? `]` attr-dict `:` "
        "custom<ElementOf>(type($vector), type($result))"
    )


@irdl_op_definition
class InsertElementOp(IRDLOperation):
    """A vector with the element at a dynamic position replaced (LLVM 21 and before; today `vector.insert`)."""

    name = "vector.insertelement"

    T: ClassVar = VarConstraint("T", AnyAttr())

    source = operand_def()
    dest = operand_def(T)
    position = opt_operand_def()
    result = result_def(T)

    traits = traits_def(Pure())
    custom_directives = (ElementOf,)

    assembly_format = (
        "$source `,` $dest `[` ($position^ `:` type($position))? `]` attr-dict `:` "
        "custom<ElementOf>(type($dest), type($source))"
    )


@inherent("offsets", "sizes", "strides", separator=",")
@irdl_op_definition
class ExtractStridedSliceOp(IRDLOperation):
    """A rectangular part of a vector."""

    name = "vector.extract_strided_slice"

    source = operand_def()
    offsets = prop_def(ArrayAttr)
    sizes = prop_def(ArrayAttr)
    strides = prop_def(ArrayAttr)
    result = result_def()

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@inherent("offsets", "strides", separator=",")
@irdl_op_definition
class InsertStridedSliceOp(IRDLOperation):
    """A vector with a rectangular part replaced."""

    name = "vector.insert_strided_slice"

    value_to_store = operand_def()
    dest = operand_def()
    offsets = prop_def(ArrayAttr)
    strides = prop_def(ArrayAttr)
    result = result_def()

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    custom_directives = (Same,)

    assembly_format = (
        "$value_to_store `,` $dest attr-dict `:` type($value_to_store) `into` custom<Same>(type($dest), type($result))"
    )


@irdl_op_definition
class ScalableExtractOp(IRDLOperation):
    """A part of a scalable vector."""

    name = "vector.scalable.extract"

    source = operand_def()
    pos = prop_def(IntegerAttr.constr(i64))
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source `[` $pos `]` attr-dict `:` type($res) `from` type($source)"


@irdl_op_definition
class ScalableInsertOp(IRDLOperation):
    """A scalable vector with a part replaced."""

    name = "vector.scalable.insert"

    value_to_store = operand_def()
    dest = operand_def()
    pos = prop_def(IntegerAttr.constr(i64))
    res = result_def()

    traits = traits_def(Pure())
    custom_directives = (Same,)

    assembly_format = (
        "$value_to_store `,` $dest `[` $pos `]` attr-dict `:` type($value_to_store) `into` "
        "custom<Same>(type($dest), type($res))"
    )


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Rows of two vectors in the order that the mask numbers (-1: any value)."""

    name = "vector.shuffle"

    v1 = operand_def()
    v2 = operand_def()
    mask = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (Shuffled,)

    assembly_format = (
        "$v1 `,` $v2 $mask attr-dict `:` custom<Shuffled>(type($v1), type($v2), type($result), ref($mask))"
    )


@irdl_op_definition
class InterleaveOp(IRDLOperation):
    """Two vectors element by element in turn."""

    name = "vector.interleave"

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (Same,)

    assembly_format = "$lhs `,` $rhs attr-dict `:` custom<Same>(type($lhs), type($rhs)) `->` type($result)"


@irdl_op_definition
class DeinterleaveOp(IRDLOperation):
    """The even and the odd elements of a vector."""

    name = "vector.deinterleave"

    source = operand_def()
    res1 = result_def()
    res2 = result_def()

    traits = traits_def(Pure())
    custom_directives = (Same,)

    assembly_format = "$source attr-dict `:` type($source) `->` custom<Same>(type($res1), type($res2))"


@irdl_op_definition
class ToElementsOp(IRDLOperation):
    """The scalars of a vector, in row-major order."""

    name = "vector.to_elements"

    source = operand_def()
    elements = var_result_def()

    traits = traits_def(Pure())
    custom_directives = (Elements,)

    assembly_format = "$source attr-dict `:` custom<Elements>(type($source), type($elements))"


@irdl_op_definition
class FromElementsOp(IRDLOperation):
    """A vector made of scalars, in row-major order.

    >>> from xdsl.dialects.test import TestOp
    >>> from xdsl.dialects.builtin import i32
    >>> print(FromElementsOp.of(TestOp(result_types=[i32, i32]).results).result.type)
    vector<2xi32>
    """

    name = "vector.from_elements"

    elements = var_operand_def()
    result = result_def(VectorType)

    traits = traits_def(Pure())
    custom_directives = (Elements,)

    assembly_format = "$elements attr-dict `:` custom<Elements>(type($result), type($elements))"

    @classmethod
    def of(cls, elements: Sequence[SSAValue]) -> FromElementsOp:
        """The vector of one dimension that holds these scalars."""
        return cls.build(operands=[elements], result_types=[VectorType(elements[0].type, [len(elements)])])

    def verify_(self) -> None:
        """Check that there are as many scalars as the vector has elements, of their type."""
        kind: Attribute = self.result.type
        if not isa(kind, VectorType[Attribute]):
            raise VerifyException(f"{kind} is not a vector type")
        count = prod(kind.get_shape())
        if len(self.elements) != count or any(element.type != kind.element_type for element in self.elements):
            types = ", ".join(str(element.type) for element in self.elements)
            raise VerifyException(f"{kind} is made of {count} values of type {kind.element_type}, not of ({types})")
