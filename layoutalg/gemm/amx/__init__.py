"""Matrix products for Intel's CPUs with AMX: from the problem to a plan, to code, to numbers.

>>> from layoutalg.gemm.amx import plan_amx
>>> plan = plan_amx(512, 512, 512)
>>> str(plan.tiling.blocking), plan.loads_per_step, plan.products_per_step
('2x2', 4, 4)
"""

from layoutalg.gemm.amx.plan import AmxGemm, plan_amx
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.tiling import AmxTiling, Blocking

__all__ = ["AmxGemm", "AmxProblem", "AmxTiling", "Blocking", "plan_amx"]
