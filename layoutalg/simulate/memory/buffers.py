"""The memory that a simulated kernel sees: numpy arrays at 64-bit addresses.

Every buffer begins at its own multiple of 2^40, so an address says which buffer it is in and where:

>>> from xdsl.dialects.test import TestOp
>>> from layoutalg.simulate.machine import Machine, Run
>>> memory = Memory()
>>> address = memory.bind("A", np.arange(4, dtype=np.float32))
>>> hex(address)
'0x10000000000'
>>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), memory)
>>> memory.read(run, TestOp(), np.array([address + 8]), None, np.dtype(np.float32))
array([2.], dtype=float32)

Reads and writes take one address per element and a mask; what the mask excludes reads as 0 and is not written. An
address outside every buffer is an error that says so. Two work-items that write different values to one address in
one store are an error too: on hardware either could win. So are two workgroups that do so in different stores of the
same launch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MEMORY_SPAN as SPAN
from layoutalg.simulate.machine import Run, fail

__all__ = ["Memory"]

Addresses = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Memory:
    """Buffers at addresses; the arrays that are bound are read and written in place.

    >>> from xdsl.dialects.test import TestOp
    >>> from layoutalg.simulate.machine import Machine, Run
    >>> memory = Memory()
    >>> array = np.zeros(2, dtype=np.float32)
    >>> address = memory.bind("C", array)
    >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), memory)
    >>> memory.write(run, TestOp(), np.array([address + 4]), None, np.array([7], dtype=np.float32))
    >>> array
    array([0., 7.], dtype=float32)
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._bytes: list[NDArray[np.uint8]] = []
        self._writers: dict[tuple[int, int], NDArray[np.int32]] = {}

    def bind(self, name: str, array: NDArray[Any]) -> int:
        """Give a C-contiguous array an address; the name is for messages.

        >>> memory = Memory()
        >>> memory.describe(memory.bind("A", np.zeros(4, np.float32)) + 8)
        'byte 8 of buffer A'
        """
        if not array.flags.c_contiguous:
            raise LayoutError(f"buffer {name}: only a contiguous array can be bound to an address")
        self._names.append(name)
        self._bytes.append(array.reshape(-1).view(np.uint8))
        return len(self._names) * SPAN

    def begin_launch(self) -> None:
        """A new launch: what earlier launches wrote does not race with what comes.

        >>> Memory().begin_launch()
        """
        self._writers.clear()

    def describe(self, address: int) -> str:
        """Which buffer an address is in, for messages.

        >>> Memory().describe(80)
        'address 0x50, which is in no buffer'
        """
        index, offset = divmod(address, SPAN)
        if not 1 <= index <= len(self._names):
            return f"address {address:#x}, which is in no buffer"
        size = self._bytes[index - 1].size
        beyond = f", which has {size} bytes" if offset >= size else ""
        return f"byte {offset} of buffer {self._names[index - 1]}{beyond}"

    def input_at(self, address: int) -> tuple[NDArray[np.uint8], int] | None:
        """The bytes of the buffer that an address is in and the offset in it, if reading there needs no checks.

        >>> memory = Memory()
        >>> memory.input_at(memory.bind("A", np.zeros(4, np.float32)) + 8)[1]
        8
        """
        index, offset = divmod(address, SPAN)
        return (self._bytes[index - 1], offset) if 1 <= index <= len(self._bytes) else None

    def read(
        self, run: Run, op: Operation, addresses: Addresses, mask: Mask | None, dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        """The elements at the addresses; 0 where the mask is not set, or the work-item is not active.

        Addresses and mask have the axes of values: workgroup, subgroup, lane, and then those of the type.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine, Run
        >>> memory = Memory()
        >>> address = memory.bind("A", np.array([1, 2], np.float32))
        >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), memory)
        >>> memory.read(run, TestOp(), np.array([address, address + 4]), np.array([False, True]), np.dtype(np.float32))
        array([0., 2.], dtype=float32)
        """
        mask = _masked(run, addresses, mask)
        out = np.zeros(addresses.shape, dtype)
        for index in self._touched(addresses, mask, dtype.itemsize):
            values = self._elements(index, dtype)
            here, places = self._places(index, addresses, mask, dtype.itemsize)
            if here is None:
                return values[places]
            out[here] = values[places[here]]
        return out

    def write(self, run: Run, op: Operation, addresses: Addresses, mask: Mask | None, values: NDArray[Any]) -> None:
        """Put the values at the addresses where the mask is set and the work-item is active.

        Raises:
            SimulationError: an address is outside every buffer, or two work-items write different values to one.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine, Run
        >>> memory = Memory()
        >>> address = memory.bind("C", np.zeros(2, dtype=np.float32))
        >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), memory)
        >>> memory.write(run, TestOp(), np.array([address, address]), None, np.array([1, 2], dtype=np.float32))
        Traceback (most recent call last):
        layoutalg.simulate.machine.SimulationError: line 0: test.op: two work-items write different values to byte 0 of buffer C
        """
        size = values.dtype.itemsize
        mask = _masked(run, addresses, mask)
        workgroups = np.arange(run.machine.first, run.machine.first + run.machine.count, dtype=np.int32)
        for index in self._touched(addresses, mask, size):
            elements = self._elements(index, _bits(size))
            here, places = self._places(index, addresses, mask, size)
            bits = np.ascontiguousarray(values).view(_bits(size))
            who = np.broadcast_to(workgroups.reshape(-1, *(1,) * (addresses.ndim - 1)), addresses.shape)
            if here is not None:
                places, bits, who = places[here], bits[here], who[here]
            if not elements.flags.writeable:
                raise LayoutError(f"buffer {self._names[index]} is read-only")
            self._note_writer(op, index, size, places, elements, bits, who + 1)
            elements[places] = bits
            lost = elements[places] != bits
            if lost.any():
                self._race(op, index, int(places[lost].reshape(-1)[0]) * size, "work-items")

    def barrier(self, run: Run, op: Operation) -> None:
        """Everybody of the workgroup is here: what was written before is seen after.

        Raises:
            SimulationError: some work-items of a workgroup are elsewhere.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine, Run
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> Memory().barrier(Run(machine, Memory(), machine.lane_ids() < 4), TestOp())
        Traceback (most recent call last):
        layoutalg.simulate.machine.SimulationError: line 0: test.op: 4 of 16 work-items of a workgroup arrive at the barrier
        """
        if run.active is None:
            return
        here = np.broadcast_to(run.active, run.machine.items).sum(axis=(1, 2))
        most = run.machine.items[1] * run.machine.items[2]
        divided = here[(here != 0) & (here != most)]
        if divided.size:
            fail(
                op,
                f"{int(divided[0])} of {most} work-items of a workgroup arrive at the barrier",
                "run.divergent_barrier",
            )

    def _note_writer(
        self,
        op: Operation,
        index: int,
        size: int,
        places: Addresses,
        elements: NDArray[Any],
        bits: NDArray[Any],
        who: NDArray[Any],
    ) -> None:
        """Remember which workgroup (from 1) wrote where, and complain if another one had put something else there."""
        writers = self._writers.get((index, size))
        if writers is None:
            writers = self._writers[index, size] = np.zeros(elements.size, np.int32)
        before = writers[places]
        conflict = (before != 0) & (before != who) & (elements[places] != bits)
        if conflict.any():
            self._race(op, index, int(places[conflict].reshape(-1)[0]) * size, "workgroups")
        writers[places] = who

    def _race(self, op: Operation, index: int, offset: int, who: str) -> None:
        place = self.describe((index + 1) * SPAN + offset)
        fail(op, f"two {who} write different values to {place}", "run.race")

    def _elements(self, index: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        whole = self._bytes[index].size // dtype.itemsize * dtype.itemsize
        return self._bytes[index][:whole].view(dtype)

    def _touched(self, addresses: Addresses, mask: Mask, size: int) -> list[int]:
        """The buffers that the masked addresses are in, after a check that every one is in some buffer."""
        active = addresses if mask.all() else addresses[mask]
        if not active.size:
            return []
        low, high = int(active.min()), int(active.max())
        index = low // SPAN
        touched = [index - 1] if index == high // SPAN else [int(i) - 1 for i in np.unique(active // SPAN)]
        for found in touched:
            if not 0 <= found < len(self._bytes):
                raise LayoutError(f"access to {self.describe(low if found < 0 else high)}")
            inside = active - (found + 1) * SPAN
            beyond = (inside + size > self._bytes[found].size) & (inside < SPAN) & (inside >= 0)
            if beyond.any():
                raise LayoutError(f"access to {self.describe(int(active[beyond].max()))}")
        if (active % size).any():
            raise LayoutError(f"elements of {size} bytes at {self.describe(int(active[active % size != 0][0]))}")
        return touched

    def _places(self, index: int, addresses: Addresses, mask: Mask, size: int) -> tuple[Mask | None, Addresses]:
        """The elements' numbers in one buffer, and where they count (None: everywhere)."""
        offsets = addresses - (index + 1) * SPAN
        here = mask & (offsets >= 0) & (offsets < SPAN)
        places = np.asarray(offsets // size)
        return (None, places) if here.all() else (here, places)


def _masked(run: Run, addresses: Addresses, mask: Mask | None) -> Mask:
    """Which elements count: those that the mask names, of work-items that are active."""
    if run.active is not None:
        active = run.active.reshape(*run.active.shape, *(1,) * (addresses.ndim - run.active.ndim))
        mask = active if mask is None else mask & active
    return np.broadcast_to(np.True_ if mask is None else mask, addresses.shape)


def _bits(size: int) -> np.dtype[Any]:
    return np.dtype(f"u{size}")
