"""Memory accesses of a subgroup: how often banks of shared memory make it wait, and how many cache lines it moves.

Shared local memory is dealt out to banks a word at a time; a bank serves one word per cycle. Four lanes with two registers
each, on four banks, hold a row of a 2 x 4 tile per register, and want to write it to memory row by row, then column by column:

    address of (i, j) = 4 i + j     register i: words 4i, 4i + 1, 4i + 2, 4i + 3: banks 0 1 2 3      one cycle
    address of (i, j) = 2 j + i     lane j: words 2j and 2j + 1 in one access of two elements: lanes 0, 1 fill the four
                                    banks, then lanes 2, 3: one instruction of two cycles
    address of (i, j) = 4 j + i     lane j: two words from 4j on: lanes 0 and 1 meet in banks 0 and 1, lanes 2 and 3 too

>>> tile = Layout.parse("d0 = 2@reg, d1 = 4@lane")
>>> for memory in ("d0 = 2@addr:4, d1 = 4@addr", "d0 = 2@addr, d1 = 4@addr:2", "d0 = 2@addr, d1 = 4@addr:4"):
...     print(bank_conflicts(tile, banks=4, memory=Layout.parse(memory)))
2 instructions of 1 x 32 bits per lane, 2 cycles: conflict-free
1 instruction of 2 x 32 bits per lane, 2 cycles: conflict-free
1 instruction of 2 x 32 bits per lane, 4 cycles, 2 without conflicts: 2-way conflicts

What one lane moves in one instruction, and how the registers are grouped for it, is told in `layoutalg.conversion.accesses`.

The model of the banks is the common one of GPUs. 32 banks of 4 bytes, one word per bank and cycle, lanes that touch one word
served together: NVIDIA, CUDA C++ Best Practices Guide, "Shared Memory". An AMD MI355X has 64 banks of 4 bytes (Modular,
documentation of Mojo's AMD kernels): `banks=64`. Accesses of 16 bytes by 32 lanes take 32 cycles where all are in the same four
banks (NVIDIA developer forum, "Shared memory bank conflict reordering"), and four at best. Which lanes go together is not
published there; that they go in the order of their numbers is this model's, and other hardware may group them otherwise.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.accesses import (
    WIDEST,
    Memory,
    Numbers,
    address_table,
    held_elements,
    lane_accesses,
    memory_text,
)
from layoutalg.conversion.program import BANKS, WORD, Address, Load, Program, Store
from layoutalg.core.errors import ConversionError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_SORTED as _CHUNK

__all__ = [
    "Banks",
    "Coalescing",
    "Conflicts",
    "access_ways",
    "bank_conflicts",
    "coalescing",
    "count_conflicts",
    "counted",
    "program_ways",
]


class Banks(NamedTuple):
    """The banks of shared memory and the elements in them: how many banks, bytes per bank, bits per element.

    >>> Banks.checked(32, 4, 16).most
    8
    """

    banks: int
    width: int
    element_bits: int

    @staticmethod
    def checked(banks: object, width: object, element_bits: object) -> Banks:
        """The three numbers, after a check.

        Raises `ConversionError` for numbers that no memory has, or banks too small to hold one element in all.

        >>> Banks.checked(32, 3, 32)
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: width=3: expected the bytes of a bank, a power of two from 1 to 64
        """
        bits = _element_bits(element_bits)
        if type(banks) is not int or not 1 <= banks <= 2**16:
            raise ConversionError(f"banks={reprlib.repr(banks)}: expected a whole number from 1 to {2**16}")
        if type(width) is not int or width not in (1, 2, 4, 8, 16, 32, 64):
            raise ConversionError(
                f"width={reprlib.repr(width)}: expected the bytes of a bank, a power of two from 1 to 64"
            )
        if banks * width * 8 < bits:
            raise ConversionError(
                f"{banks} banks of {width} bytes cannot serve one element of {bits} bits in a cycle: "
                "expected more or wider banks"
            )
        return Banks(banks, width, bits)

    @property
    def element_bytes(self) -> int:
        """The bytes of an element.

        >>> Banks(32, 4, 16).element_bytes
        2
        """
        return self.element_bits // 8

    @property
    def most(self) -> int:
        """The elements that one access can have at most: 16 bytes, or what the banks serve in a cycle if that is less.

        >>> Banks(2, 4, 32).most
        2
        """
        return _power_below(min(WIDEST, self.banks * self.width) // self.element_bytes)


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What the accesses of a subgroup to shared memory cost; of several subgroups, the one that needs the most cycles.

    `ways` is the most cycles that one phase of an instruction takes, over all subgroups: 1 is conflict-free, 2 a 2-way
    conflict. `cycles` are those of all instructions, `ideal` as many as there were without conflicts. `vector` counts the
    elements of `element_bits` that a lane moves in an instruction.

    >>> bank_conflicts(Layout.parse("d0 = 8@lane, d1 = 2@reg"), memory=Layout.parse("d0 = 8@addr:32, d1 = 2@addr:4"))
    Conflicts(ways=8, cycles=16, ideal=2, instructions=2, vector=1, element_bits=32)
    """

    ways: int
    cycles: int
    ideal: int
    instructions: int
    vector: int
    element_bits: int

    def __str__(self) -> str:
        cost = f"{_instructions(self.instructions, self.vector, self.element_bits)}, {counted(self.cycles, 'cycle')}"
        if self.ways <= 1:
            return f"{cost}: conflict-free"
        return f"{cost}, {self.ideal} without conflicts: {self.ways}-way conflicts"


@dataclass(frozen=True, slots=True)
class Coalescing:
    """How the accesses of a subgroup fall on cache lines; of several subgroups, the one that moves the most bytes.

    `lines` is the most lines of `line` bytes that one instruction touches, over all subgroups. `moved` are the bytes of the
    lines that the instructions touch, `used` the different bytes that they asked for, both summed over instructions.

    >>> coalescing(Layout.parse("d0 = 4@reg, d1 = 16@lane"), element_bits=32)
    Coalescing(lines=1, instructions=4, vector=1, used=256, moved=256, line=64, element_bits=32)
    """

    lines: int
    instructions: int
    vector: int
    used: int
    moved: int
    line: int
    element_bits: int

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that is used: 1.0 is fully coalesced.

        >>> coalescing(Layout.parse("d0 = 16@lane"), element_bits=32, memory=Layout.parse("d0 = 16@addr:2")).efficiency
        0.5
        """
        return self.used / self.moved

    def __str__(self) -> str:
        each = f"{counted(self.lines, 'line')} of {self.line} bytes"
        return (
            f"{_instructions(self.instructions, self.vector, self.element_bits)}, at most {each} each: "
            f"{self.used} of {self.moved} bytes moved are used ({self.efficiency:.0%})"
        )


def bank_conflicts(
    layout: Layout,
    banks: int = 32,
    width: int = 4,
    *,
    element_bits: int = 32,
    memory: Memory | None = None,
    vector: int | None = None,
) -> Conflicts:
    """How often the accesses of one subgroup to shared memory wait for one another because lanes meet in a bank.

    `layout` says which elements each (sg, lane, reg) holds; the subgroup writes all of them to `memory`, or reads them from
    there (both cost the same). `memory` says at which address, counted in elements of `element_bits` (8, 16, 32 or 64), each
    element of the tensor lies: row-major unless given. `vector` asks for that many elements per access; the widest possible
    up to 16 bytes unless given.

    The model: memory has `banks` banks of `width` bytes (a power of two), word after word in bank after bank. An
    instruction is carried out in phases of at most `banks * width` bytes, lanes in order; a phase takes as many cycles as
    the most loaded bank has different words to serve. Lanes that touch the same word (or parts of it, where elements are
    smaller) are served together. Sources: this module's text.

    Raises `ConversionError` for what is no distribution over sg, lane and reg, memory of another shape or with several
    addresses for an element, and a `vector` that the addresses don't allow; `SizeError` over 2^24 slots.

    A tile of 16 x 32 f32 that lanes hold along rows, and its transpose, both in row-major memory:

    >>> print(bank_conflicts(Layout.parse("d0 = 16@reg, d1 = 32@lane")))
    16 instructions of 1 x 32 bits per lane, 16 cycles: conflict-free
    >>> print(bank_conflicts(Layout.parse("d0 = 16@lane, d1 = 16@reg 2@lane:16")))
    16 instructions of 1 x 32 bits per lane, 256 cycles, 16 without conflicts: 16-way conflicts
    """
    hardware = Banks.checked(banks, width, element_bits)
    if vector is not None and (type(vector) is not int or not 1 <= vector <= hardware.most or vector & (vector - 1)):
        raise ConversionError(
            f"vector={reprlib.repr(vector)}: expected a power of two from 1 to {hardware.most} elements of {element_bits} bits"
        )
    held = held_elements(layout)
    found = count_conflicts(held, address_table(memory, layout, hardware.element_bytes), hardware, vector)
    if vector is not None and found.vector != vector:
        raise ConversionError(
            f"vector={vector}: the registers have at most {found.vector} elements at consecutive, aligned addresses "
            f"(of {layout} in {memory_text(memory)})"
        )
    return found


def coalescing(layout: Layout, *, element_bits: int, memory: Memory | None = None, line: int = 64) -> Coalescing:
    """How many cache lines each access of a subgroup to global memory touches, and how much of them it uses.

    `layout`, `memory` and `element_bits` are as in `bank_conflicts`, and so is what makes an access of several elements.
    `line` is the bytes of a cache line, a power of two from 16 to 4096: 64 on Intel's GPUs (VTune Profiler User Guide,
    "Untyped Writes Coalescence", which counts used bytes in requested lines as here), 128 in NVIDIA's first-level cache, whose
    sectors are 32 (Nsight documentation, "Memory Statistics - Global").

    Raises `ConversionError` and `SizeError` as `bank_conflicts` does.

    A lane that holds a row of 16 f16 reads it in two accesses of 8; the rows of 8 lanes are 64 elements apart:

    >>> tile = Layout.parse("d0 = 8@lane, d1 = 16@reg")
    >>> print(coalescing(tile, element_bits=16, memory=Layout.parse("d0 = 8@addr:64, d1 = 16@addr")))
    2 instructions of 8 x 16 bits per lane, at most 8 lines of 64 bytes each: 256 of 1024 bytes moved are used (25%)
    """
    size = _element_bits(element_bits) // 8
    if type(line) is not int or not 16 <= line <= 4096 or line & (line - 1):
        raise ConversionError(
            f"line={reprlib.repr(line)}: expected the bytes of a cache line, a power of two from 16 to 4096"
        )
    held = held_elements(layout)
    starts, vector = lane_accesses(held, address_table(memory, layout, size), WIDEST // size)
    rows = starts.reshape(-1, starts.shape[-1])
    touched, asked = (np.concatenate([_distinct(part) for part in _chunks(rows // n)]) for n in (line // size, 1))
    touched, asked = touched.reshape(starts.shape[:2]), asked.reshape(starts.shape[:2])
    worst = int(touched.sum(1).argmax())
    return Coalescing(
        lines=int(touched.max()),
        instructions=int(np.count_nonzero(asked[worst])),
        vector=vector,
        used=int(asked[worst].sum()) * vector * size,
        moved=int(touched[worst].sum()) * line,
        line=line,
        element_bits=element_bits,
    )


@lru_cache(maxsize=4096)
def access_ways(address: Address, words: int, subgroups: int, lanes: int, where: tuple[int, ...] | None = None) -> int:
    """The most cycles that a phase of one access takes, of so many words per lane from `address` on (see `bank_conflicts`).

    >>> access_ways(Address(xor=True, lane=(1, 2, 4)), 1, 1, 8), access_ways(Address(xor=True, lane=(32, 64, 1)), 1, 1, 8)
    (1, 4)
    """
    table = (address.of(np.arange(subgroups), np.arange(lanes))[..., None] + np.arange(words)).reshape(-1)
    held = np.arange(table.size).reshape(subgroups, lanes, words)
    if where is not None:
        active = np.array([[mask >> i & 1 for i in range(lanes)] for mask in where], bool)
        held = np.where(active[..., None], held, -1)
    return count_conflicts(held, table, Banks(BANKS, WORD // 8, WORD), words).ways


def program_ways(program: Program) -> list[int]:
    """The most cycles that a phase of each store and load takes, in their order; 1 is free of conflicts.

    >>> program_ways(Program(1, 2, 32, 1, 1, pack=(0,), steps=(Store((0,), Address(xor=True, lane=(32,))),), unpack=(0,)))
    [2]
    """
    found: list[int] = []
    for step in program.steps:
        if isinstance(step, (Store, Load)):
            words, where = (step.words, step.where) if isinstance(step, Store) else (step.to, None)
            anywhere = replace(step.address, base=0)  # where an access begins turns the banks, for all lanes alike
            found.append(access_ways(anywhere, len(words), program.subgroups, program.lanes, where))
    return found


def count_conflicts(held: Numbers, table: Numbers, hardware: Banks, vector: int | None = None) -> Conflicts:
    """The conflicts of the slots `[sg, lane, reg]` that hold elements, at the addresses in `table`; see `bank_conflicts`.

    >>> count_conflicts(np.array([[[0, 1], [2, 3]]]), np.array([0, 1, 2, 3]), Banks(4, 4, 32)).vector
    2
    """
    banks, width, _ = hardware
    starts, found = lane_accesses(held, table, vector or hardware.most)
    subgroups, count, lanes = starts.shape
    size = found * hardware.element_bytes
    together = min(banks * width // size, lanes)
    phases = -(-lanes // together)
    if phases * together > lanes:
        starts = np.pad(starts, ((0, 0), (0, 0), (0, phases * together - lanes)), constant_values=-1)
    rows = starts.reshape(-1, together)
    words = np.where(rows < 0, -1, rows * hardware.element_bytes // width)
    spread = max(1, size // width)
    waited = np.concatenate([_most_loaded(part, spread, banks) for part in _chunks(words, spread)])
    waited = waited.reshape(subgroups, count, phases)
    cycles = waited.sum((1, 2))
    worst = int(cycles.argmax())
    return Conflicts(
        ways=int(waited.max()),
        cycles=int(cycles[worst]),
        ideal=int(np.count_nonzero(waited[worst])),
        instructions=int(np.count_nonzero(waited[worst].any(1))),
        vector=found,
        element_bits=hardware.element_bits,
    )


def _most_loaded(words: Numbers, spread: int, banks: int) -> Numbers:
    """For each row of lanes, each touching `spread` words from `words` on, the different words of the most loaded bank."""
    rows = len(words)
    touched = words[..., None] + np.arange(spread)
    rounds = max(0, int(touched.max())) // banks + 1
    keys = np.where(words[..., None] < 0, -1, touched % banks * rounds + touched // banks).reshape(rows, -1)
    keys.sort(axis=1)
    bank = keys // rounds
    fresh = _changes(keys) & (keys >= 0)
    seen = fresh.cumsum(1)
    before = np.maximum.accumulate(np.where(_changes(bank), seen - fresh, 0), axis=1)
    return (seen - before).max(1)


def _distinct(values: Numbers) -> Numbers:
    """How many different values from 0 on each row has."""
    ordered = np.sort(values, axis=1)
    return (_changes(ordered) & (ordered >= 0)).sum(1)


def _changes(ordered: Numbers) -> NDArray[np.bool_]:
    """Where a row's value is another than the one before it."""
    found = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=found[:, 1:])
    return found


def _chunks(rows: Numbers, spread: int = 1) -> Iterator[Numbers]:
    """The rows in parts that numpy's temporaries may be as large as."""
    step = max(1, _CHUNK // (rows.shape[1] * spread))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def _element_bits(given: object) -> int:
    if type(given) is not int or given not in (8, 16, 32, 64):
        raise ConversionError(f"element_bits={reprlib.repr(given)}: expected 8, 16, 32 or 64")
    return given


def _power_below(number: int) -> int:
    return 1 << number.bit_length() - 1


def counted(count: int, what: str) -> str:
    """A number of things, in words.

    >>> counted(1, "word"), counted(3, "word")
    ('1 word', '3 words')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _instructions(count: int, vector: int, element_bits: int) -> str:
    return f"{counted(count, 'instruction')} of {vector} x {element_bits} bits per lane"
