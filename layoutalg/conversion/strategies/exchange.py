"""Exchanges within a subgroup, between layouts of powers of two, every element directly; lanes may hold copies.

The renaming of bits (`renaming`) says all. A register bit of the source that is a lane bit of the destination and a
lane bit that is a register bit change places: with m such pairs, a lane gets a share of 1/2^m of its words from each of 2^m
lanes, itself included. In 4 lanes with 4 registers, transposed, lane l keeps one word and gets one from each other lane:

>>> from layoutalg.memory.machine_bits import view
>>> from layoutalg.conversion.program.steps import Select, Shuffle
>>> source, destination = Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg")
>>> found = exchange(view(source), view(destination), 32)
>>> found.count(Shuffle), found.count(Select)
(3, 15)

In round t lane l sends lane l ^ t the word that it wants, so no two lanes want different words of one. Which word that is
depends on the lane: before the rounds the source's register bits are XORed by lane bits, a stage of selects for each
exchanged bit; after them the destination's, likewise. The word of round 0 stays where it is. Elements that travel
together are packed into one word: those that differ only in bits that are register bits on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.renaming import bit_mask, packed, renamed, sums, unpacked, with_cells
from layoutalg.memory.machine_bits import Place, View

__all__ = ["exchange", "packed_pairs", "stays_in_subgroup"]


def stays_in_subgroup(source: View, destination: View) -> bool:
    """Whether every element is somewhere in its destination's own subgroup already."""
    return all(place is None or place == ("sg", bit) for bit, place in enumerate(renamed(source, destination)["sg"]))


_ROTATED = {8: 0x0321, 16: 0x1032}
"""The byte permutes that rotate a word right by so many bits."""


class _Row(NamedTuple):
    """Bit `bit` of the source lane is destination lane bit `lane` (None: none), XOR bit `round` of the round (None: none)."""

    bit: int
    lane: int | None
    round: int | None


def exchange(source: View, destination: View, element_bits: int) -> Program:
    """The program for a conversion that stays in its subgroup (`stays_in_subgroup`)."""
    wide = 1 if element_bits > WORD else 0  # a register of 64 bits has two cells: one more bit, the same on both sides
    names = renamed(source, destination)
    registers: list[Place | None] = [("reg", 0)] * wide
    registers += [place and with_cells(place, wide) for place in names["reg"]]
    lanes = [place and with_cells(place, wide) for place in names["lane"]]
    parts = max(WORD // element_bits, 1)
    both = [(bit, place[1]) for bit, place in enumerate(registers) if place is not None and place[0] == "reg"]
    together = packed_pairs(both, parts)
    return _Exchange(source, destination, registers, lanes, together, element_bits, wide).program()


def packed_pairs(pairs: Sequence[tuple[int, int]], parts: int) -> list[tuple[int, int]]:
    """Which register bits, of source and destination, tell the parts of a word apart: the lowest.

    >>> packed_pairs([(1, 0), (0, 2), (2, 1)], 2)
    [(1, 0)]
    """
    return sorted(pairs, key=lambda pair: (max(pair), pair))[: parts.bit_length() - 1]


class _Exchange:
    """The words of one exchange as they are made: lists over the values of some bits, a word number each."""

    def __init__(
        self,
        source: View,
        destination: View,
        registers: Sequence[Place | None],
        lanes: Sequence[Place | None],
        together: list[tuple[int, int]],
        element_bits: int,
        wide: int,
    ) -> None:
        self.subgroups, self.lanes = 1 << destination.widths["sg"], 1 << destination.widths["lane"]
        self.source_bits, self.bits = source.widths["reg"] + wide, destination.widths["reg"] + wide
        self.registers, self.lane_places = registers, lanes
        self.together, self.parts, self.wide = together, max(WORD // element_bits, 1), wide
        self.rows = self._rows()
        self.followed = {row.lane: row for row in self.rows if row.lane is not None}
        # Register bits that a lane bit picks which the sender can't tell: parts of the word while there is room, then words.
        picked = [bit for bit, place in enumerate(registers) if place is not None and place[0] == "lane"]
        picked = [bit for bit in picked if self._picks(bit) not in self.followed]
        self.picked = picked[: self.parts.bit_length() - 1 - len(together)]
        inside_words = {bit for bit, _ in together}.union(self.picked)
        # Source word bits: register bits with a meaning that are not packed. Free bits are 0.
        self.words = [bit for bit, place in enumerate(registers) if place is not None and bit not in inside_words]
        inside = {bit for _, bit in together}
        meant = {place[1] for place in (*registers, *lanes) if place is not None and place[0] == "reg"}
        self.rounds = [bit for bit in sorted(meant) if bit not in inside]
        pack = packed(self.words, [*(bit for bit, _ in together), *self.picked], self.parts)
        self.builder = Builder(self.subgroups, self.lanes, element_bits, pack)

    def program(self) -> Program:
        rows = self.rows
        current = list(range(self.builder.given))
        position = {bit: i for i, bit in enumerate(self.words)}
        index: dict[int, tuple[str, int]] = {}  # word bit: which bit of the round, or of the choice, it is
        choices: list[int] = []
        for bit in self.words:
            place = self.registers[bit]
            assert place is not None
            if place[0] == "reg":
                index[bit] = ("round", place[1])
            elif place[0] == "sg":
                current = self._halve(current, position, bit, "sg", self._mask("sg", place[1]))
            elif place[1] not in self.followed:  # a word for each value, told apart where it arrives
                index[bit] = ("choice", len(choices))
                choices.append(place[1])
            elif (row := self.followed[place[1]]).round is None:
                current = self._halve(current, position, bit, "lane", self._mask("lane", row.bit))
            else:
                current = self._xored(current, position[bit], self._mask("lane", row.bit))
                index[bit] = ("round", row.round)
        arrived = self._arrive(current, position, index, choices, rows)
        for row in reversed(rows):
            if row.round is not None and row.lane is not None:
                arrived = self._xored(arrived, self.rounds.index(row.round), self._mask("lane", row.lane))
        unpack = unpacked(arrived, self.rounds, [bit for _, bit in self.together], self.parts, self.bits)
        return self.builder.program(1 << (self.source_bits - self.wide), 1 << (self.bits - self.wide), unpack)

    def _rows(self) -> list[_Row]:
        """What each bit of the source lane is, seen from the destination lane; free choices are made here.

        A bit that comes from the round, or that is free, may follow any lane bit of the destination. Those that pick the
        source's register come first, so that the sending lane knows it; a bit that follows itself stays in its lane.
        """
        fixed = {place[1] for place in self.lane_places if place is not None and place[0] == "lane"}
        picking = {place[1] for place in self.registers if place is not None and place[0] == "lane"}
        open_rows = [bit for bit, place in enumerate(self.lane_places) if place is None or place[0] == "reg"]
        others = [bit for bit in range(len(self.lane_places)) if bit not in fixed and bit not in picking]
        follows: dict[int, int] = {bit: bit for bit in open_rows if bit in picking}
        left = [bit for bit in open_rows if bit not in follows and bit not in others]
        left += [bit for bit in open_rows if bit in others]
        for bit in sorted(picking.difference(follows.values())):
            if left:
                follows[left.pop(0)] = bit
        follows |= {bit: bit for bit in left if bit in others}
        spare = [bit for bit in others if bit not in follows.values()]
        for bit in left:
            if bit not in follows and spare:
                follows[bit] = spare.pop(0)
        rows: list[_Row] = []
        for bit, place in enumerate(self.lane_places):
            if place is None:
                rows.append(_Row(bit, follows.get(bit, bit), None))
            elif place[0] == "reg":
                rows.append(_Row(bit, follows.get(bit), place[1]))
            elif place[0] == "lane":
                rows.append(_Row(bit, place[1], None))
        return rows

    def _picks(self, bit: int) -> int:
        """The lane bit of the destination that a register bit of the source is."""
        place = self.registers[bit]
        assert place is not None
        return place[1]

    def _mask(self, axis: str, bit: int) -> int:
        return bit_mask(self.lanes if axis == "lane" else self.subgroups, bit)

    def _halve(self, words: list[int], position: dict[int, int], bit: int, axis: str, mask: int) -> list[int]:
        """Drop a bit of the index: where the mask says so, the words with the bit set."""
        step = 1 << position[bit]
        return [
            self.builder.select(words[x | step], words[x & ~step], axis, mask) if not x & step else -1
            for x in range(len(words))
        ]

    def _xored(self, words: list[int], position: int, mask: int) -> list[int]:
        """XOR a bit of the index, where the mask says so."""
        step = 1 << position
        return self.builder.select_all([words[x ^ step] for x in range(len(words))], words, mask)

    def _arrive(
        self,
        words: list[int],
        position: dict[int, int],
        index: dict[int, tuple[str, int]],
        choices: list[int],
        rows: list[_Row],
    ) -> list[int]:
        """The words that arrive, over the values of the round's bits."""
        lanes, terms = self._sources(rows)
        # What each bit of the round, and of the choice, brings into the number of the word, and into that of the lane.
        of_word = [sum(1 << position[w] for w, what in index.items() if what == ("round", bit)) for bit in self.rounds]
        of_choice = [
            sum(1 << position[w] for w, what in index.items() if what == ("choice", c)) for c in range(len(choices))
        ]
        of_lane = [sum(1 << row.bit for row in rows if row.round == bit) for bit in self.rounds]
        patterns: dict[int, tuple[int, ...] | None] = {}
        unmoved = tuple(range(self.lanes))
        arrived: list[int] = []
        for number, base in zip(sums(of_word), sums(of_lane), strict=True):
            if base not in patterns:
                pattern = tuple([one ^ base for one in lanes])
                patterns[base] = None if pattern == unmoved and not terms else pattern
            known = self._half_known(choices, patterns[base], terms)
            if known is not None:
                arrived.append(
                    self._ask(words[number], words[number + of_choice[0]], choices[0], known, lanes, base, terms)
                )
                continue
            found = [self._shuffle(words[number + choice], patterns[base], terms) for choice in sums(of_choice)]
            for bit in choices:
                mask = self._mask("lane", bit)
                found = [self.builder.select(found[i + 1], found[i], "lane", mask) for i in range(0, len(found), 2)]
            word = found[0]
            for i, bit in enumerate(self.picked, len(self.together)):
                rotated = self.builder.permute(word, word, (_ROTATED[WORD // self.parts << i],))
                word = self.builder.select(rotated, word, "lane", self._mask("lane", self._picks(bit)))
            arrived.append(word)
        return arrived

    def _half_known(self, choices: list[int], pattern: tuple[int, ...] | None, terms: tuple[int, ...]) -> int | None:
        """The subgroup bit that says which half of the lanes has its words already; None where no lane has.

        That is where one lane bit of the source is a subgroup bit, every other is itself, and that same lane bit picks the
        register: lanes whose bit is the subgroup's keep their word, all others ask for the other one.
        """
        if len(choices) != 1 or pattern is None or sum(map(bool, terms)) != 1:
            return None
        bit = next(i for i, term in enumerate(terms) if term)
        stays = all(source == lane & ~(1 << choices[0]) for lane, source in enumerate(pattern))
        return bit if terms[bit] == 1 << choices[0] and stays else None

    def _ask(self, zero: int, one: int, lane: int, sg: int, lanes: list[int], base: int, terms: tuple[int, ...]) -> int:
        """The word `zero` or `one` by a lane bit: kept where that is the subgroup's bit, asked for elsewhere."""
        mask = self._mask("sg", sg)
        sent = self.builder.select(zero, one, "sg", mask)
        received = self._shuffle(sent, tuple([source ^ base for source in lanes]), terms)
        upper = self.builder.select(one, received, "sg", mask)
        lower = self.builder.select(received, zero, "sg", mask)
        return self.builder.select(upper, lower, "lane", self._mask("lane", lane))

    def _sources(self, rows: list[_Row]) -> tuple[list[int], tuple[int, ...]]:
        """The lane that each lane reads in round 0; what the subgroup's number brings in."""
        moves = [(row.lane, row.bit) for row in rows if row.lane is not None]
        found = sums([sum(1 << to for lane, to in moves if lane == bit) for bit in range(self.lanes.bit_length() - 1)])
        terms = [0] * (self.subgroups.bit_length() - 1)
        for to, place in enumerate(self.lane_places):
            if place is not None and place[0] == "sg":
                terms[place[1]] |= 1 << to
        return found, tuple(terms) if any(terms) else ()

    def _shuffle(self, word: int, lanes: tuple[int, ...] | None, terms: tuple[int, ...]) -> int:
        if lanes is None:
            return word
        return self.builder.shuffle(word, lanes, terms)
