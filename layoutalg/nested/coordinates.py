"""What IREE materialises for a nested layout: each thread's coordinates, whether or not they cover the tensor.

A coordinate is a sum of what the thread gives and what the register gives, per dimension, so the whole map is one broadcast
sum. Half of this tensor belongs to nobody, because the thread tile's stride is 0:

>>> from layoutalg.nested import NestedLayoutAttr
>>> attr = NestedLayoutAttr((1,), (1,), (1,), (4,), (2,), (0,), (0,))
>>> thread_map(attr, range(4), 4)[3].tolist()
[[0], [1]]
>>> holders(attr, 4, 4).tolist()
[4, 4, 0, 0, 0, 0, 0, 0]
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.core.errors import SizeError
from layoutalg.core.fragments import MAX_ENTRIES, Indices

if TYPE_CHECKING:
    from layoutalg.nested.attributes import NestedLayoutAttr

__all__ = ["holders", "thread_map"]


def thread_map(attr: NestedLayoutAttr, threads: range, subgroup_size: int) -> Indices:
    """The coordinates of some threads' registers: an int array `[thread, register, rank]`.

    Raises `SizeError` over 2^28 entries.

    >>> from layoutalg.nested import NestedLayoutAttr
    >>> thread_map(NestedLayoutAttr((1,), (2,), (1,), (4,), (1,), (0,), (1,)), range(4), 4)[3].tolist()
    [[3], [7]]
    """
    registers = prod(attr.distributed_shape)
    if len(threads) * registers * max(attr.rank, 1) > MAX_ENTRIES:
        raise SizeError(f"{len(threads)} threads with {registers} registers each: a map over the limit of 2^28 entries")
    result = np.empty((attr.rank, len(threads), registers), np.int64)
    tid = np.asarray(threads, np.int64)
    digits = np.unravel_index(np.arange(registers), attr.distributed_shape) if attr.rank else ()
    for d in range(attr.rank):
        batch, outer, element = (digits[d + level * attr.rank] for level in range(3))
        thread_size, element_size = attr.thread_tile[d], attr.element_tile[d]
        own = ((batch * attr.outer_tile[d] + outer) * thread_size) * element_size + element
        subgroup, thread = attr.subgroup_strides[d] * subgroup_size, attr.thread_strides[d]
        block = attr.batch_tile[d] * attr.outer_tile[d] * thread_size * element_size
        place = (tid // subgroup % attr.subgroup_tile[d]) * block if subgroup else np.zeros_like(tid)
        if thread:
            place = place + (tid // thread % thread_size) * element_size
        np.add(place[:, None], own, out=result[d])
    return np.moveaxis(result, 0, -1)


def holders(attr: NestedLayoutAttr, threads: int, subgroup_size: int) -> Indices:
    """How many (thread, register) pairs hold each element: an int array of the tensor's shape, 0 where nobody does.

    >>> from layoutalg.nested import NestedLayoutAttr
    >>> holders(NestedLayoutAttr((1,), (1,), (1,), (4,), (1,), (0,), (1,)), 8, 8).tolist()
    [2, 2, 2, 2]
    """
    shape = attr.shape
    if prod(shape) > MAX_ENTRIES:
        raise SizeError(f"a tensor of shape {list(shape)}: a map over the limit of 2^28 entries")
    held = thread_map(attr, range(threads), subgroup_size)
    flat = np.zeros(held.shape[:2], np.int64)
    for d, size in enumerate(shape):
        flat = flat * size + held[..., d]
    return np.bincount(flat.reshape(-1), minlength=prod(shape)).reshape(shape)
