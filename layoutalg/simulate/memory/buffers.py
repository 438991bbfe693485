"""The memory that a launch is given: numpy arrays at 64-bit addresses.

Every buffer begins at its own multiple of 2^40, so an address says which buffer it is in and where:

>>> memory = Memory()
>>> address = memory.bind("A", np.arange(4, dtype=np.float32))
>>> hex(address)
'0x10000000000'
>>> memory.describe(address + 8)
'byte 8 of buffer A'

What a kernel does to a buffer, and whether it may, is `LaunchMemory`'s affair.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MEMORY_SPAN as SPAN
from layoutalg.core.messages import shown
from layoutalg.simulate.memory.shadow import Shadow

__all__ = ["Buffer", "Memory"]

Array = NDArray[Any]


@dataclass(slots=True, eq=False)
class Buffer:
    """Bytes with a name. Shared local memory has them once for each workgroup, private memory for each work-item.

    `written` has a byte for each byte: 1 where it holds a value; None where all do. `columns` and `pitch` are the bytes of a
    row that hold elements, and from row to row; the rest is padding.

    >>> Buffer("A", np.zeros(16, np.uint8), 16).describe(4)
    'byte 4 of buffer A'
    """

    name: str
    bytes: NDArray[np.uint8]
    size: int
    space: Literal["global", "shared", "private"] = "global"
    written: NDArray[np.uint8] | None = None
    rows: int = 0
    columns: int = 0
    pitch: int = 0
    shadow: Shadow = field(default_factory=Shadow)
    tracked: bool = True
    """Whether the launch may write it, so that it has to be known who reads it."""
    freed: bool = False

    def elements(self, dtype: np.dtype[Any]) -> Array:
        """The buffer as an array of elements; what is left over at the end is out of reach.

        >>> Buffer("A", np.zeros(18, np.uint8), 18).elements(np.dtype(np.float32)).shape
        (4,)
        """
        size = dtype.itemsize
        whole = self.bytes if self.bytes.size % size == 0 else self.bytes[: self.bytes.size // size * size]
        return whole.view(dtype)

    def holds(self, size: int) -> Array:
        """As `elements`, for the bytes that say where values are: `full(size)` where all bytes of an element do."""
        assert self.written is not None
        return self.written[: self.written.size // size * size].view(f"u{size}")

    def describe(self, offset: int) -> str:
        """A byte in words; `offset` counts from the beginning of the (first) buffer."""
        kind = {"global": "buffer", "shared": "shared memory", "private": "private memory"}[self.space]
        beyond = "" if offset < self.size else f", which has {self.size} bytes"
        if self.freed:
            beyond = ", which was freed"
        return f"byte {offset} of {kind} {self.name}{beyond}"

    def found_at(self, offset: int) -> str:
        """A byte in words; `offset` counts over all workgroups or work-items.

        >>> Buffer("slm", np.zeros(32, np.uint8), 16, "shared").found_at(20)
        'byte 4 of shared memory slm'
        """
        return self.describe(offset % self.size)


def full(size: int) -> int:
    """The number of `size` bytes that are 1.

    >>> hex(full(4))
    '0x1010101'
    """
    return int.from_bytes(b"\x01" * size)


class Memory:
    """Buffers at addresses; the arrays that are bound are read and written in place.

    >>> memory = Memory()
    >>> array = np.zeros(2, dtype=np.float32)
    >>> memory.bind("C", array) == 1 << 40
    True
    """

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []

    def bind(
        self, name: str, array: NDArray[Any], *, extent: tuple[int, int] | None = None, initialised: bool = True
    ) -> int:
        """Give a C-contiguous array an address; the name is for messages.

        An array that numpy says is not writeable is an input: a kernel that writes it is wrong. `extent` are the rows and
        columns of a 2-D array that hold elements: what lies beyond is padding, which a kernel must not write. The contents of
        an array that is not `initialised` must not be read before they are written.

        Raises:
            LayoutError: the array is not contiguous, or the extent is not inside it.

        >>> memory = Memory()
        >>> memory.describe(memory.bind("A", np.zeros(4, np.float32)) + 8)
        'byte 8 of buffer A'
        >>> memory.bind("C", np.zeros((8, 32), np.float32), extent=(8, 20), initialised=False) == 2 << 40
        True
        """
        if array.dtype.hasobject:
            raise LayoutError(f"buffer {name}: an array of {array.dtype} has no bytes in memory")
        if not array.flags.c_contiguous:
            raise LayoutError(f"buffer {name}: only a contiguous array can be bound to an address")
        flat = array.reshape(-1).view(np.uint8)
        buffer = Buffer(name, flat, flat.size, written=None if initialised else np.zeros(flat.size, np.uint8))
        if extent is not None:
            if array.ndim != 2 or not all(0 < n <= size for n, size in zip(extent, array.shape, strict=True)):
                raise LayoutError(f"buffer {name}: extent {shown(extent)} of an array of shape {array.shape}")
            buffer.rows, buffer.columns = extent[0], extent[1] * array.itemsize
            buffer.pitch = array.shape[1] * array.itemsize
        self.buffers.append(buffer)
        return len(self.buffers) * SPAN

    def release(self, address: int) -> bool:
        """Free the buffer that begins at an address; its address is given to no other one. False where none begins there.

        >>> memory = Memory()
        >>> address = memory.bind("C", np.zeros(4, np.float32))
        >>> memory.release(address), memory.describe(address + 4), memory.release(address)
        (True, 'byte 4 of buffer C, which was freed', False)
        """
        index, offset = divmod(address, SPAN)
        if offset or not 1 <= index <= len(self.buffers) or self.buffers[index - 1].freed:
            return False
        old = self.buffers[index - 1]
        self.buffers[index - 1] = Buffer(old.name, old.bytes[:0], 0, freed=True)
        return True

    def begin_launch(self) -> None:
        """A new launch: what earlier launches wrote does not race with what comes.

        >>> Memory().begin_launch()
        """
        for buffer in self.buffers:
            buffer.shadow, buffer.tracked = Shadow(), True

    def is_there(self, addresses: NDArray[Any]) -> NDArray[Any]:
        """Which addresses are in a buffer.

        >>> memory = Memory()
        >>> address = memory.bind("C", np.zeros(4, np.float32))
        >>> memory.is_there(np.array([address + 15, address + 16]))
        array([ True, False])
        """
        indices, offsets = np.divmod(addresses, SPAN)
        found = np.zeros(addresses.shape, np.bool_)
        for number, buffer in enumerate(self.buffers, 1):
            found |= (indices == number) & (offsets < buffer.size)
        return found

    def describe(self, address: int) -> str:
        """Which buffer an address is in, for messages.

        >>> Memory().describe(80)
        'address 0x50, which is in no buffer'
        """
        index, offset = divmod(address, SPAN)
        if not 1 <= index <= len(self.buffers):
            return f"address {address:#x}, which is in no buffer"
        return self.buffers[index - 1].describe(offset)
