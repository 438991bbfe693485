"""IREE's tensors whose types name their layout in memory.

>>> from layoutalg.ir import read_module
>>> text = '%t = "test.op"() : () -> tensor<4xf32> %e = iree_encoding.set_encoding %t : tensor<4xf32> -> tensor<4xf32, #e.x>'
>>> print(list(read_module(text).ops)[1].result.type)
tensor<4xf32, #e.x>
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.operations.classes import define

__all__ = ["IREE_ENCODING", "OPERATIONS"]

OPERATIONS = define(__name__, "iree_encoding")
"""The classes, in the order of the table."""

IREE_ENCODING = Dialect("iree_encoding", list(OPERATIONS))
"""The dialect."""
