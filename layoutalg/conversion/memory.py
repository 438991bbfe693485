"""Conversions through shared local memory: what subgroups can only tell one another there.

Everything may go through memory (`through_memory`): each lane stores its words, all wait, each lane loads the words that it
wants. Or only what crosses (`across_subgroups`): where a subgroup bit of the source is a register bit of the destination and
the other way round, half of a subgroup's words are its own already, and lanes stay what they are:

>>> from layoutalg.conversion.bits import view
>>> from layoutalg.core.layout import Layout
>>> source, destination = Layout.parse("d0 = 2@sg 2@reg, d1 = 16@lane"), Layout.parse("d0 = 2@reg 2@sg, d1 = 16@lane")
>>> program, between = across_subgroups(view(source), view(destination), 32)
>>> program.slm_words, through_memory(view(source), view(destination), 32).slm_words
(32, 64)

Addresses are XORs of bits. The lowest are register bits on both sides, so that a lane moves up to four words at once; then
come bank bits, chosen so that the lanes that are served together fall on different banks, both when they write and when
they read: a bit that only the writers have in their lanes is joined by XOR to one that only the readers have there.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.bits import Place, View, renamed, sums
from layoutalg.conversion.exchange import packed_pairs
from layoutalg.conversion.program import WORD, Address, Barrier, Load, Program, Select, Step, Store
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.layout import Layout

__all__ = ["across_subgroups", "through_memory", "through_memory_by_digits"]

BANK_BITS = 5
VECTOR_BITS = 2
"""Lanes move up to 2^2 words at once."""


class _Side:
    """One distribution, in words: which bit of the address each of its bits is, or several."""

    def __init__(self, width: dict[str, int], wide: int) -> None:
        self.lane, self.sg, self.registers = [0] * width["lane"], [0] * width["sg"], [0] * (width["reg"] + wide)

    def put(self, place: Place, term: int) -> None:
        {"lane": self.lane, "sg": self.sg, "reg": self.registers}[place[0]][place[1]] = term

    def address(self, base: int) -> Address:
        return Address(base, xor=True, lane=tuple(self.lane), sg=tuple(self.sg))


def through_memory(source: View, destination: View, element_bits: int, limit: int | None = None) -> Program:
    """The program that moves every element through memory, `limit` bytes at a time (None: all at once).

    Raises `SizeError` where a round would need more than `limit` however small.

    >>> from layoutalg.conversion.bits import view
    >>> from layoutalg.core.layout import Layout
    >>> both = view(Layout.parse("d0 = 2@sg, d1 = 16@lane")), view(Layout.parse("d0 = 2@lane:8, d1 = 2@sg 8@lane"))
    >>> [type(step).__name__ for step in through_memory(*both, 32).steps]
    ['Store', 'Barrier', 'Load']
    """
    wide = 1 if element_bits > WORD else 0
    parts = max(WORD // element_bits, 1)
    # Element bits as pairs of places, cells counted as registers; free bits of either side have none.
    pairs = [(_cell(a, wide), _cell(b, wide)) for a, b in zip(source.places, destination.places, strict=True)]
    pairs = [(("reg", 0), ("reg", 0))] * wide + pairs
    both = [(a[1], b[1]) for a, b in pairs if a[0] == b[0] == "reg"]
    packed = packed_pairs(both, parts)
    inside = {a for a, _ in packed}
    words = [(a, b) for a, b in pairs if not (a[0] == b[0] == "reg" and a[1] in inside)]
    vector = sorted((p for p in words if p[0][0] == p[1][0] == "reg"), key=lambda p: (max(p[0][1], p[1][1]), p))[
        :VECTOR_BITS
    ]
    turns: list[tuple[Place, Place]] = []
    total = len(words)
    if limit is not None:
        free = [p for p in words if p not in vector and p[0][0] == p[1][0] == "reg"]
        while (4 << (total - len(turns))) > limit:
            if not free:
                need = 4 << (total - len(turns))
                if not vector:
                    raise SizeError(
                        f"{need} bytes of shared memory at a time: what lanes and subgroups exchange needs more than {limit}"
                    )
                free.append(vector.pop())  # narrower accesses, more rounds
            turns.append(free.pop())
    rows = _rows([p for p in words if p not in vector and p not in turns], BANK_BITS - len(vector))
    before, after = _Side(source.widths, wide), _Side(destination.widths, wide)
    for i, (a, b) in enumerate(vector):
        before.put(a, 1 << i)
        after.put(b, 1 << i)
    for pair, term in rows:
        before.put(pair[0], term << len(vector))
        after.put(pair[1], term << len(vector))
    # Words of the source and of the destination, by the bits of their registers.
    own = [a[1] for a, _ in words if a[0] == "reg"]
    wanted = [b[1] for _, b in words if b[0] == "reg"]
    number = {sum(1 << bit for i, bit in enumerate(sorted(own)) if x >> i & 1): x for x in range(1 << len(own))}
    insides = sums([1 << a for a, _ in packed])
    insides += [-1] * (parts - len(insides))
    pack = [-1 if i < 0 else base + i for base in sums([1 << bit for bit in sorted(own)]) for i in insides]
    made = len(number)
    arrived: dict[int, int] = {}
    steps: list[Step] = []
    turned_in, turned_out = [a[1] for a, _ in turns], [b[1] for _, b in turns]
    vector_in, vector_out = [a[1] for a, _ in vector], [b[1] for _, b in vector]
    rounds = list(zip(sums([1 << b for b in turned_in]), sums([1 << b for b in turned_out]), strict=True))
    for count, (turn_in, turn_out) in enumerate(rounds):
        for base in sums([1 << b for b in sorted(own) if b not in turned_in and b not in vector_in]):
            stored = tuple(number[turn_in + base + v] for v in sums([1 << b for b in vector_in]))
            at = _joined(before.registers, base)
            steps.append(Store(stored, before.address(at), _first(source)))
        steps.append(Barrier())
        for base in sums([1 << b for b in sorted(wanted) if b not in turned_out and b not in vector_out]):
            loaded: list[int] = []
            for v in sums([1 << b for b in vector_out]):
                arrived[turn_out + base + v] = made
                loaded.append(made)
                made += 1
            steps.append(Load(tuple(loaded), after.address(_joined(after.registers, base))))
        if count < len(rounds) - 1:
            steps.append(Barrier())
    part_of = {b: i for i, (_, b) in enumerate(packed)}
    width = destination.widths["reg"] + wide
    meant = sum(1 << b for b in wanted)
    of_part = sums([1 << part_of[bit] if bit in part_of else 0 for bit in range(width)])
    unpack = [arrived[cell & meant] * parts + part for cell, part in zip(range(1 << width), of_part, strict=True)]
    return Program(
        1 << destination.widths["sg"],
        1 << destination.widths["lane"],
        element_bits,
        1 << source.widths["reg"],
        1 << destination.widths["reg"],
        tuple(pack),
        tuple(steps),
        tuple(unpack),
        1 << (total - len(turns)),
    )


def _cell(place: Place, wide: int) -> Place:
    return (place[0], place[1] + wide) if place[0] == "reg" else place


def _joined(terms: Sequence[int], number: int) -> int:
    found = 0
    for bit, term in enumerate(terms):
        if number >> bit & 1:
            found ^= term
    return found


def _first(source: View) -> tuple[int, ...] | None:
    """Of lanes and subgroups that hold the same, those that store: the ones whose free bits are 0. None for all."""
    meant = {axis: sum(1 << bit for name, bit in source.places if name == axis) for axis in ("sg", "lane")}
    lanes, subgroups = 1 << source.widths["lane"], 1 << source.widths["sg"]
    if meant["lane"] == lanes - 1 and meant["sg"] == subgroups - 1:
        return None
    mask = sum(1 << lane for lane in range(lanes) if not lane & ~meant["lane"])
    return tuple(0 if sg & ~meant["sg"] else mask for sg in range(subgroups))


def _rows(words: Sequence[tuple[Place, Place]], banks: int) -> list[tuple[tuple[Place, Place], int]]:
    """The address bits of each word bit, above the vector: bank bits first (see the module's story)."""
    order = sorted(words, key=lambda pair: (min(_lane_bit(pair[0]), _lane_bit(pair[1])), pair))
    writers = [p for p in order if _lane_bit(p[0]) < banks]
    readers = [p for p in order if _lane_bit(p[1]) < banks]
    common = [p for p in writers if p in readers]
    only_writers, only_readers = [p for p in writers if p not in common], [p for p in readers if p not in common]
    joined = list(zip(only_writers, only_readers, strict=False))
    single = only_writers[len(joined) :] + only_readers[len(joined) :]
    low: list[tuple[tuple[Place, Place], ...]] = [*((p,) for p in common), *joined, *((p,) for p in single)]
    taken = {p for row in low for p in row}
    rest = [p for p in order if p not in taken]
    while len(low) < banks and rest:
        low.append((rest.pop(0),))
    high = [reader for _, reader in joined] + rest
    found: dict[tuple[Place, Place], int] = {}
    for bit, row in enumerate(low):
        for pair in row:
            found[pair] = found.get(pair, 0) | 1 << bit
    for bit, pair in enumerate(high, len(low)):
        found[pair] = found.get(pair, 0) | 1 << bit
    return list(found.items())


def _lane_bit(place: Place) -> int:
    return place[1] if place[0] == "lane" else 1 << 30


def across_subgroups(source: View, destination: View, element_bits: int) -> tuple[Program, View] | None:
    """The program that exchanges subgroup bits with register bits, lanes as they are, and the layout that it leads to.

    From there on nothing crosses a subgroup. None where some subgroup bit changes places with anything else.

    >>> from layoutalg.conversion.bits import view
    >>> from layoutalg.core.layout import Layout
    >>> across_subgroups(view(Layout.parse("d0 = 2@sg, d1 = 2@lane")), view(Layout.parse("d0 = 2@lane, d1 = 2@sg")), 32) is None
    True
    """
    back = dict(zip(destination.places, source.places, strict=True))
    swaps: list[tuple[int, int]] = []
    for bit, place in enumerate(renamed(source, destination)["sg"]):
        if place is None or place == ("sg", bit):
            continue
        other = back.get(("sg", bit))
        if other is None or other[0] != "reg":
            return None
        swaps.append((bit, other[1]))
    exchanged = {("sg", bit): ("reg", register) for bit, register in swaps} | {
        ("reg", r): ("sg", bit) for bit, r in swaps
    }
    between = View(tuple(exchanged.get(place, place) for place in source.places), source.widths)
    wide = 1 if element_bits > WORD else 0
    parts = max(WORD // element_bits, 1)
    width = source.widths["reg"] + wide
    moved = [register + wide for _, register in swaps]
    stay = [bit for bit in range(width) if bit not in moved]
    packed = stay[: parts.bit_length() - 1]
    vector = stay[len(packed) :][:VECTOR_BITS]
    others = stay[len(packed) + len(vector) :]
    index = vector + others + moved  # the bits of a word's number, low to high
    lanes, subgroups = 1 << source.widths["lane"], 1 << source.widths["sg"]
    insides = sums([1 << bit for bit in packed])
    insides += [-1] * (parts - len(insides))
    pack = [-1 if i < 0 else base + i for base in sums([1 << bit for bit in index]) for i in insides]
    steps: list[Step] = []
    words = list(range(1 << len(index)))
    made = len(words)
    first = len(vector) + len(others)

    def turn(words: list[int], made: int) -> tuple[list[int], int]:
        for i, (bit, _) in enumerate(swaps):
            mask = sum(1 << sg for sg in range(subgroups) if sg >> bit & 1)
            step = 1 << (first + i)
            turned: list[int] = []
            for x in range(len(words)):
                steps.append(Select(made, words[x ^ step], words[x], "sg", mask))
                turned.append(made)
                made += 1
            words = turned
        return words, made

    words, made = turn(words, made)
    lane_terms = tuple(1 << (len(vector) + i) for i in range(source.widths["lane"]))
    above = len(vector) + source.widths["lane"]
    sg_terms = tuple(1 << (above + len(others) + i) for i in range(source.widths["sg"]))
    block = above + len(others) + source.widths["sg"]
    for load in (False, True):
        for t in range(1, 1 << len(swaps)):
            partner = sum(sg_terms[bit] for i, (bit, _) in enumerate(swaps) if t >> i & 1) if load else 0
            for high in range(1 << len(others)):
                at = ((t - 1) << block) + (high << above)
                numbers = range(
                    (t << first) | high << len(vector), ((t << first) | high << len(vector)) + (1 << len(vector))
                )
                address = Address(at ^ partner, xor=True, lane=lane_terms, sg=sg_terms)
                if load:
                    steps.append(Load(tuple(range(made, made + len(numbers))), address))
                    for number in numbers:
                        words[number] = made
                        made += 1
                else:
                    steps.append(Store(tuple(words[number] for number in numbers), address))
        if not load:
            steps.append(Barrier())
    words, made = turn(words, made)
    place = {bit: i for i, bit in enumerate(index)}
    part_of = {bit: i for i, bit in enumerate(packed)}
    of_word = sums([1 << place[bit] if bit in place else 0 for bit in range(width)])
    of_part = sums([1 << part_of[bit] if bit in part_of else 0 for bit in range(width)])
    unpack = [words[word] * parts + part for word, part in zip(of_word, of_part, strict=True)]
    registers = 1 << source.widths["reg"]
    slm = ((1 << len(swaps)) - 1) << block
    return Program(
        subgroups, lanes, element_bits, registers, registers, tuple(pack), tuple(steps), tuple(unpack), slm
    ), between


def through_memory_by_digits(source: Layout, destination: Layout, element_bits: int) -> Program:
    """The program that moves every element through memory, where digits are no bits: row by row, an element a word.

    Raises `ConversionError` for a layout that has no inverse, and for one whose slots hold several elements.

    >>> from layoutalg.core.layout import Layout
    >>> found = through_memory_by_digits(Layout.parse("d0 = 3@sg 2@reg"), Layout.parse("d0 = 2@reg 3@sg"), 32)
    >>> found.slm_words, len(found.steps)
    (6, 4)
    """
    cells = 2 if element_bits > WORD else 1
    steps: list[Step] = []
    sizes: list[tuple[int, int, int]] = []
    made = 0
    unpack: list[int] = []
    parts = max(WORD // element_bits, 1)
    total = cells
    for n in source.shape:
        total *= int(n)
    for store, layout in ((True, source), (False, destination)):
        bases, digits, where, size = _digit_addresses(layout, cells)
        sizes.append(size)
        if store:
            made = len(bases)
        place = 0
        while place < len(bases):
            run = _run(bases, place, [stride for _, _, _, stride in digits])
            address = Address(bases[place], digits=digits)
            if store:
                steps.append(Store(tuple(range(place, place + run)), address, where))
            else:
                steps.append(Load(tuple(range(made, made + run)), address))
                unpack += [(made + i) * parts for i in range(run)]
                made += run
            place += run
        if store:
            steps.append(Barrier())
    subgroups, lanes, registers = sizes[0]
    pack = [i if part == 0 else -1 for i in range(registers * cells) for part in range(parts)]
    return Program(
        subgroups, lanes, element_bits, registers, sizes[1][2], tuple(pack), tuple(steps), tuple(unpack), total
    )


def _digit_addresses(
    layout: Layout, cells: int
) -> tuple[list[int], tuple[tuple[str, int, int, int], ...], tuple[int, ...] | None, tuple[int, int, int]]:
    """The address of every cell of lane 0, how lane and subgroup move it, who stores, and subgroups, lanes, registers."""
    slots = layout.inverse()
    if slots.replicas or slots.offsets or any(slots.origins):
        raise ConversionError(f"{layout}: a slot holds several elements, or the numbers do not start at 0")
    weights: dict[str, int] = {}
    weight = cells
    for name, size in zip(reversed(layout.names), reversed(layout.shape), strict=True):
        weights[name] = weight
        weight *= int(size)
    moves: dict[str, list[tuple[int, int, int]]] = {axis: [] for axis in ("sg", "lane", "reg")}
    free: dict[str, list[tuple[int, int]]] = {axis: [] for axis in ("sg", "lane", "reg")}
    counts = {"sg": 1, "lane": 1, "reg": 1}
    for axis, factors in zip(layout.codomain, slots.dims, strict=True):
        if axis not in counts:
            raise ConversionError(f"{layout}: axis {axis!r} is none of sg, lane, reg")
        divisor = 1
        for extent, stride, name in reversed(factors):
            if name is None:
                free[axis].append((divisor, int(extent)))
            else:
                moves[axis].append((divisor, int(extent), int(stride) * weights[name]))
            divisor *= int(extent)
        counts[axis] = divisor
    bases = [
        sum(register // divisor % extent * stride for divisor, extent, stride in moves["reg"]) + cell
        for register in range(counts["reg"])
        for cell in range(cells)
    ]
    digits = tuple((axis, *move) for axis in ("sg", "lane") for move in moves[axis])
    where = None
    if free["sg"] or free["lane"]:
        mask = sum(1 << lane for lane in range(counts["lane"]) if all(lane // d % n == 0 for d, n in free["lane"]))
        where = tuple(mask if all(sg // d % n == 0 for d, n in free["sg"]) else 0 for sg in range(counts["sg"]))
    return bases, digits, where, (counts["sg"], counts["lane"], counts["reg"])


def _run(bases: Sequence[int], start: int, strides: Sequence[int]) -> int:
    """How many cells from `start` on lie at consecutive, aligned addresses: 4, 2 or 1."""
    for run in (4, 2):
        whole = bases[start : start + run] == list(range(bases[start], bases[start] + run))
        if whole and bases[start] % run == 0 and all(stride % run == 0 for stride in strides):
            return run
    return 1
