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

from layoutalg.core.notebook import in_a_cell
from layoutalg.viz.panels import NARROW, Panel, beside, facts_panel
from layoutalg.viz.picture import Picture
from layoutalg.viz.scene import Scene
from layoutalg.viz.svg import FONT, escaped, still, svg_document

__all__ = ["PanelPicture"]

_LEFT = "text-align:left;vertical-align:top;padding:1px 12px 1px 0"
"""A cell of the table of facts; notebooks have other tables."""


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

    def facts(self) -> Sequence[tuple[str, str]]:
        """A small table under the title: what is said, and what it is."""
        return ()

    def key(self) -> Sequence[tuple[str, str | None]]:
        """What the colours mean: words, each with its colour or None."""
        return ()

    def frames(self) -> Sequence[Panel]:
        """The frames of a walk, which stand below the panels; on a page each can be opened by itself."""
        return ()

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The panels side by side, in pixels; there is one direction and one colouring."""
        facts = self.facts()
        panels = (*([facts_panel(facts)] if facts else []), *self.panels(), *self.frames())
        return beside(panels, self.title, self.subtitle(), self.widest(), self.key())

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
        from layoutalg.viz.page import document

        return document(self.title, f"<style>svg {{ max-width: 100%; height: auto; }}</style>{self._walked(str)}")

    def _repr_html_(self) -> str:
        from layoutalg.viz.page import image

        def walked() -> str:
            return (
                f'<div class="layoutalg" data-of="plan">{self._walked(lambda svg: image(still(svg), self.title))}</div>'
            )

        def first() -> str:
            panel = next(iter(self.panels()))
            drawn = beside([panel], self.title, self.subtitle(), self.widest())
            return image(svg_document(drawn, titles=False), self.title)

        return in_a_cell((walked, first), 'picture().save("picture.html")')

    def _walked(self, shown: Callable[[str], str]) -> str:
        """The facts, the panels as they fit side by side, and the frames: one is open, a click opens another. No script."""
        facts, frames = self.facts(), self.frames()
        if not facts:
            return shown(self.svg())

        def drawn(panel: Panel) -> str:
            return shown(svg_document(beside([panel], panel.title, "", self.widest(), bare=True)))

        rows = "".join(
            f'<tr style="background:none"><th style="font-weight:normal;opacity:0.75;{_LEFT}">'
            f"{escaped(name).replace(' ', chr(160))}</th>"
            f'<td style="{_LEFT}">{escaped(told)}</td></tr>'
            for name, told in facts
        )
        name = hashlib.sha256(self.svg().encode()).hexdigest()[:16]
        walk = "".join(
            f'<details name="{name}"{" open" * (number == 0)} style="margin:0 0 8px"><summary style="font-weight:bold;'
            f'cursor:pointer;padding:4px 0">{escaped(frame.title)}</summary>{drawn(frame.untitled())}</details>'
            for number, frame in enumerate(frames)
        )
        items = [f'<div style="max-width:100%">{drawn(panel)}</div>' for panel in self.panels()]
        items += [f'<div style="flex:1 1 480px;min-width:0;max-width:620px">{walk}</div>'] * bool(frames)
        return (
            f'<div style="font:13px {FONT}"><div style="font-weight:bold;margin:0 12px 4px">{escaped(self.title)}</div>'
            f'<table style="margin:0 9px 8px;border-spacing:3px 0;font:12px {FONT}">{rows}</table>'
            f'<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start">{"".join(items)}</div></div>'
        )
