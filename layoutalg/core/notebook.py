"""Answers in a notebook: the text that `print` gives, and above it the picture where there is one.

A class of answers says its text with `str`, and `_drawing` where it has a picture. Text is escaped, and takes the colours of
the page, light or dark:

>>> class Answer(NotebookAnswer):
...     def __str__(self) -> str:
...         return "a < b"
>>> Answer()
<Answer: a < b>
>>> Answer()._repr_html_()
'<pre style="max-height:40em;overflow:auto;white-space:pre-wrap;margin:0">a &lt; b</pre>'
"""

from __future__ import annotations

from html import escape
from typing import Protocol

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_NOTEBOOK_LETTERS
from layoutalg.core.messages import printable, shortened

__all__ = ["Drawing", "NotebookAnswer"]

_LINE = 100


class Drawing(Protocol):
    """A picture: what a notebook shows of it."""

    def _repr_html_(self) -> str: ...


class NotebookAnswer:
    """What ends a notebook cell readably; `repr` is one short line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shortened(printable(self._summary()), _LINE)}>"

    def _summary(self) -> str:
        """The answer in a line."""
        return next(iter(str(self).splitlines()), "")

    def _text(self) -> str:
        """What stands below the picture."""
        return str(self)

    def _drawing(self) -> Drawing | None:
        """The picture; None (or a `LayoutError`) where there is none."""
        return None

    def _repr_html_(self) -> str:
        text = self._text()
        if len(text) > MOST_NOTEBOOK_LETTERS:
            text = f"{text[:MOST_NOTEBOOK_LETTERS]}\n... and {len(text) - MOST_NOTEBOOK_LETTERS} letters more: print() has all"
        told = f'<pre style="max-height:40em;overflow:auto;white-space:pre-wrap;margin:0">{escape(text)}</pre>'
        try:
            drawing = self._drawing()
        except LayoutError:
            drawing = None
        return told if drawing is None else drawing._repr_html_() + told  # pyright: ignore[reportPrivateUsage]
