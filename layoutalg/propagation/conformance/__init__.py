"""Compilers asked whether they keep the meaning of kernels: generated, distributed by them, run, and reduced where wrong.

>>> from layoutalg.propagation.conformance.generating import kernels
>>> [kernel.operation for kernel in kernels(0, 2, only=["gemm", "softmax"])]
['gemm', 'softmax']
"""

from __future__ import annotations

from layoutalg.propagation.conformance.asking import conformance
from layoutalg.propagation.conformance.generating import GeneratedKernel, kernels, meaning
from layoutalg.propagation.conformance.results import Conformance

__all__ = ["Conformance", "GeneratedKernel", "conformance", "kernels", "meaning"]
