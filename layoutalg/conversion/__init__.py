"""Conversions: from any layout of a tensor to any other, with the fewest moves.

>>> plan = convert(Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg"))
>>> plan.kind, plan.shuffles, plan.slm_bytes
('shuffles', 15, 0)

`plan` has `convert` and what it gives; `candidates` weighs the ways by `cost`, `explanation` and `picture` show the
result. `strategies` has the ways (how elements get from one layout to the other), `program` what is executed, and `lowering`
writes it as MLIR. The questions about memory (`bank_conflicts`, `coalescing`, `best_swizzle`) live in `layoutalg.memory`; their
names are here too, where they once were.
"""

from layoutalg.conversion.candidates import Candidate
from layoutalg.conversion.cost import Cost, cost_of
from layoutalg.conversion.plan import ConversionPlan, SymbolicPlan, convert
from layoutalg.conversion.program import Address, Barrier, Load, Permute, Program, Select, Shuffle, Store
from layoutalg.memory import BestSwizzle, Coalescing, Conflicts, bank_conflicts, best_swizzle, coalescing

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
    "Permute",
    "Program",
    "Select",
    "Shuffle",
    "Store",
    "SymbolicPlan",
    "bank_conflicts",
    "best_swizzle",
    "coalescing",
    "convert",
    "cost_of",
]
