"""What no LLVM reads today and we read all the same: the spellings of the dialects' older pages.

The syntax of an operation, attribute or type that meets one notes it on the parser, with today's form; the parser hands what
was noted to the operation that it stands in, and the reader asks for it to warn.

>>> from layoutalg.ir import read_module
>>> load = 'xegpu.load_nd %t {transpose = [1, 0]} : !xegpu.tensor_desc<8x16xf32> -> vector<16x8xf32>'
>>> module = read_module(f'%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32> {load}')
>>> [spelling for op in module.ops for spelling in old_spellings(op)]
['`transpose = [1, 0]` is an older spelling; today: `transpose = array<i64: 1, 0>`']
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.parser import AttrParser

__all__ = ["keep_old_spellings", "note_old_spelling", "old_spellings"]

_NOTES = "old_spellings"


def note_old_spelling(parser: AttrParser, written: str, today: str) -> None:
    """Remember that the text has an older spelling, and today's."""
    vars(parser).setdefault(_NOTES, []).append(f"{written} is an older spelling; today: {today}")


def keep_old_spellings(parser: AttrParser, operation: Operation) -> None:
    """Hand what was noted since the last operation to this one, which has just been read."""
    found = vars(parser).pop(_NOTES, None)
    if found:
        vars(operation)[_NOTES] = [*old_spellings(operation), *found]


def old_spellings(operation: Operation) -> list[str]:
    """The older spellings in an operation's text, each with today's form."""
    return list(vars(operation).get(_NOTES, ()))
