"""Arithmetic of sizes and positions, with LLVM's syntax.

    %0 = index.add %a, %b
    %1 = index.castu %0 : index to i32

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%c = index.constant 42")).splitlines()[1].strip())
%c = index.constant 42
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.index.attributes import IndexCmpPredicate, IndexCmpPredicateAttr
from layoutalg.ir.dialects.index.operations import OPERATIONS, BoolConstantOp, CmpOp, ConstantOp, SizeOfOp

__all__ = [
    "INDEX",
    "BoolConstantOp",
    "CmpOp",
    "ConstantOp",
    "IndexCmpPredicate",
    "IndexCmpPredicateAttr",
    "SizeOfOp",
]

INDEX = Dialect("index", list(OPERATIONS), [IndexCmpPredicateAttr])
"""The dialect."""
