"""Layouts as closed index expressions (sympy), for printing, for evaluating, for generating code.

The coordinate on an axis is a sum of digits, and a digit of x is `(x // place) % extent`. The top digit of a dimension
needs no `%`, the lowest no `//`:

>>> layout = Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
>>> [f"{axis} = {expression_text(e)}" for axis, e in axis_exprs(layout).items()]
['sg = d1 // 16 + 4*(d0 // 16)', 'lane = d1 % 16', 'reg = d0 % 16']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from layoutalg.core.extents import SYMPY, as_expression, extent_text
from layoutalg.core.index_terms import IndexDigit, IndexTerm, index_sums, joined_terms
from layoutalg.core.relation import Relation, as_layout

# Sympy has no types to check, so it comes in as Any.
sympy: Any = import_module("sympy")
_StrPrinter: Any = import_module("sympy.printing.str").StrPrinter

__all__ = ["axis_exprs", "expression_text", "index_function"]


def axis_exprs(layout: Relation) -> dict[str, Any]:
    """The codomain's coordinates of the lowest owner, one sympy expression of the dimensions per axis."""
    with SYMPY:
        values = [
            sympy.Symbol(name, integer=True, nonnegative=True) - origin
            for name, origin in zip(layout.names, layout.origins, strict=True)
        ]
        return {
            axis: sum((_term(term, values) for term in found.terms), sympy.Integer(found.constant))
            for axis, found in index_sums(layout).items()
        }


class BitXor(sympy.Function):  # type: ignore[misc]
    """The XOR of whole numbers."""


def _term(term: IndexTerm, values: Sequence[Any]) -> Any:
    parts = [weight * _digit(digit, values) for weight, digit in term.parts]
    return term.weight * (BitXor(*parts) if len(parts) > 1 else parts[0])


def _digit(digit: IndexDigit | None, values: Sequence[Any]) -> Any:
    if digit is None:
        return sympy.Integer(1)
    value: Any = values[digit.dimension]
    if digit.place != 1:
        value = sympy.floor(value / digit.place)
    return value if digit.extent is None else sympy.Mod(value, digit.extent, evaluate=False)


class _IndexPrinter(_StrPrinter):
    """Prints `floor(x/n)` as `x // n` and `Mod(x, n)` as `x % n`."""

    def _print_Mod(self, expr: Any) -> str:  # noqa: N802 (sympy's name)
        return f"{self._operand(expr.args[0])} % {self._operand(expr.args[1])}"

    def _print_floor(self, expr: Any) -> str:
        numerator, denominator = expr.args[0].as_numer_denom()
        if denominator == 1:
            return str(self._print(numerator))
        return f"{self._operand(numerator)} // {self._operand(denominator)}"

    def _print_BitXor(self, expr: Any) -> str:  # noqa: N802
        return "(" + " ^ ".join(self._operand(a) for a in expr.args) + ")"

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        parts = [self._operand(a) if isinstance(a, (sympy.Mod, sympy.floor)) else self._print(a) for a in expr.args]
        return "*".join(f"({p})" if a.is_Add else p for p, a in zip(parts, expr.args, strict=True))

    def _operand(self, expr: Any) -> str:
        text = str(self._print(expr))
        return text if expr.is_Atom else f"({text})"


def expression_text(expression: Any) -> str:
    """An index expression in the notation of Python: `16*(sg // 4) + reg`.

    Raises `LayoutError` for what is neither a sympy expression nor a whole number: text is not evaluated.

    >>> d = sympy.Symbol("d", integer=True)
    >>> expression_text(3 * sympy.floor(d / 4) + sympy.Mod(d, 4))
    'd % 4 + 3*(d // 4)'
    """
    with SYMPY:
        given = as_expression(expression)
        if given.is_Integer:
            return extent_text(int(given))
        terms: Any = sympy.Add.make_args(given)
        printer = _IndexPrinter()
        texts = [str(printer.doprint(term)) for term in terms]
    return joined_terms(texts)


def index_function(layout: Relation) -> Callable[..., tuple[Any, ...]]:
    """A function of the dimensions' coordinates (ints or numpy arrays) that returns the codomain's, in its order.

    The expressions are compiled with whole-number division, so that arrays of any integer type stay exact.

    >>> index_function(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))(21, 50)
    (7, 2, 5)
    """
    as_layout(layout)
    layout.require_numbers("evaluating it")
    with SYMPY:
        exact: list[Any] = [e.replace(sympy.floor, _quotient) for e in axis_exprs(layout).values()]
        arguments = [sympy.Symbol(name, integer=True, nonnegative=True) for name in layout.names]
        modules: list[Any] = [{"whole_quotient": _divide, "Mod": _remainder, "BitXor": _xor}, "math"]
        compiled: Any = sympy.lambdify(arguments, exact, modules=modules)
    return lambda *coordinates: tuple(compiled(*coordinates))


def _quotient(argument: Any) -> Any:
    """`floor(x/n)` as a function of x and n, so that it is computed in whole numbers."""
    return sympy.Function("whole_quotient")(*argument.as_numer_denom())


def _xor(first: Any, *more: Any) -> Any:
    for one in more:
        first = first ^ one
    return first


def _divide(a: Any, b: Any) -> Any:
    return a // b


def _remainder(a: Any, b: Any) -> Any:
    return a % b
