"""Intel's matrix hardware as data: chips, 2D block messages, DPAS; every fragment is a `Layout`.

>>> from layoutalg.xegpu.hardware import block_load, dpas
>>> dpas("f16", "f16", "f32").b == block_load(16, 16, 16, transform=True).layout
True
"""

from layoutalg.xegpu.hardware.dpas import Dpas, dpas, dpas_instructions
from layoutalg.xegpu.hardware.messages import BlockLoad, BlockStore, block_load, block_store, gather, row_fragment
from layoutalg.xegpu.hardware.targets import SurfaceLimits, TargetInfo, target_info

__all__ = [
    "BlockLoad",
    "BlockStore",
    "Dpas",
    "SurfaceLimits",
    "TargetInfo",
    "block_load",
    "block_store",
    "dpas",
    "dpas_instructions",
    "gather",
    "row_fragment",
    "target_info",
]
