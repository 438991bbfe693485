"""IREE's operations on tensors beside linalg's: attention, sorts, scans, gathers and scatters.

    %r = iree_linalg_ext.sort dimension(0) outs(%t : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      %less = arith.cmpf olt, %a, %b : f32
      iree_linalg_ext.yield %less : i1
    } -> tensor<8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = '''%s, %i, %t = "test.op"() : () -> (tensor<8x4xf32>, tensor<2xi32>, tensor<2x4xf32>)
... %g = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i : tensor<8x4xf32>, tensor<2xi32>)
...   outs(%t : tensor<2x4xf32>) -> tensor<2x4xf32>'''
>>> print(write_module(read_module(text)).splitlines()[2].strip()[:47])
%g = iree_linalg_ext.gather dimension_map = [0]
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.directives import IndexList
from layoutalg.ir.dialects.iree_directives import NestedIndexList, Padding, TruthWord
from layoutalg.ir.operations.classes import define

__all__ = ["IREE_LINALG_EXT", "OPERATIONS"]

OPERATIONS = define(__name__, "iree_linalg_ext", directives=(IndexList, NestedIndexList, Padding, TruthWord))
"""The classes, in the order of the table."""

IREE_LINALG_EXT = Dialect("iree_linalg_ext", list(OPERATIONS))
"""The dialect."""
