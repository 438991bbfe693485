"""Arithmetic element by element, written alike for a lane's fragment and for a tile of a subgroup or workgroup.

A lane's fragment is a vector of one dimension; a tile has two, and its operations carry its layout:

>>> function = FunctionWriter((tile := Tile("f32", (16, 32), "tile"),))
>>> function.marks = " {layout_result_0 = #c}"
>>> doubled = binary(function, "addf", tile, tile)
>>> print(function.writer.text())
%0 = arith.addf %tile, %tile {layout_result_0 = #c} : vector<16x32xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.function import FunctionWriter

__all__ = ["Tile", "binary", "chosen", "constant_like", "convert", "elementwise", "exp", "fma", "like"]


class Tile(Value):
    """A vector of several dimensions: what a subgroup or workgroup has of a matrix.

    >>> Tile("f16", (8, 16)).kind
    'vector<8x16xf16>'
    """

    __slots__ = ("shape",)

    def __init__(self, element: str, shape: tuple[int, ...], name: str | None = None) -> None:
        super().__init__(element, None, name)
        self.shape = shape

    @property
    def kind(self) -> str:
        """The type as it is written."""
        return f"vector<{'x'.join(map(str, self.shape))}x{self.element}>"


def like(value: Value, element: str) -> Value:
    """A new value of the same shape with other elements."""
    return Tile(element, value.shape) if isinstance(value, Tile) else Value(element, value.size)


def elementwise(function: FunctionWriter, form: str, operands: Sequence[Value], element: str) -> Value:
    """An operation whose result has the shape of its last operand; `form` with its types."""
    made = like(operands[-1], element)
    marked = form.replace(" : ", f"{function.marks} : ", 1) if isinstance(made, Tile) else form
    function.writer.values(marked, operands, (made,))
    return made


def binary(function: FunctionWriter, name: str, left: Value, right: Value) -> Value:
    """An operation of arith on two values of one type."""
    return elementwise(function, f"arith.{name} %s, %s : {left.kind}", (left, right), left.element)


def convert(function: FunctionWriter, name: str, value: Value, element: str) -> Value:
    """A conversion of arith to other elements."""
    return elementwise(function, f"arith.{name} %s : {value.kind} to {like(value, element).kind}", (value,), element)


def fma(function: FunctionWriter, left: Value, right: Value, added: Value) -> Value:
    """left * right + added, rounded once."""
    return elementwise(function, f"math.fma %s, %s, %s : {left.kind}", (left, right, added), left.element)


def exp(function: FunctionWriter, value: Value) -> Value:
    """exp of every element, as the device computes it."""
    return elementwise(function, f"math.exp %s : {value.kind}", (value,), value.element)


def chosen(function: FunctionWriter, order: str, compared: tuple[Value, Value], yes: Value, no: Value) -> Value:
    """One of two values in each element, by a comparison: `cmpf olt`, `cmpi slt`."""
    holds = elementwise(function, f"arith.{order}, %s, %s : {compared[0].kind}", compared, "i1")
    return elementwise(function, f"arith.select %s, %s, %s : {holds.kind}, {no.kind}", (holds, yes, no), no.element)


def constant_like(function: FunctionWriter, number: float, value: Value) -> Value:
    """A number in every element of a value like this one; made once."""
    if not isinstance(value, Tile):
        return function.constant(number, value.element, value.size)

    def make() -> Value:
        made = like(value, value.element)
        with function.writer.at_entry():
            function.writer.values(f"arith.constant{function.marks} {function.dense(number, value.kind)}", (), (made,))
        return made

    return function.once(f"{number} {value.kind}", make, named=False)
