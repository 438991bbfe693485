"""Which matrix elements the registers hold, followed through the messages and moves of a loop, byte by byte.

A 2D block message writes the bytes of its block where its layout says. By hand, a plain block of 8 rows and 16 columns of f16:
lane l of row r is at byte 32 r + 2 l, so a register of 64 bytes holds two rows. Packed (VNNI), the elements of a column that
share 32 bits stand together: rows 2 r and 2 r + 1 of column l are the low and the high half of word l of register r.

>>> import numpy as np
>>> from layoutalg.hardware import block_load
>>> byte_map(block_load(8, 16, 16))[1, :3].tolist(), byte_map(block_load(16, 16, 16, transform=True))[1, :3].tolist()
([32, 34, 36], [2, 6, 10])

`RegisterContents` has one entry for every byte of the register file: which matrix, row and column it is a part of.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.layout import Layout
from layoutalg.gemm.listing.reading import Instruction, Operand
from layoutalg.hardware import BlockLoad

__all__ = ["RegisterContents", "byte_map", "bytes_of", "message_load", "span"]

GRF = 64
"""Bytes of a register, on the chips whose subgroups have 16 lanes."""
LANES = 16
_SIZES = {"b": 1, "ub": 1, "w": 2, "uw": 2, "hf": 2, "bf": 2, "d": 4, "ud": 4, "f": 4, "q": 8, "uq": 8, "df": 8}
_REGION = re.compile(r"<(\d+);(\d+),(\d+)>")
_KIND = re.compile(r"load_block2d\.\w+\.d(\d+)(v|t)?(v|t)?\.")

Bytes = NDArray[np.int64]


def bytes_of(layout: Layout, bits: int, *, together: bool) -> Bytes:
    """The first byte of every element of a fragment in its registers, in the fragment's shape.

    `together`: the elements of one lane that share 32 bits are neighbours there (packed and transposed messages, B of DPAS).
    Otherwise a lane's neighbours in a row are (plain messages, A and C).

    >>> from layoutalg.hardware import dpas
    >>> bytes_of(dpas("f16", "f16").a, 16, together=False)[7].tolist()
    [224, 226, 228, 230, 232, 234, 236, 238, 240, 242, 244, 246, 248, 250, 252, 254]
    """
    size = bits // 8
    lane, reg = layout.owner_map("lane"), layout.owner_map("reg")
    share = max(1, 4 // size) if together else int(np.argmax(lane[0] != lane[0, 0]))
    return (reg // share) * (LANES * share * size) + lane * share * size + (reg % share) * size


@lru_cache(maxsize=64)
def byte_map(load: BlockLoad) -> Bytes:
    """The first byte, in the registers, of every element of a message's block, by `[row, column]` in memory."""
    return bytes_of(load.layout, load.bits, together=load.transform or load.transpose)


def message_load(message: str, shape: tuple[int, int, int], bits: int) -> tuple[BlockLoad, int] | None:
    """The message that a disassembler's words and the shape in its payload stand for, and the bits that it counts x in.

    `bits` are those of an element of the matrix. A transposed message moves units of 32 bits, which are several narrower
    elements of a row. None for words of another kind.

    >>> load, unit = message_load("wr:1+0, rd:8; load_block2d.ugm.d32t.a64.ca.ca", (16, 8, 1), 16)
    >>> load.name, load.width, unit
    ('read_transpose_32b_16r8x1c', 16, 32)
    """
    found = _KIND.search(message)
    if found is None:
        return None
    unit, rows, width, blocks = int(found[1]), *shape
    kinds = found.groups()[1:]
    load = BlockLoad(
        rows,
        width * unit // bits,
        bits,
        blocks,
        transform="v" in kinds,
        transpose="t" in kinds,
        transpose_bits=unit if "t" in kinds else 0,
    )
    return load, unit


class RegisterContents:
    """What every byte of the register file is a part of: `[byte] -> (matrix, row, column)`, -1 where nothing is known.

    >>> contents = RegisterContents(256)
    >>> from layoutalg.hardware import block_load
    >>> contents.load(8, block_load(8, 16, 16), 0, 32, 64)
    >>> contents.of(Operand("r8.0:hf"), 4)[[0, 2, 32]].tolist()
    [[0, 32, 64], [0, 32, 65], [0, 33, 64]]
    """

    def __init__(self, registers: int) -> None:
        self.held = np.full((registers * GRF, 3), -1, np.int64)

    def load(self, register: int, load: BlockLoad, matrix: int, row: int, column: int) -> None:
        """A message brings a block whose first element is (row, column) of a matrix."""
        starts = byte_map(load)
        rows, columns = np.indices(starts.shape)
        self.forget(register, -(-int(starts.max() + load.bits // 8) // GRF))
        for byte in range(load.bits // 8):
            self.held[register * GRF + starts + byte] = np.stack(
                [np.full_like(rows, matrix), rows + row, columns + column], axis=-1
            )

    def forget(self, register: int, count: int) -> None:
        """Something else is written into `count` registers."""
        self.held[register * GRF : (register + count) * GRF] = -1

    def of(self, operand: Operand, count: int) -> Bytes:
        """What the bytes of `count` registers are, from an operand's first one on.

        >>> RegisterContents(128).of(Operand("r8.0:hf"), 4).shape
        (256, 3)
        """
        start = (operand.register or 0) * GRF + operand.part * _SIZES.get(operand.type, 4)
        return self.held[start : start + count * GRF]

    def move(self, one: Instruction) -> None:
        """A move copies what its source is; any other result is not an element."""
        target = one.destination
        if target is None or target.register is None:
            return
        size = _SIZES.get(target.type, 4)
        lanes = np.arange(one.lanes)
        places = _bytes(target, size, lanes)
        source = one.sources[0] if one.sources else None
        known = (
            one.mnemonic == "mov"
            and one.predicate in ("", "W")
            and source is not None
            and source.register is not None
            and _SIZES.get(source.type, 4) == size
        )
        whole = places[:, None] + np.arange(size)
        inside = whole < len(self.held)
        if known and source is not None:
            taken = _bytes(source, size, lanes)[:, None] + np.arange(size)
            self.held[whole[inside]] = self.held[np.minimum(taken, len(self.held) - 1)][inside]
        else:
            self.held[whole[inside]] = -1

    def matrix_at(self, operand: Operand) -> int:
        """The matrix whose elements stand where an operand begins, -1 where that is not known.

        >>> RegisterContents(128).matrix_at(Operand("r8.0:hf"))
        -1
        """
        start = (operand.register or 0) * GRF + operand.part * _SIZES.get(operand.type, 4)
        return int(self.held[start, 0]) if operand.register is not None and start < len(self.held) else -1


def span(operand: Operand, lanes: int) -> range:
    """The bytes of the register file from an operand's first to its last; none where it is not a register.

    >>> span(Operand("r3.5<1>:ud"), 1), span(Operand("null"), 1)
    (range(212, 216), range(0, 0))
    """
    if operand.register is None:
        return range(0)
    size = _SIZES.get(operand.type, 4)
    places = _bytes(operand, size, np.arange(max(lanes, 1)))
    return range(int(places.min()), int(places.max()) + size)


def _bytes(operand: Operand, size: int, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the elements of an operand begin, one for each lane."""
    start = (operand.register or 0) * GRF + operand.part * size
    region = _REGION.search(operand.text)
    if region:
        vertical, width, horizontal = (int(part) for part in region.groups())
        return start + (lanes // width * vertical + lanes % width * horizontal) * size
    stride = re.search(r"<(\d+)>", operand.text)
    return start + lanes * (int(stride[1]) if stride else 1) * size
