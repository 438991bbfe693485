"""Attention planned: softmax(Q K^T) V in one kernel, from the problem to code and numbers.

>>> from layoutalg.gemm.attention import plan_attention
>>> plan_attention(256, 1000, 64, causal=True, target="bmg").grid
(2, 1, 1)
"""

from layoutalg.gemm.attention.plan import Attention
from layoutalg.gemm.attention.planning import plan_attention
from layoutalg.gemm.attention.problem import AttentionProblem
from layoutalg.gemm.attention.steps import Step, Steps

__all__ = ["Attention", "AttentionProblem", "Step", "Steps", "plan_attention"]
