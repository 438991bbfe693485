"""IREE's parallel control flow: what the workers of a scope do, and what they share.

    %r = pcf.loop scope(#iree_gpu.lane_scope) count(%n) execute(%ref = %init)[%i: index] : (!pcf.sref<4xf32>)
           -> (tensor<4xf32>) {
      pcf.write_slice %v into %ref[%i] [1] [1] : tensor<1xf32> into !pcf.sref<4xf32>
      pcf.return
    }

>>> from layoutalg.ir import read_module, write_module
>>> text = "pcf.generic scope(#iree_gpu.lane_scope) execute[%i: index, %n: index] { pcf.return }"
>>> print(write_module(read_module(text)).splitlines()[1].strip())
pcf.generic scope(#iree_gpu.lane_scope) execute[%i: index, %n: index] {
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.directives import IndexList
from layoutalg.ir.dialects.iree_directives import ExecutionBody, LoopBody, Sync
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS", "PCF"]

OPERATIONS = define(__name__, "pcf", directives=(ExecutionBody, IndexList, LoopBody, Sync))
"""The classes, in the order of the table."""

PCF = Dialect("pcf", list(OPERATIONS))
"""The dialect."""
