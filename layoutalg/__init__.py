"""layoutalg: an exact algebra of tensor layouts on matrix hardware.

Paste an attribute, say which shape, and ask who holds what:

>>> import layoutalg as la
>>> attr = la.parse("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>")
>>> layout = attr.layout((32, 64))
>>> print(layout)
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane
>>> layout.coords(sg=3, lane=5)[:2].tolist()
[[0, 53], [1, 53]]

`core` has the algebra, `xegpu` Intel's dialect and hardware, `nested` IREE's layouts and matrix intrinsics, `amx` Intel's
tiles, `bridges` the ways to other systems, `conversion` plans from one layout to another, `gemm` the planner, `simulate` what
runs its code, `viz` pictures. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.digits import Factor
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
from layoutalg.core.layout import Layout
from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:
    from layoutalg.amx import TileConfig, TileProduct, TileType, pack_vnni, unpack_vnni
    from layoutalg.bridges import (
        CuteLayout,
        LinearLayout,
        Same,
        from_cute,
        from_linear_layout,
        parse_cute,
        parse_linear_layout,
        same,
        to_cute,
        to_linear_layout,
    )
    from layoutalg.conversion import bank_conflicts, best_swizzle, coalescing, convert
    from layoutalg.core.algebra import compose
    from layoutalg.core.expressions import expression_text
    from layoutalg.core.extents import symbol
    from layoutalg.core.fragments import collect, distribute
    from layoutalg.core.swizzle import Swizzle, Swizzled
    from layoutalg.core.table import Table, compose_exactly
    from layoutalg.gemm import plan_gemm
    from layoutalg.nested import NestedLayoutAttr, to_nested
    from layoutalg.nested.gpu import known_target, mma
    from layoutalg.parsing import parse
    from layoutalg.xegpu import LayoutAttr, MemDescType, SgMapAttr, SliceAttr, TensorDescType, to_xegpu
    from layoutalg.xegpu.hardware import block_load, block_store, dpas, gather

__version__ = "0.1.0"

_HOMES = {
    "TileConfig": "amx",
    "TileProduct": "amx",
    "TileType": "amx",
    "pack_vnni": "amx",
    "unpack_vnni": "amx",
    "CuteLayout": "bridges",
    "LinearLayout": "bridges",
    "Same": "bridges",
    "from_cute": "bridges",
    "from_linear_layout": "bridges",
    "parse_cute": "bridges",
    "parse_linear_layout": "bridges",
    "same": "bridges",
    "to_cute": "bridges",
    "to_linear_layout": "bridges",
    "bank_conflicts": "conversion",
    "best_swizzle": "conversion",
    "coalescing": "conversion",
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
    "parse": "parsing",
    "LayoutAttr": "xegpu",
    "MemDescType": "xegpu",
    "SgMapAttr": "xegpu",
    "SliceAttr": "xegpu",
    "TensorDescType": "xegpu",
    "block_load": "xegpu.hardware",
    "block_store": "xegpu.hardware",
    "dpas": "xegpu.hardware",
    "gather": "xegpu.hardware",
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
    "MemDescType",
    "NestedLayoutAttr",
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
