"""What a tile product computes, from the bytes of its three registers.

A, B and C are first read out of the tiles through the layouts of `TileProduct` (so a wrong layout gives a wrong product),
then multiplied, then written back through C's layout. Integers are exact modulo 2^32. Floats follow the Intel manual's
description of TDPBF16PS and TDPFP16PS, with flush-to-zero and round-to-nearest-even whatever the CPU's mode is:

    even = odd = 0
    for each word k of a row of A:   even = fma(a[2k], b[2k], even);   odd = fma(a[2k+1], b[2k+1], odd)
    c = c + (even + odd)

By hand: with c = 1, one even product of 2^24 and one odd product of -2^24, the two cancel first and 1 is left; added onto c
in the order of k, the 1 would be lost.

>>> from layoutalg.amx.product import TileProduct
>>> product = TileProduct(1, 1, 2, "bf16", "bf16")
>>> lhs = np.array([[2.0**12, -(2.0**12)]], element_dtype("bf16"))
>>> rhs = np.array([[2.0**12, 2.0**12]], element_dtype("bf16"))
>>> execute_product(product, lhs, rhs, np.ones((1, 1), np.float32))
array([[1.]], dtype=float32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.amx.arrays import element_dtype, gather, scatter, tile_bytes
from layoutalg.core.errors import LayoutError

if TYPE_CHECKING:
    from layoutalg.amx.product import TileProduct

__all__ = ["execute_product", "float_chains"]

Array = NDArray[Any]

_SMALLEST_NORMAL = 2.0**-126


def execute_product(product: TileProduct, lhs: Array, rhs: Array, acc: Array) -> Array:
    """The accumulator tile after the instruction (see `TileProduct.execute`).

    >>> from layoutalg.amx.product import TileProduct
    >>> product = TileProduct(1, 1, 4, "i8", "i8", lhs_zext=True)
    >>> ones = np.full((1, 4), -1, np.int8)
    >>> execute_product(product, ones, ones, np.zeros((1, 1), np.int32)).item()      # 4 * 255 * -1
    -1020
    """
    contents = [
        tile_bytes(tile, kind, operand)
        for tile, kind, operand in (
            (lhs, product.lhs_type, "lhs"),
            (rhs, product.rhs_type, "rhs"),
            (acc, product.acc_type, "acc"),
        )
    ]
    c_dtype = element_dtype(product.acc_element)
    a = gather(product.lhs, contents[0], element_dtype(product.a, product.lhs_zext))
    b = gather(product.rhs, contents[1], element_dtype(product.b, product.rhs_zext))
    c = gather(product.acc, contents[2], c_dtype)
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    except ValueError:
        raise LayoutError(
            f"tiles of shapes {list(lhs.shape)}, {list(rhs.shape)}, {list(acc.shape)}: their batches do not broadcast"
        ) from None
    if product.acc_element == "i32":
        # At most 64 products of 16 bits and one number of 32: far inside 64 bits.
        total = (c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    else:
        total = float_chains(a, b, c)
    blank = np.zeros((*batch, product.acc_type.rows, product.acc_type.row_bytes), np.uint8)
    return scatter(product.acc, total.astype(c_dtype, copy=False), blank).view(c_dtype)


def float_chains(a: Array, b: Array, c: Array) -> Array:
    """c [.., m, n] plus a [.., m, k] times b [.., k, n] for 16-bit floats, in the order that AMX has.

    >>> float_chains(np.full((1, 4), 2, np.float16), np.full((4, 1), 3, np.float16), np.ones((1, 1), np.float32)).item()
    25.0
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        left, right = (_flushed(x.astype(np.float32)).astype(np.float64) for x in (a, b))
        chains: list[Array] = []
        for first in (0, 1):
            chain = np.zeros(np.broadcast_shapes(c.shape, (*left.shape[:-1], right.shape[-1])), np.float32)
            for k in range(first, a.shape[-1], 2):
                # A product of two 16-bit floats is exact in 64 bits, and the sum's two roundings are one: a fused step.
                step = left[..., :, k, None] * right[..., k, None, :] + chain.astype(np.float64)
                chain = _flushed(step.astype(np.float32))
            chains.append(chain)
        return _flushed(_flushed(c) + _flushed(chains[0] + chains[1]))


def _flushed(x: Array) -> Array:
    """Subnormal numbers become zeros of their sign."""
    return np.where(np.abs(x) < np.float32(_SMALLEST_NORMAL), np.copysign(np.float32(0), x), x)
