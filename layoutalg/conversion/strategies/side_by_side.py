"""Programs that need nothing of each other, side by side: their stores together, one barrier, their loads together.

Each has registers and bytes of shared memory of its own. Two lanes exchange a word through memory, and another by a shuffle:

>>> from layoutalg.conversion.program.steps import Address, Shuffle
>>> at = (Address(xor=True, lane=(1,)), Address(1, xor=True, lane=(1,)))
>>> stored = Program(1, 2, 32, 1, 1, (0,), (Store((0,), at[0]), Barrier(), Load((1,), at[1])), (1,), 8)
>>> shuffled = Program(1, 2, 32, 1, 1, (0,), (Shuffle(1, 0, (1, 0)),), (1,))
>>> both = side_by_side([stored, shuffled], [[0], [1]], [[1], [0]], 1024)
>>> [type(step).__name__ for step in both.steps]
['Store', 'Shuffle', 'Barrier', 'Load']
>>> both.run(np.array([[[1, 2], [3, 4]]], np.int32)).tolist()       # each lane's: what was shuffled, then what was stored
[[[4, 3], [2, 1]]]

Shuffles stand behind the first stores: the unit of shared memory works while the lanes do. Where the bytes of all are more than
a limit, those that fit go first, then others in the same bytes, behind a barrier of the workgroup.

The law: it has the steps of all, and no more barriers than they have in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Barrier, Load, Step, Store
from layoutalg.core.errors import SizeError

__all__ = ["side_by_side"]

_LINE = 128
"""The bytes of all banks once: what begins at a multiple of these meets in the banks as if it began at 0."""


def side_by_side(
    programs: Sequence[Program], before: Sequence[Sequence[int]], after: Sequence[Sequence[int]], limit: int
) -> Program:
    """The program that does what all do, in at most `limit` bytes of shared memory at a time.

    `before[p][r]` is the register that is number r of program p's source, `after` likewise of its destination. The programs are
    for the same subgroups and lanes, and elements of one size.

    Raises `SizeError` where one of them needs more than the limit.
    """
    first = programs[0]
    cells, parts = max(first.element_bits // WORD, 1), first.parts
    pack: list[int] = []
    names: list[list[int]] = []
    for program, registers in zip(programs, before, strict=True):
        names.append(list(range(len(pack) // parts, (len(pack) + len(program.pack)) // parts)))
        pack += [-1 if cell < 0 else registers[cell // cells] * cells + cell % cells for cell in program.pack]
    builder = Builder(first.subgroups, first.lanes, first.element_bits, pack)
    groups = _groups(programs, limit)
    between = _between(programs, groups)
    alone = [number for number, program in enumerate(programs) if not program.slm_bytes]
    for turn, group in enumerate(groups or [[]]):
        if turn:
            builder.barrier(between)
        pieces = {number: _pieces(programs[number]) for number, _ in group}
        for piece in range(max(map(len, pieces.values()), default=1)):
            if piece:
                builder.barrier(_widest([programs[number] for number, _ in group]))
            for number, start in group:
                if piece < len(pieces[number]):
                    builder.repeat(pieces[number][piece], names[number], start)
            if not turn and not piece:
                for number in alone:
                    builder.repeat(programs[number].steps, names[number], 0)
    registers = sum(map(len, after))
    unpack = [-1] * (registers * cells)
    for program, own_names, held in zip(programs, names, after, strict=True):
        for cell, place in enumerate(program.unpack):
            moved = own_names[place // parts] * parts + place % parts if place >= 0 else -1
            unpack[held[cell // cells] * cells + cell % cells] = moved
    slm_bytes = max([start + programs[number].slm_bytes for group in groups for number, start in group], default=0)
    return builder.program(sum(map(len, before)), registers, unpack, slm_bytes=slm_bytes)


def _groups(programs: Sequence[Program], limit: int) -> list[list[tuple[int, int]]]:
    """The programs that use memory, in groups that do at a time: the number of each, and the first of its bytes."""
    found: list[list[tuple[int, int]]] = []
    end = 0
    for number, program in enumerate(programs):
        size = program.slm_bytes
        if size > limit:
            raise SizeError(f"{size} bytes of shared memory at a time, over the limit of {limit}")
        if size:
            # Where addresses are XORs, they begin at a multiple of what those reach.
            room = max(1 << (size - 1).bit_length(), _LINE) if _has_xor(program) else _LINE
            start = -(-end // room) * room
            if not found or start + size > limit:
                found.append([])
                start = 0
            found[-1].append((number, start))
            end = start + size
    return found


def _between(
    programs: Sequence[Program], groups: Sequence[Sequence[tuple[int, int]]]
) -> Literal["workgroup", "subgroup"]:
    """Who waits before bytes are stored to again.

    Programs may keep to the bytes of each subgroup; but what is one's in a program may be another's in the next one.
    """
    each = [[(programs[number], start) for number, start in group] for group in groups]
    alike = all(one == each[0][: len(one)] for one in each)
    return _widest(programs) if alike or programs[0].subgroups == 1 else "workgroup"


def _widest(programs: Sequence[Program]) -> Literal["workgroup", "subgroup"]:
    """Who waits at the barriers of programs: the workgroup, if it does at one of them."""
    scopes = {step.scope for program in programs for step in program.steps if isinstance(step, Barrier)}
    return "workgroup" if "workgroup" in scopes else "subgroup"


def _has_xor(program: Program) -> bool:
    return any(step.address.xor for step in program.steps if isinstance(step, (Store, Load)))


def _pieces(program: Program) -> list[tuple[Step, ...]]:
    """The steps of a program between its barriers."""
    at = [-1, *[number for number, step in enumerate(program.steps) if isinstance(step, Barrier)], len(program.steps)]
    return [program.steps[start + 1 : end] for start, end in pairwise(at)]
