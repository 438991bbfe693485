"""Index expressions of layouts with XOR: runs of bits are fields, fields that meet are XORed, the others summed.

>>> swizzled = Layout.parse("d0 = 2@(addr:64^addr:8) 4@addr:16, d1 = 2@(addr:8) 8@addr")
>>> from layoutalg.core import expression_text
>>> print(expression_text(swizzled.axis_exprs()["addr"]))
((8*(d0 // 4)) ^ d1) + 16*d0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from layoutalg.core.factors import Place
from layoutalg.core.xor.digits import Digit
from layoutalg.core.xor.lowest import lowest_owner

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

# Sympy has no types to check, so it comes in as Any.
sympy: Any = import_module("sympy")

__all__ = ["BitXor", "xor_exprs"]


class BitXor(sympy.Function):  # type: ignore[misc]
    """The XOR of whole numbers."""


def xor_exprs(layout: Relation) -> dict[str, Any]:
    """The codomain's coordinates of the lowest owner, one sympy expression of the dimensions per axis."""
    digits, flips = lowest_owner(layout)
    values = [
        sympy.Symbol(name, integer=True, nonnegative=True) - origin
        for name, origin in zip(layout.names, layout.origins, strict=True)
    ]
    starts = layout.offsets
    return {
        axis: starts.get(axis, 0)
        + _coordinate(axis, list(zip(values, digits.dims, strict=True)), flips, axis in digits.on_axis)
        for axis in layout.codomain
    }


def _coordinate(axis: str, dims: Sequence[tuple[Any, list[Digit]]], flips: Iterable[Place], xored: bool) -> Any:
    flipped = [weight for name, weight in flips if name == axis]
    fields: list[tuple[int, Any]] = []
    """The bits that an expression may change (0: it only adds to the others), and the expression."""
    odd: dict[int, list[Any]] = {weight: [sympy.Integer(1)] for weight in flipped if weight & (weight - 1)}
    """What is XORed at places whose weight is no power of two."""
    for value, row in dims:
        size = row[-1].place * row[-1].extent if row else 1
        for place, extent, weight, flips_it in _runs(axis, row):
            digit = value if place == 1 else sympy.floor(value / place)
            digit = digit if place * extent == size else sympy.Mod(digit, extent, evaluate=False)
            if flips_it and weight & (weight - 1):
                odd.setdefault(weight, []).append(digit)
            else:
                bits = 0 if (not xored or weight & (weight - 1) or extent & (extent - 1)) else (extent - 1) * weight
                fields.append((bits, weight * digit))
    constant = sum(weight for weight in flipped if not weight & (weight - 1))
    if constant:
        fields.append((constant, sympy.Integer(constant)))
    terms = [weight * _xor(found) for weight, found in odd.items()]
    return sum(terms, sympy.Integer(0)) + sum((_xor(group) for group in _groups(fields)), sympy.Integer(0))


def _runs(axis: str, row: Sequence[Digit]) -> list[tuple[int, int, int, int]]:
    """The digits of a dimension that move along an axis, neighbours that count as one joined: place, extent, weight, flips."""
    found: list[tuple[int, int, int, int]] = []
    for digit in row:
        for name, weight in sorted(digit.moves):
            if name != axis:
                continue
            alone = digit.flips and weight & (weight - 1)
            for i, (place, extent, lower, flips) in enumerate(found):
                joins = place * extent == digit.place and lower * extent == weight
                binary = not (extent & (extent - 1) or digit.extent & (digit.extent - 1) or lower & (lower - 1))
                if joins and not alone and (binary or not (flips or digit.flips)):
                    found[i] = (place, extent * digit.extent, lower, flips or digit.flips)
                    break
            else:
                found.append((digit.place, digit.extent, weight, digit.flips))
    return found


def _groups(fields: Iterable[tuple[int, Any]]) -> list[list[Any]]:
    """The fields, those that may change a bit in common together."""
    groups: list[tuple[int, list[Any]]] = []
    for bits, one in fields:
        meeting = [group for group in groups if group[0] & bits]
        groups = [group for group in groups if not group[0] & bits]
        joined = bits, [one]
        for mask, more in meeting:
            joined = joined[0] | mask, more + joined[1]
        groups.append(joined)
    return [group for _, group in groups]


def _xor(found: Sequence[Any]) -> Any:
    return BitXor(*found) if len(found) > 1 else found[0]
