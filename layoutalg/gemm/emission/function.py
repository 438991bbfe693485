"""A function while it is written: its text, constants that are made once, and places.

Constants stand at the beginning, each once; sums of a place and a number are made once in a region:

>>> function = FunctionWriter((row := Value("index", name="row"),))
>>> function.plus(row, 8) is function.plus(row, 8), function.plus(row, 0) is row
(True, True)
>>> print(function.writer.text())
%c8 = arith.constant 8 : index
%0 = arith.addi %row, %c8 : index
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value

__all__ = ["FunctionWriter"]


class FunctionWriter:
    """The body of one function: what every part of an emission writes to."""

    def __init__(self, arguments: Sequence[Value] = ()) -> None:
        self.writer = RegionWriter(arguments)
        self.marks = ""
        """Attributes of operations on vectors of several dimensions: the layout of the result."""
        self._once: dict[object, Value] = {}

    def constant(self, number: float, kind: str = "index", size: int | None = None) -> Value:
        """A number as a value, made once, at the beginning."""
        key = ("constant", number, kind, size)
        if key not in self._once:
            dense = self.dense(number, Value(kind, size).kind)
            with self.writer.at_entry():
                made = self.writer.value(f"arith.constant {dense}", (), kind, size)
            if size is None and isinstance(number, int):
                made.name = f"c{number}".replace("-", "m") + ("" if kind == "index" else f"_{kind}")
            self._once[key] = made
        return self._once[key]

    def dense(self, number: float, kind: str) -> str:
        """A number as the constant of a type, or as every element of one.

        >>> FunctionWriter().dense(0.1, "vector<8x16xf32>")
        'dense<1.000000e-01> : vector<8x16xf32>'
        """
        element = kind.removesuffix(">").rpartition("x")[2] if kind.startswith("vector<") else kind
        text = _float(number) if element[0] in "fb" else str(number)
        return f"{f'dense<{text}>' if element != kind else text} : {kind}"

    def once(self, name: object, make: Callable[[], Value], *, named: bool = True) -> Value:
        """A value that parts of a region share, made by the first that asks."""
        key = ("once", name)
        if key not in self._once:
            self._once[key] = self.named(str(name), make()) if named else make()
        return self._once[key]

    def named(self, name: str, value: Value) -> Value:
        """The value, with a name where it has none."""
        if value.name is None:
            value.name = name
        return value

    def op(self, name: str, left: Value, right: Value) -> Value:
        """An operation of arith on two values of one type."""
        return self.writer.value(f"arith.{name} %s, %s : {left.kind}", (left, right), left.element, left.size)

    def plus(self, place: Value, number: int) -> Value:
        """A place and a number; each sum is made once in a region."""
        if number == 0:
            return place
        key = ("plus", place, number)
        if key not in self._once:
            self._once[key] = self.op("addi", place, self.constant(number, place.kind))
        return self._once[key]

    def cast(self, value: Value, kind: str) -> Value:
        """An integer as another type of integers or as an index."""
        return self.writer.value(f"arith.index_cast %s : {value.kind} to {kind}", (value,), kind)

    @contextmanager
    def region(
        self, form: str, operands: Sequence[Value], results: Sequence[Value] = (), arguments: Sequence[Value] = ()
    ) -> Generator[None]:
        """An operation with a region; sums that are made in it stay in it."""
        before = dict(self._once)
        with self.writer.region(form, operands, results, arguments):
            yield
        self._once = before | {key: value for key, value in self._once.items() if key[0] == "constant"}  # pyright: ignore


def _float(number: float) -> str:
    """With six digits where they say it, else with the ten that tell any two numbers of f32 apart."""
    short = f"{number:e}"
    return short if float(short) == number else f"{number:.9e}"
