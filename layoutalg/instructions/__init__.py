"""Matrix and copy instructions by the names people type: `instruction(name)` is a value with operands, as any notation has.

`instruction` has the value and its story, `registry` all names, `dotted_names` what a mnemonic without its qualifiers means.
`selection` lists those that filters fit.
One package per vendor says the layouts, a family per module, by formula.

>>> from layoutalg.instructions import instruction
>>> print(instruction("mma.m16n8k16.f32.f16.f16.f32")["A"].layout)
d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg

The package lists instructions when it is called: `la.instructions("gfx942", "f64")` (see `selection.instructions`), so that the
public name of the list can be that of the package.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import cast

from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.registry import instruction

__all__ = ["Instruction", "InstructionOperand", "instruction", "instructions"]


class _Listing(ModuleType):
    """This package, which can be called."""

    def __call__(self, *filters: str) -> tuple[Instruction, ...]:
        """The instructions that all filters fit: `selection.instructions`."""
        from layoutalg.instructions.selection import instructions as listed

        return listed(*filters)


sys.modules[__name__].__class__ = _Listing
instructions = cast("_Listing", sys.modules[__name__])
"""Lists the instructions that filters fit, as in `la.instructions("gfx942", "f64")`: see `selection.instructions`."""
