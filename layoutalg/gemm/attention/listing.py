"""The machine code of a planned attention, each instruction of its loop with what it is for.

After scheduling the instructions of a step stand in no order that the kernel's text has, so they are named by what they are: a
transposed message brings K, one that packs pairs of rows brings V, `math.exp` is the exp2 of a weight.

The loop has a part that a step seldom executes: it gives a row another m. A uniform jump skips it, and it isn't listed.

>>> from layoutalg.gemm.listing import read_assembly
>>> one = read_assembly("math.exp (16|M0)  r62.0<1>:f  r62.0<1;1,0>:f").instructions[0]
>>> purpose(one)
'P = exp2(..), one row'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.gemm.listing import Compiled, Instruction, Program, compile_kernel

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["annotated", "compiled", "purpose", "usual_path"]

_ROWS = {
    "math": "P = exp2(..), one row",
    "mul": "scale * (S - m), one row",
    "sel": "the larger score, one row",
}
_NARROWED = re.compile(r":(hf|bf)\b")


def compiled(plan: Attention) -> Compiled:
    """The machine code that the installed compilers make of the plan's kernel.

    Raises `PlanError` where one of them is not installed.
    """
    return compile_kernel(plan.emit(), plan.problem.target, plan.registers, llvm=plan.llvm)


def purpose(one: Instruction) -> str:
    """What an instruction of the loop is for."""
    name = one.mnemonic.partition(".")[0]
    if one.kind == "dpas":
        return "S - m += Q K^T, l += P 1 or O += P V"
    if one.kind == "load":
        return "load of K" if ".d32t" in one.message else "load of V" if ".d16v" in one.message else "load of Q"
    if one.kind == "prefetch":
        return "prefetch of K and V"
    if one.kind == "sync":
        return "wait"
    if one.is_jump or name in ("cmp", "not"):
        return "loop"
    if one.lanes == 1:
        return "address" if name in ("mov", "add") else "maximum"
    if name == "mov":
        destination = one.operands[0].text if one.operands else ""
        return "P rounded, one row" if _NARROWED.search(destination) else "maximum or address"
    return _ROWS.get(name, "maximum") if one.lanes >= 16 else "maximum"


def usual_path(program: Program) -> tuple[Instruction, ...]:
    """The instructions of the loop without a mask, on the way through it where no row gets another m.

    Of all ways through a loop it has the most DPAS: a step that changes m sums no rows. A way with a mask may have as many, but
    no prefetches, and it is longer where there are none.

    >>> from layoutalg.gemm.listing import read_assembly
    >>> text = "L0:\\n(W&f0.0) jmpi L1\\nadd (1|M0) r1 r1 1:w\\nL1:\\ndpas.8x8 (16|M0) r5 r5 r13 r21\\n(W) jmpi L0"
    >>> [one.mnemonic for one in usual_path(read_assembly(text))]
    ['jmpi', 'dpas.8x8', 'jmpi']
    """

    def onward(loop: range, taken: int) -> list[Instruction]:
        """The way through a loop where of the jumps that depend on something the one at `taken` jumps."""
        way: list[Instruction] = []
        position, stop = loop.start, loop.stop
        while position < stop:
            one = program.instructions[position]
            way.append(one)
            target = program.labels.get(one.operands[-1].text, 0) if one.is_jump and one.operands else 0
            follows = position < target < stop and (position == taken or "f" not in one.predicate)
            position = target if follows else position + 1
        return way

    jumps = {place for place, one in enumerate(program.instructions) if one.is_jump}
    ways = [onward(loop, taken) for loop in program.loops for taken in jumps.intersection(loop)]
    return tuple(max(ways, key=lambda way: (_how_many(way, "dpas"), _how_many(way, "prefetch"), -len(way)), default=()))


def _how_many(instructions: Sequence[Instruction], kind: str) -> int:
    return sum(one.kind == kind for one in instructions)


def annotated(found: Compiled) -> list[str]:
    """The lines of the loop, each with what it is for behind it.

    >>> annotated(Compiled("attention", "bmg", 24, "", "L0:\\ndpas.8x8 (16|M0) r5 r5 r13 r21\\n(W) jmpi L0", 256, 0, 0, 16))
    ['dpas.8x8 (16|M0) r5 r5 r13 r21  // S - m += Q K^T, l += P 1 or O += P V', '(W) jmpi L0  // loop']
    """
    return [f"{one.text.partition('//')[0].strip()}  // {purpose(one)}" for one in usual_path(found.program)]
