"""The words of a lane while bits change places: which bit of a class is which bit of a word's number, or of a part's in it.

Four elements of 16 bits lie in two words. Their low bit tells the parts apart, the other one the words; swapped, each word has
one part of both:

>>> words = Words(Builder(1, 16, 16, pack=[0, 1, 2, 3]), word_bits=[1], part_bits=[0])
>>> words.swap(0, 1)
>>> words.word_bits, words.part_bits
([0], [1])
>>> for step in words.builder.program(4, 4, [4, 5, 6, 7]).steps:
...     print(step.low, step.high, *map(hex, step.selectors))
0 1 0x5410
0 1 0x7632

Bits have names, numbers that the caller gives (those of the source's register bits). To `turn` a bit is to XOR it by a bit of
the lane's number: words by selects, parts by byte permutes that depend on the lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.steps import WORD

__all__ = ["Words"]

BYTES = WORD // 8


class Words:
    """Words, numbered by some bits, of cells that are told apart by others; all low to high."""

    def __init__(self, builder: Builder, word_bits: Sequence[int], part_bits: Sequence[int]) -> None:
        self.builder = builder
        self.word_bits, self.part_bits = list(word_bits), list(part_bits)
        self.words = list(range(1 << len(word_bits)))
        self.cell = BYTES // builder.parts
        """The bytes of a cell."""

    def turn(self, bit: int, mask: int) -> None:
        """XOR a bit of the index, in the lanes of the mask."""
        if bit in self.word_bits:
            step = 1 << self.word_bits.index(bit)
            words = self.words
            self.words = self.builder.select_all([words[x ^ step] for x in range(len(words))], words, mask)
            return
        step = 1 << self.part_bits.index(bit)
        plain = self.selector([(0, slot) for slot in range(self.builder.parts)])
        turned = self.selector([(0, slot ^ step) for slot in range(self.builder.parts)])
        selectors = tuple([turned if mask >> lane & 1 else plain for lane in range(self.builder.lanes)])
        self.words = [self.builder.permute(word, word, selectors) for word in self.words]

    def swap(self, part_bit: int, word_bit: int) -> None:
        """A bit that told parts apart tells words apart, and the other way round."""
        at, place = self.word_bits.index(word_bit), self.part_bits.index(part_bit)
        step, slot_step = 1 << at, 1 << place
        slots = range(self.builder.parts)
        # The pair's first word gets what had the part bit 0, of both; its second what had it 1.
        zero = self.selector([(slot & slot_step, slot & ~slot_step) for slot in slots])
        one = self.selector([(slot & slot_step, slot | slot_step) for slot in slots])
        made = list(self.words)
        for x in range(len(made)):
            if not x & step:
                pair = self.words[x], self.words[x | step]
                made[x], made[x | step] = self.builder.permute(*pair, (zero,)), self.builder.permute(*pair, (one,))
        self.words = made
        self.word_bits[at], self.part_bits[place] = part_bit, word_bit

    def order_parts(self, wanted: Sequence[int]) -> None:
        """Make these the bits that tell parts apart, in this order, lowest first."""
        for place, bit in enumerate(wanted):
            if bit in self.word_bits:
                # Out goes what is not wanted, from the bit's own place if that is one.
                there = self.part_bits[place]
                self.swap(next(one for one in (there, *self.part_bits) if one not in wanted), bit)
        if self.part_bits[: len(wanted)] != list(wanted):
            order = [*wanted, *(bit for bit in self.part_bits if bit not in wanted)]
            places = [self.part_bits.index(bit) for bit in order]
            slots = [
                sum((slot >> new & 1) << old for new, old in enumerate(places)) | slot >> len(places) << len(places)
                for slot in range(self.builder.parts)
            ]
            selector = self.selector([(0, slot) for slot in slots])
            self.words = [self.builder.permute(word, word, (selector,)) for word in self.words]
            self.part_bits = order

    def halve(self, bit: int, mask: int, lanes: tuple[int, ...]) -> None:
        """Change a bit with a bit of the lane's number: half of every lane's words go to the lane `lanes[l]`, half stay.

        The mask has the lanes whose bit is 1.
        """
        builder, words = self.builder, self.words
        if bit in self.word_bits:
            step = 1 << self.word_bits.index(bit)
            for x in range(len(words)):
                if not x & step:
                    zero, one = words[x], words[x | step]
                    arrived = builder.shuffle(builder.select(zero, one, "lane", mask), lanes)
                    words[x] = builder.select(arrived, zero, "lane", mask)
                    words[x | step] = builder.select(one, arrived, "lane", mask)
            return
        step, slots = 1 << self.part_bits.index(bit), range(builder.parts)
        if len(words) == 1:
            arrived = builder.shuffle(words[0], lanes)
            chosen = [
                [(0, slot) if bool(slot & step) == upper else (1, slot ^ step) for slot in slots] for upper in (0, 1)
            ]
            words[0] = builder.permute(words[0], arrived, self._by_lane(chosen, mask))
            return
        # Two words send their halves in one: the first word's half goes where the bit is 0, the second's where it is 1.
        sent = [[(slot & step, slot & ~step | (0 if upper else step)) for slot in slots] for upper in (0, 1)]
        first = [[(0, slot) if bool(slot & step) == upper else (1, slot & ~step) for slot in slots] for upper in (0, 1)]
        second = [[(0, slot) if bool(slot & step) == upper else (1, slot | step) for slot in slots] for upper in (0, 1)]
        for x in range(0, len(words), 2):
            zero, one = words[x], words[x + 1]
            arrived = builder.shuffle(builder.permute(zero, one, self._by_lane(sent, mask)), lanes)
            words[x] = builder.permute(zero, arrived, self._by_lane(first, mask))
            words[x + 1] = builder.permute(one, arrived, self._by_lane(second, mask))

    def _by_lane(self, chosen: Sequence[Sequence[tuple[int, int]]], mask: int) -> tuple[int, ...]:
        lower, upper = map(self.selector, chosen)
        return tuple([upper if mask >> lane & 1 else lower for lane in range(self.builder.lanes)])

    def selector(self, chosen: Iterable[tuple[int, int]]) -> int:
        """The selector of a byte permute that puts into each slot a slot of the one word (0) or of the other one.

        >>> hex(Words(Builder(1, 2, 16, pack=[0, 1]), [], [0]).selector([(0, 1), (1, 0)]))
        '0x5432'
        """
        found = 0
        for slot, (other, chunk) in enumerate(chosen):
            for byte in range(self.cell):
                found |= (chunk * self.cell + byte | (BYTES if other else 0)) << 4 * (slot * self.cell + byte)
        return found

    def gathered(self, targets: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, list[int]]]:
        """For each target, slots of words that are to travel in one word: that word, and the slot of each in it.

        >>> words = Words(Builder(1, 2, 16, pack=[0, 1, 2, 3]), word_bits=[1], part_bits=[0])
        >>> words.gathered([[(0, 1)], [(0, 0), (1, 0)]])
        [(0, [1]), (2, [0, 1])]
        """
        found: list[tuple[int, list[int]]] = []
        for target in self._joined(targets):
            chosen: list[tuple[int, int] | None] = [None] * self.builder.parts
            slots: list[int] = []
            for word, at in target:  # where it is, if there is room
                slot = at if chosen[at] is None else chosen.index(None)
                chosen[slot] = (word, at)
                slots.append(slot)
            sources = {word for word, _ in target}
            if len(sources) == 1:
                found.append((sources.pop(), [at for _, at in target]))
            else:
                found.append((self._word_of(chosen), slots))
        return found

    def placed(self, targets: Sequence[Sequence[tuple[int, int] | None]]) -> list[int]:
        """Words whose slots are these slots of other words; None: anything.

        >>> words = Words(Builder(1, 2, 16, pack=[0, 1, 2, 3]), word_bits=[1], part_bits=[0])
        >>> words.placed([[(0, 0), (1, 1)], [(1, 0), None]])
        [2, 1]
        """
        given = [[one for one in target if one is not None] for target in targets]
        found: list[int] = []
        for target, slots in zip(targets, map(iter, self._joined(given)), strict=True):
            found.append(self._word_of([one and next(slots) for one in target]))
        return found

    def _joined(self, targets: Sequence[Sequence[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
        """The targets out of at most two words each: words that several targets take slots of are put together for them."""
        wanted = [list(target) for target in targets]
        while True:
            pairs: Counter[tuple[int, int]] = Counter()
            for target in wanted:
                sources = sorted({word for word, _ in target})
                if len(sources) > 2:
                    pairs.update((a, b) for i, a in enumerate(sources) for b in sources[i + 1 :])
            if not pairs:
                return wanted
            pair = max(pairs, key=lambda pair: (pairs[pair], pair))
            slots: list[tuple[int, int]] = []
            served: list[list[tuple[int, int]]] = []
            for target in wanted:
                sources = {word for word, _ in target}
                if len(sources) > 2 and sources.issuperset(pair):
                    more = [one for one in dict.fromkeys(target) if one[0] in pair and one not in slots]
                    if len(slots) + len(more) <= self.builder.parts:
                        slots += more
                        served.append(target)
            made = self._word_of([*slots, *[None] * (self.builder.parts - len(slots))])
            place = {one: (made, slot) for slot, one in enumerate(slots)}
            for target in served:
                target[:] = [place.get(one, one) for one in target]

    def _word_of(self, slots: Sequence[tuple[int, int] | None]) -> int:
        """A word of slots of at most two words; what is left over is as in the first, so that one that is whole stays so."""
        low, *others = sorted({one[0] for one in slots if one is not None})
        chosen = [(0, slot) if one is None else (int(one[0] != low), one[1]) for slot, one in enumerate(slots)]
        return self.builder.permute(low, others[0] if others else low, (self.selector(chosen),))
