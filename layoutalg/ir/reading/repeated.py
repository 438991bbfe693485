"""Lines that were read before, with other names of values: an unrolled kernel writes the same dozens thousands of times.

    %5 = arith.addi %3, %4 : index
    %8 = arith.addi %6, %7 : index

The second line means what the first meant, with the values `%6` and `%7`, where they have the types of `%3` and `%4`. It is
found by the text between the names of values, and nothing of it is read token by token.

>>> from layoutalg.ir.dialects import known_dialects
>>> from layoutalg.ir.reading.parser import ModuleParser
>>> line = "= arith.addi %a, %b : i32\\n"
>>> text = f'%a, %b = "test.op"() : () -> (i32, i32)\\n%c {line}%d {line}%e {line}%f = arith.negf %a : i32'
>>> parser = ModuleParser(known_dialects(), text)
>>> [parser.parse_operation().name for _ in range(4)]
['builtin.unregistered', 'arith.addi', 'arith.addi', 'arith.addi']
>>> len(parser.repeated.known), len(parser.repeated.like)
(1, 3)

The law: an operation that is read this way is the one that reading it token by token gives. So a line is remembered only where
nothing but its text and the types of its values decides what it means: the operation is the whole of it, it has no region, no
successor, no alias and no older spelling, and its operands are the values in the order of their names. Where the next line
could be more of the operation, or a value has another type or no definition, the line is read anew, and is refused as ever.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, SSAValue

from layoutalg.core.limits import MOST_LISTED
from layoutalg.ir.reading.lexer import SPACE

__all__ = ["LINE", "Known", "Repeated", "judged_alone"]

_VALUE = r"%(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)"
_NAME = r"[a-z_][A-Za-z0-9_$]*+\.[A-Za-z0-9_$.]++"
LINE = re.compile(
    rf"(?:({_VALUE})[ \t]*+=[ \t]*+)?+(({_NAME})[^\n]{{0,1000}}+)\n{SPACE}"
    rf"(?=\}}|[a-z_][A-Za-z0-9_$]*+\.|{_VALUE}(?::[0-9]++)?+[ \t]*+=)"
)
"""A result or none, an operation up to the end of its line, and then what begins another operation or ends the region."""
_NAMED = re.compile(rf"({_VALUE}(?:#[0-9]{{1,9}}+)?+)")
_PLAIN = frozenset(vars(TestOp()))
"""What every operation holds; more is a note about how it was written."""
_MOST_KNOWN = 2**14


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a line means, apart from its values.

    >>> Known(TestOp, (), (), {}, {}, 0).kind.name
    'test.op'
    """

    kind: type[Operation]
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    listed: int


class Repeated:
    """The lines of a text by what stands between the names of their values, and the operations that each of them gave.

    >>> Repeated().known
    {}
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, ...], Known] = {}
        self.like: dict[Operation, Known] = {}

    def again(
        self, line: re.Match[str], values: Mapping[str, Sequence[SSAValue]], listed: int
    ) -> tuple[Known, list[SSAValue]] | None:
        """What a line means that is known, and its operands; None where it must be read."""
        key, names = _split(line)
        known = self.known.get(key)
        if known is None or listed + known.listed > MOST_LISTED:
            return None
        operands = _found(names, values)
        if operands is None:
            return None
        for operand, kind in zip(operands, known.operand_types, strict=True):
            if operand.type is not kind and operand.type != kind:
                return None
        return known, operands

    def operation(self, known: Known, operands: Sequence[SSAValue]) -> Operation:
        """An operation that is like the one of a known line."""
        made = known.kind.create(
            operands=operands,
            result_types=known.result_types,
            properties=known.properties,
            attributes=known.attributes,
        )
        self.like[made] = known
        return made

    def remember(
        self, line: re.Match[str], operation: Operation, values: Mapping[str, Sequence[SSAValue]], listed: int
    ) -> None:
        """Keep what a line means, where its text and the types of its values say it all."""
        if len(self.known) >= _MOST_KNOWN or vars(operation).keys() != _PLAIN:
            return
        if operation.regions or operation.successors or operation.name != line[3]:
            return
        key, names = _split(line)
        operands = _found(names, values)
        if operands is None or operands != list(operation.operands) or len(set(operands)) < len(operands):
            return
        known = Known(
            type(operation),
            tuple(operation.operand_types),
            tuple(operation.result_types),
            dict(operation.properties),
            dict(operation.attributes),
            listed,
        )
        self.known[key] = self.like[operation] = known


def judged_alone(operation: Operation) -> bool:
    """Whether an operation that stands before others is right wherever one is that is like it.

    >>> judged_alone(TestOp())
    False
    """
    return getattr(operation, "JUDGED_ALONE", False) and operation.next_op is not None


def _split(line: re.Match[str]) -> tuple[tuple[str, ...], list[str]]:
    """What stands between the names of values, and what kind of thing comes next; the names."""
    parts = _NAMED.split(line[2])
    follows = line.string[line.end()]  # `scf.yield` would take a `%` for its first operand
    return (follows if follows in "%}" else "", *parts[::2]), parts[1::2]


def _found(names: Sequence[str], values: Mapping[str, Sequence[SSAValue]]) -> list[SSAValue] | None:
    """The values of these names; None where one has no definition yet."""
    found: list[SSAValue] = []
    for written in names:
        name, hash_, index = written.partition("#")
        group = values.get(name[1:], ())
        number = int(index) if hash_ else 0
        if number >= len(group):
            return None
        found.append(group[number])
    return found
