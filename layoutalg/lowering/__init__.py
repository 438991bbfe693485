"""From workgroup or subgroup level to lane level: what every work-item holds, loads, computes, exchanges and stores."""

from __future__ import annotations

from layoutalg.lowering.kernels import Exchanged
from layoutalg.lowering.lower_module import Lowered, lower

__all__ = ["Exchanged", "Lowered", "lower"]
