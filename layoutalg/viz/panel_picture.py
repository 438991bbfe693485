"""A picture of panels, in every format. On a page its frames open one at a time.

>>> from layoutalg.viz.panels import told_panel
>>> class Told(PanelPicture):
...     def panels(self):
...         return (told_panel("a plan", ["1 step"]),)
>>> [words.text for words in Told((), "one plan").scene().words]
['one plan', 'a plan', '1 step']
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from layoutalg.viz.panels import NARROW, Panel, beside
from layoutalg.viz.picture import Picture
from layoutalg.viz.scene import Scene
from layoutalg.viz.svg import escaped, svg_document

__all__ = ["PanelPicture"]


@dataclass(frozen=True, slots=True, repr=False)
class PanelPicture(Picture):
    """A picture of panels, with one direction and one colouring; a subclass says which panels."""

    def panels(self) -> Sequence[Panel]:
        """The panels, from left to right."""
        return (Panel((), (), (), 0, 0),)

    def widest(self) -> float:
        """How wide a row of panels may be, in pixels."""
        return NARROW

    def subtitle(self) -> str:
        """The line under the title."""
        return ""

    def key(self) -> Sequence[tuple[str, str]]:
        """What the colours mean: words, each with its colour."""
        return ()

    def frames(self) -> Sequence[Panel]:
        """The frames of a walk, which stand below the panels; on a page each can be opened by itself."""
        return ()

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The panels side by side, in pixels; there is one direction and one colouring."""
        return beside((*self.panels(), *self.frames()), self.title, self.subtitle(), self.widest(), self.key())

    def csv(self) -> str:
        """The cells as CSV: the panel, the label, and the sentence about each."""
        from layoutalg.viz.tables import csv_of_cells

        return csv_of_cells([(panel.cells, panel.words) for panel in (*self.panels(), *self.frames())])

    def markdown(self) -> str:
        """The cells of each panel as a table in Markdown."""
        from layoutalg.viz.tables import markdown_of_cells

        return markdown_of_cells(self.title, [(panel.cells, panel.words) for panel in (*self.panels(), *self.frames())])

    def html(self) -> str:
        """The picture as a page."""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f"<title>{escaped(self.title)}</title>\n"
            "<style>:root { color-scheme: light dark; } body { margin: 0; } svg { max-width: 100%; height: auto; }</style>\n"
            f"</head>\n<body>{self._walked(str)}</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        from layoutalg.viz.page import image

        return f'<div class="layoutalg" data-of="plan">{self._walked(lambda svg: image(svg, self.title))}</div>'

    def _walked(self, shown: Callable[[str], str]) -> str:
        """The panels, and beside them the frames: one is open, and a click opens another. No script is needed."""
        frames = self.frames()
        if not frames:
            return shown(self.svg())
        whole = svg_document(beside(self.panels(), self.title, self.subtitle(), self.widest(), self.key()))
        name = hashlib.sha256(whole.encode()).hexdigest()[:16]
        drawn = [
            f'<details name="{name}"{" open" * (number == 0)} style="margin:0 0 8px"><summary style="font:bold 13px '
            f'monospace;cursor:pointer;padding:4px 0">{escaped(frame.title)}</summary>'
            f"{shown(svg_document(beside([frame.untitled()], frame.title, '', self.widest(), bare=True)))}</details>"
            for number, frame in enumerate(frames)
        ]
        return (
            '<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">'
            f'<div style="max-width:100%">{shown(whole)}</div><div style="max-width:100%">{"".join(drawn)}</div></div>'
        )
