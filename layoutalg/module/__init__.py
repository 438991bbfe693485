"""Whole MLIR modules: `read` makes a value of a file, a dump or a text; what it holds, means and does is asked of that value.

>>> module = read("gpu.module @k { gpu.func @f() kernel { gpu.return } }")
>>> module.layouts, module.findings
((), ())
"""

from typing import TYPE_CHECKING

from layoutalg.core.lazy import lazy_names
from layoutalg.module.module import Migrated, Module, read

if TYPE_CHECKING:
    from layoutalg.module.conversions import LayoutConversion
    from layoutalg.module.uses import LayoutUse

__all__ = ["LayoutConversion", "LayoutUse", "Migrated", "Module", "read"]
__getattr__ = lazy_names(__name__, globals(), {"LayoutConversion": "conversions", "LayoutUse": "uses"})
