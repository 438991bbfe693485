"""Conversions through shared memory by what an access of a chip moves: wide vectors, narrow stores, matrices.

An instruction is a fixed map: which bits of an address are which bits of the lane's and the register's numbers. A form fits a
side of a conversion where the bits of a cell's number, that are those bits there, may lie so in memory. NVIDIA's `ldmatrix`
wants the words 0 to 3 of a row of 16 bytes in the lanes whose bits 0 and 1 are so; whoever stores 16 bytes must have the same
two bits in registers. So a transpose of 32 x 32 words stores rows of four words, and lane l loads word l % 4 of row l // 4:

>>> from layoutalg.memory.machine_bits import view
>>> both = [view(Layout.parse(text)) for text in ("d0 = 32@lane, d1 = 32@reg", "d0 = 32@reg, d1 = 32@lane")]
>>> name, program = through_forms(*both, 32, "sm_80")[0]
>>> name, program.slm_bytes, len(program.steps)
('16-byte stores and loads of 8x8 matrices', 4592, 17)
>>> print(program.steps[0].address, "and", program.steps[-8].address)
36*(lane % 32) and 4*(lane % 32) + 4*(lane // 8 % 4)

Transposed matrices take the half in a row from the lane's bits 2 to 4, and its bits 0 and 1 from the number of the row; where
registers have those bits one above the other in words, byte permutes bring them there (`byte_exchange`). Bytes go in pairs, as
halves, and a permute picks one of the two. gfx950 transposes 4x4 halves among 16 lanes (`ds_read_b64_tr_b16`).

Intel's block messages move a place of each lane side by side, a register after the other. So the other side moves 32 bytes of a
lane's registers; padded lines would be no blocks. What is not in a row is placed by `padding`: lanes meet in no bank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import VECTOR, WORD, Address, Load, Store
from layoutalg.conversion.strategies.byte_exchange import merged, with_parts
from layoutalg.conversion.strategies.foreseen import Foreseen, Side, least_charges, wanted_words
from layoutalg.conversion.strategies.memory_problem import FormSide, Problem
from layoutalg.conversion.strategies.padding import Touch, placed
from layoutalg.conversion.strategies.renaming import packed, sums, unpacked
from layoutalg.conversion.strategies.through_memory import keeps_subgroups, storing, sum_factors
from layoutalg.core.banks import BANKS
from layoutalg.core.lazy import once
from layoutalg.hardware.chips import target_info
from layoutalg.hardware.shared_memory import served
from layoutalg.memory.machine_bits import Place, View

__all__ = ["forms_of", "through_forms"]

MOST_BYTES = 1 << 20
"""The bytes of shared memory where nothing is said: more than any chip has."""
_ROW_BITS, _MATRIX_BITS = 3, 2
"""The bits of a row's number in a matrix, and of a matrix's number in an instruction."""
_BLOCK_BITS = 3
"""The bits of a register's number in a block message, at most: 8 words; of narrower places there are 16."""


def through_forms(
    source: View,
    destination: View,
    element_bits: int,
    target: str,
    limit: int | None = None,
    most: int = MOST_BYTES,
    *,
    blocks: bool = True,
    everyone: bool = False,
) -> list[tuple[str, Program]]:
    """The ways of `forms_of`, made: those that differ, and need no more than `most` bytes."""
    found: list[tuple[str, Program]] = []
    for name, make in forms_of(source, destination, element_bits, target, limit, blocks=blocks, everyone=everyone):
        program = make()
        if program.slm_bytes <= most and all(program != other for _, other in found):
            found.append((name, program))
    return found


def forms_of(
    source: View,
    destination: View,
    element_bits: int,
    target: str,
    limit: int | None = None,
    *,
    blocks: bool = True,
    everyone: bool = False,
) -> list[tuple[str, _Form]]:
    """The ways by the accesses that a chip has, each with its name and what makes it; none where no form fits.

    Without `blocks` Intel's block messages are none of them: only its graphics compiler knows their names.
    Elements go in as many rounds as fit into `limit` bytes, without what padding adds to them. Two may make the same program.
    `everyone` stores, or of those that hold the same, one (see `through_memory.storing`).
    """
    problem = Problem.of(source, destination, element_bits, target)
    return [
        (name, _Form(problem, chunk, first, second, limit, everyone))
        for name, chunk, first, second in _forms(problem, blocks, everyone=everyone)
    ]


def _forms(problem: Problem, blocks: bool, *, everyone: bool) -> list[tuple[str, tuple[int, ...], FormSide, FormSide]]:
    """What fits: a name, the bits of an address in a chunk, low ones first, and how each side accesses it."""
    chip = target_info(problem.target)
    found: list[tuple[str, tuple[int, ...], FormSide, FormSide]] = []
    widths = problem.source.widths["lane"], problem.destination.widths["lane"]
    if chip.vendor == "nvidia" and widths == (5, 5):
        for chunk, loads in _matrices(problem, after=True):
            stores = _vectors(problem, chunk, after=False)
            if problem.moves_words(stores):
                name = f"{_width(problem, stores)} stores and loads of 8x8 matrices"
                found.append((name, chunk, stores, loads))
        if chip.name == "sm_90" and (everyone or storing(problem.source) is None):  # all lanes of a matrix store
            for chunk, stores in _matrices(problem, after=False):
                loads = _vectors(problem, chunk, after=True)
                if not stores.picked and problem.moves_words(loads):
                    name = f"stores of 8x8 matrices and {_width(problem, loads)} loads"
                    found.append((name, chunk, stores, loads))
            for chunk, loads in _matrices(problem, after=True):
                stores = _rows_stored(problem, chunk)
                if stores is not None:
                    found.append(("stores and loads of 8x8 matrices", chunk, stores, loads))
    if chip.name == "gfx950" and widths == (6, 6):
        for chunk, loads in _blocks(problem):
            stores = _vectors(problem, chunk, after=False)
            if problem.moves_words(stores):
                found.append((f"{_width(problem, stores)} stores and loads of transposed blocks", chunk, stores, loads))
    for chunk in _chunks(problem):
        stores, loads = (_vectors(problem, chunk, after=after) for after in (False, True))
        found.append((f"{_width(problem, stores)} stores and {_width(problem, loads)} loads", chunk, stores, loads))
    if blocks and chip.has_dpas and chip.subgroup_size == 16 and widths == (4, 4):
        found += _blocks_on_both_sides(problem)
        for after in (True, False):
            lines = _lines_of_lanes(problem, after=after)
            for chunk, wide in lines:
                own = _vectors(problem, chunk, after=not after)
                if problem.moves_words(own):
                    block = f"{'' if chunk is lines[0][0] else 'padded '}block"
                    if after:
                        found.append((f"{_width(problem, own)} stores and {block} loads", chunk, own, wide))
                    else:
                        found.append((f"{block} stores and {_width(problem, own)} loads", chunk, wide, own))
    return found


def _width(problem: Problem, side: FormSide) -> str:
    """The bytes of an access, as an adjective."""
    return f"{problem.unit(side) // 8 << len(side.vector)}-byte"


def _matrices(problem: Problem, *, after: bool) -> list[tuple[tuple[int, ...], FormSide]]:
    """The chunks of 16 bytes that rows of 8x8 matrices may be, and how they are accessed."""
    registers, within = problem.registers(after), problem.within
    lanes = problem.lanes(after)
    found: list[tuple[tuple[int, ...], FormSide]] = []
    parts = tuple(registers[:within])
    others = registers[within:]
    if len(parts) == within and -1 not in lanes[:2]:
        vector = tuple(_matrix_bits(problem, others))
        found.append(((*parts, *lanes[:2]), FormSide(parts, vector, (*lanes[2:], *vector), "rows")))
    if problem.bits == 16 and len(parts) == within and -1 not in lanes[2:]:
        vector = tuple(_matrix_bits(problem, others))
        found.append((lanes[2:], FormSide(parts, vector, (*parts, *lanes[:2], *vector), "columns")))
    if problem.bits == 8 and len(parts) == within and -1 not in lanes[2:]:
        half, coming = parts
        for bit in range(2):
            if lanes[bit] >= 0:
                vector = tuple([coming, *_matrix_bits(problem, others)][:_MATRIX_BITS])
                rows = [half, *[-1 if i == bit else lanes[i] for i in range(2)], *vector]
                picked = half, coming, bit
                found.append(((lanes[bit], *lanes[2:]), FormSide(parts, vector, tuple(rows), "columns", picked)))
    return found


def _rows_stored(problem: Problem, chunk: Sequence[int]) -> FormSide | None:
    """The stores of matrices whose rows are chunks that loads of matrices take: in them, lane bits 0 and 1 tell words apart."""
    lanes, registers, within = problem.lanes(False), problem.registers(False), problem.within
    parts = tuple(chunk[:within])
    if lanes[:2] != tuple(chunk[within:]) or not set(parts) <= set(registers):
        return None
    vector = tuple(_matrix_bits(problem, [bit for bit in registers if bit not in parts]))
    return FormSide(parts, vector, (*lanes[2:], *vector), "rows")


def _blocks(problem: Problem) -> list[tuple[tuple[int, ...], FormSide]]:
    """The chunks whose 8 bytes 16 lanes take as transposed blocks of 4x4 halves: of 8 bytes, or of 16 for wider stores."""
    lanes, registers = problem.lanes(True), problem.registers(True)
    if problem.bits != 16 or -1 in lanes[:2] or len(registers) < 2:
        return []
    loads = FormSide((registers[0],), (registers[1],), (*lanes[2:4], *registers[:2], *lanes[4:]), "halves")
    wider = [bit for bit in problem.registers(False) if bit not in lanes[:2]]
    return [(one, loads) for one in (lanes[:2], *[(*lanes[:2], bit) for bit in wider[:1]])]


def _lines_of_lanes(problem: Problem, *, after: bool) -> list[tuple[tuple[int, ...], FormSide]]:
    """The chunks that a block message moves: a place for each lane, side by side, and so for a few registers.

    As many registers as there may be, and those that fill all banks once, behind which there may be padding.
    """
    lanes, registers = problem.lanes(after), problem.registers(after)
    if -1 in lanes or (not after and storing(problem.source) is not None):
        return []
    most = _BLOCK_BITS + (problem.bits < WORD)
    filling = (BANKS * WORD // problem.bits).bit_length() - 1 - len(lanes)
    sides = [FormSide((), tuple(registers[:count]), (), "block") for count in (most, filling)]
    return [((*lanes, *side.vector), side) for side in dict.fromkeys(sides)]


def _blocks_on_both_sides(problem: Problem) -> list[tuple[str, tuple[int, ...], FormSide, FormSide]]:
    """Where the lanes of both sides are the same bits: what is in registers on both sides goes in one message, by words."""
    lanes, stored = problem.lanes(True), problem.registers(False)
    if problem.bits < WORD or -1 in lanes or lanes != problem.lanes(False) or storing(problem.source) is not None:
        return []
    vector = tuple([bit for bit in problem.registers(True) if bit in stored][:_BLOCK_BITS])
    side = FormSide((), vector, (), "block")
    return [("block stores and block loads", (*lanes, *vector), side, side)]


def _matrix_bits(problem: Problem, registers: Sequence[int]) -> list[int]:
    """The bits that tell the matrices of an instruction apart: of a register's number, the low ones."""
    return list(registers[:_MATRIX_BITS])


def _vectors(problem: Problem, chunk: Sequence[int], *, after: bool) -> FormSide:
    """The widest accesses of a side to chunks of these bits: of words, or of what of a word is in registers."""
    registers = set(problem.registers(after))
    wide = next((i for i, bit in enumerate(chunk) if bit not in registers), len(chunk))
    words = min(wide, problem.most)
    within = min(words, problem.within)
    return FormSide(tuple(chunk[:within]), tuple(chunk[within:words]))


def _chunks(problem: Problem) -> list[tuple[int, ...]]:
    """Chunks of up to the widest access of what a side has in registers, low bits first: in words of both sides, or of one."""
    within, most = problem.within, problem.most
    stored, loaded = (problem.registers(after) for after in (False, True))
    found: list[tuple[int, ...]] = []
    for own, other in ((loaded, stored), (stored, loaded)):
        common = [bit for bit in own if bit in other]
        if len(common) >= within:
            words = common[:within]
            found.append(tuple([*words, *[bit for bit in (*common, *own) if bit not in words]][: len(own)]))
            if (
                most > within + VECTOR.bit_length() - 1 and len(common) > within
            ):  # words of 32 bytes may lie out of order
                found.append(tuple(dict.fromkeys(found[-1]))[: most - 1])
        found.append(tuple(own))
    whole = [tuple(dict.fromkeys(one))[:most] for one in found]
    shorter = [one[:-1] for one in whole if len(one) == most] if target_info(problem.target).vendor == "amd" else []
    return list(dict.fromkeys([*whole, *shorter]))  # AMD's chips load twice 8 bytes at once


@dataclass(frozen=True, slots=True)
class _Form:
    """A form that fits: what makes its program, and what is known of that before."""

    problem: Problem
    chunk: tuple[int, ...]
    stores: FormSide
    loads: FormSide
    limit: int | None
    everyone: bool
    kept: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    def rounds(self) -> list[int]:
        """The bits that tell rounds apart, as many as a limit of memory makes necessary, and registers allow."""
        problem, stores, loads = self.problem, self.stores, self.loads
        if self.limit is None or problem.bits // 8 << len(problem.before) <= self.limit:
            return []
        moved = {*self.chunk, *stores.vector, *loads.vector, *stores.parts, *loads.parts, *stores.rows, *loads.rows}
        count, bits = len(problem.before), problem.bits
        both = [bit for bit in problem.registers(True) if problem.before[bit][0] == "reg" and bit not in moved]
        rounds: list[int] = []
        while bits // 8 << count - len(rounds) > self.limit and both:
            rounds.append(both.pop())
        return rounds

    def least(self) -> Foreseen:
        """What is known without a place for anything."""
        return Foreseen(once(self.kept, "charges", self._charges), cycles=self._meeting())

    def _meeting(self) -> float:
        """The cycles of all accesses, at least, where a chunk has lanes meet in banks; 0 where it has not."""
        problem, cell = self.problem, self.problem.bits // 8
        if cell << len(self.chunk) <= BANKS * WORD // 8 or -1 in (*problem.lanes(False), *problem.lanes(True)):
            return 0
        found, met = 0.0, False
        for after, side in ((False, self.stores), (True, self.loads)):
            lanes = problem.lanes(after)
            size = problem.unit(side) // 8 << len(side.vector)
            by = served(problem.target, size, 1 << len(lanes), reading=after)
            passed = (cell << len(problem.registers(after)) + len(lanes)) / (by.banks * WORD // 8)
            if not side.matrix and not by.order:
                together = by.together(size).bit_length() - 1
                meeting = self.chunk[(by.banks * WORD // 8 // cell).bit_length() - 1 :]
                count = sum([bit in meeting for bit in lanes[:together]])
                met |= count > 0
                passed *= 1 << count
            found += passed
        return found if met else 0

    def _charges(self) -> dict[str, int]:
        sides = [_foreseen(self.problem, side, after=bool(i)) for i, side in enumerate((self.stores, self.loads))]
        lanes = 1 << self.problem.destination.widths["lane"]
        return least_charges(sides[0], sides[1], 1 << len(self.rounds()), self.problem.waiting, lanes)

    def placed(self) -> Foreseen:
        """What is known with the places of chunks: the accesses too."""
        _, _, writing, reading = self._accesses()
        where = None if self.everyone else storing(self.problem.source)
        stores = writing.alike(partial(Store, where=where, bits=writing.unit, matrix=self.stores.matrix))
        loads = reading.alike(partial(Load, bits=reading.unit, matrix=self.loads.matrix))
        return Foreseen(once(self.kept, "charges", self._charges), (*stores, *loads))

    def _accesses(self) -> tuple[list[int], int, _Access, _Access]:
        """The bits that tell rounds apart, the bytes of memory, and the accesses of both sides."""
        return once(self.kept, "accesses", lambda: _accesses_of(self))

    def __call__(self) -> Program:
        problem, stores, loads = self.problem, self.stores, self.loads
        rounds, size, writing, reading = self._accesses()
        scope = "subgroup" if keeps_subgroups(problem.source, problem.destination) else "workgroup"
        builder, words = _packed(problem, stores)
        where = None if self.everyone else storing(problem.source)
        arrived: dict[int, int] = {}
        for number in range(1 << len(rounds)):
            if number:
                builder.barrier(scope)
            for register, address in writing.all(number):
                stored = [words[register + step] for step in writing.steps]
                builder.store(stored, address, where, writing.unit, stores.matrix)
            builder.barrier(scope)
            for register, address in reading.all(number):
                loaded = builder.load(len(reading.steps), address, reading.unit, loads.matrix)
                arrived |= {register + step: word for step, word in zip(reading.steps, loaded, strict=True)}
        unpack = _unpacked(problem, loads, builder, arrived)
        registers = 1 << problem.source.widths["reg"], 1 << problem.destination.widths["reg"]
        return builder.program(*registers, unpack, slm_bytes=size)


def _accesses_of(form: _Form) -> tuple[list[int], int, _Access, _Access]:
    problem, chunk, rounds = form.problem, form.chunk, form.rounds()
    sides = form.stores, form.loads
    upper = [bit for bit in range(len(problem.before)) if bit not in chunk and bit not in rounds]
    touched = [_touch(problem, side, upper, after=bool(i)) for i, side in enumerate(sides)]
    if not target_info(problem.target).has_dpas:
        touched = [one._replace(groups=problem.subgroups(bool(i))) for i, one in enumerate(touched)]
    orders = [sorted(upper, key=lambda bit: _rank(side[bit])) for side in (problem.after, problem.before)]
    amd = target_info(problem.target).vendor == "amd"
    joined, copied = _joined(problem, form.loads, upper) if amd else ([], 0)
    place = placed(chunk, upper, problem.bits, touched, orders, amd, joined, copied)
    writing, reading = (_Access(problem, side, place.weights, rounds, after=bool(i)) for i, side in enumerate(sides))
    return rounds, -(-place.size // 16) * 16, writing, reading


def _foreseen(problem: Problem, side: FormSide, *, after: bool) -> Side:
    """The accesses of a side, counted."""
    inside = {side.picked[0]} if side.picked else set(side.parts)
    registers, within = problem.registers(after), problem.within
    apart = [bit for bit in registers if bit not in inside and bit not in side.vector]
    unit, words = problem.unit(side), 1 << len(side.vector)
    found = Side(1 << len(apart), words, unit, side.matrix)
    if not after:
        whole = within == 0 and list(side.vector) != registers[: len(side.vector)]
        low = sum([problem.before[bit][1] < within for bit in registers if bit not in side.parts])
        units = 1 << len(registers) - len(side.parts)
        together = side.parts == tuple(registers[: len(side.parts)])
        upper = units - (units >> low) if unit < WORD and together else 0
        return found._replace(copied=words if whole else 0, upper=upper)
    own, parts, vector = ([problem.after[bit][1] for bit in bits] for bits in (registers, side.parts, side.vector))
    cells = 1 << problem.destination.widths["reg"] + problem.wide
    if unit < WORD:
        return found._replace(joined=cells >> within if not parts and own[:within] == [*range(within)] else 0)
    return found if side.picked else wanted_words(found, parts, vector, within, cells)


def _joined(problem: Problem, loads: FormSide, upper: Sequence[int]) -> tuple[list[int], int]:
    """The bits that tell loads apart which AMD's chips join two and two, and the words that are copied elsewhere."""
    words = 1 << len(loads.vector)
    apart = [bit for bit in problem.registers(True) if bit not in (*loads.parts, *loads.vector)]
    if loads.matrix or words > VECTOR // 2 or not problem.moves_words(loads):
        return [], 0
    joined = [bit for bit in apart if bit in upper]
    return (joined, words << len(apart) - 1) if len(joined) > 1 and joined[0] == apart[0] else ([], 0)


def _rank(place: Place) -> tuple[int, int]:
    return ("lane", "reg", "sg").index(place[0]), place[1]


def _touch(problem: Problem, side: FormSide, upper: Sequence[int], *, after: bool) -> Touch:
    """What the accesses of a side touch in one subgroup and round."""
    own = [bit for bit in problem.registers(after) if bit in upper]
    if side.matrix == "halves":
        apart = [bit for bit in problem.registers(after) if bit not in side.rows]
        return Touch(8, 1 << len(apart), side.rows, 64, served(problem.target, 8, 64, reading=True))
    if side.matrix == "block":  # in a line, all at once
        lanes, size = problem.lanes(after), problem.bits // 8
        count = 1 << len(problem.registers(after))
        return Touch(size, count, lanes, 1 << len(lanes), served(problem.target, size, 1 << len(lanes), reading=after))
    if side.matrix:
        taking = 1 << _ROW_BITS + len(side.vector)
        apart = [bit for bit in own if bit not in side.rows]
        return Touch(16, 1 << len(apart), side.rows, taking, served(problem.target, 16, taking, reading=after))
    lanes = problem.lanes(after)
    size = problem.unit(side) // 8 << len(side.vector)
    apart = [bit for bit in problem.registers(after) if bit in upper or bit not in (*side.parts, *side.vector)]
    return Touch(
        size, 1 << len(apart), lanes, 1 << len(lanes), served(problem.target, size, 1 << len(lanes), reading=after)
    )


class _Access:
    """The accesses of one side, round by round."""

    def __init__(
        self, problem: Problem, side: FormSide, weights: dict[int, int], rounds: Sequence[int], *, after: bool
    ) -> None:
        view, places = (problem.destination, problem.after) if after else (problem.source, problem.before)
        self.unit = problem.unit(side)
        own = [bit for bit in problem.registers(after) if bit not in rounds]
        inside = set(side.parts)
        if side.picked:  # words of halves: the bits of a byte in a word are told apart by words
            inside = {side.picked[0]}
        self.steps = sums([1 << places[bit][1] for bit in side.vector])
        apart = [bit for bit in own if bit not in inside and bit not in side.vector]
        self._apart = [(1 << places[bit][1], self._scaled(weights[bit])) for bit in apart]
        self._rounds = sums([1 << places[bit][1] for bit in rounds])
        lanes = side.rows if side.matrix else problem.lanes(after)  # a block's address is the same for all
        terms = [0 if bit < 0 else self._scaled(weights[bit]) for bit in lanes]
        terms += [0] * (view.widths["lane"] - len(terms))
        subgroups = [0] * view.widths["sg"]
        for bit, (axis, number) in enumerate(places):
            if axis == "sg":
                subgroups[number] = self._scaled(weights[bit])
        self._at = Address(factors=(*sum_factors("lane", terms), *sum_factors("sg", subgroups)))

    def _scaled(self, distance: int) -> int:
        return distance * 8 // self.unit

    def all(self, number: int) -> list[tuple[int, Address]]:
        """The first register of each access of a round, without the bits inside a word, and its address."""
        start, based = self._rounds[number], self._at.based
        registers, places = ([one[i] for one in self._apart] for i in range(2))
        return [(start + register, based(at)) for register, at in zip(sums(registers), sums(places), strict=True)]

    def alike(self, step: Callable[[tuple[int, ...], Address], Store | Load]) -> list[tuple[Store | Load, int]]:
        """One access of each kind, made from words and an address, and how many there are: they differ inside a word alone."""
        words = tuple(range(len(self.steps)))
        inside = WORD // self.unit
        counts = Counter([at % inside for at in sums([place for _, place in self._apart])])
        rounds = len(self._rounds)
        return [(step(words, self._at.based(at)), count * rounds) for at, count in counts.items()]


def _packed(problem: Problem, side: FormSide) -> tuple[Builder, dict[int, int]]:
    """A builder and its words, by the numbers of registers without the bits inside a word, which are as a side wants them."""
    places, within, parts = problem.before, problem.within, WORD // problem.bits
    registers = [places[bit][1] for bit in problem.registers(False)]
    want = [places[bit][1] for bit in side.parts]
    have = list(range(within)) if len(want) == within and set(range(within)) <= set(registers) else want
    apart = [bit for bit in registers if bit not in have]
    pack = packed(apart, have, parts)
    counts = 1 << problem.destination.widths["sg"], 1 << problem.destination.widths["lane"]
    builder = Builder(*counts, problem.element_bits, pack)
    words = {key: word for word, key in enumerate(sums([1 << bit for bit in apart]))}
    return builder, with_parts(builder, words, have, want, problem.bits)


def _unpacked(problem: Problem, side: FormSide, builder: Builder, words: dict[int, int]) -> list[int]:
    """Where the cells of the destination are in words that came, perhaps after byte permutes."""
    places, within = problem.after, problem.within
    registers = [places[bit][1] for bit in problem.registers(True)]
    have = [places[bit][1] for bit in side.parts]
    want = have
    if side.picked:
        half, coming = (places[bit][1] for bit in side.picked[:2])
        words = merged(builder, words, half, coming, have, side.picked[2])
    elif len(have) == within and set(range(within)) <= set(registers):
        want = list(range(within))
        words = with_parts(builder, words, have, want, problem.bits)
    apart = [bit for bit in registers if bit not in want]
    found = [words[key] for key in sums([1 << bit for bit in apart])]
    return unpacked(found, apart, want, WORD // problem.bits, problem.destination.widths["reg"] + problem.wide)
