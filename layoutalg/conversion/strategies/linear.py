"""Conversions of layouts with XOR: who reads what is a linear map over GF(2), from slots after to slots before.

Each lane of four wants its registers in the order that its own number XORs; nothing leaves a lane:

>>> from layoutalg.conversion.program.steps import Select, Shuffle
>>> source = Layout.parse("d0 = 4@lane, d1 = 4@reg")
>>> found = exchange_of_maps(source, Layout.parse("d0 = 2@(lane:2^reg:2) 2@(lane^reg), d1 = 2@(reg:2) 2@(reg)"), 32)
>>> found.count(Shuffle), found.count(Select)
(0, 8)

Write what lane t has in register r after as `lane = LL t ^ LR r`, `register = RL t ^ RR r` before. In step s lane t reads for
its register `s ^ M t`, which is in lane `N t ^ LR s` with `N = LL ^ LR M`. Where own elements can be taken first, N is 1 and
steps with `LR s = 0` need no shuffle: 2^r - 2^(r - k) are left, where k is the rank of LR. Else some lane has nothing of what
it wants, and all 2^r steps are shuffles. Both are what the worst lane must receive: no plan has fewer. A subgroup's number and
a flip are further inputs of the map. Copies in the source are taken where they make LR smallest, and where they make N 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.renaming import bit_mask
from layoutalg.core.gf2 import Echelon, image, kernel, modulo, preimages, reduced
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.xor.digits import digits_of

__all__ = ["LinearEnd", "LinearEnds", "ends_of_maps", "exchange_of_maps", "linear_end"]

_TRIES = 400
"""How many choices of holders are tried where the first one does not serve."""


class LinearEnd(NamedTuple):
    """A layout as an affine map: slots are numbers, the register in the low bits, then the lane, then the subgroup.

    >>> linear_end(Layout.parse("d0 = 2@(lane^reg) 2@(reg) | flip (lane)"))
    LinearEnd(columns=(1, 3), copies=(), start=2, widths={'sg': 0, 'lane': 1, 'reg': 1})
    """

    columns: tuple[int, ...]
    """What each bit of the coordinates flips, the first dimension first, low bits first."""
    copies: tuple[int, ...]
    """What the replicas flip."""
    start: int
    """Where the first element is."""
    widths: dict[str, int]

    def spread(self, widths: dict[str, int]) -> LinearEnd:
        """The same with more lanes and subgroups, which hold nothing."""
        old, new = _firsts(self.widths), _firsts(widths)

        def moved(slot: int) -> int:
            return sum((slot >> old[axis] & (1 << self.widths[axis]) - 1) << new[axis] for axis in MACHINE)

        columns, copies = (tuple([moved(one) for one in row]) for row in (self.columns, self.copies))
        return LinearEnd(columns, tuple(reduced(copies)), moved(self.start), widths)


def _firsts(widths: dict[str, int]) -> dict[str, int]:
    """The lowest bit of each axis in the number of a slot."""
    return {"reg": 0, "lane": widths["reg"], "sg": widths["reg"] + widths["lane"]}


def linear_end(layout: Layout) -> LinearEnd | None:
    """A layout as an affine map over GF(2). None if it has an offset, or numbers other than powers of two."""
    form = layout.canonical()
    if form.offsets or any(form.origins) or set(form.codomain).difference(MACHINE):
        return None
    digits = digits_of(form)
    taken: dict[str, int] = dict.fromkeys(MACHINE, 0)
    moves: list[list[list[tuple[str, int]]]] = [[], []]
    for number, rows in enumerate((digits.dims, [digits.replicas])):
        for row in rows:
            for digit in row:
                if digit.extent & digit.extent - 1 or any(weight & weight - 1 for _, weight in digit.moves):
                    return None
                for i in range(digit.extent.bit_length() - 1):
                    places = [(axis, weight << i) for axis, weight in digit.moves]
                    for axis, weight in places:
                        if not digit.flips and taken[axis] & weight:
                            return None
                        taken[axis] |= weight
                    moves[number].append(places)
    for axis, weight in form.flips or ():
        if weight & weight - 1:
            return None
        taken[axis] |= weight
    widths = {axis: taken[axis].bit_length() for axis in MACHINE}
    first = _firsts(widths)
    columns, copies = (tuple([sum(w << first[axis] for axis, w in one) for one in row]) for row in moves)
    return LinearEnd(columns, tuple(reduced(copies)), sum(w << first[axis] for axis, w in form.flips or ()), widths)


class LinearEnds(NamedTuple):
    """Both ends of a conversion on one machine, and which element each slot holds: linear maps, from `start` on."""

    source: LinearEnd
    destination: LinearEnd
    held: tuple[list[int], list[int]]
    """What each bit of a slot's number says of its element, before and after (0 where slots are empty)."""


def ends_of_maps(source: Layout, destination: Layout) -> LinearEnds | None:
    """Both ends as maps. None if one is not linear, or has several elements in a slot."""
    a, b = linear_end(source), linear_end(destination)
    if a is None or b is None:
        return None
    both = {axis: max(a.widths[axis], b.widths[axis]) for axis in ("sg", "lane")}
    a, b = a.spread({**both, "reg": a.widths["reg"]}), b.spread({**both, "reg": b.widths["reg"]})
    before, after = _held(a), _held(b)
    return None if before is None or after is None else LinearEnds(a, b, (before, after))


def _held(end: LinearEnd) -> list[int] | None:
    """The element of each slot, from `start` on, as a map; None where a slot holds several."""
    vectors = [*end.copies, *end.columns]
    if kernel(vectors):
        return None
    form = Echelon()
    width = sum(end.widths.values())
    for vector, given in zip(vectors, [0] * len(end.copies) + [1 << i for i in range(len(end.columns))], strict=True):
        form.add(vector, given)
    for bit in range(width):  # what is left holds nothing
        form.add(1 << bit, 0)
    return [form.solve(1 << bit) or 0 for bit in range(width)]


class _Read(NamedTuple):
    """Where each lane reads, as (lane, register) before."""

    given: list[tuple[int, int]]
    """For each bit of the lane's number, then of the subgroup's, then the constant."""
    registers: list[tuple[int, int]]
    copies: list[tuple[int, int]]
    lanes: int
    sgs: int


def _read(ends: LinearEnds) -> _Read | None:
    """Who reads where; None where elements cross subgroups."""
    a, b, after = ends.source, ends.destination, ends.held[1]
    middle, top = _firsts(a.widths)["lane"], _firsts(a.widths)["sg"]
    form, inside = Echelon(), list[int]()
    for copy in a.copies:
        if zero := form.add(copy >> top, copy):
            inside.append(zero)
    copies = reduced(inside)

    def own(wanted: int, sg: int) -> tuple[int, int] | None:
        there = form.solve(wanted >> top ^ sg)
        if there is None:
            return None
        found = modulo(wanted ^ there, copies)
        return (found & (1 << top) - 1) >> middle, found & (1 << middle) - 1

    width, lanes, sgs = (b.widths[axis] for axis in ("reg", "lane", "sg"))
    held = [image(a.columns, one) for one in after]
    start = image(a.columns, image(after, b.start)) ^ a.start
    given = [own(one, 0) for one in held[width : width + lanes]]
    given += [own(one, 1 << i) for i, one in enumerate(held[width + lanes :])]
    given.append(own(start, 0))
    registers = [own(one, 0) for one in held[:width]]
    known = [[one for one in row if one is not None] for row in (given, registers)]
    if len(known[0]) < len(given) or len(known[1]) < len(registers):
        return None
    return _Read(known[0], known[1], [(one >> middle, one & (1 << middle) - 1) for one in copies], lanes, sgs)


class _Choice(NamedTuple):
    """A schedule: for each input (bits of the lane, of the subgroup, 1) what it adds."""

    shift: list[int]
    """M: to the number of the register that is written."""
    lane: list[int]
    """N: to the lane that is read."""
    register: list[int]
    """P: to the register that is read there."""
    shows: list[int]
    """The register that each bit of the sender's lane adds."""


def exchange_of_maps(source: Layout, destination: Layout, element_bits: int) -> Program | None:
    """The program of an exchange of words inside subgroups; None where it crosses them, or no schedule was found."""
    ends = ends_of_maps(source, destination)
    read = None if ends is None else _read(ends)
    if ends is None or read is None or element_bits < WORD:
        return None
    span = ends.source.widths["reg"]
    same = kernel([lane << span | register for lane, register in read.registers])  # these are read once
    pivots = {one.bit_length() - 1 for one in same}
    free = [i for i in range(len(read.registers)) if i not in pivots]
    lr, rr = [read.registers[i][0] for i in free], [read.registers[i][1] for i in free]
    choice = _own_first(read, lr, rr) or _any_holder(read, lr, rr)
    return None if choice is None else _scheduled(ends, read, choice, (lr, rr), (free, same), element_bits)


def _moved(
    read: _Read, lr: Sequence[int], rr: Sequence[int], picks: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """N and P for the choice of (register, copy) for each input."""
    lanes, registers = list[int](), list[int]()
    for (lane, register), (shift, copy) in zip(read.given, picks, strict=True):
        lanes.append(lane ^ image(lr, shift) ^ image([one[0] for one in read.copies], copy))
        registers.append(register ^ image(rr, shift) ^ image([one[1] for one in read.copies], copy))
    return lanes, registers


def _own_first(read: _Read, lr: Sequence[int], rr: Sequence[int]) -> _Choice | None:
    """Each lane takes its own elements first: N is 1."""
    ways = [*lr, *(lane for lane, _ in read.copies)]
    own = [1 << i for i in range(read.lanes)] + [0] * (read.sgs + 1)
    found = preimages(ways, [lane ^ one for (lane, _), one in zip(read.given, own, strict=True)])
    picks = [(one & (1 << len(lr)) - 1, one >> len(lr)) for one in found if one is not None]
    if len(picks) < len(found):
        return None
    lanes, registers = _moved(read, lr, rr, picks)
    return _Choice([one for one, _ in picks], lanes, registers, registers[: read.lanes])


def _any_holder(read: _Read, lr: Sequence[int], rr: Sequence[int]) -> _Choice | None:
    """No lane is read by two that want different registers of it: what N makes 0, P makes 0."""
    for picks in _picks(read, lr):
        lanes, registers = _moved(read, lr, rr, picks)
        shown = registers[: read.lanes]
        form = Echelon()
        zeros = [form.add(lane, 1 << i) for i, lane in enumerate(lanes[: read.lanes])]
        if any(image(shown, zero) for zero in zeros):
            continue
        for bit in range(read.lanes):  # lanes that nobody reads show anything
            form.add(1 << bit, 0)
        shows = [image(shown, form.solve(1 << bit) or 0) for bit in range(read.lanes)]
        return _Choice([one for one, _ in picks], lanes, registers, shows)
    return None


def _picks(read: _Read, lr: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Choices of (register, copy) for each input: the one that makes N invertible without copies, then others at random."""
    columns = [lane for lane, _ in read.given[: read.lanes]]
    reached, new = reduced(columns), list[int]()
    for i, one in enumerate(lr):
        if modulo(one, reached):
            new.append(1 << i)
            reached = reduced([*reached, one])
    first = [0] * read.lanes
    for zero, register in zip(kernel(columns), new, strict=False):
        first[zero.bit_length() - 1] = register
    rest = [(0, 0)] * (read.sgs + 1)
    random = Random(0)
    found = [[(one, 0) for one in first] + rest]
    for _ in range(_TRIES):
        row = [(random.getrandbits(len(lr)), random.getrandbits(len(read.copies))) for _ in range(read.lanes)]
        found.append(row + rest)
    return found


def _scheduled(
    ends: LinearEnds,
    read: _Read,
    choice: _Choice,
    registers: tuple[list[int], list[int]],
    alike: tuple[list[int], list[int]],
    element_bits: int,
) -> Program:
    """The program of a choice: select by lane, shuffle, select by lane."""
    (lr, rr), (free, same) = registers, alike
    count, sgs, cells = 1 << read.lanes, 1 << read.sgs, max(element_bits // WORD, 1)
    before, after = (1 << end.widths["reg"] for end in (ends.source, ends.destination))
    builder = Builder(sgs, count, element_bits, range(before * cells))
    by_lane, by_sg = slice(read.lanes), slice(read.lanes, -1)
    # What a sender shows beyond what its own lane's number says, for each input of the reader.
    far = [register ^ image(choice.shows, lane) for lane, register in zip(choice.lane, choice.register, strict=True)]
    numbers = [image(choice.lane[by_lane], lane) for lane in range(count)]
    stays = numbers == list(range(count)) and not any(choice.lane[by_sg])
    arrived: list[list[int]] = []
    for cell in range(cells):
        words = _xored(builder, range(cell, before * cells, cells), choice.shows, "lane", count)
        words = _xored(builder, words, far[by_sg], "sg", sgs)
        row: list[int] = []
        for step in range(1 << len(free)):
            there = image(lr, step)
            word = words[image(rr, step) ^ far[-1] ^ image(choice.shows, there)]
            there ^= choice.lane[-1]
            if not stays or there:
                word = builder.shuffle(word, tuple([lane ^ there for lane in numbers]), tuple(choice.lane[by_sg]))
            row.append(word)
        row = _xored(builder, row, choice.shift[by_lane], "lane", count)
        arrived.append(_xored(builder, row, choice.shift[by_sg], "sg", sgs))
    unpack: list[int] = []
    for register in range(after):
        kept = modulo(register, same)
        step = sum((kept >> bit & 1) << i for i, bit in enumerate(free)) ^ choice.shift[-1]
        unpack += [row[step] for row in arrived]
    return builder.program(before, after, unpack)


def _xored(builder: Builder, words: Sequence[int], columns: Sequence[int], axis: str, count: int) -> list[int]:
    """The words in the order that each lane's (or subgroup's) number XORs: one stage for each independent column."""
    basis = reduced(columns)
    found = list(words)
    for one in basis:
        top = one.bit_length() - 1
        mask = 0
        for bit, column in enumerate(columns):
            if column >> top & 1:
                mask ^= bit_mask(count, bit)
        found = [builder.select(found[i ^ one], found[i], axis, mask) for i in range(len(found))]
    return found
