"""Loads and stores of Triton's tensors: `ttg.local_load`, `ttg.local_store` and `tt.load` as a lane's accesses.

The operand of a matrix instruction, from memory that is swizzled for it, and from memory that is not:

>>> mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
>>> operand = f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>"
>>> for phases in (8, 1):
...     shared = f"#ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = {phases}, order = [1, 0]}}>"
...     print(shared_access(operand, shared, (16, 64), "f16", "sm_80"))
4 ldmatrix of 128 bits per lane: conflict-free
4 ldmatrix of 128 bits per lane: 8-way conflicts

How wide an access is follows from the map of registers, lanes and warps to offsets: as many registers as lie at consecutive
offsets, aligned in every lane. NVIDIA's matrix instructions are taken where rows of 16 bytes fit them (`ldmatrix` from
sm_75 on, `stmatrix` from sm_90 on). Conflicts are counted by `conflicts`; Triton's own estimate is
`waits`, which is now and then too low (narrow accesses to swizzles finer than a word).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import le
from typing import Literal, NamedTuple

import numpy as np

from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.gf2 import image, preimages, reduced
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of, one_of, whole_number, whole_numbers
from layoutalg.memory.accesses import MOST_ACCESSES
from layoutalg.memory.addresses import Memory, Numbers
from layoutalg.memory.coalescing import Coalescing, coalescing
from layoutalg.memory.conflicts import Banks, Conflicts, count_conflicts
from layoutalg.triton.conversions import bits_of, widest
from layoutalg.triton.encodings import Blocked, Encoding, PaddedShared, parse_encoding
from layoutalg.triton.linear import LinearLayout
from layoutalg.triton.swizzling import Hardware, conflicting

__all__ = ["GlobalAccess", "SharedAccess", "global_access", "global_memory", "shared_access"]

Direction = Literal["load", "store"]
_LINE, _SECTOR = 128, 32
"""The bytes of a line of the cache and of a sector of it, on NVIDIA's chips (see `coalescing`)."""


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """The accesses of a lane to shared memory: how many `instructions`, of how many `bits`, and what they wait.

    `instruction` is "shared" (a plain load or store) or a matrix instruction of NVIDIA's. `ways` is how many rounds the banks
    need for one of them: 1 is conflict-free. `waits` is Triton's estimate of the rounds beyond the first, of plain accesses.

    >>> SharedAccess("sm_80", "load", "shared", 2, 64, 4, 3).text
    '2 loads of 64 bits per lane: 4-way conflicts'
    """

    target: str
    direction: Direction
    instruction: str
    instructions: int
    bits: int
    ways: int
    waits: int
    conflicts: Conflicts | None = None

    @property
    def text(self) -> str:
        """In words.

        >>> SharedAccess("sm_80", "store", "shared", 1, 32, 1, 0).text
        '1 store of 32 bits per lane: conflict-free'
        """
        name = self.instruction
        number = counted(self.instructions, self.direction) if name == "shared" else f"{self.instructions} {name}"
        waited = "conflict-free" if self.ways == 1 else f"{self.ways}-way conflicts"
        return f"{number} of {self.bits} bits per lane: {waited}"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class GlobalAccess:
    """The accesses of a warp to global memory: how wide a lane's are, and how many lines and sectors one of them touches.

    `least_lines` and `least_sectors` are as few as its bytes need.

    >>> print(global_access("d0 = 32@lane, d1 = 32@reg", (32, 32), "f32", contiguity=1))
    32 loads of 32 bits per lane; each touches 32 lines of 128 bytes (least 1), 32 sectors of 32 bytes (least 4)
    """

    instructions: int
    bits: int
    lines: int
    least_lines: int
    sectors: int
    least_sectors: int
    coalescing: Coalescing

    def __str__(self) -> str:
        return (
            f"{counted(self.instructions, 'load')} of {self.bits} bits per lane; each touches "
            f"{counted(self.lines, 'line')} of {_LINE} bytes (least {self.least_lines}), "
            f"{counted(self.sectors, 'sector')} of {_SECTOR} bytes (least {self.least_sectors})"
        )


class _Offsets(NamedTuple):
    """The offset in memory that each bit of register, lane, warp and block brings in; the block's bits above the offset's."""

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    others: tuple[int, ...]
    size: int
    """The bits of an offset."""


def shared_access(
    tensor: Encoding | LinearLayout | str,
    shared: Encoding | LinearLayout | str,
    shape: Sequence[int],
    element: str | int = "f32",
    target: str = "sm_80",
    direction: Direction = "load",
    allocation: Sequence[int] | None = None,
) -> SharedAccess:
    """How a tensor in registers is loaded from shared memory, or stored there, on an NVIDIA or AMD chip.

    `tensor` is a layout of registers, `shared` one of offsets, both for `shape`: encodings, their texts, or linear layouts.
    `allocation` is the shape of the memory, where the tensor is a part of it that begins at a multiple of its own size.

    Raises `ConversionError` for layouts of other inputs, or memory that does not have every element of the tensor; `SizeError`
    over 2^24 accesses.

    >>> mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    >>> operand = f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>"
    >>> shared = "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>"
    >>> found = shared_access(operand, shared, (16, 32), "f16", "sm_80")
    >>> found.instruction, found.instructions, found.bits, found.ways
    ('ldmatrix', 2, 128, 1)
    """
    one_of(direction, ("load", "store"), "direction", ConversionError)
    bits, (chip, hardware) = bits_of(element), Hardware.of(target)
    held, memory = (parse_encoding(one) if isinstance(one, str) else one for one in (tensor, shared))
    registers = _linear(held, shape, ("register", "lane", "warp", "block")).remove_zero_bases_along_dim("register")
    offsets = _linear(memory, shape if allocation is None else allocation, ("offset", "block"))
    if allocation is not None and all(map(le, registers.shape, offsets.shape)):
        registers = LinearLayout(**dict(registers.bases), shape=offsets.shape)
    if registers.shape != offsets.shape:
        raise ConversionError(
            f"a tensor of {list(registers.shape)} and memory of {list(offsets.shape)}: expected the same"
        )
    places = _offsets(registers, offsets)
    pads = memory.pads if isinstance(memory, PaddedShared) else ()
    vector = _vector(places, bits, pads)
    waits = _estimated(registers, offsets, places, vector, bits, hardware)
    matrix = None if pads else _matrix(places, bits, hardware, direction)
    if matrix is not None:
        name, rows = matrix
        moved = min(128 // bits, 1 << len(places.registers))
        count = (1 << len(places.registers)) // moved
        return SharedAccess(chip, direction, name, count, moved * bits, _rounds(rows, bits), waits)
    slots = len(places.registers) + len(places.lanes) + len(registers.warp)
    if 1 << slots > MOST_ACCESSES:
        raise SizeError(f"2^{slots} elements in registers: over the limit of 2^24 accesses")
    held = _held(registers, places, pads)
    found = count_conflicts(held, np.arange(int(held.max()) + 1), Banks(hardware.banks, 4, bits), vector)
    count = (1 << len(places.registers)) // vector
    return SharedAccess(chip, direction, "shared", count, vector * bits, found.ways, waits, found)


def global_access(
    tensor: Encoding | LinearLayout | Layout | str,
    shape: Sequence[int],
    element: str | int = "f32",
    memory: Memory | None = None,
    contiguity: int | None = None,
) -> GlobalAccess:
    """How a `tt.load` or `tt.store` of a tensor in registers falls on the lines of global memory.

    `memory` says at which address each element lies, row-major unless given; `contiguity` is how many elements are known to
    be consecutive and aligned at most, as Triton's axis analysis has it.

    Raises what `coalescing` does.

    >>> rows = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
    >>> found = global_access(rows, (32, 32), "f32")
    >>> found.bits, found.lines, found.least_lines
    (128, 4, 4)
    >>> global_access(rows, (32, 32), "f32", contiguity=1).bits
    32
    """
    bits = bits_of(element)
    most = None if contiguity is None else whole_number(contiguity, "contiguity =", 1, 2**31, ConversionError)
    lines, sectors = (
        coalescing(tensor, shape, element_bits=bits, memory=memory, line=line, vector=most) for line in (_LINE, _SECTOR)
    )
    each = lines.used // lines.instructions
    return GlobalAccess(
        lines.instructions,
        lines.vector * bits,
        lines.lines,
        -(-each // _LINE),
        sectors.lines,
        -(-each // _SECTOR),
        lines,
    )


def global_memory(tensor: Encoding | LinearLayout | Layout, shape: Sequence[int]) -> Layout:
    """The memory that a tensor is loaded from, as its layout tells: row-major, but of `#ttg.blocked` in its order.

    Triton's coalescing pass gives each load the order in which its pointers are contiguous.

    >>> print(global_memory(Blocked((4, 1), (4, 8), (1, 1), (0, 1)), (16, 32)))
    d0 = 16@addr, d1 = 32@addr:16
    """
    instance_of(tensor, (Encoding, LinearLayout, Layout), "memory of", ConversionError)
    sizes = whole_numbers(shape, "shape", 1, 2**31)
    order = tensor.order if isinstance(tensor, Blocked) and tensor.rank == len(sizes) else range(len(sizes))[::-1]
    strides, step = [0] * len(sizes), 1
    for dim in order:
        strides[dim], step = step, step * sizes[dim]
    return Layout([[Factor(size, stride, "addr")] for size, stride in zip(sizes, strides, strict=True)])


def _vector(places: _Offsets, bits: int, pads: Sequence[tuple[int, int]]) -> int:
    """The elements of an access: with padding, registers in their order, and no more than lie between two paddings."""
    found = widest(places.registers, (*places.lanes, *places.others), bits)
    if not pads:
        return found
    found = min(found, *[interval for interval, _ in pads])
    while any(places.registers[i] != 1 << i for i in range(found.bit_length() - 1)):
        found //= 2
    return found


def _held(registers: LinearLayout, places: _Offsets, pads: Sequence[tuple[int, int]]) -> Numbers:
    """The address of each [warp, lane, register] of one CTA, in elements."""
    parts = (places.others[: len(registers.warp)], places.lanes, places.registers)
    mask = (1 << places.size) - 1
    found = np.zeros((1, 1, 1), np.int64)
    for axis, columns in enumerate(parts):
        numbers = np.array([image(columns, i) & mask for i in range(1 << len(columns))], np.int64)
        found = found ^ numbers.reshape([-1 if d == axis else 1 for d in range(3)])
    return found + sum([found // interval * pad for interval, pad in pads])


def _linear(given: object, shape: Sequence[int], inputs: tuple[str, ...]) -> LinearLayout:
    instance_of(given, (Encoding, LinearLayout), "access of", ConversionError)
    found = given.to_linear(shape) if isinstance(given, Encoding) else given
    if not isinstance(found, LinearLayout) or found.get_in_dim_names() != inputs:
        raise ConversionError(f"{shown(given)}: expected a layout of {', '.join(inputs)}")
    return found


def _offsets(registers: LinearLayout, memory: LinearLayout) -> _Offsets:
    found = preimages(memory.columns(), registers.columns())
    if any(one is None for one in found):
        raise ConversionError("the memory does not have every element of the tensor")
    columns = iter([one or 0 for one in found])
    parts = [tuple([next(columns) for _ in bases]) for _, bases in registers.bases]
    return _Offsets(parts[0], parts[1], (*parts[2], *parts[3]), len(memory.bases_of("offset")))


def _matrix(
    places: _Offsets, bits: int, hardware: Hardware, direction: Direction
) -> tuple[str, tuple[int, int, int]] | None:
    """The matrix instruction that fits, and the offsets of its rows."""
    has = hardware.store_matrix if direction == "store" else hardware.load_matrix
    name = "stmatrix" if direction == "store" else "ldmatrix"
    lanes, registers = places.lanes, places.registers
    if not has or len(lanes) != 5 or bits > 32 or any(one >> places.size for one in (*registers, *lanes)):
        return None
    within = (32 // bits).bit_length() - 1
    row = 1 << within + 2
    inside = [1 << i for i in range(within)]
    rest = [one for one in registers if one not in inside]
    fits = all(one in registers for one in inside) and lanes[:2] == (row >> 2, row >> 1)
    if fits and not any(one & (row - 1) for one in (*rest, *lanes[2:], *places.others)):
        return name, (lanes[2], lanes[3], lanes[4])
    fits = bits == 16 and bool(registers) and lanes[2:] == (1, 2, 4)
    if fits and not any(one & 7 for one in (*registers, *lanes[:2], *places.others)):
        return f"{name}.trans", (registers[0], lanes[0], lanes[1])
    return None


def _rounds(rows: Sequence[int], bits: int) -> int:
    """The rounds in which the banks serve eight rows of 16 bytes."""
    pieces = [one * bits // 128 for one in rows]
    return 1 << len(reduced(pieces)) - len(reduced([one & 7 for one in pieces]))


def _estimated(
    registers: LinearLayout, memory: LinearLayout, places: _Offsets, vector: int, bits: int, hardware: Hardware
) -> int:
    """Triton's estimate: what the lanes that are served at once have in common with the rows of banks."""
    columns = memory.columns()[: places.size]
    low = vector.bit_length() - 1
    bank = min((hardware.banks * 32 // (vector * bits)).bit_length() - 1, len(columns))
    start = len(registers.register)
    lanes = registers.columns()[start : start + len(registers.lane)]
    served = hardware.served(lanes, vector * bits)
    return conflicting(columns[low + bank :], served, registers.out_bits)
