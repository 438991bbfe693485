"""Accesses of matrices: a lane says where a row begins, and its words come from the rows of other lanes.

NVIDIA's `ldmatrix` and `stmatrix` move 8x8 matrices of 16 bits, one word a lane for each: lane 8q + r gives the address of row
r of matrix q, 16 bytes. Word q of lane l is word l % 4 of row l // 4 ("rows"), or with `.trans` half l // 4 of the rows
2 (l % 4) and 2 (l % 4) + 1 ("columns"). AMD's `ds_read_b64_tr_b16` moves 4 halves a lane among 16 lanes ("halves"): half n of
lane l is half l % 4 of the 8 bytes at the address of lane l // 4 % 4 + 4n. A block message of Intel's has one address for all
lanes ("block"): place i of lane l, of 8, 16 or 32 bits, is number l + i * lanes from there on.

Rows of 16 bytes, one after another; lane 1 takes word 1 of row 0, or half 0 of the rows 2 and 3:

>>> rows = 16 * np.arange(32)[None, :]
>>> matrix_bytes("rows", rows, 1)[0, 1, 0].tolist(), matrix_bytes("columns", rows, 1)[0, 1, 0].tolist()
([4, 5, 6, 7], [32, 33, 48, 49])
>>> matrix_bytes("halves", 8 * np.arange(16)[None, :], 2)[0, 1].tolist()
[[2, 3, 34, 35], [66, 67, 98, 99]]
>>> matrix_bytes("block", np.zeros((1, 16), np.int64), 2, 16)[0, 1].tolist()
[[2, 3], [34, 35]]

Sources: PTX ISA, "Warp Level Matrix Load Instruction: ldmatrix" and "stmatrix"; AMD's CDNA 4 instruction set guide, 11.4, and
ROCm/rocm-systems PR 10175 for the map; OpenCL extension cl_intel_subgroup_local_block_io.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MATRICES", "matrix_access", "matrix_bytes"]

Numbers: TypeAlias = NDArray[Any]

MATRICES = ("rows", "columns", "halves", "block")
"""The maps that an access may have besides its own lane's places."""


def matrix_bytes(matrix: str, rows: Numbers, count: int, bits: int = 32) -> Numbers:
    """The bytes of each of `count` words, `[sg, lane, word, byte]`, of rows that begin at the bytes `[sg, lane]`.

    Of a block's words only the low `bits` are moved.
    """
    if matrix == "block":
        size, lanes = bits // 8, rows.shape[1]
        numbers = np.array(np.arange(lanes)[:, None] + np.arange(count) * lanes, np.int64)
        places: Numbers = numbers[..., None] * size + np.arange(size)
        first: Numbers = rows[:, :1, None, None]
        return first + places
    from_lane, distance = _map(matrix, rows.shape[1], count)
    halves: Numbers = rows[:, from_lane] + distance
    found: Numbers = halves[..., None] + np.arange(2)
    return found.reshape(len(rows), rows.shape[1], count, 4)


def _map(matrix: str, lanes: int, count: int) -> tuple[Numbers, Numbers]:
    """For each half `[lane, word, half]` the lane whose address it counts from, and the bytes from there."""
    lane, word, half = (np.array(one) for one in np.indices((lanes, count, 2)))
    if matrix == "halves":
        return (lane & ~15 | lane >> 2 & 3) + 4 * (2 * word + half), 2 * (lane & 3)
    if matrix == "columns":
        return 8 * word + 2 * (lane & 3) + half, 2 * (lane >> 2)
    return 8 * word + (lane >> 2), 4 * (lane & 3) + 2 * half


def matrix_access(matrix: str, count: int, lanes: int) -> tuple[int, int]:
    """The words at each address that the banks serve for it, and the mask of the lanes whose addresses count.

    A matrix is a transaction of eight rows of 16 bytes (NVIDIA developer forum, 278716). A block is one line of memory, and
    each lane has an equal part of it.

    >>> matrix_access("rows", 2, 32)
    (4, 65535)
    """
    if matrix == "block":
        return count, (1 << lanes) - 1
    return (2, (1 << lanes) - 1) if matrix == "halves" else (4, (1 << 8 * count) - 1)
