"""The steps of a conversion as operations: from vectors of a source fragment to vectors of the destination fragment.

A fragment of 6 elements of 16 bits comes as `vector<4xi16>` and `vector<2xi16>`. Where the program's words are the elements
as they lie there, two and two, they are those vectors seen as `vector<2xi32>` and `vector<1xi32>`; other words are put together
from single elements. At the end it is the other way round.

>>> vector_sizes(6), vector_sizes(24)
([4, 2], [16, 8])

The law: what is written does what `Program.run` does, one operation for each select, shuffle and barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from layoutalg.conversion.lowering.indices import Indices, linear_terms, named
from layoutalg.conversion.program.liveness import Liveness, liveness_of_chain
from layoutalg.conversion.program.program import WORD, Address, Barrier, Load, Program, Rotate, Select, Shuffle, Store
from layoutalg.core.errors import ConversionError
from layoutalg.ir.building import written_into
from layoutalg.ir.dialects import gpu
from layoutalg.ir.dialects.vector import FromElementsOp

__all__ = ["ALIGNMENT", "cast", "typed", "vector_sizes", "write_chain"]

VECTORS = (16, 8, 4, 3, 2, 1)
"""The sizes of vectors in SPIR-V, and the scalar."""
BYTES = WORD // 8
ALIGNMENT = 64
"""The bytes to which shared local memory is aligned, the most that a vector of words needs."""


def vector_sizes(count: int) -> list[int]:
    """The sizes of the vectors that hold so many elements.

    >>> vector_sizes(16), vector_sizes(7)
    ([16], [4, 3])
    """
    found: list[int] = []
    for size in VECTORS:
        found += [size] * ((count - sum(found)) // size)
    return found


def typed(size: int, kind: Attribute) -> Attribute:
    """The type of so many elements: a vector, or a scalar for one.

    >>> print(typed(4, i32), typed(1, i32))
    vector<4xi32> i32
    """
    return kind if size == 1 else VectorType(kind, [size])


def cast(value: SSAValue, kind: Attribute) -> SSAValue:
    """The same bits as elements of another type of the same size.

    >>> from xdsl.dialects.builtin import f32
    >>> zero = arith.ConstantOp(IntegerAttr(0, i32)).result
    >>> print(cast(zero, f32).type, cast(zero, i32) is zero)
    f32 True
    """
    if _is_vector(value.type):
        made = VectorType(kind, value.type.get_shape())
        return value if made == value.type else vector.BitcastOp(value, made).result
    return value if value.type == kind else arith.BitcastOp(value, kind).result


def write_chain(
    chain: Sequence[Program],
    shared: SSAValue | None,
    indices: Indices,
    source: Sequence[SSAValue],
    sizes: Sequence[int],
) -> list[SSAValue]:
    """Write programs that are executed one after another, into the current block (see `ir.building`).

    `source` are vectors of integers of the element's size (or single ones), the registers of the source in order; so are
    those that are returned, of these sizes. `shared` is a memref of words.

    Raises `ConversionError` for a program that makes no sense: a word that is read and not made, lanes that are not there.

    >>> zero = arith.ConstantOp(IntegerAttr(0, i32)).result
    >>> [made] = write_chain([Program(1, 16, 32, 1, 2, (0,), (), (0, 0))], None, Indices(1, 16), [zero], [2])
    >>> print(made.type)
    vector<2xi32>
    """
    pieces, used = list(source), False
    for program, needed in zip(chain, liveness_of_chain(chain), strict=True):
        if program.slm_words and used:
            gpu.BarrierOp.build()  # before what others may still load is written over
        used = used or program.slm_words > 0
        body = _Body(program, needed, shared if program.slm_words else None, indices, pieces)
        pieces = body.results(sizes if program is chain[-1] else vector_sizes(program.registers))
    return pieces


def _is_vector(kind: Attribute) -> TypeGuard[VectorType[Attribute]]:
    return isinstance(kind, VectorType)


def _bitcast(value: SSAValue, size: int, kind: Attribute) -> SSAValue:
    return vector.BitcastOp(value, VectorType(kind, [size])).result


def _element(value: SSAValue, position: int) -> SSAValue:
    """An element of a vector (or of a scalar, itself)."""
    if not _is_vector(value.type):
        return value
    place = DenseArrayBase.from_list(i64, [position])
    return vector.ExtractOp.build(
        operands=[value, []], result_types=[value.type.element_type], properties={"static_position": place}
    ).result


def _together(elements: Sequence[SSAValue]) -> SSAValue:
    """The vector of these elements, or the only one."""
    return elements[0] if len(elements) == 1 else FromElementsOp.of(elements).result


class _Body:
    """The steps of one function, written into the current block: from pieces of the source to pieces of the result.

    A piece is a vector of integers of the element's size (or one such integer), the next registers of the fragment.
    """

    def __init__(
        self,
        program: Program,
        needed: Liveness,
        shared: SSAValue | None,
        indices: Indices,
        source: Sequence[SSAValue],
    ) -> None:
        self.program = program
        self.needed = needed
        self.indices = indices
        self.cell = IntegerType(program.cell_bits)
        self.source = [(piece, i) for piece in source for i in range(_length(piece))]
        self.elements: dict[int, SSAValue] = {}
        self.views: dict[SSAValue, SSAValue] = {}
        self.shared = shared
        self.partial: set[SSAValue] = set()
        self.words = dict(enumerate(self._packed()))
        for position, step in enumerate(program.steps):
            self._write(position, step)

    def _packed(self) -> list[SSAValue]:
        parts, pack = self.program.parts, self.program.pack
        groups = [pack[i : i + parts] for i in range(0, len(pack), parts)]
        return [named(f"w{i}", self._joined(group)) for i, group in enumerate(groups)]

    def _joined(self, cells: tuple[int, ...]) -> SSAValue:
        """A word of these source cells, low part first."""
        if len(cells) == 1:
            return self._cell(cells[0])
        if self._is_word(cells):
            piece, position = self.source[cells[0]]
            if piece not in self.views:
                self.views[piece] = _bitcast(piece, _length(piece) // len(cells), i32)
            return _element(self.views[piece], position // len(cells))
        return _element(_bitcast(_together([self._cell(cell) for cell in cells]), 1, i32), 0)

    def _is_word(self, cells: tuple[int, ...]) -> bool:
        """Whether the cells are a whole word of their piece as it stands."""
        count = len(cells)
        if not 0 <= cells[0] < len(self.source) or cells != tuple(range(cells[0], cells[0] + count)):
            return False
        piece, position = self.source[cells[0]]
        return position % count == 0 and _length(piece) % count == 0

    def _cell(self, cell: int) -> SSAValue:
        """A cell of the source: an element, or half of one."""
        if cell < 0:
            return self.indices.constant(0, self.cell)
        halves = self.program.element_bits // self.cell.width.data
        if cell >= len(self.source) * halves:
            raise ConversionError(f"the words take source cell {cell}, of {len(self.source) * halves}")
        if cell not in self.elements:
            element = _element(*self.source[cell // halves])
            if cell % halves:
                element = arith.ShRUIOp(element, self.indices.constant(WORD, i64)).result
            self.elements[cell] = element if halves == 1 else arith.TruncIOp(element, i32).result
        return self.elements[cell]

    def _word(self, position: int, word: int) -> SSAValue:
        if word not in self.words:
            raise ConversionError(f"step {position} reads word {word}, which nothing before it makes")
        return self.words[word]

    def _write(self, position: int, step: object) -> None:
        match step:
            case Select(to, on, off, axis, mask):
                if axis not in self.indices.counts:
                    raise ConversionError(f"step {position} selects by {axis!r}: expected 'lane' or 'sg'")
                chosen = self.indices.holds(axis, mask)
                made = arith.SelectOp(chosen, self._word(position, on), self._word(position, off)).result
                self.words[to] = named(f"w{to}", made)
            case Shuffle(to, word):
                self.words[to] = named(f"w{to}", self._shuffled(position, self._word(position, word), step))
            case Rotate(to, word, bits):
                value = self._word(position, word)
                down = arith.ShRUIOp(value, self.indices.constant(bits)).result
                up = arith.ShLIOp(value, self.indices.constant(WORD - bits)).result
                self.words[to] = named(f"w{to}", arith.OrIOp(down, up).result)
            case Store():
                self._store(position, step)
            case Load():
                self._load(position, step)
            case Barrier():
                gpu.BarrierOp.build()
            case _:
                raise ConversionError(
                    f"step {position} is {step!r}: expected Select, Shuffle, Rotate, Store, Load or Barrier"
                )

    def _shuffled(self, position: int, word: SSAValue, step: Shuffle) -> SSAValue:
        count = self.program.lanes
        for lanes in (step.lanes, *(lanes for _, lanes in step.others)):
            if len(lanes) != count or any(not 0 <= lane < count for lane in lanes):
                raise ConversionError(
                    f"step {position} shuffles {list(lanes)}: expected {count} lanes from 0 to {count - 1}"
                )
        if any(step.sg):
            terms = linear_terms(step.lanes)
            if terms is None or step.others:
                raise ConversionError(
                    f"step {position} shuffles {list(step.lanes)} by subgroup: expected XORs of the lane's bits"
                )
            address = Address(step.lanes[0], xor=True, lane=terms, sg=step.sg)
            mode, other = gpu.ShuffleMode.Idx, self.indices.address(address)
        elif step.others:
            mode, other = gpu.ShuffleMode.Idx, self.indices.other_by_subgroup(step.lanes, step.others)
        else:
            mode, other = self.indices.other(step.lanes)
        shuffle = gpu.ShuffleOp.build(
            operands=[word, other, self.indices.constant(count)],
            result_types=[i32, i1],
            properties={"mode": gpu.ShuffleModeAttr(mode)},
        )
        shuffle.valid.name_hint = "valid"
        return shuffle.shuffle_result

    def _accesses(
        self, position: int, count: int, address: Address, *, vectors: bool
    ) -> list[tuple[SSAValue, int, int, dict[str, Attribute]]]:
        """The vectors in which consecutive words are moved: where, from which word on, how many, aligned to what."""
        if self.shared is None:
            raise ConversionError(f"step {position} needs shared local memory, and slm_words is 0")
        terms = (*address.lane, *address.sg) if address.xor else tuple(stride for *_, stride in address.factors)
        first = self.indices.address(address)
        found: list[tuple[SSAValue, int, int, dict[str, Attribute]]] = []
        start = 0
        for size in vector_sizes(count) if vectors else [1] * count:
            place = first if start == 0 else arith.AddiOp(first, self.indices.constant(start)).result
            multiple = ALIGNMENT // BYTES | address.base | start
            for term in terms:
                multiple |= term
            aligned: dict[str, Attribute] = (
                {"alignment": IntegerAttr((multiple & -multiple) * BYTES, i64)} if size > 1 else {}
            )
            found.append((arith.IndexCastOp(place, IndexType()).result, start, size, aligned))
            start += size
        return found

    def _store(self, position: int, step: Store) -> None:
        active = None if step.where is None else self._active(position, step.where)
        values = [self._word(position, word) for word in step.words]
        for place, start, size, aligned in self._accesses(position, len(values), step.address, vectors=True):
            together = _together(values[start : start + size])
            block = Block()
            if active is None:
                self._store_at(together, place, aligned)
                continue
            with written_into(block):
                self._store_at(together, place, aligned)
                scf.YieldOp()
            scf.IfOp(active, [], Region(block))

    def _active(self, position: int, where: tuple[int, ...]) -> SSAValue | None:
        if len(where) != self.program.subgroups:
            raise ConversionError(f"step {position} has masks for {len(where)} subgroups, of {self.program.subgroups}")
        return self.indices.active(where)

    def _store_at(self, value: SSAValue, place: SSAValue, aligned: dict[str, Attribute]) -> None:
        operation = vector.StoreOp if _is_vector(value.type) else memref.StoreOp
        operation.build(operands=[value, self.shared, [place]], attributes=aligned)

    def _load(self, position: int, step: Load) -> None:
        whole = all(self.needed.has(word, self.program.parts) for word in step.to)
        for place, start, size, aligned in self._accesses(position, len(step.to), step.address, vectors=whole):
            operation = memref.LoadOp if size == 1 else vector.LoadOp
            load = operation.build(operands=[self.shared, [place]], result_types=[typed(size, i32)], attributes=aligned)
            for i, word in enumerate(step.to[start : start + size]):
                self.words[word] = named(f"w{word}", _element(load.results[0], i))
                if not self.needed.has(word, self.program.parts):
                    self.partial.add(self.words[word])

    def results(self, sizes: Sequence[int]) -> list[SSAValue]:
        """The destination fragment, in pieces of these sizes."""
        program = self.program
        halves = program.element_bits // program.cell_bits
        found: list[SSAValue] = []
        start = 0
        for size in sizes:
            cells = program.unpack[start * halves : (start + size) * halves]
            found.append(named("result", self._piece(cells, halves)))
            start += size
        return found

    def _piece(self, cells: tuple[int, ...], halves: int) -> SSAValue:
        parts = self.program.parts
        whole = all(cell >= 0 and cell == cells[i - i % parts] + i % parts for i, cell in enumerate(cells))
        if parts > 1 and whole and len(cells) % parts == 0 and all(cell % parts == 0 for cell in cells[::parts]):
            words = FromElementsOp.of([self._final(cell // parts) for cell in cells[::parts]]).result
            return _bitcast(words, len(cells), self.cell)
        values = [self._part(cell) for cell in cells]
        if halves == 1:
            return _together(values)
        return _together([self._double(low, high) for low, high in zip(values[::2], values[1::2], strict=True)])

    def _part(self, cell: int) -> SSAValue:
        """What is in part `cell % parts` of word `cell // parts` at the end."""
        if cell < 0:
            return self.indices.constant(0, self.cell)
        word, part = divmod(cell, self.program.parts)
        value = self._final(word)
        if self.program.parts == 1:
            return value
        if value in self.partial:
            below = self.indices.constant(part * self.cell.width.data)
            return arith.TruncIOp(arith.ShRUIOp(value, below).result if part else value, self.cell).result
        if value not in self.views:
            self.views[value] = _bitcast(FromElementsOp.of([value]).result, self.program.parts, self.cell)
        return _element(self.views[value], part)

    def _final(self, word: int) -> SSAValue:
        if word not in self.words:
            raise ConversionError(f"the result takes word {word}, which no step makes")
        return self.words[word]

    def _double(self, low: SSAValue, high: SSAValue) -> SSAValue:
        above = arith.ShLIOp(arith.ExtUIOp(high, i64).result, self.indices.constant(WORD, i64)).result
        return arith.OrIOp(arith.ExtUIOp(low, i64).result, above).result


def _length(piece: SSAValue) -> int:
    return piece.type.get_shape()[0] if _is_vector(piece.type) else 1
