"""Layouts completed from what is written and demanded; the cheapest conversions put into the module."""

from __future__ import annotations

from layoutalg.propagation.placing.propagating import Conversion, Decision, Propagated, propagate
from layoutalg.propagation.spread import LEVELS

__all__ = ["LEVELS", "Conversion", "Decision", "Propagated", "propagate"]
