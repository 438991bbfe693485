"""Reading the parameters of an attribute: `<name = value, ...>` in any order, with IREE's words for what is wrong.

>>> reader = Reader("<step = 2, group = 16> and more")
>>> struct(reader, {"group": count, "step": count, "aligned": flag}, required=("group",))
{'step': 2, 'group': 16}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.reader import Reader
from layoutalg.nested.gpu.dictionary import Typed, as_bytes, read_value
from layoutalg.nested.gpu.intrinsics import intrinsic

__all__ = [
    "Read",
    "bits",
    "count",
    "element_type",
    "enum_word",
    "flag",
    "integer",
    "integers",
    "intrinsic_name",
    "string",
    "struct",
    "truth",
    "typed",
    "unsigned",
]

Read: TypeAlias = Callable[[Reader], Any]
"""What reads the value of one parameter."""


def struct(reader: Reader, parameters: Mapping[str, Read], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read `<name = value, ...>` in any order.

    Raises `ParseError` for a name that is unknown, given twice, or missing though `required`.

    >>> struct(Reader("<>"), {"step": count}, required=("step",))
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 2: expected step = ..., found the end: struct is missing required
    parameter: step
    """
    reader.expect("<")
    found: dict[str, Any] = {}
    if not reader.accept(">"):
        while True:
            at = reader.skip()
            name = reader.word("the name of a parameter")
            if name in found or name not in parameters:
                left = [one for one in parameters if one not in found]
                problem = f"duplicate or unknown struct parameter name: {name[:40]}"
                reader.fail(f"one of {', '.join(left)}" if left else "'>'", problem, at=at)
            reader.expect("=")
            found[name] = parameters[name](reader)
            if reader.accept(">"):
                break
            if not reader.accept(","):
                reader.fail("',' or '>'")
    for name in required:
        if name not in found:
            problem = f"found the end: struct is missing required parameter: {name}"
            reader.fail(f"{name} = ...", problem, at=reader.position - 1)
    return found


def integer(reader: Reader) -> int:
    """Read a number of 32 bits."""
    return reader.integer(-MAX_EXTENT, MAX_EXTENT - 1)


def unsigned(reader: Reader) -> int:
    """Read an unsigned number of 32 bits."""
    return reader.integer(0, 2**32 - 1)


def count(reader: Reader) -> int:
    """Read a number of 64 bits."""
    return reader.integer(-(2**63), 2**63 - 1)


def integers(reader: Reader) -> tuple[int, ...]:
    """Read `[1, 2]`."""
    return reader.integers()


def string(reader: Reader) -> str:
    """Read a string."""
    return as_bytes(reader.string())


def truth(reader: Reader) -> bool:
    """Read `true` or `false`."""
    return reader.one_of(("true", "false")) == "true"


def flag(reader: Reader) -> bool:
    """Read `true`, `false`, `1` or `0`, which MLIR takes where a parameter is a plain truth value."""
    number = reader.accept_integer(0, 1)
    return truth(reader) if number is None else number == 1


def typed(reader: Reader) -> Typed:
    """Read a number with a float type."""
    at = reader.skip()
    value = read_value(reader)
    if not isinstance(value, Typed):
        reader.fail("a number with a float type", at=at)
    return value


def element_type(reader: Reader) -> str:
    """Read the name of an element type."""
    return reader.word("an element type")


def bits(kind: type[Any]) -> Read:
    """What reads a set of bits, `fp32|fp16` or `none`."""

    def read(reader: Reader) -> Any:
        words = [reader.one_of(("none", *kind.spellings()))]
        while reader.accept("|"):
            words.append(reader.one_of(("none", *kind.spellings())))
        return kind.parse("|".join(words))

    return read


def enum_word(reader: Reader, words: tuple[str, ...]) -> str:
    """Read one of an enum's words, which may be quoted."""
    at = reader.skip()
    word = reader.accept_string() or reader.word("a value of the enum")
    if word not in words:
        reader.fail(" or ".join(words), at=at)
    return word


def intrinsic_name(reader: Reader, virtual: bool | None = False) -> str:
    """Read the name of an intrinsic, native or `virtual` (None: either); an unknown one is an error at its column.

    >>> intrinsic_name(Reader("WMMA_F32_16x16x16_F16"))
    'WMMAR3_F32_16x16x16_F16'
    """
    at = reader.skip()
    name, _, operand = reader.word("the name of an intrinsic").partition(".")
    if operand:
        reader.position -= len(operand) + 1
    try:
        one = intrinsic(name)
    except VerificationError as error:
        problem, _, expected = str(error).partition(": expected ")
        reader.fail(expected, problem, at=at)
    if virtual is not None and one.is_virtual != virtual:
        reader.fail(f"{'a virtual' if virtual else 'a native'} intrinsic", f"found {one.name}", at=at)
    return one.name
