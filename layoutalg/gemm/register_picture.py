"""The picture of the registers of a subgroup: a bar as long as those that it has, and on it what takes them.

>>> from layoutalg.gemm.registers import Registers
>>> needed = Registers(a=16, b=16, c=64, streamed=16, addresses=6, available=128)
>>> for cell in RegisterPicture((), "", needed=needed).scene().cells:
...     print(cell.sentence)
64 of 128 registers: C, for the whole loop
16 of 128 registers: A, on its way to a dpas
16 of 128 registers: B, on its way to a dpas
6 of 128 registers: where messages read and write
26 of 128 registers: free
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.core.plurals import counted
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import CHARACTER, DARK, INNER, MARKED, PALE, Look, Panel, cell_of, stacked, told_panel
from layoutalg.viz.shapes import Line

if TYPE_CHECKING:
    from layoutalg.gemm.registers import Registers

__all__ = ["RegisterPicture"]

_HIGH = 22.0


@dataclass(frozen=True, slots=True, repr=False)
class RegisterPicture(PanelPicture):
    """What is there at the same time in a step of the loop."""

    needed: Registers = field(kw_only=True)

    def subtitle(self) -> str:
        """How many there are."""
        fits = "they fit" if self.needed.fits else "they do not fit: some are spilled to memory"
        return f"{self.needed.used} of {self.needed.available} registers at the same time in a step of the loop; {fits}"

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        over = self.needed.used > self.needed.available
        return [("taken", DARK), *([("more than there are", MARKED)] if over else [("free", PALE)])]

    def panels(self) -> Sequence[Panel]:
        """The bar; a line marks the last register where more are needed."""
        needed = self.needed
        has, used = needed.available, needed.used
        parts = [
            ("C", needed.c, "C, for the whole loop"),
            ("A", needed.a, "A, on its way to a dpas"),
            ("B", needed.b, "B, on its way to a dpas"),
            ("addresses", needed.addresses, "where messages read and write"),
            ("prefetches", needed.ahead, "where prefetches read"),
            ("free", has - used, "free"),
        ]
        step = INNER / max(has, used)
        cells, told, at = [], [], 0
        for name, count, what in parts:
            if count <= 0:
                continue
            label = f"{name} {count}" if count * step > (len(f"{name} {count}") + 1) * CHARACTER else ""
            fill = PALE if name == "free" else MARKED if at + count > has else DARK
            look = Look(fill, label, f"{count} of {counted(has, 'register')}: {what}")
            cells.append(cell_of(at * step, 0, count * step, _HIGH, look))
            told += [f"{name}: {count}, {what}"] if name != "free" else [f"free: {count}"]
            at += count
        end = (Line(has * step, -3, has * step, _HIGH + 3, 2.0),) if used > has else ()
        return [stacked([Panel(tuple(cells), (), end, INNER, _HIGH), told_panel("", told)], 8)]
