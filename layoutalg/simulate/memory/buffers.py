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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import gcd
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
    first: int = 0
    """Where its bytes begin in its shadow: above 0 where other buffers share its memory, and begin before it."""
    region: int = 0
    """The bytes that the shadow is of, where other buffers share memory with this one; 0 where none does."""
    watched: bool = True
    """Whether the launch may write its bytes, under this name or another one, so that it has to be known who reads them."""

    def stamps(self, places: Array, size: int) -> Array:
        """The numbers of the shadow's stamps of elements of `size` bytes (see `Shadow.places`).

        >>> Buffer("A", np.zeros(16, np.uint8), 16, first=8, region=24).stamps(np.array([0, 1]), 4)
        array([2, 3])
        """
        if not self.region:
            return self.shadow.places(places, size, self.bytes.size)
        grain = gcd(size, self.first)
        if grain == size:
            return self.shadow.places(places + self.first // size, size, self.region)
        # The elements do not begin at multiples of their size in the region: they have the stamps of their parts.
        parts = (places * (size // grain))[..., None] + (self.first // grain + np.arange(size // grain))
        found = self.shadow.places(parts, grain, self.region)
        return found.reshape(*places.shape, -1)

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
        self._swapped: list[tuple[Array, Array]] = []

    def bind(
        self, name: str, array: NDArray[Any], *, extent: tuple[int, int] | None = None, initialised: bool = True
    ) -> int:
        """Give a C-contiguous array an address; the name is for messages.

        Buffers that share memory (one array bound twice, or two parts of one) are the same memory under several names: accesses
        through one name race with those through another. An array in the other byte order than this machine's is read and
        written in a copy; `give_back` puts the numbers back in its own order.

        An array that numpy says is not writeable is an input: a kernel that writes it is wrong. `extent` are the rows and
        columns of a 2-D array that hold elements: what lies beyond is padding, which a kernel must not write. The contents of
        an array that is not `initialised` must not be read before they are written.

        Raises:
            LayoutError: the array is not contiguous, is masked, or is in another byte order and shares memory with another one;
                or the extent is not inside it.

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
        if isinstance(array, np.ma.MaskedArray):
            raise LayoutError(f"buffer {name}: a masked array has elements without a value; give array.filled(value)")
        array = np.asarray(array)
        flat = self._native(name, array).reshape(-1).view(np.uint8)
        buffer = Buffer(name, flat, flat.size, written=None if initialised else np.zeros(flat.size, np.uint8))
        if extent is not None:
            if array.ndim != 2 or not all(0 < n <= size for n, size in zip(extent, array.shape, strict=True)):
                raise LayoutError(f"buffer {name}: extent {shown(extent)} of an array of shape {array.shape}")
            buffer.rows, buffer.columns = extent[0], extent[1] * array.itemsize
            buffer.pitch = array.shape[1] * array.itemsize
        self.buffers.append(buffer)
        return len(self.buffers) * SPAN

    def _native(self, name: str, array: Array) -> Array:
        """The array in the byte order of this machine: itself, or a copy that is given back."""
        native = array.dtype.isnative
        copies = (
            copy for given, copy in self._swapped if _bytes(given) == _bytes(array) and given.dtype == array.dtype
        )
        copy = next(copies, None)
        if copy is None:
            others = [given for given, _ in self._swapped]
            others += [] if native else [one.bytes for one in self.buffers]
            if any(np.may_share_memory(other, array) for other in others):
                raise LayoutError(
                    f"buffer {name}: shares memory with another argument, and one of them is in the other byte order"
                )
            if native:
                return array
            copy = array.astype(array.dtype.newbyteorder("="))
        self._swapped.append((array, copy))
        given = copy.view()
        given.flags.writeable = array.flags.writeable
        return given

    def give_back(self) -> None:
        """Write what copies of arrays in the other byte order hold now into those arrays.

        >>> memory, array = Memory(), np.array([1.0], ">f4")
        >>> address = memory.bind("A", array)
        >>> memory.buffers[0].elements(np.dtype(np.float32))[0] = 3
        >>> memory.give_back()
        >>> array
        array([3.], dtype='>f4')
        """
        for array, copy in self._swapped:
            if array.flags.writeable:
                array[...] = copy.reshape(array.shape)

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
        for together in _sharing(self.buffers):
            start = min(_bytes(buffer.bytes)[0] for buffer in together)
            size = max(_bytes(buffer.bytes)[1] for buffer in together) - start
            shadow, several = Shadow(), len(together) > 1
            for buffer in together:
                buffer.shadow, buffer.tracked = shadow, True
                buffer.first, buffer.region = (_bytes(buffer.bytes)[0] - start, size) if several else (0, 0)
            if several:
                _write_together(together, size)

    def watch(self) -> None:
        """Note of which buffers it has to be known who reads them: of those that the launch may write under any name.

        >>> memory, array = Memory(), np.zeros(4, np.float32)
        >>> addresses = memory.bind("A", array), memory.bind("B", array)
        >>> memory.begin_launch()
        >>> memory.buffers[0].tracked = False
        >>> memory.watch()
        >>> memory.buffers[0].watched
        True
        """
        written = {id(buffer.shadow) for buffer in self.buffers if buffer.tracked}
        for buffer in self.buffers:
            buffer.watched = id(buffer.shadow) in written

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


def _bytes(array: Array) -> tuple[int, int]:
    """Where the bytes of an array that is contiguous begin and end in this process."""
    start = int(array.__array_interface__["data"][0])
    return start, start + array.nbytes


def _sharing(buffers: Iterable[Buffer]) -> Iterator[list[Buffer]]:
    """The buffers, those together whose bytes are (in part) the same."""
    together: list[Buffer] = []
    end = 0
    for buffer in sorted(buffers, key=lambda one: _bytes(one.bytes)):
        start, behind = _bytes(buffer.bytes)
        if together and start >= end:
            yield together
            together = []
        together.append(buffer)
        end = max(end, behind)
    if together:
        yield together


def _write_together(buffers: Iterable[Buffer], size: int) -> None:
    """Buffers that share memory know of each other what was written; what one of them was given with contents has them."""
    whole = np.zeros(size, np.uint8)
    for buffer in buffers:
        part = slice(buffer.first, buffer.first + buffer.size)
        whole[part] |= 1 if buffer.written is None else buffer.written
    for buffer in buffers:
        if buffer.written is not None:
            buffer.written = whole[buffer.first : buffer.first + buffer.size]
