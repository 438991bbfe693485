"""Docstrings as Markdown: a doctest session becomes a fenced block, and prose keeps its `*` and `<`.

mkdocstrings takes a docstring for Markdown, in which a line that begins with `>>>` is a quotation, two products in a sentence
are emphasis, and `Swizzle<bits, base>` is HTML. `mkdocs.yml` names this file as an extension of the reader of docstrings; it
fences every session, down to the blank line that ends it, and escapes what stands outside code:

>>> markdown("Row 21 is 1*16 + 5." + chr(10) * 2 + ">>> 1*16 + 5" + chr(10) + "21").splitlines()
['Row 21 is 1\\\\*16 + 5.', '', '```python', '>>> 1*16 + 5', '21', '```']
"""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["DocstringExamples", "markdown"]

_CODE = re.compile(r"(``[^`]+``|`[^`]+`)")


def markdown(docstring: str) -> str:
    """The docstring as Markdown that looks as it reads; lines that are indented stay as they are.

    >>> markdown("No example.")
    'No example.'
    """
    parts: list[str] = []
    prose: list[str] = []
    session: list[str] = []

    def end_prose() -> None:
        if prose:
            parts.append(_escaped("\n".join(prose)))
            prose.clear()

    for line in [*docstring.splitlines(), ""]:
        if session and line.strip():
            session.append(line)
        elif session:
            parts.append("\n".join(["", "```python", *session, "```", ""]))
            session.clear()
        elif line.startswith(">>>"):
            end_prose()
            session.append(line)
        elif line.startswith("    ") or not line.strip():
            end_prose()
            parts.append(line)
        else:
            prose.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip("\n")


def _escaped(paragraph: str) -> str:
    """A paragraph in which a product is a product, and `<` no HTML."""
    pieces = _CODE.split(paragraph)
    pieces[::2] = [re.sub(r"(?<=[\w)\]])\*(?=[\w(\[])", r"\\*", piece).replace("<", "&lt;") for piece in pieces[::2]]
    return "".join(pieces)


class DocstringExamples(griffe.Extension):
    """Prepares every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
