"""The vector dialect as kernels use it, with LLVM's syntax.

    %v = vector.from_elements %a, %b : vector<2xi32>

`computing` and `transfers` have the operations that read and print themselves.
`vector.extract_strided_slice` and others write their attributes differently since LLVM 24; both spellings are read.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%a = arith.constant 1 : i32 %v = vector.from_elements %a, %a : vector<2xi32>"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%v = vector.from_elements %a, %a : vector<2xi32>
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.vector.attributes import (
    CombiningKindAttr,
    CombiningKindFlag,
    IteratorType,
    IteratorTypeAttr,
    PrintPunctuation,
    PrintPunctuationAttr,
)
from layoutalg.ir.dialects.vector.computing import ContractionOp, MaskOp, OuterProductOp, ReductionOp
from layoutalg.ir.dialects.vector.operations import OPERATIONS, YieldOp
from layoutalg.ir.dialects.vector.transfers import TransferReadOp, TransferWriteOp

__all__ = [
    "VECTOR",
    "CombiningKindAttr",
    "CombiningKindFlag",
    "ContractionOp",
    "IteratorType",
    "IteratorTypeAttr",
    "MaskOp",
    "OuterProductOp",
    "PrintPunctuation",
    "PrintPunctuationAttr",
    "ReductionOp",
    "TransferReadOp",
    "TransferWriteOp",
    "YieldOp",
]

VECTOR = Dialect(
    "vector",
    [*OPERATIONS, ContractionOp, MaskOp, OuterProductOp, ReductionOp, TransferReadOp, TransferWriteOp],
    [CombiningKindAttr, IteratorTypeAttr, PrintPunctuationAttr],
)
"""The dialect."""
