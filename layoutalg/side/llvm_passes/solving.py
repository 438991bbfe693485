"""The order in which LLVM visits operations: which layout arrives first depends on it.

MLIR's backward analyses visit every operation once, from the last to the first, and again when the layout of one of its
results changes. Regions come in later: the body of a loop is dead until the analysis of constants has seen its bounds. Then its
operations are visited from the first to the last. Of the analyses of dead code and of constants, as much is here as decides
when a region becomes alive.

>>> from layoutalg.ir import read_module
>>> text = '''func.func @f(%n: index, %z: f32) { %c = arith.constant 0 : index
...   %s = scf.for %i = %c to %n step %n iter_args(%a = %z) -> (f32) { %b = arith.addf %a, %a : f32 scf.yield %b : f32 }
...   %r = arith.negf %s : f32
...   func.return }'''
>>> seen = []
>>> Solver(seen.append, lambda operand, target: None).run(read_module(text))
>>> [operation.name.partition(".")[2] for operation in seen]
['module', 'func', 'negf', 'constant', 'addf']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

__all__ = ["Forwarded", "Solver", "forwarded", "is_branch", "runs_once", "surely_runs"]

_BRANCHES = frozenset(("scf.for", "scf.if", "scf.while", "scf.execute_region", "scf.index_switch", "scf.forall"))
_FORWARDING = frozenset(("scf.yield", "scf.condition"))
Forwarded = tuple[int, SSAValue]
"""The number of an operand, and the value that it becomes elsewhere."""


def is_branch(operation: Operation | None) -> bool:
    """Whether an operation passes values into its regions and out of them."""
    return operation is not None and operation.name in _BRANCHES


def forwarded(operation: Operation) -> tuple[Forwarded, ...]:
    """Which operands of a loop, a branch or the end of their regions become which arguments and results."""
    if operation.name in _FORWARDING:
        parent = operation.parent_op()
        return tuple(_from_end(operation, parent)) if parent is not None and is_branch(parent) else ()
    if operation.name == "scf.for":
        count = len(operation.results)
        arguments = operation.regions[0].block.args[1:]
        pairs: list[Forwarded] = []
        for number in range(count):
            pairs.append((3 + number, arguments[number]))
            pairs.append((3 + number, operation.results[number]))
        return tuple(pairs)
    if operation.name == "scf.while":
        return tuple(enumerate(operation.regions[0].block.args))
    return ()


def _from_end(end: Operation, parent: Operation) -> Iterator[Forwarded]:
    if parent.name == "scf.for":
        for number, argument in enumerate(parent.regions[0].block.args[1:]):
            yield number, argument
            yield number, parent.results[number]
    elif parent.name == "scf.while":
        if end.name == "scf.condition":
            for number, argument in enumerate(parent.regions[1].block.args):
                yield number + 1, argument
                yield number + 1, parent.results[number]
        else:
            yield from enumerate(parent.regions[0].block.args)
    else:
        yield from enumerate(parent.results)


def runs_once(loop: Operation) -> bool:
    """Whether the bounds of a loop are constants that let it run exactly once."""
    first, last, step = (_number(operand) for operand in loop.operands[:3])
    return first is not None and last is not None and step is not None and first < last <= first + step


def surely_runs(loop: Operation) -> bool:
    """Whether the bounds of a loop are constants that let it run at least once."""
    first, last, step = (_number(operand) for operand in loop.operands[:3])
    return first is not None and last is not None and step is not None and step > 0 and first < last


def _entered(operation: Operation) -> Sequence[Region]:
    """The regions that control may go to from an operation."""
    if operation.name in _FORWARDING:
        parent = operation.parent_op()
        if parent is None or not is_branch(parent):
            return ()
        if parent.name == "scf.while":
            return (parent.regions[1 if operation.name == "scf.condition" else 0],)
        return (parent.regions[0],) if parent.name == "scf.for" else ()
    if operation.name == "scf.while":
        return operation.regions[:1]
    if operation.name == "scf.if":
        chosen = _number(operation.operands[0])
        return operation.regions if chosen is None else operation.regions[:1] if chosen else operation.regions[1:]
    return operation.regions


def _number(value: SSAValue) -> int | None:
    owner: Any = value.owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        held = owner.properties.get("value")
        if isinstance(held, IntegerAttr):
            return int(held.value.data)
    return None


class Solver:
    """Calls `visit` for operations, and `join` for a value and another that it becomes elsewhere, until nothing changes.

    Who gives a value another layout calls `changed`. With `counts`, what goes into a loop that surely runs comes out of its
    last iteration only.
    """

    def __init__(
        self,
        visit: Callable[[Operation], None],
        join: Callable[[SSAValue, SSAValue], None],
        *,
        counts: bool = False,
    ) -> None:
        self._visit = visit
        self._counts = counts
        self._join = join
        self._queue: deque[tuple[Callable[[Any], None], Operation | Block]] = deque()
        self._alive: set[Block] = set()
        self._known: set[SSAValue] = set()
        self._sources: dict[Block, dict[Operation, None]] = {}
        self._readers: dict[SSAValue, dict[Operation, None]] = {}
        self._made: dict[Operation, int] = {}
        self._listening = False

    def run(self, top: Operation) -> None:
        """Visit all operations of a module."""
        self._number(top)
        self._alive.update(region.blocks[0] for region in top.regions if region.blocks)
        self._begin(top, self._reach, backward=False)
        self._begin(top, self._know_all, backward=False)
        self._listening = True
        self._begin(top, self._demand, backward=True)
        while self._queue:
            task, item = self._queue.popleft()
            task(item)

    def changed(self, value: SSAValue) -> None:
        """Visit again the operations that have looked at the layout of a value."""
        self._queue.extend((self._demand, reader) for reader in self._readers.get(value, ()))

    def _number(self, operation: Operation) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.ops:
                    self._number(inner)
        self._made[operation] = len(self._made)

    def _begin(self, operation: Operation, task: Callable[[Any], None], *, backward: bool) -> None:
        task(operation)
        for region in operation.regions:
            for block in region.blocks:
                if not backward:
                    task(block)
                inside = tuple(block.ops)
                for inner in reversed(inside) if backward else inside:
                    self._begin(inner, task, backward=backward)

    def _is_alive(self, operation: Operation) -> bool:
        block = operation.parent_block()
        return block is None or block in self._alive

    def _reach(self, item: Operation | Block) -> None:
        """Which blocks control reaches from a loop, a branch, or the end of a region."""
        if isinstance(item, Block) or not self._is_alive(item) or not _steers(item):
            return
        flows = is_branch(item) or item.name in _FORWARDING
        if flows and any(operand not in self._known for operand in item.operands):
            return
        for region in _entered(item):
            if region.blocks:
                self._enter(region.blocks[0], item)
        parent = item.parent_op()
        if item.name in _FORWARDING and parent is not None and is_branch(parent):
            self._queue.append((self._know_all, parent))

    def _enter(self, block: Block, source: Operation) -> None:
        sources = self._sources.setdefault(block, {})
        if block not in self._alive:
            self._alive.add(block)
            sources[source] = None
            if self._listening:
                inside = tuple(block.ops)
                self._queue.append((self._know_all, block))
                for task in (self._reach, self._know_all, self._demand):
                    self._queue.extend((task, inner) for inner in inside if task != self._reach or _steers(inner))
        elif source not in sources:
            sources[source] = None
            self._queue.append((self._know_all, block))

    def _know_all(self, item: Operation | Block) -> None:
        """A value is known when all that it is made of is."""
        if isinstance(item, Block):
            self._know_arguments(item)
        elif self._is_alive(item):
            if is_branch(item):
                ends = (region.blocks[-1].last_op for region in item.regions if region.blocks)
                for source in (item, *(end for end in ends if end is not None and self._is_alive(end))):
                    self._know_forwarded(source, item.results)
            elif item.regions or all(operand in self._known for operand in item.operands):
                for result in item.results:
                    self._know(result)

    def _know_arguments(self, block: Block) -> None:
        parent = block.parent_op()
        if block not in self._alive or not block.args:
            return
        steered: set[SSAValue] = set()
        if parent is not None and is_branch(parent):
            for source in (parent, *self._sources.get(block, ())):
                self._know_forwarded(source, block.args)
            ends = (region.blocks[-1].last_op for region in parent.regions if region.blocks)
            for source in (parent, *(end for end in ends if end is not None)):
                steered.update(target for _, target in forwarded(source))
        for argument in block.args:
            if argument not in steered:
                self._know(argument)

    def _know_forwarded(self, source: Operation, targets: Sequence[SSAValue]) -> None:
        for number, target in forwarded(source):
            if source.operands[number] in self._known and any(target is one for one in targets):
                self._know(target)

    def _know(self, value: SSAValue) -> None:
        if value in self._known:
            return
        self._known.add(value)
        # LLVM goes from the use that it read last to the first; an operation is made when its regions have been read.
        for user in sorted({use.operation for use in value.uses}, key=self._made.__getitem__, reverse=True):
            if _steers(user):
                self._queue.append((self._reach, user))
            self._queue.append((self._know_all, user))

    def _demand(self, item: Operation) -> None:
        """What the operation demands of its operands."""
        if not self._is_alive(item):
            return
        for result in item.results:
            self._readers.setdefault(result, {})[item] = None
        parent = item.parent_op()
        if is_branch(item) or (item.name in _FORWARDING and is_branch(parent)):
            enters = self._counts and item.name == "scf.for" and surely_runs(item)
            for number, target in forwarded(item):
                if enters and target.owner is item:
                    continue
                self._readers.setdefault(target, {})[item] = None
                self._join(item.operands[number], target)
        elif not item.name.endswith(".return"):
            self._visit(item)


def _steers(operation: Operation) -> bool:
    return bool(operation.regions) or operation.name in _FORWARDING
