"""The types and attributes of the XeGPU dialect, in the form xDSL's own dialects have.

A tensor descriptor names the block of memory that one message moves: `!xegpu.tensor_desc<8x16xf16>` is 8 rows of 16
f16 elements. After the element type come, optionally, how the block lies in memory (`#xegpu.block_tdesc_attr` or
`#xegpu.scatter_tdesc_attr`) and how it is spread over subgroups and lanes (`#xegpu.layout` or `#xegpu.slice`).

The shape and the element type are read by xDSL. The text of the attributes is read by `layoutalg.xegpu`, which is the
one place that knows their fields: this module cuts the balanced text out, and keeps the canonical text that comes
back. So two spellings of one attribute are one xDSL attribute, and the law of the reader holds here too:
`parse(str(a)) == a`. Spellings of the older pages (`sg_map`, `tdesc_attr`, `memory_scope = slm`) become today's, with a note
(`old_spellings`).

>>> from xdsl.dialects.builtin import f16
>>> print(TensorDescType.of([8, 16], f16))
!xegpu.tensor_desc<8x16xf16>
>>> print(CacheHintAttr(CachePolicy.Cached), FenceScopeAttr(FenceScope.Gpu), MemorySpaceAttr(MemorySpace.Slm), NbarrierType())
#xegpu.cache_hint<cached> #xegpu<fence_scope gpu> #xegpu<memory_space slm> !xegpu.nbarrier
>>> LayoutAttr("lane_layout = [1, 16], lane_data = [1, 1]").value.layout((8, 16))
Layout.parse('d0 = 8@reg, d1 = 16@lane')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.enumerations import Bracketed, EitherForm
from layoutalg.ir.dialects.text_attributes import AttributeText, TextAttribute, skip_token
from layoutalg.ir.operations.old_spellings import note_old_spelling

if TYPE_CHECKING:
    from layoutalg.xegpu.reading import Value

__all__ = [
    "ATTRIBUTES",
    "BlockTensorDescAttr",
    "CacheHintAttr",
    "CachePolicy",
    "FenceScope",
    "FenceScopeAttr",
    "LaneShuffleMode",
    "LaneShuffleModeAttr",
    "LayoutAttr",
    "MemDescType",
    "MemLayoutAttr",
    "MemorySpace",
    "MemorySpaceAttr",
    "NbarrierType",
    "RangeAttr",
    "ScatterTensorDescAttr",
    "SgMapAttr",
    "SliceAttr",
    "TdescAttr",
    "TensorDescType",
    "parse_shaped",
]

_OLD_WORDS = {"dim": "dims", "arr_len": "array_length", "memory_scope": "memory_space"}


_SHORT = 256


def _read(text: str) -> Value:
    return _kept(text) if len(text) <= _SHORT else _kept.__wrapped__(text)


@lru_cache(maxsize=1 << 12)
def _kept(text: str) -> Value:
    """What a text says; the operations of a module say the same few layouts again and again."""
    from layoutalg.xegpu import parse_attribute

    return parse_attribute(text)


class _TextAttribute(TextAttribute):
    """An attribute of the dialect, whose text `layoutalg.xegpu` reads."""

    @classmethod
    def read(cls, text: str) -> Value:
        """The value that a text says."""
        return _read(text)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read `<...>`; older names of its parameters are noted."""
        body = cls.body(parser)
        for old, today in _OLD_WORDS.items():
            if re.search(rf"\b{old}\b\s*=", body.text):
                note_old_spelling(parser, f"`{old}` in `#{cls.name}`", f"`{today}`")
        return cls.canonical(parser, body)

    @property
    def value(self) -> Value:
        """What the text says, as a value of layoutalg.xegpu."""
        return _read(str(self))


@irdl_attr_definition
class LayoutAttr(_TextAttribute):
    """`#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>`."""

    name = "xegpu.layout"


@irdl_attr_definition
class SliceAttr(_TextAttribute):
    """`#xegpu.slice<#xegpu.layout<...>, dims = [0]>`."""

    name = "xegpu.slice"


@irdl_attr_definition
class RangeAttr(_TextAttribute):
    """`#xegpu.range<[2, 4]>`: the subgroups 2 and 3."""

    name = "xegpu.range"


@irdl_attr_definition
class BlockTensorDescAttr(_TextAttribute):
    """`#xegpu.block_tdesc_attr<array_length = 2 : i64>`."""

    name = "xegpu.block_tdesc_attr"


@irdl_attr_definition
class ScatterTensorDescAttr(_TextAttribute):
    """`#xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>`."""

    name = "xegpu.scatter_tdesc_attr"


@irdl_attr_definition
class MemLayoutAttr(_TextAttribute):
    """`#xegpu.mem_layout<block = [16, 16], stride = [1, 32]>`."""

    name = "xegpu.mem_layout"


class _OldAttribute(_TextAttribute):
    """An attribute of an older page, held as it was written; in a tensor_desc it becomes today's."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read `<...>`, and note today's form."""
        body = cls.body(parser)
        cls.canonical(parser, body)
        note_old_spelling(parser, f"`#{cls.name}<{body.text}>`", f"`{cls(body.text).today(2)}`")
        return body.text

    def today(self, rank: int) -> Attribute:
        """The same in today's words, on a tensor of this rank."""
        from layoutalg.xegpu import rfc

        value = self.value
        text = str(value.to_layout(rank) if isinstance(value, rfc.SgMapAttr) else value)
        name, _, body = text[1:-1].partition("<")
        kinds = (LayoutAttr, BlockTensorDescAttr, ScatterTensorDescAttr)
        return next(kind(body) for kind in kinds if kind.name == name)


@irdl_attr_definition
class SgMapAttr(_OldAttribute):
    """`#xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>` of the RFC: `lane_layout` and `lane_data` today."""

    name = "xegpu.sg_map"


@irdl_attr_definition
class TdescAttr(_OldAttribute):
    """`#xegpu.tdesc_attr<memory_scope = slm>` of the RFC: `block_tdesc_attr` or `scatter_tdesc_attr` today."""

    name = "xegpu.tdesc_attr"


@irdl_attr_definition
class ScatteredTensorDescAttr(_OldAttribute):
    """`#xegpu.scattered_tdesc_attr<chunk_size = 8>` of the page's examples: `scatter_tdesc_attr` today."""

    name = "xegpu.scattered_tdesc_attr"


class CachePolicy(StrEnum):
    """What a cache level does with the lines that a message touches."""

    Cached = "cached"
    Uncached = "uncached"
    Streaming = "streaming"
    ReadInvalidate = "read_invalidate"
    WriteBack = "write_back"
    WriteThrough = "write_through"


class FenceScope(StrEnum):
    """Who sees the memory accesses before a fence: the workgroup, or the whole GPU."""

    Workgroup = "workgroup"
    Gpu = "gpu"


class MemorySpace(StrEnum):
    """Device memory, or the shared local memory of the workgroup."""

    Global = "global"
    Slm = "slm"


class LaneShuffleMode(StrEnum):
    """Which way `lane_shuffle` moves the elements of a subgroup."""

    Pack = "pack"
    Unpack = "unpack"


@irdl_attr_definition
class CacheHintAttr(EitherForm, Bracketed, EnumAttribute[CachePolicy]):
    """`#xegpu.cache_hint<cached>`."""

    name = "xegpu.cache_hint"


@irdl_attr_definition
class LaneShuffleModeAttr(EitherForm, Bracketed, EnumAttribute[LaneShuffleMode]):
    """`#xegpu.lane_shuffle_mode<pack>` (LLVM 24)."""

    name = "xegpu.lane_shuffle_mode"


@irdl_attr_definition
class FenceScopeAttr(EitherForm, EnumAttribute[FenceScope], SpacedOpaqueSyntaxAttribute):
    """`#xegpu<fence_scope workgroup>`; LLVM 24 has `#xegpu.fence_scope<workgroup>`."""

    name = "xegpu.fence_scope"
    bare_before_llvm_24 = True


@irdl_attr_definition
class MemorySpaceAttr(EitherForm, EnumAttribute[MemorySpace], SpacedOpaqueSyntaxAttribute):
    """`#xegpu<memory_space global>`; LLVM 24 has `#xegpu.memory_space<global>`."""

    name = "xegpu.memory_space"
    bare_before_llvm_24 = True


def _print_shaped(printer: Printer, shape: Sequence[int], element: Attribute, rest: Sequence[Attribute]) -> None:
    with printer.in_angle_brackets():
        printer.print_dimension_list(shape)
        printer.print_string("x")
        printer.print_attribute(element)
        for attribute in rest:
            printer.print_string(", ")
            printer.print_attribute(attribute)


def parse_shaped(
    parser: AttrParser,
    shaped: Callable[[], tuple[Sequence[int], Attribute]] | None = None,
    attribute: Callable[[Any], Attribute] | None = None,
) -> tuple[ArrayAttr[IntAttr], Attribute, list[tuple[int, Attribute]]]:
    """Read `<8x16xf16, #a, #b>`: shape, element type, and the attributes with their positions in the text.

    Other functions may read the shape with the element type, and an attribute.
    """
    with parser.in_angle_brackets():
        shape, element = (shaped or parser.parse_ranked_shape)()
        rest: list[tuple[int, Attribute]] = []
        loose: list[str] = []
        start = parser.pos
        while parser.parse_optional_punctuation(",") is not None:
            position = parser.pos
            name = parser.parse_optional_identifier()
            if name is None:
                found = parser.parse_attribute() if attribute is None else attribute(parser)
                rest.append((position, _today(parser, found, len(shape))))
                continue
            parser.parse_punctuation("=")
            while parser.lexer.input.content[parser.pos : parser.pos + 1] not in (",", ">"):
                skip_token(parser)
            loose.append(parser.lexer.input.content[position : parser.pos].strip())
        if loose:  # `tensor_desc<8x16xf16, memory_scope = slm>` of the RFC
            body = ", ".join(loose)
            TdescAttr.canonical(parser, AttributeText(body, start))
            encoding = TdescAttr(body).today(len(shape))
            note_old_spelling(parser, f"`{body}` in a tensor_desc", f"`{encoding}`")
            rest.append((start, encoding))
    return ArrayAttr([IntAttr(size) for size in shape]), element, rest


def _today(parser: AttrParser, attribute: Attribute, rank: int) -> Attribute:
    if not isinstance(attribute, _OldAttribute):
        return attribute
    try:
        return attribute.today(rank)
    except LayoutError as problem:
        parser.raise_error(str(problem))


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute):
    """The block of memory that one message moves, e.g. `!xegpu.tensor_desc<8x16xf16>`."""

    name = "xegpu.tensor_desc"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    encoding: BlockTensorDescAttr | ScatterTensorDescAttr | NoneAttr
    layout: LayoutAttr | SliceAttr | NoneAttr

    @classmethod
    def of(cls, shape: Sequence[int], element_type: Attribute) -> TensorDescType:
        """A block of this shape and element type, with nothing else said."""
        return cls(ArrayAttr([IntAttr(size) for size in shape]), element_type, NoneAttr(), NoneAttr())

    def get_shape(self) -> tuple[int, ...]:
        """Rows and columns, in elements."""
        return tuple(size.data for size in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<8x16xf16, #encoding, #layout>`."""
        return cls.parts(parser, *parse_shaped(parser))

    @classmethod
    def parts(
        cls, parser: AttrParser, shape: ArrayAttr[IntAttr], element: Attribute, rest: Sequence[tuple[int, Attribute]]
    ) -> Sequence[Attribute]:
        """What the type is made of, from its shape, its element type, and the attributes behind them."""
        encoding: Attribute = NoneAttr()
        layout: Attribute = NoneAttr()
        for position, attribute in rest:
            if isinstance(attribute, BlockTensorDescAttr | ScatterTensorDescAttr):
                # As in LLVM, a descriptor that says the defaults is the one that says nothing.
                encoding = NoneAttr() if attribute == BlockTensorDescAttr("") else attribute
            elif isinstance(attribute, LayoutAttr | SliceAttr):
                layout = attribute
            else:
                parser.raise_error("expected a block_tdesc_attr, scatter_tdesc_attr, layout or slice", position)
        return shape, element, encoding, layout

    def print_parameters(self, printer: Printer) -> None:
        """Write `<8x16xf16, #encoding, #layout>`."""
        rest = [part for part in (self.encoding, self.layout) if not isinstance(part, NoneAttr)]
        _print_shaped(printer, self.get_shape(), self.element_type, rest)


@irdl_attr_definition
class MemDescType(ParametrizedAttribute, TypeAttribute):
    """A matrix in shared local memory, e.g. `!xegpu.mem_desc<16x8xf16>`."""

    name = "xegpu.mem_desc"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    mem_layout: MemLayoutAttr | NoneAttr

    def get_shape(self) -> tuple[int, ...]:
        """Rows and columns, in elements."""
        return tuple(size.data for size in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<16x8xf16, #xegpu.mem_layout<...>>`."""
        shape, element, rest = parse_shaped(parser)
        for position, attribute in rest:
            if not isinstance(attribute, MemLayoutAttr) or len(rest) > 1:
                parser.raise_error("expected one mem_layout", position)
        return shape, element, rest[0][1] if rest else NoneAttr()

    def print_parameters(self, printer: Printer) -> None:
        """Write `<16x8xf16, #xegpu.mem_layout<...>>`."""
        rest = [] if isinstance(self.mem_layout, NoneAttr) else [self.mem_layout]
        _print_shaped(printer, self.get_shape(), self.element_type, rest)


@irdl_attr_definition
class NbarrierType(ParametrizedAttribute, TypeAttribute):
    """A named barrier of the workgroup, `!xegpu.nbarrier`."""

    name = "xegpu.nbarrier"


ATTRIBUTES: tuple[type[Attribute], ...] = (
    BlockTensorDescAttr,
    CacheHintAttr,
    FenceScopeAttr,
    LaneShuffleModeAttr,
    LayoutAttr,
    MemDescType,
    MemLayoutAttr,
    MemorySpaceAttr,
    NbarrierType,
    RangeAttr,
    ScatterTensorDescAttr,
    ScatteredTensorDescAttr,
    SgMapAttr,
    SliceAttr,
    TdescAttr,
    TensorDescType,
)
