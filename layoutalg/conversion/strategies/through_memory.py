"""Conversions through shared local memory, bit by bit: each lane stores its words, all wait, each lane loads what it wants.

Two subgroups of 16 lanes that change which bits of a row's number are lanes:

>>> from layoutalg.memory.machine_bits import view
>>> both = view(Layout.parse("d0 = 2@sg, d1 = 16@lane")), view(Layout.parse("d0 = 2@lane:8, d1 = 2@sg 8@lane"))
>>> store, barrier, load = through_memory(*both, 32).steps
>>> print(store.address)
lane[0] ^ 2*lane[1] ^ 4*lane[2] ^ 16*lane[3] ^ 8*sg[0]
>>> print(load.address)
lane[0] ^ 2*lane[1] ^ 4*lane[2] ^ 8*lane[3] ^ 16*sg[0]

Elements below 32 bits that are in registers on both sides share words. Which bit of a word's number makes which bit of its
address is found by `memory.bank_matrix`: the widest accesses first, then the fewest bank conflicts. Under a limit of memory,
the words go in several rounds through the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import BANKS, VECTOR, WORD, Address
from layoutalg.conversion.strategies.exchange import packed_pairs
from layoutalg.conversion.strategies.renaming import packed, sums, unpacked, with_cells
from layoutalg.core.errors import SizeError
from layoutalg.memory.bank_matrix import Side, bank_rows
from layoutalg.memory.machine_bits import Place, View

__all__ = ["BANK_BITS", "VECTOR_BITS", "through_memory"]

BANK_BITS, VECTOR_BITS = BANKS.bit_length() - 1, VECTOR.bit_length() - 1


def through_memory(source: View, destination: View, element_bits: int, limit: int | None = None) -> Program:
    """The program that moves every element through memory, `limit` bytes at a time (None: all at once).

    Raises `SizeError` where a round would need more than `limit` however small.

    >>> from layoutalg.memory.machine_bits import view
    >>> both = [view(Layout.parse(f"d0 = {rows}, d1 = 8@reg")) for rows in ("2@sg 16@lane", "2@lane:8 2@sg 8@lane")]
    >>> found = through_memory(*both, 32)
    >>> found.slm_words, [len(step.words) for step in found.steps[:2]]
    (256, [4, 4])
    >>> through_memory(*both, 32, limit=512).slm_words
    128
    """
    wide = 1 if element_bits > WORD else 0
    parts = max(WORD // element_bits, 1)
    # Element bits as pairs of places, cells counted as registers; free bits of either side have none.
    pairs = [(with_cells(a, wide), with_cells(b, wide)) for a, b in zip(source.places, destination.places, strict=True)]
    pairs = [(("reg", 0), ("reg", 0))] * wide + pairs
    together = packed_pairs([(a[1], b[1]) for a, b in pairs if a[0] == b[0] == "reg"], parts)
    inside = {("reg", a) for a, _ in together}
    words = [(a, b) for a, b in pairs if a not in inside]
    rounds = _rounds(words, limit)
    words = [pair for pair in words if pair not in rounds]
    columns = _columns(words, source.widths["lane"], destination.widths["lane"])
    before = _Side.of([a for a, _ in words], [a for a, _ in rounds], columns, source, wide)
    after = _Side.of([b for _, b in words], [b for _, b in rounds], columns, destination, wide)

    own = sorted({bit for _, bit in before.registers} | {a[1] for a, _ in rounds})
    number = {value: x for x, value in enumerate(sums([1 << bit for bit in own]))}  # by the bits of a register's number
    pack = packed(own, [a for a, _ in together], parts)
    builder = Builder(1 << destination.widths["sg"], 1 << destination.widths["lane"], element_bits, pack)
    arrived: dict[int, int] = {}
    for count, (round_in, round_out) in enumerate(zip(before.rounds, after.rounds, strict=True)):
        if count:
            builder.barrier()
        for base, at in before.accesses():
            stored = [number[round_in + base + v] for v in before.vector]
            builder.store(stored, before.address(at), _first(source))
        builder.barrier()
        for base, at in after.accesses():
            loaded = builder.load(len(after.vector), after.address(at))
            arrived |= {round_out + base + v: word for v, word in zip(after.vector, loaded, strict=True)}
    wanted = sorted({bit for _, bit in after.registers} | {b[1] for _, b in rounds})
    found = [arrived[register] for register in sums([1 << bit for bit in wanted])]
    unpack = unpacked(found, wanted, [b for _, b in together], parts, destination.widths["reg"] + wide)
    return builder.program(1 << source.widths["reg"], 1 << destination.widths["reg"], unpack, slm_words=1 << len(words))


def _rounds(words: Sequence[tuple[Place, Place]], limit: int | None) -> list[tuple[Place, Place]]:
    """The bits that tell rounds apart, so that one takes at most `limit` bytes: register bits of both sides, high ones first.

    The low ones would make accesses wide.
    """
    free = sorted((p for p in words if p[0][0] == p[1][0] == "reg"), key=lambda p: (max(p[0][1], p[1][1]), p))
    rounds: list[tuple[Place, Place]] = []
    while limit is not None and (need := WORD // 8 << len(words) - len(rounds)) > limit:
        if not free:
            raise SizeError(
                f"{need} bytes of shared memory at a time: what lanes and subgroups exchange needs more than {limit}; "
                "convert a part of the tensor at a time"
            )
        rounds.append(free.pop())
    return rounds


def _columns(words: Sequence[tuple[Place, Place]], *lane_bits: int) -> list[int]:
    """What each bit of a word's number brings into its address."""
    write, read = (Side.of([pair[i] for pair in words], bits) for i, bits in enumerate(lane_bits))
    by_lane = sorted(range(len(words)), key=lambda j: (min(map(_lane_bit, words[j])), j))
    order = sorted(range(len(words)), key=by_lane.__getitem__)
    rows = bank_rows(order, write, read, banks=BANK_BITS, widest=VECTOR_BITS)
    return [sum((row >> j & 1) << k for k, row in enumerate(rows)) for j in range(len(words))]


def _lane_bit(place: Place) -> int:
    return place[1] if place[0] == "lane" else 1 << 30


class _Side(NamedTuple):
    """The accesses of one distribution."""

    lane: tuple[int, ...]
    sg: tuple[int, ...]
    """What each bit of the lane's and the subgroup's number brings into the address."""
    registers: list[tuple[int, int]]
    """The address term of each register bit that tells words of a round apart, and the bit."""
    vector: list[int]
    """The register numbers, from its first on, that an access moves."""
    rounds: list[int]
    """The register number that each round adds."""

    @staticmethod
    def of(places: Sequence[Place], rounds: Sequence[Place], columns: Sequence[int], layout: View, wide: int) -> _Side:
        terms = {axis: [0] * (width + wide) for axis, width in layout.widths.items()}
        for (axis, bit), column in zip(places, columns, strict=True):
            terms[axis][bit] = column
        registers = sorted((column, bit) for (axis, bit), column in zip(places, columns, strict=True) if axis == "reg")
        # An access goes on as long as the next address bit is one register bit and nothing else.
        vector: list[int] = []
        while len(vector) < VECTOR_BITS:
            one = 1 << len(vector)
            joined = [column for column in columns if column & one]
            found = [bit for column, bit in registers if column == one]
            if joined != [one] or not found:
                break
            vector.append(1 << found[0])
        return _Side(
            tuple(terms["lane"][: layout.widths["lane"]]),
            tuple(terms["sg"][: layout.widths["sg"]]),
            registers,
            sums(vector),
            sums([1 << bit for _, bit in rounds]),
        )

    def accesses(self) -> list[tuple[int, int]]:
        """The first register of each access of a round, and what it brings into the address."""
        found = [(0, 0)]
        for term, bit in sorted(self.registers, key=lambda pair: pair[1]):
            if 1 << bit not in self.vector:
                found += [(register + (1 << bit), at ^ term) for register, at in found]
        return found

    def address(self, at: int) -> Address:
        return Address(at, xor=True, lane=self.lane, sg=self.sg)


def _first(source: View) -> tuple[int, ...] | None:
    """Of lanes and subgroups that hold the same, those that store: the ones whose free bits are 0. None for all."""
    meant = {axis: sum(1 << bit for name, bit in source.places if name == axis) for axis in ("sg", "lane")}
    lanes, subgroups = 1 << source.widths["lane"], 1 << source.widths["sg"]
    if meant["lane"] == lanes - 1 and meant["sg"] == subgroups - 1:
        return None
    mask = sum(1 << lane for lane in range(lanes) if not lane & ~meant["lane"])
    return tuple(0 if sg & ~meant["sg"] else mask for sg in range(subgroups))
