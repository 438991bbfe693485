"""Shared local memory in a function's text: a memref of places, or for NVIDIA's and AMD's chips a pointer.

Addresses are a part that depends on the lane and a constant. Behind a pointer the constant is its own step, which becomes part
of the instruction; a memref adds it to an index:

>>> from layoutalg.conversion.lowering.writer import Writer
>>> writer = Writer([shared := Value("!llvm.ptr<3>", name="slm")])
>>> memory = Pointers(Indices(writer, 1, 32, "sm_80"), shared)
>>> for place in memory.places(Address(8, factors=(("lane", 1, 32, 36),)), 4, 32, vectors=True):
...     print(memory.read(place, 32).kind)
vector<4xi32>
>>> for line in writer.text().splitlines()[-5:]:
...     print(line)
%c144 = arith.constant 144 : i32
%address = arith.muli %lane, %c144 : i32
%places = llvm.getelementptr %slm[%address] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%1 = llvm.getelementptr %places[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%2 = llvm.load %1 : !llvm.ptr<3> -> vector<4xi32>

LLVM takes a vector behind a pointer to be aligned to its size, so that a pointer moves as much as the address is aligned to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from layoutalg.conversion.lowering.fragment_vectors import element_at, together, vector_sizes
from layoutalg.conversion.lowering.indices import FIXED_WIDTH, Indices, named
from layoutalg.conversion.lowering.writer import Value, typed
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Address, Load, Store
from layoutalg.core.errors import ConversionError

__all__ = [
    "ALIGNMENT",
    "SHARED",
    "WIDEST",
    "Memory",
    "Place",
    "Pointers",
    "Views",
    "alignment_of",
    "declared_blocks",
    "shared_bytes",
    "shared_type",
]

ALIGNMENT = 64
"""The bytes to which shared local memory is aligned, the most that a vector of words needs."""
SHARED = 3
"""The address space of shared local memory."""
_POINTER = f"!llvm.ptr<{SHARED}>"
_OF_BLOCKS = "{convergent, no_unwind, will_return}"
_ENDINGS = {8: "_b", 16: "_h", 32: ""}
_BLOCKS = {(1 << i, bits) for bits, most in ((8, 5), (16, 5), (32, 4)) for i in range(most)}
"""How many places of how many bits a block message moves for each lane: the names that libigc has."""
WIDEST = 16
"""The bytes that a lane moves at once, at most."""


def shared_type(chain: Sequence[Program]) -> str | None:
    """The type of the shared memory that programs need one after another: of what they move there, of bytes where that differs.

    >>> from layoutalg.conversion import convert
    >>> shared_type(convert("d0 = 2@sg 16@lane", "d0 = 2@lane:8 2@sg 8@lane", element_bits=8).programs)
    'memref<32xi8, 3 : i64>'
    """
    size, widths = shared_bytes(chain), _widths(chain)
    if not size:
        return None
    bits = widths[0] if len(widths) == 1 else 8
    return f"memref<{size * 8 // bits}xi{bits}, {SHARED} : i64>"


def shared_bytes(chain: Sequence[Program]) -> int:
    """The bytes of shared memory, as many as fill places of every width."""
    most = max(_widths(chain), default=8) // 8
    return -(-max(program.slm_bytes for program in chain) // most) * most


def _widths(chain: Sequence[Program]) -> list[int]:
    """The bits of what stores and loads move, each width once."""
    return sorted({step.bits for program in chain for step in program.steps if isinstance(step, (Store, Load))})


class Place(NamedTuple):
    """Where a vector of consecutive words begins: which of the access's words it has, and its alignment in bytes."""

    at: Value
    start: int
    size: int
    aligned: int


class Memory(Protocol):
    """What the text of a program asks of shared memory."""

    def places(self, address: Address, count: int, bits: int, *, vectors: bool) -> list[Place]:
        """The vectors in which consecutive words are moved."""
        ...

    def write(self, value: Value, place: Place, bits: int) -> None:
        """Store a vector, or one integer."""
        ...

    def read(self, place: Place, bits: int) -> Value:
        """Load a vector, or one integer."""
        ...

    def read_matrices(self, step: Load) -> list[Value]:
        """The words that a load of matrices makes."""
        ...

    def write_matrices(self, step: Store, words: Sequence[Value]) -> None:
        """Store words as matrices."""
        ...


def _block(step: Load | Store) -> tuple[str, str]:
    """The function of Intel's graphics compiler that moves a block, and the type of what a lane has of it.

    Raises `ConversionError` for another kind of access.
    """
    count, bits = len(step[0]), step.bits
    if step.matrix != "block" or (count, bits) not in _BLOCKS:
        raise ConversionError(f"{step} in a memref: loads and stores of matrices take a pointer, as emit() has it")
    what = "read" if isinstance(step, Load) else "write"
    return f"__builtin_IB_simd_block_{what}_{count}_local{_ENDINGS[bits]}", typed(count, f"i{bits}")


def declared_blocks(chain: Sequence[Program]) -> list[str]:
    """The declarations of the functions that move blocks, each once.

    >>> store = Store((0,), Address(), matrix="block")
    >>> declared_blocks([Program(1, 16, 32, 1, 1, (0,), (store,), (0,), 64)])[0].partition(" attributes")[0]
    'llvm.func spir_funccc @__builtin_IB_simd_block_write_1_local(!llvm.ptr<3>, i32)'
    """
    found: dict[str, None] = {}
    for step in [step for program in chain for step in program.steps]:
        if isinstance(step, (Load, Store)) and step.matrix == "block":
            name, kind = _block(step)
            takes, gives = (_POINTER, f" -> {kind}") if isinstance(step, Load) else (f"{_POINTER}, {kind}", "")
            found[f"llvm.func spir_funccc @{name}({takes}){gives} attributes {_OF_BLOCKS}"] = None
    return list(found)


def alignment_of(address: Address, start: int, size_of: int) -> int:
    """The bytes to which an access is aligned, whatever the lane."""
    found = ALIGNMENT // size_of | address.base | start
    for term in (*address.lane, *address.sg) if address.xor else [stride for *_, stride in address.factors]:
        found |= term
    return (found & -found) * size_of


class Views:
    """Memrefs of places of each width that is moved."""

    def __init__(self, indices: Indices, shared: Value, chain: Sequence[Program]) -> None:
        self.indices, self.writer = indices, indices.writer
        self.generic = indices.vendor in FIXED_WIDTH
        """Whether alignments are written in the generic form, which LLVM 22 to 24 read alike."""
        widths, size = _widths(chain), shared_bytes(chain)
        self.views: Mapping[int, Value] = dict.fromkeys(widths[:1], shared)
        """By the bits of its places; none where the program only allocates."""
        if len(widths) > 1:
            start = indices.constant(0, "index")
            found = {8: shared}
            for bits in widths:
                if bits not in found:
                    kind = f"memref<{size * 8 // bits}xi{bits}, {SHARED} : i64>"
                    form = f"memref.view %s[%s][] : {shared.kind} to {kind}"
                    found[bits] = named("slm", self.writer.value(form, (shared, start), kind))
            self.views = found

    def places(self, address: Address, count: int, bits: int, *, vectors: bool) -> list[Place]:
        """The vectors in which consecutive words are moved."""
        first = self.indices.address(address)
        found: list[Place] = []
        start = 0
        for size in vector_sizes(count) if vectors else [1] * count:
            place = first if start == 0 else self.indices.binary("addi", first, self.indices.constant(start))
            found.append(Place(self.indices.as_index(place), start, size, alignment_of(address, start, bits // 8)))
            start += size
        return found

    def write(self, value: Value, place: Place, bits: int) -> None:
        """Store a vector, or one integer."""
        shared = self.views[bits]
        form = f"memref.store %s, %s[%s] : {shared.kind}"
        if value.size is not None:
            form = f"vector.store %s, %s[%s] {self._aligned(place)} : {shared.kind}, {value.kind}"
            if self.generic:
                form = (
                    f'"vector.store"(%s, %s, %s) <{self._aligned(place)}> : ({value.kind}, {shared.kind}, index) -> ()'
                )
        self.writer.do(form, (value, shared, place.at))

    def read(self, place: Place, bits: int) -> Value:
        """Load a vector, or one integer."""
        shared, size = self.views[bits], place.size
        kind = typed(size, f"i{bits}")
        form = f"memref.load %s[%s] : {shared.kind}"
        if size > 1:
            form = f"vector.load %s[%s] {self._aligned(place)} : {shared.kind}, {kind}"
        if size > 1 and self.generic:
            form = f'"vector.load"(%s, %s) <{self._aligned(place)}> : ({shared.kind}, index) -> {kind}'
        return self.writer.value(form, (shared, place.at), f"i{bits}", None if size == 1 else size)

    def read_matrices(self, step: Load) -> list[Value]:
        """The places that a block load moves.

        Raises `ConversionError` for matrices: their instructions take a pointer.
        """
        name, kind = _block(step)
        size = len(step.to) if len(step.to) > 1 else None
        form = f"llvm.call spir_funccc @{name}(%s) {_OF_BLOCKS} : ({_POINTER}) -> {kind}"
        made = self.writer.value(form, (self._pointer(step),), f"i{step.bits}", size)
        return [element_at(self.indices, made, i) for i in range(len(step.to))]

    def write_matrices(self, step: Store, words: Sequence[Value]) -> None:
        """Store a block; raises `ConversionError` as `read_matrices` does."""
        name, kind = _block(step)
        form = f"llvm.call spir_funccc @{name}(%s, %s) {_OF_BLOCKS} : ({_POINTER}, {kind}) -> ()"
        self.writer.do(form, (self._pointer(step), together(self.indices, words)))

    def _pointer(self, step: Load | Store) -> Value:
        """The pointer to where a block begins."""

        def first() -> Value:
            shared = next(iter(self.views.values()))
            form = f"memref.extract_aligned_pointer_as_index %s : {shared.kind} -> index"
            number = self.writer.value(form, (shared,), "index")
            number = self.writer.value("arith.index_cast %s : index to i64", (number,), "i64")
            return named("slm", self.writer.value(f"llvm.inttoptr %s : i64 to {_POINTER}", (number,), _POINTER))

        start, at = self.indices.once("slm", first), step.address.scaled(step.bits // 8)
        if at == Address():
            return start
        place = self.indices.address(at)
        form = f"llvm.getelementptr %s[%s] : ({_POINTER}, i32) -> {_POINTER}, i8"
        return self.writer.value(form, (start, place), _POINTER)

    def _aligned(self, place: Place) -> str:
        text = f"alignment = {place.aligned}"
        return f"{{{text} : i64}}" if self.generic or not self.indices.strict else text


class Pointers:
    """A pointer, and constant distances from it."""

    def __init__(self, indices: Indices, shared: Value) -> None:
        self.indices, self.writer, self.shared = indices, indices.writer, shared

    def places(self, address: Address, count: int, bits: int, *, vectors: bool) -> list[Place]:
        """The vectors in which consecutive words are moved, as wide as their alignment is."""
        moving, base, size_of = *self._split(address, bits), bits // 8
        found: list[Place] = []
        start = 0
        while start < count:
            aligned = min(alignment_of(address, start, size_of), WIDEST)
            size = 1 << min(aligned // size_of, count - start).bit_length() - 1 if vectors else 1
            found.append(Place(self._beyond(moving, base + start * size_of), start, size, aligned))
            start += size
        return found

    def write(self, value: Value, place: Place, bits: int) -> None:
        """Store a vector, or one integer."""
        self.writer.do(f"llvm.store %s, %s : {value.kind}, {place.at.kind}", (value, place.at))

    def read(self, place: Place, bits: int) -> Value:
        """Load a vector, or one integer."""
        form = f"llvm.load %s : {place.at.kind} -> {typed(place.size, f'i{bits}')}"
        return self.writer.value(form, (place.at,), f"i{bits}", None if place.size == 1 else place.size)

    def read_matrices(self, step: Load) -> list[Value]:
        """The words that a load of matrices makes."""
        count = len(step.to)
        at = self._beyond(*self._split(step.address, WORD))
        if step.matrix == "halves":
            form = f'llvm.call_intrinsic "llvm.amdgcn.ds.read.tr16.b64"(%s) : ({_POINTER}) -> vector<4xi16>'
            halves = self.writer.value(form, (at,), "i16", 4)
            words = self.writer.value("vector.bitcast %s : vector<4xi16> to vector<2xi32>", (halves,), "i32", 2)
            form = "vector.extract %s[{}] : i32 from vector<2xi32>"
            return [self.writer.value(form.format(i), (words,), "i32") for i in range(count)]
        kind = "i32" if count == 1 else f"!llvm.struct<({', '.join(['i32'] * count)})>"
        form = f'llvm.call_intrinsic "{_matrix_name("ld", step.matrix, count)}"(%s) : ({_POINTER}) -> {kind}'
        made = self.writer.value(form, (at,), kind)
        if count == 1:
            return [made]
        return [self.writer.value(f"llvm.extractvalue %s[{i}] : {kind}", (made,), "i32") for i in range(count)]

    def write_matrices(self, step: Store, words: Sequence[Value]) -> None:
        """Store words as matrices."""
        at = self._beyond(*self._split(step.address, WORD))
        kinds = ", ".join([_POINTER, *["i32"] * len(words)])
        places = ", ".join(["%s"] * (1 + len(words)))
        name = f"{_matrix_name('st', step.matrix, len(words))}.p{SHARED}"
        self.writer.do(f'llvm.call_intrinsic "{name}"({places}) : ({kinds}) -> ()', (at, *words))

    def _split(self, address: Address, bits: int) -> tuple[Value, int]:
        """A pointer that depends on the lane alone, and the bytes beyond it."""
        apart = not address.xor or not address.base & _reached((*address.lane, *address.sg))
        moving = address.scaled(bits // 8)
        base = moving.base if apart else 0
        moving = moving.based(0) if apart else moving

        def make() -> Value:
            form = f"llvm.getelementptr %s[%s] : ({_POINTER}, i32) -> {_POINTER}, i8"
            return named("places", self.writer.value(form, (self.shared, self.indices.address(moving)), _POINTER))

        return self.indices.once(("pointer", moving), make), base

    def _beyond(self, pointer: Value, distance: int) -> Value:
        if not distance:
            return pointer
        form = f"llvm.getelementptr %s[{distance}] : ({_POINTER}) -> {_POINTER}, i8"
        return self.writer.value(form, (pointer,), _POINTER)


def _reached(terms: Sequence[int]) -> int:
    """The bits that XORs of some terms may have."""
    found = 0
    for term in terms:
        found |= term
    return found


def _matrix_name(kind: str, matrix: str, count: int) -> str:
    """NVVM's intrinsic that moves matrices."""
    transposed = ".trans" if matrix == "columns" else ""
    return f"llvm.nvvm.{kind}matrix.sync.aligned.m8n8.x{count}{transposed}.b16"
