"""What a launch executed: products and messages, how many bytes they moved, and which cache lines were asked for in advance.

`run_kernel(..., counted="messages")` gives an `Executed`; `counted="lines"` also the cache lines (see `simulate.lines`).

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.simulate import Memory, run_kernel
    >>> gemm, memory = plan_gemm(16, 32, 64, tile=(16, 32), k_step=16), Memory()
    >>> arrays = np.ones((16, 64), np.float16), np.ones((64, 32), np.float16), np.zeros((16, 32), np.float32)
    >>> addresses = [memory.bind(name, array) for name, array in zip("ABC", arrays)]
    >>> executed = run_kernel(gemm.emit(), [*addresses, *gemm.arguments], gemm.grid, memory, counted="messages")

Four steps of 16 in depth multiply 2 blocks of A (8x16) by 2 of B (16x16), and load 16x16 and 16x32 elements of 2 bytes:

    >>> executed.dpas, executed.total("load").bytes
    (16, 6144)
    >>> executed.total("store")
    Total(messages=4, bytes=2048, inside=2048)

The hardware clips a block at the edges of its matrix: `bytes` are those of the whole block, as they arrive in registers, and
`inside` those that it read or wrote in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import instance_of, listed, one_of, whole_number
from layoutalg.simulate.lines import Lines

__all__ = ["Executed", "Kind", "Messages", "Total"]

Array = NDArray[Any]
Kind = Literal["load", "store", "prefetch"]
MOST_PARTS = 2**24
KINDS: tuple[Kind, ...] = ("load", "store", "prefetch")


@dataclass(frozen=True)
class Total:
    """Messages, the bytes of their blocks, and the bytes of those that lie inside a matrix.

    >>> Total(2, 1024, 768) + Total(1, 512, 512)
    Total(messages=3, bytes=1536, inside=1280)
    """

    messages: int
    bytes: int
    inside: int

    def __add__(self, other: Total) -> Total:
        return Total(self.messages + other.messages, self.bytes + other.bytes, self.inside + other.inside)


@dataclass(frozen=True, eq=False)
class Messages:
    """One kind of message: its name, and for each workgroup and subgroup how many were sent and the bytes in matrices.

    Names are those of OpenCL's builtins (`read_16b_32r16x2c`), and the operation's for accesses of single elements, which
    count as one message for a subgroup. `size` is the bytes of one message.

    >>> Messages("load", "read_16b_8r16x1c", 256, np.full((2, 1), 3), np.full((2, 1), 700)).total
    Total(messages=6, bytes=1536, inside=1400)
    """

    kind: Kind
    name: str
    size: int
    count: Array
    inside: Array

    @property
    def total(self) -> Total:
        """All subgroups together."""
        count = int(self.count.sum())
        return Total(count, count * self.size, int(self.inside.sum()))


@dataclass(frozen=True, eq=False)
class Executed:
    """What the subgroups of a launch executed.

    `products` are the DPAS instructions [workgroup, subgroup]; above lane level, those that the product takes when it is
    divided into instructions. Above lane level messages are operations, and at workgroup level one subgroup stands for all.

    >>> Executed(np.array([[4, 4], [4, 0]]), ()).dpas
    12
    """

    products: Array
    messages: tuple[Messages, ...]
    lines: Lines | None = None

    @property
    def dpas(self) -> int:
        """DPAS instructions in all.

        >>> Executed(np.full((2, 8), 64), ()).dpas
        1024
        """
        return int(self.products.sum())

    def total(self, kind: Kind) -> Total:
        """All messages of a kind.

        Raises `LayoutError` for other kinds than load, store and prefetch.

        >>> Executed(np.zeros((1, 1)), ()).total("load")
        Total(messages=0, bytes=0, inside=0)
        """
        kind = cast("Kind", one_of(kind, KINDS, "kind"))
        return sum((found.total for found in self.messages if found.kind == kind), Total(0, 0, 0))

    @property
    def by_name(self) -> Mapping[str, Total]:
        """The totals of every message, by its name.

        >>> message = Messages("load", "read_16b_8r16x1c", 256, np.ones((1, 1)), np.ones((1, 1)) * 256)
        >>> Executed(np.zeros((1, 1)), (message,)).by_name
        {'read_16b_8r16x1c': Total(messages=1, bytes=256, inside=256)}
        """
        found: dict[str, Total] = {}
        for message in self.messages:
            found[message.name] = found.get(message.name, Total(0, 0, 0)) + message.total
        return found

    def of(self, workgroup: int, subgroup: int) -> Executed:
        """What one subgroup executed (without its cache lines, which belong to the workgroup).

        Raises `LayoutError` where the launch had no such subgroup.

        >>> Executed(np.array([[4, 4], [4, 0]]), ()).of(1, 0).dpas
        4
        """
        groups, subgroups = self.products.shape
        workgroup = whole_number(workgroup, "workgroup =", 0, groups - 1)
        subgroup = whole_number(subgroup, "subgroup =", 0, subgroups - 1)
        here = slice(workgroup, workgroup + 1), slice(subgroup, subgroup + 1)
        messages = tuple(
            Messages(found.kind, found.name, found.size, found.count[here], found.inside[here])
            for found in self.messages
        )
        return Executed(self.products[here], messages)

    @classmethod
    def joined(cls, parts: Iterable[Executed]) -> Executed:
        """The parts of a launch, which ran some of its workgroups each, in order.

        Raises `LayoutError` for what is not a list of them, and for none at all.

        >>> Executed.joined([Executed(np.ones((2, 1)), ()), Executed(np.ones((3, 1)), ())]).products.shape
        (5, 1)
        """
        found = listed(parts, "parts", MOST_PARTS)
        for part in found:
            instance_of(part, Executed, "part")
        if not found:
            raise LayoutError("parts: a launch has one at least")
        joined: dict[tuple[Kind, str, int], list[tuple[int, Messages]]] = {}
        for number, part in enumerate(found):
            for each in part.messages:
                joined.setdefault((each.kind, each.name, each.size), []).append((number, each))
        messages: list[Messages] = []
        for (kind, name, size), pieces in joined.items():
            counts, insides = ([np.zeros(part.products.shape, np.int64) for part in found] for _ in range(2))
            for number, each in pieces:
                counts[number], insides[number] = each.count, each.inside
            messages.append(Messages(kind, name, size, np.concatenate(counts), np.concatenate(insides)))
        logs = [part.lines for part in found if part.lines is not None]
        return cls(
            np.concatenate([part.products for part in found]), tuple(messages), Lines.joined(logs) if logs else None
        )
