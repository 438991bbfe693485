"""The XeGPU dialect: its types and attributes, and its operations.

>>> "xegpu.dpas" in {operation.name for operation in XEGPU.operations}
True
"""

from xdsl.ir import Dialect

from layoutalg.ir.dialects.xegpu.attributes import ATTRIBUTES
from layoutalg.ir.dialects.xegpu.operations import OPERATIONS

__all__ = ["XEGPU"]

XEGPU = Dialect("xegpu", list(OPERATIONS), list(ATTRIBUTES))
"""The dialect."""
