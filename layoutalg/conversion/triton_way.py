"""What Triton's way of a conversion costs on a chip, beside ours, in the same issue slots.

>>> mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
>>> operand = f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 1}}>"
>>> found = triton_price(mma, operand, (16, 16), "f32", "sm_80")
>>> found.conversion.kind, found.conversion.shuffles, found.slots
('shuffles', 8, 47)

`triton_program` is the conversion that Triton emits (`layoutalg.triton.conversions`) as a program of this room: it runs, and is
charged as ours are (`conversion.cost`). Where Triton packs elements below 32 bits by byte permutes, the program has its
packing do it. A matrix instruction counts as an access of as many bytes that waits for no bank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.price import Price, price
from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Address
from layoutalg.core.errors import ConversionError, LayoutError, SizeError
from layoutalg.core.gf2 import image, preimages
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_REGISTERS, MOST_SUBGROUPS
from layoutalg.core.notation import Distributed
from layoutalg.hardware.chips import target_info
from layoutalg.notations import value_of
from layoutalg.triton.conversions import Accesses, End, TritonConversion, how_triton_converts, linear_ends
from layoutalg.triton.encodings import Encoding
from layoutalg.triton.exchanges import Exchanges
from layoutalg.triton.layouts import from_linear_layout
from layoutalg.triton.linear import LinearLayout
from layoutalg.triton.swizzling import Swizzle

__all__ = ["TritonPrice", "triton_price", "triton_program", "triton_says"]


@dataclass(frozen=True, slots=True)
class TritonPrice:
    """Triton's conversion with its price in issue slots (None where there is none), and our own price.

    >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
    >>> print(triton_price(rows, rows, chip="sm_80"))
    Triton: no instruction; 0 issue slots on sm_80; ours: 0 issue slots on sm_80
    """

    conversion: TritonConversion
    slots: int | None
    own: Price

    @property
    def text(self) -> str:
        """What Triton emits, and its price.

        >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
        >>> triton_price(rows, rows, chip="sm_80").text
        'no instruction; 0 issue slots on sm_80'
        """
        paid = "no price" if self.slots is None else Price(self.slots, self.own.chip).text
        return f"{self.conversion.text}; {paid}"

    @property
    def facts(self) -> dict[str, Any]:
        """As data, for JSON.

        >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
        >>> triton_price(rows, rows, chip="sm_80").facts["kind"]
        'none'
        """
        return self.conversion.facts | {"slots": self.slots}

    def __str__(self) -> str:
        return f"Triton: {self.text}; ours: {self.own.text}"


def triton_says(
    source: Distributed | str, result: Distributed | str, shape: Sequence[int] | None, element: str, chip: str
) -> TritonPrice | None:
    """Triton's price, where both ends are its encodings and it compiles for the chip; else None.

    >>> triton_says("d0 = 4@lane", "d0 = 4@reg", None, "f32", "sm_80")
    """
    ends = [value_of(one) if isinstance(one, str) else one for one in (source, result)]
    first, second = ends
    if not isinstance(first, Encoding) or not isinstance(second, Encoding):
        return None
    if target_info(chip).vendor not in ("nvidia", "amd"):
        return None
    try:
        return triton_price(first, second, shape, element, chip)
    except LayoutError:  # what it refuses, or has no code for
        return None


def triton_price(
    source: End, result: End, shape: Sequence[int] | None = None, element: str = "f32", chip: str = "sm_80"
) -> TritonPrice:
    """What Triton's conversion of a tensor costs on a chip, and what ours does.

    The arguments are those of `how_triton_converts`, and so is what it raises; PlanError for a chip without prices. Elements
    that change their CTA have no price, nor have tensors that are too large for a plan.

    >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
    >>> columns = LinearLayout(register=((1, 0),), lane=((0, 1),), shape=(2, 2))
    >>> found = triton_price(rows, columns, chip="sm_90")
    >>> found.slots, found.own.slots
    (8, 8)
    """
    name = target_info(chip).name
    found = how_triton_converts(source, result, shape, element, name)
    before, after = linear_ends(source, result, shape)
    own = price(_tensor(before), _tensor(after), element=element, target=name)
    if found.synchronised == "cluster":
        return TritonPrice(found, None, own)
    if not found.shuffles and found.swizzle is None:
        return TritonPrice(found, 0, own)
    try:
        program = _program(before, after, found)
    except SizeError:
        return TritonPrice(found, None, own)
    return TritonPrice(found, cost_of(name).of(program), own)


def triton_program(
    source: End, result: End, shape: Sequence[int] | None = None, element: str | int = "f32", target: str = "sm_80"
) -> Program:
    """The steps that Triton emits for a conversion, as a program; registers that hold copies are left out of both ends.

    The arguments are those of `how_triton_converts`, and so is what it raises; `ConversionError` for a conversion without steps
    or of several CTAs, `SizeError` for more registers or warps than plans have.

    >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
    >>> columns = LinearLayout(register=((1, 0),), lane=((0, 1),), shape=(2, 2))
    >>> len(triton_program(rows, columns).steps)
    4
    """
    found = how_triton_converts(source, result, shape, element, target)
    return _program(*linear_ends(source, result, shape), found)


def _program(before: LinearLayout, after: LinearLayout, found: TritonConversion) -> Program:
    held = 1 << max(len(before.register), len(after.register))
    if held > MOST_REGISTERS or 1 << len(before.warp) > MOST_SUBGROUPS:
        raise SizeError(
            f"{held} registers in a lane: at most {MOST_REGISTERS}, of {MOST_SUBGROUPS} warps, are converted"
        )
    if found.exchanges is not None and found.kind == "shuffles":
        return _shuffled(before, after, found.exchanges, found.element_bits)
    if found.swizzle is None or found.synchronised == "cluster":
        raise ConversionError(f"{found.text}: expected shuffles, or memory of one CTA")
    return _through_memory(before, after, found, found.swizzle)


def _tensor(linear: LinearLayout) -> Layout:
    return from_linear_layout(linear)


def _shuffled(before: LinearLayout, after: LinearLayout, own: Exchanges, bits: int) -> Program:
    """Pack, select by the lane's bits, shuffle, select again."""
    count, lanes = len(own.registers), len(own.lanes)
    inside = [bit for bit in range(count) if bit not in [register for register, _ in own.pairs]][: own.packed]
    outside = [bit for bit in range(count) if bit not in inside]
    order = [*inside, *outside]  # of a register's number, low bits first, in the words
    halves, parts = own.each, WORD // min(bits, WORD)
    given, wanted = 1 << len(before.register), 1 << len(after.register)

    def cell(registers: Sequence[int], limit: int, number: int, half: int) -> int:
        register = image(registers, number)
        return (register % limit) * halves + half

    renamed = [1 << own.registers.index(bit) for bit in order]
    kept = [1 << bit for bit in order]
    pack: list[int] = []
    for word in range(1 << len(outside)):
        for half in range(halves):
            cells = [cell(renamed, given, word << len(inside) | part, half) for part in range(1 << len(inside))]
            pack += [*cells, *[-1] * (parts - len(cells))]
    builder = Builder(1 << len(before.warp), 1 << lanes, bits, pack)
    words = list(range(halves << len(outside)))
    warps = _lanes_by_warp(before, after) if own.by_warp else ()
    by_warp = sum(set(warps))  # lane bits that the warp's number alone says
    from_lane = [1 << own.lanes.index(bit) for bit in range(lanes)]
    read_from = [one & ~by_warp for one in from_lane]
    pairs = [(outside.index(register), lane) for register, lane in own.pairs]
    everyone, subgroups = range(1 << lanes), range(1 << len(before.warp))
    for place, lane in pairs:
        sent = from_lane[lane]
        words = _selected(builder, words, halves, place, "lane", sum([1 << i for i in everyone if i & sent]))
        moved = [image(warps, i) & sent for i in subgroups] if warps else []
        words = _selected(builder, words, halves, place, "sg", sum([1 << i for i, one in enumerate(moved) if one]))
    for number, word in enumerate(words):
        mask = sum([1 << lane for place, lane in pairs if number // halves >> place & 1])
        read = tuple([image(read_from, lane ^ mask) for lane in everyone])
        if warps or any(lane != one for lane, one in enumerate(read)):
            words[number] = builder.shuffle(word, read, tuple(warps))
    for place, lane in pairs:
        words = _selected(builder, words, halves, place, "lane", sum([1 << i for i in everyone if i >> lane & 1]))
    unpack = [-1] * (wanted * halves)
    for number in range(1 << count):
        register = image(kept, number)
        for half in range(halves):
            if register < wanted:
                word, part = number >> len(inside), number & (1 << len(inside)) - 1
                unpack[register * halves + half] = words[word * halves + half] * parts + part
    return builder.program(given, wanted, unpack)


def _lanes_by_warp(before: LinearLayout, after: LinearLayout) -> list[int]:
    """The lane bits that each bit of the warp brings in."""
    found = dict(after.invert_and_compose(before).bases)["warp"]
    return [basis[1] for basis in found]


def _selected(builder: Builder, words: list[int], halves: int, place: int, axis: str, mask: int) -> list[int]:
    """Words of which a bit of the number is flipped where the mask says so."""
    return (
        [builder.select(words[i ^ halves << place], word, axis, mask) for i, word in enumerate(words)]
        if mask
        else words
    )


def _through_memory(before: LinearLayout, after: LinearLayout, found: TritonConversion, swizzle: Swizzle) -> Program:
    """Store, wait, load, as often as there are repetitions."""
    bits, size = found.element_bits, len(swizzle.offset)
    places = [*swizzle.offset, *swizzle.reps, *[column for column in swizzle.block if column]]
    sides: list[list[list[int]]] = []
    for linear in (before, after):
        columns = iter([one or 0 for one in preimages(places, linear.columns())])
        sides.append([[next(columns) for _ in bases] for _, bases in linear.bases])
    stored, loaded = (
        [*_pieces(side[0], one, bits, size)] for side, one in zip(sides, (found.stores, found.loads), strict=True)
    )
    halves, parts = max(bits // WORD, 1), WORD // min(bits, WORD)
    pack: list[int] = []
    words: dict[tuple[int, int], tuple[int, ...]] = {}
    for rep, offset, registers in stored:
        first = len(pack) // parts
        cells = [register * halves + half for register in registers for half in range(halves)]
        for start in range(0, len(cells), parts):
            one = cells[start : start + parts]
            pack += [*one, *[-1] * (parts - len(one))]
        words[rep, offset] = tuple(range(first, len(pack) // parts))
    builder = Builder(1 << len(before.warp), 1 << len(before.lane), bits, pack)
    scope = "subgroup" if found.synchronised == "warp" else "workgroup"
    unpack = [-1] * (halves << len(after.register))
    for rep in range(1 << len(swizzle.reps)):
        if rep:
            builder.barrier(scope)
        for one, offset, registers in stored:
            if one == rep:
                width, address = _address(sides[0], offset, len(registers), bits, found.stores, size)
                builder.store(words[rep, offset], address, bits=width)
        builder.barrier(scope)
        for one, offset, registers in loaded:
            if one == rep:
                width, address = _address(sides[1], offset, len(registers), bits, found.loads, size)
                made = builder.load(max(len(registers) * bits // width, 1), address, width)
                for i, register in enumerate(registers):
                    for half in range(halves):
                        number = i * halves + half
                        unpack[register * halves + half] = made[number // parts] * parts + number % parts
    return builder.program(1 << len(before.register), 1 << len(after.register), unpack, found.shared_bytes)


def _pieces(
    registers: Sequence[int], accesses: Accesses | None, bits: int, size: int
) -> Iterator[tuple[int, int, list[int]]]:
    """Of each access its repetition, its offset in the lane, and the registers that it moves."""
    count = accesses.bits // bits if accesses is not None else 1
    matrix = accesses is not None and accesses.instruction != "shared"
    units = [] if matrix else [1 << i for i in range(count.bit_length() - 1)]
    if matrix:  # a lane's registers of any offsets
        units = [offset for offset in registers if not offset >> size][: count.bit_length() - 1]
    within = [registers.index(unit) for unit in units]
    others = [i for i in range(len(registers)) if i not in within]
    for number in range(1 << len(others)):
        start = image([1 << i for i in others], number)
        offset = image(registers, start)
        inner = [start ^ image([1 << i for i in within], i) for i in range(count)]
        yield offset >> size, offset & (1 << size) - 1, inner


def _address(
    side: Sequence[Sequence[int]], offset: int, count: int, bits: int, accesses: Accesses | None, size: int
) -> tuple[int, Address]:
    """The width of a place, and the address counted in places."""
    width = min(WORD, count * bits)
    shift = width.bit_length() - bits.bit_length()

    def scaled(one: int) -> int:
        one &= (1 << size) - 1
        return one >> shift if shift >= 0 else one << -shift

    if accesses is not None and accesses.instruction != "shared":  # rows of 16 bytes, one per lane, free of conflicts
        words = max(count * bits // WORD, 1)
        return width, Address(0, xor=True, lane=tuple([words << i for i in range(len(side[1]))]))
    return width, Address(scaled(offset), xor=True, lane=tuple(map(scaled, side[1])), sg=tuple(map(scaled, side[2])))
