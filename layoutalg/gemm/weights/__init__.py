"""Products with quantised weights: B in 4 or 8 bits with scales for groups of k, A in f16 or bf16.

>>> from layoutalg.gemm.weights import plan_weights
>>> plan_weights(8, 4096, 4096, group=128, target="bmg").tiling.tile
Tile(m=8, n=32, k=128)
"""

from layoutalg.gemm.weights.float8 import Float8Weights, quantise_float8
from layoutalg.gemm.weights.plan import WeightsGemm
from layoutalg.gemm.weights.planning import plan_weights
from layoutalg.gemm.weights.problem import WeightsProblem
from layoutalg.gemm.weights.quantised import QuantisedWeights, quantise

__all__ = [
    "Float8Weights",
    "QuantisedWeights",
    "WeightsGemm",
    "WeightsProblem",
    "plan_weights",
    "quantise",
    "quantise_float8",
]
