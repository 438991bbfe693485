"""The picture of bank conflicts: which lanes each bank of shared memory serves, cycle by cycle, before and after a swizzle.

Four lanes write a column each of a 4 x 4 tile to four banks. Row by row, lanes meet in a bank: four cycles. Where the columns
of row i are swapped by XOR with i, each lane has its own bank:

>>> columns, swizzled = "d0 = 4@lane, d1 = 4@reg", la.swizzled(Layout.parse("d0 = 4@addr:4, d1 = 4@addr"), la.Swizzle(2, 0, 2))
>>> picture = bank_picture(columns, memory=swizzled, vector=1, banks=4)
>>> [len({cell.y for cell in panel.cells}) for panel in picture.panels()]      # cycles: rows of cells
[4, 1]
>>> picture.scene().cells[0].sentence
'cycle 0, bank 0: word 0, lane 0'

Of all subgroups and instructions the one that needs the most cycles is drawn; the numbers above it count all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from layoutalg.core.banks import BANK_BYTES, BANKS, served
from layoutalg.core.errors import ConversionError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_PHASES
from layoutalg.core.notation import Distributed, Machine, Operand
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.memory.addresses import Addresses, Memory, memory_text
from layoutalg.memory.asked import distributions
from layoutalg.memory.conflicts import Accesses, Banks, accesses_of, conflicts_of
from layoutalg.memory.swizzles import BestSwizzle
from layoutalg.viz.borders import rims
from layoutalg.viz.copies import several
from layoutalg.viz.grid import tensor_grid
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import DARK, MARKED, PALE, Look, Panel, stacked, table_panel, told_panel
from layoutalg.viz.svg import legal
from layoutalg.viz.xors import bits_that_meet

__all__ = ["BankPicture", "bank_picture"]

_CYCLES = 16
"""Cycles of a phase that are drawn; as many banks as are common stand side by side."""
_MOST_BANKS = 128
_WIDE, _HIGH = 16.5, 18
_EVERY = 4
"""Which banks are numbered: numbers of two digits would touch."""


@dataclass(frozen=True, slots=True, repr=False)
class BankPicture(PanelPicture):
    """The accesses of a layout to one memory or two, bank by bank."""

    hardware: Banks = field(kw_only=True)
    sides: tuple[tuple[str, Accesses, tuple[str, ...]], ...] = field(kw_only=True)
    """Of each memory its name, its accesses, and how a swizzle makes addresses."""

    def panels(self) -> Sequence[Panel]:
        """A panel for each memory."""
        return [self._side(*side) for side in self.sides]

    def subtitle(self) -> str:
        """What a cell is, and what a cycle serves."""
        banks, width, _ = self.hardware
        whole = counted(banks * width, "byte")
        cycle = f"a word of {counted(width, 'byte')} of each of {counted(banks, 'bank')}, {whole} in all"
        return f"cells: the lane that a bank serves (the lowest of several)\na cycle serves {cycle}"

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        return [("served at once", DARK), ("has waited: its bank was busy", MARKED), ("idle bank", PALE)]

    def _side(self, name: str, accesses: Accesses, swizzled: Sequence[str]) -> Panel:
        """The instruction that takes longest, a row for each cycle; lanes that meet as those before them did are told."""
        waited = accesses.cycles(self.hardware.banks)
        worst = int(waited.sum((1, 2)).argmax())
        instruction = int(waited[worst].sum(1).argmax())
        cycles = [int(one) for one in waited[worst, instruction]]
        together = accesses.words.shape[-1]
        phases = [
            served(
                accesses.words[worst, instruction, phase].tolist(),
                accesses.spread,
                self.hardware.banks,
                phase * together,
            )
            if many
            else []
            for phase, many in enumerate(cycles)
        ]
        rows: list[tuple[int, int, int]] = []  # phase, cycle in it, cycle of the instruction
        ruled: list[int] = []
        notes: list[str] = []
        begin = drawn = 0
        alike = ""  # what the last phase that is drawn looks like
        start: tuple[int, int] | None = None  # where those like it begin
        for phase, (many, busy) in enumerate(zip(cycles, phases, strict=True)):
            first = phase * together
            form = repr([[[lane - first for lane in lanes] for lanes in words.values()] for words in busy])
            if many and form == alike:
                start = start or (first, begin)
                told = f"lanes {start[0]} to {first + together - 1} likewise: cycles {start[1]} to {begin + many - 1}"
                notes = [*notes[: -1 if start != (first, begin) else None], told]
            elif many and drawn == MOST_PHASES:
                notes.append(f"cycles {begin} to {sum(cycles) - 1} are not drawn")
                break
            elif many:
                ruled += [len(rows)] * bool(rows)
                rows += [(phase, cycle, begin + cycle) for cycle in range(min(many, _CYCLES))]
                if many > _CYCLES:
                    notes.append(f"cycles {begin + _CYCLES} to {begin + many - 1} are not drawn")
                drawn += 1
                alike, start = form, None
            else:
                start = None
            begin += many
        of = f" of subgroup {worst}" if len(waited) > 1 else ""
        title = f"instruction {instruction}{of}: {counted(sum(cycles), 'cycle')}"
        size = accesses.vector * self.hardware.element_bytes
        first_told = [f"{counted(together, 'lane')} at a time, {counted(size, 'byte')} each"]
        nothing: tuple[int, dict[int, list[int]]] = (0, {})
        meets, words = max(enumerate(phases[0][:_MOST_BANKS]), key=lambda one: len(one[1]), default=nothing)
        if len(words) > 1:
            lanes = several([lanes[0] for lanes in words.values()])
            first_told.append(f"outlined: lanes {lanes} meet in bank {meets}, for {len(words)} cycles")
        tables: list[Panel] = []
        for left in range(0, min(self.hardware.banks, _MOST_BANKS), BANKS):
            columns = range(left, min(left + BANKS, self.hardware.banks, _MOST_BANKS))
            if not any(busy[bank] for busy in phases if busy for bank in columns):
                continue
            looks = [[_look(cycle, at, bank, phases[phase][bank]) for bank in columns] for phase, cycle, at in rows]
            across = [str(bank) if not bank % _EVERY or bank == columns[-1] else "" for bank in columns]
            down = [f"cycle {at}" for _, _, at in rows]
            table = table_panel("", across, down, looks, (_WIDE, _HIGH), (ruled, ()), corner="bank")
            met = [
                at for at, (phase, _, _) in enumerate(rows) if phase == 0 and at < len(words) > 1 and meets in columns
            ]
            corners = [(_WIDE * (meets - left) + table.cells[0].x, _HIGH * at + table.cells[0].y) for at in met]
            tables.append(replace(table, lines=(*table.lines, *rims(corners, _WIDE, _HIGH))))
        told_panels = told_panel(name, [*swizzled, str(conflicts_of(accesses, self.hardware))])
        below = [told_panel("", notes)] if notes else []
        return stacked([told_panels, told_panel(title, first_told), *tables, *below], 6)


def _look(cycle: int, at: int, bank: int, words: dict[int, list[int]]) -> Look:
    """A bank in a cycle of a phase, which is cycle `at` of the instruction."""
    if cycle >= len(words):
        return Look(PALE, "", f"cycle {at}, bank {bank}: idle")
    word, lanes = list(words.items())[cycle]
    many = "lane" if len(lanes) == 1 else "lanes"
    label = str(lanes[0]) if lanes[0] < 100 else ""
    told = f"cycle {at}, bank {bank}: word {word}, {many} {', '.join(map(str, lanes))}"
    return Look(MARKED if cycle else DARK, label, told)


def bank_picture(
    layout: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    memory: Memory | None = None,
    before: Memory | None = None,
    vector: int | None = None,
    banks: int = BANKS,
    width: int = BANK_BYTES,
    title: str | None = None,
) -> BankPicture:
    """The bank conflicts of a layout in `memory`, and beside them those in the memory `before` (row-major unless given).

    The other arguments are those of `bank_conflicts`, and it raises what that raises. Memory with the same addresses as
    `before` is drawn once.

    >>> bank_picture("d0 = 8@lane, d1 = 2@reg").title
    'bank conflicts of d0 = 8@lane, d1 = 2@reg'
    """
    if title is not None:
        instance_of(title, str, "title")
    hardware = Banks.checked(banks, width, element_bits)
    tensor = distributions((layout,), shape, machine, "counting accesses")[0]
    after = accesses_of(tensor, memory, hardware, vector)
    swizzled = _swizzled(memory)
    sides = [("after: " + _name(memory, tensor), after, swizzled)]
    try:
        first = accesses_of(tensor, before, hardware, vector)
    except ConversionError:
        if before is not None:
            raise
        first = after  # row-major memory has no accesses that wide
    if np.array_equal(first.words, after.words):
        sides = [(_name(memory, tensor), after, swizzled)]
    else:
        sides.insert(0, ("before: " + _name(before, tensor), first, _swizzled(before)))
    named = f"bank conflicts of {tensor}" if title is None else title
    return BankPicture((), legal(named), hardware=hardware, sides=tuple(sides))


def _name(memory: Memory | None, tensor: Layout) -> str:
    if memory is None:
        return f"row-major {'x'.join(map(str, tensor.shape))}"
    return "what best_swizzle found" if isinstance(memory, Addresses) else memory_text(memory)


def _swizzled(memory: Memory | None) -> tuple[str, ...]:
    """How what `best_swizzle` found makes addresses: which bits are XORed, or how far rows are padded."""
    if not isinstance(memory, BestSwizzle):
        return ()
    if memory.padding:
        return (f"rows of {counted(memory.shape[-1], 'element')}, {memory.padding} more behind each as padding",)
    return (*bits_that_meet(tensor_grid(Operand("memory", memory.memory), 1, 1)),)
