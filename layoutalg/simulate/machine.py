"""All work-items at once: what a value is while a kernel is simulated, which work-items there are, and who is active.

A value is one numpy array for the whole launch, with the leading axes [workgroup, subgroup, lane] and after them the
axes of its vector type. An axis has extent 1 where the value doesn't depend on it: with 8 workgroups of one subgroup,
`gpu.block_id x` is an array of shape (8, 1, 1), a constant one of (1, 1, 1), and the vector<8xf16> that a load gives
one of (8, 1, 16, 8). Numpy's broadcasting does the rest, and what is the same for all lanes shows it.

At subgroup level a vector is the tensor of the subgroup, and its value has one lane; at workgroup level it is the tensor of the
workgroup, with one subgroup and one lane.

>>> machine = Machine("pvc", grid=(4, 2, 1), block=(16, 1, 1), lanes=16, first=0, count=8)
>>> machine.block_ids(0).shape, machine.block_ids(0).reshape(-1)
((8, 1, 1), array([0, 1, 2, 3, 0, 1, 2, 3]))
>>> machine.lane_ids().shape, machine.subgroups
((1, 1, 16), 1)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_OPERATIONS as MAX_OPERATIONS
from layoutalg.core.limits import MOST_TRACED_BYTES, MOST_WORK
from layoutalg.core.plurals import counted
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import place_of

if TYPE_CHECKING:
    from layoutalg.simulate.compiling import CompiledBlock
    from layoutalg.simulate.counting import Counter
    from layoutalg.simulate.memory.launched import LaunchMemory

__all__ = [
    "LEVELS",
    "MAX_OPERATIONS",
    "Array",
    "Budget",
    "Level",
    "Machine",
    "Run",
    "SimulationError",
    "fail",
    "uniform",
    "uniform_in_subgroup",
]

Array = NDArray[Any]
Level = Literal["lane", "subgroup", "workgroup", "host"]
LEVELS: tuple[Level, ...] = ("lane", "subgroup", "workgroup")


class SimulationError(LayoutError):
    """A kernel that can't be simulated, or that does what the hardware would not; names the operation and its line.

    `finding` says the same as a value; its rule begins with `run.` where the kernel itself is at fault.

    >>> raise SimulationError("line 7: scf.for: the step is 0; a loop needs a positive one")
    Traceback (most recent call last):
    layoutalg.simulate.machine.SimulationError: line 7: scf.for: the step is 0; a loop needs a positive one
    """

    def __init__(self, message: str, finding: Finding | None = None) -> None:
        super().__init__(message)
        self.finding = finding

    @classmethod
    def of(cls, finding: Finding) -> SimulationError:
        """The error that says what a finding says.

        >>> print(SimulationError.of(Finding("run.race", "two work-items write", "memref.store", None)))
        memref.store: two work-items write
        """
        where = "" if finding.place is None else f"line {finding.place.line}: "
        return cls(f"{where}{finding.operation}: {finding.message}", finding)


@dataclass(slots=True)
class Budget:
    """What a launch may still cost: operations (each for a group of work-items), work (in units of about half a nanosecond),
    and bytes of values that are traced. `stopped` ends all groups of workgroups that are still running.

    >>> Budget(operations=10).operations
    10
    """

    operations: int = MAX_OPERATIONS
    work: int = MOST_WORK
    traced: int = MOST_TRACED_BYTES
    stopped: bool = False
    lock: RLock = field(default_factory=RLock, repr=False)


@dataclass(frozen=True, eq=False)
class Machine:
    """The work-items that run together: `count` workgroups from number `first` on, in the order of the grid.

    Values have leading axes [workgroup, subgroup, lane]; one that is the same along an axis has size 1 there.

    >>> machine = Machine("pvc", grid=(4, 2, 1), block=(16, 1, 1), lanes=16, first=3, count=2)
    >>> machine.block_ids(0).ravel().tolist(), machine.block_ids(1).ravel().tolist()
    ([3, 0], [0, 1])
    """

    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lanes: int
    first: int
    count: int
    level: Level = "lane"
    repeats: int = 1
    """How often the grid is there: once for each set of arguments."""
    cluster: int = 1
    """How many workgroups, next to each other along x, reach each other's shared memory."""

    @property
    def subgroups(self) -> int:
        """Subgroups of one workgroup."""
        return -(-self.block[0] * self.block[1] * self.block[2] // self.lanes)

    @property
    def items(self) -> tuple[int, int, int]:
        """The extents that a value has at most before the axes of its type: workgroups, subgroups, lanes.

        At subgroup level a value has one lane, at workgroup level one subgroup too.

        >>> Machine("pvc", (4, 1, 1), (64, 1, 1), 16, 0, 4, "subgroup").items
        (4, 4, 1)
        """
        subgroups = 1 if self.level == "workgroup" else self.subgroups
        return self.count, subgroups, self.lanes if self.level in ("lane", "host") else 1

    def block_ids(self, dimension: int) -> Array:
        """The workgroups' numbers along x, y or z."""
        numbers = np.arange(self.first, self.first + self.count, dtype=np.int64).reshape(-1, 1, 1)
        return _digit(numbers if self.repeats == 1 else numbers % prod(self.grid), self.grid, dimension)

    def cluster_ranks(self) -> Array:
        """The workgroups' numbers in their clusters.

        >>> Machine("sm_90", (8, 1, 1), (32, 1, 1), 32, 0, 8, cluster=4).cluster_ranks().ravel().tolist()
        [0, 1, 2, 3, 0, 1, 2, 3]
        """
        return np.asarray(self.block_ids(0) % self.cluster)

    def thread_ids(self, dimension: int) -> Array:
        """The work-items' numbers along x, y or z of their workgroup."""
        numbers = np.arange(self.subgroups * self.lanes, dtype=np.int64).reshape(1, self.subgroups, self.lanes)
        return _digit(numbers, self.block, dimension)

    def subgroup_ids(self) -> Array:
        """The subgroups' numbers in their workgroup."""
        return np.arange(self.subgroups, dtype=np.int64).reshape(1, -1, 1)

    def lane_ids(self) -> Array:
        """The lanes' numbers in their subgroup."""
        return np.arange(self.lanes, dtype=np.int64).reshape(1, 1, -1)

    def spread(self, value: Array) -> Array:
        """A value with all its lanes written out."""
        return np.broadcast_to(value, (*value.shape[:2], self.lanes, *value.shape[3:]))


@dataclass(slots=True, eq=False)
class Run:
    """One group of workgroups while its steps are executed: what a step is given besides the values of its operands.

    `active` says which work-items execute the step: a bool array that broadcasts to [workgroup, subgroup, lane], or None
    where all of them do. `slots` holds the values; a step that runs a body (a loop, a branch) works on it. `scratch` is what
    steps keep for themselves, `shared` what they keep for all groups of the launch. `counter` counts what is executed, where
    somebody asked.

    >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
    >>> Run(machine, None).active is None
    True
    """

    machine: Machine
    memory: LaunchMemory
    active: Array | None = None
    findings: list[Finding] = field(default_factory=list[Finding])
    slots: list[Any] = field(default_factory=list[Any])
    budget: Budget = field(default_factory=Budget)
    trace: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    scratch: dict[Any, Any] = field(default_factory=dict[Any, Any])
    shared: dict[Any, Any] = field(default_factory=dict[Any, Any])
    counter: Counter | None = None

    def spend(self, operation: Operation, operations: int, work: int = 0) -> None:
        """Count operations and work that are about to be done; more than a launch may have are refused before.

        >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None, budget=Budget(operations=2))
        >>> run.spend(None, 2)
        >>> run.budget.operations
        0
        """
        with self.budget.lock:
            self._check(operation, operations, work)
            self.budget.operations -= operations
            self.budget.work -= work

    def _check(self, operation: Operation, operations: int, work: int) -> None:
        if self.budget.stopped:
            fail(operation, "the launch was stopped", "simulate.stopped")
        if operations > self.budget.operations:
            more = counted(operations, "more operation")
            fail(operation, f"{more}; a launch of more than {MAX_OPERATIONS} is not simulated")
        if work > self.budget.work:
            left = f"; {_seconds(self.budget.work)} are left of what a launch may take"
            fail(operation, f"{_seconds(work)} of work from here on{left}")

    def afford(self, operation: Operation, body: CompiledBlock, times: int) -> None:
        """Refuse to run a body so many times if the launch has not that much left, before the first time."""
        each = body.fixed + body.work * prod(self.machine.items)
        self._check(operation, times * body.count, times * each)

    def keep(self, operation: Operation, name: str, value: object) -> None:
        """Note what every work-item holds now, under a name; past the limit nothing more is kept, and a finding says so.

        >>> run = Run(Machine("pvc", (1, 1, 1), (4, 1, 1), 4, 0, 1), None)
        >>> run.keep(None, "%x", np.full((1, 1, 1), 7))
        >>> run.trace["%x"][0].tolist()
        [[[7, 7, 7, 7]]]
        """
        if not _is_array(value):
            problem = f"{name} is not a number or a vector, and is not traced"
            self.report(operation, "run.not_traced", problem, level="warning")
            return
        whole = np.broadcast_to(value, (*self.machine.items, *value.shape[3:]))
        if whole.nbytes > self.budget.traced:
            limit = f"{MOST_TRACED_BYTES} bytes of traced values are kept; {name} has more"
            self.report(operation, "run.not_traced", limit, level="warning")
            return
        with self.budget.lock:
            self.budget.traced -= whole.nbytes
        self.trace.setdefault(name, []).append(whole.copy())

    def where(self, condition: Array) -> Array:
        """A condition on values, false for work-items that are not active.

        >>> machine = Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)
        >>> run = Run(machine, None, active=machine.lane_ids() < 4)
        >>> int(run.where(np.ones((1, 1, 1, 8), bool)).sum())
        32
        """
        if self.active is None:
            return condition
        active = self.active.reshape(*self.active.shape, *(1,) * (condition.ndim - self.active.ndim))
        return condition & active

    def report(
        self,
        operation: Operation,
        rule: str,
        problem: str,
        *notes: str,
        level: Literal["error", "warning"] = "error",
    ) -> None:
        """Note a finding that does not stop the launch, once for an operation and a rule.

        >>> from xdsl.dialects.test import TestOp
        >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None)
        >>> run.report(TestOp(), "run.uninitialised", "reads byte 0 of buffer C, which nobody wrote")
        >>> len(run.findings)
        1
        """
        place = place_of(operation)
        if not any(found.rule == rule and found.place == place for found in self.findings):
            self.findings.append(Finding(rule, problem, operation.name, place, level=level, notes=notes))


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def _seconds(work: int) -> str:
    """Work in words: a unit is about half a nanosecond."""
    seconds = work / 2**31
    return f"{seconds:.3g} seconds"


def _digit(numbers: Array, sizes: tuple[int, int, int], dimension: int) -> Array:
    below = int(np.prod(sizes[:dimension], dtype=np.int64))
    return np.asarray(numbers // below % sizes[dimension])


def fail(operation: Operation, problem: str, rule: str = "simulate.refused") -> NoReturn:
    """Raise what is wrong, with the operation and the line of the text that it was read from.

    Rules that begin with `run.` say what the kernel does wrong; the others what is not simulated.
    """
    raise SimulationError.of(Finding(rule, problem, operation.name, place_of(operation)))


def uniform(operation: Operation, value: Array, what: str, active: Array | None = None) -> int:
    """The one number that all (active) work-items have, where an operation takes one for all of them.

    >>> from xdsl.dialects.test import TestOp
    >>> uniform(TestOp(), np.full((8, 1, 16), 3), "the step")
    3
    """
    if value.size == 1:
        return int(value.reshape(-1)[0])
    if active is not None:
        value = np.broadcast_to(value, np.broadcast_shapes(value.shape, active.shape))[
            np.broadcast_to(active, np.broadcast_shapes(value.shape, active.shape))
        ]
    first = value.reshape(-1)[0] if value.size else 0
    if not (value == first).all():
        fail(
            operation, f"{what} differs between work-items ({first} and others); only uniform control flow is simulated"
        )
    return int(first)


def uniform_in_subgroup(operation: Operation, value: Array, what: str) -> Array:
    """A value that a message takes once for the subgroup, with one lane left.

    >>> from xdsl.dialects.test import TestOp
    >>> uniform_in_subgroup(TestOp(), np.arange(8).reshape(8, 1, 1), "the row").shape
    (8, 1, 1)
    """
    one = value[:, :, :1]
    if value.shape[2] > 1 and not (value == one).all():
        fail(operation, f"{what} differs between the lanes of a subgroup; a block message takes one for all of them")
    return one
