"""Extents that are symbols: the conversion of one block, for any number of them.

A factor whose extent is a symbol, which registers have on both sides in the same place, makes as many blocks as the symbol
says. What is left has numbers only, and is planned once:

>>> sides = [Layout.parse(f"d0 = 4*n@reg:4, {rest}") for rest in ("d1 = 4@reg, d2 = 4@lane", "d1 = 4@lane, d2 = 4@reg")]
>>> found = symbolic_blocks(*sides)
>>> print(found.source, "to", found.destination, "times", found.count)
d0 = 4@reg:4, d1 = 4@reg, d2 = 4@lane to d0 = 4@reg:4, d1 = 4@lane, d2 = 4@reg times n

The number before a symbol stays in the block, so that its elements can share words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layoutalg.conversion.strategies.blocks import Blocks, Piece, without
from layoutalg.core.errors import ConversionError
from layoutalg.core.extents import SYMPY, Extent, exact_quotient, extent_text, multiply, substitute
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout

__all__ = ["SymbolicBlocks", "has_symbols", "symbolic_blocks"]


def has_symbols(layout: Layout) -> bool:
    """Whether an extent or a stride is a symbol."""
    return any(type(n) is not int for factors in (*layout.dims, layout.replicas) for one in factors for n in one[:2])


@dataclass(frozen=True, slots=True)
class SymbolicBlocks:
    """The conversion of one block, from `source` to `destination`; `count` is how many blocks there are.

    `pieces` are the factors that tell blocks apart: (dimension, what a step of it adds to the coordinate, extent).

    >>> found = symbolic_blocks(Layout.parse("d0 = n@reg, d1 = 4@lane"), Layout.parse("d0 = n@reg, d1 = 4@lane"))
    >>> found.pieces
    ((0, 1, n),)
    """

    source: Layout
    destination: Layout
    count: Extent
    pieces: tuple[tuple[int, Extent, Extent], ...]

    def blocks(self, source: Layout, destination: Layout, numbers: dict[str, int]) -> Blocks | None:
        """The blocks for some numbers; None where there is one block. The two layouts are those with the numbers."""
        known = [(d, substitute(weight, numbers), substitute(extent, numbers)) for d, weight, extent in self.pieces]
        left_out = [Piece(d, weight, extent) for d, weight, extent in known if extent > 1]
        if not left_out:
            return None
        sides = [without(layout.canonical(), left_out) for layout in (source, destination)]
        if sides[0] is None or sides[1] is None:
            raise ConversionError(f"{source} to {destination}: the registers of blocks have gaps between them")
        return Blocks(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def symbolic_blocks(source: Layout, destination: Layout) -> SymbolicBlocks:
    """The block of two layouts with symbols.

    Raises `ConversionError` for a symbol elsewhere than in a factor of registers, or in another place on the other side.

    >>> symbolic_blocks(Layout.parse("d0 = n@lane"), Layout.parse("d0 = n@lane"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: d0 = n@lane has symbols outside registers: n@lane; put numbers for them with
    substitute() before converting it
    """
    with SYMPY:
        rows = [[_split(layout, factors) for factors in layout.canonical().dims] for layout in (source, destination)]
        pieces: list[tuple[int, Extent, Extent]] = []
        for d, (before, after) in enumerate(zip(*rows, strict=True)):
            ours, theirs = _places(before), _places(after)
            if ours != theirs:
                texts = [" ".join(map(str, reversed(side))) or "1" for side in (before, after)]
                raise ConversionError(
                    f"{source.names[d]}: {texts[0]} becomes {texts[1]}; a factor with symbols stays in registers, "
                    "in the same place on both sides: put numbers for the others with substitute()"
                )
            pieces += [(d, weight, extent) for weight, extent in ours]
        count: Extent = 1
        for _, _, extent in pieces:
            count = multiply(count, extent)
        sides = [_numbered(layout, dims) for layout, dims in zip((source, destination), rows, strict=True)]
    return SymbolicBlocks(sides[0], sides[1], count, tuple(pieces))


def _split(layout: Layout, factors: Sequence[Factor]) -> list[Factor]:
    """The factors of a dimension, lowest first, the number before a symbol as a factor of its own."""
    found: list[Factor] = []
    for factor in reversed(factors):
        extent: Any = factor.extent
        if type(extent) is int:
            found.append(factor)
            continue
        if factor.axis != "reg":
            raise ConversionError(
                f"{layout} has symbols outside registers: {factor}; put numbers for them with substitute() "
                "before converting it"
            )
        number = extent.as_coeff_Mul()[0]
        number = int(number) if number.is_Integer else 1
        if number > 1:
            found.append(factor._replace(extent=number))
        rest = exact_quotient(extent, number)
        found.append(factor._replace(extent=rest, stride=multiply(factor.stride, number)))
    return found


def _places(factors: Sequence[Factor]) -> list[tuple[Extent, Extent]]:
    """The weight and the extent of each factor with symbols."""
    weight: Extent = 1
    found: list[tuple[Extent, Extent]] = []
    for factor in factors:
        if type(factor.extent) is not int:
            found.append((weight, factor.extent))
        weight = multiply(weight, factor.extent)
    return found


def _numbered(layout: Layout, dims: Sequence[Sequence[Factor]]) -> Layout:
    """The layout of one block: its registers numbered without those of the others."""
    waiting = [one for factors in (*dims, layout.canonical().replicas) for one in factors if one.axis == "reg"]
    anew: dict[Extent, int] = {}
    place: Extent = 1
    size = 1
    while waiting:
        found = next((one for one in waiting if one.stride == place), None)
        if found is None:
            raise ConversionError(
                f"{layout}: no factor of registers has the stride {extent_text(place)}; expected registers without gaps "
                "where extents are symbols"
            )
        waiting.remove(found)
        if type(found.extent) is int:
            anew[place] = size
            size *= found.extent
        place = multiply(place, found.extent)

    def numbered(factor: Factor) -> Factor:
        return factor._replace(stride=anew[factor.stride]) if factor.axis == "reg" else factor

    for factor in layout.replicas:
        if any(type(n) is not int for n in factor[:2]) and (factor.axis != "reg" or type(factor.extent) is not int):
            raise ConversionError(f"{layout} has symbols in its replicas: {factor}; expected numbers")
    return Layout(
        [[numbered(one) for one in reversed(factors) if type(one.extent) is int] for factors in dims],
        [numbered(one) for one in layout.canonical().replicas],
        layout.offsets,
        names=layout.names,
        codomain=layout.codomain,
    )
