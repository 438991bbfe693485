"""What IREE materialises for a nested layout: each thread's coordinates, whether or not they cover the tensor.

A coordinate is a sum of what the thread gives and what the register gives, per dimension, so the whole map is one broadcast
sum. Half of this tensor belongs to nobody, because the thread tile's stride is 0:

>>> from layoutalg.nested.tiles import NestedTiles
>>> attr = NestedTiles((1,), (1,), (1,), (4,), (2,), (0,), (0,))
>>> thread_map(attr, range(4), 4)[3].tolist()
[[0], [1]]
>>> count, first = uncovered(attr, 4, 4, most=2)
>>> count, first.tolist()
(6, [[2], [3]])
"""

from __future__ import annotations

from math import prod

import numpy as np

from layoutalg.core.errors import SizeError
from layoutalg.core.fragments import Indices
from layoutalg.core.limits import MAX_ENTRIES
from layoutalg.core.limits import MOST_NESTED_COUNTED as _MOST_COUNTED
from layoutalg.nested.tiles import NestedTiles

__all__ = ["thread_map", "uncovered"]


def thread_map(attr: NestedTiles, threads: range, subgroup_size: int) -> Indices:
    """The coordinates of some threads' registers: an int array `[thread, register, rank]`.

    Raises `SizeError` over 2^28 entries.
    """
    registers = prod(attr.distributed_shape)
    if len(threads) * registers * max(attr.rank, 1) > MAX_ENTRIES:
        raise SizeError(f"{len(threads)} threads with {registers} registers each: a map over the limit of 2^28 entries")
    result = np.empty((attr.rank, len(threads), registers), np.int64)
    tid = np.asarray(threads, np.int64)
    rest = np.arange(registers)
    values: list[Indices] = []
    for size in reversed(attr.distributed_shape):
        values.append(rest % size)
        rest = rest // size
    values.reverse()
    for d in range(attr.rank):
        batch, outer, element = (values[d + level * attr.rank] for level in range(3))
        thread_size, element_size = attr.thread_tile[d], attr.element_tile[d]
        own = ((batch * attr.outer_tile[d] + outer) * thread_size) * element_size + element
        np.add(_places(attr, d, tid, subgroup_size)[:, None], own, out=result[d])
    return np.moveaxis(result, 0, -1)


def _places(attr: NestedTiles, d: int, tid: Indices, subgroup_size: int) -> Indices:
    """Where each thread's part of dimension `d` begins."""
    subgroup, thread = attr.subgroup_strides[d] * subgroup_size, attr.thread_strides[d]
    tile = attr.thread_tile[d] * attr.element_tile[d]
    block = attr.batch_tile[d] * attr.outer_tile[d] * tile
    place = (tid // subgroup % attr.subgroup_tile[d]) * block if subgroup else np.zeros_like(tid)
    return place + (tid // thread % attr.thread_tile[d]) * attr.element_tile[d] if thread else place


def uncovered(attr: NestedTiles, threads: int, subgroup_size: int, most: int) -> tuple[int, Indices]:
    """How many elements nobody holds, and the first `most` of them, row-major: an int array `[element, rank]`.

    Raises `SizeError` over 2^24 threads or elements.
    """
    shape = attr.shape
    if max(prod(shape), threads) > _MOST_COUNTED:
        raise SizeError(f"a tensor of shape {list(shape)} on {threads} threads: over 2^24 to look at one by one")
    held = thread_map(attr, range(1), subgroup_size)[0]
    # Threads that start at the same place hold the same elements: each start counts once, and no two share an element.
    starts, flat = np.zeros(threads, np.int64), np.zeros(len(held), np.int64)
    tid = np.arange(threads)
    for d, size in enumerate(shape):
        starts = starts * size + _places(attr, d, tid, subgroup_size)
        flat = flat * size + held[:, d]
    covered = np.zeros(prod(shape), np.bool_)
    covered[np.add.outer(np.unique(starts), flat)] = True
    missing = np.flatnonzero(~covered)
    rest = missing[:most]
    columns: list[Indices] = []
    for size in reversed(shape):
        columns.append(rest % size)
        rest = rest // size
    return len(missing), np.stack(columns[::-1], -1) if columns else np.zeros((len(rest), 0), np.int64)
