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
from dataclasses import dataclass, field

import numpy as np

from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.errors import ConversionError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_PHASES
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.memory.addresses import Addresses, Memory, memory_text
from layoutalg.memory.asked import distributions
from layoutalg.memory.conflicts import Accesses, Banks, accesses_of, conflicts_of
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import DARK, MARKED, PALE, Look, Panel, stacked, table_panel, told_panel
from layoutalg.viz.svg import legal

__all__ = ["BankPicture", "bank_picture"]

_CYCLES = 16
"""Cycles of a phase that are drawn; as many banks as are common stand side by side."""
_MOST_BANKS = 128
_WIDE, _HIGH = 16.5, 18


@dataclass(frozen=True, slots=True, repr=False)
class BankPicture(PanelPicture):
    """The accesses of a layout to one memory or two, bank by bank."""

    hardware: Banks = field(kw_only=True)
    sides: tuple[tuple[str, Accesses], ...] = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """A panel for each memory."""
        return [self._side(name, accesses) for name, accesses in self.sides]

    def subtitle(self) -> str:
        """What a cell is."""
        width = counted(self.hardware.width, "byte")
        return f"columns: banks of {width}; rows: cycles; in a cell: the lane that is served (the lowest of several)"

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        return [("served at once", DARK), ("served later: its bank was busy", MARKED), ("idle", PALE)]

    def _side(self, name: str, accesses: Accesses) -> Panel:
        waited = accesses.cycles(self.hardware.banks)
        worst = int(waited.sum((1, 2)).argmax())
        instruction = int(waited[worst].sum(1).argmax())
        notes = [str(conflicts_of(accesses, self.hardware))]
        phases = [phase for phase in range(waited.shape[2]) if waited[worst, instruction, phase]]
        if len(phases) > MOST_PHASES:
            notes.append(f"{MOST_PHASES} of {len(phases)} phases drawn")
        panels = [told_panel(name, notes)]
        for phase in phases[:MOST_PHASES]:
            title = f"instruction {instruction}, phase {phase}" if len(phases) > 1 else f"instruction {instruction}"
            title += f" of subgroup {worst}" if len(waited) > 1 else ""
            cycles = int(waited[worst, instruction, phase])
            title += f": {counted(cycles, 'cycle')}" + (f", {_CYCLES} drawn" if cycles > _CYCLES else "")
            panels += self._phase(title, accesses, (worst, instruction, phase))
        return stacked(panels)

    def _phase(self, title: str, accesses: Accesses, at: tuple[int, int, int]) -> list[Panel]:
        """What each bank serves, a row for each cycle."""
        banks = self.hardware.banks
        served: list[dict[int, list[int]]] = [{} for _ in range(banks)]
        first = at[2] * accesses.words.shape[-1]
        for lane, word in enumerate(accesses.words[at].tolist(), first):
            for touched in range(word, word + accesses.spread) if word >= 0 else ():
                served[touched % banks].setdefault(touched, []).append(lane)
        cycles = min(max(map(len, served)), _CYCLES)
        found: list[Panel] = []
        for start in range(0, min(banks, _MOST_BANKS), BANKS):
            columns = range(start, min(start + BANKS, banks, _MOST_BANKS))
            if not any(served[bank] for bank in columns):
                continue
            looks = [[_look(cycle, bank, served[bank]) for bank in columns] for cycle in range(cycles)]
            across, down = [str(bank) for bank in columns], [f"cycle {cycle}" for cycle in range(cycles)]
            found.append(table_panel("" if found else title, across, down, looks, (_WIDE, _HIGH), corner="bank"))
        return found


def _look(cycle: int, bank: int, words: dict[int, list[int]]) -> Look:
    """A bank in a cycle: it serves its words in the order of the lanes that touch them."""
    if cycle >= len(words):
        return Look(PALE, "", f"cycle {cycle}, bank {bank}: idle")
    word, lanes = list(words.items())[cycle]
    many = "lane" if len(lanes) == 1 else "lanes"
    label = str(lanes[0]) if lanes[0] < 100 else ""
    return Look(
        MARKED if cycle else DARK,
        label,
        f"cycle {cycle}, bank {bank}: word {word}, {many} {', '.join(map(str, lanes))}",
    )


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
    sides = [("after: " + _name(memory, tensor), after)]
    try:
        first = accesses_of(tensor, before, hardware, vector)
    except ConversionError:
        if before is not None:
            raise
        first = after  # row-major memory has no accesses that wide
    if np.array_equal(first.words, after.words):
        sides = [(_name(memory, tensor), after)]
    else:
        sides.insert(0, ("before: " + _name(before, tensor), first))
    named = f"bank conflicts of {tensor}" if title is None else title
    return BankPicture((), legal(named), hardware=hardware, sides=tuple(sides))


def _name(memory: Memory | None, tensor: Layout) -> str:
    if memory is None:
        return f"row-major {'x'.join(map(str, tensor.shape))}"
    return "what best_swizzle found" if isinstance(memory, Addresses) else memory_text(memory)
