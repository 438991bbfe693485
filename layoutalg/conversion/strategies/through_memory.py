"""Conversions through shared local memory, bit by bit: each lane stores its elements, all wait, each lane loads what it wants.

Two subgroups of 16 lanes that change which bits of a row's number are lanes:

>>> from layoutalg.memory.machine_bits import view
>>> both = view(Layout.parse("d0 = 2@sg, d1 = 16@lane")), view(Layout.parse("d0 = 2@lane:8, d1 = 2@sg 8@lane"))
>>> store, barrier, load = through_memory(*both, 32).steps
>>> print(store.address)
lane[0] ^ 2*lane[1] ^ 4*lane[2] ^ 16*lane[3] ^ 8*sg[0]
>>> print(load.address)
lane[0] ^ 2*lane[1] ^ 4*lane[2] ^ 8*lane[3] ^ 16*sg[0]

Every element has its place in memory once, at its own size: of lanes and subgroups that hold the same, one stores, or all do,
which needs no branch: what they store in one place is the same. Which bit
of an element's number makes which bit of its address is found by `memory.bank_matrix`: the widest accesses first, then the
fewest bank conflicts. A side that has the lowest address bits in registers moves several elements at a time, as a word or more:

>>> rows, columns = (view(Layout.parse(f"d0 = {text}")) for text in ("2@sg 16@lane 4@reg", "4@reg 2@sg 16@lane"))
>>> *stores, barrier, load = through_memory(rows, columns, 8).steps
>>> [one.bits for one in stores], load.bits
([8, 8, 8, 8], 32)

Lines of 128 bytes with 16 more behind each need no XOR: addresses are sums, and accesses differ in constants that are part of
the instruction:

>>> padded = through_memory(rows, columns, 32, padded="destination")
>>> for step in padded.steps[:2]:
...     print(step.address)
16*(lane % 2) + 36*(lane // 2 % 4) + (lane // 8 % 2) + 2*(sg % 2)
4 + 16*(lane % 2) + 36*(lane // 2 % 4) + (lane // 8 % 2) + 2*(sg % 2)

Where every subgroup loads what it stored itself, it waits for no other one: it has a part of the memory for itself. Under a
limit of memory, the elements go in several rounds through the same places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import VECTOR, WORD, Address, Load, Store
from layoutalg.conversion.strategies.foreseen import Foreseen, Side, least_charges, wanted_words
from layoutalg.conversion.strategies.renaming import packed, sums, unpacked, with_cells
from layoutalg.core.banks import BANKS
from layoutalg.core.errors import SizeError
from layoutalg.memory.bank_matrix import TileBits, bank_rows
from layoutalg.memory.machine_bits import Place, View

__all__ = [
    "BANK_BITS",
    "VECTOR_BITS",
    "fewest_bytes",
    "fits",
    "keeps_subgroups",
    "least_foreseen",
    "storing",
    "sum_factors",
    "through_memory",
    "waiting_subgroups",
]

BANK_BITS, VECTOR_BITS = BANKS.bit_length() - 1, VECTOR.bit_length() - 1

LINE = BANKS * WORD // 8
"""The bytes of all banks once."""

_Pair = tuple[Place, Place]
"""Where a bit of a cell's number is before, and after."""


def fewest_bytes(source: View, destination: View, element_bits: int, *, matrices: bool = False) -> int:
    """The shared memory that is enough for accesses of 16 bytes: one round of what registers have on both sides.

    With `matrices` a load of an 8x8 matrix counts as such an access too (NVIDIA's ldmatrix: neighbours are lanes 0 to 3, or for
    16 bits lanes 4 to 28 too), where the source has what those lanes take in registers. Triton 3.9 allocates as much at least.

    >>> from layoutalg.memory.machine_bits import view
    >>> both = [view(Layout.parse(f"d0 = {rows}, d1 = 64@reg")) for rows in ("2@sg 16@lane", "2@lane:8 2@sg 8@lane")]
    >>> fewest_bytes(*both, 32), 4 * 2**5 * 64
    (512, 8192)
    """
    pairs = list(zip(source.places, destination.places, strict=True))
    common = sum(a[0] == b[0] == "reg" for a, b in pairs)
    moved = [(VECTOR * WORD // element_bits).bit_length() - 1]  # bits of registers on both sides that one access moves
    if matrices and element_bits <= WORD:
        lanes = {b[1] for a, b in pairs if a[0] == "reg" and b[0] == "lane"}
        within = (WORD // element_bits).bit_length() - 1
        if {0, 1} <= lanes and within <= common:
            moved.append(within)
        if {2, 3, 4} <= lanes and element_bits == 16:
            moved.append(0)
    return max(element_bits // 8 << len(pairs) - max(common - min(moved), 0), WORD // 8)


def through_memory(
    source: View,
    destination: View,
    element_bits: int,
    limit: int | None = None,
    *,
    arranged: bool = True,
    padded: Literal["", "source", "destination"] = "",
    everyone: bool = False,
) -> Program:
    """The program that moves every element through memory, `limit` bytes at a time (None: all at once).

    Without `arranged` the elements lie as the destination numbers them: its registers lowest, then its lanes. With `padded`
    they lie so, or as the source numbers them, what both have in registers first, in lines with 16 bytes behind each.
    `everyone` stores, or of those that hold the same, one.

    Raises `SizeError` where a round would need more than `limit` however small.
    """
    bits, wide = min(element_bits, WORD), 1 if element_bits > WORD else 0
    scope = "subgroup" if keeps_subgroups(source, destination) else "workgroup"
    size, before, after = _sides(source, destination, element_bits, limit, arranged=arranged, padded=padded)

    parts = WORD // bits
    number = {value: x for x, value in enumerate(sums([1 << bit for bit in before.words]))}  # by a register's number
    pack = packed(before.words, before.inside, parts)
    builder = Builder(1 << destination.widths["sg"], 1 << destination.widths["lane"], element_bits, pack)
    where = None if everyone else storing(source)
    arrived: dict[int, int] = {}
    stored_at, loaded_at = before.address(), after.address()
    for count, (round_in, round_out) in enumerate(zip(before.rounds, after.rounds, strict=True)):
        if count:
            builder.barrier(scope)
        for base, at in before.accesses():
            stored = [number[round_in + base + v] for v in before.vector]
            builder.store(stored, stored_at.based(at), where, before.bits)
        builder.barrier(scope)
        for base, at in after.accesses():
            loaded = builder.load(len(after.vector), loaded_at.based(at), after.bits)
            arrived |= {round_out + base + v: word for v, word in zip(after.vector, loaded, strict=True)}
    found = [arrived[register] for register in sums([1 << bit for bit in after.words])]
    unpack = unpacked(found, after.words, after.inside, parts, destination.widths["reg"] + wide)
    registers = 1 << source.widths["reg"], 1 << destination.widths["reg"]
    places = _padded(size - 1, bits) + 1 if padded else size
    return builder.program(
        *registers, unpack, slm_bytes=-(-places * bits // WORD) * (WORD // 8) if padded else bits // 8 * size
    )


def least_foreseen(
    source: View,
    destination: View,
    element_bits: int,
    limit: int | None = None,
    *,
    arranged: bool = True,
    padded: Literal["", "source", "destination"] = "",
    **_: object,
) -> tuple[Foreseen, ...]:
    """What is known before anything has a place, which takes little time: `foreseen` is at least as much as one of these.

    Where places are looked for, a side accesses as many words at once as it can; the other one as many, where they are in
    registers on both sides. Else the places of its registers say how many.

    >>> from layoutalg.memory.machine_bits import view
    >>> both = [view(Layout.parse(text)) for text in ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg")]
    >>> [(one.charges["store"], one.charges["load"]) for one in (*least_foreseen(*both, 32), foreseen(*both, 32))]
    [(4, 16), (16, 4), (16, 4)]
    >>> [(one.charges["store"], one.charges["load"]) for one in least_foreseen(*both, 32, arranged=False)]
    [(16, 4)]
    """
    pairs, told = _pairs(source, destination, element_bits, limit)
    rounds, within = 1 << len(told), (WORD // min(element_bits, WORD)).bit_length() - 1
    moved = [sum([pair[i][0] == "reg" for pair in pairs]) for i in range(2)]
    waiting, lanes = waiting_subgroups(source, destination), 1 << destination.widths["lane"]
    widest = VECTOR_BITS + within
    if arranged and not padded:
        low = sorted([pair for pair in pairs if pair[0][0] == pair[1][0] == "reg"], key=_highest)[:widest]
        common = len(low)
        options = ((widest, common), (common, widest)) if common < widest else ((widest, widest),)
    else:
        low = [pairs[j] for j in _plain_order(pairs, int(padded != "source"), common=bool(padded))][:widest]
        options = (tuple([_leading(low, i) for i in range(2)]),)
    known = [to for _, (axis, to) in low if axis == "reg"]  # the bits of the result's registers that lie lowest
    found: list[Foreseen] = []
    for most in options:
        vectors = [min(own, widest, limited) for own, limited in zip(moved, most, strict=True)]
        words = [1 << max(vector - within, 0) for vector in vectors]
        stores, loads = (
            Side(rounds << own - vector, count, run=count)
            for own, vector, count in zip(moved, vectors, words, strict=True)
        )
        lying = known[within : vectors[1]]
        if known[:within] == [*range(within)] and lying != [*range(within, within + len(lying))]:
            cells = 1 << destination.widths["reg"] + (element_bits > WORD)
            loads = wanted_words(loads, known[:within], lying, within, cells)
        charges = least_charges(stores, loads, rounds, waiting, lanes)
        if not padded:
            charges["offset_computed"] = stores.times + loads.times - 2 * rounds
        found.append(Foreseen(charges))
    return tuple(found)


def _leading(pairs: Sequence[_Pair], side: int) -> int:
    """How many of the first bits are in registers on a side."""
    return next((count for count, pair in enumerate(pairs) if pair[side][0] != "reg"), len(pairs))


def foreseen(
    source: View,
    destination: View,
    element_bits: int,
    limit: int | None = None,
    *,
    arranged: bool = True,
    padded: Literal["", "source", "destination"] = "",
    everyone: bool = False,
) -> Foreseen:
    """What is known of the program that `through_memory` makes of the same, before it is made."""
    _, before, after = _sides(source, destination, element_bits, limit, arranged=arranged, padded=padded)
    where = None if everyone else storing(source)
    rounds, parts = len(before.rounds), WORD // min(element_bits, WORD)
    within = parts.bit_length() - 1
    passed: list[Side] = []
    accesses: list[tuple[Store | Load, int]] = []
    apart = further = 0
    for side in (before, after):
        count, vector = rounds << len(side.registers), tuple(range(len(side.vector)))
        own = Side(count, len(vector), side.bits)
        if side is before:
            lie_apart = element_bits >= WORD and side.vector != [*vector]
            together = side.bits < WORD and side.inside == [*range(len(side.inside))]
            first = packed(side.words, side.inside, parts)[::parts] if together else []
            upper = sum([cell % parts != 0 for cell in first])
            own = own._replace(copied=len(vector) if lie_apart else 0, upper=upper)
        else:
            cells = 1 << destination.widths["reg"] + (element_bits > WORD)
            own = wanted_words(own, side.inside, side.moved, within, cells)
        passed.append(own)
        one = partial(Store, where=where) if side is before else Load
        every, address = side.accesses(), side.address()
        inside = Counter([0 if not side.padded else at % (WORD // side.bits) for _, at in every])
        accesses += [(one(vector, address.based(at), bits=side.bits), times * rounds) for at, times in inside.items()]
        if not padded:
            terms = 0
            for term in (*side.lane, *side.sg):
                terms |= term
            apart += rounds * sum([at & terms != 0 for _, at in every])
            further += count - rounds
    lanes = 1 << destination.widths["lane"]
    charges = least_charges(passed[0], passed[1], rounds, waiting_subgroups(source, destination), lanes)
    if not padded:
        charges |= {"apart": apart, "offset_computed": further}
    return Foreseen(charges, tuple(accesses))


def _sides(
    source: View,
    destination: View,
    element_bits: int,
    limit: int | None,
    *,
    arranged: bool,
    padded: Literal["", "source", "destination"],
) -> tuple[int, _Side, _Side]:
    """The places of a round, and the accesses of both sides (see `through_memory`)."""
    wide, bits = 1 if element_bits > WORD else 0, min(element_bits, WORD)
    pairs, rounds = _pairs(source, destination, element_bits, limit)
    lanes = source.widths["lane"], destination.widths["lane"]
    if padded:
        columns = _plain(pairs, int(padded == "destination"), common=True)
    else:
        columns = _columns(pairs, bits, *lanes) if arranged else _plain(pairs)
    before = _Side.of([a for a, _ in pairs], [a for a, _ in rounds], columns, source, wide, bits, bool(padded))
    after = _Side.of([b for _, b in pairs], [b for _, b in rounds], columns, destination, wide, bits, bool(padded))
    return 1 << len(pairs), before, after


def _pairs(source: View, destination: View, element_bits: int, limit: int | None) -> tuple[list[_Pair], list[_Pair]]:
    """The bits of a cell's number: those that a round moves, and those that tell rounds apart."""
    wide, bits = 1 if element_bits > WORD else 0, min(element_bits, WORD)
    pairs = [(with_cells(a, wide), with_cells(b, wide)) for a, b in zip(source.places, destination.places, strict=True)]
    pairs = [(("reg", 0), ("reg", 0))] * wide + pairs
    rounds = _rounds(pairs, bits, limit)
    if not rounds:
        return pairs, []
    return [pair for pair in pairs if pair not in rounds], rounds


def fits(source: View, destination: View, element_bits: int, limit: int) -> bool:
    """Whether `limit` bytes are enough for a round, however small.

    >>> from layoutalg.memory.machine_bits import view
    >>> both = [view(Layout.parse(text)) for text in ("d0 = 4@reg, d1 = 4@lane", "d0 = 4@reg, d1 = 2@lane 2@lane:2")]
    >>> fits(*both, 32, 16), fits(*both, 32, 12)
    (True, False)
    """
    pairs = list(zip(source.places, destination.places, strict=True))
    between = sum(not a[0] == b[0] == "reg" for a, b in pairs)
    return min(element_bits, WORD) // 8 << between <= limit


def storing(layout: View) -> tuple[int, ...] | None:
    """Of lanes and subgroups that hold the same, those that store: the ones whose free bits are 0. None for all.

    >>> from layoutalg.memory.machine_bits import view
    >>> storing(view(Layout.parse("d0 = 4@lane | replicas 2@lane:4 2@sg")))
    (15, 0)
    """
    meant = {axis: sum(1 << bit for name, bit in layout.places if name == axis) for axis in ("sg", "lane")}
    lanes, subgroups = 1 << layout.widths["lane"], 1 << layout.widths["sg"]
    if meant["lane"] == lanes - 1 and meant["sg"] == subgroups - 1:
        return None
    mask = sum(1 << lane for lane in range(lanes) if not lane & ~meant["lane"])
    return tuple(0 if sg & ~meant["sg"] else mask for sg in range(subgroups))


def keeps_subgroups(source: View, destination: View) -> bool:
    """Whether every subgroup loads what it stored itself, and nothing else."""
    pairs = set(zip(source.places, destination.places, strict=True))
    return all((("sg", bit), ("sg", bit)) in pairs for bit in range(source.widths["sg"]))


def waiting_subgroups(source: View, destination: View) -> int:
    """How many subgroups wait for one another at the barrier between stores and loads; 1 where each waits for itself."""
    return 1 if keeps_subgroups(source, destination) else 1 << destination.widths["sg"]


def _rounds(pairs: Sequence[_Pair], bits: int, limit: int | None) -> list[_Pair]:
    """The bits that tell rounds apart, so that one takes at most `limit` bytes: register bits of both sides, high ones first.

    The low ones would make accesses wide.
    """
    if limit is None or bits // 8 << len(pairs) <= limit:
        return []
    free = sorted((p for p in pairs if p[0][0] == p[1][0] == "reg"), key=_highest)
    rounds: list[_Pair] = []
    while (need := bits // 8 << len(pairs) - len(rounds)) > limit:
        if not free:
            raise SizeError(
                f"{need} bytes of shared memory at a time: what lanes and subgroups exchange needs more than {limit}; "
                "convert a part of the tensor at a time"
            )
        rounds.append(free.pop())
    return rounds


def _highest(pair: _Pair) -> tuple[int, _Pair]:
    return max(pair[0][1], pair[1][1]), pair


def _columns(pairs: Sequence[_Pair], bits: int, *lane_bits: int) -> list[int]:
    """What each bit of a cell's number brings into its address."""
    sides = [TileBits.of([pair[i] for pair in pairs], width) for i, width in enumerate(lane_bits)]
    # Of what both have in registers, the lowest bits lie together: they are words as they stand.
    write, read = (
        side._replace(registers=tuple(sorted(side.registers, key=lambda j: _highest(pairs[j])))) for side in sides
    )
    by_lane = sorted(range(len(pairs)), key=lambda j: (min(map(_lane_bit, pairs[j])), j))
    order = sorted(range(len(pairs)), key=by_lane.__getitem__)
    within = (WORD // bits).bit_length() - 1
    rows = bank_rows(order, write, read, banks=BANK_BITS, widest=VECTOR_BITS + within, within=within)
    return [sum((row >> j & 1) << k for k, row in enumerate(rows)) for j in range(len(pairs))]


def _plain(pairs: Sequence[_Pair], side: int = 1, *, common: bool = False) -> list[int]:
    """The same without a search: as a side numbers its registers, lanes and subgroups; perhaps common registers first."""
    order = _plain_order(pairs, side, common=common)
    return [1 << order.index(j) for j in range(len(pairs))]


def _plain_order(pairs: Sequence[_Pair], side: int, *, common: bool) -> list[int]:
    def rank(j: int) -> tuple[bool, int, int]:
        axis, bit = pairs[j][side]
        both = common and pairs[j][0][0] == pairs[j][1][0] == "reg"
        return not both, ("reg", "lane", "sg").index(axis), bit

    return sorted(range(len(pairs)), key=rank)


def _padded(place: int, bits: int) -> int:
    """A place of so many bits, behind lines that are 16 bytes longer; a sum over the bits of the place's number."""
    return place + (place * bits // 8 // LINE) * (VECTOR * WORD // bits)


def _lane_bit(place: Place) -> int:
    return place[1] if place[0] == "lane" else 1 << 30


class _Side(NamedTuple):
    """The accesses of one distribution, at addresses of `bits` each."""

    bits: int
    lane: tuple[int, ...]
    sg: tuple[int, ...]
    """What each bit of the lane's and the subgroup's number brings into the address."""
    registers: list[tuple[int, int]]
    """The address term of each register bit that tells accesses of a round apart, and the bit."""
    inside: list[int]
    """The register bits that tell the parts of a word apart."""
    words: list[int]
    """Those that tell words apart."""
    vector: list[int]
    """The register number of each word that an access moves, from its first on."""
    moved: list[int]
    """The register bits that tell these apart."""
    rounds: list[int]
    """The register number that each round adds."""
    padded: bool

    @staticmethod
    def of(
        places: Sequence[Place],
        rounds: Sequence[Place],
        columns: Sequence[int],
        layout: View,
        wide: int,
        bits: int,
        padded: bool,
    ) -> _Side:
        registers = {column: bit for (axis, bit), column in zip(places, columns, strict=True) if axis == "reg"}
        within = (WORD // bits).bit_length() - 1
        # An access goes on as long as the next address bit is one register bit and nothing else.
        vector: list[int] = []
        while len(vector) < VECTOR_BITS + within:
            one = 1 << len(vector)
            if one not in registers or sum(column & one > 0 for column in columns) > 1:
                break
            vector.append(registers[one])
        inside = vector[:within]
        terms = {axis: [0] * (width + wide) for axis, width in layout.widths.items()}
        unit = bits << len(inside)

        def term(column: int) -> int:
            return _padded(column >> len(inside), unit) if padded else column >> len(inside)

        for (axis, bit), column in zip(places, columns, strict=True):
            terms[axis][bit] = term(column)
        others = sorted((bit, term(column)) for column, bit in registers.items() if bit not in vector)
        return _Side(
            unit,
            tuple(terms["lane"][: layout.widths["lane"]]),
            tuple(terms["sg"][: layout.widths["sg"]]),
            [(term, bit) for bit, term in others],
            inside,
            sorted({*registers.values(), *(bit for _, bit in rounds)}.difference(inside)),
            sums([1 << bit for bit in vector[within:]]),
            vector[within:],
            sums([1 << bit for _, bit in rounds]),
            padded,
        )

    def accesses(self) -> list[tuple[int, int]]:
        """The first register of each access of a round, and what it brings into the address."""
        found = [(0, 0)]
        for term, bit in self.registers:
            found += [(register + (1 << bit), at + term if self.padded else at ^ term) for register, at in found]
        return found

    def address(self) -> Address:
        """The address of the first access of a round; of others the constant is another one."""
        if not self.padded:
            return Address(0, xor=True, lane=self.lane, sg=self.sg)
        return Address(0, factors=(*sum_factors("lane", self.lane), *sum_factors("sg", self.sg)))


def sum_factors(axis: str, terms: Sequence[int]) -> list[tuple[str, int, int, int]]:
    """The factors of a sum of bits: those whose terms double are one; what the upper ones have beyond that is another one.

    >>> sum_factors("lane", [16, 32, 64, 144, 288]), sum_factors("lane", [8, 1, 2, 4, 8])
    ([('lane', 1, 32, 16), ('lane', 8, 4, 16)], [('lane', 1, 2, 8), ('lane', 2, 16, 1)])
    """
    found: list[tuple[str, int, int, int]] = []
    beyond = [after - 2 * before for before, after in pairwise((0, *terms))]
    start, count = 0, len(terms)
    while start < count:
        further, end = terms[start], start + 1
        while end < count and beyond[end] >= 0:
            end += 1
        if end < count:  # up to there every factor needs a remainder: one for each run
            end = start + 1
            while not beyond[end]:
                end += 1
        if further:
            found.append((axis, 1 << start, 1 << end - start, further))
        found += [(axis, 1 << bit, 1 << end - bit, beyond[bit]) for bit in range(start + 1, end) if beyond[bit]]
        start = end
    return found
