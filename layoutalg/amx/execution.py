"""What a tile product computes, from the bytes of its three registers.

A, B and C are first read out of the tiles through the layouts of `TileProduct` (so a wrong layout gives a wrong product),
then multiplied, then written back through C's layout. Integers are exact modulo 2^32. Floats follow the Intel manual's
description of TDPBF16PS and TDPFP16PS, with flush-to-zero and round-to-nearest-even whatever the CPU's mode is:

    even = odd = 0
    for each word k of a row of A:   even = fma(a[2k], b[2k], even);   odd = fma(a[2k+1], b[2k+1], odd)
    c = c + (even + odd)

By hand: with c = 1, one even product of 2^24 and one odd product of -2^24, the two cancel first and 1 is left; added onto c
in the order of k, the 1 would be lost.

A sum is flushed where it is below 2^-126 after rounding to 24 bits, however small its exponent: 2^-126 - 2^-151 is the
least number that stays. (The manual leaves that open; a CPU with AMX says so, see `tests/oracle/test_amx_cpu.py`.)

>>> from layoutalg.amx.product import TileProduct
>>> product = TileProduct(1, 1, 2, "bf16", "bf16")
>>> lhs = np.array([[2.0**12, -(2.0**12)]], element_dtype("bf16"))
>>> rhs = np.array([[2.0**12, 2.0**12]], element_dtype("bf16"))
>>> execute_product(product, lhs, rhs, np.ones((1, 1), np.float32))
array([[1.]], dtype=float32)
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.amx.arrays import element_dtype, gather, scatter, tile_bytes
from layoutalg.core.errors import LayoutError

if TYPE_CHECKING:
    from layoutalg.amx.product import TileProduct

__all__ = ["execute_product", "float_chains"]

Array = NDArray[Any]

_SMALLEST_NORMAL = np.float32(2.0**-126)
_LEAST_KEPT = 2.0**-126 - 2.0**-151
"""The least sum that rounds to a normal number of f32, where rounding is to 24 bits."""
_SMALL, _LARGE = 2.0**-104, 2.0**127
"""Between these, products of two numbers of 11 bits are exact in f32, and are multiples of 2^-126."""
_PIECE = 1 << 17
"""Sums that are worked on at a time: they and a temporary stay in a core's cache."""


def execute_product(product: TileProduct, lhs: Array, rhs: Array, acc: Array) -> Array:
    """The accumulator tile after the instruction (see `TileProduct.execute`)."""
    contents = [
        tile_bytes(tile, kind, operand)
        for tile, kind, operand in (
            (lhs, product.lhs_type, "lhs"),
            (rhs, product.rhs_type, "rhs"),
            (acc, product.acc_type, "acc"),
        )
    ]
    c_dtype = element_dtype(product.acc_element)
    of_c = product.acc
    a = gather(product.lhs, contents[0], element_dtype(product.a, product.lhs_zext))
    b = gather(product.rhs, contents[1], element_dtype(product.b, product.rhs_zext))
    c = gather(of_c, contents[2], c_dtype)
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    except ValueError:
        raise LayoutError(
            f"tiles of shapes {list(lhs.shape)}, {list(rhs.shape)}, {list(acc.shape)}: their batches do not broadcast"
        ) from None
    if product.acc_element == "i32":
        # At most 64 products of 16 bits: exact in the 24 bits of f32, whose matrix product is fast.
        total = c + (a.astype(np.float32) @ b.astype(np.float32)).astype(np.int32)
    else:
        total = float_chains(a, b, c)
    blank = np.zeros((*batch, product.acc_type.rows, product.acc_type.row_bytes), np.uint8)
    return scatter(of_c, total.astype(c_dtype, copy=False), blank).view(c_dtype)


def float_chains(a: Array, b: Array, c: Array) -> Array:
    """c [.., m, n] plus a [.., m, k] times b [.., k, n] for 16-bit floats, in the order that AMX has; k is even."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        left, right = (_flushed(x.astype(np.float32)) for x in (a, b))
        plain = _stays_normal(left, right)
        # [word of k, even or odd, m, n, batch]: the axis that is long comes last, and a step is one operation for both chains.
        left = _batch_last(left, batch).reshape(m, k // 2, 2, 1, -1).transpose(1, 2, 0, 3, 4)
        right = _batch_last(right, batch).reshape(k // 2, 2, 1, n, -1)
        if not plain:
            left, right = left.astype(np.float64), right.astype(np.float64)
        chains = np.zeros((2, m, n, max(left.shape[-1], right.shape[-1])), np.float32)
        rows = max(1, _PIECE // max(1, chains[:, :1].size))
        for first in range(0, m, rows):
            here = slice(first, first + rows)
            (_add_exact if plain else _add_fused)(chains[:, here], np.ascontiguousarray(left[:, :, here]), right)
        sums = np.moveaxis(_flushed(chains[0] + chains[1]), -1, 0)
        return _flushed(_flushed(c) + sums.reshape(*(batch if len(sums) > 1 else ()), m, n))


def _batch_last(operand: Array, batch: tuple[int, ...]) -> Array:
    """[.., rows, columns] as [rows, columns, batch]; a batch of one stays one."""
    if prod(operand.shape[:-2]) > 1:
        operand = np.broadcast_to(operand, (*batch, *operand.shape[-2:]))
    return np.ascontiguousarray(np.moveaxis(operand.reshape(-1, *operand.shape[-2:]), 0, -1))


def _stays_normal(left: Array, right: Array) -> bool:
    """Whether f32 has every product exactly, and no sum is below the normal numbers: sums of multiples of 2^-126 aren't."""
    least, most = 1.0, 1.0
    for operand in (left, right):
        size = np.abs(operand)
        size = size[np.isfinite(size) & (size != 0)]
        if not size.size:
            return True
        least, most = least * float(size.min()), most * float(size.max())
    return least >= _SMALL and most < _LARGE


def _add_exact(chains: Array, left: Array, right: Array) -> None:
    """A sum of f32 whose one operand is the exact product is a fused step."""
    step = np.empty_like(chains)
    for a, b in zip(left, right, strict=True):
        np.multiply(a, b, out=step)
        np.add(chains, step, out=chains)


def _add_fused(chains: Array, left: Array, right: Array) -> None:
    """A product of two 16-bit floats is exact in 64 bits, and the sum's two roundings are one."""
    step = np.empty(chains.shape, np.float64)
    for a, b in zip(left, right, strict=True):
        np.multiply(a, b, out=step)
        np.add(chains, step, out=step)
        np.copyto(chains, np.where(np.abs(step) < _LEAST_KEPT, np.copysign(0.0, step), step), casting="same_kind")


def _flushed(x: Array) -> Array:
    """Subnormal numbers become zeros of their sign."""
    small = np.abs(x) < _SMALLEST_NORMAL
    return np.where(small, np.copysign(np.float32(0), x), x) if small.any() else x
