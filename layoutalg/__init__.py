"""layoutalg: an exact algebra of tensor layouts on matrix hardware.

Paste an attribute, say which shape, and ask who holds what:

>>> import layoutalg as la
>>> attr = la.parse("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>")
>>> layout = attr.layout((32, 64))
>>> print(layout)
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane
>>> layout.coords(sg=3, lane=5)[:2].tolist()
[[0, 53], [1, 53]]

`core` has the algebra and the contract, `hardware` what chips do. `xegpu`, `nested`, `amx`, `triton` and `cute` are one
notation each, and `notations` says which text belongs to whom. All else (`compare`, `memory`, `conversion`, `gemm`,
`simulate`, `viz`, `show`) uses the contract alone. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.errors import (
    CompositionError,
    ConversionError,
    DistributionError,
    LayoutError,
    ParseError,
    PlanError,
    SizeError,
    VerificationError,
)
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.lazy import lazy_names
from layoutalg.core.notation import Machine, Notation

if TYPE_CHECKING:
    from layoutalg.amx import TileConfig, TileProduct, TileType, pack_vnni, unpack_vnni
    from layoutalg.compare import Same, same
    from layoutalg.conversion import convert
    from layoutalg.core.algebra import compose
    from layoutalg.core.expressions import expression_text
    from layoutalg.core.extents import symbol
    from layoutalg.core.fragments import collect, distribute
    from layoutalg.core.swizzle import Swizzle, Swizzled
    from layoutalg.core.table import Table, compose_exactly
    from layoutalg.cute import CuteLayout, from_cute, parse_cute, to_cute
    from layoutalg.gemm import plan_gemm
    from layoutalg.hardware import block_load, block_store, dpas, gather
    from layoutalg.memory import bank_conflicts, best_swizzle, coalescing
    from layoutalg.nested import NestedLayoutAttr, to_nested
    from layoutalg.nested.gpu import known_target, mma
    from layoutalg.notations import parse
    from layoutalg.triton import LinearLayout, from_linear_layout, parse_linear_layout, to_linear_layout
    from layoutalg.xegpu import LayoutAttr, MemDescType, SgMapAttr, SliceAttr, TensorDescType, to_xegpu

__version__ = "0.1.0"

_HOMES = {
    "TileConfig": "amx",
    "TileProduct": "amx",
    "TileType": "amx",
    "pack_vnni": "amx",
    "unpack_vnni": "amx",
    "CuteLayout": "cute",
    "LinearLayout": "triton",
    "Same": "compare",
    "from_cute": "cute",
    "from_linear_layout": "triton",
    "parse_cute": "cute",
    "parse_linear_layout": "triton",
    "same": "compare",
    "to_cute": "cute",
    "to_linear_layout": "triton",
    "bank_conflicts": "memory",
    "best_swizzle": "memory",
    "coalescing": "memory",
    "convert": "conversion",
    "to_nested": "nested",
    "to_xegpu": "xegpu",
    "compose": "core.algebra",
    "expression_text": "core.expressions",
    "symbol": "core.extents",
    "collect": "core.fragments",
    "distribute": "core.fragments",
    "Swizzle": "core.swizzle",
    "Swizzled": "core.swizzle",
    "Table": "core.table",
    "compose_exactly": "core.table",
    "plan_gemm": "gemm",
    "NestedLayoutAttr": "nested",
    "known_target": "nested.gpu",
    "mma": "nested.gpu",
    "parse": "notations",
    "LayoutAttr": "xegpu",
    "MemDescType": "xegpu",
    "SgMapAttr": "xegpu",
    "SliceAttr": "xegpu",
    "TensorDescType": "xegpu",
    "block_load": "hardware",
    "block_store": "hardware",
    "dpas": "hardware",
    "gather": "hardware",
}

__all__ = [
    "CompositionError",
    "ConversionError",
    "CuteLayout",
    "DistributionError",
    "Factor",
    "Layout",
    "LayoutAttr",
    "LayoutError",
    "LinearLayout",
    "Machine",
    "MemDescType",
    "NestedLayoutAttr",
    "Notation",
    "ParseError",
    "PlanError",
    "Same",
    "SgMapAttr",
    "SizeError",
    "SliceAttr",
    "Swizzle",
    "Swizzled",
    "Table",
    "TensorDescType",
    "TileConfig",
    "TileProduct",
    "TileType",
    "VerificationError",
    "bank_conflicts",
    "best_swizzle",
    "block_load",
    "block_store",
    "coalescing",
    "collect",
    "compose",
    "compose_exactly",
    "convert",
    "distribute",
    "dpas",
    "expression_text",
    "from_cute",
    "from_linear_layout",
    "gather",
    "known_target",
    "mma",
    "pack_vnni",
    "parse",
    "parse_cute",
    "parse_linear_layout",
    "plan_gemm",
    "same",
    "symbol",
    "to_cute",
    "to_linear_layout",
    "to_nested",
    "to_xegpu",
    "unpack_vnni",
]

__getattr__ = lazy_names(__name__, globals(), _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
