"""What a conversion executes: a program of steps, and what makes, orders and judges them.

>>> Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)).count(Shuffle)
1

`steps` has the steps (`regions` those of Intel's register file), `program` what they do together. `builder` makes programs for
all strategies, `schedule` orders shuffles, `liveness` says what a result needs, and `access_conflicts` counts how often stores
and loads wait.
"""

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.regions import Move, Regions
from layoutalg.conversion.program.steps import Address, Barrier, LaneSwap, Load, Permute, Select, Shuffle, Step, Store

__all__ = [
    "Address",
    "Barrier",
    "LaneSwap",
    "Load",
    "Move",
    "Permute",
    "Program",
    "Regions",
    "Select",
    "Shuffle",
    "Step",
    "Store",
]
