"""Bank conflicts: how often banks of shared memory make a subgroup wait. (Those of a planned conversion are counted by
`layoutalg.conversion.program.access_conflicts`, which asks this module for each access.)

Shared local memory is dealt out to banks a word at a time; a bank serves one word per cycle. Four lanes with two registers
each, on four banks, hold a row of a 2 x 4 tile per register, and want to write it to memory row by row, then column by column:

    address of (i, j) = 4 i + j     register i: words 4i, 4i + 1, 4i + 2, 4i + 3: banks 0 1 2 3      one cycle
    address of (i, j) = 2 j + i     lane j: words 2j and 2j + 1 in one access of two elements: lanes 0, 1 fill the four
                                    banks, then lanes 2, 3: one instruction of two cycles
    address of (i, j) = 4 j + i     lane j: two words from 4j on: lanes 0 and 1 meet in banks 0 and 1, lanes 2 and 3 too

>>> tile = Layout.parse("d0 = 2@reg, d1 = 4@lane")
>>> for memory in ("d0 = 2@addr:4, d1 = 4@addr", "d0 = 2@addr, d1 = 4@addr:2", "d0 = 2@addr, d1 = 4@addr:4"):
...     print(bank_conflicts(tile, banks=4, memory=memory))
2 instructions of 1 x 32 bits per lane, 2 cycles: conflict-free
1 instruction of 2 x 32 bits per lane, 2 cycles: conflict-free
1 instruction of 2 x 32 bits per lane, 4 cycles, 2 without conflicts: 2-way conflicts

What one lane moves in one instruction, and how the registers are grouped for it, is explained in `layoutalg.memory.accesses`.

The model of the banks is the common one of GPUs. 32 banks of 4 bytes, one word per bank and cycle, lanes that touch one word
served together: NVIDIA, CUDA C++ Best Practices Guide, "Shared Memory". An AMD MI355X has 64 banks of 4 bytes (Modular,
documentation of Mojo's AMD kernels): `banks=64`. Accesses of 16 bytes by 32 lanes take 32 cycles where all are in the same four
banks (NVIDIA developer forum, "Shared memory bank conflict reordering"), and four at best. Which lanes go together is not
published there; that they go in the order of their numbers is this model's, and other hardware may group them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_SORTED as _CHUNK
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.memory.accesses import WIDEST, held_elements, lane_accesses
from layoutalg.memory.addresses import Memory, Numbers, addresses_of, memory_text
from layoutalg.memory.asked import distributions, element_size

if TYPE_CHECKING:
    from layoutalg.memory.picture import BankPicture

__all__ = [
    "Accesses", "Banks", "Conflicts", "accesses_of", "bank_conflicts", "changes", "conflicts_of", "count_conflicts",
    "in_chunks", "instructions_text",
]  # fmt: skip


class Banks(NamedTuple):
    """The banks of shared memory and the elements in them: how many banks, bytes per bank, bits per element."""

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
        bits = element_size(element_bits)
        if type(banks) is not int or not 1 <= banks <= 2**16:
            raise ConversionError(f"banks={shown(banks)}: expected a whole number from 1 to {2**16}")
        if type(width) is not int or width not in (1, 2, 4, 8, 16, 32, 64):
            raise ConversionError(f"width={shown(width)}: expected the bytes of a bank, a power of two from 1 to 64")
        if banks * width * 8 < bits:
            raise ConversionError(
                f"{banks} banks of {width} bytes cannot serve one element of {bits} bits in a cycle: "
                "expected more or wider banks"
            )
        return Banks(banks, width, bits)

    @property
    def element_bytes(self) -> int:
        """The bytes of an element."""
        return self.element_bits // 8

    @property
    def most(self) -> int:
        """The elements that one access can have at most: 16 bytes, or what the banks serve in a cycle if that is less."""
        return _power_below(min(WIDEST, self.banks * self.width) // self.element_bytes)


@dataclass(frozen=True, slots=True)
class Conflicts(NotebookAnswer):
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
    asked: tuple[Layout, Memory | None, Banks, int | None] | None = field(default=None, repr=False, compare=False)
    """What `bank_conflicts` was asked: the layout, the memory, its banks and the elements of an access."""

    def picture(self) -> BankPicture:
        """The banks that lanes access, and the lanes that meet in one.

        Raises `LayoutError` for figures without their access.

        >>> bank_conflicts("d0 = 32@lane").picture().title
        'bank conflicts of d0 = 32@lane'
        """
        if self.asked is None:
            raise LayoutError("figures of bank conflicts without their access have no picture")
        from layoutalg.memory.picture import bank_picture

        tensor, memory, (banks, width, bits), vector = self.asked
        return bank_picture(tensor, memory=memory, element_bits=bits, vector=vector, banks=banks, width=width)

    def __str__(self) -> str:
        cost = (
            f"{instructions_text(self.instructions, self.vector, self.element_bits)}, {counted(self.cycles, 'cycle')}"
        )
        if self.ways <= 1:
            return f"{cost}: conflict-free"
        return f"{cost}, {self.ideal} without conflicts: {self.ways}-way conflicts"


def bank_conflicts(
    layout: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    memory: Memory | None = None,
    vector: int | None = None,
    banks: int = BANKS,
    width: int = BANK_BYTES,
) -> Conflicts:
    """How often the accesses of one subgroup to shared memory wait for one another because lanes meet in a bank.

    `layout` says which elements each (sg, lane, reg) holds: a `Layout`, a value of any notation or its text, for a tensor of
    `shape` on a `machine` where it leaves them open. The subgroup writes all of them to `memory`, or reads them from there
    (both cost the same). `memory` says at which address, counted in elements of `element_bits` (8, 16, 32 or 64), each
    element of the tensor lies: row-major unless given. `vector` asks for that many elements per access; the widest possible
    up to 16 bytes unless given.

    The model: memory has `banks` banks of `width` bytes (a power of two), word after word in bank after bank. An
    instruction is carried out in phases of at most `banks * width` bytes, lanes in order; a phase takes as many cycles as
    the most loaded bank has different words to serve. Lanes that touch the same word (or parts of it, where elements are
    smaller) are served together. Sources: this module's text.

    Raises `ConversionError` for a layout onto other axes than sg, lane and reg, memory of another shape or with several
    addresses for an element, and a `vector` that the addresses don't allow; `SizeError` over 2^24 slots; what `parse` raises
    for a text.

    A tile of 16 x 32 f32 that lanes hold along rows, and its transpose, both in row-major memory:

    >>> print(bank_conflicts(Layout.parse("d0 = 16@reg, d1 = 32@lane")))
    16 instructions of 1 x 32 bits per lane, 16 cycles: conflict-free
    >>> print(bank_conflicts(Layout.parse("d0 = 16@lane, d1 = 16@reg 2@lane:16")))
    16 instructions of 1 x 32 bits per lane, 256 cycles, 16 without conflicts: 16-way conflicts
    """
    hardware = Banks.checked(banks, width, element_bits)
    tensor = distributions((layout,), shape, machine, "counting accesses")[0]
    found = conflicts_of(accesses_of(tensor, memory, hardware, vector), hardware)
    return replace(found, asked=(tensor, memory, hardware, vector))


def accesses_of(tensor: Layout, memory: Memory | None, hardware: Banks, vector: int | None) -> Accesses:
    """The accesses of a layout to memory (see `bank_conflicts`, which has the errors).

    >>> accesses_of(Layout.parse("d0 = 2@reg, d1 = 4@lane"), None, Banks(4, 4, 32), None).words.tolist()
    [[[[0, 1, 2, 3]], [[4, 5, 6, 7]]]]
    """
    bits = hardware.element_bits
    if vector is not None and (type(vector) is not int or not 1 <= vector <= hardware.most or vector & (vector - 1)):
        raise ConversionError(
            f"vector={shown(vector)}: expected a power of two from 1 to {hardware.most} elements of {bits} bits"
        )
    held = held_elements(tensor)
    found = _accesses(held, addresses_of(memory, tensor, hardware.element_bytes), hardware, vector)
    if vector is not None and found.vector != vector:
        raise ConversionError(
            f"vector={vector}: the registers have at most {found.vector} elements at consecutive, aligned addresses "
            f"(of {tensor} in {memory_text(memory)})"
        )
    return found


def count_conflicts(
    held: Numbers, table: Numbers, hardware: Banks, vector: int | None = None, most: int | None = None
) -> Conflicts:
    """The conflicts of slots `[sg, lane, reg]` that hold elements at the addresses in `table`: see `bank_conflicts`.

    `most` lanes are served together (None: as many as the banks have words for).
    """
    return conflicts_of(_accesses(held, table, hardware, vector, most), hardware)


@dataclass(frozen=True, eq=False)
class Accesses:
    """The first word that each lane touches, `[sg, instruction, phase, lane]` (-1: none), and how many it touches."""

    words: Numbers
    spread: int
    vector: int
    """Elements of an access."""

    def cycles(self, banks: int) -> Numbers:
        """The cycles of each phase, `[sg, instruction, phase]`: the different words of its most loaded bank."""
        rows = self.words.reshape(-1, self.words.shape[-1])
        waited = np.concatenate([_most_loaded(part, self.spread, banks) for part in in_chunks(rows, self.spread)])
        return waited.reshape(self.words.shape[:-1])


def _accesses(
    held: Numbers, table: Numbers, hardware: Banks, vector: int | None = None, most: int | None = None
) -> Accesses:
    banks, width, _ = hardware
    starts, found = lane_accesses(held, table, vector or hardware.most)
    subgroups, count, lanes = starts.shape
    size = found * hardware.element_bytes
    together = min(banks * width // size, lanes, lanes if most is None else most)
    phases = -(-lanes // together)
    if phases * together > lanes:
        starts = np.pad(starts, ((0, 0), (0, 0), (0, phases * together - lanes)), constant_values=-1)
    words = np.where(starts < 0, -1, starts * hardware.element_bytes // width)
    return Accesses(words.reshape(subgroups, count, phases, together), max(1, size // width), found)


def conflicts_of(accesses: Accesses, hardware: Banks) -> Conflicts:
    """What accesses cost, of the subgroup that needs the most cycles."""
    waited = accesses.cycles(hardware.banks)
    cycles = waited.sum((1, 2))
    worst = int(cycles.argmax())
    return Conflicts(
        ways=int(waited.max()),
        cycles=int(cycles[worst]),
        ideal=int(np.count_nonzero(waited[worst])),
        instructions=int(np.count_nonzero(waited[worst].any(1))),
        vector=accesses.vector,
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
    fresh = changes(keys) & (keys >= 0)
    seen = fresh.cumsum(1)
    before = np.maximum.accumulate(np.where(changes(bank), seen - fresh, 0), axis=1)
    return (seen - before).max(1)


def changes(ordered: Numbers) -> NDArray[np.bool_]:
    """Where a row's value is another than the one before it.

    >>> changes(np.array([[3, 3, 5]])).tolist()
    [[True, False, True]]
    """
    found = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=found[:, 1:])
    return found


def in_chunks(rows: Numbers, spread: int = 1) -> Iterator[Numbers]:
    """The rows in parts, so that numpy's temporaries stay small."""
    step = max(1, _CHUNK // (rows.shape[1] * spread))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def _power_below(number: int) -> int:
    return 1 << number.bit_length() - 1


def instructions_text(count: int, vector: int, element_bits: int) -> str:
    """So many instructions, in words."""
    return f"{counted(count, 'instruction')} of {vector} x {element_bits} bits per lane"
