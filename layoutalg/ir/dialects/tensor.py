"""The tensor dialect: xDSL's operations and those that it lacks, with LLVM's syntax.

    tensor.parallel_insert_slice %s into %o[%i, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>

>>> from layoutalg.ir import read_module
>>> text = '%n, %x = "test.op"() : () -> (index, f32) %t = tensor.generate %n { ^bb0(%i: index): tensor.yield %x : f32 } '
>>> print(list(read_module(text + ": tensor<?xf32>").ops)[1].results[0].type)
tensor<?xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.tensor import Tensor
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from layoutalg.ir.operations.classes import define

__all__ = ["TENSOR", "GenerateOp"]


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose elements a region computes from their positions."""

    name = "tensor.generate"

    dynamic_extents = var_operand_def(IndexType())
    body = region_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$dynamic_extents $body attr-dict `:` type($result)"


_OWN = (GenerateOp, *define(__name__, "tensor", directives=(DynamicIndexList,)))
_OWN_NAMES = {operation.name for operation in _OWN}

TENSOR = Dialect(
    "tensor",
    [*_OWN, *(operation for operation in Tensor.operations if operation.name not in _OWN_NAMES)],
    list(Tensor.attributes),
)
"""The operations above, those of the table, and xDSL's for the rest."""
