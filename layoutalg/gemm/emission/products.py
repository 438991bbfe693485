"""The matrix instructions of a planned kernel, as `lowering.matrix_instruction` writes them.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, "u8", "s8"))
>>> a, b, c = (kernel.constant(0, kind, size) for kind, size in (("i8", 16), ("i8", 32), ("i32", 8)))
>>> multiply(kernel, a, b, c).kind
'vector<8xi32>'
>>> list(kernel.functions)
['_Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_tDv8_iS0_']
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.lowering.matrix_instruction import multiplied

__all__ = ["multiply"]


def multiply(kernel: KernelWriter, a: Value, b: Value, c: Value) -> Value:
    """C + A B of one instruction."""
    return multiplied(kernel.writer, kernel.gemm.dpas, a, b, c, kernel.functions)
