"""The operations that Intel's compiler leaves of lane numbers and of addresses in shared memory.

They stay as the emitted code has them (`lowering.indices`): each part of a number is shifted and masked, a part that is one bit
chooses between nothing and its stride where that is no power of two, and three parts are joined at once (`bfn`, `add3`). Lane
bits 0 and 1 times 4, and bit 2 times 36: a mask and a shift, a choice, one join.

>>> found = number_operations([], [(Address(factors=(("lane", 1, 4, 4), ("lane", 4, 2, 36))), 32)], 16, 1)
>>> sorted(found.items())
[('sum_chosen', 1), ('sum_join', 1), ('sum_mask', 1), ('sum_scaled', 1), ('sum_shift', 1)]

What is computed from the subgroup's number alone is one number for all lanes. A number whose bits change places in the reverse
order is hidden from LLVM, as `Indices` says, which IGC sees through where there are several subgroups: where two such bits are
joined by XOR before anything else is, it reverses a byte (`bfrev`) and casts it.

>>> swapped = Address(xor=True, lane=(1, 2, 4, 8), sg=(32, 16))
>>> number_operations([], [(swapped, 32)], 16, 4)["mirrored"], number_operations([], [(swapped, 32)], 16, 2)["mirrored"]
(1, 0)

Of up to 16 lanes a map in so many parts is looked up:

>>> [number_operations([(2, 1, 4, 8, 16)], [], 32, subgroups)["veiled"] for subgroups in (1, 2)]
[1, 0]
>>> number_operations([(2, 1, 4, 8)], [], 16, 1)
Counter({'map_table': 1})

Source: listings of IGC 2.40 for pvc and bmg.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from layoutalg.conversion.lowering.number_maps import (
    are_powers,
    in_a_table,
    reverses,
    rounded_down,
    shifts,
    unmirrored,
)
from layoutalg.conversion.program.steps import Address

__all__ = ["address_parts", "number_operations"]

_BYTE = 8


def number_operations(
    maps: Iterable[tuple[int, ...]], reached: Iterable[tuple[Address, int]], lanes: int, subgroups: int
) -> Counter[str]:
    """How often each operation is computed for linear maps of the lane's number, and for addresses without their constants,

    each with the bits of its places.
    """
    found: Counter[str] = Counter()
    veiled: set[str] = set()
    once: set[_Operation] = set()
    for columns in maps:
        if in_a_table(columns, lanes):
            found["map_table"] += 1
            continue
        own = _of_map(columns, lanes)
        once |= own.once
        found.update(own.more)
        veiled |= own.hidden
    for address, bits in reached:
        own = _of_address(address, lanes, subgroups)
        if own.parts == 1:  # what scales a single part to bytes is its own shift
            own = _of_address(address.scaled(max(bits // _BYTE, 1)), lanes, subgroups)
        once |= own.once
        found.update(own.more)
        veiled |= own.hidden
        found["sum_scaled"] += bits > _BYTE and own.parts > 1
    found.update([operation[0] for operation in once])
    found["veiled" if subgroups == 1 else "unveiled"] = len(veiled)
    if veiled and subgroups > 1:
        found["mirrored"] = _mirrored(dict.fromkeys([address for address, _ in reached]), _width(lanes))
    return +found


def address_parts(address: Address, lanes: int, subgroups: int) -> int:
    """How many parts of numbers an address joins.

    >>> address_parts(Address(8, factors=(("lane", 1, 4, 4), ("lane", 4, 4, 36), ("sg", 1, 2, 144))), 16, 2)
    3
    """
    return _of_address(address.based(0), lanes, subgroups).parts


def _mirrored(addresses: Iterable[Address], bits: int) -> int:
    """In how many addresses, joined by XOR, two bits that change places are joined first, of lane numbers of so many bits.

    Those of the subgroup's number are where the lane's is a single part, unless another address has such bits too.
    """
    flipped = [(shifts(one.lane[:bits]), shifts(one.sg)) for one in addresses if one.xor]
    turned = [lane for lane, sg in flipped if _is_mirrored(unmirrored(sg))]
    alone = len(turned) == 1 and len(turned[0]) == 1
    return alone + sum([_is_mirrored(unmirrored(lane)) for lane, _ in flipped])


def _is_mirrored(parts: Sequence[tuple[int, int]]) -> bool:
    """Whether the first two parts are two bits that change places: shifts and masks."""
    (shift, mask), (other, second) = [*parts, (0, 0), (0, 0)][:2]
    return are_powers(mask, second) and second > 0 and 2 * mask.bit_length() + shift == 2 * second.bit_length() + other


_Operation: TypeAlias = tuple[str, str, int, int, int]
"""A charge, and what makes it another one than the others: the axis, the shift, the mask, the factor."""


class _Own(NamedTuple):
    """What one map or address needs: operations that others may share, more of them, the axes whose number is hidden."""

    once: frozenset[_Operation]
    more: Counter[str]
    hidden: frozenset[str]
    parts: int


@lru_cache(maxsize=1024)
def _of_map(columns: tuple[int, ...], lanes: int) -> _Own:
    """The operations of a linear map of the lane's number."""
    once, moved = _of_bits(columns, _width(lanes), "lane", "map_mask", "map_shift")
    parts = len(shifts(columns))
    return _Own(frozenset(once), Counter(map_join=_joins(parts)), frozenset(["lane"] if reverses(moved) else []), parts)


@lru_cache(maxsize=4096)
def _of_address(address: Address, lanes: int, subgroups: int) -> _Own:
    """The operations of an address."""
    once: set[_Operation] = set()
    more: Counter[str] = Counter()
    counts = {"lane": lanes, "sg": subgroups}
    parts = products = 0
    moves: dict[str, list[tuple[int, int]]] = {"lane": [], "sg": []}
    if address.xor:
        for axis, terms in (("lane", address.lane), ("sg", address.sg)):
            names = ("sum_mask", "sum_shift") if axis == "lane" else ("scalar", "scalar")
            own, moves[axis] = _of_bits(terms, _width(counts[axis]), axis, *names)
            once |= own
            parts += len(shifts(terms))
    else:
        factors = address.factors
        rounded = rounded_down([factor[1:] for factor in factors if factor[0] == "lane"], lanes)
        if rounded is not None and not address.plus:
            once |= {("sum_times", "lane", 0, -1, rounded[0]), ("sum_mask", "lane", 0, -rounded[1], rounded[0])}
            parts = 1
            factors = tuple([factor for factor in factors if factor[0] != "lane"])
        for axis, divisor, extent, stride in factors:
            if extent == 1 or stride == 0 or divisor >= counts[axis]:
                continue
            parts += 1
            if extent == 2:
                moves[axis].append((divisor.bit_length(), stride.bit_length()))
            own = _of_factor(axis, divisor, extent, stride, counts[axis])
            once |= own
            products += any(operation[0] == "sum_times" for operation in own)
    more["sum_flip" if address.xor else "sum_join"] = _joins(
        parts - products
    )  # a product is added to another part (`mad`)
    return _Own(frozenset(once), more, frozenset([axis for axis, moved in moves.items() if reverses(moved)]), parts)


def _of_factor(axis: str, divisor: int, extent: int, stride: int, count: int) -> set[_Operation]:
    """The operations of `number // divisor % extent * stride`: one shift of the distance that is left, and a mask."""
    mask, shift, times, chosen = (
        ("sum_mask", "sum_shift", "sum_times", "sum_chosen")
        if axis == "lane"
        else ("scalar", "scalar", "scalar_times", "scalar_chosen")
    )
    low, up = _exponent(divisor), _exponent(stride)
    left = -1 if -(-count // divisor) <= extent else extent * divisor - 1
    found: set[_Operation] = set()
    if stride >> up == 1:
        if left != -1 or (divisor > 1 and up > 0):
            found.add((mask, axis, up - low, left & -divisor, 1))
        if up != low:
            found.add((shift, axis, up - low, 0, 1))
    elif extent == 2 and left != -1:  # one bit of a number; its highest is a number of its own
        found.add((chosen, axis, 0, divisor, stride))
    else:
        found.add((times, axis, -low, left, stride))
        if left != -1:
            found.add((mask, axis, -low, left, 1))
        if divisor > 1:
            found.add((shift, axis, -low, 0, 1))
    return found


def _of_bits(
    terms: tuple[int, ...], bits: int, axis: str, mask: str, shift: str
) -> tuple[set[_Operation], list[tuple[int, int]]]:
    """The operations of a linear map, and the bits that move by themselves, from where to where."""
    groups = shifts(terms[:bits])
    everyone = (1 << bits) - 1
    found = {(mask, axis, distance, one, 1) for distance, one in groups.items() if one != everyone}
    found |= {(shift, axis, distance, 0, 1) for distance in groups if distance}
    return found, [
        (one.bit_length(), one.bit_length() + distance) for distance, one in groups.items() if one & (one - 1) == 0
    ]


def _joins(parts: int) -> int:
    """The operations that join so many parts, three at once.

    >>> [_joins(parts) for parts in range(6)]
    [0, 0, 1, 1, 2, 2]
    """
    return parts // 2


def _exponent(number: int) -> int:
    return (number & -number).bit_length() - 1


def _width(count: int) -> int:
    return (count - 1).bit_length()
