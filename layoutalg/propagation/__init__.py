"""Layouts completed from what is written and demanded; the cheapest conversions put into the module."""

from __future__ import annotations

from layoutalg.flow.levels import LEVELS
from layoutalg.propagation.propagating import Conversion, Decision, Propagated, propagate

__all__ = ["LEVELS", "Conversion", "Decision", "Propagated", "propagate"]
