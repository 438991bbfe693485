"""Only what crosses a subgroup goes through shared memory, the rest through registers and lanes before and after.

Where a subgroup bit changes places with a register bit, half of a subgroup's words are its own already: each subgroup stores
the other half, and loads the other one's. Two subgroups that hold rows 0-1 and 2-3 of a tile, and want even and odd ones:

>>> from layoutalg.memory.machine_bits import view
>>> rows, columns = (view(Layout.parse(f"d0 = {factors}, d1 = 16@lane")) for factors in ("2@sg 2@reg", "2@reg 2@sg"))
>>> [[program.slm_bytes for program in way] for way in across_subgroups(rows, columns, 32)]
[[128]]

A subgroup bit that changes places with a lane bit first gets a register bit in between, by shuffles. All other changes of
lanes and registers can be made after that, or before it; both ways are tried. Where what stays in registers does not fill
words, halves of words or bytes are moved. Of lanes and subgroups that hold the same, one stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Address
from layoutalg.conversion.strategies.exchange import exchange
from layoutalg.conversion.strategies.renaming import bit_mask, packed, renamed, unpacked
from layoutalg.conversion.strategies.through_memory import VECTOR_BITS, storing
from layoutalg.memory.machine_bits import Place, View

__all__ = ["across_name", "across_subgroups"]


def across_subgroups(
    source: View, destination: View, element_bits: int, limit: int | None = None
) -> list[tuple[Program, ...]]:
    """The ways to exchange subgroup bits with register bits, each a list of programs: perhaps one before, perhaps one after.

    Empty where a subgroup bit changes places with another one, or is repeated or dropped by only one side, where no register
    is left to take part, and where a round would need more than `limit` bytes however small.
    """
    found: list[tuple[Program, ...]] = []
    seen: list[View] = []
    for middle, swaps in _arranged(source, destination):
        if middle in seen:
            continue
        seen.append(middle)
        across = _CrossSubgroup(middle, swaps, element_bits).program(limit)
        if across is None:
            continue
        exchanged: dict[Place, Place] = {}
        for sg, register in swaps:
            exchanged |= {("sg", sg): ("reg", register), ("reg", register): ("sg", sg)}
        between = View(tuple(exchanged.get(place, place) for place in middle.places), middle.widths)
        before, after = exchange(source, middle, element_bits), exchange(between, destination, element_bits)
        found.append(tuple(program for program in (before, across, after) if program is across or not program.idle))
    return found


def across_name(programs: Sequence[Program]) -> str:
    """What such a way is called: whether exchanges are before it and after it.

    >>> from layoutalg.memory.machine_bits import view
    >>> rows, columns = (view(Layout.parse(f"d0 = {factors}, d1 = 16@lane")) for factors in ("2@sg 2@reg", "2@reg 2@sg"))
    >>> across_name(across_subgroups(rows, columns, 32)[0])
    'only what crosses goes through shared memory'
    """
    across = next(i for i, program in enumerate(programs) if program.slm_bytes)
    exchanges = [word for word, there in (("after", across > 0), ("before", across < len(programs) - 1)) if there]
    return "only what crosses goes through shared memory" + (
        ", between two exchanges" if len(exchanges) == 2 else f", {exchanges[0]} an exchange" if exchanges else ""
    )


def _arranged(source: View, destination: View) -> Iterator[tuple[View, list[tuple[int, int]]]]:
    """What may be reached before words cross subgroups, and the subgroup and register bits that then change places.

    First what takes the fewest exchanges before it, then what takes the fewest after it.
    """
    to = dict(zip(source.places, destination.places, strict=True))
    back = dict(zip(destination.places, source.places, strict=True))
    wanted: dict[int, Place] = {}  # for each subgroup bit that crosses, where the bit is that comes there
    for bit, place in enumerate(renamed(source, destination)["sg"]):
        if place is not None and place != ("sg", bit):
            comes = back.get(("sg", bit))
            if comes is None or comes[0] == "sg":
                return
            wanted[bit] = comes
    taken = {place for place in wanted.values() if place[0] == "reg"}
    swaps = [(bit, place[1]) for bit, place in wanted.items() if place[0] == "reg"]
    moved: dict[Place, Place] = {}
    for bit, place in wanted.items():
        if place[0] == "lane":
            free = [one for one in source.places if one[0] == "reg" and one not in taken]
            if not free:
                return
            # Best a register bit that is to be this lane bit, or another one.
            register = min(free, key=lambda one: (to[one] != place, to[one][0] != "lane", one))
            taken.add(register)
            swaps.append((bit, register[1]))
            moved |= {place: register, register: place}
    middle = View(tuple(moved.get(place, place) for place in source.places), source.widths)
    yield middle, swaps
    early = _early(source, destination, set(wanted.values()))
    if early is not None:
        place_of = dict(zip(source.places, early.places, strict=True))
        yield early, [(bit, place_of[place][1]) for bit, place in wanted.items()]


def _early(source: View, destination: View, moving: set[Place]) -> View | None:
    """All lanes as the destination has them, but for what comes from another subgroup; what must cross is in registers.

    None where bits are repeated or dropped.
    """
    if source.widths != destination.widths or len(source.places) != sum(source.widths.values()):
        return None
    to = dict(zip(source.places, destination.places, strict=True))
    found = {place: place for place in source.places if place[0] == "sg"}
    found |= {place: at for place, at in to.items() if place[0] != "sg" and at[0] == "lane" and place not in moving}
    used = set(found.values())
    lanes = [("lane", bit) for bit in range(source.widths["lane"]) if ("lane", bit) not in used]
    rest = [place for place in source.places if place not in found]
    # A lane that waits for what another subgroup has keeps what it holds, or holds what else there is.
    for lane in lanes:
        able = [place for place in rest if place not in moving]
        if not able:
            return None
        filler = lane if lane in able else min(able, key=lambda place: (place[0] != "lane", place))
        found[filler] = lane
        rest.remove(filler)
    used = set(found.values())
    registers = [("reg", bit) for bit in range(source.widths["reg"]) if ("reg", bit) not in used]
    for place in [place for place in rest if place in registers]:
        found[place] = place
        registers.remove(place)
        rest.remove(place)
    if len(rest) != len(registers):
        return None
    found |= dict(zip(rest, registers, strict=True))
    return View(tuple(found[place] for place in source.places), source.widths)


class _CrossSubgroup:
    """The program that exchanges subgroup bits with register bits, lanes as they are.

    Words are numbered so that the high bits are those that are exchanged. Each subgroup rotates its words by its own bits: word
    t of a group is then what the subgroup t further on wants, and word 0 stays.
    """

    def __init__(self, layout: View, swaps: Sequence[tuple[int, int]], element_bits: int) -> None:
        self.layout, self.swaps = layout, swaps
        wide = 1 if element_bits > WORD else 0
        self.parts = max(WORD // element_bits, 1)
        self.width = layout.widths["reg"] + wide
        moved = [register + wide for _, register in swaps]
        meant = {axis: sorted(bit for name, bit in layout.places if name == axis) for axis in layout.widths}
        stay = [bit for bit in [*range(wide), *(bit + wide for bit in meant["reg"])] if bit not in moved]
        self.lanes, self.sgs = meant["lane"], meant["sg"]
        self.inside = stay[: self.parts.bit_length() - 1]
        self.bits = min(element_bits, WORD) << len(self.inside)
        self.index = stay[len(self.inside) :] + moved  # the bits of a word's number, low to high
        self.staying = len(self.index) - len(moved)
        pack = packed(self.index, self.inside, self.parts)
        self.builder = Builder(1 << layout.widths["sg"], 1 << layout.widths["lane"], element_bits, pack)
        self.words = list(range(1 << len(self.index)))

    def program(self, limit: int | None) -> Program | None:
        vector, rounds, together = self._rounds(limit)
        if not together:
            return None
        layout = self.layout
        self._xored()
        others = self.staying - vector - rounds  # word bits that tell accesses of a round apart
        widths, where = layout.widths, storing(layout)
        above = vector + len(self.lanes)
        block = above + others + len(self.sgs)
        lane_terms = _terms(self.lanes, vector, widths["lane"])
        sg_terms = _terms(self.sgs, above + others, widths["sg"])
        distances = range(1, 1 << len(self.swaps))
        groups = [distances[i : i + together] for i in range(0, len(distances), together)]
        for round_ in range(1 << rounds):
            for group in groups:
                if round_ or group is not groups[0]:
                    self.builder.barrier()
                for load in (False, True):
                    for i, t in enumerate(group):
                        partner = (
                            sum(sg_terms[bit] for j, (bit, _) in enumerate(self.swaps) if t >> j & 1) if load else 0
                        )
                        for high in range(1 << others):
                            at = (i << block) + (high << above) ^ partner
                            first = t << self.staying | round_ << self.staying - rounds | high << vector
                            here = slice(first, first + (1 << vector))
                            address = Address(at, True, lane_terms, sg_terms)
                            if load:
                                self.words[here] = self.builder.load(1 << vector, address, self.bits)
                            else:
                                self.builder.store(self.words[here], address, where, self.bits)
                    if not load:
                        self.builder.barrier()
        self._xored()
        registers = 1 << widths["reg"]
        unpack = unpacked(self.words, self.index, self.inside, self.parts, self.width)
        return self.builder.program(registers, registers, unpack, slm_bytes=(together << block) * self.bits // 8)

    def _rounds(self, limit: int | None) -> tuple[int, int, int]:
        """Of the word bits that stay, how many an access moves, and how many tell rounds apart; and exchanges in a round.

        None in a round: the limit is too small.
        """
        vector = min(VECTOR_BITS, self.staying)
        rounds = 0
        every = (1 << len(self.swaps)) - 1
        while True:
            words = 1 << self.staying - rounds + len(self.lanes) + len(self.sgs)
            together = every if limit is None else min(limit * 8 // self.bits // words, every)
            if together or rounds == self.staying:
                return min(vector, self.staying - rounds), rounds, together
            rounds += 1

    def _xored(self) -> None:
        """XOR the exchanged bits of a word's number by the subgroup's bits."""
        for i, (bit, _) in enumerate(self.swaps):
            mask = bit_mask(1 << self.layout.widths["sg"], bit)
            step = 1 << self.staying + i
            pairs = [(self.words[x ^ step], self.words[x]) for x in range(len(self.words))]
            self.words = [self.builder.select(on, off, "sg", mask) for on, off in pairs]


def _terms(bits: Sequence[int], first: int, width: int) -> tuple[int, ...]:
    """What each bit of a number brings into an address, where some bits make its bits from `first` on."""
    return tuple([1 << first + bits.index(bit) if bit in bits else 0 for bit in range(width)])
