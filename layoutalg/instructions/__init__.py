"""Matrix and copy instructions by the names people type: `instruction(name)` is a value with operands, as any notation has.

`instruction` has the value and its story, `registry` all names, `dotted_names` what a mnemonic without its qualifiers means.
`selection` lists those that filters fit. One package per vendor says the layouts, a family per module, by formula.

>>> from layoutalg.instructions import instruction
>>> print(instruction("mma.m16n8k16.f32.f16.f16.f32")["A"].layout)
d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg
"""

from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.registry import instruction
from layoutalg.instructions.selection import known_instructions

__all__ = ["Instruction", "InstructionOperand", "instruction", "known_instructions"]
