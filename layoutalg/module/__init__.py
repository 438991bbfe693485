"""Whole MLIR modules: `read` turns a file, a dump or a text into a value, whose methods show, verify, run and migrate it.

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
