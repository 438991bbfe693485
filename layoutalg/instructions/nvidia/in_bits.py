"""Layouts of elements as CUTLASS's copies write them: in bits, a row of memory being one run of bits.

The traits of a copy map (thread, bit) to a bit of the tile, whose rows follow one another. For a tile of `rows x columns`
elements that is a layout whose first dimension is the bit of a row, and its second the row; registers count bits:

>>> print(in_bits(Layout.parse("d0 = 8@lane:4, d1 = 4@lane 2@reg"), 16))
d0 = 4@lane 32@reg, d1 = 8@lane:4
"""

from __future__ import annotations

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of, whole_number

__all__ = ["in_bits"]


def in_bits(layout: Layout, bits: int) -> Layout:
    """The traits of a copy whose element (row, column) is held as `layout` says, each of so many bits.

    Raises `LayoutError` for a layout of another rank.
    """

    instance_of(layout, Layout, "layout")
    whole_number(bits, "bits =", 1, 128)
    if layout.rank != 2:
        raise LayoutError(f"{layout}: expected two dimensions, rows and columns")

    def wider(factor: Factor) -> Factor:
        return Factor(factor.extent, factor.stride * bits, "reg") if factor.axis == "reg" else factor

    rows, columns = ([wider(one) for one in factors] for factors in layout.dims)
    replicas = [wider(one) for one in layout.replicas]
    return Layout([[*columns, Factor(bits, 1, "reg")], rows], replicas).canonical()
