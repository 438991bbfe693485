"""A conversion as moves: which element goes from which register of which lane to which, and which step brings it.

Two lanes that exchange their registers 1 and 0:

>>> from layoutalg.conversion import convert
>>> program = convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup").programs[0]
>>> for step in moves_of(program):
...     print(step.title, [tuple(move) for move in step.moves])
shuffle 1: lane l reads lane l XOR 1 [(1, 0, 0, 1, 0), (0, 1, 1, 0, 0)]

The moves of all steps, with the elements that stay where they are, fill the registers of the destination.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from layoutalg.conversion.drawing.contents import carried_by, contents_of
from layoutalg.conversion.drawing.exchange import families
from layoutalg.conversion.program.program import Program

__all__ = ["Move", "MovingStep", "moves_of"]


class Move(NamedTuple):
    """An element of a lane and register of subgroup `sg`, and where subgroup 0 holds it afterwards."""

    lane: int
    reg: int
    to_lane: int
    to_reg: int
    sg: int


class MovingStep(NamedTuple):
    """One step, in words, and what it brings to subgroup 0."""

    title: str
    moves: list[Move]


def moves_of(program: Program) -> list[MovingStep]:
    """The steps that bring elements to the registers of subgroup 0: shuffles one by one, then shared memory, then renaming.

    None are listed where the words are too many to follow. What stays in its register is not listed.
    """
    contents = contents_of(program)
    if contents is None:
        return []
    left: dict[tuple[int, int], Move] = {}
    for lane, row in enumerate(contents.registers[0].tolist()):
        for register, slot in enumerate(row):
            if slot >= 0:
                place, source = divmod(slot, program.source_registers)
                sg, source_lane = divmod(place, program.lanes)
                left[lane, register] = Move(source_lane, source, lane, register, sg)
    shuffles = [
        replace(family, first=family.first + place, patterns=(pattern,), terms=(term,))
        for family in families(program, 0)
        for place, (pattern, term) in enumerate(zip(family.patterns, family.terms, strict=True))
    ]
    steps: list[MovingStep] = []
    kept = [
        {(lane, slot) for lane, one in enumerate(row) for slot in one.keeps} for row in carried_by(program, contents, 0)
    ]
    for i, shuffle in enumerate(shuffles):
        brought = kept[i].difference(*kept[i + 1 :])  # an element of 64 bits is there when both its words are
        here = [move for move in left.values() if (move.to_lane, _slot(program, move)) in brought]
        steps.append(MovingStep(str(shuffle), here))
        for move in here:
            del left[move.to_lane, move.to_reg]
    across = [move for move in left.values() if move.sg or move.lane != move.to_lane]
    renamed = [move for move in left.values() if not move.sg and move.lane == move.to_lane and move.reg != move.to_reg]
    if across:
        title = "through shared memory" if program.slm_bytes else "between lanes, in registers"
        steps.append(MovingStep(title, across))
    if renamed:
        steps.append(MovingStep("in its own lane, to another register", renamed))
    return steps


def _slot(program: Program, move: Move) -> int:
    return (move.sg * program.lanes + move.lane) * program.source_registers + move.reg
