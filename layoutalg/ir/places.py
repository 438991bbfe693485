"""Where in the text an operation stands: the reader notes it on every operation, and every finding names it.

As in LLVM, it is the place of the operation's name, after its results.

>>> from layoutalg.ir import read_module
>>> [operation] = read_module("\\n  %c = arith.constant 16 : index", file="k.mlir").ops
>>> place_of(operation)
Place(file='k.mlir', line=2, column=8)
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

__all__ = ["Place", "line_of", "place_of"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a text: its file (or `-`, or `text`), the line and the column, both from 1.

    >>> str(Place("k.mlir", 2, 3))
    'k.mlir:2:3'
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def place_of(operation: Operation) -> Place | None:
    """Where an operation was read from; None where a program built it.

    >>> from xdsl.dialects.test import TestOp
    >>> place_of(TestOp())
    """
    location = operation.location
    if not isinstance(location, FileLineColLoc):
        return None
    return Place(location.filename.data, location.line.data, location.column.data)


def line_of(operation: Operation) -> int:
    """The line that an operation was read from, or 0 where it was built by a program.

    >>> from layoutalg.ir import read_module
    >>> [line_of(op) for op in read_module("%a = arith.constant 1 : i32\\n%b = arith.constant 2 : i32").ops]
    [1, 2]
    """
    place = place_of(operation)
    return 0 if place is None else place.line
