"""Where the elements of messages and operands lie in registers: against the hardware's rule, written out."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.gemm.listing.contents import byte_map, bytes_of
from layoutalg.hardware import block_load, dpas

BITS = {"f16": 16, "bf16": 16, "s8": 8, "tf32": 32}


@pytest.mark.parametrize(
    ("rows", "width", "bits", "blocks"),
    [(32, 16, 16, 2), (32, 32, 8, 2), (32, 8, 32, 2), (8, 16, 16, 1), (32, 16, 32, 1)],
)
def test_plain_blocks_are_row_major_one_after_the_other(rows: int, width: int, bits: int, blocks: int) -> None:
    one = np.arange(rows * width).reshape(rows, width) * bits // 8
    expected = np.hstack([one + number * rows * width * bits // 8 for number in range(blocks)])
    assert np.array_equal(byte_map(block_load(rows, width, bits, blocks)), expected)


@pytest.mark.parametrize(("rows", "bits", "blocks"), [(32, 16, 2), (16, 16, 1), (32, 8, 4)])
def test_packed_blocks_put_rows_that_share_32_bits_together(rows: int, bits: int, blocks: int) -> None:
    share = 32 // bits
    row, column = np.indices((rows, 16))
    one = row // share * 64 + column * 4 + row % share * bits // 8
    expected = np.hstack([one + number * rows * 16 * bits // 8 for number in range(blocks)])
    assert np.array_equal(byte_map(block_load(rows, 16, bits, blocks, transform=True)), expected)


@pytest.mark.parametrize(("width", "bits"), [(16, 16), (32, 8), (8, 32)])
def test_transposed_blocks_have_a_lane_for_every_row(width: int, bits: int) -> None:
    share = 32 // bits
    row, column = np.indices((16, width))
    expected = column // share * 64 + row * 4 + column % share * bits // 8
    assert np.array_equal(byte_map(block_load(16, width, bits, transpose=True, transpose_bits=32)), expected)


@pytest.mark.parametrize("element", sorted(BITS))
def test_operands_of_dpas(element: str) -> None:
    """A and C row by row; of B the elements of a column that share 32 bits together."""
    unit, bits = dpas(element, element), BITS[element]
    row, column = np.indices((unit.m, unit.k))
    assert np.array_equal(bytes_of(unit.a, bits, together=False), (row * unit.k + column) * bits // 8)
    share = 32 // bits
    row, column = np.indices((unit.k, unit.n))
    expected = row // share * 64 + column * 4 + row % share * bits // 8
    assert np.array_equal(bytes_of(unit.b, bits, together=True), expected)
    row, column = np.indices((unit.m, unit.n))
    assert np.array_equal(bytes_of(unit.c, 32, together=False), (row * 16 + column) * 4)
