"""An expression of CuTe's algebra for people: definition, steps, result, and the layouts before and after as grids.

>>> found = describe_expression("logical_divide((4,2):(1,4), 2:2)")
>>> print("\\n".join(found.lines()[:3]))
logical_divide((4,2):(1,4), 2:2)
  A o (B, complement(B, size(A))), by a tuple in each mode: ((tile), (rest))
  the complement of the tile 2:2 up to size(A) = 8: (2,2):(1,4)
>>> print(found.facts["result"])
(2,(2,2)):(2,(1,4))

A grid has mode 0 down and the other modes across, each cell its value: the same value has the same colour before and after.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_CUTE_STRIDE
from layoutalg.core.messages import number_text
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.explaining import Explanation
from layoutalg.cute.expressions import Evaluated, evaluate
from layoutalg.cute.nested_tuples import leaves_of
from layoutalg.cute.printing import MOST_BITS, text
from layoutalg.show.terminal import Cell, OwnerGrid, render
from layoutalg.viz.svg import legal

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.show.cute_picture import AlgebraPicture

__all__ = ["ExpressionDescription", "describe_expression", "value_grid"]

_MOST_ROWS = 16
_MOST_COLUMNS = 32
_DOTS = "\N{MIDLINE HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class ExpressionDescription:
    """An evaluated expression, what to print of it, and everything as data.

    >>> describe_expression("size((4,2))").facts["result"]
    '8'
    """

    evaluated: Evaluated
    facts: dict[str, Any]
    style: str | None = None

    @property
    def before(self) -> CuteLayout | None:
        """The first layout that the outermost call was given."""
        for call in self.evaluated.calls[-1:]:
            return next((one for one in call.arguments if isinstance(one, CuteLayout)), None)
        return None

    @property
    def after(self) -> CuteLayout | None:
        """The result, where it is a layout."""
        value = self.evaluated.value
        if isinstance(value, tuple):
            value = next((one for one in cast("tuple[Any, ...]", value) if isinstance(one, CuteLayout)), None)
        return value if isinstance(value, CuteLayout) else None

    def lines(self) -> list[str]:
        """The calls, inner ones first: what was asked, its definition, its steps and its result.

        >>> describe_expression("4:2").lines()
        ['4:2']
        """
        found: list[str] = []
        for call in self.evaluated.calls:
            arguments = ", ".join(_written(one, self.style) for one in call.arguments)
            found += [f"{call.operation}({arguments})", f"  {call.definition}"]
            found += [f"  {step.words}{_value(step.value, self.style)}" for step in call.steps]
            found.append(f"  = {_written(call.result, self.style)}")
        return found or [_written(self.evaluated.value, self.style)]

    def print(self, console: Console) -> None:
        """Print the lines, and the layouts before and after as grids as wide as the console."""
        from rich.console import Console

        instance_of(console, Console, "console")
        for line in self.lines():
            console.print(line, soft_wrap=True)
        for name, layout in (("before", self.before), ("after", self.after)):
            if layout is None:
                continue
            console.print(f"\n{name:8}{_written(layout, self.style)}", soft_wrap=True)
            try:
                grid = value_grid(layout, console.width)
            except LayoutError as error:
                console.print(f"{'':8}{error}", soft_wrap=True)
                continue
            if "of" in grid.caption:
                console.print(f"{'':8}{grid.caption}", soft_wrap=True)
            console.print(render(grid))

    def picture(self) -> AlgebraPicture:
        """The layouts that the outermost call was given and its result, side by side; a layout alone by its modes.

        Raises `LayoutError` where there is no layout, `SizeError` above 2^14 values.

        >>> describe_expression("coalesce((2,(1,6)):(1,(6,2)))").picture().result
        CuteLayout(12, 1)
        """
        from layoutalg.show.cute_picture import AlgebraPicture

        call = self.evaluated.calls[-1] if self.evaluated.calls else None
        given = () if call is None else call.arguments
        inputs = tuple(one for one in given if isinstance(one, CuteLayout))
        if not inputs and self.after is None:
            raise LayoutError(f"{self.facts['result']} is not a layout: it has no picture")
        name, definition = ("", "mode 0 down, the others across") if call is None else (call.operation, call.definition)
        title = legal(self.evaluated.text)
        return AlgebraPicture((), title, operation=name, definition=definition, inputs=inputs, result=self.after)


def describe_expression(expression: str, style: str | None = None) -> ExpressionDescription:
    """Evaluate an expression of CuTe's operations, and describe it; `style` ("c++", "python", "mlir"): how layouts are written.

    Raises what `cute.evaluate` raises.

    >>> describe_expression("coalesce((2,(1,6)):(1,(6,2)))", "c++").lines()[-1]
    '  = _12:_1'
    """
    found = evaluate(expression)
    facts: dict[str, Any] = {
        "expression": expression,
        "calls": [_call_facts(call, style) for call in found.calls],
        "result": _written(found.value, style),
        "texts": {kind: _written(found.value, kind) for kind in ("c++", "python", "mlir")},
    }
    if isinstance(found.value, CuteLayout):
        facts["size"] = found.value.size
    return ExpressionDescription(found, facts, style)


def _call_facts(call: Explanation, style: str | None) -> dict[str, Any]:
    return {
        "operation": call.operation,
        "arguments": [_written(one, style) for one in call.arguments],
        "definition": call.definition,
        "steps": [
            {"words": step.words, "value": None if step.value is None else _written(step.value, style)}
            for step in call.steps
        ],
        "result": _written(call.result, style),
    }


def _written(value: Any, style: str | None) -> str:
    """A value as it is written in the style that was asked for; unless one was, as everywhere in layoutalg."""
    if type(value) is int and value.bit_length() > MOST_BITS:
        return number_text(value)
    if style is not None:
        return text(value, style)
    if isinstance(value, tuple):
        return f"({','.join(_written(one, None) for one in cast('tuple[Any, ...]', value))})"
    return "_" if value is None else str(value)


def _value(value: Any, style: str | None) -> str:
    return "" if value is None else f": {_written(value, style)}"


def value_grid(layout: CuteLayout, width: int = 80) -> OwnerGrid:
    """The values of a layout as a grid: mode 0 down the rows, the other modes across the columns.

    >>> grid = value_grid(CuteLayout((2, (2, 2)), (4, (1, 2))))
    >>> [[cell.label for cell in row] for row in grid.cells]
    [['0', '1', '2', '3'], ['4', '5', '6', '7']]
    >>> grid.columns
    ('0', '1', '2', '3')
    """
    instance_of(layout, CuteLayout, "layout")
    width = whole_number(width, "width =", 0)
    modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    strides = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    sizes = [prod([n for n, _ in leaves_of(n, s)]) for n, s in zip(modes, strides, strict=True)]
    down, across = (sizes[0], prod(sizes[1:])) if len(sizes) > 1 else (1, prod(sizes))
    rows = min(down, _MOST_ROWS)
    columns = min(across, _MOST_COLUMNS)
    while True:
        cells = [[_cell(layout, i + down * j) for j in range(columns)] for i in range(rows)]
        headers = tuple(map(str, range(columns))) + ((_DOTS,) if columns < across else ())
        drawn = tuple(tuple(row) + ((Cell(_DOTS, None),) if columns < across else ()) for row in cells) + (
            (((Cell(_DOTS, None),) * len(headers)),) if rows < down else ()
        )
        names = tuple(map(str, range(rows))) + ((_DOTS,) if rows < down else ())
        grid = OwnerGrid(names, headers, drawn, (down, across), (rows, columns), "values", "")
        if grid.width <= width or columns == 1:
            return grid
        columns -= max(1, columns // 8)


def _cell(layout: CuteLayout, index: int) -> Cell:
    value = layout(index)
    if isinstance(value, int):
        return Cell(number_text(value), value if 0 <= value <= MOST_CUTE_STRIDE else None)
    return Cell(str(value).replace(" ", ""), index)
