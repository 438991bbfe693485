"""The text form of a layout: one clause per dimension, then replicas, offset and origin.

    d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane | replicas 2@lane:16 | offset 64@addr | origin 8@d0

A factor is `extent@axis:stride`; a stride of 1 is left out; `_` stands for no axis; a dimension of one element is `d0 = 1`;
a layout without dimensions is `()`. Extents and strides may be expressions in symbols (`M/16@reg:16`).

>>> print(Layout.parse("d0 = 2@sg:4 16@reg ,\\n d1=4@sg:1 16@lane"))
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple, cast

from layoutalg.core.extents import Extent, extent_text, read_extent
from layoutalg.core.factors import Factor, Place, Places, XorFactor, xor_factor
from layoutalg.core.limits import (
    LONGEST_NAME,
    LONGEST_USUAL,
    MAX_SIZE,
    MAX_START,
    MOST_DIMENSIONS,
    MOST_FACTORS,
    MOST_SYMBOLIC,
)
from layoutalg.core.reader import Reader

__all__ = ["LayoutParts", "layout_text", "read_parts", "read_usual"]

_GAP = r"[ \t\r\n]*+"
_NAME = "[A-Za-z][A-Za-z0-9_]{0,40}+"
_FACTOR = rf"[1-9][0-9]{{0,8}}@(?:{_NAME}|_)(?::[1-9][0-9]{{0,17}})?+"
_LIST = rf"{_FACTOR}(?:[ \t\r\n]++{_FACTOR})*+{_GAP}"
_CLAUSE = rf"{_NAME}{_GAP}={_GAP}(?:1{_GAP}(?=[,|]|\Z)|{_LIST})"
_USUAL = re.compile(rf"{_GAP}{_CLAUSE}(?:,{_GAP}{_CLAUSE})*+(?:\|{_GAP}replicas[ \t\r\n]++{_LIST})?+")
"""A text of numbers alone, with replicas or without; whatever else is read word by word."""
_new = cast("Any", tuple).__new__
_EACH = re.compile(r"([0-9]+)@([A-Za-z0-9_]+)(?::([0-9]+))?")


class LayoutParts(NamedTuple):
    """What the text of a layout says, clause by clause; `Layout(**parts._asdict())` checks and makes it."""

    dims: tuple[tuple[Factor, ...], ...]
    replicas: tuple[Factor, ...]
    offsets: dict[str, int]
    names: tuple[str, ...]
    origins: tuple[int, ...]
    flips: tuple[Place, ...] | None = None
    """None where nothing flips places."""


def layout_text(parts: LayoutParts) -> str:
    """The text form of a layout."""
    dims, replicas, offsets, names, origins, flips = parts
    clauses = [f"{n} = {' '.join(map(str, f)) or '1'}" for n, f in zip(names, dims, strict=True)]
    texts = [", ".join(clauses) or "()"]
    if replicas:
        texts.append("replicas " + " ".join(map(str, replicas)))
    if flips:
        texts.append(f"flip {Places(flips)}")
    if offsets:
        texts.append("offset " + " ".join(f"{o}@{a}" for a, o in offsets.items()))
    if any(origins):
        texts.append("origin " + " ".join(f"{o}@{n}" for n, o in zip(names, origins, strict=True) if o))
    return " | ".join(texts)


def read_parts(reader: Reader) -> LayoutParts:
    """Read the text form of one layout, and leave the reader behind it.

    Raises `ParseError` with line and column.

    >>> reader = Reader("d0 = 4@reg; more")
    >>> read_parts(reader).dims, reader.position
    (((Factor(extent=4, stride=1, axis='reg'),),), 10)
    >>> read_parts(Reader("d0 = 8@lane, d1"))
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 16: expected '=', found the end of the text
    """
    dims: dict[str, tuple[Factor, ...]] = {}
    if reader.accept("("):
        reader.expect(")")
    else:
        while True:
            start = reader.skip()
            name = _axis_name(reader, "the name of a dimension, such as 'd0'")
            if name == "_":
                reader.fail("the name of a dimension, such as 'd0'", "found '_', which names no axis", at=start)
            if name in dims or len(dims) == MOST_DIMENSIONS:
                reader.fail(f"at most {MOST_DIMENSIONS} dimensions, each once", f"found {name!r} again", at=start)
            reader.expect("=")
            dims[name] = _factors(reader)
            if not reader.accept(","):
                break
    replicas: list[Factor] = []
    offsets: dict[str, int] = {}
    origins: dict[str, int] = {}
    flips: tuple[Place, ...] | None = None
    while reader.accept("|"):
        clause = reader.one_of(("replicas", "flip", "offset", "origin"))
        if clause == "replicas":
            start = reader.skip()
            more = _factors(reader)
            if any(f[2] is None and f.extent != 1 for f in more):
                reader.fail("an axis for each replica", "found '@_'", at=start)
            replicas += more
            if len(replicas) > MOST_FACTORS:
                reader.fail(f"at most {MOST_FACTORS} factors", "found more", at=start)
        elif clause == "flip":
            if flips:
                reader.fail("one 'flip'", "found another")
            reader.expect("(")
            flips = _places(reader)
        else:
            _read_starts(reader, offsets if clause == "offset" else origins, None if clause == "offset" else dims)
    starts = tuple(origins.get(name, 0) for name in dims)
    if flips is None and any(type(f) is XorFactor for factors in (*dims.values(), replicas) for f in factors):
        flips = ()
    return LayoutParts(tuple(dims.values()), tuple(replicas), offsets, tuple(dims), starts, flips)


def read_usual(text: str) -> LayoutParts | None:
    """What a whole text of the usual form says, read at once; None for any other, which `read_parts` reads or refuses.

    >>> read_usual("d0 = 8@lane").names, read_usual("d0 = M@lane"), read_usual("d0 = 8@lane | offset 3@sg")
    (('d0',), None, None)
    """
    if len(text) > LONGEST_USUAL or _USUAL.fullmatch(text) is None:
        return None
    clauses, _, copies = text.partition("|")
    dims: dict[str, tuple[Factor, ...]] = {}
    count = 0
    for clause in clauses.split(","):
        name, _, factors = clause.partition("=")
        dims[name.strip()] = found = _usual_factors(factors)
        count += 1
        if len(found) > 2 and prod([f[0] for f in found]) > MAX_SIZE:
            return None
    if len(dims) != count or count > MOST_DIMENSIONS:
        return None
    replicas = _usual_factors(copies) if copies else ()
    if any(f[2] is None for f in replicas):
        return None
    return LayoutParts(tuple(dims.values()), replicas, {}, tuple(dims), (0,) * count)


def _usual_factors(text: str) -> tuple[Factor, ...]:
    return tuple(
        [
            _new(Factor, (int(extent), int(stride) if stride else 1, axis) if axis != "_" else (int(extent), 0, None))
            for extent, axis, stride in _EACH.findall(text)
        ]
    )


def _factors(reader: Reader) -> tuple[Factor, ...]:
    factors: list[Factor] = []
    symbolic = 0
    while True:
        start = reader.skip()
        extent = read_extent(reader)
        if reader.accept("@"):
            factors.append(_moving(reader, extent, start))
        elif extent != 1:
            reader.fail("'@' and the name of an axis")
        if len(factors) > MOST_FACTORS:
            reader.fail(f"at most {MOST_FACTORS} factors", "found more", at=start)
        if factors and not type(factors[-1][0]) is type(factors[-1][1]) is int:
            symbolic += 1
            if symbolic > MOST_SYMBOLIC:
                reader.fail(f"at most {MOST_SYMBOLIC} factors with symbols", "found more", at=start)
        if reader.at_end() or reader.text[reader.position] in ",|;)":
            return tuple(factors)


def _moving(reader: Reader, extent: Extent, start: int) -> Factor:
    """The factor of `extent` values whose axis, or places in brackets, follow; it began at `start`."""
    if reader.accept("("):
        if extent != 2:
            reader.fail("a factor of two values before places in brackets", f"found {extent_text(extent)}", at=start)
        return xor_factor(_places(reader))
    axis = _axis_name(reader, "the name of an axis, such as 'lane', or '_'")
    stride = read_extent(reader, low=0, high=MAX_START) if reader.accept(":") else 1
    return Factor(extent) if axis == "_" or stride == 0 else Factor(extent, stride, axis)


def _places(reader: Reader) -> Places:
    """The rest of the places of an XOR factor, behind the bracket: `reg^lane:4)`."""
    found: list[Place] = []
    while True:
        start = reader.skip()
        expected = "the name of an axis, such as 'lane'"
        axis = _axis_name(reader, expected)
        if axis == "_":
            reader.fail(expected, "found '_', which names no axis", at=start)
        place = (axis, reader.integer(1, MAX_START) if reader.accept(":") else 1)
        if place in found:
            reader.fail("each place once", f"found {Places([place])} again, which would flip back", at=start)
        if len(found) == MOST_FACTORS:
            reader.fail(f"at most {MOST_FACTORS} places", "found more", at=start)
        found.append(place)
        if reader.accept(")"):
            return Places(sorted(found))
        if not reader.accept("^"):
            reader.fail("'^' or ')'")


def _read_starts(reader: Reader, into: dict[str, int], known: Mapping[str, object] | None) -> None:
    while True:
        start = reader.skip()
        amount = reader.integer(-(MAX_START), MAX_START)
        reader.expect("@")
        name = _axis_name(reader, "a name")
        if name == "_" or name in into or (known is not None and name not in known):
            reader.fail("an axis, each once" if known is None else "a dimension, each once", at=start)
        into[name] = amount
        if len(into) > MOST_FACTORS:
            reader.fail(f"at most {MOST_FACTORS} axes", "found more", at=start)
        if reader.at_end() or reader.text[reader.position] in "|;)":
            return


def _axis_name(reader: Reader, expected: str) -> str:
    start = reader.skip()
    name = reader.word(expected)
    if not name.isidentifier() or not name.isascii() or len(name) > LONGEST_NAME:
        reader.fail(expected, at=start)
    return name
