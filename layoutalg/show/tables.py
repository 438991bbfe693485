"""Lines and tables that the planners print.

>>> from rich.console import Console
>>> print_table(Console(width=40), [("tiles", "2x2"), ("registers", "7 of 8")])
  tiles         2x2
  registers     7 of 8
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Row",
    "print_line",
    "print_table",
]

Row = tuple[str, ...]


def print_line(console: Console, text: str = "") -> None:
    """Print a line as it is: not wrapped, and without markup."""
    console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)


def print_table(console: Console, rows: Sequence[Row], *, label: int = 12, margin: str = "  ") -> None:
    """Print rows as columns that line up, the first at least `label` wide; the last one runs on. A margin goes before each."""
    columns = max(map(len, rows))
    widths = [max((len(row[i]) for row in rows if i < len(row) - 1), default=0) for i in range(columns)]
    widths[0] = max(widths[0], label)
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=False)]
        print_line(console, (margin + margin.join([*cells, row[-1]])).rstrip())
