"""The layouts that one version of LLVM writes into a module: its pass `xegpu-propagate-layout`, reproduced.

The levels have the names of layoutalg; LLVM's `layout-kind` says `subgroup` for "workgroup". The chip is what
`xevm-attach-target` says to a `gpu.module`: functions outside of one have none.

>>> from layoutalg.ir import read_module
>>> propagated_like(read_module("gpu.barrier"), llvm=22, level="lane", target="pvc").name
'builtin.module'
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.ir.findings import OURS
from layoutalg.ir.verify import verify_module
from layoutalg.propagation.like_llvm.versions import VERSIONS

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
    instance_of(target, str, "target")
    version = VERSIONS.get(llvm) if type(llvm) is int else None
    if version is None:
        raise LayoutError(f"LLVM {llvm!r}: its propagation is not known; expected 22, 23 or 24")
    if level not in LEVELS:
        raise LayoutError(f"level {level!r} is not known; expected one of {', '.join(LEVELS)}")
    copy = module.clone()
    try:
        version.propagate(copy, level, target)
    except VerifyException as problem:
        raise LayoutError(f"LLVM {llvm}: {problem}") from None
    _verify(copy, llvm)
    return copy


def _verify(module: ModuleOp, llvm: int) -> None:
    """What LLVM verifies after the pass: operations, not the types that the pass has made."""
    for finding in verify_module(module, llvm=llvm):
        if finding.source != OURS and not finding.message.startswith("cannot distribute"):
            raise LayoutError(f"LLVM {llvm}: '{finding.operation}' op {finding.message}")
