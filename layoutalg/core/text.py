"""The text form of a layout: one clause per dimension, then replicas, offset and origin.

    d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane | replicas 2@lane:16 | offset 64@addr | origin 8@d0

A factor is `extent@axis:stride`; a stride of 1 is left out; `_` stands for no axis; a dimension of one element is `d0 = 1`;
a layout without dimensions is `()`. Extents and strides may be expressions in symbols (`M/16@reg:16`).

>>> print(parse_layout("d0 = 2@sg:4 16@reg ,\\n d1=4@sg:1 16@lane"))
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane
"""

from __future__ import annotations

from layoutalg.core.extents import extent_text, read_extent
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.reader import Reader

__all__ = ["factor_text", "layout_text", "parse_layout", "read_layout"]

_MOST_DIMENSIONS = 64
_MOST_FACTORS = 1024


def factor_text(factor: Factor) -> str:
    """The text of one factor.

    >>> factor_text(Factor(16, 4, "reg"))
    '16@reg:4'
    """
    extent, stride, axis = factor
    if axis is None:
        return f"{extent_text(extent)}@_"
    return f"{extent_text(extent)}@{axis}" + ("" if stride == 1 else f":{extent_text(stride)}")


def layout_text(layout: Layout) -> str:
    """The text form of a layout.

    >>> layout_text(parse_layout("d0 = 8@lane|replicas 2@lane:8"))
    'd0 = 8@lane | replicas 2@lane:8'
    """
    clauses = [f"{n} = {' '.join(map(factor_text, f)) or '1'}" for n, f in zip(layout.names, layout.dims, strict=True)]
    parts = [", ".join(clauses) or "()"]
    if layout.replicas:
        parts.append("replicas " + " ".join(map(factor_text, layout.replicas)))
    if layout.offsets:
        parts.append("offset " + " ".join(f"{o}@{a}" for a, o in layout.offsets.items()))
    if any(layout.origins):
        parts.append("origin " + " ".join(f"{o}@{n}" for n, o in zip(layout.names, layout.origins, strict=True) if o))
    return " | ".join(parts)


def parse_layout(text: str) -> Layout:
    """Read the text form.

    Raises `ParseError` with line and column.

    >>> parse_layout("d0 = 8@lane, d1")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 16: expected '=', found the end of the text
    """
    reader = Reader(text)
    layout = read_layout(reader)
    reader.finish()
    return layout


def read_layout(reader: Reader) -> Layout:
    """Read one layout and leave the reader behind it.

    >>> reader = Reader("d0 = 4@reg; more")
    >>> print(read_layout(reader), reader.position)
    d0 = 4@reg 10
    """
    names: list[str] = []
    dims: list[list[Factor]] = []
    if reader.accept("("):
        reader.expect(")")
    else:
        while True:
            start = reader.skip()
            name = _axis_name(reader, "the name of a dimension, such as 'd0'")
            if name == "_":
                reader.fail("the name of a dimension, such as 'd0'", "found '_', which names no axis", at=start)
            if name in names or len(names) == _MOST_DIMENSIONS:
                reader.fail(f"at most {_MOST_DIMENSIONS} dimensions, each once", f"found {name!r} again", at=start)
            reader.expect("=")
            names.append(name)
            dims.append(_factors(reader))
            if not reader.accept(","):
                break
    replicas: list[Factor] = []
    offsets: dict[str, int] = {}
    origins: dict[str, int] = {}
    while reader.accept("|"):
        clause = reader.one_of(("replicas", "offset", "origin"))
        if clause == "replicas":
            start = reader.skip()
            replicas += _factors(reader)
            if any(f.axis is None and f.extent != 1 for f in replicas):
                reader.fail("an axis for each replica", "found '@_'", at=start)
        else:
            _read_starts(reader, offsets if clause == "offset" else origins, None if clause == "offset" else names)
    return Layout(dims, replicas, offsets, names=names, origins=[origins.get(n, 0) for n in names])


def _factors(reader: Reader) -> list[Factor]:
    factors: list[Factor] = []
    while True:
        start = reader.skip()
        extent = read_extent(reader)
        if reader.accept("@"):
            axis = _axis_name(reader, "the name of an axis, such as 'lane', or '_'")
            stride = 1
            if reader.accept(":"):
                stride = read_extent(reader, low=0, high=2**62)
            factors.append(Factor(extent) if axis == "_" or stride == 0 else Factor(extent, stride, axis))
        elif extent != 1:
            reader.fail("'@' and the name of an axis")
        if len(factors) > _MOST_FACTORS:
            reader.fail(f"at most {_MOST_FACTORS} factors", "found more", at=start)
        if reader.at_end() or reader.text[reader.position] in ",|;)":
            return factors


def _read_starts(reader: Reader, into: dict[str, int], known: list[str] | None) -> None:
    while True:
        start = reader.skip()
        amount = reader.integer(-(2**62), 2**62)
        reader.expect("@")
        name = _axis_name(reader, "a name")
        if name == "_" or name in into or (known is not None and name not in known):
            reader.fail("an axis, each once" if known is None else "a dimension, each once", at=start)
        into[name] = amount
        if reader.at_end() or reader.text[reader.position] in "|;)":
            return


def _axis_name(reader: Reader, expected: str) -> str:
    start = reader.skip()
    name = reader.word(expected)
    if not name.isidentifier() or not name.isascii() or len(name) > 64:
        reader.fail(expected, at=start)
    return name
