"""The texts of CuTe's values, as C++, Python and MLIR print them: the way back from `reading`.

>>> layout = la.parse_cute("(4,(2,3)):(6,(3,1))")
>>> for style in STYLES:
...     print(text(layout, style))
(_4,(_2,_3)):(_6,(_3,_1))
(4, (2, 3)):(6, (3, 1))
!cute.layout<"(4,(2,3)):(6,(3,1))">

C++ writes `_` before what it knows when it compiles, and every number is known here. MLIR names the type of what stands inside.
Law: `read_cute_value` reads each of the three texts as the value.
"""

from __future__ import annotations

from typing import Any, cast

from layoutalg.core.errors import ConversionError
from layoutalg.core.limits import MAX_NESTING
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import one_of
from layoutalg.cute.bases import ScaledBasis
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.swizzles import Swizzle

__all__ = ["MOST_BITS", "STYLES", "text"]

MOST_BITS = 128
"""Of a number that has a text: what `number_text` writes in full."""
STYLES = ("c++", "python", "mlir")


def text(value: Any, style: str = "c++") -> str:
    """The text of a layout, a swizzle, a number, a tuple of such or None (`_`), as C++, Python or MLIR prints it.

    Raises `ConversionError` for another style and for what is no value of CuTe.

    >>> swizzled = la.parse_cute("Sw<3,3,3> o 0 o (8,64):(64,1)")
    >>> print(text(swizzled), text(swizzled, "python"), text(swizzled, "mlir"), sep="\\n")
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1)
    SW_3_3_3 o 0 o (8, 64):(64, 1)
    !cute.composed_layout<"S<3,3,3> o 0 o (8,64):(64,1)">
    >>> text((4, (2,)), "python"), text((1, None), "mlir"), text(la.parse_cute("(4,5):(1@0,-1@0@1)"))
    ('(4, (2,))', '!cute.coord<"(1,_)">', '(_4,_5):(_1@0,_-1@0@1)')
    """
    one_of(style, STYLES, "style", ConversionError)
    return f'!cute.{_kind(value, 0)}<"{_text(value, style, 0)}">' if style == "mlir" else _text(value, style, 0)


def _text(value: Any, style: str, deep: int) -> str:
    if deep > MAX_NESTING:
        raise ConversionError(f"text of a value nested more than {MAX_NESTING} deep")
    if isinstance(value, CuteLayout):
        plain = f"{_text(value.shape, style, deep)}:{_text(value.stride, style, deep)}"
        if value.swizzle is None:
            return plain
        return f"{_text(Swizzle(*value.swizzle), style, deep)} o {_text(value.offset, style, deep)} o {plain}"
    if isinstance(value, Swizzle):
        numbers = (value.bits, value.base, value.shift)
        if style == "python":
            return "_".join(map(str, ("SW", *numbers)))
        return f"{'S' if style == 'mlir' else 'Sw'}<{','.join(map(str, numbers))}>"
    if isinstance(value, tuple):
        items = [_text(one, style, deep + 1) for one in cast("tuple[Any, ...]", value)]
        if style == "python":
            return f"({', '.join(items)}{',' * (len(items) == 1)})"
        return f"[{';'.join(items)}]" if style == "mlir" and _is_tile(value) else f"({','.join(items)})"
    if value is None:
        return "None" if style == "python" else "_"
    if (type(value) is int and value.bit_length() <= MOST_BITS) or isinstance(value, ScaledBasis):
        return f"{'_' * (style == 'c++')}{value}"
    raise ConversionError(f"text of {shown(value)}: expected a layout, a swizzle, a number or a tuple of CuTe")


def _kind(value: Any, deep: int) -> str:
    """The name of a value's type in MLIR."""
    if isinstance(value, CuteLayout):
        return "layout" if value.swizzle is None else "composed_layout"
    if isinstance(value, Swizzle):
        return "swizzle"
    if _is_tile(value):
        return "tile"
    if isinstance(value, ScaledBasis) or _has(value, ScaledBasis, deep):
        return "stride"
    return "coord" if value is None or _has(value, type(None), deep) else "int_tuple"


def _is_tile(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(one, CuteLayout) for one in cast("tuple[Any, ...]", value))


def _has(value: Any, kind: type, deep: int) -> bool:
    if isinstance(value, tuple) and deep <= MAX_NESTING:
        return any(_has(one, kind, deep + 1) for one in cast("tuple[Any, ...]", value))
    return isinstance(value, kind)
