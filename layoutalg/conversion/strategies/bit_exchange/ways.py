"""The ways to exchange bits of lanes and registers in a subgroup: words turned, sent in the fewest hops, and turned back.

A 16x16 tile of 16 bits in 16 lanes, two rows to a word: shuffles, selects and byte permutes of each way.

>>> from layoutalg.conversion.program.steps import Permute, Select, Shuffle
>>> from layoutalg.memory.machine_bits import view
>>> both = view(Layout.parse("d0 = 16@reg, d1 = 16@lane")), view(Layout.parse("d0 = 16@lane, d1 = 16@reg"))
>>> from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
>>> for way in ways(pattern_of(*both, 16)):
...     program = way.make()
...     print([program.count(kind) for kind in (Shuffle, Select, Permute)], way.name)
[10, 48, 33] an exchange in registers and lanes
[11, 48, 28] an exchange in registers and lanes, whole words first
[15, 48, 24] an exchange in registers and lanes, every element directly
[11, 47, 12] an exchange in registers and lanes, parts of words first
[16, 36, 12] an exchange in registers and lanes, a bit at a time

Every way has the same beginning and end, where the words' numbers are XORed by bits of the lane (`words.turn`), so that in
between all lanes do the same: class d goes from lane l to lane T(l) ^ d (see `pattern`). What differs is how classes travel:

- the fewest shuffles (`hops.schedule`), each word put together for its lane;
- each class directly, with whatever else its word has;
- parts of words first: each bit that tells parts apart changes places with its lane bit, half of the words at a time; then
  whole words go directly;
- halves, one bit after the other: a butterfly, with the fewest selects and the most shuffles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.strategies.bit_exchange.hops import Hop, direct, schedule, two_steps
from layoutalg.conversion.strategies.bit_exchange.pattern import ExchangedBits, Pattern
from layoutalg.conversion.strategies.bit_exchange.words import Words
from layoutalg.conversion.strategies.renaming import bit_mask, sums, unpacked

__all__ = ["FEWEST", "Way", "ways"]

FEWEST = "an exchange in registers and lanes"
_DIRECT = "an exchange in registers and lanes, every element directly"
_STEPS = "an exchange in registers and lanes, whole words first"
_PARTS = "an exchange in registers and lanes, parts of words first"
_HALVES = "an exchange in registers and lanes, a bit at a time"


class Way(NamedTuple):
    """A way to exchange: its name, the shuffles, selects and permutes that its program has at least, and what makes that.

    `distances` are the XOR distances of shuffles, where they are known before the program is made, each as often as it is
    used; without them nothing is known but how many shuffles there are.
    """

    name: str
    shuffles: int
    selects: int
    make: Callable[[], Program]
    distances: tuple[tuple[int, int], ...] = ()
    permutes: int = 0


@lru_cache(maxsize=64)
def ways(pattern: Pattern) -> tuple[Way, ...]:
    """All ways, that with the fewest shuffles first.

    Every turn of a bit that tells words apart is a select for each word (`_turns`), and none is left out of the program but by
    the words of class 0 that are turned last at the beginning: no shuffle reads these. A bit that tells parts apart changes
    places with its lane bit in three byte permutes for two words: one is sent, two are made.
    """
    bits, shared, moving = len(pattern.exchanged), pattern.shared, pattern.moving_bits > 0
    best = schedule(bits, shared, moving=moving)
    selects = _turns(pattern)

    def by_hops(name: str, hops: tuple[Hop, ...]) -> Way:
        known = pattern.parts == 1 and not moving  # all words of a class go equally far
        distances = tuple([(pattern.reach(hop.mask), pattern.words) for hop in hops if known])
        return Way(name, len(hops) * pattern.words, selects, lambda: _Exchange(pattern).by_hops(hops), distances)

    found = [by_hops(FEWEST, best)]
    if not bits:
        return tuple(found)
    halves = max((1 << pattern.register_bits) // pattern.parts // 2, 1)  # what moves where half of the words do
    inside = min(shared.bit_length() - 1, bits)
    if shared > 1:
        for name, hops in (
            (_STEPS, two_steps(bits, shared, moving=moving)),
            (_DIRECT, direct(bits, moving=moving)),
        ):
            if hops != best:
                found.append(by_hops(name, hops))
        permutes = _parts_halved(pattern, inside)
        selects = _turned(pattern, bits - inside, bits - inside)
        make = partial(_by_halves, pattern, words=False)
        found.append(Way(_PARTS, halves * inside, selects, make, permutes=permutes))
    if bits > inside and (bits > 1 or moving):
        selects = 3 * halves * (bits - inside)
        distances = tuple([(1 << one.from_lane, halves) for one in pattern.exchanged]) if not moving else ()
        permutes = _parts_halved(pattern, inside)
        make = partial(_by_halves, pattern, words=True)
        found.append(Way(_HALVES, halves * bits, selects, make, distances, permutes))
    return tuple(found)


def _by_halves(pattern: Pattern, *, words: bool) -> Program:
    return _Exchange(pattern).by_halves(words=words)


def _words(pattern: Pattern) -> int:
    """The words of a lane."""
    return max((1 << pattern.register_bits) // pattern.parts, 1)


def _parts_halved(pattern: Pattern, bits: int) -> int:
    """The byte permutes where so many bits that tell parts apart change places with bits of the lane, at least."""
    words = _words(pattern)
    return bits * (3 * words // 2 if words > 1 else 1)


def _turned(pattern: Pattern, first: int, last: int, late: int = 0) -> int:
    """The selects of so many bits that are turned at the beginning, `late` of them after the others, and at the end, at least.

    Of the words that are made by a group of bits at the beginning, those are perhaps not needed in which none of these is set.
    """
    words = _words(pattern)
    spared = sum([words >> group for group in (first - late, late) if group])
    return words * (first + last) - spared


def _turns(pattern: Pattern) -> int:
    """The selects that turn words, where elements go by hops, at least: those of each bit while it tells words apart.

    Of 16-bit elements two share a word: one of four exchanged bits tells parts apart on the way, and one in the end.

    >>> from layoutalg.memory.machine_bits import view
    >>> from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
    >>> both = view(Layout.parse("d0 = 16@reg, d1 = 16@lane")), view(Layout.parse("d0 = 16@lane, d1 = 16@reg"))
    >>> _turns(pattern_of(*both, 32)), _turns(pattern_of(*both, 16))
    (127, 47)
    """
    inside = min(pattern.parts.bit_length() - 1, pattern.register_bits)
    together = _sent_together(pattern, inside)
    first = [one for one in pattern.exchanged if one.register >= inside or one.register not in together]
    late = [one for one in first if one.register < inside]
    last = [one for one in pattern.exchanged if one.register not in together or one.to_register >= inside]
    return _turned(pattern, len(first), len(last), len(late))


def _sent_together(pattern: Pattern, inside: int) -> list[int]:
    """The bits that tell parts apart while words travel: those that stay in registers, then exchanged ones.

    Of each kind those that tell parts apart already, or will in the end.
    """
    to = {one.register: one.to_register for one in pattern.exchanged} | dict(pattern.staying)

    def far(bit: int) -> tuple[int, int]:
        return (bit >= inside) + (to[bit] >= inside), bit

    staying = sorted((bit for bit, _ in pattern.staying), key=far)[:inside]
    exchanged = sorted((one.register for one in pattern.exchanged), key=far)[: inside - len(staying)]
    return staying + exchanged


class _Exchange:
    """One way, as it is made."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.lanes = 1 << pattern.lane_bits
        width = pattern.register_bits
        inside = min(pattern.parts.bit_length() - 1, width)
        pack = [*range(1 << width), *[-1] * (pattern.parts - (1 << inside) if inside == width else 0)]
        element_bits = 64 if pattern.wide else 32 // pattern.parts
        builder = Builder(pattern.subgroups, self.lanes, element_bits, pack)
        self.words = Words(builder, range(inside, width), range(inside))
        self.to = {one.register: one.to_register for one in pattern.exchanged} | dict(pattern.staying)
        self.sent_together = _sent_together(pattern, inside)
        # Classes count those bits first that tell parts of a word apart while it travels.
        self.exchanged = sorted(
            pattern.exchanged, key=lambda one: (one.register not in self.sent_together, one.register)
        )

    def by_hops(self, hops: Sequence[Hop]) -> Program:
        """Words turned, sent by these hops, and turned back."""
        self._turn_in(self.exchanged)
        if len(self.exchanged) == 0 or self.pattern.shared == 1:
            self._send_words(hops)
        else:
            self._send_parts(hops)
        self._turn_out(self.exchanged)
        return self._program()

    def by_halves(self, *, words: bool) -> Program:
        """The bits of parts change places with their lane bits, half of the words at a time; with `words` all bits do."""
        self._arrange()
        pattern = self.pattern
        halved = [one for one in self.exchanged if words or one.register in self.words.part_bits]
        # Bits change places first, then lanes move: bit `from_lane` comes to where T takes it.
        for one in halved:
            lanes = tuple([lane ^ 1 << one.from_lane for lane in range(self.lanes)])
            self.words.halve(one.register, bit_mask(self.lanes, one.from_lane), lanes)
        rest = [one for one in self.exchanged if one not in halved]
        for one in rest:
            self.words.turn(one.register, bit_mask(self.lanes, one.from_lane))
        step_of = {one: 1 << self.words.word_bits.index(one.register) for one in rest}
        moving = pattern.moving_bits > 0
        for number, mask in enumerate(sums([1 << one.to_lane for one in rest])):
            if number or moving:
                of_class = sum(step for i, step in enumerate(step_of.values()) if number >> i & 1)
                other = [x for x in range(len(self.words.words)) if x & sum(step_of.values()) == of_class]
                for x in other:
                    self.words.words[x] = self.words.builder.shuffle(self.words.words[x], self._heard(mask, moving))
        self._turn_out(rest)
        return self._program()

    def _arrange(self) -> None:
        """Bring the bits that travel together into words."""
        places = self.words.part_bits
        wanted = [bit for bit in self.sent_together if bit not in places]
        kept = [bit if bit in self.sent_together else wanted.pop(0) for bit in places]
        self.words.order_parts(kept)

    def _turn_in(self, exchanged: Sequence[ExchangedBits]) -> None:
        """XOR bits by those of the lane; while they tell words apart, if they ever do."""
        early = [one for one in exchanged if one.register in self.words.word_bits]
        late = [one for one in exchanged if one not in early]
        for one in early:
            self.words.turn(one.register, bit_mask(self.lanes, one.from_lane))
        self._arrange()
        for one in late:
            self.words.turn(one.register, bit_mask(self.lanes, one.from_lane))

    def _turn_out(self, exchanged: Sequence[ExchangedBits]) -> None:
        """XOR bits by those of the lane at the destination, and bring each to its place."""
        words = self.words
        early = [one for one in exchanged if one.register in words.word_bits]
        late = [one for one in exchanged if one not in early]
        for one in reversed(early):  # words that stay are turned by the same bit twice, one after the other
            words.turn(one.register, bit_mask(self.lanes, one.to_lane))
        words.order_parts(
            sorted((bit for bit in self.to if self.to[bit] < len(words.part_bits)), key=self.to.__getitem__)
        )
        for one in late:
            words.turn(one.register, bit_mask(self.lanes, one.to_lane))

    def _heard(self, mask: int, turning: bool) -> tuple[int, ...]:
        """The lane that each lane hears, where lane l sends to lane l ^ mask, or to T(l) ^ mask."""
        if not turning:
            return tuple([lane ^ mask for lane in range(self.lanes)])
        found = [0] * self.lanes
        for lane in range(self.lanes):
            found[self.pattern.turned(lane) ^ mask] = lane
        return tuple(found)

    def _reach(self, number: int) -> int:
        return sum((number >> i & 1) << one.to_lane for i, one in enumerate(self.exchanged))

    def _send_words(self, hops: Sequence[Hop]) -> None:
        """Whole words of one class."""
        words = self.words
        steps = [1 << words.word_bits.index(one.register) for one in self.exchanged]
        builder, current = words.builder, words.words
        rest = sums([1 << i for i in range(len(words.word_bits)) if 1 << i not in steps])
        of_class = sums(steps)
        for hop in hops:
            heard = self._heard(self._reach(hop.mask), hop.turning)
            for x in rest:
                at = of_class[hop.mask] + x
                current[at] = builder.shuffle(current[at], heard)

    def _send_parts(self, hops: Sequence[Hop]) -> None:
        """Words of several classes, put together for each hop; at the end every class is where it was."""
        words = self.words
        inside = len(words.part_bits)
        numbers = range(1 << len(self.exchanged))
        places = {bit: i for i, bit in enumerate([*words.part_bits, *words.word_bits])}
        steps = [1 << places[one.register] for one in self.exchanged]
        staying = [1 << i for bit, i in places.items() if bit not in {one.register for one in self.exchanged}]
        insides = sums(staying)  # the cells of a class
        cells = [[step + one for one in insides] for step in sums(steps)]
        at = {d: [(words.words[cell >> inside], cell & (1 << inside) - 1) for cell in cells[d]] for d in numbers}
        left = list(hops)
        while left:
            # Hops whose classes have made all earlier hops: their words are put together at one time.
            ready: list[Hop] = []
            waiting: set[int] = set()
            for hop in left:
                if waiting.isdisjoint(hop.carried):
                    ready.append(hop)
                waiting.update(hop.carried)
            targets = [[one for d in hop.carried for one in at[d]] for hop in ready]
            for hop, (word, slots) in zip(ready, words.gathered(targets), strict=True):
                arrived = words.builder.shuffle(word, self._heard(self._reach(hop.mask), hop.turning))
                for i, d in enumerate(hop.carried):
                    at[d] = [(arrived, slot) for slot in slots[i * len(insides) : (i + 1) * len(insides)]]
            left = [hop for hop in left if hop not in ready]
        wanted: list[list[tuple[int, int] | None]] = [[None] * words.builder.parts for _ in words.words]
        for d in numbers:
            for cell, one in zip(cells[d], at[d], strict=True):
                wanted[cell >> inside][cell & (1 << inside) - 1] = one
        words.words = words.placed(wanted)

    def _program(self) -> Program:
        words, pattern = self.words, self.pattern
        of_words, of_parts = ([self.to[bit] for bit in bits] for bits in (words.word_bits, words.part_bits))
        unpack = unpacked(words.words, of_words, of_parts, pattern.parts, pattern.register_bits)
        registers = 1 << pattern.register_bits - pattern.wide
        return words.builder.program(registers, registers, unpack)
