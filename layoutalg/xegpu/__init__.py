"""XeGPU: MLIR's dialect for Intel GPUs, as values that know what they mean.

`attributes` has the layouts, `descriptors` the types, `reading` their text, `rfc` the older `sg_map`; `hardware` what the
chips can do, `messages` and `dpas` the fragments that loads deliver and matrix instructions want.

>>> from layoutalg.xegpu import parse_attribute
>>> parse_attribute("#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>").layout((16, 16))
Layout.parse('d0 = 16@reg, d1 = 16@lane')
"""

from layoutalg.core.elements import element_bits
from layoutalg.xegpu.attributes import DistributeLayout, LayoutAttr, SliceAttr
from layoutalg.xegpu.descriptors import (
    BlockTensorDescAttr,
    EnumAttr,
    MemDescType,
    MemLayoutAttr,
    NbarrierType,
    RangeAttr,
    ScatterTensorDescAttr,
    TensorDescType,
)
from layoutalg.xegpu.fragments import FragmentType
from layoutalg.xegpu.from_layout import to_xegpu
from layoutalg.xegpu.reading import parse_attribute
from layoutalg.xegpu.rfc import SgMapAttr, sg_map_of

__all__ = [
    "BlockTensorDescAttr",
    "DistributeLayout",
    "EnumAttr",
    "FragmentType",
    "LayoutAttr",
    "MemDescType",
    "MemLayoutAttr",
    "NbarrierType",
    "RangeAttr",
    "ScatterTensorDescAttr",
    "SgMapAttr",
    "SliceAttr",
    "TensorDescType",
    "element_bits",
    "parse_attribute",
    "sg_map_of",
    "to_xegpu",
]
