"""The swizzle that Triton picks for a tensor that goes through shared memory between two layouts.

Both layouts are lists of columns here: what each bit of the register, lane, warp and block does to the tensor's element,
counted with the first dimension lowest. Triton splits the bits of the element's number: those of one access (`vector`), of the
banks (`bank`), of the rows of banks (`segment`), and those that it moves one after another (`reps`), so that less memory is
needed. Eight rows of eight, held by rows, wanted by columns, go through memory without conflicts of banks:

>>> rows = Columns(register=(), lane=(8, 16, 32, 1, 2), warp=(4,))
>>> columns = Columns(register=(), lane=(1, 2, 4, 8, 16), warp=(32,))
>>> Swizzle.of(rows, columns, 32, Hardware())
Swizzle(vector=(), bank=(1, 2, 8, 16, 32), segment=(36,), reps=(), block=())

What goes into an access is in the registers of both; what tells apart the lanes that are served together, on either side, goes
into banks, where there is room; a bit of the one side is joined by XOR with one of the other where there is not. NVIDIA's
`ldmatrix` and `stmatrix` are other shapes of an access, and the pair of instructions with the fewest conflicts wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from layoutalg.core.errors import ConversionError
from layoutalg.core.gf2 import reduced
from layoutalg.core.messages import shown
from layoutalg.hardware.chip_names import chip_name

__all__ = ["PLAIN", "Columns", "Hardware", "Instruction", "Swizzle", "conflicting", "served_at_once"]

_WIDEST = 128
"""The bits of the widest access of a lane."""


class Columns(NamedTuple):
    """What the bits of each input do to the element's number."""

    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...] = ()
    block: tuple[int, ...] = ()

    @property
    def bits(self) -> int:
        """The bits of an element's number."""
        return max([column.bit_length() for one in self for column in one], default=0)


class Instruction(NamedTuple):
    """An instruction of shared memory: the lane bits inside one access, and those that choose between addresses served at once.

    >>> Instruction("ldmatrix", (0, 1), (2, 3, 4)).registers(16)
    1
    """

    name: str
    contiguous: tuple[int, ...]
    addresses: tuple[int, ...]

    def registers(self, element_bits: int) -> int:
        """The register bits of an access of 16 bytes."""
        return (_WIDEST // element_bits).bit_length() - 1 - len(self.contiguous)


_NVIDIA = re.compile(r"sm_([1-9][0-9]{1,2})")
_AMD = re.compile(r"(gfx[0-9a-f]{3,4})")
_SPREAD = re.compile(r"gfx(94|10|11)")
"""CDNA 3 and RDNA 1 to 3."""
PLAIN = Instruction("shared", (), (0, 1, 2))
_MATRIX = (0, 1), (2, 3, 4)
_TRANSPOSED = (2, 3, 4), (0, 1)


class Hardware(NamedTuple):
    """What Triton knows of a chip's shared memory.

    >>> [one.name for one in Hardware.of("sm_80")[1].instructions(16, store=False)]
    ['shared', 'ldmatrix', 'ldmatrix.trans']
    """

    banks: int = 32
    load_matrix: bool = False
    store_matrix: bool = False
    wide_load_lanes: tuple[int, ...] = ()
    """The lane bits served at once by a load of 16 bytes, where they are not the lowest."""
    tiles: bool = False
    """Whether pairs of instructions are weighed (NVIDIA), or plain accesses are taken (AMD)."""

    @staticmethod
    def of(target: object) -> tuple[str, Hardware]:
        """The chip's name and its memory: "sm_80" or "cuda:80", "gfx942" or "hip:gfx942".

        Raises `ConversionError` for what is no chip of NVIDIA's or AMD's.

        >>> Hardware.of("cuda:80")
        ('sm_80', Hardware(banks=32, load_matrix=True, store_matrix=False, wide_load_lanes=(), tiles=True))
        >>> Hardware.of("pvc")
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: target 'pvc': expected a chip that Triton compiles for, such as 'sm_90' or
        'gfx942'
        """
        target = chip_name(target) if isinstance(target, str) else target
        found = _NVIDIA.fullmatch(target) if isinstance(target, str) else None
        if found is not None:
            number = int(found.group(1))
            return f"sm_{number}", Hardware(load_matrix=number >= 75, store_matrix=number >= 90, tiles=True)
        found = _AMD.fullmatch(target) if isinstance(target, str) else None
        if found is None:
            raise ConversionError(
                f"target {shown(target)}: expected a chip that Triton compiles for, such as 'sm_90' or 'gfx942'"
            )
        name = found.group(1)
        if name in ("gfx950", "gfx1250"):
            return name, Hardware(banks=64, wide_load_lanes=(0, 1, 3, 4))
        return name, Hardware(wide_load_lanes=(0, 1, 4) if _SPREAD.match(name) else ())

    def served(self, lanes: Sequence[int], bits: int) -> tuple[int, ...]:
        """The columns of the lanes that a load of so many bits has served at once."""
        if self.wide_load_lanes and bits == _WIDEST:
            return tuple([lanes[i] for i in self.wide_load_lanes])
        return served_at_once(lanes, bits, self.banks)

    def instructions(self, element_bits: int, *, store: bool) -> list[Instruction]:
        """The instructions for elements of a width."""
        name, has = ("stmatrix", self.store_matrix) if store else ("ldmatrix", self.load_matrix)
        found = [PLAIN]
        if has and element_bits <= 32:
            found.append(Instruction(name, *_MATRIX))
        if has and element_bits == 16:
            found.append(Instruction(f"{name}.trans", *_TRANSPOSED))
        return found


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The bits of the element's number, as the bits of an address have them, low bits first.

    `store` and `load` name the instructions: "shared", or NVIDIA's matrix instructions; `waits` are what Triton counts as
    conflicts: rounds that a store and a load wait, beyond the first.

    >>> rows, columns = Columns((1, 2), (4, 8, 16, 32, 64)), Columns((32, 64), (1, 2, 4, 8, 16))
    >>> Swizzle.of(rows, columns, 32, Hardware()).offset
    (32, 64, 4, 8, 16, 33, 66)
    """

    vector: tuple[int, ...]
    bank: tuple[int, ...]
    segment: tuple[int, ...]
    reps: tuple[int, ...]
    block: tuple[int, ...]
    store: str = "shared"
    load: str = "shared"
    waits: tuple[int, int] = (0, 0)

    def __repr__(self) -> str:
        names = ("vector", "bank", "segment", "reps", "block")
        return f"Swizzle({', '.join(f'{name}={getattr(self, name)}' for name in names)})"

    @property
    def offset(self) -> tuple[int, ...]:
        """The columns of an offset in memory."""
        return (*self.vector, *self.bank, *self.segment)

    @staticmethod
    def of(
        source: Columns, result: Columns, element_bits: int, hardware: Hardware, *, crossing: bool = False
    ) -> Swizzle:
        """The swizzle between two layouts without registers that hold copies; `crossing`: elements change their CTA."""
        if hardware.tiles:
            found = list(_with_instructions(source, result, element_bits, hardware, crossing))
            if found:
                return min(found, key=lambda one: (sum(one.waits), -len(one.reps)))
        return _plain(source, result, element_bits, hardware if not hardware.tiles else Hardware())


def _with_instructions(
    source: Columns, result: Columns, element_bits: int, hardware: Hardware, crossing: bool
) -> list[Swizzle]:
    """A swizzle for each pair of instructions that fit; matrices are not loaded from other CTAs."""
    stores = hardware.instructions(element_bits, store=True)
    loads = [PLAIN] if crossing else hardware.instructions(element_bits, store=False)
    found: list[Swizzle] = []
    for store, load in product(stores, loads):
        vector = _common_access(source, result, store, load, element_bits)
        if vector is None:
            continue
        tiles = [_served(side, one, vector) for side, one in ((source, store), (result, load))]
        if tiles[0] is None or tiles[1] is None:
            continue
        kept = min(len(one.contiguous) + len(one.addresses) - 3 for one in (store, load))
        made = _swizzle(source, result, element_bits, vector, tiles[0], tiles[1], kept, 32)
        found.append(_counted(made, tiles[0], tiles[1], source.bits, store.name, load.name))
    return found


def _counted(made: Swizzle, stored: Sequence[int], loaded: Sequence[int], bits: int, store: str, load: str) -> Swizzle:
    waits = [conflicting(made.segment, one, bits) for one in (stored, loaded)]
    return Swizzle(made.vector, made.bank, made.segment, made.reps, made.block, store, load, (waits[0], waits[1]))


def _common_access(
    source: Columns, result: Columns, store: Instruction, load: Instruction, element_bits: int
) -> tuple[int, ...] | None:
    """The elements of an access that both instructions can have; None where there are none."""
    first, second, a, b = source, result, store, load
    if a.registers(element_bits) < b.registers(element_bits):
        first, second, a, b = result, source, load, store
    more, fewer = a.registers(element_bits), b.registers(element_bits)
    vector = _intersection(first.register, second.register, source.bits)[:fewer]
    if fewer < 0 or len(vector) < fewer:
        return None
    lanes = [[side.lane[i] for i in one.contiguous] for side, one in ((first, a), (second, b))]
    if not all(map(all, lanes)):
        return None
    between = more - fewer
    if any(column not in first.register for column in lanes[1][:between]):
        return None
    if lanes[0] != lanes[1][between:]:
        return None
    return (*vector, *lanes[1])


def _served(side: Columns, instruction: Instruction, vector: Sequence[int]) -> tuple[int, ...] | None:
    """What tells apart the addresses that are served at once; None where there are too few registers for it."""
    needed = 3 - len(instruction.addresses)
    registers = [column for column in side.register if column not in vector][:needed]
    if len(registers) < needed:
        return None
    return (*registers, *[side.lane[i] for i in instruction.addresses])


def _plain(source: Columns, result: Columns, element_bits: int, hardware: Hardware) -> Swizzle:
    """The swizzle for plain stores and loads of any width."""
    vector, by_source = _access(source, result, element_bits)
    words = max(1, (element_bits << len(vector)) // 32).bit_length() - 1
    width = element_bits << len(vector)
    tiles = [served_at_once(source.lane, width, hardware.banks), hardware.served(result.lane, width)]
    made = _swizzle(source, result, element_bits, vector, tiles[0], tiles[1], 0, hardware.banks)
    if words < 2 and hardware.banks <= 32:
        places = [[i for i, b in enumerate(made.bank) if b in side.register] for side in (source, result)]
        if by_source is None:
            by_source = len(places[0]) > len(places[1])
        first = places[0 if by_source else 1]
        order = [*first, *[i for i in range(len(made.bank)) if i not in first]]
        bank = tuple([made.bank[i] for i in order])
        made = Swizzle(made.vector, bank, made.segment, made.reps, made.block)
    return _counted(made, tiles[0], tiles[1], source.bits, "shared", "shared")


def served_at_once(lanes: Sequence[int], bits: int, banks: int) -> tuple[int, ...]:
    """The columns of as many lanes as the banks serve at once, with accesses of so many bits.

    >>> served_at_once((1, 2, 4, 8, 16), 128, 32)
    (1, 2, 4)
    """
    phases = max(1, bits // 32).bit_length() - 1 + len(lanes) - (banks.bit_length() - 1)
    return tuple(lanes[: len(lanes) - max(0, phases)])


def conflicting(segment: Sequence[int], served: Sequence[int], bits: int) -> int:
    """The rounds beyond the first that lanes wait which differ in rows of banks: what their columns have in common with those.

    >>> conflicting((32, 64), (32, 1, 2), 7)
    1
    """
    return (1 << len(_intersection(segment, served, bits))) - 1


def _access(source: Columns, result: Columns, element_bits: int) -> tuple[tuple[int, ...], bool | None]:
    """The elements of an access, and whether the source (or else the result) fills the rest of a bank with its registers."""
    vector = _intersection(source.register, result.register, source.bits)
    vector = vector[: (_WIDEST // element_bits).bit_length() - 1]
    wanted = (32 // element_bits).bit_length() - 1
    if element_bits << len(vector) >= 32:
        return tuple(vector), None
    warps = [[column for column in side.warp if column] for side in (source, result)]
    first, second = (
        _intersection([column for column in side.register if column not in vector], others, source.bits)
        for side, others in ((source, warps[1]), (result, warps[0]))
    )
    by_source = min(first) < min(second) if len(first) == len(second) > 0 else len(first) > len(second)
    found = [*vector, *(first if by_source else second)]
    if len(found) < wanted:
        found += _intersection(warps[0], warps[1], source.bits)
    for i in range(max(map(len, warps))):
        for side, avoided in ((0, ()), (1, source.block)):
            column = warps[side][i] if i < len(warps[side]) else None
            if len(found) < wanted and column is not None and column not in found and column not in avoided:
                found.append(column)
    return tuple(found[:wanted]), by_source


def _swizzle(
    source: Columns,
    result: Columns,
    element_bits: int,
    vector: tuple[int, ...],
    stored: Sequence[int],
    loaded: Sequence[int],
    kept: int,
    banks: int,
) -> Swizzle:
    """The swizzle for an access, and for what tells apart the addresses that a store and a load have served at once.

    The first `kept` bits that both hold in registers are left in the segment, so that matrix instructions move several tiles.
    """
    bits = source.bits
    blocks = [column for column in source.block if column]
    rest = bits - len(vector) - len(blocks)
    bank = min((banks * 32 // (element_bits << len(vector))).bit_length() - 1, rest)
    segment = _segment([*vector, *stored], [*vector, *loaded], blocks, bits, rest - bank)
    taken = reduced([_reversed(column, bits) for column in (*vector, *segment, *blocks)])
    leading = {one.bit_length() - 1 for one in taken}
    banked = tuple([1 << i for i in range(bits) if bits - 1 - i not in leading])
    reps: list[int] = []
    stay: list[int] = []
    for column in segment:
        both = column in source.register and column in result.register
        (reps if both and kept <= 0 else stay).append(column)
        kept -= both
    return Swizzle(vector, banked, tuple(stay), tuple(reps), source.block)


def _segment(first: Sequence[int], second: Sequence[int], blocks: Sequence[int], bits: int, count: int) -> list[int]:
    """The columns of the rows of banks: what neither side tells apart by banks, then XORs of one of each side's."""
    sides = [{*one, *blocks} - {0} for one in (first, second)]
    free = [1 << i for i in range(bits) if 1 << i not in sides[0] | sides[1]]
    if len(free) >= count:
        return free[: max(count, 0)]
    few, many = sorted((sorted(sides[0] - sides[1]), sorted(sides[1] - sides[0])), key=len)
    conflicts = min(max(0, count - len(few) - len(free)), len(few))
    joined = [a ^ b for a, b in zip(few[conflicts:], many[conflicts:], strict=False)]
    return [*free, *joined, *few[:conflicts], *many[:conflicts]][:count]


def _intersection(first: Sequence[int], second: Sequence[int], bits: int) -> list[int]:
    """A basis of what two spaces have in common, in the order of the first where all columns are single bits."""
    if not any(column & (column - 1) for column in (*first, *second)):
        return [column for column in first if column and column in second]
    nothing = [*_orthogonal(first, bits), *_orthogonal(second, bits)]
    return _orthogonal(nothing, bits)


def _orthogonal(vectors: Sequence[int], bits: int) -> list[int]:
    """The vectors that have an even number of bits in common with all of these, one for each place that leads none."""
    rows = reduced([_reversed(vector, bits) for vector in vectors])
    rows = [_reversed(row, bits) for row in rows]
    pivots = {row & -row for row in rows}
    return [sum([row & -row for row in rows if row >> i & 1], 1 << i) for i in range(bits) if 1 << i not in pivots]


def _reversed(vector: int, bits: int) -> int:
    """The vector with its lowest place on top, as a basis that leads with it needs."""
    return int(f"{vector:0{bits}b}"[::-1], 2) if bits else 0
