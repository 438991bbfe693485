"""Counting while a kernel runs: every message and product says here that it was executed, where somebody asked.

>>> from layoutalg.simulate.machine import Machine
>>> counter = Counter(Machine("pvc", (2, 1, 1), (32, 1, 1), 16, 0, 2))
>>> counter.products(None, 4)
>>> counter.products(np.array([[[True], [False]]]), 1)
>>> counter.executed().products.tolist()
[[5, 4], [5, 4]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.core.limits import MEMORY_SPAN
from layoutalg.simulate.executed import Executed, Kind, Messages
from layoutalg.simulate.lines import LINE, PIECE, LineLog
from layoutalg.simulate.memory.regions import SHARED

if TYPE_CHECKING:
    from layoutalg.simulate.machine import Machine

__all__ = ["COUNTED", "Counted", "Counter"]

Array = NDArray[Any]
Counted = Literal["messages", "lines"]
COUNTED: tuple[Counted, ...] = ("messages", "lines")
"""What can be counted: messages, or messages and the cache lines that they name."""


class Counter:
    """The counts of one group of workgroups; `steps` is the number of loop iterations so far, `step` the one it is in.

    >>> from layoutalg.simulate.machine import Machine
    >>> counter = Counter(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1))
    >>> counter.begin_step()
    >>> counter.step
    1
    """

    def __init__(self, machine: Machine, *, lines: bool = False) -> None:
        self.machine = machine
        self.shape = machine.items[:2]
        self.log = LineLog(machine.count) if lines else None
        self.step = 0
        self._steps = 0
        self._products = np.zeros(self.shape, np.int64)
        self._messages: dict[tuple[Kind, str, int], tuple[Array, Array]] = {}

    def begin_step(self) -> None:
        """Another iteration of a loop with loads in it begins."""
        self._steps += 1
        self.step = self._steps

    def _executing(self, active: Array | None) -> Array:
        """Which subgroups execute an operation: those of which a lane is active."""
        if active is None:
            return np.ones((1, 1), np.bool_)
        return np.asarray(active.any(axis=2))

    def products(self, active: Array | None, count: int) -> None:
        """Count `count` DPAS instructions of every active subgroup."""
        self._products += self._executing(active) * count

    def message(self, active: Array | None, kind: Kind, name: str, size: int, inside: Array) -> None:
        """Count a message of every active subgroup: its size, and the bytes of it that lie in the matrix [workgroup, subgroup].

        >>> from layoutalg.simulate.machine import Machine
        >>> counter = Counter(Machine("pvc", (1, 1, 1), (32, 1, 1), 16, 0, 1))
        >>> counter.message(None, "load", "read_16b_8r16x1c", 256, np.array([[256, 128]]))
        >>> counter.executed().total("load")
        Total(messages=2, bytes=512, inside=384)
        """
        known = self._messages.get((kind, name, size))
        if known is None:
            known = np.zeros(self.shape, np.int64), np.zeros(self.shape, np.int64)
            self._messages[kind, name, size] = known
        here = self._executing(active)
        known[0][...] += here
        known[1][...] += here * inside

    def block(
        self,
        operation: Operation,
        active: Array | None,
        kind: Kind,
        name: str,
        surface: tuple[Array, Array, Array, Array],
        place: tuple[Array, Array],
        block: tuple[int, int],
    ) -> None:
        """Count a block message; what it names are the rows and columns of its block that lie in the matrix.

        `surface` are the address, the rows, the bytes of a row and those from row to row; `place` the first row and the first
        byte in a row: arrays [workgroup, subgroup, 1]. `block` are rows and bytes.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> counter = Counter(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), lines=True)
        >>> one = np.ones((1, 1, 1), np.int64)
        >>> surface, corner = (one * 4096, one * 6, one * 128, one * 256), (one * 4, one * 64)
        >>> counter.block(TestOp(), None, "load", "read_16b_8r16x2c", surface, corner, (8, 64))
        >>> counter.executed().total("load"), counter.executed().lines.line.tolist()
        (Total(messages=1, bytes=512, inside=128), [81, 85])
        """
        base, height, width, pitch = (part[:, :, 0] for part in surface)
        row, column = (part[:, :, 0] for part in place)
        top, bottom = np.maximum(row, 0), np.minimum(row + block[0], height)
        left, right = np.maximum(column, 0), np.minimum(column + block[1], width)
        inside = np.maximum(bottom - top, 0) * np.maximum(right - left, 0)
        self.message(active, kind, name, block[0] * block[1], inside)
        if self.log is None or kind == "store":
            return
        here = np.broadcast_to(self._executing(active), self.shape)
        empty = here & np.broadcast_to(inside == 0, self.shape)
        if kind == "prefetch" and empty.any():
            self.log.note_outside(operation, int(empty.sum()), int(empty.any(axis=1).argmax()))
        rows = top[..., None] + np.arange(block[0])
        begin = base[..., None] + rows * pitch[..., None]
        first, last = (begin + left[..., None]) // PIECE, (begin + right[..., None] - 1) // PIECE
        numbers = first[..., None] + np.arange(block[1] // PIECE + 2)
        wanted = (numbers <= last[..., None]) & (rows < bottom[..., None])[..., None]
        self._record(kind, numbers, wanted & here[..., None, None])

    def elements(
        self, operation: Operation, active: Array | None, kind: Kind, addresses: Array, mask: Array | None, size: int
    ) -> None:
        """Count an access to single elements: one message for a subgroup, and the lines that it names.

        `addresses` have the axes of the work-items and others, `mask` says which of them count.

        >>> from xdsl.dialects.test import TestOp
        >>> from layoutalg.simulate.machine import Machine
        >>> counter = Counter(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), lines=True)
        >>> counter.elements(TestOp(), None, "load", np.arange(16).reshape(1, 1, 16) * 8, None, 4)
        >>> counter.executed().total("load"), counter.executed().lines.line.tolist()
        (Total(messages=1, bytes=64, inside=64), [0, 1])
        """
        rest = addresses.ndim - 3
        shape = np.broadcast_shapes(addresses.shape, self.machine.items + (1,) * rest)
        wanted = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(mask, shape)
        if active is not None:
            wanted = wanted & active.reshape(active.shape + (1,) * rest)
        inside = wanted.reshape(*shape[:2], -1).sum(axis=2) * size
        each = int(np.prod(shape[2:], dtype=np.int64)) * size
        self.message(active, kind, operation.name, each, inside)
        if self.log is None or kind == "store" or not _cached(addresses):
            return
        if kind == "prefetch" and mask is not None:
            asking = np.broadcast_to(self._executing(active), self.shape)
            beyond = asking & ~np.broadcast_to(mask, shape).reshape(*shape[:2], -1).all(axis=2)
            if beyond.any():
                self.log.note_outside(operation, int(beyond.sum()), int(beyond.any(axis=1).argmax()))
        if kind == "load":
            self._record(kind, np.broadcast_to(addresses // PIECE, shape), wanted)
            return
        pieces = addresses[..., None] // LINE * (LINE // PIECE) + np.arange(
            LINE // PIECE
        )  # a prefetch is of whole lines
        self._record(kind, np.broadcast_to(pieces, (*shape, LINE // PIECE)), wanted[..., None])

    def _record(self, kind: Kind, numbers: Array, wanted: Array) -> None:
        assert self.log is not None
        assert kind != "store"
        numbers, wanted = np.broadcast_arrays(numbers, wanted)
        wanted = np.broadcast_to(wanted, (self.shape[0], *wanted.shape[1:]))
        numbers = np.broadcast_to(numbers, wanted.shape)
        group = np.arange(self.shape[0]).reshape(-1, *(1,) * (numbers.ndim - 1))
        if wanted.any():
            self.log.record(kind, np.broadcast_to(group, wanted.shape)[wanted], numbers[wanted], self.step)

    def executed(self, describe: Callable[[int], str] = hex) -> Executed:
        """What was counted; `describe` says addresses in words.

        >>> from layoutalg.simulate.machine import Machine
        >>> Counter(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1)).executed().messages
        ()
        """
        messages = tuple(
            Messages(kind, name, size, count, inside) for (kind, name, size), (count, inside) in self._messages.items()
        )
        lines = None if self.log is None else self.log.lines(self.machine.first, describe)
        return Executed(self._products, messages, lines)


def _cached(addresses: Array) -> bool:
    """Whether an access is to memory that has cache lines: shared memory of a workgroup has none."""
    return not addresses.size or int(addresses.reshape(-1)[0]) < SHARED * MEMORY_SPAN
