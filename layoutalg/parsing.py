"""`parse`: any text that layoutalg reads, whatever the notation.

The text says itself what it is: `#xegpu.layout<...>`, `!xegpu.tensor_desc<...>`, `#iree_vector_ext.nested_layout<...>`,
`#iree_gpu.mma_layout<...>`, `!amx.tile<...>`, `#ttg.linear<{...}>`, CuTe's `(8,4):(4,1)`, or a layout's own `d0 = ...`.
Definitions of aliases may stand before it, as in MLIR:

>>> value = parse('''
... #l = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>
... #xegpu.slice<#l, dims = [0]>
... ''')
>>> value.layout((128,))
Layout.parse('d0 = 4@sg 32@reg | replicas 8@sg:4')
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from layoutalg.core.errors import ParseError
from layoutalg.core.layout import Layout
from layoutalg.core.reader import Reader

if TYPE_CHECKING:
    from layoutalg.amx import TileType
    from layoutalg.bridges import CuteLayout, LinearLayout
    from layoutalg.nested import NestedLayoutAttr
    from layoutalg.nested.gpu.reading import GpuAttr
    from layoutalg.xegpu.reading import Value

__all__ = ["Parsed", "parse"]

Parsed: TypeAlias = "Layout | NestedLayoutAttr | GpuAttr | TileType | LinearLayout | CuteLayout | Value"

_DEFINITION = re.compile(r"([#!])([A-Za-z_][A-Za-z0-9_$]*)\s*=")
_MOST_ALIASES = 4096
_CUTE = re.compile(r"Sw[ \t]*<|\([ \t]*[(_0-9]|\([ \t]*\)[ \t]*:|_?[0-9]+[ \t]*:")
"""How a CuTe layout begins, and nothing else: `(8,4):...`, `8:1`, `Sw<3,0,3> o ...`."""


def parse(text: str) -> Parsed:
    """Read an attribute, a type or a layout.

    Returns a frozen value: `str` prints its canonical text, and `parse(str(value)) == value` for what was parsed. A text
    that ends with the definition of an alias is the value of that alias.

    Raises `ParseError` with line and column; `VerificationError` where the text breaks a rule of its dialect.

    >>> print(parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    >>> parse("#xegpu.layout<lane_layout = [1, 16>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 35: expected ',' or ']', found '>'
    """
    reader = Reader(text)
    if not reader.text.startswith(("#", "!"), reader.skip()) and not _names_a_dialect(reader):
        if not _CUTE.match(reader.text, reader.position):
            return _layout(reader)
        value = _attribute(reader, {})
        reader.finish()
        return value
    aliases: dict[str, Any] = {}
    value: Parsed | None = None
    while not reader.at_end():
        definition = _DEFINITION.match(text, reader.position)
        if definition is None:
            value = _attribute(reader, aliases)
            reader.finish()
            return value
        if len(aliases) == _MOST_ALIASES:
            reader.fail(f"at most {_MOST_ALIASES} aliases", "found one more")
        reader.position = definition.end()
        value = aliases[definition.group(1) + definition.group(2)] = _attribute(reader, aliases)
    if value is None:
        reader.fail("an attribute, a type or a layout, such as #xegpu.layout<lane_layout = [1, 16]> or d0 = 16@lane")
    return value


def _attribute(reader: Reader, aliases: dict[str, Any]) -> Parsed:
    """Read one attribute or type of whatever dialect it names."""
    if reader.accept("#iree_vector_ext.nested_layout"):
        from layoutalg.nested.attributes import read_nested

        return read_nested(reader)
    if reader.looking_at("#iree_gpu.") or reader.looking_at("#iree_gpu<"):
        from layoutalg.nested.gpu.reading import read_gpu

        return read_gpu(reader, aliases)
    if reader.looking_at("#ttg.linear") or reader.looking_at("#triton_gpu.linear"):
        from layoutalg.bridges.linear import read_linear_layout

        return read_linear_layout(reader)
    if _CUTE.match(reader.text, reader.skip()):
        from layoutalg.bridges.cute import read_cute

        return read_cute(reader)
    if reader.looking_at("affine_map<"):
        from layoutalg.nested.gpu.dictionary import read_value

        return read_value(reader)
    if reader.accept("!amx.tile"):
        from layoutalg.amx.tiles import read_tile

        return read_tile(reader)
    from layoutalg.xegpu.reading import read_attribute

    return read_attribute(reader, aliases)


def _names_a_dialect(reader: Reader) -> bool:
    return reader.looking_at("xegpu.") or reader.looking_at("XeGPU.")


def _layout(reader: Reader) -> Layout:
    from layoutalg.core.text import parse_layout

    if reader.at_end():
        raise ParseError(reader.text, reader.position, "an attribute, a type or a layout")
    return parse_layout(reader.text)
