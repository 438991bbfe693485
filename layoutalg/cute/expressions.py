"""Expressions of CuTe's algebra, read and evaluated exactly: `logical_divide((8,8):(1,8), 4:2)`.

    expression := name ['<' numbers '>'] '(' [expression {',' expression}] ')'  |  value
    value      := a layout in any of CuTe's texts, a swizzle, a number, '_' or None, a tuple of expressions, or a name: SW128

>>> found = evaluate("composition((6,2):(8,2), coalesce((2,(2,3)):(1,(2,4))))")
>>> print(found.value)
(6,2):(8,2)
>>> [call.operation for call in found.calls]
['coalesce', 'composition']

Calls nest, and each keeps its own explanation. Text is read by our reader and never evaluated by Python. C++'s arguments in
angle brackets come after the others: `upcast<2>(L)` is `upcast(L, 2)`. `SW128`, `SW64`, `SW32` are the swizzles of shared
memory atoms, of addresses in bytes; `Layout_K_SW128_Atom<half_t>` and its like are the atoms, in elements. What C++ writes in
source is read too: `make_layout(make_shape(Int<4>{}, _2{}), make_stride(_1{}, _4{}))`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import signature
from typing import Any, NoReturn

from layoutalg.core.lazy import imported
from layoutalg.core.limits import MOST_CUTE_CALLS as _MOST_CALLS
from layoutalg.core.limits import MOST_CUTE_STRIDE
from layoutalg.core.reader import Reader, did_you_mean
from layoutalg.cute.casting import upcast
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.explaining import OPERATIONS, Explanation, explain
from layoutalg.cute.nested_tuples import compact_strides
from layoutalg.cute.reading import Context, composed, is_int_tuple, read_cute_value, swizzle_of
from layoutalg.cute.swizzles import Swizzle

__all__ = ["Evaluated", "evaluate"]

_NAME = re.compile(r"(?:cute(?:\.|::))?([A-Za-z][A-Za-z0-9_]{0,60})")
_ATOM = re.compile(
    r"(?:cute::)?(?:SM90::)?(?:[GU]MMA::)?Layout_(K|MN)_(INTER|SW32|SW64|SW128)_Atom[ \t]*<[ \t]*(\w{1,20})[ \t]*>(?:\{\})?"
)
_SWIZZLES = {"SW128": 3, "SW64": 2, "SW32": 1, "INTER": 0}
"""The bits of a shared memory atom's swizzle `Sw<bits,4,3>`, by its name; INTER has none."""
_ELEMENTS = {
    "half_t": 16, "bfloat16_t": 16, "float": 32, "tfloat32_t": 32, "double": 64, "uint8_t": 8, "int8_t": 8,
    "uint16_t": 16, "int16_t": 16, "uint32_t": 32, "int32_t": 32, "uint64_t": 64, "float_e4m3_t": 8, "float_e5m2_t": 8,
}  # fmt: skip
_ALSO = {"compose": "composition", "recast_layout": "recast", "slice_": "slice"}
"""Other names of operations: tensor-layouts', C++'s, CuTe DSL's."""
_TUPLES = ("make_shape", "make_stride", "make_coord", "make_tile", "make_tuple")
"""C++'s names for a tuple."""
_KEYWORD = re.compile(r"([a-z_]{1,30})[ \t]*=(?!=)")
_KEYWORDS = {
    "make_layout": ("shape", "stride"), "make_ordered_layout": ("shape", "order"), "coalesce": ("input", "target_profile"),
    "complement": ("input", "cotarget"), "composition": ("lhs", "rhs"), "make_composed_layout": ("inner", "offset", "outer"),
}  # fmt: skip
"""CuTe DSL's names of arguments, in their order."""
_OF_A_SHAPE = ("size", "rank", "depth", "crd2idx", "idx2crd", "crd2crd", "slice", "slice_and_offset", "dice")
"""What takes a tuple that is not a layout as its first argument; elsewhere it is the compact layout of that shape."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An expression's text and value, and the explanation of each call in it, inner ones first.

    >>> evaluate("4:2").calls
    ()
    """

    text: str
    value: Any
    calls: tuple[Explanation, ...]

    def __str__(self) -> str:
        return "\n".join([str(call) for call in self.calls] or [str(self.value)])


def evaluate(expression: str) -> Evaluated:
    """Read an expression of CuTe's operations, and evaluate it exactly.

    Raises `ParseError` with line and column, also for an unknown operation; what the operations raise where they refuse.

    >>> print(evaluate("logical_divide((8,8):(1,8), 4:2)").value)
    (4,(2,8)):(2,(1,8))
    >>> evaluate("logical_divid((8,8):(1,8), 4:2)")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 1: expected an operation of CuTe or a value, found 'logical_divid'; did you
    mean logical_divide?
    """
    reader = Reader(expression)
    calls: list[Explanation] = []
    context = Context(lambda context: _call(reader, context, calls))
    value = read_cute_value(reader, context)
    reader.finish()
    return Evaluated(expression, value, tuple(calls))


def _call(reader: Reader, context: Context, calls: list[Explanation]) -> tuple[Any] | None:
    """A call, or a name that stands for a value; None where the text goes on with neither."""
    start = reader.skip()
    if (atom := _ATOM.match(reader.text, start)) is not None and atom[3] in _ELEMENTS:
        reader.position = atom.end()
        return (_memory_atom(atom[1], atom[2], _ELEMENTS[atom[3]]),)
    named = _NAME.match(reader.text, start)
    if named is None or named[1] == "None":
        return None
    name = _ALSO.get(named[1], named[1])
    if name in _SWIZZLES:
        reader.position = named.end()
        return (Swizzle(_SWIZZLES[name], 4, 3),)
    if name in (*_TUPLES, "make_swizzle", "make_composed_layout"):
        reader.position = named.end()
        given = reader.nested(lambda: _arguments(reader, context, name))
        return (tuple(given) if name in _TUPLES else _swizzled(reader, start, name, given),)
    if name not in OPERATIONS:
        _unknown(reader, start, named[1])
    reader.position = named.end()
    return (reader.nested(lambda: _explained(reader, context, calls, name, start)),)


def _swizzled(reader: Reader, start: int, name: str, given: list[Any]) -> Any:
    """CuTe DSL's `make_swizzle(3, 4, 3)`, and `make_composed_layout(swizzle, offset, layout)`."""
    numbers = name == "make_swizzle"
    if len(given) != 3 or (numbers and not all(isinstance(one, int) and abs(one) <= 62 for one in given)):
        wanted = "make_swizzle(bits, base, shift)" if numbers else "make_composed_layout(swizzle, offset, layout)"
        reader.fail(wanted, f"found {len(given)} arguments" if len(given) != 3 else "found others", at=start)
    return swizzle_of(reader, start, given) if numbers else composed(reader, start, given)


def _unknown(reader: Reader, start: int, name: str) -> NoReturn:
    known = (*OPERATIONS, *_ALSO, *_SWIZZLES)
    hint = did_you_mean(name, known) or f"; the operations are {', '.join(OPERATIONS)}"
    if name.startswith("print"):
        hint = (
            ": a value is printed as it is; `layoutalg cute EXPRESSION -o FILE` draws it, as .tex (print_latex) or .svg"
        )
    reader.fail("an operation of CuTe or a value", f"found {name!r}{hint}", at=start)


def _explained(reader: Reader, context: Context, calls: list[Explanation], name: str, start: int) -> Any:
    """Read the arguments of a call, and run it."""
    last: list[int] = []
    if reader.accept("<"):
        while not reader.accept(">"):
            if last:
                reader.expect(",")
            last.append(reader.integer(-MOST_CUTE_STRIDE, MOST_CUTE_STRIDE))
    given = _arguments(reader, context, name)
    if len(calls) == _MOST_CALLS:
        reader.fail(f"at most {_MOST_CALLS} calls", "found one more", at=start)
    if given and name not in _OF_A_SHAPE and not name.startswith("make_") and is_int_tuple(given[0]):
        given[0] = CuteLayout(given[0], compact_strides(given[0], 1)[0])
    takes = signature(getattr(imported("layoutalg.cute"), name))
    try:
        takes.bind(*given, *last)
    except TypeError:
        reader.fail(f"{name}({', '.join(takes.parameters)})", f"found {len(given) + len(last)} arguments", at=start)
    found = explain(name, *given, *last)
    calls.append(found)
    return found.result


def _arguments(reader: Reader, context: Context, name: str) -> list[Any]:
    """The arguments of a call; one that is named stands where its name belongs."""
    found: list[Any] = []
    reader.expect("(")
    while not reader.accept(")"):
        if found and not reader.accept(","):
            reader.fail("',' or ')'")
        if (keyword := _KEYWORD.match(reader.text, reader.skip())) is not None:
            names = _KEYWORDS.get(name, ())
            if names[len(found) : len(found) + 1] != (keyword[1],):
                wanted = f"{name}({', '.join(names)})" if names else f"arguments of {name} without names"
                reader.fail(wanted, f"found {keyword[1]!r} as argument {len(found) + 1}")
            reader.position = keyword.end()
        found.append(read_cute_value(reader, context))
    return found


def _memory_atom(major: str, name: str, bits: int) -> CuteLayout:
    """A shared memory atom of GMMA and UMMA in elements: 8 rows of 16, 32, 64 or 128 bytes; MN-major is its transpose.

    Source: CUTLASS, include/cute/atom/mma_traits_sm90_gmma.hpp; tests/oracle asks its headers.

    >>> print(_memory_atom("K", "SW128", 16), _memory_atom("MN", "SW32", 32))
    Sw<3,3,3> o 0 o (8,64):(64,1) Sw<1,2,3> o 0 o (8,8):(1,8)
    """
    swizzle, row = _SWIZZLES[name], 128 << _SWIZZLES[name]
    shape, stride = ((8, row), (row, 1)) if major == "K" else ((row, 8), (1, row))
    return upcast(CuteLayout(shape, stride, (swizzle, 7, 3)), bits)
