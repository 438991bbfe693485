"""Extents and strides: whole numbers, or sympy expressions that stand for them.

An extent is an `int` nearly always, and then costs what an `int` costs. It may also be an expression in symbols (`M`,
`K/16`): products and quotients are kept in one normal form, so that equal expressions are equal objects, and a quotient
that need not be a whole number is not assumed to be one: it stays visible as a `Condition`.

>>> m = symbol("M")
>>> multiply(exact_quotient(m, 16), 16) == m
True
>>> [str(c) for c in conditions([exact_quotient(m, 16)])]
['16 divides M']
>>> exact_quotient(40, 16) is None
True

Sympy is not made for threads: while one thread works out whether `-1` is negative, another one reads "unknown" and goes on
with a wrong quotient. So whatever may compute with symbols holds `SYMPY`, one thread at a time; whole numbers never do.
"""

from __future__ import annotations

import sys
from _thread import RLock
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_NAME, MAX_EXTENT, MAX_START, MOST_ATOMS, MOST_PRINTED_BITS, MOST_TERMS
from layoutalg.core.messages import number_text, shown
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import found_whole, whole_number

__all__ = [
    "SYMPY",
    "Condition",
    "Extent",
    "as_expression",
    "as_extent",
    "conditions",
    "exact_quotient",
    "extent_text",
    "multiply",
    "read_extent",
    "substitute",
    "symbol",
]

SYMPY = RLock()
"""Held while sympy computes: what it remembers about its objects is not safe to read while another thread writes it."""

Extent: TypeAlias = Any
"""An `int`, or a sympy expression in positive integer symbols."""


class Condition(NamedTuple):
    """A divisibility that must hold for a symbolic layout to exist: `divisor` divides `dividend`.

    >>> str(Condition(16, symbol("M")))
    '16 divides M'
    """

    divisor: Extent
    dividend: Extent

    def __str__(self) -> str:
        return f"{extent_text(self.divisor)} divides {extent_text(self.dividend)}"


def _sympy() -> Any:
    """Sympy, imported when the first symbol turns up: integers never pay for it. (It has no types to check.)"""
    import sympy

    return sympy


def _is_expression(value: object) -> bool:
    """Whether it is sympy's; while another thread imports sympy, this one waits until that is done."""
    return "sympy" in sys.modules and isinstance(value, _sympy().Expr)


def symbol(name: str) -> Extent:
    """A symbol for an unknown positive whole number.

    Raises `LayoutError` for a name that is not an identifier: the text of a layout could not be read again.

    >>> symbol("M") * 2
    2*M
    >>> symbol("M N")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: symbol 'M N': expected letters, digits and '_', at most 64, such as 'M'
    """
    given: Any = name
    if not isinstance(given, str) or not given.isidentifier() or not given.isascii() or len(given) > LONGEST_NAME:
        raise LayoutError(
            f"symbol {shown(given)}: expected letters, digits and '_', at most {LONGEST_NAME}, such as 'M'"
        )
    with SYMPY:
        return _sympy().Symbol(name, integer=True, positive=True)


def as_expression(value: object) -> Any:
    """A number or a sympy expression as sympy has it; nothing else gets there, because sympy evaluates the text of others.

    Raises `LayoutError`.

    >>> as_expression(16), as_expression(symbol("M") / 16)
    (16, M/16)
    >>> as_expression("16")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: '16': expected a whole number or an expression in symbols, got str
    """
    sympy = _sympy()
    if isinstance(value, sympy.Expr):
        return value
    number = found_whole(value)
    if number is None:
        raise LayoutError(
            f"{shown(value)}: expected a whole number or an expression in symbols, got {type(value).__name__}"
        )
    with SYMPY:
        return sympy.Integer(number)


@lru_cache(maxsize=4096)
def _normal(expression: Any) -> Extent:
    """The normal form of a rational expression: equal expressions become equal objects, numbers become `int`."""
    result = _cancelled(as_expression(expression))
    if result.is_Integer:
        return int(result)
    if result.is_Number or not result.is_rational_function():
        raise LayoutError(f"{result} is not an extent: expected a whole number or a rational expression in symbols")
    return result


def _cancelled(expression: Any) -> Any:
    """One fraction without common factors, expanded (what `sympy.cancel` gives, several times faster)."""
    if _is_monomial(expression):
        return expression
    if max(_terms(expression)) > MOST_TERMS:
        raise LayoutError(f"an extent that has more than {MOST_TERMS} terms when it is multiplied out: expected fewer")
    from sympy.polys import fields

    element: Any = cast(Any, fields).sfield(expression)[1]
    return element.as_expr()


def _terms(expression: Any) -> tuple[int, int]:
    """How many terms numerator and denominator have at the most when they are multiplied out.

    >>> m, k = symbol("M"), symbol("K")
    >>> _terms((m + 1) * (k + 1)), _terms((m + 1) ** 8), _terms(1 / (m + k))
    ((4, 1), (9, 1), (1, 2))
    """
    above, below = 1, 1
    if expression.is_Mul:
        for factor in expression.args:
            one = _terms(factor)
            above, below = above * one[0], below * one[1]
    elif expression.is_Add:
        parts = [_terms(part) for part in expression.args]
        below = prod(part[1] for part in parts)
        above = sum(part[0] * below // part[1] for part in parts)
    elif expression.is_Pow and expression.exp.is_Integer:
        times = abs(int(expression.exp))
        above, below = (comb(n + times - 1, times) for n in _terms(expression.base))
        if int(expression.exp) < 0:
            above, below = below, above
    return above, below


def _is_monomial(expression: Any) -> bool:
    """Whether it is a product of a number and powers of symbols: sympy keeps those in normal form by itself."""
    factors = expression.args if getattr(expression, "is_Mul", False) else (expression,)
    return all(f.is_Symbol or f.is_Rational or (f.is_Pow and f.base.is_Symbol and f.exp.is_Integer) for f in factors)


def as_extent(value: object, what: str = "extent", low: int = 1, high: int | None = MAX_EXTENT) -> Extent:
    """Check an extent or stride that a caller gave.

    Raises `LayoutError` for what is not a whole number (bool and float included), for a value below `low` or over `high`.

    >>> as_extent(16), as_extent(symbol("M") / 16)
    (16, M/16)
    >>> as_extent(0)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: extent 0: expected a whole number from 1 to 2147483648
    """
    if type(value) is int and value >= low and (high is None or value <= high):
        return value
    if _is_expression(value):
        with SYMPY:
            value = _positive(value, what)
        if type(value) is not int:
            return value
    return whole_number(value, what, low, high)


def _positive(expression: Any, what: str) -> Extent:
    """The normal form of an expression, in our own symbols."""
    if expression.is_Number:
        found = int(expression) if expression.is_Integer else None
        if found is None:
            raise LayoutError(f"{what} {shown(expression)}: expected a whole number")
        return found
    found = _normal(expression.xreplace({s: symbol(s.name) for s in expression.free_symbols}))
    if type(found) is not int and _is_never_positive(found):
        raise LayoutError(f"{what} {found}: expected a positive whole number, and it is not one for any symbols")
    return found


def multiply(a: Extent, b: Extent) -> Extent:
    """The product, in normal form."""
    if type(a) is int and type(b) is int:
        return a * b
    with SYMPY:
        return _normal(as_expression(a) * as_expression(b))


def add(a: Extent, b: Extent) -> Extent:
    """The sum, in normal form."""
    if type(a) is int and type(b) is int:
        return a + b
    with SYMPY:
        return _normal(as_expression(a) + as_expression(b))


def exact_quotient(a: Extent, b: Extent) -> Extent | None:
    """`a / b`, or None when both are numbers and `b` does not divide `a`.

    A symbolic quotient that may be fractional is returned as it is; `conditions` names what it needs.
    """
    if type(a) is int and type(b) is int:
        return a // b if a % b == 0 else None
    with SYMPY:
        quotient = _cancelled(as_expression(a) / as_expression(b))
        if quotient.is_number and not quotient.is_Integer:
            return None
        return _normal(quotient)


def _is_never_positive(fraction: Any) -> bool:
    """Whether the signs of its terms say that no positive symbols make it positive."""
    above, below = ({c > 0 for c in side.as_coefficients_dict().values()} for side in fraction.as_numer_denom())
    return len(above) == len(below) == 1 and above != below


def conditions(values: Iterable[Extent]) -> tuple[Condition, ...]:
    """The divisibilities that make all of `values` whole numbers, each once."""
    found: dict[Condition, None] = {}
    for value in values:
        if type(value) is not int:
            with SYMPY:
                numerator, denominator = value.as_numer_denom()
                if denominator != 1:
                    found[Condition(_normal(denominator), _normal(numerator))] = None
    return tuple(found)


def substitute(value: Extent, numbers: Mapping[str, int]) -> Extent:
    """Put numbers for symbols (by name).

    Raises `LayoutError` where the result is not a positive whole number: the condition that fails is named.

    >>> substitute(symbol("M") / 16, {"M": 64}), substitute(symbol("M"), {"M": 3})
    (4, 3)
    >>> substitute(symbol("M") / 16, {"M": 40})
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 16 divides M does not hold for M = 40
    """
    if type(value) is int:
        return value
    with SYMPY:
        known = {
            s: as_extent(numbers[s.name], f"{s.name} =", high=MAX_START)
            for s in value.free_symbols
            if s.name in numbers
        }
        result: Any = value.subs(known)
        if not result.is_Number:
            return _normal(result)
        if not result.is_Integer:
            given = ", ".join(f"{s} = {number}" for s, number in known.items())
            raise LayoutError(f"{conditions([value])[0]} does not hold for {given}")
        return as_extent(int(result), f"{extent_text(value)} =", high=None)


def extent_text(value: Extent) -> str:
    """The text of an extent inside a layout's text: sums, and what begins with a minus, in parentheses.

    >>> m = symbol("M")
    >>> extent_text(16), extent_text(m / 16), extent_text((m + 1) / 2), extent_text(-m / (1 - m))
    ('16', 'M/16', '(M + 1)/2', '(-M)/(1 - M)')
    """
    if type(value) is int:
        return str(value) if value.bit_length() < MOST_PRINTED_BITS else number_text(value)
    if not _is_expression(value):  # a factor that nobody checked
        return shown(value)
    with SYMPY:
        numerator, denominator = value.as_numer_denom()
        if denominator == 1:
            return f"({value})" if value.is_Add else str(value)
        above = f"({numerator})" if numerator.is_Add or numerator.could_extract_minus_sign() else str(numerator)
        below = str(denominator) if denominator.is_Atom else f"({denominator})"
        return f"{above}/{below}"


def read_extent(reader: Reader, low: int = 1, high: int | None = MAX_EXTENT) -> Extent:
    """Read `16`, `M`, `K/16`, `2*M*(K + 1)` from a text: products and quotients, sums in parentheses.

    Nothing is evaluated but this grammar, and an expression has at most 16 numbers and symbols: a normal form of more
    could take for ever.

    Raises `ParseError`.

    >>> read_extent(Reader("3*K/(M + 1)"))
    3*K/(M + 1)
    """
    start = reader.skip()
    with SYMPY:
        value = _ExtentReader(reader).product()
        try:
            normal = as_extent(value, low=low, high=high)
            if type(normal) is not int:
                _refuse_what_outgrows(normal)
            return normal
        except LayoutError as error:
            reader.fail("an extent", str(error), at=start)


def _refuse_what_outgrows(normal: Any) -> None:
    """A normal form must be short enough to be read again."""
    from sympy import preorder_traversal

    atoms = sum(node.is_Atom for node in preorder_traversal(normal))
    text = extent_text(normal) if atoms <= 2 * MOST_ATOMS else None
    try:
        _ExtentReader(Reader(text or "")).product()
    except LayoutError:
        raise LayoutError(
            f"multiplied out, {text or 'it'} holds more than {MOST_ATOMS} numbers and symbols, or one over 2^62"
        ) from None


class _ExtentReader:
    """The grammar of an extent, by recursive descent; `left` counts what the expression may still hold."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.left = MOST_ATOMS

    def total(self) -> Any:
        value = -self.product() if self.reader.accept("-") else self.product()
        while True:
            if self.reader.accept("+"):
                value = value + self.product()
            elif self.reader.accept("-"):
                value = value - self.product()
            else:
                return value

    def product(self) -> Any:
        value = self.power()
        while True:
            if self.reader.accept("*"):
                value = value * self.power()
            elif self.reader.accept("/"):
                value = self.quotient(value, self.power())
            else:
                return value

    def quotient(self, a: Any, b: Any) -> Any:
        if b == 0:
            self.reader.fail("a divisor other than 0", "found 0")
        if type(a) is not int or type(b) is not int:
            return a / b
        if a % b:
            self.reader.fail(f"a divisor of {a}", f"found {b}")
        return a // b

    def power(self) -> Any:
        value = self.atom()
        if self.reader.accept("**"):
            exponent = self.reader.integer(1, 8)
            self.spend(exponent - 1)
            return value**exponent
        return value

    def atom(self) -> Any:
        reader = self.reader
        self.spend(1)
        if reader.accept("("):
            value = reader.nested(self.total)
            reader.expect(")")
            return value
        number = reader.accept_integer(0, MAX_START)
        if number is not None:
            return number
        name = reader.word("an extent (a number or a symbol)")
        if len(name) > LONGEST_NAME or "." in name or "$" in name:
            reader.fail("a symbol of at most 64 letters, digits and '_'", f"found {name[:64]!r}")
        return symbol(name)

    def spend(self, atoms: int) -> None:
        self.left -= atoms
        if self.left < 0:
            self.reader.fail(f"at most {MOST_ATOMS} numbers and symbols in one extent", "found more")
