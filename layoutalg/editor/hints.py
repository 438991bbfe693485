"""What the editor writes behind an operation, and where an alias is defined.

>>> text = '''#cols = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
... func.func @f(%t: !xegpu.tensor_desc<8x16xf16, #cols>) {
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16, #cols> -> vector<8x16xf16>
...   return
... }'''
>>> document = Document(text)
>>> [(text[:hint.offset].count("\\n"), hint.label) for hint in hints(document, 0, len(text))]
[(1, '16 lanes x 8 registers'), (2, '16 lanes x 8 registers')]
>>> text[slice(*definition(document, text.rindex("#cols")))]
'#cols'

A hint counts what the layout of the operation's result spreads the tensor over: subgroups, lanes, registers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Distributed, single_operand
from layoutalg.core.plurals import counted
from layoutalg.editor.documents import Document
from layoutalg.editor.hover import alias_at
from layoutalg.ir.reading.files import pieces_of

__all__ = ["Hint", "definition", "hints"]

_UNITS = (("sg", "subgroup"), ("lane", "lane"), ("reg", "register"))


@dataclass(frozen=True, slots=True)
class Hint:
    """A few words behind the line of an offset."""

    offset: int
    label: str


def hints(document: Document, start: int, end: int) -> list[Hint]:
    """What stands behind the lines between two offsets: of each operation, its last layout, which is of its result.

    >>> hints(Document("func.func @f() { return }"), 0, 25)
    []
    """
    return sorted(_hints(document, start, end), key=lambda hint: hint.offset)


def _hints(document: Document, start: int, end: int) -> Iterator[Hint]:
    for piece, reading in zip(document.pieces, document.readings, strict=True):
        if not any(a < end and start <= b for a, b in piece.own):
            continue
        labels: dict[int, str] = {}
        for use in reading.layouts:
            at = -1 if use.place is None else piece.outside(reading.module.lines.offset(use.place))
            if start <= at < end and piece.owns(at) and use.attribute is not None:
                label = _label(use.attribute, use.sizes)
                if label:
                    line = document.text.find("\n", at)
                    labels[len(document.text) if line < 0 else line] = label
        for offset, label in labels.items():
            yield Hint(offset - document.text.endswith("\r", 0, offset), label)


@lru_cache(maxsize=4096)
def _label(value: Distributed, shape: tuple[int, ...] | None) -> str:
    """What a value spreads a tensor over; nothing where it does not fit, or says nothing of work-items."""
    try:
        axes = single_operand(value, shape, None).layout.axes
    except LayoutError:
        return ""
    counts = [(name, axes[axis]) for axis, name in _UNITS if axis in axes]
    if not any(name != "register" for name, _ in counts):
        return ""
    return " x ".join(counted(count, name) for name, count in counts if isinstance(count, int) and count != 1)


def definition(document: Document, offset: int) -> tuple[int, int] | None:
    """Where the alias at an offset is defined: the last time before it in its part of the file, or the first behind it.

    >>> definition(Document("#a = 1"), 9)
    """
    named = alias_at(document.text, offset)
    if named is None:
        return None
    start, end = next((a, b) for a, b, _ in pieces_of(document.text) if offset <= b)
    found = [
        one.start(1)
        for one in re.compile(rf"^[ \t]*({re.escape(named[0])})[ \t]*=(?!=)", re.MULTILINE).finditer(
            document.text, start, end
        )
    ]
    if not found:
        return None
    at = found[max(0, bisect_right(found, offset) - 1)]
    return at, at + len(named[0])
