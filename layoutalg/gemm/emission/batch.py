"""Where the matrices of a batch begin: z of the grid counts them, or a kernel has found its tile's.

`stride_a`, `stride_b` and `stride_c` are elements between them.

By hand: with 4096 elements of f16 between matrices, the third A begins 2 * 4096 * 2 bytes after the first. The products are of
64 bits, because a batch may be larger than 4 GB. A bias belongs to every matrix of the batch alike.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, batch=3))
>>> [value.kind for value in addresses(kernel).values()]
['i64', 'i64', 'i64']
>>> print(kernel.writer.text().splitlines()[-1])
%address_c = arith.addi %c, %7 : i64
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter

__all__ = ["addresses"]


def addresses(kernel: KernelWriter, parts: int = 1, matrix: Value | None = None) -> dict[str, Value]:
    """The addresses of this workgroup's A, B and C, by their names; without a batch they are the arguments.

    Which `matrix` of the batch is given, or z says it. Where k is in `parts`, z counts the parts of the first matrix, then
    those of the second.
    """
    if kernel.gemm.problem.batch == 1:
        return {name: kernel.arguments[name.lower()] for name in "ABC"}
    if matrix is None:
        z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"), named=False)
        matrix = z if parts == 1 else kernel.op("divui", z, kernel.constant(parts))
    number = kernel.cast(matrix, "i64")
    found: dict[str, Value] = {}
    for one in kernel.gemm.matrices:
        name = one.name.lower()
        elements = kernel.op("muli", number, kernel.arguments[f"stride_{name}"])
        moved = kernel.op("muli", elements, kernel.constant(one.element_bytes, "i64"))
        address = kernel.op("addi", kernel.arguments[name], moved)
        found[one.name] = kernel.named(f"address_{name}", address)
    return found
