"""Answers in a notebook: the text that `print` gives, and above it the picture where there is one.

A class of answers says its text with `str`, and has `picture()` where there is one. Text is escaped, and takes the colours of
the page, light or dark:

>>> class Answer(NotebookAnswer):
...     def __str__(self) -> str:
...         return "a < b"
>>> Answer()
<Answer: a < b>
>>> Answer()._repr_html_()
'<pre style="max-height:40em;overflow:auto;white-space:pre-wrap;margin:0">a &lt; b</pre>'

One limit holds for every cell, so that a notebook of many answers still opens: what draws says what it draws, the whole first,
and then less and less. The first that fits is shown, and a line says where the whole is:

>>> in_a_cell([lambda: "x" * 400_000, lambda: "<svg></svg>"], "save('picture.html')")
'<svg></svg><div style="opacity:0.75">drawn smaller, for a notebook cell; all of it: save(&#x27;picture.html&#x27;)</div>'
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from html import escape
from itertools import accumulate
from typing import Protocol, TypeVar, runtime_checkable

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_CELL_LETTERS, MOST_NOTEBOOK_LETTERS
from layoutalg.core.messages import printable, shortened

__all__ = ["MOST_ROWS", "Drawing", "NotebookAnswer", "Rows", "in_a_cell", "table", "told_text"]

_LINE = 100
_LONGEST = 300
"""Letters of a cell of a table."""
MOST_ROWS = 200
"""Rows of a table; fewer where a cell cannot hold them."""
_WRAPPED = 60
"""Letters of a cell from which on it may have several lines."""
_LEFT = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"


class Drawing(Protocol):
    """A picture: what a notebook shows of it."""

    def _repr_html_(self) -> str: ...


@runtime_checkable
class Pictured(Protocol):
    """What has a picture; a `LayoutError` says that this one has none."""

    def picture(self) -> Drawing: ...


def told_text(text: str) -> str:
    """A text as a notebook shows it, as wide as the page; of a long one the beginning, and how much more there is.

    >>> told_text("a < b")
    '<pre style="max-height:40em;overflow:auto;white-space:pre-wrap;margin:0">a &lt; b</pre>'
    """
    ends = [*accumulate(len(escape(letter)) for letter in text[: MOST_NOTEBOOK_LETTERS + 1])]
    if (kept := bisect_right(ends, MOST_NOTEBOOK_LETTERS)) < len(text):
        text = f"{text[:kept]}\n... and {len(text) - kept} letters more: print() has all"
    return f'<pre style="max-height:40em;overflow:auto;white-space:pre-wrap;margin:0">{escape(text)}</pre>'


def in_a_cell(drawings: Iterable[Callable[[], str]], whole: str) -> str:
    """The first of some drawings, the fullest first, that a notebook cell can hold; `whole` is the call that has all of it.

    Where none fits, the line alone that says what to call.

    >>> in_a_cell([lambda: "<svg></svg>"], "svg()")
    '<svg></svg>'
    >>> in_a_cell([lambda: "x" * 400_000], "svg()")
    '<div style="opacity:0.75">too large to draw in a notebook cell; all of it: svg()</div>'
    """
    for number, drawing in enumerate(drawings):
        drawn = drawing()
        if len(drawn) <= MOST_CELL_LETTERS:
            return drawn if number == 0 else drawn + _noted(f"drawn smaller, for a notebook cell; all of it: {whole}")
    return _noted(f"too large to draw in a notebook cell; all of it: {whole}")


def _noted(text: str) -> str:
    return f'<div style="opacity:0.75">{escape(text)}</div>'


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], count: int | None = None) -> str:
    """A table for a notebook cell; of many rows (`count`, where not all are given) the first, and how many more there are.

    >>> table(["lane", "holds"], [(0, "a < b")]).count("<td"), "a &lt; b" in table(["holds"], [["a < b"]])
    (2, True)
    """

    count = len(rows) if count is None else count

    def drawn(most: int) -> str:
        lines = ["".join(_cell("th", one) for one in headings)]
        lines += ["".join(_cell("td", one) for one in row) for row in rows[:most]]
        more = _noted(f"and {count - most:,} more") if count > most else ""
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f'<div style="overflow-x:auto"><table style="font-size:13px">{body}</table></div>{more}'

    return in_a_cell([partial(drawn, most) for most in (MOST_ROWS, 50, 10)], "print() of each")


def _cell(kind: str, value: object) -> str:
    text = shortened(printable(str(value)), _LONGEST)
    whole = ";white-space:nowrap" if len(text) < _WRAPPED else ""
    return f'<{kind} style="{_LEFT}{whole}">{escape(text)}</{kind}>'


class Tabled(Protocol):
    """What is a row of a table: its cells by their headings."""

    def _row(self) -> Mapping[str, object]: ...


_T = TypeVar("_T", bound=Tabled)


class Rows(tuple[_T, ...]):
    """A tuple that ends a notebook cell as a table, a row for each value; empty cells are left out where all of them are.

    >>> found = Rows(la.known_instructions("gfx950", "copy"))
    >>> found == tuple(found), found._repr_html_().count("<tr>") == len(found) + 1
    (True, True)
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [row for one in self if (row := one._row())]  # pyright: ignore[reportPrivateUsage]
        headings = list(dict.fromkeys(name for row in rows for name, told in row.items() if told not in ("", None)))
        if not rows:
            return _noted("none")
        return table(headings, [[row.get(name, "") for name in headings] for row in rows])


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

    def _repr_html_(self) -> str:
        told = told_text(self._text())
        try:
            return self.picture()._repr_html_() + told if isinstance(self, Pictured) else told  # pyright: ignore[reportPrivateUsage]
        except LayoutError:
            return told
