"""AMX's texts: the type of a tile, and a product as LLVM writes it, as Intel's manual names it, or as C's intrinsics do.

The name of an instruction alone means the product of whole tiles, 16 rows of 64 bytes each:

>>> print(read_notation(Reader("tdpbf16ps")))
x86.amx.tile_mulf %a, %b, %c : !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x16xf32>
"""

from __future__ import annotations

import re

from layoutalg.amx.product import TileProduct, check_product
from layoutalg.amx.tiles import ROWS, TileType
from layoutalg.amx.tiles import read_notation as read_type
from layoutalg.core.errors import VerificationError
from layoutalg.core.reader import Reader

__all__ = ["read_notation"]

_INSTRUCTION = re.compile(r"(?:_{0,2}tile_|t)dp(?:(bf|fp)16ps|b([su])([su])d)\b", re.IGNORECASE)
_OPERATION = re.compile(
    r"(?:x86\.)?(amx\.tile_mul[fi])\s+%[\w.$-]+(\s+zext)?\s*,\s*%[\w.$-]+(\s+zext)?\s*,\s*%[\w.$-]+\s*:"
)


def read_notation(reader: Reader) -> TileType | TileProduct:
    """Read a type or a product, and leave the reader behind it.

    Raises `VerificationError` with LLVM's diagnostic for tiles that it does not multiply.

    >>> read_notation(Reader("TDPBSUD")).rhs_zext
    True
    """
    start = reader.skip()
    if (named := _INSTRUCTION.match(reader.text, start)) is not None:
        reader.position = named.end()
        kind, *signs = named.groups()
        if kind is not None:
            element = "bf16" if kind.lower() == "bf" else "f16"
            return TileProduct(ROWS, ROWS, 2 * ROWS, element, element)
        return TileProduct(ROWS, ROWS, 4 * ROWS, "i8", "i8", *[sign.lower() == "u" for sign in signs])
    operation = _OPERATION.match(reader.text, start)
    if operation is None:
        if not reader.looking_at("!"):
            reader.fail("x86.amx.tile_mulf or tile_muli, %a, %b, %c, a colon and the three types", at=start)
        return read_type(reader)
    reader.position = operation.end()
    lhs = read_type(reader)
    reader.expect(",")
    rhs = read_type(reader)
    reader.expect(",")
    acc = read_type(reader)
    if (problem := check_product(operation[1], lhs, rhs, acc)) is not None:
        raise VerificationError(f"{problem} (in {operation[1]} : {lhs}, {rhs}, {acc})")
    return TileProduct.of(lhs, rhs, acc, operation[2] is not None, operation[3] is not None)
