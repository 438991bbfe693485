"""layoutalg: an exact algebra of tensor layouts on matrix hardware.

Paste an attribute, say which shape, and ask who holds what:

>>> import layoutalg as la
>>> attr = la.parse("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>")
>>> layout = attr.layout((32, 64))
>>> print(layout)
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane
>>> layout.coords(sg=3, lane=5)[:2].tolist()
[[0, 53], [1, 53]]

`core` has the algebra and the contract, `hardware` what chips do, `instructions` their matrix and copy instructions by name.
`xegpu`, `nested`, `amx`, `triton` and `cute` are one
notation each, and `notations` says which text belongs to whom. All else (`compare`, `memory`, `conversion`, `simulate`,
`module`, `gemm`, `viz`, `show`) uses the contract alone. For whole modules, `flow` decides who holds what: `checking` reports
on it, `propagation` completes it, `lowering` writes it for each lane, `lanes` does both, and `equivalence` compares what
kernels compute. `side` tests compilers, `editor` answers editors. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:  # what type checkers need to know of the table below
    from layoutalg.amx import (
        TileConfig as TileConfig,
        TileProduct as TileProduct,
        TileType as TileType,
        pack_vnni as pack_vnni,
        unpack_vnni as unpack_vnni,
    )
    from layoutalg.compare import Same as Same, same as same
    from layoutalg.conversion import convert as convert
    from layoutalg.conversion.price import Price as Price, price as price
    from layoutalg.core.algebra import compose as compose
    from layoutalg.core.errors import (
        CompositionError as CompositionError,
        ConversionError as ConversionError,
        DistributionError as DistributionError,
        LayoutError as LayoutError,
        ParseError as ParseError,
        PlanError as PlanError,
        SizeError as SizeError,
        VerificationError as VerificationError,
    )
    from layoutalg.core.expressions import expression_text as expression_text
    from layoutalg.core.extents import symbol as symbol
    from layoutalg.core.factors import Factor as Factor
    from layoutalg.core.distributing import collect as collect, distribute as distribute
    from layoutalg.core.layout import Layout as Layout
    from layoutalg.core.notation import Machine as Machine, Notation as Notation
    from layoutalg.core.swizzle import Swizzle as Swizzle, Swizzled as Swizzled, swizzled as swizzled
    from layoutalg.core.table import Table as Table, compose_exactly as compose_exactly
    from layoutalg.cute import (
        CuteLayout as CuteLayout,
        from_cute as from_cute,
        parse_cute as parse_cute,
        to_cute as to_cute,
    )
    from layoutalg.equivalence import (
        Kept as Kept,
        keeps_meaning as keeps_meaning,
        passes_keep_meaning as passes_keep_meaning,
    )
    from layoutalg.explorer.widget import explore as explore
    from layoutalg.gemm import plan_gemm as plan_gemm
    from layoutalg.gemm.amx import plan_amx as plan_amx
    from layoutalg.gemm.attention import plan_attention as plan_attention
    from layoutalg.gemm.attention.decode import plan_decode as plan_decode
    from layoutalg.gemm.packed import plan_packed as plan_packed
    from layoutalg.gemm.sweep import sweep as sweep
    from layoutalg.gemm.weights import plan_weights as plan_weights, quantise as quantise
    from layoutalg.hardware import block_load as block_load, block_store as block_store, dpas as dpas, gather as gather
    from layoutalg.instructions import (
        Instruction as Instruction,
        instruction as instruction,
        known_instructions as known_instructions,
    )
    from layoutalg.ir.findings import Finding as Finding
    from layoutalg.memory import (
        bank_conflicts as bank_conflicts,
        best_swizzle as best_swizzle,
        coalescing as coalescing,
        matrix_load as matrix_load,
        matrix_store as matrix_store,
    )
    from layoutalg.module import Module as Module, read as read
    from layoutalg.nested import NestedLayoutAttr as NestedLayoutAttr, to_nested as to_nested
    from layoutalg.nested.gpu import known_target as known_target, mma as mma
    from layoutalg.notations import parse as parse
    from layoutalg.checking import Check as Check, check as check
    from layoutalg.lanes import lower as lower
    from layoutalg.lowering import Lowered as Lowered
    from layoutalg.propagation import Propagated as Propagated
    from layoutalg.show import picture as picture
    from layoutalg.side.conformance import conformance as conformance
    from layoutalg.side.llvm_passes import propagate as propagate
    from layoutalg.triton import (
        LinearLayout as LinearLayout,
        from_linear_layout as from_linear_layout,
        parse_linear_layout as parse_linear_layout,
        to_linear_layout as to_linear_layout,
    )
    from layoutalg.xegpu import (
        LayoutAttr as LayoutAttr,
        MemDescType as MemDescType,
        SgMapAttr as SgMapAttr,
        SliceAttr as SliceAttr,
        TensorDescType as TensorDescType,
        to_xegpu as to_xegpu,
    )

__version__ = "0.2.0"

_NAMES = {
    "amx": ("TileConfig", "TileProduct", "TileType", "pack_vnni", "unpack_vnni"),
    "compare": ("Same", "same"),
    "conversion": ("convert",),
    "conversion.price": ("Price", "price"),
    "core.algebra": ("compose",),
    "core.errors": (
        "CompositionError",
        "ConversionError",
        "DistributionError",
        "LayoutError",
        "ParseError",
        "PlanError",
        "SizeError",
        "VerificationError",
    ),
    "core.expressions": ("expression_text",),
    "core.extents": ("symbol",),
    "core.factors": ("Factor",),
    "core.distributing": ("collect", "distribute"),
    "core.layout": ("Layout",),
    "core.notation": ("Machine", "Notation"),
    "core.swizzle": ("Swizzle", "Swizzled", "swizzled"),
    "core.table": ("Table", "compose_exactly"),
    "cute": ("CuteLayout", "from_cute", "parse_cute", "to_cute"),
    "explorer.widget": ("explore",),
    "equivalence": ("Kept", "keeps_meaning", "passes_keep_meaning"),
    "gemm": ("plan_gemm",),
    "gemm.amx": ("plan_amx",),
    "gemm.attention": ("plan_attention",),
    "gemm.attention.decode": ("plan_decode",),
    "gemm.packed": ("plan_packed",),
    "gemm.sweep": ("sweep",),
    "gemm.weights": ("plan_weights", "quantise"),
    "hardware": ("block_load", "block_store", "dpas", "gather"),
    "instructions": ("Instruction", "instruction", "known_instructions"),
    "ir.findings": ("Finding",),
    "memory": ("bank_conflicts", "best_swizzle", "coalescing", "matrix_load", "matrix_store"),
    "module": ("Module", "read"),
    "nested": ("NestedLayoutAttr", "to_nested"),
    "nested.gpu": ("known_target", "mma"),
    "notations": ("parse",),
    "checking": ("Check", "check"),
    "lanes": ("lower",),
    "lowering": ("Lowered",),
    "propagation": ("Propagated",),
    "show": ("picture",),
    "side.conformance": ("conformance",),
    "side.llvm_passes": ("propagate",),
    "triton": ("LinearLayout", "from_linear_layout", "parse_linear_layout", "to_linear_layout"),
    "xegpu": ("LayoutAttr", "MemDescType", "SgMapAttr", "SliceAttr", "TensorDescType", "to_xegpu"),
}
"""The public names, by the module that each is imported from when it is first used."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]
_HINTS = {
    "draw": "la.picture(value, shape) draws",
    "banks": "la.bank_conflicts(value) counts",
    "verify": "la.read(text).verify() does",
    "run": "la.read(text).run(...) does",
    "migrate": "la.read(text).migrate(llvm=24) does",
}
"""What is a command, and in Python has another name."""
__getattr__ = lazy_names(__name__, globals(), _HOMES, _HINTS)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
