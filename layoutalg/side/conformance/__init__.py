"""Compilers asked whether they keep the meaning of kernels: generated, distributed by them, run, and reduced where wrong.

>>> from layoutalg.side.conformance.generating import kernels
>>> [kernel.operation for kernel in kernels(0, 2, only=["gemm", "softmax"])]
['gemm', 'softmax']
"""

from __future__ import annotations

from layoutalg.side.conformance.asking import conformance
from layoutalg.side.conformance.generating import GeneratedKernel, kernels, meaning
from layoutalg.side.conformance.results import Conformance

__all__ = ["Conformance", "GeneratedKernel", "conformance", "kernels", "meaning"]
