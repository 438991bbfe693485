"""Attribute dictionaries: `{workgroup = [64, 64, 0], mma_kind = #iree_gpu.mma_layout<...>}` as values.

>>> config = read_dictionary(Reader("{reduction = [0, 0, 64], workgroup = [64, 64, 0], unroll}"))
>>> config["workgroup"], config["unroll"] is UNIT
((64, 64, 0), True)
>>> print(config)
{reduction = [0, 0, 64], unroll, workgroup = [64, 64, 0]}

An i64, a truth value and a string are Python's own; an array is a tuple; another number is `Typed` (`2 : i32`); an attribute
of a dialect that layoutalg knows is its value; the rest (types, maps, foreign attributes) is kept as `Raw` text. Entries are
sorted by name, as MLIR sorts them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from struct import pack, unpack
from typing import Any, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.reader import Reader

__all__ = ["UNIT", "Dictionary", "Raw", "Typed", "Value", "read_dictionary", "value_text"]

Value: TypeAlias = Any
"""What an entry holds."""

_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|(?=[eE]))?)(?:[eE][-+]?[0-9]+)?")
_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_BRACKETS = {"<": ">", "(": ")", "[": "]", "{": "}"}
_RAW = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[<>()\[\]{},]|[^"<>()\[\]{},\-]+|-|"')
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class Raw:
    """A piece of MLIR text that layoutalg does not look into.

    >>> str(Raw("vector<4xf32>"))
    'vector<4xf32>'
    """

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Typed:
    """A number with its type: any but i64. An f32 is rounded to one.

    >>> str(Typed(5.3, "f32")), str(Typed(2, "i32"))
    ('5.300000e+00 : f32', '2 : i32')
    """

    value: int | float
    type: str

    def __post_init__(self) -> None:
        if self.type == "f32":
            object.__setattr__(self, "value", _f32(float(self.value)))

    def __str__(self) -> str:
        return f"{_number(self.value, self.type)} : {self.type}"


UNIT = Raw("unit")
"""The value of an entry that is only a name."""


def _number(value: int | float, element: str) -> str:
    if isinstance(value, int):
        return str(value)
    short = f"{value:.6e}"
    if float(short) == value or (element == "f32" and _f32(float(short)) == _f32(value)):
        return short
    return f"{value:.17e}"


def _f32(value: float) -> float:
    try:
        return float(unpack("f", pack("f", value))[0])
    except OverflowError:
        return value


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A frozen dictionary of attributes, its entries sorted by name.

    Raises `VerificationError` for a name that stands twice, in MLIR's words.

    >>> Dictionary((("b", 2), ("a", 1)))["a"]
    1
    """

    entries: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        entries = tuple(sorted(self.entries, key=lambda entry: entry[0]))
        for (name, _), (following, _) in pairwise(entries):
            if name == following:
                raise VerificationError(f"duplicate key '{name}' in dictionary attribute")
        object.__setattr__(self, "entries", entries)

    def __getitem__(self, name: str) -> Value:
        return dict(self.entries)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, name: str, default: Value = None) -> Value:
        """The value of an entry, or `default`.

        >>> Dictionary().get("thread", ())
        ()
        """
        return dict(self.entries).get(name, default)

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> Dictionary((("name", 'say "hi"'), ("size", 4))).text()
        '{name = "say \\\\22hi\\\\22", size = 4 : i64}'
        """
        parts = (
            key(name) if value == UNIT else f"{key(name)} = {value_text(value, dialect)}"
            for name, value in self.entries
        )
        return "{" + ", ".join(parts) + "}"


def key(name: str) -> str:
    """A name as MLIR prints it: quoted where it is no word.

    >>> key("two words")
    '"two words"'
    """
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    def shown(c: str) -> str:
        if c == "\\":
            return "\\\\"
        return c if c != '"' and (c.isprintable() or ord(c) > 255) else f"\\{ord(c):02X}"

    return f'"{"".join(map(shown, text))}"'


def value_text(value: Value, dialect: str | None = None, inside: bool = False) -> str:
    """The MLIR text of a value; the type of an i64 is left out `inside` an array.

    >>> value_text((1, True, "x")), value_text(1)
    ('[1, true, "x"]', '1 : i64')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if inside else f"{value} : i64"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(one, dialect, True) for one in as_tuple(value))}]"
    spelled = getattr(value, "text", None)
    return str(spelled(dialect)) if callable(spelled) else str(value)


def as_tuple(value: Value) -> tuple[Any, ...]:
    """An array's items.

    >>> as_tuple((1, 2))
    (1, 2)
    """
    return tuple(value)


def read_dictionary(reader: Reader, read_attribute: Callable[[Reader], Value] | None = None) -> Dictionary:
    """Read `{name = value, ...}`; `read_attribute` reads what starts with `#`, and returns None to leave it as text.

    Raises `ParseError` with line and column.

    >>> read_dictionary(Reader("{a = 1 : i32, b = array<i64: 1, 2>}"))["b"]
    Raw(text='array<i64: 1, 2>')
    """

    def entries() -> Dictionary:
        reader.expect("{")
        found: list[tuple[str, Value]] = []
        if not reader.accept("}"):
            while True:
                name = reader.accept_string() or reader.word("the name of an entry")
                found.append((name, _value(reader, read_attribute) if reader.accept("=") else UNIT))
                if reader.accept("}"):
                    break
                if not reader.accept(","):
                    reader.fail("',' or '}'")
        return Dictionary(tuple(found))

    return reader.nested(entries)


def _value(reader: Reader, read_attribute: Callable[[Reader], Value] | None) -> Value:
    if reader.looking_at("{"):
        return read_dictionary(reader, read_attribute)
    if reader.looking_at("["):
        return reader.nested(lambda: _array(reader, read_attribute))
    text = reader.accept_string()
    if text is not None:
        return text
    if reader.looking_at("#") and read_attribute is not None:
        found = read_attribute(reader)
        if found is not None:
            return found
    number = _NUMBER.match(reader.text, reader.skip())
    if number is not None:
        return _read_number(reader, number.group())
    start = reader.position
    word = reader.accept_word()
    if word in ("true", "false"):
        if reader.accept(":"):
            reader.one_of(("i1",))
        return word == "true"
    if word == "unit":
        return UNIT
    reader.position = start
    return _raw(reader)


def _array(reader: Reader, read_attribute: Callable[[Reader], Value] | None) -> tuple[Value, ...]:
    reader.expect("[")
    found: list[Value] = []
    if not reader.accept("]"):
        while True:
            found.append(_value(reader, read_attribute))
            if reader.accept("]"):
                break
            if not reader.accept(","):
                reader.fail("',' or ']'")
    return tuple(found)


def _read_number(reader: Reader, digits: str) -> Value:
    start = reader.position
    if len(digits) > _LONGEST:
        reader.fail(f"a number of at most {_LONGEST} characters", f"found one of {len(digits)}", at=start)
    reader.position += len(digits)
    whole = "." not in digits and ("x" in digits or "e" not in digits.lower())
    element = reader.word("the type of a number") if reader.accept(":") else ("i64" if whole else "f64")
    if element[0] == "f" or element == "bf16":
        if whole or not math.isfinite(float(digits)):
            reader.fail("a finite number with a point, such as 1.5", f"found {digits} : {element}", at=start)
        return Typed(float(digits), element)
    if not whole:
        reader.fail("a float type", f"found {digits} : {element}", at=start)
    value = int(digits, 16 if "x" in digits else 10)
    if element == "i1":
        return value != 0
    return value if element == "i64" else Typed(value, element)


def _raw(reader: Reader) -> Raw:
    """Text up to the `,` or closing bracket that ends the value."""
    start = reader.skip()
    open_brackets: list[str] = []
    while reader.position < len(reader.text):
        token = _RAW.match(reader.text, reader.position)
        piece = token.group() if token is not None else ""
        if piece == '"':
            reader.fail("a string that ends on its line", "found one without an end")
        if piece in _BRACKETS:
            if len(open_brackets) >= _LONGEST:
                reader.fail(f"at most {_LONGEST} open brackets", "found one more")
            open_brackets.append(_BRACKETS[piece])
        elif piece in (">", ")", "]", "}", ","):
            if not open_brackets:
                break
            if piece != ",":
                if piece != open_brackets[-1]:
                    reader.fail(f"'{open_brackets[-1]}'")
                open_brackets.pop()
        reader.position += len(piece)
    text = reader.text[start : reader.position].strip()
    if open_brackets:
        reader.fail(f"'{open_brackets[-1]}'")
    if not text:
        reader.fail("a value")
    # A closing word such as `: vector<2xi32>` belongs to the value; layoutalg keeps it with the text.
    return Raw(text)
