"""Every public maker and question of the room, given what it does not expect: always a `LayoutError`, or an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import layoutalg as la
from layoutalg.xegpu import (
    BlockTensorDescAttr,
    EnumAttr,
    FragmentType,
    LayoutAttr,
    MemDescType,
    MemLayoutAttr,
    RangeAttr,
    ScatterTensorDescAttr,
    SgMapAttr,
    SliceAttr,
    TensorDescType,
    parse_attribute,
    sg_map_of,
    to_xegpu,
)

ATTR = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
DESC = TensorDescType((8, 16), "f16", None, ATTR)
MEMORY = MemDescType((8, 16), "f16")
OLD = SgMapAttr((1, 16), (1, 1))

VALUES = [None, {}, [], "x", 1.5, -1, 0, True, (1,), [[1]], range(5), b"x", object(), (1, 16), int, {1: 2}, (1, None)]
GIVEN: dict[str, Callable[[Any], object]] = {
    **{f"layout {f}": lambda v, f=f: LayoutAttr(**{"inst_data": (8, 16), f: v}) for f in LayoutAttr.__slots__},
    "slice parent": lambda v: SliceAttr(v, (0,)),
    "slice dims": lambda v: SliceAttr(ATTR, v),
    "enum name": lambda v: EnumAttr(v, "slm"),
    "enum value": lambda v: EnumAttr("memory_space", v),
    "range start": lambda v: RangeAttr(v, 5),
    "range end": lambda v: RangeAttr(0, v),
    "range type": lambda v: RangeAttr(0, 5, v),
    **{f"block {f}": lambda v, f=f: BlockTensorDescAttr(**{f: v}) for f in ("memory_space", "array_length")},
    "block type": lambda v: BlockTensorDescAttr(array_length_type=v),
    **{f"scatter {f}": lambda v, f=f: ScatterTensorDescAttr(**{f: v}) for f in ScatterTensorDescAttr.__slots__},
    **{f"memory {f}": lambda v, f=f: MemLayoutAttr(**{"block": (1, 2), f: v}) for f in MemLayoutAttr.__slots__},
    "desc shape": lambda v: TensorDescType(v, "f16"),
    "desc element": lambda v: TensorDescType((8, 16), v),
    "desc encoding": lambda v: TensorDescType((8, 16), "f16", v),
    "desc layout": lambda v: TensorDescType((8, 16), "f16", None, v),
    "desc llvm": lambda v: TensorDescType((8, 16), "f16", llvm=v),
    "mem_desc shape": lambda v: MemDescType(v, "f16"),
    "mem_desc element": lambda v: MemDescType((8, 16), v),
    "mem_desc layout": lambda v: MemDescType((8, 16), "f16", v),
    "text": parse_attribute,
    "aliases": lambda v: parse_attribute("#a", v),
    "text llvm": lambda v: parse_attribute("!xegpu.tensor_desc<8xf16>", llvm=v),
    "check": ATTR.check,
    "check llvm": lambda v: ATTR.check((8, 16), llvm=v),
    "blocks": ATTR.blocks,
    "blocks level": lambda v: ATTR.blocks((8, 16), v),
    "layout": ATTR.layout,
    "layout machine": lambda v: ATTR.layout((8, 16), v),
    "operands": ATTR.operands,
    "fragment shape": lambda v: ATTR.fragment_type(v, "f16"),
    "fragment element": lambda v: ATTR.fragment_type((8, 16), v),
    "fragment level": lambda v: ATTR.fragment_type((8, 16), "f16", v),
    "fragment blocks": lambda v: ATTR.fragment_type((8, 16), "f16", "lane", v),
    "fragment": lambda v: FragmentType(v, "f16"),
    "desc's layout": DESC.layout,
    "desc's machine": lambda v: DESC.layout(None, v),
    "desc's fragment": DESC.fragment_type,
    "memory's layout": MEMORY.layout,
    "to_xegpu": to_xegpu,
    "to_xegpu shape": lambda v: to_xegpu(ATTR, v),
    "to_xegpu machine": lambda v: to_xegpu(ATTR, (8, 16), v),
    "to_xegpu llvm": lambda v: to_xegpu(ATTR, (8, 16), llvm=v),
    "sg_map layout": lambda v: SgMapAttr(v, (1, 1)),
    "sg_map data": lambda v: SgMapAttr((1, 16), v),
    "sg_map check": OLD.check,
    "sg_map shape": OLD.layout,
    "sg_map fragment": OLD.fragment_shape,
    "sg_map rank": OLD.to_layout,
    "sg_map_of": lambda v: sg_map_of(v, 1),
    "sg_map_of packed": lambda v: sg_map_of(ATTR.layout((8, 16)), v),
}


@pytest.mark.parametrize("what", GIVEN)
def test_bad_values_are_refused_with_an_error_of_ours(what: str) -> None:
    refused = 0
    for value in VALUES:
        try:
            GIVEN[what](value)
        except la.LayoutError:
            refused += 1
    assert refused >= 3
