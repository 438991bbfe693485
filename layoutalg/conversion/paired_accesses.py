"""The instructions that LLVM makes of a program's accesses to shared memory on AMD's chips, where two become one.

Accesses of 4 bytes, or of 8, from one address on are sorted by their distance and joined two and two: `ds_read2_b32`,
`ds_write2_b64`. Distances are 8 bits, in units of the access or of 64 of them; where they do not fit, another address is
computed, as even as it can be, so that other pairs use it too. Loads of words 0, 2, 300 and 301 are two instructions and an
address; words that a pair loads lie side by side, so that those of words 0 and 2, wanted in registers 0 and 2, are copied:

>>> from layoutalg.conversion.program.steps import Address, Load
>>> far = Address(factors=(("lane", 1, 64, 512),))
>>> loads = tuple([Load((word,), far.based(at)) for word, at in ((0, 0), (2, 2), (1, 300), (3, 301))])
>>> sorted(paired_accesses(Program(1, 64, 32, 0, 4, (), loads, (0, 1, 2, 3), 1 << 18), [0, 1, 2, 3]).items())
[('ds_access', 2), ('ds_base', 1), ('ds_copied', 4)]

Source: LLVM 22's listings for gfx942; the ranges are those of AMD's CDNA 3 instruction set guide, "LDS instructions".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Barrier, Load, Store

__all__ = ["paired_accesses"]

_WIDEST = 16
_FAR = 64
_MOST = 0xFF


def paired_accesses(program: Program, result: Sequence[int]) -> Counter[str]:
    """The accesses, further addresses and copied words of a program whose result is these words (-1: others)."""
    found: Counter[str] = Counter()
    place = {word: i for i, word in enumerate(result)}
    lists: dict[tuple[object, ...], list[tuple[int, tuple[int, ...]]]] = {}
    waited = 0
    for step in program.steps:
        if not isinstance(step, (Store, Load)):
            waited += isinstance(step, Barrier)
            continue
        size_of = step.bits // 8
        if step.matrix:
            found["ds_access"] += 1
            continue
        at, words, start = step.address, step[0], 0
        bits = _WIDEST // size_of | at.base
        for term in (*at.lane, *at.sg) if at.xor else [stride for *_, stride in at.factors]:
            bits |= term
        while start < len(words):
            most = min((bits | start) & -(bits | start), _WIDEST // size_of)
            count = 1 << min(most, len(words) - start).bit_length() - 1
            kind = waited, isinstance(step, Load), at.xor, at.lane, at.sg, at.factors, at.plus, step.bits, count
            lists.setdefault(kind, []).append(((at.base + start) * size_of, words[start : start + count]))
            start += count
    bases: set[tuple[object, ...]] = set()
    for kind, accesses in lists.items():
        _, loads, *address, bits_of, count = kind
        size = int(str(bits_of)) // 8 * int(str(count))
        if bits_of != WORD or size > 8:
            found["ds_access"] += len(accesses)
            continue
        ordered, i = sorted(accesses), 0
        while i < len(ordered):
            base = _base(ordered[i][0] // size, ordered[i + 1][0] // size) if i + 1 < len(ordered) else None
            found["ds_access"] += 1
            if base is None:
                i += 1
                continue
            if base:
                bases.add((loads, *address, base * size))
            if loads:
                first, second = (place.get(ordered[j][1][0], -1) for j in (i, i + 1))
                if -1 in (first, second) or second != first + len(ordered[i][1]) or first % 2:
                    found["ds_copied"] += 2 * len(ordered[i][1])
            i += 2
    found["ds_base"] = len(bases)
    return +found


def _base(one: int, other: int) -> int | None:
    """What is added to the address of two accesses at so many sizes from it; None where they are not joined.

    >>> _base(0, 255), _base(0, 256), _base(0, 64 * 255 + 1), _base(512, 520)
    (0, 0, None, 512)
    """
    if not (one % _FAR or other % _FAR or max(one, other) // _FAR > _MOST) or max(one, other) <= _MOST:
        return 0
    low, high = sorted((one, other))
    if (high - low) % _FAR == 0 and (high - low) // _FAR <= _MOST:
        return _evenest(max(high - _MOST * _FAR, 0), low) | low % _FAR
    return _evenest(max(high - _MOST, 0), low) if high - low <= _MOST else None


def _evenest(low: int, high: int) -> int:
    """The number of a range that the highest power of two divides."""
    if low == 0:
        return 0
    for bit in range(high.bit_length(), -1, -1):
        found = high >> bit << bit
        if found >= low and found:
            return found
    return high
