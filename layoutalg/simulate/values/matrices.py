"""Matrices that the lanes of a warp or wavefront read and write together: whose row each half of a word is in, and where.

`ldmatrix` and `stmatrix` (PTX ISA, "Warp Level Matrix Load Instruction: ldmatrix", its tables of fragments): thread 0 to 7 give
the addresses of matrix 0, 8 to 15 of matrix 1, and so on. Row i of 8 halves goes to threads 4i to 4i + 3, two each; with
`.trans` the matrix is transposed before. `ds_read_b64_tr_b16` (AMD's CDNA 4 guide, 11.4): 16 lanes transpose 4x4 blocks.

>>> lane, at = nvidia(32, 1, transposed=False)
>>> lane[5, 0].tolist(), at[5, 0].tolist()              # lane 5: halves 2 and 3 of row 1
([1, 1], [2, 3])
>>> lane, at = nvidia(32, 1, transposed=True)
>>> lane[5, 0].tolist(), at[5, 0].tolist()              # half 1 of the rows 2 and 3
([2, 3], [1, 1])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["amd", "nvidia"]

Array = NDArray[Any]


def nvidia(lanes: int, count: int, *, transposed: bool) -> tuple[Array, Array]:
    """For each half `[lane, matrix, half]` the lane that gives its row's address, and its number in the row."""
    row, column = np.empty((2, lanes, count, 2), np.int64)
    for i in range(8):
        for j in range(8):
            thread, half = divmod(8 * i + j, 2)
            row[thread, :, half], column[thread, :, half] = (j, i) if transposed else (i, j)
    return row + 8 * np.arange(count)[:, None], column


def amd(lanes: int) -> tuple[Array, Array]:
    """For each half `[lane, half]` the lane that gives the address of its eight bytes, and its number among those.

    >>> [part[6].tolist() for part in amd(64)]
    [[1, 5, 9, 13], [2, 2, 2, 2]]
    """
    lane, half = np.arange(lanes)[:, None], np.arange(4)
    block, row, column = lane // 16, lane // 4 % 4, lane % 4
    return 16 * block + 4 * half + row, np.broadcast_to(column, (lanes, 4))
