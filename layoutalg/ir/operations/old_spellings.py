"""What some LLVM does not read and we read all the same: older pages' spellings, and those of another version.

The syntax of an operation, attribute or type that meets one notes it on the parser, with today's form; the parser hands what
was noted to the operation that it stands in, and the reader asks for it to warn.

>>> from layoutalg.ir import read_module
>>> load = 'xegpu.load_nd %t {transpose = [1, 0]} : !xegpu.tensor_desc<8x16xf32> -> vector<16x8xf32>'
>>> module = read_module(f'%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32> {load}')
>>> [spelling for op in module.ops for spelling in old_spellings(op)]
['`transpose = [1, 0]` is an older spelling; today: `transpose = array<i64: 1, 0>`']
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.parser import AttrParser

__all__ = [
    "keep_old_spellings",
    "note_old_spelling",
    "note_refused_spelling",
    "notes_now",
    "notes_put_back",
    "notes_set_aside",
    "old_spellings",
    "refuse_spelling",
    "refused_spelling",
    "todays_name",
]

_NOTES = "old_spellings"
_REFUSED = "refused_spellings"


def note_old_spelling(parser: AttrParser, written: str, today: str) -> None:
    """Remember that the text has an older spelling, and today's."""
    vars(parser).setdefault(_NOTES, []).append(f"{written} is an older spelling; today: {today}")


_DIALECTS = {"triton_gpu": "ttg", "triton_nvidia_gpu": "ttng", "triton_intel_gpu": "ttig"}
"""Dialects that have another name today."""


def todays_name(name: str) -> str:
    """The name of an operation as it is today.

    >>> todays_name("triton_gpu.convert_layout")
    'ttg.convert_layout'
    """
    dialect, dot, rest = name.partition(".")
    return f"{_DIALECTS.get(dialect, dialect)}{dot}{rest}"


def note_refused_spelling(parser: AttrParser, versions: Sequence[int], message: str) -> None:
    """Remember that the text is spelled as these versions of LLVM do not read it, and what they say."""
    vars(parser).setdefault(_REFUSED, []).append((tuple(versions), message))


def refuse_spelling(operation: Operation, versions: Sequence[int], message: str) -> None:
    """Remember that these versions of LLVM do not read the operation as it was written, and what they say."""
    vars(operation).setdefault(_REFUSED, []).append((tuple(versions), message))


def keep_old_spellings(parser: AttrParser, operation: Operation) -> None:
    """Hand what was noted since the last operation to this one, which has just been read.

    >>> from xdsl.context import Context
    >>> from xdsl.dialects.test import TestOp
    >>> parser, operation = AttrParser(Context(), ""), TestOp()
    >>> note_old_spelling(parser, "`a`", "`b`")
    >>> keep_old_spellings(parser, operation)
    >>> old_spellings(operation)
    ['`a` is an older spelling; today: `b`']
    """
    for notes in (_NOTES, _REFUSED):
        found = vars(parser).pop(notes, None)
        if found:
            vars(operation)[notes] = [*vars(operation).get(notes, ()), *found]


def notes_set_aside(parser: AttrParser) -> dict[str, list[object]]:
    """Take what was noted of the operation around, so that the operation that begins here does not get it."""
    return {notes: found for notes in (_NOTES, _REFUSED) if (found := vars(parser).pop(notes, None))}


def notes_now(parser: AttrParser) -> dict[str, list[object]]:
    """What is noted of the operation that is being read."""
    return {notes: list(found) for notes in (_NOTES, _REFUSED) if (found := vars(parser).get(notes))}


def notes_put_back(parser: AttrParser, notes: dict[str, list[object]]) -> None:
    """Give back what was noted of the operation around; what was noted since is forgotten.

    >>> from xdsl.context import Context
    >>> parser = AttrParser(Context(), "")
    >>> note_old_spelling(parser, "`a`", "`b`")
    >>> notes = notes_set_aside(parser)
    >>> keep_old_spellings(parser, inner := __import__("xdsl.dialects.test").dialects.test.TestOp())
    >>> notes_put_back(parser, notes)
    >>> keep_old_spellings(parser, outer := inner.clone())
    >>> old_spellings(inner), old_spellings(outer)
    ([], ['`a` is an older spelling; today: `b`'])
    """
    notes_set_aside(parser)
    vars(parser).update({name: list(found) for name, found in notes.items()})


def old_spellings(operation: Operation) -> list[str]:
    """The older spellings in an operation's text, each with today's form."""
    return list(vars(operation).get(_NOTES, ()))


def refused_spelling(operation: Operation, llvm: int) -> str | None:
    """What a version of LLVM says that does not read an operation as it was written; None where it reads it.

    >>> from layoutalg.ir import read_module
    >>> text = "xegpu.prefetch_nd %t[0, 0] {l1_hint = #xegpu.cache_hint<cached>} : !xegpu.tensor_desc<8x16xf16>"
    >>> _, prefetch = read_module(f'%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf16> {text}').ops
    >>> refused_spelling(prefetch, 23), refused_spelling(prefetch, 24)[:61]
    (None, "custom op 'xegpu.prefetch_nd' inherent attribute 'l1_hint' ca")
    """
    found: list[tuple[tuple[int, ...], str]] = vars(operation).get(_REFUSED, [])
    return next((message for versions, message in found if llvm in versions), None)
