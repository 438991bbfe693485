"""Coalescing: how many cache lines a subgroup's accesses to global memory touch, and how much of them it uses.

Eight lanes that read a row of 16 f16 each, rows 64 elements apart: an access is 8 elements (16 bytes), two in a row, and each
touches a line of its own. Of the 64 bytes of a line 16 are used at a time:

>>> print(coalescing("d0 = 8@lane, d1 = 16@reg", element_bits=16, memory="d0 = 8@addr:64, d1 = 16@addr"))
2 instructions of 8 x 16 bits per lane, at most 8 lines of 64 bytes each: 256 of 1024 bytes moved are used (25%)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import whole_number
from layoutalg.memory.accesses import WIDEST, held_elements, lane_accesses
from layoutalg.memory.addresses import Memory, Numbers, addresses_of
from layoutalg.memory.asked import distributions, element_size
from layoutalg.memory.conflicts import changes, in_chunks, instructions_text

if TYPE_CHECKING:
    from layoutalg.memory.line_picture import LinePicture

__all__ = ["Access", "Coalescing", "coalescing"]


class Access(NamedTuple):
    """One instruction of a subgroup, of so many: where the `size` bytes of each lane begin (below 0: it asks for nothing)."""

    subgroup: int
    instruction: int
    instructions: int
    starts: tuple[int, ...]
    size: int
    line: int


@dataclass(frozen=True, slots=True)
class Coalescing(NotebookAnswer):
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
    access: Access | None = field(default=None, repr=False, compare=False)
    """The instruction that touches the most lines, for the picture."""

    def picture(self) -> LinePicture:
        """The cache lines that one access touches, and the lanes that ask for their bytes.

        Raises `LayoutError` for figures without their access.

        >>> coalescing("d0 = 32@lane").picture().title
        'the cache lines that one access touches'
        """
        if self.access is None:
            raise LayoutError("figures of coalescing without their access have no picture")
        from layoutalg.memory.line_picture import LinePicture

        return LinePicture((), "the cache lines that one access touches", access=self.access)

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
            f"{instructions_text(self.instructions, self.vector, self.element_bits)}, at most {each} each: "
            f"{self.used} of {self.moved} bytes moved are used ({self.efficiency:.0%})"
        )


def coalescing(
    layout: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    memory: Memory | None = None,
    line: int = 64,
    vector: int | None = None,
) -> Coalescing:
    """How many cache lines each access of a subgroup to global memory touches, and how much of them it uses.

    `layout`, `shape`, `machine`, `memory` and `element_bits` are as in `bank_conflicts`, and so is what makes an access of
    several elements. `line` is the bytes of a cache line, a power of two from 16 to 4096: 64 on Intel's GPUs (VTune Profiler
    User Guide, "Untyped Writes Coalescence", which counts used bytes in requested lines as here), 128 in NVIDIA's first-level
    cache, whose sectors are 32 (Nsight documentation, "Memory Statistics - Global"). `vector` is the most elements of an
    access.

    Raises `ConversionError` and `SizeError` as `bank_conflicts` does.

    A lane that holds a row of 16 f16 reads it in two accesses of 8; the rows of 8 lanes are 64 elements apart:

    >>> tile = Layout.parse("d0 = 8@lane, d1 = 16@reg")
    >>> print(coalescing(tile, element_bits=16, memory=Layout.parse("d0 = 8@addr:64, d1 = 16@addr")))
    2 instructions of 8 x 16 bits per lane, at most 8 lines of 64 bytes each: 256 of 1024 bytes moved are used (25%)
    """
    size = element_size(element_bits) // 8
    if type(line) is not int or not 16 <= line <= 4096 or line & (line - 1):
        raise ConversionError(f"line={shown(line)}: expected the bytes of a cache line, a power of two from 16 to 4096")
    tensor = distributions((layout,), shape, machine, "counting accesses")[0]
    asked_for = WIDEST if vector is None else whole_number(vector, "vector =", 1, error=ConversionError)
    most = 1 << min(asked_for, WIDEST // size).bit_length() - 1
    starts, found = lane_accesses(held_elements(tensor), addresses_of(memory, tensor, size), most)
    rows = starts.reshape(-1, starts.shape[-1])
    touched, asked = (np.concatenate([_distinct(part) for part in in_chunks(rows // n)]) for n in (line // size, 1))
    touched, asked = touched.reshape(starts.shape[:2]), asked.reshape(starts.shape[:2])
    worst = int(touched.sum(1).argmax())
    most = int(touched[worst].argmax())
    begins = tuple((starts[worst, most] * size).tolist())
    return Coalescing(
        lines=int(touched.max()),
        instructions=int(np.count_nonzero(asked[worst])),
        vector=found,
        used=int(asked[worst].sum()) * found * size,
        moved=int(touched[worst].sum()) * line,
        line=line,
        element_bits=element_bits,
        access=Access(worst, most, starts.shape[1], begins, found * size, line),
    )


def _distinct(values: Numbers) -> Numbers:
    """How many different values from 0 on each row has."""
    ordered = np.sort(values, axis=1)
    return (changes(ordered) & (ordered >= 0)).sum(1)
