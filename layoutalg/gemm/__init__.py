"""Matrix products: from the problem to a plan, from the plan to a kernel, from the kernel to numbers.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(64, 64, 64, tile=(32, 32), subgroups=(1, 1), k_step=16)
>>> str(gemm.tile), gemm.grid
('32x32x16', (2, 2, 1))
"""

from typing import TYPE_CHECKING

from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:
    from layoutalg.gemm.fragments import Fragment
    from layoutalg.gemm.matrix_in_memory import Matrix
    from layoutalg.gemm.messages import Message, Piece
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.planning import plan_gemm
    from layoutalg.gemm.problem import Problem
    from layoutalg.gemm.registers import Registers
    from layoutalg.gemm.tiling import Tile, Tiling

__all__ = ["Fragment", "Gemm", "Matrix", "Message", "Piece", "Problem", "Registers", "Tile", "Tiling", "plan_gemm"]
_HOMES = {
    "Fragment": "fragments",
    "Gemm": "plan",
    "Matrix": "matrix_in_memory",
    "Message": "messages",
    "Piece": "messages",
    "Problem": "problem",
    "Registers": "registers",
    "Tile": "tiling",
    "Tiling": "tiling",
    "plan_gemm": "planning",
}
__getattr__ = lazy_names(__name__, globals(), _HOMES)
