"""Shared memory of one kernel: which buffers share bytes, where barriers stand, and how many bytes it takes.

Whoever needs shared memory asks for a buffer and uses it: stores, a barrier, loads. When the whole kernel is written, the
buffers get their places in one block of bytes, an argument `workgroup(%slm : memref<Nxi8, 3>)` of the kernel.

Three conversions stand one after another, each with a buffer of 1024 bytes. A barrier stands between the stores and the loads
of each. The first two get different bytes: while one subgroup still loads from the first buffer, another may already
store to the second. When the third begins, the barrier of the second has passed, so nobody loads from the first buffer
any more: the third takes its bytes, and no barrier is needed.

    store 0   barrier   load 0   store 1   barrier   load 1   store 0   barrier   load 0        2048 bytes, 3 barriers

Buffers must not share bytes where their lifetimes overlap. They had better not where one follows the other without a barrier in
between (around a loop, too), since that costs a barrier. Both are edges of a graph, whose colours are the places. Where that
takes more bytes than there are, only the first kind of edge counts, and barriers are put in.

>>> colours(3, must=[], better=[(0, 1), (1, 2)], sizes=[1024, 1024, 1024], limit=4096)
[0, 1, 0]
>>> colours(3, must=[], better=[(0, 1), (1, 2)], sizes=[1024, 1024, 1024], limit=1024)
[0, 0, 0]

A conversion within one subgroup waits for the lanes of its subgroup alone, whose bytes only they use. So that nobody else meets
them there, another buffer that shares the bytes is divided among the subgroups alike; any other is as after no barrier. That it
gets bytes of its own is worth `SPARE` bytes for each subgroup at most: a barrier of the workgroup costs a few instructions.

The law: between two accesses to one byte by different work-items, one of them a store, both wait at a barrier, on every path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, UnrealizedConversionCastOp, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.conversion.lowering.barriers import CONTROL_BARRIER, called_scope
from layoutalg.core.errors import SizeError
from layoutalg.core.whole_numbers import whole_number
from layoutalg.ir.dialects.gpu import FuncOp
from layoutalg.lowering.insertion import Insertion
from layoutalg.simulate.memory.views import is_shared

__all__ = [
    "LOOKS",
    "PLACEHOLDER",
    "SHARED",
    "Shared",
    "SharedMemory",
    "buffer_bytes",
    "colours",
    "declared_bytes",
    "is_barrier",
    "placeholder",
]

SHARED = 3
"""The address space of shared memory."""
ALIGNMENT = 64
"""Every buffer begins at a multiple of so many bytes."""
_SPACE = IntegerAttr(SHARED, 64)
SPARE = 2048
"""The bytes that a core of Intel's chips has for each subgroup when it is full: 128 KB for 64 of 128 registers."""
LOOKS = ("memref.view", "memref.subview", "memref.cast", "memref.reinterpret_cast", "xegpu.create_mem_desc")
_LOADS = ("memref.load", "vector.load", "xegpu.load_matrix", "vector.transfer_read")
_BRANCHES = ("scf.if", "scf.index_switch", "affine.if")
_MOST_TRIED = 32
"""Barriers that are each tried without; where there are more, they all stay."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the buffers of a kernel take: bytes in all, the first byte of each, and the barriers that were put in for them."""

    bytes: int
    starts: tuple[int, ...]
    barriers: int


@dataclass(slots=True, eq=False)
class _Buffer:
    """A buffer that was asked for: a placeholder for its view, its bytes, and how many subgroups have one of their own."""

    place: Operation
    size: int
    subgroups: int
    loads: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    """What uses it, and whether that loads alone."""

    @property
    def bytes(self) -> int:
        return buffer_bytes(self.size, 8) * self.subgroups


def colours(
    count: int, must: Sequence[tuple[int, int]], better: Sequence[tuple[int, int]], sizes: Sequence[int], limit: int
) -> list[int]:
    """The place of each buffer, where those that `must` differ do, and the others too if all places fit into `limit` bytes."""
    from networkx import Graph
    from networkx.algorithms import coloring

    def largest_first(graph: Graph[int], _: object) -> list[int]:
        """The largest buffers first, so that small ones share with them; among equals in the order of the kernel."""
        return sorted(graph, key=lambda one: (-sizes[one], one))

    color: Any = coloring
    found: list[int] = []
    for edges in ([*must, *better], must):
        graph: Graph[int] = Graph()
        graph.add_nodes_from(range(count))
        graph.add_edges_from(edge for edge in edges if edge[0] != edge[1])
        place: dict[int, int] = color.greedy_color(graph, largest_first)
        found = [place[one] for one in range(count)]
        if sum(_widths(found, sizes)) <= limit:
            break
    return found


def _widths(places: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The bytes of each place: those of the largest buffer in it."""
    found = [0] * (max(places, default=-1) + 1)
    for place, size in zip(places, sizes, strict=True):
        found[place] = max(found[place], size)
    return found


def declared_bytes(function: Operation) -> int:
    """The bytes of shared memory that a kernel declares as its own: its buffers, and the globals that it takes."""
    taken = {
        str(op.properties["name"]): op.results[0].type
        for op in function.walk()
        if op.name == "memref.get_global" and is_shared(op.results[0].type)
    }
    return sum(_bytes(kind) for kind in (*[argument.type for argument in _declared(function)], *taken.values()))


def _bytes(kind: Attribute) -> int:
    """The bytes of a memref."""
    if not isa(kind, MemRefType[Attribute]):
        return 0
    bits = getattr(kind.element_type, "bitwidth", 64)
    return -(-prod(kind.get_shape()) * bits // 8)


def is_barrier(operation: Operation) -> bool:
    """Whether all work-items of the workgroup wait here, and see all of each other's stores to shared memory."""
    return _scope(operation) == "workgroup"


def _scope(operation: Operation) -> str:
    """Who waits and sees the others' stores to shared memory: the "workgroup", each "subgroup" for itself, or nobody."""
    known = operation.properties
    if operation.name == "llvm.call" and str(known.get("callee")) == f"@{CONTROL_BARRIER}":
        return called_scope([_constant(operand) for operand in operation.operands])
    spaces = known.get("address_spaces")
    if operation.name != "gpu.barrier" or (spaces is not None and "<workgroup>" not in str(spaces)):
        return ""
    scope = str(known.get("scope", "workgroup")).lower()
    return next((one for one in ("workgroup", "subgroup") if one in scope), "")


def _constant(operand: SSAValue) -> int | None:
    """The whole number that a value is, where an operation says it."""
    value = operand.owner.properties.get("value") if isinstance(operand.owner, Operation) else None
    return value.value.data if isinstance(value, IntegerAttr) else None


PLACEHOLDER = re.compile(
    r"( *)(%[\w$.-]+) = builtin\.unrealized_conversion_cast to (memref<(\d+)xi(\d+), [^>]*>) \{subgroups = (\d+) : i64\}"
)
"""A line with a `placeholder`: its indent, name and type, how many places of how many bits, and how many subgroups have one."""


def buffer_bytes(places: int, bits: int) -> int:
    """The bytes that a buffer takes, up to where the next one may begin.

    Raises `LayoutError` for what is no number of places or bits.

    >>> buffer_bytes(17, 32)
    128
    """
    places, bits = whole_number(places, "places =", 0), whole_number(bits, "bits =", 1, 1024)
    return -(-places * bits // (8 * ALIGNMENT)) * ALIGNMENT


def placeholder(kind: str, subgroups: int = 1) -> str:
    """The operation that stands for a buffer, a memref of this type, until the kernel is written."""
    return f"builtin.unrealized_conversion_cast to {kind} {{subgroups = {subgroups} : i64}}"


def _buffers(function: Operation) -> Iterator[_Buffer]:
    """The buffers that stand in a kernel as placeholders."""
    for operation in function.walk():
        count = operation.attributes.get("subgroups")
        if (
            isinstance(operation, UnrealizedConversionCastOp)
            and isinstance(count, IntegerAttr)
            and not operation.inputs
        ):
            yield _Buffer(operation, _bytes(operation.results[0].type), count.value.data)


class SharedMemory:
    """The shared memory of one kernel, at most `limit` bytes beside what it already declares.

    >>> from layoutalg.ir import read_module
    >>> text = "gpu.module @m { gpu.func @k() kernel { gpu.return } }"
    >>> kernel = next(op for op in read_module(text).walk() if op.name == "gpu.func")
    >>> memory = SharedMemory(kernel, 4096)
    >>> str(memory.buffer("memref<256xi32, 3 : i64>").type)
    'memref<256xi32, 3 : i64>'
    >>> memory.finish()
    Shared(bytes=1024, starts=(0,), barriers=0)
    >>> str(kernel.body.block.args[0].type)
    'memref<1024xi8, 3 : i64>'
    """

    def __init__(self, function: FuncOp, limit: int, subgroups: int = 1) -> None:
        self.function = function
        self.limit = limit
        self.subgroups = subgroups

    def buffer(self, kind: str, subgroups: int = 1) -> SSAValue:
        """A memref of this type: one for all, or one for each of `subgroups`."""
        writer = Insertion(self.function.body.blocks[0])
        return writer.given(writer.value(placeholder(kind, subgroups), (), "memref"))

    def finish(self) -> Shared:
        """Give every buffer its place and put in the barriers that are missing.

        Raises `SizeError` where it takes more bytes than the limit; the kernel then keeps its placeholders.
        """
        buffers = list(_buffers(self.function))
        if not buffers:
            return Shared(0, (), 0)
        order = {operation: number for number, operation in enumerate(self.function.walk())}
        for buffer in buffers:
            buffer.loads = dict(sorted(_accesses(buffer.place), key=lambda use: order[use[0]]))
        homes = [_home(list(buffer.loads), self.function) for buffer in buffers]
        entries: dict[Operation, list[int]] = {}
        for number, home in enumerate(homes):
            if home is not None:
                entries.setdefault(home[0], []).append(number)
        lives = [_life(home, buffer, order) for home, buffer in zip(homes, buffers, strict=True)]
        sizes = [buffer.bytes for buffer in buffers]
        better: set[tuple[int, int]] = set()
        spared: set[tuple[int, int]] = set()
        apart = _Apart([(buffer.size, buffer.subgroups) for buffer in buffers])

        def follows(number: int, pending: frozenset[int]) -> bool:
            better.update((other, number) for other in pending if other >= 0)
            spared.update((other, number) for other in apart.in_use(number, pending))
            return False

        accesses: dict[Operation, list[int]] = {}
        for number, buffer in enumerate(buffers):
            for user in buffer.loads:
                accesses.setdefault(user, []).append(number)
        flow = _Flow(entries, accesses, self.subgroups == 1)
        flow.run(self.function, follows)
        free = self.limit - declared_bytes(self.function)
        must = list(_overlaps(lives))
        places = colours(len(buffers), [*must, *sorted(spared)], (), sizes, free)
        if sum(_widths(places, sizes)) > min(free, SPARE * self.subgroups):
            places = colours(len(buffers), must, sorted(better), sizes, free)
        widths = _widths(places, sizes)
        if sum(widths) > free:
            raise SizeError(
                f"{sum(widths)} bytes of shared memory are needed at a time; {free} are free beside what the kernel declares"
            )
        missing = _barriers(flow, self.function, places, apart)
        for number in missing:
            home = homes[number]
            block = None if home is None else home[0].parent_block()
            if home is not None and block is not None:
                Insertion(block, home[0]).do("gpu.barrier")
        starts = tuple([sum(widths[:place]) for place in places])
        self._place(buffers, starts, sum(widths))
        return Shared(sum(widths), starts, len(missing))

    def _place(self, buffers: Sequence[_Buffer], starts: Sequence[int], size: int) -> None:
        """Put the block of bytes among the arguments, and a view of it in the place of every buffer."""
        function = self.function
        block = function.body.blocks[0]
        count = len(_declared(function))
        kind = MemRefType(i8, [size], NoneAttr(), _SPACE)
        everything = block.insert_arg(kind, len(function.function_type.inputs) + count)
        everything.name_hint = "slm"
        function.attributes["workgroup_attributions"] = IntegerAttr(count + 1, 64)
        writer = Insertion(block)
        for start, buffer in zip(starts, buffers, strict=True):
            shared, place = writer.taken(everything), writer.value(f"arith.constant {start} : index", (), "index")
            if buffer.subgroups > 1:
                own = writer.value("gpu.subgroup_id : index", (), "index")
                each = writer.value(f"arith.constant {buffer.bytes // buffer.subgroups} : index", (), "index")
                own = writer.value("arith.muli %s, %s : index", (own, each), "index")
                place = writer.value("arith.addi %s, %s : index", (place, own), "index")
            view = buffer.place.results[0]
            form = f"memref.view %s[%s][] : {kind} to {view.type}"
            view.replace_all_uses_with(writer.given(writer.value(form, (shared, place), str(view.type))))
            buffer.place.detach()
            buffer.place.erase()


def _declared(function: Operation) -> Sequence[SSAValue]:
    """The buffers that a kernel declares as its own."""
    if not isinstance(function, FuncOp):
        return ()
    count = 0 if function.workgroup_attributions is None else function.workgroup_attributions.value.data
    inputs = len(function.function_type.inputs)
    return function.body.blocks[0].args[inputs : inputs + count]


def _accesses(look: Operation) -> Iterator[tuple[Operation, bool]]:
    """What uses a buffer, through whatever look at it, and whether that loads alone."""
    for use in look.results[0].uses:
        if use.operation.name in LOOKS:
            yield from _accesses(use.operation)
        else:
            yield use.operation, use.operation.name in _LOADS


def _home(users: Sequence[Operation], function: Operation) -> tuple[Operation, Operation] | None:
    """The first and the last operation, of one block, with all uses of a buffer between them or inside them."""
    if not users:
        return None
    chains = [list(_ancestors(user, function)) for user in users]
    shared = {block for block, _ in chains[0]}
    for chain in chains[1:]:
        shared &= {block for block, _ in chain}
    for block, first in chains[0]:
        if block in shared:
            return first, next(operation for one, operation in chains[-1] if one is block)
    return None


def _ancestors(operation: Operation, function: Operation) -> Iterator[tuple[Block, Operation]]:
    """The blocks that an operation stands in, innermost first, each with the operation of it that holds it."""
    found: Operation | None = operation
    while found is not None and found is not function:
        block = found.parent_block()
        if block is None:
            return
        yield block, found
        found = found.parent_op()


def _life(
    home: tuple[Operation, Operation] | None, buffer: _Buffer, order: dict[Operation, int]
) -> tuple[int, int] | None:
    """From where to where a buffer is in use, as numbers of operations: all of the loops around one that is loaded first."""
    if home is None:
        return None
    first, last = home
    if next(iter(buffer.loads.values())):
        around = [operation for operation in _around(first) if operation.name not in _BRANCHES]
        first, last = (around[-1], around[-1]) if around else home
    return order[first], order[last] + sum(1 for _ in last.walk()) - 1


def _around(operation: Operation) -> Iterator[Operation]:
    """The operations inside the kernel that an operation stands in, innermost first."""
    found = operation.parent_op()
    while found is not None and not isinstance(found, FuncOp):
        yield found
        found = found.parent_op()


def _overlaps(lives: Sequence[tuple[int, int] | None]) -> Iterator[tuple[int, int]]:
    """The pairs of buffers that are in use at the same time."""
    known = sorted((life, number) for number, life in enumerate(lives) if life is not None)
    alive: list[tuple[int, int]] = []
    for (start, end), number in known:
        alive = [one for one in alive if one[0] >= start]
        yield from ((other, number) for _, other in alive)
        alive.append((end, number))


_Enter = Callable[[int, frozenset[int]], bool]
"""Told which buffer is about to be used, and which ones others may still be using; whether a barrier stands before it.

Buffer n that other subgroups alone may be using is ~n.
"""


@dataclass(frozen=True, slots=True)
class _Apart:
    """How buffers are divided among subgroups: the bytes of each part, and how many parts there are."""

    parts: Sequence[tuple[int, int]]

    def in_use(self, number: int, pending: frozenset[int]) -> Iterator[int]:
        """The buffers of `pending` in whose bytes a buffer could meet others: not where each subgroup keeps to its own."""
        for other in pending:
            if other >= 0:
                yield other
            elif self.parts[number][1] == 1 or self.parts[~other] != self.parts[number]:
                yield ~other


class _Flow:
    """Which buffers may still be in use by others, followed along the control flow."""

    def __init__(self, entries: dict[Operation, list[int]], accesses: dict[Operation, list[int]], alone: bool) -> None:
        self.entries, self.accesses = entries, accesses
        self.alone = alone
        """Whether a workgroup is one subgroup: who waits for that waits for all."""
        self._matters: set[Operation] = set()

    def run(self, function: Operation, enter: _Enter) -> None:
        """Follow the kernel from its beginning to its end."""
        if not self._matters:
            self._matters = set(_mattering(function, self.accesses))
        self._regions(function, frozenset(), enter)

    def _regions(self, operation: Operation, pending: frozenset[int], enter: _Enter) -> frozenset[int]:
        blocks = [block for region in operation.regions for block in region.blocks]
        if operation.name in _BRANCHES:
            ends = [self._block(block, pending, enter) for block in blocks]
            return frozenset[int]().union(*ends, pending if len(operation.regions) < 2 or len(blocks) < 2 else ())
        begin = pending
        while True:  # a loop, or blocks in any order: what is pending at the end may be so at the beginning
            end = begin
            for block in blocks:
                end = self._block(block, end, enter) | (begin if len(blocks) > 1 else frozenset[int]())
            if len(blocks) == 1 and isinstance(operation, FuncOp):
                return end
            if end <= begin:
                return end if _is_entered(operation) else begin
            begin |= end

    def _block(self, block: Block, pending: frozenset[int], enter: _Enter) -> frozenset[int]:
        for operation in block.ops:
            if operation not in self._matters:
                continue
            for number in self.entries.get(operation, ()):
                if enter(number, pending):
                    pending = frozenset()
            scope = _scope(operation)
            if scope == "workgroup" or (scope and self.alone):
                pending = frozenset()
            elif scope:
                pending = frozenset([other if other < 0 else ~other for other in pending])
            pending |= frozenset(self.accesses.get(operation, ()))
            if operation.regions:
                pending = self._regions(operation, pending, enter)
        return pending


def _is_entered(loop: Operation) -> bool:
    """Whether the body of a loop is executed at least once, as its bounds say."""
    if loop.name != "scf.for":
        return False
    first, end = [_constant(bound) for bound in loop.operands[:2]]
    return first is not None and end is not None and first < end


def _mattering(function: Operation, accesses: dict[Operation, list[int]]) -> Iterator[Operation]:
    """Barriers and accesses, and what they stand in."""
    for operation in function.walk():
        if operation in accesses or _scope(operation):
            yield operation
            yield from _around(operation)


def _barriers(flow: _Flow, function: Operation, places: Sequence[int], apart: _Apart) -> list[int]:
    """The buffers before whose first use a barrier has to be put in."""
    needed: dict[int, None] = {}

    def collide(number: int, pending: frozenset[int]) -> bool:
        return any(places[other] == places[number] for other in apart.in_use(number, pending))

    def add(number: int, pending: frozenset[int]) -> bool:
        if collide(number, pending):
            needed[number] = None
        return number in needed

    flow.run(function, add)
    flow.run(function, add)  # what a loop's second round found may have been decided too late for its first
    for number in list(needed) if len(needed) <= _MOST_TRIED else ():
        without = {one for one in needed if one != number}
        wrong: list[Any] = []

        def test(one: int, pending: frozenset[int], kept: set[int] = without, found: list[Any] = wrong) -> bool:
            if one in kept:
                return True
            if collide(one, pending):
                found.append(one)
            return False

        flow.run(function, test)
        if not wrong:
            del needed[number]
    return list(needed)
