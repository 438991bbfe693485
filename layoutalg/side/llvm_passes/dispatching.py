"""`la.propagate`: layouts that cost least, or those that a version of LLVM writes.

>>> gemm = "gpu.module @m { gpu.func @k() kernel { gpu.return } }"
>>> propagate(gemm).like, propagate(gemm, like="llvm24").like
(None, 24)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions
from layoutalg.core.whole_numbers import one_of
from layoutalg.flow.malformed import refused_where_malformed
from layoutalg.module.chip import meant_chip
from layoutalg.propagation import Propagated
from layoutalg.propagation import propagate as propagated_at_least_cost
from layoutalg.propagation.propagating import as_module, check_asked, completed, written_module
from layoutalg.side.llvm_passes.propagating import propagated_like

if TYPE_CHECKING:
    from layoutalg.module import Module

__all__ = ["propagate"]


def propagate(
    module: Module | str,
    *,
    level: str = "lane",
    target: str | None = None,
    llvm: int = DEFAULT_LLVM,
    like: str | None = None,
) -> Propagated:
    """Complete the layouts of a module at a level (`lane`, `inst` or `workgroup`) and place the cheapest conversions.

    `module` is what `la.read` gives, or text that it reads. The result is written for that version of LLVM.
    `target` is the chip whose messages and prices count (what the module says, as Triton's do, or pvc). With `like`
    ("llvm22", "llvm23" or "llvm24") the layouts are those that LLVM's own propagation gives, and what they cost.

    Raises `LayoutError` for another level, for a chip or a version that is not known, and for a module that LLVM refuses.

    >>> propagate("gpu.barrier", level="register")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: level 'register': expected one of lane, inst, workgroup
    >>> propagate("gpu.barrier", like="llvm21")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: like 'llvm21': expected 'llvm22', 'llvm23' or 'llvm24'
    """
    if like is None:
        return propagated_at_least_cost(module, level=level, target=target, llvm=llvm)
    module = as_module(module)
    chip = meant_chip(module, target)
    check_asked(level, chip, llvm)
    versions = {f"llvm{version}": version for version in llvm_versions()}
    version = versions[one_of(like, tuple(versions), "like")]
    with refused_where_malformed(module, version):
        theirs = [propagated_like(part.module, version, level, chip) for part in module.parts]
    done = completed(theirs, module, level, chip, version)
    return replace(done, module=written_module(theirs, module, version), like=version)
