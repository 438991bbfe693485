"""XeGPU: MLIR's dialect for Intel GPUs, as values that know what they mean.

`attributes` has the layouts, `descriptors` and `mem_desc` the types, `words` the smaller attributes, `reading` their text,
`rfc` the older `sg_map`. `distribution` is the rule of who holds what, `refusals` why LLVM does not take a pair,
`fragments` the vector types, and `from_layout` the way back from a `Layout`. What the chips can do is in `layoutalg.hardware`.

>>> from layoutalg.xegpu import parse_attribute
>>> parse_attribute("#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>").layout((16, 16))
Layout.parse('d0 = 16@reg, d1 = 16@lane')
"""

from layoutalg.core.elements import element_bits
from layoutalg.xegpu.attributes import DistributeLayout, LayoutAttr, SliceAttr
from layoutalg.xegpu.descriptors import BlockTensorDescAttr, ScatterTensorDescAttr, TensorDescType
from layoutalg.xegpu.fragments import FragmentType
from layoutalg.xegpu.from_layout import to_xegpu
from layoutalg.xegpu.mem_desc import MemDescType, MemLayoutAttr
from layoutalg.xegpu.reading import parse_attribute
from layoutalg.xegpu.refusals import Refusal
from layoutalg.xegpu.rfc import SgMapAttr, sg_map_of
from layoutalg.xegpu.words import EnumAttr, NbarrierType, RangeAttr

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
    "Refusal",
    "ScatterTensorDescAttr",
    "SgMapAttr",
    "SliceAttr",
    "TensorDescType",
    "element_bits",
    "parse_attribute",
    "sg_map_of",
    "to_xegpu",
]
