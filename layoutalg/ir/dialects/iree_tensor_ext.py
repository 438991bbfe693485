"""Tensors that live outside of a kernel of IREE, and how many workgroups the kernel has.

    %v = iree_tensor_ext.dispatch.tensor.load %t, offsets = [0, 0], sizes = [16, 32], strides = [1, 1]
           : !iree_tensor_ext.dispatch.tensor<readonly:tensor<16x32xf16>> -> tensor<16x32xf16>

>>> from layoutalg.ir import read_module, write_module
>>> text = '%a = "test.op"() : () -> index %w = iree_tensor_ext.dispatch.workload.ordinal %a, 1 : index'
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%w = iree_tensor_ext.dispatch.workload.ordinal %a, 1 : index
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.directives import IndexList
from layoutalg.ir.operations.classes import define

__all__ = ["IREE_TENSOR_EXT", "OPERATIONS"]

OPERATIONS = define(__name__, "iree_tensor_ext", directives=(IndexList,))
"""The classes, in the order of the table."""

IREE_TENSOR_EXT = Dialect("iree_tensor_ext", list(OPERATIONS))
"""The dialect."""
