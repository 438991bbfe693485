"""Text to values: `#xegpu.*` attributes and `!xegpu.*` types, in LLVM's spelling and in the older ones of its pages.

>>> print(parse_attribute("#xegpu.slice<#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>, dim = [0]>"))
#xegpu.slice<#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>, dims = [0]>

LLVM's own spellings are all read, `#xegpu<layout<...>>` and `#xegpu<memory_space slm>` too. Older ones that no LLVM takes today
are read as well, and printed in today's: `dim` for `dims`, `arr_len`, `tdesc_attr` and `scattered_tdesc_attr`, a type without
`!`, `sg_map` and what else the RFC writes (`xegpu.rfc`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from layoutalg.core.elements import read_element
from layoutalg.core.errors import LayoutError, VerificationError
from layoutalg.core.limits import MAX_EXTENT, MAX_NESTING
from layoutalg.core.limits import MOST_DIMENSIONS as _MOST_DIMENSIONS
from layoutalg.core.reader import Reader, did_you_mean
from layoutalg.xegpu.attributes import DistributeLayout, LayoutAttr, SliceAttr
from layoutalg.xegpu.descriptors import BlockTensorDescAttr, Encoding, ScatterTensorDescAttr, TensorDescType
from layoutalg.xegpu.integers import read_integer, read_integers
from layoutalg.xegpu.mem_desc import MemDescType, MemLayoutAttr
from layoutalg.xegpu.rfc import SgMapAttr
from layoutalg.xegpu.words import MEMORY_SPACES, WORDS, EnumAttr, NbarrierType, RangeAttr

__all__ = ["Value", "parse_attribute", "read_notation"]

Value: TypeAlias = (
    LayoutAttr
    | SliceAttr
    | RangeAttr
    | BlockTensorDescAttr
    | ScatterTensorDescAttr
    | MemLayoutAttr
    | EnumAttr
    | SgMapAttr
    | TensorDescType
    | MemDescType
    | NbarrierType
)

_FIELDS = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data", "order")
_NUMBERS = "[0-9]{1,9}(?:, ?[0-9]{1,9}){0,15}+"
_GIVEN = rf"(?:{'|'.join(_FIELDS)}) ?= ?\[{_NUMBERS}\]"
_USUAL = re.compile(rf"#xegpu\.layout<{_GIVEN}(?:,[ \n]{{0,20}}+{_GIVEN}){{0,5}}+>")
"""The usual text, read at once; whatever else goes through the `Reader` word by word."""
_FIELD = re.compile(r"([a-z_]+) ?= ?\[([0-9, ]+)\]")


def parse_attribute(text: str, aliases: Mapping[str, Any] | None = None, llvm: int | None = None) -> Value:
    """Read one attribute or type of the dialect; `aliases` are values for `#name` and `!name` (sigils included).

    A tensor_desc must pass the verifier of the version `llvm`, or of any version where none is given. Raises `ParseError` with
    line and column, `VerificationError` for what the dialect's rules refuse, `LayoutError` for a version that is not known.

    >>> parse_attribute("#xegpu.range<[2, 4]>").ids()
    range(2, 4)
    """
    reader = Reader(text)
    if aliases is not None:
        if not isinstance(aliases, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"aliases of type {type(aliases).__name__}: expected a mapping of names to values")
        reader.aliases.update(aliases)
    value = read_notation(reader, llvm)
    reader.finish()
    return value


def read_notation(reader: Reader, llvm: int | None = None) -> Value:
    """Read one attribute or type, or an alias of the reader's, and leave the reader behind it; see `parse_attribute`."""
    alias = reader.accept_alias()
    if alias is not None:
        return alias
    usual = _usual_layout(reader)
    if usual is not None:
        return usual
    start = reader.skip()
    sigil = "#" if reader.accept("#") else "!" if reader.accept("!") else ""
    word = reader.word("an attribute or type, such as #xegpu.layout<...>")
    dialect, dot, name = word.partition(".")
    if word in ("layout", "slice") and not sigil and reader.looking_at("<"):
        # as LLVM prints it inside another attribute
        return reader.nested(lambda: _ATTRIBUTES[word](reader))
    inside = not dot and reader.accept("<")  # `#xegpu<layout<...>>`, another spelling of `#xegpu.layout<...>`
    if dialect not in ("xegpu", "XeGPU") or not (dot or inside):
        known = "".join(f", '{alias}'" for alias in reader.aliases)
        reader.fail(f"'#xegpu.' or '!xegpu.' (or another dialect that layoutalg reads){known}", at=start)
    at = reader.skip()
    if inside:
        name = reader.word("the name of an attribute or type, such as layout")
    else:
        at -= len(name)
    readers = dict(_ATTRIBUTES if sigil != "!" else {})
    if sigil != "#":
        readers |= {"tensor_desc": lambda types: _tensor_desc(types, llvm), **_TYPES}
    read = readers.get(name)
    if read is None:
        names = tuple(n for n in readers if n not in _OLD_NAMES)
        listed = ", ".join(f"'{n}'" for n in names)
        problem = f"found {name[:40]!r}{did_you_mean(name, names)}" if name else None
        reader.fail(f"one of {listed}", problem, at=at)
    if inside and name in WORDS and not reader.looking_at("<"):
        value: Value = EnumAttr(name, reader.one_of(WORDS[name]))
    else:
        value = reader.nested(lambda: read(reader))
    if inside:
        reader.expect(">")
    return value


def _usual_layout(reader: Reader) -> LayoutAttr | None:
    """The attribute that the usual text of `#xegpu.layout` means, read at once; None, and nothing read, for any other."""
    usual = _USUAL.match(reader.text, reader.position)
    if usual is None or reader.depth >= MAX_NESTING:
        return None
    found = _FIELD.findall(usual.group())
    fields = {name: tuple(map(int, numbers.split(","))) for name, numbers in found}
    if len(fields) != len(found):
        return None
    reader.position = usual.end()
    return LayoutAttr(**fields)


def _layout(reader: Reader) -> LayoutAttr:
    fields: dict[str, Any] = {}

    def field() -> None:
        start = reader.skip()
        name = reader.one_of(_FIELDS)
        reader.expect("=")
        _note(reader, fields, name, reader.integers(), start)

    _struct(reader, field)
    return LayoutAttr(**fields)


def _slice(reader: Reader) -> SliceAttr:
    reader.expect("<")
    start = reader.skip()
    parent = read_notation(reader)
    if not isinstance(parent, DistributeLayout):
        reader.fail("#xegpu.layout or #xegpu.slice", f"found {parent}", at=start)
    reader.expect(",")
    reader.one_of(("dims", "dim"))
    reader.expect("=")
    dims = reader.integers(-(2**63), 2**63 - 1)
    reader.expect(">")
    return SliceAttr(parent, dims)


def _range(reader: Reader) -> RangeAttr:
    reader.expect("<")
    reader.expect("[")
    start, start_type = read_integer(reader)
    reader.expect(",")
    end, end_type = read_integer(reader)
    reader.expect("]")
    reader.expect(">")
    return RangeAttr(start, end, start_type, end_type)


def _block(reader: Reader) -> BlockTensorDescAttr:
    return _block_of(
        _named(
            reader,
            {"memory_space": _space, "array_length": read_integer, "arr_len": read_integer, "boundary_check": _boolean},
        )
    )


def _block_of(values: dict[str, Any]) -> BlockTensorDescAttr:
    if "arr_len" in values and "array_length" in values:
        raise VerificationError("arr_len is an older name of array_length: expected one of them")
    length, kind = values.get("array_length", values.get("arr_len", (1, "i64")))
    return BlockTensorDescAttr(_space_of(values), length, values.get("boundary_check", True), kind)


def _space_of(values: dict[str, Any]) -> str:
    return values.get("memory_space", values.get("memory_scope", "global"))


def _scatter(reader: Reader) -> ScatterTensorDescAttr:
    values = _named(reader, {"memory_space": _space, "chunk_size": read_integer})
    size, kind = values.get("chunk_size", (1, "i64"))
    return ScatterTensorDescAttr(_space_of(values), size, kind)


def _tdesc(reader: Reader) -> BlockTensorDescAttr | ScatterTensorDescAttr:
    """The RFC's `tdesc_attr`: one attribute for blocks and for scattered accesses."""
    return _encoding(_named(reader, _LOOSE | {"chunk_size": read_integer}))


def _encoding(values: dict[str, Any]) -> BlockTensorDescAttr | ScatterTensorDescAttr:
    chunk = values.get("chunk_size", values.get("chunk_size_per_lane"))
    if not values.get("scattered") and chunk is None:
        return _block_of(values)
    for name in ("array_length", "arr_len", "boundary_check"):
        if name in values:
            raise VerificationError(f"a scattered tensor has no {name}")
    size, kind = (1, "i64") if chunk is None else chunk
    return ScatterTensorDescAttr(_space_of(values), size, kind)


def _mem_layout(reader: Reader) -> MemLayoutAttr:
    found = _named(reader, {"stride": read_integers, "block": read_integers})
    stride, stride_types = found.get("stride", (None, None))
    block, block_types = found.get("block", (None, None))
    return MemLayoutAttr(stride, block, stride_types, block_types)


def _sg_map(reader: Reader) -> SgMapAttr:
    start = reader.skip()
    values = _named(reader, {"wi_layout": Reader.integers, "wi_data": Reader.integers})
    if len(values) != 2:
        reader.fail("wi_layout and wi_data", "found one of them", at=start)
    return SgMapAttr(**values)


def _enum(name: str) -> Callable[[Reader], EnumAttr]:
    def read(reader: Reader) -> EnumAttr:
        reader.expect("<")
        value = reader.one_of(WORDS[name])
        reader.expect(">")
        return EnumAttr(name, value)

    return read


def _tensor_desc(reader: Reader, llvm: int | None) -> TensorDescType:
    reader.expect("<")
    shape, element = _shape(reader)
    encoding: BlockTensorDescAttr | ScatterTensorDescAttr | None = None
    layout: LayoutAttr | SliceAttr | None = None
    loose: dict[str, Any] = {}
    start = reader.skip()
    while reader.accept(","):
        start = reader.skip()
        if _SCATTERED.match(reader.text, start) and not reader.aliases.keys() & {"#scattered", "#Scattered"}:
            reader.position = start + len("#scattered")
            _note(reader, loose, "scattered", True, start)
            continue
        if not reader.looking_at("#"):
            name = reader.one_of(tuple(_LOOSE))
            reader.expect("=")
            _note(reader, loose, name, _LOOSE[name](reader), start)
            continue
        value = read_notation(reader)
        if isinstance(value, SgMapAttr):
            value = value.to_layout(len(shape))
        if isinstance(value, Encoding) and encoding is None:
            encoding = value
        elif isinstance(value, DistributeLayout) and layout is None:
            layout = value
        else:
            reader.fail("one encoding and one layout", f"found {value}", at=start)
    reader.expect(">")
    if loose:
        if encoding is not None:
            reader.fail(
                "an encoding, or its parameters one by one", f"found {encoding} and {', '.join(loose)}", at=start
            )
        encoding = _encoding(loose)
    return TensorDescType(shape, element, encoding, layout, llvm=llvm)


def _note(reader: Reader, values: dict[str, Any], name: str, value: Any, start: int) -> None:
    if name in values:
        reader.fail("each parameter once", f"found a second {name}", at=start)
    values[name] = value


def _mem_desc(reader: Reader) -> MemDescType:
    reader.expect("<")
    shape, element = _shape(reader)
    layout: MemLayoutAttr | None = None
    if reader.accept(","):
        start = reader.skip()
        value = read_notation(reader)
        if not isinstance(value, MemLayoutAttr):
            reader.fail("#xegpu.mem_layout", f"found {value}", at=start)
        layout = value
    reader.expect(">")
    return MemDescType(shape, element, layout)


def _shape(reader: Reader) -> tuple[tuple[int, ...], str]:
    """`8x16xf16`; an `x` follows each size. (`0x16xf16` is a size of 0, not a hexadecimal number.)"""
    sizes: list[int] = []
    while True:
        start = reader.skip()
        digits = _leading_digits(reader)
        if not digits:
            if reader.looking_at("?"):
                reader.fail("a static size")
            break
        if len(digits) > 10 or int(digits) > MAX_EXTENT or len(sizes) == _MOST_DIMENSIONS:
            reader.fail(f"at most {_MOST_DIMENSIONS} sizes of at most 2^31", at=start)
        sizes.append(int(digits))
        reader.expect("x")
    return tuple(sizes), read_element(reader)


def _leading_digits(reader: Reader) -> str:
    start = reader.skip()
    end = start
    while end < len(reader.text) and reader.text[end] in "0123456789":
        end += 1
    reader.position = end
    return reader.text[start:end]


def _struct(reader: Reader, field: Callable[[], None]) -> None:
    reader.expect("<")
    if reader.accept(">"):
        return
    while True:
        field()
        if not reader.accept(","):
            break
    if not reader.accept(">"):
        reader.fail("',' or '>'")


def _named(reader: Reader, readers: Mapping[str, Callable[[Reader], Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}

    def field() -> None:
        start = reader.skip()
        name = reader.one_of(tuple(readers))
        reader.expect("=")
        _note(reader, values, name, readers[name](reader), start)

    _struct(reader, field)
    return values


def _boolean(reader: Reader) -> bool:
    return reader.one_of(("true", "false")) == "true"


def _space(reader: Reader) -> str:
    return reader.one_of(MEMORY_SPACES)


_LOOSE: dict[str, Callable[[Reader], Any]] = {
    "memory_space": _space,
    "memory_scope": _space,
    "array_length": read_integer,
    "arr_len": read_integer,
    "boundary_check": _boolean,
    "scattered": _boolean,
    "chunk_size_per_lane": read_integer,
}
"""What the RFC writes straight into a tensor_desc."""

_SCATTERED = re.compile(r"#[sS]cattered(?![A-Za-z0-9_$.])")
"""The RFC's alias for a scattered tensor, where the text defines none of that name."""

_OLD_NAMES = ("tdesc_attr", "scattered_tdesc_attr", "sg_map")

_ATTRIBUTES: dict[str, Callable[[Reader], Value]] = {
    "layout": _layout,
    "slice": _slice,
    "range": _range,
    "block_tdesc_attr": _block,
    "scatter_tdesc_attr": _scatter,
    "mem_layout": _mem_layout,
    **{name: _enum(name) for name in WORDS},
    "tdesc_attr": _tdesc,
    "scattered_tdesc_attr": _scatter,
    "sg_map": _sg_map,
}

_TYPES: dict[str, Callable[[Reader], Value]] = {
    "mem_desc": _mem_desc,
    "nbarrier": lambda reader: NbarrierType(),
    "tdesc_attr": _tdesc,
}
