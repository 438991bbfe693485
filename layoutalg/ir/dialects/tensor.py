"""The tensor dialect: xDSL's operations and those that it lacks, with LLVM's syntax.

    tensor.parallel_insert_slice %s into %o[%i, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>

>>> from layoutalg.ir import read_module
>>> text = '%n, %x = "test.op"() : () -> (index, f32) %t = tensor.generate %n { ^bb0(%i: index): tensor.yield %x : f32 } '
>>> print(list(read_module(text + ": tensor<?xf32>").ops)[1].results[0].type)
tensor<?xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IndexType, i64
from xdsl.dialects.tensor import Tensor
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

__all__ = ["TENSOR", "GenerateOp", "ParallelInsertSliceOp", "ReshapeOp"]


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose elements a region computes from their positions."""

    name = "tensor.generate"

    dynamic_extents = var_operand_def(IndexType())
    body = region_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$dynamic_extents $body attr-dict `:` type($result)"


@irdl_op_definition
class ParallelInsertSliceOp(IRDLOperation):
    """The part of a shared tensor that one step of a `scf.forall` puts there."""

    name = "tensor.parallel_insert_slice"

    source = operand_def()
    dest = operand_def()
    offsets = var_operand_def(IndexType())
    sizes = var_operand_def(IndexType())
    strides = var_operand_def(IndexType())
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (DynamicIndexList,)

    assembly_format = (
        "$source `into` $dest `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "custom<DynamicIndexList>($sizes, $static_sizes) custom<DynamicIndexList>($strides, $static_strides) attr-dict "
        "`:` type($source) `into` type($dest)"
    )


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same elements with the sizes that another tensor holds."""

    name = "tensor.reshape"

    source = operand_def()
    shape = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)"


_OWN = (GenerateOp, ParallelInsertSliceOp, ReshapeOp)

TENSOR = Dialect(
    "tensor",
    [*_OWN, *(operation for operation in Tensor.operations if operation.name != ReshapeOp.name)],
    list(Tensor.attributes),
)
"""The operations above, and xDSL's for the rest."""
