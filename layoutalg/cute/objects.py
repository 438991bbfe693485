"""Objects of other CuTe libraries as values: pycute's and tensor-layouts' layouts, swizzles and compositions.

Neither package is imported: an object is known by the module of its class, and read by its attributes. pycute has `shape`,
`stride`; `bits`, `base`, `shift`; and `layoutB` after `offset` after `layoutA`. tensor-layouts has the same of layouts and
swizzles, and `outer`, `offset`, `inner`. Whatever takes a value of a notation takes such an object.

>>> is_cute_object((4, 2)), is_cute_object(la.Layout.parse("d0 = 4@lane"))
(False, False)

Law: the value gives each coordinate the index that the object gives it (tests/oracle/test_cute_objects.py asks both).
"""

from __future__ import annotations

from typing import Any

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.limits import MAX_NESTING, MOST_CUTE_STRIDE
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.cute.composing import composition
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.swizzles import Swizzle

__all__ = ["is_cute_object", "layout_of", "value_of_object"]

_PACKAGES = ("pycute", "tensor_layouts")


def is_cute_object(value: object) -> bool:
    """Whether a value is an object of pycute or of tensor-layouts, or of a class made from one of theirs."""
    return any(kind.__module__.partition(".")[0] in _PACKAGES for kind in type(value).__mro__)


def layout_of(value: object) -> CuteLayout:
    """The layout that an object of another library is.

    Raises `ConversionError` for a swizzle alone, and for objects that are no layout.

    >>> layout_of(7)
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: 7 of type int: expected a layout of pycute or of tensor-layouts
    """
    found = value_of_object(value)
    if not isinstance(found, CuteLayout):
        raise ConversionError(f"{found}: a swizzle alone is not a layout; compose it with one")
    return found


def value_of_object(value: object) -> CuteLayout | Swizzle:
    """The layout or the swizzle that an object of another library is."""
    if not is_cute_object(value):
        raise ConversionError(
            f"{shown(value)} of type {type(value).__name__}: expected a layout of pycute or of tensor-layouts"
        )
    return _value(value, 0)


def _value(value: Any, deep: int) -> Any:
    if deep > MAX_NESTING:
        raise ConversionError(f"a composition nested more than {MAX_NESTING} deep")
    try:
        if _all(value, "bits", "base", "shift"):
            return Swizzle(*(_number(getattr(value, name), name) for name in ("bits", "base", "shift")))
        for outer, inner in (("layoutB", "layoutA"), ("outer", "inner")):
            if _all(value, outer, inner, "offset"):
                return _composed(getattr(value, outer), getattr(value, inner), value.offset, deep)
        if _all(value, "shape", "stride"):
            return CuteLayout(_tuple(value.shape, "shape", 0), _tuple(value.stride, "stride", 0))
    except LayoutError:
        raise
    except Exception as error:  # somebody else's attributes may raise anything
        raise ConversionError(f"an object of {type(value).__name__} that cannot be read: {shown(error)}") from None
    raise ConversionError(f"{shown(value)} of type {type(value).__name__}: expected a layout or a swizzle")


def _all(value: Any, *names: str) -> bool:
    return all(hasattr(value, name) for name in names)


def _composed(outer: Any, inner: Any, offset: Any, deep: int) -> Any:
    first, second = _value(outer, deep + 1), _value(inner, deep + 1)
    start = _number(offset, "offset")
    if isinstance(first, Swizzle) and isinstance(second, CuteLayout) and second.swizzle is None:
        return composition(first, start, second)
    if start:
        raise ConversionError(f"{first} o {start} o {second}: an offset is taken inside a swizzle alone")
    return composition(first, second)


def _number(value: object, what: str) -> int:
    return whole_number(value, what, -MOST_CUTE_STRIDE, MOST_CUTE_STRIDE, ConversionError)


def _tuple(value: Any, what: str, deep: int) -> Any:
    if isinstance(value, (tuple, list)):
        if deep > MAX_NESTING:
            raise ConversionError(f"a {what} nested more than {MAX_NESTING} deep")
        return tuple([_tuple(one, what, deep + 1) for one in value])  # pyright: ignore[reportUnknownVariableType]
    return _number(value, what)
