"""`x86.amx.tile_mulf` and `x86.amx.tile_muli`: which element of A, B and C each byte of the three tiles is.

A product C[M, N] += A[M, K] * B[K, N] takes A as it is, a row of the matrix in a row of the tile; B packed (see `amx.vnni`);
and C in 4-byte elements. For bf16 with M = N = 16 and K = 32:

>>> product = TileProduct(16, 16, 32, "bf16", "bf16")
>>> print(product.lhs, product.rhs, product.acc, sep=chr(10))
d0 = 16@row, d1 = 32@col:2
d0 = 16@row 2@col:2, d1 = 16@col:4
d0 = 16@row, d1 = 16@col:4
>>> print(product)
x86.amx.tile_mulf %a, %b, %c : !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x16xf32>

The layouts start from the coordinates of the *matrices*: element (k, n) of B is in row k // 2. The law that holds them
together: a word of A and a word of B that the hardware multiplies hold the same k.

>>> product.lhs.owners((0, 7)), product.rhs.owners((7, 5))      # k = 7: byte 14 of a row, so word 3; row 3
([(0, 0, 14)], [(0, 3, 22)])

Four products of bytes differ in what is signed: `zext` on an operand of the operation means unsigned.

>>> TileProduct(16, 16, 64, "i8", "i8", rhs_zext=True).instruction
'tdpbsud'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.amx.tiles import REGISTER_FILE, TileType, as_tile, dialect_of
from layoutalg.amx.vnni import vnni_factor, vnni_layout, whole_words
from layoutalg.core.algebra import compose
from layoutalg.core.errors import VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.matrix_products import product_lines
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Operand, own_sizes, product_operands
from layoutalg.core.whole_numbers import whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TileProduct", "check_product"]

_OPERANDS = {
    "amx.tile_mulf": (("f16", "bf16"), ("f16", "bf16"), ("f32",)),
    "amx.tile_muli": (("i8",), ("i8",), ("i32",)),
}
_DESCRIBED = {
    ("f16", "bf16"): "tile of 16-bit float or bfloat16 type values",
    ("f32",): "tile of 32-bit float values",
    ("i8",): "tile of 8-bit signless integer values",
    ("i32",): "tile of 32-bit signless integer values",
}
_SMALL = " or f8E4M3FN type or f8E5M2 type"
_FLOAT_INSTRUCTIONS = {"bf16": "tdpbf16ps", "f16": "tdpfp16ps"}
_FEATURES = {"bf16": "amx-bf16", "f16": "amx-fp16", "i8": "amx-int8"}


def check_product(op: str, lhs: TileType, rhs: TileType, acc: TileType, llvm: int = DEFAULT_LLVM) -> str | None:
    """The verdict of a version of LLVM on an operation with three tiles: None where it accepts, else its diagnostic.

    In LLVM's order: element types, the size of each tile, the sizes together (`bad mult shape`: rows x columns of the
    accumulator x words in a row of lhs), the combination of types. The operation may be called by its name in any version.

    >>> a, b = TileType(16, 64, "i8"), TileType(15, 64, "i8")
    >>> check_product("amx.tile_muli", a, b, TileType(16, 16, "i32"))
    'bad mult shape: 16 x 16 x 16'
    >>> check_product("amx.tile_mulf", a, b, TileType(16, 16, "i32"), llvm=22)
    "operand #0 must be tile of 16-bit float or bfloat16 type values, but got '!amx.tile<16x64xi8>'"
    """
    name = op.removeprefix("x86.") if isinstance(op, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    version = rules(llvm)
    if name not in _OPERANDS:
        raise VerificationError(f"operation {shown(op)}: expected {' or '.join(_OPERANDS)}")
    tiles = (as_tile("lhs", lhs), as_tile("rhs", rhs), as_tile("acc", acc))
    for i, (tile, accepted) in enumerate(zip(tiles, _OPERANDS[name], strict=True)):
        if tile.element not in accepted:
            described = _DESCRIBED[accepted].replace("bfloat16 type", f"bfloat16 type{_SMALL * version.amx_f8}")
            return f"operand #{i} must be {described}, but got '{tile.text(llvm)}'"
    for tile in tiles:
        problem = tile.check()
        if problem is not None:
            return problem
    v, words = vnni_factor(lhs.element), lhs.row_bytes // 4
    if lhs.rows != acc.rows or rhs.cols // v != acc.cols or words != rhs.rows:
        return f"bad mult shape: {acc.rows} x {acc.cols} x {words}"
    if lhs.element != rhs.element:
        return "unsupported type combination"
    return None


@dataclass(frozen=True, slots=True)
class TileProduct(Notation):
    """One tile product: m, n and k in elements of the matrices, the element types of A and B, what is unsigned.

    f32 <- bf16 x bf16, f32 <- f16 x f16, i32 <- i8 x i8. Raises `DistributionError` where k must be padded to whole words,
    `VerificationError` with LLVM's diagnostic for tiles that are too large and for types that no instruction multiplies.

    >>> TileProduct(16, 32, 64, "i8", "i8")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: bad column width: 128 (in x86.amx.tile_muli %a, %b, %c :
    !x86.amx.tile<16x64xi8>, !x86.amx.tile<16x128xi8>, !x86.amx.tile<16x32xi32>)
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    lhs_zext: bool = False
    rhs_zext: bool = False

    def __post_init__(self) -> None:
        for name, size in (("m", self.m), ("n", self.n), ("k", self.k)):
            number = whole_number(size, f"tile product with {name} =", 1, MAX_EXTENT // 4, VerificationError)
            object.__setattr__(self, name, number)
        for operand, element in (("A", self.a), ("B", self.b)):
            if not isinstance(element, str) or element not in _FEATURES:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise VerificationError(f"{operand} of {shown(element)}: expected bf16, f16 or i8")
        for name, flag in (("lhs_zext", self.lhs_zext), ("rhs_zext", self.rhs_zext)):
            if type(flag) is not bool:
                raise VerificationError(f"{name} = {shown(flag)}: expected True or False")
            if flag and self.op == "amx.tile_mulf":
                raise VerificationError(f"{name}: floats have no zero extension (amx.tile_mulf has no zext)")
        whole_words(self.k, self.a)
        whole_words(self.k, self.b)
        problem = check_product(self.op, self.lhs_type, self.rhs_type, self.acc_type)
        if problem is not None:
            raise VerificationError(f"{problem} (in {self})")

    @staticmethod
    def of(lhs: TileType, rhs: TileType, acc: TileType, lhs_zext: bool = False, rhs_zext: bool = False) -> TileProduct:
        """The product that an operation with these three tiles computes.

        Raises `VerificationError` with LLVM's diagnostic.

        >>> TileProduct.of(TileType(5, 12, "i8"), TileType(3, 28, "i8"), TileType(5, 7, "i32")).k
        12
        """
        op = _op_of(as_tile("lhs", lhs).element)
        problem = check_product(op, lhs, rhs, acc)
        if problem is not None:
            raise VerificationError(f"{problem} (in {_text(op, lhs, rhs, acc)})")
        return TileProduct(acc.rows, acc.cols, lhs.cols, lhs.element, rhs.element, lhs_zext, rhs_zext)

    def __str__(self) -> str:
        return self.text()

    def text(self, llvm: int = DEFAULT_LLVM) -> str:
        """The operation as a version of LLVM writes it.

        Raises `LayoutError` for a version that is not known.

        >>> TileProduct(16, 16, 64, "i8", "i8").text(llvm=23)[:40]
        'x86.amx.tile_muli %a, %b, %c : !x86.amx.'
        """
        return _text(self.op, self.lhs_type, self.rhs_type, self.acc_type, self.lhs_zext, self.rhs_zext, llvm)

    @property
    def op(self) -> str:
        """The operation, as LLVM 22 calls it.

        >>> TileProduct(16, 16, 64, "i8", "i8").op
        'amx.tile_muli'
        """
        return _op_of(self.a)

    @property
    def instruction(self) -> str:
        """The x86 instruction that LLVM selects.

        >>> TileProduct(16, 16, 64, "i8", "i8", lhs_zext=True).instruction
        'tdpbusd'
        >>> TileProduct(16, 16, 32, "f16", "f16").instruction
        'tdpfp16ps'
        """
        if self.op == "amx.tile_mulf":
            return _FLOAT_INSTRUCTIONS[self.a]
        return f"tdpb{'u' if self.lhs_zext else 's'}{'u' if self.rhs_zext else 's'}d"

    @property
    def feature(self) -> str:
        """The CPU feature that the instruction needs besides `amx-tile`, as LLVM's `-mattr` spells it.

        >>> TileProduct(16, 16, 32, "f16", "f16").feature
        'amx-fp16'
        """
        return _FEATURES[self.a]

    @property
    def acc_element(self) -> str:
        """The element type of C: f32 or i32.

        >>> TileProduct(16, 16, 32, "f16", "f16").acc_element
        'f32'
        """
        return "f32" if self.op == "amx.tile_mulf" else "i32"

    @property
    def lhs_type(self) -> TileType:
        """The tile of A: m rows of k elements.

        >>> print(TileProduct(8, 4, 64, "i8", "i8").lhs_type)
        !x86.amx.tile<8x64xi8>
        """
        return TileType(self.m, self.k, self.a)

    @property
    def rhs_type(self) -> TileType:
        """The tile of B, packed: k/v rows of v*n elements.

        >>> print(TileProduct(8, 4, 64, "i8", "i8").rhs_type)
        !x86.amx.tile<16x16xi8>
        """
        v = vnni_factor(self.b)
        return TileType(self.k // v, self.n * v, self.b)

    @property
    def acc_type(self) -> TileType:
        """The tile of C: m rows of n elements of 4 bytes.

        >>> print(TileProduct(8, 4, 64, "i8", "i8").acc_type)
        !x86.amx.tile<8x4xi32>
        """
        return TileType(self.m, self.n, self.acc_element)

    @property
    def lhs(self) -> Layout:
        """Where A[M, K] lies in its tile: `d0 = M@row, d1 = K@col:itemsize`.

        >>> TileProduct(8, 4, 64, "i8", "i8").lhs
        Layout.parse('d0 = 8@row, d1 = 64@col')
        """
        return self.lhs_type.layout()

    @property
    def rhs(self) -> Layout:
        """Where B[K, N] lies in its tile: the packing, then the tile.

        >>> TileProduct(8, 4, 64, "i8", "i8").rhs
        Layout.parse('d0 = 16@row 4@col, d1 = 4@col:4')
        """
        placed = compose(self.rhs_type.layout(), vnni_layout(self.k, self.n, self.b))
        return Layout(placed.dims, codomain=REGISTER_FILE)

    @property
    def acc(self) -> Layout:
        """Where C[M, N] lies in its tile: `d0 = M@row, d1 = N@col:4`.

        >>> TileProduct(8, 4, 64, "i8", "i8").acc
        Layout.parse('d0 = 8@row, d1 = 4@col:4')
        """
        return self.acc_type.layout()

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A[M, K], B[K, N] and C[M, N] in their tiles, to draw around the product; B notes how many rows share a word.

        Raises `DistributionError` for a shape that is not m, n, k.

        >>> TileProduct(4, 4, 8, "i8", "i8").operands()[1].notes
        (('packing', 'a word of 4 bytes holds 4 elements of a column, one under the other'),)

        >>> [str(part.layout) for part in TileProduct(4, 4, 8, "i8", "i8").operands()][1]
        'd0 = 2@row 4@col, d1 = 4@col:4'
        """
        own_sizes(self, (self.m, self.n, self.k), shape)
        layouts = (self.lhs, self.rhs, self.acc)
        parts = product_operands(layouts, (self.a, self.b, self.acc_element), (self.m, self.n, self.k))
        sizes = (self.lhs_type.itemsize, self.rhs_type.itemsize, self.acc_type.itemsize)
        v = vnni_factor(self.b)
        held = f"a word of 4 bytes holds {v} elements of a column, one under the other"
        return tuple(
            part._replace(
                slots=_bytes(one, size), notes=packing, reading=tuple(f"B: {text}" for _, text in packing), bits=8
            )
            for part, one, size, packing in zip(parts, layouts, sizes, ((), (("packing", held),), ()), strict=True)
        )

    def heading(self) -> str:
        """The instruction that computes it.

        >>> TileProduct(16, 16, 32, "bf16", "bf16").heading()
        'tdpbf16ps'
        """
        return self.instruction

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """What it computes, where the tiles are, and how LLVM writes it.

        >>> TileProduct(16, 16, 32, "bf16", "bf16").subheading()[0]
        'C[16x16] f32 += A[16x32] bf16 * B[32x16] bf16'
        """
        return (
            *product_lines(self.operands(shape, machine), (self.m, self.n, self.k), "by one core", in_place=True),
            f"{self.op} of LLVM, for chips with {self.feature}",
        )

    def execute(self, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
        """The new accumulator tile: what the instruction computes from the contents of three tiles.

        The tiles are arrays `[..., rows, cols]` of their types (`rhs` packed; i8 as int8 or uint8, the bytes count). Integers
        are exact and wrap at 32 bits. Floats follow the Intel manual: even k and odd k are summed apart, each by fused
        multiply-adds from 0 in the order of k, then together, then onto C; subnormal numbers of bf16 and f32 count as 0.
        LLVM's scalar lowering instead adds onto C in the order of k, and so differs in the last bits.

        Raises `LayoutError` for arrays of another shape or type.

        >>> product = TileProduct(1, 1, 4, "i8", "i8")
        >>> product.execute(np.full((1, 4), 3, np.int8), np.full((1, 4), -5, np.int8), np.full((1, 1), 7, np.int32))
        array([[-53]], dtype=int32)
        """
        from layoutalg.amx.execution import execute_product

        return execute_product(self, lhs, rhs, acc)


def _bytes(layout: Layout, itemsize: int) -> Layout:
    """The same layout of each element's bytes, little end first: it has no gaps."""
    names = (*layout.names, "byte")
    return Layout([*layout.dims, [Factor(itemsize, 1, "col")]], (), layout.offsets, names=names, codomain=REGISTER_FILE)


def _op_of(element: str) -> str:
    return "amx.tile_muli" if element in ("i8", "i32") else "amx.tile_mulf"


def _text(
    op: str,
    lhs: TileType,
    rhs: TileType,
    acc: TileType,
    lhs_zext: bool = False,
    rhs_zext: bool = False,
    llvm: int = DEFAULT_LLVM,
) -> str:
    operands = f"%a{' zext' * lhs_zext}, %b{' zext' * rhs_zext}, %c"
    types = ", ".join(tile.text(llvm) for tile in (lhs, rhs, acc))
    return f"{dialect_of(llvm)}{op.removeprefix('amx')} {operands} : {types}"
