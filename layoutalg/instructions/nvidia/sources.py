"""The documents and programs that NVIDIA's layouts come from, as reports name them. The tests ask those that run.

>>> PTX.format("9.7.14.5")
'PTX ISA 9.2, 9.7.14.5'
"""

from __future__ import annotations

__all__ = ["HEADERS", "IREE", "PTX", "TRAITS", "TRITON"]

PTX = "PTX ISA 9.2, {}"
TRAITS = "CUTLASS's traits"
HEADERS = "CUTLASS's headers"
TRITON = "Triton 3.9"
IREE = "IREE 3.13"
