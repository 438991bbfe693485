"""Matrix products for Intel's CPUs with AMX: from the problem to a plan, to code, to numbers.

>>> from layoutalg.gemm.amx import plan_amx
>>> plan = plan_amx(512, 512, 512)
>>> str(plan.tiling.blocking), plan.loads_per_step, plan.products_per_step
('2x2', 4, 4)
"""

from layoutalg.gemm.amx.costs import AmxRoofline, amx_roofline
from layoutalg.gemm.amx.packing import must_pack_a, packed_a, packed_b
from layoutalg.gemm.amx.plan import AmxGemm, plan_amx
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.search import AmxCandidate, AmxChoices, search_amx
from layoutalg.gemm.amx.strips import Strip, cut
from layoutalg.gemm.amx.tiling import AmxTiling, Blocking
from layoutalg.gemm.amx.walking import Walk, WalkStep, walk

__all__ = [
    "AmxCandidate",
    "AmxChoices",
    "AmxGemm",
    "AmxProblem",
    "AmxRoofline",
    "AmxTiling",
    "Blocking",
    "Strip",
    "Walk",
    "WalkStep",
    "amx_roofline",
    "cut",
    "must_pack_a",
    "packed_a",
    "packed_b",
    "plan_amx",
    "search_amx",
    "walk",
]
