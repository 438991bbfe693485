"""What is wrong with a module: the diagnostics of one version of LLVM, and findings that LLVM does not have.

>>> from layoutalg.ir import read_module
>>> module = read_module('''
... func.func @f(%a: vector<8x16xf16>, %b: vector<32x16xf16>) {
...   %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16xf32>
...   return
... }''')
>>> for llvm in (22, 24):
...     print(verify_module(module, llvm=llvm)[0])
text:3:8: error: 'xegpu.dpas' op K-dimension mismatch. [LLVM 22: xegpu.dpas.sizes]
text:3:8: error: 'xegpu.dpas' op K-dimension mismatch: A has K=16 but B has K=32. [LLVM 24: xegpu.dpas.sizes]

`registry` says what a rule is; the other modules hold the rules, one module for a dialect or a part of it. First come findings
about what LLVM cannot read (types and attributes, operations that the version does not have), since it would stop there. Then
each operation is asked: its operands, results and attributes, then the rules of its verifier until one fails. Rules of our own
(`ours`) are checked wherever LLVM accepts the operation.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.hardware import target_info
from layoutalg.ir.findings import Finding
from layoutalg.ir.verify.module import findings_of

__all__ = ["verify_module"]


def verify_module(module: ModuleOp, *, llvm: int = DEFAULT_LLVM, target: str | None = None) -> tuple[Finding, ...]:
    """What one version of LLVM reports about a module, in its words, then our own findings; empty where nothing is wrong.

    With a `target` (such as "pvc"), messages that the chip does not have are findings too.

    Raises `LayoutError` for a version or a target that is not known.

    >>> from layoutalg.ir import read_module
    >>> verify_module(read_module("xegpu.alloc_nbarrier -1"))[0].message
    'reserves -1 named barriers; expected at least 0'
    """
    return findings_of(module, rules(llvm).llvm, None if target is None else target_info(target))
