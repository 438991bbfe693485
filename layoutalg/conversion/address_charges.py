"""The operations that NVIDIA's and AMD's compilers leave of addresses in shared memory, whatever they were written as.

An address is a sum, or XOR, of parts of the numbers of lane and subgroup. A part is shifted to its place, masked where other
bits would come along, and joined to the others; a mask and a join are mostly one instruction, and shifts by one distance are
computed once. What counts is the place in bytes, which accesses of most chips do not scale. Lane bits 0 and 1 times 4, and
bits 2 to 4 times 36, of words:

>>> found = address_operations([(Address(factors=(("lane", 1, 4, 4), ("lane", 4, 8, 36))), 32)], 32)
>>> sorted([(name, count) for name, count in found.items()])
[('address_add', 1), ('address_mask', 2), ('address_shift', 1), ('address_times', 1)]

Where no two parts have a bit in common, a join is an `or`, parts that are shifted equally far are one, and three are joined at
once (`v_or3_b32`, `LOP3`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from layoutalg.conversion.lowering.number_maps import maps_of_items, of_items, shifts, unmirrored, unmirrored_factors
from layoutalg.conversion.program.steps import Address

__all__ = ["address_operations", "is_reversed_map", "lane_bytes", "map_operations"]

_INLINE = 64
"""The largest constant that any instruction of AMD's chips has in itself."""

_REVERSED = 3
"""The place that the lowest of a few bits goes to, at most, for which LLVM does not take them for bits in reverse order."""


class _Part(NamedTuple):
    """Bits `mask` of an axis's number, shifted up by `shift` (down where it is negative) and multiplied by an odd number."""

    axis: str
    shift: int
    mask: int
    times: int


def address_operations(reached: Iterable[tuple[Address, int]], lanes: int, subgroups: int = 1) -> Counter[str]:
    """How often each operation is computed for addresses without their constants, each with the bits of its places."""
    found: Counter[str] = Counter()
    known: dict[object, tuple[Address, list[_Part]]] = {}
    for address, bits in reached:
        parts = _parts(address.scaled(max(bits // 8, 1)), lanes, subgroups)
        if parts:
            known.setdefault((_unscaled(parts), address.xor, address.plus), (address, parts))
    moved: set[tuple[str, int]] = set()
    placed: set[tuple[str, int]] = set()
    chosen: set[_Part] = set()
    once, cut = _multiplied([parts for address, parts in known.values() if not address.xor]), set[tuple[str, int]]()
    for address, parts in known.values():
        xor = address.xor
        for more in address.plus:  # once for all addresses that count an axis from there
            found["address_add"] += more not in moved
            moved.add(more)
        found["address_reversed"] += _is_reversed(parts)
        apart = _are_apart(parts)
        joined = _merged(parts) if apart else parts
        for part in joined:
            if not xor and _is_chosen(part) and part not in chosen:
                chosen.add(part)
                found["address_chosen"] += 1
            product = part.times > 1 and not _is_chosen(
                part
            )  # which shifts up as well; a shift down is a mask, or has one
            own = (part.axis, part.mask)
            shared = not xor and own in once
            partly = not _is_whole(part, lanes, subgroups) or (product and not part.mask & 1)
            found["address_mask"] += partly and not (shared and own in cut)
            found["address_times"] += product
            added = shared and not apart and len(joined) > 1  # which shifts as well (`v_lshl_add_u32`, IMAD)
            found["address_shift"] += not (product or added or part.shift == 0 or (part.axis, part.shift) in placed)
            placed.add((part.axis, part.shift))
            cut.add(own)
        joins = len(joined) - 1
        masks = [_span(part) for part in joined if not _is_whole(part, lanes, subgroups) and not _is_field(part)]
        # Of an even number of parts two are joined where one is masked (`v_and_or_b32`), by a constant that is moved to a
        # register first where it is large.
        found["address_constant"] += apart and joins % 2 and masks[:1] > [_INLINE]
        found["address_or" if apart else "address_flip" if xor else "address_add"] += joins // 2 if apart else joins
    return +found


def _unscaled(parts: Sequence[_Part]) -> tuple[_Part, ...]:
    """The parts in order, without the power of two that all have: an address that differs in that alone is nearly at hand."""
    scale = max(min([part.shift + (part.mask & -part.mask).bit_length() - 1 for part in parts]), 0)
    return tuple(sorted([part._replace(shift=part.shift - scale) for part in parts]))


def map_operations(columns: tuple[int, ...], lanes: int) -> int:
    """The operations that NVIDIA's compiler leaves of a linear map of the lane's number: a shift, or a mask with its join.

    >>> map_operations((2, 1, 4, 8, 16), 32)
    5
    """
    parts = _parts(Address(xor=True, lane=columns), lanes, 1)
    whole = sum([_is_whole(part, lanes, 1) for part in parts])
    return sum([part.shift != 0 for part in parts]) + len(parts) - whole + min(whole, max(len(parts) - 1, 0))


def _multiplied(sums: Sequence[Sequence[_Part]]) -> set[tuple[str, int]]:
    """The bits of numbers that are cut out once: those that a product takes, and another part of a sum."""
    parts = {part for one in sums for part in one}
    uses = Counter([(part.axis, part.mask) for part in parts])
    return {
        (part.axis, part.mask)
        for part in parts
        if part.times > 1 and not _is_chosen(part) and uses[part.axis, part.mask] > 1
    }


def _is_field(part: _Part) -> bool:
    """Whether its shift down and its mask are one instruction (`v_bfe_u32`)."""
    return part.shift < 0 and bool(_span(part) & 1)


def _is_reversed(parts: Sequence[_Part]) -> bool:
    """Whether LLVM takes the first parts for a number whose bits are in reverse order.

    It does where the lowest bit goes to some place, and the one that is joined to it as far below that place as it lay above
    the lowest: bit 0 to 5 and bit 1 to 4 are six bits in reverse order, masked. For sm_80, LLVM 22 turns that into a reversal
    of 16 bits, which takes seven instructions. Four bits or fewer are moved as any others.
    """
    top = parts[0].shift if parts[0].mask == 1 and parts[0].times == 1 else 0
    return top > _REVERSED and len(parts) > 1 and _goes_to(parts[1], parts[0].axis, top)


def is_reversed_map(columns: tuple[int, ...]) -> bool:
    """Whether LLVM takes the first bits of a linear map of the lane's number for one in reverse order.

    >>> is_reversed_map((16, 8, 4, 2, 1)), is_reversed_map((16, 8, 1, 2, 4)), is_reversed_map((4, 2, 1))
    (True, False, False)
    """
    parts = [_Part("lane", shift, mask, 1) for shift, mask in unmirrored(shifts(columns))]
    return bool(parts) and _is_reversed(parts)


def _goes_to(part: _Part, axis: str, top: int) -> bool:
    """Whether a part is one bit that lies as far below a place as it lay above the lowest."""
    bit = part.mask.bit_length() - 1
    return part.axis == axis and part.mask == 1 << bit and part.times == 1 and 2 * bit + part.shift == top


def _is_chosen(part: _Part) -> bool:
    """Whether LLVM chooses instead of multiplying: the lowest bit of a number, times what is no power of two."""
    return part.times > 1 and part.mask == 1


def lane_bytes(columns: tuple[int, ...], lanes: int) -> int:
    """The operations of a linear map of the lane's number, times four: what AMD's `ds_bpermute_b32` reads.

    A part that moves down by two bits needs no shift then. Joins take part in instructions with another join (`v_or3_b32`), a
    mask or a shift. Who reads ignores the two lowest bits, so a part that moves down to the lowest place is cut out at once
    (`v_bfe_u32`), or needs no mask.

    >>> [lane_bytes(columns, 64) for columns in ((2, 1, 4, 8, 16, 32), (4, 2, 1, 8, 16, 32), (16, 2, 4, 1, 8, 32))]
    [7, 5, 8]
    """
    moves = shifts(columns)
    everyone, joins = lanes - 1, len(moves) - 1
    found = sum([shift + 2 != 0 for shift in moves]) + sum([mask != everyone for mask in moves.values()])
    lowest = sum([shift < -2 and _is_run(mask >> -shift) for shift, mask in moves.items()])
    return found + joins // 2 - lowest - (-2 in moves and joins > 0 and joins % 2 == 0)


def _is_run(mask: int) -> bool:
    """Whether a mask is the lowest bits."""
    return mask & (mask + 1) == 0


def _are_apart(parts: Sequence[_Part]) -> bool:
    """Whether no two parts have a bit in common."""
    spans = [_span(part) for part in parts]
    return sum(spans) == _joined(spans) and all(part.times == 1 for part in parts)


def _is_whole(part: _Part, lanes: int, subgroups: int) -> bool:
    """Whether a part needs no mask: all that is left of a number, unless the subgroup's, which is the work-item's shifted down.

    Of that, two shifts become one, with a mask for what the first one has dropped.
    """
    everyone, down = _everyone(part.axis, lanes, subgroups), max(-part.shift, 0)
    return part.mask == everyone >> down << down and (part.axis != "sg" or part.times > 1)


def _everyone(axis: str, lanes: int, subgroups: int) -> int:
    """The bits that a number of an axis may have."""
    counts = {"lane": lanes, "sg": subgroups}
    return (1 << _width(counts.get(axis, lanes * subgroups))) - 1


def _parts(address: Address, lanes: int, subgroups: int) -> list[_Part]:
    """The parts of an address; those of lane and subgroup as parts of the work-item's number, where these are fewer."""
    if address.xor:
        maps = maps_of_items((("lane", address.lane), ("sg", address.sg)), lanes)
        return [_Part(axis, shift, mask, 1) for axis, terms in maps for shift, mask in unmirrored(shifts(terms))]
    found: list[_Part] = []
    for axis, divisor, extent, stride in (
        unmirrored_factors(of_items(address.factors, lanes)) if not address.plus else address.factors
    ):
        if extent < 2 or not stride:
            continue
        low = (divisor & -divisor).bit_length() - 1
        up = (stride & -stride).bit_length() - 1
        mask = (min(extent * divisor, _everyone(axis, lanes, subgroups) + 1) - 1) >> low << low
        found.append(_Part(axis, up - low, mask, stride >> up))
    return found


def _width(lanes: int) -> int:
    return (lanes - 1).bit_length()


def _span(part: _Part) -> int:
    """The bits that a part may have, for one that is not multiplied."""
    return part.mask << part.shift if part.shift >= 0 else part.mask >> -part.shift


def _joined(spans: Iterable[int]) -> int:
    found = 0
    for span in spans:
        found |= span
    return found


def _merged(parts: Iterable[_Part]) -> list[_Part]:
    masks: dict[tuple[str, int], int] = {}
    for part in parts:
        masks[part.axis, part.shift] = masks.get((part.axis, part.shift), 0) | part.mask
    return [_Part(axis, shift, mask, 1) for (axis, shift), mask in masks.items()]
