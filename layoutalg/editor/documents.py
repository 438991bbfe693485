"""A file in an editor: what is wrong with it and what its layouts are, kept for each of its pieces.

>>> text = "func.func @f() {\\n  return\\n}\\n\\nfunc.func @g() {\\n  xegpu.alloc_nbarrier -1\\n  return\\n}\\n"
>>> document = Document(text)
>>> [marked] = document.marks()
>>> text[marked.start:marked.end], marked.finding.message
('xegpu.alloc_nbarrier', 'reserves -1 named barriers; expected at least 0')
>>> later = document.edited("// a line more\\n" + text)
>>> later.marks()[0].start - marked.start
15

After an edit only the pieces (`cutting`) whose text changed are read again; the others are where they now stand:

>>> later.readings[2] is document.readings[2]
True

The law: `Document(old).edited(new)` and `Document(new)` give equal answers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from layoutalg.checking import Check, check
from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MAX_TEXT, MOST_FINDINGS
from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions
from layoutalg.core.notation import Machine
from layoutalg.editor.cutting import Piece, cut, end_of
from layoutalg.flow.malformed import is_refusal
from layoutalg.ir.places import place_of
from layoutalg.module import LayoutUse, Module
from layoutalg.module.uses import aliases_of
from layoutalg.show.conversion_rows import ConversionRow, conversion_rows
from layoutalg.show.findings import words
from layoutalg.show.operation_layouts import layout_uses_of

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.core.notation import Distributed
    from layoutalg.ir.findings import Finding
    from layoutalg.ir.places import Place

__all__ = ["Asked", "Document", "Mark", "Reading"]

_NOTHING = "read.nothing"
_FEW = 16
"""Pieces of earlier versions that are kept beside as many as there are now."""
_WORD = re.compile(r'"?[\w.$%#!@^-]+"?|\S')
_TEXT = re.compile(r"\S")
_LINE = re.compile(r"(?<=\bline )[0-9]{1,9}\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every file: whose rules are told, and which chip counts (None: what the file says, or pvc)."""

    llvm: int = DEFAULT_LLVM
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding at a part of the text; `related` are other parts, with what is said of them."""

    start: int
    end: int
    message: str
    finding: Finding
    related: tuple[tuple[int, int, str], ...] = ()


class Reading:
    """What is known of one piece, by its text alone; each answer is worked out once, by whoever asks first.

    >>> reading = Reading("%c = arith.constant 16 : index", Asked())
    >>> reading.operations[0][0], reading.layouts
    (5, ())
    """

    def __init__(self, text: str, asked: Asked) -> None:
        self.module = Module(text)
        self.asked = asked
        self.lock = RLock()
        self._findings: dict[int, tuple[Finding, ...]] = {}
        self._uses: dict[str, tuple[LayoutUse, ...]] = {}

    @cached_property
    def operations(self) -> list[tuple[int, Operation]]:
        """The operations with the offsets of their names, in the order of the text."""
        with self.lock:
            found = ((place_of(operation), operation) for part in self.module.parts for operation in part.module.walk())
            at = self.module.lines.offset
            return sorted(((at(place), one) for place, one in found if place is not None), key=lambda one: one[0])

    def operation_at(self, offset: int) -> tuple[int, Operation] | None:
        """The operation with the last name that begins before or at an offset."""
        at = bisect_right(self.operations, offset, key=lambda one: one[0]) - 1
        return self.operations[at] if at >= 0 else None

    @cached_property
    def aliases(self) -> dict[str, Distributed]:
        """The values of the aliases, by name."""
        return aliases_of(self.module.source)

    @cached_property
    def layouts(self) -> tuple[LayoutUse, ...]:
        """The layouts that are stated; none where there are more than are read."""
        with self.lock, suppress(LayoutError):
            return self.module.layouts
        return ()

    @cached_property
    def checked(self) -> Check:
        """What `la.check` says."""
        with self.lock:
            return check(self.module, target=self.asked.target, llvm=self.asked.llvm)

    @cached_property
    def conversions(self) -> dict[Place | None, ConversionRow]:
        """What the conversions move and cost, by place."""
        with self.lock:
            rows = conversion_rows(self.module, Machine(), self.checked.target)
            return {row.conversion.source.place: row for row in rows}

    def verified(self, llvm: int) -> tuple[Finding, ...]:
        """What a version of LLVM says, and our own rules."""
        with self.lock:
            if llvm not in self._findings:
                self._findings[llvm] = self.module.verify(llvm=llvm, target=self.asked.target)
            return self._findings[llvm]

    def uses(self, asked: str) -> tuple[LayoutUse, ...]:
        """The layouts of operations, by name or line: stated, and as the flow has them; empty where a value has no layout."""
        with self.lock:
            if asked not in self._uses:
                try:
                    self._uses[asked] = layout_uses_of(self.module, asked, self.asked.target)
                except LayoutError:
                    self._uses[asked] = ()
            return self._uses[asked]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What `la.check` finds, and what else the verifiers say: spellings, warnings."""
        found = self.checked.findings
        told = {(one.operation, one.place) for one in found if one.level == "error"}
        verified = self.verified(self.asked.llvm)
        others = (one for one in verified if not is_refusal(one) or (one.operation, one.place) not in told)
        return tuple(dict.fromkeys((*found, *others)))

    def verdicts(self, place: Place) -> dict[int, str]:
        """What each version of LLVM says of the operation at a place; empty where it accepts it."""
        found: dict[int, str] = {}
        for llvm in llvm_versions():
            said = [one for one in self.verified(llvm) if one.place == place and one.source.startswith("LLVM")]
            found[llvm] = "; ".join(words(one) for one in said)
        return found


@dataclass(frozen=True)
class Document:
    """A text with its pieces and what is known of each.

    Raises `LayoutError` for a text of more than 16 Mi characters.

    >>> [piece.names for piece in Document("func.func @f() { return }").pieces]
    [(), ('f',)]
    """

    text: str
    asked: Asked = Asked()
    known: dict[str, Reading] = field(default_factory=dict[str, Reading], repr=False, compare=False)
    """What is known of the pieces of an earlier version."""

    def __post_init__(self) -> None:
        if len(self.text) > MAX_TEXT:
            raise LayoutError(f"a text of {len(self.text)} characters; at most {MAX_TEXT} are read")

    @cached_property
    def pieces(self) -> list[Piece]:
        """The parts that are read alone."""
        return cut(self.text)

    @cached_property
    def readings(self) -> list[Reading]:
        """What is known of each piece."""
        return [self.known.get(piece.text) or Reading(piece.text, self.asked) for piece in self.pieces]

    def edited(self, text: str) -> Document:
        """The document with another text; pieces that are the same keep what is known of them."""
        now = {piece.text: reading for piece, reading in zip(self.pieces, self.readings, strict=True)}
        before = {text: reading for text, reading in self.known.items() if text not in now}
        kept = list(before.items())[-len(now) - _FEW :]  # a bracket too many changes all pieces, until it goes again
        return Document(text, self.asked, dict(kept) | now)

    def at(self, offset: int) -> tuple[Piece, Reading, int] | None:
        """The piece whose own an offset is, what is known of it, and the offset in it."""
        for piece, reading in zip(self.pieces, self.readings, strict=True):
            inside = piece.inside(offset) if piece.owns(offset) else None
            if inside is not None:
                return piece, reading, inside
        return None

    def marks(self, wanted: Callable[[], bool] = lambda: True) -> list[Mark]:
        """What is wrong, in the order of the text; only of the pieces up to where it is no longer `wanted`."""
        found: list[Mark] = []
        for piece, reading in zip(self.pieces, self.readings, strict=True):
            if not wanted():
                break
            if piece.text.strip():
                found += self.marks_of(piece, reading)
        return sorted(found, key=lambda mark: mark.start)[:MOST_FINDINGS]

    def marks_of(self, piece: Piece, reading: Reading) -> Iterator[Mark]:
        """What is wrong with one piece, where it is its own."""
        mistakes = {mistake.finding: mistake for mistake in reading.checked.mistakes}
        for finding in reading.findings:
            start = 0 if finding.place is None else piece.outside(reading.module.lines.offset(finding.place))
            if finding.rule == _NOTHING or not (piece.owns(start) or start == len(self.text)):
                continue
            related = dict(self._lines_of(finding.notes, piece, reading))
            for repair in mistakes[finding].repairs if finding in mistakes else ():
                if repair.place is not None:
                    at = piece.outside(reading.module.lines.offset(repair.place))
                    related.setdefault(at, f"repair: {repair}")
            message = self.in_words("\n".join([words(finding), *finding.notes]), piece, reading)
            others = [
                (*self.word_at(at), self.in_words(said, piece, reading))
                for at, said in related.items()
                if self.text.count("\n", min(at, start), max(at, start))
            ]
            yield Mark(*self.word_at(start), message, finding, tuple(others))

    def _lines_of(self, notes: Sequence[str], piece: Piece, reading: Reading) -> Iterator[tuple[int, str]]:
        """Where the operations begin on the lines that notes name."""
        starts = reading.module.lines.starts
        for note in notes:
            for found in _LINE.finditer(note):
                line = int(found.group())
                begin = _TEXT.search(reading.module.source, starts[line - 1]) if 1 <= line <= len(starts) else None
                if begin is not None:
                    yield piece.outside(begin.start()), note

    def in_words(self, message: str, piece: Piece, reading: Reading) -> str:
        """A message about a piece with the lines of the whole text."""

        def of_all(found: re.Match[str]) -> str:
            starts = reading.module.lines.starts
            line = int(found.group())
            if not 1 <= line <= len(starts):
                return found.group()
            return str(self.text.count("\n", 0, piece.outside(starts[line - 1])) + 1)

        return _LINE.sub(of_all, message)

    def word_at(self, offset: int) -> tuple[int, int]:
        """Begin and end of the word at an offset."""
        found = _WORD.match(self.text, offset)
        return (offset, found.end()) if found is not None else (offset, offset)

    def statement(self, start: int) -> tuple[int, int]:
        """The whole lines of the operation whose name stands at an offset."""
        begin = self.text.rfind("\n", 0, start) + 1
        return begin, begin + end_of(self.text[begin:])
