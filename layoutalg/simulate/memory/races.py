"""Which accesses race: the stamps of every access, compared with those that the bytes have.

By hand, with one byte and two work-items of a workgroup: item 0 writes 1 over 0, so the byte's stamp is "item 0, epoch 1,
changed". Item 1 reads it in epoch 1: another item, the same epoch, changed: a race. After a barrier item 1 is in epoch 2,
and reads in peace.

>>> from xdsl.dialects.test import TestOp
>>> from layoutalg.simulate.memory.buffers import Buffer
>>> machine = Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1)
>>> races, buffer = Races(Stamps(1, 1, 2, 8), machine), Buffer("slm", np.zeros(4, np.uint8), 4, "shared")
>>> run, op = Run(machine, None), TestOp()
>>> lane = np.arange(2).reshape(1, 1, 2)
>>> races.write(run, op, buffer, np.array([0]), np.array([1], np.uint8), lane == 0, False)
>>> races.barrier(run, np.array([True]))
>>> races.read(run, op, buffer, np.array([0]), 1, lane == 1, False)
>>> run.findings
[]
>>> races.write(run, op, buffer, np.array([0]), np.array([2], np.uint8), lane == 0, False)
>>> print(run.findings[0].message.replace(", which", ",\\nwhich"))
work-item 0 of workgroup 0 writes byte 0 of shared memory slm,
which work-item 1 of workgroup 0 read at line 0 (test.op) with no barrier between

Named barriers order some subgroups and not others: `seen[workgroup, subgroup, other]` is the epoch up to which the one knows
what the other did. What workgroups know of one another is `Passed`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.ir.places import line_of
from layoutalg.simulate.machine import Machine, Run
from layoutalg.simulate.memory.buffers import Buffer
from layoutalg.simulate.memory.clusters import Clusters
from layoutalg.simulate.memory.stamps import Stamps

__all__ = ["Order", "Races"]

Array = NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")


class Order(TypedDict):
    """Whether an atomic operation acquires what others released at its place, and whether it releases."""

    acquire: bool
    release: bool


def _one_at_a_time(method: Callable[Concatenate[Races, P], T]) -> Callable[Concatenate[Races, P], T]:
    """Groups of workgroups run on several threads, and share the stamps of global memory."""

    @wraps(method)
    def locked(self: Races, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.stamps.lock:
            return method(self, *args, **kwargs)

    return locked


class Races:
    """Who did what in the workgroups that run together.

    >>> Races(Stamps(1, 1, 2, 8), Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1)).clock
    array([1])
    """

    def __init__(self, stamps: Stamps, machine: Machine) -> None:
        self.stamps, self.first = stamps, machine.first
        self.clock: NDArray[np.int64] = np.ones(machine.count, np.int64)
        self.own = np.ones((machine.count, machine.items[1]), np.int64)
        self.seen = np.zeros((machine.count, machine.items[1], machine.items[1]), np.int64)
        self.named = False
        self.clusters = Clusters(machine) if machine.cluster > 1 else None
        # Stamps of global memory are read by other groups of workgroups: the numbers are the launch's.
        self.operations, self._numbers = stamps.operations, stamps.numbers
        self._mine: dict[tuple[object, ...], Array] = {}

    def stamp(self, run: Run, group: int, subgroup: int, lane: int) -> Any:
        """The stamp of one work-item now.

        >>> machine = Machine("pvc", (1, 1, 1), (2, 1, 1), 2, 0, 1)
        >>> Races(Stamps(1, 1, 2, 8), machine).stamp(Run(machine, None), 0, 0, 1) > 0
        np.True_
        """
        spread = run.machine.items[2] > 1 or self.stamps.lanes == 1
        return self.stamps.pack(
            run.machine.first + group, self.own[group, subgroup], subgroup, lane + 1 if spread else 0
        )

    def barrier(self, run: Run, arriving: Array) -> None:
        """What was before is ordered before what comes, in the workgroups that arrive."""
        self._tick(arriving)
        self.own[arriving] = self.clock[arriving, None]
        self.seen[arriving] = self.clock[arriving, None, None] - 1
        if passed := self.stamps.passed:
            count = self.own.shape[1]
            for group in (self.first + np.flatnonzero(np.broadcast_to(arriving, len(self.clock)))).tolist():
                passed.together(range(group * count, (group + 1) * count))

    def meet(self) -> None:
        """Each subgroup knows what its own lanes did, and nothing more of the others."""
        self.named = True
        before = self.own.copy()
        self._tick(np.arange(len(self.clock)))
        self.own[:] = self.clock[:, None]
        inside = np.arange(self.own.shape[1])
        self.seen[:, inside, inside] = before

    def arrive(self, group: int, subgroup: int) -> Array:
        """A subgroup passes on what it knows: everything that it saw, and what it did itself."""
        self.named = True
        known = self.seen[group, subgroup].copy()
        known[subgroup] = self.own[group, subgroup]
        self._tick(np.array([group]))
        self.own[group, subgroup] = self.clock[group]
        return known

    def learn(self, group: int, subgroup: int, known: Array) -> None:
        """A subgroup has waited for others, and knows what they knew."""
        self.named = True
        self.seen[group, subgroup] = np.maximum(self.seen[group, subgroup], known)

    def arrive_in_clusters(self, clusters: Clusters) -> None:
        """All workgroups arrive at a barrier of their cluster, and go on."""
        done, everyone = self.own.copy(), np.arange(len(self.clock))
        self.clock = clusters.together(self.clock)
        self._tick(everyone)
        self.own[:] = self.clock[:, None]
        clusters.arrive(done, self.clock)

    def wait_in_clusters(self, clusters: Clusters) -> None:
        """All workgroups have waited for their cluster: what was before they arrived is ordered before what comes."""
        self.seen = np.maximum(self.seen, clusters.wait()[:, None, :])

    def _tick(self, groups: Array) -> None:
        self._mine.clear()
        self.clock[groups] += 1
        if int(self.clock.max()) >= self.stamps.epochs:
            raise OverflowError(
                f"more than {self.stamps.epochs} barriers and releases in one launch of this size are not simulated"
            )

    # Accesses

    @_one_at_a_time
    def read(
        self, run: Run, op: Operation, buffer: Buffer, places: Array, size: int, here: Array | None, together: bool
    ) -> None:
        """Compare with who wrote, and remember who reads."""
        shadow = buffer.shadow
        if not shadow.writes.size and not buffer.watched:
            return
        where = buffer.stamps(places, size)
        mine = self._stamps(run, op, where, here, together)
        last = shadow.writes[where]
        if last.any():
            other = self._conflicts(buffer, last, mine, where) & ((last & self.stamps.changed) != 0)
            other &= ~self.stamps.among(mine, last) | ((last & self.stamps.atomic) != 0)
            if other.any():
                self._report(run, op, "read", buffer, where, last, mine, other)
        if buffer.watched:
            self._note(shadow.reading(), where, mine)

    @_one_at_a_time
    def write(
        self,
        run: Run,
        op: Operation,
        buffer: Buffer,
        places: Array,
        bits: Array,
        here: Array | None,
        together: bool,
    ) -> None:
        """Put the values there; compare with who wrote and who read, and remember who writes."""
        size = bits.dtype.itemsize
        elements, shadow = buffer.elements(bits.dtype), buffer.shadow
        where = buffer.stamps(places, size)
        mine = self._stamps(run, op, where, here, together)
        last = shadow.writes[where]
        changed = elements[places] != bits
        if buffer.written is not None:
            changed |= buffer.holds(size)[places] == 0
        each = changed if where.ndim == places.ndim else changed[..., None]
        stamp = mine | np.where(each, self.stamps.changed, 0)
        conflicts = self._conflicts(buffer, last, mine, where) & each if last.any() else None
        if conflicts is not None:
            stamp = self._kept(last, stamp, each)
        elements[places] = bits
        lost = elements[places] != bits
        if lost.any():
            self._report_lost(run, op, buffer, places, bits, where, mine, lost)
        if conflicts is not None and conflicts.any():
            self._report(run, op, "differ", buffer, where, last, mine, conflicts)
        if shadow.reads is not None:
            readers = shadow.reads[where]
            other = self._conflicts(buffer, readers, mine, where) & each
            if other.any():
                self._report(run, op, "write", buffer, where, readers, mine, other)
        self._note(shadow.writes, where, stamp, merge=False)

    @_one_at_a_time
    def atomic(
        self,
        run: Run,
        op: Operation,
        buffer: Buffer,
        places: Array,
        size: int,
        here: Array | None,
        order: Order | None = None,
    ) -> None:
        """As a write that changes everything, save that atomic operations don't race with one another.

        With an order at the scope of the device they pass on what was done before, in the order of the work-items.
        """
        shadow = buffer.shadow
        where = buffer.stamps(places, size)
        mine = self._stamps(run, op, where, here, False)
        last = shadow.writes[where]
        plain = (last & self.stamps.atomic) == 0
        if buffer.space == "global" and (order is not None or self.stamps.passed):
            self._pass_on(buffer, where, mine, order or Order(acquire=False, release=False))
        written = np.where(plain & ((last & self.stamps.changed) != 0), last, 0)
        if written.any() and (other := self._conflicts(buffer, written, mine, where)).any():
            self._report(run, op, "differ", buffer, where, last, mine, other)
        if shadow.reads is not None:
            readers = shadow.reads[where]
            other = self._conflicts(buffer, readers, mine, where)
            if other.any():
                self._report(run, op, "write", buffer, where, readers, mine, other)
        stamp = mine | (self.stamps.changed | self.stamps.atomic)
        self._note(
            shadow.writes, where, np.where(plain, stamp, self.stamps.merged(stamp, np.where(plain, stamp, last)))
        )

    def _pass_on(self, buffer: Buffer, where: Array, mine: Array, order: Order) -> None:
        """Let every work-item's subgroup learn what is at its place, and leave there what it knows."""
        flat = where.reshape(-1) if where.shape == mine.shape else where[..., 0].reshape(-1)
        groups, subgroups = self.stamps.workgroup(mine).reshape(-1), self.stamps.subgroup(mine).reshape(-1)
        count, passed = self.own.shape[1], self.stamps.passed
        everyone = zip(flat.tolist(), (groups - self.first).tolist(), subgroups.tolist(), strict=True)
        for place, group, subgroup in dict.fromkeys(everyone):  # its lanes go together
            number, epoch = (self.first + group) * count + subgroup, int(self.own[group, subgroup])
            own = self._of_workgroup(number) if order["release"] else {}
            passed.through((id(buffer.shadow), place), number, own, epoch, **order)
        if order["release"]:
            # What these subgroups do from now on is not known to those who learn of what they did before.
            self.named = True
            self._tick(np.unique(groups - self.first))
            self.own[groups - self.first, subgroups] = self.clock[groups - self.first]

    def _of_workgroup(self, number: int) -> dict[int, int]:
        """What a subgroup, by its number in the launch, knows of the others of its workgroup."""
        count = self.own.shape[1]
        group, subgroup = divmod(number - self.first * count, count)
        seen = self.seen[group, subgroup].tolist()
        return {number - subgroup + other: seen[other] for other in range(count) if other != subgroup}

    def _learnt(self, buffer: Buffer, last: Array, mine: Array, where: Array, apart: Array) -> Array:
        """Of accesses of other workgroups those that this one's subgroups have learnt of."""
        stamps, count = self.stamps, self.own.shape[1]
        last, mine, apart = np.broadcast_arrays(last, mine, apart)
        at = np.broadcast_to(where, apart.shape)[apart]
        its, own = last[apart], mine[apart]
        theirs = stamps.workgroup(its) * count + stamps.subgroup(its)
        first, subgroup = stamps.workgroup(own) * count, stamps.subgroup(own)
        # Where the whole workgroup does it, each of its subgroups has to know.
        ours: list[Array] = [np.where(subgroup < count, first + subgroup, first + one) for one in range(count)]
        if not (subgroup == stamps.any_subgroup).any():
            ours = ours[:1]
        known = np.min([stamps.passed.epochs(np.stack((one, theirs), axis=1)) for one in ours], axis=0)
        alone = (stamps.workgroup(its) != stamps.any_workgroup) & (stamps.subgroup(its) != stamps.any_subgroup)
        here = stamps.workgroup(own) != stamps.any_workgroup
        found = here & alone & (stamps.epoch(its) <= known)
        # Several subgroups' atomic operations on one place have one stamp; what they left there says who they are.
        covered: dict[tuple[int, int], bool] = {}
        for number in np.flatnonzero(here & ~found & ((its & stamps.atomic) != 0)).tolist():
            asked = [(int(at[number]), int(one[number])) for one in ours]
            for place, one in asked:
                if (place, one) not in covered:
                    key = id(buffer.shadow), place
                    covered[place, one] = stamps.passed.covers(one, key, self._of_workgroup(one))
            found[number] = all(covered[one] for one in asked)
        learnt = np.zeros(apart.shape, np.bool_)
        learnt[apart] = found
        return learnt

    def _stamps(self, run: Run, op: Operation, where: Array, here: Array | None, together: bool) -> Array:
        """The stamp of everyone who accesses, in the shape of `where`."""
        if self.clusters is not None and self.clusters.waiting:
            self.named = True  # between arriving and waiting, what was before is ordered for some alone
        number = self._numbers.get(op)
        if number is None:
            number = self._numbers[op] = len(self.operations)
            self.operations.append(op)
        extents = (where.shape if here is None else here.shape)[:3]
        mine = self._items(run, extents, together) | min(number, self.stamps.operation_most)
        if here is None:
            return np.broadcast_to(mine.reshape(mine.shape + (1,) * (where.ndim - 3)), where.shape)
        chosen = np.broadcast_to(mine.reshape(mine.shape + (1,) * (here.ndim - 3)), here.shape)[here]
        return chosen if chosen.ndim == where.ndim else np.broadcast_to(chosen[..., None], where.shape)

    def _items(self, run: Run, extents: tuple[int, ...], together: bool) -> Array:
        key = (extents, together)
        found = self._mine.get(key)
        if found is None:
            found = self._mine[key] = self._make_items(run, extents, together)
        return found

    def _make_items(self, run: Run, extents: tuple[int, ...], together: bool) -> Array:
        machine, stamps = run.machine, self.stamps
        groups, subgroups, lanes = machine.items
        group: Array = np.arange(machine.first, machine.first + groups, dtype=np.int64).reshape(-1, 1, 1)
        if extents[0] < groups:
            group = np.full((1, 1, 1), stamps.any_workgroup, np.int64)
        subgroup, epoch = np.arange(subgroups).reshape(1, -1, 1), self.own[:, :, None]
        if extents[1] < subgroups:
            subgroup, epoch = np.full((1, 1, 1), stamps.any_subgroup), epoch[:, :1]
        if extents[0] < groups:
            epoch = epoch[:1]
        lane = np.arange(1, lanes + 1).reshape(1, 1, -1)
        if together or lanes == 1 < stamps.lanes:
            lane = np.zeros((1, 1, 1), np.int64)
        elif extents[1] < subgroups or extents[2] < lanes:
            lane = np.full((1, 1, 1), stamps.any_lane)
        return np.asarray(stamps.pack(group, epoch, subgroup, lane), np.int64)

    def _conflicts(self, buffer: Buffer, last: Array, mine: Array, where: Array) -> Array:
        """Where the last access and this one are not ordered, and not of one work-item."""
        stamps = self.stamps
        same = stamps.same_workgroup(last, mine)
        apart = (last != 0) & ~same
        if self.clusters is not None and apart.any():
            its, own, shared = stamps.workgroup(last), stamps.workgroup(mine), buffer.space == "shared"
            group = own - self.clusters.first
            apart &= ~self.clusters.ordered(stamps.epoch(last), its, own, group, shared=shared)
        if stamps.passed and apart.any():
            apart &= ~self._learnt(buffer, last, mine, where, apart)
        if not self.named:
            recent = same & (stamps.epoch(last) == stamps.epoch(mine))
        else:
            group = np.where(same, stamps.workgroup(mine) - self.first, 0)
            recent = same & (stamps.epoch(last) > self._known(group, last, mine))
        return apart | (recent & stamps.other_item(last, mine)) if recent.any() else apart

    def _known(self, group: Array, last: Array, mine: Array) -> Array:
        """Up to which epoch the accessing subgroup knows what the other one did."""
        count = self.seen.shape[1]
        one, other = self.stamps.subgroup(mine), self.stamps.subgroup(last)
        several = (one >= count) | (other >= count)
        known = self.seen[group, np.minimum(one, count - 1), np.minimum(other, count - 1)]
        return np.where(several, self.seen[group].max((-1, -2)), known)

    def _kept(self, last: Array, stamp: Array, changed: Array) -> Array:
        """The same value again leaves the mark of who changed it, in the same epoch."""
        again = ~changed & (last != 0) & self.stamps.same_workgroup(last, stamp)
        again = again & (self.stamps.epoch(last) == self.stamps.epoch(stamp))
        return np.where(again, self.stamps.merged(last, stamp), stamp)

    def _note(self, kept: Array, where: Array, stamp: Array, *, merge: bool = True) -> None:
        """Remember the stamps; where several access one byte, the stamp says so."""
        if merge:
            last = kept[where]
            if last.any():
                same = self.stamps.same_workgroup(last, stamp)
                old = same & (self.stamps.epoch(last) != self.stamps.epoch(stamp)) & (not self.named)
                stamp = np.where((last == 0) | old, stamp, self.stamps.merged(stamp, last))
        kept[where] = stamp
        back = kept[where]
        twice = back != stamp
        if twice.any():
            # One at a time is enough: a place that several share gets the widest mark of any of them.
            for shift in (self.stamps.lane_shift, self.stamps.subgroup_shift, self.stamps.workgroup_shift):
                wider = twice & ((back ^ stamp) >> shift != 0)
                if wider.any():
                    kept[where[wider]] = self.stamps.merged(back[wider], stamp[wider])

    # Words

    def _line(self, stamp: int) -> str:
        number = self.stamps.operation(stamp)
        if number >= len(self.operations):
            return "earlier"
        operation = self.operations[number]
        return f"at line {line_of(operation)} ({operation.name})"

    def _pick(self, buffer: Buffer, where: Array, last: Array, mine: Array, other: Array) -> tuple[str, int, int]:
        found = np.broadcast_to(other, where.shape)
        at = max(0, int(where[found].reshape(-1)[0]) * buffer.shadow.grain - buffer.first)
        return buffer.found_at(at), int(last[found].reshape(-1)[0]), int(mine[found].reshape(-1)[0])

    def _rule(self, last: int, mine: int) -> tuple[str, str]:
        inside = bool(self.stamps.same_workgroup(np.int64(last), np.int64(mine)))
        if inside:
            return "run.race", "with no barrier between"
        if self.clusters is not None:
            groups = [int(self.stamps.workgroup(one)) for one in (last, mine)]
            if len({group // self.clusters.size for group in groups if group != self.stamps.any_workgroup}) < 2:
                return "run.race", "with no barrier of the cluster between"
        return "run.other_workgroup", f"in the same {'scf.parallel' if self.stamps.alone == 'iteration' else 'launch'}"

    def _report(
        self,
        run: Run,
        op: Operation,
        what: Literal["read", "write", "differ"],
        buffer: Buffer,
        where: Array,
        last: Array,
        mine: Array,
        other: Array,
    ) -> None:
        """Report a read of what another wrote, a write of what another read, or writes of different values."""
        at, one, me = self._pick(buffer, where, last, mine, other)
        rule, how = self._rule(one, me)
        here, there, line = self.stamps.who(me), self.stamps.who(one), self._line(one)
        if what == "read":
            reads = "read" if here.startswith("several") else "reads"
            told = f"{here} {reads} {at}, which {there} wrote {line} {how}"
        elif what == "write":
            told = f"{here} writes {at}, which {there} read {line} {how}"
        else:
            both = "work-items" if rule == "run.race" else f"{self.stamps.alone or 'workgroup'}s"
            told = f"two {both} write different values to {at}: {here} here, {there} {line}, {how}"
        run.report(op, rule, told)

    def _report_lost(
        self,
        run: Run,
        op: Operation,
        buffer: Buffer,
        places: Array,
        bits: Array,
        where: Array,
        mine: Array,
        lost: Array,
    ) -> None:
        place = int(places[lost].reshape(-1)[0])
        at = buffer.found_at(place * bits.dtype.itemsize)
        stamps = mine if where.ndim == places.ndim else mine[..., 0]
        kept = stamps[(places == place) & ~lost].reshape(-1)
        loser, winner = int(stamps[lost].reshape(-1)[0]), int(kept[0]) if kept.size else 0
        rule, _ = self._rule(winner, loser)
        told = f"{self.stamps.who(loser)} and {self.stamps.who(winner)}, with this operation"
        both = "iterations" if self.stamps.alone == "iteration" else "work-items"
        run.report(op, rule, f"two {both} write different values to {at}: {told}")
