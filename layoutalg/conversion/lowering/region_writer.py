"""The text of a function whose operations have regions: loops and branches, with their arguments and results.

A loop that adds nothing, and the constant that is written before everything else:

>>> writer = RegionWriter()
>>> step = Value("index", name="step")
>>> zero = writer.value("arith.constant 0 : index", (), "index")
>>> with writer.region("scf.for %s = %s to %s step %s {", (step, zero, zero, zero), arguments=(step,)):
...     with writer.at_entry():
...         one = writer.value("arith.constant 1 : i32", (), "i32")
...     writer.do("test.use %s : i32", (one,))
>>> print(writer.text())
%0 = arith.constant 1 : i32
%1 = arith.constant 0 : index
scf.for %step = %1 to %1 step %1 {
  test.use %0 : i32
}
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from layoutalg.conversion.lowering.writer import Value, Writer

__all__ = ["RegionWriter"]


class RegionWriter(Writer):
    """A writer of operations with regions, their arguments and results."""

    def __init__(self, arguments: Sequence[Value] = ()) -> None:
        super().__init__(arguments)
        self._first: list[Any] = []

    @contextmanager
    def at_entry(self) -> Generator[None]:
        """What is written inside the `with` stands at the beginning of the text."""
        lines, depth = self._lines, self._depth
        self._lines, self._depth = self._first, 0
        yield
        self._lines, self._depth = lines, depth

    def names(self) -> dict[Value, str]:
        """The name of every value, those at the beginning first."""
        self._join()
        return super().names()

    def _join(self) -> None:
        if self._first:
            self._first.extend(self._lines)
            self._lines, self._first = self._first, []

    def drop_unused(self, is_free: Callable[[str], bool]) -> None:
        """Drop the lines whose results nobody uses, of operations that `is_free` says change nothing else.

        >>> writer = RegionWriter()
        >>> one = writer.value("arith.constant 1 : i32", (), "i32")
        >>> two = writer.value("arith.addi %s, %s : i32", (one, one), "i32")
        >>> writer.do("test.use %s : i32", (one,))
        >>> writer.drop_unused(lambda name: name.startswith("arith."))
        >>> print(writer.text())
        %0 = arith.constant 1 : i32
        test.use %0 : i32
        """
        self._join()
        made = {result: number for number, line in enumerate(self._lines) for result in line[3] if line[1]}
        kept = [not form or not results or not is_free(form.partition(" ")[0]) for _, form, _, results in self._lines]
        waiting = [number for number, keeps in enumerate(kept) if keeps]
        while waiting:
            for operand in self._lines[waiting.pop()][2]:
                number = made.get(operand)
                if number is not None and not kept[number]:
                    kept[number] = True
                    waiting.append(number)
        self._lines = [line for line, keeps in zip(self._lines, kept, strict=True) if keeps]

    @contextmanager
    def region(
        self, form: str, operands: Sequence[Value], results: Sequence[Value] = (), arguments: Sequence[Value] = ()
    ) -> Generator[None]:
        """An operation with a region; `arguments` are the region's, which the form names among its operands."""
        self.values(form, operands, results)
        self._begin(arguments)
        self._depth: int = self._depth + 1
        yield
        self._depth -= 1
        self.do("}")

    def between(self, form: str, operands: Sequence[Value] = (), arguments: Sequence[Value] = ()) -> None:
        """The line between two regions of one operation: `} else {`.

        >>> writer = RegionWriter()
        >>> with writer.region("test.two {", ()):
        ...     writer.between("} else {")
        >>> writer.text().splitlines()
        ['test.two {', '} else {', '}']
        """
        self._depth -= 1
        self.do(form, operands)
        self._begin(arguments)
        self._depth += 1

    def _begin(self, arguments: Sequence[Value]) -> None:
        """The place where arguments of a region get their names: after the results of the operation, before its body."""
        self.values("", (), arguments)
