"""The layouts that one version of LLVM writes into a module: its pass `xegpu-propagate-layout`, reproduced.

The levels have the names of layoutalg; LLVM's `layout-kind` says `subgroup` for "workgroup". The chip is what
`xevm-attach-target` says to a `gpu.module`; functions outside of one, where LLVM knows no chip, are propagated as in one.

>>> from layoutalg.ir import read_module
>>> propagated_like(read_module("gpu.barrier"), llvm=22, level="lane", target="pvc").name
'builtin.module'
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.levels import LEVELS
from layoutalg.ir.findings import OURS
from layoutalg.ir.verify import verify_module
from layoutalg.ir.verify.layouts import distributable
from layoutalg.side.llvm_passes.analysis import shape_in
from layoutalg.side.llvm_passes.versions import VERSIONS

__all__ = ["CHIPS", "propagated_like"]

CHIPS = ("pvc", "bmg")


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
        raise LayoutError(f"LLVM {shown(llvm)}: its propagation is not known; expected 22, 23 or 24")
    if level not in LEVELS:
        raise LayoutError(f"level {shown(level)} is not known; expected one of {', '.join(LEVELS)}")
    if target not in CHIPS:
        raise LayoutError(
            f"target {shown(target)}: LLVM's propagation has no tables for it; expected one of {', '.join(CHIPS)}"
        )
    copy = module.clone()
    try:
        version.propagate(copy, level, target)
    except VerifyException as problem:
        raise LayoutError(f"LLVM {llvm}: {problem}") from None
    _verify(copy, llvm)
    return copy


_SPREAD = {
    "xegpu.load": (None, "Value"),
    "xegpu.load_matrix": (None, "Value"),
    "xegpu.load_nd": (0, "TensorDesc"),
    "xegpu.prefetch_nd": (0, "TensorDesc"),
    "xegpu.store": (0, "Value"),
    "xegpu.store_matrix": (0, "Value"),
    "xegpu.store_nd": (1, "TensorDesc"),
}
"""What the layout of an anchor must divide: an operand (None for the result), and what LLVM calls it."""


def _verify(module: ModuleOp, llvm: int) -> None:
    """What LLVM verifies after the pass: operations, not the types that the pass has made."""
    for op in module.walk():
        number, word = _SPREAD.get(op.name, (None, ""))
        layout = op.properties.get("layout")
        if llvm == 22 or not word or layout is None:
            continue
        shape = shape_in(op.results[0] if number is None else op.operands[number])
        if shape and not distributable(layout, shape, llvm):
            problem = f"{word} shape is not distributable with the layout"
            raise LayoutError(f"LLVM {llvm}: '{op.name}' op {problem} ({'x'.join(map(str, shape))}, {layout})")
    for finding in verify_module(module, llvm=llvm):
        if finding.source != OURS and not finding.message.startswith("cannot distribute"):
            raise LayoutError(f"LLVM {llvm}: '{finding.operation}' op {finding.message}")
