"""CuTe's texts, as C++, Python and MLIR print them, read into values.

One layout has a text in each language, and each is read:

| who | layout | composed |
|---|---|---|
| C++ | `(_4,(_2,_3)):(_6,(_3,_1))` | `Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)` |
| C++ source | `Layout<Shape<_4,Shape<_2,_3>>,Stride<_6,Stride<_3,_1>>>` | |
| Python | `(4, (2, 3)):(6, (3, 1))`, `Layout((4, (2, 3)),(6, (3, 1)))` | `SW_3_4_3 o 0 o (8, 64):(64, 1)` |
| CuTe DSL | `(4,(2,3)):(6,(3,1))` | `S<3,4,3> o 0 o (8,64):(64,1)` |
| MLIR | `!cute.layout<"(4,(2,3)):(6,(3,1))">` | `!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">` |

    layout   := tuple ':' tuple, of one form; without strides, the compact column-major ones
    tuple    := number | '(' tuple {',' tuple} [','] ')'      (4) and (4,) are tuples of one, not 4
    number   := ['_'] ['-'] digits {'@' digits}               1@0 and 1@1@0 are strides along a coordinate
    composed := outer 'o' offset 'o' layout                   outer: a swizzle or a layout

>>> print(parse_cute("Layout((4, (2, 3)),(6, (3, 1)))"))
(4,(2,3)):(6,(3,1))
>>> print(parse_cute("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))
Sw<3,3,3> o 0 o (8,64):(64,1)

A shared memory atom swizzles the address in bytes: `smem_ptr[16b]` says how long an element is, and the swizzle that is read
is the one of elements. A number that is known at run time alone (`?`) is refused: every answer here is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.lazy import imported
from layoutalg.core.limits import MAX_EXTENT, MAX_NESTING, MOST_CUTE_STRIDE, MOST_LEAVES
from layoutalg.core.reader import Reader, did_you_mean
from layoutalg.core.whole_numbers import whole_numbers
from layoutalg.cute.bases import ScaledBasis
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.nested_tuples import compact_strides, tuple_text
from layoutalg.cute.swizzles import Swizzle

__all__ = [
    "Context",
    "CuteValue",
    "composed",
    "is_int_tuple",
    "kind_of",
    "parse_cute",
    "read_cute",
    "read_cute_value",
    "swizzle_of",
]

CuteValue: TypeAlias = Any
"""What a text of CuTe is: a layout, a composed layout, a swizzle, a number, None for `_`, or a tuple of such."""

_TYPE = re.compile(r"!cute\.([A-Za-z_]{1,40})")
_TYPES = ("layout", "composed_layout", "swizzle", "shape", "stride", "coord", "tile", "int_tuple")
_SWIZZLE = re.compile(r"(?:Sw|S|Swizzle)[ \t]*(?=<)|Swizzle[ \t]*(?=\()")
_SWIZZLE_NAME = re.compile(r"SW_([0-9]{1,3})_([0-9]{1,3})_(-?[0-9]{1,3})(?![A-Za-z0-9_])")
_OBJECT = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,40}\.){0,4}(Layout|ComposedLayout|Composed)[ \t]*(?=\()")
_CPP = re.compile(r"(?:cute::)?(Layout|Shape|Stride|Coord|Step|Tile|tuple|Int|C)[ \t]*(?=<)")
_POINTER = re.compile(r"(?:[sgrt]mem_)?ptr\[([0-9]{1,3})b\]\((?:unset|0x[0-9a-fA-F]{1,16}|nil|\(nil\))\)")
_COMPOSE = re.compile(r"o(?![A-Za-z0-9_])|\N{RING OPERATOR}")
_NONE = re.compile(r"None(?![A-Za-z0-9_])|_(?![A-Za-z0-9_-])")
_DIGIT = re.compile(r"-?[0-9]")
_KEYWORD = re.compile(r"(shape|stride|outer|inner|offset)[ \t]*=(?!=)")
_A_LAYOUT = "a layout, such as (4,8):(8,1)"
_MOST_PARTS = 64
_MOST_MODE = 63


class Context:
    """What goes along while one text is read: how many numbers there were, and what reads a call (None: no calls here).

    `call` reads a call or a name and gives its value as a tuple of one, or gives None where neither comes next.
    """

    __slots__ = ("call", "numbers")

    def __init__(self, call: Callable[[Context], tuple[CuteValue] | None] | None = None) -> None:
        self.call = call
        self.numbers = 0


def parse_cute(text: str, tile: Sequence[int] | None = None, subgroup_size: int | None = None) -> CuteLayout:
    """Read a layout of CuTe in any of its texts: `((_4,_8),_2):((_32,_1),_16)`, `Layout((4, 2),(1, 4))`, `!cute.layout<"..">`.

    Without strides they are the compact column-major ones. `tile` and `subgroup_size` stand beside a thread-value layout.

    Raises `ParseError` with line and column; `VerificationError` where shape and stride are not of one form.

    >>> print(parse_cute("((_4,_8), (_2,_2)) : ((_32,_1), (_16,_8))"))
    ((4,8),(2,2)):((32,1),(16,8))
    >>> print(parse_cute("Sw<3,3,3> o 0 o (8,64):(64,1)"))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    """
    reader = Reader(text)
    value = read_cute(reader, tile, subgroup_size)
    reader.finish()
    return value


def read_cute(reader: Reader, tile: Sequence[int] | None = None, subgroup_size: int | None = None) -> CuteLayout:
    """Read one CuTe layout and leave the reader behind it."""
    start = reader.skip()
    value = read_cute_value(reader)
    kind = _TYPE.match(reader.text, start)
    if kind is not None and kind[1] in _TYPES[2:]:
        what = kind[1].replace("_", " ")
        reader.fail('a layout, such as !cute.layout<"(4,8):(8,1)">', f"found a {what}, which is not a layout", at=start)
    if is_int_tuple(value):
        value = _layout(reader, start, value, None)
    if not isinstance(value, CuteLayout):
        hint = "; compose it: Sw<3,3,3> o 0 o (8,64):(64,1)" if isinstance(value, Swizzle) else ""
        reader.fail(_A_LAYOUT, f"found {kind_of(value)}, which is not a layout{hint}", at=start)
    if tile is None and subgroup_size is None:
        return value
    return replace(
        value,
        tile=None if tile is None else whole_numbers(tile, "tile", 1, MAX_EXTENT),
        subgroup_size=subgroup_size,
    )


def read_cute_value(reader: Reader, context: Context | None = None) -> CuteValue:
    """Read whatever CuTe prints: a layout, a swizzle, a number, `_`, a tuple of such; and leave the reader behind it.

    >>> read_cute_value(Reader("(2,_)")), read_cute_value(Reader("_4"))
    ((2, None), 4)
    """
    context = Context() if context is None else context
    start = reader.skip()
    parts = [_read_part(reader, context)]
    while (sign := _COMPOSE.match(reader.text, reader.skip())) is not None:
        if len(parts) == _MOST_PARTS:
            reader.fail(f"at most {_MOST_PARTS} layouts composed in one text", "found one more")
        reader.position = sign.end()
        pointer = _POINTER.match(reader.text, reader.skip())
        if pointer is None:
            parts.append(_read_part(reader, context))
            continue
        reader.position = pointer.end()
        parts[-1] = _of_elements(reader, start, _unwrapped(parts[-1]), int(pointer[1]))
        parts.append(0)
    return parts[0] if len(parts) == 1 else composed(reader, start, parts)


def kind_of(value: CuteValue) -> str:
    """What a value is, for a message.

    >>> kind_of((4, 2)), kind_of(4), kind_of(None)
    ('a tuple', 'a number', "'_'")
    """
    if isinstance(value, CuteLayout):
        return "a layout"
    if isinstance(value, tuple):
        return "a tuple"
    if isinstance(value, ScaledBasis):
        return "a step along a coordinate"
    return "'_'" if value is None else "a number" if isinstance(value, int) else "a swizzle"


def is_int_tuple(value: object) -> bool:
    """Whether a value is a number, or a tuple of such.

    >>> is_int_tuple((4, (2, 3))), is_int_tuple((4, None))
    (True, False)
    """
    if isinstance(value, tuple):
        return all(map(is_int_tuple, cast("tuple[object, ...]", value)))
    return type(value) is int


def _read_part(reader: Reader, context: Context) -> CuteValue:
    """A value without a composition."""
    start = reader.skip()
    if (kind := _TYPE.match(reader.text, start)) is not None:
        return _read_type(reader, kind, context)
    if (found := _SWIZZLE_NAME.match(reader.text, start)) is not None:
        reader.position = found.end()
        return swizzle_of(reader, start, [int(one) for one in found.groups()])
    if (found := _SWIZZLE.match(reader.text, start)) is not None:
        reader.position = found.end()
        return _read_swizzle(reader, start)
    if (found := _OBJECT.match(reader.text, start)) is not None:
        reader.position = found.end()
        return reader.nested(lambda: _read_object(reader, start, found[1], context))
    if (found := _CPP.match(reader.text, start)) is not None:
        reader.position = found.end()
        return reader.nested(lambda: _read_cpp(reader, start, found[1], context))
    if context.call is not None and (called := context.call(context)) is not None:
        return called[0]
    value = _read_tuple(reader, context)
    if reader.accept(":"):
        if not is_int_tuple(value):
            reader.fail("a shape of numbers before ':'", f"found {kind_of(value)} of others", at=start)
        return _layout(reader, start, value, _read_tuple(reader, context))
    return value


def _read_tuple(reader: Reader, context: Context) -> CuteValue:
    """A number, `_`, or a tuple: `(4,2)`, or of a tiler also `<4:1,2:1>` and `[4:1;2:1]`."""
    for left, right in (("(", ")"), ("<", ">"), ("[", "]")):
        if reader.accept(left):
            return reader.nested(lambda end=right: _read_items(reader, end, context))
    context.numbers += 1
    if context.numbers > MOST_LEAVES:
        reader.fail(f"at most {MOST_LEAVES} numbers", "found one more")
    if (none := _NONE.match(reader.text, reader.skip())) is not None:
        reader.position = none.end()
        return None
    return _read_number(reader)


def _read_items(reader: Reader, end: str, context: Context) -> tuple[CuteValue, ...]:
    items: list[CuteValue] = []
    while not reader.accept(end):
        if items:
            if not reader.accept(";" if end == "]" else ","):
                reader.fail(f"',' or '{end}'")
            if end != "]" and reader.accept(end):
                break
        items.append(read_cute_value(reader, context))
    return tuple(items)


def _read_number(reader: Reader) -> CuteValue:
    """A number, static or not, perhaps along a coordinate: `_8`, `-1`, `1@0@1`."""
    start = reader.skip()
    if reader.text.startswith("?", start):
        reader.fail("a number", "found '?', known at run time alone: write the number that it is then", at=start)
    static = reader.accept("_")
    if static and _DIGIT.match(reader.text, reader.position) is None:
        reader.fail("a number after '_'")
    value = reader.accept_integer(-MOST_CUTE_STRIDE, MOST_CUTE_STRIDE)
    if value is None:
        reader.fail("a number, '_', a tuple such as (4,2), or a layout such as (4,8):(8,1)")
    if static:
        reader.accept("{}")
    path: list[int] = []
    while reader.accept("@"):
        path.append(reader.integer(0, MOST_LEAVES))
        if len(path) > MAX_NESTING:
            reader.fail(f"at most {MAX_NESTING} levels of nesting", "found one more")
    if path and max(path) > _MOST_MODE:
        reader.fail(f"modes from 0 to {_MOST_MODE}", f"found {max(path)}", at=start)
    # CuTe prints the outermost mode last. A step of 0 goes nowhere: it is the stride 0.
    return ScaledBasis(value, tuple(reversed(path))) if path and value else value


def _read_type(reader: Reader, kind: re.Match[str], context: Context) -> CuteValue:
    """`!cute.layout<"...">`: the text inside is the same as elsewhere; a shape alone is a layout here."""
    if kind[1] not in _TYPES:
        names = ", ".join(f"!cute.{name}" for name in _TYPES)
        reader.fail(
            f"a type of CuTe, {names}", f"found '!cute.{kind[1]}'{did_you_mean(kind[1], _TYPES)}", at=kind.start()
        )
    reader.position = kind.end()
    reader.expect("<")
    reader.expect('"')
    start = reader.skip()
    value = reader.nested(lambda: read_cute_value(reader, context))
    reader.expect('"')
    reader.expect(">")
    if kind[1] == "layout" and is_int_tuple(value):
        return _layout(reader, start, value, None)
    wrong = (
        not isinstance(value, CuteLayout)
        if kind[1] in _TYPES[:2]
        else not isinstance(value, Swizzle)
        if kind[1] == "swizzle"
        else isinstance(value, (CuteLayout, Swizzle)) and kind[1] != "tile"
    )
    if wrong:
        reader.fail(f"a {kind[1].replace('_', ' ')}", f"found {kind_of(value)}", at=start)
    return value


def _read_cpp(reader: Reader, start: int, name: str, context: Context) -> CuteValue:
    """A type as C++ writes it, perhaps as a value: `Layout<Shape<_4,_8>,Stride<_32,_1>>{}`, `Shape<_4,_8>`, `Int<4>{}`."""
    reader.expect("<")
    items = _read_items(reader, ">", context)
    reader.accept("{}")
    if name in ("Int", "C"):
        if len(items) != 1 or not isinstance(items[0], int):
            reader.fail(f"{name}<number>", at=start)
        return items[0]
    if name != "Layout":
        return items
    if not 1 <= len(items) <= 2 or not is_int_tuple(items[0]):
        reader.fail("Layout<Shape<..>,Stride<..>>", f"found {len(items)} arguments", at=start)
    return _layout(reader, start, items[0], items[1] if len(items) == 2 else None)


def _read_object(reader: Reader, start: int, name: str, context: Context) -> CuteValue:
    """What Python's `repr` prints: `Layout(shape, stride)`, `ComposedLayout(outer, offset, layout)`, or `offset=0` last."""
    reader.expect("(")
    parts: list[CuteValue] = []
    offset: CuteValue = None
    while not reader.accept(")"):
        if parts:
            reader.expect(",")
            if reader.accept(")"):
                break
        if (named := _KEYWORD.match(reader.text, reader.skip())) is not None:
            reader.position = named.end()
            if named[1] == "offset":
                offset = read_cute_value(reader, context)
                reader.expect(")")
                break
        parts.append(read_cute_value(reader, context))
        if len(parts) > 3:
            reader.fail(f"the end of {name}(..)", "found one argument more")
    if name == "Layout":
        if not 1 <= len(parts) <= 2 or not is_int_tuple(parts[0]):
            reader.fail("Layout(shape, stride)", f"found {len(parts)} arguments", at=start)
        return _layout(reader, start, parts[0], parts[1] if len(parts) == 2 else None)
    if len(parts) == 2:
        parts.insert(1, 0 if offset is None else offset)
    if len(parts) != 3:
        reader.fail(f"{name}(outer, offset, layout)", f"found {len(parts)} arguments", at=start)
    return composed(reader, start, parts)


def _read_swizzle(reader: Reader, start: int) -> Swizzle:
    """The numbers of `Sw<3,4,3>` or `Swizzle(3,4,3)`; CuTe DSL 4.8 prints no `>` behind a negative shift."""
    end = ")" if reader.accept("(") else ">"
    if end == ">":
        reader.expect("<")
    numbers = [reader.integer(-62, 62)]
    for _ in range(2):
        reader.expect(",")
        numbers.append(reader.integer(-62, 62))
    if not (end == ">" and numbers[2] < 0 and _COMPOSE.match(reader.text, reader.skip()) is not None):
        reader.expect(end)
    if end == ">":
        reader.accept("{}")
    return swizzle_of(reader, start, numbers)


def _unwrapped(value: CuteValue) -> CuteValue:
    """A layout or a swizzle in parentheses, as tensor-layouts prints the parts of a composition, is that layout."""
    items = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
    return items[0] if len(items) == 1 and isinstance(items[0], (CuteLayout, Swizzle)) else cast("CuteValue", value)


def _of_elements(reader: Reader, start: int, swizzle: CuteValue, bits: int) -> Swizzle:
    """The swizzle of elements, of one that `smem_ptr` says to be of bytes."""
    if not isinstance(swizzle, Swizzle):
        reader.fail("a swizzle before a pointer", f"found {kind_of(swizzle)}", at=start)
    if bits not in (1, 2, 4, 8, 16, 32, 64, 128):
        reader.fail("a pointer to elements of 1, 2, 4, 8, 16, 32, 64 or 128 bits", f"found {bits} bits", at=start)
    base = swizzle.base - (bits.bit_length() - 1 - 3)
    if not swizzle.bits:
        base = max(base, 0)
    if base < 0:
        reader.fail(
            f"a swizzle that leaves elements of {bits} bits whole",
            f"found {swizzle}, which moves parts of one",
            at=start,
        )
    return swizzle_of(reader, start, [swizzle.bits, base, swizzle.shift])


def swizzle_of(reader: Reader, start: int, numbers: Sequence[int]) -> Swizzle:
    """A swizzle of three numbers, or an error that points at it."""
    try:
        return Swizzle(*numbers)
    except LayoutError:
        bits, base, shift = numbers
        problem = f"found <{bits},{base},{shift}>"
        reader.fail("a swizzle of bits >= 0, base >= 0, |shift| >= bits, all within 62 bits", problem, at=start)


def _layout(reader: Reader, start: int, shape: CuteValue, stride: CuteValue) -> CuteLayout:
    """A layout; without strides the compact column-major ones."""
    low = next((n for n in _numbers(shape) if not 1 <= n <= MOST_CUTE_STRIDE), None)
    if low is not None:
        reader.fail("extents from 1 to 2^62", f"found {low}", at=start)
    if stride is None:
        return CuteLayout(shape, compact_strides(shape, 1)[0])
    if not _is_stride(stride):
        reader.fail("strides: numbers, or steps such as 1@0", f"found {kind_of(stride)}", at=start)
    return CuteLayout(shape, stride)


def _numbers(value: CuteValue) -> list[int]:
    if isinstance(value, tuple):
        return [n for part in cast("tuple[Any, ...]", value) for n in _numbers(part)]
    return [value]


def _is_stride(value: CuteValue) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_stride, cast("tuple[Any, ...]", value)))
    return isinstance(value, (int, ScaledBasis))


def composed(reader: Reader, start: int, parts: Sequence[CuteValue]) -> CuteLayout:
    """What stands between the signs, composed: a layout last, before it an offset (0 unless written) and an outer one."""
    left = [_unwrapped(part) for part in parts]
    inner = left.pop()
    if not isinstance(inner, CuteLayout):
        if _is_shape(inner):
            reader.expect(":")
        reader.fail(f"{_A_LAYOUT}, behind the last 'o'", f"found {kind_of(inner)}", at=start)
    while left:
        offset = left.pop() if is_int_tuple(left[-1]) else 0
        if not left or not isinstance(left[-1], (CuteLayout, Swizzle)):
            reader.fail("a swizzle or a layout before 'o'", f"found {kind_of(left[-1] if left else offset)}", at=start)
        inner = _compose(reader, start, left.pop(), offset, inner)
    return inner


def _is_shape(value: CuteValue) -> bool:
    return isinstance(value, tuple) and is_int_tuple(cast("object", value))


def _compose(reader: Reader, start: int, outer: CuteValue, offset: CuteValue, inner: CuteLayout) -> CuteLayout:
    """`outer o offset o inner`: a swizzle stays in front, with the offset inside it; a layout is composed."""
    if isinstance(outer, Swizzle) and isinstance(offset, int) and inner.swizzle is None:
        if not 0 <= offset <= MOST_CUTE_STRIDE:
            reader.fail("an offset from 0 on", f"found {offset}", at=start)
        return CuteLayout(inner.shape, inner.stride, (outer.bits, outer.base, outer.shift), offset)
    if offset:
        reader.fail("an offset inside a swizzle alone", f"found {tuple_text(offset)} between two layouts", at=start)
    # The algebra reads texts, and a text may hold a composition of layouts.
    return cast("CuteLayout", imported("layoutalg.cute.composing").composition(outer, inner))
