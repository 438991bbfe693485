"""Intel AMX: tile registers, VNNI packing, tile products, the tile configuration.

A product of int8 matrices, 16x64 times 64x16, the way a kernel does it: pack B, load three tiles, multiply.

>>> from layoutalg.amx import TileConfig, TileProduct, pack_vnni
>>> product = TileProduct(m=16, n=16, k=64, a="i8", b="i8")
>>> print(product.lhs_type, product.rhs_type, product.acc_type, product.instruction)
!x86.amx.tile<16x64xi8> !x86.amx.tile<16x64xi8> !x86.amx.tile<16x16xi32> tdpbssd
>>> a, b = np.full((16, 64), 2, np.int8), np.arange(64 * 16).reshape(64, 16).astype(np.int8)
>>> c = product.execute(a, pack_vnni(b), np.zeros((16, 16), np.int32))
>>> bool((c == a.astype(int) @ b.astype(int)).all())
True

`tiles` has the registers and the type `!x86.amx.tile`, `vnni` the packing, `product` the operands, `configuration` the record
that LDTILECFG reads; `arrays` and `execution` are what of it needs numpy.
"""

from layoutalg.amx.configuration import TileConfig
from layoutalg.amx.product import TileProduct, check_product
from layoutalg.amx.tiles import REGISTERS, ROWS, TileType, dialect_of, parse_tile
from layoutalg.amx.vnni import pack_vnni, unpack_vnni, vnni_factor, vnni_layout

__all__ = [
    "REGISTERS",
    "ROWS",
    "TileConfig",
    "TileProduct",
    "TileType",
    "check_product",
    "dialect_of",
    "pack_vnni",
    "parse_tile",
    "unpack_vnni",
    "vnni_factor",
    "vnni_layout",
]
