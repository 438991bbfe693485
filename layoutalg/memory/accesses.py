"""What a subgroup accesses in memory: which addresses the lanes touch in one instruction, and how wide their accesses are.

An **access** is what one lane moves in one instruction: v elements at consecutive addresses from a multiple of v on, at most
16 bytes, the same registers in every lane; v is the largest power of two for which all registers can be grouped so (what
order they have does not matter: registers have no addresses). Registers that hold the same elements in every lane are
accessed once. Memory starts at an address that is aligned for all of this.

Two lanes with two registers each, which hold a column of a 2 x 2 tile. Stored by columns it is one access of two elements
per lane, from addresses 0 and 2; stored by rows two accesses of one, from 0 and 1, then from 2 and 3:

>>> tile = Layout.parse("d0 = 2@reg, d1 = 2@lane")
>>> from layoutalg.memory.addresses import addresses_of
>>> held = held_elements(tile)
>>> for memory in ("d0 = 2@addr, d1 = 2@addr:2", "d0 = 2@addr:2, d1 = 2@addr"):
...     starts, vector = lane_accesses(held, addresses_of(memory, tile, 4), 4)
...     print(vector, starts.tolist())    # by subgroup, instruction and lane
2 [[[0, 2]]]
1 [[[0, 1], [2, 3]]]
"""

from __future__ import annotations

from math import prod

import numpy as np

from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.fragments import fragment_map
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_ACCESSES
from layoutalg.memory.addresses import Numbers

__all__ = ["MOST_ACCESSES", "WIDEST", "held_elements", "lane_accesses"]

WIDEST = 16
"""The bytes that a lane moves in one access, at most."""


def held_elements(layout: Layout) -> Numbers:
    """Which element each slot of the machine holds, as a row-major number: `[sg, lane, reg]`, -1 for none.

    Raises `ConversionError` for a layout onto other axes than sg, lane and reg, `SizeError` over 2^24 slots.

    >>> held_elements(Layout.parse("d0 = 2@reg, d1 = 2@lane | offset 1@lane")).tolist()
    [[[-1, -1], [0, 2], [1, 3]]]
    """
    axes, starts = layout.axes, layout.offsets
    if any(axis not in MACHINE for axis in axes):
        raise ConversionError(f"axes {', '.join(axes)}: expected a distribution over sg, lane and reg (in {layout})")
    idle = starts.get("lane", 0)
    if min(starts.values(), default=0) < 0:
        raise ConversionError(f"an offset below 0: subgroups, lanes and registers count from 0 (in {layout})")
    sizes = [axes.get(axis, 1) + (idle if axis == "lane" else 0) for axis in MACHINE]
    if prod(sizes) > MOST_ACCESSES:
        shown = " x ".join(f"{n} {axis}" for n, axis in zip(sizes, MACHINE, strict=True))
        raise SizeError(
            f"{shown} accesses: over the limit of 2^24; ask for a part of the tensor with restrict() (of {layout})"
        )
    # Counted from 0, so that -1 marks a hole and nothing else; a tensor without dimensions has a coordinate for that, too.
    names, shape = (layout.names, layout.shape) if layout.rank else (("d0",), (1,))
    held = fragment_map(Layout(layout.dims or [()], layout.replicas, names=names, flips=layout.flips))
    numbers = np.zeros(held.shape[:-1], np.int64)
    stride = 1
    for d in reversed(range(len(shape))):
        numbers += held[..., d].astype(np.int64) * stride
        stride *= shape[d]
    numbers[held[..., 0] < 0] = -1
    return np.pad(numbers, ((0, 0), (idle, 0), (0, 0)), constant_values=-1) if idle else numbers


def lane_accesses(held: Numbers, table: Numbers, most: int) -> tuple[Numbers, int]:
    """The first address of every access, `[sg, instruction, lane]` (-1: the lane is idle), and the elements of each.

    `held` and `table` are what `held_elements` and `addresses_of` give; an access has at most `most` elements, a power of two.
    """
    subgroups, lanes, _ = held.shape
    slots = np.where(held < 0, -1, table[held]).reshape(subgroups * lanes, -1)
    active = slots >= 0
    kept = active.any(0)
    if not kept.all():
        slots, active = slots[:, kept], active[:, kept]
    # Each register once: those with equal columns have equal sums, and stand side by side when sorted by them.
    spread = _weights(len(slots))
    weights, sums = np.where(active, spread[:, None], 0).sum(0), spread @ slots
    order = np.lexsort((sums, weights))
    slots, weights, sums = slots[:, order], weights[order], sums[order]
    fresh = np.ones(slots.shape[1], bool)
    fresh[1:] = (slots[:, 1:] != slots[:, :-1]).any(0)
    if not fresh.all():
        slots, weights, sums = slots[:, fresh], weights[fresh], sums[fresh]
    shown = slots.max(0)
    size = most
    while size > 1:
        # A register that is i above the start of its access is so in every lane: then its sum is i weights above the start's.
        above = shown % size
        if (np.bincount(above, minlength=size) * size == len(shown)).all():
            runs = slots[:, np.lexsort((above, sums - above * weights, weights))].reshape(len(slots), -1, size)
            start = runs[..., 0]
            steps = np.diff(runs, axis=-1) == (start >= 0)[..., None]
            if steps.all() and not ((start % size != 0) & (start >= 0)).any():
                return _by_instruction(start, held.shape), size
        size //= 2
    return _by_instruction(slots, held.shape), 1


def _weights(count: int) -> Numbers:
    """Numbers without a pattern (the finaliser of SplitMix64), so that weighted sums differ where what is summed does."""
    found = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ found >> np.uint64(shift)) * np.uint64(factor)
    return (found ^ found >> np.uint64(31)).view(np.int64)


def _by_instruction(starts: Numbers, shape: tuple[int, ...]) -> Numbers:
    """From `[subgroup and lane, instruction]` to `[subgroup, instruction, lane]`, by the addresses of the first lane."""
    starts = starts[:, np.argsort(starts[0], kind="stable")]
    return np.ascontiguousarray(starts.reshape(shape[0], shape[1], -1).swapaxes(1, 2))
