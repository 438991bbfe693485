"""Exchanges of elements below 32 bits whose words are filled by pairs of lanes: all that one lane has for another.

Three lanes have eight elements of 16 bits each, dealt in turn, and are to hold eight neighbours each. Lane 0 has three of lane
1's elements in registers 3 to 5, and lane 2 has three of them in registers 2 to 4: elements that travel together in one lane do
not in another one. So `packing` finds no words that serve all lanes. Here each lane puts what it has for another one into
words of its own, sends them, and the other takes them apart:

>>> from layoutalg.conversion.program.steps import Shuffle
>>> from layoutalg.conversion.strategies.tables import exchange_by_table, slot_tables
>>> tables = slot_tables(Layout.parse("d0 = 8@reg 3@lane"), Layout.parse("d0 = 3@lane 8@reg"))
>>> exchange_by_table(*tables, 16).count(Shuffle), exchange_by_pair(*tables, 16).count(Shuffle)
(6, 4)

Which elements a lane puts together depends on the lane: words are selected by lane first (`choosing`), then bytes of them are
put together by byte permutes, whose selectors depend on the lane where they must.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.schedule import matchings
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.choosing import Slots, choose
from layoutalg.conversion.strategies.tables import origins
from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_STEPS, MOST_WORDS

__all__ = ["exchange_by_pair", "gathered"]


def exchange_by_pair(source: Slots, destination: Slots, element_bits: int) -> Program | None:
    """The program for a conversion that stays in its subgroups, from `tables.slot_tables`; None where it is no way to go.

    That is for elements of a word or more, and where subgroups differ in what their lanes do.

    Raises `SizeError` for more than 2^13 words or 2^16 steps.
    """
    if element_bits >= WORD:
        return None
    taken = origins(source, destination)
    if taken is None:
        return None
    (from_lane, from_register), (subgroups, _, registers) = taken, source.shape
    parts = WORD // element_bits
    found: list[Program] = []
    for by_slot in (False, True):
        sent = _Sent.of(from_lane, from_register, registers, parts, by_slot=by_slot)
        for order in ("parts", "words"):
            try:
                found.append(_program(sent, from_lane, from_register, subgroups, registers, element_bits, order))
            except SizeError:
                if by_slot and order == "words" and not found:
                    raise
    return min(found, key=lambda program: len(program.steps) + program.moves)


def _program(
    sent: _Sent, from_lane: Slots, from_register: Slots, subgroups: int, registers: int, element_bits: int, order: str
) -> Program:
    parts = WORD // element_bits
    lanes, slots = from_lane.shape
    pack = [*range(registers), *[-1] * (-registers % parts)]
    builder = Builder(subgroups, lanes, element_bits, pack, most=MOST_STEPS)
    words = gathered(builder, sent.cells, order)
    arrived = np.array([builder.shuffle(word, heard) for word, heard in zip(words, sent.heard, strict=True)], np.int64)
    cells = np.where(from_lane < 0, -1, from_register)
    moved = sent.round >= 0
    if moved.any():
        cells[moved] = arrived[sent.round[moved]] * parts + sent.part[moved]
    table = np.pad(cells, ((0, 0), (0, -slots % parts)), constant_values=-1).reshape(lanes, -1, parts)
    made = gathered(builder, table.transpose(1, 0, 2), order)
    unpack = [made[slot // parts] * parts + slot % parts for slot in range(slots)]
    return builder.program(registers, slots, unpack)


class _Sent(NamedTuple):
    """Which cells each lane sends in each round, who hears whom, and where each slot finds its element."""

    cells: Slots
    """The register in each part of the word that a lane sends (-1: any), `[round, lane, part]`."""
    heard: list[tuple[int, ...]]
    """The lane that each lane hears, by round."""
    round: Slots
    """The round that brings each slot its element (-1: none), `[lane, slot]`."""
    part: Slots
    """In which part of the word."""

    @staticmethod
    def of(from_lane: Slots, from_register: Slots, registers: int, parts: int, *, by_slot: bool) -> _Sent:
        lanes, slots = from_lane.shape
        here = np.arange(lanes, dtype=np.int64).reshape(-1, 1)
        moved = (from_lane >= 0) & (from_lane != here)
        pairs = from_lane * lanes + here
        # What moves, once for each lane that wants it; in order of the registers, or of the slots.
        keys, first, places = np.unique(
            (pairs * registers + from_register)[moved], return_index=True, return_inverse=True
        )
        slot = np.broadcast_to(np.arange(slots, dtype=np.int64), moved.shape)[moved][first]
        pair, register = np.divmod(keys, registers)
        near = slot if by_slot else register
        order = np.lexsort((near, pair))
        pair, register, near = pair[order], register[order], near[order]
        of_pair, starts, counts = np.unique(pair, return_index=True, return_counts=True)
        rank = np.arange(len(pair), dtype=np.int64) - np.repeat(starts, counts)
        words = -(-counts // parts)
        if int(words.sum()) > MOST_WORDS:
            raise SizeError(f"{int(words.sum())} words to schedule between {lanes} lanes: at most {MOST_WORDS}")
        firsts = np.cumsum(words) - words
        word = np.repeat(firsts, counts) + rank // parts
        # A part of its own for each element of a word: where it lies already, if that is a place for each.
        natural = word * parts + near % parts
        clash = np.bincount(natural, minlength=int(words.sum()) * parts).reshape(-1, parts).max(1, initial=0) > 1
        part = np.where(clash[word], rank % parts, near % parts) if len(word) else word
        edges = {divmod(one, lanes): count for one, count in zip(of_pair.tolist(), words.tolist(), strict=True)}
        schedule = matchings(lanes, edges)
        sends = np.array([one * lanes + other for several in schedule for one, other in several], np.int64)
        rounds = np.repeat(np.arange(len(schedule)), [len(several) for several in schedule])
        rounds = rounds[np.argsort(sends, kind="stable")]  # of each word
        heard = np.tile(np.arange(lanes, dtype=np.int64), (len(schedule), 1))
        sender, receiver = np.divmod(np.sort(sends), lanes)
        heard[rounds, receiver] = sender
        cells = np.full((len(schedule), lanes, parts), -1, np.int64)
        of_item = rounds[word] if len(word) else word
        cells[of_item, pair // lanes, part] = register
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        round_, in_part = np.full(moved.shape, -1, np.int64), np.zeros(moved.shape, np.int64)
        round_[moved], in_part[moved] = of_item[back][places.reshape(-1)], part[back][places.reshape(-1)]
        patterns: list[list[int]] = heard.tolist()
        return _Sent(cells, [tuple(one) for one in patterns], round_, in_part)


def gathered(builder: Builder, table: Slots, order: str = "parts") -> list[int]:
    """For each row of a table `[row, lane, part]` of cells (`word * parts + part`, -1: any), the word made of these cells.

    `order` says which of a lane's words is selected first: "parts" in the order of the parts that need them, "words" the
    lowest.

    >>> from layoutalg.conversion.program.builder import Builder
    >>> builder = Builder(1, 2, 16, pack=[0, 1, 2, 3])
    >>> gathered(builder, np.array([[[0, 2], [1, 3]]]))      # the lower halves of two words in lane 0, the upper in lane 1
    [2]
    """
    rows, lanes, parts = table.shape
    words = np.where(table < 0, -1, table // parts)
    component = _components(words) if order == "parts" else _by_number(words)
    count = int(component.max(initial=-1)) + 1
    wanted = np.full((rows, count, lanes), -1, np.int64)
    row, lane, part = np.nonzero(table >= 0)
    wanted[row, component[row, lane, part], lane] = words[row, lane, part]
    wanted = wanted.reshape(-1, lanes)
    needed = (wanted >= 0).any(1)
    of_component = np.zeros(len(wanted), np.int64)
    of_component[needed] = choose(builder, wanted[needed])
    of_component = of_component.reshape(rows, count)
    inside = np.where(table < 0, -1, table % parts)
    done = component == 0
    alone = _selectors(np.where(done, inside, -1))
    steps: list[list[tuple[int, ...]]] = []
    for other in range(1, count):
        fresh = component == other
        low = np.where(done, inside if other == 1 else np.arange(parts, dtype=np.int64), -1)
        steps.append(_selectors(np.where(fresh, inside + parts, low)))
        done |= fresh
    found: list[int] = []
    most: list[int] = component.max((1, 2), initial=-1).tolist()
    for number, (chosen, last) in enumerate(zip(of_component.tolist(), most, strict=True)):
        word = chosen[0] if last >= 0 else 0
        if last == 0:
            word = builder.permute(word, word, alone[number])
        for other in range(1, last + 1):
            word = builder.permute(word, chosen[other], steps[other - 1][number])
        found.append(word)
    return found


def _components(words: Slots) -> Slots:
    """Which of its words each part needs: a word is as far in front as the first part that needs it; -1 for none."""
    parts = words.shape[2]
    number = np.full(words.shape, -1, np.int64)
    for part in range(parts):
        one = np.full(words.shape[:2], -1, np.int64)
        for before in range(part):
            one = np.where((one < 0) & (words[..., before] == words[..., part]), number[..., before], one)
        fresh = (one < 0) & (words[..., part] >= 0)
        taken = number[..., :part].max(-1, initial=-1) + 1
        number[..., part] = np.where(fresh, taken, np.where(words[..., part] >= 0, one, -1))
    return number


def _by_number(words: Slots) -> Slots:
    """Which of its words each part needs, counted from the lowest."""
    lower = words[..., None, :] < words[..., :, None]
    lower &= words[..., None, :] >= 0
    number = np.zeros(words.shape, np.int64)
    for part in range(words.shape[2]):
        below = np.where(lower[..., part, :], words, -1)
        distinct = np.sort(below, -1)
        number[..., part] = ((distinct >= 0) & (np.diff(distinct, axis=-1, prepend=-1) != 0)).sum(-1)
    return np.where(words < 0, -1, number)


def _selectors(wanted: Slots) -> list[tuple[int, ...]]:
    """The selectors of byte permutes, a row each: the part of two words that each part is, `[row, lane, part]` (-1: any)."""
    rows, lanes, parts = wanted.shape
    size = WORD // 8 // parts
    numbers = np.arange(WORD // 8, dtype=np.int64)
    least, most = np.where(wanted < 0, 2 * parts, wanted).min(1, keepdims=True), wanted.max(1, keepdims=True)
    # Where all lanes that care want the same, the others take it, too.
    wanted = np.where(wanted >= 0, wanted, np.where(least == most, most, numbers[:parts]))
    bytes_of: Slots = (wanted[..., None] * size + numbers[:size]).reshape(rows, lanes, WORD // 8)
    selectors: Slots = (bytes_of << 4 * numbers).sum(2)
    alike: list[bool] = (selectors == selectors[:, :1]).all(1).tolist()
    found: list[list[int]] = selectors.tolist()
    return [(row[0],) if same else tuple(row) for row, same in zip(found, alike, strict=True)]
