"""Matrix products: from the problem to a plan, from the plan to a kernel, from the kernel to numbers.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(64, 64, 64)
>>> str(gemm.tile), gemm.grid
('32x32x16', (2, 2, 1))
"""

from layoutalg.gemm.plan import Fragment, Gemm, Registers, Tile, plan_gemm
from layoutalg.gemm.surface import Matrix

__all__ = ["Fragment", "Gemm", "Matrix", "Registers", "Tile", "plan_gemm"]
