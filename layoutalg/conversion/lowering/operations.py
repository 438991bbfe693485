"""The steps of a conversion as operations: from vectors of a source fragment to vectors of the destination fragment.

A fragment of 6 elements of 16 bits comes as `vector<4xi16>` and `vector<2xi16>`. Where the program's words are the elements
as they lie there, two and two, they are those vectors seen as `vector<2xi32>` and `vector<1xi32>`; other words are put together
from single elements. At the end it is the other way round.

>>> from layoutalg.conversion.lowering.fragment_vectors import vector_sizes
>>> vector_sizes(6), vector_sizes(24)
([4, 2], [16, 8])

The law: what is written does what `Program.run` does, one operation for each select, shuffle and barrier; byte permutes and
moves between register regions are written as each chip has them (`permutes`, `visa`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby

from layoutalg.conversion.lowering.barriers import write_barrier
from layoutalg.conversion.lowering.cluster_memory import ClusterPointers
from layoutalg.conversion.lowering.fragment_vectors import (
    bitcast,
    element_at,
    length,
    together,
    vector_of,
    vector_sizes,
)
from layoutalg.conversion.lowering.indices import FIXED_WIDTH, Indices, named
from layoutalg.conversion.lowering.number_maps import linear_terms
from layoutalg.conversion.lowering.permutes import BYTES, joined_bytes, permuted
from layoutalg.conversion.lowering.rows import moved_by_dpp, swapped_lanes
from layoutalg.conversion.lowering.shared_memory import Memory, Place, Pointers, Views
from layoutalg.conversion.lowering.visa import assembly
from layoutalg.conversion.lowering.writer import Value, typed
from layoutalg.conversion.program.dpp import dpp_control
from layoutalg.conversion.program.liveness import Liveness, liveness_of_chain
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import (
    WORD,
    Address,
    Barrier,
    LaneSwap,
    Load,
    Permute,
    Regions,
    Select,
    Shuffle,
    Store,
)
from layoutalg.core.errors import ConversionError

__all__ = ["write_chain"]


def write_chain(
    chain: Sequence[Program],
    shared: Value | None,
    indices: Indices,
    source: Sequence[Value],
    sizes: Sequence[int],
    *,
    calls: bool = False,
) -> list[Value]:
    """Write programs that are executed one after another, at the end of the text of `indices.writer`.

    `source` are vectors of integers of the element's size (or single ones), the registers of the source in order; so are
    those that are returned, of these sizes. `shared` is a memref of `shared_type`, or a pointer. With `calls` a barrier
    inside a subgroup is, for Intel's GPUs, a call of `CONTROL_BARRIER`, which the module has to declare; for LLVM 22 one of
    the workgroup too.

    Raises `ConversionError` for a program that makes no sense: a word that is read and not made, lanes that are not there.
    """
    pieces, used = list(source), False
    memory: Memory | None = None
    if shared is not None:
        memory = Views(indices, shared, chain) if shared.kind.startswith("memref") else Pointers(indices, shared)
    for program, needed in zip(chain, liveness_of_chain(chain), strict=True):
        if indices.workgroups > 1 and shared is not None and program.slm_bytes:
            memory = ClusterPointers(indices, shared, program)
        if program.slm_bytes and used and not _meets(program):
            write_barrier(indices, "workgroup", calls=calls)  # before what others may still load is written over
        used = used or program.slm_bytes > 0
        body = _Body(program, needed, memory if program.slm_bytes else None, indices, pieces, calls)
        last = program is chain[-1]
        pieces = body.results(sizes if last else vector_sizes(program.registers), last=last)
    return pieces


def _meets(program: Program) -> bool:
    """Whether all workgroups of a cluster wait for each other before the program uses memory."""
    before = next((step for step in program.steps if isinstance(step, (Store, Load, Barrier))), None)
    return before == Barrier("cluster")


class _Body:
    """The steps of one function, written at the end of a text: from pieces of the source to pieces of the result.

    A piece is a vector of integers of the element's size (or one such integer), the next registers of the fragment.
    """

    def __init__(
        self,
        program: Program,
        needed: Liveness,
        memory: Memory | None,
        indices: Indices,
        source: Sequence[Value],
        calls: bool,
    ) -> None:
        self.calls = calls
        self.program = program
        self.needed = needed
        self.indices = indices
        self.writer = indices.writer
        self.cell_bits = program.cell_bits
        self.cell = f"i{program.cell_bits}"
        self.source = [(piece, i) for piece in source for i in range(length(piece))]
        self.elements: dict[int, Value] = {}
        self.views: dict[Value, Value] = {}
        self.memory = memory
        self.partial: set[Value] = set()
        self.narrow: dict[int, Value] = {}
        """Of words that are moved through memory in part: that part."""
        self.words: dict[int, Value] = {}
        self.whole = _read_whole(program)
        self.alone = _alone(program)
        self._pack()
        alike = self.indices.vendor != "intel"  # Intel's compiler makes a predicate of a branch round one store
        for masked, group in groupby(
            enumerate(program.steps), lambda one: alike and isinstance(one[1], Store) and one[1].where
        ):
            steps = list(group)
            if masked:
                self._store([(position, step) for position, step in steps if isinstance(step, Store)])
                continue
            for position, step in steps:
                self._write(position, step)

    def _pack(self) -> None:
        parts, pack = self.program.parts, self.program.pack
        narrow: dict[int, int] = {}
        for step in self.program.steps:
            if isinstance(step, Store) and step.bits < WORD:
                narrow |= {w: max(step.bits, narrow.get(w, 0)) for w in step.words if w not in self.whole}
        for word in range(len(pack) // parts):
            cells = pack[word * parts : (word + 1) * parts]
            if word in narrow:
                self.narrow[word] = named(f"w{word}", self._low(cells[: narrow[word] // self.cell_bits]))
            else:
                self.words[word] = named(f"w{word}", self._joined(cells))

    def _low(self, cells: tuple[int, ...]) -> Value:
        """The low part of a word, of these source cells."""
        values = [self._cell(cell) for cell in cells]
        if len(values) == 1:
            return values[0]
        if self.indices.vendor in FIXED_WIDTH and not self._is_word(cells) and (chosen := self._bytes_of_words(cells)):
            return self._truncated(joined_bytes(self.indices, [*chosen, *chosen]), "i16")
        return element_at(self.indices, bitcast(self.indices, vector_of(self.indices, values), 1, "i16"), 0)

    def _bytes_of_words(self, cells: tuple[int, ...]) -> list[tuple[Value, int]]:
        """The word of the source in which each byte lies, and where; none where some word isn't whole."""
        found: list[tuple[Value, int]] = []
        for cell in cells:
            first = cell - cell % BYTES
            word = tuple(range(first, first + BYTES))
            if cell < 0 or word[-1] >= len(self.source) or not self._is_word(word):
                return []
            found.append((self._joined(word), cell % BYTES))
        return found

    def _joined(self, cells: tuple[int, ...]) -> Value:
        """A word of these source cells, low part first."""
        if len(cells) == 1:
            return self._cell(cells[0])
        if self._is_word(cells):
            piece, position = self.source[cells[0]]
            if piece not in self.views:
                self.views[piece] = bitcast(self.indices, piece, length(piece) // len(cells), "i32")
            return element_at(self.indices, self.views[piece], position // len(cells))
        if (
            len(cells) == BYTES
            and cells[2:] == (-1, -1)
            and self.indices.vendor in FIXED_WIDTH
            and self._is_word(cells[:2])
        ):
            half = self._low(cells[:2])  # as it lies there: a word of four bytes would be put together one by one
            return self.writer.value(f"arith.extui %s : {half.kind} to i32", (half,), "i32")
        if cells[0] >= 0 and cells[1:] == (-1,) * (len(cells) - 1):
            return self.writer.value(f"arith.extui %s : {self.cell} to i32", (self._cell(cells[0]),), "i32")
        joined = together(self.indices, [self._cell(cell) for cell in cells])
        return element_at(self.indices, bitcast(self.indices, joined, 1, "i32"), 0)

    def _is_word(self, cells: tuple[int, ...]) -> bool:
        """Whether the cells are a whole word of their piece as it stands."""
        count = len(cells)
        if not 0 <= cells[0] < len(self.source) or cells != tuple(range(cells[0], cells[0] + count)):
            return False
        piece, position = self.source[cells[0]]
        return position % count == 0 and length(piece) % count == 0

    def _cell(self, cell: int) -> Value:
        """A cell of the source: an element, or half of one."""
        if cell < 0:
            return self.indices.constant(0, self.cell)
        halves = self.program.element_bits // self.cell_bits
        if cell >= len(self.source) * halves:
            raise ConversionError(f"the words take source cell {cell}, of {len(self.source) * halves}")
        if cell not in self.elements:
            element = element_at(self.indices, *self.source[cell // halves])
            if cell % halves:
                element = self.indices.binary("shrui", element, self.indices.constant(WORD, "i64"))
            self.elements[cell] = element if halves == 1 else self._truncated(element, "i32")
        return self.elements[cell]

    def _truncated(self, value: Value, to: str) -> Value:
        return self.writer.value(f"arith.trunci %s : {value.kind} to {to}", (value,), to)

    def _extended(self, value: Value) -> Value:
        return self.writer.value(f"arith.extui %s : {value.kind} to i64", (value,), "i64")

    def _word(self, position: int, word: int) -> Value:
        if word in self.narrow and word not in self.words:
            part = self.narrow[word]
            extended = self.writer.value(f"arith.extui %s : {part.kind} to i32", (part,), "i32")
            self.words[word] = named(f"w{word}", extended)
        if word not in self.words:
            raise ConversionError(f"step {position} reads word {word}, which nothing before it makes")
        return self.words[word]

    def _write(self, position: int, step: object) -> None:
        match step:
            case Select(to, on, off, axis, mask):
                if axis not in self.indices.counts:
                    raise ConversionError(f"step {position} selects by {axis!r}: expected 'lane' or 'sg'")
                chosen = self.indices.holds(axis, mask)
                made = self.indices.selected(chosen, self._word(position, on), self._word(position, off))
                self.words[to] = named(f"w{to}", made)
            case Shuffle(to, word):
                self.words[to] = named(f"w{to}", self._shuffled(position, self._word(position, word), step))
            case Permute(to, low, high):
                words = (self._word(position, low), self._word(position, high))
                self.words[to] = named(f"w{to}", permuted(self.indices, *words, step.selectors))
            case LaneSwap(to, (one, other), bit):
                given = self._word(position, one), self._word(position, other)
                for word_made, found in zip(to, swapped_lanes(self.indices, *given, bit), strict=True):
                    self.words[word_made] = named(f"w{word_made}", found)
            case Regions():
                self._moved(position, step)
            case Store():
                self._store([(position, step)])
            case Load():
                self._load(position, step)
            case Barrier(scope):
                write_barrier(self.indices, scope, calls=self.calls)
            case _:
                raise ConversionError(
                    f"step {position} is {step!r}: expected Select, Shuffle, Permute, LaneSwap, Regions, Store, Load or Barrier"
                )

    def _moved(self, position: int, step: Regions) -> None:
        """Moves between flat registers, as one inline assembly for Intel's compiler."""
        text, given = assembly(step, self.program.lanes), [self._word(position, word) for word in step.words]
        operands: list[Value] = []
        for size in text.operands:
            operands.append(together(self.indices, given[:size]))
            given = given[size:]
        kinds = [typed(size, "i32") for size in text.results]
        kind = kinds[0] if len(kinds) == 1 else f"!llvm.struct<({', '.join(kinds)})>"
        body = text.body.replace("\n", "\\0A")
        taken = ", ".join(operand.kind for operand in operands)
        form = f"({taken}) -> {kind}"
        places = ", ".join(["%s"] * len(operands))
        form = f'llvm.inline_asm has_side_effects "{body}", "{text.constraints}" {places} : {form}'
        if len(kinds) == 1:
            found = [self.writer.value(form, operands, "i32", text.results[0] if text.results[0] > 1 else None)]
        else:
            made = self.writer.value(form, operands, kind)
            found = [
                self.writer.value(f"llvm.extractvalue %s[{i}] : {kind}", (made,), "i32", size if size > 1 else None)
                for i, size in enumerate(text.results)
            ]
        names = iter(step.to)
        for piece in found:
            for i in range(length(piece)):
                word = next(names)
                self.words[word] = named(f"w{word}", element_at(self.indices, piece, i))

    def _shuffled(self, position: int, word: Value, step: Shuffle) -> Value:
        count = self.program.lanes
        for lanes in (step.lanes, *(lanes for _, lanes in step.others)):
            if len(lanes) != count or any(not 0 <= lane < count for lane in lanes):
                raise ConversionError(
                    f"step {position} shuffles {list(lanes)}: expected {count} lanes from 0 to {count - 1}"
                )
        near = None if self.indices.vendor != "amd" or any(step.sg) or step.others else dpp_control(step.lanes)
        if near is not None and not self._from_one_lane(step):
            return moved_by_dpp(self.indices, word, near)
        if any(step.sg):
            terms = linear_terms(step.lanes)
            if terms is None or step.others:
                raise ConversionError(
                    f"step {position} shuffles {list(step.lanes)} by subgroup: expected XORs of the lane's bits"
                )
            address = Address(step.lanes[0], xor=True, lane=terms, sg=step.sg)
            mode, other = "idx", self.indices.address(address)
        elif step.others:
            mode, other = "idx", self.indices.other_by_subgroup(step.lanes, step.others)
        else:
            mode, other = self.indices.other(step.lanes)
        if self._from_one_lane(step):
            return self.writer.value("gpu.subgroup_broadcast %s, specific_lane %s : i32", (word, other), "i32")
        if mode == "idx":
            other = self.indices.among_executing(other)
        received = Value("i32")
        operands = (word, other, self.indices.constant(self.indices.width))
        self.writer.values(f"gpu.shuffle {mode} %s, %s, %s : i32", operands, (received, Value("i1", name="valid")))
        return received

    def _from_one_lane(self, step: Shuffle) -> bool:
        """Whether it is a broadcast that the chip has an instruction for: v_readlane_b32, to all lanes of a wavefront."""
        whole = self.indices.width == self.program.lanes
        alike = len(set(step.lanes)) == 1 and not any(step.sg) and not step.others
        return self.indices.vendor == "amd" and whole and alike

    def _store(self, stores: Sequence[tuple[int, Store]]) -> None:
        """Stores by the same lanes: one branch round them, where some take no part."""
        position, first = stores[0]
        active = None if first.where is None else self._active(position, first.where)
        memory = self._memory(position)
        found: list[tuple[Value, Place, int]] = []
        for position, step in stores:
            values = [self._stored(position, word, step.bits) for word in step.words]
            if step.matrix:
                memory.write_matrices(step, values)
                continue
            found += [
                (together(self.indices, values[place.start : place.start + place.size]), place, step.bits)
                for place in memory.places(step.address, len(values), step.bits, vectors=True)
            ]
        with nullcontext() if active is None or not found else self.writer.block("scf.if %s {", (active,)):
            for value, place, bits in found:
                memory.write(value, place, bits)

    def _stored(self, position: int, word: int, bits: int) -> Value:
        """The low bits of a word."""
        if word in self.narrow and self.narrow[word].element == f"i{bits}":
            return self.narrow[word]
        value = self._word(position, word)
        return value if bits == WORD else self._truncated(value, f"i{bits}")

    def _active(self, position: int, where: tuple[int, ...]) -> Value | None:
        if len(where) != self.program.subgroups:
            raise ConversionError(f"step {position} has masks for {len(where)} subgroups, of {self.program.subgroups}")
        return self.indices.active(where)

    def _memory(self, position: int) -> Memory:
        if self.memory is None:
            raise ConversionError(f"step {position} needs shared local memory, and slm_bytes is 0")
        return self.memory

    def _load(self, position: int, step: Load) -> None:
        memory = self._memory(position)
        if step.matrix:
            for word, found in zip(step.to, memory.read_matrices(step), strict=True):
                (self.words if step.bits == WORD else self.narrow)[word] = named(f"w{word}", found)
            return
        whole = step.bits == WORD and all(self.needed.has(word, self.program.parts) for word in step.to)
        for place in memory.places(step.address, len(step.to), step.bits, vectors=whole):
            load = memory.read(place, step.bits)
            for i, word in enumerate(step.to[place.start : place.start + place.size]):
                found = named(f"w{word}", element_at(self.indices, load, i))
                if step.bits < WORD:
                    self.narrow[word] = found
                    continue
                self.words[word] = found
                if not self.needed.has(word, self.program.parts):
                    self.partial.add(found)

    def results(self, sizes: Sequence[int], *, last: bool) -> list[Value]:
        """The destination fragment, in pieces of these sizes."""
        permuted_bytes = last and self.indices.vendor == "nvidia" and self.program.parts == BYTES
        program = self.program
        halves = program.element_bits // program.cell_bits
        found: list[Value] = []
        start = 0
        for size in sizes:
            cells = program.unpack[start * halves : (start + size) * halves]
            joined = self._of_loaded_bytes(cells) if permuted_bytes else None
            found.append(named("result", self._piece(cells, halves) if joined is None else joined))
            start += size
        return found

    def _piece(self, cells: tuple[int, ...], halves: int) -> Value:
        parts = self.program.parts
        whole = all(cell >= 0 and cell == cells[i - i % parts] + i % parts for i, cell in enumerate(cells))
        if parts > 1 and whole and len(cells) % parts == 0 and all(cell % parts == 0 for cell in cells[::parts]):
            words = vector_of(self.indices, [self._final(cell // parts) for cell in cells[::parts]])
            return bitcast(self.indices, words, len(cells), self.cell)
        if (
            parts == BYTES
            and whole
            and len(cells) == 2
            and cells[0] % parts == 0
            and self._is_made_word(cells[0] // parts)
        ):
            half = self._truncated(self._final(cells[0] // parts), "i16")
            return bitcast(self.indices, vector_of(self.indices, [half]), 2, self.cell)
        values = [self._part(cell) for cell in cells]
        if halves == 1:
            return together(self.indices, values)
        if self.indices.vendor in FIXED_WIDTH:
            whole_words = bitcast(self.indices, vector_of(self.indices, values), len(values) // halves, "i64")
            return whole_words if len(values) > halves else element_at(self.indices, whole_words, 0)
        return together(
            self.indices, [self._double(low, high) for low, high in zip(values[::2], values[1::2], strict=True)]
        )

    def _of_loaded_bytes(self, cells: tuple[int, ...]) -> Value | None:
        """A piece of bytes that came two and two by loads, by byte permutes; None elsewhere. (LLVM 22 makes 7 where 1 does.)"""
        words = [cells[i : i + BYTES] for i in range(0, len(cells), BYTES)]
        sources = {cell // BYTES for cell in cells}
        if min(cells) < 0 or len(cells) % BYTES or not any(self._is_loaded_pair(word) for word in sources):
            return None
        joined = [
            joined_bytes(self.indices, [(self._word(-1, cell // BYTES), cell % BYTES) for cell in one]) for one in words
        ]
        return bitcast(self.indices, vector_of(self.indices, joined), len(cells), self.cell)

    def _is_made_word(self, word: int) -> bool:
        return self.indices.vendor in FIXED_WIDTH and word in self.words and self.words[word] not in self.partial

    def _is_loaded_pair(self, word: int) -> bool:
        return word in self.narrow and self.narrow[word].element != self.cell

    def _part(self, cell: int) -> Value:
        """What is in part `cell % parts` of word `cell // parts` at the end."""
        if cell < 0:
            return self.indices.constant(0, self.cell)
        word, part = divmod(cell, self.program.parts)
        if word in self.narrow and word not in self.words:
            return self._part_of(self.narrow[word], part)
        value = self._final(word)
        if self.program.parts == 1:
            return value
        if value in self.partial or cell in self.alone:
            below = self.indices.constant(part * self.cell_bits)
            return self._truncated(self.indices.binary("shrui", value, below) if part else value, self.cell)
        return self._part_of(value, part)

    def _part_of(self, value: Value, part: int) -> Value:
        """A cell of a word, or of the part of a word that was loaded; 0 above that."""
        count = int(value.element[1:]) // self.cell_bits
        if part >= count:
            return self.indices.constant(0, self.cell)
        if count == 1:
            return value
        if value not in self.views:
            self.views[value] = bitcast(self.indices, vector_of(self.indices, [value]), count, self.cell)
        return element_at(self.indices, self.views[value], part)

    def _final(self, word: int) -> Value:
        if word not in self.words:
            raise ConversionError(f"the result takes word {word}, which no step makes")
        return self.words[word]

    def _double(self, low: Value, high: Value) -> Value:
        above = self.indices.binary("shli", self._extended(high), self.indices.constant(WORD, "i64"))
        return self.indices.binary("ori", self._extended(low), above)


def _alone(program: Program) -> set[int]:
    """The cells that the result takes alone of their words, lowest there: compilers cut such words without moves."""
    taken = Counter([cell // program.parts for cell in set(program.unpack) if cell >= 0])
    return {
        cell for cell in program.unpack if cell >= 0 and not cell % program.parts and taken[cell // program.parts] == 1
    }


def _read_whole(program: Program) -> set[int]:
    """The words that something takes as words."""
    found = {place // program.parts for place in program.unpack if place >= 0}
    for step in program.steps:
        match step:
            case Select() | Permute():
                found.update(step.reads)
            case Shuffle(_, word):
                found.add(word)
            case LaneSwap(_, words):
                found.update(words)
            case Store(words, bits=32):
                found.update(words)
            case _:
                pass
    return found
