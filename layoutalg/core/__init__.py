"""The algebra of layouts: one kind of object under all the notations, and no dialect in sight.

`Layout` is where to start reading; `algebra` has product, inverse and composition, `views` the ways to look at a tensor,
`fragments` the maps as numpy arrays, `table` what has no closed form, `expressions` the sympy side, `swizzle` XOR.
Names are imported when first used: the package itself costs nothing but `Layout`.

>>> from layoutalg.core import Layout, compose
>>> compose(Layout.parse("d0 = 4@lane 2@reg"), Layout.parse("d0 = 8@d0"))
Layout.parse('d0 = 4@lane 2@reg')
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
from layoutalg.core.extents import Condition, symbol
from layoutalg.core.factors import Factor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:
    from layoutalg.core.algebra import block_product, compose, inverse
    from layoutalg.core.distributing import collect, distribute
    from layoutalg.core.expressions import expression_text, index_function
    from layoutalg.core.layout import row_major
    from layoutalg.core.swizzle import Swizzle, Swizzled, swizzled
    from layoutalg.core.table import Table, compose_exactly

_HOMES = {
    "block_product": "algebra",
    "compose": "algebra",
    "inverse": "algebra",
    "expression_text": "expressions",
    "index_function": "expressions",
    "collect": "distributing",
    "distribute": "distributing",
    "Swizzle": "swizzle",
    "Swizzled": "swizzle",
    "swizzled": "swizzle",
    "Table": "table",
    "compose_exactly": "table",
    "row_major": "layout",
}

__all__ = [
    "MACHINE",
    "CompositionError",
    "Condition",
    "ConversionError",
    "DistributionError",
    "Factor",
    "Layout",
    "LayoutError",
    "ParseError",
    "PlanError",
    "SizeError",
    "Swizzle",
    "Swizzled",
    "Table",
    "VerificationError",
    "block_product",
    "collect",
    "compose",
    "compose_exactly",
    "distribute",
    "expression_text",
    "index_function",
    "inverse",
    "row_major",
    "swizzled",
    "symbol",
]

__getattr__ = lazy_names(__name__, globals(), _HOMES)
