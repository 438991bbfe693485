"""Attribute dictionaries: `{workgroup = [64, 64, 0], mma_kind = #iree_gpu.mma_layout<...>}` as values.

>>> config = read_dictionary(Reader("{reduction = [0, 0, 64], workgroup = [64, 64, 0], unroll}"))
>>> config["workgroup"], config["unroll"] is UNIT
((64, 64, 0), True)
>>> print(config)
{reduction = [0, 0, 64], unroll, workgroup = [64, 64, 0]}

An i64, a truth value and a string are Python's own; an array is a tuple; another number is `Typed` (`2 : i32`); an attribute
of a dialect that layoutalg knows is its value; the rest (types, maps, foreign attributes) is kept as `Raw` text, up to where
MLIR ends it. Entries are sorted by name, as MLIR sorts them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MAX_NESTING
from layoutalg.core.limits import MOST_KEYS as _LONGEST
from layoutalg.core.messages import shown
from layoutalg.core.notation import Notation
from layoutalg.core.reader import Reader

__all__ = [
    "UNIT",
    "Dictionary",
    "Raw",
    "Typed",
    "Value",
    "is_attribute",
    "number_text",
    "read_dictionary",
    "read_value",
    "value_text",
    "verify_value",
]

Value: TypeAlias = Any
"""What an entry holds."""

_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_BRACKETS = {"<": ">", "(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[<>]=|[<>()\[\]{}]|[^"<>()\[\]{}\-]+|-|"')
_NAME = re.compile(
    r'@(?:[\w$.]+|"[^"\n]*")(?:::@(?:[\w$.]+|"[^"\n]*"))*|[#!](?:[\w$.]+|"[^"\n]*")|[A-Za-z_][\w$.]*', re.ASCII
)
_CONSTANTS = ("dense", "dense_resource", "sparse", "opaque")
"""Attributes that have a type after their brackets, as `#dialect.attribute<...>` may."""
_RAW_START = re.compile(
    r"[#!@][A-Za-z_0-9\"]|\((?=[^\n]*->)|(?:(?:[su]?i[0-9]+|index|none|tf32|bf16|f[0-9]+[A-Za-z0-9]*)\b(?!\.)"
    r"|(?:vector|tensor|memref|tuple|complex|affine_map|affine_set|array|dense|dense_resource|sparse|strided|opaque|loc|"
    r"distinct)\b)"
)
"""How a value begins that is kept as text: an attribute, a type or a symbol."""
_INTEGER_TYPE = re.compile(r"(s|u)?i([1-9][0-9]{0,3})|index")
_FLOAT_BITS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
"""Bits of the exponent and of the fraction."""


@dataclass(frozen=True, slots=True)
class Raw(Notation):
    """A piece of MLIR text that layoutalg does not look into."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Typed(Notation):
    """A number with its type: any but i64. A float is rounded to its type.

    >>> str(Typed(5.3, "f32")), str(Typed(2, "i32")), str(Typed(0.1, "f16"))
    ('5.300000e+00 : f32', '2 : i32', '9.997559e-02 : f16')
    """

    value: int | float
    type: str

    def __post_init__(self) -> None:
        if type(self.value) not in (int, float) or not isinstance(self.type, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"{shown(self.value)} : {shown(self.type)}: expected a number and its type")
        if self.type in _FLOAT_BITS:
            object.__setattr__(self, "value", _rounded(float(self.value), self.type))

    def __str__(self) -> str:
        return f"{number_text(self)} : {self.type}"


def number_text(number: Typed) -> str:
    """A number without its type: floats with six digits where those are exact, as MLIR prints them.

    >>> number_text(Typed(1.5e300, "f32")), number_text(Typed(123456789.123, "f64"))
    ('0x7F800000', '123456789.123')
    """
    value = number.value
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        exponent, fraction = _FLOAT_BITS.get(number.type, _FLOAT_BITS["f64"])
        bits = ((1 << exponent) - 1) << fraction | (0 if math.isinf(value) else 1 << (fraction - 1))
        sign = 1 << (exponent + fraction) if math.copysign(1.0, value) < 0 else 0
        return f"0x{bits | sign:0{(1 + exponent + fraction) // 4}X}"
    short = f"{value:.6e}"
    if math.copysign(1.0, value) == math.copysign(1.0, float(short)) and _rounded(float(short), number.type) == value:
        return short
    long = f"{value:.{17 if number.type not in ('f16', 'bf16', 'f32') else 9}g}".replace("e", "E")
    return long if "." in long or "E" not in long else long.replace("E", ".0E")


def _rounded(value: float, element: str) -> float:
    """The nearest value of a float type, infinity beyond its range."""
    if element not in ("f16", "bf16", "f32") or not math.isfinite(value) or not value:
        return value
    exponent, fraction = _FLOAT_BITS[element]
    lowest = 2 - (1 << (exponent - 1))
    scale = max(math.frexp(value)[1] - 1, lowest) - fraction
    found = math.ldexp(round(math.ldexp(value, -scale)), scale)
    return found if abs(found) < 2.0 ** (1 << (exponent - 1)) else math.copysign(math.inf, value)


UNIT = Raw("unit")
"""The value of an entry that is only a name."""


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary(Notation):
    """A frozen dictionary of attributes, its entries sorted by name; equal where the texts are.

    Raises `VerificationError` for a name that stands twice, in MLIR's words.
    """

    entries: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.entries
        entries: tuple[Any, ...] = as_tuple(given) if isinstance(given, (tuple, list)) else (None,)
        if any(not isinstance(e, tuple) or len(as_tuple(e)) != 2 or not isinstance(e[0], str) for e in entries):
            raise VerificationError("a dictionary has pairs of a name and a value")
        for name, value in entries:
            if not _may_stand(value):
                raise VerificationError(f"entry {shown(name)} = {shown(value)}: {_ACCEPTED}")
        entries = tuple(sorted(entries, key=lambda entry: entry[0]))
        for (name, _), (following, _) in pairwise(entries):
            if name == following:
                raise VerificationError(f"duplicate key '{name}' in dictionary attribute")
        object.__setattr__(self, "entries", entries)

    def __eq__(self, other: object) -> bool:
        return self.text() == other.text() if isinstance(other, Dictionary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text())

    def __getitem__(self, name: str) -> Value:
        for key, value in self.entries:
            if key == name:
                return value
        raise VerificationError(f"no entry {shown(name)}: expected one of {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, name: str, default: Value = None) -> Value:
        """The value of an entry, or `default`."""
        return dict(self.entries).get(name, default)

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text."""
        parts = (
            key(name) if value == UNIT else f"{key(name)} = {value_text(value, dialect)}"
            for name, value in self.entries
        )
        return "{" + ", ".join(parts) + "}"


_ACCEPTED = "expected a number, a truth value, a string, a tuple, an attribute or a type"


def verify_value(value: Value, what: str) -> None:
    """Refuse what no entry of a dictionary may hold: its text could not be read again."""
    if not _may_stand(value):
        raise VerificationError(f"{what} {shown(value)}: {_ACCEPTED}")


def _may_stand(value: Value, depth: int = 0) -> bool:
    if isinstance(value, (bool, str, Raw, Typed, Dictionary)):
        return True
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    if isinstance(value, tuple):
        return depth < MAX_NESTING and all(_may_stand(one, depth + 1) for one in as_tuple(value))
    return is_attribute(value)


def is_attribute(value: object) -> bool:
    """Whether a value is an attribute or a type in MLIR's text; layouts, and CuTe's, are not."""
    return isinstance(value, Raw) or (isinstance(value, Notation) and str(value)[:1] in ("#", "!"))


def key(name: str) -> str:
    """A name as MLIR prints it: quoted where it is not a word."""
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """A string as MLIR prints it: bytes other than printable ASCII as two hexadecimal digits."""
    shown = (
        "\\\\" if b == 0x5C else chr(b) if 0x20 <= b < 0x7F and b != 0x22 else f"\\{b:02X}"
        for b in as_bytes(text).encode("utf-8", "surrogateescape")
    )
    return f'"{"".join(shown)}"'


def as_bytes(text: str) -> str:
    """A string that stands for bytes, as MLIR's do: a lone surrogate, which UTF-8 does not have, becomes its three bytes.

    Raises `VerificationError` for anything but a string.

    >>> as_bytes("a\\ud800").encode("utf-8", "surrogateescape").hex(" ")
    '61 ed a0 80'
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"{shown(text)}: expected a string")
    if text.isascii():
        return text
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        escape, keep = "surrogateescape", "surrogatepass"
        pieces = [c.encode("utf-8", escape if "\udc80" <= c <= "\udcff" else keep) for c in text]
        return b"".join(pieces).decode("utf-8", escape)
    return text


def value_text(value: Value, dialect: str | None = None, inside: bool = False) -> str:
    """The MLIR text of a value; the types i64 and f64 are left out `inside` an array.

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
    if isinstance(value, Typed) and inside and value.type == "f64":
        return number_text(value)
    spelled = getattr(value, "text", None)
    return str(spelled(dialect)) if dialect is not None and callable(spelled) else str(value)


def as_tuple(value: Value) -> tuple[Any, ...]:
    """An array's items."""
    return tuple(value)


def read_dictionary(reader: Reader, read_attribute: Callable[[Reader], Value] | None = None) -> Dictionary:
    """Read `{name = value, ...}`; `read_attribute` reads what starts with `#`, and returns None to leave it as text.

    Raises `ParseError` with line and column.
    """

    def entries() -> Dictionary:
        reader.expect("{")
        found: list[tuple[str, Value]] = []
        if not reader.accept("}"):
            while True:
                name = as_bytes(reader.accept_string() or reader.word("the name of an entry"))
                found.append((name, read_value(reader, read_attribute) if reader.accept("=") else UNIT))
                if reader.accept("}"):
                    break
                if not reader.accept(","):
                    reader.fail("',' or '}'")
        return Dictionary(tuple(found))

    return reader.nested(entries)


def read_value(reader: Reader, read_attribute: Callable[[Reader], Value] | None = None) -> Value:
    """Read one value; `read_attribute` as for `read_dictionary`."""
    if reader.looking_at("{"):
        return read_dictionary(reader, read_attribute)
    if reader.looking_at("["):
        return reader.nested(lambda: _array(reader, read_attribute))
    text = reader.accept_string()
    if text is not None:
        return as_bytes(text)
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
            found.append(read_value(reader, read_attribute))
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
    point, hexadecimal = "." in digits, "x" in digits
    element = reader.word("the type of a number") if reader.accept(":") else ("f64" if point else "i64")
    kind = _INTEGER_TYPE.fullmatch(element)
    if element in _FLOAT_BITS and (point or (hexadecimal and digits[0] != "-")):
        return Typed(float(digits) if point else _from_bits(reader, digits, element, start), element)
    if element[0] in "ft" and element != "f" and point:
        return Typed(float(digits), element)
    if point or kind is None:
        reader.fail(
            "a float with a point, such as 1.5 : f32, or an integer type", f"found {digits} : {element}", at=start
        )
    return _in_range(reader, int(digits, 16 if hexadecimal else 10), element, kind, start)


def _in_range(reader: Reader, value: int, element: str, kind: re.Match[str], start: int) -> Value:
    """An integer that its type has; one without a sign counts modulo 2^bits, and is printed as signed."""
    bits = int(kind[2] or 64)
    low, high = (0 if kind[1] == "u" else -(2 ** (bits - 1))), 2 ** (bits - 1 if kind[1] == "s" else bits) - 1
    if not low <= value <= high or bits > _LONGEST:
        reader.fail(f"a value of {element}, {low} to {high}", f"found {value}", at=start)
    if element == "i1":
        return value != 0
    if kind[1] is None and value >= 2 ** (bits - 1):
        value -= 2**bits
    return value if element == "i64" else Typed(value, element)


def _from_bits(reader: Reader, digits: str, element: str, start: int) -> float:
    exponent, fraction = _FLOAT_BITS[element]
    bits = int(digits, 16)
    if bits >> (1 + exponent + fraction):
        reader.fail(f"at most {1 + exponent + fraction} bits", f"found {digits} : {element}", at=start)
    sign = -1.0 if bits >> (exponent + fraction) else 1.0
    power, rest = bits >> fraction & ((1 << exponent) - 1), bits & ((1 << fraction) - 1)
    bias = (1 << (exponent - 1)) - 1
    if power == (1 << exponent) - 1:
        return sign * (math.nan if rest else math.inf)
    return sign * math.ldexp(rest + (1 << fraction if power else 0), max(power, 1) - bias - fraction)


def _raw(reader: Reader) -> Raw:
    """One attribute, type or symbol, kept as its text; it ends where MLIR ends it."""
    start = reader.skip()
    if _RAW_START.match(reader.text, start) is None:
        reader.fail("a value: a number, a string, a list, an attribute or a type")
    reader.nested(lambda: _pass(reader))
    return Raw(reader.text[start : reader.position])


def _pass(reader: Reader) -> None:
    """Move behind a symbol, a function type, or a name with what stands in its brackets and (of a constant) its type."""
    if reader.looking_at("("):
        _pass_brackets(reader)
        reader.expect("->")
        (_pass_brackets if reader.looking_at("(") else _pass_type)(reader)
        return
    name = _NAME.match(reader.text, reader.skip())
    if name is None:
        reader.fail("a value: a number, a string, a list, an attribute or a type")
    reader.position = name.end()
    if name.group() == "distinct" and _next_is(reader, "["):
        _pass_brackets(reader)
    if _next_is(reader, "(" if name.group() == "loc" else "<"):
        _pass_brackets(reader)
    if (name.group() in _CONSTANTS or name.group()[0] == "#") and _next_is(reader, ":"):
        reader.expect(":")
        _pass_type(reader)


def _next_is(reader: Reader, literal: str) -> bool:
    """Whether `literal` comes next; white space and comments before anything else are not passed."""
    end = reader.position
    found = reader.looking_at(literal)
    if not found:
        reader.position = end
    return found


def _pass_type(reader: Reader) -> None:
    start = reader.skip()
    if _RAW_START.match(reader.text, start) is None:
        reader.fail("a type", at=start)
    reader.nested(lambda: _pass(reader))


def _pass_brackets(reader: Reader) -> None:
    """Move behind a bracket and all that it holds."""
    reader.skip()
    awaited: list[str] = []
    while reader.position < len(reader.text):
        token = _TOKEN.match(reader.text, reader.position)
        piece = token.group() if token is not None else ""
        if piece == '"':
            reader.fail("a string that ends on its line", "found one without an end")
        if piece in _BRACKETS:
            if len(awaited) >= _LONGEST:
                reader.fail(f"at most {_LONGEST} open brackets", "found one more")
            awaited.append(_BRACKETS[piece])
        elif piece in _BRACKETS.values():
            if piece != awaited[-1]:
                reader.fail(f"'{awaited[-1]}'")
            awaited.pop()
        reader.position += len(piece)
        if not awaited:
            return
    reader.fail(f"'{awaited[-1]}'")
