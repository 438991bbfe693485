"""One matrix instruction as the version of LLVM can lower it.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64))
>>> a, b, c = (kernel.constant(0.0, kind, size) for kind, size in (("f16", 8), ("f16", 16), ("f32", 8)))
>>> multiply(kernel, a, b, c).kind
'vector<8xf32>'
>>> print(kernel.writer.text().splitlines()[-1])
%3 = xegpu.dpas %0, %1, %2 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter

__all__ = ["multiply"]


def multiply(kernel: KernelWriter, a: Value, b: Value, c: Value) -> Value:
    """C + A B of one instruction."""
    form = f"xegpu.dpas %s, %s, %s : {a.kind}, {b.kind}, {c.kind} -> {c.kind}"
    return kernel.writer.value(form, (a, b, c), c.element, c.size)
