"""All work-items at once: what a value is while a kernel is simulated, and which work-items there are.

A value is one numpy array for the whole launch, with the leading axes [workgroup, subgroup, lane] and after them the
axes of its vector type. An axis has extent 1 where the value doesn't depend on it: with 8 workgroups of one subgroup,
`gpu.block_id x` is an array of shape (8, 1, 1), a constant one of (1, 1, 1), and the vector<8xf16> that a load gives
one of (8, 1, 16, 8). Numpy's broadcasting does the rest, and what is the same for all lanes shows it.

>>> machine = Machine(Memory(), "pvc", grid=(4, 2, 1), block=(16, 1, 1), lanes=16, first=0, count=8)
>>> machine.block_ids(0).shape, machine.block_ids(0).reshape(-1)
((8, 1, 1), array([0, 1, 2, 3, 0, 1, 2, 3]))
>>> machine.lane_ids().shape, machine.subgroups
((1, 1, 16), 1)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_OPERATIONS as MAX_OPERATIONS
from layoutalg.ir import line_of
from layoutalg.simulate.memory import Memory

__all__ = ["MAX_OPERATIONS", "Array", "Machine", "SimulationError", "fail", "uniform", "uniform_in_subgroup"]

Array = NDArray[Any]


class SimulationError(LayoutError):
    """A kernel that can't be simulated, or that does what the hardware would not; names the operation and its line.

    >>> raise SimulationError("line 7: scf.for: the step is 0; a loop needs a positive one")
    Traceback (most recent call last):
    layoutalg.simulate.machine.SimulationError: line 7: scf.for: the step is 0; a loop needs a positive one
    """


@dataclass(frozen=True, eq=False)
class Machine:
    """The work-items that run together: `count` workgroups from number `first` on, in the order of the grid.

    Values have leading axes [workgroup, subgroup, lane]; one that is the same along an axis has size 1 there.

    >>> from layoutalg.simulate.memory import Memory
    >>> machine = Machine(Memory(), "pvc", grid=(4, 2, 1), block=(16, 1, 1), lanes=16, first=3, count=2)
    >>> machine.block_ids(0).ravel().tolist(), machine.block_ids(1).ravel().tolist()
    ([3, 0], [0, 1])
    """

    memory: Memory
    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lanes: int
    first: int
    count: int
    budget: list[int] = field(default_factory=lambda: [MAX_OPERATIONS])

    def spend(self, operation: Operation, count: int) -> None:
        """Count operations that are about to run; more than a launch may have are refused before they do.

        >>> Machine(Memory(), "pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1).budget[0]
        1048576
        """
        if count > self.budget[0]:
            fail(operation, f"{count} more operations; a launch of more than {MAX_OPERATIONS} is not simulated")

    @property
    def subgroups(self) -> int:
        """Subgroups of one workgroup."""
        return -(-self.block[0] * self.block[1] * self.block[2] // self.lanes)

    def block_ids(self, dimension: int) -> Array:
        """The workgroups' numbers along x, y or z."""
        numbers = np.arange(self.first, self.first + self.count, dtype=np.int64).reshape(-1, 1, 1)
        return _digit(numbers, self.grid, dimension)

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


def _digit(numbers: Array, sizes: tuple[int, int, int], dimension: int) -> Array:
    below = int(np.prod(sizes[:dimension], dtype=np.int64))
    return np.asarray(numbers // below % sizes[dimension])


def fail(operation: Operation, problem: str) -> NoReturn:
    """Raise what is wrong, with the operation and the line of the text that it was read from.

    >>> from layoutalg.ir import read_module
    >>> fail(read_module("%c = arith.constant 16 : index").body.block.first_op, "16 is too many")
    Traceback (most recent call last):
    layoutalg.simulate.machine.SimulationError: line 1: arith.constant: 16 is too many
    """
    raise SimulationError(f"line {line_of(operation)}: {operation.name}: {problem}")


def uniform(operation: Operation, value: Array, what: str) -> int:
    """The one number that all work-items have; control flow that differs between them is not simulated.

    >>> from xdsl.dialects.test import TestOp
    >>> uniform(TestOp(), np.full((8, 1, 16), 3), "the step")
    3
    """
    first = value.reshape(-1)[0]
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
