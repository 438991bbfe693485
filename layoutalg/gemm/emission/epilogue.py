"""What happens to the accumulators after the loop: to the type of C, and into memory.

>>> from layoutalg.gemm import plan_gemm
>>> plan_gemm(64, 64, 64, tile=(16, 32)).emit().count("xegpu.store_nd")
4
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import descriptor

__all__ = ["finish"]


def finish(kernel: KernelWriter, base: Value, held: Mapping[tuple[int, int], Value], row: Value, column: Value) -> None:
    """Store the tile whose blocks are `held`, by (row block, column block); its corner is at `row`, `column`."""
    unit, matrix = kernel.gemm.dpas, kernel.gemm.matrices[2]
    kind = f"!xegpu.tensor_desc<{unit.m}x{unit.n}x{matrix.element}>"
    described = kernel.named("matrix_c", descriptor(kernel, matrix, base, kind))
    for (i, j), value in held.items():
        place = (kernel.plus(row, i * unit.m), kernel.plus(column, j * unit.n))
        kernel.writer.do(f"xegpu.store_nd %s, %s[%s, %s] : {value.kind}, {kind}", (value, described, *place))
