"""What machines do, as data: chips, Intel's 2D block messages, DPAS; every fragment is a `Layout`.

>>> from layoutalg.hardware import block_load, dpas
>>> dpas("f16", "f16", "f32").b == block_load(16, 16, 16, transform=True).layout
True
"""

from layoutalg.hardware.amx_chips import AmxChip, amx_chip
from layoutalg.hardware.block_messages import BlockLoad, BlockStore, block_load, block_store, gather, row_fragment
from layoutalg.hardware.chips import SurfaceLimits, TargetInfo, target_info
from layoutalg.hardware.dpas import Dpas, dpas, dpas_instructions
from layoutalg.hardware.xe import XeChip
from layoutalg.hardware.xe_products import read_chip, xe_chip

__all__ = [
    "AmxChip",
    "BlockLoad",
    "BlockStore",
    "Dpas",
    "SurfaceLimits",
    "TargetInfo",
    "XeChip",
    "amx_chip",
    "block_load",
    "block_store",
    "dpas",
    "dpas_instructions",
    "gather",
    "read_chip",
    "row_fragment",
    "target_info",
    "xe_chip",
]
