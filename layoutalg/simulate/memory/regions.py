"""Where memory is while a kernel runs: which addresses the arguments, shared and private memory and constants have.

An address is the number of a buffer times a span, and a byte in it. Shared memory is allocated once for each key, for all
workgroups that run together; private memory for each work-item.

>>> buffers = Memory()
>>> address = buffers.bind("C", np.zeros(4, np.float32))
>>> Regions(buffers).describe(address + 8)
'byte 8 of buffer C'
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.limits import MEMORY_SPAN as SPAN
from layoutalg.core.limits import MOST_PRIVATE_BYTES
from layoutalg.hardware import target_info
from layoutalg.simulate.machine import Run, fail
from layoutalg.simulate.memory.buffers import Buffer, Memory
from layoutalg.simulate.memory.clusters import RANK_BYTES

__all__ = ["Regions"]

Array = NDArray[Any]
SHARED, PRIVATE, CONSTANT, CLUSTER = 1 << 20, 2 << 20, 3 << 20, 4 << 20
"""Where the addresses of shared memory, of private memory, of constants, and of shared memory in a cluster begin, in spans."""
POISON = 0xA5
"""What memory holds before it is written."""


class Regions:
    """The buffers of one launch and their addresses: those of the arguments are given, the others are made here.

    >>> Regions(Memory()).describe(80)
    'address 0x50, which is in no buffer'
    """

    def __init__(self, buffers: Memory) -> None:
        self.buffers = buffers
        self.constants: list[Buffer] = []
        self._constants: dict[object, int] = {}
        self._lock = Lock()
        self.begin_regions()

    def begin_regions(self) -> None:
        """Forget shared and private memory: the next workgroups have their own."""
        self.shared: list[Buffer] = []
        self.private: list[Buffer] = []
        self._named: dict[object, int] = {}

    def constant(self, key: object, values: Array, name: str) -> int:
        """The address of constant values.

        >>> memory = Regions(Memory())
        >>> memory.describe(memory.constant("table", np.arange(4), "table"))
        'byte 0 of buffer table'
        """
        with self._lock:
            if key not in self._constants:
                raw = np.frombuffer(values.tobytes(), np.uint8)
                self.constants.append(Buffer(name, raw, raw.size, tracked=False, watched=False))
                self._constants[key] = (CONSTANT + len(self.constants)) * SPAN
            return self._constants[key]

    def share_rest(self, run: Run, op: Operation) -> tuple[int, int]:
        """The shared memory that is not allocated in the launch so far: its address and its bytes.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> memory = Regions(Memory())
        >>> memory.share_rest(Run(machine, None), TestOp())[1]
        131072
        """
        if "dynamic" not in self._named:
            used = sum(buffer.size for buffer in self.shared)
            size = target_info(run.machine.target).slm_bytes - used
            return self.share(run, op, "dynamic", size, "dynamic shared memory"), size
        address = self._named["dynamic"]
        return address, self.shared[address // SPAN - SHARED - 1].size

    def beginning_of_shared(self, run: Run, op: Operation) -> int:
        """The address of shared memory where only one buffer of it is allocated: addresses of 32 bits count from there.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 1, 1)
        >>> memory = Regions(Memory())
        >>> run, op = Run(machine, None), TestOp()
        >>> address = memory.share(run, op, "slm", 64, "slm")
        >>> memory.beginning_of_shared(run, op) == address
        True
        """
        if len(self.shared) != 1:
            fail(
                op, f"addresses of 32 bits with {len(self.shared)} buffers of shared memory are not simulated; with one"
            )
        return (SHARED + 1) * SPAN

    def in_cluster(self, run: Run, op: Operation, addresses: Array, ranks: Array) -> Array:
        """Where shared memory at these addresses is in the workgroups of these numbers of the cluster.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> machine = Machine("sm_90", (2, 1, 1), (32, 1, 1), 32, 0, 2, cluster=2)
        >>> memory, run, op = Regions(Memory()), Run(machine, None), TestOp()
        >>> address = np.full((1, 1, 1), memory.share(run, op, "slm", 64, "slm"))
        >>> memory.describe(memory.in_cluster(run, op, address + 8, np.ones((1, 1, 1), np.int64)).item())
        'byte 8 of shared memory slm, of workgroup 1 of the cluster'
        """
        spans = np.asarray(addresses) // SPAN
        if ((spans <= SHARED) | (spans >= PRIVATE)).any():
            fail(
                op, f"{self.describe(int(np.asarray(addresses).reshape(-1)[0]))} is not shared memory of the workgroup"
            )
        wrong = run.where((ranks < 0) | (ranks >= run.machine.cluster))
        if wrong.any():
            rank = int(np.broadcast_to(ranks, wrong.shape)[wrong][0])
            run.report(op, "run.undefined", f"workgroup {rank} of a cluster of {run.machine.cluster}")
        return np.asarray(
            addresses + (CLUSTER - SHARED) * SPAN + np.clip(ranks, 0, run.machine.cluster - 1) * RANK_BYTES
        )

    def share(self, run: Run, op: Operation, key: object, size: int, name: str, values: Array | None = None) -> int:
        """The address of `size` bytes of shared local memory; the same for the same key.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> memory = Regions(Memory())
        >>> memory.describe(memory.share(Run(machine, None), TestOp(), "slm", 64, "slm") + 8)
        'byte 8 of shared memory slm'
        """
        if key not in self._named:
            used = sum(buffer.size for buffer in self.shared)
            most = target_info(run.machine.target).slm_bytes
            if used + size > most:
                fail(
                    op, f"{used + size} bytes of shared memory; a workgroup on {run.machine.target} has {most} at most"
                )
            count = run.machine.count
            made = Buffer(name, np.full(count * size, POISON, np.uint8), size, "shared")
            made.written = np.zeros(count * size, np.uint8)
            if values is not None:
                made.bytes[:], made.written[:] = np.tile(np.frombuffer(values.tobytes(), np.uint8), count), 1
            self.shared.append(made)
            self._named[key] = (SHARED + len(self.shared)) * SPAN
        return self._named[key]

    def allocate(self, run: Run, op: Operation, key: object, size: int, name: str) -> int:
        """The address of `size` bytes of private memory of each work-item, not written yet.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> memory = Regions(Memory())
        >>> memory.describe(memory.allocate(Run(machine, None), TestOp(), "p", 64, "p") + 8)
        'byte 8 of private memory p'
        """
        items = int(np.prod(run.machine.items, dtype=np.int64))
        if key not in self._named:
            used = sum(buffer.bytes.size for buffer in self.private)
            if used + size * items > MOST_PRIVATE_BYTES:
                fail(op, f"{size} bytes of private memory for each of {items} work-items are too many to be simulated")
            raw, written = np.full(size * items, POISON, np.uint8), np.zeros(size * items, np.uint8)
            self.private.append(Buffer(name, raw, size, "private", written))
            self._named[key] = (PRIVATE + len(self.private)) * SPAN
        else:
            held = self._named[key] // SPAN - PRIVATE - 1
            mine = np.broadcast_to(True if run.active is None else run.active, run.machine.items).reshape(-1)
            self.private[held].bytes.reshape(items, -1)[mine] = POISON
            self.private[held].written.reshape(items, -1)[mine] = 0  # pyright: ignore[reportOptionalMemberAccess]
        return self._named[key]

    def buffer_at(self, index: int) -> Buffer | None:
        """The buffer of a number of spans."""
        regions = (self.buffers.buffers, self.shared, self.private, self.constants, self.shared)
        region, number = divmod(index, SHARED)
        if not 0 <= region < len(regions) or not 1 <= number <= len(regions[region]):
            return None
        return regions[region][number - 1]

    def describe(self, address: int) -> str:
        """Which byte of which buffer an address is, for messages.

        >>> buffers = Memory()
        >>> address = buffers.bind("C", np.zeros(4, np.float32))
        >>> Regions(buffers).describe(address + 20)
        'byte 20 of buffer C, which has 16 bytes'
        """
        index, offset = divmod(address, SPAN)
        buffer = self.buffer_at(index)
        if buffer is None:
            return f"address {address:#x}, which is in no buffer"
        if index >= CLUSTER:
            rank, offset = divmod(offset, RANK_BYTES)
            return f"{buffer.describe(offset)}, of workgroup {rank} of the cluster"
        return buffer.describe(offset)

    def input_at(self, address: int) -> tuple[Array, int] | None:
        """The bytes of the buffer that an address is in and the offset in it, if reading there needs no checks.

        >>> buffers = Memory()
        >>> address = buffers.bind("A", np.zeros(4, np.float32))
        >>> Regions(buffers).input_at(address + 8) is None
        True
        >>> buffers.buffers[0].watched = False
        >>> Regions(buffers).input_at(address + 8)[1]
        8
        """
        index, offset = divmod(address, SPAN)
        buffer = self.buffer_at(index)
        if buffer is None or buffer.watched or buffer.space != "global" or buffer.written is not None:
            return None
        return (buffer.bytes, offset) if offset < buffer.size and not buffer.shadow.writes.size else None
