"""The XeGPU dialect: its types and attributes, and its operations by what they work on.

>>> "xegpu.dpas" in {operation.name for operation in XEGPU.operations}
True
"""

from xdsl.ir import Dialect

from layoutalg.ir.dialects.xegpu import block, scatter, shared
from layoutalg.ir.dialects.xegpu.attributes import ATTRIBUTES

__all__ = ["XEGPU"]

XEGPU = Dialect("xegpu", [*block.OPERATIONS, *scatter.OPERATIONS, *shared.OPERATIONS], list(ATTRIBUTES))
