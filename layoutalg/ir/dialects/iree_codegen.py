"""The operations of IREE's code generation: `inner_tiled`, which took the place of `iree_gpu.multi_mma`, hints, launches.

    %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <{indexing_maps = [...], iterator_types = [...],
           kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
           semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>}>
           : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>

The dialect's attributes are kept as text.

>>> IREE_CODEGEN.name
'iree_codegen'
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.dialects.iree_directives import MetadataTypes, NullPointer, RootOp, SizesInBrackets
from layoutalg.ir.operations.classes import define

__all__ = ["IREE_CODEGEN", "OPERATIONS"]

OPERATIONS = define(
    __name__, "iree_codegen", directives=(MetadataTypes, NullPointer, RootOp, SameType, SizesInBrackets)
)
"""The classes, in the order of the table."""

IREE_CODEGEN = Dialect("iree_codegen", list(OPERATIONS), [])
"""The dialect."""
