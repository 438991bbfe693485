"""The picture of the registers of a subgroup: a bar as long as those that it has, and on it what takes them.

>>> from layoutalg.gemm.registers import Registers
>>> needed = Registers(a=16, b=16, c=64, streamed=16, addresses=6, available=128)
>>> for cell in RegisterPicture((), "", needed=needed).scene().cells:
...     print(cell.sentence)
C: 64, sums, for the whole loop
A: 16, on its way to a dpas
B: 16, on its way to a dpas
addresses: 6, where messages read and write
free: 26
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import DARK, INNER, MARKED, PALE, Look, Panel, cell_of, stacked, told_panel
from layoutalg.viz.scene import CHARACTER
from layoutalg.viz.shapes import Cell, Line

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
            ("C", needed.c, "sums, for the whole loop"),
            ("A", needed.a, "on its way to a dpas"),
            ("B", needed.b, "on its way to a dpas"),
            ("addresses", needed.addresses, "where messages read and write"),
            ("prefetches", needed.ahead, "where prefetches read"),
            ("free", has - used, ""),
        ]
        step = INNER / max(has, used)
        cells: list[Cell] = []
        told: list[str] = []
        at = 0
        for name, count, what in parts:
            if count <= 0:
                continue
            told.append(f"{name}: {count}{', ' * bool(what)}{what}")
            fits = max(min(count, has - at), 0)
            for size, fill in ((fits, PALE if name == "free" else DARK), (count - fits, MARKED)):
                if size:
                    label = f"{name} {count}"
                    look = Look(fill, label if size * step > (len(label) + 1) * CHARACTER else "", told[-1])
                    cells.append(cell_of(at * step, 0, size * step, _HIGH, look))
                    at += size
        end = (Line(has * step, -3, has * step, _HIGH + 3, 2.0),) if used > has else ()
        return [stacked([Panel(tuple(cells), (), end, INNER, _HIGH), told_panel("", told)], 8)]
