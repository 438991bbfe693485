"""The builder: every strategy makes its program with one, which numbers the words and keeps only the steps that are needed.

A word is exchanged with the neighbouring lane, and then only the upper lane's select is asked for:

>>> builder = Builder(subgroups=1, lanes=2, element_bits=32, pack=[0])
>>> arrived = builder.shuffle(0, (1, 0))
>>> idle, chosen = builder.select(0, arrived, "lane", 0b01), builder.select(arrived, 0, "lane", 0b10)
>>> for step in builder.program(1, 1, unpack=[chosen]).steps:
...     print(step)
Shuffle(to=1, word=0, lanes=(1, 0), sg=(), others=())
Select(to=2, on=1, off=0, axis='lane', mask=2)

The words that `pack` makes are the first ones, from 0 on. Selects, shuffles and byte permutes that nothing needs are
left out of the program, and the words numbered anew; stores, loads and barriers stay where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import compress, count, repeat
from operator import eq

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import (
    NEW,
    WORD,
    Address,
    Barrier,
    LaneSwap,
    Load,
    Permute,
    Regions,
    Select,
    Shuffle,
    Step,
    Store,
)
from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_STEPS

__all__ = ["Builder"]

_WHOLE = 0x3210, 0x7654
"""The selectors of the words themselves."""
_SELECT: Callable[[Iterable[object]], Select] = partial(NEW, Select)


class Builder:
    """A program while it is made, for `subgroups` of `lanes`; `pack` says which source cells its first words hold.

    Raises `SizeError` when it gets more than `most` steps.
    """

    def __init__(
        self, subgroups: int, lanes: int, element_bits: int, pack: Sequence[int], *, most: int = 16 * MOST_STEPS
    ) -> None:
        self.subgroups, self.lanes, self.element_bits, self.pack = subgroups, lanes, element_bits, tuple(pack)
        self.parts = max(WORD // element_bits, 1)
        self.most = most
        self.given = given = len(self.pack) // self.parts
        # For each word what it reads (itself: nothing), and its select's mask: ~mask by subgroup, 0 for other steps.
        self._on, self._off, self._asked = list(range(given)), list(range(given)), [0] * given
        self._moved: dict[int, Shuffle | Permute] = {}
        self._masks: set[int] = set()
        self._alike: list[int] = []
        """Selects of which a side is a select by the same mask."""
        self._accesses: list[tuple[int, Store | Load | Barrier | Regions | LaneSwap]] = []
        """Each with the number of words that are there before it."""

    @property
    def next_word(self) -> int:
        """The number of the word that is made next."""
        return len(self._on)

    def select(self, on: int, off: int, axis: str, mask: int) -> int:
        """The word that is `on` where the mask says so, else `off`: a new one where that makes a difference."""
        if on == off or not mask:
            return off
        return self._made(on, off, mask if axis == "lane" else ~mask)

    def select_all(self, on: Sequence[int], off: Sequence[int], mask: int) -> list[int]:
        """Many selects by lane at once; -1 in `off` stands for no word."""
        if not mask or -1 in off or any(map(eq, on, off)):
            pairs = zip(on, off, strict=True)
            return [two if two < 0 else self.select(one, two, "lane", mask) for one, two in pairs]
        first = len(self._on)
        if mask in self._masks:
            asked = self._asked
            self._alike += [
                first + i for i, (x, y) in enumerate(zip(on, off, strict=True)) if mask in (asked[x], asked[y])
            ]
        self._masks.add(mask)
        self._on += on
        self._off += off
        self._asked += [mask] * len(on)
        self._checked()
        return list(range(first, len(self._on)))

    def shuffle(
        self,
        word: int,
        lanes: tuple[int, ...],
        sg: tuple[int, ...] = (),
        others: tuple[tuple[int, tuple[int, ...]], ...] = (),
    ) -> int:
        """The word of other lanes (see `Shuffle`)."""
        made = self._made(word, word, 0)
        self._moved[made] = NEW(Shuffle, (made, word, lanes, sg, others))
        return made

    def permute(self, low: int, high: int, selectors: tuple[int, ...]) -> int:
        """The word put together from bytes of two words (see `Permute`); the word itself where that is one of them."""
        if selectors[0] in _WHOLE and selectors.count(selectors[0]) == len(selectors):
            return low if selectors[0] == _WHOLE[0] else high
        made = self._made(low, high, 0)
        self._moved[made] = NEW(Permute, (made, low, high, selectors))
        return made

    def store(
        self,
        words: Iterable[int],
        address: Address,
        where: tuple[int, ...] | None = None,
        bits: int = WORD,
        matrix: str = "",
    ) -> None:
        """Write words to shared memory (see `Store`)."""
        self._accesses.append((len(self._on), Store(tuple(words), address, where, bits, matrix)))

    def load(self, count: int, address: Address, bits: int = WORD, matrix: str = "") -> list[int]:
        """New words from consecutive places of shared memory (see `Load`)."""
        first = len(self._on)
        words = list(range(first, first + count))
        self._on += words
        self._off += words
        self._asked += [0] * count
        self._checked()
        self._accesses.append((first, Load(tuple(words), address, bits, matrix)))
        return words

    def barrier(self, scope: str = "workgroup") -> None:
        """Wait for all subgroups, or for the lanes of this one (see `Barrier`)."""
        self._accesses.append((len(self._on), Barrier(scope)))

    def regions(self, step: Regions) -> list[int]:
        """The new words of a step of region moves (see `Regions`), whatever it calls them.

        >>> Builder(1, 16, 32, pack=[0, 1]).regions(Regions((9,), (0,), 64, (), ()))
        [2]
        """
        first = len(self._on)
        words = list(range(first, first + len(step.to)))
        self._on += words
        self._off += words
        self._asked += [0] * len(words)
        self._checked()
        self._accesses.append((first, step._replace(to=tuple(words))))
        return words

    def lane_swap(self, one: int, other: int, bit: int) -> tuple[int, int]:
        """The two words that change places with a bit of the lane's number (see `LaneSwap`).

        >>> Builder(1, 64, 32, pack=[0, 1]).lane_swap(0, 1, 5)
        (2, 3)
        """
        first = len(self._on)
        words = first, first + 1
        self._on += words
        self._off += words
        self._asked += [0, 0]
        self._checked()
        self._accesses.append((first, LaneSwap(words, (one, other), bit)))
        return words

    def repeat(self, steps: Iterable[Step], names: list[int], offset: int) -> None:
        """Add the steps of another program, `offset` bytes further on in shared memory; `names[w]` is its word w here.

        The words that its steps make are added to `names`.
        """
        for step in steps:
            match step:
                case Select(_, on, off, axis, mask):
                    names.append(self._made(names[on], names[off], mask if axis == "lane" else ~mask))
                case Shuffle(_, word, lanes, sg, others):
                    names.append(self.shuffle(names[word], lanes, sg, others))
                case Permute(_, low, high, selectors):
                    names.append(self.permute(names[low], names[high], selectors))
                case Store(words, address, where, bits, matrix):
                    there = address.based(address.base + offset * 8 // bits)
                    self.store([names[word] for word in words], there, where, bits, matrix)
                case Load(to, address, bits, matrix):
                    names += self.load(len(to), address.based(address.base + offset * 8 // bits), bits, matrix)
                case Barrier(scope):
                    self.barrier(scope)
                case LaneSwap(_, (one, other), bit):
                    names += self.lane_swap(names[one], names[other], bit)
                case Regions():
                    names += self.regions(step._replace(words=tuple([names[word] for word in step.words])))

    def program(self, source_registers: int, registers: int, unpack: Sequence[int], slm_bytes: int = 0) -> Program:
        """The program whose result `unpack` takes from the words: `word * parts + part` for each cell, -1 for none.

        A select between selects by the same mask needs only the side of each that it can see.
        """
        return self.named_program(source_registers, registers, unpack, self.named(unpack), slm_bytes)

    def named(self, unpack: Sequence[int]) -> list[int]:
        """What each word is called in the program of such a result, which is then known but for its steps; -1: left out.

        >>> Builder(1, 2, 32, pack=[0, 1]).named([1])
        [0, 1]
        """
        self._see_through()
        return self._names(unpack)

    def named_program(
        self, source_registers: int, registers: int, unpack: Sequence[int], names: list[int], slm_bytes: int = 0
    ) -> Program:
        """The program whose words are called so, by `named`.

        >>> Builder(1, 2, 32, pack=[0, 1]).named_program(2, 1, [1], [0, 1]).unpack
        (1,)
        """
        parts = self.parts
        return Program(
            self.subgroups,
            self.lanes,
            self.element_bits,
            source_registers,
            registers,
            self.pack,
            tuple(self._steps(names)),
            tuple([-1 if place < 0 else names[place // parts] * parts + place % parts for place in unpack]),
            slm_bytes,
        )

    def counts(self, names: Sequence[int]) -> tuple[int, int]:
        """The shuffles, and the selects by lane, among the words that are called something.

        >>> builder = Builder(1, 2, 32, pack=[0, 1])
        >>> arrived = builder.shuffle(builder.select(0, 1, "lane", 0b10), (1, 0))
        >>> builder.counts([0, 1, 2, 3]), builder.counts([0, 1, 2, -1])
        ((1, 1), (0, 1))
        """
        shuffles = sum([names[word] >= 0 and isinstance(step, Shuffle) for word, step in self._moved.items()])
        return shuffles, sum([asked > 0 <= name for asked, name in zip(self._asked, names, strict=True)])

    def _made(self, on: int, off: int, asked: int) -> int:
        made, asks = len(self._on), self._asked
        if asked:
            if asked in self._masks and asked in (asks[on], asks[off]):
                self._alike.append(made)
            self._masks.add(asked)
        self._on.append(on)
        self._off.append(off)
        asks.append(asked)
        if made >= self.most + self.given:
            self._checked()
        return made

    def _checked(self) -> None:
        if len(self._on) - self.given > self.most:
            raise SizeError(
                f"a conversion of more than {self.most} steps: convert a smaller part of the tensor at a time"
            )

    def _see_through(self) -> None:
        on, off, asked = self._on, self._off, self._asked
        for word in self._alike:
            if asked[on[word]] == asked[word]:
                on[word] = on[on[word]]
            if asked[off[word]] == asked[word]:
                off[word] = off[off[word]]

    def _names(self, unpack: Sequence[int]) -> list[int]:
        """What each word is called in the program, where only those are that something needs (-1: it is left out)."""
        on, off, given, parts = self._on, self._off, self.given, self.parts
        words = len(on)
        wanted = {place // parts for place in unpack if place >= 0}
        for _, step in self._accesses:
            wanted.update(() if isinstance(step, Barrier) else step[0])
            wanted.update(step.words if isinstance(step, (Regions, LaneSwap)) else ())
        used = wanted.union(on[given:], off[given:])
        unused = [word for word in range(given, words) if word not in used]
        if not unused:
            return list(range(words))
        uses = Counter([*on[given:], *off[given:], *wanted])
        left_out = set(unused)
        while unused:
            word = unused.pop()
            for read in (on[word], off[word]):
                uses[read] -= 1
                if not uses[read] and read >= given:
                    left_out.add(read)
                    unused.append(read)
        numbers = count()
        return [-1 if word in left_out else next(numbers) for word in range(words)]

    def _steps(self, names: list[int]) -> list[Step]:
        found: list[Step] = []
        first = self.given
        same = not names or names[-1] == len(names) - 1  # none is left out: every word is called what it is
        for before, access in self._accesses:
            if first < before:
                self._add_made(found, first, before, names)
            first = before
            if same:
                found.append(access)
                first += len(access.to) if isinstance(access, (Load, Regions, LaneSwap)) else 0
                continue
            match access:
                case Store(words):
                    found.append(access._replace(words=tuple([names[word] for word in words])))
                case Load(to):
                    found.append(access._replace(to=tuple([names[word] for word in to])))
                    first += len(to)
                case Regions(to, words):
                    made = tuple([names[word] for word in to])
                    found.append(access._replace(to=made, words=tuple([names[word] for word in words])))
                    first += len(to)
                case LaneSwap(to, (one, other)):
                    found.append(access._replace(to=(names[to[0]], names[to[1]]), words=(names[one], names[other])))
                    first += len(to)
                case Barrier():
                    found.append(access)
        if first < len(names):
            self._add_made(found, first, len(names), names)
        return found

    def _add_made(self, found: list[Step], first: int, end: int, names: list[int]) -> None:
        """The steps that make the words of a range: first all as selects by lane, which most of them are."""
        called = names[first:end]
        kept = list(map((0).__le__, called))
        on = map(names.__getitem__, compress(self._on[first:end], kept))
        off = map(names.__getitem__, compress(self._off[first:end], kept))
        asked = list(compress(self._asked[first:end], kept))
        start = len(found)
        found += map(_SELECT, zip(compress(called, kept), on, off, repeat("lane"), asked, strict=False))
        others = [(i, mask) for i, mask in enumerate(asked, start) if mask <= 0]
        if not others:
            return
        words = list(compress(range(first, end), kept))
        for i, mask in others:
            word = words[i - start]
            to, one, two = names[word], names[self._on[word]], names[self._off[word]]
            if mask:
                found[i] = NEW(Select, (to, one, two, "sg", ~mask))
            elif isinstance(step := self._moved[word], Shuffle):
                found[i] = NEW(Shuffle, (to, one, *step[2:]))
            else:
                found[i] = NEW(Permute, (to, one, two, step.selectors))
