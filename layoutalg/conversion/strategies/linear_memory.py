"""Conversions of layouts with XOR through shared memory, with addresses that are XORs of bits.

Every element has its place once, and lanes that hold copies leave storing to one of them. The banks are chosen so that neither
side has conflicts where that is possible: the bits of an element's number that tell lanes apart on either side pick the bank.

>>> source, destination = Layout.parse("d0 = 2@sg 2@(lane^reg) 2@(reg)"), Layout.parse("d0 = 2@lane 2@sg 2@reg")
>>> found = memory_of_maps(source, destination, 32, 1024)
>>> found.slm_bytes, len(found.steps)
(32, 5)
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Address
from layoutalg.conversion.strategies.linear import LinearEnd, ends_of_maps
from layoutalg.core.banks import BANKS
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.gf2 import Echelon, image, inverse, modulo, reduced
from layoutalg.core.layout import Layout

__all__ = ["memory_of_maps"]

_BANK_BITS = BANKS.bit_length() - 1


def memory_of_maps(source: Layout, destination: Layout, element_bits: int, limit: int) -> Program:
    """The program that moves every element through at most `limit` bytes of memory.

    Raises `ConversionError` for layouts that are no maps of bits, `SizeError` over the limit.
    """
    ends = ends_of_maps(source, destination)
    if ends is None:
        raise ConversionError(
            f"{source} to {destination}: elements go through shared memory, and one of them flips places (XOR); expected "
            "extents and strides that are powers of two, no offset, and one element in a slot"
        )
    a, b = ends.source, ends.destination
    size = len(a.columns)
    need = max(element_bits // 8 << size, WORD // 8)
    if need > limit:
        raise SizeError(
            f"{need} bytes of shared memory at a time, more than the limit of {limit}; convert a part of the tensor at a time"
        )
    before, after = ends.held
    places = _addresses(_of_lanes(before, a), _of_lanes(after, b), size)
    cells, bits, parts = max(element_bits // WORD, 1), min(element_bits, WORD), max(WORD // element_bits, 1)
    registers = [1 << one.widths["reg"] for one in (a, b)]
    pack = [cell for i in range(registers[0] * cells) for cell in [i, *[-1] * (parts - 1)]]
    builder = Builder(1 << a.widths["sg"], 1 << a.widths["lane"], element_bits, pack)

    def address(held: Sequence[int], end: LinearEnd, register: int) -> Address:
        terms = [image(places, one) * cells for one in held]
        low, top = end.widths["reg"], end.widths["reg"] + end.widths["lane"]
        at = image(terms, register) ^ image(terms, end.start)
        return Address(at, xor=True, lane=tuple(terms[low:top]), sg=tuple(terms[top:]))

    for register in range(registers[0]):
        where = _storing(a, register)
        if where is None or any(where):
            words = list(range(register * cells, (register + 1) * cells))
            builder.store(words, address(before, a, register), where, bits)
    builder.barrier()
    unpack: list[int] = []
    for register in range(registers[1]):
        unpack += [word * parts for word in builder.load(cells, address(after, b, register), bits)]
    return builder.program(registers[0], registers[1], unpack, slm_bytes=need)


def _storing(end: LinearEnd, register: int) -> tuple[int, ...] | None:
    """The lanes of each subgroup that store a register: those of the first copy, if they hold something. None for all."""
    width = sum(end.widths.values())
    if len(end.columns) == width:
        return None
    firsts = reduced(modulo(one, end.copies) for one in end.columns)
    start = modulo(end.start, end.copies)
    low, top = end.widths["reg"], end.widths["reg"] + end.widths["lane"]
    return tuple(
        sum(
            1 << lane
            for lane in range(1 << end.widths["lane"])
            if not modulo((register | lane << low | sg << top) ^ start, firsts)
        )
        for sg in range(1 << end.widths["sg"])
    )


def _of_lanes(held: Sequence[int], end: LinearEnd) -> list[int]:
    """What the low bits of a lane's number, of those that access memory together, say of an element."""
    low = end.widths["reg"]
    return reduced(held[low : low + min(end.widths["lane"], _BANK_BITS)])


def _addresses(stored: list[int], loaded: list[int], size: int) -> list[int]:
    """The place of each bit of an element's number: elements whose difference one of the sides has in lanes are in other banks.

    What the bank does not say is a space that meets both sides in 0 alone: sums of one side's own vector and the other's, and
    what neither has.
    """
    both = _meet(stored, loaded)
    mine, theirs = _beyond(both, stored), _beyond(both, loaded)
    every = reduced([*stored, *loaded])
    outside = _beyond(every, [1 << bit for bit in range(size)])
    free = [one ^ other for one, other in zip(mine, theirs, strict=False)] + outside
    rows = free[: max(size - _BANK_BITS, 0)]
    banks = _beyond(reduced(rows), [*both, *mine, *theirs, *outside])
    found = inverse([*banks, *rows])
    assert found is not None
    return found


def _beyond(space: Sequence[int], vectors: Sequence[int]) -> list[int]:
    """Those of some vectors that complete a space, one after another."""
    known, found = reduced(space), list[int]()
    for one in vectors:
        if modulo(one, known):
            found.append(one)
            known = reduced([*known, one])
    return found


def _meet(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """The vectors that two spaces have in common."""
    form = Echelon()
    for i, vector in enumerate(one):
        form.add(vector, 1 << i)
    found = [form.add(vector, 0) for vector in other]
    return reduced(image(one, zero) for zero in found if zero)
