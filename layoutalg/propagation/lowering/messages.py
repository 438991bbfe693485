"""Which 2D block messages move a fragment: one for each of its pieces, or none where no message delivers its layout.

Four messages of 8x16 move what a subgroup has of a 32x64 tensor over 2x2 subgroups, each to 8 registers of a lane:

>>> layout = Layout.parse("d0 = 2@sg:2 2@reg:16 8@reg, d1 = 2@sg 2@reg:8 16@lane")
>>> found = block_message(layout, 32, "load", tile=8)
>>> found.rows, found.width, found.registers, found.origins
(8, 16, 8, ((0, 0), (0, 16), (8, 0), (8, 16)))

The origins are those of subgroup 0; the others' are apart from them by what `registers.terms` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from layoutalg.core.errors import VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.hardware.block_messages import block_load, block_store
from layoutalg.propagation.lowering.registers import coordinates
from layoutalg.propagation.relations import settled

__all__ = ["Message", "Way", "block_message", "deliverable", "factors_above"]

Way = Literal["load", "packed", "store"]
_LONGEST = 16
"""The elements of a lane that one message moves, at most: longer vectors stop the SPIR-V backend."""
_LONGEST_PACKED = 64
"""Packed, several elements are one word of 32 bits, so more of them fit."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of `rows` x `width` elements, its registers for each lane, and where each piece's begins in the tensor.

    >>> Message(8, 16, 8, ((0, 0), (0, 16))).packed
    False
    """

    rows: int
    width: int
    registers: int
    origins: tuple[tuple[int, int], ...]
    packed: bool = False
    transpose: bool = False


@lru_cache(maxsize=1 << 12)
def block_message(layout: Layout, bits: int, way: Way, tile: int | None = None) -> Message | None:
    """The messages that move a fragment, pieces of `tile` registers if there are such, else as large as they get.

    `packed` asks for rows packed to 32 bits (VNNI), as the matrix instruction takes B, where that delivers the same.

    >>> block_message(Layout.parse("d0 = 4@lane, d1 = 4@lane:4"), 32, "load") is None
    True
    """
    if len(layout.dims) != 2:
        return None
    here = coordinates(layout)[0]
    lanes, registers = here.shape[:2]
    if lanes != 16:
        return None
    tried = (_fits(here, registers, message, delivered) for message, delivered in _messages(bits, way))
    found = [message for message in tried if message is not None]
    if way == "packed":
        found = [message for message in found if message.packed] or found
    return next((message for message in found if message.registers == tile), found[0] if found else None)


def deliverable(layout: Layout, bits: int, way: Way) -> Iterator[Layout]:
    """Layouts that messages move, in which every subgroup has the elements that it has in this one.

    >>> print(next(deliverable(Layout.parse("d0 = 2@sg 16@lane, d1 = 16@reg"), 32, "load")))
    d0 = 2@sg 16@reg, d1 = 16@lane
    """
    if len(layout.dims) != 2:
        return
    for message, delivered in _messages(bits, way):
        if message.packed or message.transpose:
            continue
        outside: list[list[Factor]] = []
        for factors, size in zip(layout.dims, delivered.shape, strict=True):
            own = [factor if factor.axis == "sg" else Factor(factor.extent, 0, None) for factor in factors]
            above = factors_above(own, int(size))
            if above is None:
                break
            outside.append(above)
        if len(outside) == 2:
            copies = [factor for factor in layout.replicas if factor.axis == "sg"]
            yield settled(Layout(outside, copies)) * delivered


def factors_above(factors: Sequence[Factor], inner: int) -> list[Factor] | None:
    """The factors above a tile of `inner` elements; None where one goes across its border, or subgroups are inside it.

    >>> factors_above([Factor(2, 1, "sg"), Factor(16, 1, "reg")], 8)
    [Factor(extent=2, stride=1, axis='sg'), Factor(extent=2, stride=8, axis='reg')]
    """
    found: list[Factor] = []
    left = inner
    for factor in reversed(factors):
        extent, stride = int(factor.extent), int(factor.stride)
        if left == 1:
            found.insert(0, factor)
        elif factor.axis == "sg" and extent != 1:
            return None
        elif left % extent == 0:
            left //= extent
        elif extent % left == 0:
            found.insert(0, Factor(extent // left, stride * left, factor.axis))
            left = 1
        else:
            return None
    return found if left == 1 else None


def _messages(bits: int, way: Way) -> Iterator[tuple[Message, Layout]]:
    """The messages of the hardware that SPIR-V can say, the longest first, and the layout that each delivers."""
    rows = (32, 16, 8, 4, 2, 1)
    kinds = ((True, False), (False, False), (False, True)) if way != "store" else ((False, False),)
    for packed, transpose in kinds:
        for width in (32, 16) if not transpose else (8,):
            for height in rows:
                try:
                    if way == "store":
                        layout = block_store(height, width, bits).layout
                    else:
                        layout = block_load(height, width, bits, transform=packed, transpose=transpose).layout
                except VerificationError:
                    continue
                count = height * width // 16
                if count <= (_LONGEST_PACKED * 8 // bits if packed else _LONGEST) and (not packed or way == "packed"):
                    yield Message(height, width, count, (), packed, transpose), layout


def _fits(here: np.ndarray, registers: int, message: Message, delivered: Layout) -> Message | None:
    """The message with its origins, if such messages move these registers."""
    count = message.registers
    if registers % count:
        return None
    block = coordinates(delivered)[0]
    if block.shape[1] != count:
        return None
    pieces = here.reshape(16, registers // count, count, 2)
    origins = pieces[0, :, 0] - block[0, 0]
    if not np.array_equal(pieces - origins[None, :, None], np.broadcast_to(block[:, None], pieces.shape)):
        return None
    where = tuple((int(row), int(column)) for row, column in origins)
    return Message(message.rows, message.width, count, where, message.packed, message.transpose)
