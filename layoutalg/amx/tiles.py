"""`!x86.amx.tile<16x64xi8>`: what one of the eight AMX tile registers holds. (LLVM 22 writes `!amx.tile`.)

A tile register is 16 rows of 64 bytes. The register file has three axes: `tmm` (which register, 0 to 7), `row`, and `col`,
which counts **bytes**. An element of two bytes covers `col` and `col + 1`; a layout says where it starts:

>>> tile = parse_tile("!x86.amx.tile<16x32xbf16>")
>>> tile.layout()
Layout.parse('d0 = 16@row, d1 = 32@col:2')
>>> tile.layout(tmm=3).owners((5, 7))
[(3, 5, 14)]

With a third dimension for the bytes of an element the register is filled without a hole, and every byte can be asked what
it is part of: the fifteenth byte of row 5 is byte 1 of element (5, 7).

>>> tile.byte_layout().inverse().owners((0, 5, 15))
[(5, 7, 1)]

LLVM reads any two-dimensional tile type, and refuses the operation that uses one too large for the register: so a
`TileType` may have any size, `check()` has LLVM's words, and only `layout()` raises. Two things that LLVM lets pass are
refused here: a dimension of 0, and a type that is not two-dimensional (no operation takes it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.limits import MOST_TILE_STRIDE as _MOST_STRIDE
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Note, Operand, own_sizes
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import whole_number

__all__ = [
    "BYTES_PER_ROW",
    "ITEMSIZES",
    "REGISTERS",
    "REGISTER_FILE",
    "ROWS",
    "TileType",
    "as_tile",
    "dialect_of",
    "parse_tile",
    "read_notation",
    "read_tile",
]

ROWS = 16
"""Rows of a tile register (palette 1)."""
BYTES_PER_ROW = 64
"""Bytes in a row of a tile register (palette 1)."""
REGISTERS = 8
"""Tile registers: tmm0 to tmm7."""
REGISTER_FILE = ("tmm", "row", "col")
"""The axes of the register file: which register, which row of it, which byte of the row."""
ITEMSIZES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1}
"""The element types that LLVM's dialect accepts, and their bytes."""

_ELEMENT_RULE = (
    "failed to verify 'elementType': 32-bit float or 16-bit float or bfloat16 type or 32-bit signless integer or "
    "8-bit signless integer"
)
_MLIR_ELEMENT = re.compile(r"[su]?i[1-9][0-9]*|bf16|tf32|f(?:16|32|64|80|128)|f[468]E[0-9A-Z]+|index")
_DIGITS = re.compile(r"[0-9]*")
_SHOWN = 40


def dialect_of(llvm: int) -> str:
    """How a version of LLVM calls the dialect: `amx` in 22, `x86.amx` in 23 and 24.

    Raises `LayoutError` for another version.

    >>> dialect_of(22), dialect_of(23)
    ('amx', 'x86.amx')
    >>> dialect_of(21)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: LLVM 21: the rules of LLVM 22, 23, 24 are known
    """
    return rules(llvm).amx_dialect


def as_tile(what: str, value: object) -> TileType:
    """Check a tile type that a caller gave.

    >>> as_tile("lhs", "!amx.tile<16x64xi8>")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: lhs = '!amx.tile<16x64xi8>': expected a TileType (parse_tile reads a text)
    """
    if isinstance(value, TileType):
        return value
    raise VerificationError(f"{what} = {shown(value)}: expected a TileType (parse_tile reads a text)")


@dataclass(frozen=True, slots=True)
class TileType(Notation):
    """`!x86.amx.tile<rows x cols x element>`: the shape in elements, and the element type.

    Raises `VerificationError` for an element type that LLVM refuses (in its words), and for sizes below 1 or over 2^31.

    >>> print(TileType(16, 64, "i8"))
    !x86.amx.tile<16x64xi8>
    >>> TileType(16, 64, "i16")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: failed to verify 'elementType': 32-bit float or 16-bit float or bfloat16
    type or 32-bit signless integer or 8-bit signless integer (element type 'i16')
    """

    rows: int
    cols: int
    element: str

    def __post_init__(self) -> None:
        if not isinstance(self.element, str) or self.element not in ITEMSIZES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"{_ELEMENT_RULE} (element type {shown(self.element)})")
        for what, size in (("rows", self.rows), ("cols", self.cols)):
            if type(size) is int and size == 0:
                raise VerificationError(f"tile with {what} = 0: expected at least 1 (LLVM 22 accepts this)")
            number = whole_number(size, f"tile with {what} =", 1, MAX_EXTENT, VerificationError)
            object.__setattr__(self, what, number)

    def __str__(self) -> str:
        return self.text()

    def text(self, llvm: int = DEFAULT_LLVM) -> str:
        """The MLIR text; LLVM 23 moved the dialect into x86.

        Raises `LayoutError` for a version that is not known.

        >>> TileType(16, 64, "i8").text(llvm=22)
        '!amx.tile<16x64xi8>'
        """
        return f"!{dialect_of(llvm)}.tile<{self.rows}x{self.cols}x{self.element}>"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, in elements.

        >>> TileType(16, 32, "bf16").shape
        (16, 32)
        """
        return self.rows, self.cols

    @property
    def itemsize(self) -> int:
        """The bytes of one element.

        >>> TileType(16, 32, "bf16").itemsize
        2
        """
        return ITEMSIZES[self.element]

    @property
    def row_bytes(self) -> int:
        """The bytes of one row: `colsb` in the tile configuration.

        >>> TileType(16, 32, "bf16").row_bytes
        64
        """
        return self.cols * self.itemsize

    def check(self) -> str | None:
        """LLVM's verdict on an operation with such a tile: None where it fits a register, else its diagnostic.

        A register has 16 rows of 64 bytes, and a row is a whole number of 4-byte words. Rows come first. (LLVM 22 counts
        the bits of a row modulo 2^32, and so takes `16x536870912xi8`; here that is 536870912 bytes.)

        >>> TileType(17, 64, "i8").check()
        'bad row height: 17'
        >>> TileType(16, 31, "bf16").check()
        'bad column width: 62'
        """
        if self.rows > ROWS:
            return f"bad row height: {self.rows}"
        if self.row_bytes > BYTES_PER_ROW or self.row_bytes % 4:
            return f"bad column width: {self.row_bytes}"
        return None

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """Where each element starts, to draw; raises as `layout` does, and for another shape than the tile's.

        >>> TileType(4, 16, "f32").operands()[0].name
        '!x86.amx.tile<4x16xf32>'
        """
        return (Operand(str(self), self.layout(shape, machine), slots=self.byte_layout(), bits=8),)

    def report(
        self,
        shape: Sequence[int] | None = None,
        machine: Machine | None = None,
        *,
        element: str = "f32",
        llvm: int = DEFAULT_LLVM,
        blocks: bool = False,
    ) -> tuple[Note, ...]:
        """LLVM's verdict on the size; a refused tile has no layout.

        >>> TileType(17, 64, "i8").report()[0].text
        'bad row height: 17'
        """
        verdict = self.check()
        return (
            Note(f"LLVM {rules(llvm).llvm}", verdict or "accepts", "llvm", verdict or "accepts", verdict is not None),
        )

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None, *, tmm: int = 0) -> Layout:
        """Where each element starts in register `tmm`: onto `tmm`, `row`, and `col` (bytes).

        Raises `VerificationError` with the words of `check()`, and for a register that is not there.

        >>> TileType(4, 16, "f32").layout(tmm=2)
        Layout.parse('d0 = 4@row, d1 = 16@col:4 | offset 2@tmm')
        >>> TileType(4, 32, "f32").layout()
        Traceback (most recent call last):
        layoutalg.core.errors.VerificationError: bad column width: 128
        (in !x86.amx.tile<4x32xf32>: a tile has at most 16 rows of 4, 8, .. 64 bytes)
        """
        found = self._placed(tmm, [Factor(self.cols, self.itemsize, "col")])
        own_sizes(self, found.shape, shape)
        return found

    def byte_layout(self, tmm: int = 0) -> Layout:
        """Where each byte of each element lies: dimensions `d0`, `d1`, and `byte` (little end first).

        It has an inverse, which says of each byte of the register whose it is. Raises like `layout`.

        >>> TileType(16, 16, "f32").byte_layout().inverse()
        Layout.parse('tmm = 1, row = 16@d0, col = 16@d1 4@byte')
        """
        return self._placed(tmm, [Factor(self.cols, self.itemsize, "col")], [Factor(self.itemsize, 1, "col")])

    def memory_layout(self, stride: int | None = None) -> Layout:
        """The addresses of `amx.tile_load` and `amx.tile_store`, in elements from the base: row r starts at `r * stride`.

        `stride` is in elements as in the dialect, by default `cols` (rows without a gap). A stride below `cols` is legal:
        a load then reads the overlap twice, a store writes it twice and the lower row's elements are lost; such a layout
        has no `inverse()`. Raises like `layout`, also for a negative stride.

        >>> TileType(16, 64, "i8").memory_layout(stride=1024)
        Layout.parse('d0 = 16@addr:1024, d1 = 64@addr')
        """
        return self._addressed(stride, 1)

    def memory_byte_layout(self, stride: int | None = None) -> Layout:
        """`memory_layout` in bytes, with a third dimension `byte`; `stride` is still in elements.

        >>> TileType(16, 32, "bf16").memory_byte_layout(stride=1024)
        Layout.parse('d0 = 16@addr:2048, d1 = 32@addr:2, byte = 2@addr')
        """
        return self._addressed(stride, self.itemsize, [Factor(self.itemsize, 1, "addr")])

    def _placed(self, tmm: int, *columns: list[Factor]) -> Layout:
        self._require()
        whole_number(tmm, "tmm (one of the 8 tile registers) =", 0, REGISTERS - 1, VerificationError)
        names = ("d0", "d1", "byte")[: 1 + len(columns)]
        rows = [Factor(self.rows, 1, "row")]
        return Layout([rows, *columns], offsets={"tmm": tmm}, names=names, codomain=REGISTER_FILE).canonical()

    def _addressed(self, stride: int | None, unit: int, *bytes_: list[Factor]) -> Layout:
        self._require()
        given = self.cols if stride is None else stride
        step = whole_number(given, "stride in elements from row to row =", 0, _MOST_STRIDE, VerificationError)
        names = ("d0", "d1", "byte")[: 2 + len(bytes_)]
        dims = [[Factor(self.rows, step * unit, "addr")], [Factor(self.cols, unit, "addr")], *bytes_]
        return Layout(dims, names=names, codomain=("addr",)).canonical()

    def _require(self) -> None:
        problem = self.check()
        if problem is not None:
            raise VerificationError(f"{problem} (in {self}: a tile has at most 16 rows of 4, 8, .. 64 bytes)")


def read_notation(reader: Reader) -> TileType:
    """Read the whole type, in the spelling of LLVM 22 or of 23 and 24, and leave the reader behind it."""
    if not reader.accept("!x86.amx.tile"):
        reader.expect("!amx.tile")
    return read_tile(reader)


def read_tile(reader: Reader) -> TileType:
    """Read the type's body, from `<` on; spaces around a number and an `x` are allowed, as in LLVM.

    >>> read_tile(Reader("<16 x 64 x i8> and more"))
    TileType(rows=16, cols=64, element='i8')
    """
    reader.expect("<")
    start = reader.skip()
    sizes: list[int] = []
    while (size := _size(reader)) is not None:
        sizes.append(size)
        reader.expect("x")
        if len(sizes) > 2:
            reader.fail("two sizes, rows x columns", "found a third (no operation takes such a tile)", at=start)
    if len(sizes) != 2:
        reader.fail("two sizes, rows x columns", f"found {len(sizes)} (no operation takes such a tile)", at=start)
    rows, cols = sizes
    expected = f"an element type ({', '.join(ITEMSIZES)})"
    start = reader.skip()
    element = reader.word(expected)
    if _MLIR_ELEMENT.fullmatch(element) is None:
        reader.fail(expected, at=start)
    reader.expect(">")
    return TileType(rows, cols, element)


def _size(reader: Reader) -> int | None:
    """A size, if one comes next; `0x16` is a size of 0 and then one of 16, not a hexadecimal number."""
    start = reader.skip()
    if reader.looking_at("?"):
        reader.fail("a static size")
    match = _DIGITS.match(reader.text, start)
    digits = "" if match is None else match.group()
    if not digits:
        return None
    if len(digits) > len(str(MAX_EXTENT)) or int(digits) > MAX_EXTENT:
        found = digits if len(digits) <= _SHOWN else f"a number of {len(digits)} digits"
        reader.fail("a size of at most 2^31", f"found {found}", at=start)
    reader.position = start + len(digits)
    return int(digits)


def parse_tile(text: str) -> TileType:
    """Read `!amx.tile<16x64xi8>`, or `!x86.amx.tile<...>` as LLVM 23 and 24 write it.

    Raises `ParseError` with line and column, `VerificationError` for an element type or a size that cannot be.

    >>> parse_tile("!amx.tile<16x?xi8>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 14: expected a static size, found '?xi8>'
    """
    reader = Reader(text)
    value = read_notation(reader)
    reader.finish()
    return value
