"""Decode planned: a few queries of every sequence against thousands of keys, from the problem to code and numbers.

>>> from layoutalg.gemm.attention.decode import plan_decode
>>> plan_decode(4096, 128, heads=32, kv_heads=8, target="bmg").rows
8
"""

from layoutalg.gemm.attention.decode.plan import Decode
from layoutalg.gemm.attention.decode.planning import plan_decode
from layoutalg.gemm.attention.decode.problem import DecodeProblem

__all__ = ["Decode", "DecodeProblem", "plan_decode"]
