"""Basis strides: a layout whose values are coordinates, as TMA's tensors and identity layouts have them.

`v@k` is `v` steps along mode `k` of a coordinate, and `v@j@k` along mode `j` inside mode `k`: the last number is the
outermost, as CuTe prints it. Such strides add up to a coordinate instead of an index. In (4,5):(1@0,1@1) the value at (2,3) is

>>> rows, columns = ScaledBasis(1, (0,)), ScaledBasis(1, (1,))
>>> coordinate_sum([(2, rows), (3, columns)], [rows, columns])
(2, 3)

Law: where two layouts agree as coordinates, composing another layout with either of them gives the same layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.limits import MAX_NESTING, MOST_CUTE_STRIDE
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number, whole_numbers

if TYPE_CHECKING:
    from layoutalg.cute.nested_tuples import IntTuple

__all__ = ["ScaledBasis", "Stride", "coordinate_sum"]

_MOST_MODES = 64


@dataclass(frozen=True, slots=True)
class ScaledBasis:
    """`value` steps along one mode of a coordinate; `mode` is the way to it, from the outside in.

    Raises `VerificationError` for a value of 0 (write the stride 0) and for a mode that is not a tuple of whole numbers.

    >>> str(ScaledBasis(2, (1,))), str(ScaledBasis(1, (1, 0))), str(3 * ScaledBasis(2, (1,)))
    ('2@1', '1@0@1', '6@1')
    """

    value: int
    mode: tuple[int, ...]

    def __post_init__(self) -> None:
        value = whole_number(self.value, "basis stride", -MOST_CUTE_STRIDE, MOST_CUTE_STRIDE, VerificationError)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "mode", whole_numbers(self.mode, "mode of a basis stride", 0, _MOST_MODES - 1))
        if not self.value or not 1 <= len(self.mode) <= MAX_NESTING:
            raise VerificationError(
                f"basis stride {shown(self.value)} along mode {shown(self.mode)}: expected a value other than 0, and a mode"
            )

    def __str__(self) -> str:
        return "@".join(map(str, (self.value, *reversed(self.mode))))

    def __mul__(self, factor: int) -> Stride:
        """So many times this stride; 0 times is the stride 0."""
        times = whole_number(factor, "times", -MOST_CUTE_STRIDE, MOST_CUTE_STRIDE, ConversionError)
        return ScaledBasis(self.value * times, self.mode) if times else 0

    __rmul__ = __mul__


Stride: TypeAlias = int | ScaledBasis
"""How far one factor moves: so many elements, or along a mode of a coordinate."""


def coordinate_sum(steps: Iterable[tuple[int, Stride]], strides: Iterable[Stride]) -> IntTuple:
    """The sum of digits times strides: a number, or a coordinate that has the modes of `strides`.

    >>> coordinate_sum([(2, ScaledBasis(1, (1,)))], [ScaledBasis(1, (1,))])
    (0, 2)
    """
    found = list(strides)
    bases = [one for one in found if isinstance(one, ScaledBasis)]
    if not bases:
        return sum(digit * stride for digit, stride in steps)  # type: ignore[misc]
    if any(not isinstance(one, ScaledBasis) and one for one in found):
        raise ConversionError(
            f"strides {shown([str(one) for one in found])}: a number and a step along a mode do not add up"
        )
    total: dict[int, Any] = {}
    for basis in bases:
        _put(total, basis.mode, 0)
    for digit, stride in steps:
        if isinstance(stride, ScaledBasis):
            _put(total, stride.mode, digit * stride.value)
    return _tuple(total)


def _put(total: dict[int, Any], mode: tuple[int, ...], value: int) -> None:
    *outer, last = mode
    for k in outer:
        total = total.setdefault(k, {})
        if not isinstance(total, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConversionError(f"a step along mode {shown(mode)}, and another along a part of it")
    if isinstance(total.get(last), dict):
        raise ConversionError(f"a step along mode {shown(mode)}, and another along a part of it")
    total[last] = total.get(last, 0) + value


def _tuple(total: dict[int, Any]) -> IntTuple:
    parts: list[Any] = [total.get(k, 0) for k in range(max(total) + 1)]
    return tuple([_tuple(cast("dict[int, Any]", part)) if isinstance(part, dict) else part for part in parts])
