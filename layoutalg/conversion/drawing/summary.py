"""What a conversion does, in words: what a lane holds before and after, and from how far registers get their elements.

>>> from layoutalg.conversion.drawing.contents import contents_of
>>> from layoutalg.conversion.drawing.registers import ends_of
>>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup")
>>> ends = ends_of(plan, [contents_of(program) for program in plan.programs])
>>> for words in (held_in_words(ends), moved_in_words(ends)):
...     print(words)
a transpose: each lane holds a column before, a row after
of 4 registers, 2 get their element from another lane, 2 from their own
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.registers import Ends
from layoutalg.core.plurals import counted

__all__ = ["held_in_words", "moved_in_words"]


def held_in_words(ends: Ends) -> str:
    """What each lane holds before and after, where one word fits all lanes; else nothing."""
    before, after = (_held(slots, ends) for slots in (ends.before, ends.after))
    if before is None or after is None:
        return ""
    turned = len(ends.before) == 1 and np.array_equal(ends.after[0], ends.before[0].T)
    told = (
        f"each lane holds {before} before, {after} after"
        if before != after
        else f"each lane holds {before} before and after"
    )
    return f"a transpose: {told}" if turned and ends.after.size > 1 else told


def moved_in_words(ends: Ends) -> str:
    """How many registers of the result get their element from another subgroup, from another lane, from their own lane."""
    held = ends.after
    lanes, registers = held.shape[1], ends.registers
    sg, lane = np.indices(held.shape)[:2]
    own, group = held // registers == sg * lanes + lane, held // registers // lanes == sg
    filled = held >= 0
    counts = {
        "another subgroup": int((filled & ~group).sum()),
        "another lane": int((filled & group & ~own).sum()),
        "their own": int((filled & own).sum()),
    }
    if counts["another lane"] == counts["another subgroup"] == 0:
        return "each register gets its element from its own lane"
    first, *others = [(count, where) for where, count in counts.items() if count]
    told = [f"{first[0]} get their element from {first[1]}", *(f"{count} from {where}" for count, where in others)]
    return f"of {counted(int(filled.sum()), 'register')}, {', '.join(told)}"


def _held(slots: NDArray[np.int64], ends: Ends) -> str | None:
    """The part of the tensor that every lane holds, `slots` being `[sg, lane, register]`; None where no such word fits."""
    shape = ends.source.shape
    if ends.elements is None or len(shape) not in (1, 2) or (slots < 0).any():
        return None
    elements = ends.elements.reshape(-1)[slots]
    extents: list[int] = []
    steps: list[int] = []
    for at in np.unravel_index(np.maximum(elements, 0), shape):
        low, numbers = at.min(-1), _distinct(at)
        count, step = (
            int(numbers.flat[0]),
            int(np.ptp(at.reshape(-1, at.shape[-1])[0])) // max(int(numbers.flat[0]) - 1, 1),
        )
        even = (at - low[..., None]) % max(step, 1) == 0
        if (numbers != count).any() or not even.all() or (np.ptp(at, -1) != (count - 1) * step).any():
            return None
        extents.append(count)
        steps.append(max(step, 1))
    if (elements < 0).any() or (_distinct(elements) != prod(extents)).any():
        return None
    if tuple(extents) == shape:
        return "the whole tensor"
    if prod(extents) == 1:
        return "one element"
    if len(shape) == 1:
        return f"{extents[0]} {'neighbouring ' * (steps[0] == 1)}elements{_apart(steps[0])}"
    for line, across, along in (("column", 1, 0), ("row", 0, 1)):
        if extents[across] == 1:
            whole = extents[along] == shape[along]
            return f"a {line}" if whole else f"{extents[along]} elements of a {line}{_apart(steps[along])}"
    high, wide = extents
    block = f"a block of {high}x{wide}" if steps == [1, 1] else f"{high}x{wide} elements"
    return block + "".join(_apart(step, f"{line} ") for step, line in zip(steps, ("rows", "columns"), strict=True))


def _apart(step: int, what: str = "") -> str:
    return f" ({what}{step} apart)" if step > 1 else ""


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different numbers there are along the last axis."""
    return 1 + (np.diff(np.sort(numbers, -1), axis=-1) != 0).sum(-1)
