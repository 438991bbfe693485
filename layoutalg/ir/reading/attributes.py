"""Types and attributes out of a text: what xDSL's parser reads, read once per text, and bounded.

>>> from layoutalg.ir.dialects import known_dialects
>>> parser = AttributeParser(known_dialects(), "vector<8xf16> vector<8xf16>")
>>> parser.parse_type() is parser.parse_type()
True

A kernel spells the same dozen types thousands of times, so `AttributeParser` remembers what a text meant. The law: it gives
what xDSL's parser gives, or refuses a text that would take memory or time without bound (nested, endless, enormous):

>>> AttributeParser(known_dialects(), "dense<1> : tensor<99999999x99xi32>").parse_attribute().data
BytesAttr(data=b'\\x01\\x00\\x00\\x00')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    LocationAttr,
    RankedStructure,
    StringAttr,
    UnknownLoc,
    i1,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.irdl import AttrConstraint, base
from xdsl.parser import Parser, ParserState
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRTokenKind, PunctuationSpelling

from layoutalg.core.limits import (
    LARGEST_EXPANDED,
    MAX_NESTING,
    MOST_ALIASED,
    MOST_CONSTANT_BYTES,
    MOST_DIMENSIONS,
    MOST_LISTED,
    MOST_MODULE_ELEMENTS,
)
from layoutalg.ir.reading.affine import SemiAffineParser
from layoutalg.ir.reading.lexer import ModuleLexer, ModuleToken

__all__ = ["AttributeParser"]

_Entry = TypeVar("_Entry")

_FLAT = r'(?:[^<>"-]|-(?!>))*+'
_NESTED = rf"(?:<{_FLAT}(?:<{_FLAT}(?:<{_FLAT}>{_FLAT})*+>{_FLAT})*+>)?+"
_TYPE = re.compile(rf"!?[A-Za-z_][A-Za-z0-9_.$]*+{_NESTED}(?![A-Za-z0-9_.$<])")
_ATTRIBUTE = re.compile(
    rf"#[A-Za-z_][A-Za-z0-9_.$]*+{_NESTED}(?![A-Za-z0-9_.$<])"
    r"|-?[0-9][0-9.]{0,20}(?:[eE][+-]?[0-9]{1,5})? : (?:index|bf16|f16|f32|f64|[su]?i[0-9]{1,4})(?![A-Za-z0-9_.$])"
)
_LONGEST_KEPT = 400
_AFFINE = re.compile(r"(?:->|>=|[^>])*+>")
_WIDEST = 2**24 - 1
"""Bits of an integer type, as in MLIR."""
_LOCATION = re.compile(r'loc\("(?P<file>(?:[^"\\\n]|\\.)*)":(?P<line>[0-9]{1,9}):(?P<column>[0-9]{1,9})')
_NOT_IN_LOCATION = re.compile(r'[^()"]*+(?:"(?:[^"\\\n]|\\.)*+"[^()"]*+)*+')
# Not possessive as a whole: up to Python 3.11.4 a possessive repeat forgets where an alternative of its ends (gh-106052).
_METADATA = re.compile(r'\{-#(?:[^"#]++|"(?:[^"\\\n]++|\\.)*+"|#(?!-\}))*#-\}')
_REMEMBERED = (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.MINUS, MLIRTokenKind.FLOAT_LIT)
_KINDS: dict[str, MLIRTokenKind] = {str(spelling): kind for spelling, kind in KIND_BY_PUNCTUATION_SPELLING.items()}


_NUMBERS = re.compile(r"\[([-+0-9.eE,\s]*+)\]")
_NUMBER = re.compile(r"\s*+(-?(?:[0-9]{1,40}+(\.[0-9]{0,40}+(?:[eE][-+]?[0-9]{1,5}+)?)?))\s*+")
"""A decimal number in a dense literal, with the blanks around it; the second group is there where it is a fraction."""

_RFC_ALIAS = re.compile(r"#[\w$.]+\s*=\s*!?xegpu\.(sg_map|tdesc_attr)\s*<")
"""An alias of an attribute of XeGPU's RFC, which writes no `#` before it."""
_LINE_ENDS = re.compile(r'("(?:[^"\\\n]++|\\.)*+")|[ \t]*\n\s*+')
"""Strings, and line ends with the blanks around them."""


class AttributeParser(Parser):
    """Reads types and attributes between two positions of a text.

    >>> from layoutalg.ir.dialects import known_dialects
    >>> print(AttributeParser(known_dialects(), "x = f16 + 1", 4, 7).parse_type())
    f16
    """

    def __init__(self, context: Context, text: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(context, "")
        self._parser_state = ParserState(ModuleLexer(Input(text, "text"), start, end))
        self.types: dict[str, tuple[TypeAttribute, int]] = {}
        self.attributes: dict[str, tuple[Attribute, int]] = {}
        self.constants: dict[tuple[bytes, int], bytes] = {}
        self.listed: int = 0
        self.constant_bytes = self.nesting = self.dimensions = 0
        self.aliased = 0  # characters that the aliases in what is being read stand for
        self.alias_lengths: dict[str, int] = {}

    # Tokens

    @property
    def lexer(self) -> ModuleLexer:
        """What gives the tokens."""
        lexer = self._parser_state.lexer
        assert isinstance(lexer, ModuleLexer)
        return lexer

    @property
    def pos(self) -> Position:
        """Where the next token begins."""
        token = self._parser_state.current_token
        return token.start if isinstance(token, ModuleToken) else token.span.start

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> Token[MLIRTokenKind, str]:
        state = self._parser_state
        consumed = state.current_token
        state.current_token = state.lexer.lex()
        return consumed

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> Token[MLIRTokenKind, str] | None:
        state = self._parser_state
        consumed = state.current_token
        if consumed.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return consumed

    def parse_optional_characters(self, text: str) -> str | None:
        """Read a token if it is this one."""
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_punctuation(self, punctuation: PunctuationSpelling) -> PunctuationSpelling | None:
        """Read a punctuation mark if it is there."""
        return None if self._parse_optional_token(_KINDS[punctuation]) is None else punctuation

    def parse_punctuation(self, punctuation: PunctuationSpelling, context_msg: str = "") -> PunctuationSpelling:
        """Read a punctuation mark, which must be there."""
        if self._parse_optional_token(_KINDS[punctuation]) is None:
            self.raise_error(f"Expected '{punctuation}'{context_msg}")
        return punctuation

    def parse_list(
        self,
        delimiter: Parser.Delimiter,
        parse: Callable[[], _Entry],
        separator: str = ",",
        context_msg: str = "",
    ) -> list[_Entry]:
        """Read a list, and count its entries: a text has at most so many."""
        opened = self.nesting
        self.nesting += 1
        if self.nesting > 2 * MAX_NESTING:
            self.raise_error("it is nested too deeply")
        try:
            return super().parse_list(delimiter, lambda: self._counted(parse), separator, context_msg)
        finally:
            self.nesting = opened

    def _counted(self, parse: Callable[[], _Entry]) -> _Entry:
        self._count(1)
        return parse()

    def _count(self, entries: int) -> None:
        self.listed += entries
        if self.listed > MOST_LISTED:
            self.raise_error(f"lists of more than {MOST_LISTED} entries in all are not read")

    # Types and attributes that were read before

    def parse_optional_type(self) -> TypeAttribute | None:
        """Read a type if one begins here."""
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT and token.kind is not MLIRTokenKind.EXCLAMATION_IDENT:
            return super().parse_optional_type()
        return self._read_once(_TYPE, self.types, super().parse_optional_type)

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        start = self.pos
        kind: Any = super()._parse_optional_builtin_parametrized_type()
        if getattr(kind, "name", "") == "vector" and prod(kind.get_shape()) > MOST_MODULE_ELEMENTS:
            self.raise_error(f"expected types of at most {MOST_MODULE_ELEMENTS} elements, found a larger one", start)
        return kind

    def parse_optional_attribute(self) -> Attribute | None:
        """Read an attribute if one begins here."""
        kind = self._parser_state.current_token.kind
        if kind not in _REMEMBERED:
            return self._nested(super().parse_optional_attribute)
        return self._read_once(_ATTRIBUTE, self.attributes, super().parse_optional_attribute)

    def _read_once(
        self, pattern: re.Pattern[str], known: dict[str, tuple[_Entry, int]], parse: Callable[[], _Entry | None]
    ) -> _Entry | None:
        """What a text says; a short one that fits the pattern is read the first time alone, and kept in `known`."""
        found = pattern.match(self.lexer.input.content, self.pos, self.lexer.end)
        if found is None or found.end() - found.start() > _LONGEST_KEPT:
            return self._nested(parse)
        kept = known.get(found.group())
        if kept is not None:
            self._resume_from(found.end())
            self.aliased += kept[1]
            return kept[0]
        before = self.aliased
        value = self._nested(parse)
        if value is not None and self.lexer.skip(found.end()) == self.pos:
            known[found.group()] = (value, self.aliased - before)
        return value

    def _nested(self, parse: Callable[[], _Entry]) -> _Entry:
        opened = self.nesting
        self.nesting += 1
        if self.nesting > 2 * MAX_NESTING:
            self.raise_error("it is nested too deeply")
        try:
            return parse()
        finally:
            self.nesting = opened

    # Aliases, which may stand for one another

    def _parse_alias_def(self) -> None:
        start, name = self.pos, self._current_token.text
        self.aliased = 0
        old = _RFC_ALIAS.match(self.lexer.input.content, start)
        if old is None:
            super()._parse_alias_def()
        else:
            self._parse_rfc_alias(name, old[1])
        self.alias_lengths[name] = self.pos - start + self.aliased
        if self.alias_lengths[name] > MOST_ALIASED:
            del self.attribute_aliases[name]
            self.raise_error(f"an alias that stands for more than {MOST_ALIASED} characters is not read", start)

    def _parse_rfc_alias(self, name: str, mnemonic: str) -> None:
        """Read `#a = xegpu.sg_map<...>` or `#a = !xegpu.tdesc_attr<...>`, as the RFC writes attributes."""
        from layoutalg.ir.dialects.xegpu.attributes import SgMapAttr, TdescAttr

        self._consume_token()
        self.parse_punctuation("=")
        self._consume_token()
        kind = SgMapAttr if mnemonic == "sg_map" else TdescAttr
        if name in self.attribute_aliases:
            self.raise_error(f"attribute alias {name} is defined a second time")
        self.attribute_aliases[name] = kind(kind.parse_parameter(self))

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        if "." not in attr_or_dialect_name:
            self.aliased += self.alias_lengths.get(("!" if is_type else "#") + attr_or_dialect_name, 0)
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    def _parse_dialect_symbol_body(self) -> str:
        # xDSL would write `#a.b<>` as `#a.b`, which is another attribute, and indent its lines anew.
        body = super()._parse_dialect_symbol_body()
        return _LINE_ENDS.sub(lambda found: found[1] or " ", body) or " "

    # Types and attributes that must be bounded

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Read one dimension of a shape; the lexer looks at the rest of the shape for each."""
        follows = self.lexer.input.content.startswith("x", max(0, self.pos - 1))
        self.dimensions = self.dimensions + 1 if follows else 1
        if self.dimensions > MOST_DIMENSIONS:
            self.raise_error(f"shapes of more than {MOST_DIMENSIONS} dimensions are not read")
        return super().parse_shape_dimension(allow_dynamic)

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        start = self.pos
        words = self._current_token.text
        value = super()._parse_optional_integer_or_float_type()
        if value is not None and value.name == "integer_type" and int(words.lstrip("siu")) > _WIDEST:
            self.raise_error(f"integer bitwidth is limited to {_WIDEST} bits", start)
        return value

    def _parse_builtin_affine_map(self) -> AffineMapAttr:
        self._bound_affine()
        return super()._parse_builtin_affine_map()

    def _parse_builtin_affine_set(self) -> AffineSetAttr:
        self._bound_affine()
        return super()._parse_builtin_affine_set()

    def parse_affine_map(self) -> AffineMap:
        """Read `(d0)[s0] -> (d0 * s0)`."""
        return SemiAffineParser(self._parser_state).parse_affine_map()

    def parse_affine_set(self) -> AffineSet:
        """Read `(d0)[s0] : (d0 mod s0 == 0)`."""
        return SemiAffineParser(self._parser_state).parse_affine_set()

    def _bound_affine(self) -> None:
        """Refuse an affine expression so long that simplifying it takes minutes."""
        start = self.pos
        if _AFFINE.match(self.lexer.input.content, start, start + MOST_ALIASED) is None:
            self.raise_error(f"affine maps and sets of more than {MOST_ALIASED} characters are not read", start)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr[Any]:
        """Read `<1> : vector<8xf16>`; one value for many elements is packed once, and kept as one where they are too many."""
        start = self.pos
        self.parse_punctuation("<", " in dense attribute")
        contents: tuple[list[Any], list[int]] | str | None = None
        if self.parse_optional_punctuation(">") is None:
            contents = self.parse_optional_str_literal()
            if contents is None:
                contents = self._nested(self._parse_tensor_literal)
            self.parse_punctuation(">", " in dense attribute")
        kind: Any = type
        if kind is None:
            self.parse_punctuation(":", " in dense attribute")
            kind = self._parse_dense_literal_type()
        shape = list(kind.get_shape())
        count = prod(shape)
        element: Any = kind.element_type
        size = element.compile_time_size
        if contents is None:
            packed, given = b"", 0
        elif isinstance(contents, str):
            packed, given = self._hexadecimal(contents, start)
            given = given // size
            if element == i1 and given > 1:
                packed, given = _truths(packed, count)
        else:
            if contents[1] and contents[1] != shape:
                self.raise_error(
                    f"Shape mismatch in dense literal. Expected {shape} shape from the type, "
                    f"but got {contents[1]} shape."
                )
            bits = [self._bits(value, element) for value in contents[0]]
            values = [
                0 if bit is not None else v.to_type(self, element) for v, bit in zip(contents[0], bits, strict=True)
            ]
            if isinstance(element, IntegerType):
                values = [element.get_normalized_value(value) for value in values]
            packed, given = bytearray(element.pack(values)), len(values)
            for position, bit in enumerate(bits):
                if bit is not None:
                    packed[position * size : (position + 1) * size] = bit
        if given != count and not (given == 1 and (contents is None or isinstance(contents, str) or not contents[1])):
            self.raise_error(f"expected {count} elements in the dense literal, found {given}", start)
        repeated = count if given == 1 and count <= LARGEST_EXPANDED else 1
        return DenseIntOrFPElementsAttr(kind, BytesAttr(self._kept(bytes(packed), repeated, start)))

    def _parse_tensor_literal(self) -> tuple[list[Any], list[int]]:
        """A literal's elements and its shape; a row of decimal numbers is read at once, not token by token."""
        text = self.lexer.input
        row = _NUMBERS.match(text.content, self.pos, self.lexer.end)
        if row is None:
            return super()._parse_tensor_literal()
        elements: list[Any] = []
        place = row.start(1)
        for word in row[1].split(","):
            number = _NUMBER.fullmatch(word)
            if number is None:
                return super()._parse_tensor_literal()
            value = int(number[1]) if number[2] is None else float(number[1])
            span = Span(place + number.start(1), place + number.end(1), text)
            elements.append(self._TensorLiteralElement(value < 0, value, span))
            place += len(word) + 1
        self._count(len(elements))
        self._resume_from(row.end())
        return elements, [len(elements)]

    def _bits(self, value: Any, element: Any) -> bytes | None:
        """The bytes of a float that is written by its bits, like the infinity 0x7F800000; None for other values."""
        written = value.span.text
        if not isinstance(element, AnyFloat) or not written.startswith("0x"):
            return None
        bits = int(written, 16)
        if bits >> element.bitwidth:
            self.raise_error(f"{written} has more bits than a value of type {element}", value.span)
        return bits.to_bytes(element.compile_time_size, "little")

    def _parse_dense_literal_type(self) -> Any:
        kind: Any = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _of_numbers().verifies(kind):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type")
        if DYNAMIC_INDEX in kind.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        return kind

    def _hexadecimal(self, digits: str, start: int) -> tuple[bytes, int]:
        try:
            packed = bytes.fromhex(digits.removeprefix("0x"))
        except ValueError:
            self.raise_error("Hex string in denseAttr is invalid", start)
        return packed, len(packed)

    def _kept(self, packed: bytes, times: int, start: int) -> bytes:
        kept = self.constants.get((packed, times))
        if kept is None:
            self.constant_bytes += len(packed) * times
            if self.constant_bytes > MOST_CONSTANT_BYTES:
                self.raise_error(f"constants of more than {MOST_CONSTANT_BYTES} bytes in all are not read", start)
            kept = self.constants[packed, times] = packed * times
        return kept

    # Resources: their names are kept, their bytes are not (xDSL would keep them, renamed, for the whole process)

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        return self.parse_identifier_or_str_literal(" for resource handle")

    def _parse_file_metadata_dictionary(self) -> None:
        start = self.pos
        found = _METADATA.match(self.lexer.input.content, start, self.lexer.end)
        if found is None:
            self.raise_error("expected '#-}' at the end of the file's metadata", start)
        self._resume_from(found.end())

    # Locations are stepped over: an operation's place is where its own text stands

    def parse_optional_location(self) -> LocationAttr | None:
        """Read `loc(...)` if it is there: the place that it names, or an unknown one."""
        token = self._parser_state.current_token
        if token.text != "loc" or token.kind is not MLIRTokenKind.BARE_IDENT:
            return None
        text, position = self.lexer.input.content, self.pos
        end = self._after_location(text, position)
        named = _LOCATION.match(text, position, end)
        self._resume_from(end)
        if named is None:
            return UnknownLoc()
        return FileLineColLoc(StringAttr(named["file"]), IntAttr(int(named["line"])), IntAttr(int(named["column"])))

    def _after_location(self, text: str, start: int) -> int:
        """The position behind the `)` that closes `loc(`."""
        position = self.lexer.skip(start + 3)
        if not text.startswith("(", position, self.lexer.end):
            self.raise_error("expected '(' in location", position)
        depth = 0
        while True:
            found = _NOT_IN_LOCATION.match(text, position, self.lexer.end)
            position = position if found is None else found.end()
            if position >= self.lexer.end or text[position] == '"':
                self.raise_error("expected ')' in location", Span(start, start + 3, self.lexer.input))
            depth += 1 if text[position] == "(" else -1
            position += 1
            if depth == 0:
                return position


@cache
def _of_numbers() -> AttrConstraint[Any]:
    """What the type of a dense literal must be; xDSL makes this constraint anew for each literal, in a millisecond."""
    return base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])


_BITS = [bytes(byte >> bit & 1 for bit in range(8)) for byte in range(256)]
"""The bits of each byte, the lowest first."""
_TRUE = bytes([0] + [0xFF] * 255)


def _truths(packed: bytes, count: int) -> tuple[bytes, int]:
    """Truth values, as many bytes; LLVM 22 writes eight of them in a byte, the first in its lowest bit."""
    if len(packed) != count and len(packed) == -(-count // 8):
        packed = b"".join(map(_BITS.__getitem__, packed))[:count]
    return packed.translate(_TRUE), len(packed)
