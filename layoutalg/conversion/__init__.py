"""Conversions: from any layout of a tensor to any other, the cheapest way.

>>> plan = convert(Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg"))
>>> plan.kind, plan.shuffles, plan.slm_bytes
('shuffles', 15, 0)

`plan` has `convert`, which gives a `conversion_plan`, or a `symbolic_plan` where extents are symbols. `candidates` weighs the
ways by `cost` (memory and steps; `charges` and `prices` are those of compilers' listings; `price` answers for a whole
conversion, and says which are redundant; `triton_way` for Triton's own), `cheapest` finds the best one without making all of
them (`exchange_bounds`, `cheapest_by_table`), `several` does several conversions in one go, and `bound` says how few shuffles
there can be. `levels` says how far elements may go, `normalize` makes layouts with gaps and offsets simpler ones. `strategies`
has the ways (how elements get from one layout to the other), `program` what is executed, and `lowering` writes it as MLIR;
`explanation`, `report` and `picture` (`drawing`) show the result.

The questions about memory (`bank_conflicts`, `coalescing`, `best_swizzle`) live in `layoutalg.memory`; their names are here
too, where they once were.
"""

from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.cost import Cost, cost_of
from layoutalg.conversion.plan import ConversionPlan, SymbolicPlan, convert
from layoutalg.conversion.program import Address, Barrier, Load, Permute, Program, Select, Shuffle, Store
from layoutalg.conversion.several import SeveralConversions, convert_several
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
    "SeveralConversions",
    "Shuffle",
    "Store",
    "SymbolicPlan",
    "bank_conflicts",
    "best_swizzle",
    "coalescing",
    "convert",
    "convert_several",
    "cost_of",
]
