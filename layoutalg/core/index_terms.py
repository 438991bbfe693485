"""The coordinate on an axis as a sum of digits: what index expressions and their texts are made of.

A digit of x is `(x // place) % extent`; the top digit of a dimension needs no `%`, the lowest no `//`. Where bits are XORed,
runs of bits are fields, fields that meet are XORed, and the others are summed:

>>> index_texts(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
{'sg': 'd1 // 16 + 4*(d0 // 16)', 'lane': 'd1 % 16', 'reg': 'd0 % 16'}
>>> index_texts(Layout.parse("d0 = 2@(addr:64^addr:8) 4@addr:16, d1 = 2@(addr:8) 8@addr"))["addr"]
'((8*(d0 // 4)) ^ d1) + 16*d0'

Symbols, and dimensions that do not start at 0, are left to sympy (`core.expressions`), which prints the same for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from layoutalg.core.extents import Extent, multiply
from layoutalg.core.factors import Place
from layoutalg.core.xor.digits import Digit
from layoutalg.core.xor.lowest import lowest_owner

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["IndexDigit", "IndexSum", "IndexTerm", "index_sums", "index_texts", "joined_terms"]


_T = TypeVar("_T")


class IndexDigit(NamedTuple):
    """A digit of a dimension, from `place` on; `extent` is None for the top digit."""

    dimension: int
    place: Extent
    extent: Extent | None


class IndexTerm(NamedTuple):
    """A weighted digit, or several that are XORed: pairs of a weight and a digit, None for the weight itself."""

    weight: Extent
    parts: tuple[tuple[Extent, IndexDigit | None], ...]


class IndexSum(NamedTuple):
    """A coordinate: a constant and the terms that are added to it."""

    constant: int
    terms: tuple[IndexTerm, ...]


def index_sums(layout: Relation) -> dict[str, IndexSum]:
    """The coordinate of the lowest owner on each axis of the codomain.

    >>> index_sums(Layout.parse("d0 = 4@lane | offset 8@lane"))["lane"]
    IndexSum(constant=8, terms=(IndexTerm(weight=1, parts=((1, IndexDigit(dimension=0, place=1, extent=None)),)),))
    """
    starts = layout.offsets
    if layout.flips is not None:
        digits, flips = lowest_owner(layout)
        return {
            axis: IndexSum(starts.get(axis, 0), tuple(_xored_terms(axis, digits.dims, flips, axis in digits.on_axis)))
            for axis in layout.codomain
        }
    terms: dict[str, list[IndexTerm]] = {axis: [] for axis in layout.codomain}
    for d, factors in enumerate(layout.canonical().dims):
        place: Extent = 1
        for i in reversed(range(len(factors))):
            extent, stride, axis = factors[i]
            if axis is not None:
                terms[axis].append(IndexTerm(1, ((stride, IndexDigit(d, place, extent if i else None)),)))
            place = multiply(place, extent)
    return {axis: IndexSum(starts.get(axis, 0), tuple(found)) for axis, found in terms.items()}


def _xored_terms(
    axis: str, dims: Sequence[Sequence[Digit]], flips: Iterable[Place], xored: bool
) -> Iterable[IndexTerm]:
    flipped = [weight for name, weight in flips if name == axis]
    fields: list[tuple[int, tuple[Extent, IndexDigit | None]]] = []
    """The bits that a part may change (0: it only adds to the others), and the part."""
    odd: dict[int, list[tuple[Extent, IndexDigit | None]]] = {
        weight: [(1, None)] for weight in flipped if weight & (weight - 1)
    }
    """What is XORed at places whose weight is no power of two."""
    for d, row in enumerate(dims):
        size = row[-1].place * row[-1].extent if row else 1
        for place, extent, weight, flips_it in _runs(axis, row):
            digit = IndexDigit(d, place, None if place * extent == size else extent)
            if flips_it and weight & (weight - 1):
                odd.setdefault(weight, []).append((1, digit))
            else:
                bits = 0 if (not xored or weight & (weight - 1) or extent & (extent - 1)) else (extent - 1) * weight
                fields.append((bits, (weight, digit)))
    constant = sum(weight for weight in flipped if not weight & (weight - 1))
    if constant:
        fields.append((constant, (constant, None)))
    for weight, parts in odd.items():
        yield IndexTerm(weight, tuple(parts))
    for parts in _groups(fields):
        yield IndexTerm(1, tuple(parts))


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


def _groups(fields: Iterable[tuple[int, _T]]) -> list[list[_T]]:
    """The fields, those that may change a bit in common together."""
    groups: list[tuple[int, list[_T]]] = []
    for bits, one in fields:
        meeting = [group for group in groups if group[0] & bits]
        groups = [group for group in groups if not group[0] & bits]
        joined = bits, [one]
        for mask, more in meeting:
            joined = joined[0] | mask, more + joined[1]
        groups.append(joined)
    return [group for _, group in groups]


def index_texts(layout: Relation) -> dict[str, str] | None:
    """The coordinates as texts in the notation of Python; None for a layout with symbols or other origins than 0.

    >>> index_texts(Layout.parse("d0 = M@lane"))
    """
    sizes: tuple[Any, ...] = (*layout.shape, *layout.spans().values())
    if any(layout.origins) or any(type(size) is not int for size in sizes):
        return None
    return {axis: _sum_text(found, layout.names) for axis, found in index_sums(layout).items()}


def _sum_text(found: IndexSum, names: Sequence[str]) -> str:
    constant = found.constant
    counts: dict[str, Any] = {}
    for weight, parts in found.terms:
        if len(parts) != 1:
            text = f"({' ^ '.join(_operand(_product(n, _digit_text(digit, names))) for n, digit in parts)})"
        else:
            more, digit = parts[0]
            weight, text = multiply(weight, more), _digit_text(digit, names)
        if text:
            counts[text] = counts.get(text, 0) + weight
        else:
            constant += int(weight)
    texts = [_product(count, text) for text, count in counts.items()]
    return joined_terms([*texts, str(constant)] if constant or not texts else texts)


def joined_terms(texts: Iterable[str]) -> str:
    """Terms as a sum: those with few factors first, a number last.

    >>> joined_terms(["8", "4*x", "y"])
    'y + 4*x + 8'
    """
    return " + ".join(sorted(texts, key=lambda t: (t.isdigit(), t.count("*"), t))).replace("+ -", "- ")


def _digit_text(digit: IndexDigit | None, names: Sequence[str]) -> str:
    """A digit in words of Python; nothing for 1."""
    if digit is None:
        return ""
    text = names[digit.dimension]
    if digit.place != 1:
        text = f"{text} // {digit.place}"
    return text if digit.extent is None else f"{_operand(text)} % {digit.extent}"


def _product(weight: Extent, text: str) -> str:
    if not text:
        return str(weight)
    return text if weight == 1 else f"{weight}*{_operand(text)}"


def _operand(text: str) -> str:
    """A text in brackets where it is neither a name nor a number nor, as XORed fields are, in brackets already."""
    enclosed = text.startswith("(") and " ^ " in text
    return f"({text})" if "*" in text or (" " in text and not enclosed) else text
