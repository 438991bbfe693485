"""A text cut into pieces that are read alone: each function with what it needs of the file around it.

>>> text = '''#a = #xegpu.layout<lane_layout = [8]>
... gpu.module @k {
...   gpu.func @f() { gpu.return }
...   gpu.func @g(%x: !xegpu.tensor_desc<8xf32, #a>) { gpu.return }
... }'''
>>> for piece in cut(text):
...     print(repr(piece.text))
'#a = #xegpu.layout<lane_layout = [8]>\\ngpu.module @k {\\n}'
'gpu.module @k {\\n  gpu.func @f() { gpu.return }\\n}'
'#a = #xegpu.layout<lane_layout = [8]>\\ngpu.module @k {\\n  gpu.func @g(%x: !xegpu.tensor_desc<8xf32, #a>) { gpu.return }\\n}'

Functions of which one names the other stay together, since layouts flow through calls. An alias stands in the pieces that
use it. What is around the functions stands in all pieces, without lines that only comment, and the first has it for its own.
Whoever edits a function so changes the text of one piece; the others keep theirs, wherever in the file they now stand.

The law: every character belongs to exactly one piece, and a module that is well formed means in its pieces what it means whole.
Where brackets are missing, a function ends where the next one begins.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from layoutalg.ir.reading.files import pieces_of
from layoutalg.ir.reading.skimming import ALIAS, BEGINS

__all__ = ["Piece", "cut", "end_of", "functions_of"]

Run = tuple[int, int]
"""Begin and end of a part of the text."""

_FUNCTION = re.compile(r"^[ \t]*(?:[a-z_]\w*\.)?func[ \t]+(?:\w+[ \t]+){0,4}@([\w$.-]+|\"[^\"\n]*\")", re.MULTILINE)
_ALIAS_START = re.compile(rf"^{ALIAS.pattern}", re.MULTILINE)
_SYMBOL = re.compile(r"@([\w$.-]+|\"[^\"\n]*\")")
_ALIAS_NAME = re.compile(r"[#!][A-Za-z_$][\w$]*")
_MARK = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\[^\n])*"?|[\n(){}\[\]]')
_FRESH = re.compile(r"\s*(?:\Z|//|[})^]|\{-#|" + rf"{BEGINS.pattern}|{ALIAS.pattern})")
"""What follows the line on which an operation ended."""
_REST = re.compile(r"[ \t\r]*\n")
_SAYING = re.compile(r"^(?!\s*(?://|$))[^\n]*\n?", re.MULTILINE)
"""A line that is no comment and not blank."""
_LONGEST_ALIAS = 2**16


@dataclass(frozen=True)
class Piece:
    """A text that is read alone, made of `runs` of the whole text; `own` are those that no other piece has for its own."""

    text: str
    runs: tuple[Run, ...]
    own: tuple[Run, ...]
    names: tuple[str, ...] = ()
    """The functions that are its own; none in a piece of what is around them."""

    @cached_property
    def _starts(self) -> list[int]:
        """Where each run begins in the piece."""
        return [0, *accumulate(end - start for start, end in self.runs)]

    def outside(self, offset: int) -> int:
        """Where a position of the piece is in the whole text."""
        if not self.runs:
            return 0
        at = min(bisect_right(self._starts, offset), len(self.runs)) - 1
        return self.runs[at][0] + offset - self._starts[at]

    def inside(self, offset: int) -> int | None:
        """Where a position of the whole text is in the piece; None where it is not."""
        at = bisect_right(self.runs, (offset, len(self.text) + offset + 1)) - 1
        if at < 0 or offset > self.runs[at][1]:
            return None
        return self._starts[at] + offset - self.runs[at][0]

    def owns(self, offset: int) -> bool:
        """Whether a position of the whole text is the piece's own."""
        return any(start <= offset < end for start, end in self.own)


def cut(text: str) -> list[Piece]:
    """The pieces of a text, those of what is around functions before those of the functions in it."""
    return [piece for start, end, _ in pieces_of(text) for piece in _cut_part(text, start, end)]


def functions_of(text: str) -> list[tuple[str, int, int]]:
    """The functions of a text: name, begin and end, in order.

    >>> [name for name, _, _ in functions_of("func.func @f() { return }\\nfunc.func private @g(i32)")]
    ['f', 'g']
    """
    return list(_functions(text, 0, len(text)))


def end_of(text: str) -> int:
    """Where the operation at the beginning of a text ends.

    >>> text = "func.func @f() {\\n  return\\n}\\n\\nfunc.func @g()"
    >>> text[:end_of(text)]
    'func.func @f() {\\n  return\\n}'
    """
    depth = 0
    for found in _MARK.finditer(text):
        mark = found.group()
        if mark in "({[":
            depth += 1
        elif mark in ")}]":
            depth -= 1
            if depth < 0:
                return len(text[: found.start()].rstrip())
        elif mark == "\n" and depth <= 0 and _FRESH.match(text, found.end()):
            return len(text[: found.start()].rstrip())
    return len(text.rstrip())


@lru_cache(maxsize=8192)
def _end_of_function(text: str) -> int:
    return end_of(text)


def _functions(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    found = list(_FUNCTION.finditer(text, start, end))
    for one, stop in zip(found, [*(one.start() for one in found[1:]), end], strict=False):
        stop = one.start() + _end_of_function(text[one.start() : stop])
        rest = _REST.match(text, stop, end)
        yield one[1].strip('"'), one.start(), stop if rest is None else rest.end()


def _cut_part(text: str, start: int, end: int) -> Iterator[Piece]:
    """The pieces of what stands between two separators."""
    functions = list(_functions(text, start, end))
    held = [(begin, stop) for _, begin, stop in functions]
    aliases = [alias for a, b in _without(start, end, held) for alias in _aliases(text, a, b)]
    around = _without(start, end, [*held, *(run for _, run in aliases)])
    outside = "".join(text[a:b] for a, b in around)
    saying = [found.span() for a, b in around for found in _SAYING.finditer(text, a, b)]
    groups = _groups(text, functions, set(_names(_SYMBOL, outside)))
    needed = _Aliases(text, aliases)
    for number, members in enumerate(groups):
        mine = [held[one] for one in members]
        if number == 0:  # what is around the functions, with those that it names
            own = [*around, *(run for _, run in aliases), *mine]
            yield _piece(text, own, own)
        else:
            used = [*needed.of(outside), *needed.of("".join(text[a:b] for a, b in mine))]
            yield _piece(text, [*saying, *used, *mine], mine, tuple(functions[one][0] for one in members))


def _piece(text: str, runs: Sequence[Run], own: Sequence[Run], names: tuple[str, ...] = ()) -> Piece:
    runs = tuple(sorted(set(runs)))
    return Piece("".join(text[a:b] for a, b in runs), runs, tuple(sorted(own)), names)


def _without(start: int, end: int, held: list[Run]) -> list[Run]:
    """What is left between two positions."""
    left: list[Run] = []
    for a, b in sorted(held):
        if a > start:
            left.append((start, a))
        start = max(start, b)
    return [*left, (start, end)] if start < end else left


def _names(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (found.group().strip('@"') for found in pattern.finditer(text))


def _groups(text: str, functions: Sequence[tuple[str, int, int]], around: set[str]) -> list[list[int]]:
    """The functions that are read together, by their numbers; first those that what is around them names."""
    root = list(range(len(functions) + 1))

    def find(one: int) -> int:
        while root[one] != one:
            root[one] = root[root[one]]
            one = root[one]
        return one

    def join(one: int, other: int) -> None:
        one, other = find(one), find(other)
        root[max(one, other)] = min(one, other)

    defined: dict[str, int] = {}
    for number, (name, _, _) in enumerate(functions, 1):
        join(number, defined.setdefault(name, number))
        if name in around:
            join(number, 0)
    for number, (_, begin, stop) in enumerate(functions, 1):
        for name in _symbols(text[begin:stop]) & defined.keys():
            join(number, defined[name])
    members: dict[int, list[int]] = {0: []}
    for number in range(1, len(functions) + 1):
        members.setdefault(find(number), []).append(number - 1)
    return list(members.values())


@lru_cache(maxsize=8192)
def _symbols(text: str) -> frozenset[str]:
    return frozenset(_names(_SYMBOL, text))


@lru_cache(maxsize=8192)
def _alias_names(text: str) -> frozenset[str]:
    return frozenset(_ALIAS_NAME.findall(text))


def _aliases(text: str, start: int, end: int) -> Iterator[tuple[str, Run]]:
    """The definitions of aliases between two positions, each with its line break."""
    for one in _ALIAS_START.finditer(text, start, end):
        stop = one.start() + end_of(text[one.start() : min(end, one.start() + _LONGEST_ALIAS)])
        yield one.group().rstrip("= \t").strip(), (one.start(), stop + text.startswith("\n", stop, end))


class _Aliases:
    """Which definitions a text needs, those that they need included."""

    def __init__(self, text: str, aliases: Sequence[tuple[str, Run]]) -> None:
        self.text = text
        self.runs: dict[str, list[Run]] = {}
        for name, run in aliases:
            self.runs.setdefault(name, []).append(run)

    def of(self, text: str) -> list[Run]:
        """The runs of the definitions that a text needs."""
        found: list[Run] = []
        asked, seen = list(_alias_names(text)), set[str]()
        while asked:
            name = asked.pop()
            if name in seen or name not in self.runs:
                continue
            seen.add(name)
            found += self.runs[name]
            asked += [other for a, b in self.runs[name] for other in _alias_names(self.text[a:b])]
        return found
