"""The picture of coalescing: the cache lines that one access of a subgroup touches, and which lanes ask for which bytes.

Four lanes read every second word of 32 bits. Of a line of 16 bytes, two words of four are asked for:

>>> found = la.coalescing(Layout.parse("d0 = 4@lane"), memory=Layout.parse("d0 = 4@addr:2"), line=16)
>>> [cell.sentence for cell in LinePicture((), "", access=found.access).scene().cells][:2]
['line 0, bytes 0 to 3: asked for by lane 0', 'line 0, bytes 4 to 7: moved, and nobody asked for them']

Of all subgroups the one that moves the most bytes is drawn, and of its accesses the one that touches the most lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.core.limits import MOST_MEMORY_ROWS as _MOST_LINES
from layoutalg.core.plurals import counted
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import DARK, MARKED, PALE, Look, Panel, stacked, table_panel, told_panel

if TYPE_CHECKING:
    from layoutalg.memory.coalescing import Access

__all__ = ["LinePicture"]

_MOST_CELLS = 16
"""Cells of a line that stand side by side."""
_WIDE, _HIGH = 34.0, 18.0


@dataclass(frozen=True, slots=True, repr=False)
class LinePicture(PanelPicture):
    """The lines of one access, row by row."""

    access: Access = field(kw_only=True)

    def subtitle(self) -> str:
        """What a cell is."""
        return f"a row is a cache line, a cell {counted(self._piece, 'byte')} of it; cells: the lanes that ask for them"

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        known = [("all bytes asked for", DARK), ("some bytes asked for", MARKED), ("moved for nobody", PALE)]
        return [one for one in known if one[1] != MARKED or self._piece > self.access.size]

    @property
    def _piece(self) -> int:
        """The bytes of a cell."""
        return max(self.access.line // _MOST_CELLS, min(self.access.size, self.access.line))

    def panels(self) -> Sequence[Panel]:
        """The lines that are touched."""
        asked, piece = self.access, self._piece
        begins = {lane: start for lane, start in enumerate(asked.starts) if start >= 0}
        touched = sorted({start // asked.line for start in begins.values()})
        drawn = touched[:_MOST_LINES]
        looks: list[list[Look | None]] = [[] for _ in drawn]
        for row, line in zip(looks, drawn, strict=True):
            for place in range(0, asked.line, piece):
                here = range(line * asked.line + place, line * asked.line + place + piece)
                held = {
                    lane: [*range(max(start, here.start), min(start + asked.size, here.stop))]
                    for lane, start in begins.items()
                }
                lanes = [lane for lane, got in held.items() if got]
                count = len({byte for got in held.values() for byte in got})
                row.append(_look(f"line {line}, bytes {place} to {place + piece - 1}", lanes, count, piece))
        lines = f"{counted(len(touched), 'line')} of {counted(asked.line, 'byte')}"
        notes = [
            f"access {asked.instruction + 1} of {asked.instructions} of subgroup {asked.subgroup}: "
            f"{counted(len(begins), 'lane')}, {counted(asked.size, 'byte')} each, in {lines}"
        ]
        if len(touched) > len(drawn):
            notes.append(f"drawn: the first {len(drawn)} lines")
        across = [str(place) for place in range(0, asked.line, piece)]
        table = table_panel("", across, [f"line {line}" for line in drawn], looks, (_WIDE, _HIGH), corner="byte")
        return [stacked([told_panel("", notes), table], 6)]


def _look(place: str, lanes: list[int], asked: int, size: int) -> Look:
    if not lanes:
        return Look(PALE, "", f"{place}: moved, and nobody asked for them")
    whose = f"lane {lanes[0]}" if len(lanes) == 1 else f"lanes {', '.join(map(str, lanes))}"
    label = f"{lanes[0]}" if len(lanes) == 1 else f"{lanes[0]}-{lanes[-1]}"
    if lanes[-1] - lanes[0] >= len(lanes):
        label = f"{lanes[0]}, ..."
    told = f"{place}: asked for by {whose}"
    return Look(DARK, label, told) if asked == size else Look(MARKED, label, f"{told}, {asked} of {size} bytes")
