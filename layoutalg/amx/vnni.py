"""VNNI packing: how the right operand of a product lies in its tile.

AMX multiplies 4-byte words. A word of B holds v = 4/itemsize elements of one column, one under the other in the matrix; so
a matrix B[K, N] of 2-byte elements is packed into K/2 rows of 2N elements. By hand, for K = 4 and N = 3 (kn names element
(k, n)):

    00 01 02        00 10  01 11  02 12
    10 11 12   ->   20 30  21 31  22 32
    20 21 22
    30 31 32

The packing is a layout from the matrix to the packed matrix, and everything else follows from it: `pack_vnni` deals the
array into that layout's factors and puts each factor where the layout says, `unpack_vnni` does the same with its inverse.

>>> vnni_layout(4, 3, "bf16")
Layout.parse('d0 = 2@d0 2@d1, d1 = 3@d1:2')
>>> matrix = np.array([[10 * k + n for n in range(3)] for k in range(4)], np.float16)
>>> pack_vnni(matrix).astype(int).tolist()
[[0, 10, 1, 11, 2, 12], [20, 30, 21, 31, 22, 32]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutalg.amx.tiles import ITEMSIZES
from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.extents import Extent, as_extent, exact_quotient
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pack_vnni", "unpack_vnni", "vnni_factor", "vnni_layout", "whole_words"]


def vnni_factor(element: str) -> int:
    """How many elements share a 4-byte word: the `v` of the packing.

    Raises `VerificationError` for a type that no tile holds.

    >>> [vnni_factor(element) for element in ("i8", "bf16", "f32")]
    [4, 2, 1]
    """
    if not isinstance(element, str) or element not in ITEMSIZES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"element type {shown(element)}: a tile holds {', '.join(ITEMSIZES)}")
    return 4 // ITEMSIZES[element]


def vnni_layout(k: Extent, n: Extent, element: str) -> Layout:
    """Where element (k, n) of a matrix B[K, N] lies in the packed matrix [K/v, N*v]; K and N of any size, or symbols.

    Raises `DistributionError` where v does not divide K: says to which K it can be padded (rows of zeros add nothing).

    >>> vnni_layout(64, 16, "i8")
    Layout.parse('d0 = 16@d0 4@d1, d1 = 16@d1:4')
    >>> vnni_layout(30, 16, "i8")
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: K = 30 of i8: 4 elements share a 4-byte word, and 4 does not divide 30;
    pad K to 32 with zeros
    >>> from layoutalg.core import symbol
    >>> print(vnni_layout(symbol("K"), symbol("N"), "bf16"))
    d0 = K/2@d0 2@d1, d1 = N@d1:2
    """
    words = whole_words(as_extent(k, "K"), element)
    v = vnni_factor(element)
    return Layout(
        [[Factor(words, 1, "d0"), Factor(v, 1, "d1")], [Factor(as_extent(n, "N"), v, "d1")]], codomain=("d0", "d1")
    )


def whole_words(k: Extent, element: str) -> Extent:
    """How many 4-byte words the K elements of a row of A (or of a column of B) fill.

    Raises `DistributionError` where v does not divide K.

    >>> whole_words(32, "f16")
    16
    >>> whole_words(31, "f16")
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: K = 31 of f16: 2 elements share a 4-byte word, and 2 does not divide 31;
    pad K to 32 with zeros
    """
    v = vnni_factor(element)
    words = exact_quotient(k, v)
    if words is None:
        raise DistributionError(
            f"K = {k} of {element}: {v} elements share a 4-byte word, and {v} does not divide {k}; "
            f"pad K to {-(-k // v) * v} with zeros"
        )
    return words


def pack_vnni(matrix: NDArray[Any]) -> NDArray[Any]:
    """Pack B: `[..., K, N]` becomes `[..., K/v, N*v]` of the same elements (batches in front stay as they are).

    Elements are int8, uint8, float16, bfloat16 (of ml_dtypes), int32 or float32; the last two have v = 1 and stay put.

    Raises `DistributionError` where v does not divide K, `LayoutError` for anything but a matrix of these.

    >>> pack_vnni(np.arange(8, dtype=np.int8).reshape(8, 1)).tolist()
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    """
    from layoutalg.amx.arrays import element_of, matrix_shape, rearrange

    k, n = matrix_shape(matrix, "B")
    return rearrange(matrix, vnni_layout(k, n, element_of(matrix)))


def unpack_vnni(packed: NDArray[Any]) -> NDArray[Any]:
    """Undo `pack_vnni`: `[..., K/v, N*v]` becomes `[..., K, N]`.

    Raises `DistributionError` where v does not divide the columns.

    >>> unpack_vnni(np.array([[0, 1, 2, 3], [4, 5, 6, 7]], np.int8)).ravel().tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    from layoutalg.amx.arrays import element_of, matrix_shape, rearrange

    words, columns = matrix_shape(packed, "packed B")
    element = element_of(packed)
    v = vnni_factor(element)
    if columns % v:
        raise DistributionError(
            f"packed B of {words} x {columns} {element}: {columns} columns are not a whole number of words of {v} elements; "
            f"expected [K/{v}, {v}*N]"
        )
    return rearrange(packed, vnni_layout(words * v, columns // v, element).inverse())
