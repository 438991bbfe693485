"""The operations that byte permutes are written with, where a chip has no instruction for them: shifts, masks, joins, selects.

The upper half of one word beside the lower half of another one is a mask of each, and a join:

>>> permute_written(0x7610, False)
Written(shifts=0, logic=2, constants=(65535, 4294901760))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from layoutalg.conversion.program.steps import WORD, Permute

__all__ = ["Written", "charge_permutes", "permute_halves", "permute_masks", "permute_written"]

_BYTES = WORD // 8


@lru_cache(maxsize=1024)
def permute_masks(selectors: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The different selectors, each with the lanes that have it, the most frequent first."""
    masks: dict[int, int] = {}
    for lane, selector in enumerate(selectors):
        masks[selector] = masks.get(selector, 0) | 1 << lane
    return tuple(sorted(masks.items(), key=lambda one: -one[1].bit_count()))


def charge_permutes(
    steps: Sequence[Permute], found: Counter[str], selectors: set[object], lanes: set[int], constants: set[int]
) -> None:
    """Charge for byte permutes, and note their choices of bytes, the lanes that they tell apart, and their masks."""
    found["permute"] += len(steps)
    selectors.update([one for step in steps for one in step.selectors])
    for (by_lane, same), count in Counter([(step.selectors, step.low == step.high) for step in steps]).items():
        masks = permute_masks(by_lane)
        halves = permute_halves(by_lane) if len(masks) > 1 else None
        found["permute_by_lane"] += count * (len(masks) > 1)
        if halves is not None:
            found["permute_half"] += count * halves[0]
            lanes.update(halves[1])
            continue
        found["permute_select"] += count * (len(masks) - 1)
        lanes.update([mask for _, mask in masks[1:]])
        for selector, _ in masks:
            written = permute_written(selector, same)
            found["permute_shift"] += count * written.shifts
            found["permute_logic"] += count * written.logic
            constants.update(written.constants)


@lru_cache(maxsize=1024)
def permute_halves(selectors: tuple[int, ...]) -> tuple[int, tuple[int, ...]] | None:
    """Selects and moves of single halves, and their conditions, where all selectors move whole halves of words."""
    if any(half & 1 or (half >> 4 & 7) != (half & 7) + 1 for one in set(selectors) for half in (one & 0xFF, one >> 8)):
        return None
    count, conditions = 0, list[int]()
    for place in (0, 8):
        masks = permute_masks(tuple([selector >> place & 7 for selector in selectors]))
        count += max(len(masks) - 1, 1)
        conditions += [mask for _, mask in masks[1:]]
    return count, tuple(dict.fromkeys(conditions))


class Written(NamedTuple):
    """How many shifts, and how many other operations, bytes of two words are written with, and by which masks."""

    shifts: int
    logic: int
    constants: tuple[int, ...]


@lru_cache(maxsize=4096)
def permute_written(selector: int, same: bool) -> Written:
    """How the bytes of two words are put together that a selector says.

    >>> permute_written(0x5410, False), permute_written(0x1032, True)
    (Written(shifts=1, logic=1, constants=(65535,)), Written(shifts=1, logic=0, constants=()))
    """
    masks: dict[tuple[bool, int], int] = {}
    for place in range(_BYTES):
        byte = selector >> 4 * place & 7
        key = byte >= _BYTES and not same, place - byte % _BYTES
        masks[key] = masks.get(key, 0) | 0xFF << 8 * place
    if len(masks) == 1:
        [((_, shift), mask)] = masks.items()
        return Written(int(shift != 0), int(mask != _left(shift)), () if mask == _left(shift) else (mask,))
    shifted = [shift for _, shift in masks if shift]
    if (
        len({word for word, _ in masks}) == 1
        and len(masks) == 2
        and len(shifted) == 2
        and abs(shifted[0] - shifted[1]) == 4
    ):
        return Written(1, 0, ())  # a rotation
    constants = tuple(dict.fromkeys(mask for (_, shift), mask in masks.items() if mask != _left(shift)))
    masked = sum(mask != _left(shift) for (_, shift), mask in masks.items())
    joins = len(masks) - 1
    return Written(len(shifted), masked + joins - min(masked, -(-joins // 2)), constants)


def _left(shift: int) -> int:
    """The bits of a word that a shift by so many bytes leaves."""
    return (0xFFFFFFFF << 8 * shift if shift > 0 else 0xFFFFFFFF >> -8 * shift) & 0xFFFFFFFF
