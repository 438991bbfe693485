"""The text of one function, operation by operation, without an object of xDSL for each.

A conversion has hundreds of operations of twenty forms. Made as xDSL objects, verified and printed they took 50 ms for 60
shuffles; written as text they take a twentieth. The names are given at the end, because a value may get its name later:

>>> writer = Writer()
>>> one = writer.value("arith.constant 1 : i32", (), "i32")
>>> two = writer.value("arith.addi %s, %s : i32", (one, one), "i32")
>>> one.name = "c1"
>>> print(writer.text())
%c1 = arith.constant 1 : i32
%0 = arith.addi %c1, %c1 : i32

The law: names are those that xDSL's printer gives (`%c1`, then `%c1_1`; numbers for values without a name), so that reading
the text and writing it changes nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

__all__ = ["Value", "Writer", "typed"]


def typed(size: int | None, element: str) -> str:
    """The type of so many elements: a vector; without a size, or for one element, a scalar.

    >>> typed(4, "i32"), typed(1, "i32")
    ('vector<4xi32>', 'i32')
    """
    return element if size in (None, 1) else f"vector<{size}x{element}>"


class Value:
    """A value of the text: its element type, how many elements (None: a scalar), and the name that it shall have.

    >>> Value("i32", 1).kind, Value("i32").kind
    ('vector<1xi32>', 'i32')
    """

    __slots__ = ("element", "name", "size")

    def __init__(self, element: str, size: int | None = None, name: str | None = None) -> None:
        self.element = element
        self.size = size
        self.name = name

    @property
    def kind(self) -> str:
        """The type as it is written."""
        return self.element if self.size is None else f"vector<{self.size}x{self.element}>"


_Line = tuple[int, str, tuple[Value, ...], tuple[Value, ...]]


class Writer:
    """The operations of a function's body, in order."""

    def __init__(self, arguments: Sequence[Value] = ()) -> None:
        self.arguments = tuple(arguments)
        self._lines: list[_Line] = []
        self._depth = 0

    def value(self, form: str, operands: Sequence[Value], element: str, size: int | None = None) -> Value:
        """The result of an operation; `%s` in its form stands for an operand."""
        made = Value(element, size)
        self._lines.append((self._depth, form, tuple(operands), (made,)))
        return made

    def values(self, form: str, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """An operation with several results."""
        self._lines.append((self._depth, form, tuple(operands), tuple(results)))

    def do(self, form: str, operands: Sequence[Value] = ()) -> None:
        """An operation without a result."""
        self._lines.append((self._depth, form, tuple(operands), ()))

    @contextmanager
    def block(self, form: str, operands: Sequence[Value]) -> Generator[None]:
        """An operation with a region: what is written inside the `with` stands in it."""
        self.do(form, operands)
        self._depth += 1
        yield
        self._depth -= 1
        self.do("}")

    def names(self) -> dict[Value, str]:
        """The name of every value: its own, with a number where others have it too; a number where it has none.

        >>> Writer([Value("i32", name="w"), Value("i32", name="w"), Value("i32")]).names().values()
        dict_values(['%w', '%w_1', '%0'])
        """
        found: dict[Value, str] = {}
        taken: dict[str, int] = {}
        unnamed = 0
        for value in (*self.arguments, *(result for line in self._lines for result in line[3])):
            if value.name is None:
                found[value] = f"%{unnamed}"
                unnamed += 1
                continue
            times = taken[value.name] = taken.get(value.name, -1) + 1
            found[value] = f"%{value.name}_{times}" if times else f"%{value.name}"
        return found

    def text(self, indent: str = "") -> str:
        """The lines of the body, each after `indent`, without a newline at the end."""
        names = self.names()
        lines: list[str] = []
        for depth, form, operands, results in self._lines:
            if not form:  # results that another line names
                continue
            written = form % tuple([names[operand] for operand in operands]) if operands else form
            made = f"{', '.join([names[result] for result in results])} = " if results else ""
            lines.append(f"{indent}{'  ' * depth}{made}{written}")
        return "\n".join(lines)
