"""The machine code of a planned decode: both kernels compiled, and the loop over keys that all rows see.

>>> from layoutalg.gemm.listing import read_assembly
>>> text = "L0:\\ndpas.8x8 (16|M0) r5 r5 r13 r21\\n(W) jmpi L0"
>>> [one.mnemonic for one in loop_of(read_assembly(text))]
['dpas.8x8', 'jmpi']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.gemm.listing import Compiled, Instruction, Program, compile_kernel

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["compiled", "loop_of"]


def compiled(plan: Decode) -> Compiled:
    """The machine code that the installed compilers make of the plan's first kernel; registers and spills are of both.

    Raises `PlanError` where one of them is not installed.
    """
    return compile_kernel(plan.emit(), plan.target, plan.registers, llvm=plan.llvm)


def loop_of(program: Program) -> tuple[Instruction, ...]:
    """The instructions of the first loop, which has no mask; the one with a mask follows."""
    return next((tuple(program.instructions[loop.start : loop.stop]) for loop in program.loops), ())
