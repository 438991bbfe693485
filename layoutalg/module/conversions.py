"""What the conversions of a module do: whether anything moves, and what moving costs.

>>> from layoutalg.module.module import read
>>> module = read('''func.func @f(%x: vector<16x16xf32>) {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   func.return }''')
>>> [conversion] = module.conversions
>>> print(conversion.same())
element (0, 1) is in lane 1, register 0 in the first and in lane 0, register 1 in the second
>>> plan = conversion.plan()
>>> plan.shuffles, plan.slm_bytes, plan.barriers
(15, 0, 0)

These are the operations that name a layout before and one after. What the conversion would be is planned here; what LLVM makes
of it is another question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from layoutalg.compare import Same, same
from layoutalg.conversion import convert
from layoutalg.conversion.price import DEFAULT_CHIP, Price, price
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.notation import Distributed, Machine
from layoutalg.module.uses import LayoutUse

if TYPE_CHECKING:
    from layoutalg.conversion import ConversionPlan

__all__ = ["LayoutConversion", "conversions_of"]

_BEFORE, _AFTER = "input_layout", "target_layout"
_TYPED = "ttg.convert_layout"
"""Whose types say both."""


@dataclass(frozen=True, slots=True)
class LayoutConversion:
    """An operation that moves a value from one layout to another.

    >>> use = LayoutUse(None, "xegpu.convert_layout", "%y", "input_layout", (4,), "f32", None, "#a")
    >>> LayoutConversion(use, use).shape
    (4,)
    """

    source: LayoutUse
    target: LayoutUse

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the value.

        >>> use = LayoutUse(None, "", "", "input_layout", None, "f32", None, "#a")
        >>> LayoutConversion(use, use).shape
        """
        return self.source.shape

    def _pair(self) -> list[Distributed]:
        found: list[Distributed] = []
        for use in (self.source, self.target):
            if use.attribute is None:
                raise ConversionError(f"{use.operand}: {use.problem or f'{use.text} is not a layout'}")
            found.append(use.attribute)
        if self.shape is None:
            raise ConversionError("the shape of the value is not known")
        return found

    def same(self, machine: Machine | None = None) -> Same:
        """Whether the two layouts are the same map, or the first element that moves.

        Raises `LayoutError` where one of them does not fit the shape.

        >>> use = LayoutUse(None, "", "", "input_layout", (4,), "f32", None, "#a")
        >>> LayoutConversion(use, use).same()
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: input_layout: #a is not a layout
        """
        first, second = self._pair()
        return same(first, second, self.shape, machine=machine)

    def plan(self, machine: Machine | None = None, *, target: str | None = None) -> ConversionPlan:
        """How to convert, with the fewest moves (`la.convert`).

        Raises `LayoutError` where one of the two does not fit the shape, and where the conversion is too large to plan.

        >>> use = LayoutUse(None, "", "", "input_layout", None, "f32", la.parse("#xegpu.layout<lane_layout = [16]>"))
        >>> LayoutConversion(use, use).plan()
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: the shape of the value is not known
        """
        first, second = self._pair()
        bits = element_bits(self.source.element or "f32")
        return convert(first, second, self.shape, machine=machine, element_bits=bits, target=target)

    def price(self, machine: Machine | None = None, *, target: str = DEFAULT_CHIP) -> Price:
        """What it costs (`layoutalg.price`); `machine` is that of the kernel in which it stands.

        >>> use = LayoutUse(None, "", "", "input_layout", (4,), "f32", None, "#a")
        >>> print(LayoutConversion(use, use).price())
        no price on pvc: input_layout: #a is not a layout
        """
        try:
            first, second = self._pair()
        except LayoutError as error:
            return Price(None, target, str(error))
        return price(first, second, self.shape, self.source.element or "f32", machine, target)


def conversions_of(uses: Sequence[LayoutUse]) -> Iterator[LayoutConversion]:
    """The conversions among the layouts of a module: operations that have one before and one after."""
    for _, group in groupby(uses, key=lambda use: (use.place, use.operation, use.name)):
        named = {use.operand: use for use in group}
        before, after = (_BEFORE, _AFTER) if _BEFORE in named else ("src", "result")
        if before in named and after in named and (before == _BEFORE or named[before].operation == _TYPED):
            yield LayoutConversion(named[before], named[after])
