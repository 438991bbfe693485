"""Lines that repeat an earlier line with other values: an unrolled kernel writes the same few dozen lines thousands of times.

    %5 = arith.addi %3, %4 : index
    %8 = arith.addi %6, %7 : index

The second line means the same as the first, with `%6` and `%7` as operands, if they have the types of `%3` and `%4`. It is
looked up by the text between the value names, and is not read token by token.

>>> from layoutalg.ir.dialects import known_dialects
>>> from layoutalg.ir.reading.parser import ModuleParser
>>> line = "= arith.addi %a, %b : i32\\n"
>>> text = f'%a, %b = "test.op"() : () -> (i32, i32)\\n%c {line}%d {line}%e {line}%f = arith.negf %a : i32'
>>> parser = ModuleParser(known_dialects(), text)
>>> [parser.parse_operation().name for _ in range(4)]
['builtin.unregistered', 'arith.addi', 'arith.addi', 'arith.addi']
>>> len(parser.repeated.lines), len(parser.repeated.origins)
(1, 3)

The law: looking a line up gives the same operation as reading it token by token. So a line is kept only if its text and the
types of its values decide its meaning: the operation is the whole line, it has no region, successor, alias or older spelling,
and its operands are the values in the order written. If the next line could continue the operation, or a value has another
type or no definition, the line is read in full, and refused in full if it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, SSAValue

from layoutalg.core.limits import MOST_LISTED
from layoutalg.ir.reading.lexer import SPACE

__all__ = ["LINE", "ReadLine", "RepeatedLines", "valid_where_repeated"]

_VALUE = r"%(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)"
_NAME = r"[a-z_][A-Za-z0-9_$]*+\.[A-Za-z0-9_$.]++"
LINE = re.compile(
    rf"(?:({_VALUE})[ \t]*+=[ \t]*+)?+(({_NAME})[^\n]{{0,1000}}+)\n{SPACE}"
    rf"(?=\}}|[a-z_][A-Za-z0-9_$]*+\.|{_VALUE}(?::[0-9]++)?+[ \t]*+=)"
)
"""A result or none, an operation up to the end of its line, and then what begins another operation or ends the region."""
_NAMED = re.compile(rf"({_VALUE}(?:#[0-9]{{1,9}}+)?+)")
_PLAIN = frozenset(vars(TestOp()))
"""The fields of every operation; any other is a note about how it was written."""
_MOST_LINES = 2**14


@dataclass(frozen=True, slots=True, eq=False)
class ReadLine:
    """The meaning of a line without its values: the operation's class, types, properties and attributes.

    >>> ReadLine(TestOp, (), (), {}, {}, 0).kind.name
    'test.op'
    """

    kind: type[Operation]
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    listed: int


class RepeatedLines:
    """The lines that were read, by the text between their value names; and for each operation made, the line it came from.

    >>> RepeatedLines().lines
    {}
    """

    def __init__(self) -> None:
        self.lines: dict[tuple[str, ...], ReadLine] = {}
        self.origins: dict[Operation, ReadLine] = {}

    def lookup(
        self, line: re.Match[str], values: Mapping[str, Sequence[SSAValue]], listed: int
    ) -> tuple[ReadLine, list[SSAValue]] | None:
        """A line that was read before, with the operands of this one; None if it must be read in full."""
        key, names = _split(line)
        read = self.lines.get(key)
        if read is None or listed + read.listed > MOST_LISTED:
            return None
        operands = _found(names, values)
        if operands is None:
            return None
        for operand, kind in zip(operands, read.operand_types, strict=True):
            if operand.type is not kind and operand.type != kind:
                return None
        return read, operands

    def operation(self, read: ReadLine, operands: Sequence[SSAValue]) -> Operation:
        """The operation of a line that was read before, with other operands."""
        made = read.kind.create(
            operands=operands,
            result_types=read.result_types,
            properties=read.properties,
            attributes=read.attributes,
        )
        self.origins[made] = read
        return made

    def remember(
        self, line: re.Match[str], operation: Operation, values: Mapping[str, Sequence[SSAValue]], listed: int
    ) -> None:
        """Keep the meaning of a line, if its text and the types of its values decide it."""
        if len(self.lines) >= _MOST_LINES or vars(operation).keys() != _PLAIN:
            return
        if operation.regions or operation.successors or operation.name != line[3]:
            return
        key, names = _split(line)
        operands = _found(names, values)
        if operands is None or operands != list(operation.operands) or len(set(operands)) < len(operands):
            return
        read = ReadLine(
            type(operation),
            tuple(operation.operand_types),
            tuple(operation.result_types),
            dict(operation.properties),
            dict(operation.attributes),
            listed,
        )
        self.lines[key] = self.origins[operation] = read


def valid_where_repeated(operation: Operation) -> bool:
    """Whether an operation, once verified, need not be verified again where its line repeats.

    >>> valid_where_repeated(TestOp())
    False
    """
    return getattr(operation, "JUDGED_ALONE", False) and operation.next_op is not None


def _split(line: re.Match[str]) -> tuple[tuple[str, ...], list[str]]:
    """The text between the value names with the kind of token that follows; and the names."""
    parts = _NAMED.split(line[2])
    follows = line.string[line.end()]  # `scf.yield` would take a `%` for its first operand
    return (follows if follows in "%}" else "", *parts[::2]), parts[1::2]


def _found(names: Sequence[str], values: Mapping[str, Sequence[SSAValue]]) -> list[SSAValue] | None:
    """The values with these names; None if one is not defined yet."""
    found: list[SSAValue] = []
    for written in names:
        name, hash_, index = written.partition("#")
        group = values.get(name[1:], ())
        number = int(index) if hash_ else 0
        if number >= len(group):
            return None
        found.append(group[number])
    return found
