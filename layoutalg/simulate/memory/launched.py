"""Memory while a kernel runs: every access to its buffers (`regions` says where they are), and what is wrong with it.

Addresses come as arrays with the leading axes [workgroup, subgroup, lane], one for each element; so it is known who accesses
what. Whatever is wrong is a finding of the run, and the launch goes on: what is out of bounds reads 0 and is not written.

>>> from xdsl.dialects.test import TestOp
>>> buffers = Memory()
>>> address = buffers.bind("C", np.zeros(4, np.float32))
>>> machine = Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1)
>>> memory = LaunchMemory(buffers, machine)
>>> run = Run(machine, memory)
>>> everyone = np.array([[[address, address]]])
>>> memory.write(run, TestOp(), everyone, None, np.array([[[1, 2]]], np.float32))
>>> print(run.findings[0].message.split(":")[0])
two work-items write different values to byte 0 of buffer C

Two work-items of a workgroup race where both touch a byte and one puts another value there, without a barrier between.
Workgroups have no barrier: none may read what another one writes, unless an atomic operation passed it on (`passing`). The
lanes of one block message do one thing together. Writing the value that is there already is not a race, and neither are atomic
operations among themselves.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.limits import MEMORY_SPAN as SPAN
from layoutalg.simulate.machine import Machine, Run, fail
from layoutalg.simulate.memory.atomics import combined
from layoutalg.simulate.memory.buffers import Buffer, Memory, full
from layoutalg.simulate.memory.clusters import RANK_BYTES
from layoutalg.simulate.memory.named import NamedBarriers
from layoutalg.simulate.memory.races import Order, Races
from layoutalg.simulate.memory.regions import CLUSTER, Regions
from layoutalg.simulate.memory.stamps import Stamps

__all__ = ["LaunchMemory"]

Array = NDArray[Any]


class LaunchMemory(Regions):
    """What one launch does to memory. `tracked` are the numbers of the buffers that it may write (all, if it is None).

    >>> memory = LaunchMemory(Memory(), Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1))
    >>> memory.describe(80)
    'address 0x50, which is in no buffer'
    """

    def __init__(
        self, buffers: Memory, machine: Machine, *, tracked: set[int] | None = None, operations: int = 1 << 16
    ) -> None:
        super().__init__(buffers)
        buffers.begin_launch()
        for number, buffer in enumerate(buffers.buffers):
            buffer.tracked = buffer.bytes.flags.writeable and (tracked is None or number in tracked)
        buffers.watch()
        workgroups = int(np.prod(machine.grid, dtype=np.int64)) * machine.repeats
        alone = "workgroup" if machine.level == "workgroup" else ""
        if machine.level == "host" and workgroups > 1:
            alone = "iteration"
        self.stamps = Stamps(workgroups, machine.subgroups, machine.lanes, operations, alone=alone)
        self.begin_group(machine)

    def begin_group(self, machine: Machine) -> None:
        """The next workgroups: they have shared and private memory of their own.

        >>> machine = Machine("pvc", (2, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> LaunchMemory(Memory(), machine).begin_group(machine)
        """
        self.begin_regions()
        self.races, self.named = Races(self.stamps, machine), NamedBarriers()

    def of_group(self, machine: Machine) -> LaunchMemory:
        """The same memory for other workgroups, which have shared and private memory of their own.

        >>> memory = LaunchMemory(Memory(), Machine("pvc", (2, 1, 1), (16, 1, 1), 16, 0, 1))
        >>> memory.of_group(Machine("pvc", (2, 1, 1), (16, 1, 1), 16, 1, 1)).shared is memory.shared
        False
        """
        own = copy(self)
        own.begin_group(machine)
        return own

    # Accesses

    def read(
        self,
        run: Run,
        op: Operation,
        addresses: Array,
        mask: Array | None,
        dtype: np.dtype[Any],
        *,
        together: bool = False,
    ) -> Array:
        """The elements at the addresses; 0 where the mask (of the addresses' axes) is not set or nobody is active.

        `together`: the lanes of a subgroup are one block message.

        >>> from xdsl.dialects.test import TestOp
        >>> buffers, machine = Memory(), Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1)
        >>> address = buffers.bind("A", np.array([5, 6], np.float32))
        >>> memory = LaunchMemory(buffers, machine)
        >>> memory.read(Run(machine, memory), TestOp(), address + np.array([[[0, 4]]]), None, np.dtype(np.float32))
        array([[[5., 6.]]], dtype=float32)
        """
        if run.counter is not None and not together:
            run.counter.elements(op, run.active, "load", addresses, mask, dtype.itemsize)
        out: Array | None = None
        for buffer, here, places in self._located(run, op, addresses, mask, dtype.itemsize):
            if buffer.written is not None:
                self._check_written(run, op, buffer, places, dtype.itemsize, here)
            if buffer.space != "private" and (buffer.watched or buffer.shadow.writes.size):
                self.races.read(run, op, buffer, places, dtype.itemsize, here, together)
            values = buffer.elements(dtype)[places]
            if here is None:
                return values
            if out is None:
                out = np.zeros(here.shape, dtype)
            out[here] = values
        return np.zeros(addresses.shape, dtype) if out is None else out

    def write(
        self,
        run: Run,
        op: Operation,
        addresses: Array,
        mask: Array | None,
        values: Array,
        *,
        together: bool = False,
    ) -> None:
        """Put values at the addresses where the mask is set and the work-item is active.

        >>> from xdsl.dialects.test import TestOp
        >>> buffers, machine, array = Memory(), Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1), np.zeros(2, np.int32)
        >>> memory = LaunchMemory(buffers, machine)
        >>> address = buffers.bind("A", array)
        >>> memory.write(Run(machine, memory), TestOp(), address + np.array([[[0, 4]]]), None, np.array([[[7, 8]]], np.int32))
        >>> array
        array([7, 8], dtype=int32)
        """
        size = values.dtype.itemsize
        shape = np.broadcast_shapes(addresses.shape, values.shape)
        if addresses.shape != shape:
            addresses = np.broadcast_to(addresses, shape)
        if run.counter is not None and not together:
            run.counter.elements(op, run.active, "store", addresses, mask, size)
        for buffer, here, places in self._located(run, op, addresses, mask, size):
            bits = np.ascontiguousarray(values).view(f"u{size}")
            if bits.shape != places.shape or here is not None:
                bits = np.broadcast_to(bits, places.shape if here is None else here.shape)
                bits = bits if here is None else bits[here]
            found = self._writeable(run, op, buffer, places, bits, size)
            if found is None:
                continue
            keep, places, bits = found
            if keep is not None:
                here = _chosen(here, keep)
            if buffer.space == "private":
                buffer.elements(bits.dtype)[places] = bits
            else:
                self.races.write(run, op, buffer, places, bits, here, together)
            if buffer.written is not None:
                buffer.holds(size)[places] = full(size)

    def atomic(
        self,
        run: Run,
        op: Operation,
        addresses: Array,
        mask: Array | None,
        values: Array,
        kind: str,
        order: Order | None = None,
    ) -> Array:
        """Read, combine and write elements one after another, in the order of the work-items; what was there before each.

        `kind` is a name of arith's atomic kinds (`addf`, `maxs`, `assign`, ..), `order` what is passed on between workgroups.

        >>> from xdsl.dialects.test import TestOp
        >>> buffers, machine, array = Memory(), Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1), np.array([5], np.int32)
        >>> address, memory = buffers.bind("A", array), LaunchMemory(buffers, machine)
        >>> both = np.array([[[address, address]]])
        >>> memory.atomic(Run(machine, memory), TestOp(), both, None, np.array([[[1, 2]]], np.int32), "addi"), array
        (array([[[5, 6]]], dtype=int32), array([8], dtype=int32))
        """
        rest = addresses.ndim - 3
        shape = np.broadcast_shapes(addresses.shape, values.shape, run.machine.items + (1,) * rest)
        addresses, values = np.broadcast_to(addresses, shape), np.broadcast_to(values, shape)
        out = np.zeros(shape, values.dtype)
        size = values.dtype.itemsize
        for buffer, here, places in self._located(run, op, addresses, mask, size):
            given = values if here is None else values[here]
            if buffer.written is not None:
                self._check_written(run, op, buffer, places, size, here)
            elements = buffer.elements(values.dtype)
            if not elements.flags.writeable:
                self._writeable(run, op, buffer, places, given, size)
                continue
            if buffer.space != "private":
                self.races.atomic(run, op, buffer, places, size, here, order)
            before = combined(kind, elements, places.reshape(-1), given.reshape(-1)).reshape(places.shape)
            if buffer.written is not None:
                buffer.holds(size)[places] = full(size)
            if here is None:
                return before
            out[here] = before
        return out

    def barrier(self, run: Run, op: Operation) -> None:
        """All work-items of a workgroup meet; where some of them are elsewhere, they wait forever.

        >>> from xdsl.dialects.test import TestOp
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> memory = LaunchMemory(Memory(), machine)
        >>> run = Run(machine, memory, active=np.arange(16).reshape(1, 1, 16) < 3)
        >>> memory.barrier(run, TestOp())
        >>> run.findings[0].rule
        'run.divergent_barrier'
        """
        arriving = np.broadcast_to(np.True_, run.machine.count)
        if run.active is not None:
            active = np.broadcast_to(run.active, run.machine.items).reshape(run.machine.count, -1)
            arriving = np.asarray(active.any(1))
            missing = np.flatnonzero(arriving & ~active.all(1))
            if missing.size:
                group = int(missing[0])
                there, away = int(active[group].argmax()), int(active[group].argmin())
                run.report(
                    op,
                    "run.divergent_barrier",
                    f"{int(active[group].sum())} of {active.shape[1]} work-items of a workgroup arrive at the barrier: "
                    f"{self._item(run, group, there)} waits, and {self._item(run, group, away)} does not come",
                )
        self.races.barrier(run, arriving)

    def meet_in_subgroups(self, run: Run, op: Operation) -> None:
        """The lanes of each subgroup meet; where some of them are elsewhere, they wait forever.

        >>> from xdsl.dialects.test import TestOp
        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> memory = LaunchMemory(Memory(), machine)
        >>> run = Run(machine, memory, active=np.arange(16).reshape(1, 1, 16) < 3)
        >>> memory.meet_in_subgroups(run, TestOp())
        >>> run.findings[0].rule
        'run.divergent_barrier'
        """
        if run.active is not None:
            active = np.broadcast_to(run.active, run.machine.items)
            if (active.any(2) & ~active.all(2)).any():
                run.report(
                    op,
                    "run.divergent_barrier",
                    "some lanes of a subgroup arrive at its barrier, and others do not come",
                )
        self.races.meet()

    def arrive_in_clusters(self, run: Run, op: Operation) -> None:
        """All work-items of a cluster arrive at its barrier, and go on; where some are elsewhere, the others wait forever.

        >>> from xdsl.dialects.test import TestOp
        >>> machine = Machine("sm_90", (2, 1, 1), (32, 1, 1), 32, 0, 2, cluster=2)
        >>> memory = LaunchMemory(Memory(), machine)
        >>> run = Run(machine, memory)
        >>> memory.arrive_in_clusters(run, TestOp())
        >>> memory.wait_in_clusters(run, TestOp())
        >>> memory.races.clusters.met.tolist(), run.findings
        ([2, 2], [])
        """
        clusters = self.races.clusters
        if clusters is None:
            return self.barrier(run, op)  # a workgroup alone is a cluster of one
        if clusters.waiting:
            fail(op, "arrives at the barrier of the cluster again, and has not waited for it", "run.deadlock")
        if run.active is not None and not np.broadcast_to(run.active, run.machine.items).all():
            problem = "some work-items of a cluster arrive at its barrier, and others do not come"
            run.report(op, "run.divergent_barrier", problem)
        return self.races.arrive_in_clusters(clusters)

    def wait_in_clusters(self, run: Run, op: Operation) -> None:
        """All work-items of a cluster wait until all have arrived."""
        clusters = self.races.clusters
        if clusters is None:
            return
        if not clusters.waiting:
            fail(op, "waits for a barrier of the cluster at which nobody arrived", "run.deadlock")
        self.races.wait_in_clusters(clusters)

    def end(self, run: Run) -> None:
        """The workgroups end: none may reach the memory of another one that may have ended before.

        >>> machine = Machine("sm_90", (2, 1, 1), (32, 1, 1), 32, 0, 2, cluster=2)
        >>> LaunchMemory(Memory(), machine).end(Run(machine, None))
        """
        late = None if self.races.clusters is None else self.races.clusters.late()
        if late is not None:
            run.report(
                late.operation,
                "run.ended",
                f"workgroup {late.by} reaches the shared memory of workgroup {late.owner}, which may have ended: no barrier "
                "of the cluster behind",
            )

    def _item(self, run: Run, group: int, number: int) -> str:
        subgroup, lane = divmod(number, run.machine.items[2])
        return self.stamps.who(int(self.races.stamp(run, group, subgroup, lane)))

    # What may go wrong

    def _located(
        self, run: Run, op: Operation, addresses: Array, mask: Array | None, size: int
    ) -> list[tuple[Buffer, Array | None, Array]]:
        """The buffers that the elements are in: which elements (None: all), and their numbers in the buffer."""
        rest = addresses.ndim - 3
        if run.active is not None:
            active = run.active.reshape(run.active.shape + (1,) * rest)
            mask = active if mask is None else mask & active
        if mask is not None and mask.all():
            mask = None if np.broadcast_shapes(mask.shape, addresses.shape) == addresses.shape else mask
        if mask is None:
            if not addresses.size:
                return []
            index = int(addresses.reshape(-1)[0]) // SPAN
            buffer = self.buffer_at(index)
            if buffer is not None and index < CLUSTER:
                offsets = addresses - index * SPAN
                if int(offsets.min()) >= 0 and int(offsets.max()) + size <= buffer.size:
                    return [(buffer, None, self._places(run, op, buffer, offsets, size, None))]
        return self._located_apart(run, op, addresses, mask, size)

    def _located_apart(
        self, run: Run, op: Operation, addresses: Array, mask: Array | None, size: int
    ) -> list[tuple[Buffer, Array | None, Array]]:
        shape = addresses.shape if mask is None else np.broadcast_shapes(addresses.shape, mask.shape)
        addresses = np.broadcast_to(addresses, shape)
        here = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(mask, shape)
        spans = addresses // SPAN
        found: list[tuple[Buffer, Array | None, Array]] = []
        for index in np.unique(spans[here]).tolist():
            buffer, inside = self.buffer_at(index), here & (spans == index)
            offsets = addresses - index * SPAN
            ranks = None
            if index >= CLUSTER:
                ranks, offsets = np.divmod(offsets, RANK_BYTES)
            wrong = inside if buffer is None else inside & (offsets + size > buffer.size)
            if wrong.any():
                chosen = addresses[wrong]
                address = int(chosen.min() if buffer is None else chosen.max())
                who = self._first(run, wrong & (addresses == address))
                run.report(op, "run.out_of_bounds", f"access to {self.describe(address)}: {who}")
                inside = inside & ~wrong
            if buffer is not None and inside.any():
                if buffer.space == "shared":
                    inside = np.broadcast_to(inside, (run.machine.count, *inside.shape[1:]))
                elif buffer.space == "private":
                    inside = np.broadcast_to(inside, (*run.machine.items, *inside.shape[3:]))
                offsets = np.broadcast_to(offsets, inside.shape)
                places = self._places(run, op, buffer, offsets, size, inside)
                if ranks is not None:
                    places = places + self._reached(run, op, np.broadcast_to(ranks, inside.shape), inside) * (
                        buffer.size // size
                    )
                found.append((buffer, inside, places))
        return found

    def _reached(self, run: Run, op: Operation, ranks: Array, here: Array) -> Array:
        """How many workgroups further the memory is that an access reaches in its cluster."""
        clusters = self.races.clusters
        if clusters is None:
            return np.zeros(int(here.sum()), np.int64)  # a workgroup alone is a cluster of one
        count = run.machine.count
        groups = np.broadcast_to(np.arange(count).reshape(-1, *(1,) * (here.ndim - 1)), here.shape)[here]
        owners = groups - groups % clusters.size + ranks[here]
        early = clusters.reach(op, groups, owners, self.races.own.max(1))
        if early is not None:
            run.report(
                op,
                "run.not_started",
                f"workgroup {early.by} reaches the shared memory of workgroup {early.owner}, which may not have started: "
                "no barrier of the cluster before",
            )
        return owners - groups

    def _places(self, run: Run, op: Operation, buffer: Buffer, offsets: Array, size: int, here: Array | None) -> Array:
        chosen = offsets if here is None else offsets[here]
        places = chosen // size if size & (size - 1) else chosen >> (size.bit_length() - 1)
        if (places * size != chosen).any():
            at = buffer.describe(int(chosen[places * size != chosen].reshape(-1)[0]))
            fail(op, f"elements of {size} bytes at {at}: expected a multiple of {size}", "run.misaligned")
        if buffer.space == "global":
            return places
        items = run.machine.items
        count = items[0] if buffer.space == "shared" else int(np.prod(items, dtype=np.int64))
        if buffer.size % size:
            fail(op, f"elements of {size} bytes in {buffer.size} bytes of {buffer.space} memory are not simulated")
        first = np.arange(count, dtype=np.int64) * (buffer.size // size)
        first = first.reshape(items if buffer.space == "private" else (count, 1, 1))
        first = first.reshape(first.shape + (1,) * (offsets.ndim - 3))
        if here is None:
            return np.asarray(places + first)
        return np.asarray(places + np.broadcast_to(first, here.shape)[here])

    def _first(self, run: Run, where: Array) -> str:
        """The first work-item of those in a mask."""
        group, subgroup, lane = (int(n) for n in np.argwhere(where)[0][:3])
        return self.stamps.who(int(self.races.stamp(run, group, subgroup, lane)))

    def _check_written(
        self, run: Run, op: Operation, buffer: Buffer, places: Array, size: int, here: Array | None
    ) -> None:
        missing = buffer.holds(size)[places] != full(size)
        if missing.any():
            at = buffer.found_at(int(places[missing].reshape(-1)[0]) * size)
            where = missing if here is None else _chosen(here, missing)
            run.report(op, "run.uninitialised", f"{self._first(run, where)} reads {at}, which nobody wrote")

    def _writeable(
        self, run: Run, op: Operation, buffer: Buffer, places: Array, bits: Array, size: int
    ) -> tuple[Array | None, Array, Array] | None:
        """What of a write may be done: nothing to an input, nothing to padding; None where nothing is left."""
        if not places.size:
            return None
        if not buffer.bytes.flags.writeable:
            at = buffer.found_at(int(places.reshape(-1)[0]) * size)
            run.report(
                op, "run.input_written", f"writes {at}: buffer {buffer.name} is read-only, an input of the kernel"
            )
            return None
        if not buffer.tracked:
            at = buffer.found_at(int(places.reshape(-1)[0]) * size)
            run.report(op, "run.out_of_bounds", f"writes {at}, from the address of another buffer")
            return None
        if buffer.pitch and (buffer.columns < buffer.pitch or buffer.rows * buffer.pitch < buffer.size):
            row, column = np.divmod(places * size, buffer.pitch)
            beyond = (column + size > buffer.columns) | (row >= buffer.rows)
            if beyond.any():
                at = int(places[beyond].reshape(-1)[0]) * size
                extent = f"{buffer.rows} rows of {buffer.columns} bytes, {buffer.pitch} bytes apart"
                run.report(op, "run.padding", f"writes {buffer.describe(at)}, which is padding: it holds {extent}")
                return ~beyond, places[~beyond], bits[~beyond]
        return None, places, bits


def _chosen(here: Array | None, keep: Array) -> Array:
    """Of the elements that a mask has, those to keep, as a mask of the whole."""
    if here is None:
        return keep
    made = np.zeros(here.shape, np.bool_)
    made[here] = keep
    return made
