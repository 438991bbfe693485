"""Where operations begin in a text that cannot be parsed: what a person sees from line breaks and brackets.

>>> text = "my.op %a\\n  to %b\\n%c = arith.constant 1 : i32"
>>> [line for line in text.splitlines() if BEGINS.match(line)]
['my.op %a', '%c = arith.constant 1 : i32']

An operation begins at the start of a line with its results, with `"dialect.name"(`, or with `dialect.name`. It ends where the
next one begins, or before the bracket that closes the region around it. The law: no pattern goes back over what it has seen.
"""

from __future__ import annotations

import re

__all__ = [
    "ALIAS",
    "BEGINS",
    "INSIDE_A_LINE",
    "LABEL",
    "MENTION",
    "NAMED_VALUE",
    "NEXT_MARK",
    "ONE_RESULT",
    "RESULTS",
    "STRONG",
    "WORTH_A_LOOK",
]

_VALUE = r"%(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)"
_RESULT = rf"{_VALUE}(?:[ \t]*+:[ \t]*+[0-9]++)?+"
_RESULTS = rf"{_RESULT}(?:[ \t]*+,[ \t]*+{_RESULT})*+[ \t]*+=(?!=)"
_FEW_RESULTS = rf"(?<!, ){_RESULT}(?:[ \t]*+,[ \t]*+{_RESULT}){{0,32}}+[ \t]*+=(?!=)"  # looked for at every position
_QUOTED = r'"[a-z_][A-Za-z0-9_$]*+\.[A-Za-z0-9_$.]++"[ \t]*+\('
_DOTTED = r"(?:[a-z_][A-Za-z0-9_$]*+|XeG(?:PU|pu))\.[A-Za-z_][A-Za-z0-9_$.]*+(?![ \t]*+[=,}:)\]'`-])"
_SHORT = r"(?:module|func|return|call|call_indirect|br|cond_br)\b(?![ \t]*+[=,}:.])"

ONE_RESULT = re.compile(rf"({_VALUE})(?:[ \t]*+:[ \t]*+([0-9]{{1,9}})[0-9]*+)?+")
"""A result and how many values it is."""
RESULTS = re.compile(_RESULTS)
"""The results of an operation, with the `=`."""
STRONG = re.compile(rf'[ \t]*+(?:{_RESULTS}\s*+(?:["a-z_]|XeG)|{_QUOTED})')
"""The start of an operation that cannot be anything else, not even inside parentheses that nobody closed."""
_BEGINS = rf"[ \t]*+(?:{_RESULTS}|{_QUOTED}|{_DOTTED}|{_SHORT})"
BEGINS = re.compile(_BEGINS)
"""What looks like an operation, at the start of a line."""
LABEL = re.compile(r"[ \t]*+\^(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)[ \t]*+[(:]")
"""The label of a block."""
_ALIAS = r"[ \t]*+[#!][A-Za-z_$][A-Za-z0-9_$.]*+[ \t]*+=(?!=)"
ALIAS = re.compile(_ALIAS)
"""The definition of an alias."""
_INSIDE = rf"(?<![\w.'\"%#!$@-])(?:{_FEW_RESULTS}[ \t]*+(?=\"|[a-z_]++\.|XeG)|(?={_QUOTED})|(?={_DOTTED}[ \t]*+[%@<(]))"
INSIDE_A_LINE = re.compile(_INSIDE)
"""An operation behind other text on its line."""
NEXT_MARK = re.compile(
    r'//[^\n]*+|"(?:[^"\\\n]|\\[^\n])*+"?|[\n()\[\]{}]|' + _FEW_RESULTS + r'[ \t]*+(?:"|[a-z_]++\.|XeG)'
)
"""The next comment, string, line break, bracket, or operation with results."""
NAMED_VALUE = re.compile(rf'"(?:[^"\\\n]|\\[^\n])*+"|//[^\n]*+|({_VALUE}(?:#[0-9]++)?+)')
"""A value that an operation names (or a string or a comment, which name none)."""
_SPREAD = r"[#!](?:xegpu|iree_gpu|iree_vector_ext|amx|x86\.amx|ttg|triton_gpu)[.<]"
MENTION = re.compile(rf"{_SPREAD}|[#!][A-Za-z_$][A-Za-z0-9_$]*+(?![\w.<])")
"""The beginning of an attribute or type that tells how something is spread, or what may be an alias of one."""
WORTH_A_LOOK = re.compile(rf"^(?:{_BEGINS}|{_ALIAS}|[ \t]*+(?:\}}|\{{-#))|{_INSIDE}|{_SPREAD}", re.MULTILINE)
"""The next thing in a log that may be MLIR."""
