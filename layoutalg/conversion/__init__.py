"""Conversions: from any layout of a tensor to any other, with the fewest moves.

>>> from layoutalg.conversion import convert
>>> from layoutalg.core import Layout
>>> plan = convert(Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg"))
>>> plan.kind, plan.shuffles, plan.slm_bytes
('shuffles', 15, 0)
"""

from layoutalg.conversion.banks import Coalescing, Conflicts, bank_conflicts, coalescing
from layoutalg.conversion.cost import Cost, cost_of
from layoutalg.conversion.plan import Candidate, ConversionPlan, convert
from layoutalg.conversion.program import Address, Barrier, Load, Program, Rotate, Select, Shuffle, Store
from layoutalg.conversion.swizzles import BestSwizzle, best_swizzle

__all__ = [
    "Address",
    "Barrier",
    "BestSwizzle",
    "Candidate",
    "Coalescing",
    "Conflicts",
    "ConversionPlan",
    "Cost",
    "Load",
    "Program",
    "Rotate",
    "Select",
    "Shuffle",
    "Store",
    "bank_conflicts",
    "best_swizzle",
    "coalescing",
    "convert",
    "cost_of",
]
