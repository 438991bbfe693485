"""The operation of IREE's code generation that took the place of `iree_gpu.multi_mma`: `inner_tiled`.

    %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <{indexing_maps = [...], iterator_types = [...],
           kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
           semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>}>
           : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>

Other operations of the dialect are read in generic form, its attributes are kept as text.

>>> IREE_CODEGEN.name
'iree_codegen'
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryWriteEffect, Pure

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.operations.declared import declared_operation

__all__ = ["IREE_CODEGEN", "FusionBarrierOp", "InnerTiledOp", "LoadFromBufferOp", "StoreToBufferOp"]


@declared_operation
class InnerTiledOp(IRDLOperation):
    """A matrix intrinsic (or another tiled operation) over outer dimensions, in destination-passing style."""

    name = "iree_codegen.inner_tiled"

    inputs = var_operand_def()
    outputs = var_operand_def()
    indexing_maps = prop_def(ArrayAttr)
    iterator_types = prop_def(ArrayAttr)
    kind = prop_def()
    semantics = opt_prop_def()
    permutations = opt_prop_def(ArrayAttr)
    result_tensors = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    custom_directives = (SameType,)

    assembly_format = """
        `ins` `(` $inputs `)` `outs` `(` $outputs `)` prop-dict attr-dict
        `:` type($inputs) `into` custom<SameType>(type($outputs), type($result_tensors))
    """


@declared_operation
class LoadFromBufferOp(IRDLOperation):
    """A buffer's contents as a tensor."""

    name = "iree_codegen.load_from_buffer"

    buffer = operand_def()
    tensor = result_def()

    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($tensor)"


@declared_operation
class StoreToBufferOp(IRDLOperation):
    """A tensor written into a buffer."""

    name = "iree_codegen.store_to_buffer"

    tensor = operand_def()
    buffer = operand_def()

    traits = traits_def(MemoryWriteEffect())

    assembly_format = "$tensor `,` $buffer attr-dict `:` type($tensor) `into` type($buffer)"


@declared_operation
class FusionBarrierOp(IRDLOperation):
    """The same tensor, which is not fused with what makes it."""

    name = "iree_codegen.fusion_barrier"

    source = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (SameType,)

    assembly_format = "$source attr-dict `:` custom<SameType>(type($source), type($result))"


IREE_CODEGEN = Dialect("iree_codegen", [FusionBarrierOp, InnerTiledOp, LoadFromBufferOp, StoreToBufferOp], [])
"""The operations above."""
